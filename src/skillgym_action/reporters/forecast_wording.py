"""What a plan will cost and how long it will take, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.reporters.wording import counted, duration, listed, money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.forecast import Expected, Forecast

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
    """``about $5.00 (95 %: $4.10 to $6.20, from 5 stored runs)``; ``at least``, where some is unknown."""
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
    return f" ({interval.level * 100:.0f} %: {ends}, from {runs})"


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
