"""Where the tests of an AgentV suite are written.

In the suite file, in another file, in folders with a ``case.yaml`` each, or in a skill's ``evals.json``.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError, did_you_mean
from skillgym_action.model.limits import MAX_DOCUMENT_DEPTH, MAX_SUITE_CASES
from skillgym_action.model.records import record
from skillgym_action.suites.values import FixedLocation, SuiteValue
from skillgym_action.system.files.globs import paths_matching
from skillgym_action.text.documents.user_files import kind_of, skipped_link, unread_twins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.agentv.workspaces import WorkspaceSettings

MAX_CSV_CELL_CHARACTERS = 1_000_000  # of a table with tests
MAX_BRACE_ALTERNATIVES = 100  # patterns that `{a,b}` in the path of tests expands to
MAX_BRACES = 20  # pairs of braces in the path of tests
CASE_FILES = ("case.yaml", "case.yml")

_CASE_KEY = re.compile(r"(?:^|[{,][ \t]*)[\"']?(?:input|criteria|assert(?:ions)?|expected_output)[\"']?:", re.MULTILINE)

_SKILL_KEYS = frozenset({"skill_name", "name", "description", "version", "evals"})
_SKILL_CASE_KEYS = frozenset(
    {"id", "name", "prompt", "expected_output", "assertions", "files", "expected_fail", "tags", "description"}
)
_COPY_FILES = 'while [ $# -gt 0 ]; do mkdir -p "$(dirname "$2")" && cp -R "$1" "$2" || exit 1; shift 2; done'


@record
class WrittenTest:
    """A test as it is written. ``folder`` is the folder of its ``case.yaml``; its name is the default id.

    Of tests of AgentV 5, which are translated: ``variables`` of its assertions, and ``workspace``, which describes
    where its agent works. None: it has none of its own.
    """

    value: SuiteValue
    folder: Path | None = None
    variables: Mapping[str, object] | None = None
    workspace: WorkspaceSettings | None = None


@record
class UnreadableTest:
    """A test that cannot be read."""

    problem: Problem
    case_id: str


@record(frozen=False, kw_only=False)
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
    for case in sorted(_inside(folder), key=_utf_16):
        if kind_of(case) != "folder":
            tests.warnings.extend(_no_case(case, files))
            continue
        file = next((case / name for name in CASE_FILES if kind_of(case / name) == "file"), None)
        try:
            if file is None:
                tests.warnings.append(_skipped(case, files))
                continue
            value = files.read(file)
            value.mapping()
            tests.add(files.interpolated(value), case)
            tests.warnings.extend(unread_twins(case, CASE_FILES, files.shown))
        except SuiteError as error:
            tests.add_unreadable(error.problems[0], case.name)


def _skipped(case: Path, files: SuiteFiles) -> Problem:
    """The warning about a folder without a case. Raises SuiteError if it cannot be listed."""
    inner = any(kind_of(path / name) == "file" for path in _inside(case) for name in CASE_FILES)
    hint = ": folders inside of it are not searched" if inner else ""
    message = f"skipped: the folder {case.name} has no {CASE_FILES[0]}{hint}"
    return Problem(message=message, location=Location(path=files.shown(case)), remedy=f"add {CASE_FILES[0]}")


def _no_case(entry: Path, files: SuiteFiles) -> Iterator[Problem]:
    """The warning about an entry that is no folder, if it was probably meant as a case."""
    if link := skipped_link(entry, files.shown(entry)):
        yield link
    elif entry.suffix.lower() in {".yaml", ".yml"} and _has_keys_of_a_case(entry, files):
        message = f"is not read: a case is a folder with a {CASE_FILES[0]}"
        location = Location(path=files.shown(entry))
        yield Problem(message=message, location=location, remedy="move it to a folder of its own")


def _has_keys_of_a_case(file: Path, files: SuiteFiles) -> bool:
    with suppress(SuiteError):
        return _CASE_KEY.search(files.text(file)) is not None
    return False


def _inside(folder: Path) -> list[Path]:
    """What is in a folder. Raises SuiteError if it cannot be listed."""
    try:
        return list(folder.iterdir())
    except OSError as error:
        raise SuiteError(f"{folder.name} cannot be listed: {error.strerror}") from error


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
    """The files that a pattern stands for, sorted. Links that were skipped are among the warnings of the suite.

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
    for path in paths_matching(folder, pattern, links=True):
        if path.is_file():
            yield path
        elif link := skipped_link(path, files.shown(path), CASE_FILES):
            files.state.warnings.append(link)


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


