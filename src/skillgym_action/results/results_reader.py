"""The results file, read result by result: each is validated and made a noun before the next one is parsed.

The file may come from an untrusted run, hence everything in it is checked, and the size of each part is limited. The
decision is not restored: the gate decides again. Totals must agree with the results.
"""

from __future__ import annotations

import json
import re
from dataclasses import field, replace
from itertools import chain, islice
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.limits import MAX_QUOTED_VALUE_CHARACTERS, MAX_RESULTS_ERRORS, MAX_RESULTS_ROWS
from skillgym_action.model.records import record
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.suite import BenchmarkSuite
from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import GREEN, Status
from skillgym_action.results.mapping import MEANINGS, read, write
from skillgym_action.results.results_file import by_runner
from skillgym_action.results.run_schema import ArmAssertionEntry, ArmCaseEntry, RunEntry, SuitesFromEntry, UpliftEntry
from skillgym_action.results.schema import (
    ResultEntry,
    Results,
    RunnerHead,
    SuiteEntry,
    SuiteHead,
    TotalsEntry,
    WarningEntry,
)
from skillgym_action.text.documents.json_stream import JsonStream, StreamLimits
from skillgym_action.text.documents.json_text import Extent
from skillgym_action.text.documents.located_values import NotationError, key_path_text
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import BinaryIO

    from pydantic_core import ErrorDetails

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.results.mapping import MappedModel
    from skillgym_action.text.documents.located_values import KeyPath

    Found = Iterable[tuple[KeyPath, str]]

MAX_RESULTS_ROW_CHARACTERS = 64 * 1024**2  # of one result, and of each other part of the file
MAX_RESULTS_CONTAINERS = 400_000  # lists and objects of one such part
MAX_RESULTS_VALUES = 3_000_000  # of one such part
MAX_RESULTS_MEMBERS = 1_000  # of one object in it
MAX_RESULTS_OBJECTS = 10_000_000  # of the whole file: each takes 3 µs and 72 bytes
MAX_SHOWN_RESULTS_PROBLEMS = 5  # of one results file; the rest is counted

Model = TypeVar("Model", bound="MappedModel")
Noun = TypeVar("Noun", "BenchmarkSuite", "Runner")
WHAT_A_RUN_IS = "name a run directory, which contains results.json, or a results file"
_ROUNDING = 1e-9  # sums of money depend on the order of their parts
_NO_INDEX = -1  # of a result whose place in the plan the file does not say
_LISTS = {"results": "results", "otherArms": "other_arms", "quarantined": "quarantined"}
ANY_SUITE = BenchmarkSuite(path="", file=Path(), name="", format="")
"""The suite of results whose suite is not known yet."""
_ANY_AGENT = AgentConfig(type="")
_MOST = StreamLimits(
    value=Extent(containers=MAX_RESULTS_CONTAINERS, values=MAX_RESULTS_VALUES, members=MAX_RESULTS_MEMBERS),
    characters=MAX_RESULTS_ROW_CHARACTERS,
    objects=MAX_RESULTS_OBJECTS,
)


@record(frozen=False, kw_only=False)
class SuiteRows:
    """A suite of a results file with its results in the order of the file."""

    suite: BenchmarkSuite
    results: list[Result] = field(default_factory=list)
    other_arms: list[Result] = field(default_factory=list)
    quarantined: list[Result] = field(default_factory=list)


@record
class StoredResults:
    """The content of a results file. ``head`` has everything but suites and warnings.

    ``problems``: the first contradictions between its results; ``more_problems``: how many there are beyond these.
    """

    head: Results
    suites: tuple[SuiteRows, ...]
    runners: Mapping[str, Runner]
    warnings: tuple[Problem, ...]
    problems: tuple[tuple[KeyPath, str], ...]
    more_problems: int


