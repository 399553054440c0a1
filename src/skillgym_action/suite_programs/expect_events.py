"""``expect.commands``, ``expect.file_reads``, ``expect.tool_calls`` and ``expect.output``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from skillgym_action.limits import MAX_SHOWN_VALUE_CHARACTERS
from skillgym_action.suite_programs.command_lines import CommandMatcher, CommandShape, WantedLine, described, parsed
from skillgym_action.suite_programs.failure_messages import ExplainContext, FailureMessage
from skillgym_action.suite_programs.matching import (
    Matcher,
    in_json,
    matcher_of,
    matches,
    nearest_line,
    quoted,
    wanted_by,
)
from skillgym_action.suite_programs.occurrences import Kind, Occurrences, Rule
from skillgym_action.suite_programs.showing import cut, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suite_programs.failure_messages import Explain, Failed


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
        raise TypeError(f'a tool call matcher is {{"tool": …, "where": …}}, not {shown(matcher)}')
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
