"""AgentV's graders of what an agent did: the tools it called, and the skill it used."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.grades import Check, all_or_nothing, graded
from skillgym_action.javascript.values import same, text_of
from skillgym_action.model.session_report import SkillSignal
from skillgym_action.transcripts.tool_calls import calls_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.assertions.grades import Grade
    from skillgym_action.documents.entries import Entry
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.transcripts.tool_calls import Call

MODES = ("any_order", "in_order", "exact", "subset", "superset")
ARGUMENTS = ("exact", "superset", "subset", "ignore")
_INDEX = re.compile(r"[0-9]{1,9}")
_NOTHING = object()


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """A call that is expected. ``args`` None: any. ``match``: how they are compared, or the fields that are."""

    tool: str
    args: dict[str, object] | None = None
    match: str | tuple[str, ...] = "exact"
    max_duration_ms: float | None = None

    def fits(self, call: Call) -> bool:
        """Whether a call is of this tool, with these arguments."""
        return call.tool == self.tool and self.takes(call)

    def takes(self, call: Call) -> bool:
        """Whether the arguments are those."""
        if self.args is None or self.match == "ignore":
            return True
        if isinstance(self.match, tuple):
            fields = ((_at(self.args, path), _at(call.args, path)) for path in self.match)
            return call.args is not None and all(want is _NOTHING or same(want, got) for want, got in fields)
        if not isinstance(call.args, dict):
            return False
        if self.match == "superset":
            return _within(self.args, call.args)
        return _within(call.args, self.args) if self.match == "subset" else same(self.args, call.args)

    def in_time(self, call: Call) -> Iterator[Check]:
        """A check of the call's duration, if it is limited and known."""
        if self.max_duration_ms is not None and call.duration_ms is not None:
            passed = call.duration_ms <= self.max_duration_ms
            text = f"{self.tool} took {call.duration_ms} ms of {self.max_duration_ms:g} ms"
            yield Check(text, passed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The calls of a session are those expected, in the way that ``mode`` says; ``minimums`` are for ``any_order``."""

    mode: str
    expected: tuple[Expected, ...] = ()
    minimums: tuple[tuple[str, float], ...] = ()

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The share of what is expected that is there; for ``subset``, of the calls that are expected."""
        calls = calls_of(context.report) if context.report else ()
        if self.mode == "any_order":
            checks = [_counted(tool, least, calls) for tool, least in self.minimums]
        elif self.mode == "subset":
            checks = [_allowed(call, self.expected) for call in calls]
        elif self.mode == "superset":
            checks = list(_contained(self.expected, calls))
        elif self.mode == "in_order":
            checks = list(_in_order(self.expected, calls))
        else:
            checks = list(_one_by_one(self.expected, calls))
        if not checks:
            return all_or_nothing(Check("nothing is expected that could be missing", passed=True))
        score = sum(check.passed for check in checks) / len(checks)
        if self.mode == "exact" and self.expected and len(calls) != len(self.expected):
            checks.insert(0, Check(f"{len(calls)} tool calls instead of {len(self.expected)}", passed=False))
        return graded(*checks, score=score)


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillTrigger:
    """A skill was used, or was not; its name may be a part of the one that was."""

    skill: str
    should_trigger: bool = True

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """1 or 0."""
        sign = next(self._signs(context.report), None) if context.report else None
        text = f"skill {self.skill!r} was {'used' if sign else 'not used'}"
        return all_or_nothing(Check(text, (sign is not None) is self.should_trigger, sign))

    def _signs(self, report: SessionReport) -> Iterator[str]:
        """What shows that the skill was used: its tool, its files read, its files in what a tool gave."""
        folder = f"skills/{self.skill}/"
        for call in calls_of(report):
            args = call.args if isinstance(call.args, dict) else {}
            if call.tool.lower() == "skill" and self.skill in text_of(args.get("skill", "")):
                yield f"the tool Skill was called for {text_of(args['skill'])}"
            path = args.get("file_path", args.get("path", ""))
            if call.tool.lower() == "read" and folder in text_of(path):
                yield f"{text_of(path)} was read"
            if folder in (call.output or ""):
                yield f"what {call.tool} gave names {folder}"
        for event in report.events:
            if isinstance(event, SkillSignal) and self.skill in event.skill:
                yield f"the agent loaded {event.skill}"
        for path in report.files.observed_reads:
            if folder in path:
                yield f"{path} was read"


# --- modes ------------------------------------------------------------------------------------------


def _counted(tool: str, least: float, calls: tuple[Call, ...]) -> Check:
    count = sum(call.tool == tool for call in calls)
    return Check(f"{tool} was called {count} times, at least {least:g} are wanted", count >= least)


def _allowed(call: Call, expected: tuple[Expected, ...]) -> Check:
    passed = any(item.fits(call) for item in expected)
    return Check(f"{call.tool} is {'' if passed else 'not '}among the allowed calls", passed)


def _contained(expected: tuple[Expected, ...], calls: tuple[Call, ...]) -> Iterator[Check]:
    left = list(calls)
    for item in expected:
        found = next((call for call in left if item.fits(call)), None)
        if found is not None:
            left.remove(found)
        yield Check(f"{item.tool} was {'called' if found else 'not called, or with other arguments'}", bool(found))


def _in_order(expected: tuple[Expected, ...], calls: tuple[Call, ...]) -> Iterator[Check]:
    """A call of the right tool is used up even if its arguments are wrong."""
    left = iter(calls)
    for item in expected:
        found = next((call for call in left if call.tool == item.tool), None)
        if found is None:
            yield Check(f"{item.tool} was not called after that", passed=False)
        elif not item.takes(found):
            yield Check(f"{item.tool} was called with other arguments", passed=False)
        else:
            yield Check(f"{item.tool} was called", passed=True)
            yield from item.in_time(found)
        yield from _not_timed(item, found)


def _one_by_one(expected: tuple[Expected, ...], calls: tuple[Call, ...]) -> Iterator[Check]:
    for place, item in enumerate(expected):
        call = calls[place] if place < len(calls) else None
        if call is not None and item.fits(call):
            yield Check(f"call {place + 1} is {item.tool}", passed=True)
            yield from item.in_time(call)
        else:
            what = f"{call.tool}{' with other arguments' if call.tool == item.tool else ''}" if call else "missing"
            yield Check(f"call {place + 1} is {what}, not {item.tool}", passed=False)
        yield from _not_timed(item, call)


def _not_timed(item: Expected, call: Call | None) -> Iterator[Check]:
    """A limited call that did not come cannot have kept its limit."""
    if item.max_duration_ms is not None and (call is None or not item.fits(call)):
        yield Check(f"{item.tool} was to take at most {item.max_duration_ms:g} ms", passed=False)


# --- what is written --------------------------------------------------------------------------------


def tool_trajectory(entry: Entry, _: str) -> Trajectory:
    """``tool-trajectory``. Raises SuiteError."""
    mode = entry.choice("mode", MODES)
    if mode is None:
        raise entry.wrong("mode", f"one of {', '.join(MODES)}")
    needed = "minimums" if mode == "any_order" else "expected"
    if not entry.has(needed):
        raise entry.error(f"mode {mode} needs {needed}")
    match = _match(entry) or "exact"
    expected = tuple(_expected(item, match) for item in entry.children("expected"))
    return Trajectory(mode=mode, expected=expected, minimums=tuple(_minimums(entry)))


def skill_trigger(entry: Entry, _: str) -> SkillTrigger:
    """``skill-trigger``. Raises SuiteError."""
    skill = entry.needed_text("skill")
    return SkillTrigger(skill=skill, should_trigger=entry.flag("should_trigger", default=True))


def _expected(item: Entry, match: str | tuple[str, ...]) -> Expected:
    args = item.value.get("args")
    if args is not None and args != "any" and not isinstance(args, dict):
        raise item.wrong("args", "a mapping, or any")
    return Expected(
        tool=item.needed_text("tool"),
        args=args if isinstance(args, dict) else None,
        match=_match(item) or match,
        max_duration_ms=item.number("max_duration_ms"),
    )


def _match(entry: Entry) -> str | tuple[str, ...] | None:
    if isinstance(entry.value.get("args_match"), list):
        return entry.texts("args_match") or None
    return entry.choice("args_match", ARGUMENTS)


def _minimums(entry: Entry) -> Iterator[tuple[str, float]]:
    value = entry.value.get("minimums", {})
    if not isinstance(value, dict):
        raise entry.wrong("minimums", "a mapping of tools to numbers")
    for tool, least in value.items():
        if isinstance(least, bool) or not isinstance(least, int | float) or least < 0:
            raise entry.error(f"must be a number of calls, not {least!r}", f"minimums.{tool}")
        yield str(tool), least


# --- arguments --------------------------------------------------------------------------------------


def _within(part: dict[str, object], whole: dict[str, object]) -> bool:
    return all(key in whole and same(value, whole[key]) for key, value in part.items())


def _at(value: object, path: str) -> object:
    for key in path.split("."):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and _INDEX.fullmatch(key) and int(key) < len(value):
            value = value[int(key)]
        else:
            return _NOTHING
    return value
