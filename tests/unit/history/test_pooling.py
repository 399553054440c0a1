"""The baseline that is made of a store."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from skillgym_action.history.pooling import baseline_keys_of, pooled, provisional
from skillgym_action.history.reading import read_history
from skillgym_action.model.comparison import samples_of
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.results.statistics.comparison import compare
from skillgym_action.text.words import age
from stored_runs import POINT, GivenLines, inputs_of, line_of, run_of


def baseline(head, *lines, shard=False):
    return pooled(read_history(GivenLines(*lines), POINT), baseline_keys_of(head), shard=shard)


def samples(report):
    return {result.case_id: str(samples_of(result)) for result in report.results}


def with_inputs(report, case, **changes):
    results = tuple(
        replace(one, inputs=inputs_of(case, **changes)) if one.case_id == case else one for one in report.results
    )
    return replace(report, results=results)


def test_samples_of_runs_with_equal_keys_are_pooled():
    head = run_of("a failed 1of3\nb passed")
    base = baseline(head, *(line_of(run_of("a failed 2of3\nb passed"), hours=n) for n in (1, 2)))
    assert samples(base) == {"a": "4 of 6", "b": "2 of 2"}
    assert base.id == f"2 runs of main, 60 minutes to 2 hours old, up to {'a' * 12}"


def test_the_branches_that_the_runs_are_of_are_named_if_they_are_few():
    head = run_of("a passed")
    names = ("release", "main", "next")
    lines = [line_of(run_of("a passed"), hours=n, branch=branch) for n, branch in enumerate(names, start=1)]
    known = replace(POINT, branch="release", commits=frozenset({"a" * 40}))
    few, many = (
        pooled(read_history(GivenLines(*some), known), baseline_keys_of(head), shard=False)
        for some in (lines[:2], lines)
    )
    assert few.id.startswith("2 runs of main and release, ")
    assert many.id.startswith("3 runs, ")


def test_no_more_are_pooled_than_are_needed():
    head = run_of("a passed")
    assert samples(baseline(head, *(line_of(run_of("a passed 8of8"), hours=n) for n in range(5)))) == {"a": "24 of 24"}
    assert samples(baseline(head, *(line_of(run_of("a passed"), hours=n) for n in range(15)))) == {"a": "10 of 10"}


def test_of_another_model_only_the_newest_results_are_taken_unless_some_are_of_the_same():
    old, new = run_of("a failed"), run_of("a passed")
    other = replace(new, results=tuple(replace(one, model="other") for one in new.results))
    head = run_of("a passed")
    assert samples(baseline(head, line_of(other, hours=1), line_of(old, hours=2))) == {"a": "0 of 1"}
    base = baseline(head, line_of(other, hours=1), line_of(other, hours=2))
    assert samples(base) == {"a": "2 of 2"}
    assert [f"{one.what}: {one.before} {one.after}" for one in compare(base, head).differences] == [
        "model: other claude-model"
    ]


def test_another_prompt_is_another_case_and_named():
    head = with_inputs(run_of("a passed\nb passed"), "a", prompt="f" * 16)
    base = baseline(head, line_of(run_of("a passed\nb passed"), hours=1))
    found = compare(base, head)
    assert [result.case_id for result in found.redefined] == ["a"]
    assert [f"{one.what} of {one.subject}" for one in found.differences] == ["prompt of bench/core.json: a [claude]"]
    assert [result.case_id for result in provisional(base, baseline_keys_of(head)).results] == ["b"]


def test_another_judge_is_named_and_the_same_is_not():
    def judged(model):
        return run_of("a passed", judge=JudgeInfo(api="openai", model=model, versions=("m-1",), votes=3))

    line = line_of(judged("m"), hours=1)
    assert compare(baseline(judged("m"), line), judged("m")).differences == ()
    (found,) = compare(baseline(judged("n"), line), judged("n")).differences
    assert (found.what, found.before, found.after) == ("judge", "m, m-1, 3 votes", "n, m-1, 3 votes")


def test_what_the_newest_run_of_these_suites_has_and_this_one_lacks_was_removed():
    head = run_of("a passed")
    lines = (
        line_of(run_of("suite bench/other.json\nx passed"), hours=1),
        line_of(run_of("a passed\nb passed"), hours=2),
        line_of(run_of("a passed\nb passed\nc passed"), hours=3),
    )
    assert [result.case_id for result in compare(baseline(head, *lines), head).removed] == ["b"]
    assert compare(baseline(head, *lines, shard=True), head).removed == ()


def test_parts_of_a_run_in_several_jobs_are_one():
    lines = (line_of(run_of(f"{case} passed"), hours=n, group="7/bench") for n, case in ((1, "a"), (1.5, "b")))
    base = baseline(run_of("a passed\nb passed"), *lines)
    assert samples(base) == {"a": "1 of 1", "b": "1 of 1"}
    assert base.id.startswith("1 run of main")


def test_an_empty_store_has_no_baseline():
    assert baseline(run_of("a passed")) is None


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (timedelta(seconds=-5), "a minute"),
        (timedelta(minutes=119), "119 minutes"),
        (timedelta(hours=47), "47 hours"),
        (timedelta(days=2), "2 days"),
    ],
)
def test_an_age_in_words(passed, words):
    assert age(passed) == words