LISTS = frozenset({"contains-any", "contains-all", "icontains-any", "icontains-all"})
LIMITS = {"latency": "threshold", "cost": "budget"}
TEXTS = frozenset({"contains", "icontains", "starts-with", "ends-with", "regex", "equals"})
JUDGED = {"grade": "llm-rubric", "llm-rubric": "llm-rubric"}
EVALUATED = {"javascript": "javascript", "fn": "javascript", "eval": "javascript", "python": "python"}
KNOWN = frozenset({*LISTS, *LIMITS, *TEXTS, *JUDGED, *EVALUATED, "is-json"})
REFUSED_COLUMNS = {
    "__provider_output": "name a provider of the type cli or replay that gives this answer",
    "__providerOutput": "name a provider of the type cli or replay that gives this answer",
}

SETTINGS = ("__expected", "__metric", "__threshold", "__description", "__prefix", "__suffix", "__metadata:")
"""Columns with a meaning of their own; all others are variables."""

_EXPECTATION = re.compile(r"((?:not-)?[a-z][a-z-]*)(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?", re.DOTALL)
_EXPECTED = re.compile(r"__expected\d*")
_MINIMUM = re.compile(r"__config:(__expected\d*):threshold")


def rows_of(text: str, path: str) -> Iterator[tuple[dict[str, str], Location]]:
    """Each row with the names of its columns, and its place. Raises SuiteError for a table that cannot be read."""
    csv.field_size_limit(MAX_CSV_CELL_CHARACTERS)
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    header: list[str] | None = None
    try:
        start = 1
        for row in reader:
            if header is None:
                header = _columns(row, Location(path=path, line=start))
            elif any(row):
                location = Location(path=path, line=start)
                if len(row) > len(header):
                    raise _error(f"the row has {len(row)} cells, and there are {len(header)} columns", location)
                yield {name: cell for name, cell in zip(header, row, strict=False) if name}, location
            start = reader.line_num + 1
    except csv.Error as error:
        raise _error(f"is not a table: {error}", Location(path=path, line=reader.line_num)) from error


def _columns(row: list[str], location: Location) -> list[str]:
    """The names of the columns, each once. Raises SuiteError."""
    names = [name.strip() for name in row]
    for name, number in Counter(filter(None, names)).items():
        if number > 1:
            raise _error(f"{number} columns are called {name}", location, "give each a different name")
        if name.count(".") > MAX_DOCUMENT_DEPTH:
            raise _error(f"the name of a column has more than {MAX_DOCUMENT_DEPTH} dots", location)
    return names


def _error(message: str, location: Location, remedy: str | None = None) -> SuiteError:
    problem = Problem(message=message, location=location, remedy=remedy)
    return SuiteError(message, problems=(problem,))


def test_of(row: dict[str, str], number: int, location: Location) -> dict[str, object]:
    """The test of a row, with the keys of AgentV 5. Raises SuiteError."""
    test: dict[str, object] = {"id": row.get("id", "").strip() or f"row-{number}"}
    variables: dict[str, object] = {}
    expected: dict[str, dict[str, object]] = {}
    minimums: dict[str, float] = {}
    metadata: dict[str, object] = {}
    for column, cell in row.items():
        if _EXPECTED.fullmatch(column):
            expected |= {column: expectation(cell.strip(), location)} if cell.strip() else {}
        elif found := _MINIMUM.fullmatch(column):
            minimums |= {found[1]: _number(cell, column, location)} if cell.strip() else {}
        elif column.startswith("__metadata:"):
            metadata |= _metadata(column.removeprefix("__metadata:"), cell)
        elif column.startswith("__"):
            test |= _setting(column, cell, location)
        elif column not in {"id", "input"}:
            _assign(variables, column.removeprefix("vars."), cell, location)
    if "input" in row:
        variables["input"] = row.get("__prefix", "") + row["input"] + row.get("__suffix", "")
    _name(expected, minimums, row.get("__metric", ""))
    parts = {"vars": variables, "metadata": metadata, "assert": list(expected.values())}
    return test | {key: part for key, part in parts.items() if part}


