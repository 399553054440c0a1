"""Why results fail, one reason for all results with the same one. Nothing is escaped yet."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.model.verdicts import RED
from skillgym_action.reports.wording.results import case_name, cause, runner_id, suite_class
from skillgym_action.text.escaping import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

Reason = tuple[str, ...]
# What is measured in a session, and is different in the next one with the same failure.
_MEASURED = re.compile(
    r"""
    (?:/private)?/(?:tmp|var/folders|var/tmp)/[^\s'",:;)]+  # temporary paths
    | \b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?  # dates
    | \b\d\d:\d\d:\d\d(?:[.,]\d+)?\b  # times
    | \b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b  # UUIDs
    | \b0x[0-9a-f]+\b  # addresses
    | \b\d{1,15}(?:[.,]\d{1,15}){0,4}\s?(?:ms|µs|us|ns|s|sec|seconds?|min|minutes?|bytes?|[kKMG]i?B)\b  # durations and sizes
    | \b(?:pid|process|port)[ =:#]*\d+ | (?<=:)\d{4,5}\b  # process ids and ports
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KEY_CHARACTERS = 1_000  # of a message, by which reasons are told apart
_NUMBER_OF_LIMIT = "within"  # a limit is what was asked for, not what was measured


def stable(text: str) -> str:
    """``text`` without what is measured, on one line: the same for all sessions that fail in the same way."""
    text = one_line(text[:_KEY_CHARACTERS])
    return _MEASURED.sub(
        lambda found: found[0] if text[: found.start()].rstrip().endswith(_NUMBER_OF_LIMIT) else "…", text
    )


def reason_of(result: Result) -> Reason:
    """What tells the reason of a result from others: a class of the suite's, or the first assertion that fails.

    The evidence, which is different in each session, is no part of it.
    """
    if own_class := suite_class(result):
        return result.status, own_class
    found = cause(result)
    return result.status, found.label, found.assertion or "", stable(found.message)


def by_reason(results: Iterable[Result], first: frozenset[int] = frozenset()) -> list[list[Result]]:
    """The results of each reason, those of ``first`` before others, then the reason with most results first.

    ``first``: indexes of results. In a group they come first, too.
    """
    groups: dict[Reason, list[Result]] = {}
    for result in sorted(results, key=lambda result: result.index not in first):
        groups.setdefault(reason_of(result), []).append(result)
    return sorted(groups.values(), key=lambda group: (group[0].index not in first, -len(group)))


def red_groups(report: RunReport) -> Iterator[list[Result]]:
    """The results of each reason, newly failing ones first; last those without a result, by their cause."""
    compared = report.comparison.newly_failing if report.comparison else ()
    newly_failing = frozenset(pair.after.index for pair in compared)
    for status in RED:
        yield from by_reason((result for result in report.results if result.status is status), newly_failing)


NAMED = 3  # cases, and runners, that a reason names


def named_in_words(results: Sequence[Result]) -> str:
    """``names-the-area on sonnet and haiku, adds-an-entry on haiku, and 4 more``: cases, each with its runners."""
    runners: dict[tuple[str, str], list[str]] = {}
    names: dict[tuple[str, str], str] = {}
    for result in results:
        key = result.suite.path, result.case_id
        runners.setdefault(key, []).append(runner_id(result))
        names.setdefault(key, case_name(result))
    words = [f"{names[key]} on {all_of(own)}" for key, own in [*runners.items()][:NAMED]]
    more = len(runners) - NAMED
    return ", ".join(words) + (f", and {more:,} more" if more > 0 else "")


def all_of(names: Sequence[str]) -> str:
    """``sonnet and haiku``; of many their number: ``5 runners``."""
    if len(names) > NAMED:
        return f"{len(names):,} runners"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def command_of(result: Result) -> str:
    """The command that runs the case on its runner on a machine, one line."""
    path = result.suite.path
    words = ["skillgym-action", "run", f"./{path}" if path.startswith(("-", "!")) else path]
    words += _selecting("--case", result.case_id)
    words += _selecting("--runner", result.runner.id) if result.runner else []
    return shlex.join(one_line(word) for word in words)


def _selecting(option: str, name: str) -> tuple[str, ...]:
    """An option that selects a name. Characters that options interpret are replaced by ``?``, which matches them."""
    pattern = re.sub(r"[*?\[\],]|^!", "?", name)
    return (f"{option}={pattern}",) if pattern.startswith("-") else (option, pattern)
