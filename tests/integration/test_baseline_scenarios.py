"""A repository whose baseline is on a branch of it, from the first push to the comment on a pull request."""

from __future__ import annotations

import re

from ages import a_minute_old
from baseline_scenarios import history
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
    "a pull request before the first push": (
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
