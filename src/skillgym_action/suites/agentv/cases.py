"""Tests of an AgentV suite as cases; a test that cannot be used becomes an Invalid, and the others still run."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import field, fields, is_dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import TYPE_CHECKING, Literal

from skillgym_action.judging.assertions.graders import ScoredAssertion
from skillgym_action.model.errors import Problem, SuiteError
from skillgym_action.model.limits import (
    MAX_AGENTV_WARNINGS,
    MAX_CASE_ID_CHARACTERS,
    MAX_REPORTED_PROBLEMS,
    MAX_VARIABLE_CHARACTERS,
)
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkCase, Invalid
from skillgym_action.suites.agentv.assertions import assertion_of, assertions_of
from skillgym_action.suites.agentv.case_sources import UnreadableTest
from skillgym_action.suites.agentv.composite_graders import JudgeAggregator
from skillgym_action.suites.agentv.conversations import (
    TURN_KEYS,
    Asked,
    ConversationGrader,
    aggregation_of,
    conversation_of,
    is_conversation,
    stops_on_failure,
    turn_entries,
    turns_of,
)
from skillgym_action.suites.agentv.grader_context import EntryContext, Task
from skillgym_action.suites.agentv.judge_graders import JudgeGrader
from skillgym_action.suites.agentv.known_keys import (
    EXECUTION_OF_TEST,
    RUBRIC,
    WORKSPACE,
    each_once,
    unknown_in,
    unknown_in_assertions,
)
from skillgym_action.suites.agentv.messages import (
    MESSAGE,
    agent_prompt,
    dropped_messages,
    expected_messages,
    input_messages,
)
from skillgym_action.suites.agentv.program_graders import Program
from skillgym_action.suites.agentv.variables import VARIABLE, merged, templated
from skillgym_action.suites.agentv.version_5_templates import Renderer, UnsupportedExpressionError, assertions_with
from skillgym_action.suites.agentv.workspaces import workspace_settings
from skillgym_action.suites.values import UNUSABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from skillgym_action.model.assertion import Assertion
    from skillgym_action.model.suite import WorkspaceSpec
    from skillgym_action.suites.agentv.case_sources import Tests, WrittenTest
    from skillgym_action.suites.agentv.messages import AgentPrompt, Message
    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.agentv.trials import Trials
    from skillgym_action.suites.agentv.variables import SizeBudget
    from skillgym_action.suites.agentv.workspaces import WorkspaceSettings
    from skillgym_action.suites.values import SuiteValue

MAX_AGENTV_ASSERTIONS = 100_000  # of all tests; the suite's own count once per test
MAX_AGENTV_PARTS = 200_000  # tags, metadata and parts of the input of all tests; the suite's own count once per test
DEFAULT_THRESHOLD = 0.8
"""The score a case needs by default. AgentV's number."""

KNOWN_KEYS = frozenset(
    {
        *("id", "input", "input_files", "expected_output", "criteria", "expected_outcome", "assertions", "assert"),
        *("evaluators", "rubrics", "execution", "workspace", "metadata", "conversation_id", "vars", "depends_on"),
        *("on_dependency_failure", "mode", "turns", "aggregation", "on_turn_failure", "window_size", "tags"),
        *("expected_fail", "description"),
    }
)
TEMPLATED_KEYS = ("criteria", "expected_outcome", "input", "input_files", "expected_output", "turns")
ON_DEPENDENCY_FAILURE: dict[str, Literal["skip", "fail", "run"]] = {"skip": "skip", "fail": "fail", "run": "run"}

_SHOWN_UNUSABLE = 10


@record
class SharedSettings:
    """What a suite defines for all of its tests."""

    top: SuiteValue
    files: SuiteFiles
    workspace_settings: WorkspaceSettings | None
    assertions: SuiteValue | None = None
    more_assertions: SuiteValue | None = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    threshold: float = DEFAULT_THRESHOLD
    trials: Trials | None = None

    @property
    def workspace(self) -> WorkspaceSpec | None:
        """The workspace of cases without settings of their own; None if the suite has no settings either."""
        return self.workspace_settings.spec(compat=self.files.compat) if self.workspace_settings else None


