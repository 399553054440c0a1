"""Rules about time, so that no test fails by chance: see ``support/waiting.py``."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from paths import REPOSITORY

TESTS = REPOSITORY / "tests"
LAYERS = ("unit", "smoke", "integration", "agents", "support")
CLOCKS = {"sleep", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"}
WAITS = {"until", "wait_until", "wait_for"}
MAY_READ_CLOCKS = {
    "support/waiting.py": "the one helper that waits",
    "support/warm_start.py": "ends a run that exceeds the limit of its caller",
    "integration/test_faults.py": "a method that timed tests call",
    "integration/test_resume.py": "kills the tool at random moments",
    "support/model_server.py": "nothing tells the server that the client has read what comes before a reset",
}


@cache
def sources() -> dict[str, ast.Module]:
    """The modules of tests to which a rule may apply, by their path below the folder ``tests``."""
    words = re.compile(rf"\btime\.({'|'.join(CLOCKS)})\b|\bfrom time import\b|\bdef ({'|'.join(WAITS)})\b")
    texts = {path: path.read_text(encoding="utf-8") for layer in LAYERS for path in (TESTS / layer).rglob("*.py")}
    return {path.relative_to(TESTS).as_posix(): ast.parse(text) for path, text in texts.items() if words.search(text)}


def is_timed(node: ast.AST) -> bool:
    """Whether a function or a module has the marker ``timed``."""
    marks = list(getattr(node, "decorator_list", ()))
    if isinstance(node, ast.Module):
        assigned = [one for one in node.body if isinstance(one, ast.Assign)]
        marks = [one.value for one in assigned if [ast.unparse(name) for name in one.targets] == ["pytestmark"]]
    return any("pytest.mark.timed" in ast.unparse(mark) for mark in marks)


def clocks(node: ast.AST) -> list[int]:
    """The lines that read a clock or sleep, except in timed tests."""
    if is_timed(node):
        return []
    found = [line for child in ast.iter_child_nodes(node) for line in clocks(child)]
    match node:
        case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in CLOCKS:
            found.append(node.lineno)
        case ast.ImportFrom(module="time", names=names) if {one.name for one in names} & CLOCKS:
            found.append(node.lineno)
    return found


def test_only_timed_tests_read_a_clock_or_sleep():
    found = {path: lines for path, module in sources().items() if (lines := clocks(module))}
    assert {path: lines for path, lines in found.items() if path not in MAY_READ_CLOCKS} == {}
    assert found.keys() >= MAY_READ_CLOCKS.keys(), "each exception is needed"


def test_tests_wait_through_one_helper():
    defined = {
        path: names
        for path, module in sources().items()
        if (names := {one.name for one in ast.walk(module) if isinstance(one, ast.FunctionDef)} & WAITS)
    }
    assert defined == {"support/waiting.py": {"until"}}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        pytest.param("import time\ndef test():\n  time.sleep(1)", [3], id="a sleep"),
        pytest.param("def test():\n  began = time.monotonic()\n  return time.perf_counter_ns()", [2, 3], id="clocks"),
        pytest.param("from time import monotonic, time", [1], id="an import"),
        pytest.param("waits = time.sleep", [1], id="one that is passed on"),
        pytest.param("@pytest.mark.timed\ndef test():\n  time.sleep(1)", [], id="a timed test"),
        pytest.param("pytestmark = [pytest.mark.timed]\ndef test():\n  time.sleep(1)", [], id="a timed module"),
        pytest.param("@pytest.mark.slow\ndef test():\n  time.sleep(1)", [3], id="a slow test"),
        pytest.param("time.process_time(), asyncio.sleep(0), cpu.monotonic()", [], id="others"),
    ],
)
def test_reads_of_clocks_and_sleeps_are_found(source, lines):
    assert clocks(ast.parse(source)) == lines
