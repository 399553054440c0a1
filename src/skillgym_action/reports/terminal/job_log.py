"""Reporter: the log of a GitHub job: a folded group for each execution, and at the end what is red, unfolded.

Everything in it passes ``terminal_line`` or ``terminal_text``: no text of agents and suites is a workflow command.
``stop-commands`` is not used: the runner reads annotations from another stream, and would lose them meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_FINAL_OUTPUT_CHARACTERS, MAX_TERMINAL_MESSAGE_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.result import format_score
from skillgym_action.model.verdicts import RED
from skillgym_action.reports.terminal.terminal import finished_line, reason_lines
from skillgym_action.reports.wording.reasons import red_groups
from skillgym_action.reports.wording.results import cause
from skillgym_action.text.escaping import clipped, tail, terminal_line, terminal_text, workflow_message
from skillgym_action.text.words import counted, duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.judgement import Outcome
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result

MAX_LOG_CHARACTERS = 2_000_000  # of the groups of a job's log; 1,000 executions with long answers fill it
MAX_LOG_LINE_CHARACTERS = 500
MAX_LOG_ASSERTIONS = 20  # of one execution
MAX_LOG_ATTEMPTS = 10  # sessions of one execution
MAX_LOG_EVIDENCE_CHARACTERS = 600  # of one assertion, from its end
MAX_LOG_ANSWER_LINES = 10  # at the end of the final output
MAX_LOG_ANSWER_CHARACTERS = 1_000
MAX_VERBOSE_LOG_CHARACTERS = 8_000_000  # of the groups and further lines, with `verbose` or debug logging
MAX_VERBOSE_LOG_ITEMS = 200  # assertions, and sessions, of one execution
MAX_VERBOSE_LOG_EVIDENCE_CHARACTERS = 4_000
MAX_VERBOSE_LOG_ANSWER_LINES = 100
MAX_UNFOLDED_REASONS = 50  # with details at the end of a log
SIGNS = {True: "✓", False: "✗", None: "?"}


@record
class LogExtent:
    """How much of an execution is shown. ``explained``: also why assertions passed, and where sessions have files."""

    assertions: int
    attempts: int
    evidence: int
    answer_lines: int
    answer_characters: int
    explained: bool


PLAIN = LogExtent(
    assertions=MAX_LOG_ASSERTIONS,
    attempts=MAX_LOG_ATTEMPTS,
    evidence=MAX_LOG_EVIDENCE_CHARACTERS,
    answer_lines=MAX_LOG_ANSWER_LINES,
    answer_characters=MAX_LOG_ANSWER_CHARACTERS,
    explained=False,
)
VERBOSE = LogExtent(
    assertions=MAX_VERBOSE_LOG_ITEMS,
    attempts=MAX_VERBOSE_LOG_ITEMS,
    evidence=MAX_VERBOSE_LOG_EVIDENCE_CHARACTERS,
    answer_lines=MAX_VERBOSE_LOG_ANSWER_LINES,
    answer_characters=MAX_FINAL_OUTPUT_CHARACTERS,
    explained=True,
)


class JobLog:
    """The log of one run. Once it has as many characters as a log may have, executions are single lines."""

    def __init__(self, *, verbose: bool = False) -> None:
        self.verbose = verbose
        self.extent = VERBOSE if verbose else PLAIN
        self._left = MAX_VERBOSE_LOG_CHARACTERS if verbose else MAX_LOG_CHARACTERS
        self._is_full = False

    def finished(self, result: Result, done: int, total: int) -> str:
        """The group of a finished execution."""
        line = finished_line(result, done, total).strip()
        text = f"::group::{workflow_message(line)}\n{''.join(_details(result, self.extent))}::endgroup::\n"
        return self._bounded(text, f"{line}\n")

    def detail(self, line: str) -> str:
        """A line that only a verbose log has."""
        return self._bounded(f"{terminal_line(line)}\n", "") if self.verbose else ""

    def unfolded(self, report: RunReport) -> Iterator[str]:
        """The reasons, each with the failed assertions and the end of the answer of one result; of many the first."""
        groups = [*red_groups(report)]
        for group in groups[:MAX_UNFOLDED_REASONS]:
            yield from reason_lines(group, more=_indented(_unfolded_details(group[0], self.extent), "    "))
        more = groups[MAX_UNFOLDED_REASONS:]
        for group in more:
            yield from (
                clipped(line.strip("\n"), MAX_LOG_LINE_CHARACTERS) + "\n" for line in reason_lines(group, brief=True)
            )
        if more:
            number = counted(len(more), "more reason")
            yield f"{number} without details here: see the groups above, the summary or the reports\n\n"

    def _bounded(self, text: str, otherwise: str) -> str:
        """``text`` as long as there is room for it; then ``otherwise``, after a note."""
        if not self._is_full and len(text) <= self._left:
            self._left -= len(text)
            return text
        note = (
            "" if self._is_full else "note: the log is long enough: the rest without details, which the reports have\n"
        )
        self._is_full = True
        return note + otherwise


def _details(result: Result, extent: LogExtent) -> Iterator[str]:
    """What a group holds: assertions, sessions, the end of the answer, the artifacts."""
    reason = cause(result)
    if result.status in RED and reason.assertion is None:
        yield from _indented(iter(_lines(clipped(reason.message, MAX_TERMINAL_MESSAGE_CHARACTERS))))
    yield from _indented(_assertions(result.judgement.outcomes, extent, explained=extent.explained))
    yield from _indented(_sessions(result, extent))
    yield from _indented(_answer(result, extent))
    if result.directory:
        yield from _indented(iter([f"artifacts: {terminal_line(result.directory)}"]))


def _unfolded_details(result: Result, extent: LogExtent) -> Iterator[str]:
    """What follows the failed assertions: the sessions, and the end of the answer."""
    yield from _sessions(result, extent)
    yield from _answer(result, extent)


def _assertions(outcomes: tuple[Outcome, ...], extent: LogExtent, *, explained: bool) -> Iterator[str]:
    """A line for each assertion, with the explanation of those that do not hold; these come first where many are."""
    ordered = outcomes
    if len(outcomes) > extent.assertions:
        ordered = tuple(sorted(outcomes, key=lambda outcome: outcome.passed is True))
    for outcome in ordered[: extent.assertions]:
        says = f": {outcome.explanation}" if outcome.explanation and (explained or outcome.passed is not True) else ""
        yield f"{SIGNS[outcome.passed]} {terminal_line(clipped(outcome.assertion + says, MAX_LOG_LINE_CHARACTERS))}"
        if outcome.evidence and outcome.passed is not True:
            yield from (f"  {line}" for line in _lines(tail(outcome.evidence.rstrip(), extent.evidence)))
    if (more := len(ordered) - extent.assertions) > 0:
        yield f"and {counted(more, 'more assertion')}"


def _sessions(result: Result, extent: LogExtent) -> Iterator[str]:
    """A line for each session, if there is more than one."""
    attempts = result.attempts
    if len(attempts) == 1:  # the execution itself
        return
    yield from (_session(attempt, verbose=extent.explained) for attempt in attempts[: extent.attempts])
    if (more := len(attempts) - extent.attempts) > 0:
        yield f"and {counted(more, 'more session')}"


def _session(attempt: Attempt, *, verbose: bool) -> str:
    name = f"repetition {attempt.repetition}" + (f", retry {attempt.session - 1}" if attempt.session > 1 else "")
    score = [] if attempt.score is None else [f"score {format_score(attempt.score)}"]
    facts = [f"{name}: {attempt.status}", *score, duration(attempt.duration_ms)]
    if attempt.message:
        facts.append(clipped(attempt.message, MAX_LOG_LINE_CHARACTERS))
    if verbose:
        facts.append(f"artifacts: {attempt.directory}")
    return terminal_line(", ".join(facts))


def _answer(result: Result, extent: LogExtent) -> Iterator[str]:
    """The last lines of the agent's answer; a line that is too long begins later."""
    text = (result.final_output or "").rstrip()
    if not text:
        return
    lines = _lines(text[-extent.answer_characters :])
    kept = lines[-extent.answer_lines :]
    left_out = len(kept) < len(lines) or len(text) > extent.answer_characters
    yield "the end of the answer:" if left_out else "the answer:"
    yield from (f"  {line}" for line in kept)


def _lines(text: str) -> list[str]:
    """Lines of foreign text that are safe in a log."""
    return [clipped(line, MAX_LOG_LINE_CHARACTERS).replace("\n", " ") for line in terminal_text(text).split("\n")]


def _indented(lines: Iterator[str], margin: str = "  ") -> Iterator[str]:
    return (f"{margin}{line}\n" for line in lines)
