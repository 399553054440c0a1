"""The run in a results file, with rates, samples, the comparison with a baseline, the comparison of arms.

Rates and comparisons are computed when a file is written, and none of them is believed when one is read.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from skillgym_action.model.comparison import samples_of
from skillgym_action.model.execution import SelectionSummary
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.model.plugin_table import PlugIn
from skillgym_action.model.report import AttemptShare, LimitSettings, RunReport, SuitesFrom, Verdict
from skillgym_action.model.shard_plan import WholePlan
from skillgym_action.results.adaptive_schema import AdaptiveEntry
from skillgym_action.results.mapping import (
    COMMIT,
    DIGEST,
    NAME,
    SHARD,
    AttemptNumber,
    Count,
    FieldSource,
    Id,
    MappedModel,
    Path,
    Rate,
    Seconds,
    Several,
    Text,
    Time,
    Usd,
)
from skillgym_action.results.statistics.comparison import difference
from skillgym_action.results.statistics.rates import MIN_CASES, population_rate, same_cases_rate, trigger_rates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.comparison import Samples
    from skillgym_action.model.result import Result
    from skillgym_action.model.totals import Totals
    from skillgym_action.results.statistics.rates import TriggerRates

_OneOrMore = Annotated[int, Field(ge=1, le=10**9)]

FIRST, SECOND = FieldSource(compute=itemgetter(0)), FieldSource(compute=itemgetter(1))
"""Of an interval."""


class IntervalEntry(MappedModel):
    """An interval that has the true value with 95% confidence."""

    low: Annotated[Rate, FIRST]
    """Lower bound of the interval."""
    high: Annotated[Rate, SECOND]
    """Upper bound of the interval."""


def _like_these(totals: Totals) -> tuple[float, float] | None:
    return population_rate(totals.cases).interval if len(totals.cases) >= MIN_CASES else None


class RateEntry(MappedModel):
    """What ``passRate`` is a mean over, and its 95% intervals (Wilson)."""

    cases: Annotated[Count, FieldSource(convert=len)]
    """Number of cases with judged sessions."""
    unjudged_cases: Count
    """Number of cases without judged sessions, except cases whose executions were all skipped."""
    sessions: Annotated[Count, FieldSource(compute=lambda totals: sum(case.judged for case in totals.cases))]
    """Number of judged sessions of all cases together, without retries after a failure and without sessions of skipped
    executions."""
    cases_like_these: Annotated[IntervalEntry | None, FieldSource(compute=_like_these)]
    """95% interval of the pass rate for other cases of this kind; null for fewer than {MIN_CASES} cases."""
    same_cases: Annotated[IntervalEntry, FieldSource(compute=lambda totals: same_cases_rate(totals.cases).interval)]
    """95% interval of the pass rate of these cases; it does not apply to other cases."""


class SamplesEntry(MappedModel):
    """How many judged sessions of an execution passed; retries after a failure are no samples."""

    passed: Count
    """Number of judged sessions that passed, without retries after a failure."""
    judged: Count
    """Number of judged sessions, without retries after a failure."""


def _of_rate(name: str) -> FieldSource:
    return FieldSource(compute=lambda comparison: getattr(comparison.rate, name, None))


class RegressionEntry(MappedModel):
    """The comparison with a baseline, not read again. Rates are means over ``pairs``, each a case on a runner."""

    base_id: Id
    """Id of the run that is the baseline."""
    base_commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    """SHA of the commit of the baseline."""
    verdict: Literal["regression", "inconclusive", "no-regression-shown"]
    """Result of the comparison."""
    reason: Text = ""
    """Reason for the result, as a sentence."""
    pairs: Annotated[Count, FieldSource(compute=lambda found: found.rate.pairs if found.rate else 0)]
    """Number of compared pairs. A pair is an execution that was judged in both runs."""
    before: Annotated[Rate | None, _of_rate("before")]
    """Mean pass rate of the pairs in the baseline; null if there are no pairs."""
    after: Annotated[Rate | None, _of_rate("after")]
    """Mean pass rate of the pairs in this run; null if there are no pairs."""
    p: Annotated[Rate | None, _of_rate("p")]
    """P-value of the statistical test over all pairs together; null if there are no pairs."""
    drop_at_most: Annotated[Rate | None, _of_rate("drop_at_most")]
    """Upper bound of the decrease of the mean pass rate, with 95% confidence; null if there are no pairs."""
    coverage: Annotated[Rate, FieldSource(attribute="coverage.share")]
    """Of the sessions that the run planned for executions that are in the baseline, the share that was judged."""
    newly_failing: Annotated[Count, FieldSource(convert=len)]
    """Number of executions that the statistical tests report as newly failing."""
    fixed: Annotated[Count, FieldSource(convert=len)]
    """Number of executions that the statistical tests report as fixed."""
    changed: Annotated[Count, FieldSource(convert=len)]
    """Number of other executions whose share of passed sessions has changed, possibly by chance."""
    no_longer_judged: Annotated[Count, FieldSource(convert=len)]
    """Number of executions that were judged in the baseline, but could not be judged in this run."""
    redefined: Annotated[Count, FieldSource(convert=len)]
    """Number of executions that were not compared because their prompt, assertions or expected result differ from those
    in the baseline."""
    added: Annotated[Count, FieldSource(convert=len)]
    """Number of executions that are only in this run."""
    removed: Annotated[Count, FieldSource(convert=len)]
    """Number of executions that are only in the baseline."""
    reused: Count = 0
    """Number of results that were not compared because they were reused from earlier runs."""
    differences: Annotated[Several[Text], FieldSource(convert=lambda found: tuple(map(difference, found)))] = ()
    """Differences between the two runs apart from their results, such as a different model; one sentence each."""


def rate_of(totals: Totals) -> Totals | None:
    """What ``RateEntry`` is made of; None when nothing was judged."""
    return totals if totals.cases else None


def several_samples(result: Result) -> Samples | None:
    """The samples of an execution; None unless there are several."""
    samples = samples_of(result)
    return samples if samples.judged > 1 else None


Points = Annotated[float, Field(ge=-100, le=100)]
Sum = Annotated[float, Field(ge=0, le=10**15)]


class PointsInterval(MappedModel):
    """An interval that has the true uplift with 95% confidence, in percentage points."""

    low: Annotated[Points, FIRST]
    """Lower bound of the interval, in percentage points."""
    high: Annotated[Points, SECOND]
    """Upper bound of the interval, in percentage points."""


class SpentEntry(MappedModel):
    """A sum over the compared cases in both arms, and the deciding one as a multiple of the other; null: unknown."""

    deciding: Sum | None
    """Sum over the compared cases in the deciding arm; null if unknown."""
    other: Sum | None
    """Sum over the compared cases in the other arm; null if unknown."""
    ratio: Sum | None
    """The sum in the deciding arm divided by the sum in the other arm; null if one of the sums is unknown or the sum in
    the other arm is 0."""


class ArmCaseEntry(MappedModel):
    """A case that was judged in both arms: the share of its assertions that hold, a mean over sessions."""

    case_id: Id
    """Id of the case, unique in its suite."""
    deciding: Rate
    """Share of the case's assertions that passed in the deciding arm, as a mean over sessions."""
    other: Rate
    """Share of the case's assertions that passed in the other arm, as a mean over sessions."""


