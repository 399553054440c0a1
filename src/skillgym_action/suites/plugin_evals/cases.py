"""Cases of a plugin: the keys of ``case.yaml`` and ``prompt.md``, with their defaults and limits."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.errors import SuiteError, did_you_mean
from skillgym_action.model.limits import MAX_CASE_ID_CHARACTERS, MAX_PLUGIN_CASE_GRADERS
from skillgym_action.model.records import record
from skillgym_action.model.session import CaseAgentSettings
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.suites.plugin_evals.case_files import MOCKS, CasePlaces
from skillgym_action.suites.plugin_evals.grader_keys import GraderSource, WrittenGrader, grader_of, refuse_unknown
from skillgym_action.suites.plugin_evals.graders import JudgedCriteria
from skillgym_action.suites.values import UNUSABLE
from skillgym_action.text.documents.user_files import kind_of
from skillgym_action.text.javascript.values import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from skillgym_action.judging.assertions.graders import ScoredAssertion
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.suite import WorkspaceSpec
    from skillgym_action.suites.plugin_evals.case_files import CaseFiles, PluginFiles
    from skillgym_action.suites.values import SuiteValue
    from skillgym_action.text.javascript.regex import Patterns

MAX_PLUGIN_RUNS = 50  # of one case, as in the original
MAX_PLUGIN_TURNS = 200
MAX_PLUGIN_SECONDS = 3600

T = TypeVar("T")
DEFAULT_RUNS, DEFAULT_TURNS, DEFAULT_SECONDS = 3, 10, 300
_EXECUTION = frozenset(
    {
        *("model", "append_system_prompt", "max_turns", "timeout_seconds", "allowed_tools", "disallowed_tools"),
        *("env", "prompt"),
    }
)
_CONTEXT = frozenset({"scaffold_script", "add_dirs", "history_file"})
_TOP = frozenset(
    {
        *("schema_version", "name", "description", "expected_outcome", "tags", "plugins", "runs", "context"),
        *("graders", "artifact_publish", "growthbook_overrides"),
    }
)
_IN_PROMPT = _TOP | (_EXECUTION - {"prompt"})
_VARIABLE = re.compile(r"EVAL_[A-Z0-9_]*")
_VERSION = re.compile(r"1(\.[0-9]+)?")


@record
class PluginCase:
    """A case, the plugins it needs beside the enclosing one, None: just that one; and warnings."""

    case: BenchmarkCase
    plugins: tuple[SuiteValue, ...] | None
    warnings: tuple[Problem, ...]


def case_id_of(written: CaseFiles) -> str:
    """The id of a case that cannot be used: its name as far as that can be read, else its folder."""
    for value in (written.prompt, written.settings):
        name = value.value.get("name") if value and isinstance(value.value, dict) else None
        if isinstance(name, str) and name.strip() and len(name) <= MAX_CASE_ID_CHARACTERS:
            return name
    return written.folder.name


def plugin_case(written: CaseFiles, files: PluginFiles, workspace: WorkspaceSpec, patterns: Patterns) -> PluginCase:
    """The case in a folder. Raises SuiteError with the problems of all of its keys."""
    keys = _Keys(written)
    places = CasePlaces(written.folder, files)
    source = GraderSource(patterns=patterns, text_of=places.text)
    found = _Problems()
    warnings = found.unless(lambda: tuple(keys.problems())) or ()
    if kind_of(written.folder / MOCKS):
        mocks = keys.first.problem("mocks are not supported yet", "remove mocks/, or run it with claude plugin eval")
        found.problems.append(replace(mocks, key_path=MOCKS))
    seconds = found.unless(lambda: keys.number("timeout_seconds", MAX_PLUGIN_SECONDS, whole=False))
    runs = found.unless(lambda: keys.number("runs", MAX_PLUGIN_RUNS))
    turns = found.unless(lambda: keys.number("max_turns", MAX_PLUGIN_TURNS))
    assertions = found.unless(lambda: _assertions(written, keys, source)) or ()
    judged = sum(isinstance(one.grader, JudgedCriteria) for one in assertions)
    case = BenchmarkCase(
        id=found.unless(lambda: _id(written, keys)) or "",
        prompt=found.unless(lambda: _prompt(written, keys)) or "",
        location=written.location,
        assertions=assertions,
        tags=tuple(dict.fromkeys(found.unless(lambda: keys.texts("tags")) or ())),
        timeout=float(seconds or DEFAULT_SECONDS),
        model=found.unless(lambda: keys.text("model")),
        workspace=found.unless(lambda: places.workspace(keys.context(), workspace)),
        threshold=1.0,
        averaged=True,
        repetitions=int(runs or DEFAULT_RUNS),
        max_steps=int(turns or DEFAULT_TURNS),
        questions=judged,
        agent=found.unless(lambda: _agent_settings(keys)),
    )
    plugins = found.unless(lambda: value.items() if (value := keys.get("plugins")) else None)
    if found.problems:
        raise SuiteError.of(*found.problems, *warnings)
    return PluginCase(case=case, plugins=plugins, warnings=warnings)


class _Problems:
    """What is wrong with a case so far."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def unless(self, read: Callable[[], T]) -> T | None:
        """What ``read`` returns; None if it raises SuiteError, whose problems are kept."""
        try:
            return read()
        except SuiteError as error:
            self.problems.extend(error.problems)
            return None


