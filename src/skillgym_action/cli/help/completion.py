"""Values that a shell can complete, and the names among them. Reads files of the checkout; runs none of them."""

from __future__ import annotations

import json
import os
import re
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from click.shell_completion import CompletionItem

from skillgym_action.model.errors import ConfigError, SkillgymError, SuiteError, UsageError
from skillgym_action.model.records import record
from skillgym_action.pipeline import wiring
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.pipeline.stages.load import load_digests
from skillgym_action.results.stored_runs import RESULTS, last_runs, results_time
from skillgym_action.settings.configuration_file import Config, read_configuration
from skillgym_action.settings.context import current_context
from skillgym_action.settings.option_types import ARTIFACT_STORE, PATH_STORE
from skillgym_action.settings.resolve import run_directories
from skillgym_action.settings.settings import Settings, declared, validated_settings, words_of
from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions
from skillgym_action.suites.programs.hosts.suite_host import SuiteHosts
from skillgym_action.text.documents.user_files import read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import click

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.settings.context import LaunchContext

MAX_COMPLETED_RUNS = 20  # run directories that a shell offers, the last ones
MAX_COMPLETION_RESULTS_BYTES = 16 * 1024**2  # of a results file that a shell takes names from
_SAFE = re.compile(r"[\w./@%+,:=][\w./@%+,:=~^-]*")
"""What no shell expands, splits or executes, and no terminal interprets. Names are text of the checkout."""


@record(kw_only=False)
class Request:
    """What is to be completed: the value of an option or argument of the command of ``context``."""

    context: click.Context
    environment: Mapping[str, str]
    incomplete: str

    @property
    def names(self) -> Names:
        """The names of cases, tags, suites, runners and runs that there are."""
        return names_of(self.context, self.environment)


def values(
    context: click.Context, param: click.Parameter, incomplete: str, environment: Mapping[str, str]
) -> list[CompletionItem[str]]:
    """The values of a parameter that begin with ``incomplete``; files and folders are left to the shell.

    Nothing if the configuration or the suites cannot be read.
    """
    name = str(param.name)
    found = COMMAND_COMPLETERS.get((str(context.command.name), name)) or COMPLETERS.get(name) or of_setting(name)
    if found is None:
        return param.type.shell_complete(context, param, incomplete)
    try:
        return found(Request(context, environment, incomplete))
    except (SkillgymError, OSError, InterruptedError, ValueError):
        return []


# --- kinds of values ----------------------------------------------------------------------------------


def _one(words: Callable[[Request], Iterable[str]], request: Request) -> list[CompletionItem[str]]:
    """One of the words."""
    found = dict.fromkeys(word for word in words(request) if word.startswith(request.incomplete))
    return [CompletionItem(word) for word in found if _SAFE.fullmatch(word)]


def _several(words: Callable[[Request], Iterable[str]], request: Request) -> list[CompletionItem[str]]:
    """Another word of a list with commas."""
    done, comma, _ = request.incomplete.rpartition(",")
    left = (word for word in words(request) if word not in done.split(","))
    return _one(lambda _: (f"{done}{comma}{word}" for word in left), request)


def _or_path(words: Callable[[Request], Iterable[str]], kind: str, request: Request) -> list[CompletionItem[str]]:
    """One of the words, or else a path: ``kind`` is ``file`` or ``dir``."""
    return _one(words, request) or [CompletionItem(request.incomplete, type=kind)]


def _path(kind: str, request: Request) -> list[CompletionItem[str]]:
    return [CompletionItem(request.incomplete, type=kind)]


FILE, FOLDER = partial(_path, "file"), partial(_path, "dir")


# --- words ------------------------------------------------------------------------------------------


def _of(name: str, suffix: str = "") -> Callable[[Request], Iterable[str]]:
    """The words of ``module.NAME``, a table, a list or a ``Literal``; of a module that is imported on demand."""

    def words(_: Request) -> Iterable[str]:
        module, attribute = name.rsplit(".", 1)
        value = getattr(import_module(f"skillgym_action.{module}"), attribute)
        return (f"{word}{suffix}" for word in get_args(value) or value)

    return words


def of_setting(name: str) -> Callable[[Request], list[CompletionItem[str]]] | None:
    """How a field of ``Settings`` is completed, by its declaration: one of its words, a file, or a folder."""
    if name not in Settings.model_fields:
        return None
    if words := words_of(name):
        return partial(_one, _fixed(*words))
    _, option = declared(name)
    metavar = option.metavar if option else None
    return FOLDER if metavar == "DIR" else FILE if metavar and "FILE" in metavar else None


