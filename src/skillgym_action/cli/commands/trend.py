"""The command ``trend``: an HTML page with the results of the store over time."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.cli.commands.run import relative_path
from skillgym_action.cli.schemas.json_documents import (
    IntervalPart,
    SampledPart,
    TrendChangePart,
    TrendDifferencePart,
    TrendDocument,
    TrendExecutionPart,
    TrendGroupPart,
    TrendMarkPart,
    TrendPointPart,
    print_document,
)
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.history import STORE_PAGE, StoreError
from skillgym_action.history.permission import base_branch
from skillgym_action.history.trend import TrendQuery, read_trend
from skillgym_action.model.errors import UnusableStoreError, UsageError
from skillgym_action.model.version import __version__
from skillgym_action.pipeline import wiring
from skillgym_action.pipeline.stages.quarantine import quarantine_of
from skillgym_action.reports.html.trend import render
from skillgym_action.reports.wording.trend import moment, trend_summary
from skillgym_action.results.statistics.trends import trend_of
from skillgym_action.settings.baseline_options import store_options
from skillgym_action.settings.configuration_file import read_quarantine
from skillgym_action.settings.context import refuse_written
from skillgym_action.settings.trend_options import TREND_PAGE, since_time
from skillgym_action.system.clock import iso_timestamp
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.cli.terminal import Terminal
    from skillgym_action.model.comparison import Samples
    from skillgym_action.model.trend import Trend, TrendHistory, TrendLine, TrendPoint, TrendRun
    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


def show_trend(
    settings: Settings, context: LaunchContext, *, page: str | None, only_on: tuple[str, ...], as_json: bool
) -> int:
    """Write the page and print its path, or print the document; 0.

    With ``as_json`` the page is only written if it is named. Raises UsageError, ConfigError, OutputError, and
    UnusableStoreError for a store that cannot be read.
    """
    config = wiring.configuration(settings, context)
    store = store_options(settings, config, context)
    if store is None:
        raise UsageError("trend without a store: there is nothing to show", remedy="name a --store")
    file = Path(os.path.normpath(context.cwd / (page or TREND_PAGE)))
    refuse_written(file, f"the trend page {page or TREND_PAGE}", context)
    terminal = terminal_for(settings, context)
    quarantine = read_quarantine(config, context)
    with wiring.services_without_run(context, terminal, None, store) as services:
        now = services.clock.now()
        history = _history(services, _query(settings, context, services, only_on))
        series = tuple(
            replace(one, quarantine=quarantine_of(one.name, quarantine, today=now.date())) for one in history.series
        )
        trend = trend_of(replace(history, series=series))
        if page or not as_json:
            made = f"Made {moment(now)} UTC by skillgym-action {__version__} from {history.store}."
            services.directory.write_whole(file, [render(trend, made=made)])
    shown = relative_path(file, context.cwd)
    if as_json:
        print_document(_document(trend, shown if page else None), context.redactor)
    else:
        _print(terminal, trend, shown, context)
    return 0


def _query(settings: Settings, context: LaunchContext, services: Services, only_on: tuple[str, ...]) -> TrendQuery:
    now = services.clock.now()
    return TrendQuery(
        now=now,
        since=since_time(settings.since, now) if settings.since else None,
        branch=settings.branch or base_branch(services.event),
        suites=tuple(_in_repository(path, context) for path in settings.paths),
        cases=settings.case,
        runners=only_on,
    )


def _in_repository(path: str, context: LaunchContext) -> str:
    """A path or pattern as stores name suites: relative to the root of the repository."""
    sign, named = ("!", path[1:]) if path.startswith("!") else ("", path)
    absolute = os.path.normpath(context.cwd / named)
    found = os.path.relpath(absolute, context.root)
    return sign + ("**" if found == "." else Path(found).as_posix())


def _history(services: Services, query: TrendQuery) -> TrendHistory:
    """What the store has for a query. Raises UsageError if it has nothing, UnusableStoreError."""
    if services.store is None:
        raise ValueError("the services have no store")
    try:
        history = read_trend(services.store, query)
    except StoreError as error:
        raise UnusableStoreError(f"no page was written: {error}", remedy=f"see {STORE_PAGE}") from error
    if history.runs:
        return history
    if history.other_branches:
        of = f" of the branch {query.branch}" if query.branch else ""
        raise UsageError(f"{history.store} has no runs{of}", remedy="name another --branch, or a longer --since")
    if query.suites or query.cases or query.runners or query.since:
        raise UsageError(f"{history.store} has no results that were asked for", remedy="name fewer filters")
    raise UsageError(f"{history.store} has no results yet", remedy=f"{STORE_PAGE} says how results get there")


def _print(terminal: Terminal, trend: Trend, shown: str, context: LaunchContext) -> None:
    """The path of the page on stdout, two lines about it on stderr."""
    print(context.redactor.text(terminal_line(shown)))  # noqa: T201
    for line in trend_summary(trend):
        terminal.progress(terminal_line(line))


# --- the document -------------------------------------------------------------------------------------


def _document(trend: Trend, page: str | None) -> TrendDocument:
    history = trend.history
    runs = history.runs
    return TrendDocument(
        exit_code=0,
        store=history.store,
        branch=history.branch,
        runs=len(runs),
        first=iso_timestamp(runs[0].at),
        last=iso_timestamp(runs[-1].at),
        middle=iso_timestamp(runs[trend.middle].at),
        period=trend.period,
        older=history.older,
        other_branches=history.other_branches,
        executions_left_out=history.executions_left_out,
        page=page,
        runners=[TrendGroupPart(suite=None, runner=one.runner, **_line(one.line, runs)) for one in trend.runners],
        suites=[TrendGroupPart(suite=one.suite, runner=one.runner, **_line(one.line, runs)) for one in trend.suites],
        executions=[
            TrendExecutionPart(
                **one.series.name._asdict(),
                expected_fail=one.series.expected_fail,
                quarantined=one.series.quarantine.expires if one.series.quarantine else None,
                **_line(one.line, runs),
            )
            for one in trend.executions
        ],
        differences=[
            TrendDifferencePart(
                **one.name._asdict(),
                earlier=_sampled(one.earlier),
                later=_sampled(one.later),
                difference=one.difference,
                interval=IntervalPart(low=one.interval[0], high=one.interval[1]),
                changed=list(one.changed),
            )
            for one in trend.differences
        ],
    )


def _line(line: TrendLine, runs: Sequence[TrendRun]) -> dict[str, Any]:
    """The fields of ``TrendLinePart``."""
    marks = [
        TrendMarkPart(
            at=iso_timestamp(runs[mark.run].at),
            commit=runs[mark.run].commit,
            changes=[TrendChangePart(**change._asdict()) for change in mark.changes],
        )
        for mark in line.marks
    ]
    return {
        "points": [_point(point, runs) for point in line.points],
        "changes": marks,
        "since_change": _point(line.since_mark, runs),
        "points_left_out": line.points_left_out,
        "changes_left_out": line.marks_left_out,
    }


def _point(point: TrendPoint, runs: Sequence[TrendRun]) -> TrendPointPart:
    last = runs[point.last]
    return TrendPointPart(
        first=iso_timestamp(runs[point.first].at),
        last=iso_timestamp(last.at),
        runs=point.runs,
        commit=last.commit,
        run=last.link,
        cases=point.cases,
        passed=point.samples.passed,
        judged=point.samples.judged,
        pass_rate=point.rate,
        interval=IntervalPart(low=point.interval[0], high=point.interval[1]) if point.interval else None,
        cost_usd=point.usd,
        cost_complete=point.cost_complete,
        duration_ms=point.ms,
    )


def _sampled(samples: Samples) -> SampledPart:
    return SampledPart(passed=samples.passed, judged=samples.judged)
