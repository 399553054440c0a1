"""Text of agents and suites in every field that there is, through every place it can go to: it is shown, never obeyed.

What each escaping function does is in test_text.py; here is that nothing leads around them.
"""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stderr
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree, html
from markdown_it import MarkdownIt

from builders import run_report
from hostile import any_text
from markdown_structure import EACH, REPOSITORY, structure
from runner_env_files import entries
from runner_parsers import command, commands, read_lines
from scratch import Watched, written
from showcase import RUN
from skillgym_action import __main__
from skillgym_action.cli.commands.explain import quoted_reply
from skillgym_action.cli.commands.list import execution_line, list_document, plan_as_table
from skillgym_action.cli.schemas.json_documents import document_text
from skillgym_action.cli.terminal import Terminal
from skillgym_action.github.publish_log import PublishLog
from skillgym_action.github.review import review_text
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.execution import Execution, Plan
from skillgym_action.model.report import Links, RunWithoutReport, SuitesFrom
from skillgym_action.model.result import Finding, SessionResult
from skillgym_action.model.session_report import Cost
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.pipeline.stages.publish import publish
from skillgym_action.reports import REPORTERS
from skillgym_action.reports.markdown.report import comment
from skillgym_action.reports.markdown.run_without_report import run_without_report_comment, run_without_report_summary
from skillgym_action.reports.terminal.job_log import JobLog
from skillgym_action.reports.terminal.terminal import finished_line, render
from skillgym_action.results.journal import session_line
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.results.statistics.comparison import compare
from skillgym_action.settings.slices import PublishOptions
from skillgym_action.text.escaping import terminal_line
from skillgym_action.text.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.model.report import RunReport

OURS = {"started_at", "ended_at", "verdict", "source", "format", "id of a finding", "digest", "links", "comparison"}
"""Fields whose words are the program's own, or a few that are known."""
TABLES = MarkdownIt("commonmark").enable("table")
HARMLESS = "words"
MORE = tuple((kind, f"{kind}.more") for kind in REPORTERS)


# --- a report in which every word is somebody else's ------------------------------------------------------------------


def spoken(value: Any, text: str, name: str = "") -> Any:
    """The value with ``text`` in the place of every word in it that is not ours."""
    if name in OURS:
        return value
    if type(value) is str:
        return text
    if isinstance(value, tuple):
        return tuple(spoken(item, text) for item in value)
    if is_dataclass(value):
        inside = (field.name for field in fields(value))
        named = {part: "id of a finding" if isinstance(value, Finding) and part == "id" else part for part in inside}
        return replace(value, **{part: spoken(getattr(value, part), text, named[part]) for part in named})
    return value


def report_of(text: str) -> RunReport:
    """Every status, findings, warnings, retries, scores, a comparison and links; ``text`` wherever there is room."""
    report = run_report(
        f"{EACH}\ng failed 0.5/0.8 2x !github:stdout.log\nwarning: odd", commit="abc", shard="1/2", incomplete=("gone",)
    )
    origin = SuitesFrom(
        folder="../base", commit="abc", added=("a", "b"), changed=("c",), removed=("d",), configuration_differs=True
    )
    report = replace(report, suites_from=origin)
    problem = Problem(message="odd", location=Location(path="a", line=1), key_path="cases[0]", remedy="mend it")
    report = replace(report, warnings=(*report.warnings, problem))
    heard = spoken(report, text)
    # What tells executions apart has to, whoever wrote it.
    results = tuple(replace(one, case_id=f"{one.case_id}{one.index}") for one in heard.results)
    heard = replace(heard, results=results, links=Links(repository=REPOSITORY, commit="abc", run=RUN))
    return replace(heard, comparison=compare(replace(heard, results=results[1:], links=None), heard))


def words_in(value: Any) -> int:
    """How many places of the report hold the text."""
    if isinstance(value, tuple):
        return sum(map(words_in, value))
    if is_dataclass(value):
        return sum(words_in(getattr(value, field.name)) for field in fields(value) if field.name not in OURS)
    return int(type(value) is str)


# --- the places -------------------------------------------------------------------------------------------------------


def delivered(report: RunReport) -> dict[str, str]:
    """What a step leaves, by place."""
    watched = Watched()
    with TemporaryDirectory() as temporary:
        folder = written(Path(temporary), {"summary": "", "outputs": ""})
        options = PublishOptions(
            reports=tuple((kind, folder / "more" / name) for kind, name in MORE),
            annotations=True,
            step_summary=folder / "summary",
            step_outputs=folder / "outputs",
            workspace=folder,
        )
        with RunDirectory(folder / "run", Redactor()) as directory:
            publish(directory, report, options, watched)
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".gitignore"]
        left = {path.relative_to(folder).as_posix(): path.read_bytes().decode() for path in files}
    return left | {"the log": "".join(f"{line}\n" for line in watched.said), "the terminal": "\n".join(watched.lines)}


