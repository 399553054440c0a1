"""``expect.commands``, ``expect.file_reads``, ``expect.tool_calls``, ``expect.output`` and ``expect.skills``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from skillgym_action.model.limits import MAX_SHOWN_VALUE_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.suites.programs.runtime.command_lines import (
    CommandMatcher,
    CommandShape,
    WantedLine,
    described,
    parsed,
)
from skillgym_action.suites.programs.runtime.failure_messages import ExplainContext, FailureMessage
from skillgym_action.suites.programs.runtime.matching import (
    Matcher,
    counted,
    cut,
    in_json,
    listed,
    matcher_of,
    matches,
    nearest_first,
    nearest_line,
    quoted,
    require_list,
    value_text,
    wanted_by,
)
from skillgym_action.suites.programs.runtime.occurrences import Kind, Occurrences, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suites.programs.runtime.failure_messages import Explain, Failed


class ToolCallShape(TypedDict, total=False):
    """A matcher of tool calls: the tool's name, and a predicate that is called with ``(args, event)``."""

    tool: Matcher
    where: Callable[[Any, Any], object]


AnyCommandMatcher: TypeAlias = Matcher | CommandMatcher | CommandShape
ToolCallMatcher: TypeAlias = Matcher | ToolCallShape
Commands: TypeAlias = Occurrences[AnyCommandMatcher]
FileReads: TypeAlias = Occurrences[Matcher]


class ToolCalls:
    """Expectations about tool calls. A matcher is ``{"tool": …, "where": …}``, or the tool's name alone."""

    def __init__(self, failed: Failed) -> None:
        self._calls = Occurrences(TOOL_CALLS, failed)
        self.has = self._calls.includes
        self.count = self._calls.count
        self.at_least = self._calls.at_least
        self.at_most = self._calls.at_most
        self.before = self._calls.before
        self.sequence = self._calls.sequence
        self.only = self._calls.only


class OutputExpectations:
    """Expectations about the final output."""

    def __init__(self, failed: Failed) -> None:
        self._failed = failed

    def includes(
        self, report: SessionReport, matcher: Matcher, message: str | None = None, *, explain: Explain | None = None
    ) -> None:
        """The matcher is found in the final output."""
        if not matches(report.final_output, matcher_of(matcher)):
            wanted = f"expected the final output to match {quoted(matcher)}"
            self._fail(report, wanted, message, explain, expected=matcher)

    def not_empty(self, report: SessionReport, message: str | None = None, *, explain: Explain | None = None) -> None:
        """The final output is not empty."""
        if not report.final_output:
            self._fail(report, "expected a final output", message, explain)

    def _fail(
        self,
        report: SessionReport,
        expectation: str,
        message: str | None,
        explain: Explain | None,
        expected: Matcher | None = None,
    ) -> None:
        output = report.final_output
        observed = f"  final output: {in_json(cut(output, MAX_SHOWN_VALUE_CHARACTERS)) if output else 'none'}"
        if near := nearest_line(output, "" if expected is None else wanted_by(expected)):
            observed += f"\n  nearest line: {near}"
        context = ExplainContext(report=report, expected=expected, observed=output)
        FailureMessage(observed=observed, message=message, explain=explain).fail(self._failed, expectation, context)


def commands(failed: Failed) -> Commands:
    """Expectations about shell commands."""
    return Occurrences(COMMANDS, failed)


def file_reads(failed: Failed) -> FileReads:
    """Expectations about files that were read."""
    return Occurrences(FILE_READS, failed)


def _text_rule(matcher: Matcher) -> Rule:
    checked = matcher_of(matcher)
    return Rule(text=quoted(checked), accepts=lambda text: matches(text, checked), wanted=wanted_by(checked))


def _command_rule(matcher: AnyCommandMatcher) -> Rule:
    if not isinstance(matcher, CommandMatcher | Mapping):
        return _text_rule(matcher)
    wanted = WantedLine.of(matcher)
    text = str(wanted)
    return Rule(text=text, accepts=wanted.accepts, wanted=text, reading=lambda command: described(parsed(command)))


def _tool_rule(matcher: ToolCallMatcher) -> Rule:
    shape: Any = matcher if isinstance(matcher, Mapping) else {"tool": matcher}
    where = shape.get("where")
    if shape.keys() - ToolCallShape.__annotations__ or not (where is None or callable(where)):
        raise TypeError(f'a tool call matcher is {{"tool": …, "where": …}}, not {value_text(matcher)}')
    name = matcher_of(shape["tool"]) if "tool" in shape else None
    parts = [*([] if name is None else [f"tool {quoted(name)}"]), *(["a condition"] if where else [])]

    def accepts(event: Any) -> bool:
        return (name is None or matches(event.tool, name)) and (where is None or bool(where(event.args, event)))

    return Rule(text=" and ".join(parts) or "anything", accepts=accepts, wanted="" if name is None else wanted_by(name))


