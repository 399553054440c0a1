"""What commands print with ``--json``: one document each, whose schema ``skillgym-action schema`` prints.

``run``, ``rejudge`` and ``report`` print a results file.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from skillgym_action.model.report import Verdict  # noqa: TC001 -- pydantic looks it up
from skillgym_action.text.escaping import printed_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.errors import Problem
    from skillgym_action.text.redaction import Redactor


class JsonPart(BaseModel):
    """A part of a document. Keys are in camelCase; what is not known is null."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class JsonDocument(JsonPart):
    """A document; ``exitCode`` is that of the command."""

    version: Literal[1] = Field(default=1, alias="schema")
    exit_code: int


class ProblemPart(JsonPart):
    """A mistake: what, where, and what to do about it. ``line`` and ``column`` count from 1."""

    severity: Literal["error", "warning"] = "error"
    message: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    key_path: str | None = None
    remedy: str | None = None


class ErrorDocument(JsonDocument):
    """Printed in place of the command's own document if the command could not be executed."""

    errors: list[ProblemPart]


class FoundSuitePart(JsonPart):
    """A suite file. ``loaded``: whether any case of it can be used; ``unusable``: cases that cannot."""

    path: str
    format: str
    loaded: bool
    cases: int
    unusable: int


class SkippedFilePart(JsonPart):
    """A file that is called or written like a suite and is not run."""

    path: str
    reason: str


class CheckDocument(JsonDocument):
    """``check``. ``runners``: configured ones and those of suites. ``notSearched``: files left out of the search."""

    suites: list[FoundSuitePart]
    skipped: list[SkippedFilePart]
    not_searched: int
    runners: int
    problems: list[ProblemPart]


class ExpectedPart(JsonPart):
    """What an execution will take, from ``storedRuns`` runs; ``sessions`` are ``repetitions`` and expected retries.

    ``sameKey``: whether the stored sessions had the same prompt, assertions, workspace, agent, model and arm.
    """

    repetitions: int
    sessions: float
    cost_usd: float | None
    duration_ms: int | None
    stored_runs: int
    same_key: bool | None


class ListedExecutionPart(JsonPart):
    """An execution of the plan. ``timeout`` is in seconds, ``budget`` in US dollars."""

    suite: str
    format: str
    case: str
    runner: str
    arm: str | None
    tags: list[str]
    timeout: float
    budget: float | None
    model: str | None
    title: str | None
    skills: list[str]
    assertions: int
    questions: int
    expected: ExpectedPart | None


class ExpectedIntervalPart(JsonPart):
    """Where a total is expected, from ``storedRuns`` runs. ``level`` is null for their minimum and maximum."""

    low: float
    high: float
    level: float | None
    stored_runs: int


class ExpectedTotalPart(JsonPart):
    """The total of what is known. ``unknown``: the number of executions that are not in it."""

    total: float
    interval: ExpectedIntervalPart | None
    unknown: int


class ExpectedDurationPart(ExpectedTotalPart):
    """The same of the wall time; ``leastPossible``: in any order of the sessions."""

    total: int
    least_possible: int


class ForecastPart(JsonPart):
    """What the plan will take, by the runs in the store ``source``."""

    source: str
    cost_usd: ExpectedTotalPart
    duration_ms: ExpectedDurationPart
    jobs: int


class ListDocument(JsonDocument):
    """``list``. ``forecast`` and ``expected`` are null without ``--cost``, or if the store cannot be used."""

    executions: list[ListedExecutionPart]
    forecast: ForecastPart | None


class CaseFindingPart(JsonPart):
    """A case that is not as it should be.

    ``measures-nothing``: it passes although the agent did nothing. ``fails-its-solution``: it fails with its reference
    solution. ``crashed``: its check raised an error, no failed assertion, since the agent did nothing.
    ``broken-check``: its check raised an error that it raises whatever the agent does. ``not-judged``: it could not be
    judged. ``undecided``: only the judge could decide. ``left-out``: it was not tried.
    """

    suite: str
    case: str
    finding: Literal[
        "measures-nothing", "fails-its-solution", "crashed", "broken-check", "not-judged", "undecided", "left-out"
    ]
    message: str


