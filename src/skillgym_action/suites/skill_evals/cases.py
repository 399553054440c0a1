"""Cases of ``evals.json`` and of lists of trigger queries; one that cannot be used becomes an Invalid."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem, SuiteError
from skillgym_action.model.limits import (
    MAX_CASE_ID_CHARACTERS,
    MAX_LISTED_SKILLS,
    MAX_REPORTED_PROBLEMS,
    MAX_SUITE_CASES,
    MAX_VARIABLE_CHARACTERS,
)
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Invalid, TriggerRule, WorkspaceSpec
from skillgym_action.suites.skill_evals import keys, trigger_shapes
from skillgym_action.suites.skill_evals.assertion_texts import CaseAssertions
from skillgym_action.suites.skill_evals.input_files import with_input_files
from skillgym_action.suites.skill_evals.judging import JudgedQuestions
from skillgym_action.suites.skill_evals.skill_location import located_skill
from skillgym_action.suites.skill_evals.suite_names import TRIGGERS_NAME
from skillgym_action.suites.skill_evals.trigger_shapes import ExpectedTrigger, expected_trigger
from skillgym_action.suites.skill_evals.triggers import trigger_assertion
from skillgym_action.suites.values import UNUSABLE

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from skillgym_action.model.assertion import Assertion
    from skillgym_action.suites import SuiteFile
    from skillgym_action.suites.skill_evals.assertions import Patterns
    from skillgym_action.suites.skill_evals.input_files import InputPlaces
    from skillgym_action.suites.skill_evals.skill_location import SkillLocation
    from skillgym_action.suites.skill_evals.trigger_shapes import Shape, TriggerQuery
    from skillgym_action.suites.values import SuiteValue

MAX_SUITE_EVAL_QUESTIONS = 20_000  # of all cases of a suite
MAX_TRIGGER_RUNS = 50  # of one query

_SHOWN_UNUSABLE = 10
_LARGEST = 1e9  # seconds, or rounds of the model
_NO_QUESTION = 'write what must be true: expectations: ["The report names all three regions"], or expected_output'
_EVERYTHING_ADVISORY = "leave out advisory: true, or required: false, of what decides"


@record
class TriggerSettings:
    """What a suite defines for all of its queries. ``skills``: the names of those under test; ``rounds``: of the model.

    ``runs`` and ``threshold`` as in ``TriggerRule``.
    """

    skills: tuple[str, ...]
    rounds: int
    runs: int = 3
    threshold: float = 0.5

    def rule(self, expected: ExpectedTrigger, value: SuiteValue) -> TriggerRule:
        """The rule of one query. Raises SuiteError for a skill that is not under test."""
        if expected.skill and expected.skill not in self.skills:
            known = ", ".join(self.skills[:MAX_LISTED_SKILLS])
            raise value.error(
                f"the skill {expected.skill} is not installed for this suite: {known}",
                "name one of these, or true or false",
            )
        return TriggerRule(
            skills=(expected.skill,) if expected.skill else self.skills,
            should_trigger=expected.loads,
            runs=self.runs,
            threshold=self.threshold,
            rounds=self.rounds,
        )


@record
class SuiteSettings:
    """What a suite defines for all of its cases.

    ``skills``: names of those under test. ``triggers``: the rules by which a load of one of them is judged.
    """

    workspace: WorkspaceSpec
    places: InputPlaces
    skills: tuple[str, ...]
    threshold: float | None
    triggers: TriggerSettings


@record(frozen=False, kw_only=False)
class LoadedEvals:
    """The cases of a suite so far, and how large they are together."""

    cases: list[BenchmarkCase] = field(default_factory=list)
    invalid: list[Invalid] = field(default_factory=list)
    warnings: keys.KeyWarnings = field(default_factory=keys.KeyWarnings.none_yet)
    patterns: Patterns = field(default_factory=dict)
    by_id: dict[str, SuiteValue] = field(default_factory=dict)
    characters: int = 0
    questions: int = 0

    def refuse(self, case_id: str, error: SuiteError) -> None:
        """Add a case that cannot be used, with all of its problems. Raises SuiteError after too many of them."""
        self.invalid.append(Invalid.of(error.problems, case_id))
        if len(self.invalid) > MAX_REPORTED_PROBLEMS:
            too_many = Problem(message=f"more than {MAX_REPORTED_PROBLEMS:,} cases cannot be used; these are the first")
            raise SuiteError.of(too_many, *(one.problem for one in self.invalid[:_SHOWN_UNUSABLE]))

    def add(self, case: BenchmarkCase) -> None:
        """Add a case. Raises SuiteError if the cases together are too large."""
        self.characters += len(case.prompt)
        self.questions += case.questions + len(case.assertions)
        for count, most, what in (
            (self.characters, MAX_VARIABLE_CHARACTERS, "characters in their prompts"),
            (self.questions, MAX_SUITE_EVAL_QUESTIONS, "assertions"),
        ):
            if count > most:
                raise SuiteError(f"the cases have more than {most:,} {what}", remedy="split the suite")
        self.cases.append(case)

    def claim(self, case_id: str, value: SuiteValue) -> None:
        """Take an id for a case. Raises SuiteError if another case has it."""
        if (first := self.by_id.setdefault(case_id, value)) is not value:
            raise value.error(
                f"the id {case_id!r} is already used by the case at {first.location}", "rename one of them"
            )


def cases_of(cases: SuiteValue, settings: SuiteSettings) -> LoadedEvals:
    """Every entry of the list, as a case or as an Invalid. Raises SuiteError for what concerns the whole file."""
    loaded = LoadedEvals()
    entries = cases.items()
    if len(entries) > MAX_SUITE_CASES:
        raise cases.error(f"more than {MAX_SUITE_CASES:,} cases", "split the suite")
    for number, value in enumerate(entries, start=1):
        case_id = f"eval-{number}"
        try:
            members = keys.Members(value)
            members.value.mapping()
            case_id = case_id_of(members, number)
            loaded.claim(case_id, value)
            case = _case(case_id, members, settings, loaded)
        except SuiteError as error:
            loaded.refuse(case_id, error)
        else:
            loaded.add(case)
    return loaded


def case_id_of(members: keys.Members, number: int) -> str:
    """The id as text; ``eval-N`` for the case at position N without one. Raises SuiteError."""
    item = members.named("id")
    if item is None or item.value == "":
        return f"eval-{number}"
    if isinstance(item.value, dict | list):
        raise item.wrong_type("a number or text")
    text = item.value.strip() if isinstance(item.value, str) else item.scalar
    if not text or UNUSABLE.search(text):
        raise item.error("the id is blank, or has characters that cannot be passed to a program")
    if len(text) > MAX_CASE_ID_CHARACTERS:
        raise item.error(f"is longer than {MAX_CASE_ID_CHARACTERS:,} characters")
    return text


# --- a case -------------------------------------------------------------------------------------------


def _case(case_id: str, members: keys.Members, settings: SuiteSettings, loaded: LoadedEvals) -> BenchmarkCase:
    loaded.warnings.unknown(members, keys.CASE_KEYS, "a case", free=keys.EXPECTED_PREFIX)
    prompt = prompt_of(members, keys.PROMPT, loaded.warnings)
    _warn_about_messages(members, prompt, loaded.warnings)
    written = members.named("files")
    for one in written.items() if written and isinstance(written.value, list) else ():
        if isinstance(one.value, dict):
            loaded.warnings.unknown(keys.Members(one), keys.FILE_KEYS, "an input file")
    files, notes = settings.places.files_of(written) if written else ((), ())
    loaded.warnings.problems.extend(notes)
    asked = CaseAssertions(patterns=loaded.patterns, warnings=loaded.warnings, skills=settings.skills)
    expected = _read_assertions(members, asked)
    triggers = _triggers(members, settings)
    _refuse_undecided(members, asked, triggers)
    assertions: tuple[Assertion, ...] = (*triggers.values(), *asked.decided)
    if asked.questions:
        assertions += (JudgedQuestions(questions=tuple(asked.questions), expected_output=expected),)
    metadata, timeout, rounds = (members.named(key) for key in ("metadata", "timeout_seconds", "max_turns"))
    return BenchmarkCase(
        id=case_id,
        title=title_of(members, loaded.warnings),
        prompt=with_input_files(prompt, files),
        location=members.value.location,
        assertions=assertions,
        questions=asked.deciding,
        tags=tags_of(members, keys.TAGS),
        timeout=timeout.as_number(above=True, most=_LARGEST) if timeout else None,
        max_steps=int(rounds.as_number(above=True, most=_LARGEST, whole=True)) if rounds else None,
        expected_fail=_flag(members, "expected_fail"),
        metadata=metadata.value if metadata else None,
        threshold=settings.threshold,
        workspace=replace(settings.workspace, files=files) if files else None,
        trigger=next(iter(triggers)) if len(triggers) == 1 and not asked else None,
    )


def prompt_of(members: keys.Members, names: tuple[str, ...], warnings: keys.KeyWarnings) -> str:
    """The prompt, to the letter. Raises SuiteError for a case without one, and for conversations."""
    message = _only_message(members)
    item = members.first(names) or message
    if item is None:
        raise members.value.missing(names[0], f"write what the agent should do: {names[0]}: …")
    text = item.as_text()
    if found := UNUSABLE.search(text):
        raise item.error(f"has a character that cannot be passed to a program: U+{ord(found[0]):04X}")
    for other in members.all(names):
        if other.key_path != item.key_path and other.value != text:
            warnings.once(other, f"{other.key_path[-1]} has no effect, since there is {item.key_path[-1]}")
    return text


def _only_message(members: keys.Members) -> SuiteValue | None:
    """The only message of a user, where a case has messages. Raises SuiteError for a conversation."""
    for item in members.all(keys.CONVERSATION):
        if item.value in ([], ""):
            continue
        own = item.items() if isinstance(item.value, list) else (item,)
        users = [one for one in own if not isinstance(one.value, dict) or one.value.get("role", "user") == "user"]
        if keys.canonical(str(item.key_path[-1])) != "messages" or len(users) > 1:
            raise item.error("conversations of several turns are not supported", "ask for all of it in one prompt")
        if users and isinstance(users[0].value, dict):
            return users[0].member("content")
        if users:
            return users[0]
    return None


def _warn_about_messages(members: keys.Members, prompt: str, warnings: keys.KeyWarnings) -> None:
    """Warn about messages that the agent does not get: the prompt is all that it gets."""
    for written in members.all(("messages",)):
        for item in written.items() if isinstance(written.value, list) else (written,):
            content = item.value.get("content") if isinstance(item.value, dict) else item.value
            if content not in (prompt, "", None):
                warnings.once(item, "the message has no effect: the agent gets only the prompt", "add it to the prompt")


def _read_assertions(members: keys.Members, asked: CaseAssertions) -> str:
    """Add all assertions of a case; the expected output, which is the one question if there is no other."""
    for item in members.all(keys.QUESTIONS):
        asked.read(item, topic=_topic_of(item))
    for item in members.all(keys.NEGATED_QUESTIONS):
        asked.read(item, negated=True, topic=_topic_of(item))
    for key in members.keys:
        if key.startswith(keys.EXPECTED_PREFIX) and key not in keys.CASE_KEYS:
            for item in members.all((key,)):
                asked.read_leaves(item, keys.in_words(key))
    outputs = [item for item in members.all(keys.EXPECTED_OUTPUT) if item.value not in ("", [], {})]
    texts = [text_of(item) for item in outputs]
    if texts and not asked:
        asked.add_expected(outputs[0], "\n\n".join(texts))
        return ""
    return "\n\n".join(texts)


def _topic_of(item: SuiteValue) -> str | None:
    """The key as the topic of its questions, if it says what they are about."""
    key = keys.canonical(str(item.key_path[-1]))
    return keys.in_words(key) if key in {"required_output_sections", "expected_markers"} else None


def _triggers(members: keys.Members, settings: SuiteSettings) -> dict[TriggerRule, Assertion]:
    """The assertions that skills load, or do not, besides the questions, by their rules. Raises SuiteError."""
    made: dict[TriggerRule, Assertion] = {}

    def add(expected: ExpectedTrigger, value: SuiteValue) -> None:
        rule = settings.triggers.rule(expected, value)
        made.setdefault(rule, trigger_assertion(rule, value.location))

    for item in members.all(keys.TRIGGER):
        if item.value == []:
            add(ExpectedTrigger(loads=False), item)
        for one in item.items() if isinstance(item.value, list) else (item,):
            add(expected_trigger(one), one)
    for key, written in members.value.mapping().items():
        if written is None and keys.canonical(key) in keys.NO_SKILL_IF_NULL:
            add(ExpectedTrigger(loads=False), members.value.member(key))
    return made


def _refuse_undecided(members: keys.Members, asked: CaseAssertions, triggers: Collection[TriggerRule]) -> None:
    """Raises SuiteError for a case that nothing decides."""
    if not asked and not triggers:
        raise members.value.error("nothing says when the case is passed", _NO_QUESTION)
    if not asked.deciding and not triggers and all(one.advisory for one in asked.decided):
        raise members.value.error("all assertions of the case are advisory: nothing decides it", _EVERYTHING_ADVISORY)


def skills_named(cases: SuiteValue) -> tuple[str, ...]:
    """The names of skills that cases expect to load, as far as they can be read."""
    names: dict[str, None] = {}
    for case in cases.items() if isinstance(cases.value, list) else ():
        for item in keys.Members(case).all(keys.TRIGGER) if isinstance(case.value, dict) else ():
            for one in item.items() if isinstance(item.value, list) else (item,):
                with suppress(SuiteError):
                    if (skill := expected_trigger(one).skill) is not None:
                        names[skill] = None
    return tuple(names)


# --- parts --------------------------------------------------------------------------------------------


def title_of(members: keys.Members, warnings: keys.KeyWarnings) -> str | None:
    """The name of a case for people."""
    for item in members.all(keys.NAME):
        if not isinstance(item.value, str):
            warnings.once(item, f"{item.key_path[-1]} is not text: it is not shown", "write a text")
    names = (item.value.strip() for item in members.all(keys.NAME) if isinstance(item.value, str))
    return next((name[:MAX_CASE_ID_CHARACTERS] for name in names if name), None)


def tags_of(members: keys.Members, names: tuple[str, ...]) -> tuple[str, ...]:
    """The tags, and other keys as tags with their key: ``category:x``. Raises SuiteError."""
    tags: dict[str, None] = {}
    for item in members.all(names):
        key = keys.canonical(str(item.key_path[-1]))
        entries = item.items() if isinstance(item.value, list) else (item,)
        for entry in entries:
            if isinstance(entry.value, dict | list):
                raise entry.wrong_type("text")
            text = entry.value.strip() if isinstance(entry.value, str) else entry.scalar
            if text:
                tags[text if key == "tags" else f"{key}:{text}"] = None
    return tuple(tags)


def text_of(item: SuiteValue) -> str:
    """A text; other values as JSON."""
    if isinstance(item.value, str):
        return item.value
    return json.dumps(item.value, ensure_ascii=False, indent=1)


def _flag(members: keys.Members, key: str) -> bool:
    item = members.named(key)
    if item is not None and not isinstance(item.value, bool):
        raise item.wrong_type("true or false")
    return bool(item and item.value)


def finished(
    source: SuiteFile, top: SuiteValue, location: SkillLocation, loaded: LoadedEvals, warnings: tuple[Problem, ...]
) -> BenchmarkSuite:
    """The suite of the loaded cases; without any it is errored, since it checks nothing."""
    invalid = tuple(loaded.invalid)
    if not loaded.cases and not invalid:
        invalid = (Invalid(problem=top.problem("has no cases", "a suite without cases checks nothing")),)
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=_name(source, location),
        format="skill-evals",
        cases=tuple(loaded.cases),
        invalid=invalid,
        workspace=workspace_of(source, location),
        warnings=(*warnings, *loaded.warnings.problems),
    )


def skill_of(source: SuiteFile, skill_name: str | None, named: tuple[str, ...]) -> SkillLocation:
    """The skill that a suite is about; ``named``: the skills that its cases name. Raises SuiteError if there is none.

    Where no skill has one of these names, only the cases that name them cannot be used.
    """
    try:
        return located_skill(source, skill_name, named=named)
    except SuiteError:
        if not named:
            raise
        return located_skill(source, skill_name)


def skill_name_of(members: keys.Members) -> str | None:
    """The name of the skill, as the file has it; None: it does not. Raises SuiteError."""
    item = members.first(keys.SKILL)
    if item is None or item.value == "":
        return None
    if isinstance(item.value, dict):
        inner = item.text("name")
        if inner is None:
            raise item.missing("name", "write the skill's name: skill_name: pdf")
        return inner.strip()
    return item.as_text().strip()


def workspace_of(source: SuiteFile, location: SkillLocation) -> WorkspaceSpec:
    """The workspace of sessions: nothing but input files, in a Git repository, with the skills installed."""
    names, skills = location.names, location.skills
    if source.skills.settings.workspace == "repository":
        return WorkspaceSpec(source="repository", removed_skills=names, skills=skills)
    return WorkspaceSpec(source="empty", committed=True, removed_skills=names, skills=skills)


def root_of(source: SuiteFile) -> Path:
    """The folder that the suite's path is relative to; its own folder if the path is absolute."""
    path = PurePosixPath(source.path)
    return source.file.parent if path.is_absolute() else source.file.parents[len(path.parts) - 1]


