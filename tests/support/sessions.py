"""Sessions, and captures of processes that never ran."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.model.session import AgentConfig, Capture, Ending, Session
from skillgym_action.model.session_report import Message, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.session_report import Event

SESSION = Session(
    agent=AgentConfig(type="claude-code"),
    prompt="Please do the task.",
    case_id="greets",
    key=("core", "greets", "claude", "repeat-1"),
    workspace=Path("/workspace"),
    home=Path("/agent-home"),
    scratch=Path("/scratch"),
    timeout=60.0,
)


def session_with(agent: AgentConfig | None = None, **changes: Any) -> Session:
    return replace(SESSION, agent=agent or SESSION.agent, **changes)


class Printed:
    """Output that needs no file."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    def lines(self) -> Iterator[str]:
        yield from self.text.split("\n")

    def tail(self, size: int) -> str:
        return self.text[-size:]


def capture_of(stdout: str = "", **changes: Any) -> Capture:
    """A process that printed ``stdout`` and exited with 0; ``changes`` may give stderr and collected files as text."""
    known = {"ending": Ending.EXITED, "exit_code": 0, "seconds": 1.5, "stderr": "", "collected": ()} | changes
    known["stderr"] = Printed(known["stderr"])
    known["collected"] = tuple(Printed(text) for text in known["collected"])
    return Capture(stdout=Printed(stdout), **known)


def without_tokens(events: Iterable[Event]) -> list[Event]:
    """The events, none with the tokens of its model round."""
    return [replace(event, usage=None) if isinstance(event, Message | ToolCall) else event for event in events]


def jsonl(*lines: dict[str, Any]) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)