class CaseCheckDocument(JsonDocument):
    """``check --nop`` and ``check --oracle``. ``correct``: the number of cases that are as they should be."""

    stand_in: Literal["nop", "oracle"]
    correct: int
    cases: list[CaseFindingPart]
    problems: list[ProblemPart]


class DoctorCheckPart(JsonPart):
    """One thing that ``doctor`` looked at."""

    subject: str
    state: Literal["fine", "note", "warning", "problem"]
    text: str
    remedy: str | None = None


class DoctorDocument(JsonDocument):
    """``doctor``."""

    checks: list[DoctorCheckPart]


class ExecutionPart(JsonPart):
    """A case on a runner; ``runner`` is null for a suite or a case that is invalid."""

    suite: str
    case: str
    runner: str | None


class SampledPart(JsonPart):
    """``passed`` of ``judged`` sessions."""

    passed: int
    judged: int


class ChangedPart(ExecutionPart):
    """An execution that was judged in both runs."""

    before: SampledPart
    after: SampledPart


class IntervalPart(JsonPart):
    """A 95% interval, from 0 to 1."""

    low: float
    high: float


class SidePart(JsonPart):
    """One of two runs, or one runner of it.

    ``passRate`` is the mean over cases; ``sameCases`` its interval if these cases were run again, ``casesLikeThese``
    for other cases. ``costUsd`` is the known part of the cost, all of it if ``costComplete``.
    """

    executions: int
    judged: int
    pass_rate: float | None
    same_cases: IntervalPart | None
    cases_like_these: IntervalPart | None
    cost_usd: float | None
    cost_complete: bool
    tokens: int | None
    duration_ms: int


class RunSidePart(SidePart):
    """One of the two runs."""

    id: str
    commit: str | None
    started_at: str
    flaky: list[ExecutionPart]


class RunnerSidesPart(JsonPart):
    """A runner in both runs."""

    id: str
    base: SidePart
    head: SidePart


class RateChangePart(JsonPart):
    """Rates over the ``pairs`` that were judged both times; ``p`` and ``dropAtMost`` as in results files."""

    pairs: int
    before: float
    after: float
    p: float
    drop_at_most: float


class DecisionPart(JsonPart):
    """What ``--fail-on`` and the like decided."""

    verdict: Verdict
    reasons: list[str]


class ComparisonDocument(JsonDocument):
    """``compare``. ``rate`` is null if nothing was judged in both runs. ``coverage``: the judged share of the baseline.

    ``newlyFailing`` and ``fixed`` are those that the tests name, ``changed`` those that may be chance.
    """

    verdict: Literal["regression", "inconclusive", "no-regression-shown"]
    reason: str
    decision: DecisionPart
    base: RunSidePart
    head: RunSidePart
    runners: list[RunnerSidesPart]
    rate: RateChangePart | None
    coverage: float
    differences: list[str]
    newly_failing: list[ChangedPart]
    fixed: list[ChangedPart]
    changed: list[ChangedPart]
    no_longer_judged: list[ExecutionPart]
    redefined: list[ExecutionPart]
    added: list[ExecutionPart]
    removed: list[ExecutionPart]


class TrendChangePart(JsonPart):
    """What changed, in ``cases`` cases: names or digests, null where digests of several cases changed."""

    what: str
    before: str | None
    after: str | None
    cases: int


class TrendMarkPart(JsonPart):
    """A change of conditions; ``at``: when the first run after it began."""

    at: str
    commit: str
    changes: list[TrendChangePart]


class TrendPointPart(JsonPart):
    """The results of ``runs`` runs; ``first`` and ``last``: when they began. ``commit`` and ``run`` are of the last.

    ``passRate`` is the mean over ``cases``, ``interval`` for the same cases again. ``costUsd`` and ``durationMs`` are
    means of a session, ``costUsd`` of those whose cost is known: all, if ``costComplete``.
    """

    first: str
    last: str
    runs: int
    commit: str
    run: str | None
    cases: int
    passed: int
    judged: int
    pass_rate: float | None
    interval: IntervalPart | None
    cost_usd: float | None
    cost_complete: bool
    duration_ms: int