@record(frozen=False, kw_only=False)
class LoadedCases:
    """The cases of a suite so far, and how large they are together."""

    cases: list[BenchmarkCase] = field(default_factory=list)
    invalid: list[Invalid] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    characters: int = 0
    assertions: int = 0
    parts: int = 0

    def refuse(self, case_id: str, problems: Iterable[Problem]) -> None:
        """Add a case that cannot be used, with all of its problems. Raises SuiteError after too many of them."""
        self.invalid.append(Invalid.of(problems, case_id))
        if len(self.invalid) > MAX_REPORTED_PROBLEMS:
            too_many = Problem(message=f"more than {MAX_REPORTED_PROBLEMS:,} tests cannot be used; these are the first")
            raise SuiteError.of(too_many, *(one.problem for one in self.invalid[:_SHOWN_UNUSABLE]))

    def add(self, case: BenchmarkCase, parts: int) -> None:
        """Add a case. ``parts``: of how many messages and blocks its input consists.

        Raises SuiteError if the cases together are too large: what a suite defines for all cases is repeated in
        each of them.
        """
        self.characters += len(case.prompt)
        self.assertions += len(case.assertions)
        self.parts += parts + len(case.tags) + len(case.metadata if isinstance(case.metadata, dict) else ())
        limits = (
            (self.characters, MAX_VARIABLE_CHARACTERS, "the prompts have more than {:,} characters"),
            (self.assertions, MAX_AGENTV_ASSERTIONS, "the tests have more than {:,} assertions"),
            (self.parts, MAX_AGENTV_PARTS, "the tests have more than {:,} tags, metadata and parts of their input"),
        )
        for count, most, message in limits:
            if count > most:
                raise SuiteError(message.format(most), remedy="split the suite")
        self.cases.append(case)


def cases_of(tests: Tests, shared: SharedSettings) -> LoadedCases:
    """Every test, as a case or as an Invalid."""
    loaded = LoadedCases(warnings=list(tests.warnings))
    by_id: dict[str, SuiteValue] = {}
    for test in tests.entries:
        if isinstance(test, UnreadableTest):
            loaded.refuse(test.case_id, (test.problem,))
            continue
        case_id, value = None, test.value
        try:
            case_id = _id(test, loaded.warnings)
            if case_id is None:
                raise value.missing("id", "give it one: id: fix-null-check", "the test has no id")
            if case_id in by_id:
                message = f"the id {case_id!r} is already used by the test at {by_id[case_id].location}"
                raise value.error(message, "rename one of them")
            by_id[case_id] = value
            case, parts = _case(case_id, test, shared, loaded.warnings)
        except SuiteError as error:
            loaded.refuse(case_id or (test.folder.name if test.folder else value.name), error.problems)
        else:
            loaded.add(case, parts)
    wrong = unrunnable_cases(loaded.cases, by_id)
    for case_id, message in wrong.items():
        loaded.refuse(case_id, (by_id[case_id].problem(message, "see depends_on"),))
    loaded.cases = [case for case in loaded.cases if case.id not in wrong]
    return loaded


def _id(test: WrittenTest, warnings: list[Problem]) -> str | None:
    """The id as it is written, else the name of the case's folder. A number becomes text, with a warning."""
    member = test.value.get("id")
    if member is None:
        return test.folder.name if test.folder else None
    if isinstance(member.value, str):
        if len(member.value) > MAX_CASE_ID_CHARACTERS:
            raise member.error(f"is longer than {MAX_CASE_ID_CHARACTERS:,} characters")
        return member.value if member.value.strip() and not UNUSABLE.search(member.value) else None
    if isinstance(member.value, dict | list):
        raise member.wrong_type("text")
    text = member.scalar
    warnings.append(member.problem(f"the id {text} is not text", f'write id: "{text}"'))
    return text


# --- a case -----------------------------------------------------------------------------------------


