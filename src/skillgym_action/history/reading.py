"""What a store has of the base: its lines, validated, without those of other branches and of later commits."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from skillgym_action.history import StoreError
from skillgym_action.history.stored_lines import StoredExecution, parsed_line
from skillgym_action.model.records import record
from skillgym_action.system.clock import iso_timestamp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.history import Store
    from skillgym_action.history.stored_lines import ExecutionName, StoredLine

MAX_BASE_LINES = 60  # newest lines of the base that are read: enough for 10 runs each of six jobs with other suites
MAX_STORED_CLOCK_LEAD_SECONDS = 24 * 3600.0  # that the clock of another machine may be ahead
NOT_OURS = "no run writes that: look at who did, and remove it from the store"
CLOCKS = "one of the two clocks is wrong: set that of this machine, or remove the line of the other from the store"


@record
class BasePoint:
    """What counts as the base. ``branch``: the base branch; None: not known.

    ``commits``: the merge base and the commits before it; None: the checkout lacks the history, so that all commits of
    the branch count. ``group``: of this run, which is no baseline of itself. ``now``: the time, in UTC.
    """

    now: datetime
    branch: str | None = None
    commits: frozenset[str] | None = None
    group: str | None = None

    def has(self, line: StoredLine) -> bool:
        """Whether a line is of the base."""
        run = line.run
        if run.group == self.group:
            return False
        if self.commits is not None:
            return run.commit in self.commits
        return self.branch is None or run.branch == self.branch


@record
class BaseHistory:
    """The lines of the base, the newest first. ``others``: how many lines were read that are not of the base."""

    lines: tuple[StoredLine, ...]
    others: int
    now: datetime
    branch: str | None = None

    def executions_by_name(self) -> dict[ExecutionName, list[StoredExecution]]:
        """The entries of each execution, the newest first."""
        found: dict[ExecutionName, list[StoredExecution]] = {}
        for line in self.lines:
            for entry in line.entries:
                execution = StoredExecution(line, entry)
                found.setdefault(execution.name, []).append(execution)
        return found


def validated_lines(store: Store, now: datetime) -> Iterator[StoredLine]:
    """The lines of a store, the newest files first. Raises StoreError at the first that no run wrote."""
    latest = now + timedelta(seconds=MAX_STORED_CLOCK_LEAD_SECONDS)
    seen: dict[tuple[str, str, int, str], str] = {}
    for text in store.newest_first():
        try:
            line = parsed_line(text.content, f"{store.title}: {text.place}")
        except StoreError as error:
            raise StoreError(f"{error}; {NOT_OURS}") from error
        if datetime.fromisoformat(line.run.at) > latest:
            times = f"is in the future: {line.run.at}, now {iso_timestamp(now)}"
            raise StoreError(f"{store.title}: {text.place}: run.at: {times}; {CLOCKS}")
        first = line.entries[0]
        key = line.run.id, line.suites[first.suite].path, first.runner, first.case
        if (other := seen.setdefault(key, text.place)) != text.place:
            raise StoreError(f"{store.title}: {text.place}: run.id: the same run is in {other}, too; {NOT_OURS}")
        yield line


def read_history(store: Store, base: BasePoint) -> BaseHistory:
    """The newest lines of a store. Raises StoreError for one that cannot be read, or has a line which no run wrote.

    One wrong line is enough: it shows that others than runs of this tool write to the store. Older lines than are
    needed are not looked at.
    """
    lines, others = [], 0
    for line in validated_lines(store, base.now):
        if not base.has(line):
            others += 1
            continue
        lines.append(line)
        if len(lines) == MAX_BASE_LINES:
            break
    lines.sort(key=lambda line: line.run.at, reverse=True)
    return BaseHistory(lines=tuple(lines), others=others, now=base.now, branch=base.branch)
