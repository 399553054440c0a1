"""What is watched while a session streams: model rounds, money, and whether the agent has told its result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.session_report import Trouble, Usage

if TYPE_CHECKING:
    from skillgym_action.agents import Agent
    from skillgym_action.model.session import Session


class SessionLimits:
    """Sees each line of an agent's output; answers with the reason to stop it, once a limit is passed.

    Tokens of a round that still runs are lower bounds, so a budget stops a session late rather than wrongly.
    """

    def __init__(self, agent: Agent, session: Session) -> None:
        """``session`` says the limits, and the model as far as it is known before the agent tells it."""
        self._agent, self._prices, self._model = agent, session.prices, session.agent.model
        self._max_steps, self._budget = session.max_steps, session.budget
        self._rounds: dict[str, Usage | None] = {}
        self._spent = 0.0
        self.finished = False
        self.may_stop = self._max_steps is not None or self._budget is not None

    def __call__(self, line: str) -> Trouble | None:
        """The trouble, if ``line`` passes a limit."""
        progress = self._agent.progress(line)
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
            return Trouble(kind="max-steps", message=f"more than {self._max_steps} model rounds; the session was ended")
        if self._budget is not None and self._spent > self._budget:
            spent = f"${self._spent:.2f} of ${self._budget:.2f}"
            return Trouble(kind="budget-exceeded", message=f"at least {spent} spent; the session was ended")
        return None

    def _cost(self, usage: Usage | None) -> float:
        if usage is None or self._budget is None or self._model is None:
            return 0.0
        from skillgym_action.transcripts.prices import cost_usd

        return cost_usd(self._model, usage, self._prices) or 0.0
