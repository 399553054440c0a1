"""AgentV's graders of a session's metrics: time, cost, tokens, calls. An unknown metric is not within its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agents.output.tool_calls import calls_of, model_rounds
from skillgym_action.judging.assertions.graders import CheckResult, all_or_nothing, grade_of
from skillgym_action.model.figures import distinct_texts
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suites.values import SuiteValue

EXPLORATION_TOOLS = frozenset(
    ["read", "grep", "glob", "search", "list", "Read", "Grep", "Glob", "WebSearch", "WebFetch"]
)
"""Tools that read and change nothing. AgentV's list."""
DEFAULT_TOLERANCE = 0.2
_DIGITS = 4


@record(kw_only=False)
class Metric:
    """Something about a session that can be counted; ``form`` is its format string, with ``digits`` after the point."""

    name: str
    form: str
    value: Callable[[SessionReport], float | None]


@record(kw_only=False)
class MetricLimit:
    """A metric and its maximum."""

    metric: Metric
    most: float

    def check(self, report: SessionReport) -> CheckResult:
        """Whether the session is within the limit."""
        metric, value = self.metric, self.metric.value(report)
        if value is None:
            return CheckResult(f"{metric.name}: not known", passed=False)
        passed = value <= self.most
        form = metric.form.format
        shown, most = distinct_texts(value, self.most, _DIGITS, lambda number, digits: form(number, digits=digits))
        comparison = f"{shown} {'<=' if passed else '>'} {most}"
        return CheckResult(f"{metric.name}: {comparison}", passed)


@record
class MetricLimits:
    """Every metric is within its limit: 1 or 0, or with ``share`` the share of those that are.

    ``exploration``: the wanted share of tool calls that only explore, and the tolerance.
    """

    limits: tuple[MetricLimit, ...]
    share: bool = False
    exploration: tuple[float, float] | None = None

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        report = context.report
        if report is None:
            return all_or_nothing(CheckResult("nothing is known of the session", passed=False))
        checks = [limit.check(report) for limit in self.limits]
        if self.exploration:
            checks.append(_exploration(report, *self.exploration))
        return grade_of(*checks) if self.share else all_or_nothing(*checks)


def _exploration(report: SessionReport, target: float, tolerance: float) -> CheckResult:
    calls = calls_of(report)
    if not calls:
        return CheckResult("exploration: there were no tool calls", passed=False)
    ratio = sum(call.tool in EXPLORATION_TOOLS for call in calls) / len(calls)
    passed = abs(ratio - target) <= tolerance
    return CheckResult(
        f"exploration: {ratio:.4g} is {'' if passed else 'not '}within {tolerance:g} of {target:g}", passed
    )


# --- metrics ----------------------------------------------------------------------------------------


def _tokens(*names: str) -> Callable[[SessionReport], float | None]:
    """A sum of tokens; unknown only if neither input nor output is known."""

    def tokens(report: SessionReport) -> float | None:
        usage = report.usage
        if usage.input_tokens is None and usage.output_tokens is None:
            return None
        return sum(getattr(usage, f"{name}_tokens") or 0 for name in names)

    return tokens


_DURATION = Metric("duration", "{:.10g} ms", lambda report: report.duration_ms)
_COST = Metric("cost", "${:.{digits}f}", lambda report: report.cost.usd)
METRICS = {
    "max_tool_calls": Metric("tool calls", "{:.10g}", lambda report: len(calls_of(report))),
    "max_llm_calls": Metric("model calls", "{:.10g}", model_rounds),
    "max_tokens": Metric("tokens", "{:.10g}", _tokens("input", "output", "reasoning")),
    "max_cost_usd": _COST,
    "max_duration_ms": _DURATION,
}
TOKENS = {
    "max_input": Metric("input tokens", "{:.10g}", _tokens("input")),
    "max_output": Metric("output tokens", "{:.10g}", _tokens("output", "reasoning")),
    "max_total": Metric("input, output and cached tokens", "{:.10g}", _tokens("input", "output", "reasoning", "cache")),
}


# --- in suite files ---------------------------------------------------------------------------------


def execution_metrics(entry: SuiteValue, _: str) -> MetricLimits:
    """``execution-metrics``. Raises SuiteError."""
    limits = _limits(entry, METRICS)
    target = entry.number("target_exploration_ratio")
    tolerance = entry.number("exploration_tolerance")
    if not limits and target is None:
        raise entry.error(f"needs one of {', '.join(METRICS)}, target_exploration_ratio")
    exploration = None if target is None else (target, DEFAULT_TOLERANCE if tolerance is None else tolerance)
    return MetricLimits(limits=limits, share=True, exploration=exploration)


def token_usage(entry: SuiteValue, _: str) -> MetricLimits:
    """``token-usage``. Raises SuiteError."""
    if not (limits := _limits(entry, TOKENS)):
        raise entry.error(f"needs one of {', '.join(TOKENS)}")
    return MetricLimits(limits=limits)


def latency(entry: SuiteValue, _: str) -> MetricLimits:
    """``latency``. Raises SuiteError."""
    return MetricLimits(limits=(MetricLimit(_DURATION, _required_number(entry, "threshold", "milliseconds")),))


def cost(entry: SuiteValue, _: str) -> MetricLimits:
    """``cost``. Raises SuiteError."""
    return MetricLimits(limits=(MetricLimit(_COST, _required_number(entry, "budget", "US dollars")),))


def _limits(entry: SuiteValue, metrics: dict[str, Metric]) -> tuple[MetricLimit, ...]:
    limits = ((metric, entry.number(key)) for key, metric in metrics.items())
    return tuple(MetricLimit(metric, most) for metric, most in limits if most is not None)


def _required_number(entry: SuiteValue, key: str, unit: str) -> float:
    if (value := entry.number(key)) is None:
        raise entry.invalid(key, f"a number of {unit}")
    return value
