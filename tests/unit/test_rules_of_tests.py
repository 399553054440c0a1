"""Rules about time, so that no test fails by chance: see ``support/waiting.py``."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from paths import REPOSITORY

TESTS = REPOSITORY / "tests"
LAYERS = ("unit", "smoke", "integration", "agents", "support")
LEAST_LIMIT = 5.0  # seconds; a busy machine can need more than a shorter limit. A limit of 0 does not wait
CLOCKS = {"sleep", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time", "thread_time"}
COMPARES_TIMES = {"is_within", "is_bounded"}
"""Functions that compare seconds of processors with a limit. Other load makes these more, by half or twice."""
WAITS = {"until", "wait_until", "wait_for"}
MAY_READ_CLOCKS = {
    "support/waiting.py": "the one helper that waits",
    "support/growth.py": "compares the times of two sizes, the least of several tries",
    "support/measured.py": "measures what timed tests compare",
    "support/warm_start.py": "ends a run that exceeds the limit of its caller",
    "integration/test_faults.py": "a method that timed tests call",
    "integration/test_resume.py": "kills the tool at random moments",
    "support/model_server.py": "nothing tells the server that the client has read what comes before a reset",
}
SHORT_LIMITS = {
    "unit/judging/judge/test_client.py: self._closing.wait(0.05)": "a server that sends slowly; timed tests use it",
    "unit/support/test_github_server.py: requests.get(f'{github.url}{COMMENTS}', timeout=(LIMIT, 0.2))": (
        "the client gives up, and the server does not reply in the next hour"
    ),
    "unit/support/test_warm_start.py: "
    "warm_run(PROGRAM, '--version', cwd=tmp_path, env={'A': StopsChild()}, limit=0.1)": (
        "the test is about the limit of a process that never ends"
    ),
}
WAITING = {"join", "poll", "result", "settimeout", "wait"}
LIMITS = {"timeout", "limit", "call_limit"}
DATA = {"BenchmarkCase", "Bootstrap"}
"""What formats make of a suite, which is compared and not run."""


def numbers(text: str) -> set[str]:
    """The names of constants of a module that are short limits."""
    constants = re.findall(r"^([A-Z][A-Z_]*)(?:: \w+)? = ([0-9.]+)\b", text, re.MULTILINE)
    return {name for name, value in constants if 0 < float(value) < LEAST_LIMIT}


def has_short_limits(text: str) -> bool:
    """Whether a module may have a call with a short limit: parsing all modules would take seconds."""
    number = "|".join((r"[0-4]?\.\d+\b", r"[1-4]\b(?!\.)", r"[1-4]\.\d*\b", *numbers(text)))
    keyword = rf"\b(?:{'|'.join(LIMITS)})=(?:\([^()]*)?(?:{number})"
    return bool(re.search(rf"\.(?:{'|'.join(WAITING)})\((?:{number})|Timer\((?:{number})|{keyword}", text))


@cache
def texts() -> dict[str, str]:
    """The modules of tests, by their path below the folder ``tests``."""
    paths = [path for layer in LAYERS for path in (TESTS / layer).rglob("*.py")]
    return {path.relative_to(TESTS).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def sources() -> dict[str, ast.Module]:
    """The modules of tests to which a rule may apply, by their path below the folder ``tests``."""
    clocks = rf"\btime\.({'|'.join(CLOCKS)})\b|\bfrom time import\b|\bdef ({'|'.join(WAITS)})\b"
    words = re.compile(rf"{clocks}|\b({'|'.join(COMPARES_TIMES)})\(")
    return {path: ast.parse(text) for path, text in texts().items() if words.search(text)}


def is_timed(node: ast.AST) -> bool:
    """Whether a function or a module has the marker ``timed``."""
    marks = getattr(node, "decorator_list", ())
    if isinstance(node, ast.Module):
        assigned = [one for one in node.body if isinstance(one, ast.Assign)]
        marks = [one.value for one in assigned if [ast.unparse(name) for name in one.targets] == ["pytestmark"]]
    return bool(marks) and any("pytest.mark.timed" in ast.unparse(mark) for mark in marks)


def clocks(node: ast.AST) -> list[int]:
    """The lines that read a clock, compare times or sleep, except in timed tests."""
    if is_timed(node):
        return []
    found = [line for child in ast.iter_child_nodes(node) for line in clocks(child)]
    match node:
        case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in CLOCKS:
            found.append(node.lineno)
        case ast.ImportFrom(module="time", names=names) if {one.name for one in names} & CLOCKS:
            found.append(node.lineno)
        case ast.Call(func=ast.Name(id=name)) if name in COMPARES_TIMES:
            found.append(node.lineno)
    return found


def short_limits(text: str) -> list[str]:
    """The calls of a module that wait for a constant number of seconds below 5, but for those of timed tests."""
    names = numbers(text)

    def is_short(node: ast.AST) -> bool:
        match node:
            case ast.Constant(value=int() | float() as value):
                return 0 < value < LEAST_LIMIT and value is not True
            case ast.Name(id=name):
                return name in names
            case ast.Tuple(elts=elements):
                return any(map(is_short, elements))
        return False

    def found(node: ast.AST) -> list[str]:
        if is_timed(node):
            return []
        inside = [call for child in ast.iter_child_nodes(node) for call in found(child)]
        if not isinstance(node, ast.Call):
            return inside
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        limits = [one.value for one in node.keywords if one.arg in LIMITS and name not in DATA]
        if name == "Timer" or (name in WAITING and isinstance(node.func, ast.Attribute)):
            limits += node.args[:1]
        return [*inside, ast.unparse(node)] if any(map(is_short, limits)) else inside

    return found(ast.parse(text)) if has_short_limits(text) else []


def test_only_timed_tests_read_a_clock_or_sleep():
    found = {path: lines for path, module in sources().items() if (lines := clocks(module))}
    assert {path: lines for path, lines in found.items() if path not in MAY_READ_CLOCKS} == {}
    assert found.keys() >= MAY_READ_CLOCKS.keys(), "each exception is needed"


def test_only_timed_tests_wait_for_less_than_5_seconds():
    found = {f"{path}: {call}" for path, text in texts().items() for call in short_limits(text)}
    assert found - SHORT_LIMITS.keys() == set()
    assert found >= SHORT_LIMITS.keys(), "each exception is needed"


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
        pytest.param("def test():\n  assert is_within(ran.seconds, 5)", [2], id="a comparison of processor time"),
        pytest.param("time.process_time()", [1], id="processor time"),
        pytest.param("asyncio.sleep(0), cpu.monotonic()", [], id="others"),
    ],
)
def test_reads_of_clocks_and_sleeps_are_found(source, lines):
    assert clocks(ast.parse(source)) == lines


@pytest.mark.parametrize(
    ("call", "is_found"),
    [
        pytest.param("thread.join(0.3)", True, id="a pause for a thread"),
        pytest.param("event.wait(timeout=1)", True, id="a keyword"),
        pytest.param("queue.get(timeout=.5)", True, id="a queue"),
        pytest.param("child.communicate(timeout=4.5)", True, id="a program"),
        pytest.param("subprocess.run(argv, timeout=2)", True, id="a whole program"),
        pytest.param("until(found, 'a reply', limit=2)", True, id="a helper"),
        pytest.param("requests.get(url, timeout=(LIMIT, 0.2))", True, id="one of two"),
        pytest.param("Timer(0.1, stop)", True, id="a timer"),
        pytest.param("event.wait(SHORT)", True, id="a constant of the module"),
        pytest.param("event.wait(0)", False, id="no wait"),
        pytest.param("event.wait(LIMIT), event.wait(), thread.join(5)", False, id="long ones"),
        pytest.param("subprocess.run(argv, timeout=40.5)", False, id="longer ones"),
        pytest.param("', '.join(words), line.get('limit', 1)", False, id="others"),
        pytest.param("BenchmarkCase(timeout=1.5)", False, id="a value that is compared"),
    ],
)
def test_short_limits_are_found(call, is_found):
    text = f"SHORT = 0.2\nLIMIT = 120.0\ndef test():\n    {call}"
    assert bool(short_limits(text)) == is_found
    assert short_limits(text.replace("def", "@pytest.mark.timed\ndef")) == []
