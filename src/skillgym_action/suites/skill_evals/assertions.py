"""Assertions of ``evals.json`` that need no judge: texts, regular expressions, files, JSON, a skill that was used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.judging.assertions.evidence import name_evidence, text_evidence
from skillgym_action.model.errors import suggestion
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.limits import MAX_REGEX_CHARACTERS, MAX_SEARCHED_FILE_BYTES, MAX_SUITE_REGEX_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Command
from skillgym_action.suites.skill_evals import keys
from skillgym_action.system.files.globs import is_pattern
from skillgym_action.text.javascript.regex import SearchError
from skillgym_action.text.likeness import literal_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import regex

    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.model.errors import Location
    from skillgym_action.suites.skill_evals.keys import Members
    from skillgym_action.suites.values import SuiteValue

    Patterns = dict[str, "regex.Pattern[str]"]
    """Compiled patterns of a suite by their source; equal ones are compiled once."""

TEXT_TYPES = frozenset({"contains", "icontains", "not_contains", "regex", "not_regex"})
FILE_TYPES = frozenset({"file_contains", "content_contains"})
TYPES = TEXT_TYPES | FILE_TYPES | {"file_exists", "json_valid", "skill_used"}
_SHOWN_NAMES = 5
_LIKENESS = 0.82  # a typing error or another form of a type's word, not a label such as "file_content"


@record(kw_only=False)
class Operands:
    """What a deterministic assertion compares with: ``texts`` of value or pattern, and the path of a file."""

    texts: tuple[str, ...] = ()
    path: str | None = None

    @classmethod
    def of(cls, members: Members) -> Operands:
        """The operands in a mapping."""
        value, path = members.first(("value", "pattern")), members.named("path")
        written = value.value if value else None
        texts = written if isinstance(written, list) else [written]
        usable = [_text(text) for text in texts if isinstance(text, str | int | float) and _text(text).strip()]
        complete = len(usable) == len(texts)
        named = path.value.strip() if path and isinstance(path.value, str) else None
        return cls(tuple(usable) if complete else (), named or None)

    def suffice(self, kind: str) -> bool:
        """Whether the assertion can be decided with them."""
        if kind in TEXT_TYPES:
            return bool(self.texts)
        if kind in FILE_TYPES:
            return bool(self.texts) and self.path is not None
        return kind in {"json_valid", "skill_used"} or self.path is not None


def deterministic_type(members: Members) -> str | None:
    """The type of an assertion that needs no judge, as ``type`` or ``check`` has it; None: it is none of these."""
    for item in members.all(("type", "check")):
        if isinstance(item.value, str) and (word := item.value.strip().lower().replace("-", "_")) in TYPES:
            return word
    return None


def misspelled_type(members: Members) -> tuple[SuiteValue, str] | None:
    """The ``type`` or ``check`` that is nearly a type in ``TYPES``, and the remedy; None if there is none.

    A negated type is compared only with negated types, so that the remedy never names the opposite.
    """
    if deterministic_type(members):
        return None
    for item in members.all(("type", "check")):
        if isinstance(item.value, str):
            word = item.value.strip().lower().replace("-", "_")
            negated = "not" in word or word.startswith("no_")
            known = (kind for kind in TYPES if kind.startswith("not_") == negated)
            if remedy := suggestion(word, known, _LIKENESS):
                return item, remedy
    return None


@record
class DecidedEvalAssertion:
    """An assertion that needs no judge. ``check``: what decides it; ``negate``: it must not hold.

    ``advisory``: it is shown, and never decides.
    """

    name: str
    type: str
    check: TextFound | FileThere | ValidJson | SkillUsed
    location: Location
    negate: bool = False
    advisory: bool = False

    diagnostic: ClassVar[bool] = True
    fail_fast: ClassVar[bool] = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome; not judged where a file is too large, or a search takes too long."""
        finding = self.check.find(context)
        passed = finding.holds if finding.holds is None or finding.missing else finding.holds != self.negate
        outcome = Outcome(
            assertion=self.name,
            type=self.type,
            passed=passed,
            explanation=finding.explanation,
            evidence=finding.evidence if passed is False else None,
            location=self.location,
            advisory=self.advisory,
            trouble="grader" if passed is None else None,
        )
        return (outcome,)


@record
class CheckFinding:
    """The result of a check: whether it holds (None: unknown), one sentence, and evidence.

    ``missing``: there is nothing to look at, so that the opposite does not hold either.
    """

    holds: bool | None
    explanation: str
    evidence: str | None = None
    missing: bool = False


