"""AgentV's graders of what an agent did: the tools it called, their order, and the skill it used."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agents.output.tool_calls import calls_of
from skillgym_action.judging.assertions.evidence import excerpt
from skillgym_action.judging.assertions.graders import CheckResult, all_or_nothing, grade_of
from skillgym_action.model.limits import MAX_LISTED_VALUES
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Message, SkillSignal
from skillgym_action.suites.agentv.grader_trace import all_turns, trace_of, turns_of
from skillgym_action.suites.agentv.judge_graders import JudgeGrader, TextPrompt
from skillgym_action.system.files.globs import matches_wildcards
from skillgym_action.text.javascript.values import MISSING, member_at, same, stringified, text_of
from skillgym_action.text.likeness import Likeness

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from skillgym_action.agents.output.tool_calls import Call
    from skillgym_action.judging.assertions.graders import Grade, Grader
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suites.agentv.grader_context import EntryContext, Task
    from skillgym_action.suites.values import SuiteValue

MODES = ("any_order", "in_order", "exact", "subset", "superset")
ARGUMENTS = ("exact", "superset", "subset", "ignore")


@record
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


@record
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


@record
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
            raise entry.member("minimums").member(tool).wrong_type("a number of calls")
        yield str(tool), least


# --- arguments --------------------------------------------------------------------------------------


def _within(part: dict[str, object], whole: dict[str, object]) -> bool:
    return all(key in whole and same(value, whole[key]) for key, value in part.items())


STEP_TYPES = ("tool", "command", "message", "reasoning")
"""Kinds of steps that can be counted."""

UNKNOWN_STEP_TYPES = ("search", "span")
"""Kinds that AgentV has, too, and that reports of sessions do not have."""

COMMAND_TOOLS = frozenset({"exec_command", "local_shell", "shell"})
"""Tools whose calls are steps of the kind ``command``. AgentV's list."""

ARGUMENT_MODES = ("partial", "exact")
_COMMAND_KEYS = ("cmd", "command", "commands")


@record
class Step:
    """One step of a session. ``names``: what it can be called in a suite; the first one is shown."""

    kind: str
    names: tuple[str, ...]
    args: object = None


def steps_of(report: SessionReport, task: Task) -> tuple[Step, ...]:
    """The steps of a session, in their order: those of the trace that graders get, and what the agent thought."""
    turns = all_turns(task.input, turns_of(report))
    events = trace_of(report, turns, task.case_id)["events"]
    thoughts = (
        Step(kind="reasoning", names=("reasoning",))
        for event in report.events
        if isinstance(event, Message) and event.phase == "thinking"
    )
    return (*(_step(event) for event in events), *thoughts)  # type: ignore[attr-defined]


def _step(event: dict[str, object]) -> Step:
    tool, message = event.get("tool"), event.get("message")
    if event["type"] == "tool_call" and isinstance(tool, dict):
        name, args = str(tool["name"]), tool.get("input")
        command = _command(args) if name.lower() in COMMAND_TOOLS else ""
        if command:
            return Step(kind="command", names=(command, name, command.split()[0]), args=args)
        return Step(kind="tool", names=(name,), args=args)
    name = str((message.get("name") if isinstance(message, dict) else None) or event["type"])
    kind = "message" if event["type"] in {"message", "final_response"} else "span"
    return Step(kind=kind, names=(name, kind))


def _command(args: object) -> str:
    written = next((args[key] for key in _COMMAND_KEYS if args.get(key)), "") if isinstance(args, dict) else ""
    words = written if isinstance(written, list) else [written]
    return " ".join(filter(None, (text_of(word).strip() for word in words)))


@record
class StepPattern:
    """Which steps are meant. ``pattern``: a name with ``*`` and ``?``, in any case of letters; None: every step."""

    pattern: str | None = None
    kinds: tuple[str, ...] = ()

    def fits(self, step: Step) -> bool:
        """Whether a step is meant."""
        if self.kinds and step.kind not in self.kinds:
            return False
        pattern = self.pattern
        return pattern is None or any(matches_wildcards(name.lower(), pattern.lower()) for name in step.names)

    def __str__(self) -> str:
        """The pattern as messages show it."""
        return self.pattern or "any step"


