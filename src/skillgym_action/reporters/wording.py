"""Texts that all reporters share: numbers, locations, causes, the verdict. Nothing is escaped yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.limits import COMMIT_CHARACTERS, MAX_LISTED_NAMES
from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.result import ADDRESSES_JUDGE, LEAK_DETECTED, of_kind
from skillgym_action.model.scores import deciding, format_score
from skillgym_action.model.verdicts import ASSERTION_FAILURE, NOT_BY_ASSERTIONS, Status
from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import timedelta

    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.result import Judgement, Result
    from skillgym_action.model.run_report import Decision, RunReport, SuitesFrom, Verdict
    from skillgym_action.model.suite import SuiteChange
    from skillgym_action.model.totals import Totals

CHECK_OUT_BASE = "check out the base branch in this job, before the results are downloaded"
CHANGES: dict[SuiteChange, str] = {
    "differs": "differs from the base's",
    "added": "is not in the base",
    "unidentified": "has no digest in the results",
    "not-compared": "was compared with nothing",
}
QUESTION = "question"  # the type of outcomes of questions that the judge decides one by one
RED = (Status.FAILED, Status.UNEXPECTED_PASSED, Status.ERRORED)
VERDICTS: dict[Verdict, str] = {
    "passed": "passed",
    "failed": "failed",
    "inconclusive": "inconclusive",
    "not-gated": "not gated",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingWords:
    """What reports call a kind of findings.

    ``fail_on``: the word of ``--fail-on``. ``counted`` follows a number of executions, ``message`` comes before the
    places, ``remedy`` says what to do.
    """

    fail_on: str
    counted: str
    message: str
    remedy: str


FINDINGS = {
    LEAK_DETECTED: FindingWords(
        fail_on="leaks",
        counted="leaked a key",
        message="a key was leaked",
        remedy="revoke it and create a new one: any service that the session reached may have seen it",
    ),
    ADDRESSES_JUDGE: FindingWords(
        fail_on="addresses-judge",
        counted="with text that addresses the judge",
        message="the agent addresses the judge",
        remedy="read the question and the answer before you trust the verdict",
    ),
}
NOUNS = {
    Status.PASSED: ("passed", "passed"),
    Status.FAILED: ("failed", "failed"),
    Status.EXPECTED_FAILED: ("failed as expected", "failed as expected"),
    Status.UNEXPECTED_PASSED: ("unexpected pass", "unexpected passes"),
    Status.ERRORED: ("could not be judged", "could not be judged"),
    Status.SKIPPED: ("skipped", "skipped"),
}


def listed(words: Sequence[str]) -> str:
    """Return the first few words, and how many more there are."""
    rest = len(words) - MAX_LISTED_NAMES
    return ", ".join(words[:MAX_LISTED_NAMES]) + (f" and {rest:,} more" if rest > 0 else "")


def suites_from(origin: SuitesFrom) -> Iterator[tuple[str, tuple[str, ...]]]:
    """How suites and configuration of a run differ from the checkout's: sentences, each with the paths it is about.

    "There" is the folder that they are from.
    """
    if origin.added:
        yield "not there, hence not run", origin.added
    if origin.changed:
        yield "changed by this commit, run as they are there", origin.changed
    if origin.removed:
        yield "not in the checkout, run as they are there", origin.removed
    if origin.configuration_differs:
        yield "the configuration there differs from the one of the checkout, and is used", ()


def changed_suites(report: RunReport) -> str | None:
    """Which suites of the report are not the base's, in a sentence; None: there are none."""
    changed = [suite for suite in report.suites if suite.changed]
    if not changed:
        return None
    number = counted(len(changed), "suite")
    if all(suite.changed == "not-compared" for suite in changed):
        return f"{number} compared with nothing ({listed([suite.path for suite in changed])}): {CHECK_OUT_BASE}"
    names = listed([f"{suite.path} ({CHANGES[suite.changed]})" for suite in changed if suite.changed])
    return f"{number} changed by this commit, not judged by the base's: {names}"


