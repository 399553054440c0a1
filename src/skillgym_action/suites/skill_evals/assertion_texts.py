"""Reading the assertions of a case: questions to the judge, and those that can be decided without it."""

from __future__ import annotations

import json
from dataclasses import field, replace
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_EVAL_NAME_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.suites.skill_evals import keys
from skillgym_action.suites.skill_evals.assertions import Operands, deterministic, deterministic_type, misspelled_type
from skillgym_action.text.escaping import clipped, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.errors import Location
    from skillgym_action.suites.skill_evals.assertions import DecidedEvalAssertion, Patterns
    from skillgym_action.suites.skill_evals.keys import KeyWarnings, Members
    from skillgym_action.suites.values import SuiteValue

MAX_EVAL_QUESTIONS = 500  # and assertions that need no judge, of a case
MAX_EVAL_QUESTION_CHARACTERS = 20_000

NEGATION = "the result does not: "


@record
class JudgedQuestion:
    """A statement about a session that the judge decides.

    ``label``: an id or name of its author, for reports. ``topic``: the keys that the text is written under, such as
    ``tone`` in a rubric; the judge reads them before the text. ``details``: other texts of it, such as ``pass_if: at
    least 3 rows``. ``advisory``: it is asked and shown, and never decides.
    """

    text: str
    location: Location
    label: str | None = None
    topic: str | None = None
    details: tuple[str, ...] = ()
    advisory: bool = False


