from skillgym_action import Suite, expect

suite = Suite()
WRONG_ALIAS = {"id": "wrong-cli-alias", "label": "Wrong CLI alias"}


def is_wrong_alias(result):
    return WRONG_ALIAS if "wrong Cursor CLI alias" in result.error.message else None


@suite.case(
    "cursor-alias-check",
    prompt='Say you would run: cursr agent "open README.md".',
    classify_failure=is_wrong_alias,
)
def cursor_alias_check(report, ctx):
    with expect.classify(WRONG_ALIAS):
        expect.does_not_match(ctx.final_output(), r"(?i)\bcursr\s+agent\b", "wrong Cursor CLI alias in final output")