def money(usd: float | None, *, complete: bool = True) -> str:
    """US dollars. An unknown cost is not treated as zero: ``unknown``, or ``≥`` the known part."""
    if usd is None:
        return "—" if complete else "unknown"
    if 0 < usd < 0.0001:  # noqa: PLR2004
        return "under $0.0001" if complete else "unknown"
    digits = 2 if usd == 0 or usd >= 0.01 else 4  # noqa: PLR2004 - a cent
    return f"{'' if complete else '≥ '}${usd:,.{digits}f}"


def cost(result: Result) -> str:
    """What one execution cost."""
    return money(result.cost.usd, complete=result.cost.usd is not None or not result.attempts)


def duration(milliseconds: int) -> str:
    """A time in at most two units."""
    seconds = milliseconds / 1000
    if milliseconds < 1000:  # noqa: PLR2004
        return f"{milliseconds} ms"
    if seconds < 9.95:  # noqa: PLR2004
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for unit, below, part in ((3600, "h", (60, "min")), (60, "min", (1, "s"))):
        if whole >= unit:
            rest = whole % unit // part[0]
            return f"{whole // unit} {below} {rest} {part[1]}" if rest else f"{whole // unit} {below}"
    return f"{whole} s"


def amount(number: int | None) -> str:
    """A count of tokens: ``950``, ``12.4k``, ``3.1M``, ``unknown``."""
    if number is None:
        return "unknown"
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit * 0.99995:  # what rounds to the unit is written in it
            return f"{number / unit:.1f}{letter}"
    return str(number)


def counted(number: int, one: str, many: str | None = None) -> str:
    """``1 case``, ``2 cases``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def percent(rate: float) -> str:
    """A rate in percent; 100 % only if it is exactly that."""
    shown = round(rate * 100)
    if shown == 100 and rate < 1:  # noqa: PLR2004
        shown = 99
    return f"{1 if shown == 0 and rate > 0 else shown} %"


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """Why an execution is not green. ``assertion``: the first that does not hold, unless the message names one."""

    label: str
    message: str
    assertion: str | None = None
    evidence: str | None = None
    location: Location


def cause(result: Result) -> Cause:
    """The one reason worth showing first."""
    judgement = result.judgement
    broken = next((outcome for outcome in deciding(judgement.outcomes) if outcome.passed is not True), None)
    by_assertions = (
        judgement.status in (Status.FAILED, Status.EXPECTED_FAILED) and judgement.origin not in NOT_BY_ASSERTIONS
    )
    if not by_assertions and broken and (broken.passed is False or judgement.origin in NOT_BY_ASSERTIONS):
        broken = None  # evaluated for diagnosis only: it is not the reason
    failure = judgement.failure
    message = (failure.message if failure else None) or judgement.reason or (broken.explanation if broken else None)
    if result.carried:
        message = f"carried from {result.carried.commit[:COMMIT_CHARACTERS]}: {message or judgement.status}"
    return Cause(
        label=_label(judgement),
        message=message or "no reason given",
        assertion=broken.assertion if broken and judgement.score is None else None,
        evidence=broken.evidence if broken else None,
        location=(failure.location if failure else None) or place(result),
    )


def _label(judgement: Judgement) -> str:
    """The class of the failure; the score that was too low in place of the general one."""
    label = judgement.failure_class.label if judgement.failure_class else judgement.status
    if judgement.status not in (Status.FAILED, Status.EXPECTED_FAILED) or not (scored := score(judgement)):
        return label
    return scored if judgement.failure_class == ASSERTION_FAILURE else f"{label}, {scored}"


def score(judgement: Judgement) -> str:
    """``score 0.5 of 0.8``, the latter being the threshold; empty without a score."""
    if judgement.score is None:
        return ""
    of = "" if judgement.threshold is None else f" of {format_score(judgement.threshold)}"
    return f"score {format_score(judgement.score)}{of}"


def place(result: Result) -> Location:
    """Where the case is defined; the suite file if the line is unknown."""
    return result.location or Location(path=result.suite.path)


TITLE = 120  # characters


def case_name(result: Result) -> str:
    """The case's id, and its title if it has another one: ``7 (Merges two files)``."""
    if not result.title or result.title == result.case_id:
        return result.case_id
    return f"{result.case_id} ({clipped(result.title, TITLE)})"


