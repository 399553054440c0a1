"""A run against a baseline: what pairs, what changed, and what that proves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.comparison.comparison import compare, format_points, format_probability, regressions
from skillgym_action.model.comparison import RateChange
from skillgym_action.model.result import Attempt, Outcome
from skillgym_action.model.verdicts import Status


def compared(before: str, after: str):
    return compare(run_report(before), run_report(after))


def names(items):
    results = [getattr(item, "after", item) for item in items]
    return [f"{result.case_id} on {result.runner.id}" if result.runner else result.case_id for result in results]


def lists(comparison):
    kinds = ("newly_failing", "fixed", "no_longer_judged", "redefined", "added", "removed")
    return {kind: names(getattr(comparison, kind)) for kind in kinds if getattr(comparison, kind)}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param("passed", "passed", {}, id="as it was"),
        pytest.param("failed", "failed", {}, id="still failing"),
        pytest.param("passed", "failed", {"newly_failing": ["edit on claude"]}, id="newly failing"),
        pytest.param(
            "expected-failed", "failed", {"newly_failing": ["edit on claude"]}, id="the expectation was removed"
        ),
        pytest.param("failed", "passed", {"fixed": ["edit on claude"]}, id="fixed"),
        pytest.param("failed", "expected-failed", {"fixed": ["edit on claude"]}, id="the failure is expected now"),
        pytest.param("expected-failed", "unexpected-passed", {}, id="an agent that improves breaks nothing"),
        pytest.param("passed", "errored", {"no_longer_judged": ["edit on claude"]}, id="cannot be judged any more"),
        pytest.param("errored", "errored", {}, id="could not be judged before either"),
        pytest.param("errored", "failed", {}, id="nobody knows whether it broke"),
        pytest.param("passed", "skipped", {}, id="not run this time"),
    ],
)
def test_a_change_is_one_of_what_was_judged(before, after, found):
    assert lists(compared(f"edit {before}", f"edit {after}")) == found


def test_executions_pair_by_suite_case_and_runner():
    before = "suite a.json\nedit passed\nedit @codex passed\nold passed\nsuite b.json\nedit passed"
    after = "suite b.json\nedit failed\nsuite a.json\nedit @codex failed\nnew failed\nedit passed"
    comparison = compared(before, after)
    assert lists(comparison) == {
        "newly_failing": ["edit on claude", "edit on codex"], "added": ["new on claude"], "removed": ["old on claude"],
    }  # fmt: skip
    assert comparison.newly_failing[0].after.suite.path == "b.json"
    assert comparison.paired == 3
    assert comparison.changed


def redefined(**changes):
    """A case that passed, and then failed after ``changes``."""
    base, head = run_report("edit passed"), run_report("edit failed")
    (result,) = head.results
    judgement = replace(result.judgement, outcomes=changes.pop("outcomes", result.judgement.outcomes))
    head = replace(head, results=(replace(result, judgement=judgement, **changes),))
    return list(lists(compare(base, head)))


def outcomes(*assertions):
    return tuple(Outcome(assertion=name, type="x", passed=False, explanation="no") for name in assertions)


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        pytest.param({"prompt": "Do something else"}, ["redefined"], id="another prompt"),
        pytest.param({"outcomes": outcomes("file:other.txt exists")}, ["redefined"], id="another assertion"),
        pytest.param({"outcomes": ()}, ["newly_failing"], id="no assertion was asked"),
        pytest.param({"outcomes": outcomes("file:out.txt exists", "more")}, ["newly_failing"], id="one more was asked"),
    ],
)
def test_only_the_same_case_is_compared(changes, kinds):
    assert redefined(**changes) == kinds


def test_redefined_cases_count_for_nothing():
    base, head = run_report("edit passed"), run_report("edit failed")
    head = replace(head, results=(replace(head.results[0], prompt="other"),))
    comparison = compare(base, head)
    assert (comparison.paired, comparison.rate, comparison.regressed, comparison.changed) == (0, None, False, True)


# --- what it proves ---------------------------------------------------------------------------------


def cases(number, status, prefix="case"):
    return "\n".join(f"{prefix}-{index} {status}" for index in range(number))


def test_one_session_each_is_judged_by_mcnemars_test():
    rate = compared(cases(20, "passed"), f"{cases(5, 'failed')}\n{cases(20, 'passed').split(chr(10), 5)[5]}").rate
    assert (rate.cases, rate.before, rate.after, rate.p) == (20, 1.0, 0.75, pytest.approx(1 / 32))
    assert rate.drop_at_most == pytest.approx(0.4322, abs=1e-4)
    assert rate.significant


def test_one_newly_failing_case_proves_nothing():
    comparison = compared(cases(20, "passed"), f"case-0 failed\n{cases(20, 'passed').split(chr(10), 1)[1]}")
    assert comparison.rate.p == 0.5
    assert not comparison.regressed
    assert list(regressions(comparison)) == []


def test_a_case_that_changes_on_all_runners_counts_once():
    before = "\n".join(f"edit @runner-{number} passed" for number in range(6))
    rate = compared(before, before.replace("passed", "failed")).rate
    assert (rate.cases, rate.p) == (1, 0.5)


def repeated(report, *statuses):
    """The report whose cases had a session per status."""
    attempts = tuple(
        Attempt(repetition=number + 1, session=1, status=Status(status), duration_ms=1, directory="x")
        for number, status in enumerate(statuses)
    )
    return replace(report, results=tuple(replace(result, attempts=attempts) for result in report.results))


def test_repetitions_are_judged_by_flipping_signs():
    base = repeated(run_report(cases(5, "failed")), "passed", "passed", "failed")
    head = repeated(run_report(cases(5, "failed")), "passed", "failed", "failed")
    rate = compare(base, head).rate
    assert (rate.before, rate.after) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert rate.p == pytest.approx(1 / 32, abs=0.005)


def test_an_errored_repetition_enters_no_rate():
    base = repeated(run_report("edit passed"), "errored", "passed")
    assert compare(base, run_report("edit passed")).rate.before == 1.0


def retried(report, *statuses):
    attempts = tuple(
        Attempt(repetition=1, session=number + 1, status=Status(status), duration_ms=1, directory="x")
        for number, status in enumerate(statuses)
    )
    return replace(report, results=tuple(replace(result, attempts=attempts) for result in report.results))


def test_a_repetition_comes_to_what_its_last_session_came_to():
    base = retried(run_report("edit passed"), "failed", "passed")
    assert compare(base, run_report("edit passed")).rate.before == 1.0


@pytest.mark.parametrize(
    ("before", "after", "collapsed"),
    [
        pytest.param(["passed"] * 2, ["failed"] * 2, ["edit on claude"], id="two of two, none of two"),
        pytest.param(["passed"] * 3, ["failed", "errored", "failed"], ["edit on claude"], id="beside trouble"),
        pytest.param(["passed"], ["failed"] * 2, [], id="once is not always"),
        pytest.param(["passed"] * 2, ["failed"], [], id="once is not never"),
        pytest.param(["passed", "failed"], ["failed"] * 2, [], id="it was unsteady before"),
        pytest.param(["passed"] * 2, ["passed", "failed"], [], id="it passes at times"),
    ],
)
def test_a_case_that_always_passed_and_never_does_has_collapsed(before, after, collapsed):
    comparison = compare(repeated(run_report("edit passed"), *before), repeated(run_report("edit failed"), *after))
    assert names(comparison.collapsed) == collapsed
    assert comparison.regressed == bool(collapsed)


def test_a_regression_is_told_in_words():
    base = repeated(run_report(cases(12, "passed")), "passed", "passed")
    head = repeated(run_report(cases(12, "failed")), "failed", "failed")
    assert list(regressions(compare(base, head))) == [
        "12 cases that always passed in the baseline never do now",
        "the pass rate dropped by 100 points since the baseline (p < 0.001)",
    ]
    one = compare(
        repeated(run_report("edit passed"), "passed", "passed"), repeated(run_report("edit failed"), "failed", "failed")
    )
    assert list(regressions(one)) == ["1 case that always passed in the baseline never does now"]


@pytest.mark.parametrize(
    ("before", "after", "p", "significant"),
    [
        pytest.param(0.9, 0.8, 0.049, True, id="sure and large"),
        pytest.param(0.9, 0.8, 0.05, False, id="not sure"),
        pytest.param(0.9, 0.885, 0.001, False, id="sure and small"),
    ],
)
def test_a_drop_counts_if_it_is_neither_chance_nor_small(before, after, p, significant):
    assert RateChange(cases=9, before=before, after=after, p=p, drop_at_most=0.3).significant == significant


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.123, "12 points"), (0.0996, "10 points"), (0.0634, "6.3 points"), (0.01, "1 point"), (0.02, "2 points")],
)
def test_points(share, shown):
    assert format_points(share) == shown


def test_probabilities():
    assert [format_probability(p) for p in (0.5, 0.0312, 0.00001)] == ["p = 0.500", "p = 0.031", "p < 0.001"]
