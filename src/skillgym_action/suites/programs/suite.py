"""The reply of a suite host that has loaded a suite program, as a suite: the same for all languages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic.alias_generators import to_camel

from skillgym_action.judging.assertions.commands import SuiteCheck
from skillgym_action.model.errors import Location, Problem, SuiteError, closest_match, meant_word
from skillgym_action.model.limits import MAX_CASE_ID_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import LimitError, parse_workspace_limits
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Bootstrap, Invalid, NotASuite, WorkspaceSpec
from skillgym_action.suites import vendored_folder
from skillgym_action.suites.arm_section import NO_SUITE_ARMS, SuiteArms, suite_arms
from skillgym_action.suites.container_section import ContainerKeyError, container_keys, container_limits, container_spec
from skillgym_action.suites.values import FixedLocation
from skillgym_action.text.documents.user_files import PLAIN_DIRECTORY, PLAIN_TEMPLATE

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.suites import SuiteFile

MAX_REPLY_PATH_CHARACTERS = 4_096  # of a path in the reply of a suite host
_IMPORT_LIKENESS = 0.8
_MISSING_MODULE = re.compile(r"(?:No module named|Cannot find package) '([^']+)'")
_BLANK = " \t\r\n\0\ufeff\ufffd"


# --- is it one? -------------------------------------------------------------------------------------


@record
class ImportNames:
    """What finds the modules that a program imports, in the first group; and the names of the tool's own module.

    The first of ``known`` is right, the others are names of it in other languages.
    """

    pattern: re.Pattern[str]
    known: tuple[str, ...]


def imports_nearly(head: str, imports: ImportNames) -> bool:
    """Whether a program imports a module whose name is, or is nearly, one of those that suites import."""
    return nearly_imported(head, imports) is not None


def nearly_imported(head: str, imports: ImportNames) -> tuple[str, str] | None:
    """The first module that is imported under nearly a known name, and that known name."""
    names = dict.fromkeys(found[1] for found in imports.pattern.finditer(head.replace("\0", "")))
    pairs = ((name, closest_match(name.lower(), imports.known, _IMPORT_LIKENESS)) for name in names)
    return next(((name, known) for name, known in pairs if known), None)


def is_blank(head: str) -> bool:
    """Whether a file has no text."""
    return not head.strip(_BLANK)


def empty_rejection(path: str) -> NotASuite | None:
    """The near miss of an empty file that is called like a suite."""
    if folder := vendored_folder(path):
        return NotASuite(reason=f"is empty, and in the folder {folder}")
    return NotASuite(reason="has the name of a suite, but is empty", remedy="remove or rename it", near_miss=True)


def written_like_one(remedy: str) -> NotASuite:
    """The near miss of a program that is called and written like a suite, but does not import what suites import."""
    return NotASuite(
        reason="has the name and the form of a suite, but does not import skillgym, so it is not run",
        remedy=f"{remedy}, or exclude it with !PATH",
        near_miss=True,
    )


def misnamed(what: str, pattern: str) -> NotASuite:
    """The near miss of a program that does ``what`` suites do, but is not called like one."""
    return NotASuite(
        reason=f"{what}, but its name does not match {pattern}, so it is not run",
        remedy=f"rename it to {pattern}, or exclude it with !PATH",
        near_miss=True,
    )


# --- the reply --------------------------------------------------------------------------------------


class HostReply(BaseModel):
    """A part of a suite host's reply; its keys are in camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True, defer_build=True)


def _bounded_path(path: str) -> str:
    if len(path) > MAX_REPLY_PATH_CHARACTERS:
        raise ValueError(f"a path has at most {MAX_REPLY_PATH_CHARACTERS:,} characters")
    return path


class HostLocation(HostReply):
    """Where a case is defined; the path is relative to the repository root."""

    path: Annotated[str, AfterValidator(_bounded_path)]
    line: int | None = None
    column: int | None = None


