"""Stored results over time: what is read from a store, and what a page shows of it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from skillgym_action.model.comparison import Samples
    from skillgym_action.model.result import Quarantine


# --- what is read ------------------------------------------------------------------------------------


class Conditions(NamedTuple):
    """What results depend on, as far as a store knows it. None: not known, or there is none.

    ``prompt``, ``assertions``, ``program`` and ``workspace`` are digests of what a case was given, ``template`` that of
    its workspace template. ``agent``: its type; ``version``: of its CLI; ``judge``: model and versions; ``tool``: the
    major version of this tool; ``plug_ins``: as in ``CaseInputs``, or `none`.
    """

    prompt: str | None = None
    assertions: str | None = None
    program: str | None = None
    template: str | None = None
    workspace: str | None = None
    agent: str | None = None
    version: str | None = None
    model: str | None = None
    judge: str | None = None
    tool: str | None = None
    plug_ins: str | None = None


@record
class TrendRun:
    """A run, with all of its jobs: when the first began, in UTC; ``link``: of the workflow run, http or https."""

    at: datetime
    commit: str
    link: str | None = None


class TrendSample(NamedTuple):
    """The sessions of one execution in one run: ``passed`` of ``judged``.

    ``run``: position in the runs. ``usd``: mean cost of a session, None if not known; ``ms``: its mean duration.
    """

    run: int
    passed: int
    judged: int
    usd: float | None
    ms: int
    conditions: Conditions


class TrendName(NamedTuple):
    """Path of the suite, id of the case, id of the runner."""

    suite: str
    case: str
    runner: str


@record
class TrendSeries:
    """A case on a runner over time, the oldest sample first. ``expected_fail``: as in its newest run."""

    name: TrendName
    samples: tuple[TrendSample, ...]
    expected_fail: bool = False
    quarantine: Quarantine | None = None


@record
class TrendHistory:
    """What a store has. ``runs``: the oldest first. ``digests``: suite path -> position of a run -> digest of its file.

    ``branch``: the one whose runs these are; None: they name none. ``other_branches``: how many runs of other branches
    there are. ``older``: whether there are older runs than were read; ``executions_left_out``: how many executions are
    not among the series.
    """

    store: str
    runs: tuple[TrendRun, ...]
    series: tuple[TrendSeries, ...]
    digests: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    branch: str | None = None
    other_branches: int = 0
    older: bool = False
    executions_left_out: int = 0


# --- what is shown -----------------------------------------------------------------------------------


class ConditionChange(NamedTuple):
    """``what`` changed, such as ``model``, from ``before`` to ``after``: names, or digests.

    ``cases``: in how many cases. Where digests of several cases changed, both are None.
    """

    what: str
    before: str | None
    after: str | None
    cases: int = 1


@record
class TrendMark:
    """What changed between a run and the one before it that has results. ``run``: position of the first one after."""

    run: int
    changes: tuple[ConditionChange, ...]


@record
class TrendPoint:
    """Results of one run, or of ``runs`` runs of one period in which nothing changed: from ``first`` to ``last``.

    ``rate``: the mean over cases, and ``interval`` its 95% interval, both from 0 to 1; None where no case counts, such
    as when all are expected to fail. ``samples``: all sessions together. ``usd`` and ``ms``: means of a session;
    ``usd_total``: of all sessions, None if no cost is known; ``cost_complete``: whether the cost of all is known.
    """

    first: int
    last: int
    runs: int
    cases: int
    samples: Samples
    rate: float | None
    interval: tuple[float, float] | None
    usd: float | None
    usd_total: float | None
    cost_complete: bool
    ms: int


@record
class TrendLine:
    """Points and marks, the oldest first. ``points_left_out``, ``marks_left_out``: older ones that are not among them.

    ``since_mark``: the points after the newest mark as one, over which nothing is known to have changed.
    """

    points: tuple[TrendPoint, ...]
    marks: tuple[TrendMark, ...]
    since_mark: TrendPoint
    points_left_out: int = 0
    marks_left_out: int = 0


@record
class HalvesDifference:
    """A case on a runner in the earlier and the later half of the runs.

    ``difference``: of the rates, later minus earlier, and its 95% ``interval``, from -1 to 1. ``changed``: what is
    known to have changed in between. It is no test.
    """

    name: TrendName
    earlier: Samples
    later: Samples
    difference: float
    interval: tuple[float, float]
    changed: tuple[str, ...]


@record
class TrendGroup:
    """Several cases together: those of a suite on a runner, or of all suites on it if ``suite`` is None."""

    suite: str | None
    runner: str
    line: TrendLine


@record
class TrendExecution:
    """A case on a runner."""

    series: TrendSeries
    line: TrendLine


@record
class Trend:
    """Everything that the page and the document of ``trend`` have.

    ``period``: days of which the runs are one point; 0: each run is one. ``total``: all executions together;
    ``spending``: a point for each period, whatever changed in it.
    ``middle``: position of the first run of the later half. ``differences``: the largest first.
    """

    history: TrendHistory
    period: int
    total: TrendLine
    spending: tuple[TrendPoint, ...]
    runners: tuple[TrendGroup, ...]
    suites: tuple[TrendGroup, ...]
    executions: tuple[TrendExecution, ...]
    middle: int
    differences: tuple[HalvesDifference, ...]
