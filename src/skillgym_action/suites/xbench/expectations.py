"""The expectations of x-bench, as strings and as objects, and the assertions they become. A kind is a row of ``KINDS``.

    expectation = "file:" path ws ( "exists" | "contains" ws quoted | "matches" ws "/" regex "/" [flags] )
                | "test:" ( quoted | command ) [ ws "passes" ]
                | "diff:" path | "no-file:" path

The object form has the kind as a key, and more keys: ``glob``, ``timeout``, ``failFast``, ``exits``, ``fails``.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema, create_model

from skillgym_action.judging.assertions.commands import CommandPasses
from skillgym_action.judging.assertions.files import FileAbsent, FileChanged, FileContains, FileExists, FileMatches
from skillgym_action.model.errors import closest_match, meant_word, suggestion
from skillgym_action.model.limits import MAX_EXPECTATION_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.text.documents.json_schemas import FREE_KEYS
from skillgym_action.text.documents.option_values import WHOLE
from skillgym_action.text.javascript.regex import Patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from skillgym_action.model.assertion import Assertion

MAX_EXPECTATION_RULE_WORDS = 10  # words of an expectation that are tried as its rule
MAX_SUITE_SECONDS = 7 * 24 * 3600.0  # that an x-bench suite may allow a case or a command

Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[float, Field(gt=0, le=MAX_SUITE_SECONDS)]

_LAST_EXIT_CODE = 255
_PATH_REMEDY = "paths are relative to the workspace, and must not lead out of it"
RULES = ("exists", "contains", "matches")
_RULES_REMEDY = "write file:PATH exists, file:PATH contains 'TEXT' or file:PATH matches /REGEX/"

_QUOTED_PATH = re.compile(r"(['\"])(.+?)\1(?:\s+(exists|contains|matches)\b\s*(.*))?", re.DOTALL)
_RULE = re.compile(r"(?<=\S)\s+(contains|matches)(?=\s)")
_EXISTS = re.compile(r"(?<=\S)\s+exists\Z")
_QUOTED = re.compile(r"(['\"])(.*)\1", re.DOTALL)
_REGEX = re.compile(r"/(.*)/([A-Za-z]*)", re.DOTALL)
_PASSES = re.compile(r"(?<=\S)\s+passes\Z")
_OTHER_RESULT = re.compile(r"(?<=[^\s;&|({!])[ \t]+(fails?|exits[ \t]+([0-9]{1,3}))\Z")
"""Words at the end of a command, not a command of their own, that look like the result which it must have."""
_ESCAPE = re.compile(r"\\(['\"\\nt])")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def _true(value: bool) -> bool:  # noqa: FBT001 - pydantic calls it
    if not value:
        raise ValueError("must be true, not false")
    return value


class XbenchSection(BaseModel):
    """A mapping in a suite file: types are strict, and unknown keys are errors, except ``x-*`` and ``$schema``."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        defer_build=True,
        json_schema_extra=FREE_KEYS,
    )


class ExpectationOptions(XbenchSection):
    """The keys of an expectation object that are not its kind. ``timeout`` is in seconds."""

    exists: Annotated[bool, AfterValidator(_true), WithJsonSchema({"const": True, "type": "boolean"})] | None = None
    """With `file`: the file must exist."""
    contains: str | None = None
    """With `file`: text that the file must contain; the comparison is case-sensitive."""
    matches: str | None = None
    """With `file`: regular expression in the syntax of JavaScript that must match a part of the file. The slashes
    around the expression are optional."""
    glob: bool = False
    """With `file`, `diff` or `no-file`: the path is a [glob pattern](patterns.md). For `file` and `diff`, at least one
    matching file must satisfy the expectation. For `no-file`, there must be no matching file."""
    timeout: Seconds | None = None
    """With `test`: time limit of the command."""
    exits: Annotated[int, Field(ge=0, le=_LAST_EXIT_CODE), WHOLE] | None = None
    """With `test`: the command must exit with this code. `exits` cannot be combined with `fails: true`."""
    fails: bool = False
    """With `test`: the command must exit with a code other than 0. The value `true` cannot be combined with `exits`."""
    fail_fast: bool = Field(default=False, alias="failFast")
    """If the expectation fails or cannot be evaluated, the expectations after it are not evaluated."""

    def set_keys(self) -> set[str]:
        """Names of the keys that are written and not null."""
        return {name for name in self.model_fields_set if getattr(self, name) is not None}