@record(frozen=False, kw_only=False)
class CaseAssertions:
    """The assertions of a case so far. Questions with equal texts and topics count once."""

    patterns: Patterns
    warnings: KeyWarnings
    skills: tuple[str, ...] = ()
    questions: list[JudgedQuestion] = field(default_factory=list)
    decided: list[DecidedEvalAssertion] = field(default_factory=list)
    _asked: set[tuple[str | None, str]] = field(default_factory=set)
    _read: int = 0

    @property
    def deciding(self) -> int:
        """The questions that are not advisory."""
        return sum(not question.advisory for question in self.questions)

    def __bool__(self) -> bool:
        """Whether there is anything yet."""
        return bool(self.questions or self.decided)

    def read(self, value: SuiteValue, *, topic: str | None = None, negated: bool = False) -> None:
        """Add what a value says: a text, a list or a mapping. ``topic``: as in JudgedQuestion. Raises SuiteError."""
        written = value.value
        if isinstance(written, str):
            self._add(value, value.as_text().strip(), topic=topic, negated=negated)
        elif isinstance(written, list):
            if not written:
                return
            for item in value.items():
                if item.value is not None:
                    self.read(item, topic=topic, negated=negated)
        elif isinstance(written, dict):
            self._read_mapping(value, topic, negated=negated)
        elif topic is not None:
            self._add(value, _scalar(written), topic=topic, negated=negated)
        else:
            last = value.key_path[-1] if value.key_path else ""
            key = keys.in_words(last) if isinstance(last, str) else "the result"
            self._add(value, f"{key}: {_scalar(written)}", negated=negated)

    def add_expected(self, value: SuiteValue, text: str) -> None:
        """Add the question whether the result is what its author expects, where nothing else is asked."""
        self._add(value, text)

    def read_leaves(self, value: SuiteValue, words: str) -> None:
        """Add a question ``KEY in words: value`` for each leaf of a value. Raises SuiteError."""
        written = value.value
        if isinstance(written, dict):
            for key in written:
                self.read_leaves(value.member(key), f"{words}, {keys.in_words(key)}")
        elif isinstance(written, list):
            for item in value.items():
                self.read_leaves(item, words)
        elif written is not None and not (isinstance(written, str) and not written.strip()):
            self._add(value, f"{words}: {_scalar(written)}")

    # --- a mapping ------------------------------------------------------------------------------------

    def _read_mapping(self, value: SuiteValue, topic: str | None, *, negated: bool) -> None:
        members = keys.Members(value)
        if not members.keys:
            raise value.error("is empty", "write what must be true, as a text")
        kind = deterministic_type(members)
        operands = Operands.of(members)
        if kind and operands.suffice(kind):
            if (path := members.named("path")) and not isinstance(path.value, str):
                raise path.wrong_type("text")
            self._warn_about(members)
            self._decide(kind, operands, members, negated=negated)
            return
        text = _text(members, without=kind)
        if text is not None:
            self._warn_about(members)
            question = JudgedQuestion(
                text=text.as_text().strip(),
                location=text.location,
                label=_label(members, text),
                topic=topic,
                details=tuple(_details(members, text)),
                advisory=_is_advisory(members),
            )
            self._ask(question, text, negated=negated)
        elif kind or members.has(("type", *keys.OPERANDS)):
            self._read_typed(members, topic, negated=negated)
        else:
            self._flatten(members, topic, negated=negated)

    def _read_typed(self, members: Members, topic: str | None, *, negated: bool) -> None:
        """A mapping that has a type but no text: its operands are the question. Raises SuiteError without any."""
        type_ = next((item for item in members.all(("type", "check")) if _is_text(item)), None)
        found = [item for item in members.all(keys.OPERANDS) if not _is_empty(item)]
        word = keys.in_words(type_.as_text()) if type_ else "the result has"
        if not found:
            if meant := next((key for key in keys.OPERANDS if members.value.misspelled(key)), None):
                raise members.value.missing(meant, "")
            wanted = "value, pattern or path" if type_ else "a text"
            remedy = "write what must be true: text: …; or the operand: value: …"
            raise members.value.error(f"{word!r} lacks {wanted}, so it cannot be decided", remedy)
        self._warn_about(members)
        question = JudgedQuestion(
            text=f"{word}: {', '.join(f'{item.key_path[-1]} {_scalar(item.value)}' for item in found)}",
            location=members.value.location,
            label=_label(members),
            topic=topic,
            advisory=_is_advisory(members),
        )
        self._ask(question, members.value, negated=negated)

    def _flatten(self, members: Members, topic: str | None, *, negated: bool) -> None:
        """A mapping of texts or lists: each of its members, with the key as the topic. Raises SuiteError."""
        before = self._read
        title = _label(members) if _has_lists(members) else None
        self._warn_about_grades(members)
        for key in members.keys:
            for item in members.all((key,)):
                if key in keys.GRADED or _is_empty(item) or (title and key in _BESIDE_LISTS):
                    continue
                if not (key in {"advisory", "required"} and isinstance(item.value, bool)):
                    opposite = negated != (key in keys.NEGATED_QUESTIONS)
                    own = ", ".join(filter(None, (topic, title, str(item.key_path[-1]))))
                    self.read(item, topic=own, negated=opposite)
        if self._read == before:
            raise members.value.error("has no text that says what must be true", "write one: text: …")

    def _decide(self, kind: str, operands: Operands, members: Members, *, negated: bool) -> None:
        """Add an assertion that needs no judge. Raises SuiteError."""
        label = _label(members) or next((item.as_text() for item in members.all(_TITLES) if _is_text(item)), None)
        self._read += 1
        made = deterministic(kind, operands, members.value, self.patterns, self.skills)
        name = self._unique(clipped(one_line(label or made.name), MAX_EVAL_NAME_CHARACTERS))
        negate = negated != made.negate
        self.decided.append(replace(made, name=name, negate=negate, advisory=_is_advisory(members)))
        self._refuse_many(members.value)

    # --- adding ---------------------------------------------------------------------------------------

    def _add(self, at: SuiteValue, text: str, *, topic: str | None = None, negated: bool = False) -> None:
        self._ask(JudgedQuestion(text=text, location=at.location, topic=topic), at, negated=negated)

    def _ask(self, question: JudgedQuestion, at: SuiteValue, *, negated: bool) -> None:
        """Add a question, or its opposite, unless it is there already. Raises SuiteError."""
        self._read += 1
        if len(question.text) > MAX_EVAL_QUESTION_CHARACTERS:
            raise at.error(f"is longer than {MAX_EVAL_QUESTION_CHARACTERS:,} characters", "ask several questions")
        if negated:
            question = replace(question, text=NEGATION + question.text)
        same = (question.topic, " ".join(question.text.split()))
        if same not in self._asked:
            self._asked.add(same)
            self.questions.append(question)
            self._refuse_many(at)

    def _refuse_many(self, at: SuiteValue) -> None:
        if len(self.questions) + len(self.decided) > MAX_EVAL_QUESTIONS:
            raise at.error(f"the case has more than {MAX_EVAL_QUESTIONS} assertions", "split it")

    def _unique(self, name: str) -> str:
        taken = {one.name for one in self.decided}
        number = 2
        unique = name
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        return unique

    def _warn_about_grades(self, members: Members) -> None:
        for item in members.all(keys.GRADED):
            message = f"{item.key_path[-1]} is an earlier answer of a grader: it is ignored"
            self.warnings.once(item, message, "remove it")

    def _warn_about(self, members: Members) -> None:
        self._warn_about_grades(members)
        for item in members.all(("advisory", "required")):
            if not isinstance(item.value, bool):
                self.warnings.once(item, f"{item.key_path[-1]} must be true or false: it has no effect")
        for item in members.all((*keys.QUESTION_LABEL, "type")):
            if isinstance(item.value, dict | list) or (item.key_path[-1] == "type" and not isinstance(item.value, str)):
                self.warnings.once(item, f"{item.key_path[-1]} is not text: it has no effect", "write a text")
        if misspelled := misspelled_type(members):
            item, remedy = misspelled
            message = f"unknown {item.key_path[-1]} {item.value!r}, so this is a question to the judge"
            self.warnings.once(item, message, remedy)
        self.warnings.unknown(members, keys.QUESTION_KEYS, "a question", effect="the judge is shown it")