@record
class TextFound:
    """All ``wanted`` texts or patterns are found: in the file at ``path``, else in what the session has produced.

    That is the final message, the text of created files, and the commands run. ``any_of``: one of them is enough.
    """

    wanted: tuple[str | regex.Pattern[str], ...]
    path: str | None = None
    any_case: bool = False
    any_of: bool = False

    def find(self, context: AssertionContext) -> CheckFinding:
        """The first wanted text that is missing decides; with ``any_of`` the first that is there."""
        unread: list[str] = []
        if self.path is None:
            places = [*_produced(context, unread)]
        elif missing := _no_file(context, self.path):
            return missing
        else:
            places = [*_file_texts(context, (self.path,), unread)]
        found = absent = None
        for wanted in self.wanted:
            try:
                place = next((name for name, text in places if self._is_in(context, wanted, text)), None)
            except SearchError as error:
                return CheckFinding(holds=None, explanation=f"the pattern {error}")
            if place is None:
                absent = absent or self._missing(context, wanted, places, unread)
            else:
                found = found or CheckFinding(holds=True, explanation=f"{_shown(wanted)} is in {place}")
        first, second = (found, absent) if self.any_of else (absent, found)
        return first or second or CheckFinding(holds=False, explanation="nothing is wanted")

    def _is_in(self, context: AssertionContext, wanted: str | regex.Pattern[str], text: str) -> bool:
        if not isinstance(wanted, str):
            return context.search(wanted, text) is not None
        return wanted.lower() in text.lower() if self.any_case else wanted in text

    def _missing(
        self,
        context: AssertionContext,
        wanted: str | regex.Pattern[str],
        places: list[tuple[str, str]],
        unread: list[str],
    ) -> CheckFinding:
        if unread:
            return CheckFinding(holds=None, explanation=f"{unread[0]} is too large to be searched, or cannot be read")
        where = self.path or "the final message, the created files and the commands"
        explanation = f"{_shown(wanted)} is not in {where}"
        if self.path is None:
            return CheckFinding(holds=False, explanation=explanation)
        plain = wanted if isinstance(wanted, str) else literal_part(wanted.pattern)
        return CheckFinding(
            holds=False, explanation=explanation, evidence=text_evidence(context.files, self.path, places[0][1], plain)
        )


@record(kw_only=False)
class FileThere:
    """A file, or one that matches a glob pattern, is in the workspace."""

    path: str

    def find(self, context: AssertionContext) -> CheckFinding:
        """Input files count, too; the explanation then warns that this measures nothing."""
        names = context.files.glob(self.path) if is_pattern(self.path) else (self.path,)
        if not names:
            return CheckFinding(
                holds=False,
                explanation=f"no file matches {self.path}",
                evidence=name_evidence(context.files, self.path),
            )
        if names == (self.path,) and (missing := _no_file(context, self.path)):
            return replace(missing, missing=False)
        new = next((name for name in names if not context.files.existed(name) or context.files.changed(name)), None)
        warning = "" if new else " (preexisting: it was there before the agent started, so this measures nothing)"
        return CheckFinding(holds=True, explanation=f"{new or names[0]} exists{warning}")


@record(kw_only=False)
class ValidJson:
    """The file at ``path``, else the final message, is JSON; a message may have it in a code fence."""

    path: str | None = None

    def find(self, context: AssertionContext) -> CheckFinding:
        """If it does not parse, the explanation has the parser's message."""
        if self.path is not None:
            if missing := _no_file(context, self.path):
                return missing
            if (text := context.files.text(self.path, MAX_SEARCHED_FILE_BYTES)) is None:
                return CheckFinding(holds=None, explanation=f"{self.path} is too large to be parsed, or cannot be read")
        else:
            text = _without_fence(context.report.final_output if context.report else "")
        where = self.path or "the final message"
        try:
            json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            return CheckFinding(holds=False, explanation=f"{where} is not JSON: {error}")
        return CheckFinding(holds=True, explanation=f"{where} is JSON")