class TrendLinePart(JsonPart):
    """Points and changes, the oldest first. ``sinceChange``: all results after the newest change as one point."""

    points: list[TrendPointPart]
    changes: list[TrendMarkPart]
    since_change: TrendPointPart
    points_left_out: int
    changes_left_out: int


class TrendGroupPart(TrendLinePart):
    """All cases of a suite on a runner; of all suites if ``suite`` is null."""

    suite: str | None
    runner: str


class TrendExecutionPart(TrendLinePart):
    """A case on a runner. ``quarantined``: until which day it is in quarantine."""

    suite: str
    case: str
    runner: str
    expected_fail: bool
    quarantined: str | None


class TrendDifferencePart(JsonPart):
    """A case on a runner in the earlier and the later half of the runs; ``difference``: later minus earlier.

    ``changed``: what is known to have changed meanwhile. It is no test.
    """

    suite: str
    case: str
    runner: str
    earlier: SampledPart
    later: SampledPart
    difference: float
    interval: IntervalPart
    changed: list[str]


class TrendDocument(JsonDocument):
    """``trend``. ``period``: days of which the runs are one point; 0: each run is one.

    ``runs``: how many there are. ``middle``: when the first run of the later half began. ``older``: whether the store
    has older runs. ``otherBranches``: runs of other branches, which are not shown.
    """

    store: str
    branch: str | None
    runs: int
    first: str
    last: str
    middle: str
    period: int
    older: bool
    other_branches: int
    executions_left_out: int
    page: str | None
    runners: list[TrendGroupPart]
    suites: list[TrendGroupPart]
    executions: list[TrendExecutionPart]
    differences: list[TrendDifferencePart]


class HistoryPart(ExecutionPart):
    """The sessions of an execution in the store: ``passed`` of ``judged``, with the interval of their rate.

    ``firstDay`` and ``lastDay``: of the runs that they are of, in UTC.
    """

    passed: int
    judged: int
    runs: int
    first_day: str
    last_day: str
    pass_rate: IntervalPart | None


class EntryPart(JsonPart):
    """An entry of the quarantine file. ``owner`` is null unless one was named; the file needs one."""

    suite: str
    case: str
    runner: str
    reason: str
    owner: str | None
    issue: str | None = None
    expires: str


class SuggestionPart(HistoryPart):
    """A flaky execution, and the entry that puts it into quarantine."""

    entry: EntryPart


class NotProposedPart(HistoryPart):
    """An execution whose sessions differ, and why it is not proposed."""

    why: Literal["changed", "too-few", "no-pattern"]


class SuggestDocument(JsonDocument):
    """``quarantine suggest``. ``quarantined``: executions that are in quarantine already."""

    runs: int
    executions: int
    quarantined: int
    suggestions: list[SuggestionPart]
    not_proposed: list[NotProposedPart]


DOCUMENTS: dict[str, type[JsonDocument]] = {
    "list": ListDocument,
    "check": CheckDocument,
    "check-cases": CaseCheckDocument,
    "doctor": DoctorDocument,
    "compare": ComparisonDocument,
    "trend": TrendDocument,
    "quarantine-suggest": SuggestDocument,
    "error": ErrorDocument,
}


def document_text(document: JsonDocument, redactor: Redactor) -> str:
    """A document as it is printed: redacted JSON in ASCII, since paths may have bytes that are not UTF-8."""
    return printed_json(redactor.text(json.dumps(document.model_dump(mode="json", by_alias=True), indent=2)))


def print_document(document: JsonDocument, redactor: Redactor) -> None:
    """Print a document on standard output, redacted."""
    print(document_text(document, redactor))  # noqa: T201


def problem_parts(problems: Iterable[Problem], severity: Literal["error", "warning"] = "error") -> list[ProblemPart]:
    """Problems as parts of a document."""
    parts = []
    for problem in problems:
        place = problem.location
        where: dict[str, Any] = {"path": place.path, "line": place.line, "column": place.column} if place else {}
        parts.append(
            ProblemPart(
                severity=severity,
                message=problem.message,
                key_path=problem.key_path,
                remedy=problem.remedy,
                **where,
            )
        )
    return parts
