"""Reporter: a terminal or a job log: a line per finished execution, then the reasons, the table, and the title."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import CONTROL_ARM
from skillgym_action.model.comparison import passed_after_failure
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_LISTED_NAMES, MAX_TERMINAL_MESSAGE_CHARACTERS
from skillgym_action.model.totals import totals
from skillgym_action.model.verdicts import ASSERTION_FAILURE, RED, TROUBLES, Status
from skillgym_action.reports.terminal.statements import execution, said, table
from skillgym_action.reports.wording.first_glance import FirstGlance
from skillgym_action.reports.wording.plan import attempt_sentences, selection_sentences
from skillgym_action.reports.wording.rates import trigger_sentences
from skillgym_action.reports.wording.reasons import command_of, named_in_words, red_groups
from skillgym_action.reports.wording.results import (
    cause,
    cost,
    counts_by_status,
    finding_problems,
    retries,
    suites_from,
    total_cost,
)
from skillgym_action.reports.wording.results_apart import quarantine_fact, quarantined, reused_fact, runs_reused, saved
from skillgym_action.reports.wording.results_table import ResultsTable, attempts_of
from skillgym_action.reports.wording.uplift import arms
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.text.escaping import clipped, terminal_line, terminal_text, visible
from skillgym_action.text.words import counted, duration, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skillgym_action.model.report import RunReport, SuitesFrom
    from skillgym_action.model.result import Result
    from skillgym_action.reports.wording.first_glance import Tone

SIGNS = {
    Status.PASSED: ("✓", "32"),
    Status.FAILED: ("✗", "31"),
    Status.EXPECTED_FAILED: ("✓", "32"),
    Status.UNEXPECTED_PASSED: ("✗", "31"),
    Status.ERRORED: ("!", "33"),
    Status.SKIPPED: ("-", "2"),
}
_MESSAGES_WITH_REMEDY = {"auth", "agent-missing", "suite-invalid"}
MAX_SENTENCE_CHARACTERS = 500  # of the line that states a reason
TONES: dict[Tone, tuple[str, str]] = {"good": ("✓", "32"), "bad": ("✗", "31"), "odd": ("!", "33"), "shown": ("i", "33")}


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
    """The reasons with evidence and place, the warnings, the table, and last the title with the line below it.

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
    yield from _notes(report)
    yield from said(arms(report))
    yield from _only_compared(report)
    glance = FirstGlance(report)
    yield from table(ResultsTable(glance).main())
    yield "".join(_last_lines(glance, color=color))


def _with_artifacts(result: Result, run_directory: str) -> Result:
    """The result with a path of its artifacts that terminals can open."""
    if not result.directory or not run_directory:
        return result
    return replace(result, directory=f"{run_directory}/{result.directory}")


def _notes(report: RunReport) -> Iterator[str]:
    """Attempts of the job, triggers, what was selected, and what else differs from the baseline."""
    lines = [*attempt_sentences(report), *trigger_sentences(report), *selection_sentences(report)]
    found = report.comparison.differences[:MAX_LISTED_NAMES] if report.comparison else ()
    lines += [f"differs: {difference(one)}" for one in found]
    yield from (f"note {terminal_line(line)}\n" for line in lines)
    yield "\n" if lines else ""


def _only_compared(report: RunReport) -> Iterator[str]:
    """A line for each arm with executions that are red, and do not fail the run."""
    for arm in dict.fromkeys(result.arm for result in report.other_arms if result.arm != CONTROL_ARM):
        sums = totals([result for result in report.other_arms if result.arm == arm])
        words = [words for status, words in counts_by_status(sums) if status in RED]
        if words:
            yield (
                f"note in the arm {terminal_line(arm or '')}, {', '.join(words)} of {sums.executions}: "
                "this arm is only compared with the deciding arm, so these executions do not fail the run\n\n"
            )


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
    for group in red_groups(report):
        yield from reason_lines([_with_artifacts(result, run_directory) for result in group], color=color)


