"""Assertions that run a command in the workspace after the agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.limits import MAX_COMMAND_EVIDENCE_BYTES, MAX_COMMAND_EVIDENCE_LINES
from skillgym_action.model.result import Outcome

if TYPE_CHECKING:
    from skillgym_action.model.assertion import AssertionContext, CommandResult

DEFAULT_TIMEOUT = 300.0
"""Seconds that a command without a timeout of its own has at least."""
NOT_FOUND = 127


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandPasses:
    """A command exits with 0, or as ``exits`` says; None: with anything but 0. ``timeout`` is in seconds."""

    name: str
    command: str
    timeout: float | None = None
    exits: int | None = 0
    fail_fast: bool = False

    type: ClassVar[str] = "command-passes"
    diagnostic: ClassVar[bool] = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Failed also if the command times out; not judged if the shell does not find it."""
        limit = self.timeout or max(DEFAULT_TIMEOUT, context.timeout)
        result = context.run(self.command, limit)
        missing = result.exit_code == NOT_FOUND != self.exits
        explanation = _explanation(result, limit) + ("" if self.exits == 0 else f"; wanted: {self._wanted()}")
        outcome = Outcome(
            assertion=self.name,
            type=self.type,
            passed=None if missing else self._is_met(result),
            explanation="exited 127: the shell did not find the command" if missing else explanation,
            evidence=_output(result),
            trouble="grader" if missing else None,
        )
        return (outcome,)

    def _is_met(self, result: CommandResult) -> bool:
        if result.timed_out:
            return False
        return result.exit_code != 0 if self.exits is None else result.exit_code == self.exits

    def _wanted(self) -> str:
        return "anything but 0" if self.exits is None else f"exit {self.exits}"


def _explanation(result: CommandResult, limit: float) -> str:
    if result.timed_out:
        return f"did not end within {limit:g} s"
    ended = "was ended by a signal" if result.exit_code is None else f"exited {result.exit_code}"
    return f"{ended} after {result.seconds:.1f} s"


def _output(result: CommandResult) -> str | None:
    """The last lines of the output, and the logs with all of it if something is missing."""
    text = result.tail.strip("\n")
    encoded, cut = text.encode("utf-8", "replace"), ""
    if len(encoded) > MAX_COMMAND_EVIDENCE_BYTES:
        text, cut = encoded[-MAX_COMMAND_EVIDENCE_BYTES:].decode("utf-8", "ignore"), "…"
    lines = text.split("\n")
    if len(lines) > MAX_COMMAND_EVIDENCE_LINES:
        lines, cut = lines[-MAX_COMMAND_EVIDENCE_LINES:], "…\n"
    shown = cut + "\n".join(lines)
    return (f"{shown}\n(all of it: {', '.join(result.logs)})" if cut and result.logs else shown) or None
