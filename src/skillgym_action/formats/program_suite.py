"""What a suite host tells of a suite program, as a suite: the same for all languages."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, FailFast, Field, ValidationError
from pydantic.alias_generators import to_camel

from skillgym_action.assertions.check import Check
from skillgym_action.documents.user_files import PLAIN_DIRECTORY, PLAIN_TEMPLATE
from skillgym_action.limits import MAX_CASE_ID_CHARS
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.resource_limits import LimitError, parse_workspace_limits
from skillgym_action.model.suite import Bootstrap, Case, Invalid, Suite, WorkspaceSpec

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.formats import SuiteFile


LONGEST_PATH = 4_096


class Told(BaseModel):
    """What a suite host answers; camelCase."""

    model_config = ConfigDict(alias_generator=to_camel, frozen=True)


def _no_longer_than_paths_are(path: str) -> str:
    if len(path) > LONGEST_PATH:
        raise ValueError(f"a path has at most {LONGEST_PATH:,} characters")
    return path


class Place(Told):
    """A location; the path is relative to the repository root, and not everywhere text."""

    path: Annotated[str, AfterValidator(_no_longer_than_paths_are)]
    line: int | None = None
    column: int | None = None


class ToldCase(Told):
    """A case; its check stays in the host. Milliseconds."""

    id: str
    prompt: str
    location: Place
    tags: Annotated[tuple[str, ...], FailFast()] = ()
    timeout_ms: float | None = None
    expected_fail: bool = False
    classify: bool = False


class ToldProblem(Told):
    """A case that cannot be used."""

    case: str
    message: str
    location: Place
    remedy: str | None = None


class ToldBootstrap(Told):
    """A command; milliseconds."""

    command: str
    args: tuple[str, ...] = ()
    timeout_ms: float | None = None
    env: dict[str, str] = {}


class ToldWorkspace(Told):
    """Paths are as the author wrote them."""

    mode: Literal["none", "shared", "isolated"]
    template_dir: str | None = None
    cwd: str | None = None
    bootstrap: ToldBootstrap | None = None
    limits: object = None


class ToldSuite(Told):
    """The answer to ``load``."""

    name: Annotated[str, Field(max_length=MAX_CASE_ID_CHARS)] = ""
    cases: Annotated[tuple[ToldCase, ...], FailFast()] = ()
    problems: Annotated[tuple[ToldProblem, ...], FailFast()] = ()
    workspace: ToldWorkspace | None = None


def suite_told(source: SuiteFile, format_name: str) -> Suite:
    """The suite that a suite host tells of. Raises SuiteError."""
    try:
        told = ToldSuite.model_validate(source.program())
    except ValidationError as error:
        problem = error.errors()[0]
        raise SuiteError.of(
            Problem(
                message=f"the suite host's answer is not understood: {problem['msg']}",
                location=Location(path=source.path),
                key_path=".".join(map(str, problem["loc"])),
            ),
        ) from error
    invalid = [
        *map(_invalid, told.problems),
        *(_endless(case) for case in told.cases if len(case.id) > MAX_CASE_ID_CHARS),
    ]
    if not told.cases and not invalid:
        place = Location(path=source.path)
        nothing = Problem(message="has no cases", location=place, remedy="a suite without cases judges nothing")
        invalid.append(Invalid(problem=nothing))
    return Suite(
        path=source.path,
        file=source.file,
        name=told.name or _name(source.file),
        format=format_name,
        cases=tuple(_case(case) for case in told.cases if len(case.id) <= MAX_CASE_ID_CHARS),
        invalid=tuple(invalid),
        workspace=_workspace(told.workspace, source) if told.workspace else WorkspaceSpec(),
    )


def _name(file: Path) -> str:
    """``login_suite.py`` -> ``login``; a plain ``suite.py`` is called like its folder."""
    name = re.sub(r"[_.-]?suite$", "", file.stem, flags=re.IGNORECASE)
    return name or file.parent.name


def _case(told: ToldCase) -> Case:
    return Case(
        id=told.id,
        prompt=told.prompt,
        location=_location(told.location),
        assertions=(Check(told.id),),
        tags=told.tags,
        timeout=None if told.timeout_ms is None else told.timeout_ms / 1000,
        expected_fail=told.expected_fail,
        classify=told.classify,
    )


def _invalid(told: ToldProblem) -> Invalid:
    problem = Problem(message=told.message, location=_location(told.location), remedy=told.remedy)
    return Invalid(problem=problem, case_id=told.case)


def _endless(told: ToldCase) -> Invalid:
    """A case whose id no report could show."""
    message = f"the id of a case is longer than {MAX_CASE_ID_CHARS:,} characters"
    return Invalid(
        problem=Problem(message=message, location=_location(told.location)), case_id=told.id[:MAX_CASE_ID_CHARS]
    )


def _location(place: Place) -> Location:
    return Location(path=place.path, line=place.line, column=place.column)


def _workspace(told: ToldWorkspace, source: SuiteFile) -> WorkspaceSpec:
    """Relative paths belong to the suite file. A shared workspace with a ``cwd`` is that directory itself.

    Raises SuiteError.
    """
    folder = source.file.parent
    try:
        limits = parse_workspace_limits(told.limits)
    except LimitError as error:
        key_path = "workspace.limits" + (f".{error.key}" if error.key else "")
        location = Location(path=source.path)
        raise SuiteError.of(Problem(message=error.message, location=location, key_path=key_path)) from error
    if told.template_dir is not None and (refused := source.refusal(folder / told.template_dir)):
        place = Location(path=source.path)
        problem = Problem(message=refused, location=place, key_path="workspace.templateDir", remedy=PLAIN_TEMPLATE)
        raise SuiteError.of(problem)
    if told.cwd is not None and (refused := source.refusal_in_place(folder / told.cwd)):
        place = Location(path=source.path)
        problem = Problem(message=refused, location=place, key_path="workspace.cwd", remedy=PLAIN_DIRECTORY)
        raise SuiteError.of(problem)
    return WorkspaceSpec(
        mode="none" if told.cwd is not None else told.mode,
        source="empty" if told.template_dir is None else "template",
        template=None if told.template_dir is None else folder / told.template_dir,
        cwd=None if told.cwd is None else folder / told.cwd,
        bootstrap=_bootstrap(told.bootstrap, folder) if told.bootstrap else None,
        limits=limits,
    )


def _bootstrap(told: ToldBootstrap, folder: Path) -> Bootstrap:
    argv = tuple(_resolved(word, folder) for word in (told.command, *told.args))
    made = Bootstrap(argv=argv, env=tuple(told.env.items()))
    return made if told.timeout_ms is None else replace(made, timeout=told.timeout_ms / 1000)


def _resolved(word: str, folder: Path) -> str:
    """Path-like words belong to the suite file; the others are the command's own."""
    return str(folder / word) if word.startswith(("./", "../")) else word