class HostCase(HostReply):
    """A case; its check stays in the host."""

    id: str
    prompt: str
    location: HostLocation
    tags: Annotated[tuple[str, ...], FailFast()] = ()
    timeout_ms: float | None = None
    expected_fail: bool = False
    classify: bool = False


class HostProblem(HostReply):
    """A case that cannot be used."""

    case: str
    message: str
    location: HostLocation
    remedy: str | None = None


class HostBootstrap(HostReply):
    """The command that prepares a workspace."""

    command: str
    args: tuple[str, ...] = ()
    timeout_ms: float | None = None
    env: dict[str, str] = {}


class HostWorkspace(HostReply):
    """The workspace of a suite; paths are as the author wrote them."""

    mode: Literal["none", "shared", "isolated"]
    template_dir: str | None = None
    cwd: str | None = None
    bootstrap: HostBootstrap | None = None
    limits: object = None
    container: dict[str, object] = {}


class HostArms(HostReply):
    """The arms as the author wrote them, and where."""

    value: object
    location: HostLocation | None = None


class HostSuite(HostReply):
    """The reply to ``load``."""

    name: Annotated[str, Field(max_length=MAX_CASE_ID_CHARACTERS)] = ""
    cases: Annotated[tuple[HostCase, ...], FailFast()] = ()
    problems: Annotated[tuple[HostProblem, ...], FailFast()] = ()
    workspace: HostWorkspace | None = None
    arms: HostArms | None = None


def loaded_suite(source: SuiteFile, format_name: str, imports: ImportNames) -> BenchmarkSuite:
    """The suite that the suite host of ``source`` has loaded. Raises SuiteError."""
    try:
        loaded = HostSuite.model_validate(_program(source, imports))
    except ValidationError as error:
        problem = error.errors()[0]
        raise SuiteError.of(
            Problem(
                message=f"the suite host's answer is not understood: {problem['msg']}",
                location=Location(path=source.path),
                key_path=".".join(map(str, problem["loc"])),
            ),
        ) from error
    arms = _arms(loaded.arms, source) if loaded.arms else NO_SUITE_ARMS
    invalid = [
        *map(_invalid, loaded.problems),
        *(_id_too_long(case) for case in loaded.cases if len(case.id) > MAX_CASE_ID_CHARACTERS),
    ]
    if not loaded.cases and not invalid:
        location = Location(path=source.path)
        nothing = Problem(message="has no cases", location=location, remedy="a suite without cases judges nothing")
        invalid.append(Invalid(problem=nothing))
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=loaded.name or _name(source.file),
        format=format_name,
        cases=tuple(_case(case) for case in loaded.cases if len(case.id) <= MAX_CASE_ID_CHARACTERS),
        invalid=tuple(invalid),
        workspace=_workspace(loaded.workspace, source) if loaded.workspace else WorkspaceSpec(),
        arms=arms.arms,
        hidden=arms.hidden,
    )


def _arms(arms: HostArms, source: SuiteFile) -> SuiteArms:
    """The arms, all of whose parts are where the program exports them. Raises SuiteError."""
    location = _location(arms.location) if arms.location else Location(path=source.path)
    return suite_arms(source, arms.value, "arms", FixedLocation(None, location))


def _program(source: SuiteFile, imports: ImportNames) -> dict[str, object]:
    """The host's reply. Raises SuiteError; if the import of the tool's own module is misspelt, its remedy says so."""
    try:
        return source.program()
    except SuiteError as error:
        first = error.problems[0]
        missing = _MISSING_MODULE.search(first.message)
        known = (
            closest_match(missing[1].partition(".")[0].lower(), imports.known, _IMPORT_LIKENESS) if missing else None
        )
        if not missing or not known or missing[1] == imports.known[0]:
            raise
        remedy = meant_word(imports.known[0], missing[1])
        raise SuiteError.of(replace(first, remedy=remedy), *error.problems[1:]) from error


def _name(file: Path) -> str:
    """``login_suite.py`` -> ``login``; a plain ``suite.py`` is called like its folder."""
    name = re.sub(r"[_.-]?suite$", "", file.stem, flags=re.IGNORECASE)
    return name or file.parent.name


