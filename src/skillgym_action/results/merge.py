"""Several runs as one: the shards of a plan, or the jobs of a matrix; which shards are missing or differ."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from skillgym_action.model.adaptive import WORST_FIRST, SessionCounts
from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.execution import SelectionSummary
from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_SHARDS
from skillgym_action.model.report import RunReport
from skillgym_action.model.shard_plan import key_of_result
from skillgym_action.model.version import __version__
from skillgym_action.text.words import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from skillgym_action.model.adaptive import Adaptive
    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.report import AttemptShare, LimitSettings, SuitesFrom
    from skillgym_action.model.result import Result
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.shard_plan import ShardPlan, WholePlan
    from skillgym_action.model.suite import BenchmarkSuite

    StoredReports = Sequence[tuple[Path, RunReport]]

T = TypeVar("T")


def merged(parts: StoredReports, name: str) -> RunReport:
    """The runs, each with the file it is from, as one that is called ``name``; a single one keeps its own name.

    Results are in the order of the plan. Raises UsageError for runs that do not fit together.
    """
    _require_one_plan(parts)
    reports = [report for _, report in parts]
    shards, sentences = _missing_of_plans(reports)
    incomplete = tuple(dict.fromkeys([*(reason for report in reports for reason in report.incomplete), *sentences]))
    missing = tuple(Problem(message=reason) for reason in incomplete)
    if len(reports) == 1:
        warnings = _once([*reports[0].warnings, *missing])
        return replace(reports[0], incomplete=incomplete, missing_shards=shards, warnings=warnings)
    runners, suites = _runners(parts), _suites(reports)
    results = _results([(file, report.results) for file, report in parts], runners, suites)
    others = _results([(file, report.other_arms) for file, report in parts], runners, suites)
    quarantined = _results([(file, report.quarantined) for file, report in parts], runners, suites)
    numbered = _numbered([*results, *others, *quarantined])
    apart = len(results) + len(others)
    began = min((report.started_at for report in reports), key=datetime.fromisoformat)
    ended = max((report.ended_at for report in reports), key=datetime.fromisoformat)
    return RunReport(
        id=name,
        version=_agreed(report.version for report in reports) or __version__,
        command=_agreed(report.command for report in reports) or "report",
        started_at=began,
        ended_at=ended,
        duration_ms=_milliseconds(began, ended),
        results=numbered[: len(results)],
        other_arms=numbered[len(results) : apart],
        quarantined=numbered[apart:],
        suites=tuple(suites.values()),
        runners=tuple(runners.values()),
        warnings=_once(
            [*(warning for report in reports for warning in report.warnings), *_differences(reports), *missing]
        ),
        cancelled=any(report.cancelled for report in reports),
        commit=_agreed(report.commit for report in reports),
        merge_parents=_agreed(report.merge_parents for report in reports) or (),
        incomplete=incomplete,
        missing_shards=shards,
        plan_digest=_agreed(report.plan_digest for report in reports),
        slowed=tuple(dict.fromkeys(line for report in reports for line in report.slowed)),
        plug_ins=tuple(dict.fromkeys(one for report in reports for one in report.plug_ins)),
        adaptive=_adaptive([report.adaptive for report in reports if report.adaptive]),
        suites_from=_suites_from(reports),
        judge=_judge(reports),
        limits=_agreed(report.limits for report in reports),
        attempts=_attempts(reports),
        unchanged=reports[0].unchanged if all(report.unchanged for report in reports) else None,
        selection=_selection([report.selection for report in reports if report.selection]),
    )


def _attempts(reports: list[RunReport]) -> tuple[AttemptShare, ...]:
    """What each attempt of the job contributed to all runs; () if that is not known of one."""
    if not all(report.attempts for report in reports):
        return ()
    found: dict[int, AttemptShare] = {}
    for share in (share for report in reports for share in report.attempts):
        found[share.number] = found[share.number].joined(share) if share.number in found else share
    return tuple(found[number] for number in sorted(found))


def _adaptive(found: list[Adaptive]) -> Adaptive | None:
    """The worst decision, with what was checked in all; None: every run had a fixed number of sessions."""
    if not found:
        return None
    worst = min(found, key=lambda one: WORST_FIRST.index(one.check))
    return replace(
        worst,
        suspects=tuple(pair for one in found for pair in one.suspects),
        named=tuple(pair for one in found for pair in one.named),
        sessions=sum((one.sessions for one in found), SessionCounts()),
    )


def _selection(found: list[SelectionSummary]) -> SelectionSummary | None:
    """The selections of shards, which have different executions, together."""
    if not found:
        return None
    return SelectionSummary(
        selected=sum(one.selected for one in found),
        total=sum(one.total for one in found),
        left_out=sum(one.left_out for one in found),
        unstored=sum(one.unstored for one in found),
        reason="; ".join(dict.fromkeys(one.reason for one in found)),
        base=_agreed(one.base for one in found),
    )


def _judge(reports: list[RunReport]) -> JudgeInfo | None:
    """Return the judge of the runs that asked one, with the versions seen by any; None if they had different ones."""
    known = [report.judge for report in reports if report.judge]
    return united_judges(known) if len(set(map(_name_of_judge, known))) == 1 else None


def _name_of_judge(judge: JudgeInfo) -> str:
    return f"{judge.model} ({judge.api}, {counted(judge.votes, 'vote')})"


def _suites_from(reports: list[RunReport]) -> SuitesFrom | None:
    """Return the folder that the suites of all runs are from; None if the runs differ in it."""
    all_origins = [report.suites_from for report in reports]
    if _agreed(origin and (origin.folder, origin.commit) for origin in all_origins) is None:
        return None
    known = [origin for origin in all_origins if origin]
    return replace(
        known[0],
        added=_united(origin.added for origin in known),
        changed=_united(origin.changed for origin in known),
        removed=_united(origin.removed for origin in known),
        configuration_differs=any(origin.configuration_differs for origin in known),
    )


def _runners(parts: StoredReports) -> dict[str, Runner]:
    """By id, in the order they first appear. One id means one agent."""
    first: dict[str, tuple[Path, Runner]] = {}
    for file, report in parts:
        for runner in report.runners:
            named, known = first.setdefault(runner.id, (file, runner))
            if known.agent.type != runner.agent.type:
                raise UsageError(
                    f"runner {runner.id!r} is {known.agent.type} in {named} and {runner.agent.type} in {file}",
                    remedy="give different agents different ids",
                )
    return {name: runner for name, (_, runner) in first.items()}


def _suites(reports: list[RunReport]) -> dict[str, BenchmarkSuite]:
    """By path, in the order they first appear. One that is changed in any of the runs is changed."""
    found: dict[str, BenchmarkSuite] = {}
    for report in reports:
        for suite in report.suites:
            if not found.setdefault(suite.path, suite).changed and suite.changed:
                found[suite.path] = suite
    return found


def _results(
    parts: Sequence[tuple[Path, Iterable[Result]]], runners: dict[str, Runner], suites: dict[str, BenchmarkSuite]
) -> list[Result]:
    """Suite by suite, in each as planned. A case that cannot be used is in it once, even if several runs have it."""
    order = {path: number for number, path in enumerate(suites)}
    # Case id -> number of the first part that has it. A dictionary with a tuple for each case would be twice as large.
    first_parts: defaultdict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    results = []
    for number, (file, of_part) in enumerate(parts):
        for result in of_part:
            path = result.suite.path
            suite, runner = suites[path], result.runner and runners[result.runner.id]
            of_cases = first_parts[path, runner.id if runner else result.judgement, result.arm]
            first = of_cases.setdefault(result.case_id, number)
            if first != number and runner:
                raise UsageError(
                    f"{result.case_id!r} of {path} on {runner.id} is in {parts[first][0]} and in {file}",
                    remedy="name each run once; jobs that run the same cases need runners with different ids",
                )
            if first == number:
                is_same = result.suite is suite and result.runner is runner
                results.append(result if is_same else replace(result, suite=suite, runner=runner))
    results.sort(key=attrgetter("index"))
    results.sort(key=lambda result: order[result.suite.path])  # as one key, each of them would be a tuple
    return results


def _numbered(results: list[Result]) -> tuple[Result, ...]:
    """The results with indexes that are all different: shards of one plan have such, runs of several plans do not."""
    if len({result.index for result in results}) == len(results):
        return tuple(results)
    return tuple(replace(result, index=number) for number, result in enumerate(results))


def _differences(reports: list[RunReport]) -> Iterator[Problem]:
    """Yield a warning for everything that the runs should have in common and do not."""
    for what, values in (
        ("commits", [report.commit or "none" for report in reports]),
        ("versions of skillgym-action", [report.version for report in reports]),
        ("folders of suites", [_folder(report.suites_from) for report in reports]),
        ("limits of sessions", [_named_limits(report.limits) for report in reports if report.limits]),
        ("judges", [_name_of_judge(report.judge) for report in reports if report.judge]),
    ):
        if len(set(values)) > 1:
            yield Problem(message=f"the runs are of different {what}: {listed(sorted(set(values)))}")
    digests: dict[str, set[str]] = {}
    for report in reports:
        for suite in report.suites:
            digests.setdefault(suite.path, set()).update({suite.digest} if suite.digest else ())
    for path, found in digests.items():
        if len(found) > 1:
            yield Problem(message=f"the runs had different versions of {path}")


def _require_one_plan(parts: StoredReports) -> None:
    """Raises UsageError if shards of one run are of different stored plans: executions would be in none of them."""
    plans: dict[PlanKey, tuple[Path, str | None]] = {}
    for file, report in parts:
        if report.shard:
            other, digest = plans.setdefault(plan_key(report, report.shard), (file, report.plan_digest))
            if digest != report.plan_digest:
                raise UsageError(
                    f"{other} and {file} are shards of different plans",
                    remedy="run all shards with the same file of --plan, or all without one",
                )


def _missing_of_plans(reports: list[RunReport]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Shards of a plan that are not there, or differ from the plan of the others, and a sentence for each plan.

    Jobs with the same suites and runners are parts of the same plan.
    """
    plans: dict[PlanKey, set[int]] = {}
    for report in reports:
        if report.shard:
            plans.setdefault(plan_key(report, report.shard), set()).add(int(report.shard.partition("/")[0]))
    shards, sentences = dict.fromkeys(one for report in reports for one in report.missing_shards), list[str]()
    for (_, runners, parts), found in plans.items():
        missing = [f"{part}/{parts}" for part in range(1, parts + 1) if part not in found]
        if missing:
            shards |= dict.fromkeys(missing[:MAX_SHARDS])
            whose = f" of {listed(sorted(runners))}" if len(plans) > 1 else ""
            sentences.append(
                f"{'shard {} is' if len(missing) == 1 else 'shards {} are'} missing".format(listed(missing) + whose)
            )
    for difference in shard_differences(reports):
        shards |= dict.fromkeys(difference.shards)
        sentences.append(str(difference))
    return tuple(shards), tuple(sentences)


