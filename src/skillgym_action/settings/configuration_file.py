"""Finds, reads and validates the configuration file and the quarantine file; problems have file, line and key path."""

from __future__ import annotations

import os
import re
from dataclasses import field, replace
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from skillgym_action.model.errors import ConfigError, Location, Problem, UsageError
from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.limits import MAX_CONFIGURATION_BYTES, MAX_PATTERN_CHARACTERS, MAX_QUARANTINE_TEXT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.result import QuarantineEntry, QuarantineFile
from skillgym_action.settings.configuration import ConfigFile
from skillgym_action.settings.option_types import BASE_BASELINE, PATH_STORE, REMOVED, STORED_BASELINE
from skillgym_action.suites.arm_section import GITHUB_EXPRESSION, SHELL_VARIABLE
from skillgym_action.system.files.globs import matches_nothing
from skillgym_action.text.documents.documents import checked, program_document, read_document, validated
from skillgym_action.text.documents.json_schemas import FREE_KEYS, matching
from skillgym_action.text.documents.located_values import key_path_text
from skillgym_action.text.documents.user_files import PLAIN_DIRECTORY, PLAIN_PATH, read_bytes, read_text
from skillgym_action.text.secret_forms import looks_like_key
from skillgym_action.workspaces.repository.suite_source import checkout_as_source, normalized

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.system.files.checkout import Checkout
    from skillgym_action.text.documents.documents import Document, Kind
    from skillgym_action.text.documents.located_values import KeyPath
    from skillgym_action.workspaces.repository.suite_source import SuiteSource

MAX_QUARANTINE_ENTRIES = 1_000


KINDS: dict[str, Kind] = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}
PROGRAMS = (".ts", ".mts", ".cts", ".js", ".mjs", ".cjs")
# Keys of skillgym's format that are not supported; "unknown key" would make users look for a typing error.
UNSUPPORTED = (("run", "judge", "agent"),)
BOOTSTRAP = ("run", "workspace", "bootstrap")  # in whose env nothing is replaced
SNAPSHOTS = "skillgym.snapshots.json"  # the default of snapshots.path
REFERENCE = re.compile(r"\$\{\{\s*(\w+)\s*\}\}|\$\{(\w+)\}")
EXPRESSION = re.compile(GITHUB_EXPRESSION)


@record
class Config:
    """A configuration file and its folder, which relative paths start from; ``path`` is None without a file.

    ``document``, ``runners_document``: the texts of the file and of the action's input ``runners``, for locations.
    """

    file: ConfigFile = field(default_factory=ConfigFile)
    folder: Path | None = None
    path: Path | None = None
    document: Document | None = field(default=None, compare=False, repr=False)
    runners_document: Document | None = field(default=None, compare=False, repr=False)

    def error(self, message: str, key_path: KeyPath, remedy: str, at: KeyPath = ()) -> ConfigError:
        """The error for the value at ``key_path``, with the location of ``at`` below it."""
        return ConfigError(message, problems=(self.problem(message, key_path, remedy, at),))

    def problem(self, message: str, key_path: KeyPath, remedy: str, at: KeyPath = ()) -> Problem:
        """The problem with the value at ``key_path``, with the location of ``at`` below it."""
        of_input = self.runners_document if key_path[0] == "runners" else None
        document = of_input or self.document
        location = document.locate((*key_path, *at)) if document else None
        return Problem(message=message, location=location, key_path=key_path_text(key_path), remedy=remedy)

    def with_runners(self, text: str) -> Config:
        """This configuration with the runners of an action input: YAML as under ``runners:`` of the file."""
        inner = read_document(text, path="input runners", kind="yaml", error=ConfigError)
        located = replace(inner.located, offset=lambda key_path: inner.located.offset(key_path[1:]))
        whole = replace(inner, value={"runners": inner.value}, located=located)
        runners = _validated(whole).runners
        return replace(self, file=self.file.model_copy(update={"runners": runners}), runners_document=whole)


