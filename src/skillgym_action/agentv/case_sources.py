"""Where the tests of an AgentV suite are: in the file, in another file, in folders with a ``case.yaml`` each."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.documents.user_files import kind_of
from skillgym_action.filesystem.globs import paths_matching
from skillgym_action.limits import MAX_SUITE_CASES
from skillgym_action.model.errors import Location, Problem, SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from skillgym_action.agentv.source_values import Files, Part

MOST_ALTERNATIVES, MOST_BRACES = 100, 20
CASE_FILES = ("case.yaml", "case.yml")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A test as it is written. ``folder`` is that of its ``case.yaml``, whose name is the id of a test without one."""

    part: Part
    folder: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Unread:
    """A test that cannot even be read."""

    problem: Problem
    case_id: str


@dataclass(slots=True)
class Tests:
    """All tests in their order, what is dubious about them, and the files that hold them, for no agent to see."""

    entries: list[Entry | Unread] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    hidden: list[Path] = field(default_factory=list)

    def add(self, part: Part, folder: Path | None = None) -> None:
        """A test, which has to be a mapping."""
        if isinstance(part.value, dict):
            self._append(Entry(part=part, folder=folder))
        else:
            self.unread(part.problem("a test must be a mapping of keys to values"), part.name)

    def unread(self, problem: Problem, case_id: str) -> None:
        """A test that cannot be read."""
        self._append(Unread(problem=problem, case_id=case_id))

    def _append(self, entry: Entry | Unread) -> None:
        if len(self.entries) == MAX_SUITE_CASES:
            raise SuiteError(f"the suite has more than {MAX_SUITE_CASES:,} tests", remedy="split it into several files")
        self.entries.append(entry)


def tests_of(said: Part, files: Files) -> Tests:
    """The tests that ``tests`` stands for. Raises SuiteError when there is no telling which."""
    tests = Tests()
    if isinstance(said.value, list):
        for item in said.items():
            if isinstance(item.value, str):
                _file_entry(item, files, tests)
            else:
                tests.add(item)
        return tests
    name = said.as_text() if isinstance(said.value, str) else None
    if name is None:
        raise said.error("must be a list of tests, or the path of a file or folder that holds them")
    target = files.folder / name.removeprefix("file://")
    if kind_of(target) == "folder":
        _folder(target, files, tests)
    else:
        _file(target, said, files, tests)
    return tests


# --- folders ----------------------------------------------------------------------------------------


def _folder(folder: Path, files: Files, tests: Tests) -> None:
    """Each folder in it that has a ``case.yaml`` is a test; sorted as JavaScript sorts names."""
    tests.hidden.append(folder)
    for case in sorted(_folders_in(folder), key=_code_units):
        found = next((case / name for name in CASE_FILES if kind_of(case / name) == "file"), None)
        if found is None:
            place = Location(path=files.shown(case))
            tests.warnings.append(Problem(message=_skipped(case), location=place, remedy=f"add {CASE_FILES[0]}"))
            continue
        try:
            tests.add(files.interpolated(files.read(found).mapping()), case)
        except SuiteError as error:
            tests.unread(error.problems[0], case.name)


def _skipped(case: Path) -> str:
    inner = any(kind_of(path / name) == "file" for path in _folders_in(case) for name in CASE_FILES)
    hint = ": folders inside of it are not searched" if inner else ""
    return f"skipped: the folder {case.name} has no {CASE_FILES[0]}{hint}"


def _folders_in(folder: Path) -> list[Path]:
    """None of one that cannot be listed."""
    with suppress(OSError):
        return [path for path in folder.iterdir() if kind_of(path) == "folder"]
    return []


def _code_units(path: Path) -> bytes:
    return path.name.encode("utf-16-be", "surrogatepass")


# --- files ------------------------------------------------------------------------------------------


def _file_entry(item: Part, files: Files, tests: Tests) -> None:
    """``file://PATH`` in a list; PATH may be a pattern."""
    text = str(item.value)
    if not text.startswith("file://"):
        problem = item.problem(f"a test cannot be the text {text!r}", "write file://PATH, or the test itself")
        tests.unread(problem, item.name)
        return
    pattern = text.removeprefix("file://")
    if not any(sign in pattern for sign in "*?{"):
        _file(files.folder / pattern, item, files, tests)
        return
    alternatives = list(islice(_alternatives(pattern), MOST_ALTERNATIVES + 1))
    if len(alternatives) > MOST_ALTERNATIVES:
        tests.unread(item.problem(f"{{}} gives more than {MOST_ALTERNATIVES} patterns", "use * instead"), item.name)
        return
    found = sorted({path for one in alternatives for path in _matching(files.folder, one)})
    if not found:
        tests.warnings.append(item.problem(f"no file matches {pattern}"))
    for path in found:
        _file(path, item, files, tests)


def _alternatives(pattern: str) -> Iterator[str]:
    """``{a,b}`` written out."""
    before, opening, rest = pattern.partition("{")
    inner, closing, after = rest.partition("}")
    if not opening or not closing or pattern.count("{") > MOST_BRACES:
        yield pattern
        return
    for word in inner.split(","):
        yield from _alternatives(before + word + after)


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Files that match; a pattern may begin with ``../``."""
    while pattern.startswith(("./", "../")):
        step, _, pattern = pattern.partition("/")
        folder = folder.parent if step == ".." else folder
    return (path for path in paths_matching(folder, pattern) if path.is_file())


def _file(file: Path, said: Part, files: Files, tests: Tests) -> None:
    """A YAML file with a list of tests, or with one; a JSONL file with one a line."""
    suffix = file.suffix.lower()
    if kind_of(file) is None:
        raise said.error(f"there is no {files.shown(file)}", "name a folder with cases, or a .yaml or .jsonl file")
    if suffix not in {".yaml", ".yml", ".jsonl"}:
        raise said.error(f"tests cannot be read from {file.name}", "write them as .yaml or .jsonl")
    tests.hidden.append(file)
    before = len(tests.entries)
    if suffix == ".jsonl":
        lines(files.lines(file), files, tests)
    else:
        part = files.interpolated(files.read(file))
        if isinstance(part.value, dict):
            inner = part.get("tests")
            part = inner if inner and isinstance(inner.value, list) else part
        for item in [part] if isinstance(part.value, dict) else part.items() if part.value is not None else []:
            tests.add(item)
    if len(tests.entries) == before:
        tests.warnings.append(said.problem(f"{files.shown(file)} holds no tests"))


def lines(read: Iterable[Part | Problem], files: Files, tests: Tests) -> None:
    """The lines of a JSONL file."""
    for line in read:
        if isinstance(line, Problem):
            place = line.location
            tests.unread(line, f"line {place.line}" if place else "line")
        else:
            tests.add(files.interpolated(line))