def _folder(origin: SuitesFrom | None) -> str:
    """Return the folder as messages name it."""
    if origin is None:
        return "the checkout"
    return f"{origin.folder} ({origin.commit})" if origin.commit else origin.folder


def _named_limits(limits: LimitSettings) -> str:
    steps = "no limit of steps" if limits.max_steps is None else counted(limits.max_steps, "step")
    time = f"{limits.timeout or limits.default_timeout:g} s"
    return f"{time}; {steps}; {limits.on_limit} if exceeded"


def _united(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({path for part in parts for path in part}))


def _agreed(values: Iterable[T]) -> T | None:
    """The value that all have."""
    found = set(values)
    return found.pop() if len(found) == 1 else None


def _once(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    return tuple(dict.fromkeys(problems))


def _milliseconds(began: str, ended: str) -> int:
    seconds = (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()
    return max(0, round(seconds * 1000))


# --- missing shards -----------------------------------------------------------------------------------

WHOLE = "1/1"
ABSENT = "is missing"
LACKS = "lacks"
OTHER_COMMIT = "was run on commit"
OTHER_PLAN = "belongs to another plan"
DIFFERS = "its plan"  # differs from that of other shards


def current_runs(runs: StoredReports, plan: ShardPlan | None) -> StoredReports:
    """The runs that count: of each shard those that finished, or else the latest; the others become warnings.

    Raises UsageError for runs of another plan.
    """
    if plan:
        _require_shards(runs, len(plan.shards))
    of_shards: dict[object, list[int]] = {}
    for index, (_, report) in enumerate(runs):
        if report.shard:
            key = (report.shard, None if plan else plan_key(report, report.shard))
            of_shards.setdefault(key, []).append(index)
    unused: dict[int, str] = {}
    for indexes in of_shards.values():
        reasons = {index: _reason(runs[index][1], plan) for index in indexes}
        if all(reasons.values()):
            del reasons[max(indexes, key=lambda index: datetime.fromisoformat(runs[index][1].ended_at))]
        unused |= {index: reason for index, reason in reasons.items() if reason}
    if not unused:
        return runs
    (file, first), *others = (run for index, run in enumerate(runs) if index not in unused)
    warnings = (_not_used(*runs[index], reason) for index, reason in sorted(unused.items()))
    return ((file, replace(first, warnings=(*first.warnings, *warnings))), *others)


def _not_used(file: Path, report: RunReport, reason: str) -> Problem:
    return Problem(message=f"{file} is not used, since there is another run of shard {report.shard}: {reason}")


def _require_shards(runs: StoredReports, total: int) -> None:
    for file, report in runs:
        if int((report.shard or WHOLE).partition("/")[2]) != total:
            what = f"shard {report.shard}" if report.shard else "a whole run"
            message = f"{file} is {what}, and not of {counted(total, 'shard')}"
            raise UsageError(message, remedy="name the runs of one plan")


def unfinished_shards(runs: StoredReports, plan: ShardPlan | None) -> dict[str, str]:
    """The shards that have to run again, such as ``3/64``, each with the reason; in the order of their numbers.

    Without a plan the runs say how many shards there are. Raises UsageError if they do not, or are of other plans.
    """
    total = len(plan.shards) if plan else _total(runs)
    reasons: dict[int, str] = {}
    current = current_runs(runs, plan)
    for _, report in current:
        number = _number(report)
        reasons[number] = _reason(report, plan) or reasons.get(number, "")
    for difference in shard_differences(report for _, report in current):
        for number in (int(shard.partition("/")[0]) for shard in difference.shards):
            reasons[number] = reasons[number] or f"{DIFFERS} {difference.reason}"
    return {
        f"{number}/{total}": reasons.get(number, ABSENT)
        for number in range(1, total + 1)
        if reasons.get(number, ABSENT)
    }


def _total(runs: StoredReports) -> int:
    totals = {int((report.shard or WHOLE).partition("/")[2]) for _, report in runs}
    if len(totals) != 1:
        what = "there is no run" if not totals else f"the runs are of {counted(len(totals), 'plan')}"
        raise UsageError(
            f"{what}, so it is unknown which shards are missing", remedy="name the stored plan with --plan FILE"
        )
    total = totals.pop()
    if total > MAX_SHARDS:
        raise UsageError(f"{total:,} shards are more than a matrix can have, {MAX_SHARDS}", remedy="plan fewer shards")
    return total


def _number(report: RunReport) -> int:
    return int((report.shard or WHOLE).partition("/")[0])


def _reason(report: RunReport, plan: ShardPlan | None) -> str:
    """Why a shard that is there has to run again; empty: it need not."""
    if report.cancelled:
        return "was cancelled"
    if report.incomplete:
        return report.incomplete[0]
    return _difference(report, plan) if plan else ""


def _difference(report: RunReport, plan: ShardPlan) -> str:
    """How a shard that finished differs from its plan; empty: it does not."""
    if plan.commit and report.commit and plan.commit != report.commit:
        ran, planned_for = report.commit[:COMMIT_CHARACTERS], plan.commit[:COMMIT_CHARACTERS]
        return f"{OTHER_COMMIT} {ran}, but the plan is for {planned_for}"
    if report.plan_digest not in {None, plan.digest}:
        return OTHER_PLAN
    if report.unchanged:
        return ""
    there = set(map(key_of_result, report.all_results))
    planned = plan.shards[_number(report) - 1].executions
    left_out = report.selection.left_out if report.selection else 0
    if (lacking := sum(one.key not in there for one in planned)) > left_out:
        return f"{LACKS} {lacking - left_out:,} of its {counted(len(planned), 'execution')}"
    return ""


def with_missing_shards(runs: StoredReports, plan: ShardPlan) -> StoredReports:
    """The runs, of which the first one says how they differ from the plan. Raises UsageError.

    What a shard itself says to be incomplete is not said again.
    """
    found = unfinished_shards(runs, plan)
    absent = [shard for shard, reason in found.items() if reason == ABSENT]
    unusable = {
        shard: reason for shard, reason in found.items() if reason.startswith((LACKS, OTHER_COMMIT, OTHER_PLAN))
    }
    sentences = (
        *(
            [f"{'shard {} is' if len(absent) == 1 else 'shards {} are'} missing".format(listed(absent))]
            if absent
            else []
        ),
        *(f"shard {shard} {reason}" for shard, reason in unusable.items()),
    )
    (file, first), *others = runs
    first = replace(
        first,
        incomplete=(*first.incomplete, *sentences),
        missing_shards=tuple(dict.fromkeys((*first.missing_shards, *absent, *unusable))),
    )
    return ((file, first), *others)


# --- differences between shards -----------------------------------------------------------------------

PlanKey = tuple[frozenset[str], frozenset[str], int]


def plan_key(report: RunReport, shard: str) -> PlanKey:
    """What the shards of one run have in common: suites, runners and the number of shards."""
    suites = frozenset(suite.path for suite in report.suites)
    return suites, frozenset(runner.id for runner in report.runners), int(shard.partition("/")[2])


class ShardDifference(NamedTuple):
    """Shards whose plan differs from the plan of most shards. ``reason``: how, after "the plan of these shards"."""

    shards: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"the plan of {'shard' if len(self.shards) == 1 else 'shards'} {listed(self.shards)} {self.reason}"


def shard_differences(reports: Iterable[RunReport]) -> Iterator[ShardDifference]:
    """Yield the shards whose plan is not that of most shards of the same suites and runners, or of the first.

    Shards of which it is not known, as in results of versions before 1.0, are not among them, nor are cancelled ones.
    """
    plans: dict[PlanKey, dict[WholePlan, list[str]]] = {}
    for report in reports:
        if report.shard and report.whole_plan and not report.cancelled:
            of_key = plans.setdefault(plan_key(report, report.shard), {})
            of_key.setdefault(report.whole_plan, []).append(report.shard)
    for (_, runners, _), found in plans.items():
        usual = max(found, key=lambda plan: len(found[plan]))
        whose = f" of {listed(sorted(runners))}" if len(plans) > 1 else ""
        for plan, shards in found.items():
            if plan != usual:
                differences = ", ".join(_differing_settings(plan, usual))
                reason = f"differs from that of shard {found[usual][0]}{whose}: {differences}"
                yield ShardDifference(shards=tuple(dict.fromkeys(shards)), reason=reason)


def _differing_settings(plan: WholePlan, usual: WholePlan) -> Iterator[str]:
    if plan.executions != usual.executions:
        yield f"{counted(plan.executions, 'execution')} instead of {usual.executions:,}"
    elif plan.digest != usual.digest:
        yield "other executions, or other numbers of repetitions of cases"
    for name, value, other in (
        ("repeat", plan.repeat, usual.repeat),
        ("require", plan.require, usual.require),
        ("retry", plan.retry, usual.retry),
    ):
        if value != other:
            yield f"{name} {value} instead of {other}"
