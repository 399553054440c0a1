"""AgentV's graders of what an agent did: the tools it called, and the skill it used."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.assertions.graders import CheckResult, all_or_nothing, grade_of
from skillgym_action.assertions.line_evidence import excerpt
from skillgym_action.javascript.values import MISSING, member_at, same, stringified, text_of
from skillgym_action.limits import MAX_LISTED_VALUES
from skillgym_action.model.session_report import SkillSignal
from skillgym_action.text.likeness import Likeness
from skillgym_action.transcripts.tool_calls import calls_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.assertions.graders import Grade
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.transcripts.tool_calls import Call

MODES = ("any_order", "in_order", "exact", "subset", "superset")
ARGUMENTS = ("exact", "superset", "subset", "ignore")


@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedCall:
    """An expected call. ``args`` None: any. ``match``: how they are compared, or the fields that are compared."""

    tool: str
    args: dict[str, object] | None = None
    match: str | tuple[str, ...] = "exact"
    max_duration_ms: float | None = None

    def fits(self, call: Call) -> bool:
        """Whether a call is of this tool, with these arguments."""
        return call.tool == self.tool and self.args_match(call)

    def args_match(self, call: Call) -> bool:
        """Whether a call of this tool has these arguments."""
        if self.args is None or self.match == "ignore":
            return True
        if isinstance(self.match, tuple):
            fields = (
                (member_at(self.args, keys), member_at(call.args, keys))
                for keys in (path.split(".") for path in self.match)
            )
            return call.args is not None and all(want is MISSING or same(want, got) for want, got in fields)
        if not isinstance(call.args, dict):
            return False
        if self.match == "superset":
            return _within(self.args, call.args)
        return _within(call.args, self.args) if self.match == "subset" else same(self.args, call.args)

    def duration_check(self, call: Call) -> Iterator[CheckResult]:
        """A check of the call's duration, if it is limited and known."""
        if self.max_duration_ms is not None and call.duration_ms is not None:
            passed = call.duration_ms <= self.max_duration_ms
            text = f"{self.tool} took {call.duration_ms} ms of {self.max_duration_ms:g} ms"
            yield CheckResult(text, passed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The calls of a session are the expected ones, compared by ``mode``; ``minimums`` are for ``any_order``."""

    mode: str
    expected: tuple[ExpectedCall, ...] = ()
    minimums: tuple[tuple[str, float], ...] = ()

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The share of the expected calls that were made; for ``subset``, of the calls that are expected."""
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
            return all_or_nothing(CheckResult("nothing is expected that could be missing", passed=True))
        score = sum(check.passed for check in checks) / len(checks)
        if self.mode == "exact" and self.expected and len(calls) != len(self.expected):
            checks.insert(0, CheckResult(f"tool calls: {len(calls)} instead of {len(self.expected)}", passed=False))
        grade = grade_of(*checks, score=score)
        return grade if all(check.passed for check in checks) else replace(grade, evidence=self._seen(calls))

    def _seen(self, calls: tuple[Call, ...]) -> str:
        """The calls; where their order does not matter, those of expected tools and of similar names first."""
        tools = [tool for tool, _ in self.minimums] or [item.tool for item in self.expected]
        return _listed_calls(calls, tools if self.mode in ("any_order", "superset") else ())


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillTrigger:
    """A skill was used, or was not. Its name may be a part of the used skill's, such as one without its plugin."""

    skill: str
    should_trigger: bool = True

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        sign = next(self._signs(context.report), None) if context.report else None
        text = f"skill {self.skill!r} was {'used' if sign else 'not used'}"
        passed = (sign is not None) is self.should_trigger
        seen = self._seen(context.report) if context.report and not passed and sign is None else None
        return all_or_nothing(CheckResult(text, passed, sign or seen))

    def _seen(self, report: SessionReport) -> str:
        """The skills that were used, those with similar names first, and the tool calls."""
        skills = sorted({detected.skill for detected in report.detected_skills})
        order = Likeness(self.skill).nearest_first(skills)
        used = ", ".join(skills[at] for at in order[:MAX_LISTED_VALUES]) or "none"
        return f"skills used: {used}\n{_listed_calls(calls_of(report), ())}"

    def _signs(self, report: SessionReport) -> Iterator[str]:
        """Signs that the skill was used: its tool was called, its files were read, a tool's output names them."""
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


def _listed_calls(calls: tuple[Call, ...], nearest_to: Sequence[str]) -> str:
    """The calls with their numbers and arguments, a line each; those with a name like one of ``nearest_to`` first."""
    if not calls:
        return "tool calls: none"
    names, order = [call.tool for call in calls], list(range(len(calls)))
    if nearest_to:
        likest = [Likeness(tool) for tool in nearest_to]
        shares = [max(likeness.of(name) / (likeness.most or 1) for likeness in likest) for name in names]
        order.sort(key=lambda at: -shares[at])
    lines = [f"{at + 1}. {excerpt(_written(calls[at]))}" for at in order[:MAX_LISTED_VALUES]]
    more = len(calls) - len(lines)
    head = "tool calls, nearest first:" if nearest_to else "tool calls:"
    return "\n".join([head, *lines, *([f"… and {more} more"] if more else [])])


def _written(call: Call) -> str:
    return call.tool if call.args is None else f"{call.tool} {stringified(call.args)}"


# --- modes ------------------------------------------------------------------------------------------


def _counted(tool: str, least: float, calls: tuple[Call, ...]) -> CheckResult:
    count = sum(call.tool == tool for call in calls)
    calls_made = "once" if count == 1 else f"{count} times"
    wanted = f"at least {least:g} {'is' if least == 1 else 'are'} wanted"
    return CheckResult(f"{tool} was called {calls_made}, {wanted}", count >= least)


def _allowed(call: Call, expected: tuple[ExpectedCall, ...]) -> CheckResult:
    passed = any(item.fits(call) for item in expected)
    return CheckResult(f"{call.tool} is {'' if passed else 'not '}among the allowed calls", passed)


def _contained(expected: tuple[ExpectedCall, ...], calls: tuple[Call, ...]) -> Iterator[CheckResult]:
    left = list(calls)
    for item in expected:
        found = next((call for call in left if item.fits(call)), None)
        if found is not None:
            left.remove(found)
        yield CheckResult(
            f"{item.tool} was {'called' if found else 'not called, or with other arguments'}", bool(found)
        )


def _in_order(expected: tuple[ExpectedCall, ...], calls: tuple[Call, ...]) -> Iterator[CheckResult]:
    """As AgentV: a call of the right tool is consumed even if its arguments are wrong."""
    left = iter(calls)
    for item in expected:
        found = next((call for call in left if call.tool == item.tool), None)
        if found is None:
            yield CheckResult(f"{item.tool} was not called after that", passed=False)
        elif not item.args_match(found):
            yield CheckResult(f"{item.tool} was called with other arguments", passed=False)
        else:
            yield CheckResult(f"{item.tool} was called", passed=True)
            yield from item.duration_check(found)
        yield from _missing_duration(item, found)


def _one_by_one(expected: tuple[ExpectedCall, ...], calls: tuple[Call, ...]) -> Iterator[CheckResult]:
    for index, item in enumerate(expected):
        call = calls[index] if index < len(calls) else None
        if call is not None and item.fits(call):
            yield CheckResult(f"call {index + 1} is {item.tool}", passed=True)
            yield from item.duration_check(call)
        else:
            what = f"{call.tool}{' with other arguments' if call.tool == item.tool else ''}" if call else "missing"
            yield CheckResult(f"call {index + 1} is {what}, not {item.tool}", passed=False)
        yield from _missing_duration(item, call)


def _missing_duration(item: ExpectedCall, call: Call | None) -> Iterator[CheckResult]:
    """A failed check for a call with a maximum duration that was not made."""
    if item.max_duration_ms is not None and (call is None or not item.fits(call)):
        yield CheckResult(f"{item.tool} was to take at most {item.max_duration_ms:g} ms", passed=False)


# --- in suite files ---------------------------------------------------------------------------------


def tool_trajectory(entry: SuiteValue, _: str) -> Trajectory:
    """``tool-trajectory``. Raises SuiteError."""
    mode = entry.choice("mode", MODES)
    if mode is None:
        raise entry.invalid("mode", f"one of {', '.join(MODES)}")
    needed = "minimums" if mode == "any_order" else "expected"
    if not entry.has(needed):
        raise entry.error(f"mode {mode} needs {needed}")
    match = _match(entry) or "exact"
    expected = tuple(_expected(item, match) for item in entry.children("expected"))
    return Trajectory(mode=mode, expected=expected, minimums=tuple(_minimums(entry)))


def skill_trigger(entry: SuiteValue, _: str) -> SkillTrigger:
    """``skill-trigger``. Raises SuiteError."""
    skill = entry.required_text("skill")
    return SkillTrigger(skill=skill, should_trigger=entry.flag("should_trigger", default=True))


def _expected(item: SuiteValue, match: str | tuple[str, ...]) -> ExpectedCall:
    args = item.member("args").value
    if args is not None and args != "any" and not isinstance(args, dict):
        raise item.invalid("args", "a mapping, or any")
    return ExpectedCall(
        tool=item.required_text("tool"),
        args=args if isinstance(args, dict) else None,
        match=_match(item) or match,
        max_duration_ms=item.number("max_duration_ms"),
    )


def _match(entry: SuiteValue) -> str | tuple[str, ...] | None:
    if isinstance(entry.member("args_match").value, list):
        return entry.scalar_texts("args_match") or None
    return entry.choice("args_match", ARGUMENTS)


def _minimums(entry: SuiteValue) -> Iterator[tuple[str, float]]:
    value = entry.member("minimums").value if entry.has("minimums") else {}
    if not isinstance(value, dict):
        raise entry.invalid("minimums", "a mapping of tools to numbers")
    for tool, least in value.items():
        if isinstance(least, bool) or not isinstance(least, int | float) or least < 0:
            raise entry.member("minimums").member(tool).error(f"must be a number of calls, not {least!r}")
        yield str(tool), least


# --- arguments --------------------------------------------------------------------------------------


def _within(part: dict[str, object], whole: dict[str, object]) -> bool:
    return all(key in whole and same(value, whole[key]) for key, value in part.items())