def find_config(start: Path, stop: Path) -> Path | None:
    """The closest ``skillgym.config.*`` from ``start`` upward to ``stop``. Raises ConfigError for two in one folder."""
    found = closest_configs(start, stop)
    if len(found) > 1:
        raise ConfigError(
            f"two configuration files in {found[0].parent}: {', '.join(path.name for path in found)}",
            remedy="keep one of them, or name it with --config",
        )
    return found[0] if found else None


def closest_configs(start: Path, stop: Path) -> list[Path]:
    """The files ``skillgym.config.*`` of the closest folder that has one, from ``start`` upward to ``stop``.

    Raises OSError for a folder that cannot be read.
    """
    for folder in (start, *start.parents):
        named = (folder / f"skillgym.config{ending}" for ending in (*KINDS, *PROGRAMS))
        if found := [path for path in named if path.is_symlink() or (path.exists() and not path.is_dir())]:
            return found
        if folder == stop:
            break
    return []


def read_config(
    path: Path, shown: str, run: Callable[[Path], object] | None = None, checkout: Checkout | None = None
) -> Config:
    """The configuration in ``path``; messages name it ``shown``; ``run`` returns what a program exports.

    With ``checkout``, no symbolic link may lead out of it, neither to the file nor to a path named in it.
    Raises ConfigError with every problem.
    """
    kind = KINDS.get(path.suffix.lower())
    opener = checkout.opener(path) if checkout else None
    if kind:
        text = read_text(path, path=shown, error=ConfigError, largest=MAX_CONFIGURATION_BYTES, opener=opener)
        document = read_document(text, path=shown, kind=kind, error=ConfigError)
    elif run and path.suffix.lower() in PROGRAMS:
        read_bytes(path, path=shown, error=ConfigError, largest=MAX_CONFIGURATION_BYTES, opener=opener)
        document = program_document(run(path), path=shown)
    else:
        problem = Problem(
            message=f"configuration in {path.suffix or 'a file without an ending'} cannot be read",
            location=Location(path=shown),
            remedy="write it as YAML, JSON or TOML",
        )
        raise ConfigError.of(problem)
    if document.value is None:
        return Config(folder=path.parent, path=path)
    config = Config(file=_validated(document), folder=path.parent, path=path, document=document)
    if checkout:
        _refuse_paths(document, config, path, checkout)
    return config


def _refuse_paths(document: Document, config: Config, path: Path, checkout: Checkout) -> None:
    """Raises ConfigError for paths in the checkout that lead through links.

    A configuration file outside of the checkout may name any path outside of it.
    """
    workspace, run = config.file.run.workspace, config.file.run
    snapshots = config.file.snapshots
    named: dict[KeyPath, str | None] = {
        ("run", "cwd"): run.cwd,
        ("run", "workspace", "cwd"): workspace.cwd if workspace else None,
        ("run", "workspace", "templateDir"): workspace.template_dir if workspace else None,
        ("run", "outputDir"): run.output_dir,
        ("run", "baseline"): run.baseline if run.baseline not in (STORED_BASELINE, BASE_BASELINE) else None,
        ("store",): store.removeprefix(PATH_STORE)
        if (store := config.file.store or "").startswith(PATH_STORE)
        else None,
        ("report", "templates"): config.file.report.templates,
        ("snapshots", "path"): snapshots.path or SNAPSHOTS if snapshots else None,
        **{("arms", name, "files"): arm.files for name, arm in (config.file.arms or {}).items()},
        **{("arms", name, "home"): arm.home for name, arm in (config.file.arms or {}).items()},
    }
    problems = []
    for key_path, text in named.items():
        target = path.parent / text if text else None
        if target is None or not (checkout.contains(path) or checkout.contains(target)):
            continue
        if key_path[-1] == "templateDir":
            refused = checkout.template_refusal(target)
        else:
            refused = checkout.refusal(target, follow=key_path[-1] in {"baseline", "cwd"})
        if refused:
            at = document.locate(key_path)
            remedy = PLAIN_DIRECTORY if key_path[-1] == "cwd" else PLAIN_PATH
            problems.append(Problem(message=refused, location=at, key_path=key_path_text(key_path), remedy=remedy))
    if problems:
        raise ConfigError.of(*problems)