@record(kw_only=False)
class SkillUsed:
    """One of the skills was used: it was loaded, or its SKILL.md was read. (): any skill."""

    skills: tuple[str, ...]

    def find(self, context: AssertionContext) -> CheckFinding:
        """Mentions of a skill are no use of it."""
        detected = context.report.detected_skills if context.report else ()
        used = sorted({one.skill for one in detected if one.confidence in {"explicit", "strong"}})
        wanted = {name.lower() for name in self.skills}
        hit = next((name for name in used if not wanted or name.lower().rpartition(":")[2] in wanted), None)
        if hit:
            return CheckFinding(holds=True, explanation=f"the skill {hit} was used")
        named = ", ".join(self.skills[:_SHOWN_NAMES]) or "any skill"
        others = f"; used: {', '.join(used[:_SHOWN_NAMES])}" if used else "; no skill was used"
        return CheckFinding(holds=False, explanation=f"{named} was not used{others}")


# --- in suite files -----------------------------------------------------------------------------------


def deterministic(
    kind: str, operands: Operands, value: SuiteValue, known: Patterns, skills: tuple[str, ...]
) -> DecidedEvalAssertion:
    """The assertion of a type, named by its type and operand. ``skills``: those under test. Raises SuiteError."""
    path = _inside(value, operands.path) if operands.path else None
    negative = kind.startswith("not_")
    check: TextFound | FileThere | ValidJson | SkillUsed
    if kind == "file_exists":
        check = FileThere(path or "")
    elif kind == "json_valid":
        check = ValidJson(path)
    elif kind == "skill_used":
        check = SkillUsed(operands.texts or skills)
    elif kind.endswith("regex"):
        check = TextFound(
            wanted=tuple(_compiled(value, text, known) for text in operands.texts), path=path, any_of=negative
        )
    else:
        check = TextFound(wanted=operands.texts, path=path, any_case=kind == "icontains", any_of=negative)
    shown = path if kind == "file_exists" else ", ".join(operands.texts) or path
    return DecidedEvalAssertion(
        name=f"{keys.in_words(kind)}: {shown}" if shown else keys.in_words(kind),
        type=kind.replace("_", "-"),
        check=check,
        location=value.location,
        negate=negative,
    )


def _compiled(value: SuiteValue, source: str, known: Patterns) -> regex.Pattern[str]:
    import regex

    if len(source) > MAX_REGEX_CHARACTERS:
        raise value.error(f"the pattern is longer than {MAX_REGEX_CHARACTERS:,} characters")
    if source not in known:
        if sum(map(len, known)) + len(source) > MAX_SUITE_REGEX_CHARACTERS:
            raise value.error(f"the suite's patterns have more than {MAX_SUITE_REGEX_CHARACTERS:,} characters")
        try:
            known[source] = regex.compile(source, regex.MULTILINE)
        except (regex.error, RecursionError, OverflowError) as error:
            raise value.error(f"{source!r} is not a regular expression of Python: {error}") from error
    return known[source]


def _inside(value: SuiteValue, path: str) -> str:
    """A path below the workspace, without ``./``. Raises SuiteError for any other."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or ".." in parts or not parts:
        raise value.error(f"the path {path!r} is not below the workspace", "name it relative to the workspace")
    return "/".join(parts)


# --- what is searched ---------------------------------------------------------------------------------


def _produced(context: AssertionContext, unread: list[str]) -> Iterator[tuple[str, str]]:
    """What the session has produced, as (name, text). ``unread``: gets files that cannot be searched."""
    if report := context.report:
        yield "the final message", report.final_output
        for event in report.events:
            if isinstance(event, Command):
                yield "a command", event.command
    created = (name for name in context.files.created() if context.files.kind(name) == "file")
    yield from _file_texts(context, created, unread)


def _file_texts(context: AssertionContext, names: Iterable[str], unread: list[str]) -> Iterator[tuple[str, str]]:
    for name in names:
        text = context.files.text(name, MAX_SEARCHED_FILE_BYTES)
        if text is None:
            unread.append(name)
        else:
            yield name, text


def _no_file(context: AssertionContext, path: str) -> CheckFinding | None:
    """That there is no file at the path; None if there is one."""
    kind = context.files.kind(path)
    if kind == "file":
        return None
    explanation = f"{path} does not exist" if kind is None else f"{path} is not a file: {kind}"
    return CheckFinding(holds=False, explanation=explanation, evidence=name_evidence(context.files, path), missing=True)


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _without_fence(text: str) -> str:
    """The content of the only code fence of a text; the whole text if it has none, or several."""
    parts = text.split("```")
    if len(parts) != 3:  # noqa: PLR2004 -- before, inside, after
        return text
    first, _, rest = parts[1].partition("\n")
    return rest if not first.strip() or first.strip().isalnum() else parts[1]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _shown(wanted: str | regex.Pattern[str]) -> str:
    return repr(wanted if isinstance(wanted, str) else wanted.pattern)
