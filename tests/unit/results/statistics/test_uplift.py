"""The uplift of an arm: shares of assertions, the interval, and the lists of cases and assertions, costs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from builders import run_report, suite_at
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.result import Attempt
from skillgym_action.model.session_report import Cost
from skillgym_action.model.verdicts import Status
from skillgym_action.results.statistics.uplift import interval, student_t, tail_probability, uplifts

YES, NO = Status.PASSED, Status.FAILED


def result(case, arm, *sessions, cost=0.01, path="bench/core.json"):
    """A result with a session for each text: ``10-`` is an assertion that holds, one that does not, one unknown."""
    (made,) = run_report(f"{case} passed").results
    held = [tuple({"1": True, "0": False, "-": None}[mark] for mark in text) for text in sessions]
    attempts = tuple(
        Attempt(
            repetition=number,
            session=1,
            status=(YES if all(one) else NO) if one else Status.ERRORED,
            duration_ms=1000,
            directory="x",
            held=one,
        )
        for number, one in enumerate(held, start=1)
    )
    outcomes = tuple(
        Outcome(assertion=f"a{number}", type="t", passed=one, explanation="") for number, one in enumerate(held[0])
    )
    status = Status.ERRORED if not any(held) else YES if all(map(all, held)) else NO
    judgement = replace(made.judgement, status=status, outcomes=outcomes)
    return replace(made, arm=arm, attempts=attempts, judgement=judgement, cost=Cost(usd=cost), suite=suite_at(path))


def compared(pairs, **more):
    """The uplift over cases, each a pair of sessions in ``with`` and sessions in ``without``."""
    results = [result(f"c{number}", "with", *pair[0], **more) for number, pair in enumerate(pairs)]
    others = [result(f"c{number}", "without", *pair[1], **more) for number, pair in enumerate(pairs) if pair[1]]
    (found,) = uplifts(replace(run_report("x passed"), results=tuple(results), other_arms=tuple(others)))
    return found


def test_a_case_counts_once_whatever_its_number_of_sessions_and_assertions():
    found = compared([(["11", "10", "11", "11"], ["00", "00", "00", "00"]), (["1"], ["1"])])
    assert [(case.deciding, case.other) for case in found.cases] == [(0.875, 0.0), (1.0, 1.0)]
    assert found.points == pytest.approx(43.75)
    assert (found.share, found.other_share) == (0.9375, 0.5)


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (["1"], ["0"], "helps"),
        (["0"], ["1"], "hurts"),
        (["1"], ["1"], "no-difference-shown"),
    ],
)
def test_verdicts(one, other, verdict):
    assert compared([(one, other)] * 5).verdict == verdict
    few = compared([(one, other)] * 4)
    assert (few.verdict, few.interval) == ("too-few-cases", None)


def test_a_difference_that_may_be_chance_is_not_shown():
    found = compared([(["1"], ["0"])] * 3 + [(["0"], ["1"])] * 1 + [(["1"], ["1"])] * 4)
    assert found.points == 25
    assert found.verdict == "no-difference-shown"


@pytest.mark.parametrize(
    ("own", "others", "shares"),
    [
        (["1-0"], ["-00"], [(0.0, 0.0)]),
        (["0-"], ["01"], [(0.0, 0.0)]),
        (["1-", "11"], ["10", "10"], [(1.0, 0.5)]),
        (["1-"], ["-1"], []),
        (["10"], ["1"], []),
    ],
)
def test_arms_are_compared_by_the_assertions_that_both_could_evaluate(own, others, shares):
    found = compared([(own, others)])
    assert [(case.deciding, case.other) for case in found.cases] == shares
    assert found.is_complete == bool(shares)


def test_a_case_that_was_not_judged_in_both_makes_the_comparison_incomplete():
    found = compared([(["1"], ["0"]), (["1"], [""]), ([""], ["1"])])
    assert [case.case_id for case in found.cases] == ["c0"]
    assert found.unjudged == ("c1", "c2")
    assert not found.is_complete
    nothing = compared([(["1"], [""])])
    assert (nothing.verdict, nothing.points, nothing.is_complete) == ("nothing-compared", None, False)


def test_a_case_in_one_arm_only_is_left_out_and_named():
    found = compared([(["1"], ["0"]), (["1"], [])])
    assert found.uncompared == ("c1",)
    assert found.is_complete


def test_fixed_and_newly_failing():
    found = compared([(["1"], ["0"]), (["0"], ["1"]), (["1"], ["1"]), (["0"], ["0"])])
    assert (found.fixed, found.newly_failing) == (("c0",), ("c1",))


def test_assertions_that_tell_nothing_hold_in_every_session():
    found = compared([(["110", "110"], ["100", "110"])])
    assert [one.assertion for one in found.in_both] == ["a0"]
    assert [one.assertion for one in found.in_none] == ["a2"]


def test_costs_are_unknown_if_one_is():
    assert compared([(["1"], ["0"])] * 2).cost_usd.ratio == 1
    assert compared([(["1"], ["0"])] * 2, cost=None).cost_usd.ratio is None
    assert compared([(["1"], ["0"])] * 2, cost=0.0).cost_usd.ratio is None
    assert compared([(["1"], ["0"])]).duration_ms.deciding == 1000


def test_suites_are_compared_apart():
    results, others = (
        [result("c", arm, mark, path=path) for path, mark in (("bench/a.json", "1"), ("bench/b.json", "0"))]
        for arm in ("with", "without")
    )
    found = uplifts(replace(run_report("x passed"), results=tuple(results), other_arms=tuple(others)))
    assert [(one.suite, one.share) for one in found] == [("bench/a.json", 1.0), ("bench/b.json", 0.0)]


def test_each_other_arm_is_compared():
    results = [result("c", "with", "1")]
    others = [result("c", "without", "0"), result("c", "old", "1")]
    found = uplifts(replace(run_report("x passed"), results=tuple(results), other_arms=tuple(others)))
    assert [(one.arm, one.other, one.points) for one in found] == [("with", "without", 100), ("with", "old", 0)]


# --- the interval -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.7062), (2, 4.3027), (4, 2.7764), (5, 2.5706), (9, 2.2622), (30, 2.0423), (99, 1.9842)],
)
def test_student_t_has_the_values_of_tables(freedom, quantile):
    assert student_t(0.975, freedom) == pytest.approx(quantile, abs=5e-5)


def test_few_cases_have_a_wider_interval():
    tails = [tail_probability(number) for number in (5, 10, 50, 1000)]
    assert tails == sorted(tails)
    assert tails[0] == pytest.approx(0.00095, abs=5e-5)
    assert tails[-1] == pytest.approx(0.025, abs=5e-4)


def test_the_interval_is_the_same_in_every_process():
    random = Random(1)
    differences = [random.uniform(-50, 100) for _ in range(12)]
    assert interval(differences) == pytest.approx((-6.48377, 49.69805), abs=1e-5)


def test_the_interval_follows_shift_and_sign():
    random = Random(2)
    differences = [random.uniform(-50, 100) for _ in range(12)]
    low, high = interval(differences) or (0, 0)
    assert low < sum(differences) / 12 < high
    shifted = interval([value + 10 for value in differences])
    assert shifted == pytest.approx((low + 10, high + 10))


def test_the_interval_has_the_true_mean_in_about_95_of_100():
    random, inside = Random(3), 0
    for _ in range(200):
        found = interval([random.gauss(10, 30) for _ in range(8)], 400)
        assert found
        inside += found[0] <= 10 <= found[1]
    assert 180 <= inside <= 199
