"""The comparison of arms in words, each number with its unit. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_ARM_NAMES
from skillgym_action.reporters.wording import counted, duration, money, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.totals import ArmSpending
    from skillgym_action.model.uplift import ArmAssertion, Spent, Uplift

VERDICTS = {
    "helps": "helps",
    "hurts": "hurts",
    "no-difference-shown": "no difference shown",
    "too-few-cases": "too few cases for an interval",
    "nothing-compared": "nothing was judged in both arms",
}


def uplift_title(found: Uplift) -> str:
    """``SUITE [RUNNER]: with_skill against without_skill``."""
    return f"{found.suite_name} [{found.runner}]: {found.arm} against {found.other}"


def points(value: float) -> str:
    """``+12.5 points``."""
    return f"{round(value, 1) + 0.0:+g} points"


def uplift_result(found: Uplift) -> str:
    """``+40 points [12, 60]: helps``; without an interval the reason."""
    if found.points is None:
        return VERDICTS[found.verdict]
    if found.interval is None:
        return f"{points(found.points)} ({VERDICTS[found.verdict]})"
    low, high = (f"{round(bound) + 0:+d}" for bound in found.interval)
    return f"{points(found.points)} [{low}, {high}]: {VERDICTS[found.verdict]}"


def uplift_shares(found: Uplift) -> str:
    """``80 % of assertions hold against 40 %``; empty if nothing was compared."""
    if found.share is None or found.other_share is None:
        return ""
    return f"{percent(found.share)} of assertions hold against {percent(found.other_share)}"


def incomplete(found: Uplift) -> str:
    """Why the comparison is incomplete; empty if it is not."""
    if found.is_complete:
        return ""
    if not found.unjudged:
        return "no case was judged in both arms"
    number = len(found.unjudged)
    return f"{number:,} of {counted(number + len(found.cases), 'case')} could not be judged in both arms"


def uplift_sentences(found: Uplift) -> Iterator[str]:
    """All that the comparison says, most important first."""
    of_cases = f" over {counted(len(found.cases), 'case')}" if found.cases else ""
    yield f"uplift {uplift_result(found)}{of_cases}"
    if shares := uplift_shares(found):
        yield shares
    if missing := incomplete(found):
        yield f"incomplete: {missing}"
    if found.uncompared:
        number = counted(len(found.uncompared), "case")
        yield f"not compared, {number} only in {found.arm}: {_listed(found.uncompared)}"
    if found.fixed:
        yield f"fixed, passed in {found.arm} only: {_listed(found.fixed)}"
    if found.newly_failing:
        yield f"newly failing, passed in {found.other} only: {_listed(found.newly_failing)}"
    if spent := uplift_spending(found):
        yield spent
    if found.in_both:
        yield f"hold in both arms and tell nothing: {_assertions(found.in_both)}"
    if found.in_none:
        yield f"hold in no arm: {_assertions(found.in_none)}"


def arms_spending(report: RunReport) -> str:
    """``all sessions: with $0.12, 1,200 tokens, 30 s in 5 sessions; without …``; empty without other arms."""
    return "; ".join(map(_spent_by, report.arm_spending()))


def _spent_by(spending: ArmSpending) -> str:
    tokens = spending.tokens.total_tokens
    facts = (
        money(spending.cost_usd, complete=spending.cost_complete) if spending.sessions else "nothing",
        "tokens unknown" if tokens is None else f"{tokens:,} tokens",
        f"{duration(spending.duration_ms)} in {counted(spending.sessions, 'session')}",
    )
    return f"{spending.arm}: {', '.join(facts)}"


def uplift_spending(found: Uplift) -> str:
    """``cost 1.2 × ($0.12 against $0.10), tokens …, time …``; what is unknown is said to be."""
    if not found.cases:
        return ""
    return ", ".join(
        (
            _ratio("cost", found.cost_usd, money),
            _ratio("tokens", found.tokens, lambda value: f"{round(value):,}"),
            _ratio("time", found.duration_ms, lambda value: duration(round(value))),
        )
    )


def _ratio(name: str, spent: Spent, shown: Callable[[float], str]) -> str:
    if spent.deciding is None or spent.other is None:
        return f"{name} unknown"
    amounts = f"{shown(spent.deciding)} against {shown(spent.other)}"
    return f"{name} {amounts}" if spent.ratio is None else f"{name} {spent.ratio:.2g} × ({amounts})"


def _assertions(found: Sequence[ArmAssertion]) -> str:
    return _listed([f"{one.case_id}: {one.assertion}" for one in found])


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MAX_ARM_NAMES
    return "; ".join(names[:MAX_ARM_NAMES]) + (f"; and {rest:,} more" if rest > 0 else "")
