"""Reporter: what a terminal or a job log shows: a line per finished execution, then what is red, then the verdict."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.comparison import passed_after_failure
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_LISTED_NAMES, MAX_TERMINAL_MESSAGE_CHARACTERS
from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import RED, TROUBLES, Status
from skillgym_action.reports.terminal.statements import execution, said, topic_line
from skillgym_action.reports.wording.plan import attempt_sentences, selection_sentences
from skillgym_action.reports.wording.rates import (
    VERDICTS,
    changes,
    comparison_verdict,
    mixed,
    rate_sentences,
    rates_compared,
    sessions_passed,
    trigger_sentences,
)
from skillgym_action.reports.wording.results import (
    case_name,
    cause,
    cost,
    counts_by_status,
    counts_in_words,
    finding_problems,
    further_reasons,
    headline,
    retries,
    runner_id,
    suites_from,
    total_cost,
    verdict,
)
from skillgym_action.reports.wording.results_apart import quarantine_fact, quarantined, reused_fact, runs_reused, saved
from skillgym_action.reports.wording.uplift import arms
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.text.escaping import terminal_line, terminal_text, visible
from skillgym_action.text.words import counted, duration, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skillgym_action.model.comparison import Comparison
    from skillgym_action.model.report import RunReport, SuitesFrom
    from skillgym_action.model.result import Result

MAX_MOST_EXPENSIVE = 3  # executions that the end of a run lists as the slowest, and as the most expensive
SIGNS = {
    Status.PASSED: ("✓", "32"),
    Status.FAILED: ("✗", "31"),
    Status.EXPECTED_FAILED: ("✓", "32"),
    Status.UNEXPECTED_PASSED: ("✗", "31"),
    Status.ERRORED: ("!", "33"),
    Status.SKIPPED: ("-", "2"),
}
_MESSAGES_WITH_REMEDY = {"auth", "agent-missing", "suite-invalid"}
_VERDICTS = {"passed": "32", "failed": "31", "inconclusive": "33", "not-gated": "33", "unverified": "33"}


def finished_line(result: Result, done: int, total: int, *, color: bool = False) -> str:
    """`` 3/40 ✓ edit [claude] passed  12 s  $0.20``; what cannot fail the run has no color."""
    sign, shade = SIGNS[result.status]
    if result.is_only_compared or result.quarantine:
        shade = "2"
    facts = [
        execution_name(result),
        "passed, flaky" if passed_after_failure(result) else str(result.status),
        "only compared" if result.is_only_compared else "",
        "in quarantine" if result.quarantine else "",
    ]
    if result.attempts:
        facts += [duration(result.duration_ms), cost(result)]
    if result.status not in (Status.PASSED, Status.EXPECTED_FAILED):
        facts.append(terminal_line(cause(result).label) if result.judgement.failure_class else "")
    if tries := retries(result):
        facts.append(f"after {counted(tries, 'retry', 'retries')}")
    line = "  ".join(filter(None, facts))
    return f"{done:>{len(str(total))}}/{total} {_styled(sign, shade, color=color)} {line}"


def render(
    report: RunReport,
    *,
    color: bool = False,
    run_directory: str = "",
    red: Callable[[RunReport], Iterator[str]] | None = None,
) -> Iterator[str]:
    """What is red with cause and place, the warnings, what took most, one line with the verdict.

    ``run_directory``: the path by which artifacts are found from the working directory; "": unknown. ``red`` shows what
    is red instead.
    """
    yield from red(report) if red else _all_red(report, run_directory, color=color)
    yield from said(quarantined(report), MAX_LISTED_NAMES)
    yield from said(runs_reused(report), MAX_LISTED_NAMES)
    if report.suites_from:
        yield from _suites_from(report.suites_from)
    warnings = (*finding_problems(report), *report.warnings)
    for problem in warnings:
        yield f"{_styled('warning', '33', color=color)} {terminal_line(str(problem))}\n"
    if warnings:
        yield "\n"
    yield from (f"slowed {terminal_line(line)}\n\n" for line in report.slowed)
    yield from _rates(report)
    yield from said(arms(report))
    yield from _only_compared(report)
    yield from _most_expensive(report)
    yield _verdict_line(report, color=color)


def _with_artifacts(result: Result, run_directory: str) -> Result:
    """The result with a path of its artifacts that terminals can open."""
    if not result.directory or not run_directory:
        return result
    return replace(result, directory=f"{run_directory}/{result.directory}")


def _most_expensive(report: RunReport) -> Iterator[str]:
    """The slowest executions and the most expensive ones, a line each; none if there are few."""
    ran = [result for result in report.results if result.attempts]
    if len(ran) <= MAX_MOST_EXPENSIVE:
        return
    by_time = sorted(ran, key=lambda result: result.duration_ms, reverse=True)[:MAX_MOST_EXPENSIVE]
    priced = [result for result in ran if result.cost.usd]
    by_cost = sorted(priced, key=lambda result: result.cost.usd or 0, reverse=True)[:MAX_MOST_EXPENSIVE]
    yield f"slowest {', '.join(f'{execution(result)} {duration(result.duration_ms)}' for result in by_time)}\n"
    if by_cost:
        yield f"most expensive {', '.join(f'{execution(result)} {cost(result)}' for result in by_cost)}\n"
    yield "\n"


def _rates(report: RunReport) -> Iterator[str]:
    """Attempts of the job, the pass rate, executions whose sessions differ, the comparison with the baseline."""
    lines = [*attempt_sentences(report)]
    sums = report.totals()
    lines += [f"rate {sentence}" for sentence in rate_sentences(sums, report)]
    lines += [terminal_line(one) for one in (*trigger_sentences(report), *selection_sentences(report))]
    differing = mixed(report)
    for number, topic in enumerate(differing.topics(MAX_LISTED_NAMES)):
        lines.append(f"{'flaky' if number < sums.flaky else 'mixed'} {topic_line(topic)}")
    lines += [f"mixed {more:,} more"] if (more := len(differing) - MAX_LISTED_NAMES) > 0 else []
    if report.comparison:
        lines += [f"baseline {words}" for words in _comparison(report.comparison)]
    yield from (f"{words}\n" for words in lines)
    yield "\n" if lines else ""


def _only_compared(report: RunReport) -> Iterator[str]:
    """A line for each arm with executions that are red, and do not fail the run."""
    for arm in dict.fromkeys(result.arm for result in report.other_arms):
        sums = totals([result for result in report.other_arms if result.arm == arm])
        words = [words for status, words in counts_by_status(sums) if status in RED]
        if words:
            yield (
                f"note in the arm {terminal_line(arm or '')}, {', '.join(words)} of {sums.executions}: "
                "this arm is only compared with the deciding arm, so these executions do not fail the run\n\n"
            )


def _comparison(comparison: Comparison) -> Iterator[str]:
    """What else differs, the rates, the executions that the tests name, the verdict."""
    for found in comparison.differences[:MAX_LISTED_NAMES]:
        yield f"differs: {terminal_line(difference(found))}"
    before, after = rates_compared(comparison)
    yield f"{before[:1].lower()}{before[1:]}{terminal_line(comparison.base_id)}{after}"
    for section in islice(changes(comparison), 2):
        yield from (f"{section.title}: {topic_line(topic)}" for topic in section.topics(MAX_LISTED_NAMES))
    words = comparison_verdict(comparison)
    yield VERDICTS[comparison.verdict].lower() + (f": {words}" if words else "")


def execution_name(result: Result) -> str:
    """``edit [claude]``, and the arm: ``edit [claude] with_skill``."""
    return f"{execution(result)}{f' {terminal_line(result.arm)}' if result.arm else ''}"


def _suites_from(origin: SuitesFrom) -> Iterator[str]:
    commit = f" ({terminal_line(origin.commit[:COMMIT_CHARACTERS])})" if origin.commit else ""
    yield f"note suites and configuration are those in {terminal_line(origin.folder)}{commit}\n"
    for sentence, paths in suites_from(origin):
        named = f"{counted(len(paths), 'suite')} {sentence}: {terminal_line(listed(paths))}" if paths else sentence
        yield f"note {named}\n"
    yield "\n"


def _all_red(report: RunReport, run_directory: str, *, color: bool) -> Iterator[str]:
    for status in RED:
        for result in report.results:
            if result.status is status:
                yield from red_lines(_with_artifacts(result, run_directory), color=color)


def red_title(result: Result, *, color: bool = False) -> str:
    """``✗ edit [claude] failed: Assertion failure``."""
    sign, shade = SIGNS[result.status]
    title = f"{sign} {terminal_line(case_name(result))} [{terminal_line(runner_id(result))}] {result.status}"
    passed = sessions_passed(result, None)
    return (
        f"{_styled(title, shade, color=color)}: {terminal_line(cause(result).label)}{f', {passed}' if passed else ''}"
    )


def red_lines(result: Result, *, color: bool = False, more: Iterable[str] = ()) -> Iterator[str]:
    """An execution that is not green: the assertions that do not hold, with evidence; then ``more``, and the place."""
    reason = cause(result)
    yield f"{red_title(result, color=color)}\n"
    yield from _why(result)
    if remedy := _remedy(result):
        yield f"    help: {remedy}\n"
    yield from more
    where = [terminal_line(str(reason.location))]
    if result.directory:
        where.append(f"artifacts: {terminal_line(result.directory)}")
    yield _styled(f"    {', '.join(where)}", "2", color=color) + "\n\n"


def _remedy(result: Result) -> str:
    """What to do about the failure, for a class that has a remedy which its messages do not name; else empty."""
    class_ = result.judgement.failure_class
    kind = TROUBLES.get(class_.id) if class_ and class_.id not in _MESSAGES_WITH_REMEDY else None
    return kind.remedy if kind else ""


def _why(result: Result) -> Iterator[str]:
    """The message, then each assertion that does not hold, with its evidence."""
    from skillgym_action.reports.wording.failed_assertions import failed_assertions

    found = failed_assertions(result, MAX_TERMINAL_MESSAGE_CHARACTERS)
    for line in found.message.splitlines():
        yield f"    {terminal_line(line)}\n"
    for number, one in found.numbered():
        yield f"    {number}{terminal_line(one.title)}\n"
        indent = " " * (4 + len(number))
        yield f"{indent}{terminal_line(one.explanation)}\n"
        for line in visible(one.body).split("\n") if one.body else ():
            yield terminal_text(f"{indent}{' '.join(line.splitlines())}").rstrip() + "\n"
    if found.more:
        yield f"    and {found.more:,} more\n"


def _verdict_line(report: RunReport, *, color: bool) -> str:
    totals = report.totals()
    parts = [f"{counts_in_words(totals)} of {totals.executions}" if totals.executions else counts_in_words(totals)]
    parts += filter(None, [quarantine_fact(report), reused_fact(report)])
    parts.append(f"in {duration(report.duration_ms)}")
    if totals.cost_usd is not None or not totals.cost_complete:
        parts.append(f"cost {total_cost(report, totals)}")
    parts += filter(None, [saved(report)])
    reasons = "; ".join(map(terminal_line, further_reasons(report, totals)))
    shade = f"1;{_VERDICTS[verdict(report)]}"
    title = _styled(headline(report), shade, color=color)
    return f"{title}: {', '.join(parts)}{f' ({reasons})' if reasons else ''}\n"


def _styled(text: str, code: str, *, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
