"""The tool calls of a session, each with its result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_SHOWN_ARGUMENT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Message, ToolCall, ToolResult

if TYPE_CHECKING:
    from skillgym_action.model.session_report import SessionReport


CLAUDES_NAMES = {
    "codex": {"command_execution": "Bash", "file_change": "Edit"},
    "copilot": {
        "skill": "Skill",
        "readFile": "Read",
        "Read File": "Read",
        "readTextFile": "Read",
        "writeTextFile": "Write",
        "Write File": "Write",
        "editFile": "Edit",
        "Edit File": "Edit",
        "runTerminalCommand": "Bash",
    },
    "pi": {"read": "Read", "bash": "Bash"},
}
"""Claude's names for tools of other agents; suites use them for all agents."""

MAIN_ARGUMENTS = ("skill", "file_path", "command", "pattern")


@record
class Call:
    """One call. ``tool``: Claude's name for it; ``after``: number of the assistant's messages before it.

    ``failed``: the tool reported an error.
    """

    tool: str
    args: object
    output: str | None = None
    failed: bool = False
    duration_ms: int | None = None
    at: str | None = None
    after: int = 0


def calls_of(report: SessionReport) -> tuple[Call, ...]:
    """Return all calls in order. A result belongs to the first call of its tool that has none yet."""
    calls: list[Call] = []
    messages = 0
    names = CLAUDES_NAMES.get(report.runner.agent.type, {})
    for event in report.events:
        if is_reply(event):
            messages += 1
        elif isinstance(event, ToolCall):
            tool = names.get(event.tool, event.tool)
            calls.append(Call(tool=tool, args=event.args, duration_ms=event.duration_ms, at=event.at, after=messages))
        elif isinstance(event, ToolResult):
            _assign_result(calls, event, names.get(event.tool or "", event.tool))
    return tuple(calls)


def is_reply(event: object) -> bool:
    """Whether an event is a message of the assistant, other than its thinking."""
    return isinstance(event, Message) and event.role == "assistant" and event.phase != "thinking"


def model_rounds(report: SessionReport) -> int:
    """Return how often the model was called: as the agent reports, else the number of its messages."""
    if report.turns is not None:
        return report.turns
    return sum(map(is_reply, report.events)) or int(bool(report.final_output))


def call_list(calls: tuple[Call, ...]) -> str:
    """Return one line for each call, with its main argument."""
    return "\n".join(f"- {call.tool}{_detail(call)}" for call in calls)


def _detail(call: Call) -> str:
    args = call.args if isinstance(call.args, dict) else {}
    values = (args.get(key) for key in (*MAIN_ARGUMENTS, *args))
    text = next((value for value in values if isinstance(value, str) and value), "")
    return (
        f": {text[:MAX_SHOWN_ARGUMENT_CHARACTERS]}{'…' if len(text) > MAX_SHOWN_ARGUMENT_CHARACTERS else ''}"
        if text
        else ""
    )


def _assign_result(calls: list[Call], result: ToolResult, tool: str | None) -> None:
    for index, call in enumerate(calls):
        if call.output is None and tool in {None, call.tool}:
            calls[index] = replace(call, output=result.output, failed=bool(result.failed))
            return