def _agent_settings(keys: _Keys) -> CaseAgentSettings:
    return CaseAgentSettings(
        system_prompt=keys.text("append_system_prompt"),
        allowed_tools=keys.texts("allowed_tools"),
        disallowed_tools=keys.texts("disallowed_tools"),
        env=tuple(_variables(keys)),
    )


class _Keys:
    """The values of a case by key: those of ``prompt.md``, else those of ``case.yaml``. Raises SuiteError."""

    def __init__(self, written: CaseFiles) -> None:
        self.prompt, self.settings = written.prompt, written.settings
        self.execution = self._section("execution")
        first = self.prompt or self.settings
        self.first: SuiteValue = first if first is not None else written.graders[0][0]

    def _section(self, name: str) -> SuiteValue | None:
        section = self.settings.get(name) if self.settings else None
        if section is not None:
            section.mapping()
        return section

    def problems(self) -> Iterator[Problem]:
        """Warnings about keys that are not known. Raises SuiteError for those of ``prompt.md``, and for the version."""
        if self.prompt:
            refuse_unknown(self.prompt, _IN_PROMPT)
            if context := self.prompt.get("context"):
                context.mapping()
                refuse_unknown(context, _CONTEXT)
            _refuse_newer(self.prompt)
        if self.settings is None:
            return
        for key, remedy in (("schema_version", "schema_version: 1.0"), ("name", "name: CASE")):
            if not self.settings.has(key):
                raise self.settings.missing(key, f"write {remedy}")
        _refuse_newer(self.settings)
        yield from _unknown(self.settings, _TOP | {"execution"}, _EXECUTION)
        if self.execution:
            yield from _unknown(self.execution, _EXECUTION)
        if context := self._section("context"):
            yield from _unknown(context, _CONTEXT)

    def get(self, key: str) -> SuiteValue | None:
        """The value of a key; None: it is not set."""
        if self.prompt and (value := self.prompt.get(key)):
            return value
        section = self.execution if key in _EXECUTION else self.settings
        return section.get(key) if section else None

    def context(self) -> dict[str, SuiteValue]:
        """The keys of ``context`` that are set."""
        sections = [value.get("context") for value in (self.settings, self.prompt) if value]
        return {key: section.member(key) for section in sections if section for key in _CONTEXT if section.has(key)}

    def text(self, key: str) -> str | None:
        value = self.get(key)
        return value.as_text() if value else None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.get(key)
        return tuple(item.as_text() for item in value.items()) if value else ()

    def number(self, key: str, most: float, *, whole: bool = True) -> float | None:
        """A number above 0, at most ``most``."""
        value = self.get(key)
        if value is None:
            return None
        return value.as_number(least=1, most=most, whole=True) if whole else value.as_number(above=True, most=most)