class GrammarError(ValueError):
    """An expectation that cannot be understood; ``message`` is a part of a sentence, without the location."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        super().__init__(message)
        self.message, self.remedy = message, remedy


@record(kw_only=False)
class ParsedExpectation:
    """An assertion, and a warning if it is not certain that the author meant it."""

    assertion: Assertion
    warning: str | None = None


class ExpectationKind(Protocol):
    """A kind of expectation. ``prefix``: of the text form, and the key of the object form.

    ``description``: of this key, in the JSON Schema. ``options``: the keys that may stand beside it in an object,
    besides ``failFast``.
    """

    @property
    def prefix(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def options(self) -> frozenset[str]: ...

    def from_text(self, name: str, rest: str, patterns: Patterns) -> ParsedExpectation:
        """The assertion for ``rest``, the text after the prefix. ``name``: all of the text. Raises GrammarError."""
        ...

    def from_object(self, value: str, section: ExpectationOptions, patterns: Patterns) -> Assertion:
        """The assertion for the value of the kind's key; its name is the text that means the same."""
        ...


class Expectations:
    """Parses the expectations of one suite; equal texts are parsed once."""

    def __init__(self) -> None:
        self._known: dict[str, ParsedExpectation] = {}
        self._patterns = Patterns()

    def parsed(self, written: str | ExpectationOptions, key_path: str) -> ParsedExpectation:
        """The assertion of the expectation at ``key_path``. Raises GrammarError."""
        if not isinstance(written, str):
            parsed = parse_object(written, self._patterns)
        elif (known := self._known.get(written)) is None:
            parsed = self._known[written] = parse_text(written, self._patterns)
        else:
            parsed = known
        if isinstance(parsed.assertion, FileMatches):
            return replace(parsed, assertion=replace(parsed.assertion, key_path=key_path))
        return parsed


def parse_text(text: str, patterns: Patterns | None = None) -> ParsedExpectation:
    """The assertion of an expectation in its text form, which becomes its name. Raises GrammarError."""
    if len(text) > MAX_EXPECTATION_CHARACTERS:
        raise GrammarError(f"the expectation is longer than {MAX_EXPECTATION_CHARACTERS:,} characters")
    prefix, colon, rest = text.partition(":")
    if not colon or prefix not in KIND_BY_PREFIX:
        meant = closest_match(prefix.strip().lower(), KIND_BY_PREFIX)
        known = ", ".join(f"{kind}:" for kind in KIND_BY_PREFIX)
        remedy = meant_word(f"{meant}:") if meant else f"an expectation starts with one of {known}"
        raise GrammarError(f"unknown kind of expectation: {text[:60]!r}", remedy)
    if not (rest := rest.strip()):
        raise GrammarError(f"nothing follows {prefix}:", _RULES_REMEDY if prefix == "file" else None)
    return KIND_BY_PREFIX[prefix].from_text(text, rest, patterns or Patterns())


def parse_object(section: ExpectationOptions, patterns: Patterns | None = None) -> ParsedExpectation:
    """The assertion of an expectation in its object form. Raises GrammarError."""
    keys = section.set_keys()
    kinds = [kind for kind in KIND_BY_PREFIX if _field(kind) in keys]
    if len(kinds) != 1:
        raise GrammarError(f"must have exactly one of {', '.join(KIND_BY_PREFIX)}")
    kind = KIND_BY_PREFIX[kinds[0]]
    if surplus := sorted(keys - kind.options - {_field(kinds[0]), "fail_fast"}):
        raise GrammarError(f"{surplus[0]} does not go with {kinds[0]}")
    return ParsedExpectation(kind.from_object(getattr(section, _field(kinds[0])), section, patterns or Patterns()))


def texts_in(written: str | ExpectationOptions) -> tuple[str, ...]:
    """The texts of an expectation that name a path or a command."""
    if isinstance(written, str):
        return (written,)
    return tuple(text for kind in KIND_BY_PREFIX if (text := getattr(written, _field(kind))) is not None)


def _field(kind: str) -> str:
    """The name of the kind's field, which no attribute of the model's classes has."""
    return f"kind_{kind.replace('-', '_')}"


# --- file -------------------------------------------------------------------------------------------


