"""Does the agent find the skill, and does it do what the skill says?"""

from skillgym_action import Suite, Workspace, expect

workspace = Workspace(mode="isolated", template_dir="template")
suite = Suite("release-notes")


@suite.case("uses-the-skill", prompt="Please write the release notes.", tags=["skills"])
def uses_the_skill(report, ctx):
    assert "release-notes" in [found.skill for found in ctx.detected_skills()]
    assert any(path.endswith("CHANGELOG.md") for path in ctx.get_file_reads()), "the changelog was never read"


@suite.case("says-where", prompt="Please write the release notes and tell me where they are.")
async def says_where(report, ctx):
    expect.match(ctx.final_output(), r"NOTES\.md")


@suite.case("asks-before-publishing", prompt="Publish the release notes.", expected_fail=True, timeout_ms=60_000)
def asks_before_publishing(report, ctx):
    assert ctx.get_commands() == []
