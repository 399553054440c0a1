"""Tests of AgentV 5 as tests of AgentV 4: prompts filled with variables, scenarios, and what all tests share."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import SuiteError, did_you_mean
from skillgym_action.model.limits import MAX_AGENTV_WARNINGS
from skillgym_action.model.records import record
from skillgym_action.suites.agentv.case_sources import Tests, UnreadableTest, WrittenTest, files_matching, program_of
from skillgym_action.suites.agentv.variables import merged
from skillgym_action.suites.agentv.version_5_assertions import no_transform
from skillgym_action.suites.agentv.version_5_environment import environment_of
from skillgym_action.suites.agentv.version_5_templates import Renderer, UnsupportedExpressionError
from skillgym_action.text.documents.user_files import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.hooks import Hooks
    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.agentv.workspaces import WorkspaceSettings
    from skillgym_action.suites.values import SuiteValue
    from skillgym_action.text.documents.located_values import KeyPath

MAX_AGENTV_PROMPTS = 100  # of a suite; each test is run with every one
KEPT_KEYS = frozenset(
    {
        *("id", "input", "input_files", "expected_output", "criteria", "expected_outcome", "metadata", "rubrics"),
        *("conversation_id", "depends_on", "on_dependency_failure", "mode", "turns", "aggregation", "evaluators"),
        *("on_turn_failure", "window_size", "tags", "expected_fail", "description", "workspace", "execution"),
    }
)
"""Keys that mean the same in AgentV 4."""
OWN_KEYS = frozenset({"vars", "assert", "assertions", "threshold", "environment", "options", "prompts", "providers"})
DEFAULT_KEYS = frozenset({"vars", "assert", "assertions", "threshold", "environment", "options", "metadata"})
"""Keys of ``default_test``."""
PROMPT_KEYS = frozenset({"id", "label", "prompt", "raw", "content"})
NO_PROGRAM = "write the text itself, or file://prompt.md"

_TEXT_FILE = (".md", ".txt", ".markdown", ".jinja", ".njk")
_VALUE_FILE = (".json", ".yaml", ".yml")
_UNFIT = re.compile(r"[^\w.-]+")


# --- prompts ----------------------------------------------------------------------------------------


@record
class WrittenPrompt:
    """A prompt of a suite, with expressions: a text, or messages. ``value`` is where it is written."""

    label: str
    content: object
    value: SuiteValue

    def id_of(self, case_id: str) -> str:
        """The id of a case with this prompt, where there are several."""
        return f"{case_id}:{_UNFIT.sub('-', self.label)}"


def prompts_of(value: SuiteValue | None, files: SuiteFiles) -> tuple[WrittenPrompt, ...]:
    """The prompts of a suite. Raises SuiteError."""
    if value is None:
        return ()
    items = value.items() if isinstance(value.value, list) else (value,)
    if len(items) > MAX_AGENTV_PROMPTS:
        raise value.error(f"more than {MAX_AGENTV_PROMPTS} prompts", "split the suite")
    prompts = [_prompt(item, number, files) for number, item in enumerate(items, start=1)]
    ids = [prompt.id_of("") for prompt in prompts]
    for prompt in prompts:
        if ids.count(prompt.id_of("")) > 1:
            raise prompt.value.error(f"two prompts are called {prompt.label!r}", "give each a different label")
    return tuple(prompts)


def _prompt(item: SuiteValue, number: int, files: SuiteFiles) -> WrittenPrompt:
    label = f"prompt-{number}"
    content = item
    if isinstance(item.value, dict) and "role" not in item.value:
        for problem in item.unknown_keys(PROMPT_KEYS):
            raise SuiteError.of(problem)
        label = item.text("label", "id") or label
        content = item.get("prompt", "raw", "content") or item.member("id")
    elif isinstance(item.value, dict):
        return WrittenPrompt(label=label, content=[item.value], value=item)
    if isinstance(content.value, str) and content.value.startswith("file://"):
        return WrittenPrompt(label=label, content=_in_file(content, files), value=item)
    if not isinstance(content.value, str | list) or not content.value:
        raise content.error("must be a text, a list of messages, or file://PATH", 'prompts: ["{{ input }}"]')
    return WrittenPrompt(label=label, content=content.value, value=item)


def _in_file(value: SuiteValue, files: SuiteFiles) -> object:
    name = value.as_text().removeprefix("file://")
    if program_of(name):
        raise value.error(f"prompts that a program writes are not supported: {name}", NO_PROGRAM)
    found = files.found(name)
    if found is None:
        raise value.error(f"there is no {name}", "prompts are relative to the suite")
    if found.suffix in _VALUE_FILE:
        return files.interpolated(files.read(found)).value
    if found.suffix in _TEXT_FILE:
        return files.text(found)
    raise value.error(f"prompts cannot be read from {found.name}", f"use {', '.join((*_TEXT_FILE, *_VALUE_FILE))}")


# --- what all tests share ---------------------------------------------------------------------------


@record(frozen=False)
class TestDefaults:
    """What a suite defines for all of its tests, and the warnings about them so far.

    ``hooks``: the suite's, which tests with an environment of their own have, too. ``judged``: the suite has assertions
    for all tests, so that these need none of their own.
    """

    files: SuiteFiles
    prompts: tuple[WrittenPrompt, ...] = ()
    default: SuiteValue | None = None
    hooks: Hooks
    judged: bool = False
    warnings: list[Problem] = field(default_factory=list)

    __test__ = False

    def warn(self, problems: Iterator[Problem] | Sequence[Problem]) -> None:
        """Keep warnings, up to a limit."""
        for problem in problems:
            if len(self.warnings) < MAX_AGENTV_WARNINGS:
                self.warnings.append(problem)

    @property
    def variables(self) -> dict[str, object]:
        """Variables that all tests have. Raises SuiteError."""
        given = self.default.get("vars") if self.default else None
        return dict(given.mapping()) if given else {}

    @property
    def metadata(self) -> dict[str, object]:
        """Metadata that all tests have. Raises SuiteError."""
        given = self.default.get("metadata") if self.default else None
        return dict(given.mapping()) if given else {}


def default_test(value: SuiteValue | None, files: SuiteFiles, hidden: list[Path]) -> SuiteValue | None:
    """``default_test``, or the content of the file it names, which is added to ``hidden``. Raises SuiteError."""
    if value is None:
        return None
    if isinstance(value.value, str):
        name = value.as_text()
        if not name.startswith("file://"):
            raise value.error(f"{name} is not supported", "write the keys here, or file://PATH")
        found = files.found(name.removeprefix("file://"))
        if found is None:
            raise value.error(f"there is no {name.removeprefix('file://')}")
        hidden.append(found)
        value = files.interpolated(files.read(found))
        value = value.get("default_test") or value if isinstance(value.value, dict) else value
    value.mapping()
    _options(value.get("options"))
    return value


def _options(options: SuiteValue | None) -> Iterator[Problem]:
    """Warnings about options of a test. Raises SuiteError for those that change what is judged."""
    if options is None:
        return iter(())
    for key in ("transform", "postprocess"):
        if member := options.get(key):
            raise no_transform(member)
    return options.unknown_keys(())


def translated_tests(tests: Tests, defaults: TestDefaults) -> Tests:
    """The tests, each once for every prompt, with the keys of AgentV 4."""
    translated = Tests(warnings=tests.warnings, hidden=tests.hidden)
    number = 0
    for test in tests.entries:
        if isinstance(test, UnreadableTest):
            translated.add_test(test)
            continue
        number += 1
        case_id = _id(test, number)
        try:
            for one in _for_each_prompt(test, case_id, defaults):
                translated.add_test(one)
        except SuiteError as error:
            translated.add_unreadable(error.problems[0], case_id)
    return translated


def _id(test: WrittenTest, number: int) -> str:
    """The id, the name of the case's folder, the description, or the number of the test."""
    value = test.value.value if isinstance(test.value.value, dict) else {}
    for found in (value.get("id"), test.folder.name if test.folder else None, value.get("description")):
        if found is not None and not isinstance(found, dict | list) and str(found).strip():
            return str(found)
    return f"test-{number}"