def read_results(file: BinaryIO, shown: Path, known: dict[object, Any] | None = None) -> StoredResults:
    """Return the content of a results file; ``shown`` is how messages name it.

    ``known``: empty at first, and the same for several files: equal suites, runners, prompts and tags of these files
    are then one object, so that shards take less memory, and merging them copies no result.
    Raises UsageError for what is not valid, with the first few problems. ``restored`` refuses contradictions.
    """
    try:
        return _Reader(JsonStream(file, _MOST), shown, {} if known is None else known).read()
    except NotationError as error:
        remedy = WHAT_A_RUN_IS if error.message.startswith("not JSON") else "no run writes that"
        raise UsageError(f"{shown}: {error.message}", remedy=error.remedy or remedy) from error


class _Reader:
    """Reads one file. Results are nouns at once, which get their suites and runners at the end of the file."""

    def __init__(self, stream: JsonStream, shown: Path, known: dict[object, Any]) -> None:
        self._stream, self._shown, self._known = stream, shown, known
        self._head: dict[str, object] = {}
        self._suites: list[SuiteRows] = []
        self._of_ids: dict[str, Runner] = {}
        self._warnings: list[Problem] = []
        self._rows = 0
        self._problems: list[tuple[KeyPath, str]] = []
        self._more_problems = 0
        self._named_runners: dict[str, KeyPath] = {}

    def read(self) -> StoredResults:
        if self._stream.peek() != "{":
            self._checked(Results, self._stream.value())
        for key in self._stream.members():
            if key == "suites":
                for _ in self._items():
                    self._suites.append(self._suite())
            elif key == "warnings":
                self._warnings += [read(WarningEntry, self._row(WarningEntry)) for _ in self._items()]
            elif key == "run":
                self._head[key] = self._value_with({"uplifts": self._uplift})
                continue
            self._head[key] = () if key in ("suites", "warnings") else self._stream.value()
        self._stream.end()
        head = self._checked(Results, self._head)
        runners = self._runners_of(head)
        self._settle(runners)
        return StoredResults(
            head=head,
            suites=tuple(self._suites),
            runners=runners,
            warnings=tuple(self._warnings),
            problems=tuple(self._problems),
            more_problems=self._more_problems,
        )

    def _items(self) -> Iterator[int]:
        if self._stream.peek() != "[":
            refuse(self._shown, [(tuple(self._stream.at), "must be a list")])
        return self._stream.items()

    def _suite(self) -> SuiteRows:
        """Return the suite that comes next."""
        head: dict[str, object] = {}
        lists: dict[str, list[Result]] = {}
        if self._stream.peek() != "{":
            refuse(self._shown, [(tuple(self._stream.at), "must be an object")])
        for key in self._stream.members():
            if key in _LISTS:
                lists[_LISTS[key]] = self._results(is_arms=key == "otherArms")
            head[key] = () if key in _LISTS else self._stream.value()
        entry = self._checked(SuiteEntry, head, tuple(self._stream.at))
        # ``file`` is the path of the suite when it ran; it is not read again
        suite: BenchmarkSuite = self._first(entry.path, read(SuiteHead, entry, file=Path(entry.path)))
        return SuiteRows(suite, **lists)

    def _runners_of(self, head: Results) -> dict[str, Runner]:
        runners = (read(RunnerHead, runner, path_key=path_key(runner.id)) for runner in head.runners)
        return {runner.id: self._first(runner.id, runner) for runner in runners}

    def _first(self, name: str, noun: Noun) -> Noun:
        """Return the suite or runner of that name in the first file that had one, if it equals ``noun``."""
        first = self._known.setdefault((type(noun), name), noun)
        return first if first == noun else noun

    def _results(self, *, is_arms: bool) -> list[Result]:
        """Return the results of a list, of which only the id of the runner is known."""
        found: list[Result] = []
        seen: dict[tuple[str, str, str | None], int] = {}
        for position in self._items():
            entry = self._row(ResultEntry)
            at = tuple(self._stream.at)
            self._report(_row_contradictions(at, entry))
            if is_arms and entry.arm is None:
                self._report([(at, "is in no arm")])
            if not is_arms and (at[-2] == "quarantined") != (entry.quarantine is not None):
                self._report([(at, "is in quarantine" if entry.quarantine else "is not in quarantine")])
            if entry.runner_id is not None:
                self._named_runners.setdefault(entry.runner_id, (*at, "runnerId"))
                first = seen.setdefault((entry.case_id, entry.runner_id, entry.arm if is_arms else None), position)
                if first != position:
                    self._report([(at, f"is the same case on the same runner as {at[-2]}[{first}]")])
            index = _NO_INDEX if entry.index is None else entry.index
            found.append(restored_result(entry, index, ANY_SUITE, self._named(entry.runner_id)))
        return found

    def _value_with(self, lists: Mapping[str, Callable[[], object]]) -> object:
        """Return the value that comes next, without the elements of these lists of it, which are only validated."""
        if self._stream.peek() != "{":
            return self._stream.value()
        found: dict[str, object] = {}
        for key in self._stream.members():
            if key in lists and self._stream.peek() == "[":
                for _ in self._stream.items():
                    lists[key]()
                found[key] = ()
            else:
                found[key] = self._stream.value()
        return found

    def _uplift(self) -> None:
        """Validate the comparison of two arms that comes next: the report is made of the results."""

        def entry(model: type[MappedModel]) -> Callable[[], object]:
            return lambda: self._checked(model, self._stream.value(), tuple(self._stream.at))

        assertions = entry(ArmAssertionEntry)
        value = self._value_with({"cases": entry(ArmCaseEntry), "inBoth": assertions, "inNone": assertions})
        self._checked(UpliftEntry, value, tuple(self._stream.at))

    def _row(self, model: type[Model]) -> Model:
        self._rows += 1
        if self._rows > MAX_RESULTS_ROWS:
            raise NotationError(f"more than {MAX_RESULTS_ROWS:,} results and warnings")
        return self._checked(model, self._stream.value(), tuple(self._stream.at))

    def _named(self, runner: str | None) -> Runner | None:
        """A runner of which only the id counts."""
        if runner is None:
            return None
        return self._of_ids.setdefault(runner, Runner(id=runner, agent=_ANY_AGENT, path_key=""))

    def _settle(self, runners: Mapping[str, Runner]) -> None:
        """Give all results their suites and runners."""
        for stored in self._suites:
            for rows in (stored.results, stored.other_arms, stored.quarantined):
                for at, row in enumerate(rows):  # one by one: a second list would take as much memory again
                    rows[at] = replace(row, suite=stored.suite, runner=row.runner and runners.get(row.runner.id))
        unknown = [
            (at, f"there is no runner {one!r} in runners")
            for one, at in self._named_runners.items()
            if one not in runners
        ]
        self._report(unknown)

    def _report(self, found: Found) -> None:
        """Keep the first contradictions, count the others."""
        for problem in found:
            if len(self._problems) < MAX_SHOWN_RESULTS_PROBLEMS:
                self._problems.append(problem)
            else:
                self._more_problems += 1

    def _checked(self, model: type[Model], value: object, at: KeyPath = ()) -> Model:
        """Return the validated value. Raises UsageError with the first few problems."""
        try:
            return model.model_validate(value, context=self._known)
        except ValidationError as error:
            if (count := error.error_count()) > MAX_RESULTS_ERRORS:
                where = f"{key_path_text(at)}: " if at else ""
                message = f"{self._shown}: {where}{count:,} problems: not the results of a run"
                raise UsageError(message, remedy=WHAT_A_RUN_IS) from error
            found = ((*at, *detail["loc"]) for detail in error.errors(include_url=False))
            refuse(self._shown, zip(found, map(plain_message, error.errors(include_url=False)), strict=True))
            raise