def _validated(document: Document) -> ConfigFile:
    """The validated file. Raises ConfigError, also for a value that looks like a key: files name variables instead."""
    keys = [key_path for key_path, text in _texts(document.value) if looks_like_key(text)]
    named = "set it as an environment variable and refer to that: ${{ MY_KEY }}"
    _refuse(document, keys, "contains what looks like a key", named)
    expressions = [key_path for key_path, text in _texts(document.value) if EXPRESSION.search(text)]
    passed = "in the workflow, set NAME: ${{ secrets.NAME }} under env of the step; in this file, write ${{ NAME }}"
    _refuse(document, expressions, "GitHub replaces expressions only in workflows", passed)
    _refuse_shell_variables(document)
    unsupported = [key_path for key_path in UNSUPPORTED if _has(document.value, key_path)]
    _refuse(document, unsupported, "is not supported yet", "remove it")
    for name, remedy in REMOVED.items():
        for key in {name, camel_case(name.replace("-", "_"))}:
            _refuse(document, [("run", key)] if _has(document.value, ("run", key)) else [], "does not exist", remedy)
    return validated(document, ConfigFile, error=ConfigError)


def _refuse(document: Document, key_paths: Iterable[KeyPath], message: str, remedy: str) -> None:
    """Raises ConfigError if there are any key paths."""
    problems = [
        Problem(message=message, location=document.locate(path), key_path=key_path_text(path), remedy=remedy)
        for path in key_paths
    ]
    if problems:
        raise ConfigError.of(*problems)


def _refuse_shell_variables(document: Document) -> None:
    """Raises ConfigError for each value of ``env`` that is ``$NAME``: the program would get these characters."""
    problems = [
        Problem(
            message=f"{text!r} is not replaced",
            location=document.locate(path),
            key_path=key_path_text(path),
            remedy=f'write "${{{{ {text[1:]} }}}}"',
        )
        for path, text in _texts(document.value)
        if path[-2:-1] == ("env",) and isinstance(path[-1], str) and path[:-2] != BOOTSTRAP
        if re.fullmatch(SHELL_VARIABLE, text)
    ]
    if problems:
        raise ConfigError.of(*problems)


def _has(value: object, key_path: tuple[str, ...]) -> bool:
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


def resolved_env(
    env: Mapping[str, str], environment: Mapping[str, str], config: Config, key_path: KeyPath
) -> dict[str, str]:
    """``env``, which ``config`` has at ``key_path``, with references to variables replaced by their values.

    Raises ConfigError for an unset variable.
    """

    def value(match: re.Match[str], variable: str) -> str:
        name = match[1] or match[2]
        if not environment.get(name):
            remedy = f"set {name}, or pass it to the job as a secret"
            raise config.error(f"{name} is not set in the environment", key_path, remedy, at=(variable,))
        return environment[name]

    return {name: REFERENCE.sub(partial(value, variable=name), text) for name, text in env.items()}


def _config_file(settings: Settings, context: LaunchContext, source: SuiteSource) -> Path | None:
    """The closest configuration file, searched upward from the first path of ``settings``. Raises ConfigError."""
    first = next((path for path in settings.paths if not path.startswith("!")), ".")
    start = source.checkout.under_root(source.source_path(normalized(context.cwd / first)))
    try:
        return find_config(start if start.is_dir() else start.parent, source.root)
    except OSError as error:
        raise ConfigError(f"{first[:100]}: {error.strerror}", remedy="name a path that can exist") from error


def configuration_differs(settings: Settings, context: LaunchContext, config: Config) -> bool:
    """Whether the checkout's configuration file differs from that of the folder that suites are read from."""
    source = context.suite_source
    if not source.is_separate:
        return False
    own: Path | None = source.in_head(config.path) if settings.config and config.path else None
    if not settings.config:
        try:
            own = _config_file(settings, context, checkout_as_source(context.cwd, context.checkout))
        except ConfigError:
            return True
    return _content(config.path, source.checkout) != _content(own, context.checkout)


