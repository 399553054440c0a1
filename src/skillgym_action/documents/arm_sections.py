"""The section ``arms`` of configurations and suites, as a pydantic model."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, RootModel

from skillgym_action.limits import MAX_ARMS
from skillgym_action.model.json_codec import camel_case

ARM_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")


def references(value: object) -> object:
    """A list of names means those variables of the tool's environment."""
    return {str(name): f"${{{{ {name} }}}}" for name in value} if isinstance(value, list) else value


def _inside(pattern: str) -> str:
    """A pattern of paths in workspaces."""
    if not pattern or pattern.startswith("/") or ".." in pattern.split("/"):
        raise ValueError(f"{pattern!r} is not a path in the workspace: write it relative to it, without ..")
    if ".git" in pattern.split("/"):
        raise ValueError(f"{pattern!r}: an arm cannot change .git")
    return pattern.removeprefix("./").rstrip("/")


class ArmSection(BaseModel):
    """``arms.<id>``: a variant of all sessions. ``files``: a folder whose files are added to workspaces.

    ``home``: one whose files are added to homes of agents. A variable that is null is taken from the runner's.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        alias_generator=camel_case,
        populate_by_name=True,
        defer_build=True,
    )

    files: Annotated[str | None, Field(min_length=1)] = None
    remove: tuple[Annotated[str, AfterValidator(_inside)], ...] = ()
    home: Annotated[str | None, Field(min_length=1)] = None
    env: Annotated[dict[str, str | None], BeforeValidator(references)] = {}
    command_args: tuple[str, ...] = ()
    skill: Literal["head", "base", "none"] = "head"
    decides: bool = False


def _one_decides(arms: dict[str, ArmSection]) -> dict[str, ArmSection]:
    """The arms, of which one decides: the marked one, or else the first."""
    for name in arms:
        if not ARM_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an arm: use up to 40 letters, digits, - and _")
    marked = [name for name, arm in arms.items() if arm.decides]
    if len(marked) > 1:
        raise ValueError(f"only one arm can decide, not {' and '.join(marked)}")
    deciding = marked[0] if marked else next(iter(arms))
    return {name: arm.model_copy(update={"decides": name == deciding}) for name, arm in arms.items()}


ArmsByName = Annotated[dict[str, ArmSection], Field(min_length=2, max_length=MAX_ARMS), AfterValidator(_one_decides)]


class ArmsSection(RootModel[ArmsByName]):
    """All arms of a suite, by name."""
