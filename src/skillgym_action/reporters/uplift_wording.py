"""The comparison of arms in words, each number with its unit. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_ARM_NAMES
from skillgym_action.model.arm import OLD_SKILL, WITH_SKILL, WITHOUT_SKILL
from skillgym_action.reporters.wording import counted, duration, money, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.totals import ArmSpending
    from skillgym_action.model.uplift import Spent, Uplift

VERDICTS = {
    "helps": "helps",
    "hurts": "hurts",
    "no-difference-shown": "no difference shown",
    "too-few-cases": "too few cases for an interval",
    "nothing-compared": "nothing was judged in both arms",
}
_UPLIFT = (
    "Only the first arm counts for the verdict. The uplift is how many percentage points more of the assertions pass "
    "in it: the mean over the cases that were judged in both, with a 95 % interval."
)
_SKILL = {
    WITH_SKILL: "has the skill as it is now",
    WITHOUT_SKILL: "has no skill",
    OLD_SKILL: "has the skill as it is at the merge base",
}


def arms_explained(found: Iterable[Uplift]) -> str:
    """What was compared, and what an uplift is."""
    names = dict.fromkeys(name for one in found for name in (one.arm, one.other))
    skills = ", ".join(f"{name} {_SKILL[name]}" for name in names if name in _SKILL)
    ran = "Each case ran in each arm, with the same prompt, files and assertions"
    return f"{ran}{f': {skills}' if skills else ''}. {_UPLIFT}"


def uplift_title(found: Uplift) -> str:
    """``SUITE [RUNNER]: with_skill against without_skill``."""
    return f"{found.suite_name} [{found.runner}]: {found.arm} against {found.other}"


def points(value: float) -> str:
    """``+12.5 points``."""
    return f"{round(value, 1) + 0.0:+g} points"


def uplift_interval(found: Uplift) -> str:
    """``+40 points [+12, +60]``; empty if nothing was compared."""
    if found.points is None:
        return ""
    return f"{points(found.points)} {_interval(found)}".strip()


def uplift_verdict(found: Uplift) -> str:
    """``helps``."""
    return VERDICTS[found.verdict]


def _interval(found: Uplift) -> str:
    return "[{}, {}]".format(*(f"{round(bound) + 0:+d}" for bound in found.interval)) if found.interval else ""


def uplift_amounts(found: Uplift) -> str:
    """``100 % against 39 %``; empty if nothing was compared."""
    if found.share is None or found.other_share is None:
        return ""
    return f"{percent(found.share)} against {percent(found.other_share)}"


def _shares(found: Uplift) -> str:
    """``80 % of assertions passed in with, 40 % in without``; empty if nothing was compared."""
    if found.share is None or found.other_share is None:
        return ""
    return f"{percent(found.share)} of assertions passed in {found.arm}, {percent(found.other_share)} in {found.other}"


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
    yield f"uplift {_result(found)}"
    if shares := _shares(found):
        yield shares
    yield from uplift_remarks(found)
    yield from (f"{title}: {_listed(names)}" for title, names in uplift_lists(found))


def _result(found: Uplift) -> str:
    if found.points is None:
        return uplift_verdict(found)
    of_cases = f"over {counted(len(found.cases), 'case')}"
    if found.interval is None:
        return f"{points(found.points)} ({uplift_verdict(found)}) {of_cases}"
    return f"{points(found.points)}, 95 % interval {_interval(found)} {of_cases}: {uplift_verdict(found)}"


def uplift_remarks(found: Uplift) -> Iterator[str]:
    """What is to be said beside shares and uplift, a sentence each: cases that differ, and what it costs."""
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


def uplift_lists(found: Uplift) -> Iterator[tuple[str, list[str]]]:
    """Assertions that do not tell the arms apart: a title, and a line for each, ``CASE: ASSERTION``."""
    for assertions, one, many in (
        (found.in_both, "passes in both arms and shows", "pass in both arms and show"),
        (found.in_none, "passes in no arm and shows", "pass in no arm and show"),
    ):
        if assertions:
            verb = one if len(assertions) == 1 else many
            title = f"{counted(len(assertions), 'assertion')} {verb} nothing about the difference"
            yield title, [f"{one.case_id}: {one.assertion}" for one in assertions]


def arms_spending(report: RunReport) -> str:
    """``all sessions: with $0.12, 1,200 tokens, 30 s in 5 sessions; without …``; empty without other arms."""
    return "; ".join(map(_spent_by, report.arm_spending()))


def _spent_by(spending: ArmSpending) -> str:
    tokens = spending.tokens.total_tokens
    facts = (
        _cost_of(spending),
        "tokens unknown" if tokens is None else f"{tokens:,} tokens",
        f"{duration(spending.duration_ms)} in {counted(spending.sessions, 'session')}",
    )
    return f"{spending.arm}: {', '.join(facts)}"


def _cost_of(spending: ArmSpending) -> str:
    if not spending.sessions:
        return "nothing"
    if spending.cost_usd is None:
        return "cost unknown"
    return money(spending.cost_usd, complete=spending.cost_complete)


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


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MAX_ARM_NAMES
    return "; ".join(names[:MAX_ARM_NAMES]) + (f"; and {rest:,} more" if rest > 0 else "")