class ArmAssertionEntry(MappedModel):
    """An assertion of a case."""

    case_id: Id
    """Id of the case, unique in its suite."""
    assertion: Text
    """Name of the assertion."""


class UpliftEntry(MappedModel):
    """The deciding arm of a suite compared with another one, on one runner; not read again."""

    suite: Text
    """Path of the suite."""
    runner_id: Annotated[Id, FieldSource(attribute="runner")]
    """Id of the runner, as configured."""
    arm: Id
    """Name of the deciding arm."""
    other: Id
    """Name of the arm with which the deciding arm is compared."""
    verdict: Literal["helps", "hurts", "no-difference-shown", "too-few-cases", "nothing-compared"]
    """What the comparison shows about the deciding arm."""
    share: Rate | None
    """Share of assertions that passed in the deciding arm, as a mean over cases; null if no cases were compared."""
    other_share: Rate | None
    """Share of assertions that passed in the other arm, as a mean over cases; null if no cases were compared."""
    points: Points | None
    """`share` minus `otherShare`, in percentage points; null if no cases were compared."""
    interval: PointsInterval | None
    """95% interval of `points`; null if fewer than {MIN_CASES} cases were compared."""
    complete: Annotated[bool, FieldSource(attribute="is_complete")]
    """Whether all cases that run in both arms were judged in both arms."""
    fixed: Several[Id]
    """Ids of cases that passed in the deciding arm and failed in the other arm."""
    newly_failing: Several[Id]
    """Ids of cases that failed in the deciding arm and passed in the other arm."""
    cost_usd: SpentEntry
    """Cost of the compared cases in US dollars."""
    tokens: SpentEntry
    """Tokens of the compared cases."""
    duration_ms: SpentEntry
    """Time of the compared cases in milliseconds."""
    cases: Several[ArmCaseEntry]
    """The compared cases, each with its shares of passed assertions."""
    unjudged: Several[Id]
    """Ids of cases that run in both arms, but were not judged in one of the arms or in both. The comparison is complete
    only if this list is empty."""
    uncompared: Several[Id]
    """Ids of cases that run only in the deciding arm."""
    in_both: Several[ArmAssertionEntry]
    """Assertions that passed in all sessions of both arms."""
    in_none: Several[ArmAssertionEntry]
    """Assertions that failed in all sessions of both arms."""


