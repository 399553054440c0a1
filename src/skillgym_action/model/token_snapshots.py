"""Token snapshots: the recorded token usage of executions, and the tolerance for a higher one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record
from skillgym_action.model.session_report import Trouble

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.session_report import Usage

Metric = Literal["totalTokens", "inputTokens", "outputTokens", "reasoningTokens", "cacheTokens"]
METRIC_FIELDS: dict[Metric, str] = {
    "totalTokens": "total_tokens",
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "reasoningTokens": "reasoning_tokens",
    "cacheTokens": "cache_tokens",
}


@record
class Snapshot:
    """One entry of the snapshot file. ``value``: tokens of ``metric``; ``updated_at``: ISO 8601, UTC."""

    case_id: str
    runner_id: str
    metric: Metric
    value: float
    agent_type: str
    updated_at: str
    model: str | None = None

    @property
    def key(self) -> str:
        """The name of the entry in the file."""
        return f"{self.case_id}::{self.runner_id}"


@record
class Tolerance:
    """How much more than the snapshot is allowed, in tokens and in percent. If both are set, the smaller one counts."""

    absolute: float | None = None
    percent: float | None = None

    def allowed(self, baseline: float) -> float:
        """The tokens that may be used."""
        limits = [
            *([] if self.absolute is None else [baseline + self.absolute]),
            *([] if self.percent is None else [baseline * (1 + self.percent / 100)]),
        ]
        return min(limits)


@record
class SnapshotConfig:
    """Configuration of token snapshots. ``path``: the snapshot file; ``display_path``: its path in messages.

    ``update``: replace the snapshots of all executions; ``create``: add those that are missing.
    """

    path: Path
    display_path: str
    metric: Metric
    tolerance: Tolerance
    update: bool = False
    create: bool = True


def used_tokens(usage: Usage, metric: Metric) -> int | None:
    """The tokens of the metric; None: unknown."""
    value: int | None = getattr(usage, METRIC_FIELDS[metric])
    return value


def snapshot_trouble(snapshot: Snapshot, actual: int, metric: Metric, tolerance: Tolerance) -> Trouble | None:
    """The trouble with ``actual`` tokens of ``metric``; None: within the tolerance."""
    if snapshot.metric != metric:
        message = f"the snapshot is of {snapshot.metric}, the configuration of {metric}; use --update-snapshots"
        return Trouble(kind="snapshot", message=message)
    baseline, allowed = snapshot.value, tolerance.allowed(snapshot.value)
    if actual <= allowed:
        return None
    delta = actual - baseline
    percent = f" ({delta / baseline:+.1%})" if baseline else ""
    return Trouble(
        kind="snapshot",
        message=f"{metric}: actual {actual:,} > allowed {allowed:,.10g}; "
        f"baseline {baseline:,.10g}, delta {delta:+,.10g}{percent}",
    )


def unknown_usage_trouble(metric: Metric) -> Trouble:
    """The trouble with an agent that does not report the metric."""
    message = f"the agent does not report {metric}, which the snapshot is of"
    return Trouble(kind="snapshot", message=message)