def restored_result(row: ResultEntry, index: int, suite: BenchmarkSuite, runner: Runner | None) -> Result:
    """Return the result that a row was written from."""
    result: Result = read(ResultEntry, row, index=index, suite=suite, runner=runner)
    return result


# --- the report that was written ---------------------------------------------------------------------


def restored(stored: StoredResults, file: Path) -> RunReport:
    """Return the run report that a file was written from; ``file`` is how messages name it.

    Raises UsageError for contradictions, and for paths that lead out of the repository.
    """
    refuse(file, chain(_contradictions(stored), stored.problems), stored.more_problems)
    report: RunReport = read(
        RunEntry,
        stored.head.run,
        version=stored.head.tool.version,
        results=_in_order(row for one in stored.suites for row in one.results),
        other_arms=_in_order(row for one in stored.suites for row in one.other_arms),
        quarantined=_in_order(row for one in stored.suites for row in one.quarantined),
        suites=tuple(one.suite for one in stored.suites),
        runners=tuple(stored.runners.values()),
        warnings=stored.warnings,
    )
    refuse(file, _wrong_totals(stored.head, report))
    return report


def _in_order(rows: Iterable[Result]) -> tuple[Result, ...]:
    """The results in the order of the plan; numbered as in the file where it does not say their places."""
    found = list(rows)
    indexes = [position if row.index == _NO_INDEX else row.index for position, row in enumerate(found)]
    if len(set(indexes)) < len(indexes):  # merged runs, as older versions wrote them
        indexes = list(range(len(found)))
    numbered = [
        row if row.index == index else replace(row, index=index) for row, index in zip(found, indexes, strict=True)
    ]
    numbered.sort(key=lambda row: row.index)
    return tuple(numbered)


