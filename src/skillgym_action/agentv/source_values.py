"""The files of an AgentV suite, and parts of them: values that know where they stand, and say what is wrong there."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skillgym_action.agentv.variables import Growth, folders_up, interpolated
from skillgym_action.documents.documents import Document, part_of, read_document
from skillgym_action.documents.located_values import MOST_VALUES, key_path_text
from skillgym_action.documents.user_files import PLAIN_DIRECTORY, PLAIN_TEMPLATE, kind_of, read_text, resolved
from skillgym_action.javascript.regex import Patterns
from skillgym_action.model.errors import Location, Problem, SkillgymError, SuiteError, closest_match

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from pathlib import Path
    from typing import Literal

    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.documents.user_files import Opener

_WRITTEN_LINE = re.compile(r"^[^\S\n]*+\S[^\n]*", re.MULTILINE)
MOST_FILES = 50_000
"""Files that a suite names, each test its own."""
MOST_WARNINGS = 100
"""Unknown keys of one mapping that are told one by one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A value, after interpolation, and its place. ``raw`` is what the author wrote there."""

    document: Document
    value: object
    key_path: KeyPath = ()

    @property
    def raw(self) -> object:
        """The value before interpolation."""
        return part_of(self.document.value, self.key_path)

    @property
    def location(self) -> Location:
        """Where it is written."""
        return self.document.locate(self.key_path)

    @property
    def name(self) -> str:
        """Its key path."""
        return key_path_text(self.key_path)

    def get(self, *names: str) -> Part | None:
        """The first of the members that is there and not null."""
        for name in names:
            if isinstance(self.value, dict) and self.value.get(name) is not None:
                return Part(document=self.document, value=self.value[name], key_path=(*self.key_path, name))
        return None

    def items(self) -> list[Part]:
        """The elements of a list. Raises SuiteError."""
        if not isinstance(self.value, list):
            raise self.error("must be a list")
        return [
            Part(document=self.document, value=value, key_path=(*self.key_path, index))
            for index, value in enumerate(self.value)
        ]

    def mapping(self) -> Part:
        """Itself, if it is a mapping. Raises SuiteError."""
        if not isinstance(self.value, dict):
            raise self.error("must be a mapping of keys to values")
        return self

    def text(self, *names: str) -> str | None:
        """The text of a member; None where it is not given. Raises SuiteError."""
        return None if (part := self.get(*names)) is None else part.as_text()

    def as_text(self) -> str:
        """The value, if it is a text with something in it. Raises SuiteError."""
        if not isinstance(self.value, str):
            raise self.error("must be text")
        if not self.value.strip():
            raise self.error("must not be empty")
        return self.value

    def texts(self, *names: str) -> tuple[str, ...]:
        """The texts of a member that is a list. Raises SuiteError."""
        return () if (part := self.get(*names)) is None else tuple(item.as_text() for item in part.items())

    def flag(self, *names: str) -> bool:
        """Whether a member is true. Raises SuiteError for what is neither true nor false."""
        if (part := self.get(*names)) is None:
            return False
        if not isinstance(part.value, bool):
            raise part.error("must be true or false")
        return part.value

    def number(self, *names: str, most: float = float("inf"), whole: bool = False) -> float | None:
        """A number from 0 to ``most``; None where it is not given. Raises SuiteError."""
        if (part := self.get(*names)) is None:
            return None
        value = part.value
        if isinstance(value, bool) or not isinstance(value, int | float) or (whole and value != int(value)):
            raise part.error(f"must be a {'whole ' if whole else ''}number")
        if not 0 <= value <= most:
            raise part.error("must not be negative" if value < 0 else f"must be from 0 to {most:g}")
        return float(value)

    def problem(self, message: str, remedy: str | None = None) -> Problem:
        """Something wrong with it."""
        return Problem(message=message, location=self.location, key_path=self.name or None, remedy=remedy)

    def error(self, message: str, remedy: str | None = None) -> SkillgymError:
        """The SuiteError for something wrong with it."""
        return SuiteError.of(self.problem(message, remedy))

    def unknown(self, known: Collection[str]) -> Iterator[Problem]:
        """A warning for every member nobody reads, but for ``$schema`` and ``x-*``."""
        told = 0
        for key in self.value if isinstance(self.value, dict) else ():
            if key in known or key.startswith(("x-", "$")):
                continue
            told += 1
            if told > MOST_WARNINGS:
                yield self.problem("and more unknown keys")
                return
            member = Part(document=self.document, value=None, key_path=(*self.key_path, key))
            meant = closest_match(key, known, 0.7)
            yield member.problem(f"unknown key {key!r}", f"did you mean {meant!r}?" if meant else None)


@dataclass(slots=True)
class Read:
    """What was read for a suite, and how much: several small files can be as much as a large one."""

    values: int = 0
    looked_for: int = 0
    files: dict[Path, Part] = field(default_factory=dict)
    patterns: Patterns = field(default_factory=Patterns)


@dataclass(frozen=True, kw_only=True)
class Files:
    """What may be read for a suite. ``folder`` is its file's; ``root`` the repository's; ``environment`` it may see.

    ``secrets`` is what only targets may see besides; ``opener`` and the refusals are the suite file's own.
    ``compat``: AgentV's own numbers are wanted.
    """

    folder: Path
    root: Path
    environment: Mapping[str, str]
    secrets: Mapping[str, str]
    opener: Opener | None
    refusal: Callable[[Path], str | None]
    refusal_in_place: Callable[[Path], str | None]
    compat: bool = False
    so_far: Read = field(default_factory=Read)
    growth: Growth = field(default_factory=Growth)

    def shown(self, file: Path) -> str:
        """How messages call a file."""
        return file.relative_to(self.root).as_posix() if file.is_relative_to(self.root) else file.as_posix()

    @property
    def roots(self) -> tuple[Path, ...]:
        """Where files are looked for: the suite's folder and those around it, up to the repository's."""
        return tuple(dict.fromkeys((*folders_up(self.folder, self.root), self.root)))

    def found(self, name: str, *first: Path) -> Path | None:
        """A file or folder, looked for in ``first`` and then in the roots. Raises SuiteError after very many."""
        place = self.place_of(name, *first)
        return resolved(place) if place else None

    def place_of(self, name: str, *first: Path) -> Path | None:
        """The same, with the links that may be on the way to it."""
        self.so_far.looked_for += 1
        if self.so_far.looked_for > MOST_FILES:
            raise SuiteError(f"the suite names more than {MOST_FILES:,} files", remedy="split the suite")
        places = (place / name.lstrip("/\\") for place in (*first, *self.roots))
        candidates = ((self.folder / name), *places) if name.startswith("/") else tuple(places)
        return next((place for place in candidates if kind_of(place)), None)

    def template(self, folder: Path, said: Part | None) -> Path:
        """A folder that workspaces are copies of; ``said`` is where it is named. Raises SuiteError."""
        if refused := self.refusal(folder):
            place = Location(path=self.shown(folder))
            raise (
                said.error(refused, PLAIN_TEMPLATE)
                if said
                else SuiteError.of(Problem(message=refused, location=place, remedy=PLAIN_TEMPLATE))
            )
        return resolved(folder)

    def directory(self, said: Part, folder: Path) -> Path:
        """A directory that agents work in itself, named relative to ``folder``. Raises SuiteError."""
        place = folder / said.as_text()
        if refused := self.refusal_in_place(place):
            raise said.error(refused, PLAIN_DIRECTORY)
        return place

    def read(self, file: Path, text: str | None = None) -> Part:
        """A YAML or JSON file as it is, its references not yet replaced. Raises SuiteError."""
        kind: Literal["json", "yaml"] = "json" if file.suffix.lower() == ".json" else "yaml"
        if text is None and file in self.so_far.files:
            return self.so_far.files[file]
        content = self._text(file) if text is None else text
        part = self._part(read_document(content, path=self.shown(file), kind=kind, error=SuiteError))
        if text is None:
            self.so_far.files[file] = part
        return part

    def lines(self, file: Path, text: str | None = None) -> Iterator[Part | Problem]:
        """Each line of a JSONL file that has something in it, or what is wrong with it. Raises SuiteError."""
        path = self.shown(file)
        number, end = 1, 0
        whole = self._text(file) if text is None else text
        for line in _WRITTEN_LINE.finditer(whole):
            number, end = number + whole.count("\n", end, line.start()), line.start()
            try:
                document = read_document(line[0], path=path, kind="json", error=SuiteError, line=number)
            except SuiteError as error:
                problem = error.problems[0]
                yield replace(problem, location=problem.location or Location(path=path, line=number))
            else:
                yield self._part(document)

    def interpolated(self, part: Part) -> Part:
        """The part with what the environment says. Raises SuiteError."""
        return replace(part, value=interpolated(part.value, self.environment, self.growth))

    def _part(self, document: Document) -> Part:
        part = Part(document=document, value=document.value)
        self.so_far.values += document.reading.values + 1
        if self.so_far.values > MOST_VALUES:
            raise part.error(f"the suite and its files have more than {MOST_VALUES:,} values", "split the suite")
        return part

    def _text(self, file: Path) -> str:
        return read_text(file, path=self.shown(file), error=SuiteError, opener=self.opener)