# --- the run ---------------------------------------------------------------------------------------


class DecisionEntry(MappedModel):
    """Green or red, and why in words."""

    verdict: Verdict | None = None
    """Verdict of the run. `not-gated`: no condition that can fail the run was applied. `unverified`: the results are
    those of an untrusted commit, and were only [shown](../how-to/public-repositories.md). Absent in files of earlier
    versions of the tool."""
    passed: bool
    """Whether the exit code is 0; also true if the verdict is `not-gated`, and false if it is `unverified`."""
    exit_code: Annotated[int, Field(ge=0, le=255)]
    """Exit code of the command."""
    reasons: Several[Text]
    """Reasons for the verdict, one sentence each."""


class SuitesFromEntry(MappedModel):
    """The folder that suites and the configuration were read from, such as a checkout of the base commit."""

    noun: ClassVar = SuitesFrom

    folder: Id
    """Path of the folder, as specified on the command line."""
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    """SHA of the commit that the folder contains, if it is known."""
    added: Several[Path] = ()
    """Paths of suites that exist only in the checkout. These suites did not run."""
    changed: Several[Path] = ()
    """Paths of suites that differ between the folder and the checkout. The versions in the folder ran."""
    removed: Several[Path] = ()
    """Paths of suites that exist only in the folder. These suites ran."""
    configuration_differs: Annotated[bool, FieldSource(always=True)] = False
    """Whether the configuration in the folder differs from that in the checkout."""


class LimitsEntry(MappedModel):
    """Limits of all sessions, and what exceeding them means."""

    noun: ClassVar = LimitSettings

    default_timeout: Seconds
    """Time limit, in seconds, of a session for which no suite, case or runner sets a time limit."""
    timeout: Seconds | None = None
    """Time limit of a session, in seconds, if one was set for all sessions."""
    max_steps: Annotated[int, Field(ge=1, le=10**9)] | None = None
    """Maximum number of model rounds of a session, if one was set for all sessions."""
    on_limit: Annotated[Literal["failed", "errored"], FieldSource(always=True)] = "failed"
    """Status of a session that exceeds its limit of time, steps or cost."""


class TokensEntry(MappedModel):
    """Tokens on one scale for all agents; null is unknown."""

    input: Annotated[Count | None, FieldSource(attribute="input_tokens")]
    """Input tokens, including cached tokens; null if unknown."""
    output: Annotated[Count | None, FieldSource(attribute="output_tokens")]
    """Output tokens without reasoning tokens; null if unknown."""
    reasoning: Annotated[Count | None, FieldSource(attribute="reasoning_tokens")]
    """Reasoning tokens; null if unknown."""
    cache: Annotated[Count | None, FieldSource(attribute="cache_tokens")]
    """Input tokens that were read from a cache; null if unknown."""
    total: Annotated[Count | None, FieldSource(attribute="total_tokens")]
    """Input, output and reasoning tokens, without cached tokens; null if unknown."""


class ArmSpendingEntry(MappedModel):
    """What all executions of an arm took."""

    arm: Id
    """Name of the arm."""
    executions: Count
    """Number of executions of the arm."""
    sessions: Count
    """Number of sessions of the arm, including retries."""
    cost_usd: Usd | None
    """Known part of the cost in US dollars; null if no cost is known."""
    cost_complete: bool
    """Whether the whole cost is known."""
    tokens: TokensEntry
    """Tokens of all executions of the arm: the sums of the values in their `usage`."""
    duration_ms: Count
    """Total time of all sessions of the arm in milliseconds."""


