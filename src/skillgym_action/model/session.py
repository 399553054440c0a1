"""What passes between us and an agent: what we want started, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.session_report import Price, Trouble, Usage


# --- what we want -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentConfig:
    """One agent as a runner configures it. ``env`` holds resolved values, hence is never printed.

    ``cwd``: where it works if nobody says otherwise; ``timeout`` in seconds; ``settings`` only its adapter knows.
    ``version``: the one of its CLI that is wanted; None: the one that is found, or else the verified one.
    """

    type: str
    model: str | None = None
    version: str | None = None
    command: tuple[str, ...] = ()
    shell: bool = False
    command_args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    output: Literal["text", "events"] = "text"
    budget: float | None = None
    sessions: str | None = None
    cwd: Path | None = None
    timeout: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One conversation we want to have with an agent. Paths are absolute.

    ``key`` names the repetition in artifacts: (suite, case, runner, repetition).
    ``budget`` is in US dollars, ``timeout`` in seconds; ``files`` go with the prompt; ``prices`` are the user's own.
    """

    agent: AgentConfig
    prompt: str
    case_id: str
    key: tuple[str, str, str, str]
    workspace: Path
    home: Path
    scratch: Path
    timeout: float
    max_steps: int | None = None
    budget: float | None = None
    files: tuple[Path, ...] = ()
    prices: Mapping[str, Price] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The user that a program runs as. ``is_own``: nothing else on the machine has this user id.

    Then all processes of the user are ended before and after each program.
    """

    uid: int
    gid: int
    groups: tuple[int, ...] = ()
    is_own: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """A process we want started; data, not yet an effect.

    Without ``argv`` nothing is started, and all is well. ``env`` is added to the allow-listed environment. ``files``
    are written before the start (absolute path -> text). ``collect`` are glob patterns below the private home; what
    matches is kept as the raw session export. ``identity``: the user it runs as; None: the caller.
    ``limits``: what it and all that it starts may use of the machine; ``folders``: what of the disk is its own.
    """

    argv: tuple[str, ...]
    cwd: Path
    timeout: float
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    stdin: str | None = None
    files: Mapping[Path, str] = field(default_factory=dict, repr=False)
    collect: tuple[str, ...] = ()
    identity: Identity | None = None
    limits: ResourceLimits | None = None
    folders: tuple[Path, ...] = ()


class Watcher(Protocol):
    """Sees each line of a program's output while it runs."""

    @property
    def finished(self) -> bool:
        """Whether the program has told its result, hence has nothing left to do."""
        ...

    @property
    def may_stop(self) -> bool:
        """Whether a line can be a reason to stop the program; if not, nobody has to look at one that has ended."""
        ...

    def __call__(self, line: str) -> Trouble | None:
        """The reason to stop the program, if this line gives one."""
        ...


# --- what came of it --------------------------------------------------------------------------------


class Ending(StrEnum):
    """How a process ended.

    Not started: no such program; refused: not with these arguments; lingered: it told its result and did not exit;
    lost: what looked after it was killed, so nothing is known of its end.
    """

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed-out"
    STOPPED = "stopped"
    LINGERED = "lingered"
    CANCELLED = "cancelled"
    NOT_STARTED = "not-started"
    REFUSED = "refused"
    LOST = "lost"


class Output(Protocol):
    """What a process wrote to a file: read lazily, never held as a whole."""

    def lines(self) -> Iterator[str]:
        """Lines without their ends; bytes that are not UTF-8 replaced; over-long lines cut."""
        ...

    def tail(self, size: int) -> str:
        """The last ``size`` bytes as text."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Capture:
    """What the operating system saw of a process.

    ``stopped_for`` is why we ended it ourselves, ``error`` why it did not start.
    """

    ending: Ending
    exit_code: int | None
    stdout: Output
    stderr: Output
    seconds: float
    collected: tuple[Output, ...] = ()
    stopped_for: Trouble | None = None
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """What one line of output says while an agent runs: the model round it belongs to, tokens so far in that round."""

    step: str | None = None
    usage: Usage | None = None
    model: str | None = None
    finished: bool = False
