"""A repository whose baseline is on a branch of it, from the first push to the comment on a pull request."""

from __future__ import annotations

import re

from ages import a_minute_old
from baseline_scenarios import history
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
    "a pull request before the first push": (
        (3, "inconclusive", "", "error", 0),
        [
            "## ⚠️ Not sure: no baseline to compare with, so regressions cannot be detected: run the suites on the base",
            (
                "the branch skillgym-data has no results of the base: nothing was compared; "
                "run this workflow once for the branch main, on a push or by hand"
            ),
        ],
    ),
}


def test_every_job_of_a_history_ends_with_its_comment(tmp_path):
    with hosted(tmp_path) as repository:
        found = dict(history(repository))
    assert found.keys() == EXPECTED.keys()
    for title, played in found.items():
        facts, lines = EXPECTED[title]
        step = played.step
        outputs = step.outputs["verdict"], step.outputs["comparison"]
        assert (step.code, *outputs, played.status, played.stored) == facts, (title, step.said)
        assert re.search(".*".join(map(re.escape, lines)), a_minute_old(played.shown), re.DOTALL), played.shown
