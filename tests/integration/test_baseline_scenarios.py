"""A repository whose baseline is on a branch of it, from the first push to the comment on a pull request."""

from __future__ import annotations

import re

import pytest

from ages import a_minute_old
from baseline_scenarios import SCENARIOS
from hosted_repository import hosted

BASE = " `1 run of main, a minute old, up to "

# Exit code, outputs `verdict` and `comparison`, commit status, runs in the store; what the comment says, in its order.
EXPECTED = {
    "a push to main, the first one": (
        (0, "not-gated", "", "success", 1),
        [
            "## ℹ️ First run: all 8 results pass",  # noqa: RUF001
            "There is nothing to compare with yet.",
            (
                "the branch skillgym-data has no results of the base: nothing was compared; "
                "this run is the first of its branch; later ones are compared with it"
            ),
        ],
    ),
    "a pull request with a planted regression": (
        (1, "failed", "regression", "failure", 1),
        [
            "## ❌ Worse than main: 100% →\u00a00% of attempts pass",
            "**8 of 8 results fail, for 1 reason.**",
            "| **All** | 8/8 →\u00a0**0/8** |",
            "<details open><summary><b>8 results:</b>",
            BASE,
        ],
    ),
    "a pull request without a regression": (
        (0, "passed", "no-regression-shown", "success", 1),
        [
            "## ✅ No change seen: 100% →\u00a0100% of attempts pass",
            "**All 8 results are as on main.** A drop of more than 25 points is ruled out.",
            "<details><summary>8 cases</summary>",
            BASE,
        ],
    ),
    "a pull request with a changed suite": (
        (0, "passed", "no-regression-shown", "success", 1),
        [
            "## ✅ No change seen: 100% →\u00a0100% of attempts pass",
            "Compared with main, this also differs:",
            "- suite file of bench/core.json: ",
            "- prompt of bench/core.json: a ",
            "- 1 with a different prompt, assertion or expectation: not compared: `a` on `sh`",
            "- 1 added: `new` on `sh`",
            BASE,
        ],
    ),
    "a pull request after the store was lost": (
        (3, "inconclusive", "", "error", 0),
        [
            "## ⚠️ Not sure: no baseline to compare with, so regressions cannot be detected: run the suites on the base",
            (
                "the branch skillgym-data has no results of the base: nothing was compared; "
                "run this workflow once for the branch main, on a push or by hand"
            ),
        ],
    ),
    "a pull request after the store was forged": (
        (3, "inconclusive", "inconclusive", "error", 2),
        [
            "## ⚠️ Not sure: the baseline in the store cannot be used, so nothing was compared",
            (
                "> the baseline in the store cannot be used, so nothing was compared: "
                "the branch skillgym-data: 2026-01/20260101T000000Z-000000000000.jsonl:1: run: must be an object; "
                "no run writes that: look at who did, and remove it from the store"
            ),
            "compared with `the branch skillgym-data`",
        ],
    ),
    "a pull request after two pushes at once": (
        (0, "passed", "no-regression-shown", "success", 3),
        [
            "## ✅ No change",
            " `3 runs of main, a minute old, up to ",
        ],
    ),
}


@pytest.mark.parametrize("title", SCENARIOS)
def test_a_scenario_ends_with_its_comment(tmp_path, title):
    facts, lines = EXPECTED[title]
    with hosted(tmp_path) as repository:
        played = SCENARIOS[title](repository)
    step = played.step
    outputs = step.outputs["verdict"], step.outputs["comparison"]
    assert (step.code, *outputs, played.status, played.stored) == facts, step.said
    assert re.search(".*".join(map(re.escape, lines)), a_minute_old(played.shown), re.DOTALL), played.shown
    assert "<img" not in played.shown
