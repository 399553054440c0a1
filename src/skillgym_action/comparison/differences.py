"""What differs between a baseline and a run besides the results: models, versions, suites, templates, limits, judge.

Each of them may explain a change of the rates as well as a change of the agent does.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.limits import MAX_INPUT_DIFFERENCES
from skillgym_action.model.comparison import Difference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import LimitSettings, RunReport
    from skillgym_action.model.suite import BenchmarkSuite

_DIGEST = 12  # characters that are shown
T = TypeVar("T")


def differences(base: RunReport, head: RunReport) -> Iterator[Difference]:
    """The differences: the tool's first, then those of runners and of suites. What is unknown on a side is none."""
    yield from _difference("skillgym-action", "", base.version, head.version)
    yield from _difference("judge", "", judge_in_words(base), judge_in_words(head))
    limits = (dict(limits_in_words(report.limits)) for report in (base, head))
    for what, values in _in_both(*limits):
        yield from _difference(what, "", *values)
    for runner, (earlier, later) in _in_both(_by_runner(base), _by_runner(head)):
        yield from _difference("agent", runner, _agents(earlier), _agents(later))
        yield from _difference("model", runner, _values(r.model for r in earlier), _values(r.model for r in later))
        versions = (_values(result.version for result in results) for results in (earlier, later))
        yield from _difference("version of the agent's CLI", runner, *versions)
    suites = ({suite.path: suite for suite in report.suites} for report in (base, head))
    for path, (before, after) in _in_both(*suites):
        yield from _of_suite(path, before, after)
    yield from islice(_of_inputs(base, head), MAX_INPUT_DIFFERENCES)


def judge_in_words(report: RunReport) -> str | None:
    """The judge's model, with the versions that it replied with; None without a judge."""
    judge = report.judge
    if judge is None:
        return None
    versions = [version for version in judge.versions if version != judge.model]
    votes = [f"{judge.votes} votes"] if judge.votes > 1 else []
    return ", ".join([judge.model, *versions, *votes])


def limits_in_words(limits: LimitSettings | None) -> Iterator[tuple[str, str]]:
    """What is limited in all sessions, and how; nothing if it is unknown."""
    if limits is None:
        return
    yield "time limit", f"{limits.timeout:g} s" if limits.timeout else "that of the suite"
    yield "default time limit", f"{limits.default_timeout:g} s"
    yield "limit of steps", "none" if limits.max_steps is None else str(limits.max_steps)
    yield "status of a session that exceeds a limit", limits.on_limit


def _of_suite(path: str, before: BenchmarkSuite, after: BenchmarkSuite) -> Iterator[Difference]:
    """Prompts and assertions are compared one by one; a check's body is only in the suite's digest."""
    yield from _difference("suite file", path, _short(before.digest), _short(after.digest))
    yield from _difference("workspace template", path, _short(before.template_digest), _short(after.template_digest))


def _of_inputs(base: RunReport, head: RunReport) -> Iterator[Difference]:
    """What single executions were given, where both sides know it: as with a baseline that a store has."""
    earlier = {_name(result): result.inputs for result in base.results}
    for result in head.results:
        before, after = earlier.get(_name(result)), result.inputs
        if before is None or after is None or before == after:
            continue
        suite, case, runner = _name(result)
        subject = f"{suite}: {case} [{runner}]"
        yield from _difference("prompt", subject, before.prompt, after.prompt)
        yield from _difference("assertions", subject, before.assertions, after.assertions)
        yield from _difference("workspace inputs", subject, before.workspace, after.workspace)


def _name(result: Result) -> tuple[str, str, str]:
    return result.suite.path, result.case_id, result.runner.id if result.runner else ""


def _difference(what: str, subject: str, before: str | None, after: str | None) -> Iterator[Difference]:
    if before is not None and after is not None and before != after:
        yield Difference(what=what, subject=subject, before=before, after=after)


def _by_runner(report: RunReport) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for result in report.results:
        if result.runner:
            found.setdefault(result.runner.id, []).append(result)
    return found


def _in_both(earlier: dict[str, T], later: dict[str, T]) -> Iterator[tuple[str, tuple[T, T]]]:
    return ((key, (value, later[key])) for key, value in earlier.items() if key in later)


def _agents(results: Iterable[Result]) -> str | None:
    return _values(result.runner.agent.type for result in results if result.runner)


def _values(values: Iterable[str | None]) -> str | None:
    """All known ones in one text; None if none is known."""
    return ", ".join(sorted({value for value in values if value})) or None


def _short(digest: str | None) -> str | None:
    return digest and digest[:_DIGEST]
