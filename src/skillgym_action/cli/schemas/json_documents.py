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
    """Version of the schema of this document."""
    exit_code: int
    """Exit code of the command."""


class ProblemPart(JsonPart):
    """A mistake: what, where, and what to do about it."""

    severity: Literal["error", "warning"] = "error"
    """Whether the problem is an error, or a warning that does not change the exit code."""
    message: str
    """Description of the problem."""
    path: str | None = None
    """Path of the file that contains the problem; null if the problem is not in a file."""
    line: int | None = None
    """Line number in the file, counted from 1; null if unknown."""
    column: int | None = None
    """Column number in the line, counted from 1; null if unknown."""
    key_path: str | None = None
    """Path of the key in the file, such as cases[2].expect[0]; null if the problem is not about a key."""
    remedy: str | None = None
    """How to solve the problem; null if there is no advice besides the message."""


class ErrorDocument(JsonDocument):
    """Printed in place of the command's own document if the command could not be executed."""

    errors: list[ProblemPart]
    """Reasons why the command could not be executed; at least one."""


class FoundSuitePart(JsonPart):
    """A suite file."""

    path: str
    """Path of the suite file, relative to the root of the repository."""
    format: str
    """Format of the suite."""
    loaded: bool
    """Whether the suite file could be loaded."""
    cases: int
    """Number of cases that can be used."""
    unusable: int
    """Number of cases that cannot be used."""


class SkippedFilePart(JsonPart):
    """A file that is called or written like a suite and is not run."""

    path: str
    """Path of the file, relative to the root of the repository."""
    reason: str
    """Reason why the file does not run."""


class CheckDocument(JsonDocument):
    """``check``."""

    suites: list[FoundSuitePart]
    """Suite files that were found."""
    skipped: list[SkippedFilePart]
    """Files that have the name or the content of a suite but do not run."""
    not_searched: int
    """Number of files without the name of a suite that were not searched because there are too many."""
    runners: int
    """Number of runners, both those in the configuration and those in suites."""
    problems: list[ProblemPart]
    """Problems that were found: first errors, then warnings."""


class ExpectedPart(JsonPart):
    """What an execution will take, from stored runs."""

    repetitions: int
    """Number of repetitions in the plan."""
    sessions: float
    """Expected number of sessions: the repetitions and the expected retries."""
    cost_usd: float | None
    """Expected cost of all sessions in US dollars; null if unknown."""
    duration_ms: int | None
    """Expected total time of all sessions in milliseconds, if they run one after the other; null if unknown."""
    stored_runs: int
    """Number of stored runs from which the values are estimated; 0 if no stored run contains this execution."""
    same_key: bool | None
    """Whether the stored sessions had the same prompt, assertions, workspace, agent, model and arm; null if no stored
    run contains this execution."""


class ListedExecutionPart(JsonPart):
    """An execution of the plan."""

    suite: str
    """Path of the suite."""
    format: str
    """Format of the suite."""
    case: str
    """Id of the case."""
    runner: str
    """Id of the runner."""
    arm: str | None
    """Name of the arm; null if the execution has no arm."""
    tags: list[str]
    """Tags of the case."""
    timeout: float
    """Time limit of a session in seconds."""
    budget: float | None
    """Maximum cost of a session in US dollars; null if there is no limit."""
    model: str | None
    """Model with which the runner is started; null for the default model of the agent."""
    title: str | None
    """Title of the case; null if the case has none."""
    skills: list[str]
    """Names of the skills under test."""
    assertions: int
    """Number of outcomes of a session."""
    questions: int
    """Number of assertions that need a judge."""
    expected: ExpectedPart | None
    """Expected cost and time of the execution; null if --cost was not specified, or the store cannot be used."""


class ExpectedIntervalPart(JsonPart):
    """Where a total is expected, from ``storedRuns`` runs. ``level`` is null for their minimum and maximum."""

    low: float
    """Lower bound of the total."""
    high: float
    """Upper bound of the total."""
    level: float | None
    """0.95 for a 95% interval; null if the bounds are the minimum and the maximum of the stored runs."""
    stored_runs: int
    """Number of stored runs from which the interval was computed."""


class ExpectedTotalPart(JsonPart):
    """The total of what is known."""

    total: float
    """Sum of the known values."""
    interval: ExpectedIntervalPart | None
    """Interval in which the total is expected; null if unknown."""
    unknown: int
    """Number of executions whose value is unknown."""


class ExpectedDurationPart(ExpectedTotalPart):
    """The same of the wall time."""

    total: int
    least_possible: int
    """Lower bound of the time in milliseconds, for any order of the sessions."""


