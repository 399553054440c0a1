"""AgentV 5's graders of what an agent did: ``trajectory:*`` about its steps, ``skill-used`` about skills."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.agentv.grader_trace import all_turns, trace_of, turns_of
from skillgym_action.agentv.judge_graders import JudgeGrader
from skillgym_action.agentv.judge_questions import TextPrompt
from skillgym_action.agentv.tool_graders import SkillTrigger
from skillgym_action.assertions.graders import CheckResult, all_or_nothing
from skillgym_action.assertions.line_evidence import excerpt
from skillgym_action.javascript.values import same, stringified, text_of
from skillgym_action.limits import MAX_LISTED_VALUES
from skillgym_action.model.session_report import Message, SkillSignal
from skillgym_action.text.wildcards import matches_wildcards
from skillgym_action.transcripts.tool_calls import calls_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skillgym_action.agentv.grader_context import EntryContext, Task
    from skillgym_action.assertions.graders import Grade, Grader
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.session_report import SessionReport

STEP_TYPES = ("tool", "command", "message", "reasoning")
"""Kinds of steps that can be counted."""
UNKNOWN_STEP_TYPES = ("search", "span")
"""Kinds that AgentV has, too, and that reports of sessions do not have."""
COMMAND_TOOLS = frozenset({"exec_command", "local_shell", "shell"})
"""Tools whose calls are steps of the kind ``command``. AgentV's list."""
ARGUMENT_MODES = ("partial", "exact")
_COMMAND_KEYS = ("cmd", "command", "commands")


# --- steps ------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, kw_only=True, slots=True)
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


# --- graders ----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class StepsGrader:
    """A rule about the steps of a session: 1 or 0."""

    task: Task
    rule: Callable[[tuple[Step, ...]], CheckResult]

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The grade of the rule; evidence is the steps."""
        steps = steps_of(context.report, self.task) if context.report else ()
        check = self.rule(steps)
        return all_or_nothing(check, evidence=None if check.passed else _listed(steps))


@dataclass(frozen=True, kw_only=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class EverySkill:
    """All of several skills were used."""

    skills: tuple[SkillTrigger, ...]

    diagnostic: ClassVar[bool] = True

    def grade(self, context: AssertionContext) -> Grade:
        """The checks of all skills; 1 only if all were used."""
        grades = [skill.grade(context) for skill in self.skills]
        return all_or_nothing(*(check for grade in grades for check in grade.checks), evidence=grades[-1].evidence)


@dataclass(frozen=True, slots=True)
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
    lines = [f"{number}. {step.kind}: {excerpt(_written(step))}" for number, step in enumerate(shown, start=1)]
    more = [f"… and {len(lines) - MAX_LISTED_VALUES} more"] if len(lines) > MAX_LISTED_VALUES else []
    return (
        "\n".join(["tool calls and commands:", *islice(lines, MAX_LISTED_VALUES), *more])
        if lines
        else "tool calls: none"
    )


def _written(step: Step) -> str:
    return step.names[0] if step.args is None else f"{step.names[0]} {stringified(step.args)}"


# --- in suite files ---------------------------------------------------------------------------------


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
    return StepsGrader(task=at.task, rule=rules[kind](entry))


def _tool_used(entry: SuiteValue) -> Callable[[tuple[Step, ...]], CheckResult]:
    value = entry.member("value")
    if isinstance(value.value, dict):
        pattern = _pattern(value, "tool")
        least, most = value.number("min"), value.number("max")
        return _counted(pattern, (0.0 if most == 0 else 1.0) if least is None else least, most)
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


def _counted(pattern: StepPattern, least: float, most: float | None) -> Callable[[tuple[Step, ...]], CheckResult]:
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
        return same(seen, expected) if exact else _within(expected, seen)

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
    return _counted(pattern, least or 0.0, most)


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


# --- arguments --------------------------------------------------------------------------------------


def _without(args: object, ignored: tuple[str, ...]) -> dict[str, object]:
    members = args if isinstance(args, dict) else {}
    return {
        str(name): item
        for name, item in members.items()
        if not any(matches_wildcards(str(name), pattern) for pattern in ignored)
    }


def _is_default(name: str, item: object, defaults: dict[str, object]) -> bool:
    return name in defaults and same(item, defaults[name])


def _within(part: object, whole: object) -> bool:
    """Whether ``whole`` has everything in ``part``; lists have to have the same length."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and _within(item, whole[key]) for key, item in part.items())
    if isinstance(part, list):
        if not isinstance(whole, list) or len(part) != len(whole):
            return False
        return all(_within(one, other) for one, other in zip(part, whole, strict=True))
    return same(part, whole)