class FileKind:
    """``file:PATH`` with one of the rules exists, contains and matches."""

    prefix = "file"
    description = (
        "Path of a file, relative to the workspace. "
        "This key requires exactly one of `exists`, `contains` and `matches`."
    )
    options = frozenset({*RULES, "glob"})

    def from_text(self, name: str, rest: str, patterns: Patterns) -> ParsedExpectation:
        path, rule, operand = _ruled(rest)
        warning = None
        if rule == "contains" and not _QUOTED.fullmatch(operand):
            warning = f"the text after contains is not in quotes; it is used unchanged: {operand!r}"
        elif rest.startswith(path) and _RULE.search(path):
            warning = f"the path is taken to be {path!r}; put it in quotes if that is meant"
        operand = _literal(operand) if rule == "contains" else operand
        return ParsedExpectation(_file_assertion(name, path, rule, operand, patterns), warning)

    def from_object(self, value: str, section: ExpectationOptions, patterns: Patterns) -> Assertion:
        rules = [rule for rule in RULES if rule in section.set_keys()]
        if len(rules) != 1:
            raise GrammarError("file needs exactly one of exists, contains, matches")
        operand = section.contains if section.contains is not None else section.matches or ""
        shown = {"contains": f" {json.dumps(operand, ensure_ascii=False)}", "matches": f" {operand}"}.get(rules[0], "")
        made = _file_assertion(f"file:{value} {rules[0]}{shown}", value, rules[0], operand, patterns)
        return replace(made, glob=section.glob, fail_fast=section.fail_fast)


def _ruled(rest: str) -> tuple[str, str, str]:
    """Path, rule and operand. The rule is looked for from the right, since a path may have the same words."""
    if (quoted := _QUOTED_PATH.fullmatch(rest)) and quoted[3] and (quoted[3] != "exists" or not quoted[4]):
        return quoted[2], quoted[3], quoted[4]
    if exists := _EXISTS.search(rest):
        return rest[: exists.start()], "exists", ""
    last = None
    for rule in islice(_RULE.finditer(rest), MAX_EXPECTATION_RULE_WORDS):
        operand = rest[rule.end() :].strip()
        if (_QUOTED if rule[1] == "contains" else _REGEX).fullmatch(operand):
            return rest[: rule.start()], rule[1], operand
        last = rule if rule[1] == "contains" else last
    if last:
        return rest[: last.start()], "contains", rest[last.end() :].strip()
    raise _no_rule(rest.split())


def _no_rule(words: list[str]) -> GrammarError:
    if words[-1] == "contains":
        return GrammarError("contains needs a text", _RULES_REMEDY)
    if "matches" in words[1:]:
        return GrammarError("matches needs a regular expression between slashes", _RULES_REMEDY)
    for word in reversed(words[1:][-MAX_EXPECTATION_RULE_WORDS:]):
        if remedy := suggestion(word, RULES, 0.75):
            return GrammarError(f"unknown rule {word!r}", remedy)
    return GrammarError("says nothing about the file", _RULES_REMEDY)


def _literal(operand: str) -> str:
    """The text between quotes: single quotes take it raw, double quotes know escapes."""
    if not (quoted := _QUOTED.fullmatch(operand)):
        return operand
    return quoted[2] if quoted[1] == "'" else _ESCAPE.sub(_unescaped, quoted[2])


def _unescaped(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape[1], escape[1])


def _file_assertion(
    name: str, path: str, rule: str, operand: str, patterns: Patterns
) -> FileExists | FileContains | FileMatches:
    path = inside(path)
    if rule == "exists":
        return FileExists(name=name, path=path)
    if not operand:
        raise GrammarError(f"{rule} needs something to look for: every file has the empty text")
    if rule == "contains":
        return FileContains(name=name, path=path, text=operand.replace("\r\n", "\n"))
    slashed = _REGEX.fullmatch(operand)
    source, flags = (slashed[1], slashed[2]) if slashed else (operand, "")
    if not source:
        raise GrammarError("the regular expression is empty: every file matches it")
    try:
        return FileMatches(name=name, path=path, pattern=patterns.compiled(source, flags))
    except ValueError as error:
        raise GrammarError(f"not a regular expression: {error}") from error


# --- the other kinds --------------------------------------------------------------------------------


class CommandKind:
    """``test:COMMAND passes``; as an object also with another exit code, and a timeout."""

    prefix = "test"
    description = "Command that runs with `sh -c` in the workspace after the agent has ended."
    options = frozenset({"timeout", "exits", "fails"})

    def from_text(self, name: str, rest: str, patterns: Patterns) -> ParsedExpectation:  # noqa: ARG002 - as ExpectationKind has it
        command = _unquoted_command(_PASSES.sub("", rest))
        if not command.strip() or command == rest == "passes":
            raise GrammarError("test: needs a command", "write test:COMMAND passes")
        return ParsedExpectation(CommandPasses(name=name, command=command), _result_as_argument(rest))

    def from_object(self, value: str, section: ExpectationOptions, patterns: Patterns) -> Assertion:  # noqa: ARG002
        if section.fails and section.exits is not None:
            raise GrammarError("fails and exits exclude each other")
        exits = None if section.fails else section.exits or 0
        ends = "fails" if exits is None else f"exits {exits}" if exits else "passes"
        return CommandPasses(
            name=f"test:{value} {ends}",
            command=value,
            timeout=section.timeout,
            exits=exits,
            fail_fast=section.fail_fast,
        )