class ForecastPart(JsonPart):
    """What the plan will take, by the runs in the store ``source``."""

    source: str
    """Name of the store."""
    cost_usd: ExpectedTotalPart
    """Expected cost of all sessions in US dollars."""
    duration_ms: ExpectedDurationPart
    """Expected wall-clock time of the sessions in milliseconds, in the order of --schedule."""
    jobs: int
    """Number of sessions that run in parallel."""


class ListDocument(JsonDocument):
    """``list``."""

    executions: list[ListedExecutionPart]
    """Executions of the plan, in the order in which they would start."""
    forecast: ForecastPart | None
    """Expected cost and time; null if --cost was not specified, or the store cannot be used."""


class CaseFindingPart(JsonPart):
    """A case that is not as it should be."""

    suite: str
    """Path of the suite."""
    case: str
    """Id of the case."""
    finding: Literal[
        "measures-nothing", "fails-its-solution", "crashed", "broken-check", "not-judged", "undecided", "left-out"
    ]
    """What was found. measures-nothing: the case passes although the agent did nothing. fails-its-solution: the case
    fails with its reference solution. crashed: the check of the case raised an error that is no failed assertion,
    because the agent did nothing. broken-check: the check of the case raised an error that it raises whatever an agent
    does. not-judged: the case could not be judged. undecided: only the judge could decide. left-out: the case was not
    run."""
    message: str
    """Explanation of the finding."""


class CaseCheckDocument(JsonDocument):
    """``check --nop`` and ``check --oracle``."""

    stand_in: Literal["nop", "oracle"]
    """What replaced the agent: nop does nothing, oracle uses the reference solutions."""
    correct: int
    """Number of cases with the expected result."""
    cases: list[CaseFindingPart]
    """Cases without the expected result, and cases that were left out."""
    problems: list[ProblemPart]
    """Errors of suites and cases that cannot be used."""


class DoctorCheckPart(JsonPart):
    """One thing that ``doctor`` looked at."""

    subject: str
    """What was checked, such as a program or an agent."""
    state: Literal["fine", "note", "warning", "problem"]
    """Result of the check; only a problem changes the exit code."""
    text: str
    """Description of what the check found."""
    remedy: str | None = None
    """What to do about the finding; null if there is nothing to do."""


class DoctorDocument(JsonDocument):
    """``doctor``."""

    checks: list[DoctorCheckPart]
    """All checks, in the order in which they are printed without --json."""


class ExecutionPart(JsonPart):
    """A case on a runner."""

    suite: str
    """Path of the suite."""
    case: str
    """Id of the case."""
    runner: str | None
    """Id of the runner; null if the suite or the case is invalid."""


class SampledPart(JsonPart):
    """How many sessions passed."""

    passed: int
    """Number of judged sessions that passed."""
    judged: int
    """Number of judged sessions."""


class ChangedPart(ExecutionPart):
    """An execution that was judged in both runs."""

    before: SampledPart
    """Counts of passed and judged sessions of the execution in the base run."""
    after: SampledPart
    """Counts of passed and judged sessions of the execution in the head run."""


class IntervalPart(JsonPart):
    """A 95% interval, from 0 to 1."""

    low: float
    """Lower bound of the 95% interval of a rate or of a difference between two rates."""
    high: float
    """Upper bound of the 95% interval of a rate or of a difference between two rates."""


class SidePart(JsonPart):
    """One of two runs, or one runner of it."""

    executions: int
    """Number of executions."""
    judged: int
    """Number of executions that were judged: those that are neither errored nor skipped."""
    pass_rate: float | None
    """Mean over cases of the share of judged sessions that passed, from 0 to 1; null if nothing was judged."""
    same_cases: IntervalPart | None
    """Interval of the pass rate of these cases; null if nothing was judged."""
    cases_like_these: IntervalPart | None
    """Interval of the pass rate for other cases of this kind; null for fewer than 5 cases."""
    cost_usd: float | None
    """Known part of the cost in US dollars; null if no cost is known."""
    cost_complete: bool
    """Whether costUsd is the whole cost."""
    tokens: int | None
    """Input, output and reasoning tokens, without cached tokens; null if unknown."""
    duration_ms: int
    """Sum of the durations of the executions in milliseconds."""


class RunSidePart(SidePart):
    """One of the two runs."""

    id: str
    """Id of the run: the name of its run directory."""
    commit: str | None
    """SHA of the checked-out commit; null if unknown."""
    started_at: str
    """Start time of the run, in ISO 8601, UTC."""
    flaky: list[ExecutionPart]
    """Flaky executions of the run."""