# --- parts of a mapping -------------------------------------------------------------------------------

_BESIDE_LISTS = frozenset(keys.QUESTION_LABEL) | keys.QUESTION_WITHOUT_EFFECT
"""Keys of a mapping with a name and lists that are no questions, such as its weight."""
_TITLES = ("description", "text", "assertion", "expectation", "name")


def _text(members: Members, *, without: str | None) -> SuiteValue | None:
    """The text of a question: that of the first key that has one. A type in ``check`` is none.

    A name alone is the text only if there is nothing below it, such as a list of criteria.
    """
    for key in keys.QUESTION_TEXT:
        for item in members.all((key,)):
            is_type = key == "check" and without and not members.named("type")
            if not _is_text(item) or is_type:
                continue
            if key == "name" and (members.has(("type", *keys.OPERANDS)) or _has_lists(members)):
                continue
            return item
    return None


def _has_lists(members: Members) -> bool:
    known = keys.QUESTION_WITHOUT_EFFECT | frozenset(keys.GRADED)
    return any(
        isinstance(item.value, list | dict) for key in members.keys if key not in known for item in members.all((key,))
    )


def _label(members: Members, text: SuiteValue | None = None) -> str | None:
    """The id, name or dimension of a question, unless it is its text."""
    for item in members.all(keys.QUESTION_LABEL):
        if text is not None and item.key_path == text.key_path:
            continue
        if isinstance(item.value, str | int | float) and not isinstance(item.value, bool) and str(item.value).strip():
            return str(item.value).strip()
    return None


def _details(members: Members, text: SuiteValue) -> Iterator[str]:
    """The other texts, operands and unknown keys of a question, as ``key: value``."""
    left_out = {"id", *keys.GRADED, *keys.QUESTION_WITHOUT_EFFECT, "type", "advisory", "required"}
    for key in members.keys:
        for item in members.all((key,)):
            if key not in left_out and item.key_path != text.key_path:
                yield f"{item.key_path[-1]}: {_scalar(item.value)}"


def _is_advisory(members: Members) -> bool:
    advisory, required = members.named("advisory"), members.named("required")
    return (advisory is not None and advisory.value is True) or (required is not None and required.value is False)


def _is_empty(item: SuiteValue) -> bool:
    return item.value in ("", [], {}) or (isinstance(item.value, str) and not item.value.strip())


def _is_text(item: SuiteValue) -> bool:
    return isinstance(item.value, str) and bool(item.value.strip())


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
