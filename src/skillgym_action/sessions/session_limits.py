"""Limits of a session while it runs and at its end: rounds, cost, time; whether a trigger query is answered."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from skillgym_action.agents.output.lenient_json import visible_line
from skillgym_action.agents.output.skill_loads import LoadWatch
from skillgym_action.agents.output.trouble_signs import kind_of_text, trouble_of_signal
from skillgym_action.model.figures import dollars
from skillgym_action.model.records import record
from skillgym_action.model.session import Ending, Progress
from skillgym_action.model.session_report import (
    Command,
    Cost,
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

    from skillgym_action.agents import Agent, EventReader
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Answered, Event, Transcript
    from skillgym_action.model.suite import TriggerRule

OF_SERVICE = frozenset({"provider", "network", "rate-limit", "quota"})
MOST = 0.5  # share of a session
MAX_COMPARED = 1_000  # characters of two texts: long ones are stored without their middle
SUPERVISOR_LOST = "the supervisor of the session's programs was killed, so it is unknown how they ended"
ENDED_CODES = frozenset({130, 137, 143})  # what shells report for SIGINT, SIGKILL and SIGTERM


@record
class Silence:
    """The end of an agent's output: ``seconds`` since the last line that is not about a failed call of the service.

    ``retried``: after it there were lines about failed calls; ``kind``: of the last one's error, if it is known.
    """

    seconds: float
    retried: bool
    kind: str | None = None


class SessionLimits:
    """Called with each line of an agent's output; returns the reason to stop the agent once it exceeds a limit.

    ``finished``, ``has_result``: as in ``Watcher``. Tokens of a round in progress are lower bounds, so a budget stops a
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
        self._heard_at = seconds()
        self._retried = False
        self._failed_call = ""
        self._agent, self._prices, self._model = agent, session.prices, session.agent.model
        self._max_steps, self._budget = session.max_steps, session.budget
        self._rounds: dict[str, Usage | None] = {}
        self._spent = 0.0
        self.finished = 0
        self.has_result = False
        self._results = 0
        self._last_text: str | None = None
        self._helpers: set[str] = set()
        self.may_stop = self._max_steps is not None or self._budget is not None or trigger is not None

    def __call__(self, line: str) -> Trouble | None:
        """The trouble if ``line`` shows that a limit is exceeded; else None."""
        progress = self._agent.progress(line)
        if self._trigger and (ended := self._trigger.take(line, progress)):
            return ended
        if progress and progress.retrying:
            self._retried, self._failed_call = True, progress.error
        elif line.strip():
            self._heard_at, self._retried = self._seconds(), False
        self._note_end(line, progress or Progress())
        if progress is None:
            return None
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
            spent, budget = dollars(self._spent, self._budget)
            message = f"exceeded the budget of {budget}: at least {spent} spent"
            return Trouble(kind="budget-exceeded", message=message)
        return None

    def _note_end(self, line: str, progress: Progress) -> None:
        """Find out whether the agent is done. A helper's result does not repeat what the main agent said last."""
        if progress.helper:
            name, works = progress.helper
            (self._helpers.add if works else self._helpers.discard)(name)
        if progress.finished:
            of_helper = None not in (progress.text, self._last_text) and not _repeats(progress.text, self._last_text)
            self._results += 1
            self.has_result = not of_helper
            self.finished = 0 if of_helper or self._helpers else self._results
        elif visible_line(line)[:1] == "{" and not progress.late:
            self.finished = 0
            self.has_result = False
            self._last_text = progress.text or self._last_text

    def silence(self) -> Silence:
        """How the output ended."""
        kind = kind_of_text(self._failed_call) if self._retried else None
        return Silence(seconds=self._seconds() - self._heard_at, retried=self._retried, kind=kind)

    def _cost(self, usage: Usage | None) -> float:
        if usage is None or self._budget is None or self._model is None:
            return 0.0
        from skillgym_action.agents.output.prices import cost_usd

        return cost_usd(self._model, usage, self._prices) or 0.0


def trouble_of_session(
    of_agent: Trouble | None, capture: Capture, transcript: Transcript, silence: Silence | None, timeout: float
) -> Trouble | None:
    """The trouble of a session: of how it ended, else of its agent; none if it ended since its query was answered."""
    if answered(capture.stopped_for):
        return None
    trouble = trouble_of_ending(capture, timeout) or of_agent
    return trouble and time_limit_or_service(trouble, of_agent, silence, capture.seconds, transcript.events)


