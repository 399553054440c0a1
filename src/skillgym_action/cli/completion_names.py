"""The names in a checkout that a shell can complete: of cases, tags, suites, runners, models, arms and runs.

They come from the configuration file and from suites, as far as these are data, and from the results of the last run.
Nothing of the checkout is executed: a suite or a configuration that is a program has names in the last run alone.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action import wiring
from skillgym_action.documents.user_files import read_bytes
from skillgym_action.limits import MAX_COMPLETED_RUNS, MAX_COMPLETION_RESULTS_BYTES
from skillgym_action.model.errors import ConfigError, SkillgymError, SuiteError, UsageError
from skillgym_action.settings.configuration_file import Config, read_configuration
from skillgym_action.settings.context import current_context
from skillgym_action.settings.options import validated_settings
from skillgym_action.settings.resolve import run_directories
from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions
from skillgym_action.stages.discover import discover
from skillgym_action.stages.load import load_digests
from skillgym_action.storage.last_run import last_runs, results_time
from skillgym_action.storage.stored_runs import RESULTS
from skillgym_action.suite_hosts.suite_host import SuiteHosts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import click

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings


@dataclass(frozen=True)
class Names:
    """The names that there are. Each property reads what it needs; it may raise SkillgymError or OSError.

    ``paths``: where suites are looked for; (): in the whole repository. ``run``: the run directory that the command
    names; None: the last one counts.
    """

    context: LaunchContext
    settings: Settings
    paths: tuple[str, ...] = ()
    run: Path | None = None

    @property
    def cases(self) -> list[str]:
        """Ids of cases."""
        own = [] if self.run else [case.id for suite in self._suites for case in suite.cases]
        return [*own, *_texts(self._rows, "caseId")]

    @property
    def tags(self) -> list[str]:
        """Tags of cases."""
        own = [tag for suite in self._suites for case in suite.cases for tag in case.tags]
        stored = (tag for row in self._rows for tag in _list(row.get("tags")))
        return [*own, *(tag for tag in stored if isinstance(tag, str))]

    @property
    def suites(self) -> list[str]:
        """Paths of suites, relative to the root of the repository."""
        return [*(suite.path for suite in self._suites), *_texts(self._stored_suites, "path")]

    @property
    def runners(self) -> list[str]:
        """Ids of runners."""
        own = () if self.run else self._config.file.runners or ()
        return [*own, *_texts(self._rows, "runnerId")]

    @property
    def models(self) -> list[str]:
        """Models that configured runners have."""
        return [runner.agent.model for runner in (self._config.file.runners or {}).values() if runner.agent.model]

    @property
    def arms(self) -> list[str]:
        """Names of configured arms."""
        return list(self._config.file.arms or ())

    @property
    def runs(self) -> list[str]:
        """Run directories, relative to the working directory, the last one first."""
        return [os.path.relpath(run, self.context.cwd) for run in self._last_runs[:MAX_COMPLETED_RUNS]]

    @cached_property
    def _config(self) -> Config:
        try:
            return read_configuration(self.settings, self.context, _refuse_program)
        except ConfigError:
            return Config(folder=self.context.cwd)

    @cached_property
    def _suites(self) -> tuple[BenchmarkSuite, ...]:
        with wiring.repository_of(self.context) as repository:
            found = discover(repository, self.context.cwd, DiscoverOptions(paths=self.paths))
            return load_digests(found.suites, _NoHosts(), LoadOptions(), repository.checkout)

    @cached_property
    def _last_runs(self) -> list[Path]:
        return last_runs(run_directories(self.settings, self._config, self.context))

    @cached_property
    def _stored_suites(self) -> list[dict[str, object]]:
        """The suites of the named run, or of the last one, as its results file has them."""
        run = self.run or next(iter(self._last_runs), None)
        if run is None or results_time(run) is None:
            return []
        file = run / RESULTS
        opener = self.context.checkout.opener(file)
        try:
            content = read_bytes(
                file, path=RESULTS, error=UsageError, largest=MAX_COMPLETION_RESULTS_BYTES, opener=opener
            )
            stored = json.loads(content)
        except (SkillgymError, ValueError, RecursionError):
            return []
        return _objects(stored.get("suites") if isinstance(stored, dict) else None)

    @property
    def _rows(self) -> Iterator[dict[str, object]]:
        return (row for suite in self._stored_suites for row in _objects(suite.get("results")))


class _NoHosts(SuiteHosts):
    """Suite hosts that start nothing."""

    cancelled = False

    def __init__(self) -> None:
        """There is nothing to set up."""

    def load(self, file: Path) -> dict[str, object]:
        """Raise SuiteError."""
        raise SuiteError(f"{file.name} is a program, which completion does not run")

    agentv_suite = load


def _refuse_program(path: Path) -> object:
    raise ConfigError(f"{path.name} is a program, which completion does not run")


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _objects(value: object) -> list[dict[str, object]]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _texts(rows: Iterator[dict[str, object]] | list[dict[str, object]], key: str) -> Iterator[str]:
    values = (row.get(key) for row in rows)
    return (value for value in values if isinstance(value, str))


def names_of(ctx: click.Context, environment: Mapping[str, str]) -> Names:
    """The names for what has been typed of a command. Raises UsageError."""
    given = ctx.params
    fields = {name: given[name] for name in ("config", "output_dir") if isinstance(given.get(name), str)}
    paths = given.get("paths") or ()
    run = given.get("session") or given.get("run_directory")
    return Names(
        context=current_context(Path.cwd(), environment),
        settings=validated_settings(fields, str),
        paths=tuple(path for path in paths if isinstance(path, str)) if isinstance(paths, tuple) else (),
        run=Path(run) if isinstance(run, str | Path) and Path(run).is_dir() else None,
    )
