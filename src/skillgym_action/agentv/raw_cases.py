"""Tests in tables: ``.csv`` files as AgentV 5 has them, whose columns are variables and expectations."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from typing import TYPE_CHECKING

from skillgym_action.limits import MAX_CSV_CELL_CHARACTERS, MAX_DOCUMENT_DEPTH
from skillgym_action.model.errors import Location, Problem, SuiteError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.agentv.suite_files import SuiteFiles
    from skillgym_action.documents.suite_values import SuiteValue

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
