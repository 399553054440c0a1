"""Where the tests of an AgentV suite are written.

In the suite file, in another file, in folders with a ``case.yaml`` each, or in a skill's ``evals.json``.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.agentv.raw_cases import program_of, refuse_program, rows_of, test_of
from skillgym_action.documents.suite_values import FixedLocation, SuiteValue
from skillgym_action.documents.user_files import kind_of
from skillgym_action.filesystem.globs import paths_matching
from skillgym_action.limits import MAX_BRACE_ALTERNATIVES, MAX_BRACES, MAX_SUITE_CASES
from skillgym_action.model.errors import Location, Problem, SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.agentv.suite_files import SuiteFiles
    from skillgym_action.agentv.workspaces import WorkspaceSettings

CASE_FILES = ("case.yaml", "case.yml")

_SKILL_KEYS = frozenset({"skill_name", "name", "description", "version", "evals"})
_SKILL_CASE_KEYS = frozenset(
    {"id", "name", "prompt", "expected_output", "assertions", "files", "expected_fail", "tags", "description"}
)
_COPY_FILES = 'while [ $# -gt 0 ]; do mkdir -p "$(dirname "$2")" && cp -R "$1" "$2" || exit 1; shift 2; done'


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenTest:
    """A test as it is written. ``folder`` is the folder of its ``case.yaml``; its name is the default id.

    Of tests of AgentV 5, which are translated: ``variables`` of its assertions, and ``workspace``, which describes
    where its agent works. None: it has none of its own.
    """

    value: SuiteValue
    folder: Path | None = None
    variables: Mapping[str, object] | None = None
    workspace: WorkspaceSettings | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableTest:
    """A test that cannot be read."""

    problem: Problem
    case_id: str


@dataclass(slots=True)
class Tests:
    """All tests in their order, warnings, and the files with tests, which are hidden from agents."""

    entries: list[WrittenTest | UnreadableTest] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    hidden: list[Path] = field(default_factory=list)

    def add(self, value: SuiteValue, folder: Path | None = None) -> None:
        """Add a test, which must be a mapping."""
        if isinstance(value.value, dict):
            self._append(WrittenTest(value=value, folder=folder))
        else:
            self.add_unreadable(value.problem("a test must be a mapping of keys to values"), value.name)

    def add_unreadable(self, problem: Problem, case_id: str) -> None:
        self._append(UnreadableTest(problem=problem, case_id=case_id))

    def add_test(self, test: WrittenTest | UnreadableTest) -> None:
        """Add a test. Raises SuiteError if there are too many."""
        self._append(test)

    def _append(self, test: WrittenTest | UnreadableTest) -> None:
        if len(self.entries) == MAX_SUITE_CASES:
            raise SuiteError(f"the suite has more than {MAX_SUITE_CASES:,} tests", remedy="split it into several files")
        self.entries.append(test)


def tests_of(value: SuiteValue, files: SuiteFiles) -> Tests:
    """The tests that ``tests`` stands for: a list, or the path of a file or folder. Raises SuiteError."""
    tests = Tests()
    if isinstance(value.value, list):
        for item in value.items():
            if isinstance(item.value, str):
                _add_reference(item, files, tests)
            else:
                tests.add(item)
        return tests
    if not isinstance(value.value, str):
        raise value.error("must be a list of tests, or the path of a file or folder with tests")
    if files.state.version_5:
        _add_matching(value.as_text().removeprefix("file://"), value, files, tests)
        return tests
    _add_path(files.folder / value.as_text().removeprefix("file://"), value, files, tests)
    return tests


def _add_path(path: Path, value: SuiteValue, files: SuiteFiles, tests: Tests) -> None:
    if kind_of(path) == "folder":
        _add_folder(path, files, tests)
    else:
        _add_file(path, value, files, tests)


# --- folders ----------------------------------------------------------------------------------------


def _add_folder(folder: Path, files: SuiteFiles, tests: Tests) -> None:
    """Add a test for each folder in it that has a ``case.yaml``, sorted as JavaScript sorts names."""
    tests.hidden.append(folder)
    for case in sorted(_folders_in(folder), key=_utf_16):
        file = next((case / name for name in CASE_FILES if kind_of(case / name) == "file"), None)
        if file is None:
            location = Location(path=files.shown(case))
            tests.warnings.append(Problem(message=_skipped(case), location=location, remedy=f"add {CASE_FILES[0]}"))
            continue
        try:
            value = files.read(file)
            value.mapping()
            tests.add(files.interpolated(value), case)
        except SuiteError as error:
            tests.add_unreadable(error.problems[0], case.name)


def _skipped(case: Path) -> str:
    inner = any(kind_of(path / name) == "file" for path in _folders_in(case) for name in CASE_FILES)
    hint = ": folders inside of it are not searched" if inner else ""
    return f"skipped: the folder {case.name} has no {CASE_FILES[0]}{hint}"


def _folders_in(folder: Path) -> list[Path]:
    """The folders in a folder; none if it cannot be listed."""
    with suppress(OSError):
        return [path for path in folder.iterdir() if kind_of(path) == "folder"]
    return []


def _utf_16(path: Path) -> bytes:
    return path.name.encode("utf-16-be", "surrogatepass")


# --- files ------------------------------------------------------------------------------------------


def _add_reference(item: SuiteValue, files: SuiteFiles, tests: Tests) -> None:
    """Add the tests of ``file://PATH``; PATH may be a pattern. AgentV 5 also has it without ``file://``."""
    text = str(item.value)
    if not text.startswith("file://") and not files.state.version_5:
        problem = item.problem(f"a test cannot be the text {text!r}", "write file://PATH, or the test itself")
        tests.add_unreadable(problem, item.name)
        return
    _add_matching(text.removeprefix("file://"), item, files, tests)


