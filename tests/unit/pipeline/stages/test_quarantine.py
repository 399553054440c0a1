"""What quarantine takes out of gate and comparison, and what it cannot."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import pytest

from builders import run_report, suite_at
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.limits import MAX_QUARANTINE_DAYS
from skillgym_action.model.result import Finding, QuarantineEntry, QuarantineFile
from skillgym_action.model.suite import Invalid
from skillgym_action.pipeline.stages.gate import ALL_IN_QUARANTINE, gate
from skillgym_action.pipeline.stages.quarantine import quarantine_warnings, quarantined_again
from skillgym_action.results.statistics.comparison import compare
from skillgym_action.settings.slices import GateOptions

TODAY = date(2026, 11, 23)


def entry(case: str = "bad", **more) -> QuarantineEntry:
    fields = {"reason": "r", "owner": "ada", "expires": TODAY, "location": Location(path="q.yaml", line=2)}
    return QuarantineEntry(case=case, key_path="quarantine[0]", **(fields | more))


def split(text: str, *entries: QuarantineEntry, **changes):
    return quarantined_again(run_report(text, decision=None, **changes), QuarantineFile(entries=entries), today=TODAY)


def ids(results):
    return [result.case_id for result in results]


@pytest.mark.parametrize(
    ("more", "apart"),
    [
        pytest.param({}, ["bad"], id="the last day"),
        pytest.param({"expires": TODAY - timedelta(days=1)}, [], id="expired"),
        pytest.param({"expires": TODAY + timedelta(days=MAX_QUARANTINE_DAYS)}, ["bad"], id="as long as possible"),
        pytest.param({"expires": TODAY + timedelta(days=MAX_QUARANTINE_DAYS + 1)}, [], id="too long"),
        pytest.param({"case": "b*"}, ["bad"], id="pattern"),
        pytest.param({"case": "ba"}, [], id="part of an id"),
        pytest.param({"runner": "claude"}, ["bad"], id="runner"),
        pytest.param({"runner": "codex"}, [], id="another runner"),
        pytest.param({"suite": "evals/**"}, ["bad"], id="suite"),
        pytest.param({"suite": "other/**"}, [], id="another suite"),
    ],
)
def test_an_entry_takes_out_what_it_fits_until_its_last_day(more, apart):
    report = split("suite evals/core.json\ngood passed\nbad failed", entry(**more))
    assert ids(report.quarantined) == apart
    assert sorted(ids(report.results) + apart) == ["bad", "good"]


def test_the_gate_does_not_count_it():
    report = split("good passed\nbad failed\nodd errored", entry(), entry("odd"))
    assert gate(report, GateOptions()).verdict == "passed"
    assert gate(split("good passed\nbad failed"), GateOptions()).verdict == "failed"


@pytest.mark.parametrize("words", [{"failed"}, {"no-cases"}, {"errored"}, set()])
def test_a_run_with_nothing_else_is_not_green(words):
    decision = gate(split("bad passed", entry()), GateOptions(fail_on=frozenset(words)))
    assert (decision.verdict, decision.exit_code, decision.reasons) == ("inconclusive", 3, (ALL_IN_QUARANTINE,))


def test_a_leaked_key_counts_all_the_same():
    report = split("good passed\nbad failed", entry())
    leaked = replace(report.quarantined[0], findings=(Finding(kind="OPENAI_API_KEY", where="stdout.log"),))
    assert gate(replace(report, quarantined=(leaked,)), GateOptions(fail_on=frozenset({"leaks"}))).exit_code == 1


def test_it_is_no_evidence_in_a_comparison_and_its_case_was_not_removed():
    base = run_report("\n".join(f"c{number} passed 5of5" for number in range(4)))
    text = "\n".join(f"c{number} failed 0of5" for number in range(4))
    assert compare(base, split(text)).verdict == "regression"
    compared = compare(base, split(text, entry("c*")))
    assert (compared.verdict, compared.removed, compared.coverage.base_pairs) == ("inconclusive", (), 4)
    assert compared.coverage.compared == 0


def test_what_comes_out_of_quarantine_is_not_new():
    base = split("good passed\nbad failed", entry())
    assert ids(compare(base, split("good passed\nbad failed")).added) == []


def test_a_stored_run_does_not_decide_what_is_in_quarantine():
    forged = split("good passed\nbad failed", entry("*"))
    assert ids(forged.quarantined) == ["good", "bad"]
    again = quarantined_again(forged, QuarantineFile(), today=TODAY)
    assert (ids(again.results), again.quarantined) == (["good", "bad"], ())
    assert [result.quarantine for result in again.results] == [None, None]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param({}, None, id="in force"),
        pytest.param(
            {"expires": TODAY - timedelta(days=1)},
            "expired 1 day ago, so its cases affect the verdict again; remove the entry, or ask ada for a new date",
            id="expired",
        ),
        pytest.param(
            {"expires": TODAY + timedelta(days=MAX_QUARANTINE_DAYS + 1)},
            "expires more than 90 days ahead, so it has no effect; write 2027-02-21 or earlier",
            id="too long",
        ),
        pytest.param({"case": "gone"}, "matches no case: gone", id="no case"),
        pytest.param({"suite": "other/**"}, "matches no case: bad", id="no suite"),
    ],
)
def test_an_entry_without_effect_is_a_warning(more, message):

    suite = replace(suite_at("evals/core.json"), invalid=(Invalid(case_id="bad", problem=Problem(message="x")),))
    file = QuarantineFile(entries=(entry(**more),))
    found = [str(one) for one in quarantine_warnings(file, [suite], today=TODAY, every_suite=True)]
    assert (message is None) == (not found)
    if message:
        assert found[0].startswith(f"q.yaml:2: quarantine[0]: {message}")


def test_an_entry_for_a_suite_that_is_not_run_is_no_mistake():
    file = QuarantineFile(entries=(entry("gone"),))
    assert quarantine_warnings(file, [], today=TODAY, every_suite=False) == ()