@record
class StepsGrader:
    """A rule about the steps of a session: 1 or 0. ``value``: the rule as it is written, which digests need."""

    task: Task
    value: object
    rule: Callable[[tuple[Step, ...]], CheckResult]

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The grade of the rule; evidence is the steps."""
        steps = steps_of(context.report, self.task) if context.report else ()
        check = self.rule(steps)
        return all_or_nothing(check, evidence=None if check.passed else _listed(steps))


@record
class SkillUse:
    """How often a skill was used. ``pattern``: its name, or one with ``*`` and ``?``."""

    pattern: str
    least: float = 1
    most: float | None = None

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """One check of the number of uses."""
        report = context.report
        count = self._count(report) if report else 0
        passed = count >= self.least and (self.most is None or count <= self.most)
        wanted = f"at least {self.least:g}" if self.most is None else f"from {self.least:g} to {self.most:g}"
        times = "once" if count == 1 else f"{count} times"
        check = CheckResult(f"skill {self.pattern!r} was used {times}, expected: {wanted}", passed)
        used = sorted({one.skill for one in report.detected_skills}) if report else []
        return all_or_nothing(check, evidence=None if passed else f"skills used: {', '.join(used) or 'none'}")

    def _count(self, report: SessionReport) -> int:
        """Calls of the skill tool, or else signals of the agent; 1 if only the reading of its files shows it."""
        calls = sum(self._fits(name) for name in _called_skills(report))
        signals = sum(self._fits(event.skill) for event in report.events if isinstance(event, SkillSignal))
        found = any(self._fits(one.skill) for one in report.detected_skills)
        return max(calls, signals, int(found))

    def _fits(self, skill: str) -> bool:
        return matches_wildcards(skill.lower(), self.pattern.lower())


def _called_skills(report: SessionReport) -> Iterator[str]:
    for call in calls_of(report):
        if call.tool.lower() == "skill" and isinstance(call.args, dict):
            yield text_of(call.args.get("skill", ""))


@record(kw_only=False)
class EverySkill:
    """All of several skills were used."""

    skills: tuple[SkillTrigger, ...]

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The checks of all skills; 1 only if all were used."""
        grades = [skill.grade(context) for skill in self.skills]
        return all_or_nothing(*(check for grade in grades for check in grade.checks), evidence=grades[-1].evidence)


@record(kw_only=False)
class NoSkill:
    """None of several skills was used."""

    skills: tuple[SkillTrigger, ...]

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The opposite of AgentV's sense: negated, as ``not-skill-used`` is, it passes if none was used."""
        checks = [check for skill in self.skills for check in skill.grade(context).checks]
        used = any(check.passed for check in checks)
        return all_or_nothing(CheckResult("; ".join(check.text for check in checks), passed=used))


def _listed(steps: tuple[Step, ...]) -> str:
    shown = [step for step in steps if step.kind in {"tool", "command"}]
    lines = [f"{number}. {step.kind}: {excerpt(_step_text(step))}" for number, step in enumerate(shown, start=1)]
    more = [f"… and {len(lines) - MAX_LISTED_VALUES} more"] if len(lines) > MAX_LISTED_VALUES else []
    return (
        "\n".join(["tool calls and commands:", *islice(lines, MAX_LISTED_VALUES), *more])
        if lines
        else "tool calls: none"
    )


def _step_text(step: Step) -> str:
    return step.names[0] if step.args is None else f"{step.names[0]} {stringified(step.args)}"


def trajectory(entry: SuiteValue, at: EntryContext, kind: str) -> Grader:
    """The grader of ``trajectory:KIND``. Raises SuiteError."""
    if kind == "goal-success":
        return _goal_success(entry, at)
    rules = {
        "tool-used": _tool_used,
        "tool-sequence": _tool_sequence,
        "tool-args-match": _tool_args_match,
        "step-count": _step_count,
    }
    return StepsGrader(task=at.task, value=entry.member("value").value, rule=rules[kind](entry))