def _add_matching(pattern: str, item: SuiteValue, files: SuiteFiles, tests: Tests) -> None:
    """Add the tests of a file, or of all files that match a pattern."""
    if not any(sign in pattern for sign in "*?{"):
        add = _add_path if files.state.version_5 else _add_file
        add(files.folder / pattern, item, files, tests)
        return
    try:
        paths = files_matching(files, pattern)
    except SuiteError as error:
        tests.add_unreadable(item.problem(error.problems[0].message, error.problems[0].remedy), item.name)
        return
    if not paths:
        tests.warnings.append(item.problem(f"no file matches {pattern}"))
    for path in paths:
        _add_file(path, item, files, tests)


def _alternatives(pattern: str) -> Iterator[str]:
    """The patterns that ``{a,b}`` in a pattern stands for."""
    before, opening, rest = pattern.partition("{")
    inner, closing, after = rest.partition("}")
    if not opening or not closing or pattern.count("{") > MAX_BRACES:
        yield pattern
        return
    for word in inner.split(","):
        yield from _alternatives(before + word + after)


def files_matching(files: SuiteFiles, pattern: str) -> list[Path]:
    """The files that a pattern stands for, sorted.

    Raises SuiteError if it stands for too many patterns, or if one leads out of the checkout.
    """
    alternatives = list(islice(_alternatives(pattern), MAX_BRACE_ALTERNATIVES + 1))
    if len(alternatives) > MAX_BRACE_ALTERNATIVES:
        raise SuiteError(f"{{}} gives more than {MAX_BRACE_ALTERNATIVES} patterns", remedy="use * instead")
    return sorted({path for one in alternatives for path in _matching(files, one)})


def _matching(files: SuiteFiles, pattern: str) -> Iterator[Path]:
    """Files that match; a pattern may begin with ``../``."""
    folder = files.folder
    while pattern.startswith(("./", "../")):
        step, _, pattern = pattern.partition("/")
        folder = folder.parent if step == ".." else folder
    if files.in_repository and not folder.is_relative_to(files.root):
        raise SuiteError("the pattern leads out of the checkout", remedy="copy the files into it")
    return (path for path in paths_matching(folder, pattern) if path.is_file())


