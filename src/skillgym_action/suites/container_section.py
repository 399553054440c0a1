"""The keys of a workspace that ask for a container: the same in suites of each format and in the configuration."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from skillgym_action.model.containers import ContainerBuild, ContainerLimits, ContainerSpec, NetworkMode, NetworkPolicy
from skillgym_action.model.limits import MAX_POLICY_HOSTS
from skillgym_action.text.documents.json_schemas import AlsoAccepts, any_of, has, matching, words

CPUS, PIDS = "cpus", "pids"
MAX_CPUS = 1024
_IMAGE = re.compile(r"[A-Za-z0-9][\w.:/@+-]*", re.ASCII)
_USER = re.compile(r"[\w.-]+(?::[\w.-]+)?", re.ASCII)
_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class ContainerKeyError(ValueError):
    """A key of a container is wrong. ``key``: its path below the workspace, which ``message`` does not contain."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message


def image_name(value: str) -> str:
    """The text, if it can be the name of an image. Raises ValueError."""
    if not _IMAGE.fullmatch(value):
        raise ValueError(f"{value!r} is not the name of an image, such as python:3.12-slim")
    return value


def _user(value: str) -> str:
    if not _USER.fullmatch(value):
        raise ValueError(f"{value!r} is not a user: write a name or a uid, also with :GROUP")
    return value


def _workdir(value: str) -> str:
    path = PurePosixPath(value)
    if not path.is_absolute() or ".." in path.parts or len(path.parts) == 1 or "\0" in value:
        raise ValueError(f"{value!r} is not an absolute path of a folder, such as /app")
    return str(path)


def _below(value: str) -> str:
    if PurePosixPath(value).is_absolute() or ".." in PurePosixPath(value).parts or "\0" in value:
        raise ValueError(f"{value!r} is not a path below the folder: write it relative to it, without ..")
    return value


def _file(value: str) -> str:
    if PurePosixPath(value).name in ("", "..") or "\0" in value:
        raise ValueError(f"{value!r} is not the path of a file, such as ./Dockerfile")
    return value


def _host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise ValueError(f"{value!r} is not a host: write NAME or NAME:PORT, without a scheme or wildcards")
    return value.lower()


Text = Annotated[str, Field(min_length=1)]
_BELOW = matching(r"^(?!/)(?!(.*/)?\.\.(/|$))[^\0]+$")
_FILE = matching(r"^(?!(\.{0,2}/)*\.{0,2}$)(?!(.*/)?\.\.(/\.?)*$)[^\0]+$")
_WORKDIR = matching(r"^/(?!(.*/)?\.\.(/|$))[^\0]*[^/.\0][^\0]*$")
_MODES = ("none", "model-only", "open")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)


class ContainerBuildSection(_Section):
    """``workspace.build``. ``context``: a folder, relative to the file; ``dockerfile``: relative to the context."""

    context: Text = "."
    """Folder of the build context, [inside the repository](configuration.md#paths)."""
    dockerfile: Annotated[Text, AfterValidator(_below), WithJsonSchema(_BELOW)] = "Dockerfile"
    """Path of the Dockerfile, relative to the build context."""