def _tool_used(entry: SuiteValue) -> Callable[[tuple[Step, ...]], CheckResult]:
    value = entry.member("value")
    if isinstance(value.value, dict):
        pattern = _pattern(value, "tool")
        least, most = value.number("min"), value.number("max")
        return _count_rule(pattern, (0.0 if most == 0 else 1.0) if least is None else least, most)
    names = _names(value, "a tool, a list of tools, or a mapping with name, min and max")
    patterns = [StepPattern(pattern=name, kinds=("tool",)) for name in names]
    negated = entry.flag("negate")

    def rule(steps: tuple[Step, ...]) -> CheckResult:
        used = [pattern for pattern in patterns if any(map(pattern.fits, steps))]
        missing = [str(pattern) for pattern in patterns if pattern not in used]
        if negated:  # the assertion is to fail if any of them was used
            return CheckResult(f"used: {', '.join(map(str, used)) or 'none of the tools'}", passed=bool(used))
        return CheckResult(f"not used: {', '.join(missing)}" if missing else "all tools were used", passed=not missing)

    return rule


def _count_rule(pattern: StepPattern, least: float, most: float | None) -> Callable[[tuple[Step, ...]], CheckResult]:
    wanted = f"at least {least:g}" if most is None else f"from {least:g} to {most:g}"

    def rule(steps: tuple[Step, ...]) -> CheckResult:
        count = sum(map(pattern.fits, steps))
        passed = count >= least and (most is None or count <= most)
        return CheckResult(f"{count} steps are {pattern}, expected: {wanted}", passed)

    return rule


def _tool_sequence(entry: SuiteValue) -> Callable[[tuple[Step, ...]], CheckResult]:
    value = entry.member("value")
    in_mapping = isinstance(value.value, dict)
    mode = value.choice("mode", ("in_order", "exact")) if in_mapping else None
    written = value.member("steps") if in_mapping else value
    expected = [_tool_pattern(item) for item in written.items()]
    if not expected:
        raise written.error("must not be empty", "name the tools: steps: [Read, Edit]")
    names = ", ".join(map(str, expected))

    def in_order(steps: Iterable[Step]) -> bool:
        left = iter(steps)
        return all(any(pattern.fits(step) for step in left) for pattern in expected)

    def rule(steps: tuple[Step, ...]) -> CheckResult:
        tools = [step for step in steps if step.kind == "tool"]
        if mode == "exact":
            pairs = zip(expected, tools, strict=False)
            passed = len(tools) == len(expected) and all(pattern.fits(step) for pattern, step in pairs)
        else:
            passed = in_order(tools)
        which = "exactly these tools" if mode == "exact" else "in this order"
        return CheckResult(f"the tools were {'' if passed else 'not '}called {which}: {names}", passed)

    return rule


def _tool_args_match(entry: SuiteValue) -> Callable[[tuple[Step, ...]], CheckResult]:
    value = entry.member("value")
    value.mapping()
    pattern = _pattern(value, "tool")
    key = "args" if value.has("args") else "arguments"
    if not value.has(key):
        raise value.invalid("args", "the arguments of the call")
    wanted = value.member(key).value
    exact = value.choice("mode", ARGUMENT_MODES) == "exact"
    ignored = _names(value.member("ignore"), "a text or a list of texts") if value.has("ignore") else ()
    defaults = value.member("defaults").mapping() if value.has("defaults") else {}

    def fits(args: object) -> bool:
        seen = {name: item for name, item in _without(args, ignored).items() if not _is_default(name, item, defaults)}
        expected = _without(wanted, ignored) if isinstance(wanted, dict) else wanted
        return same(seen, expected) if exact else _is_in(expected, seen)

    def rule(steps: tuple[Step, ...]) -> CheckResult:
        calls = [step for step in steps if pattern.fits(step)]
        passed = any(isinstance(step.args, dict) and fits(step.args) for step in calls)
        how = "with exactly" if exact else "with"
        text = f"{pattern} was {'' if passed else 'not '}called {how} {excerpt(stringified(wanted))}"
        return CheckResult(text if calls else f"{pattern} was not called", passed)

    return rule


