"""The section ``arms`` of configurations and suites, as a pydantic model."""

from __future__ import annotations

import posixpath
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, RootModel, WithJsonSchema

from skillgym_action.model.arm import Arm, OverlayFile
from skillgym_action.model.errors import Problem, SuiteError
from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.limits import MAX_ARMS
from skillgym_action.model.records import record
from skillgym_action.text.documents.documents import ProgramDocument, validated
from skillgym_action.text.documents.json_schemas import TEXTS, AlsoAccepts, matching
from skillgym_action.text.documents.located_values import Lines, LocatedValue, key_path_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.model.errors import Location
    from skillgym_action.text.documents.documents import ValueSource
    from skillgym_action.text.documents.located_values import KeyPath

MAX_ARM_PATTERNS = 20  # of paths that an arm removes from each workspace
MAX_PATTERN_FOLDERS = 3  # times ** in one of them

FOREIGN_KEY = "skillgym_arms"
"""The key of arms in the files of other programs, none of which has it."""

GITHUB_EXPRESSION = r"\$\{\{\s*(?:secrets|vars|env|github|inputs|matrix|steps|needs|runner|job)\."
"""What GitHub replaces in workflow files alone, such as ``${{ secrets.KEY }}``."""
SHELL_VARIABLE = r"\$[A-Z_][A-Z0-9_]*"
"""What only a shell replaces, such as ``$KEY``: a variable of the environment is written as ``${{ KEY }}``."""
VariableText = Annotated[
    str, WithJsonSchema({"type": "string", "not": {"pattern": f"{GITHUB_EXPRESSION}|^{SHELL_VARIABLE}$"}})
]
ARM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def references(value: object) -> object:
    """A list of names means those variables of the tool's environment."""
    if not isinstance(value, list):
        return value
    if not all(isinstance(name, str) for name in value):
        raise ValueError("must be a mapping of names to texts, or a list of names")
    return {name: f"${{{{ {name} }}}}" for name in value}


def _inside(pattern: str) -> str:
    """A pattern of paths in workspaces."""
    if not pattern or pattern.startswith("/") or ".." in pattern.split("/"):
        raise ValueError(f"{pattern!r} is not a path in the workspace: write it relative to it, without ..")
    if ".git" in pattern.split("/"):
        raise ValueError(f"{pattern!r}: an arm cannot change .git")
    if (folders := pattern.split("/").count("**")) > MAX_PATTERN_FOLDERS:
        raise ValueError(f"a pattern with ** {folders} times, at most {MAX_PATTERN_FOLDERS}: leave some out")
    return pattern.removeprefix("./").rstrip("/")


def _few(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Each pattern is looked for in the whole workspace of each session."""
    if len(patterns) > MAX_ARM_PATTERNS:
        raise ValueError(f"{len(patterns):,} patterns, at most {MAX_ARM_PATTERNS}: name a folder, or use * and **")
    return patterns


_TOO_DEEP = f"(?!((.*/)?\\*\\*(/|$)){{{MAX_PATTERN_FOLDERS + 1}}})"
_INSIDE = matching(rf"^(?!/)(?!(.*/)?\.\.(/|$))(?!(.*/)?\.git(/|$)){_TOO_DEEP}.+$")


def _folder(path: str) -> str:
    if "\0" in path:
        raise ValueError(f"{path!r} is not the path of a folder")
    return path


FolderPath = Annotated[str, Field(min_length=1), AfterValidator(_folder), WithJsonSchema(matching(r"^[^\0]+$"))]


ArmVariables = Annotated[dict[str, VariableText | None], BeforeValidator(references), AlsoAccepts(TEXTS)]


class ArmSection(BaseModel):
    """``arms.<id>``: a variant of all sessions."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        alias_generator=camel_case,
        defer_build=True,
    )

    files: FolderPath | None = None
    """Folder whose files are copied into the workspaces of this arm and replace existing files. The folder may contain
    at most {MAX_ARM_FILES:,} files of {MAX_ARM_BYTES:size} in total, and no symbolic links."""
    remove: Annotated[
        tuple[Annotated[str, AfterValidator(_inside), WithJsonSchema(_INSIDE)], ...],
        AfterValidator(_few),
        Field(json_schema_extra={"maxItems": MAX_ARM_PATTERNS}),
    ] = ()
    """At most {MAX_ARM_PATTERNS} patterns of paths in the workspace; each pattern may contain `**` at most
    {MAX_PATTERN_FOLDERS} times. Matching files are removed before `files` are copied, and again after the bootstrap and
    the hooks. The second removal does not remove files that are in `files`."""
    home: FolderPath | None = None
    """Folder whose files are copied into the agent's home directory, which is otherwise empty. The limits are the same
    as for `files`. If the tool itself also writes a JSON or TOML file at the path of one of these files, such as
    `.codex/config.toml`, the tool merges the two files. If the two files contain different values for a setting, the
    sessions of the arm are `errored`."""
    env: ArmVariables = {}
    """Variables that are added to the environment of the agent; null removes a variable that the runner sets. `${{ NAME
    }}` and `${NAME}` are replaced with the value of `NAME` in the environment of the run. A list contains names of
    variables, which are passed to the agent unchanged."""
    command_args: tuple[str, ...] = ()
    """Arguments that are appended to the arguments of the agent. An argument that begins with `./` or `../` is relative
    to the folder of the file that defines the arm."""
    skill: Literal["head", "base", "none"] = "head"
    """Version of the [skill under test](../how-to/arms.md#skills) that is installed. `head`: the version in the
    checked-out commit. `base`: the version in the base commit. `none`: no skill is installed."""
    decides: Annotated[bool, Field(strict=True)] = False
    """Whether this arm is the [deciding arm](../how-to/arms.md#the-deciding-arm), which determines the statuses and the
    verdict. If no arm has the value true, the first arm decides."""