class AttemptShareEntry(MappedModel):
    """What an attempt of the job contributed."""

    noun: ClassVar = AttemptShare

    number: AttemptNumber
    """Number of the attempt, counted from 1."""
    sessions: Count
    """Number of sessions of the attempt that are in this file."""
    cost_usd: Usd | None
    """Cost of the sessions of the attempt that are in this file, in US dollars; null if unknown."""
    repeated: Count = 0
    """Number of sessions of the attempt that are not in this file because a later attempt ran them again."""
    repeated_cost_usd: Usd | None = 0.0
    """Cost of the repeated sessions in US dollars; null if unknown."""


class JudgeEntry(MappedModel):
    """The model that graders asked."""

    noun: ClassVar = JudgeInfo

    api: Id
    """API protocol of the service that runs the model."""
    model: Id
    """Name of the model as configured."""
    versions: Several[Id] = ()
    """Model names that the service reported in its replies."""
    votes: Annotated[int, Field(ge=1, le=10**6), FieldSource(always=True)] = 1
    """Number of answers that were requested for each question."""


class SelectionEntry(MappedModel):
    """The executions that ``--changed-only`` selected."""

    noun: ClassVar = SelectionSummary

    selected: Count
    """Number of executions that were selected."""
    total: Count
    """Number of executions in the plan before the selection."""
    reason: Text
    """Reason for the selection, as a sentence."""
    base: Annotated[str, Field(pattern=COMMIT)] | None = None
    """SHA of the commit with which the files of the checkout were compared."""
    left_out: Count = 0
    """Number of executions that are not in the run because they were not selected and no earlier result was used for
    them."""
    unstored: Count = 0
    """Number of executions that were not selected, but ran because the store contained no result for them."""


class ShareEntry(MappedModel):
    """A share of runs, with the interval that has the true one with 95% confidence (Wilson)."""

    rate: Rate
    """The measured share."""
    low: Annotated[Rate, FieldSource(attribute="interval", convert=itemgetter(0))]
    """Lower bound of the 95% interval of the share."""
    high: Annotated[Rate, FieldSource(attribute="interval", convert=itemgetter(1))]
    """Upper bound of the 95% interval of the share."""


class TriggerRatesEntry(MappedModel):
    """The trigger queries of a suite on a runner; null where no run tells."""

    suite: Path
    """Path of the suite."""
    runner_id: Annotated[Id, FieldSource(attribute="runner")]
    """Id of the runner, as configured."""
    queries: Count
    """Number of trigger queries."""
    runs: Annotated[int, Field(ge=0)]
    """Number of judged repetitions of these queries."""
    recall: ShareEntry | None
    """Of the judged repetitions in which the agent should load the skill, the share in which it did; null if there are
    no such repetitions."""
    precision: ShareEntry | None
    """Of the judged repetitions in which the agent loaded the skill, the share in which it should load it; null if
    there are no such repetitions."""
    accuracy: ShareEntry | None
    """Of all judged repetitions, the share with the expected result; null if there are none."""


class WholePlanEntry(MappedModel):
    """What shards of one run have in common."""

    noun: ClassVar = WholePlan

    executions: Count
    """Number of executions in all shards, including invalid cases."""
    digest: Annotated[str, Field(pattern=DIGEST)]
    """SHA-256 of the list of the executions in all shards (suite, case, runner, arm and, if the case sets its own
    number of repetitions, this number), in hexadecimal digits."""
    repeat: _OneOrMore
    """Number of repetitions of a case that does not set its own number."""
    require: _OneOrMore | Literal["all", "any"]
    """Number of repetitions of a case that must pass, `all` or `any`."""
    retry: Count
    """Number of retries of a repetition with failed assertions."""


class PlugInEntry(MappedModel):
    """A plug-in that the run used: what it is in the tool, and the package that it is from."""

    noun: ClassVar = PlugIn

    kind: Literal["agents", "formats", "reporters", "sandboxes"]
    """What the plug-in adds."""
    name: Id
    """Name in the tool, such as that of the agent."""
    package: Id
    """Name of the Python package."""
    version: Id
    """Version of the package."""


def _triggers(report: RunReport) -> Iterable[TriggerRates]:
    return trigger_rates(report.results)