def _option(name: str, *more: str) -> Callable[[Request], Iterable[str]]:
    """The words of a type of ``settings.option_types``, and others."""
    return lambda request: (*_of(f"settings.option_types.{name}")(request), *more)


def _fixed(*words: str) -> Callable[[Request], Iterable[str]]:
    return lambda _: words


def _agents(_: Request) -> Iterable[str]:
    from skillgym_action.agents import AGENTS

    return (name for name, agent in AGENTS.own.items() if agent.package)


def _runners(request: Request) -> Iterable[str]:
    """Configured runners, those of the last run, and agents that need no configuration."""
    from skillgym_action.settings.runners import selectable_agents

    return (*request.names.runners, *selectable_agents())


def _report(request: Request) -> list[CompletionItem[str]]:
    """A kind of report, then a path."""
    from skillgym_action.reports import FOLDER_REPORTS, REPORTERS

    if "=" in request.incomplete:
        return FILE(request)
    return _one(lambda _: (f"{kind}=" for kind in (*REPORTERS, *FOLDER_REPORTS)), request)


def _providers(_: Request) -> Iterable[str]:
    from skillgym_action.agents.output.providers import provider_ids

    return (f"{name}=" for name in provider_ids())


def _arms(request: Request) -> Iterable[str]:
    from skillgym_action.settings.arm_options import AUTO, SKILL_WORDS

    return (AUTO, *SKILL_WORDS, *request.names.arms)


def _runs(request: Request) -> Iterable[str]:
    return request.names.runs


RUN_OR_FILE = partial(_or_path, _runs, "file")
RUN_OR_FOLDER = partial(_or_path, _runs, "dir")
CASES = partial(_one, lambda request: request.names.cases)
COMPLETERS: Mapping[str, Callable[[Request], list[CompletionItem[str]]]] = MappingProxyType(
    {
        "paths": FILE,
        "format": partial(_several, _of("suites.FORMATS")),
        "case": CASES,
        "cases": CASES,
        "tag": partial(_several, lambda request: request.names.tags),
        "suites": partial(_one, lambda request: request.names.suites),
        "runner": partial(_one, _runners),
        "runners": partial(_one, _runners),
        "only_on": partial(_one, _runners),
        "model": partial(_one, lambda request: request.names.models),
        "arms": partial(_several, _arms),
        "agents": partial(_one, _agents),
        "install": partial(_one, _agents),
        "require": partial(_one, _fixed("all", "any")),
        "reuse": partial(_one, _option("REUSE", "unchanged,max-age=14d")),
        "limits": partial(_several, _of("model.resource_limits.LIMIT_FIELDS", "=")),
        "limit": partial(_one, _providers),
        "engine": partial(_one, _fixed("local", "dask://")),
        "sandbox": partial(_one, _of("system.containers.SANDBOXES")),
        "matrix": partial(_one, _fixed("auto")),
        "fail_on": partial(_several, _option("FAIL_ON", "none")),
        "store": partial(_one, _option("StoreWord", PATH_STORE, ARTIFACT_STORE)),
        "report": _report,
        "reporter": partial(_one, _option("SKILLGYM_REPORTERS")),
        "baseline": partial(_or_path, lambda request: ("auto", *request.names.runs), "file"),
        "durations": partial(_or_path, lambda request: ("store", *request.names.runs), "file"),
        "resume": partial(_or_path, lambda request: ("auto", *request.names.runs), "dir"),
        "run_directory": RUN_OR_FOLDER,
        "runs": RUN_OR_FILE,
        "head": RUN_OR_FILE,
        "session": RUN_OR_FILE,
        "directory": RUN_OR_FOLDER,
        "name": partial(_one, _of("cli.commands.schema.SCHEMAS")),
        **dict.fromkeys(("to", "tls_ca", "tls_cert", "tls_key"), FILE),
    }
)
"""Parameter -> how it is completed, if its declaration does not say so. Others are free: numbers, times, texts."""
COMMAND_COMPLETERS: Mapping[tuple[str, str], Callable[[Request], list[CompletionItem[str]]]] = MappingProxyType(
    {
        ("init", "suite_format"): partial(_one, _of("authoring.starter.suites.SUITE_FORMATS")),
        ("compare", "base"): RUN_OR_FILE,
        ("promote", "runner"): partial(_one, lambda request: request.names.runners),
    }
)
"""Command and parameter -> the same, where it differs."""


@record(kw_only=False, slots=False)
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
    """The names for what has been typed of a command. Raises UsageError.

    They come from the configuration file and from suites, as far as these are data, and from the results of the last
    run. Nothing of the checkout is executed: a suite or a configuration that is a program has names in the last run
    alone.
    """
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
