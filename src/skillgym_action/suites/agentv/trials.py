"""``execution.trials`` of AgentV suites: several sessions of each test, and the one score that is made of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from skillgym_action.model.records import record
from skillgym_action.model.suite import TrialRule

if TYPE_CHECKING:
    from skillgym_action.suites.values import SuiteValue

MAX_AGENTV_TRIALS = 1_000  # of each test

Strategy = Literal["pass_at_k", "mean", "confidence_interval"]


@record
class Trials:
    """``count`` sessions of each test, at least 2; ``rule``: what becomes of their scores."""

    count: int
    rule: TrialRule

    def settings(self) -> dict[str, Any]:
        """The fields of the cases: with ``pass_at_k`` retries after a failure, else repetitions."""
        if self.rule.strategy == "pass_at_k":
            return {"retries": self.count - 1, "trials": self.rule}
        return {"repetitions": self.count, "averaged": True, "trials": self.rule}


def trials_of(execution: SuiteValue | None) -> Trials | None:
    """The trials of all tests; None for one session each. Raises SuiteError."""
    value = execution.get("trials") if execution else None
    if value is None:
        return None
    value.mapping()
    count = value.number("count", least=1, most=MAX_AGENTV_TRIALS, whole=True)
    strategy = value.text("strategy") or "pass_at_k"
    if strategy not in get_args(Strategy):
        raise value.member("strategy").error(f"must be one of {', '.join(get_args(Strategy))}, not {strategy!r}")
    limit = value.number("cost_limit_usd", "costLimitUsd")
    if not count or count == 1:
        return None
    rule = TrialRule(strategy=strategy, cost_limit=float(limit) if limit else None)  # type: ignore[arg-type]
    return Trials(count=int(count), rule=rule)
