"""Keys of ``evals.json``. No program of its authors reads the file, so one thing has many names."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from skillgym_action.model.errors import closest_match, meant_word, suggestion
from skillgym_action.model.limits import MAX_UNKNOWN_KEYS
from skillgym_action.model.records import record
from skillgym_action.suites.arm_section import FOREIGN_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.values import SuiteValue

# --- of the file --------------------------------------------------------------------------------------

CASE_LISTS = ("evals", "cases", "test_cases", "tests", "scenarios", "evaluations")
SKILL = ("skill_name", "skill")
THRESHOLD = ("threshold", "pass_threshold")
WITHOUT_EFFECT_AT_TOP = frozenset(
    {
        *("author", "authors", "category", "comment", "created", "created_at", "date", "description", "difficulty"),
        *("eval_type", "generated_at", "goal", "id", "instructions", "kind", "language", "last_updated", "license"),
        *("metadata", "name", "note", "notes", "owner", "plugin", "plugin_name", "purpose", "rationale", "schema"),
        *("schema_version", "skill_description", "skill_path", "skill_version", "source", "status", "summary", "tags"),
        *("target", "title", "type", "updated", "updated_at", "usage", "version"),
    }
)
AT_TOP = frozenset({FOREIGN_KEY, *CASE_LISTS, *SKILL, *THRESHOLD, *WITHOUT_EFFECT_AT_TOP})

# --- of a case ----------------------------------------------------------------------------------------

NAME = ("name", "eval_name", "title", "label")
PROMPT = ("prompt", "input", "query", "task", "brief", "user_prompt")
EXPECTED_OUTPUT = ("expected_output", "expected_result")
QUESTIONS = (
    *("expectations", "assertions", "checks", "criteria", "success_criteria", "acceptance_criteria"),
    *("evaluation_criteria", "expected_behavior", "expected_behaviors", "expected", "expect", "must_have"),
    *("must_include", "required_output_sections", "expected_markers", "rubric", "deterministic_assertions"),
)
NEGATED_QUESTIONS = ("must_not_have", "must_not_include", "forbidden", "forbidden_behaviors", "fail", "anti_patterns")
TRIGGER = ("should_trigger", "expected_trigger", "expected_skill", "expect_skill", "skills_expected_to_activate")
NO_SKILL_IF_NULL = frozenset({"expected_skill", "expect_skill"})
"""Keys whose null says that no skill under test may load."""
TAGS = ("tags", "category", "split")
CONVERSATION = ("turns", "query_flow", "messages")
SETTINGS = ("id", "files", "timeout_seconds", "max_turns", "expected_fail", "metadata")
WITHOUT_EFFECT = frozenset({"description", "notes", "rationale", "difficulty", "role"})
CASE_KEYS = frozenset(
    {
        *(*NAME, *PROMPT, *EXPECTED_OUTPUT, *QUESTIONS, *NEGATED_QUESTIONS, *TRIGGER, *TAGS, *CONVERSATION, *SETTINGS),
        *WITHOUT_EFFECT,
    }
)
EXPECTED_PREFIX = "expected_"
"""Other keys that begin so are questions, too."""

FILE_KEYS = frozenset(
    {"path", "file", "name", "content", "purpose", "description", "type", "note", "notes", "mime_type", "required"}
)
"""Keys of an input file that is a mapping. Only the path and the content have an effect."""

# --- of a question ------------------------------------------------------------------------------------

QUESTION_TEXT = (
    *("text", "assertion", "expectation", "description", "criterion", "pass_if", "check", "requirement", "name"),
)
QUESTION_LABEL = ("id", "name", "dimension")
OPERANDS = ("value", "pattern", "path")
GRADED = ("passed", "evidence")
"""Keys that a grader has left in a question."""
QUESTION_WITHOUT_EFFECT = frozenset(
    {
        *("category", "comment", "critical", "difficulty", "grader", "hint", "importance", "kind", "max_points"),
        *("max_score", "method", "note", "notes", "points", "priority", "rationale", "reason", "score", "severity"),
        *("source", "tags", "weight", "why"),
    }
)
QUESTION_KEYS = frozenset(
    {*QUESTION_TEXT, *QUESTION_LABEL, *OPERANDS, *GRADED, *QUESTION_WITHOUT_EFFECT, "type", "advisory", "required"}
)

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_LIKENESS, _SLIP = 0.7, 0.85
_FREE = ("$", "x-", "_")


def canonical(key: str) -> str:
    """A key in snake case: the camelCase spelling of a key is the key."""
    return _HUMP.sub("_", key).replace("-", "_").lower()


def in_words(key: str) -> str:
    """A key as words: ``expected_row_count`` is ``expected row count``."""
    return canonical(key).replace("_", " ").strip()


@record(kw_only=False, slots=False)
class Members:
    """The members of a mapping that are not null, by their keys in snake case."""

    value: SuiteValue

    @cached_property
    def _by_key(self) -> dict[str, tuple[SuiteValue, ...]]:
        found: dict[str, tuple[SuiteValue, ...]] = {}
        for key, item in self.value.mapping().items():
            if item is not None:
                name = canonical(key)
                found[name] = (*found.get(name, ()), self.value.member(key))
        return found

    @property
    def keys(self) -> tuple[str, ...]:
        """In snake case, in the order of the file."""
        return tuple(self._by_key)

    def all(self, keys: Iterable[str]) -> Iterator[SuiteValue]:
        """The members with one of the keys, in the order of the keys."""
        for key in keys:
            yield from self._by_key.get(key, ())

    def first(self, keys: Iterable[str]) -> SuiteValue | None:
        """The first of them; None if there is none."""
        return next(self.all(keys), None)

    def named(self, *keys: str) -> SuiteValue | None:
        """The first member with one of the keys."""
        return self.first(keys)

    def has(self, keys: Iterable[str]) -> bool:
        """Whether there is a member with one of the keys."""
        return self.first(keys) is not None


@record(kw_only=False, slots=False)
class KeyWarnings:
    """Warnings about unknown keys of one kind of mapping; about each key once per file."""

    problems: list[Problem]
    seen: set[tuple[str, str]]

    @classmethod
    def none_yet(cls) -> KeyWarnings:
        """No warning yet."""
        return cls([], set())

    def warn(self, value: SuiteValue, message: str, remedy: str | None = None) -> None:
        """A warning about a value, unless there are too many already."""
        if len(self.problems) < MAX_UNKNOWN_KEYS:
            self.problems.append(value.problem(message, remedy))
        elif len(self.problems) == MAX_UNKNOWN_KEYS:
            self.problems.append(value.problem("and more like these"))

    def once(self, value: SuiteValue, message: str, remedy: str | None = None) -> None:
        """A warning, unless there is one with the same message."""
        if ("", message) not in self.seen:
            self.seen.add(("", message))
            self.warn(value, message, remedy)

    def unknown(
        self,
        members: Members,
        known: frozenset[str],
        kind: str,
        *,
        free: str | None = None,
        effect: str = "it has no effect",
    ) -> None:
        """Warn about keys of a mapping that are not known. ``kind`` of mapping; keys that begin with ``free`` are."""
        for key in members.value.mapping():
            name = canonical(key)
            if name in known or key.startswith(_FREE):
                continue
            if free and name.startswith(free):
                self._misspelled(members, key, known)
                continue
            if members.value.member(key).value is None or (kind, name) in self.seen:
                continue
            self.seen.add((kind, name))
            remedy = suggestion(name, known, _LIKENESS)
            self.warn(members.value.member(key), f"unknown key {key!r} of {kind}: {effect}", remedy)

    def _misspelled(self, members: Members, key: str, known: frozenset[str]) -> None:
        """Warn about a key that is asked as a question, and differs from a known one by a slip."""
        value, name = members.value.member(key), canonical(key)
        if value.value is not None and (meant := closest_match(name, known, _SLIP)) and sorted(meant) == sorted(name):
            self.once(value, f"{key!r} is asked as a separate question", meant_word(meant))
