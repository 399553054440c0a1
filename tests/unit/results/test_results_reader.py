"""Large results files, and files that are made to be refused: each with one message."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from builders import restored_text, run_report
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.limits import MAX_RESULTS_ROWS
from skillgym_action.results.merge import merged
from skillgym_action.results.results_file import render, unreadable
from skillgym_action.results.results_reader import MAX_RESULTS_CONTAINERS
from skillgym_action.results.stored_runs import baseline, stored_reports, stored_run

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.model.report import RunReport

ROW = ("suites", 0, "results", 0)


def text_of(report: RunReport) -> str:
    return "".join(render(report))


def shards(report: RunReport, folder: Path, number: int) -> None:
    """The run in so many folders, each with every n-th result."""
    for part in range(number):
        one = replace(report, id=f"part-{part}", results=report.results[part::number], shard=f"{part + 1}/{number}")
        (folder / one.id).mkdir()
        (folder / one.id / "results.json").write_text(text_of(one))


def test_what_was_merged_is_read_again_row_by_row(tmp_path):
    cases = [f"case-{index} {'failed' if index % 10 == 0 else 'passed'}" for index in range(100)]
    report = run_report("\n".join(["suite a.json", *cases, "suite b.json", *cases]))
    shards(report, tmp_path, 4)
    found = merged(stored_reports(["part-*"], tmp_path), "all")
    (tmp_path / "all").mkdir()
    (tmp_path / "all/results.json").write_text(text_of(found))
    again = baseline(tmp_path / "all", tmp_path)
    assert again is not None
    assert again.results == found.results
    assert text_of(again) == text_of(replace(found, decision=None))
    assert len(stored_run(tmp_path / "all").repetitions) == 200


@pytest.mark.slow
def test_a_file_may_have_more_lists_and_objects_than_one_part_of_it():
    cases = [f"case-{index} failed" for index in range(MAX_RESULTS_CONTAINERS // 10)]
    text = text_of(run_report("\n".join(cases)))
    assert text.count("{") + text.count("[") > MAX_RESULTS_CONTAINERS
    assert len(restored_text(text).results) == len(cases)


@pytest.mark.parametrize("indent", [None, 2])
def test_keys_and_blanks_may_be_in_any_order(indent):
    report = run_report("suite a.json\none passed 2x\ntwo @codex failed\nsuite b.json\nthree errored\nwarning: odd")
    text = text_of(report)
    turned = json.dumps(reversed_keys(json.loads(text)), indent=indent)
    assert next(iter(json.loads(turned))) == "warnings"
    assert text_of(restored_text(turned)) == text_of(restored_text(text))


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(value[key]) for key in reversed(value)}
    return [reversed_keys(one) for one in value] if isinstance(value, list) else value


def changed(change: Callable[[Any], object]) -> str:
    value = json.loads(text_of(run_report("one failed 2x\ntwo passed")))
    change(value)
    return json.dumps(value)


def in_row(**values: object) -> str:
    return changed(lambda value: value["suites"][0]["results"][0].update(values))


def whole(text: str = "") -> str:
    return text_of(run_report("one failed 2x\ntwo passed")) + text


HOSTILE = {
    "cut off in a row": (whole()[:1_500], "not JSON: "),
    "cut off after a row": (whole()[: whole().index(',\n{"index"')], "not JSON: Expecting ',' delimiter: line "),
    "more after the end": (whole("{}"), "not JSON: Extra data: line "),
    "a second document": (whole() * 2, "not JSON: Extra data: line "),
    "zeros after the end": (whole("\0" * 100), "not JSON: Extra data: line "),
    "too deep": (in_row(tags=[]).replace('"tags": []', '"tags": ' + "[" * 90_000), "nested more than 100 levels deep"),
    "members of a row": (in_row(**dict.fromkeys(map(str, range(1_001)), 0)), "an object with more than 1,000 members"),
    "a key of a row twice": (
        in_row().replace('"status": "failed"', '"status": "passed", "status": "failed"', 1),
        "suites[0].results[0].status is set twice, first in line 1",
    ),
    "suites twice": (whole().replace('"warnings": ', '"suites": [], "warnings": '), "suites is set twice"),
    "results twice": (whole().replace('"results": ', '"results": [], "results": '), "suites[0].results is set twice"),
    "suites are no list": (changed(lambda value: value.update(suites={})), "suites: must be a list"),
    "a suite is no object": (changed(lambda value: value["suites"].append([])), "suites[1]: must be an object"),
    "results are no list": (changed(lambda value: value["suites"][0].update(results=3)), "suites[0].results: must be"),
    "a row is no object": (changed(lambda value: value["suites"][0]["results"].append(3)),
                           "suites[0].results[2]: must be an object"),
    "no suites": (changed(lambda value: value.pop("suites")), "suites: is missing"),
    "no results": (changed(lambda value: value["suites"][0].pop("results")), "suites[0].results: is missing"),
    "no path": (changed(lambda value: value["suites"][0].pop("path")), "suites[0].path: is missing"),
    "no runners": (changed(lambda value: value.pop("runners")), "runners: is missing"),
    "another version": (changed(lambda value: value.update(schema=2)), "schema: must be 1, not 2"),
    "a wrong uplift": (
        changed(lambda value: value["run"].update(uplifts=[{"cases": [{"caseId": 3}]}])),
        "run.uplifts[0].cases[0].caseId: must be a valid string",
    ),
    "an uplift without fields": (changed(lambda value: value["run"].update(uplifts=[{}])), "run.uplifts[0].suite: is"),
}  # fmt: skip


def message_of(read: Callable[[], object]) -> str:
    """What a file named ``results.json`` is refused with, in one line, without the file's name."""
    with pytest.raises(UsageError) as caught:
        read()
    message = str(caught.value)
    assert len(message) < 1_000
    return message.splitlines()[0].partition("results.json: ")[2]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_no_run_writes_is_refused_with_one_message(tmp_path, name):
    text, told = HOSTILE[name]
    (tmp_path / "results.json").write_text(text)
    assert message_of(lambda: stored_reports(["results.json"], tmp_path)).startswith(told)


