"""The gate: a run report and its options -> a verdict, an exit code, reasons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.model.result import ADDRESSES_JUDGE, Finding
from skillgym_action.model.verdicts import Status
from skillgym_action.pipeline.stages.gate import NO_CASES, NO_RATE, NOT_COMPARED, gate
from skillgym_action.results.statistics.comparison import compare
from skillgym_action.settings.option_types import FAIL_ON
from skillgym_action.settings.slices import GateOptions

DEFAULT = GateOptions()
PASSED = "one passed"
RED = "red failed"

# One execution, alone or beside one that passed: the exit code for each word of --fail-on alone.
ALONE = """
                     failed unexpected-passed errored skipped no-cases regression budget leaks addresses-judge warnings
nothing              3      3                 3       3       2        3          3      3     3               3
passed               0      0                 0       0       0        3          0      0     0               0
failed               1      0                 0       0       0        3          0      0     0               0
expected-failed      0      0                 0       0       0        3          0      0     0               0
unexpected-passed    0      1                 0       0       0        3          0      0     0               0
errored              3      3                 3       3       3        3          3      3     3               3
skipped              3      3                 3       3       3        3          3      3     3               3
"""
BESIDE_A_PASS = """
                     failed unexpected-passed errored skipped no-cases regression budget leaks addresses-judge warnings