class RunEntry(MappedModel):
    """One invocation, or several that were merged. Times are ISO 8601 in UTC."""

    noun: ClassVar = RunReport

    id: Annotated[str, Field(max_length=255, pattern=NAME)]
    """Id of the run: the name of its run directory."""
    status: Annotated[
        Literal["finished", "cancelled"],
        FieldSource(read=False, compute=lambda report: "cancelled" if report.cancelled else "finished"),
    ]
    """`finished`, or `cancelled` if a signal or the cancellation of the job ended the run."""
    started_at: Time
    """Start time of the run, in ISO 8601, UTC."""
    ended_at: Time
    """End time of the run, in ISO 8601, UTC."""
    duration_ms: Count
    """Duration of the run in milliseconds."""
    command: Id
    """Command that wrote the file, such as `run`, `action`, `rejudge` or `report`."""
    commit: Annotated[str, Field(pattern=COMMIT)] | None = None
    """SHA of the checked-out commit."""
    merge_parents: Several[Annotated[str, Field(pattern=COMMIT)]] = ()
    """SHAs of the parents of `commit`, if it is a merge commit, such as GitHub's test merge of a pull request."""
    shard: Annotated[str, Field(pattern=SHARD)] | None = None
    """The shard that the run executed, such as `1/4`; absent if the run has no shards."""
    plan_digest: Annotated[str, Field(pattern=DIGEST)] | None = None
    """SHA-256 of the stored plan to which the shard belongs, in hexadecimal digits."""
    whole_plan: WholePlanEntry | None = None
    """For a shard: the plan of all shards, before it was divided. Shards with different plans are not [one
    run](../how-to/shards.md#shards-with-different-plans)."""
    incomplete: Several[Text] = ()
    """Reasons why results are missing, such as a missing shard, one sentence each."""
    missing_shards: Several[Annotated[str, Field(pattern=SHARD)]] = ()
    """Shards that are missing in a merged run, such as `3/4`, and shards that are from another plan than most
    shards."""
    adaptive: AdaptiveEntry | None = None
    """With [`repeat: auto`](../explanation/statistics.md#repeat-auto): how the run decided. Rates and `samples` then
    include only the first session of each execution."""
    suites_from: SuitesFromEntry | None = None
    """With [`--suites-from`](command-line.md#suites-of-another-commit): the folder from which the suites were read, and
    how these suites differ from the suites of the checkout."""
    comparison: Annotated[RegressionEntry | None, FieldSource(read=False)] = None
    """The comparison with the baseline, if there is one."""
    judge: JudgeEntry | None = None
    """The [judge](configuration.md#the-judge) of the run, if it replied."""
    limits: LimitsEntry | None = None
    """Limits that apply to the sessions of the run."""
    uplifts: Annotated[Several[UpliftEntry], FieldSource(read=False)] = ()
    """With [arms](../how-to/arms.md): comparisons of the deciding arm with the other arms, one for each suite, runner
    and non-deciding arm."""
    arms: Annotated[Several[ArmSpendingEntry], FieldSource(compute=RunReport.arm_spending, read=False)] = ()
    """With [arms](../how-to/arms.md): cost, tokens, time and number of executions of each arm."""
    attempts: Several[AttemptShareEntry] = ()
    """In a job on GitHub: the [attempts](../how-to/re-run-failed-jobs.md) of this job, with the current attempt
    last."""
    unchanged: Text | None = None
    """Present only if nothing ran because [no skill](../how-to/arms.md#skills) or [no input of a
    case](../how-to/monorepo.md) has changed: the reason, as a sentence."""
    selection: SelectionEntry | None = None
    """With [`--changed-only`](../how-to/monorepo.md): how many executions were selected, and why."""
    slowed: Several[Text] = ()
    """One sentence for each provider that reported [rate limits](configuration.md#after-a-rate-limit)."""
    plug_ins: Several[PlugInEntry] = ()
    """The [plug-ins](../how-to/plug-ins.md) that the run used."""
    triggers: Annotated[
        Several[TriggerRatesEntry], FieldSource(read=False, compute=lambda report: trigger_rates(report.results))
    ] = ()
    """Rates of [trigger queries](skills-under-test.md#trigger-queries), one entry for each suite and runner."""
    decision: Annotated[DecisionEntry | None, FieldSource(read=False)]
    """The verdict of the run, with its reasons; null if the tool has not determined the verdict yet."""

    def attributes(self) -> dict[str, object]:
        return {"cancelled": self.status == "cancelled"}
