"""The expectations of x-bench, as strings and as objects, and the assertions they become.

    expectation = "file:" path ws ( "exists" | "contains" ws quoted | "matches" ws "/" regex "/" [flags] )
                | "test:" ( quoted | command ) [ ws "passes" ]
                | "diff:" path | "no-file:" path

The object form says the same with keys, and more: ``glob``, ``timeout``, ``failFast``, ``exits``, ``fails``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.assertions.commands import CommandPasses
from skillgym_action.assertions.files import FileAbsent, FileChanged, FileContains, FileExists, FileMatches
from skillgym_action.javascript.regex import Patterns
from skillgym_action.model.errors import closest_match

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.formats.xbench_model import ExpectationSection
    from skillgym_action.model.assertion import Assertion

LONGEST = 10_000
"""Characters of an expectation; the time to read one is bounded with it."""
_MOST_RULES = 10
"""Words of an expectation that may be its rule."""

_PATH_REMEDY = "paths are relative to the workspace, and stay inside"
_RULES = ("exists", "contains", "matches")
_RULES_REMEDY = "write file:PATH exists, file:PATH contains 'TEXT' or file:PATH matches /REGEX/"

_QUOTED_PATH = re.compile(r"(['\"])(.+?)\1(?:\s+(exists|contains|matches)\b\s*(.*))?", re.DOTALL)
_RULE = re.compile(r"(?<=\S)\s+(contains|matches)(?=\s)")
_EXISTS = re.compile(r"(?<=\S)\s+exists\Z")
_QUOTED = re.compile(r"(['\"])(.*)\1", re.DOTALL)
_REGEX = re.compile(r"/(.*)/([A-Za-z]*)", re.DOTALL)
_PASSES = re.compile(r"(?<=\S)\s+passes\Z")
_ESCAPE = re.compile(r"\\(['\"\\nt])")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class GrammarError(ValueError):
    """An expectation that says nothing that could be checked."""

    def __init__(self, message: str, remedy: str | None = None) -> None:
        """``message`` in plain words."""
        super().__init__(message)
        self.message, self.remedy = message, remedy


@dataclass(frozen=True, slots=True)
class Reading:
    """What an expectation became, and what is dubious about how it is written."""

    assertion: Assertion
    warning: str | None = None


class Expectations:
    """Reads the expectations of a suite."""

    def __init__(self) -> None:
        """None is read yet."""
        self._known: dict[str, Reading] = {}
        self._patterns = Patterns()

    def reading(self, written: str | ExpectationSection, key_path: str) -> Reading:
        """The assertion of an expectation that stands at ``key_path``. Raises GrammarError."""
        if not isinstance(written, str):
            reading = object_expectation(written, self._patterns)
        elif (known := self._known.get(written)) is None:
            reading = self._known[written] = expectation(written, self._patterns)
        else:
            reading = known
        if isinstance(reading.assertion, FileMatches):
            return replace(reading, assertion=replace(reading.assertion, key_path=key_path))
        return reading


# --- strings ----------------------------------------------------------------------------------------


def expectation(text: str, patterns: Patterns | None = None) -> Reading:
    """The assertion of an expectation string, which becomes its name. Raises GrammarError."""
    if len(text) > LONGEST:
        raise GrammarError(f"the expectation is longer than {LONGEST:,} characters")
    prefix, colon, rest = text.partition(":")
    if not colon or prefix not in _KINDS:
        meant = closest_match(prefix.strip().lower(), _KINDS)
        known = ", ".join(f"{kind}:" for kind in _KINDS)
        remedy = f"did you mean {meant}:?" if meant else f"an expectation starts with one of {known}"
        raise GrammarError(f"unknown kind of expectation: {text[:60]!r}", remedy)
    if not (rest := rest.strip()):
        raise GrammarError(f"nothing follows {prefix}:", _RULES_REMEDY if prefix == "file" else None)
    return _KINDS[prefix](text, rest, patterns or Patterns())


def _file(name: str, rest: str, patterns: Patterns) -> Reading:
    path, rule, operand = _ruled(rest)
    warning = None
    if rule == "contains" and not _QUOTED.fullmatch(operand):
        warning = f"the text after contains is not in quotes; it is taken as it is: {operand!r}"
    elif rest.startswith(path) and _RULE.search(path):
        warning = f"the path is taken to be {path!r}; put it in quotes if that is meant"
    operand = _literal(operand) if rule == "contains" else operand
    return Reading(_file_assertion(name, path, rule, operand, patterns), warning)


def _ruled(rest: str) -> tuple[str, str, str]:
    """Path, rule and operand. The rule is looked for from the right, since a path may have the same words."""
    if (quoted := _QUOTED_PATH.fullmatch(rest)) and quoted[3] and (quoted[3] != "exists" or not quoted[4]):
        return quoted[2], quoted[3], quoted[4]
    if exists := _EXISTS.search(rest):
        return rest[: exists.start()], "exists", ""
    last = None
    for rule in islice(_RULE.finditer(rest), _MOST_RULES):
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
    for word in reversed(words[1:][-_MOST_RULES:]):
        if meant := closest_match(word, _RULES, 0.75):
            return GrammarError(f"unknown rule {word!r}", f"did you mean {meant!r}?")
    return GrammarError("says nothing about the file", _RULES_REMEDY)


def _literal(operand: str) -> str:
    """The text between quotes: single quotes take it raw, double quotes know escapes."""
    if not (quoted := _QUOTED.fullmatch(operand)):
        return operand
    return quoted[2] if quoted[1] == "'" else _ESCAPE.sub(_unescaped, quoted[2])


def _unescaped(escape: re.Match[str]) -> str:
    return {"n": "\n", "t": "\t"}.get(escape[1], escape[1])


def _test(name: str, rest: str, _: Patterns) -> Reading:
    command = _PASSES.sub("", rest)
    if command[0] in "'\"" and command.find(command[0], 1) == len(command) - 1:
        command = command[1:-1]
    if not command.strip() or command == rest == "passes":
        raise GrammarError("test: needs a command", "write test:COMMAND passes")
    return Reading(CommandPasses(name=name, command=command))


def _diff(name: str, rest: str, _: Patterns) -> Reading:
    return Reading(FileChanged(name=name, path=inside(_plain_path(rest))))


def _no_file(name: str, rest: str, _: Patterns) -> Reading:
    return Reading(FileAbsent(name=name, path=inside(_plain_path(rest))))


def _plain_path(path: str) -> str:
    quoted = _QUOTED_PATH.fullmatch(path)
    return quoted[2] if quoted and quoted[3] is None else path


_KINDS: dict[str, Callable[[str, str, Patterns], Reading]] = {
    "file": _file,
    "test": _test,
    "diff": _diff,
    "no-file": _no_file,
}


# --- objects ----------------------------------------------------------------------------------------


_GOES_WITH = {
    "file": {"exists", "contains", "matches", "glob"},
    "test": {"timeout", "exits", "fails"},
    "diff": {"glob"},
    "no_file": {"glob"},
}


def object_expectation(section: ExpectationSection, patterns: Patterns | None = None) -> Reading:
    """The assertion of an expectation object; its name is the string that says the same. Raises GrammarError."""
    given = {name for name in section.model_fields_set if getattr(section, name) is not None}
    kinds = [kind for kind in _GOES_WITH if kind in given]
    if len(kinds) != 1:
        raise GrammarError("must have exactly one of file, test, diff, no-file")
    if surplus := sorted(given - _GOES_WITH[kinds[0]] - {kinds[0], "fail_fast"}):
        raise GrammarError(f"{surplus[0]} does not go with {kinds[0].replace('_', '-')}")
    fail_fast = section.fail_fast
    if section.file:
        return Reading(_file_object(section, section.file, given, patterns or Patterns()))
    if section.test:
        return Reading(_test_object(section, section.test))
    if section.diff:
        name, path = f"diff:{section.diff}", inside(section.diff)
        return Reading(FileChanged(name=name, path=path, glob=section.glob, fail_fast=fail_fast))
    path = inside(section.no_file or "")
    return Reading(FileAbsent(name=f"no-file:{section.no_file}", path=path, glob=section.glob, fail_fast=fail_fast))


def _file_object(section: ExpectationSection, path: str, given: set[str], patterns: Patterns) -> Assertion:
    rules = [rule for rule in _RULES if rule in given]
    if len(rules) != 1:
        raise GrammarError("file needs exactly one of exists, contains, matches")
    operand = section.contains if section.contains is not None else section.matches or ""
    shown = {"contains": f" {json.dumps(operand, ensure_ascii=False)}", "matches": f" {operand}"}.get(rules[0], "")
    name = f"file:{path} {rules[0]}{shown}"
    made = _file_assertion(name, path, rules[0], operand, patterns)
    return replace(made, glob=section.glob, fail_fast=section.fail_fast)


def _test_object(section: ExpectationSection, command: str) -> Assertion:
    if section.fails and section.exits is not None:
        raise GrammarError("fails and exits exclude each other")
    exits = None if section.fails else section.exits or 0
    ends = "fails" if exits is None else f"exits {exits}" if exits else "passes"
    return CommandPasses(
        name=f"test:{command} {ends}",
        command=command,
        timeout=section.timeout,
        exits=exits,
        fail_fast=section.fail_fast,
    )


# --- what both have ---------------------------------------------------------------------------------


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