def reason_lines(
    results: Sequence[Result], *, color: bool = False, more: Iterable[str] = (), brief: bool = False
) -> Iterator[str]:
    """A reason: how many results have it, which, the evidence of the first, ``more``, and where it is.

    ``brief``: the number and the names alone.
    """
    first = results[0]
    sign, shade = SIGNS[first.status]
    sentence, *lines = _why(first)
    yield _styled(f"{sign} {counted(len(results), 'result')}: {sentence}", shade, color=color) + "\n"
    yield f"  {terminal_line(named_in_words(results))}\n"
    if brief:
        return
    yield from (f"    {line}\n" if line else "\n" for line in lines)
    if remedy := _remedy(first):
        yield f"    help: {remedy}\n"
    yield from more
    where = [terminal_line(str(cause(first).location))]
    if first.directory:
        where.append(f"artifacts: {terminal_line(first.directory)}")
    yield _styled(f"  {', '.join(where)}", "2", color=color) + "\n"
    if first.status is not Status.ERRORED and first.runner:
        yield f"  {terminal_line(command_of(first))}\n"
    yield "\n"


def _remedy(result: Result) -> str:
    """What to do about the failure, for a class that has a remedy which its messages do not name; else empty."""
    class_ = result.judgement.failure_class
    kind = TROUBLES.get(class_.id) if class_ and class_.id not in _MESSAGES_WITH_REMEDY else None
    return kind.remedy if kind else ""


def _why(result: Result) -> Iterator[str]:
    """The reason in a line; then the rest of the message, and each assertion that does not hold, with its evidence."""
    from skillgym_action.reports.wording.failed_assertions import failed_assertions

    found = failed_assertions(result, MAX_TERMINAL_MESSAGE_CHARACTERS)
    label = "" if cause(result).label == ASSERTION_FAILURE.label else f"{cause(result).label}: "
    if not found.message and len(found.shown) + found.more == 1:
        (one,) = found.shown
        yield clipped(terminal_line(f"{label}{one.title}: {one.explanation}"), MAX_SENTENCE_CHARACTERS)
        yield from _body(one.body)
        return
    message = found.message or cause(result).message
    first, *others = message.splitlines() or [""]
    yield clipped(terminal_line(f"{label}{first}"), MAX_SENTENCE_CHARACTERS)
    yield from map(terminal_line, others if found.message else ())
    for number, one in found.numbered():
        yield f"{number}{terminal_line(one.title)}"
        indent = " " * len(number)
        yield f"{indent}{terminal_line(one.explanation)}"
        yield from (f"{indent}{line}" for line in _body(one.body))
    if found.more:
        yield f"and {found.more:,} more"


def _body(text: str) -> Iterator[str]:
    return (terminal_text(" ".join(line.splitlines())).rstrip() for line in visible(text).split("\n") if text)


def _last_lines(glance: FirstGlance, *, color: bool) -> Iterator[str]:
    """The title, what became of the results, sums, and reasons of the decision that neither says."""
    report, sums = glance.report, glance.report.totals()
    sign, shade = TONES[glance.tone]
    yield _styled(f"{sign} {terminal_line(glance.title)}", f"1;{shade}", color=color) + "\n"
    if parts := " ".join(filter(None, (glance.news(), glance.others()))):
        yield f"  {terminal_line(parts)}\n"
    yield from (f"  {terminal_line(one)}\n" for one in glance.reasons())
    facts = [counted(attempts_of(report.all_results), "attempt")]
    facts += filter(None, [quarantine_fact(report), reused_fact(report)])
    if sums.cost_usd is not None or not sums.cost_complete:
        facts.append(f"cost {total_cost(report, sums)}")
    facts += filter(None, [saved(report), duration(report.duration_ms)])
    yield f"  {', '.join(facts)}\n"


def _styled(text: str, code: str, *, color: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if color else text