def printed(report: RunReport) -> Iterator[tuple[str, str]]:
    """What is for people, who may read it in the log of a job."""
    yield "the end of a run", "".join(render(report))
    yield "lines while it runs", "\n".join(finished_line(one, 1, 9) for one in report.results)
    log = JobLog(verbose=True)
    groups = (log.finished(one, 1, 9).split("\n")[1:-2] for one in report.results)  # without their own commands
    yield "the groups of a job's log", "\n".join(line for group in groups for line in group)
    yield "the end of a job's log", "".join(render(report, red=log.unfolded))
    said = io.StringIO()
    with redirect_stderr(said):
        terminal = Terminal(redactor=Redactor(), color=False, quiet=False, live=False)
        for one in report.results:
            terminal.finished(one)
            terminal.untrusted(one.final_output or "")
        terminal.show(render(report))
        __main__._printed_end(SuiteError.of(*report.warnings), {})
    yield "the terminal", said.getvalue()
    plan = plan_of(report)
    yield "list", plan_as_table(plan)
    yield "list --json", document_text(list_document(plan, None, exit_code=0), Redactor())
    yield "--dry-run", "\n".join(map(execution_line, plan.executions))
    for one in report.results:
        yield "explain", quoted_reply(one.prompt or "", one.final_output or "")


def plan_of(report: RunReport) -> Plan:
    executions = tuple(
        Execution(
            index=one.index, suite=one.suite, runner=one.runner, directory="", timeout=60, budget=1, model=one.model,
            case=BenchmarkCase(
                id=one.case_id, prompt=one.prompt or "", location=one.location, assertions=(), tags=one.tags
            ),
        )
        for one in report.results
    )  # fmt: skip
    return Plan(suites=report.suites, runners=report.runners, executions=executions, unrunnable=())


def markdown(report: RunReport) -> Iterator[tuple[str, str]]:
    """What GitHub renders besides reports."""
    told = PublishLog(notes=report.warnings, permissions="permissions:\n  contents: read")
    yield "notes", told.markdown()
    end = RunWithoutReport(exit_code=2, problems=report.warnings)
    links = Links(repository=REPOSITORY, commit="a" * 40, run=RUN)
    yield "the summary of an early end", run_without_report_summary(end, links)
    replaced = "".join(comment(report, run_key="1/1", commit="b" * 40))
    yield "the comment of an early end", run_without_report_comment(end, replaced, links=links, run_key="2/1")
    yield "a review comment", review_text([one for one in report.results if one.status != "passed"])


# --- what readers make of it ------------------------------------------------------------------------------------------


def cells(text: str) -> list[list[str]]:
    """The tables' rows: a cell too many would push the last one out."""
    rows: list[list[str]] = []
    tokens = TABLES.parse(text)
    for before, token in pairwise(tokens):
        if before.type == "tr_open":
            rows.append([])
        if before.type in ("td_open", "th_open"):
            rows[-1].append(token.content)
    return rows


def elements(text: str) -> Counter[str]:
    """An XML document's elements and attributes."""
    root = etree.fromstring(text.encode())
    return Counter(part for element in root.iter() for part in (element.tag, *element.attrib))


def html_elements(text: str) -> Counter[str]:
    """An HTML document's elements, each with its attributes, and the sources of scripts and styles."""
    root = html.document_fromstring(text)
    found = Counter(" ".join([str(one.tag), *sorted(one.attrib)]) for one in root.iter())
    run = [one.text for one in root.iter("script", "style") if one.get("type") != "application/json"]
    return found + Counter(str(source) for source in run)


def html_data(text: str) -> list[Any]:
    """The keys of the data in an HTML document."""
    found = html.document_fromstring(text).iter("script")
    return [names(json.loads(one.text)) for one in found if one.get("type") == "application/json"]


def names(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: names(item) for key, item in value.items() if key not in ("place", "address")}
    return [names(item) for item in value] if isinstance(value, list) else None