def _name(source: SuiteFile, location: SkillLocation) -> str:
    """The skill's name, else that of the file's folder; for a list of trigger queries with that word."""
    path, names = PurePosixPath(source.path), location.names
    name = names[0] if len(names) == 1 else path.parent.name or path.stem
    name = f"{name} triggers" if TRIGGERS_NAME.search(source.path) else name
    return name[:MAX_CASE_ID_CHARACTERS]


# --- lists of trigger queries -------------------------------------------------------------------------


def trigger_suite(source: SuiteFile, top: SuiteValue, shape: Shape) -> BenchmarkSuite:
    """The suite of a list of queries. Raises SuiteError."""
    queries = tuple(trigger_shapes.queries_in(top, shape))
    if len(queries) > MAX_SUITE_CASES:
        raise top.error(f"more than {MAX_SUITE_CASES:,} queries", "split the list")
    loaded = LoadedEvals()
    for entry in trigger_shapes.skills_in(top) if shape == "skills" else ():
        loaded.warnings.unknown(keys.Members(entry), trigger_shapes.SKILL_KEYS, "a skill")
    skill_name = None
    if isinstance(top.value, dict):
        members = keys.Members(top)
        skill_name = skill_name_of(members)
        loaded.warnings.unknown(members, trigger_shapes.TOP_KEYS, "the file")
    location = skill_of(source, skill_name, _skills_named(queries))
    settings = _settings(source, top, location.names)
    for number, query in enumerate(queries, start=1):
        case_id = f"eval-{number}"
        try:
            if not isinstance(query.value.value, str):
                query.value.mapping()
                case_id = case_id_of(keys.Members(query.value), number)
            loaded.claim(case_id, query.value)
            case = _trigger_case(case_id, query, settings, loaded)
        except SuiteError as error:
            loaded.refuse(case_id, error)
        else:
            loaded.add(case)
    return finished(source, top, location, loaded, location.warnings)


