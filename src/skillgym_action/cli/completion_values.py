"""The values of options and arguments that a shell can complete. Reads files of the checkout; runs none of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from click.shell_completion import CompletionItem

from skillgym_action.model.errors import SkillgymError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import click

    from skillgym_action.cli.completion_names import Names

_SAFE = re.compile(r"[\w./@%+,:=][\w./@%+,:=~^-]*")
"""What no shell expands, splits or executes, and no terminal interprets. Names are text of the checkout."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be completed: the value of an option or argument of the command of ``context``."""

    context: click.Context
    environment: Mapping[str, str]
    incomplete: str

    @property
    def names(self) -> Names:
        """The names of cases, tags, suites, runners and runs that there are."""
        from skillgym_action.cli.completion_names import names_of

        return names_of(self.context, self.environment)


def values(
    context: click.Context, param: click.Parameter, incomplete: str, environment: Mapping[str, str]
) -> list[CompletionItem[str]]:
    """The values of a parameter that begin with ``incomplete``; files and folders are left to the shell.

    Nothing if the configuration or the suites cannot be read.
    """
    name = str(param.name)
    found = COMMAND_COMPLETERS.get((str(context.command.name), name)) or COMPLETERS.get(name)
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


def _choices(name: str) -> Callable[[Request], Iterable[str]]:
    """The words of a ``Literal`` of ``settings.option_types``."""

    def words(_: Request) -> Iterable[str]:
        from skillgym_action.settings import option_types

        return get_args(getattr(option_types, name))

    return words


def _fixed(*words: str) -> Callable[[Request], Iterable[str]]:
    return lambda _: words


def _formats(_: Request) -> Iterable[str]:
    from skillgym_action.formats import FORMATS

    return FORMATS


def _starter_formats(_: Request) -> Iterable[str]:
    from skillgym_action.starter.starter_suites import SUITE_FORMATS

    return SUITE_FORMATS


def _agents(_: Request) -> Iterable[str]:
    from skillgym_action.agents import AGENTS

    return (name for name, agent in AGENTS.items() if agent.package)


def _runners(request: Request) -> Iterable[str]:
    """Configured runners, those of the last run, and agents that need no configuration."""
    from skillgym_action.agents import AGENTS
    from skillgym_action.settings.runners import is_agent

    return (*request.names.runners, *filter(is_agent, AGENTS))


def _report(request: Request) -> list[CompletionItem[str]]:
    """A kind of report, then a path."""
    from skillgym_action.reporters import FOLDER_REPORTS, REPORTERS

    if "=" in request.incomplete:
        return FILE(request)
    return _one(lambda _: (f"{kind}=" for kind in (*REPORTERS, *FOLDER_REPORTS)), request)


def _conditions(_: Request) -> Iterable[str]:
    from skillgym_action.settings.option_types import FAIL_ON

    return (*FAIL_ON, "none")


def _providers(_: Request) -> Iterable[str]:
    from skillgym_action.transcripts.providers import provider_ids

    return (f"{name}=" for name in provider_ids())


def _reporters_of_skillgym(_: Request) -> Iterable[str]:
    from skillgym_action.settings.foreign_options import SKILLGYM_REPORTERS

    return SKILLGYM_REPORTERS


def _sandboxes(_: Request) -> Iterable[str]:
    from skillgym_action.settings.sandbox_options import SandboxType

    return get_args(SandboxType)


def _limits(_: Request) -> Iterable[str]:
    from skillgym_action.model.resource_limits import LIMIT_FIELDS

    return (f"{name}=" for name in LIMIT_FIELDS)


def _reuse(_: Request) -> Iterable[str]:
    from skillgym_action.settings.option_types import REUSE

    return (*REUSE, "unchanged,max-age=14d")


def _stores(_: Request) -> Iterable[str]:
    from skillgym_action.settings.option_types import ARTIFACT_STORE, PATH_STORE, StoreWord

    return (*get_args(StoreWord), PATH_STORE, ARTIFACT_STORE)


def _arms(request: Request) -> Iterable[str]:
    from skillgym_action.settings.arm_options import AUTO, SKILL_WORDS

    return (AUTO, *SKILL_WORDS, *request.names.arms)


def _schemas(_: Request) -> Iterable[str]:
    from skillgym_action.cli.schema import SCHEMAS

    return SCHEMAS


def _runs(request: Request) -> Iterable[str]:
    return request.names.runs


RUN_OR_FILE = partial(_or_path, _runs, "file")
RUN_OR_FOLDER = partial(_or_path, _runs, "dir")
CASES = partial(_one, lambda request: request.names.cases)
COMPLETERS: Mapping[str, Callable[[Request], list[CompletionItem[str]]]] = MappingProxyType(
    {
        "paths": FILE,
        "config": FILE,
        "format": partial(_several, _formats),
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
        "schedule": partial(_one, _choices("Schedule")),
        "stop": partial(_one, _choices("Stop")),
        "on_limit": partial(_one, _choices("OnLimit")),
        "keep": partial(_one, _choices("Keep")),
        "require": partial(_one, _fixed("all", "any")),
        "reuse": partial(_one, _reuse),
        "limits": partial(_several, _limits),
        "limit": partial(_one, _providers),
        "engine": partial(_one, _fixed("local", "dask://")),
        "sandbox": partial(_one, _sandboxes),
        "matrix": partial(_one, _fixed("auto")),
        "fail_on": partial(_several, _conditions),
        "store": partial(_one, _stores),
        "report": _report,
        "reporter": partial(_one, _reporters_of_skillgym),
        "baseline": partial(_or_path, lambda request: ("auto", *request.names.runs), "file"),
        "durations": partial(_or_path, lambda request: ("store", *request.names.runs), "file"),
        "resume": partial(_or_path, lambda request: ("auto", *request.names.runs), "dir"),
        "run_directory": RUN_OR_FOLDER,
        "runs": RUN_OR_FILE,
        "head": RUN_OR_FILE,
        "session": RUN_OR_FILE,
        "directory": RUN_OR_FOLDER,
        "name": partial(_one, _schemas),
        **dict.fromkeys(("plan", "output", "snapshots", "to", "tls_ca", "tls_cert", "tls_key"), FILE),
        **dict.fromkeys(("output_dir", "suites_from", "skill", "template_dir", "record", "cwd"), FOLDER),
    }
)
"""Parameter -> how it is completed. Others have free values: numbers, times, texts."""
COMMAND_COMPLETERS: Mapping[tuple[str, str], Callable[[Request], list[CompletionItem[str]]]] = MappingProxyType(
    {
        ("init", "suite_format"): partial(_one, _starter_formats),
        ("compare", "base"): RUN_OR_FILE,
        ("promote", "runner"): partial(_one, lambda request: request.names.runners),
    }
)
"""Command and parameter -> the same, where it differs."""
