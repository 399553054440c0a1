"""Which executions a futility stop continues, and what a stopped run is compared to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.model.report import StoppedForFutility
from skillgym_action.model.result import Attempt
from skillgym_action.model.verdicts import Status
from skillgym_action.results.statistics.comparison import NO_PAIRS, NOTHING_PASSED, STOPPED_TOO_SOON, compare
from skillgym_action.results.statistics.planning import FutilityRule

STOPPED = StoppedForFutility(repetitions=2, planned=5)


def run_of(*sessions, **changes):
    """A run; of each case a word, with ``p`` and ``f`` for sessions that passed and failed, and ``e`` for errored."""
    kinds = {"p": Status.PASSED, "f": Status.FAILED, "e": Status.ERRORED}
    report = run_report("\n".join(f"c{number} passed" for number in range(len(sessions))))
    results = (
        replace(
            result,
            attempts=tuple(
                Attempt(repetition=number, session=1, status=kinds[kind], directory=f"{number}", duration_ms=1)
                for number, kind in enumerate(word, 1)
            ),
        )
        for result, word in zip(report.results, sessions, strict=True)
    )
    return replace(report, results=tuple(results), **changes)


BASE = run_of("ppppp", "fffff", *["ppppp"] * 8)


@pytest.mark.parametrize(
    ("first", "continued"),
    [
        pytest.param(["pp", "ff", *["pp"] * 8], set(), id="as it was"),
        pytest.param(["ff", "ff", *["pp"] * 8], set(range(10)), id="one fails, nothing else changed"),
        pytest.param(["ff", "pp", *["pp"] * 8], {0}, id="one fails, another one passes"),
        pytest.param(["pf", "pp", *["pp"] * 8], set(), id="one may be chance, whatever follows"),
        pytest.param(["ffppp", "pp", *["pp"] * 8], {0}, id="a resumed run has more"),
        pytest.param(["ppfff", "pp", *["pp"] * 8], set(), id="what came after the first stage does not count"),
        pytest.param(["ee", "ee", *["ee"] * 8], set(), id="nothing was judged"),
    ],
)
def test_what_is_continued_after_the_first_stage(first, continued):
    rule = FutilityRule(base=BASE, repetitions=5)
    assert rule.first_repetitions == 2
    assert rule.to_continue(run_of(*first).results) == continued


@pytest.mark.parametrize(
    ("sessions", "continued", "complete"),
    [
        pytest.param(["fffff", "pp", *["pp"] * 8], {0}, True, id="broken"),
        pytest.param(["ffppp", "pp", *["pp"] * 8], {0}, False, id="not broken"),
        pytest.param(["pp", "pp", *["pp"] * 8], set(), False, id="none was continued"),
        pytest.param(["ppppp"] * 10, set(range(10)), True, id="all were"),
        pytest.param(["ee"] * 10, set(), False, id="nothing was judged"),
    ],
)
def test_whether_the_rest_is_run(sessions, continued, complete):
    rule = FutilityRule(base=BASE, repetitions=5)
    assert rule.must_complete(run_of(*sessions).results, frozenset(continued)) is complete


def test_executions_that_the_baseline_does_not_have_decide_nothing():
    rule = FutilityRule(base=BASE, repetitions=5)
    head = run_of("pp", "ff", *["pp"] * 8, "ff", "ff")
    assert rule.to_continue(head.results) == set()
    assert not rule.must_complete(head.results, frozenset())


def test_a_stopped_run_is_compared_by_its_first_repetitions():
    comparison = compare(BASE, run_of("ffppp", "pp", *["pp"] * 8, stopped_for_futility=STOPPED))
    assert (comparison.verdict, comparison.newly_failing, comparison.fixed) == ("no-regression-shown", (), ())
    assert comparison.reason == "stopped for futility after 2 of 5 sessions of each case, 27 sessions saved"
    assert (comparison.coverage.judged, comparison.coverage.planned) == (20, 20)
    assert {pair.samples_after.judged for pair in comparison.changed} == {2}
    assert {pair.samples_before.judged for pair in comparison.changed} == {5}


def test_a_stopped_run_names_no_fixed_case():
    fixed = [
        compare(run_of(*["fffff"] * 10), run_of(*["pp"] * 10, stopped_for_futility=s)).fixed for s in (None, STOPPED)
    ]
    assert list(map(len, fixed)) == [10, 0]


@pytest.mark.parametrize(
    ("base", "head", "reason"),
    [
        pytest.param(["ppppp"] * 10, ["fffff"] * 5 + ["pp"] * 5, STOPPED_TOO_SOON, id="another part was not stopped"),
        pytest.param(["ppppp"] * 10, ["pp"] * 5 + ["pe"] * 5, "only 15 of 20 sessions", id="lost sessions"),
        pytest.param(["ppppp"], ["ee"], NO_PAIRS, id="nothing to compare"),
    ],
)
def test_a_stopped_run_may_be_inconclusive(base, head, reason):
    comparison = compare(run_of(*base), run_of(*head, stopped_for_futility=STOPPED))
    assert (comparison.verdict, comparison.newly_failing) == ("inconclusive", ())
    assert comparison.reason.startswith(reason)


def test_few_first_sessions_are_enough_for_a_stop():
    """The plan had enough: that it could decide is found out before anything runs."""
    stopped = StoppedForFutility(repetitions=1, planned=3)
    comparison = compare(run_of(*["ppp"] * 4), run_of(*["p"] * 4, stopped_for_futility=stopped))
    assert comparison.verdict == "no-regression-shown"
    nothing = compare(run_of("fff", "fff"), run_of("f", "f", stopped_for_futility=stopped))
    assert (
        nothing.reason == f"{NOTHING_PASSED}; stopped for futility after 1 of 3 sessions of each case, 4 sessions saved"
    )


def test_a_baseline_that_was_stopped_counts_with_its_first_repetitions():
    base = run_of("ffppp", *["pp"] * 9, stopped_for_futility=STOPPED)
    comparison = compare(base, run_of(*["ppppp"] * 10))
    (pair,) = comparison.changed
    assert (str(pair.samples_before), str(pair.samples_after)) == ("0 of 2", "5 of 5")
    assert comparison.verdict == "no-regression-shown"
