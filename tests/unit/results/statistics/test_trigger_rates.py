"""Recall, precision and accuracy of trigger queries."""

from __future__ import annotations

from dataclasses import replace

from builders import run_report
from skillgym_action.model.result import TriggerCounts
from skillgym_action.reports.wording.rates import trigger_sentences
from skillgym_action.results.statistics.rates import trigger_rates


def results(*counts: tuple[bool, int, int], runner: str = "claude"):
    made = run_report("\n".join(f"eval-{number} @{runner} passed" for number in range(len(counts)))).results
    keys = ("should_trigger", "loaded", "judged")
    return [
        replace(result, trigger=TriggerCounts(**dict(zip(keys, one, strict=True))))
        for result, one in zip(made, counts, strict=True)
    ]


def test_shares_of_runs():
    (rates,) = trigger_rates(results((True, 2, 3), (True, 3, 3), (False, 1, 3), (False, 0, 2)))
    assert (rates.queries, rates.runs) == (4, 11)
    assert rates.recall.rate == 5 / 6
    assert rates.precision.rate == 5 / 6
    assert rates.accuracy.rate == 9 / 11
    low, high = rates.recall.interval
    assert (round(low, 4), round(high, 4)) == (0.4365, 0.9699)  # Wilson, 5 of 6


def test_nothing_is_made_up_where_no_run_tells():
    (rates,) = trigger_rates(results((False, 0, 3)))
    assert (rates.recall, rates.precision, rates.accuracy.rate) == (None, None, 1.0)
    (rates,) = trigger_rates(results((True, 0, 0)))
    assert (rates.recall, rates.precision, rates.accuracy) == (None, None, None)


def test_each_runner_has_its_own_and_other_cases_have_none():
    found = trigger_rates(
        [*results((True, 1, 2)), *results((True, 2, 2), runner="codex"), *run_report("plain passed").results]
    )
    assert [(rates.runner, rates.recall.rate) for rates in found] == [("claude", 0.5), ("codex", 1.0)]


def test_in_words():
    report = run_report("x passed", results=tuple(results((True, 2, 3), (False, 0, 1))))
    (sentence,) = trigger_sentences(report)
    assert sentence == (
        "Triggers of bench/core.json on claude: recall 67% [21, 94], precision 100% [34, 100], "
        "accuracy 75% [30, 95], over 4 runs of 2 queries"
    )
    unknown = run_report("x passed", results=tuple(results((True, 0, 2))))
    assert "precision unknown" in next(trigger_sentences(unknown))
    assert list(trigger_sentences(run_report("x passed"))) == []
