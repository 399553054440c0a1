"""The lines of a store: one for each run, or several for a large one; made, and validated when they are read.

A line may have been written by anybody. Numbers and texts have bounds that no run reaches, and what contradicts itself
is refused.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, ValidationError

from skillgym_action.history import StoreError
from skillgym_action.model.limits import MAX_STORED_SESSIONS
from skillgym_action.model.records import record
from skillgym_action.model.result import FINDINGS
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, JUDGED, Status
from skillgym_action.results.mapping import (
    COMMIT,
    DIGEST,
    SESSIONS,
    WEB_ADDRESS,
    Count,
    MappedModel,
    Path,
    Several,
    State,
    Time,
    Usd,
)
from skillgym_action.results.results_reader import plain_message
from skillgym_action.results.schema import InputsEntry, rounded
from skillgym_action.results.statistics.comparison import judge_in_words
from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.judgement import Judgement
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite

MAX_STORED_KEY_PATH_CHARACTERS = 300  # of a key of a stored line, in messages
MAX_STORED_LINE_ENTRIES = 5_000  # executions in one line; a larger run has several lines
MAX_STORED_LINE_BYTES = 16 * 1024**2
MAX_STORED_FAILURE_CHARACTERS = 200  # of the reason of a failure
PASSED, FAILED = "p", "f"
Name = Annotated[str, Field(max_length=4_096)]
WholeDigest = Annotated[str, Field(pattern=DIGEST)]
_encoded = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class StoredRunHead(MappedModel):
    """The run: its id, the workflow job that it was a part of, when it began, and what it ran on.

    ``group``: equal for the parts of a run that several jobs ran. ``judge``: the judge's model with its versions.
    """

    id: Annotated[str, Field(min_length=1, max_length=255)]
    group: Annotated[str, Field(min_length=1, max_length=512)]
    at: Time
    commit: Annotated[str, Field(pattern=COMMIT)]
    branch: Annotated[str, Field(max_length=1_024)] | None = None
    link: Annotated[str, Field(max_length=2_048, pattern=WEB_ADDRESS)] | None = None
    tool: Annotated[str, Field(max_length=100)]
    judge: Name | None = None


class StoredSuite(MappedModel):
    """A suite of the run, with the digests of its files and of its workspace templates."""

    path: Path
    digest: WholeDigest | None = None
    template: WholeDigest | None = None


class StoredRunner(MappedModel):
    """A runner of the run, with the type of its agent."""

    id: Name
    agent: Name


class StoredFailure(MappedModel):
    """Why an execution is not green: its class, its label, where the failure came from, and the beginning of why."""

    id: Name | None = None
    label: Name | None = None
    origin: Name | None = None
    name: Name = ""
    message: Name = ""


class StoredEntry(MappedModel):
    """One execution. ``suite`` and ``runner``: positions in the lists of the line.

    ``sessions``: its samples in their order, ``p`` for one that passed and ``f`` for one that failed. ``usd``: the mean
    cost of a session; ``ms``: the mean duration. For those that reuse it: ``status``, where the samples alone do
    not say it, ``score`` and ``failure``; ``found``: a finding makes the result doubtful.
    """

    suite: Count
    case: Name
    runner: Count
    inputs: InputsEntry
    expected_fail: bool = False
    version: Name | None = None
    model: Name | None = None
    sessions: Annotated[str, Field(pattern=SESSIONS)]
    usd: Usd | None = None
    ms: Count
    status: State | None = None
    score: float | None = None
    failure: StoredFailure | None = None
    found: bool = False

    @property
    def whole_status(self) -> Status:
        """The status of the execution."""
        return self.status or status_of(self.sessions, expected_fail=self.expected_fail)


class StoredNames(MappedModel):
    """Cases of a suite on a runner whose results the run reused: it had them, but no samples of them."""

    suite: Count
    runner: Count
    cases: Several[Name]


class StoredLine(MappedModel):
    """A whole line. ``reused``: executions that the run did not repeat."""

    schema_: Annotated[Literal[1], Field(alias="schema")]
    run: StoredRunHead
    suites: Annotated[Several[StoredSuite], Field(max_length=10_000)]
    runners: Annotated[Several[StoredRunner], Field(max_length=10_000)]
    entries: Annotated[Several[StoredEntry], Field(min_length=1, max_length=MAX_STORED_LINE_ENTRIES)]
    reused: Annotated[Several[StoredNames], Field(max_length=MAX_STORED_LINE_ENTRIES)] = ()

    def contradiction(self) -> str | None:
        """What does not fit together, if anything."""
        seen = set()
        for number, entry in enumerate(self.entries):
            if entry.suite >= len(self.suites) or entry.runner >= len(self.runners):
                return f"entries.{number}: there is no such suite or runner in the line"
            key = entry.suite, entry.case, entry.runner
            if key in seen:
                return f"entries.{number}: is the same case on the same runner as another entry"
            seen.add(key)
        for number, names in enumerate(self.reused):
            if names.suite >= len(self.suites) or names.runner >= len(self.runners):
                return f"reused.{number}: there is no such suite or runner in the line"
        return None

    def names(self) -> Iterator[ExecutionName]:
        """All executions of the run, those that it reused among them."""
        cases = [(one.suite, one.case, one.runner) for one in self.entries]
        cases += [(one.suite, case, one.runner) for one in self.reused for case in one.cases]
        for suite, case, runner in cases:
            yield ExecutionName(self.suites[suite].path, case, self.runners[runner].id)


class ExecutionName(NamedTuple):
    """Which execution it is: path of its suite, id of its case, id of its runner."""

    suite: str
    case: str
    runner: str


class EntryKey(NamedTuple):
    """What an execution depends on besides the repository. Entries with equal keys are samples of the same.

    ``tool``: the major version of this tool; ``plug_ins``: as in ``CaseInputs``. None: not known, or there is none.
    """

    prompt: str
    assertions: str
    program: str | None
    template: str | None
    workspace: str
    agent: str
    version: str | None
    model: str | None
    judge: str | None
    tool: str
    plug_ins: str


@record(kw_only=False)
class StoredExecution:
    """An entry with the line that it is in."""

    line: StoredLine
    entry: StoredEntry

    @property
    def name(self) -> ExecutionName:
        runner = self.line.runners[self.entry.runner]
        return ExecutionName(self.line.suites[self.entry.suite].path, self.entry.case, runner.id)

    @property
    def key(self) -> EntryKey:
        run, inputs = self.line.run, self.entry.inputs
        return EntryKey(
            prompt=inputs.prompt,
            assertions=inputs.assertions,
            program=inputs.program,
            template=self.line.suites[self.entry.suite].template,
            workspace=inputs.workspace,
            agent=self.line.runners[self.entry.runner].agent,
            version=self.entry.version,
            model=self.entry.model,
            judge=run.judge,
            tool=major(run.tool),
            plug_ins=inputs.plug_ins or "none",
        )


def major(version: str) -> str:
    """The major version: what is before the first dot."""
    return version.partition(".")[0]


# --- writing ------------------------------------------------------------------------------------------


def lines_of(report: RunReport, *, id_: str, group: str, branch: str | None) -> Iterator[bytes]:
    """The lines of a run, each with a line feed; none if nothing was judged, or its commit is not known.

    ``id_``: unique among all runs, which names of run directories are not. Of a reused result only the name is stored:
    its samples are in the store already.
    """
    rows = [(result, row) for result in report.results if (row := _row(result, report.sampled_repetitions))]
    if report.commit is None:
        return
    link = report.links.run if report.links else None
    head = {
        "id": id_,
        "group": group,
        "at": report.started_at,
        "commit": report.commit,
        "branch": branch,
        "link": link if link and link.startswith(("https://", "http://")) else None,
        "tool": report.version,
        "judge": judge_in_words(report),
    }
    head = {key: value for key, value in head.items() if value is not None}
    for start in range(0, len(rows), MAX_STORED_LINE_ENTRIES):
        reused = [result for result in report.results if result.reused and result.runner] if start == 0 else []
        yield _line(head, rows[start : start + MAX_STORED_LINE_ENTRIES], reused, report.suites)


def _line(
    head: Mapping[str, object],
    rows: list[tuple[Result, dict[str, object]]],
    reused: list[Result],
    suites_of_run: Iterable[BenchmarkSuite],
) -> bytes:
    whole = {suite.path: suite for suite in suites_of_run}  # those of results lack the digest of the template
    named = [*(result for result, _ in rows), *reused]
    suites = {result.suite.path: whole.get(result.suite.path, result.suite) for result in named}
    runners = {result.runner.id: result.runner for result in named if result.runner}
    suite_at, runner_at = ({name: number for number, name in enumerate(names)} for names in (suites, runners))
    entries = [
        {"suite": suite_at[result.suite.path], "runner": runner_at[result.runner.id], **row}
        for result, row in rows
        if result.runner
    ]
    names: dict[tuple[int, int], list[str]] = {}
    for result in reused:
        if result.runner:
            at = suite_at[result.suite.path], runner_at[result.runner.id]
            names.setdefault(at, []).append(result.case_id)
    content: dict[str, object] = {
        "schema": 1,
        "run": head,
        "suites": [
            {"path": suite.path}
            | ({"digest": suite.digest} if suite.digest else {})
            | ({"template": suite.template_digest} if suite.template_digest else {})
            for suite in suites.values()
        ],
        "runners": [{"id": runner.id, "agent": runner.agent.type} for runner in runners.values()],
        "entries": entries,
    }
    if names:
        content["reused"] = [
            {"suite": suite, "runner": runner, "cases": cases} for (suite, runner), cases in names.items()
        ]
    return _encoded(content).encode() + b"\n"


def _row(result: Result, repetitions: int | None) -> dict[str, object] | None:
    """The part of an entry that is in the result itself; None if it has no sample, or its inputs are not known."""
    sessions = sessions_of(result, repetitions)[:MAX_STORED_SESSIONS]
    if result.runner is None or result.inputs is None or not sessions:
        return None
    inputs = result.inputs
    row: dict[str, object] = {
        "case": result.case_id,
        "inputs": {"prompt": inputs.prompt, "assertions": inputs.assertions, "workspace": inputs.workspace}
        | ({"program": inputs.program} if inputs.program else {})
        | ({"whole": inputs.whole} if inputs.whole else {})
        | ({"plugIns": inputs.plug_ins} if inputs.plug_ins else {}),
        "sessions": sessions,
        "ms": result.duration_ms,
    }
    more = {
        "expectedFail": result.expected_fail or None,
        "version": result.version,
        "model": result.model or result.runner.agent.model,
        "usd": result.cost.usd / len(result.attempts) if result.cost.usd is not None else None,
        "status": result.status
        if result.status is not status_of(sessions, expected_fail=result.expected_fail)
        else None,
        "score": rounded(result.score) if result.score is not None else None,
        "failure": _failure(result.judgement),
        "found": any(FINDINGS[finding.id].doubtful for finding in result.findings) or None,
    }
    return row | {key: value for key, value in more.items() if value is not None}


def _failure(judgement: Judgement) -> dict[str, str] | None:
    """Why an execution is not green, as an entry has it; None if nothing is known."""
    if judgement.failure is None:
        return None
    found = {
        "id": judgement.failure_class.id if judgement.failure_class else None,
        "label": judgement.failure_class.label if judgement.failure_class else None,
        "origin": judgement.origin,
        "name": judgement.failure.name,
        "message": clipped(judgement.failure.message, MAX_STORED_FAILURE_CHARACTERS),
    }
    return {key: clipped(value, MAX_STORED_FAILURE_CHARACTERS) for key, value in found.items() if value}


def status_of(sessions: str, *, expected_fail: bool) -> Status:
    """The status of an execution whose samples are decided by one that failed."""
    if FAILED in sessions:
        return Status.EXPECTED_FAILED if expected_fail else Status.FAILED
    return Status.UNEXPECTED_PASSED if expected_fail else Status.PASSED


def sessions_of(result: Result, repetitions: int | None) -> str:
    """The samples of an execution in their order; see ``samples_of``, which counts them."""
    first: dict[int, Status] = {}
    for attempt in result.attempts:
        if attempt.status in JUDGED and (repetitions is None or attempt.repetition <= repetitions):
            first.setdefault(attempt.repetition, attempt.status)
    return "".join(PASSED if first[number] in ASSERTIONS_PASSED else FAILED for number in sorted(first))


# --- reading ------------------------------------------------------------------------------------------


def parsed_line(content: bytes, place: str) -> StoredLine:
    """A validated line. Raises StoreError, which names the ``place``."""
    if len(content) > MAX_STORED_LINE_BYTES:
        raise StoreError(f"{place}: the line has more than {MAX_STORED_LINE_BYTES:,} bytes")
    try:
        line = StoredLine.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        at = clipped(".".join(map(str, first["loc"])), MAX_STORED_KEY_PATH_CHARACTERS)
        raise StoreError(f"{place}: {f'{at}: ' if at else ''}{plain_message(first)}") from error
    if wrong := line.contradiction():
        raise StoreError(f"{place}: {wrong}")
    return line
