from skillgym_action import Case, expect


def says_ready(report, ctx):
    expect.match(ctx.final_output(), "skillgym ready")


suite = {"always-passes": Case("always-passes", prompt="Say only: skillgym ready", check=says_ready)}
