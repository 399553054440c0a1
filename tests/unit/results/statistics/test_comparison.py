"""A run compared with a baseline: pairs, changes, the verdict and its reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.result import Attempt
from skillgym_action.model.verdicts import Status
from skillgym_action.results.statistics.comparison import (
    compare,
    format_points,
    format_probability,
    largest_drop,
    regressions,
)


def compared(before: str, after: str):
    return compare(run_report(before), run_report(after))


def names(items):
    results = [getattr(item, "after", item) for item in items]
    return [f"{result.case_id} on {result.runner.id}" if result.runner else result.case_id for result in results]


def lists(comparison):
    kinds = ("newly_failing", "fixed", "changed", "no_longer_judged", "redefined", "added", "removed")
    return {kind: names(getattr(comparison, kind)) for kind in kinds if getattr(comparison, kind)}


def repeated(case_id, passed, judged):
    status = "passed" if passed == judged else "failed"
    return f"{case_id} {status} {passed}of{judged}"


def cases(number, passed=1, judged=1, prefix="case"):
    return "\n".join(repeated(f"{prefix}-{index}", passed, judged) for index in range(number))


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param("passed", "passed", {}, id="as it was"),
        pytest.param("failed", "failed", {}, id="still failing"),
        pytest.param("passed", "failed", {"changed": ["edit on claude"]}, id="one session each names nothing"),
        pytest.param("failed", "passed", {"changed": ["edit on claude"]}, id="nor for the better"),
        pytest.param("passed 5of5", "failed 0of5", {"newly_failing": ["edit on claude"]}, id="newly failing"),
        pytest.param("failed 0of5", "passed 5of5", {"fixed": ["edit on claude"]}, id="fixed"),
        pytest.param("passed 5of5", "failed 3of5", {"changed": ["edit on claude"]}, id="may be chance"),
        pytest.param("failed 4of5", "failed 8of10", {}, id="the same share of other numbers"),
        pytest.param("expected-failed", "failed", {"redefined": ["edit on claude"]}, id="the expectation was removed"),
        pytest.param("failed", "expected-failed", {"redefined": ["edit on claude"]}, id="the failure is expected now"),
        pytest.param("expected-failed", "unexpected-passed", {}, id="expected failures are in no rate"),
        pytest.param("passed", "errored", {"no_longer_judged": ["edit on claude"]}, id="cannot be judged any more"),
        pytest.param("errored", "errored", {}, id="could not be judged before either"),
        pytest.param("errored", "failed", {}, id="unknown whether it is new"),
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
        "changed": ["edit on codex", "edit on claude"], "added": ["new on claude"], "removed": ["old on claude"],
    }  # fmt: skip
    assert comparison.changed[1].after.suite.path == "b.json"
    assert comparison.rate.pairs == 3
    assert comparison.has_news


def test_what_may_be_chance_is_no_news():
    assert not compared("edit passed", "edit failed").has_news
    assert compared("edit passed 5of5", "edit failed 0of5").has_news


def redefined(before="passed", after="failed", **changes):
    """A case, and its later result after ``changes``."""
    base, head = run_report(f"edit {before}"), run_report(f"edit {after}")
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
        pytest.param({"expected_fail": True}, ["redefined"], id="another expectation"),
        pytest.param({"outcomes": outcomes("file:other.txt exists")}, ["redefined"], id="another assertion"),
        pytest.param({"outcomes": ()}, ["changed"], id="no assertion was asked"),
        pytest.param({"outcomes": outcomes("file:out.txt exists", "more")}, ["changed"], id="one more was asked"),
        pytest.param({"outcomes": outcomes("first", "file:out.txt exists")}, ["changed"], id="one less before"),
    ],
)
def test_only_the_same_case_is_compared(changes, kinds):
    assert redefined(**changes) == kinds


def test_an_added_assertion_redefines_a_case_that_passes_both_times():
    assert redefined(after="passed", outcomes=outcomes("file:out.txt exists", "more")) == ["redefined"]


@pytest.mark.parametrize(
    ("before", "after", "assertions", "kinds"),
    [
        pytest.param("passed", "failed", ("file:out.txt exists", "more"), ["redefined"], id="one was added"),
        pytest.param("passed", "failed", (), ["changed"], id="one was not evaluated"),
        pytest.param("failed", "passed", (), ["redefined"], id="the one that failed was removed"),
        pytest.param("failed", "passed", ("first", "file:out.txt exists"), ["changed"], id="one more was evaluated"),
    ],
)
def test_in_an_edited_suite_a_passed_execution_has_all_assertions(before, after, assertions, kinds):
    edited = replace(run_report("edit passed").results[0].suite, digest="e" * 64)
    base = run_report(f"edit {before}")
    base = replace(base, results=(replace(base.results[0], suite=replace(edited, digest="d" * 64)),))
    result = run_report(f"edit {after}").results[0]
    judgement = replace(result.judgement, outcomes=outcomes(*assertions))
    head = replace(base, results=(replace(result, suite=edited, judgement=judgement),))
    assert list(lists(compare(base, head))) == kinds


def test_an_errored_execution_is_never_taken_for_another_case():
    """After trouble only the assertions that cost nothing are evaluated, and those are not the first ones."""
    base = run_report("edit passed")
    judgement = replace(base.results[0].judgement, outcomes=outcomes("file", "command", "text"))
    base = replace(base, results=(replace(base.results[0], judgement=judgement),))
    head = run_report("edit errored timeout")
    judgement = replace(head.results[0].judgement, outcomes=outcomes("file", "text"))
    head = replace(head, results=(replace(head.results[0], judgement=judgement),))
    assert lists(compare(base, head)) == {"no_longer_judged": ["edit on claude"]}


# --- samples ------------------------------------------------------------------------------------------


def with_attempts(report, *attempts):
    """The report whose executions had these sessions: (repetition, session, status)."""
    made = tuple(
        Attempt(repetition=repetition, session=session, status=Status(status), duration_ms=1, directory="x")
        for repetition, session, status in attempts
    )
    return replace(report, results=tuple(replace(result, attempts=made) for result in report.results))


def test_an_errored_session_enters_no_rate():
    base = with_attempts(run_report("edit passed"), (1, 1, "errored"), (1, 2, "passed"), (2, 1, "errored"))
    assert compare(base, run_report("edit failed")).changed[0].samples_before == samples(1, 1)


def test_a_retry_after_a_failure_is_no_sample():
    base = with_attempts(run_report("edit passed"), (1, 1, "failed"), (1, 2, "passed"), (2, 1, "passed"))
    assert compare(base, run_report("edit failed")).changed[0].samples_before == samples(1, 2)


def samples(passed, judged):
    from skillgym_action.model.comparison import Samples

    return Samples(passed=passed, judged=judged)


# --- the verdict --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "verdict", "reason"),
    [
        pytest.param(cases(4, 5, 5), cases(4, 0, 5), "regression", "", id="all collapsed"),
        pytest.param(cases(20), f"{cases(7, 0)}\n{cases(20).split(chr(10), 7)[7]}", "regression", "", id="7 of 20"),
        pytest.param(cases(20), f"{cases(6, 0)}\n{cases(20).split(chr(10), 6)[6]}", "no-regression-shown", "", id="6"),
        pytest.param(cases(5), cases(5, 0), "inconclusive", "too few sessions: even if", id="five single sessions"),
        pytest.param(cases(1, 4, 4), cases(1, 0, 4), "inconclusive", "too few sessions", id="four of one case"),
        pytest.param(cases(5, 0), cases(5, 0), "no-regression-shown", "nothing passed in the baseline", id="none"),
        pytest.param("", cases(5), "inconclusive", "no case was judged both", id="an empty baseline"),
        pytest.param(cases(9), "", "inconclusive", "no case was judged both", id="an empty run"),
    ],
)
def test_the_verdict(before, after, verdict, reason):
    found = compared(before, after)
    assert found.verdict == verdict
    assert found.reason.startswith(reason)
    assert bool(reason) == bool(found.reason)


def test_a_removed_suite_is_lost_evidence():
    found = compared(
        f"suite a.json\n{cases(8, 5, 5)}\nsuite b.json\n{cases(8, 5, 5)}", f"suite a.json\n{cases(8, 5, 5)}"
    )
    assert (found.verdict, found.coverage.judged, found.coverage.planned) == ("inconclusive", 40, 80)
    assert found.reason == "only 40 of 80 sessions of the baseline's cases were judged, less than 90%"


def test_a_removed_runner_is_lost_evidence():
    both = f"{cases(8, 5, 5)}\n" + cases(8, 5, 5).replace(" passed", " @codex passed")
    assert compared(both, cases(8, 5, 5)).coverage.share == 0.5


def test_a_runner_that_cannot_start_had_as_many_sessions_planned_as_the_others():
    runners = ("a", "b", "c")
    base = "\n".join(cases(8, 5, 5).replace(" passed", f" @{runner} passed") for runner in runners)
    head = base.replace("@c passed 5of5", "@c errored agent-missing")
    report = run_report(head)
    unstarted = (replace(one, attempts=()) if one.status is Status.ERRORED else one for one in report.results)
    found = compare(run_report(base), replace(report, results=tuple(unstarted)))
    assert (found.verdict, found.coverage.judged, found.coverage.planned) == ("inconclusive", 80, 120)


def test_sessions_that_hang_are_lost_evidence():
    hanging = "\n".join(f"case-{number} errored timeout" for number in range(7))
    rest = "\n".join(f"case-{number} passed 5of5" for number in range(7, 10))
    found = compared(cases(10, 5, 5), f"{hanging}\n{rest}")
    assert (found.verdict, found.coverage.share) == ("inconclusive", 0.3)
    assert len(found.no_longer_judged) == 7


def test_nine_of_ten_judged_sessions_are_enough():
    found = compared(cases(10, 5, 5), f"{cases(9, 5, 5)}\ncase-9 errored timeout")
    assert (found.verdict, found.coverage.share) == ("no-regression-shown", 0.9)


def test_cases_that_are_not_the_same_are_in_no_coverage_until_they_are_half():
    base, head = run_report(cases(10, 5, 5)), run_report(cases(10, 5, 5))

    def edited(number):
        prompts = (replace(one, prompt="other") if one.index < number else one for one in head.results)
        return compare(base, replace(head, results=tuple(prompts)))

    assert (edited(5).verdict, edited(5).coverage.share) == ("no-regression-shown", 1.0)
    assert edited(6).verdict == "inconclusive"
    assert edited(6).reason.startswith("only 4 of the 10 cases of the baseline are still the same")
    assert edited(10).reason == "no case was judged both in the baseline and now"


def test_expected_failures_are_no_evidence():
    found = compared(f"{cases(9)}\nold expected-failed", cases(9))
    assert (found.coverage.planned, found.coverage.share) == (9, 1.0)
    assert names(found.removed) == ["old on claude"]


def test_the_verdict_has_a_bound_in_words():
    found = compared(cases(10, 5, 5), cases(10, 5, 5))
    assert largest_drop(found) == "a drop of up to 5.1 points is not excluded"
    assert largest_drop(compared("", "")) == ""


def test_a_regression_is_described_in_words():
    base = run_report(cases(12, 5, 5))
    assert list(regressions(compare(base, run_report(cases(12, 0, 5))))) == [
        "12 cases pass less often than in the baseline, not by chance",
        "the pass rate dropped by 100 points since the baseline (p < 0.001)",
    ]
    one = f"{cases(1, 0, 5)}\n{cases(12, 5, 5).split(chr(10), 1)[1]}"
    assert list(regressions(compare(base, run_report(one)))) == [
        "1 case passes less often than in the baseline, not by chance",
        "the pass rate dropped by 8.3 points since the baseline (p = 0.004)",
    ]
    assert list(regressions(compare(base, base))) == []


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.123, "12 points"), (0.0996, "10 points"), (0.0634, "6.3 points"), (0.01, "1 point"), (0.02, "2 points")],
)
def test_points(share, shown):
    assert format_points(share) == shown


def test_probabilities():
    assert [format_probability(p) for p in (0.5, 0.0312, 0.00001)] == ["p = 0.500", "p = 0.031", "p < 0.001"]
