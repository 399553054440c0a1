"""The configuration file: found, read, validated; every problem with file, line and key path."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from skillgym_action.agents import AGENTS
from skillgym_action.camel import camel
from skillgym_action.documents import read_document, validated
from skillgym_action.errors import ConfigError, Location, Problem, did_you_mean
from skillgym_action.notations import key_path_text
from skillgym_action.options import CommentMode, CommentWhen, FailOn, Schedule, StatusMode
from skillgym_action.redaction import looks_like_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.documents import Document
    from skillgym_action.notations import KeyPath

KINDS: dict[str, Literal["yaml", "json", "toml"]] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}
PROGRAMS = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")
# Keys of the format that this version cannot honour: a wrong "unknown key" would send people looking for a typo.
PLANNED = (("snapshots",), ("run", "reporter"), ("run", "judge"))
REFERENCE = re.compile(r"\$\{\{\s*(\w+)\s*\}\}|\$\{(\w+)\}")


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        alias_generator=camel,
        populate_by_name=True,
        defer_build=True,
    )


def _agent_type(value: object) -> object:
    if value not in AGENTS:
        raise ValueError(f"unknown agent {value!r}; {did_you_mean(str(value), AGENTS)}")
    return value


def _references(value: object) -> object:
    """A list of names stands for those variables of our environment."""
    return {str(name): f"${{{{ {name} }}}}" for name in value} if isinstance(value, list) else value


class AgentSection(_Model):
    """``runners.<id>.agent``."""

    type: Annotated[str, BeforeValidator(_agent_type)]
    model: str | None = None
    command: str | tuple[str, ...] | None = None
    command_args: tuple[str, ...] = ()
    env: Annotated[dict[str, str], BeforeValidator(_references)] = {}
    budget: PositiveFloat | None = None
    output: Literal["text", "events"] = "text"
    sessions: str | None = None


class RunnerSection(_Model):
    """``runners.<id>``."""

    agent: AgentSection


class BootstrapSection(_Model):
    """``run.workspace.bootstrap``; milliseconds."""

    command: str
    args: tuple[str, ...] = ()
    timeout_ms: PositiveInt = 300_000
    env: dict[str, str] = {}


class WorkspaceSection(_Model):
    """``run.workspace``: for suites that do not say how they work."""

    mode: Literal["none", "shared", "isolated"]
    cwd: str | None = None
    template_dir: str | None = None
    bootstrap: BootstrapSection | None = None


class RunSection(_Model):
    """``run``."""

    cwd: str | None = None
    output_dir: str | None = None
    schedule: Schedule | None = None
    max_parallel: PositiveInt | None = None
    repeat: PositiveInt | None = None
    repeat_failure: Annotated[
        NonNegativeInt | None, Field(validation_alias=AliasChoices("repeatFailure", "retryFailed", "repeat_failure"))
    ] = None
    max_steps: PositiveInt | None = None
    workspace: WorkspaceSection | None = None
    tags: tuple[str, ...] = ()
    fail_on: FailOn | None = None
    baseline: str | None = None
    max_cost: PositiveFloat | None = None
    min_pass_rate: Annotated[float, Field(ge=0, le=1)] | None = None


class DefaultsSection(_Model):
    """``defaults``; milliseconds."""

    timeout_ms: PositiveInt | None = None


class ReportSection(_Model):
    """``report``: what is said on the pull request, and with which templates."""

    comment: CommentMode | None = None
    comment_when: CommentWhen | None = None
    comment_id: str | None = None
    review_comments: bool | None = None
    status: StatusMode | None = None
    templates: str | None = None


class ConfigFile(_Model):
    """A whole configuration file."""

    run: RunSection = RunSection()
    defaults: DefaultsSection = DefaultsSection()
    report: ReportSection = ReportSection()
    runners: Annotated[dict[str, RunnerSection] | None, Field(min_length=1)] = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """A configuration and the folder its relative paths resolve from."""

    file: ConfigFile = field(default_factory=ConfigFile)
    folder: Path | None = None

    def with_runners(self, text: str) -> Config:
        """This configuration with the runners of an action input: the YAML that ``runners`` holds in the file."""
        inner = read_document(text, path="input runners", kind="yaml", error=ConfigError)
        reading = replace(inner.reading, offset=lambda key_path: inner.reading.offset(key_path[1:]))
        whole = replace(inner, value={"runners": inner.value}, reading=reading)
        given = _validated(whole)
        return Config(file=self.file.model_copy(update={"runners": given.runners}), folder=self.folder)


def find_config(start: Path, stop: Path) -> Path | None:
    """The closest ``skillgym.config.*`` from ``start`` upward to ``stop``. Raises ConfigError for two in one folder."""
    for folder in (start, *start.parents):
        here = [path for ending in (*KINDS, *PROGRAMS) if (path := folder / f"skillgym.config{ending}").is_file()]
        if len(here) > 1:
            raise ConfigError(
                f"two configuration files in {folder}: {', '.join(path.name for path in here)}",
                remedy="keep one of them, or name it with --config",
            )
        if here:
            return here[0]
        if folder == stop:
            return None
    return None


def read_config(path: Path, shown: str) -> Config:
    """The configuration in ``path``; ``shown`` is how messages name it. Raises ConfigError with every problem."""
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        remedy = "write it as YAML, JSON or TOML"
        raise ConfigError.of(
            Problem(
                message=f"configuration in {path.suffix} is not supported yet",
                location=Location(path=shown),
                remedy=remedy,
            )
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{shown}: cannot be read: {error}", remedy="check the path given by --config") from error
    document = read_document(text, path=shown, kind=kind, error=ConfigError)
    if document.value is None:
        return Config(folder=path.parent)
    return Config(file=_validated(document), folder=path.parent)


def _validated(document: Document) -> ConfigFile:
    """Secrets are named, never written down."""
    keys = [key_path for key_path, text in _texts(document.value) if looks_like_key(text)]
    named = "set it as a variable of the environment and name that: ${{ MY_KEY }}"
    _refuse(document, keys, "holds what looks like a key", named)
    planned = [key_path for key_path in PLANNED if _holds(document.value, key_path)]
    _refuse(document, planned, "is not supported yet", "take it out until it is")
    return validated(document, ConfigFile, error=ConfigError)


def _refuse(document: Document, key_paths: Iterable[KeyPath], message: str, remedy: str) -> None:
    """Raises ConfigError when there are any."""
    problems = [
        Problem(message=message, location=document.locate(path), key_path=key_path_text(path), remedy=remedy)
        for path in key_paths
    ]
    if problems:
        raise ConfigError.of(*problems)


def _holds(value: object, key_path: tuple[str, ...]) -> bool:
    for key in key_path:
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True


def _texts(value: object, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _texts(part, (*at, key))


def resolved_env(env: Mapping[str, str], environment: Mapping[str, str], runner: str) -> dict[str, str]:
    """Values for the names a runner's ``env`` mentions. Raises ConfigError for a name that is not set."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not environment.get(name):
            raise ConfigError(
                f"runners.{runner}.agent.env: {name} is not set in the environment",
                remedy=f"set {name}, or pass it to the job as a secret",
            )
        return environment[name]

    return {name: REFERENCE.sub(value, text) for name, text in env.items()}
