"""What the judge is asked about a session: by a suite's own template, or in our words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from skillgym_action.assertions.grades import cannot_tell
from skillgym_action.javascript.values import stringified
from skillgym_action.model.judge_question import Question, Quoted
from skillgym_action.transcripts.tool_calls import call_list, calls_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pydantic import BaseModel

    from skillgym_action.agentv.assertions import Task
    from skillgym_action.agentv.rubrics import Rubric
    from skillgym_action.assertions.grades import Grade
    from skillgym_action.model.assertion import AssertionContext

    T = TypeVar("T", bound=BaseModel)

NO_JUDGE = "no judge is configured; configure run.judge"
INSTRUCTIONS = "You grade the work of a coding agent. Be fair and brief, and keep to what you are asked."
MOST_VARIABLES = 100
VARIABLE = re.compile(r"\{\{\s*(\w+)\s*\}\}")

Parts = tuple[str | Quoted, ...]


class Prompt(Protocol):
    """Whatever writes the question about a session; a grade instead says why there is none."""

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts | Grade:
        """The parts of the question."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """The question about a case's session. ``template`` None: in our words."""

    task: Task
    criteria: str
    template: str | None = None

    def parts(self, context: AssertionContext, rubrics: tuple[Rubric, ...]) -> Parts:
        """What the suite says as it is; what the agent did and said is quoted."""
        if self.template is not None:
            return tuple(
                _filled(self.template, {**self._asked(context), **_as_json(self.task, rubrics)}, _did(context))
            )
        asked = {name: text for name, text in self._asked(context).items() if text.strip()}
        done = [Quoted(_TITLES[name], text) for name, text in _did(context).items() if text.strip() or name == "output"]
        last = "\n".join(["Decide each of these rubrics:", *map(str, rubrics)]) if rubrics else _WITHOUT_RUBRICS
        return (*(f"{_TITLES[name]}:\n{text}" for name, text in asked.items()), *done, last)

    def _asked(self, context: AssertionContext) -> dict[str, str]:
        report = context.report
        return {
            "input": report.prompt if report else "",
            "criteria": self.criteria,
            "expected_output": reference(self.task.expected_output),
        }


_WITHOUT_RUBRICS = "How well are task and criteria met?"
_TITLES = {
    "input": "The agent's task",
    "criteria": "The criteria",
    "expected_output": "An answer that would be right; others may be, too",
    "output": "final answer",
    "file_changes": "changed files",
    "tool_calls": "tool calls",
}


def asked(
    context: AssertionContext, parts: Parts, form: type[T], read: Callable[[T], Grade], instructions: str = INSTRUCTIONS
) -> Grade:
    """What ``read`` makes of the judge's answer; cannot tell without a judge, or without an answer."""
    answer = context.ask_judge(Question(instructions=instructions, prompt=parts, form=form))
    if answer is None:
        return cannot_tell(NO_JUDGE)
    if answer.content is None:
        why = answer.trouble.message if answer.trouble else "it says nothing"
        return cannot_tell(f"the judge gave no answer: {why}")
    return read(answer.content)


def reference(messages: Sequence[object]) -> str:
    """The expected output as text: the content of a single message, or all of them as JSON."""
    contents = [message.get("content") if isinstance(message, dict) else message for message in messages]
    if len(contents) == 1:
        (content,) = contents
        return content if isinstance(content, str) else stringified(content, indent=2)
    return stringified(list(messages), indent=2) if messages else ""


def _did(context: AssertionContext) -> dict[str, str]:
    """What the agent said and did."""
    report = context.report
    return {
        "output": report.final_output if report else "",
        "file_changes": context.file_changes() or "",
        "tool_calls": call_list(calls_of(report)) if report else "",
    }


def _as_json(task: Task, rubrics: tuple[Rubric, ...]) -> dict[str, str]:
    found: dict[str, object] = {"metadata": task.metadata, "rubrics": [rubric.as_json() for rubric in rubrics] or None}
    written = {name: "" if value is None else stringified(value, indent=2) for name, value in found.items()}
    return written | {f"{name}_json": "" if value is None else stringified(value) for name, value in found.items()}


def _filled(template: str, asked_for: dict[str, str], did: dict[str, str]) -> Iterator[str | Quoted]:
    """The template with its variables; those that nobody knows are left as they are, and so is what is too much."""
    text, end = "", 0
    for found in islice(VARIABLE.finditer(template), MOST_VARIABLES):
        name = found[1]
        text += template[end : found.start()]
        end = found.end()
        if name in did:
            yield from filter(None, (text.strip(),))
            yield Quoted(_TITLES[name], did[name])
            text = ""
        else:
            text += asked_for.get(name, found[0]).strip()
    yield from filter(None, ((text + template[end:]).strip(),))
