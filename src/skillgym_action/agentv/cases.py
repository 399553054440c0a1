"""Tests of an AgentV suite as cases; one that cannot be used is an Invalid, and its siblings still run."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Literal

from skillgym_action.agentv.assertions import Task, Where, assertions_of
from skillgym_action.agentv.case_sources import Unread
from skillgym_action.agentv.dependencies import stuck
from skillgym_action.agentv.loaded import MOST_WARNINGS, Cases
from skillgym_action.agentv.messages import expected_messages, input_messages, prompt
from skillgym_action.agentv.variables import merged, templated
from skillgym_action.agentv.workspaces import place
from skillgym_action.limits import MAX_CASE_ID_CHARS
from skillgym_action.model.errors import Problem, SuiteError
from skillgym_action.model.suite import Case

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.agentv.case_sources import Entry, Tests
    from skillgym_action.agentv.messages import Message, Prompt
    from skillgym_action.agentv.source_values import Files, Part
    from skillgym_action.agentv.variables import Growth
    from skillgym_action.agentv.workspaces import Place
    from skillgym_action.model.assertion import Assertion
    from skillgym_action.model.suite import WorkspaceSpec

THRESHOLD = 0.8
"""The score a case needs, where nobody says."""

KNOWN = frozenset(
    {
        *("id", "input", "input_files", "expected_output", "criteria", "expected_outcome", "assertions", "assert"),
        *("evaluators", "rubrics", "execution", "workspace", "metadata", "conversation_id", "vars", "depends_on"),
        *("on_dependency_failure", "mode", "turns", "aggregation", "on_turn_failure", "window_size", "tags"),
        *("expected_fail", "description"),
    }
)
TEMPLATED = ("criteria", "expected_outcome", "input", "input_files", "expected_output", "turns")
UNMET: dict[str, Literal["skip", "fail", "run"]] = {"skip": "skip", "fail": "fail", "run": "run"}

_UNUSABLE = re.compile(r"[\0\ud800-\udfff]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """What a suite says for all of its tests."""

    top: Part
    files: Files
    place: Place | None
    assertions: Part | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    threshold: float = THRESHOLD
    retries: int = 0

    @property
    def workspace(self) -> WorkspaceSpec | None:
        """Where agents work, if anything is said of that."""
        return self.place.spec(compat=self.files.compat) if self.place else None


def cases_of(tests: Tests, shared: Shared) -> Cases:
    """Every test, as a case or as an Invalid."""
    made = Cases(warnings=list(tests.warnings))
    taken: dict[str, Part] = {}
    for entry in tests.entries:
        if isinstance(entry, Unread):
            made.refuse(entry.case_id, (entry.problem,))
            continue
        name, part = None, entry.part
        try:
            name = _id(entry, made.warnings)
            if name is None:
                raise part.error("the test has no id", "give it one: id: fix-null-check")
            if name in taken:
                message = f"the id {name!r} is already that of the test at {taken[name].location}"
                raise part.error(message, "rename one of them")
            taken[name] = part
            case, parts = _case(name, entry, shared, made.warnings)
        except SuiteError as error:
            made.refuse(name or (entry.folder.name if entry.folder else part.name), error.problems)
        else:
            made.add(case, parts)
    wrong = stuck(made.cases, taken)
    for case_id, message in wrong.items():
        made.refuse(case_id, (taken[case_id].problem(message, "see depends_on"),))
    made.cases = [case for case in made.cases if case.id not in wrong]
    return made


def _id(entry: Entry, warnings: list[Problem]) -> str | None:
    """The id as it is written, else the name of the case's folder. A number becomes text, with a warning."""
    part = entry.part.get("id")
    if part is None:
        return entry.folder.name if entry.folder else None
    if isinstance(part.value, str):
        if len(part.value) > MAX_CASE_ID_CHARS:
            raise part.error(f"is longer than {MAX_CASE_ID_CHARS:,} characters")
        return part.value if part.value.strip() and not _UNUSABLE.search(part.value) else None
    if isinstance(part.value, dict | list):
        return None
    text = str(part.value).lower() if isinstance(part.value, bool) else str(part.value)
    warnings.append(part.problem(f"the id {text} is no text", f'write id: "{text}"'))
    return text


# --- a case -----------------------------------------------------------------------------------------


def _case(name: str, entry: Entry, shared: Shared, warnings: list[Problem]) -> tuple[Case, int]:
    """The case, and of how many parts its input is. Raises SuiteError."""
    part = _with_variables(entry.part, shared.files.growth)
    if (mode := part.text("mode")) == "conversation" or part.get("turns"):
        raise part.error("conversations of several turns are not supported yet", "ask for all of it in one input")
    if mode is not None:
        raise part.error(f"the mode {mode!r} is not known", "leave it out")
    execution = part.get("execution")
    skips = execution.flag("skip_defaults") if execution else False
    messages = _messages(part, shared, skips=skips)
    task = _task(part, shared, messages)
    asked = _prompt(part, task, entry, shared, warnings)
    task = replace(task, input_files=tuple(map(str, asked.files)), folder=entry.folder)
    own = place(part.get("workspace"), shared.files, entry.folder)
    spec = own.over(shared.place, compat=shared.files.compat) if own else None
    warnings.extend(islice(part.unknown(KNOWN), max(0, MOST_WARNINGS - len(warnings))))
    warnings.extend(own.warnings if own else ())
    tags = (*shared.tags, *_tags(part, "tags"), *_tags(part.get("metadata"), "tags"))
    case = Case(
        id=name,
        prompt=asked.text,
        location=part.location,
        assertions=_assertions(part, entry, shared, task, skips=skips),
        threshold=_threshold(execution, shared.threshold),
        tags=tuple(dict.fromkeys(tags)),
        expected_fail=part.flag("expected_fail"),
        runners=tuple(execution.texts("targets")) if execution else (),
        files=asked.files,
        metadata=task.metadata,
        workspace=spec.spec(compat=shared.files.compat) if spec else None,
        retries=shared.retries,
        depends_on=part.texts("depends_on"),
        on_dependency_failure=_unmet(part),
    )
    contents = (message.get("content") for message in messages)
    return case, sum(len(content) if isinstance(content, list) else 1 for content in contents)