def _case(case: HostCase) -> BenchmarkCase:
    return BenchmarkCase(
        id=case.id,
        prompt=case.prompt,
        location=_location(case.location),
        assertions=(SuiteCheck(case.id),),
        tags=case.tags,
        timeout=None if case.timeout_ms is None else case.timeout_ms / 1000,
        expected_fail=case.expected_fail,
        classify=case.classify,
    )


def _invalid(invalid: HostProblem) -> Invalid:
    problem = Problem(message=invalid.message, location=_location(invalid.location), remedy=invalid.remedy)
    return Invalid(problem=problem, case_id=invalid.case)


def _id_too_long(case: HostCase) -> Invalid:
    """The error of a case whose id is too long for reports."""
    message = f"the id of a case is longer than {MAX_CASE_ID_CHARACTERS:,} characters"
    return Invalid(
        problem=Problem(message=message, location=_location(case.location)), case_id=case.id[:MAX_CASE_ID_CHARACTERS]
    )


def _location(location: HostLocation) -> Location:
    return Location(path=location.path, line=location.line, column=location.column)


def _workspace(workspace: HostWorkspace, source: SuiteFile) -> WorkspaceSpec:
    """Relative paths belong to the suite file. A shared workspace with a ``cwd`` is that directory itself.

    Raises SuiteError.
    """
    folder = source.file.parent
    container, others = _container(workspace, source)
    try:
        limits = parse_workspace_limits(others)
    except LimitError as error:
        key_path = "workspace.limits" + (f".{error.key}" if error.key else "")
        location = Location(path=source.path)
        raise SuiteError.of(Problem(message=error.message, location=location, key_path=key_path)) from error
    template = None if workspace.template_dir is None else folder / workspace.template_dir
    if template and (refused := source.refusal(template)):
        location = Location(path=source.path)
        problem = Problem(message=refused, location=location, key_path="workspace.templateDir", remedy=PLAIN_TEMPLATE)
        raise SuiteError.of(problem)
    if workspace.cwd is not None and (refused := source.refusal_in_place(folder / workspace.cwd)):
        location = Location(path=source.path)
        problem = Problem(message=refused, location=location, key_path="workspace.cwd", remedy=PLAIN_DIRECTORY)
        raise SuiteError.of(problem)
    return WorkspaceSpec(
        mode="none" if workspace.cwd is not None else workspace.mode,
        source="empty" if workspace.template_dir is None else "template",
        template=template,
        cwd=None if workspace.cwd is None else folder / workspace.cwd,
        bootstrap=_bootstrap(workspace.bootstrap, folder) if workspace.bootstrap else None,
        limits=limits,
        container=container,
    )


def _container(workspace: HostWorkspace, source: SuiteFile) -> tuple[ContainerSpec | None, object]:
    """The container that a workspace asks for, and its other limits. Raises SuiteError."""
    try:
        limits, cpus = container_limits(workspace.limits)
        keys, isolated = container_keys(workspace.container), workspace.mode == "isolated"
        spec = container_spec(keys, cpus, source.file.parent, source.refusal, isolated=isolated)
    except ContainerKeyError as error:
        location = Location(path=source.path)
        problem = Problem(message=error.message, location=location, key_path=f"workspace.{error.key}")
        raise SuiteError.of(problem) from error
    return spec, limits


def _bootstrap(bootstrap: HostBootstrap, folder: Path) -> Bootstrap:
    argv = tuple(_resolved(word, folder) for word in (bootstrap.command, *bootstrap.args))
    made = Bootstrap(argv=argv, env=tuple(bootstrap.env.items()))
    return made if bootstrap.timeout_ms is None else replace(made, timeout=bootstrap.timeout_ms / 1000)


def _resolved(word: str, folder: Path) -> str:
    """Path-like words belong to the suite file; the others are the command's own."""
    return str(folder / word) if word.startswith(("./", "../")) else word