def _setting(column: str, cell: str, location: Location) -> dict[str, object]:
    """What a column says about the test itself. Raises SuiteError."""
    if column in REFUSED_COLUMNS:
        raise _error(f"the column {column} is not supported", location, REFUSED_COLUMNS[column])
    if column not in SETTINGS:
        raise _error(f"the column {column} is not known", location, did_you_mean(column, SETTINGS))
    if column == "__threshold" and cell.strip():
        return {"threshold": _number(cell, column, location)}
    return {"description": cell} if column == "__description" and cell else {}


def _name(expected: dict[str, dict[str, object]], minimums: dict[str, float], metric: str) -> None:
    for number, (column, entry) in enumerate(expected.items(), start=1):
        if metric:
            entry["metric"] = metric if len(expected) == 1 else f"{metric}-{number}"
        first = {"__expected": "__expected1", "__expected1": "__expected"}.get(column, column)
        minimum = minimums.get(column, minimums.get(first))
        if minimum is not None:
            entry["min_score"] = minimum


def expectation(text: str, location: Location) -> dict[str, object]:
    """The assertion of a cell: ``contains:x``, ``latency(500)``, or the whole answer. Raises SuiteError."""
    if text.startswith("file://"):
        if not text.endswith(".py"):
            raise _error(f"the expectation {text} is not supported", location, "name a program in Python: file://x.py")
        return {"type": "script", "command": ["python3", text.removeprefix("file://")]}
    found = _EXPECTATION.fullmatch(text)
    if not found:
        return {"type": "equals", "value": text}
    kind, limit, value = found[1].removeprefix("not-"), found[2], (found[3] or "").strip()
    if kind not in KNOWN:
        if found[3] is None and limit is None:
            return {"type": "equals", "value": text}
        raise _error(f"there is no expectation {kind!r}", location, did_you_mean(kind, KNOWN) or "write equals:TEXT")
    entry: dict[str, object] = {"type": JUDGED.get(kind) or EVALUATED.get(kind) or kind}
    if found[1] != kind:
        entry["negate"] = True
    if kind in LIMITS:
        if limit is None:
            raise _error(f"{kind} needs a limit", location, f"write {kind}(1000)")
        return entry | {LIMITS[kind]: float(limit)}
    if kind in LISTS:
        return entry | {"value": [item.strip() for item in value.split(",")]}
    return entry if kind == "is-json" else entry | {"value": value}


def _number(cell: str, column: str, location: Location) -> float:
    try:
        number = float(cell)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise _error(f"{column} must be a number from 0 to 1, not {cell!r}", location)
    return number


def _metadata(key: str, cell: str) -> dict[str, object]:
    if not cell.strip():
        return {}
    if key.endswith("[]"):
        items = (item.strip().replace("\\,", ",") for item in re.split(r"(?<!\\),", cell))
        return {key.removesuffix("[]"): [item for item in items if item]}
    return {key: cell}


def _assign(variables: dict[str, object], name: str, cell: str, location: Location) -> None:
    *parents, last = name.split(".")
    inner: object = variables
    for parent in parents:
        inner = inner.setdefault(parent, {}) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or last in inner:
        remedy = "rename one of the columns"
        raise _error(f"the column {name} and another one give the same variable different values", location, remedy)
    inner[last] = cell


def program_of(name: str) -> str | None:
    """The path of a program that makes tests, if ``name`` is one: ``x.mjs`` or ``x.py:function``."""
    found = re.fullmatch(r"(.+\.(?:[cm]?[jt]s|py))(?::\w+)?", name)
    return found[1] if found else None


def refuse_program(value: SuiteValue, path: str, files: SuiteFiles) -> None:
    """Raise SuiteError for tests that a program makes."""
    remedy = f"run {path.rpartition('/')[2]} before, write what it returns to a .json file, and name that file"
    raise value.error(f"tests that a program makes are not supported: {files.shown(files.folder / path)}", remedy)