def _case(
    case_id: str, test: WrittenTest, shared: SharedSettings, warnings: list[Problem]
) -> tuple[BenchmarkCase, int]:
    """The case, and of how many parts its input consists. Raises SuiteError."""
    value = _with_variables(test.value, shared.files.budget)
    in_turns = is_conversation(value)
    if execution := value.get("execution"):
        execution.mapping()
    skips = execution.flag("skip_defaults") if execution else False
    messages = _messages(replace(test, value=value), shared, warnings, skips=skips, in_turns=in_turns)
    conversation = conversation_of(value, messages) if in_turns else None
    task = replace(_task(value, shared, messages), case_id=case_id)
    first = [{"role": role, "content": text} for role, text in conversation.shown((), 1)] if conversation else messages
    prompt = _prompt(value, replace(task, input=tuple(first)), test, shared, warnings)
    task = replace(task, input_files=tuple(map(str, prompt.files)), folder=test.folder)
    own = test.workspace or workspace_settings(value.get("workspace"), shared.files, test.folder)
    settings = own.over(shared.workspace_settings, compat=shared.files.compat) if own else None
    unread = each_once(_unread_keys(value), MAX_AGENTV_WARNINGS - len(warnings))
    warnings.extend((*unread, *(own.warnings if own else ())))
    tags = (*shared.tags, *_tags(value), *_tags(value.get("metadata")))
    threshold = _threshold(execution, shared.threshold)
    assertions = _assertions(value, test, shared, task, warnings, skips=skips)
    if conversation:
        asked = Asked(conversation=conversation, whole=assertions, threshold=threshold)
        grader = _conversation_grader(value, test, shared, task, asked)
        conversation, word = replace(conversation, judge=grader), "conversation"
        assertions = (ScoredAssertion(name=word, type=word, grader=grader, location=value.location),)
    case = BenchmarkCase(
        id=case_id,
        prompt=prompt.text,
        location=value.location,
        assertions=assertions,
        threshold=threshold,
        conversation=conversation,
        tags=tuple(dict.fromkeys(tags)),
        expected_fail=value.flag("expected_fail"),
        runners=tuple(execution.texts("targets")) if execution else (),
        files=prompt.files,
        metadata=task.metadata,
        questions=questions_in(assertions),
        workspace=settings.spec(compat=shared.files.compat) if settings else None,
        **(shared.trials.settings() if shared.trials else {}),
        depends_on=value.texts("depends_on"),
        on_dependency_failure=_on_dependency_failure(value),
    )
    contents = (message.get("content") for message in messages)
    return case, sum(len(content) if isinstance(content, list) else 1 for content in contents)


def _unread_keys(value: SuiteValue) -> Iterator[Problem]:
    """Warnings about keys of a test that have no effect."""
    yield from value.unknown_keys(KNOWN_KEYS)
    execution = value.get("execution")
    yield from unknown_in(execution, EXECUTION_OF_TEST)
    yield from zero_threshold(execution)
    lists = (
        *(value.get(key) for key in ("assertions", "assert", "evaluators")),
        execution and execution.get("evaluators"),
    )
    for entries in lists:
        yield from unknown_in_assertions(entries)
    yield from unknown_in(value.get("rubrics"), RUBRIC)
    yield from dropped_messages(value.get("input"))
    yield from _unset_variables(value)
    if isinstance((workspace := value.get("workspace")) and workspace.value, dict):
        yield from unknown_in(workspace, WORKSPACE)
    turns = value.get("turns")
    for turn in turns.items() if turns and isinstance(turns.value, list) else ():
        yield from turn.unknown_keys(TURN_KEYS)
        yield from unknown_in_assertions(turn.get("assertions"))


def _unset_variables(value: SuiteValue) -> Iterator[Problem]:
    """Warnings about ``{{ name }}`` in a test with variables that none of them has."""
    for key in TEMPLATED_KEYS if value.has("vars") else ():
        text = json.dumps(value.value.get(key)) if isinstance(value.value, dict) else ""
        for name in dict.fromkeys(found[1] for found in VARIABLE.finditer(text)):
            remedy = "add it to vars, or correct its name"
            yield value.member(key).problem(f"vars has no {name}: {{{{ {name} }}}} stays as it is written", remedy)


