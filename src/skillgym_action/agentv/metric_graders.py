"""AgentV's graders of a session's figures: time, money, tokens, calls. What is not known is not within a limit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.grades import Check, all_or_nothing, graded
from skillgym_action.transcripts.tool_calls import calls_of, model_rounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.assertions.grades import Grade
    from skillgym_action.documents.entries import Entry
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport

EXPLORING = frozenset(["read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"])
"""Tools that only look."""
TOLERANCE = 0.2


@dataclass(frozen=True, slots=True)
class Figure:
    """Something of a session that can be counted; ``shown`` formats it."""

    name: str
    shown: str
    of: Callable[[SessionReport], float | None]


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure and the most it may be."""

    figure: Figure
    most: float

    def check(self, report: SessionReport) -> Check:
        """Whether the session keeps it."""
        figure, value = self.figure, self.figure.of(report)
        if value is None:
            return Check(f"{figure.name}: not known", passed=False)
        passed = value <= self.most
        comparison = f"{figure.shown.format(value)} {'<=' if passed else '>'} {figure.shown.format(self.most)}"
        return Check(f"{figure.name}: {comparison}", passed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Within:
    """Every figure is within its limit: 1 or 0, or with ``share`` the share of those that are.

    ``exploration``: the share of tool calls that should only look, and how far off it may be.
    """

    limits: tuple[Limit, ...]
    share: bool = False
    exploration: tuple[float, float] | None = None

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """A check for each limit."""
        report = context.report
        if report is None:
            return all_or_nothing(Check("nothing is known of the session", passed=False))
        checks = [limit.check(report) for limit in self.limits]
        if self.exploration:
            checks.append(_explored(report, *self.exploration))
        return graded(*checks) if self.share else all_or_nothing(*checks)


def _explored(report: SessionReport, target: float, tolerance: float) -> Check:
    calls = calls_of(report)
    if not calls:
        return Check("exploration: there were no tool calls", passed=False)
    ratio = sum(call.tool in EXPLORING for call in calls) / len(calls)
    passed = abs(ratio - target) <= tolerance
    told = f"{ratio:.2f} is {'' if passed else 'not '}within {tolerance:g} of {target:g}"
    return Check(f"exploration: {told}", passed)


# --- figures ----------------------------------------------------------------------------------------


def _tokens(*names: str) -> Callable[[SessionReport], float | None]:
    """A sum of tokens. Unknown only where neither input nor output is known."""

    def of(report: SessionReport) -> float | None:
        usage = report.usage
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        return sum(getattr(usage, f"{name}_tokens") or 0 for name in names)

    return of


_DURATION = Figure("duration", "{:.10g} ms", lambda report: report.duration_ms)
_COST = Figure("cost", "${:.4f}", lambda report: report.cost.usd)
METRICS = {
    "max_tool_calls": Figure("tool calls", "{:g}", lambda report: len(calls_of(report))),
    "max_llm_calls": Figure("model calls", "{:g}", model_rounds),
    "max_tokens": Figure("tokens", "{:.10g}", _tokens("input", "output", "reasoning")),
    "max_cost_usd": _COST,
    "max_duration_ms": _DURATION,
}
TOKENS = {
    "max_input": Figure("input tokens", "{:.10g}", _tokens("input")),
    "max_output": Figure("output tokens", "{:.10g}", _tokens("output", "reasoning")),
    "max_total": Figure("input, output and cached tokens", "{:.10g}", _tokens("input", "output", "reasoning", "cache")),
}


# --- what is written --------------------------------------------------------------------------------


def execution_metrics(entry: Entry, _: str) -> Within:
    """``execution-metrics``. Raises SuiteError."""
    limits = _limits(entry, METRICS)
    target = entry.number("target_exploration_ratio")
    tolerance = entry.number("exploration_tolerance")
    if not limits and target is None:
        raise entry.error(f"needs one of {', '.join(METRICS)}, target_exploration_ratio")
    exploration = None if target is None else (target, TOLERANCE if tolerance is None else tolerance)
    return Within(limits=limits, share=True, exploration=exploration)


def token_usage(entry: Entry, _: str) -> Within:
    """``token-usage``. Raises SuiteError."""
    if not (limits := _limits(entry, TOKENS)):
        raise entry.error(f"needs one of {', '.join(TOKENS)}")
    return Within(limits=limits)


def latency(entry: Entry, _: str) -> Within:
    """``latency``. Raises SuiteError."""
    return Within(limits=(Limit(_DURATION, _needed(entry, "threshold", "milliseconds")),))


def cost(entry: Entry, _: str) -> Within:
    """``cost``. Raises SuiteError."""
    return Within(limits=(Limit(_COST, _needed(entry, "budget", "US dollars")),))


def _limits(entry: Entry, figures: dict[str, Figure]) -> tuple[Limit, ...]:
    given = ((figure, entry.number(key)) for key, figure in figures.items())
    return tuple(Limit(figure, most) for figure, most in given if most is not None)


def _needed(entry: Entry, key: str, unit: str) -> float:
    if (value := entry.number(key)) is None:
        raise entry.wrong(key, f"a number of {unit}")
    return value
