"""The comparison of arms in words, each number with its unit. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.arm import OLD_SKILL, WITH_SKILL, WITHOUT_SKILL
from skillgym_action.reports.wording.statements import Cell, Listing, Section, Topic
from skillgym_action.text.words import counted, duration, money, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skillgym_action.model.report import RunReport
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
    "in it: the mean over the cases that were judged in both, with a 95% interval."
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


def points(value: float, digits: int = 1) -> str:
    """``+12.5 points``, with at most so many digits after the point."""
    return f"{round(value, digits) + 0.0:+.15g} points"


def incomplete(found: Uplift) -> str:
    """Why the comparison is incomplete; empty if it is not."""
    if found.is_complete:
        return ""
    if not found.unjudged:
        return "no case was judged in both arms"
    number = len(found.unjudged)
    return f"{number:,} of {counted(number + len(found.cases), 'case')} could not be judged in both arms"


def arms(report: RunReport) -> Section:
    """The comparison of arms, and what each of them took."""
    return Section(
        word="arms",
        noun="comparison",
        explanation=arms_explained(report.uplifts) if report.uplifts else "",
        head=("Suite", "Runner", "Arms", "Assertions passed", "Uplift [95\u00a0%]", "Verdict"),
        about=[(found,) for found in report.uplifts],
        topic=_comparison,
        closing="; ".join(map(_spent_by, report.arm_spending())) if report.uplifts else "",
    )


def _comparison(found: Uplift) -> Topic:
    """What is to be said of one, most important first."""
    amounts = uplift = shares = ""
    result = verdict = VERDICTS[found.verdict]
    if found.points is not None and found.share is not None and found.other_share is not None:
        first, second = percent(found.share), percent(found.other_share)
        amounts = f"{first} against {second}"
        shares = f"{first} of assertions passed in {found.arm}, {second} in {found.other}"
        uplift, over = points(found.points), f"over {counted(len(found.cases), 'case')}"
        result = f"{uplift} ({verdict}) {over}"
        if found.interval:
            interval = "[{}, {}]".format(*(f"{round(bound) + 0:+d}" for bound in found.interval))
            result = f"{uplift}, 95% interval {interval} {over}: {verdict}"
            uplift += f" {interval}"
    names = found.suite_name, Cell(found.runner, "name"), f"{found.arm} against {found.other}"
    return Topic(
        title=(uplift_title(found),),
        cells=(*names, Cell(amounts, "number"), Cell(uplift, "strong"), Cell(verdict, "own")),
        sentences=tuple(filter(None, (f"uplift {result}", shares))),
        remarks=tuple(_remarks(found)),
        lists=tuple(_lists(found)),
    )


def _remarks(found: Uplift) -> Iterator[str]:
    """What is to be said beside shares and uplift, a sentence each: cases that differ, and what it costs."""
    if missing := incomplete(found):
        yield f"incomplete: {missing}"
    only = f"not compared, {counted(len(found.uncompared), 'case')} only in {found.arm}"
    for title, cases in (
        (only, found.uncompared),
        (f"fixed, passed in {found.arm} only", found.fixed),
        (f"newly failing, passed in {found.other} only", found.newly_failing),
    ):
        if cases:
            yield Listing.of(title, cases, "case").in_words()
    if spent := _spending(found):
        yield spent


def _lists(found: Uplift) -> Iterator[Listing]:
    """Assertions that do not tell the arms apart: ``CASE: ASSERTION``."""
    for assertions, one, many in (
        (found.in_both, "passes in both arms and shows", "pass in both arms and show"),
        (found.in_none, "passes in no arm and shows", "pass in no arm and show"),
    ):
        if assertions:
            verb = one if len(assertions) == 1 else many
            title = f"{counted(len(assertions), 'assertion')} {verb} nothing about the difference"
            yield Listing.of(title, [f"{one.case_id}: {one.assertion}" for one in assertions], "assertion")


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


def _spending(found: Uplift) -> str:
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