def _refuse_newer(written: SuiteValue) -> None:
    """Raise SuiteError for a ``schema_version`` that is not 1.x."""
    version = written.get("schema_version")
    if version and (isinstance(version.value, dict | list) or not _VERSION.fullmatch(text_of(version.value))):
        raise version.error(
            f"needs a newer version than this one, which reads 1.x: {version.scalar}",
            "write 1.0 if the case has no newer keys",
        )


def _unknown(value: SuiteValue, known: frozenset[str], elsewhere: frozenset[str] = frozenset()) -> Iterator[Problem]:
    """A warning for each unknown key, which `claude plugin eval` ignores; with the section that it belongs to."""
    for problem, key in ((value.member(key).problem(f"unknown key {key!r}"), key) for key in value.mapping()):
        if key not in known and not key.startswith("x-"):
            remedy = "write it under execution" if key in elsewhere else did_you_mean(key, known)
            yield replace(problem, remedy=remedy)


def _id(written: CaseFiles, keys: _Keys) -> str:
    name = keys.text("name") or written.folder.name
    if len(name) > MAX_CASE_ID_CHARACTERS or UNUSABLE.search(name):
        raise keys.first.error(f"the name is longer than {MAX_CASE_ID_CHARACTERS:,} characters, or no text")
    return name.strip()


def _prompt(written: CaseFiles, keys: _Keys) -> str:
    """The body of ``prompt.md``, else the key ``prompt`` of ``case.yaml``."""
    prompt = written.body.strip() or keys.text("prompt") or ""
    if not prompt:
        raise keys.first.error("has no prompt", "write it into prompt.md, or as execution.prompt into case.yaml")
    if UNUSABLE.search(prompt):
        raise keys.first.error("the prompt contains a NUL character, or half of a surrogate pair", "remove it")
    return prompt


def _variables(keys: _Keys) -> Iterator[tuple[str, str]]:
    value = keys.get("env")
    for name in value.mapping() if value else ():
        member = value.member(name)  # type: ignore[union-attr]
        if not _VARIABLE.fullmatch(str(name)):
            raise member.error("is not a variable that a case may set", "begin its name with EVAL_, in upper case")
        if not isinstance(member.value, str):
            raise member.wrong_type("text")
        if UNUSABLE.search(member.value):
            raise member.error("contains a NUL character, or half of a surrogate pair", "remove it")
        yield str(name), member.value


def _assertions(written: CaseFiles, keys: _Keys, source: GraderSource) -> tuple[ScoredAssertion, ...]:
    """Graders of ``case.yaml``, of ``prompt.md``, then those with files of their own. Raises SuiteError."""
    found: list[WrittenGrader] = []
    for value in (written.settings, written.prompt):
        entries = value.get("graders") if value else None
        for entry in entries.items() if entries else ():
            entry.mapping()
            name = entry.text("name")
            if name is None:
                raise entry.missing("name", "write name: …, which reports show")
            found.append(WrittenGrader(value=entry, name=name))
    for value, body, name in written.graders:
        found.append(WrittenGrader(value=value, name=value.text("name") or name, body=body))
    if not found:
        raise keys.first.error("has no grader", "write graders/NAME.md, or the list graders: a case needs one")
    if len(found) > MAX_PLUGIN_CASE_GRADERS:
        raise keys.first.error(f"has more than {MAX_PLUGIN_CASE_GRADERS:,} graders", "split the case")
    repeated = [name for name, number in Counter(one.name for one in found).items() if number > 1]
    if repeated:
        raise keys.first.error(f"two graders are called {repeated[0]!r}", "rename one of them")
    return tuple(grader_of(one, source) for one in found)
