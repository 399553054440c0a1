"""The classes that suite programs use: Case, Suite, Workspace, and Context, the second argument of a check."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.suites.programs.runtime.expectations import expect

__all__ = ["Case", "Context", "Suite", "Workspace", "expect"]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike
    from typing import Any, Literal, Required, TypedDict, TypeVar, Unpack

    from skillgym_action.model.session_report import SessionReport, SkillDetection, ToolCall

    Check = Callable[..., Any]
    Classifier = Callable[[Any], str | Mapping[str, str] | None]
    AnyCheck = TypeVar("AnyCheck", bound=Check)

    class Settings(TypedDict, total=False):
        """Settings of a case besides id, prompt and check."""

        tags: Sequence[str]
        timeout_ms: float
        expected_fail: bool
        classify_failure: Classifier

    class Bootstrap(TypedDict, total=False):
        """A command that runs in a workspace before the agent. ``./`` and ``../`` are relative to the suite file."""

        command: Required[str]
        args: Sequence[str]
        timeout_ms: float
        env: Mapping[str, str]

    class Limits(TypedDict, total=False):
        """Limits of what a session may use; sizes in bytes, or as text such as ``512MiB``."""

        cpus: float
        pids: int
        memory: int | str
        disk: int | str
        processes: int
        file_size: int | str

    class ContainerSettings(TypedDict, total=False):
        """A container for each session: ``image``, or ``build``, or ``dockerfile``.

        ``build``: ``context`` and ``dockerfile``; paths are relative to the suite file. ``workdir``, ``user``: those of
        the image, if they are not set. ``network``: ``none``, ``model-only``, ``open``, or ``{"mode": "allow-list",
        "hosts": [...]}``.
        """

        image: str
        build: Mapping[str, str]
        dockerfile: str
        workdir: str
        user: str
        network: str | Mapping[str, Any]


SETTINGS = ("tags", "timeout_ms", "expected_fail", "classify_failure")
BOOTSTRAP = ("command", "args", "timeout_ms", "env")
MODES = ("none", "shared", "isolated")
OF_CONTAINERS = ("cpus", "pids")  # limits
CONTAINER = ("image", "build", "dockerfile", "workdir", "user", "network")


class Case:
    """A prompt, and the check that judges the session.

    ``check(report, ctx)``, sync or async, passes when it returns and fails when it raises AssertionError. A check that
    returns True or False is an error of the suite: the value would have no effect.
    ``id`` is unique in its suite; in a dict of cases it defaults to the key. ``timeout_ms`` limits the agent's time.
    ``expected_fail``: the check is expected to fail; passing is reported as unexpected. ``classify_failure(result)``
    returns the failure class (an id, or ``{"id", "label"}``) of an execution that did not pass, or None.
    """

    def __init__(
        self,
        id: str = "",  # noqa: A002 - the field's name in every format
        *,
        prompt: str = "",
        check: Check | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        """Accept any values: problems are reported with the case's location later, and the other cases run."""
        self.id = id
        self.prompt = prompt
        self.check = check
        self.tags = settings.get("tags", ())
        self.timeout_ms = settings.get("timeout_ms")
        self.expected_fail = settings.get("expected_fail", False)
        self.classify_failure = settings.get("classify_failure")
        self.unknown = tuple(name for name in settings if name not in SETTINGS)
        self.written_at = _written_at()

    def __repr__(self) -> str:
        return f"Case({self.id!r})"


class Suite:
    """Cases that are registered one by one.

    ``@suite.case("id", prompt="...")`` makes the decorated function the check of a new case.
    """

    def __init__(self, name: str = "") -> None:
        """``name`` defaults to the file's."""
        self.name = name
        self.cases: list[Case] = []

    def case(
        self,
        id: str,  # noqa: A002 - the field's name in every format
        *,
        prompt: str,
        **settings: Unpack[Settings],
    ) -> Callable[[AnyCheck], AnyCheck]:
        """A decorator that adds a case, and returns the function unchanged."""
        case = Case(id, prompt=prompt, **settings)
        self.cases.append(case)

        def register(check: AnyCheck) -> AnyCheck:
            case.check = check
            return check

        return register


