"""Texts that all reporters share: numbers, locations, causes, the verdict. Nothing is escaped yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.result import FINDINGS, deciding, findings_of_kind, format_score, format_scores
from skillgym_action.model.verdicts import (
    ASSERTION_FAILURE,
    NOT_BY_ASSERTIONS,
    RED,
    TROUBLES,
    UNEXPECTED_PASS,
    UNKNOWN_COST,
    Status,
)
from skillgym_action.text.escaping import clipped, terminal_line
from skillgym_action.text.words import counted, duration, listed, money

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.judgement import Judgement
    from skillgym_action.model.report import Decision, RunReport, SuitesFrom, Verdict
    from skillgym_action.model.result import Finding, FindingId, Result
    from skillgym_action.model.suite import SuiteChange
    from skillgym_action.model.totals import Totals

OF_COMPARISON = "comparison with the baseline: "  # begins a reason of the decision
NOT_COMPARED = "there is no baseline yet, so nothing was compared"
CHECK_OUT_BASE = "check out the base branch in this job, before the results are downloaded"
CHANGES: dict[SuiteChange, str] = {"differs": "differs from the base's", "added": "is not in the base"}
QUESTION = "question"  # the type of outcomes of questions that the judge decides one by one
NOUNS = {
    Status.PASSED: ("passed", "passed"),
    Status.FAILED: ("failed", "failed"),
    Status.EXPECTED_FAILED: ("marked as failing", "marked as failing"),
    Status.UNEXPECTED_PASSED: ("unexpected pass", "unexpected passes"),
    Status.ERRORED: ("without a result", "without a result"),
    Status.SKIPPED: ("skipped", "skipped"),
}


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
    names = listed([f"{suite.path} ({CHANGES[suite.changed]})" for suite in changed if suite.changed])
    return f"{number} changed by this commit, not judged by the base's: {names}"


def cost(result: Result) -> str:
    """What one execution cost."""
    return money(result.cost.usd, complete=result.cost.usd is not None or not result.attempts)


def total_cost(report: RunReport, totals: Totals) -> str:
    """What a run cost; sessions that a plan pays for are counted at list prices."""
    plans = [runner.agent.account.billing == "plan" for runner in report.runners]
    where = f", {'' if all(plans) else 'partly '}at list prices on your plan" if any(plans) else ""
    return f"{money(totals.cost_usd, complete=totals.cost_complete)}{where}"


@record
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
    if result.reused:
        message = f"reused from {result.reused.commit[:COMMIT_CHARACTERS]}: {message or judgement.status}"
    return Cause(
        label=_label(judgement),
        message=message or "no reason given",
        assertion=broken.assertion if broken and judgement.score is None else None,
        evidence=broken.evidence if broken else None,
        location=(failure.location if failure else None) or location_of(result),
    )


def suite_class(result: Result) -> str | None:
    """The id of the failure class that the suite gave; None: the class is the tool's own, or there is none."""
    found = result.judgement.failure_class
    own = (ASSERTION_FAILURE.id, UNEXPECTED_PASS.id, UNKNOWN_COST.id)
    return found.id if found and found.id not in TROUBLES and found.id not in own else None


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
    if judgement.threshold is None:
        return f"score {format_score(judgement.score)}"
    score, threshold = format_scores(judgement.score, judgement.threshold)
    return f"score {score} of {threshold}"


def location_of(result: Result) -> Location:
    """Where the case is defined; the suite file if the line is unknown."""
    return result.location or Location(path=result.suite.path)


TITLE = 120  # characters


def case_name(result: Result) -> str:
    """The case's id, and its title if it has another one: ``7 (Merges two files)``."""
    if not result.title or result.title == result.case_id:
        return result.case_id
    return f"{result.case_id} ({clipped(result.title, TITLE)})"


def time_taken(result: Result) -> str:
    """How long a session took in the mean; ``reused`` for a result that was not run."""
    return "reused" if result.reused else duration(result.duration_ms)


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
    return ", ".join(f"{finding.kind} in {finding.where}" for finding in findings_of_kind(result.findings, id_))


def finding_problems(report: RunReport) -> Iterator[Problem]:
    """Findings that are not about the environment, as warnings: one per execution and kind, leaked keys first."""
    for id_, kind in FINDINGS.items():
        for result in report.all_results if not kind.of_environment else ():
            if found := findings_in_words(result, id_):
                yield Problem(
                    message=f"{case_name(result)} on {runner_id(result)}: {kind.sentence.format(found)}",
                    location=location_of(result),
                    remedy=kind.remedy,
                )


def finding_sentence(finding: Finding) -> str:
    """What a finding says, and where: ``A key was leaked: github in stdout.log``."""
    text = finding.sentence
    return f"{text[0].upper()}{text[1:]} in {finding.where}"


def environment_warnings(result: Result) -> Iterator[str]:
    """Lines for a terminal about the environment of a result's sessions."""
    for finding in result.findings:
        if FINDINGS[finding.id].of_environment:
            yield terminal_line(f"warning: {runner_id(result)}: {finding.sentence}")


def environment_problems(results: Iterable[Result]) -> Iterator[Problem]:
    """A warning for each runner and finding about the environment, with the number of executions."""
    found: dict[tuple[FindingId, str, str], list[Result]] = {}
    for result in results:
        for finding in dict.fromkeys(result.findings):
            if FINDINGS[finding.id].of_environment:
                key = (finding.id, runner_id(result), finding.sentence)
                found.setdefault(key, []).append(result)
    for (id_, runner, sentence), several in found.items():
        number = counted(len({result.index for result in several}), "execution")
        yield Problem(
            message=f"{runner}: {sentence} ({number})", location=location_of(several[0]), remedy=FINDINGS[id_].remedy
        )


def retries(result: Result) -> int:
    """The number of retried sessions."""
    return sum(attempt.session > 1 for attempt in result.attempts)


def counts_by_status(totals: Totals) -> list[tuple[Status, str]]:
    """``2 failed``, ``37 passed``, ``1 could not be judged``: what is red first, no zeros."""
    order = (*RED, Status.PASSED, Status.EXPECTED_FAILED, Status.SKIPPED)
    return [(status, counted(totals.counts[status], *NOUNS[status])) for status in order if totals.counts[status]]


def further_reasons(report: RunReport, totals: Totals) -> Iterator[str]:
    """Reasons of the decision that repeat neither the counts nor the comparison. ``totals``: of ``report``."""
    from skillgym_action.results.statistics.comparison import regressions

    shown = {f"{count} {status}" for status, count in totals.counts.items()}
    shown |= {f"{totals.counts[Status.ERRORED]} of {totals.executions} have no result", NOT_COMPARED}
    shown |= {*regressions(report.comparison)} if report.comparison else set()
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


def is_unverified(report: RunReport) -> bool:
    """Whether the results are those of an untrusted contributor, which are only shown."""
    return report.decision is not None and report.decision.verdict == "unverified"


def is_cut_off(report: RunReport) -> bool:
    """Whether results are missing that the run was to have, whatever is allowed to fail it.

    A run for which no case was selected was to have none.
    """
    lacks = bool(report.incomplete) and bool(report.all_results or report.missing_shards)
    return report.cancelled or lacks or any(map(is_over_budget, report.all_results))


def is_over_budget(result: Result) -> bool:
    """Whether an execution was not started since the run's budget was spent, or may have been."""
    return result.status is Status.SKIPPED and result.judgement.origin == "budget"
