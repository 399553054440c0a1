"""Runs that were stored: found, read and validated. They may come from anybody, hence nothing in them is believed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError
from pydantic_core import from_json

from skillgym_action.domain import Runner
from skillgym_action.errors import UsageError
from skillgym_action.notations.json_notation import Extent, refuse_large
from skillgym_action.notations.readings import NotationError
from skillgym_action.runs.restore import refuse, restored
from skillgym_action.schemas import MEANINGS, Results
from skillgym_action.session import AgentConfig
from skillgym_action.text import path_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

    from skillgym_action.domain import RunReport

RESULTS = "results.json"
LARGEST = 96 * 1024 * 1024  # bytes of a results file
MOST = Extent(containers=400_000, values=3_000_000, members=1_000)
MOST_TOLD = 1_000  # problems that are worth being looked at one by one
LONGEST_QUOTE = 60
_WHAT_A_RUN_IS = "name a run directory, which holds results.json, or a results file"


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """Which cases ran, as (suite path, case id); runners that play their sessions; how often each was repeated."""

    cases: frozenset[tuple[str, str]]
    runners: tuple[Runner, ...]
    repeat: int


def stored_run(directory: Path) -> StoredRun:
    """A run directory, as far as judging it again needs it. Raises UsageError."""
    results = read_results(directory / RESULTS, directory / RESULTS)
    sessions = str(directory.resolve())
    runners = tuple(
        Runner(
            id=runner.id,
            path_key=path_key(runner.id),
            agent=AgentConfig(type="replay", model=runner.model, sessions=sessions),
        )
        for runner in results.runners
    )
    attempts = (
        attempt.repetition for suite in results.suites for result in suite.results for attempt in result.attempts
    )
    cases = frozenset((suite.path, result.case_id) for suite in results.suites for result in suite.results)
    return StoredRun(cases=cases, runners=runners, repeat=max(attempts, default=1))


def stored_reports(runs: Iterable[str], cwd: Path) -> tuple[tuple[Path, RunReport], ...]:
    """Every run that is named, once, with the name of its file. Raises UsageError."""
    files = {file.resolve(): file for run in runs for file in _files(run, cwd)}
    return tuple((_shown(file, cwd), _report(file, cwd)) for file in files.values())


def baseline(path: Path, cwd: Path) -> RunReport | None:
    """The run to compare with; None where none is stored yet. Raises UsageError for one that cannot be used."""
    file = path / RESULTS if path.is_dir() else path
    return _report(_inside(file, path.parent, cwd), cwd) if file.exists() else None


def _report(file: Path, cwd: Path) -> RunReport:
    shown = _shown(file, cwd)
    return restored(read_results(file, shown), shown)


# --- which files ------------------------------------------------------------------------------------


def _files(run: str, cwd: Path) -> Iterator[Path]:
    """The results files of a directory, a file or a pattern. What leads out of it through links is refused."""
    target = cwd / run
    if target.is_dir():
        yield _inside(target / RESULTS, target, cwd)
    elif target.exists():
        yield _inside(target, target.parent, cwd)
    else:
        fixed = Path(*takewhile(lambda part: not _is_pattern(part), target.parts))
        found = [path for path in _matches(target, fixed, run) if path.is_dir() or path.suffix == ".json"]
        if not found:
            raise UsageError(f"no such run: {run}", remedy=f"{_WHAT_A_RUN_IS}, or a pattern that matches some")
        yield from (_inside(path / RESULTS if path.is_dir() else path, fixed, cwd) for path in found)


def _matches(target: Path, fixed: Path, run: str) -> list[Path]:
    if target == fixed:
        return []
    try:
        return sorted(fixed.glob(target.relative_to(fixed).as_posix()))
    except ValueError as error:
        raise UsageError(f"{run} is no pattern: {error}", remedy="** stands alone between slashes") from error


def _is_pattern(part: str) -> bool:
    return any(sign in part for sign in "*?[")


def _inside(file: Path, folder: Path, cwd: Path) -> Path:
    if file.exists() and not file.resolve().is_relative_to(folder.resolve()):
        raise UsageError(
            f"{_shown(file, cwd)}: leads out of {_shown(folder, cwd)} through a link", remedy="copy it there"
        )
    return file


def _shown(path: Path, cwd: Path) -> Path:
    return path.relative_to(cwd) if path.is_relative_to(cwd) else path


# --- what is in them --------------------------------------------------------------------------------


def read_results(file: Path, shown: Path) -> Results:
    """What a results file holds; ``shown`` is how messages name it. Raises UsageError with the first few problems."""
    try:
        if file.exists() and not file.is_file():
            raise UsageError(f"{shown}: is not a file", remedy=_WHAT_A_RUN_IS)
        with file.open("rb") as opened:
            content = opened.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{shown}: {error.strerror}", remedy=_WHAT_A_RUN_IS) from error
    if len(content) > LARGEST:
        raise UsageError(f"{shown}: is larger than {LARGEST:,} bytes", remedy="no run writes that much")
    try:
        refuse_large(content, MOST)
        # Not at once: of JSON, each problem would keep a copy of what it is about, which may be the whole file.
        return Results.model_validate(from_json(content))
    except NotationError as error:
        raise UsageError(f"{shown}: {error.message}", remedy="no run writes that much") from error
    except ValidationError as error:
        if (count := error.error_count()) > MOST_TOLD:
            raise UsageError(f"{shown}: {count:,} problems: no results of a run", remedy=_WHAT_A_RUN_IS) from error
        refuse(shown, ((detail["loc"], in_our_words(detail)) for detail in error.errors(include_url=False)))
        raise
    except ValueError as error:
        raise UsageError(f"{shown}: not JSON: {error}", remedy=_WHAT_A_RUN_IS) from error


def in_our_words(detail: ErrorDetails) -> str:
    """Pydantic's error in our words."""
    kind, given = detail["type"], detail["input"]
    if kind == "missing":
        return "is missing"
    if kind == "model_type":
        return "must be an object"
    if kind == "extra_forbidden":
        return "is no key of a results file of this version"
    if kind == "json_invalid":
        return f"not JSON: {detail['ctx']['error']}"
    told = detail["msg"]
    if kind == "string_pattern_mismatch":
        told = f"must be {MEANINGS[detail['ctx']['pattern']]}"
    told = re.sub(r"^(?:\w+ )+should ", "must ", told).removeprefix("Value error, ")
    given = given[: LONGEST_QUOTE + 1] if isinstance(given, str) else given
    quoted = json.dumps(given, ensure_ascii=False) if isinstance(given, str | int | float | None) else ""
    if not quoted:
        return told
    return f"{told}, not {quoted if len(quoted) <= LONGEST_QUOTE else quoted[:LONGEST_QUOTE] + '…'}"