def _for_each_prompt(test: WrittenTest, case_id: str, defaults: TestDefaults) -> Iterator[WrittenTest]:
    value = test.value
    value.mapping()
    defaults.warn([*value.unknown_keys(KEPT_KEYS | OWN_KEYS), *_options(value.get("options"))])
    if value.has("input") or value.has("turns") or not defaults.prompts:
        yield _translated(test, case_id, None, defaults)
        return
    chosen = _chosen(value.get("prompts"), defaults.prompts)
    for prompt in chosen:
        own = prompt.id_of(case_id) if len(defaults.prompts) > 1 else case_id
        one = _translated(test, own, prompt, defaults)
        if len(defaults.prompts) > 1 and value.has("depends_on"):
            others = [prompt.id_of(other) for other in value.texts("depends_on")]
            one = replace(one, value=replace(one.value, value={**one.value.mapping(), "depends_on": others}))
        yield one


def _chosen(names: SuiteValue | None, prompts: tuple[WrittenPrompt, ...]) -> tuple[WrittenPrompt, ...]:
    if names is None:
        return prompts
    labels = [prompt.label for prompt in prompts]
    for item in names.items():
        if item.value not in labels:
            raise item.error(f"no prompt is called {item.value!r}", did_you_mean(str(item.value), labels))
    return tuple(prompt for prompt in prompts if prompt.label in names.value)  # type: ignore[operator]


