"""A repository whose baseline is on a branch of it, from the first push to the comment on a pull request."""

from __future__ import annotations

import re

import pytest

from ages import a_minute_old
from baseline_scenarios import SCENARIOS
from hosted_repository import hosted

BASE = "Of 8 cases judged both in `1 run of main, a minute old, up to "

# Exit code, outputs `verdict` and `comparison`, commit status, runs in the store; what the comment says, in its order.
EXPECTED = {
    "a push to main, the first one": (
        (0, "not-gated", "", "success", 1),
        [
            "## ⚪ Not gated, nothing compared: 8 passed",
            "> there is no baseline yet, so nothing was compared",
            (
                "the branch skillgym-data has no results of the base: nothing was compared; "
                "this run is the first of its branch; later ones are compared with it"
            ),
        ],
    ),
    "a pull request with a planted regression": (
        (1, "failed", "regression", "failure", 1),
        [
            "## ❌ Failed: 0 of 8 green",
            "> the pass rate dropped by 100 points since the baseline (p = 0.004)",
            "### ❌ 8 failures",
            "**Regression**: the pass rate dropped by 100 points since the baseline (p = 0.004)",
            BASE,
            "and now, 100 % of sessions passed then and 0 % now. A bad day of the model's service looks the same",
        ],
    ),
    "a pull request without a regression": (
        (0, "passed", "no-regression-shown", "success", 1),
        [
            "## ✅ Passed: 8 of 8 green",
            "**No regression shown**: a drop of up to 25 points is not excluded",
            BASE,
            "and now, 100 % of sessions passed then and 100 % now.",
        ],
    ),
    "a pull request with a changed suite": (
        (0, "passed", "no-regression-shown", "success", 1),
        [
            "## ✅ Passed: 9 of 9 green",
            "These differences may also explain changes:",
            "- suite file of bench/core.json: ",
            "- prompt of bench/core.json: a ",
            BASE.replace("8", "7"),
            "- **1 with a different prompt, assertion or expectation: not compared**: `a` on `sh`",
            "- **1 added**: `new` on `sh`",
        ],
    ),
    "a pull request after the store was lost": (
        (3, "inconclusive", "", "error", 0),
        [
            "## ⚠️ Inconclusive: 0 of 8 green",
            "> no baseline to compare with, so regressions cannot be detected: run the suites on the base branch first",
            (
                "the branch skillgym-data has no results of the base: nothing was compared; "
                "run this workflow once for the branch main, on a push or by hand"
            ),
        ],
    ),
    "a pull request after the store was forged": (
        (3, "inconclusive", "inconclusive", "error", 2),
        [
            "## ⚠️ Inconclusive: 0 of 8 green",
            (
                "> comparison with the baseline: the baseline in the store cannot be used, so nothing was compared: "
                "the branch skillgym-data: 2026-01/20260101T000000Z-000000000000.jsonl:1: run: must be an object; "
                "no run writes that: look at who did, and remove it from the store"
            ),
            "No session was judged both in `the branch skillgym-data` and now.",
        ],
    ),
    "a pull request after two pushes at once": (
        (0, "passed", "no-regression-shown", "success", 3),
        [
            "## ✅ Passed: 8 of 8 green",
            "Of 8 cases judged both in `3 runs of main, a minute old, up to ",
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
