"""The command ``quarantine suggest``: entries of the quarantine file for the flaky executions of the store."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationError

from skillgym_action.cli.terminal import terminal_for
from skillgym_action.history import STORE_PAGE, StoreError
from skillgym_action.history.flaky_cases import ExecutionHistory, execution_histories
from skillgym_action.history.permission import base_branch
from skillgym_action.history.reading import BaseHistory, BasePoint, read_history
from skillgym_action.model.errors import UnusableStoreError, UsageError
from skillgym_action.model.records import record
from skillgym_action.pipeline import wiring
from skillgym_action.pipeline.stages.quarantine import quarantine_of
from skillgym_action.results.statistics.exact_tests import Flakiness
from skillgym_action.results.statistics.rates import case_interval
from skillgym_action.settings.baseline_options import store_options
from skillgym_action.settings.configuration_file import QUARANTINE, EntrySection, read_quarantine
from skillgym_action.settings.option_types import error_in_words
from skillgym_action.system.files.globs import matches
from skillgym_action.text.escaping import LONE_SURROGATE, printed_json, terminal_line
from skillgym_action.text.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import date

    from skillgym_action.history.stored_lines import ExecutionName
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

MAX_SUGGESTION_RUNS = 30  # the same, where flaky cases are looked for
_SIGNS = re.compile(r"[*?\[]")
_WITHOUT_OWNER = "# owner: write who repairs it; an entry without an owner has no effect"


@record
class SuggestOptions:
    """``suites``, ``cases``, ``runners``: patterns that names have to match; none: all. ``days``: until it expires."""

    suites: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    owner: str | None = None
    issue: str | None = None
    days: int = 30

    def selects(self, name: ExecutionName) -> bool:
        """Whether an execution is looked at."""
        pairs = ((name.suite, self.suites), (name.case, self.cases), (name.runner, self.runners))
        return all(not patterns or any(matches(text, one) for one in patterns) for text, patterns in pairs)


@record
class Suggestions:
    """What was found. ``unnamed``: flaky ones that no pattern can name; ``quarantined``: how many are in quarantine."""

    flaky: tuple[ExecutionHistory, ...]
    changed: tuple[ExecutionHistory, ...]
    few: tuple[ExecutionHistory, ...]
    unnamed: tuple[ExecutionHistory, ...]
    quarantined: int
    executions: int


def suggest_quarantine(
    settings: Settings, context: LaunchContext, options: SuggestOptions, *, as_json: bool = False
) -> int:
    """Print entries for the flaky executions of the store; the exit code.

    Raises UsageError, ConfigError, and UnusableStoreError for a store that cannot be read.
    """
    config = wiring.configuration(settings, context)
    store = store_options(settings, config, context)
    if store is None:
        remedy = "name a --store, or write store: into the configuration"
        raise UsageError("quarantine suggest without a store: there is nothing to look into", remedy=remedy)
    terminal = terminal_for(settings, context)
    with wiring.services_without_run(context, terminal, None, replace(store, runs=MAX_SUGGESTION_RUNS)) as services:
        now = services.clock.now()
        check_entries(options, now.date())
        if services.store is None:
            raise ValueError("services were opened without the store")
        try:
            history = read_history(services.store, BasePoint(now=now, branch=base_branch(services.event)))
        except StoreError as error:
            raise UnusableStoreError(f"nothing is proposed: {error}", remedy=f"see {STORE_PAGE}") from error
    today, in_file = now.date(), read_quarantine(config, context)
    selected = [one for one in execution_histories(history) if options.selects(one.name)]
    counting = [one for one in selected if quarantine_of(one.name, in_file, today=today) is None]
    flaky = [one for one in counting if one.verdict is Flakiness.FLAKY]
    found = Suggestions(
        flaky=tuple(one for one in flaky if _patterns(one.name)),
        changed=tuple(one for one in counting if one.verdict is Flakiness.CHANGED),
        few=tuple(one for one in counting if one.verdict is Flakiness.FEW),
        unnamed=tuple(one for one in flaky if not _patterns(one.name)),
        quarantined=len(selected) - len(counting),
        executions=len(selected),
    )
    entries = [entry_of(one, options, today) for one in found.flaky]
    if as_json:
        _print_json(found, entries, history, context)
    elif entries:
        print(context.redactor.text(as_yaml(entries)), end="")  # noqa: T201
    for line in _notes(found, history, title=services.store.title):
        terminal.progress(terminal_line(context.redactor.text(line)))
    return 0


# --- entries ------------------------------------------------------------------------------------------


def entry_of(found: ExecutionHistory, options: SuggestOptions, today: date) -> dict[str, Any]:
    """The entry of an execution; without an owner it is to be completed."""
    suite, case, runner = _patterns(found.name) or found.name
    entry = {
        "suite": suite,
        "case": case,
        "runner": runner,
        "reason": reason_of(found),
        "owner": options.owner,
        "issue": options.issue,
        "expires": today + timedelta(days=options.days),
    }
    return {key: value for key, value in entry.items() if key != "issue" or value is not None}


def check_entries(options: SuggestOptions, today: date) -> None:
    """Raise UsageError for an owner or an address that the file must not have."""
    owner = options.owner if options.owner is not None else "somebody"
    try:
        EntrySection(case="any", reason="any", owner=owner, issue=options.issue, expires=today)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise UsageError(f"--{first['loc'][0]}: {error_in_words(first)}") from error


def reason_of(found: ExecutionHistory) -> str:
    """``failed 3 of 20 sessions in 7 runs between 2026-11-01 and 2026-11-20``."""
    failed = found.samples.judged - found.samples.passed
    days = f"between {found.first} and {found.last}" if found.first != found.last else f"on {found.first}"
    return f"failed {failed} of {counted(found.samples.judged, 'session')} in {counted(found.runs, 'run')} {days}"


def _patterns(name: ExecutionName) -> tuple[str, str, str] | None:
    """Patterns that stand for the names alone; None if there is none, as for two slashes in a row."""
    patterns = tuple(_pattern(text) for text in name)
    if any(map(LONE_SURROGATE.search, name)):
        return None
    if all(matches(text, pattern) for text, pattern in zip(name, patterns, strict=True)):
        return patterns[0], patterns[1], patterns[2]
    return None


def _pattern(text: str) -> str:
    parts = (_SIGNS.sub(r"[\g<0>]", part) for part in text.split("/"))
    return "/".join("[.]" if part == "." else part for part in parts)


def as_yaml(entries: list[dict[str, Any]]) -> str:
    """A quarantine file with the entries. Names are quoted and ASCII, so that they are one line each."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes texts in double quotes, which readers of all versions of YAML take for texts."""

        def represent_text(self, text: str) -> yaml.ScalarNode:
            return self.represent_scalar("tag:yaml.org,2002:str", text, style='"')

    Dumper.add_representer(Quoted, Dumper.represent_text)
    rows = [
        {key: Quoted(value) if isinstance(value, str) else value for key, value in entry.items()} for entry in entries
    ]
    text: str = yaml.dump({"quarantine": rows}, Dumper=Dumper, sort_keys=False, width=float("inf"))
    comment = f"{_WITHOUT_OWNER}\n" if any(entry["owner"] is None for entry in entries) else ""
    return comment + printed_json(text)


