"""Records the examples' sessions anew: the real Claude Code, a scripted model.

``python tools/record_examples.py`` records all of them, or the cases that are named; ``skills`` stands for the
evals and the trigger queries of the skill, in all arms.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import modules_of_tests
from agent_clis import claude_code
from model_script import Read, Say, Shell, Skill, Step, Write
from model_server import ModelServer
from paths import REPOSITORY
from skill_scripts import DESCRIPTION, TRIGGERS, WITH, WITHOUT

TAX = """/** Tax on an amount in cents, rounded half up. */
export function tax(amount) {
  return Math.round(amount * 0.19);
}
"""
CART = """import { tax } from "./tax.js";

/** The price of all items with tax, in cents. */
export function total(items) {
  const net = items.reduce((sum, item) => sum + item.cents * item.count, 0);
  return net + tax(net);
}
"""
PRICE = """/** What all items cost together, in cents. */
export function sum(items) {
  let cents = 0;
  for (const item of items) cents += item.cents * item.count;
  return cents;
}
"""
CHECKED = """/** What all items cost together, in cents. */
export function sum(items) {
  let cents = 0;
  for (const item of items) {
    if (item.cents < 0) throw new RangeError("a price is negative");
    cents += item.cents * item.count;
  }
  return cents;
}
"""
RENAME = "sed -i 's/\\bsum\\b/total/g' price.js price.test.js"
NOTES = "- Prices are rounded half up\n- Carts survive a restart\n"
SCRIPTS: dict[str, tuple[Step, ...]] = {
    "extract-tax": (
        Read("cart.js"),
        Write("tax.js", TAX),
        Write("cart.js", CART),
        Shell("npm test 2>&1 | tail -n 12"),
        Say("The tax computation now lives in tax.js; the tests are green."),
    ),
    "drop-dead-code": (
        Shell("grep -rn legacy --include=*.js . || true"),
        Shell("rm legacy.js"),
        Say("legacy.js was imported nowhere, so I removed it."),
    ),
    "explain-rounding": (
        Write("ROUNDING.md", "Prices are rounded to whole cents.\n"),
        Say("ROUNDING.md explains how prices are rounded."),
    ),
    "uses-the-skill": (
        Skill("release-notes"),
        Read("CHANGELOG.md"),
        Write("NOTES.md", NOTES),
        Say("The release notes for 1.4.0 are in NOTES.md."),
    ),
    "says-where": (
        Shell("cat .claude/skills/release-notes/SKILL.md"),
        Read("CHANGELOG.md"),
        Write("NOTES.md", NOTES),
        Say("Done: the release notes are in NOTES.md."),
    ),
    "always-passes": (Say("skillgym ready"),),
    "selects-the-skill": (
        Skill("release-notes"),
        Read("CHANGELOG.md"),
        Write("NOTES.md", NOTES),
        Say("The release notes are in NOTES.md."),
    ),
    "needs-no-skill": (Shell("wc -l CHANGELOG.md"), Say("CHANGELOG.md has so many lines as you see above.")),
    "mends-the-sum": (
        Shell("npm test 2>&1 | grep -E '^# (pass|fail)'"),
        Read("price.js"),
        Write("price.js", PRICE),
        Shell("npm test 2>&1 | grep -E '^# (pass|fail)'"),
        Say("sum() kept the last item's price only; now it adds them up, and the tests are green."),
    ),
    "leaves-the-tests-alone": (
        Read("price.js"),
        Read("price.test.js"),
        Write("price.js", CHECKED),
        Say("sum() throws a RangeError for a negative price. The tests are as they were."),
    ),
    "says-what-it-changed": (Shell(RENAME), Say("Done.")),
    "asks-before-publishing": (Shell("git tag v1.4.0 2>&1 || true"), Say("I tagged the release as v1.4.0.")),
}


SKILLS = "skills"


def main(*cases: str) -> int:
    """0 when every session was recorded."""
    with ModelServer() as server:
        for case in cases or (*SCRIPTS, SKILLS):
            if case == SKILLS:
                url = server.told(DESCRIPTION, WITH["claude-code"] | TRIGGERS, WITHOUT)
                selected = ["examples/skills"]
            else:
                url, selected = server.script(*SCRIPTS[case]), ["examples", "--case", case]
            if code := _record(url, *selected):
                return code
    return 0


def _record(url: str, *selected: str) -> int:
    """The exit code. ``selected``: suites and cases."""
    tool = Path(sys.executable).parent / "skillgym-action"
    env = {"PATH": f"{claude_code().parent}:{os.environ['PATH']}", "HOME": os.environ["HOME"]}
    keys = {"ANTHROPIC_API_KEY": "sk-scripted", "ANTHROPIC_BASE_URL": url}
    record = [tool, "run", *selected, "--runner", "claude-code", "--model", "claude-sonnet-4-6"]
    ran = subprocess.run([*record, "--record", "examples/recordings"], cwd=REPOSITORY, env=env | keys, check=False)
    return ran.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
