"""What a store has over time, for ``trend``: the results of each case on each runner, run by run."""

from __future__ import annotations

from dataclasses import field
from datetime import datetime
from typing import TYPE_CHECKING

from skillgym_action.history.reading import validated_lines
from skillgym_action.history.stored_lines import PASSED, StoredExecution
from skillgym_action.model.records import record
from skillgym_action.model.trend import Conditions, TrendHistory, TrendName, TrendRun, TrendSample, TrendSeries
from skillgym_action.system.files.globs import matches, matches_path_or_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.history import Store
    from skillgym_action.history.stored_lines import EntryKey, StoredLine

MAX_TREND_SAMPLES = 300_000  # results of one execution in one run, of the newest runs
MAX_TREND_EXECUTIONS = 500  # those of the newest runs


@record
class TrendQuery:
    """Which runs and executions are wanted. ``now`` and ``since``: in UTC; ``since`` None: all runs.

    ``branch``: None: the one of the newest run. ``suites``: paths, folders and patterns, with ``!`` those to leave out;
    ``cases`` and ``runners``: patterns; empty: all.
    """

    now: datetime
    since: datetime | None = None
    branch: str | None = None
    suites: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()

    def has(self, name: TrendName) -> bool:
        """Whether an execution is wanted."""
        included = [pattern for pattern in self.suites if not pattern.startswith("!")]
        excluded = [pattern.removeprefix("!") for pattern in self.suites if pattern.startswith("!")]
        return (
            (not included or any(matches_path_or_folder(name.suite, pattern) for pattern in included))
            and not any(matches_path_or_folder(name.suite, pattern) for pattern in excluded)
            and (not self.cases or any(matches(name.case, pattern) for pattern in self.cases))
            and (not self.runners or any(matches(name.runner, pattern) for pattern in self.runners))
        )


@record(frozen=False, kw_only=False)
class _Collected:
    """What the lines that were read so far have, the newest first. Runs are distinguished by their group."""

    query: TrendQuery
    runs: dict[str, TrendRun] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    samples: dict[TrendName, list[TrendSample]] = field(default_factory=dict)
    expected: dict[TrendName, tuple[str, bool]] = field(default_factory=dict)
    digests: dict[str, dict[int, str]] = field(default_factory=dict)
    conditions: dict[EntryKey, Conditions] = field(default_factory=dict)
    wanted: dict[TrendName, bool] = field(default_factory=dict)
    left_out: set[TrendName] = field(default_factory=set)
    count: int = 0

    def add(self, line: StoredLine) -> None:
        """Add the wanted executions of a line."""
        run = None
        for entry in line.entries:
            stored = StoredExecution(line, entry)
            name = TrendName(*stored.name)
            if (wanted := self.wanted.get(name)) is None:
                wanted = self.wanted[name] = self.query.has(name)
            if not wanted or not self._is_kept(name):
                continue
            run = self._run(line) if run is None else run
            key = stored.key
            if (conditions := self.conditions.get(key)) is None:
                conditions = self.conditions[key] = Conditions(*key)
            sample = TrendSample(
                run=run,
                passed=entry.sessions.count(PASSED),
                judged=len(entry.sessions),
                usd=entry.usd,
                ms=entry.ms,
                conditions=conditions,
            )
            self.samples[name].append(sample)
            if line.run.at >= self.expected.get(name, ("", False))[0]:
                self.expected[name] = line.run.at, entry.expected_fail
            self.count += 1
            if digest := line.suites[entry.suite].digest:
                self.digests.setdefault(name.suite, {})[run] = digest

    def _is_kept(self, name: TrendName) -> bool:
        """Whether there is room for an execution; those of newer runs come first."""
        if name in self.samples:
            return True
        if len(self.samples) >= MAX_TREND_EXECUTIONS:
            self.left_out.add(name)
            return False
        self.samples[name] = []
        return True

    def _run(self, line: StoredLine) -> int:
        """The number of the line's run."""
        at, group = datetime.fromisoformat(line.run.at), line.run.group
        known = self.runs.get(group)
        self.runs[group] = TrendRun(
            at=min(at, known.at) if known else at,
            commit=known.commit if known else line.run.commit,
            link=(known.link if known else None) or line.run.link,
        )
        return self.numbers.setdefault(group, len(self.numbers))


def read_trend(store: Store, query: TrendQuery) -> TrendHistory:
    """The results of a store over time, those of the newest runs. Raises StoreError, also for a line of no run.

    Each line is dropped as soon as it is counted, so that memory does not grow with the store.
    """
    collected, others = _Collected(query), set()
    branch, is_known, older = query.branch, query.branch is not None, False
    for line in validated_lines(store, query.now):
        if not is_known:
            branch, is_known = line.run.branch, True
        if query.since and datetime.fromisoformat(line.run.at) < query.since:
            continue
        if line.run.branch != branch:
            others.add(line.run.group)
            continue
        if collected.count >= MAX_TREND_SAMPLES:
            older = True
            break
        collected.add(line)
    return _history(store.title, collected, branch=branch, others=len(others), older=older)


def _history(title: str, collected: _Collected, *, branch: str | None, others: int, older: bool) -> TrendHistory:
    """The runs in the order of time, and series whose samples refer to them."""
    groups = sorted(collected.runs, key=lambda group: (collected.runs[group].at, group))
    places = {collected.numbers[group]: place for place, group in enumerate(groups)}
    series = [
        TrendSeries(name=name, samples=_in_order(samples, places), expected_fail=collected.expected[name][1])
        for name, samples in sorted(collected.samples.items())
    ]
    return TrendHistory(
        store=title,
        runs=tuple(collected.runs[group] for group in groups),
        series=tuple(series),
        digests={
            suite: {places[number]: digest for number, digest in found.items()}
            for suite, found in collected.digests.items()
        },
        branch=branch,
        other_branches=others,
        older=older,
        executions_left_out=len(collected.left_out),
    )


def _in_order(samples: Iterable[TrendSample], places: dict[int, int]) -> tuple[TrendSample, ...]:
    placed = (sample._replace(run=places[sample.run]) for sample in samples)
    return tuple(sorted(placed, key=lambda sample: sample.run))