def _content(file: Path | None, checkout: Checkout) -> bytes | None:
    if file is None:
        return None
    try:
        return read_bytes(
            file, path=file.name, error=ConfigError, largest=MAX_CONFIGURATION_BYTES, opener=checkout.opener(file)
        )
    except ConfigError:
        return None


def configuration_path(settings: Settings, context: LaunchContext) -> Path | None:
    """The file of ``--config``, which may not exist, or else the closest one, or None. Raises ConfigError."""
    source = context.suite_source
    if settings.config:
        return source.checkout.under_root(source.source_path(normalized(context.cwd / settings.config)))
    return _config_file(settings, context, source)


def read_configuration(settings: Settings, context: LaunchContext, run_program: Callable[[Path], object]) -> Config:
    """The configuration: the file of ``--config``, the closest one, or none. Raises ConfigError, UsageError.

    ``run_program`` returns what a configuration file that is a program exports. ``settings.runners`` replaces runners.
    """
    source, path = context.suite_source, configuration_path(settings, context)
    if path is None:
        config = Config(folder=source.cwd)
    elif settings.config and not os.path.lexists(path):
        raise UsageError(
            f"no such configuration file{source.message_suffix()}: {settings.config}", remedy="check --config"
        )
    else:
        config = read_config(path, _shown(path, settings, context), run_program, source.checkout)
    return config.with_runners(settings.runners) if settings.runners else config


def configuration_elsewhere(settings: Settings, context: LaunchContext, config: Config) -> str | None:
    """The configuration file as messages name it, if it is neither named nor where users expect it; else None.

    They expect it in the root of the repository and in the working directory.
    """
    source = context.suite_source
    if settings.config or config.path is None or config.path.parent in (source.root, source.cwd):
        return None
    return _shown(config.path, settings, context)


def _shown(path: Path, settings: Settings, context: LaunchContext) -> str:
    """The path in messages: relative to the checkout in a job, where annotations need that; else as users see it."""
    source = context.suite_source
    if context.in_job and not source.is_separate and path.is_relative_to(source.root):
        return path.relative_to(source.root).as_posix()
    return settings.config or os.path.relpath(path, source.cwd)


QUARANTINE = "skillgym.quarantine.yaml"

MISNAMED_QUARANTINE = tuple(f"skillgym.quarantine.{ending}" for ending in ("yml", "json", "jsonc", "toml"))
"""Names that users probably mean as ``QUARANTINE``; files called like that are not read."""

# Nothing that would have to be escaped in Markdown, HTML or a terminal.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/#?&=%+-]*)?")
_ADDRESS_TEXT = matching(f"^{_ADDRESS.pattern}$") | {"maxLength": MAX_QUARANTINE_TEXT_CHARACTERS}
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
WRITTEN_AS = "write `quarantine:` and below it a list of entries with case, reason, owner and expires"


def _pattern(text: str) -> str:
    if matches_nothing(text):
        raise ValueError("is not a pattern that can match anything")
    return text


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("must be an address that begins with https:// or http://")
    return text


def _day(value: object) -> object:
    """Not the seconds since 1970, or days without hyphens, that pydantic takes for a date, too."""
    if isinstance(value, date) or (isinstance(value, str) and _DAY.fullmatch(value)):
        return value
    raise ValueError("must be a day such as 2026-12-01")


Pattern = Annotated[
    str,
    Field(min_length=1),
    AfterValidator(_pattern),
    WithJsonSchema(matching("[^/.]") | {"maxLength": MAX_PATTERN_CHARACTERS}),
]
Sentence = Annotated[str, Field(min_length=1, max_length=MAX_QUARANTINE_TEXT_CHARACTERS)]


