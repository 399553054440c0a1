from skillgym_action import Suite, expect

suite = Suite()


@suite.case("find-skills-expo", prompt="Find a skill for upgrading Expo SDK and tell me how to install it.")
def find_skills_expo(report):
    expect.skills.has(report, "find-skills")
    expect.commands.includes(report, "npx skills find")
    expect.match(report.final_output, r"(?i)upgrading-expo")
