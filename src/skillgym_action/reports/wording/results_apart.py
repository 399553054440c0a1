"""Results that reports name apart: those in quarantine, and those of earlier runs, reused. Nothing is escaped yet."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import samples_of
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.verdicts import RED
from skillgym_action.reports.wording.rates import sessions_passed
from skillgym_action.reports.wording.results import case_name, cause, runner_id
from skillgym_action.reports.wording.statements import Cell, Link, Section, Topic
from skillgym_action.text.words import age, counted, listed, money

if TYPE_CHECKING:
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Quarantine, Result, Reused

QUARANTINE_TYPE = "skillgym.quarantined"


def quarantine_fact(report: RunReport) -> str:
    """``2 in quarantine``; empty if none is."""
    return f"{len(report.quarantined):,} in quarantine" if report.quarantined else ""


def quarantine_reason(quarantine: Quarantine) -> str:
    """``until 2026-12-01, owner @ada: fails when the service is slow, https://…``."""
    return ", ".join(filter(None, (_why(quarantine), quarantine.issue)))


def _why(quarantine: Quarantine) -> str:
    return f"until {quarantine.expires}, owner {quarantine.owner}: {quarantine.reason}"


def quarantined(report: RunReport, *, red_first: bool = False) -> Section:
    """Each execution in quarantine with what it would have counted as: ``failed, 2 of 5 attempts passed``."""
    results = sorted(report.quarantined, key=lambda one: one.status not in RED) if red_first else report.quarantined
    return Section(
        word="quarantine",
        title=f"{counted(len(results), 'execution')} in quarantine: run, but not counted in the verdict",
        about=[(one, one.quarantine) for one in results if one.quarantine],
        topic=partial(_quarantined, report),
    )


def _quarantined(report: RunReport, result: Result, why: Quarantine) -> Topic:
    outcome = ", ".join(filter(None, (result.status, sessions_passed(result, report.sampled_repetitions))))
    issue = Link("issue", why.issue) if why.issue else None
    return Topic(result=result, cells=(Cell(outcome, "own"), _why(why)), link=issue)


def quarantine_message(result: Result) -> str:
    """``in quarantine until …; failed: no out.txt``, for reports of which a case has one message."""
    why = f"in quarantine {quarantine_reason(result.quarantine)}; " if result.quarantine else ""
    message = cause(result).message
    return f"{why}{result.status}{f': {message}' if message else ''}"


def reused_results(report: RunReport) -> list[Result]:
    """The reused results of a run, those of other arms and in quarantine included."""
    return [result for result in report.all_results if result.reused]


def reused_fact(report: RunReport) -> str:
    """``990 reused, 10 run``; empty if none is reused."""
    reused = len(reused_results(report))
    return f"{reused:,} reused, {len(report.all_results) - reused:,} run" if reused else ""


def reused(report: RunReport) -> Section:
    """Each reused result, with the run that it is from: ``passed, 3 of 3, reused from 1a2b3c4d5e6f, 2 days old``."""
    about = [(one, one.reused) for one in reused_results(report) if one.reused]
    return Section(about=about, topic=partial(_reused, report))


def _reused(report: RunReport, result: Result, reused: Reused) -> Topic:
    commit, age_of_run = _origin(reused, report)
    outcome = f"{result.status}, {samples_of(result, report.sampled_repetitions)}"
    return Topic(result=result, cells=(f"{outcome}, reused from {commit}{age_of_run}",), link=_link(reused))


def runs_reused(report: RunReport) -> Section:
    """The runs that results are reused from, the newest first: ``120 executions reused from 1a2b3c4d5e6f, …``."""
    found: dict[tuple[str, str, str | None], tuple[Reused, list[Result]]] = {}
    for result in reused_results(report):
        if one := result.reused:
            found.setdefault((one.at, one.commit, one.link), (one, []))[1].append(result)
    newest = sorted(found, key=itemgetter(0), reverse=True)
    return Section(
        title=", ".join(filter(None, (reused_fact(report), saved(report)))),
        noun="older run",
        about=[found[key] for key in newest],
        topic=partial(_run, report),
    )


def _run(report: RunReport, reused: Reused, results: list[Result]) -> Topic:
    commit, age_of_run = _origin(reused, report)
    names = listed([f"{case_name(result)} [{runner_id(result)}]" for result in results])
    before = f"{counted(len(results), 'execution')} reused from "
    return Topic(title=(Cell(before, "own"), Cell(commit, "name"), f"{age_of_run}: {names}"), link=_link(reused))


def _link(reused: Reused) -> Link | None:
    return Link("run", reused.link) if reused.link else None


def saved(report: RunReport) -> str:
    """``$12.30 saved``: what the sessions of the reused results cost then; empty if that is not known."""
    costs = [result.reused.cost_usd for result in reused_results(report) if result.reused]
    known = [cost for cost in costs if cost is not None]
    return f"{money(sum(known), complete=len(known) == len(costs))} saved" if known else ""


def _origin(reused: Reused, report: RunReport) -> tuple[str, str]:
    """``1a2b3c4d5e6f`` and ``, 2 days old``."""
    old = age(datetime.fromisoformat(report.started_at) - datetime.fromisoformat(reused.at))
    return reused.commit[:COMMIT_CHARACTERS], f", {old} old"