def _add_file(file: Path, value: SuiteValue, files: SuiteFiles, tests: Tests) -> None:
    """Add the tests of a YAML or JSON file (a list, or one test), a JSONL file or a table.

    ``value`` is where it is named.
    """
    suffix = file.suffix.lower()
    if program := program_of(file.name):
        refuse_program(value, str(file.parent / program), files)
    if kind_of(file) is None:
        remedy = "name a folder with cases, or a .yaml or .jsonl file"
        raise value.error(f"no such file or folder: {files.shown(file)}", remedy)
    if suffix not in {".yaml", ".yml", ".jsonl", ".json", ".csv"}:
        raise value.error(f"tests cannot be read from {file.name}", "write them as .yaml, .json, .jsonl or .csv")
    tests.hidden.append(file)
    before = len(tests.entries)
    if suffix == ".jsonl":
        add_lines(files.lines(file), files, tests)
    elif suffix == ".csv":
        _add_rows(file, files, tests)
    else:
        content = files.interpolated(files.read(file))
        if (inner := content.get("tests")) and isinstance(inner.value, list):
            content = inner
        is_test = isinstance(content.value, dict)
        for item in (content,) if is_test else content.items() if content.value is not None else ():
            tests.add(item)
    if len(tests.entries) == before:
        tests.warnings.append(value.problem(f"{files.shown(file)} has no tests"))


def _add_rows(file: Path, files: SuiteFiles, tests: Tests) -> None:
    """Add a test for each row of a table."""
    for number, (row, location) in enumerate(rows_of(files.text(file), files.shown(file)), start=1):
        try:
            test = test_of(row, number, location)
        except SuiteError as error:
            tests.add_unreadable(error.problems[0], row.get("id") or f"row-{number}")
        else:
            value = SuiteValue(source=FixedLocation(test, location), value=test, prefix=f"row {number}")
            tests.add(files.interpolated(value))


def add_lines(lines: Iterable[SuiteValue | Problem], files: SuiteFiles, tests: Tests) -> None:
    """Add the tests of a JSONL file, one for each line."""
    for line in lines:
        if isinstance(line, Problem):
            location = line.location
            tests.add_unreadable(line, f"line {location.line}" if location else "line")
        else:
            tests.add(files.interpolated(line))


# --- evals.json of skills ---------------------------------------------------------------------------


def skill_tests(top: SuiteValue, files: SuiteFiles) -> Tests:
    """The tests of ``evals``, a list of prompts with what is expected of the answers. Raises SuiteError."""
    tests = Tests()
    evals = top.get("evals")
    if evals is None:
        raise top.missing("evals", "write evals: a list with id, prompt and expected_output")
    tests.warnings.extend(top.unknown_keys(_SKILL_KEYS))
    for item in evals.items():
        tests.warnings.extend(item.unknown_keys(_SKILL_CASE_KEYS))
        try:
            tests.add(replace(item, value=_skill_test(item, top, files)) if isinstance(item.value, dict) else item)
        except SuiteError as error:
            tests.add_unreadable(error.problems[0], item.name)
    return tests


def _skill_test(item: SuiteValue, top: SuiteValue, files: SuiteFiles) -> dict[str, object]:
    """The eval with the keys of a test. Its files are copied into the workspace by a hook."""
    written = item.mapping()
    case_id, expected = written.get("id"), written.get("expected_output")
    test: dict[str, object] = {
        "id": str(case_id) if isinstance(case_id, int) else case_id,
        "input": item.text("prompt"),
        "criteria": expected if isinstance(expected, str) else None,
        "metadata": {"skill_name": top.text("skill_name")},
    }
    test |= {key: written[key] for key in ("expected_output", "assertions", "expected_fail", "tags") if key in written}
    words: list[str] = []
    for name in item.texts("files"):
        file = files.found(name)
        if file is None:
            raise item.error(f"there is no file {name}", "files are relative to the skill's folder")
        words += [str(file), f"{{{{workspace_path}}}}/{name}"]
    if not words:
        return test
    command = ["sh", "-c", _COPY_FILES, "sh", *words]
    return test | {"workspace": {"hooks": {"before_each": {"command": command}}}}
