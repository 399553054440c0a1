from skillgym_action import Suite, expect

suite = Suite()


@suite.case("context", prompt="List the files, and say ready.")
def context(report, ctx):
    expect.ok(len(ctx.get_commands()) > 0)
    expect.match(ctx.final_output(), "ready")