class EntrySection(BaseModel):
    """An entry: which executions, why, whose task it is to repair them, and until when.

    Until then the execution runs and is reported, and decides nothing.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=camel_case,
        defer_build=True,
        json_schema_extra=FREE_KEYS,
    )

    case: Pattern
    """Ids of the cases that are in quarantine."""
    suite: Pattern | None = None
    """Paths of the suites to which the entry applies."""
    runner: Pattern | None = None
    """Ids of the runners to which the entry applies."""
    reason: Sentence
    """Reason why the case is in quarantine."""
    owner: Sentence
    """Person or team that has to fix the case."""
    issue: Annotated[Sentence, AfterValidator(_address), WithJsonSchema(_ADDRESS_TEXT)] | None = None
    """URL of the issue about the problem."""
    expires: Annotated[date, BeforeValidator(_day), WithJsonSchema(matching(f"^{_DAY.pattern}$") | {"format": "date"})]
    """Last day of the quarantine, in UTC; at most {MAX_QUARANTINE_DAYS} days in the future."""


class QuarantineSections(BaseModel):
    """The file as its JSON Schema describes it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, json_schema_extra=FREE_KEYS)

    quarantine: Annotated[tuple[EntrySection, ...], Field(max_length=MAX_QUARANTINE_ENTRIES)]
    """List of entries. If several entries match an execution, the first of them applies."""


def quarantine_path(config: Config, context: LaunchContext) -> Path:
    """The quarantine file, which may not exist: beside the configuration file, or in the folder that it would be in."""
    return (config.folder or context.suite_source.cwd) / QUARANTINE


def read_quarantine(config: Config, context: LaunchContext) -> QuarantineFile:
    """The content of the quarantine file; empty without one.

    A mistake in it is a warning and never an error: an entry that cannot be used quarantines nothing, so that a run
    with mistakes in the file is red sooner than without them.
    """
    source, file = context.suite_source, quarantine_path(config, context)
    if not os.path.lexists(file):
        return QuarantineFile()
    shown = _file_text(file, context)
    opener = source.checkout.opener(file)
    try:
        text = read_text(file, path=shown, error=ConfigError, largest=MAX_CONFIGURATION_BYTES, opener=opener)
        document = read_document(text, path=shown, kind="yaml", error=ConfigError)
    except ConfigError as error:
        return QuarantineFile(problems=error.problems)
    return entries_of(document)


def entries_of(document: Document) -> QuarantineFile:
    """The entries of a quarantine file, each validated by itself."""
    value = document.value
    rows = value.get("quarantine") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(rows, list):
        return QuarantineFile(
            problems=(Problem(message="has no list of entries", location=document.locate(), remedy=WRITTEN_AS),)
        )
    problems = [
        Problem(message=f"unknown key {key!r}", location=document.locate((key,)), remedy=WRITTEN_AS)
        for key in value
        if key not in {"quarantine", "$schema"} and not str(key).startswith("x-")
    ]
    if len(rows) > MAX_QUARANTINE_ENTRIES:
        message = f"more than {MAX_QUARANTINE_ENTRIES} entries: none is used"
        listed = document.locate(("quarantine",))
        return QuarantineFile(problems=(*problems, Problem(message=message, location=listed, remedy="remove old ones")))
    entries = []
    for number in range(len(rows)):
        at: KeyPath = ("quarantine", number)
        section, misfits = checked(document, EntrySection, at=at, extensions=True)
        if section is None:
            problems += [problem for _, problem in misfits]
            continue
        entries.append(
            QuarantineEntry(**dict(section), location=document.locate(at), key_path=key_path_text(at)),
        )
    return QuarantineFile(entries=tuple(entries), problems=tuple(problems))


def _file_text(file: Path, context: LaunchContext) -> str:
    """The path in messages: relative to the checkout in a job, where annotations need that; else as users see it."""
    source = context.suite_source
    if context.in_job and not source.is_separate and file.is_relative_to(source.root):
        return file.relative_to(source.root).as_posix()
    return os.path.relpath(file, source.cwd)