def refuse(file: Path, found: Found, more: int = 0) -> None:
    """Raise UsageError with the first few problems, if there are any; ``more``: how many there are beyond ``found``."""
    left = iter(found)
    problems = [
        Problem(message=message, location=Location(path=str(file)), key_path=key_path_text(key_path) or None)
        for key_path, message in islice(left, MAX_SHOWN_RESULTS_PROBLEMS)
    ]
    if more := more + sum(1 for _ in left):
        problems.append(Problem(message=f"and {more:,} more problems", location=Location(path=str(file))))
    if problems:
        raise UsageError.of(*problems)


# --- contradictions ---------------------------------------------------------------------------------


def _contradictions(stored: StoredResults) -> Iterator[tuple[KeyPath, str]]:
    """What is wrong with everything but the results, which the reader has looked at."""
    run = stored.head.run
    yield from _duplicates(("runners", "id"), [runner.id for runner in stored.head.runners])
    yield from _duplicates(("suites", "path"), [one.suite.path for one in stored.suites])
    if run.shard and not _is_shard(run.shard):
        yield ("run", "shard"), f"there is no part {run.shard}"
    for number, warning in enumerate(stored.warnings):
        if warning.location is not None:
            yield from _outside(("warnings", number, "path"), warning.location.path)
    if run.suites_from:
        yield from _suites_from_contradictions(run.suites_from)
    for number, one in enumerate(stored.suites):
        yield from _outside(("suites", number, "path"), one.suite.path)


def _suites_from_contradictions(suites_from: SuitesFromEntry) -> Iterator[tuple[KeyPath, str]]:
    for key in ("added", "changed", "removed"):
        for number, path in enumerate(getattr(suites_from, key)):
            yield from _outside(("run", "suitesFrom", key, number), path)


def _row_contradictions(at: KeyPath, row: ResultEntry) -> Iterator[tuple[KeyPath, str]]:
    if row.passed != (row.status in GREEN):
        yield (*at, "passed"), f"contradicts the status {row.status}"
    if message := status_contradiction(row):
        yield (*at, "status"), message
    if row.reused and row.attempts:
        yield (*at, "reused"), "has attempts, though it was not run"
    yield from _outside((*at, "location", "path"), row.location.path)
    if row.error and row.error.location:
        yield from _outside((*at, "error", "location", "path"), row.error.location.path)
    for number, outcome in enumerate(row.outcomes):
        if outcome.location:
            yield from _outside((*at, "outcomes", number, "location", "path"), outcome.location.path)