class RunnerSidesPart(JsonPart):
    """A runner in both runs."""

    id: str
    """Id of the runner."""
    base: SidePart
    """Totals of the runner in the base run."""
    head: SidePart
    """Totals of the runner in the head run."""


class RateChangePart(JsonPart):
    """Rates over the executions that were judged both times."""

    pairs: int
    """Number of compared pairs. A pair is an execution that was judged in both runs."""
    before: float
    """Mean pass rate of the pairs in the base run, from 0 to 1."""
    after: float
    """Mean pass rate of the pairs in the head run, from 0 to 1."""
    p: float
    """P-value of the statistical test over all pairs together, from 0 to 1."""
    drop_at_most: float
    """Upper bound of the decrease of the mean pass rate, with 95% confidence."""


class DecisionPart(JsonPart):
    """What ``--fail-on`` and the like decided."""

    verdict: Verdict
    """Result of --fail-on and the other conditions. not-gated: no condition was applied that can fail the
    comparison."""
    reasons: list[str]
    """Reasons for the verdict, one sentence each."""


class ComparisonDocument(JsonDocument):
    """``compare``."""

    verdict: Literal["regression", "inconclusive", "no-regression-shown"]
    """Result of the comparison."""
    reason: str
    """Reason for the result, as a sentence."""
    decision: DecisionPart
    """The decision that follows from the conditions, such as --fail-on."""
    base: RunSidePart
    """The run with which the head run is compared."""
    head: RunSidePart
    """The run that is compared with the base run."""
    runners: list[RunnerSidesPart]
    """Totals of each runner in both runs."""
    rate: RateChangePart | None
    """Change of the pass rate; null if no execution was judged in both runs."""
    coverage: float
    """Of the sessions that the head run planned for the executions of the base run, the share that was judged, from 0
    to 1."""
    differences: list[str]
    """Differences between the two runs apart from their results, such as a different model; one sentence each."""
    newly_failing: list[ChangedPart]
    """Executions that the statistical tests report as newly failing."""
    fixed: list[ChangedPart]
    """Executions that the statistical tests report as fixed."""
    changed: list[ChangedPart]
    """Executions whose share of passed sessions differs, possibly by chance."""
    no_longer_judged: list[ExecutionPart]
    """Executions that were judged in the base run, but not in the head run."""
    redefined: list[ExecutionPart]
    """Executions that were not compared because their prompt, assertions or expected result differ between the runs."""
    added: list[ExecutionPart]
    """Executions that are only in the head run."""
    removed: list[ExecutionPart]
    """Executions that are only in the base run."""


class TrendChangePart(JsonPart):
    """What changed between two runs."""

    what: str
    """What changed, such as the model, the CLI version or the prompt."""
    before: str | None
    """Name or digest before the change; null if digests of several cases changed."""
    after: str | None
    """Name or digest after the change; null if digests of several cases changed."""
    cases: int
    """Number of cases affected by the change."""


class TrendMarkPart(JsonPart):
    """A change of conditions."""

    at: str
    """Start time of the first run after the change, in ISO 8601, UTC."""
    commit: str
    """SHA of the commit of this run."""
    changes: list[TrendChangePart]
    """What changed before this run."""


class TrendPointPart(JsonPart):
    """The results of several runs."""

    first: str
    """Start time of the first run of the point, in ISO 8601, UTC."""
    last: str
    """Start time of the last run of the point, in ISO 8601, UTC."""
    runs: int
    """Number of runs whose results the point combines."""
    commit: str
    """SHA of the commit of the last run."""
    run: str | None
    """URL of the last run; null if unknown."""
    cases: int
    """Number of cases over which passRate is a mean."""
    passed: int
    """Number of judged sessions that passed."""
    judged: int
    """Number of judged sessions."""
    pass_rate: float | None
    """Mean over cases of the share of judged sessions that passed, from 0 to 1; null if no case is included."""
    interval: IntervalPart | None
    """Interval of passRate for these cases, not for others; null if passRate is null."""
    cost_usd: float | None
    """Mean cost of the sessions whose cost is known, in US dollars; null if no cost is known."""
    cost_complete: bool
    """Whether the cost of all sessions is known."""
    duration_ms: int
    """Mean duration of a session in milliseconds."""


class TrendLinePart(JsonPart):
    """Points and changes, the oldest first."""

    points: list[TrendPointPart]
    """Points of the line, the oldest first."""
    changes: list[TrendMarkPart]
    """Known changes of the inputs, such as another model, the oldest first."""
    since_change: TrendPointPart
    """All results after the newest change, combined in one point."""
    points_left_out: int
    """Number of older points that are not listed."""
    changes_left_out: int
    """Number of older changes that are not listed."""