class NetworkSection(_Section):
    """``workspace.network``: what the container may connect to. ``hosts``: for ``allow-list`` only."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"mode": {"const": "allow-list"}}},
            "then": {"required": ["hosts"], "properties": {"hosts": {"minItems": 1}}},
            "else": {"properties": {"hosts": {"maxItems": 0}}},
        }
    )

    mode: Literal["none", "model-only", "allow-list", "open"]
    """Network policy: no connections (`none`), only connections to the model's service (`model-only`), only connections
    to `hosts` (`allow-list`), or all connections (`open`)."""
    hosts: list[Annotated[Text, AfterValidator(_host), WithJsonSchema(matching(f"^{_HOST.pattern}$"))]] = Field(
        default_factory=list, json_schema_extra={"maxItems": MAX_POLICY_HOSTS}
    )
    """Hosts that the container may connect to if `mode` is `allow-list`: `NAME` or `NAME:PORT`, without wildcards."""

    @model_validator(mode="after")
    def _fits(self) -> NetworkSection:
        if self.mode == "allow-list" and not self.hosts:
            raise ValueError("allow-list needs hosts")
        if self.mode != "allow-list" and self.hosts:
            raise ValueError(f"hosts have no effect with {self.mode}: write mode allow-list")
        if len(self.hosts) > MAX_POLICY_HOSTS:
            raise ValueError(f"there are more than {MAX_POLICY_HOSTS} hosts")
        return self


def _ascii(pattern: re.Pattern[str]) -> str:
    """The pattern without the classes that mean more letters in Python than in JavaScript."""
    return pattern.pattern.replace(r"\w", "A-Za-z0-9_")


def _network(value: object) -> object:
    return {"mode": value} if isinstance(value, str) else value


_WITH_IMAGE = any_of(*(has(key) for key in ("image", "build", "dockerfile")))
_CPUS = {"required": ["limits"], "properties": {"limits": {"type": "object", **has(CPUS)}}}
CONTAINER_RULES: list[JsonValue] = [
    {"not": {"allOf": [has("image"), has("build")]}},
    {"not": {"allOf": [has("image"), has("dockerfile")]}},
    {"not": {"allOf": [has("build"), has("dockerfile")]}},
    {"if": any_of(*(has(key) for key in ("workdir", "user", "network")), _CPUS), "then": _WITH_IMAGE},
]
"""What JSON Schemas say of the keys together: one image, and nothing for containers without one."""
ISOLATED: dict[str, JsonValue] = {
    "if": _WITH_IMAGE,
    "then": {"properties": {"mode": {"const": "isolated"}, "cwd": {"enum": [None, ""]}}},
}
"""That containers are made for one session each: of workspaces that have a mode."""


class ContainerKeys(BaseModel):
    """Keys of ``workspace`` that ask for a container."""

    model_config = ConfigDict(json_schema_extra={"allOf": CONTAINER_RULES})

    image: Annotated[Text, AfterValidator(image_name), WithJsonSchema(matching(f"^{_ascii(_IMAGE)}$"))] | None = None
    """Image of the [container](../how-to/container-per-case.md) in which each session runs. Only one of `image`,
    `build` and `dockerfile` can be set; `workdir`, `user`, `network` and `limits.cpus` require one of these three
    keys."""
    build: ContainerBuildSection | None = None
    """Settings with which the image of the container is built, as an alternative to `image`."""
    dockerfile: Annotated[Text, AfterValidator(_file), WithJsonSchema(_FILE)] | None = None
    """Short form of `build`: the path of a Dockerfile, whose folder is the build context."""
    workdir: Annotated[Text, AfterValidator(_workdir), WithJsonSchema(_WORKDIR)] | None = None
    """Path of the workspace in the container."""
    user: Annotated[Text, AfterValidator(_user), WithJsonSchema(matching(f"^{_ascii(_USER)}$"))] | None = None
    """User that runs programs in the container: a name or a uid, optionally with `:GROUP`."""
    network: Annotated[NetworkSection, BeforeValidator(_network), AlsoAccepts(words(_MODES))] | None = None
    """Network policy: what the container may [connect to](../how-to/container-per-case.md#network). The value is a
    mode, or a mapping with `mode` and `hosts`."""


def container_limits(limits: object) -> tuple[object, float | None]:
    """The limits of a workspace without ``cpus``, with ``processes`` for ``pids``; and the processors.

    Raises ContainerKeyError.
    """
    if not isinstance(limits, Mapping):
        return limits, None
    others = {key: value for key, value in limits.items() if key not in {CPUS, PIDS}}
    if limits.get(PIDS) is not None:
        if others.get("processes") is not None:
            raise ContainerKeyError(f"limits.{PIDS}", "is another name of processes, which is there, too")
        others["processes"] = limits[PIDS]
    cpus = limits.get(CPUS)
    if cpus is None:
        return others, None
    if isinstance(cpus, bool) or not isinstance(cpus, int | float) or not 0 < cpus <= MAX_CPUS:
        raise ContainerKeyError(f"limits.{CPUS}", f"{cpus!r} is not a number of processors, such as 1 or 0.5")
    return others, float(cpus)


def container_keys(values: Mapping[str, object]) -> ContainerKeys:
    """The keys of a workspace that a program has set. Raises ContainerKeyError."""
    try:
        return ContainerKeys.model_validate({name: value for name, value in values.items() if value is not None})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = first["msg"].removeprefix("Value error, ")
        raise ContainerKeyError(".".join(map(str, first["loc"])), message) from error


def container_spec(
    keys: ContainerKeys,
    cpus: float | None,
    folder: Path,
    refusal: Callable[[Path], str | None],
    *,
    isolated: bool = True,
) -> ContainerSpec | None:
    """What the keys ask for; None: no container. Paths are relative to ``folder``, that of the file.

    ``refusal``: why a folder cannot be used, such as that a link leads out of the repository. ``isolated``: each
    session has a workspace of its own. Raises ContainerKeyError.
    """
    ways = [name for name in ("image", "build", "dockerfile") if getattr(keys, name) is not None]
    if len(ways) > 1:
        raise ContainerKeyError(ways[1], f"there is {ways[0]}, too: a container has one image")
    if not ways:
        alone = next((name for name in ("workdir", "user", "network") if getattr(keys, name) is not None), None)
        if alone or cpus is not None:
            raise ContainerKeyError(alone or f"limits.{CPUS}", "is for containers: it needs image, build or dockerfile")
        return None
    if not isolated:
        raise ContainerKeyError("mode", "a container is made for one session: write isolated, without cwd")
    network = NetworkPolicy(mode=NetworkMode.MODEL_ONLY)
    if keys.network:
        network = NetworkPolicy(mode=NetworkMode(keys.network.mode), hosts=tuple(keys.network.hosts))
    return ContainerSpec(
        image=keys.image,
        build=_build(keys, folder, refusal),
        workdir=keys.workdir,
        user=keys.user,
        limits=ContainerLimits(cpus=cpus),
        network=network,
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as a name that is too long
        return False


def _build(keys: ContainerKeys, folder: Path, refusal: Callable[[Path], str | None]) -> ContainerBuild | None:
    section, key = keys.build, "build.context"
    if keys.dockerfile:
        path, key = PurePosixPath(keys.dockerfile), "dockerfile"
        section = ContainerBuildSection(context=str(path.parent), dockerfile=path.name)
    if section is None:
        return None
    context = Path(folder, section.context)
    if refused := refusal(context):
        raise ContainerKeyError(key, refused)
    if not _is_file(context / section.dockerfile):
        raise ContainerKeyError(key, f"there is no {section.dockerfile} in {section.context}")
    return ContainerBuild(context=context, dockerfile=section.dockerfile)