def _file_reads(report: SessionReport) -> Sequence[str]:
    reads = [event.path for event in report.events if event.type == "fileRead"]
    return reads or report.files.observed_reads


COMMANDS: Kind[AnyCommandMatcher] = Kind(
    one="command",
    many="commands",
    of=lambda report: [event.command for event in report.events if event.type == "command"],
    shown=str,
    rule=_command_rule,
)
FILE_READS: Kind[Matcher] = Kind(one="file read", many="file reads", of=_file_reads, shown=str, rule=_text_rule)
TOOL_CALLS: Kind[ToolCallMatcher] = Kind(
    one="tool call",
    many="tool calls",
    of=lambda report: [event for event in report.events if event.type == "toolCall"],
    shown=lambda event: event.tool if event.args is None else f"{event.tool} {in_json(event.args)}",
    rule=_tool_rule,
    compared=lambda event: event.tool,
)
Confidence: TypeAlias = Literal["weak", "medium", "strong", "explicit"]
CONFIDENCE = ("weak", "medium", "strong", "explicit")


@record(slots=False)
class _Detected:
    """The skills that were detected with at least the confidence ``least``."""

    failed: Failed
    report: SessionReport
    words: FailureMessage
    least: str | None
    names: list[str]
    found: list[str]

    def fail(self, expectation: str, near: Sequence[str] = (), **context: Any) -> None:
        """``near``: the skills that are missing."""
        text = f"{expectation} (confidence: {self.least} or more)" if self.least else expectation
        observed = self.report.detected_skills
        order = nearest_first(near, [each.skill for each in observed])
        words = replace(self.words, observed=listed("detected skills", self.found, order))
        words.fail(self.failed, text, ExplainContext(report=self.report, observed=observed, **context))


class Skills:
    """``min_confidence``: skills detected with less confidence do not count. weak < medium < strong < explicit."""

    def __init__(self, failed: Failed) -> None:
        self._failed = failed

    def has(
        self,
        report: SessionReport,
        skill: str,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was used."""
        seen = self._detected(report, min_confidence, message, explain)
        if skill not in seen.names:
            seen.fail(f"expected the skill {in_json(skill)}", (skill,), expected=skill, actual=0)

    def not_has(
        self,
        report: SessionReport,
        skill: str,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was not used."""
        seen = self._detected(report, min_confidence, message, explain)
        if actual := seen.names.count(skill):
            seen.fail(f"expected no skill {in_json(skill)}", expected=0, actual=actual)

    def includes(
        self,
        report: SessionReport,
        skills: Sequence[str],
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """All these skills were used."""
        require_list(skills, "skills")
        seen = self._detected(report, min_confidence, message, explain)
        if missing := [skill for skill in skills if skill not in seen.names]:
            wanted = f"expected the skills {_names(skills)}; missing: {_names(missing)}"
            seen.fail(wanted, missing, expected=skills, actual=missing)

    def count(
        self,
        report: SessionReport,
        skill: str,
        expected: int,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was detected that many times."""
        seen = self._detected(report, min_confidence, message, explain)
        if (actual := seen.names.count(skill)) != expected:
            wanted = counted(expected, "detection", "detections")
            seen.fail(
                f"expected {wanted} of the skill {in_json(skill)}, found {actual}", expected=expected, actual=actual
            )

    def exactly_one(
        self,
        report: SessionReport,
        skill: str,
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """The skill was detected once."""
        self.count(report, skill, 1, message, min_confidence=min_confidence, explain=explain)

    def only(
        self,
        report: SessionReport,
        skills: Sequence[str],
        message: str | None = None,
        *,
        min_confidence: Confidence | None = None,
        explain: Explain | None = None,
    ) -> None:
        """No other skills than these were used; some of these may be unused."""
        require_list(skills, "skills")
        seen = self._detected(report, min_confidence, message, explain)
        if others := [skill for skill in seen.names if skill not in skills]:
            wanted = f"expected no skills but {_names(skills)}" if skills else "expected no skills"
            seen.fail(f"{wanted}; found: {_names(others)}", expected=skills, actual=others)

    def _detected(
        self, report: SessionReport, least: str | None, message: str | None, explain: Explain | None
    ) -> _Detected:
        if least is not None and least not in CONFIDENCE:
            raise TypeError(f"min_confidence is one of {', '.join(CONFIDENCE)}, not {value_text(least)}")
        enough = CONFIDENCE[CONFIDENCE.index(least) if least else 0 :]
        found = [f"{each.skill} ({each.confidence})" for each in report.detected_skills]
        return _Detected(
            failed=self._failed,
            report=report,
            words=FailureMessage(observed="", message=message, explain=explain),
            least=least,
            names=[each.skill for each in report.detected_skills if each.confidence in enough],
            found=found,
        )


def _names(skills: Sequence[str]) -> str:
    return ", ".join(map(in_json, skills))