class Workspace:
    """Where the agents of a suite work: ``workspace = Workspace(...)`` beside ``suite``.

    ``isolated``: a new directory per session, empty or a copy of ``template_dir``. ``shared``: one for the suite.
    ``none``, or ``shared`` with ``cwd``: the directory ``cwd`` itself. Paths are relative to the suite file.
    ``limits``: what a session may use of the machine; they can only lower the limits of the run.
    """

    def __init__(
        self,
        *,
        mode: Literal["none", "shared", "isolated"] = "isolated",
        template_dir: str | PathLike[str] | None = None,
        cwd: str | PathLike[str] | None = None,
        bootstrap: Bootstrap | None = None,
        limits: Limits | None = None,
        **container: Unpack[ContainerSettings],
    ) -> None:
        """``container``: what its sessions run in. Raises ValueError for settings that contradict each other."""
        if mode not in MODES:
            raise ValueError(f"unknown workspace mode {mode!r}; known: {', '.join(MODES)}")
        if mode == "isolated" and cwd is not None:
            raise ValueError("an isolated workspace has no cwd; use mode 'shared' or 'none'")
        if template_dir is not None and (mode == "none" or cwd is not None):
            raise ValueError("a template is copied into a new workspace, not into a cwd; leave out one of the two")
        if bootstrap is not None:
            _refuse_bootstrap(bootstrap)
        self.mode = mode
        self.template_dir = template_dir
        self.cwd = cwd
        self.bootstrap = bootstrap
        self.limits = None if limits is None else _limits(limits)
        self.container = _container(container)


class Context:
    """The second argument of a check: shortcuts to parts of the session report, which is the first argument."""

    def __init__(self, report: SessionReport) -> None:
        self.report = report

    def get_commands(self) -> list[str]:
        """The shell commands the agent ran, in order."""
        return [event.command for event in self.report.events if event.type == "command"]

    def get_tool_calls(self, tool: str | None = None) -> list[ToolCall]:
        """The tools that the agent called, in order; only those named ``tool``, if it is not None."""
        calls = [event for event in self.report.events if event.type == "toolCall"]
        return [call for call in calls if tool is None or call.tool == tool]

    def get_file_reads(self) -> list[str]:
        """Absolute paths of the files the agent read."""
        return list(self.report.files.observed_reads)

    def detected_skills(self) -> list[SkillDetection]:
        """The skills the session used."""
        return list(self.report.detected_skills)

    def final_output(self) -> str:
        """The agent's final output."""
        return self.report.final_output


def _refuse_bootstrap(bootstrap: Bootstrap) -> None:
    if not isinstance(bootstrap, dict) or not isinstance(bootstrap.get("command"), str):
        raise TypeError('bootstrap is a dict such as {"command": "sh", "args": ["./prepare.sh"]}')
    if unknown := [name for name in bootstrap if name not in BOOTSTRAP]:
        raise ValueError(f"unknown bootstrap setting {unknown[0]!r}; known: {', '.join(BOOTSTRAP)}")
    if isinstance(bootstrap.get("args", ()), str):
        raise TypeError("bootstrap args are a list, one item per argument")


def _limits(limits: Limits) -> dict[str, Any]:
    """The limits with the keys of all formats. Raises TypeError, and ValueError for a value that cannot be used."""
    from skillgym_action.model.resource_limits import LIMIT_FIELDS, parse_limits

    if not isinstance(limits, dict):
        raise TypeError('limits is a dict such as {"memory": "2GiB", "processes": 200}')
    known = (*LIMIT_FIELDS.values(), *OF_CONTAINERS)
    if unknown := [name for name in limits if name not in known]:
        raise ValueError(f"unknown limit {unknown[0]!r}; known: {', '.join(known)}")
    keys = {name: key for key, name in LIMIT_FIELDS.items()}
    spelled = {keys[name]: limit for name, limit in limits.items() if name in keys}
    parse_limits(spelled)
    return {**spelled, **{name: value for name, value in limits.items() if name in OF_CONTAINERS}}


def _container(settings: ContainerSettings) -> dict[str, Any]:
    """What the tool checks, as the formats have it. Raises TypeError for an unknown setting."""
    if unknown := [name for name in settings if name not in CONTAINER]:
        raise TypeError(f"Workspace.__init__() got an unexpected keyword argument {unknown[0]!r}")
    return dict(settings)


def _written_at() -> tuple[str, int | None, int | None]:
    """File, line (from 1) and byte column (from 0) of the innermost call from outside this module."""
    frame = sys._getframe(1)  # noqa: SLF001 - the public way, inspect.stack, is slow and imports half the library
    while frame.f_back and frame.f_globals is globals():
        frame = frame.f_back
    line, _, column, _ = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    return frame.f_code.co_filename, line, column
