"""The baseline that is made of a store: for each execution the samples of the newest runs with equal keys."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.history.stored_lines import PASSED, EntryKey, ExecutionName, StoredExecution, major
from skillgym_action.model.judge_question import JudgeInfo
from skillgym_action.model.judgement import Judgement
from skillgym_action.model.limits import COMMIT_CHARACTERS, MAX_POOLED_RUNS
from skillgym_action.model.records import record
from skillgym_action.model.report import RunReport
from skillgym_action.model.result import Attempt, CaseInputs, Result
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Cost
from skillgym_action.model.suite import BenchmarkSuite
from skillgym_action.model.verdicts import Status
from skillgym_action.results.statistics.comparison import judge_in_words
from skillgym_action.text.escaping import path_key
from skillgym_action.text.words import age, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.history.reading import BaseHistory
    from skillgym_action.history.stored_lines import StoredLine, StoredRunHead

MAX_NAMED_BRANCHES = 2  # that the runs of a baseline are of
ENOUGH_POOLED_SESSIONS = 20  # after which no older run is added


@record
class BaselineKey:
    """An execution of this run. What is not known before its sessions is None in its key, and fits anything.

    ``prompt``: its text, that of the baseline if the case is the same.
    """

    name: ExecutionName
    inputs: CaseInputs
    key: EntryKey
    prompt: str | None = None

    def fits(self, key: EntryKey) -> bool:
        """Whether an entry with that key is a sample of the same."""
        return all(own is None or own == other for own, other in zip(self.key, key, strict=True))


def baseline_keys_of(report: RunReport) -> list[BaselineKey]:
    """The executions of a report whose inputs are known."""
    judge = judge_in_words(report)
    templates = {suite.path: suite.template_digest for suite in report.suites}
    return [
        BaselineKey(
            name=ExecutionName(result.suite.path, result.case_id, result.runner.id),
            inputs=result.inputs,
            key=EntryKey(
                prompt=result.inputs.prompt,
                assertions=result.inputs.assertions,
                program=result.inputs.program,
                template=templates.get(result.suite.path),
                workspace=result.inputs.workspace,
                agent=result.runner.agent.type,
                version=result.version,
                model=result.model or result.runner.agent.model,
                judge=judge,
                tool=major(report.version),
                plug_ins=result.inputs.plug_ins or "none",
            ),
            prompt=result.prompt,
        )
        for result in report.results
        if result.runner and result.inputs
    ]


@record(frozen=False, kw_only=False)
class _Pool:
    """The entries of one execution, the newest first, until there are enough."""

    entries: list[StoredExecution] = field(default_factory=list)
    sessions: int = 0

    def take(self, entry: StoredExecution) -> None:
        if not self.is_full:
            self.entries.append(entry)
            self.sessions += len(entry.entry.sessions)

    @property
    def is_full(self) -> bool:
        return self.sessions >= ENOUGH_POOLED_SESSIONS or len(self.entries) >= MAX_POOLED_RUNS


def pooled(history: BaseHistory, wanted: Iterable[BaselineKey], *, shard: bool) -> RunReport | None:
    """The baseline of a run; None if the store has nothing of the base.

    Where no entry has the key of an execution, those with the key of its newest entry are taken, and what differs is
    reported. ``shard``: the run is a part, so that what it lacks is not missing.
    """
    by_name = {one.name: one for one in wanted}
    of_name = history.executions_by_name()
    pools = {
        name: pool
        for name in dict.fromkeys((*by_name, *(() if shard else _newest_group(history, by_name))))
        if (pool := _pool(of_name.get(name, []), by_name.get(name))).entries
    }
    if not history.lines:
        return None
    return _report(history, pools, by_name)


def _pool(entries: list[StoredExecution], wanted: BaselineKey | None) -> _Pool:
    """The samples of one execution. Both sides of a pair are of one key; nothing of another case is mixed in."""
    pool = _Pool()
    equal = [entry for entry in entries if wanted and wanted.fits(entry.key)]
    newest = (equal or entries)[:1]
    for entry in equal or entries:
        if entry.key == newest[0].key and entry.entry.expected_fail == newest[0].entry.expected_fail:
            pool.take(entry)
    return pool


def _newest_group(history: BaseHistory, wanted: Mapping[ExecutionName, BaselineKey]) -> list[ExecutionName]:
    """The executions of the newest run that has a suite of this one: what it lacks was removed.

    Other runs may be those of other workflows, with other suites.
    """
    suites = {name.suite for name in wanted}
    group = next((line.run.group for line in history.lines if any(suite.path in suites for suite in line.suites)), None)
    lines = (line for line in history.lines if line.run.group == group)
    return [name for line in lines for name in line.names()]


# --- as a report --------------------------------------------------------------------------------------


def _report(
    history: BaseHistory, pools: Mapping[ExecutionName, _Pool], wanted: Mapping[ExecutionName, BaselineKey]
) -> RunReport:
    used = {entry.line.run.id: entry.line for pool in pools.values() for entry in pool.entries}
    newest = max(used.values() or history.lines, key=lambda line: line.run.at)
    suites = _suites(pools)
    runners = {name.runner: _runner(pool.entries[0]) for name, pool in pools.items()}
    results = [
        _result(number, name, pool, (suites[name.suite], runners[name.runner]), wanted.get(name))
        for number, (name, pool) in enumerate(pools.items())
    ]
    run = newest.run
    return RunReport(
        id=pool_words(history, [line.run for line in used.values()]),
        version=run.tool,
        command="run",
        started_at=run.at,
        ended_at=run.at,
        duration_ms=0,
        results=tuple(results),
        suites=tuple(suites.values()),
        runners=tuple(runners.values()),
        judge=_judge(newest, wanted),
    )


def pool_words(history: BaseHistory, runs: list[StoredRunHead]) -> str:
    """``5 runs of main, 2 hours to 3 days old, up to 1a2b3c4d5e6f``: how many runs a baseline has, and how old."""
    if not runs:
        return "the store"
    times = sorted(datetime.fromisoformat(run.at) for run in runs)
    groups = len({run.group for run in runs})
    newest = max(runs, key=lambda run: run.at)
    branches = sorted({run.branch or history.branch or "" for run in runs} - {""})  # the base's, and where it began
    branch = f" of {' and '.join(branches)}" if 0 < len(branches) <= MAX_NAMED_BRANCHES else ""
    ages = [age(history.now - time) for time in (times[-1], times[0])]
    words = ages[0] if ages[0] == ages[1] else f"{ages[0]} to {ages[1]}"
    return f"{counted(groups, 'run')}{branch}, {words} old, up to {newest.commit[:COMMIT_CHARACTERS]}"


def _suites(pools: Mapping[ExecutionName, _Pool]) -> dict[str, BenchmarkSuite]:
    """The suites, with the digests that the newest entries have."""
    newest: dict[str, StoredExecution] = {}
    for name, pool in pools.items():
        entry = pool.entries[0]
        if name.suite not in newest or newest[name.suite].line.run.at < entry.line.run.at:
            newest[name.suite] = entry
    found = {}
    for path, entry in newest.items():
        stored = entry.line.suites[entry.entry.suite]
        found[path] = BenchmarkSuite(
            path=path,
            file=Path(path),
            name=path,
            format="stored",
            digest=stored.digest,
            template_digest=stored.template,
        )
    return found


def _runner(execution: StoredExecution) -> Runner:
    runner = execution.line.runners[execution.entry.runner]
    return Runner(id=runner.id, path_key=path_key(runner.id), agent=AgentConfig(type=runner.agent))


def _judge(newest: StoredLine, wanted: Mapping[ExecutionName, BaselineKey]) -> JudgeInfo | None:
    """The judge of the baseline, as comparisons show it; None also where this run has the same."""
    words = newest.run.judge
    if words is None or any(one.key.judge == words for one in wanted.values()):
        return None
    return JudgeInfo(api="", model=words)


def _result(
    number: int, name: ExecutionName, pool: _Pool, of: tuple[BenchmarkSuite, Runner], wanted: BaselineKey | None
) -> Result:
    """The samples of an execution as a result, a repetition each; those of the newest run come first."""
    newest = pool.entries[0].entry
    stored = newest.inputs
    inputs = CaseInputs(
        prompt=stored.prompt,
        assertions=stored.assertions,
        workspace=stored.workspace,
        program=stored.program,
        plug_ins=stored.plug_ins,
    )
    sessions = "".join(entry.entry.sessions for entry in pool.entries)
    costs = [entry.entry.usd * len(entry.entry.sessions) for entry in pool.entries if entry.entry.usd is not None]
    attempts = tuple(
        Attempt(
            repetition=at,
            session=1,
            status=Status.PASSED if sample == PASSED else Status.FAILED,
            duration_ms=newest.ms,
            directory="",
        )
        for at, sample in enumerate(sessions, start=1)
    )
    status = Status.PASSED if set(sessions) == {PASSED} else Status.FAILED
    same = wanted is not None and wanted.inputs.is_same_case(inputs)
    return Result(
        index=number,
        suite=of[0],
        case_id=name.case,
        runner=of[1],
        judgement=Judgement(status=status),
        expected_fail=newest.expected_fail,
        duration_ms=newest.ms,
        cost=Cost(usd=sum(costs) if len(costs) == len(pool.entries) else None),
        model=newest.model,
        version=newest.version,
        attempts=attempts,
        prompt=wanted.prompt if wanted and same else None,
        inputs=inputs,
    )


def provisional(report: RunReport, wanted: Iterable[BaselineKey]) -> RunReport:
    """The baseline before any session: without the executions whose case is another one now."""
    same = {one.name: one.inputs for one in wanted}
    kept = tuple(
        result
        for result in report.results
        if result.runner
        and result.inputs
        and (own := same.get(ExecutionName(result.suite.path, result.case_id, result.runner.id)))
        and own.is_same_case(result.inputs)
    )
    return replace(report, results=kept)
