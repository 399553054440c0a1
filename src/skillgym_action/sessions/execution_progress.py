"""How far an execution is: its sessions so far, and those of before the run was resumed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.sessions.repetitions import next_session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import SessionResult
    from skillgym_action.settings.options import ExecuteOptions


@dataclass(eq=False, slots=True)
class ExecutionProgress:
    """An execution and its sessions so far.

    ``stored``: those of before the run was resumed that follow one which is missing, by repetition and session.
    ``resumed``: whether there were any. ``started``: whether a session ran now; ``waits``: whether the last one did.
    """

    execution: Execution
    sessions: list[SessionResult] = field(default_factory=list)
    stored: dict[tuple[int, int], SessionResult] = field(default_factory=dict)
    resumed: bool = False
    started: bool = False
    waits: bool = False

    @classmethod
    def of(cls, execution: Execution, sessions: Iterable[SessionResult], options: ExecuteOptions) -> ExecutionProgress:
        """The progress with sessions of before."""
        stored = {(session.attempt.repetition, session.attempt.session): session for session in sessions}
        progress = cls(execution, stored=stored, resumed=bool(stored))
        while progress.take(next_session(execution, progress.sessions, options)):
            pass
        return progress

    def take(self, position: tuple[int, int] | None) -> bool:
        """Add the stored session at ``position``; False: there is none."""
        if position is None or position not in self.stored:
            return False
        self.sessions.append(self.stored.pop(position))
        self.waits = False
        return True

    def take_all(self) -> None:
        """Add all stored sessions: they count, whether or not what precedes them is there."""
        if self.stored:
            found = {(each.attempt.repetition, each.attempt.session): each for each in self.sessions} | self.stored
            self.sessions[:] = [found[position] for position in sorted(found)]
            self.stored.clear()

    def next_repetition(self, options: ExecuteOptions) -> int:
        """The repetition of the next session; 0 if there is none."""
        position = next_session(self.execution, self.sessions, options)
        return position[0] if position else 0