def _settings(source: SuiteFile, top: SuiteValue, skills: tuple[str, ...]) -> TriggerSettings:
    """Raises SuiteError for a number that is out of range."""
    members = keys.Members(top) if isinstance(top.value, dict) else None
    runs = members.named("runs") if members else None
    threshold = members.first(keys.THRESHOLD) if members else None
    return TriggerSettings(
        skills=skills,
        rounds=source.skills.settings.trigger_rounds,
        runs=int(runs.as_number(least=1, most=MAX_TRIGGER_RUNS, whole=True)) if runs else 3,
        threshold=threshold.as_number(above=True, most=1) if threshold else 0.5,
    )


def _trigger_case(case_id: str, query: TriggerQuery, settings: TriggerSettings, loaded: LoadedEvals) -> BenchmarkCase:
    value, expected = query.value, query.expected
    title: str | None = None
    tags: tuple[str, ...] = ()
    if isinstance(value.value, str):
        prompt = value.as_text()
    else:
        members = keys.Members(value)
        loaded.warnings.unknown(members, trigger_shapes.QUERY_KEYS, "a query")
        prompt = prompt_of(members, trigger_shapes.QUERY, loaded.warnings)
        title, tags = title_of(members, loaded.warnings), tags_of(members, trigger_shapes.TAGS)
        expected = expected or trigger_shapes.expected_of(members)
        expected = expected and _of_named_skill(expected, members, settings, loaded)
    if expected is None:
        raise value.error("does not say whether the skill has to load", "write should_trigger: true or false")
    rule = settings.rule(expected, value)
    return BenchmarkCase(
        id=case_id,
        title=title,
        prompt=prompt,
        location=value.location,
        assertions=(trigger_assertion(rule, value.location),),
        tags=tags,
        trigger=rule,
    )


def _of_named_skill(
    expected: ExpectedTrigger, members: keys.Members, settings: TriggerSettings, loaded: LoadedEvals
) -> ExpectedTrigger:
    """What a query expects of the skill that it names beside ``should_trigger``, if that is under test."""
    item = members.first(keys.SKILL)
    if item is None or expected.skill is not None:
        return expected
    if item.value in settings.skills:
        return replace(expected, skill=str(item.value))
    known = ", ".join(settings.skills[:MAX_LISTED_SKILLS])
    message = f"{item.key_path[-1]} has no effect: the skill {item.value} is not installed for this suite: {known}"
    loaded.warnings.once(item, message)
    return expected


def _skills_named(queries: tuple[TriggerQuery, ...]) -> tuple[str, ...]:
    """The skills that queries name, as far as they can be read."""
    names: dict[str, None] = {}
    for query in queries:
        expected = query.expected
        with suppress(SuiteError):
            if expected is None and isinstance(query.value.value, dict):
                expected = trigger_shapes.expected_of(keys.Members(query.value))
        if expected and expected.skill:
            names[expected.skill] = None
    return tuple(names)