def _unquoted_command(command: str) -> str:
    """The command without quotes around all of it."""
    if command[0] in "'\"" and command.find(command[0], 1) == len(command) - 1:
        return command[1:-1]
    return command


def _result_as_argument(written: str) -> str | None:
    """The warning about a text that ends in ``fails`` or ``exits N``: only ``passes`` is not a part of the command."""
    found = _OTHER_RESULT.search(written)
    if not found or int(found[2] or 0) > _LAST_EXIT_CODE:
        return None
    result: dict[str, object] = {"exits": int(found[2])} if found[2] else {"fails": True}
    meant = json.dumps({"test": _unquoted_command(written[: found.start()]), **result}, ensure_ascii=False)
    wanted = f"exits with {int(found[2])}" if found[2] else "fails"
    said = "are arguments" if found[2] else "is an argument"
    return f"`{found[1]}` {said} of the command here; to require that the command {wanted}, write {meant}"


@record(kw_only=False, slots=False)
class PlainKind:
    """An expectation that has one operand and no rules: ``PREFIX:OPERAND``.

    ``make(name, operand)`` makes the assertion, a dataclass with ``fail_fast`` and the fields ``options``; ``unquoted``
    takes the operand of a text out of its quotes, as that of ``contains`` unless a kind has its own way.
    """

    prefix: str
    description: str
    make: Callable[[str, str], Any]
    unquoted: Callable[[str], str] = _literal
    options: frozenset[str] = frozenset()

    def from_text(self, name: str, rest: str, patterns: Patterns) -> ParsedExpectation:  # noqa: ARG002 - as ExpectationKind has it
        operand = self.unquoted(rest)
        warning = _rule_in_path(self.prefix, rest) if "glob" in self.options and operand == rest else None
        return ParsedExpectation(self.make(name, operand), warning)

    def from_object(self, value: str, section: ExpectationOptions, patterns: Patterns) -> Assertion:  # noqa: ARG002
        options = {name: getattr(section, name) for name in self.options}
        made: Assertion = replace(self.make(f"{self.prefix}:{value}", value), fail_fast=section.fail_fast, **options)
        return made


def _unquoted_path(path: str) -> str:
    quoted = _QUOTED_PATH.fullmatch(path)
    return quoted[2] if quoted and quoted[3] is None else path


def _rule_in_path(prefix: str, path: str) -> str | None:
    """The warning about a path without quotes that has the word of a rule, though its kind has no rules."""
    if not (found := _EXISTS.search(path) or _RULE.search(path)):
        return None
    meant = f"write {prefix}:{path[: found.start()]}, or put the path in quotes if that is meant"
    return f"the path is taken to be {path!r}, because {prefix}: has no rules; {meant}"


def inside(path: str) -> str:
    """A path without ``.`` and ``..``, a trailing ``/`` kept. Raises GrammarError if it leads out of the workspace."""
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        raise GrammarError(f"the path {path} is absolute", _PATH_REMEDY)
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and not parts:
            raise GrammarError(f"the path {path} leads out of the workspace", _PATH_REMEDY)
        if part == "..":
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts) + ("/" if parts and path.endswith("/") else "") or "."


# --- the table --------------------------------------------------------------------------------------


def _changed(name: str, path: str) -> FileChanged:
    return FileChanged(name=name, path=inside(path))


def _absent(name: str, path: str) -> FileAbsent:
    return FileAbsent(name=name, path=inside(path))


_GLOB = frozenset({"glob"})
_DIFF = "Path of a file or folder that the agent must create or change, relative to the workspace."
_NO_FILE = "Path that must not exist, relative to the workspace."
KINDS: tuple[ExpectationKind, ...] = (
    FileKind(),
    CommandKind(),
    PlainKind("diff", _DIFF, _changed, _unquoted_path, _GLOB),
    PlainKind("no-file", _NO_FILE, _absent, _unquoted_path, _GLOB),
)
KIND_BY_PREFIX = {kind.prefix: kind for kind in KINDS}


def section_with(kinds: Mapping[str, str]) -> type[ExpectationOptions]:
    """The model of an expectation as an object, with a key for each of the kinds, which have these descriptions."""
    fields: dict[str, Any] = {
        _field(kind): (Text | None, Field(default=None, alias=kind, description=text)) for kind, text in kinds.items()
    }
    return create_model(
        "ExpectationSection",
        __base__=ExpectationOptions,
        __doc__="An expectation as an object: one kind, and what goes with it. ``timeout`` is in seconds.",
        **fields,
    )


if TYPE_CHECKING:
    ExpectationSection = ExpectationOptions
else:
    ExpectationSection = section_with({kind.prefix: kind.description for kind in KINDS})