def _one_decides(arms: dict[str, ArmSection]) -> dict[str, ArmSection]:
    """The arms, of which one decides: the marked one, or else the first."""
    for name in arms:
        if not ARM_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a valid name of an arm: use up to 40 letters, digits, - and _")
    marked = [name for name, arm in arms.items() if arm.decides]
    if len(marked) > 1:
        raise ValueError(f"only one arm can decide, not {' and '.join(marked)}")
    deciding = marked[0] if marked else next(iter(arms))
    return {name: arm.model_copy(update={"decides": name == deciding}) for name, arm in arms.items()}


NAMED_ARMS = {"propertyNames": matching(f"^{ARM_NAME.pattern}$"), "minProperties": 2, "maxProperties": MAX_ARMS}
"""What JSON Schemas say of arms beside their types."""
ArmsByName = Annotated[
    dict[str, ArmSection],
    Field(min_length=2, max_length=MAX_ARMS, json_schema_extra=NAMED_ARMS),
    AfterValidator(_one_decides),
]


class ArmsSection(RootModel[ArmsByName]):
    """All arms of a suite, by name."""


# --- in suites --------------------------------------------------------------------------------------


class SuiteWithArms(Protocol):
    """What is needed of a suite file. ``path`` is relative to the repository root, ``file`` absolute."""

    @property
    def path(self) -> str: ...
    @property
    def file(self) -> Path: ...
    @property
    def overlay(self) -> Callable[[Path, str], tuple[OverlayFile, ...]]:
        """The files of a folder that an arm adds. The second argument is the key path in messages."""
        ...


@record
class SuiteArms:
    """The arms of a suite; ``hidden``: the paths of the repository that they name, which agents must not see."""

    arms: tuple[Arm, ...] = ()
    hidden: tuple[str, ...] = ()


NO_SUITE_ARMS = SuiteArms()


@record(slots=False)
class _ArmsDocument(ProgramDocument):
    """The value of the key alone; ``places``: where its parts are."""

    places: ValueSource

    def locate(self, key_path: KeyPath = ()) -> Location:
        return self.places.locate(key_path)


def suite_arms(source: SuiteWithArms, value: object, key: str, places: ValueSource) -> SuiteArms:
    """The arms that a suite has under ``key``, in the shape of the configuration; None: none.

    Paths are relative to the suite. Raises SuiteError.
    """
    if value is None:
        return NO_SUITE_ARMS
    whole = {key: value}
    located = LocatedValue(value=whole, offset=lambda _: None, scalar=places.scalar)
    document = _ArmsDocument(path=source.path, value=whole, located=located, lines=Lines(""), places=places)
    sections = validated(document, ArmsSection, at=(key,), error=SuiteError).root
    folder = source.file.parent
    arms = []
    for name, section in sections.items():
        _refuse_references(section, (key, name, "env"), places)
        arms.append(
            Arm(
                name=name,
                files=_overlay(source, section.files, (key, name, "files"), places),
                remove=section.remove,
                home=_overlay(source, section.home, (key, name, "home"), places),
                env=tuple((variable, text) for variable, text in section.env.items() if text is not None),
                without_env=tuple(variable for variable, text in section.env.items() if text is None),
                command_args=tuple(str(folder / word) if is_path(word) else word for word in section.command_args),
                skill=section.skill,
                decides=section.decides,
                of_suite=True,
            )
        )
    named = (path for section in sections.values() for path in paths_of(section))
    return SuiteArms(arms=tuple(arms), hidden=tuple(_in_repository(named, source.path)))


def _overlay(source: SuiteWithArms, named: str | None, at: KeyPath, places: ValueSource) -> tuple[OverlayFile, ...]:
    if named is None:
        return ()
    try:
        return source.overlay(source.file.parent / named, key_path_text(at))
    except SuiteError as error:
        located = (
            Problem(message=one.message, location=places.locate(at), remedy=one.remedy) for one in error.problems
        )
        raise SuiteError.of(*located) from error


def _refuse_references(section: ArmSection, at: KeyPath, places: ValueSource) -> None:
    """A suite may be of a contributor, who must not read the variables of the tool. Raises SuiteError."""
    for variable, text in section.env.items():
        if text is not None and ("${" in text or re.fullmatch(SHELL_VARIABLE, text)):
            raise SuiteError.of(
                Problem(
                    message="variables of the environment are only for arms of the configuration",
                    location=places.locate((*at, variable)),
                    key_path=key_path_text((*at, variable)),
                    remedy="write a plain value, or move the arms to skillgym.config.yaml",
                )
            )


def paths_of(section: ArmSection) -> Iterator[str]:
    """The paths that an arm names: in a copy of the repository, every arm would have what is there."""
    yield from (path for path in (section.files, section.home) if path)
    yield from filter(is_path, section.command_args)


def is_path(word: str) -> bool:
    """Whether an argument is a path relative to the file that names it."""
    return word.startswith(("./", "../"))


def _in_repository(named: Iterator[str], suite: str) -> Iterator[str]:
    """The paths that are in the repository, relative to its root."""
    for path in named:
        inside = posixpath.normpath(PurePosixPath(suite).parent / path)
        if not inside.startswith(("/", "..")) and inside != ".":
            yield inside