passed               0      0                 0       0       0        3          0      0     0               0
failed               1      0                 0       0       0        3          0      0     0               0
expected-failed      0      0                 0       0       0        3          0      0     0               0
unexpected-passed    0      1                 0       0       0        3          0      0     0               0
errored              0      0                 3       0       0        3          0      0     0               0
skipped              0      0                 0       3       0        3          0      0     0               0
"""


def decided(text: str, options: GateOptions = DEFAULT, **changes):
    decision = gate(run_report(text, decision=None, **changes), options)
    return decision.verdict, decision.exit_code, list(decision.reasons)


def cells(table: str):
    words, *rows = (line.split() for line in table.strip().splitlines())
    return [
        pytest.param(status, word, int(code), id=f"{status} with {word}")
        for status, *codes in rows
        for word, code in zip(words, codes, strict=True)
    ]


@pytest.mark.parametrize(("status", "word", "code"), cells(ALONE))
def test_a_lone_execution_and_a_lone_word_decide(status, word, code):
    text = "" if status == "nothing" else f"one {status}"
    assert decided(text, GateOptions(fail_on=frozenset({word})))[1] == code


@pytest.mark.parametrize(("status", "word", "code"), cells(BESIDE_A_PASS))
def test_an_execution_beside_one_that_passed(status, word, code):
    assert decided(f"{PASSED}\ntwo {status}", GateOptions(fail_on=frozenset({word})))[1] == code


def test_the_tables_have_every_status_and_every_word():
    for table in (ALONE, BESIDE_A_PASS):
        words, *rows = (line.split() for line in table.strip().splitlines())
        assert tuple(words) == FAIL_ON
        assert {row[0] for row in rows} >= set(Status)


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        pytest.param(PASSED, ("passed", 0, []), id="all passed"),
        pytest.param("old expected-failed", ("passed", 0, []), id="a known failure is green"),
        pytest.param(f"{PASSED}\n{RED}", ("failed", 1, ["1 failed"]), id="one failed"),
        pytest.param(
            "a failed\nb unexpected-passed", ("failed", 1, ["1 failed", "1 unexpected-passed"]), id="both red"
        ),
        pytest.param(f"{PASSED}\nx errored timeout", ("inconclusive", 3, ["1 of 2 have no result"]), id="one errored"),
        pytest.param(
            f"{RED}\nx errored timeout",
            ("failed", 1, ["1 failed", "1 of 2 have no result"]),
            id="red wins over errored, and both are reported",
        ),
        pytest.param(
            f"{PASSED}\nx errored suite-invalid",
            ("inconclusive", 2, ["1 of 2 have no result"]),
            id="an invalid case is a mistake of the suite",
        ),
        pytest.param(
            f"{RED}\nx errored suite-invalid",
            ("failed", 1, ["1 failed", "1 of 2 have no result"]),
            id="red wins over an invalid case",
        ),
        pytest.param(f"{PASSED}\nx skipped", ("passed", 0, []), id="skipped is not red by itself"),
        pytest.param("x skipped", ("inconclusive", 3, ["nothing was judged"]), id="only skipped"),
        pytest.param(
            "",
            ("inconclusive", 2, [NO_CASES]),
            id="no case",
        ),
    ],
)
def test_the_default_gate(text, decision):
    assert decided(text) == decision


def test_the_word_budget_is_about_executions_that_a_budget_prevented():
    report = run_report(f"{PASSED}\nx skipped: the budget is spent\ny skipped: not selected", decision=None)
    unpaid = replace(report.results[1], judgement=replace(report.results[1].judgement, origin="budget"))
    report = replace(report, results=(report.results[0], unpaid, report.results[2]))
    decision = gate(report, GateOptions(fail_on=frozenset({"budget"})))
    assert (decision.exit_code, decision.reasons) == (3, ("1 not started, since the run's budget was spent",))


@pytest.mark.parametrize("text", ["", PASSED, RED, f"{PASSED}\nx errored timeout", f"{PASSED}\nx skipped"])
def test_a_gate_that_is_turned_off_ends_with_0_and_never_says_passed(text):
    assert decided(text, GateOptions(fail_on=frozenset())) == ("not-gated", 0, [])


@pytest.mark.parametrize(("text", "code"), [("x errored timeout", 3), ("x skipped", 3), ("x errored suite-invalid", 2)])
def test_a_gate_that_is_turned_off_is_not_green_when_nothing_was_judged(text, code):
    assert decided(text, GateOptions(fail_on=frozenset())) == ("inconclusive", code, ["nothing was judged"])


@pytest.mark.parametrize("text", ["", "x errored timeout", "x skipped"])
@pytest.mark.parametrize("rate", [{"min_pass_rate": 0.0}, {"max_error_rate": 1.0}])
@pytest.mark.parametrize("words", [(), FAIL_ON])
def test_nothing_judged_is_never_green(text, rate, words):
    verdict, code, _ = decided(text, GateOptions(fail_on=frozenset(words), **rate))
    assert (verdict, code in (2, 3)) == ("inconclusive", True)


def test_warnings_fail_the_run_if_wanted():
    options = GateOptions(fail_on=frozenset({"warnings"}))
    assert decided(f"{PASSED}\nwarning: old spelling", options) == ("failed", 1, ["1 warning"])
    assert decided(f"{PASSED}\nwarning: old spelling") == ("passed", 0, [])


def test_a_leaked_key_fails_the_run_if_wanted():
    report = run_report(f"{PASSED}\ntwo passed\nthree passed", decision=None)
    leaking = (replace(one, findings=(Finding(kind="github", where="stdout.log"),)) for one in report.results[:2])
    report = replace(report, results=(*leaking, report.results[2]))
    decision = gate(report, GateOptions(fail_on=frozenset({"leaks"})))
    assert (decision.exit_code, decision.reasons) == (1, ("2 executions leaked a key",))
    assert gate(report, DEFAULT).passed


def test_text_that_addresses_the_judge_fails_the_run_if_wanted_and_is_no_leak():
    report = run_report(f"{PASSED}\ntwo passed", decision=None)
    finding = Finding(id=ADDRESSES_JUDGE, kind="verdict", where="judge-1.json: final answer")
    report = replace(report, results=(replace(report.results[0], findings=(finding,)), report.results[1]))
    decision = gate(report, GateOptions(fail_on=frozenset({"addresses-judge"})))
    assert (decision.exit_code, decision.reasons) == (1, ("1 execution with text that addresses the judge",))
    assert gate(report, GateOptions(fail_on=frozenset({"leaks"}))).passed
    assert gate(report, DEFAULT).passed


# --- regression -------------------------------------------------------------------------------------

REGRESSION = GateOptions(fail_on=frozenset({"regression"}))
FIVE_OF_FIVE = "\n".join(f"case-{number} passed 5of5" for number in range(4))


def against(before, after, options=REGRESSION):
    """The decision on a run of ``after``, with ``before`` as its baseline."""
    comparison = compare(run_report(before), run_report(after))
    return decided(after, options, comparison=comparison)


@pytest.mark.parametrize(
    ("after", "decision"),
    [
        pytest.param(FIVE_OF_FIVE, ("passed", 0, []), id="as it was"),
        pytest.param(FIVE_OF_FIVE.replace("passed 5of5", "failed 4of5", 1), ("passed", 0, []), id="may be chance"),
        pytest.param(
            FIVE_OF_FIVE.replace("passed 5of5", "failed 0of5", 1),
            (
                "failed",
                1,
                [
                    "1 case passes less often than in the baseline, not by chance",
                    "the pass rate dropped by 25 points since the baseline (p = 0.004)",
                ],
            ),
            id="one that collapsed is none",
        ),
    ],
)
def test_a_regression_fails_the_run_if_wanted(after, decision):
    assert against(FIVE_OF_FIVE, after) == decision


def test_a_regression_alone_does_not_fail_the_run():
    after = FIVE_OF_FIVE.replace("passed 5of5", "failed 0of5")
    comparison = compare(run_report(FIVE_OF_FIVE), run_report(after))
    assert comparison.verdict == "regression"
    assert decided(after, GateOptions(fail_on=frozenset({"warnings"})), comparison=comparison) == ("passed", 0, [])


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param(
            FIVE_OF_FIVE,
            "case-0 passed 5of5\n" + "\n".join(f"case-{number} errored agent-missing" for number in range(1, 4)),
            "only 5 of 20 sessions of the baseline's cases were judged, less than 90%",
            id="the agent is missing",
        ),
        pytest.param(
            FIVE_OF_FIVE,
            "case-0 passed 5of5",
            "only 5 of 20 sessions of the baseline's cases were judged, less than 90%",
            id="cases were deleted",
        ),
        pytest.param(FIVE_OF_FIVE, "", "no case was judged both in the baseline and now", id="all were deleted"),
        pytest.param("", FIVE_OF_FIVE, "no case was judged both in the baseline and now", id="an empty baseline"),
        pytest.param(
            "a passed",
            "a passed",
            "too few sessions: even if everything failed now, that could be chance",
            id="too few sessions",
        ),
    ],
)
def test_lost_evidence_is_never_green(before, after, reason):
    verdict, code, reasons = against(before, after)
    assert (verdict, code) == ("inconclusive", 3)
    assert reasons[-1] == f"comparison with the baseline: {reason}"


def test_without_a_baseline_regressions_cannot_be_detected():
    assert decided(PASSED, REGRESSION) == (
        "inconclusive",
        3,
        ["no baseline to compare with, so regressions cannot be detected: run the suites on the base branch first"],
    )


@pytest.mark.parametrize(
    ("words", "text", "decision"),
    [
        pytest.param("regression", PASSED, ("not-gated", 0, [NOT_COMPARED]), id="no other rule: nothing was gated"),
        pytest.param("regression failed", PASSED, ("passed", 0, [NOT_COMPARED]), id="the other rules decide"),
        pytest.param("regression failed", RED, ("failed", 1, ["1 failed", NOT_COMPARED]), id="as they do without it"),
        pytest.param(
            "regression", "x errored timeout", ("inconclusive", 3, ["nothing was judged", NOT_COMPARED]),
            id="nothing judged is not green",
        ),
    ],
)  # fmt: skip
def test_an_optional_baseline_that_is_missing_leaves_the_other_rules(words, text, decision):
    options = GateOptions(fail_on=frozenset(words.split()), baseline_optional=True)
    assert decided(text, options) == decision
    assert gate(run_report(text, decision=None), options).uncompared


TWO_OF_THREE = "a passed\nb passed\nc failed\nd errored timeout"


@pytest.mark.parametrize(
    ("text", "rate", "decision"),
    [
        pytest.param(TWO_OF_THREE, 0.6, ("passed", 0, []), id="above"),
        pytest.param(TWO_OF_THREE, 2 / 3, ("passed", 0, []), id="errored ones do not enter the rate"),
        pytest.param(TWO_OF_THREE, 0.7, ("failed", 1, ["pass rate 66.7% is below 70.0%"]), id="below"),
        pytest.param(TWO_OF_THREE, 0.667, ("failed", 1, ["pass rate 66.67% is below 66.70%"]), id="just below"),
        pytest.param(TWO_OF_THREE, 0.6667, ("failed", 1, ["pass rate 66.667% is below 66.670%"]), id="very near"),
        pytest.param(
            "x errored timeout", 0.0, ("inconclusive", 3, ["nothing was judged"]), id="without a judged one no rate"
        ),
        pytest.param(RED, 0.0, ("passed", 0, []), id="no demand"),
        pytest.param("a failed 0of5\nb failed 0of5\nc failed 3of5", 0.2, ("passed", 0, []), id="exactly the rate"),
        pytest.param(
            "old expected-failed\nx errored timeout",
            0.9,
            ("inconclusive", 3, [NO_RATE]),
            id="of expected failures none",
        ),
    ],
)
def test_the_pass_rate_is_of_the_judged(text, rate, decision):
    assert decided(text, GateOptions(fail_on=frozenset(), min_pass_rate=rate)) == decision


ONE_OF_FOUR_ERRORED = "a passed\nb passed\nc passed\nd errored timeout"


@pytest.mark.parametrize(
    ("text", "rate", "code"),
    [
        pytest.param(ONE_OF_FOUR_ERRORED, 0.25, 0, id="just tolerated"),
        pytest.param(ONE_OF_FOUR_ERRORED, 0.24, 3, id="too many"),
        pytest.param(ONE_OF_FOUR_ERRORED, 0.0, 3, id="none is tolerated"),
        pytest.param("x errored timeout", 1.0, 3, id="never all of them: nothing was judged"),
        pytest.param("a failed\nb errored timeout", 1.0, 1, id="red stays red"),
    ],
)
def test_some_errors_may_be_tolerated(text, rate, code):
    assert decided(text, GateOptions(max_error_rate=rate))[1] == code


@pytest.mark.parametrize(
    ("rate", "decision"),
    [
        pytest.param(0.25, ("passed", 0, []), id="just tolerated"),
        pytest.param(0.2, ("inconclusive", 3, ["1 of 4 have no result, more than 20.0%"]), id="too many"),
        pytest.param(0.2499, ("inconclusive", 3, ["1 of 4 have no result, more than 24.99%"]), id="one more"),
    ],
)
@pytest.mark.parametrize("words", [(), ("failed",)])
def test_the_error_rate_stands_on_its_own(words, rate, decision):
    options = GateOptions(fail_on=frozenset(words), max_error_rate=rate)
    assert decided(ONE_OF_FOUR_ERRORED, options) == decision


def test_errors_are_tolerated_beside_a_verdict_only():
    options = GateOptions(fail_on=frozenset({"errored"}), max_error_rate=1.0)
    assert decided("x errored timeout", options) == ("inconclusive", 3, ["1 of 1 have no result"])


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        pytest.param(PASSED, ["the run was cancelled"], id="all green so far"),
        pytest.param(RED, ["the run was cancelled", "1 failed"], id="what was red is still reported"),
        pytest.param("", ["the run was cancelled"], id="before anything ran"),
    ],
)
def test_a_cancelled_run_exits_with_130(text, reasons):
    assert decided(text, cancelled=True) == ("inconclusive", 130, reasons)


# --- results of an untrusted contributor --------------------------------------------------------------


@pytest.mark.parametrize("fail_on", [DEFAULT.fail_on, frozenset[str]()], ids=["by default", "none"])
@pytest.mark.parametrize("status", ["passed", "failed", "errored", "nothing"])
def test_unverified_results_decide_nothing(status, fail_on):
    text = "" if status == "nothing" else f"one {status}"
    verdict, code, reasons = decided(text, GateOptions(fail_on=fail_on, unverified="aaaa"))
    assert (verdict, code) == ("unverified", 0)
    assert reasons[0].endswith("; a maintainer has to run the suites on aaaa")


def test_a_job_that_is_cancelled_while_it_shows_them_says_so():
    assert decided(PASSED, GateOptions(unverified="aaaa"), cancelled=True)[:2] == ("unverified", 130)


@pytest.mark.parametrize(("complete", "expected"), [(False, ("not-gated", 0)), (True, ("inconclusive", 3))])
def test_results_that_have_to_be_complete_are_not_green_if_some_are_missing(complete, expected):
    options = GateOptions(fail_on=frozenset(), complete=complete)
    assert decided(PASSED, options, incomplete=("a case is missing",)) == (*expected, ["a case is missing"])
    assert decided(PASSED, options)[:2] == ("not-gated", 0)