def _with_variables(value: SuiteValue, budget: SizeBudget) -> SuiteValue:
    variables = value.get("vars")
    if variables is None:
        return value
    by_name, members = variables.mapping(), value.mapping()
    filled = {key: templated(members[key], by_name, budget) for key in TEMPLATED_KEYS if key in members}
    return replace(value, value={**members, **filled})


def _messages(
    test: WrittenTest, shared: SharedSettings, warnings: list[Problem], *, skips: bool, in_turns: bool
) -> list[Message]:
    """The suite's own messages, then the test's; before the first of several turns, none are needed.

    Raises SuiteError.
    """
    value, own = test.value, test.value.get("input")
    suite = None if skips else _of_suite("input", test, shared, warnings)
    common = input_messages(suite.value) if suite else []
    if own is None and in_turns:
        return common
    if own is None:
        remedy = "write what the agent should do: input: Fix the null pointer"
        raise value.missing("input", remedy, "the test has no input")
    files = value.get("input_files") or (None if skips else _of_suite("input_files", test, shared, warnings))
    if files and not isinstance(own.value, str):
        raise files.error("input_files go with an input that is text", "write the files into the input's content")
    messages = input_messages(own.value, (item.as_text() for item in files.items()) if files else ())
    if not messages:
        raise SuiteError.of(own.problem("the input has no message", MESSAGE), *dropped_messages(own))
    return [*common, *messages]


def _of_suite(key: str, test: WrittenTest, shared: SharedSettings, warnings: list[Problem]) -> SuiteValue | None:
    """What a suite defines for all tests under this key, with the variables of one of them. Raises SuiteError."""
    written, variables = shared.top.get(key), test.value.get("vars")
    if written is None:
        return None
    if test.variables is None:
        filled = templated(written.value, variables.mapping(), shared.files.budget) if variables else written.value
        return replace(written, value=filled)
    renderer = Renderer(test.variables, budget=shared.files.budget)
    try:
        written = replace(written, value=renderer.rendered(written.value))
    except UnsupportedExpressionError as error:
        raise error.at(written) from error
    warnings.extend(renderer.warnings(test.value)[: max(0, MAX_AGENTV_WARNINGS - len(warnings))])
    return written


def _task(value: SuiteValue, shared: SharedSettings, messages: list[Message]) -> Task:
    """What graders get to know of the test. Raises SuiteError for a test that has nothing to be judged by."""
    criteria = value.text("criteria", "expected_outcome") or ""
    expected = value.get("expected_output")
    judged_by = value.get("assertions", "assert", "evaluators", "rubrics", "turns")
    if not criteria and not expected and not judged_by:
        execution = value.get("execution")
        if not (execution and execution.get("evaluators")):
            raise value.error("nothing says when the test is passed", "add criteria, expected_output or assertions")
    metadata = value.get("metadata")
    return Task(
        criteria=criteria,
        input=tuple(messages),
        expected_output=tuple(expected_messages(expected.value)) if expected else (),
        metadata=merged(shared.metadata, metadata.mapping() if metadata else {}, shared.files.budget) or None,
    )


def _prompt(
    value: SuiteValue, task: Task, test: WrittenTest, shared: SharedSettings, warnings: list[Problem]
) -> AgentPrompt:
    first = (test.folder,) if test.folder else ()
    prompt = agent_prompt(task.input, lambda name: shared.files.found(name, *first))  # type: ignore[arg-type]
    missing = islice(prompt.missing, max(0, MAX_AGENTV_WARNINGS - len(warnings)))
    warnings.extend(value.problem(f"there is no file {name}: the input does not include it") for name in missing)
    if not prompt.text.strip():
        empty = value.problem("the input is empty", "write what the agent should do")
        raise SuiteError.of(empty, *dropped_messages(value.get("input")))
    if found := UNUSABLE.search(prompt.text):
        raise value.error(f"the input contains a character that cannot be passed to a program: U+{ord(found[0]):04X}")
    return prompt