def _with_variables(part: Part, growth: Growth) -> Part:
    variables = part.get("vars")
    if variables is None:
        return part
    values = variables.mapping().value
    told: dict[str, object] = part.value  # type: ignore[assignment]
    filled = {key: templated(told[key], values, growth) for key in TEMPLATED if key in told}  # type: ignore[arg-type]
    return replace(part, value={**told, **filled})


def _messages(part: Part, shared: Shared, *, skips: bool) -> list[Message]:
    """The suite's own messages, then the test's. Raises SuiteError."""
    told = part.get("input")
    if told is None:
        raise part.error("the test has no input", "say what the agent is to do: input: Fix the null pointer")
    files = part.get("input_files") or (None if skips else shared.top.get("input_files"))
    if files and not isinstance(told.value, str):
        raise files.error("input_files go with an input that is text", "write the files into the input's content")
    messages = input_messages(told.value, (item.as_text() for item in files.items()) if files else ())
    if not messages:
        raise told.error("the input holds no message", "write text, or messages with role and content")
    suite = None if skips else shared.top.get("input")
    variables = part.get("vars")
    common = suite.value if suite else None
    if suite and variables:
        common = templated(common, variables.value, shared.files.growth)  # type: ignore[arg-type]
    return [*input_messages(common), *messages]


def _task(part: Part, shared: Shared, messages: list[Message]) -> Task:
    """What the graders are told. Raises SuiteError for a test that nobody could judge."""
    criteria = part.text("criteria", "expected_outcome") or ""
    expected = part.get("expected_output")
    if not criteria and not expected and not part.get("assertions", "assert", "evaluators", "rubrics"):
        execution = part.get("execution")
        if not (execution and execution.get("evaluators")):
            raise part.error("nothing says when the test is passed", "add criteria, expected_output or assertions")
    told = part.get("metadata")
    own: dict[str, object] = told.mapping().value if told else {}  # type: ignore[assignment]
    return Task(
        criteria=criteria,
        input=tuple(messages),
        expected_output=tuple(expected_messages(expected.value)) if expected else (),
        metadata=merged(shared.metadata, own) or None,
    )


def _prompt(part: Part, task: Task, entry: Entry, shared: Shared, warnings: list[Problem]) -> Prompt:
    first = (entry.folder,) if entry.folder else ()
    asked = prompt(task.input, lambda name: shared.files.found(name, *first))  # type: ignore[arg-type]
    missing = islice(asked.missing, max(0, MOST_WARNINGS - len(warnings)))
    warnings.extend(part.problem(f"there is no file {name}: the input goes without it") for name in missing)
    if not asked.text.strip():
        raise part.error("the input is empty", "say what the agent is to do")
    if found := _UNUSABLE.search(asked.text):
        raise part.error(f"the input holds a character that no program can be given: U+{ord(found[0]):04X}")
    return asked


def _assertions(part: Part, entry: Entry, shared: Shared, task: Task, *, skips: bool) -> tuple[Assertion, ...]:
    """The case's own, then the suite's; without any of them, a model is asked about the criteria."""
    execution = part.get("execution")
    own = part.get("assertions", "assert") or (execution and execution.get("evaluators")) or part.get("evaluators")
    lists = [own, None if skips else shared.assertions]
    made: list[Assertion] = []
    if rubrics := part.get("rubrics"):
        question = {"type": "rubrics", "criteria": rubrics.value}
        made.extend(assertions_of([question], where(rubrics, entry, shared, task)))
    for told in lists:
        if told and told.value != []:
            made.extend(assertions_of(told.value, where(told, entry, shared, task)))
    return tuple(made) or assertions_of([], where(own or part, entry, shared, task))


def where(part: Part, entry: Entry | None, shared: Shared, task: Task) -> Where:
    """The place of a list of assertions."""
    return Where(
        folder=shared.files.folder,
        location=part.location,
        key_path=part.name,
        roots=shared.files.roots,
        case_folder=entry.folder if entry else None,
        task=task,
        compat=shared.files.compat,
        read=lambda file, _: shared.files.interpolated(shared.files.read(file)).value,
        opener=shared.files.opener,
        patterns=shared.files.so_far.patterns,
    )


def _threshold(execution: Part | None, of_suite: float) -> float:
    own = execution.number("threshold", most=1) if execution else None
    return of_suite if own is None else own


def _tags(part: Part | None, name: str) -> tuple[str, ...]:
    """One tag, or several."""
    told = part.get(name) if part else None
    if told is None:
        return ()
    return (told.as_text(),) if isinstance(told.value, str) else tuple(item.as_text() for item in told.items())


def _unmet(part: Part) -> Literal["skip", "fail", "run"]:
    word = part.text("on_dependency_failure") or "skip"
    if word not in UNMET:
        raise part.error("on_dependency_failure must be skip, fail or run")
    return UNMET[word]
