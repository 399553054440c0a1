"""What reports say of results that are carried: those of earlier runs, which were not run again."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.limits import COMMIT_CHARACTERS
from skillgym_action.model.samples import samples_of
from skillgym_action.reporters.wording import age, case_name, counted, listed, money, runner_id

if TYPE_CHECKING:
    from skillgym_action.model.carried import Carried
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport


class Origin(NamedTuple):
    """A run that results are carried from, with these results."""

    carried: Carried
    results: list[Result]


def carried_results(report: RunReport) -> list[Result]:
    """The carried results of a run, those of other arms and in quarantine included."""
    return [result for result in report.all_results if result.carried]


def carried_fact(report: RunReport) -> str:
    """``990 carried, 10 run``; empty if none is carried."""
    carried = len(carried_results(report))
    return f"{carried:,} carried, {len(report.all_results) - carried:,} run" if carried else ""


def carried_from(result: Result, report: RunReport) -> str:
    """``carried from 1a2b3c4d5e6f, 2 days old``; empty for a result of this run."""
    return f"carried from {_origin(result.carried, report)}" if result.carried else ""


def carried_outcome(result: Result, report: RunReport) -> str:
    """``passed, 3 of 3, carried from 1a2b3c4d5e6f, 2 days old, https://…``."""
    link = f", {result.carried.link}" if result.carried and result.carried.link else ""
    return f"{result.status}, {samples_of(result, report.sampled_repetitions)}, {carried_from(result, report)}{link}"


def origins(report: RunReport) -> list[Origin]:
    """The runs that results are carried from, the newest first."""
    found: dict[tuple[str, str, str | None], Origin] = {}
    for result in carried_results(report):
        if result.carried:
            key = result.carried.at, result.carried.commit, result.carried.link
            found.setdefault(key, Origin(result.carried, [])).results.append(result)
    return [found[key] for key in sorted(found, key=lambda key: key[0], reverse=True)]


def origin_in_words(origin: Origin, report: RunReport) -> tuple[str, str, str]:
    """``120 executions carried from ``, ``1a2b3c4d5e6f``, and ``, 2 days old: edit [claude], …``."""
    names = listed([f"{case_name(result)} [{runner_id(result)}]" for result in origin.results])
    executions = counted(len(origin.results), "execution")
    return f"{executions} carried from ", _commit(origin.carried), f", {_age(origin.carried, report)}: {names}"


def saved(report: RunReport) -> str:
    """``$12.30 saved``: what the sessions of the carried results cost then; empty if that is not known."""
    costs = [result.carried.cost_usd for result in carried_results(report) if result.carried]
    known = [cost for cost in costs if cost is not None]
    return f"{money(sum(known), complete=len(known) == len(costs))} saved" if known else ""


def _origin(carried: Carried, report: RunReport) -> str:
    return f"{_commit(carried)}, {_age(carried, report)}"


def _commit(carried: Carried) -> str:
    return carried.commit[:COMMIT_CHARACTERS]


def _age(carried: Carried, report: RunReport) -> str:
    return f"{age(datetime.fromisoformat(report.started_at) - datetime.fromisoformat(carried.at))} old"
