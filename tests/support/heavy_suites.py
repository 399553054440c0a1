"""Suites, configurations and results made to cost time and memory, most of them just below a limit. None is stored.

By file and name: the text in pieces, and a regular expression for what is said of it.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

from bad_suites import IMPORTING, MIB, SKILLGYM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Pieces = Callable[[], Iterable[str]]
    Table = dict[str, dict[str, tuple[Pieces, str]]]

LARGEST = 16 * MIB
MOST = 250_000
CASES = 20_000

CASE = '{"id": "c#", "prompt": "p", "expect": ["file:x exists"]}'
TEST = "- {id: c#, input: a, criteria: b}\n"
DEPENDING = "- {{id: c{}, input: a, criteria: b, depends_on: [c{}]}}\n"
EXPECTATIONS = '{"cases": [{"id": "a", "prompt": "p", "expect": ['


def many(unit: str, count: int, before: str = "", after: str = "") -> Pieces:
    """Text, the unit so often, and text."""

    def pieces() -> Iterator[str]:
        yield before
        yield from repeat(unit * 1000, count // 1000)
        yield unit * (count % 1000) + after

    return pieces


def numbered(unit: str, count: int, before: str = "", after: str = "") -> Pieces:
    """The same, with the number for each ``#`` of the unit."""
    return lambda: (before, *(unit.replace("#", str(number)) for number in range(count)), after)


