"""SHELF: agents. One file per agent: how to start it, how to read what it printed. No I/O.

An agent never starts a process: it says which process it wants and reads what came of it, which makes foreign CLIs
testable from recorded output. To add one: a file here, a line in ``AGENTS``, recorded captures in tests/.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from skillgym_action.session import Capture, Invocation, Progress, Session
    from skillgym_action.session_report import Transcript, Trouble


@dataclass(frozen=True, kw_only=True, slots=True)
class Listing:
    """What is known of an agent without importing its adapter.

    ``version`` is the one its adapter was verified with; ``streams``: its output tells of model rounds while it runs.
    """

    module: str
    executable: str | None = None
    package: str | None = None
    version: str | None = None
    keys: tuple[str, ...] = ()
    streams: bool = False


AGENTS = {
    "claude-code": Listing(
        module="claude_code",
        executable="claude",
        package="@anthropic-ai/claude-code",
        version="2.1.197",
        streams=True,
        keys=("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    ),
    "command": Listing(module="command"),
    "replay": Listing(module="replay"),
}


class Agent(Protocol):
    """What every module of this shelf offers."""

    def invocation(self, session: Session) -> Invocation:
        """The process that holds the session."""
        ...

    def transcript(self, capture: Capture, session: Session) -> Transcript:
        """What the agent did, read from its output; unknown lines are kept as ``Raw``, never fatal."""
        ...

    def trouble(self, capture: Capture, transcript: Transcript) -> Trouble | None:
        """Why the session cannot be judged, if so, in the agent's own signs."""
        ...

    def progress(self, line: str) -> Progress | None:
        """What one line of output says while the agent runs; None for lines that say nothing of it."""
        ...

    def resume(self, session: Session, session_id: str) -> Invocation:
        """The process that continues an ended session with ``session.prompt``."""
        ...


def agent_named(name: str) -> Agent:
    """The module of an agent; imported on first use."""
    return cast("Agent", import_module(f"{__name__}.{AGENTS[name].module}"))
