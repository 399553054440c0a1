"""Parses command lines into executable, positional arguments and options, and matches them."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from skillgym_action.model.records import record
from skillgym_action.suites.programs.runtime.matching import Matcher, equals, matcher_of, quoted, require_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Value: TypeAlias = Matcher | Literal[True]

SHELLS = frozenset({"bash", "sh", "zsh", "fish", "dash"})
BLANK = frozenset(" \t\n\r\f\v")
SCRIPT_OPTION = re.compile(r"-[^-]*c")
LETTERS = re.compile(r"-[A-Za-z]+")


class CommandShape(TypedDict, total=False):
    """The plain form of a command matcher."""

    executable: Matcher
    positionals: Sequence[Matcher]
    options: Mapping[str, Value | Sequence[Value]]
    end_of_options: bool
    strict: bool
    exact: bool


class CommandMatcher:
    """A builder for matchers of command lines.

    ``command_matcher("npm").arg("test").option("--watch", "false").strict()``. Text must be equal to the argument; a
    regular expression must match somewhere in it.
    """

    def __init__(self, executable: Matcher | None = None) -> None:
        """``executable``: the program as it is written in the command line; None matches any."""
        self._executable = executable
        self._positionals: list[Matcher] = []
        self._options: dict[str, list[Value]] = {}
        self._end_of_options: bool | None = None
        self._strict = False

    def executable(self, matcher: Matcher) -> CommandMatcher:
        """The program as it is written in the command line."""
        self._executable = matcher
        return self

    def arg(self, matcher: Matcher) -> CommandMatcher:
        """A positional argument, after those already named."""
        return self.args(matcher)

    def args(self, *matchers: Matcher) -> CommandMatcher:
        """Positional arguments in this order; others may come between them."""
        self._positionals.extend(matchers)
        return self

    def option(self, name: str, value: Value = True) -> CommandMatcher:  # noqa: FBT002 - True is what a flag's value is
        """An option with its dashes, and its value; without a value it is a flag."""
        self._options.setdefault(name, []).append(value)
        return self

    def flag(self, name: str) -> CommandMatcher:
        """An option without a value."""
        return self.option(name)

    def end_of_options(self) -> CommandMatcher:
        """There is a ``--``."""
        self._end_of_options = True
        return self

    def strict(self) -> CommandMatcher:
        """No other arguments or options than those named."""
        self._strict = True
        return self

    def exact(self) -> CommandMatcher:
        """The same as ``strict``."""
        return self.strict()

    def build(self) -> CommandShape:
        """The plain form."""
        shape: CommandShape = {
            "positionals": list(self._positionals),
            "options": {name: list(values) for name, values in self._options.items()},
            "strict": self._strict,
        }
        if self._executable is not None:
            shape["executable"] = self._executable
        if self._end_of_options is not None:
            shape["end_of_options"] = self._end_of_options
        return shape


def command_matcher(executable: Matcher | None = None) -> CommandMatcher:
    """A builder for matchers of command lines."""
    return CommandMatcher(executable)


@record(slots=False)
class WantedLine:
    """A command matcher whose fields have been checked."""

    executable: Matcher | None
    positionals: tuple[Matcher, ...]
    options: Mapping[str, tuple[Value, ...]]
    end_of_options: bool | None
    strict: bool

    @classmethod
    def of(cls, matcher: CommandMatcher | CommandShape) -> WantedLine:
        """Check a matcher. Raises TypeError for a value that is not a command matcher."""
        shape = matcher.build() if isinstance(matcher, CommandMatcher) else matcher
        if unknown := [name for name in shape if name not in CommandShape.__annotations__]:
            known = ", ".join(CommandShape.__annotations__)
            raise TypeError(f"a command matcher has no field {unknown[0]!r}; known: {known}")
        executable, positionals = shape.get("executable"), shape.get("positionals", ())
        require_list(positionals, "positionals")
        return cls(
            executable=None if executable is None else matcher_of(executable),
            positionals=tuple(map(matcher_of, positionals)),
            options={name: _values(value) for name, value in shape.get("options", {}).items()},
            end_of_options=shape.get("end_of_options"),
            strict=bool(shape.get("strict") or shape.get("exact")),
        )

    def accepts(self, command: str) -> bool:
        """Whether a command line matches."""
        line = parsed(command)
        if self.executable is not None and (line.executable is None or not equals(line.executable, self.executable)):
            return False
        if self.end_of_options is not None and line.end_of_options != self.end_of_options:
            return False
        if self.strict and (len(line.positionals) != len(self.positionals) or line.options.keys() - self.options):
            return False
        wanted = list(self.positionals)
        for argument in line.positionals:
            if wanted and equals(argument, wanted[0]):
                wanted.pop(0)
        return not wanted and all(
            name in line.options and _has(line.options[name], values, strict=self.strict)
            for name, values in self.options.items()
        )

    def __str__(self) -> str:
        return f"{{ {described(self)} }}"


@record(frozen=False, slots=False)
class CommandLine:
    """A parsed command line; the value of a flag is True."""

    executable: str | None
    positionals: list[str] = field(default_factory=list)
    options: dict[str, list[str | Literal[True]]] = field(default_factory=dict)
    end_of_options: bool = False


def parsed(command: str) -> CommandLine:
    """Parse a command line. For ``sh -c SCRIPT`` and the like, the script is parsed."""
    words = _unwrapped(_words(command))
    line, rest = CommandLine(executable=words[0] if words else None), words[1:]
    while rest:
        word = rest.pop(0)
        if line.end_of_options or not word.startswith("-") or word == "-":
            line.positionals.append(word)
        elif word == "--":
            line.end_of_options = True
        else:
            takes_next = bool(rest) and not rest[0].startswith("-")
            for name, value in _options(word):
                taken = rest.pop(0) if value is None and takes_next else value
                line.options.setdefault(name, []).append(True if taken is None else taken)
    return line


def described(line: WantedLine | CommandLine) -> str:
    """A command line, or what it should be, as text for messages."""
    named = [
        f"{name}: {_shown(values) if len(values) == 1 else f'[{_shown(values)}]'}"
        for name, values in line.options.items()
    ]
    parts = [
        "" if line.executable is None else f"executable: {quoted(line.executable)}",
        f"positionals: [{_shown(line.positionals)}]" if line.positionals else "",
        f"options: {{ {', '.join(named)} }}" if named else "",
        "--" if line.end_of_options else "",
        "strict" if isinstance(line, WantedLine) and line.strict else "",
    ]
    return ", ".join(filter(None, parts)) or "nothing"


def _options(word: str) -> list[tuple[str, str | Literal[True] | None]]:
    """Names and values of the options in a word; the value is None if the next word may be it."""
    name, sign, value = word.partition("=")
    if word.startswith("--"):
        return [(name, value if sign else None)]
    if len(word) == len("-x"):
        return [(word, None)]
    if LETTERS.fullmatch(word):
        return [(f"-{letter}", True) for letter in word[1:]]
    return [(word[:2], word[2:])]


def _words(command: str) -> list[str]:
    """The words of a command line without their quotes; empty words are dropped."""
    words, word, quote, characters = [], "", "", iter(command)
    for character in characters:
        if character == "\\" and quote != "'":
            word += next(characters, character)
        elif character == quote if quote else character in "'\"":
            quote = "" if quote else character
        elif not quote and character in BLANK:
            words.append(word)
            word = ""
        else:
            word += character
    return [each for each in (*words, word) if each]


def _unwrapped(words: list[str]) -> list[str]:
    """The words of the script that a shell, one of the first two words, gets with ``-c``; else the words themselves."""
    shell = next((at for at, word in enumerate(words[:2]) if word.rpartition("/")[2] in SHELLS), len(words))
    script = next((at for at, word in enumerate(words) if at > shell and SCRIPT_OPTION.match(word)), len(words)) + 1
    return _words(words[script]) if script < len(words) else words


def _values(value: Value | Sequence[Value]) -> tuple[Value, ...]:
    values = value if isinstance(value, list | tuple) else (value,)
    return tuple(True if each is True else matcher_of(each) for each in values)


def _has(actual: list[str | Literal[True]], wanted: tuple[Value, ...], *, strict: bool) -> bool:
    """Whether each wanted value matches an actual value of its own; if strict, no actual value may be left over."""
    remaining = list(actual)
    for value in wanted:
        found = next((index for index, each in enumerate(remaining) if _is(each, value)), None)
        if found is None:
            return False
        remaining.pop(found)
    return not (strict and remaining)


def _is(actual: str | Literal[True], wanted: Value) -> bool:
    return actual is wanted if actual is True or wanted is True else equals(actual, wanted)


def _shown(values: Sequence[Value]) -> str:
    return ", ".join("true" if value is True else quoted(value) for value in values)