def test_baselines_and_runs_that_are_judged_again_are_refused_with_the_same_message(tmp_path):
    (tmp_path / "results.json").write_text(HOSTILE["no path"][0])
    for read in (lambda: baseline(tmp_path / "results.json", tmp_path), lambda: stored_run(tmp_path)):
        assert message_of(read).startswith("suites[0].path: is missing")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "told"),
    [
        pytest.param({"prompt": lambda: "x" * 2**26}, "suites[0].results[0] has more than 67,108,864 characters",
                     id="a giant row"),
        pytest.param({"tags": lambda: [[]] * 400_001}, "more than 400,000 lists and objects in one value",
                     id="lists in a row"),
    ],
)  # fmt: skip
def test_a_row_that_is_larger_than_any_of_a_run_is_refused(tmp_path, values, told):
    text = in_row(**{key: value() for key, value in values.items()})
    (tmp_path / "results.json").write_text(text)
    assert message_of(lambda: stored_reports(["results.json"], tmp_path)).startswith(told)


@pytest.mark.slow
def test_more_rows_than_are_read_are_refused(tmp_path):
    with (tmp_path / "results.json").open("w") as file:
        file.write('{"warnings": [')
        for _ in range(MAX_RESULTS_ROWS // 1_000):
            file.write('{"message":""},' * 1_000)
        file.write('{"message":""}]}')
    with pytest.raises(UsageError, match="more than 500,000 results and warnings; no run writes that"):
        stored_reports(["results.json"], tmp_path)


def test_a_run_with_more_rows_than_are_read_gets_a_warning(tmp_path):
    file = tmp_path / "results.json"
    file.write_text("{}")
    report = run_report("one passed", warnings=(Problem(message="odd"),) * MAX_RESULTS_ROWS)
    assert str(next(unreadable(file, report))) == (
        "results.json has 500,001 results and warnings: files with more than 500,000 are not read again; "
        "report parts of the run, such as one for each suite"
    )
    assert list(unreadable(file, run_report("one passed"))) == []


def test_all_contradictions_are_counted_and_a_few_shown(tmp_path):
    def spoil(value: Any) -> None:
        row = value["suites"][0]["results"][0]
        value["suites"][0]["results"] = [row] * 30

    (tmp_path / "results.json").write_text(changed(spoil))
    with pytest.raises(UsageError) as caught:
        stored_reports(["results.json"], tmp_path)
    lines = str(caught.value).splitlines()
    assert lines[0] == ("results.json: suites[0].results[1]: is the same case on the same runner as results[0]")
    assert (len(lines), lines[-1]) == (6, "results.json: and 24 more problems")