# --- one test ---------------------------------------------------------------------------------------


def _translated(test: WrittenTest, case_id: str, prompt: WrittenPrompt | None, defaults: TestDefaults) -> WrittenTest:
    value, files = test.value, defaults.files
    own = value.get("vars")
    if own and not isinstance(own.value, dict):
        raise own.wrong_type("a mapping of names to values")
    files.budget.spend(list(defaults.variables))  # each test has them
    variables = {**defaults.variables, **(own.mapping() if own else {})}
    renderer = Renderer({"vars": variables, **variables}, budget=files.budget)
    members: dict[str, object] = {key: item for key, item in value.mapping().items() if key in KEPT_KEYS}
    members["id"] = case_id
    moved = dict(value.moved)
    try:
        members |= _rendered(members, prompt, renderer)
    except UnsupportedExpressionError as error:
        raise error.at(prompt.value if prompt else value) from error
    if "input" not in members and not value.has("turns"):
        members["input"] = _prompt_file(test, files)
    if "expected_output" not in members and variables.get("expected_output") is not None:
        members["expected_output"] = renderer.rendered(variables["expected_output"])
    if defaults.metadata:
        own_metadata = value.member("metadata").mapping() if value.has("metadata") else {}
        members["metadata"] = merged(defaults.metadata, own_metadata, files.budget)
    _move_settings(value, members, moved)
    if defaults.judged:
        members.setdefault("assertions", [])
    defaults.warn(renderer.warnings(value))
    return WrittenTest(
        value=replace(value, value=members, moved=moved),
        folder=test.folder,
        variables=renderer.variables,
        workspace=_workspace(value, test.folder, defaults),
    )


def _rendered(members: Mapping[str, object], prompt: WrittenPrompt | None, renderer: Renderer) -> dict[str, object]:
    keys = [key for key in ("criteria", "input", "input_files", "expected_output") if key in members]
    filled = {key: renderer.rendered(members[key]) for key in keys}
    if isinstance(turns := members.get("turns"), list):
        filled["turns"] = [_turn(turn, renderer) for turn in turns]
    if prompt is not None:
        content = renderer.rendered(prompt.content)
        filled["input"] = content if isinstance(content, str | list | dict) else str(content)
    return filled


def _turn(turn: object, renderer: Renderer) -> object:
    """A turn with its variables; ``assert`` is called ``assertions`` in AgentV 4."""
    if not isinstance(turn, dict):
        return turn
    filled = {key: renderer.rendered(turn[key]) for key in ("input", "expected_output") if key in turn}
    names = {"assert": "assertions"}
    return {names.get(key, key): filled.get(key, item) for key, item in turn.items()}