class TrendGroupPart(TrendLinePart):
    """All cases of a suite on a runner; of all suites if ``suite`` is null."""

    suite: str | None
    """Path of the suite; null for all suites together."""
    runner: str
    """Id of the runner."""


class TrendExecutionPart(TrendLinePart):
    """A case on a runner."""

    suite: str
    """Path of the suite."""
    case: str
    """Id of the case."""
    runner: str
    """Id of the runner."""
    expected_fail: bool
    """Whether the case is expected to fail in the newest run."""
    quarantined: str | None
    """Last day of the quarantine of the execution, in UTC; null if it is not in quarantine."""


class TrendDifferencePart(JsonPart):
    """A case on a runner in the earlier and the later half of the runs. It is no test."""

    suite: str
    """Path of the suite."""
    case: str
    """Id of the case."""
    runner: str
    """Id of the runner."""
    earlier: SampledPart
    """Counts of passed and judged sessions of the execution in the earlier half of the runs."""
    later: SampledPart
    """Counts of passed and judged sessions of the execution in the later half of the runs."""
    difference: float
    """Pass rate in the later half minus pass rate in the earlier half, from -1 to 1."""
    interval: IntervalPart
    """Interval of the difference, from -1 to 1."""
    changed: list[str]
    """Known changes during the runs; they are not necessarily the cause of the difference."""


class TrendDocument(JsonDocument):
    """``trend``."""

    store: str
    """The store that was read."""
    branch: str | None
    """Branch whose runs are shown; null if unknown."""
    runs: int
    """Number of runs that are shown."""
    first: str
    """Start time of the first run, in ISO 8601, UTC."""
    last: str
    """Start time of the last run, in ISO 8601, UTC."""
    middle: str
    """Start time of the first run in the later half of the runs, in ISO 8601, UTC."""
    period: int
    """Number of days whose runs are combined in one point; 0 if each run is a point of its own."""
    older: bool
    """Whether the store contains older runs that are not shown."""
    other_branches: int
    """Number of runs of other branches, which are not shown."""
    executions_left_out: int
    """Number of executions that are not shown because there are too many."""
    page: str | None
    """Path of the HTML page that was written; null if no page was written."""
    runners: list[TrendGroupPart]
    """One line for each runner, over all suites."""
    suites: list[TrendGroupPart]
    """One line for each suite on each runner."""
    executions: list[TrendExecutionPart]
    """One line for each case on each runner."""
    differences: list[TrendDifferencePart]
    """The executions that differ most between the earlier and the later half of the runs."""


class HistoryPart(ExecutionPart):
    """The sessions of an execution in the store."""

    passed: int
    """Number of judged sessions that passed."""
    judged: int
    """Number of judged sessions in the store, from runs with the same inputs as the newest run."""
    runs: int
    """Number of runs that contain these sessions."""
    first_day: str
    """Day of the first of these runs, in UTC."""
    last_day: str
    """Day of the last of these runs, in UTC."""
    pass_rate: IntervalPart | None
    """Interval of the pass rate; null for fewer than 5 sessions."""


class EntryPart(JsonPart):
    """An entry of the quarantine file. ``owner`` is null unless one was named; the file needs one."""

    suite: str
    """Pattern that matches the path of the suite."""
    case: str
    """Pattern that matches the id of the case."""
    runner: str
    """Pattern that matches the id of the runner."""
    reason: str
    """Reason for the quarantine."""
    owner: str | None
    """Person or team that has to fix the case; null if --owner was not specified. The quarantine file requires an
    owner."""
    issue: str | None = None
    """URL of the issue about the case."""
    expires: str
    """Last day of the quarantine, in UTC."""


class SuggestionPart(HistoryPart):
    """A flaky execution, and the entry that puts it into quarantine."""

    entry: EntryPart
    """Entry for the quarantine file."""


class NotProposedPart(HistoryPart):
    """An execution whose sessions differ, and why it is not proposed."""

    why: Literal["changed", "too-few", "no-pattern"]
    """Why the execution is not proposed. changed: its inputs changed between its sessions. too-few: it has too few
    sessions or runs. no-pattern: no pattern in the quarantine file can match only this execution."""


class SuggestDocument(JsonDocument):
    """``quarantine suggest``."""

    runs: int
    """Number of runs in the store."""
    executions: int
    """Number of executions in these runs."""
    quarantined: int
    """Number of executions that are already in quarantine."""
    suggestions: list[SuggestionPart]
    """Flaky executions, each with the entry that puts it into quarantine."""
    not_proposed: list[NotProposedPart]
    """Executions whose sessions have different results but that are not proposed for quarantine."""


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