class Quoted(str):
    """A text that is written in quotes."""

    __slots__ = ()


# --- words --------------------------------------------------------------------------------------------


def _notes(found: Suggestions, history: BaseHistory, *, title: str) -> Iterator[str]:
    """What was looked at, and why what looks flaky is not proposed."""
    runs = len({line.run.group for line in history.lines})
    branch = f" of {history.branch}" if history.branch else ""
    yield (
        f"{title}: looked at {counted(runs, 'run')}{branch} with {counted(found.executions, 'execution')}: "
        f"{counted(len(found.flaky) + len(found.unnamed), 'is', 'are')} flaky"
        + (f", {found.quarantined:,} more in quarantine already" if found.quarantined else "")
    )
    yield from _listed(found.changed, "changed at some time, so it is not proposed: look at the commits in between")
    yield from _listed(found.few, "too few sessions or runs to call it flaky: 5 sessions in 3 runs are needed")
    yield from _listed(found.unnamed, f"is flaky, but no pattern of {QUARANTINE} names it: give it a plainer id")


def _listed(histories: Iterable[ExecutionHistory], why: str) -> Iterator[str]:
    for one in histories:
        yield f"note: {one.name.suite}: {one.name.case} [{one.name.runner}] {reason_of(one)}: {why}"


def _print_json(
    found: Suggestions, entries: list[dict[str, Any]], history: BaseHistory, context: LaunchContext
) -> None:
    from skillgym_action.cli.schemas.json_documents import (
        EntryPart,
        IntervalPart,
        NotProposedPart,
        SuggestDocument,
        SuggestionPart,
        print_document,
    )

    def of(one: ExecutionHistory) -> dict[str, Any]:
        interval = case_interval(one.samples)
        return {
            "suite": one.name.suite,
            "case": one.name.case,
            "runner": one.name.runner,
            "passed": one.samples.passed,
            "judged": one.samples.judged,
            "runs": one.runs,
            "first_day": one.first,
            "last_day": one.last,
            "pass_rate": IntervalPart(low=interval[0], high=interval[1]) if interval else None,
        }

    proposed = [
        SuggestionPart(**of(one), entry=EntryPart(**entry | {"expires": entry["expires"].isoformat()}))
        for one, entry in zip(found.flaky, entries, strict=True)
    ]
    others: list[tuple[Literal["changed", "too-few", "no-pattern"], tuple[ExecutionHistory, ...]]] = [
        ("changed", found.changed),
        ("too-few", found.few),
        ("no-pattern", found.unnamed),
    ]
    document = SuggestDocument(
        exit_code=0,
        runs=len({line.run.group for line in history.lines}),
        executions=found.executions,
        quarantined=found.quarantined,
        suggestions=proposed,
        not_proposed=[NotProposedPart(**of(one), why=why) for why, several in others for one in several],
    )
    print_document(document, context.redactor)
