"""Ends the session of a trigger query once it is answered: the skill has loaded, or the model had its rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.session_report import ToolCall, ToolResult, Trouble
from skillgym_action.transcripts.skill_loads import LoadWatch

if TYPE_CHECKING:
    from skillgym_action.agents import Reading
    from skillgym_action.model.session import Progress
    from skillgym_action.model.session_report import Answered
    from skillgym_action.model.suite import TriggerRule

ANSWERED: dict[str, Answered] = {"trigger-loaded": "loaded", "trigger-rounds": "rounds"}
"""Kinds of reasons to stop a session that are none of ``verdicts.TROUBLES``: the session has done what it was for."""


def answered(stopped_for: Trouble | None) -> Answered | None:
    """Why a session was stopped, if it was since its query was answered; that is no trouble."""
    return ANSWERED.get(stopped_for.kind) if stopped_for else None


class TriggerWatch:
    """Gets each line of the agent's output. Some agents report no model rounds that only call tools: then those count.

    Tools that are called together are called in one round.
    """

    def __init__(self, rule: TriggerRule, reading: Reading, cwd: str) -> None:
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