def trouble_of_ending(capture: Capture, timeout: float) -> Trouble | None:
    """The trouble that follows from how the process ended, for any agent; None: read the agent's output."""
    if capture.ending is Ending.STOPPED:
        return capture.stopped_for
    if capture.ending is Ending.SIGNALLED:
        return trouble_of_signal(capture.exit_code)
    troubles = {
        Ending.NOT_STARTED: ("agent-missing", capture.error or "the agent did not start"),
        Ending.REFUSED: ("runner-crash", capture.error or "the agent was not started"),
        Ending.TIMED_OUT: ("timeout", f"timed out after {timeout:g} s"),
        Ending.LOST: ("workspace", capture.error or SUPERVISOR_LOST),
    }
    kind, message = troubles.get(capture.ending, ("", ""))
    return Trouble(kind=kind, message=message) if kind else None


def _repeats(result: str | None, message: str | None) -> bool:
    """Whether a result is a message, or the beginning or end of it, or contains it."""
    short, long = sorted((" ".join((result or "").split()), " ".join((message or "").split())), key=len)
    return not short or long.startswith(short[:MAX_COMPARED]) or long.endswith(short[-MAX_COMPARED:])


def time_limit_or_service(
    trouble: Trouble, of_agent: Trouble | None, silence: Silence | None, seconds: float, events: Iterable[Event]
) -> Trouble:
    """``trouble``; of a time limit, that of the model's service if the record shows that the service failed.

    That is so if most of the ``seconds`` of the session were spent after the last sign of work, and the agent has
    reported failed calls since, or its own trouble ``of_agent`` is the service's. Silence alone shows nothing, nor does
    it while a tool runs.
    """
    failed = silence is not None and (silence.retried or (of_agent is not None and of_agent.kind in OF_SERVICE))
    if trouble.kind != "timeout" or silence is None or not failed:
        return trouble
    if silence.seconds <= MOST * seconds or _is_in_tool(events):
        return trouble
    message = f"{trouble.message}; in the last {silence.seconds:.0f} s calls of the model's service failed"
    kinds = (silence.kind, of_agent.kind if of_agent else None)
    return Trouble(kind=next((kind for kind in kinds if kind in OF_SERVICE), "provider"), message=message)


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


def over_budget(cost: Cost, execution: Execution) -> Trouble | None:
    """The trouble of a session that has ended by itself and cost more than it may; None: it did not, or is unknown.

    A trigger query is answered, whatever the answer has cost.
    """
    if cost.usd is None or execution.budget is None or cost.usd <= execution.budget or execution.case.trigger:
        return None
    spent, budget = dollars(cost.usd, execution.budget)
    return Trouble(kind="budget-exceeded", message=f"exceeded the budget of {budget}: {spent} spent")


def total_cost(agent: Cost, judge_usd: float | None) -> Cost:
    """The cost of agent and judge together; unknown if one of them is."""
    if not judge_usd:
        return Cost() if judge_usd is None else agent
    return agent if agent.usd is None else Cost(usd=agent.usd + judge_usd, source="computed")


ANSWERED: dict[str, Answered] = {"trigger-loaded": "loaded", "trigger-rounds": "rounds"}
"""Kinds of reasons to stop a session that are none of ``verdicts.TROUBLES``: the session has done what it was for."""


def answered(stopped_for: Trouble | None) -> Answered | None:
    """Why a session was stopped, if it was since its query was answered; that is no trouble."""
    return ANSWERED.get(stopped_for.kind) if stopped_for else None


class TriggerWatch:
    """Gets each line of the agent's output. Some agents report no model rounds that only call tools: then those count.

    Tools that are called together are called in one round.

    Ends the session once its query is answered: the skill has loaded, or the model had its rounds.
    """

    def __init__(self, rule: TriggerRule, reading: EventReader, cwd: str) -> None:
        self._rule, self._reading = rule, reading
        self._loads = LoadWatch(rule.skills, cwd)
        self._steps: set[str] = set()
        self._seen, self._tool_rounds, self._calling = 0, 0, False

    def take(self, line: str, progress: Progress | None) -> Trouble | None:
        """The reason to stop the session after this line; None: it goes on."""
        self._reading.read_line(line)
        events = self._reading.events_so_far
        if skill := self._loads.loaded(events):
            return Trouble(kind="trigger-loaded", message=f"the skill {skill} was loaded")
        if progress and progress.step is not None:
            self._steps.add(progress.step)
        for event in events[self._seen :]:
            if isinstance(event, ToolCall):
                self._tool_rounds += not self._calling
                self._calling = True
            elif isinstance(event, ToolResult):
                self._calling = False
        self._seen = len(events)
        if max(len(self._steps), self._tool_rounds) > self._rule.rounds:
            return Trouble(kind="trigger-rounds", message=f"no skill was loaded in {self._rule.rounds} model rounds")
        return None