def _assertions(
    value: SuiteValue, test: WrittenTest, shared: SharedSettings, task: Task, warnings: list[Problem], *, skips: bool
) -> tuple[Assertion, ...]:
    """The case's own, then the suite's; without any of them, the judge is asked about the criteria."""
    execution = value.get("execution")
    own = value.get("assertions", "assert") or (execution and execution.get("evaluators")) or value.get("evaluators")
    assertions: list[Assertion] = []
    if rubrics := value.get("rubrics"):
        place = replace(entry_context(rubrics, test, shared, task), key_path=value.name)
        made = assertion_of({"type": "rubric", "rubrics": rubrics.value}, place)
        if isinstance(made, ScoredAssertion):
            assertions.append(replace(made, name="rubrics", type="rubrics"))
    of_all = () if skips else (shared.more_assertions, shared.assertions)
    for entries in (own, *of_all):
        if entries and entries.value != []:
            filled = _with_variables_of(test, entries.value, shared.files.budget)
            assertions.extend(assertions_of(filled, entry_context(entries, test, shared, task)))
    if value.get("turns"):  # without assertions, only turns are judged
        return tuple(assertions)
    if assertions:
        return tuple(assertions)
    asking = own or value
    if not task.criteria and not task.expected_output and len(warnings) < MAX_AGENTV_WARNINGS:
        # AgentV asks its grader all the same, so the test is not invalid.
        message = "no assertion, criteria or expected_output: the judge is asked without knowing what is expected"
        warnings.append(asking.problem(message, "add criteria, expected_output or assertions"))
    return assertions_of([], entry_context(asking, test, shared, task))


def _with_variables_of(test: WrittenTest, entries: object, budget: SizeBudget) -> object:
    """Assertions with the variables of their test, which only AgentV 5 replaces there."""
    return entries if test.variables is None else assertions_with(entries, test.variables, budget)


def _conversation_grader(
    value: SuiteValue, test: WrittenTest, shared: SharedSettings, task: Task, asked: Asked
) -> ConversationGrader:
    """One grader with the assertions of all turns, and of the whole conversation. Raises SuiteError."""
    turns: list[tuple[Assertion, ...]] = []
    for number, turn in enumerate(turns_of(value), start=1):
        earlier = ({"role": "user", "content": text} for text in asked.conversation.turns[:number])
        expected = turn.get("expected_output")
        seen = replace(
            task,
            case_id=f"{task.case_id}/turn-{number}",
            input=(*task.input, *earlier),
            expected_output=tuple(expected_messages(expected.value)) if expected else (),
        )
        own = turn.get("assertions")
        entries = turn_entries(_with_variables_of(test, own.value, shared.files.budget)) if own else []
        at = entry_context(own or turn, test, shared, seen)
        turns.append(assertions_of(entries, at) if entries or expected else ())
    return ConversationGrader(
        conversation=asked.conversation,
        turns=tuple(turns),
        whole=asked.whole,
        aggregation=aggregation_of(value),
        threshold=asked.threshold,
        stops=stops_on_failure(value),
    )


def entry_context(entries: SuiteValue, test: WrittenTest | None, shared: SharedSettings, task: Task) -> EntryContext:
    """The context of a list of assertions."""
    files = shared.files
    return EntryContext(
        folder=files.folder,
        location=entries.location,
        key_path=entries.name,
        roots=files.roots,
        case_folder=test.folder if test else None,
        task=task,
        compat=files.compat,
        read=lambda file, _: files.interpolated(files.read(file)).value,
        opener=files.opener,
        patterns=files.state.patterns,
        warnings=files.state.warnings,
    )


def zero_threshold(execution: SuiteValue | None) -> Iterator[Problem]:
    """A warning about a threshold of 0, which every score reaches."""
    threshold = execution.get("threshold") if execution else None
    if threshold and threshold.value == 0 and threshold.value is not False:
        message = "with 0, a test passes whatever its assertions find"
        yield threshold.problem(message, "write a number above 0, at most 1")


def _threshold(execution: SuiteValue | None, of_suite: float) -> float:
    own = execution.number("threshold", most=1) if execution else None
    return of_suite if own is None else float(own)


