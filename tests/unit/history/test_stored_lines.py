"""Lines of a store: what a run writes is what is read, and nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from skillgym_action.history import StoreError
from skillgym_action.history.stored_lines import (
    MAX_STORED_LINE_ENTRIES,
    StoredExecution,
    lines_of,
    parsed_line,
    sessions_of,
)
from skillgym_action.model.report import Links
from skillgym_action.model.result import FINDINGS, Finding, FindingId
from stored_runs import inputs_of, line_of, run_of


def changed(line: bytes, change):
    value = json.loads(line)
    change(value)
    return json.dumps(value).encode()


def test_a_line_has_what_comparisons_need_and_nothing_of_a_transcript():
    report = run_of("a failed 2of3 $0.30\nb passed")
    report = replace(
        report, results=tuple(replace(one, prompt="secret prompt", version="2.0.1") for one in report.results)
    )
    line = line_of(report, hours=1)
    assert b"secret" not in line
    parsed = parsed_line(line, "here")
    found = [StoredExecution(parsed, entry) for entry in parsed.entries]
    assert [one.name for one in found] == [("bench/core.json", "a", "claude"), ("bench/core.json", "b", "claude")]
    assert [one.entry.sessions for one in found] == ["ppf", "p"]
    assert found[0].entry.usd == pytest.approx(0.1)
    key = found[0].key
    assert (key.prompt, key.agent, key.version, key.model, key.tool) == (
        inputs_of("a").prompt,
        "claude-code",
        "2.0.1",
        "claude-model",
        "1",
    )


def test_samples_keep_their_order_and_retries_are_none():
    report = run_of("a passed 3x")
    assert sessions_of(report.results[0], None) == "p"
    report = run_of("a failed 2of5")
    assert sessions_of(report.results[0], None) == "ppfff"
    assert sessions_of(report.results[0], 3) == "ppf", "of a run whose later sessions depend on results"


def test_what_was_not_judged_or_cannot_be_identified_is_not_stored():
    assert list(lines_of(run_of("a errored\nb skipped"), id_="1", group="1", branch=None)) == []
    assert list(lines_of(run_of("a passed", commit=None), id_="1", group="1", branch=None)) == []
    report = run_of("a passed")
    report = replace(report, results=tuple(replace(one, inputs=None) for one in report.results))
    assert list(lines_of(report, id_="1", group="1", branch=None)) == []


def test_a_large_run_has_several_lines_that_are_all_read():
    result = run_of("a passed").results[0]
    results = tuple(replace(result, case_id=f"c{number}") for number in range(MAX_STORED_LINE_ENTRIES + 1))
    lines = list(lines_of(replace(run_of("a passed"), results=results), id_="1", group="1", branch=None))
    assert [len(parsed_line(line, "here").entries) for line in lines] == [MAX_STORED_LINE_ENTRIES, 1]


def test_only_findings_that_make_a_result_doubtful_are_stored():
    result = run_of("a passed").results[0]

    def stored(*ids: FindingId) -> bool:
        findings = tuple(Finding(id=id_, kind="k", where="stdout.log") for id_ in ids)
        report = replace(run_of("a passed"), results=(replace(result, findings=findings),))
        return parsed_line(line_of(report, hours=1), "here").entries[0].found

    assert [id_ for id_ in FINDINGS if not stored(id_)] == ["background"]
    assert stored("background", "exit")
    assert not stored()


def test_only_addresses_of_the_web_are_kept_as_links():
    links = Links(repository="file:///r", commit=None, run="file:///r/actions/runs/1")
    line = json.loads(line_of(run_of("a passed", links=links), hours=1))
    assert "link" not in line["run"]


FORGED = {
    "no JSON": (lambda _: b"{", "not JSON"),
    "a key that is not known": (lambda line: changed(line, lambda v: v.update(x=1)), "x: is not a key"),
    "no run": (lambda _: b'{"schema": 1}', "run: is missing"),
    "no such suite": (lambda line: changed(line, lambda v: v["entries"][0].update(suite=7)), "no such suite or runner"),
    "sessions that are none": (
        lambda line: changed(line, lambda v: v["entries"][0].update(sessions="x")),
        "sessions: ",
    ),
    "another schema": (lambda line: changed(line, lambda v: v.update(schema=2)), "schema: "),
    "no entries": (lambda line: changed(line, lambda v: v.update(entries=[])), "entries: "),
    "no such runner": (
        lambda line: changed(line, lambda v: v["entries"][0].update(runner=3)),
        "no such suite or runner",
    ),
    "a case twice": (lambda line: changed(line, lambda v: v["entries"].append(v["entries"][0])), "is the same case"),
    "a path upwards": (
        lambda line: changed(line, lambda v: v["suites"][0].update(path="../x")),
        "without steps upwards",
    ),
    "a link that is a script": (
        lambda line: changed(line, lambda v: v["run"].update(link="javascript:alert(1)")),
        "run.link: ",
    ),
    "endless sessions": (lambda line: changed(line, lambda v: v["entries"][0].update(sessions="p" * 1001)), "sessions"),
    "an endless cost": (lambda line: line.replace(b'"usd":0.01', b'"usd":1e999'), "usd"),
    "a negative time": (lambda line: changed(line, lambda v: v["entries"][0].update(ms=-1)), "ms"),
    "a time that is none": (lambda line: changed(line, lambda v: v["run"].update(at="2026-13-01T00:00:00Z")), "run.at"),
    "more than a line may have": (lambda line: line + b" " * (16 * 1024**2), "more than 16,777,216 bytes"),
}


@pytest.mark.parametrize(("forge", "reason"), FORGED.values(), ids=FORGED)
def test_a_line_that_no_run_wrote_is_refused_with_its_place(forge, reason):
    with pytest.raises(StoreError) as refused:
        parsed_line(forge(line_of(run_of("a passed"), hours=1)), "runs:7")
    assert str(refused.value).startswith("runs:7: ")
    assert reason in str(refused.value)