def full(unit: str, before: str = "", after: str = "") -> Pieces:
    """As often as a file of a suite may hold it."""
    return many(unit, (LARGEST - len(before + after)) // len(unit.encode()), before, after)


def text(*parts: str) -> Pieces:
    """Just that."""
    return lambda: parts


HEAVY: Table = {
    "a.bench.json": {
        "100 MB of spaces": (many(" ", 100 * MIB), "too large: 104,857,600 bytes; the limit is 16,777,216"),
        "one text": (full("\U0001f600", '"', '"'), ":1:1: must be a mapping of keys"),
        "lists": (full("[],", "[", "0]"), "more than 250,000 values"),
        "lines": (full("\n", '{"cases":', "[0]}"), r":2: cases\[0\]: must be a mapping"),
        "keys": (
            numbered('"expec#":0,', MOST - 9, '{"cases":[{', '"id":1}]}'),
            "249,99. problems; these are the first",
        ),
        "empty cases": (many("{},", CASES - 1, '{"cases":[', "{}]}"), "60,000 problems; these are the first"),
        "a case too many": (many("{},", CASES, '{"cases":[', "{}]}"), "more than 20,000 cases; split the suite"),
        "the same case": (many(f"{CASE},", 9_999, '{"cases":[', f"{CASE}]}}"), "9,999 cases cannot be used"),
        "bad expectations": (
            numbered('"fle:#",', MOST - 9, EXPECTATIONS, '"diff:a"]}]}'),
            "unknown kind of expectation",
        ),
        "awkward expectations": (
            numbered(f'"file:y {"matches /x " * 890}#",', 1600, EXPECTATIONS, '"diff:a"]}]}'),
            "matches needs a regular expression",
        ),
        "large patterns": (
            numbered(f'"file:y matches /{"[a-z]|" * 1600}#/",', 1600, EXPECTATIONS, '"diff:a"]}]}'),
            "patterns have more than 500,000 characters",
        ),
        "too large a number, deep down": (
            many("0,", MOST - 200, "[" * 95, f"1e999{']' * 95}"),
            "is not a finite number",
        ),
        "a key twice, deep down": (full("x", f'{"[" * 90}"', f'",{{"a":1,"a":2}}{"]" * 90}'), "is set twice"),
    },
    "a.eval.yaml": {
        "lists": (full("[],", "[", "]"), "more than 250,000 values"),
        "nothing": (full("- \n"), "more than 250,000 values"),
        "documents": (full("---\n"), "more than one YAML document"),
        "deep and wide": (many("0,", MOST - 200, "[" * 95, "]" * 95), "must be a mapping of keys to values"),
        "keys": (numbered("k#:\n", MOST - 9), "has no tests"),
        "empty tests": (many("- {}\n", CASES, "tests:\n"), "more than 5,000 tests cannot be used"),
        "a circle": (
            lambda: ("tests:\n", *(DEPENDING.format(number, (number + 1) % 6000) for number in range(6000))),
            "depends on itself: c0 -> c1 -> c2 -> c3 -> c4 -> … -> c0",
        ),
        "a chain": (
            lambda: ("tests:\n", *(DEPENDING.format(number, number + 1) for number in range(6000))),
            "depends on 'c1', which cannot be used",
        ),
        "assertions for all": (
            numbered(TEST, CASES, f"assertions: [{'{type: contains, value: c},' * 10_000}]\ntests:\n"),
            "more than 100,000 assertions",
        ),
        "an input for all": (
            numbered(TEST, CASES, f"input: {'x' * MIB}\ntests:\n"),
            "the prompts have more than 16,777,216 characters",
        ),
        "a variable, often": (
            many("{{v}}", 99_999, f"tests: [{{id: a, criteria: b, vars: {{v: {'x' * MIB}}}, input: '", "'}]"),
            "variables bring in more than 16,777,216 characters",
        ),
        "files": (
            numbered("f#,", MOST - 99, "tests: [{id: a, input: b, criteria: c, input_files: [", "]}]"),
            "names more than 50,000 files",
        ),
        "targets": (
            numbered("t#,", MOST - 99, f"tests:\n{TEST}execution: {{targets: [", "]}"),
            "more than 100 targets",
        ),
        "stars": (many("**/*", 200, "tests: ['file://", ".yaml']"), "no file matches"),
    },
    "a.jsonl": {"lines": (full("0\n"), "more than 20,000 tests; split it into several files")},
    "a_suite.py": {
        "100 MB": (many("#", 100 * MIB, IMPORTING), "the limit is 196,608"),
        "commas": (many("1,", 96_000, f"{IMPORTING}x=[", "]"), "no variable `suite`"),
        "asserts": (many("assert x==1\n", 16_000, f"{IMPORTING}x=1\n"), "no variable `suite`"),
        "output": (text(IMPORTING, "while True: print('x' * 10 ** 6)"), "printed more than 64 MiB"),
    },
    "a-suite.ts": {
        "100 MB": (many("/", 100 * MIB, SKILLGYM), "the limit is 1,048,576"),
    },
}

LIGHT = {
    "a.bench.json": ("100 MB of spaces", "lists", "lines", "empty cases", "a case too many"),
    "a.eval.yaml": ("a variable, often",),
    "a.jsonl": (),
    "a_suite.py": ("100 MB",),
    "a-suite.ts": ("100 MB",),
}
"""Names of suites of ``HEAVY`` that need a fraction of a second and little memory; one run checks all of them."""

EVAL = '{"id": #, "prompt": "p", "expected_output": "x"},'
WORKING: Table = {
    "a.bench.json": {"x-bench": (numbered(f"{CASE},", 9_999, '{"cases": [', f"{CASE}]}}"), "")},
    "a.eval.yaml": {"AgentV": (numbered(TEST, 10_000, "tests:\n"), "")},
    "a.jsonl": {"lines": (numbered('{"id": "c#", "input": "a", "criteria": "b"}\n', 10_000), "")},
    "evals.json": {"skill": (numbered(EVAL, 9_999, '{"evals": [', EVAL.replace("#", "-1")[:-1] + "]}"), "")},
    "a_suite.py": {
        "Python": (text(IMPORTING, "suite = [Case(id=f'c{n}', prompt='p', check=print) for n in range(10_000)]"), "")
    },
    "a-suite.ts": {
        "TypeScript": (
            text(
                SKILLGYM,
                "export default Array.from({length: 1e4}, (_, n) => ({id: `c${n}`, prompt: 'p', assert() {}}))",
            ),
            "",
        )
    },
}
"""Suites with ten thousand cases, which are fine."""

CONFIGURATIONS: Table = {
    "skillgym.config.yaml": {
        "100 MB of spaces": (many(" ", 100 * MIB), "too large: 104,857,600 bytes; the limit is 1,048,576"),
        "runners": (
            numbered("  r#: {agent: {type: command, command: x}}\n", 20_000, "runners:\n"),
            "OK: 1 suite, 1 case, 20,000 runners",
        ),
    },
    "skillgym.config.toml": {
        "a dotted key": (many("a.", 100_000, "", "a = 1"), ":1:1: nested more than 100 levels deep"),
        "a dotted table": (many("a.", 100_000, "[", "a]"), ":1:2: nested more than 100 levels deep"),
        "depth": (many("[", 100_000, "a = "), "nested more than 100 levels deep"),
        "tables": (numbered("[a#]\n", 99_999), "99,999 problems; these are the first"),
        "blanks": (many(" ", MIB - 99, 'a = """\n', '\n"""'), "unknown key 'a'"),
    },
    "skillgym.config.json": {"keys": (numbered('"k#":1,', 90_000, "{", '"x":1}'), "90,001 problems")},
    "skillgym.config.ts": {
        "100 MB": (many("/", 100 * MIB), "too large: 104,857,600 bytes; the limit is 1,048,576"),
        "an endless wait": (text("await new Promise(() => {})"), "awaits a promise that nothing can resolve"),
        "a circle": (text("const a = {}; a.a = a; export default a"), "nested too deep"),
    },
}

ROW = '{"suites": [{"results": ['
WRONG_KEYS = ",".join(f'"k{number}":0' for number in range(900))
RESULTS: Table = {
    "results.json": {
        "100 MB of spaces": (many(" ", 100 * MIB), "not JSON: Expecting value"),
        "lists": (many("[],", 390_000, '{"suites": [', "0]}"), r"suites\[0\]: must be an object"),
        "lists of a row": (many("[],", 390_000, f"{ROW}[", "0]]}]}"), r"suites\[0\].results\[0\]: must be an object"),
        "more lists": (many("[],", 30 * MIB, f"{ROW}[", "0]]}]}"), "more than 400,000 lists and objects"),
        "more numbers": (many("0,", 3_000_001, f"{ROW}[", "0]]}]}"), "more than 3,000,000 values"),
        "keys": (numbered('"k#":0,', MOST - 9, "{", '"x":0}'), "an object with more than 1,000 members"),
        "more keys": (
            numbered('"k#":0,', 2 * MOST, f"{ROW}{{", '"x":0}]}]}'),
            "an object with more than 1,000 members",
        ),
        "wrong keys": (
            text(ROW, '{"location":{', WRONG_KEYS, '},"usage":{', WRONG_KEYS, "}}]}]}"),
            r"suites\[0\].results\[0\]: 1,8\d\d problems: not the results of a run",
        ),
        "a long text": (many("x", 60 * MIB, '{"schema": "', '"}'), "schema: must be 1"),
        "a longer text": (many("x", 300 * MIB, f'{ROW}{{"prompt": "', '"}'), "has more than 67,108,864 characters"),
        "depth": (many("[", 100_000), "nested more than 100 levels deep"),
    },
}
"""Results of a run, as ``report`` and ``--baseline`` take them."""
