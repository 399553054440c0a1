"""Limits that are checked while the agent runs: model rounds and cost. Whether a time limit is the service's fault."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    Raw,
    SkillSignal,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from skillgym_action.agents import Agent
    from skillgym_action.model.session import Session
    from skillgym_action.model.session_report import Event
    from skillgym_action.sessions.trigger_watch import TriggerWatch

MOST = 0.5  # share of a session
ENDED_CODES = frozenset({130, 137, 143})  # what shells report for SIGINT, SIGKILL and SIGTERM


class SessionLimits:
    """Called with each line of an agent's output; returns the reason to stop the agent once it exceeds a limit.

    ``finished``: the agent has printed its result. Tokens of a round in progress are lower bounds, so a budget stops a
    session too late rather than wrongly. ``seconds``: a clock.
    ``trigger``: ends the session once its query is answered.
    """

    def __init__(
        self,
        agent: Agent,
        session: Session,
        seconds: Callable[[], float] = monotonic,
        *,
        trigger: TriggerWatch | None = None,
    ) -> None:
        self._trigger = trigger
        self._seconds = seconds
        self._heard_at: float | None = None
        self._agent, self._prices, self._model = agent, session.prices, session.agent.model
        self._max_steps, self._budget = session.max_steps, session.budget
        self._rounds: dict[str, Usage | None] = {}
        self._spent = 0.0
        self.finished = False
        self.may_stop = self._max_steps is not None or self._budget is not None or trigger is not None

    def __call__(self, line: str) -> Trouble | None:
        """The trouble if ``line`` shows that a limit is exceeded; else None."""
        progress = self._agent.progress(line)
        if self._trigger and (ended := self._trigger.take(line, progress)):
            return ended
        if line.strip() and not (progress and progress.retrying):
            self._heard_at = self._seconds()
        if progress is None:
            return None
        self.finished = self.finished or progress.finished
        if progress.step is None or not self.may_stop:
            return None
        self._model = progress.model or self._model
        new = progress.step not in self._rounds
        if new or progress.usage != self._rounds[progress.step]:
            self._spent += self._cost(progress.usage) - (0.0 if new else self._cost(self._rounds[progress.step]))
            self._rounds[progress.step] = progress.usage
        if self._max_steps is not None and len(self._rounds) > self._max_steps:
            return Trouble(kind="max-steps", message=f"exceeded the limit of {self._max_steps} model rounds")
        if self._budget is not None and self._spent > self._budget:
            message = f"exceeded the budget of ${self._budget:.2f}: at least ${self._spent:.2f} spent"
            return Trouble(kind="budget-exceeded", message=message)
        return None

    def silence(self) -> float | None:
        """Seconds since the last line of output that is not about a failed call of the model's service.

        None: there was no such line.
        """
        return None if self._heard_at is None else self._seconds() - self._heard_at

    def _cost(self, usage: Usage | None) -> float:
        if usage is None or self._budget is None or self._model is None:
            return 0.0
        from skillgym_action.transcripts.prices import cost_usd

        return cost_usd(self._model, usage, self._prices) or 0.0


def time_limit_or_service(trouble: Trouble, silence: float | None, seconds: float, events: Iterable[Event]) -> Trouble:
    """``trouble``; of a time limit, that of the model's service if the session spent most of its time waiting for it.

    ``silence``: of the agent at its end, which lasted ``seconds``. While a tool runs, the agent does not wait for the
    service. Without any output of the agent nothing is known about the service.
    """
    if trouble.kind != "timeout" or silence is None or silence <= MOST * seconds or _is_in_tool(events):
        return trouble
    message = f"{trouble.message}, of which the model's service did not answer in the last {silence:.0f} s"
    return Trouble(kind="provider", message=message)


def _is_in_tool(events: Iterable[Event]) -> bool:
    """Whether the last event is a call of a tool without a result, or a command that may not have ended by itself.

    An agent that is ended may still print a result for the command that it then ends, also with the command's signal.
    """
    last: Event | None = None
    for event in events:
        is_result_of_command = isinstance(event, ToolResult) and isinstance(last, Command)
        if not isinstance(event, Raw) and not is_result_of_command:
            last = event
    if isinstance(last, Command):
        return last.exit_code is None or last.exit_code in ENDED_CODES
    return isinstance(last, ToolCall | FileRead | FileWrite | SkillSignal)
