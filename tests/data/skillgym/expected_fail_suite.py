from skillgym_action import Suite, expect

suite = Suite()


@suite.case(
    "known-missing-skill-selection",
    prompt="Use the correct installed skill before editing files.",
    expected_fail=True,
)
def known_missing_skill_selection(report):
    expect.skills.has(report, "required-skill")