def shape(value: Any) -> Any:
    """A JSON value without its texts."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key not in ("location", "path", "line")}
    return [shape(item) for item in value] if isinstance(value, list) else type(value)


def json_values(text: str) -> list[Any]:
    try:
        return [json.loads(text)]
    except json.JSONDecodeError:
        return [json.loads(line) for line in text.split("\n") if line]


def same_kind(name: str, text: str, harmless: str) -> None:
    """One file is what it would be if nobody was hostile, but for its words."""
    kind = name.rpartition("/")[2].partition(".")[0]
    if kind in ("summary", "comment"):
        structure(text)
        assert [row[-1] for row in cells(text)] == [row[-1] for row in cells(harmless)]
        assert [len(row) for row in cells(text)] == [len(row) for row in cells(harmless)]
        assert text.count("<!-- ") == harmless.count("<!-- ")
    elif kind in ("annotations", "the log"):
        found = [command(line) for line in read_lines(text)[:-1]]
        assert [one and one[0] for one in found] == [one[0] for one in map(command, read_lines(harmless)[:-1]) if one]
        assert all(set(one[1]) <= {"file", "line", "col", "title"} for one in found if one)
        assert commands(text) == [one[0] for one in found if one for _ in range(2)]
    elif kind == "junit":
        assert elements(text) == elements(harmless)
    elif kind in ("report", "html"):
        assert html_elements(text) == html_elements(harmless)
        assert html_data(text) == html_data(harmless)
    elif kind == "outputs":
        assert [name for name, _ in entries(text)] == [name for name, _ in entries(harmless)]
    else:
        assert list(map(shape, json_values(text))) == list(map(shape, json_values(harmless)))


KNOWN = (
    "##[error]x",
    "x\r::error::x\n::stop-commands::x",
    "\x1b[2J\x1b]0;x\x07x",
    "x | x | x\n|---|\n```\n</details><img src=x>@x #1",
    "x<<EOF\nEOF\nverdict=passed\n]]></x>\x00\ud800x",
)
AROUND = st.sampled_from([("", "x"), ("x", ""), ("x", "x")])
# Something is left to be seen in every place, even if the text is an escape sequence from its first letter to x.
SURROUNDED = st.tuples(any_text, AROUND).map(lambda drawn: drawn[0].join(drawn[1]))
HOSTILE = SURROUNDED.filter(lambda text: terminal_line(text).strip())


def tried_on(holds: Callable[[str], int], examples: int = 100) -> int:
    """Hypothesis on a property of one text; how many texts went through how many places."""
    tried: Counter[str] = Counter()

    @settings(max_examples=examples)
    @given(HOSTILE)
    def everywhere(text: str) -> None:
        tried["all"] += holds(text)

    for text in KNOWN:
        everywhere = example(text)(everywhere)
    everywhere()
    return tried["all"]


def test_no_text_changes_what_a_step_leaves(proved):
    harmless = delivered(report_of(HARMLESS))
    assert len(harmless) >= len(MORE) + 8

    def holds(text: str) -> int:
        report = report_of(text)
        left = delivered(report)
        assert left.keys() == harmless.keys()
        for name, found in left.items():
            same_kind(name, found, harmless[name])
        return len(left) * words_in(report)

    proved("text", "hostile texts in fields of a report, in files and logs, obeyed nowhere", tried_on(holds, 50))


def test_no_text_is_a_command_where_people_read(proved):
    def holds(text: str) -> int:
        report = report_of(text)
        found = list(printed(report))
        for place, told in found:
            assert commands(told) == [], place
            assert "\x1b" not in told, place
            assert not set(told) & {"\r", "\x07", "\x9b", "\u202e"}, place
        return len(found) * words_in(report)

    proved("text", "hostile texts in fields of a report, in terminals, obeyed nowhere", tried_on(holds))


def test_no_text_becomes_markup_in_comments_and_notes(proved):
    def holds(text: str) -> int:
        report = report_of(text)
        for _, told in markdown(report):
            structure(told)
        for note in report.warnings:
            line = PublishLog.notice(note)
            assert commands(line) == ["notice"] * 2, "as it is, and without what a culture ignores"
            assert len(read_lines(line)) == 1
        return 5 * words_in(report)

    proved("text", "hostile texts in fields of a report, in comments, obeyed nowhere", tried_on(holds))


def test_no_text_breaks_a_line_of_the_journal(proved):
    def holds(text: str) -> int:
        for result in report_of(text).results:
            line = session_line("d" * 64, SessionResult(result=result, agent_cost=Cost()))
            assert "\n" not in line
            assert json.loads(line)["result"]["status"] == result.status
        return 1

    tried_on(holds, 30)


@pytest.mark.parametrize("name", ["the terminal", "list --json"])
def test_what_has_no_words_has_no_place_in_these_tests(name):
    shown = {place: told for place, told in printed(report_of("zebra")) if place == name}
    assert "zebra" in shown[name]


def test_every_field_is_heard():
    report = report_of("zebra")
    assert words_in(report) > 150
    silent = [name for name, text in delivered(report).items() if "zebra" not in text]
    assert silent == ["outputs", "the terminal"]