def _tags(value: SuiteValue | None) -> tuple[str, ...]:
    """``tags``: one, or a list."""
    tags = value.get("tags") if value else None
    if tags is None:
        return ()
    return (tags.as_text(),) if isinstance(tags.value, str) else tuple(item.as_text() for item in tags.items())


def _on_dependency_failure(value: SuiteValue) -> Literal["skip", "fail", "run"]:
    word = value.text("on_dependency_failure") or "skip"
    if word not in ON_DEPENDENCY_FAILURE:
        raise value.error("on_dependency_failure must be skip, fail or run")
    return ON_DEPENDENCY_FAILURE[word]


_SHOWN_IN_CYCLE = 5
Graph = dict[str, list[str]]


def unrunnable_cases(cases: Iterable[BenchmarkCase], known: Collection[str]) -> dict[str, str]:
    """The ids of cases whose dependencies can never be met, and the reasons. Takes linear time.

    A case may depend on an unknown case, on itself, or on a case that cannot be used. ``known``: the ids of all
    tests, including those that cannot be used.
    """
    usable = {case.id: case for case in cases}
    reasons: dict[str, str] = {}
    for case in usable.values():
        for other in case.depends_on:
            if other not in known:
                reasons[case.id] = f"depends on {other!r}, which is not a test of this suite"
            elif other not in usable and case.on_dependency_failure != "run":
                reasons[case.id] = f"depends on {other!r}, which cannot be used"
    graph = {case.id: [other for other in case.depends_on if other in usable] for case in usable.values()}
    reasons |= {case_id: f"depends on itself: {cycle}" for case_id, cycle in _cycles(graph).items()}
    dependents = _reversed(graph)
    waiting = list(reasons)
    for case_id in waiting:  # the list grows while it is read
        for other in dependents[case_id]:
            if other not in reasons and usable[other].on_dependency_failure != "run":
                reasons[other] = f"depends on {case_id!r}, which cannot be used"
                waiting.append(other)
    return {case_id: reasons[case_id] for case_id in usable if case_id in reasons}


def _cycles(graph: Graph) -> dict[str, str]:
    """For each case in a cycle, or on a path between two of them, the text of a cycle that it depends on."""
    left = _unordered(graph)
    left = _unordered(_reversed({name: [one for one in graph[name] if one in left] for name in left}))
    cycles: dict[str, str] = {}
    for name in filter(left.__contains__, graph):
        path: dict[str, None] = {}
        at = name
        while at not in path and at not in cycles:
            path[at] = None
            at = next(other for other in graph[at] if other in left)
        cycle = cycles.get(at) or _cycle_text(list(path)[list(path).index(at) :])
        cycles |= dict.fromkeys(path, cycle)
    return cycles


def _cycle_text(cycle: list[str]) -> str:
    names = [*cycle[:_SHOWN_IN_CYCLE], *(["…"] if len(cycle) > _SHOWN_IN_CYCLE else []), cycle[0]]
    return " -> ".join(names)


def _unordered(graph: Graph) -> set[str]:
    """The names that are in a cycle, or depend on one."""
    left = set(graph)
    sorter = TopologicalSorter(graph)
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        left.difference_update(ready)
        sorter.done(*ready)
    return left


def _reversed(graph: Mapping[str, list[str]]) -> Graph:
    reverse: Graph = {name: [] for name in graph}
    for name, others in graph.items():
        for other in others:
            reverse[other].append(name)
    return reverse


def questions_in(assertions: Iterable[object]) -> int:
    """How many questions the assertions ask of the judge: a grader's rubrics are one, a program's calls as well."""
    return sum(map(_questions, assertions))


def _questions(value: object) -> int:
    if isinstance(value, JudgeGrader):
        return 1
    own = isinstance(value, JudgeAggregator) or (isinstance(value, Program) and value.model_calls is not None)
    if isinstance(value, tuple):
        return sum(map(_questions, value))
    if not is_dataclass(value) or isinstance(value, type):
        return 0
    return own + sum(_questions(getattr(value, part.name)) for part in fields(value))
