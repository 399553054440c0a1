"""A stored run, as far as judging it again needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

from skillgym_action.domain import Runner
from skillgym_action.errors import UsageError
from skillgym_action.runners import path_key
from skillgym_action.schemas import Results
from skillgym_action.session import AgentConfig

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """Which cases ran, as (suite path, case id); runners that play their sessions; how often each was repeated."""

    cases: frozenset[tuple[str, str]]
    runners: tuple[Runner, ...]
    repeat: int


def stored_run(directory: Path) -> StoredRun:
    """Read a run directory. Raises UsageError."""
    file = directory / "results.json"
    try:
        results = Results.model_validate_json(file.read_bytes())
    except OSError as error:
        raise UsageError(
            f"{file}: {error.strerror}", remedy="name a run directory, which holds results.json"
        ) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{file}: {where}: {first['msg']}", remedy="name a results.json this version wrote") from error
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
