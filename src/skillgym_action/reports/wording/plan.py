"""What of a plan runs and why, what it will cost, and which attempts of a job ran it. Nothing is escaped yet."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from skillgym_action.model.execution import SELECTS_ALL
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.text.words import counted, duration, listed, money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from skillgym_action.model.adaptive import Control, Mode
    from skillgym_action.model.execution import CaseSelection, Execution, SelectedFor
    from skillgym_action.model.forecast import Expected, Forecast
    from skillgym_action.model.report import AttemptShare, RunReport

MAX_SHOWN_CHANGES = 50  # changed files that `--changed-only` lists with what they select
REASONS: Mapping[SelectedFor, str] = {
    "input": "an input of cases",
    "declared": "selects suites by inputs: of the configuration",
    "not-mapped": "no suite names it, so it selects all",
    "configuration": "the configuration selects all",
    "nothing": "no case depends on it",
}
_NAMED = 2  # files that the summary names


def selection_summary(selection: CaseSelection) -> str:
    """``12 of 40 executions: bench/core.json changed since 0a1b2c3d4e5f``; the caller escapes it."""
    return f"{len(selection.selected):,} of {counted(selection.total, 'execution')}: {selection_reason(selection)}"


def selection_reason(selection: CaseSelection) -> str:
    """Why these executions were selected."""
    if selection.note:
        return selection.note
    reasons = list(selection.reasons())
    since = f" since {selection.base[:COMMIT_CHARACTERS]}" if selection.base else ""
    if not selection.files:
        return f"nothing has changed{since}"
    if not reasons:
        number = len(selection.files)
        return f"no case depends on the {counted(number, 'changed file')}{since}"
    first = reasons[0]
    if first.reason in SELECTS_ALL:
        what = "the configuration" if first.reason == "configuration" else "which no suite names"
        return f"{first.path}, {what}, changed{since}"
    rest = len(reasons) - _NAMED
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"{', '.join(file.path for file in reasons[:_NAMED])}{more} changed{since}"


def selection_sentences(report: RunReport) -> Iterator[str]:
    """``12 of 40 executions were selected: bench/core.json changed; 28 are not in this run``; the caller escapes it."""
    if (found := report.selection) is None:
        return
    rest = f"; {found.unstored:,} more ran, since the store has no result of them" if found.unstored else ""
    rest += f"; {found.left_out:,} {'is' if found.left_out == 1 else 'are'} not in this run" if found.left_out else ""
    was = "was" if found.selected == 1 else "were"
    yield f"{found.selected:,} of {counted(found.total, 'execution')} {was} selected: {found.reason}{rest}"


def selection_lines(selection: CaseSelection) -> Iterator[str]:
    """A line for each changed file, with what it selects; the caller escapes it."""
    for file in selection.files[:MAX_SHOWN_CHANGES]:
        yield f"{file.path}: {counted(len(file.executions), 'execution')} ({REASONS[file.reason]})"
    if (rest := len(selection.files) - MAX_SHOWN_CHANGES) > 0:
        yield f"and {counted(rest, 'more changed file')}"


def left_out(selection: CaseSelection) -> str:
    """``28 of 40 executions were not selected``."""
    number = selection.left_out
    return f"{number:,} of {counted(selection.total, 'execution')} {'was' if number == 1 else 'were'} not selected"


# --- forecast ------------------------------------------------------------------------------------------

WITHOUT_STORE = "cost and time: unknown without a store of earlier runs; name one with --store"
UNUSABLE_STORE = "cost and time: unknown, since the store cannot be used"


def forecast_lines(found: Forecast) -> Iterator[str]:
    """Cost, time, and what they do not include: a sentence per line."""
    if found.knows_nothing:
        yield f"cost and time: unknown, since {found.source} has no results of these cases"
        return
    yield f"cost: {cost_in_words(found)}"
    yield f"time of the agents: {_time_in_words(found)}"
    if others := found.with_other_keys:
        yield (
            f"{_executions(len(others))} stored with another prompt, assertion, workspace, agent, model, version or "
            f"arm, and may cost something else now: {_names(others)}"
        )


def cost_in_words(found: Forecast) -> str:
    """``about $5.00 (95%: $4.10 to $6.20, from 5 stored runs)``; ``at least``, where some is unknown."""
    if len(found.usd.unknown) == len(found.executions):
        return "unknown, since no stored session has a cost: its agent reports none, and no price is configured"
    early = " if it does not end early" if found.ends_early else ""
    words = f"{_about(found.usd)} {money(found.usd.total)}{early}{_interval(found.usd, money)}"
    return words + _unknown(found.usd, found, "cost")


def _time_in_words(found: Forecast) -> str:
    jobs = f" with {counted(found.jobs, 'job')}"
    words = f"{_about(found.ms)} {_duration(found.ms.total)}{jobs}{_interval(found.ms, _duration)}"
    least = f"; no order of the sessions takes less than {_duration(found.least_ms)}" if found.jobs > 1 else ""
    return words + least + _unknown(found.ms, found, "duration")


def _about(expected: Expected) -> str:
    return "at least about" if expected.unknown else "about"


def _interval(expected: Expected, shown: Callable[[float], str]) -> str:
    interval = expected.interval
    if interval is None and not expected.total:
        return ""
    if interval is None:
        return " (too few stored runs for an interval)"
    ends = f"{shown(interval.low)} to {shown(interval.high)}"
    runs = counted(interval.runs, "stored run")
    if interval.level is None:
        return f" ({ends} in {runs}, too few or too different for an interval)"
    return f" ({interval.level * 100:.0f}%: {ends}, from {runs})"


def _unknown(expected: Expected, found: Forecast, what: str) -> str:
    if not (unknown := expected.unknown):
        return ""
    have, all_ = "has" if len(unknown) == 1 else "have", counted(len(found.executions), "execution")
    return f"; {len(unknown):,} of {all_} {have} no stored {what}: {_names(unknown)}"


def _executions(number: int) -> str:
    return f"{counted(number, 'execution')} {'was' if number == 1 else 'were'}"


def _names(executions: Sequence[Execution]) -> str:
    return listed([execution.title for execution in executions])


def _duration(milliseconds: float) -> str:
    return duration(round(milliseconds))


# --- attempts ------------------------------------------------------------------------------------------


def attempt_sentences(report: RunReport) -> Iterator[str]:
    """Which attempt ran how many sessions, and what these cost; nothing if the job had one attempt."""
    if len(report.attempts) < 2:  # noqa: PLR2004
        return
    words = [_share(share) for share in report.attempts]
    yield f"sessions by attempt of the job: {', '.join(words)}"
    repeated = [share for share in report.attempts if share.repeated]
    if repeated:
        again = ", ".join(
            f"{counted(share.repeated, 'session')} of attempt {share.number}{_cost(share.repeated_cost_usd)}"
            for share in repeated
        )
        yield f"run again, and not counted in the results: {again}"


def _share(share: AttemptShare) -> str:
    """``12 of attempt 1 ($3.00)``."""
    number = f"{share.sessions:,}" if share.sessions else "none"
    return f"{number} of attempt {share.number}{_cost(share.cost_usd) if share.sessions else ''}"


def _cost(usd: float | None) -> str:
    return " (cost unknown)" if usd is None else f" ({money(usd)})"


def adaptive_line(cases: int, mode: Mode, control: Control | None, why: str) -> str:
    """How many sessions a run with ``repeat: auto`` may have, and what a regression is checked with."""
    from skillgym_action.results.statistics.adaptive import EXPECTED_SESSIONS, MOST_SESSIONS, USUAL_SESSIONS

    usual, upper = (ceil(cases * each[mode]) for each in (EXPECTED_SESSIONS, USUAL_SESSIONS))
    if control:
        beside = f"a regression is checked beside {control.commit[:COMMIT_CHARACTERS]} before it is red"
    else:
        beside = f"a regression is not checked side by side: {why}"
    return (
        f"{counted(cases, 'case')}: about {counted(usual, 'session')} if nothing changed (19 of 20 runs: at most "
        f"{upper:,}), never more than {cases * MOST_SESSIONS[mode]:,}; {beside}"
    )
