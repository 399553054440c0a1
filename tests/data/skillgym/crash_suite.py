from skillgym_action import Case


def check(report, ctx):
    ctx.get_nothing()


suite = [Case("crash", prompt="Say only: skillgym ready", check=check)]