def status_contradiction(row: ResultEntry | Result) -> str | None:
    """What is wrong with a status that says another thing about the expectation of the case than ``expectedFail``."""
    if row.status in (Status.EXPECTED_FAILED, Status.UNEXPECTED_PASSED) and not row.expected_fail:
        return f"is {row.status}, but the case is not expected to fail"
    if row.status is Status.PASSED and row.expected_fail:
        return f"is {row.status}, but the case is expected to fail"
    return None


def _duplicates(key_path: tuple[str, str], names: list[str]) -> Iterator[tuple[KeyPath, str]]:
    container, key = key_path
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if first.setdefault(name, number) != number:
            yield (container, number, key), f"is the same as in {container}[{first[name]}]"


def _outside(key_path: KeyPath, path: str) -> Iterator[tuple[KeyPath, str]]:
    if path.startswith("/"):
        yield key_path, f"must be relative to the repository, not {path[:60]!r}"


def _is_shard(text: str) -> bool:
    part, parts = map(int, text.split("/"))
    return part <= parts


def _wrong_totals(head: Results, report: RunReport) -> Iterator[tuple[KeyPath, str]]:
    """Totals in the file that differ from the totals of its results."""
    yield from _differences(("totals",), head.totals, report.totals())
    deciding, of_others = by_runner(report.results), by_runner(report.deciding_nothing)
    for number, runner in enumerate(head.runners):
        own, others = deciding.get(runner.id, []), of_others.get(runner.id, [])
        yield from _differences(("runners", number), runner, totals(own, report.sampled_repetitions, others))


def _differences(at: KeyPath, stored: TotalsEntry, counted: Totals) -> Iterator[tuple[KeyPath, str]]:
    stored_values = dict(_values(stored.model_dump(by_alias=True)))
    for key_path, value in _values(write(TotalsEntry, counted)):
        if key_path not in stored_values:  # a file without intervals
            continue
        stored_value = stored_values[key_path]
        if stored_value != value and (
            stored_value is None or value is None or not isclose(stored_value, value, rel_tol=_ROUNDING)
        ):
            yield (*at, *key_path), f"is {stored_value}, but the results add up to {value}"


def _values(row: Mapping[str, Any]) -> Iterator[tuple[KeyPath, float | None]]:
    """Values with their key paths, including those of nested objects."""
    for key, value in row.items():
        if isinstance(value, dict):
            yield from (((key, *path), inner) for path, inner in _values(value))
        else:
            yield (key,), value


def plain_message(detail: ErrorDetails) -> str:
    """Return pydantic's error in the words of this tool's messages."""
    kind, value = detail["type"], detail["input"]
    if kind == "missing":
        return "is missing"
    if kind == "model_type":
        return "must be an object"
    if kind == "extra_forbidden":
        return "is not a key of a results file of this version"
    if kind == "json_invalid":
        return f"not JSON: {detail['ctx']['error']}"
    message = detail["msg"]
    if kind == "string_pattern_mismatch":
        message = f"must be {MEANINGS[detail['ctx']['pattern']]}"
    message = re.sub(r"^(?:\w+ )+should ", "must ", message).removeprefix("Value error, ")
    value = value[: MAX_QUOTED_VALUE_CHARACTERS + 1] if isinstance(value, str) else value
    quoted = json.dumps(value, ensure_ascii=False) if isinstance(value, str | int | float | None) else ""
    if not quoted:
        return message
    shown = quoted if len(quoted) <= MAX_QUOTED_VALUE_CHARACTERS else f"{quoted[:MAX_QUOTED_VALUE_CHARACTERS]}…"
    return f"{message}, not {shown}"