def time_taken(result: Result) -> str:
    """How long a session took in the mean; ``carried`` for a result that was not run."""
    return "carried" if result.carried else duration(result.duration_ms)


def age(passed: timedelta) -> str:
    """``3 days``: in the largest unit that it has at least two of."""
    seconds = max(0, int(passed.total_seconds()))
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return counted(seconds // size, unit)
    return "a minute"


def runner_id(result: Result) -> str:
    """The runner's id; a dash without a runner."""
    return result.runner.id if result.runner else "—"


def judge_name(judge: JudgeInfo) -> str:
    """``judge: claude-haiku-4-5 (anthropic), answered as claude-haiku-4-5-20251001, 3 votes per question``."""
    parts = [f"{judge.model} ({judge.api})"]
    if judge.versions and judge.versions != (judge.model,):
        parts.append(f"answered as {listed(judge.versions)}")
    if judge.votes > 1:
        parts.append(f"{judge.votes} votes per question")
    return ", ".join(parts)


def findings_in_words(result: Result, id_: str) -> str:
    """``github in stdout.log, jwt in changes/a.txt``; empty without such a finding."""
    if not result.findings:
        return ""
    return ", ".join(f"{finding.kind} in {finding.where}" for finding in of_kind(result.findings, id_))


def finding_problems(report: RunReport) -> Iterator[Problem]:
    """Findings as warnings: one per execution and kind, leaked keys first."""
    for id_, words in FINDINGS.items():
        for result in report.all_results:
            if found := findings_in_words(result, id_):
                yield Problem(
                    message=f"{case_name(result)} on {runner_id(result)}: {words.message}: {found}",
                    location=place(result),
                    remedy=words.remedy,
                )


def retries(result: Result) -> int:
    """The number of retried sessions."""
    return sum(attempt.session > 1 for attempt in result.attempts)


def tallied(totals: Totals) -> list[tuple[Status, str]]:
    """``2 failed``, ``37 passed``, ``1 could not be judged``: what is red first, no zeros."""
    order = (*RED, Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED)
    return [(status, counted(totals.counts[status], *NOUNS[status])) for status in order if totals.counts[status]]


def tally(totals: Totals) -> str:
    """The counts in one phrase."""
    return ", ".join(words for _, words in tallied(totals)) or "nothing ran"


def telling_reasons(report: RunReport, totals: Totals) -> Iterator[str]:
    """Reasons of the decision that do not repeat the counts. ``totals``: of ``report``."""
    shown = {f"{count} {status}" for status, count in totals.counts.items()}
    shown.add(f"{totals.counts[Status.ERRORED]} of {totals.executions} could not be judged")
    yield from (reason for reason in (report.decision.reasons if report.decision else ()) if reason not in shown)


def verdict(report: RunReport) -> Verdict:
    """The gate's verdict, or before the gate what the counts imply."""
    decision: Decision | None = report.decision
    if decision:
        return decision.verdict
    totals = report.totals()
    if totals.counts[Status.FAILED] or totals.counts[Status.UNEXPECTED_PASSED]:
        return "failed"
    return "inconclusive" if totals.counts[Status.ERRORED] or not totals.judged else "passed"


def headline(report: RunReport) -> str:
    """``passed``, ``incomplete, not gated``, ``failed, nothing compared``: the verdict in words."""
    uncompared = report.decision is not None and report.decision.uncompared
    before = "cancelled, " if report.cancelled else "incomplete, " if is_cut_off(report) else ""
    return f"{before}{VERDICTS[verdict(report)]}{', nothing compared' if uncompared else ''}"


def is_cut_off(report: RunReport) -> bool:
    """Whether results are missing that the run was to have, whatever is allowed to fail it.

    A run for which no case was selected was to have none.
    """
    lacks = bool(report.incomplete) and bool(report.all_results or report.missing_shards)
    return report.cancelled or lacks or any(map(is_over_budget, report.all_results))


def is_over_budget(result: Result) -> bool:
    """Whether an execution was not started since the run's budget was spent, or may have been."""
    return result.status is Status.SKIPPED and result.judgement.origin == "budget"