def _step_count(entry: SuiteValue) -> Callable[[tuple[Step, ...]], CheckResult]:
    value = entry.member("value")
    value.mapping()
    least, most = value.number("min"), value.number("max")
    if least is None and most is None:
        raise value.error("needs min, max or both", "value: {type: tool, max: 10}")
    written = value.member("type")
    kinds = [written] if isinstance(written.value, str) else written.items() if value.has("type") else []
    for kind in kinds:
        if kind.value in UNKNOWN_STEP_TYPES:
            raise kind.error(f"steps of the type {kind.value} are not known here", f"count {', '.join(STEP_TYPES)}")
        if kind.value not in STEP_TYPES:
            raise kind.error(f"must be one of {', '.join(STEP_TYPES)}")
    name = value.scalar_text("pattern") or value.scalar_text("name")
    pattern = StepPattern(pattern=name, kinds=tuple(str(kind.value) for kind in kinds))
    return _count_rule(pattern, least or 0.0, most)


def _goal_success(entry: SuiteValue, at: EntryContext) -> JudgeGrader:
    value = entry.member("value")
    goal = value.required_text("goal") if isinstance(value.value, dict) else entry.required_text("value")
    criteria = f"What the agent did and its answer achieve this goal: {goal}"
    return JudgeGrader(prompt=TextPrompt(task=at.task, criteria=criteria))


def skill_used(entry: SuiteValue, _: str) -> Grader:
    """``skill-used``; ``not-skill-used`` is its opposite. Raises SuiteError."""
    value = entry.member("value")
    if isinstance(value.value, dict):
        pattern = value.scalar_text("pattern") or value.required_text("name")
        least, most = value.number("min", whole=True), value.number("max", whole=True)
        if entry.flag("negate") and (least is not None or most):
            raise value.error("not-skill-used has no min and max", f"write type: skill-used with max: 0 for {pattern}")
        if entry.flag("negate"):
            return SkillUse(pattern=pattern)
        if least is None:
            least = 1 if most is None else 0
        return SkillUse(pattern=pattern, least=least, most=most)
    names = _names(value, "a skill, a list of skills, or a mapping with name or pattern")
    skills = tuple(SkillTrigger(skill=name) for name in names)
    if len(skills) == 1:
        return skills[0]
    return NoSkill(skills) if entry.flag("negate") else EverySkill(skills)


def _names(value: SuiteValue, wanted: str) -> tuple[str, ...]:
    if isinstance(value.value, str):
        return (value.as_text(),)
    if not isinstance(value.value, list) or not value.value:
        raise value.wrong_type(wanted)
    return tuple(item.as_text() for item in value.items())


def _tool_pattern(item: SuiteValue) -> StepPattern:
    if isinstance(item.value, str):
        return StepPattern(pattern=item.as_text(), kinds=("tool",))
    return _pattern(item, "tool")


def _pattern(value: SuiteValue, kind: str) -> StepPattern:
    value.mapping()
    name = value.scalar_text("pattern") or value.scalar_text("name")
    if not name:
        raise value.error("has neither a name nor a pattern", "name: Read")
    return StepPattern(pattern=name, kinds=(kind,))


def _without(args: object, ignored: tuple[str, ...]) -> dict[str, object]:
    members = args if isinstance(args, dict) else {}
    return {
        str(name): item
        for name, item in members.items()
        if not any(matches_wildcards(str(name), pattern) for pattern in ignored)
    }


def _is_default(name: str, item: object, defaults: dict[str, object]) -> bool:
    return name in defaults and same(item, defaults[name])


def _is_in(part: object, whole: object) -> bool:
    """Whether ``whole`` has everything in ``part``; lists have to have the same length."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _is_in(item, whole[key]) for key, item in part.items())
    if isinstance(part, list):
        if not isinstance(whole, list) or len(part) != len(whole):
            return False
        return all(_is_in(one, other) for one, other in zip(part, whole, strict=True))
    return same(part, whole)