def _prompt_file(test: WrittenTest, files: SuiteFiles) -> object:
    """The text of ``PROMPT.md`` beside the test or the suite; None: there is none. Raises SuiteError."""
    folders = (test.folder, files.folder) if test.folder else (files.folder,)
    found = next((file for folder in folders if kind_of(file := folder / "PROMPT.md") == "file"), None)
    if found:
        return files.text(found)
    remedy = 'write prompts: ["{{ input }}"] in the suite, and vars: {input: ...} in the test'
    raise test.value.error("the test has no prompt", remedy)


def _move_settings(value: SuiteValue, members: dict[str, object], moved: dict[KeyPath, KeyPath]) -> None:
    """``assert``, ``threshold`` and ``providers`` under the keys of AgentV 4. Raises SuiteError."""
    at = value.key_path
    if (written := value.get("assert", "assertions")) is not None:
        members["assertions"] = written.value
        moved[(*at, "assertions")] = written.key_path
    execution = dict(value.member("execution").mapping()) if value.has("execution") else {}
    if value.has("threshold"):
        value.number("threshold", most=1)
        execution["threshold"] = value.member("threshold").value
        moved[(*at, "execution", "threshold")] = (*at, "threshold")
    if value.has("providers"):
        execution["targets"] = list(value.texts("providers"))
        moved[(*at, "execution", "targets")] = (*at, "providers")
    if execution:
        members["execution"] = execution


def _workspace(value: SuiteValue, folder: Path | None, defaults: TestDefaults) -> WorkspaceSettings | None:
    environment = environment_of(value.get("environment"), defaults.files, folder)
    if environment.settings is None:
        return None
    if environment.variables:
        message = "variables of one test are not given to its agent"
        defaults.warn([value.member("environment").problem(message, "write env at the top of the suite")])
    settings = environment.settings
    defaults.warn(settings.warnings)
    return replace(settings, hooks=settings.hooks.enclosing(defaults.hooks), warnings=())


# --- scenarios --------------------------------------------------------------------------------------


def scenario_tests(value: SuiteValue | None, files: SuiteFiles, hidden: list[Path]) -> Iterator[WrittenTest]:
    """The tests of ``scenarios``: each test of a scenario with each row of its ``config``. Raises SuiteError.

    The files that they are in are added to ``hidden``.
    """
    for item in value.items() if value else ():
        for scenario in _in_scenario_file(item, files, hidden) if isinstance(item.value, str) else (item,):
            scenario.mapping()
            for problem in scenario.unknown_keys({"description", "config", "tests", "id"}):
                raise SuiteError.of(problem)
            rows = scenario.member("config").items() if scenario.has("config") else ()
            for number, row in enumerate(rows, start=1):
                yield from _of_row(row, number, scenario)


def _in_scenario_file(item: SuiteValue, files: SuiteFiles, hidden: list[Path]) -> Iterator[SuiteValue]:
    pattern = item.as_text().removeprefix("file://")
    try:
        found = files_matching(files, pattern)
    except SuiteError as error:
        raise item.error(str(error.problems[0].message), error.problems[0].remedy) from error
    if not found:
        raise item.error(f"no file matches {pattern}", "scenarios are mappings, or file://PATH")
    hidden.extend(found)
    for file in found:
        content = files.interpolated(files.read(file))
        listed = content.member("scenarios") if isinstance(content.value, dict) else content
        yield from listed.items()


def _of_row(row: SuiteValue, number: int, scenario: SuiteValue) -> Iterator[WrittenTest]:
    common = row.mapping()
    name = str(common.get("id") or common.get("description") or number)
    for index, test in enumerate(scenario.member("tests").items(), start=1):
        own = test.mapping()
        case_id = str(own.get("id") or own.get("description") or index)
        value: dict[str, object] = {**common, **own, "id": f"{name}:{case_id}"}
        for key in ("vars", "metadata", "options"):
            if row.has(key) or test.has(key):
                value[key] = {**(_mapping(row, key)), **(_mapping(test, key))}
        if asserts := [*_list(test, "assert"), *_list(row, "assert")]:
            value["assert"] = asserts
        yield WrittenTest(value=replace(test, value=value))


def _mapping(value: SuiteValue, key: str) -> dict[str, object]:
    return value.member(key).mapping() if value.has(key) else {}


def _list(value: SuiteValue, key: str) -> list[object]:
    return [item.value for item in value.member(key).items()] if value.has(key) else []
