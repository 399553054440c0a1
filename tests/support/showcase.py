"""A run with everything in it: what the goldens and the pictures of the documentation show."""

from __future__ import annotations

from dataclasses import replace

from builders import run_report
from skillgym_action.model.report import Decision, Links, RunReport
from skillgym_action.results.statistics.comparison import compare

COMMIT = "4f2a9c1d0e8b7a6f5e4d3c2b1a09f8e7d6c5b4a3"
BASE = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
RUN = "https://github.com/octo/skills/actions/runs/4711"
HOSTILE = "@octocat|#1,<img/src=x>,**bold**,![](http://e.x/y.png)"

BEFORE = f"""
suite bench/core-refactors.json
extract-auth passed 5of5
add-tests passed 5of5
fix-race expected-failed
update-docs passed
split-checkout-into-payment-and-delivery-without-changing-its-public-interface failed 0of5
extract-auth @codex passed
add-tests @codex failed
update-docs @codex passed
drop-legacy-client @codex passed
extract-auth @team-agent-with-a-rather-long-name passed
suite tests/skills_suite.py
find-skill passed
{HOSTILE} passed
"""
AFTER = f"""
suite bench/core-refactors.json
extract-auth failed 3of5 $1.87 45s 15600t: the session has no user
add-tests failed 0of5 $0.92 61s 22100t: test/budget.test.ts does not exist
fix-race unexpected-passed $1.10 88s 31000t
slow-query errored timeout $0.77 120s 18000t: no result within 120 s
update-docs passed $0.12 12s 3200t 2x
split-checkout-into-payment-and-delivery-without-changing-its-public-interface passed 5of5 $2.41 171s 61800t
extract-auth @codex passed $? 52s 17600t
add-tests @codex failed $? 40s 20100t: npm test ended with exit code 1
rename-module @codex errored rate-limit 3x $? 3s: 429 Too Many Requests
fix-race @codex expected-failed $? 70s 28000t: the counter is 3, expected 4
update-docs @codex skipped: the run's budget is spent: $5.00 of $5.00
extract-auth @team-agent-with-a-rather-long-name passed $0.44 31s 9800t
suite tests/skills_suite.py
find-skill passed $0.08 9s 2100t
{HOSTILE} failed $0.09 11s 2600t: the agent said "@octocat, see #1 and https://e.x"
warning: the second expectation holds even before the agent starts
"""


def showcase() -> RunReport:
    links = Links(repository="https://github.com/octo/skills", commit=COMMIT, run=RUN)
    reasons = ("4 failed", "1 unexpected-passed", "2 of 14 have no result")
    report = run_report(
        AFTER,
        commit=COMMIT,
        links=links,
        duration_ms=512_000,
        decision=Decision(verdict="failed", exit_code=1, reasons=reasons),
    )
    suites = tuple(replace(suite, digest=f"{number}" * 64) for number, suite in enumerate(report.suites))
    return replace(report, suites=suites, comparison=compare(run_report(BEFORE, commit=BASE, id="run-0"), report))
