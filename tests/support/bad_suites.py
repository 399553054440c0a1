"""Suites that nobody should have written: many small files for one folder, made by code.

What an entry ``says`` is a regular expression for the message that names its file.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scratch import case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

MIB = 1024 * 1024

X_BENCH = json.dumps({"cases": [case("a")]})
AGENTV = "tests:\n- id: a\n  input: 'do it'\n  criteria: it is done\n"
SKILL = json.dumps({"skill_name": "s", "evals": [{"id": 1, "prompt": "do it", "expected_output": "done"}]})
PYTHON = "from skillgym_action import Case\nsuite = [Case(id='a', prompt='p', check=lambda report: None)]\n"
TYPESCRIPT = "// a suite of skillgym\nexport default [{ id: 'a', prompt: 'p', assert() {} }];\n"
IMPORTING = "from skillgym_action import Case\n"
SKILLGYM = "// a suite of skillgym\n"

# --- small: the notations ---------------------------------------------------------------------------

FINE: dict[str, Callable[[str], bytes]] = {
    "plain": str.encode,
    "mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "cr": lambda text: text.replace("\n", "\r").encode(),
    "separator": lambda text: text.replace("do it", "do\u2028it").encode(),
}
"""What one may do to any text."""

BROKEN: dict[str, Callable[[str], bytes]] = {
    "empty": lambda _: b"",
    "blank": lambda _: b" \n\t\n ",
    "mark-alone": lambda _: b"\xef\xbb\xbf",
    "utf-16": lambda text: text.encode("utf-16"),
    "utf-16-be": lambda text: text.encode("utf-16-be"),
    "latin-1": lambda text: text.replace("do it", "tu \u00e9", 1).encode("latin-1"),
    "nul": lambda text: text.replace("do it", "do\0it", 1).encode(),
    "cut": lambda text: text.encode()[: len(text) // 2],
    "half-a-character": lambda text: text.replace("do it", "\u20ac").encode().replace("\u20ac".encode(), b"\xe2\x82"),
    "binary": lambda _: bytes(range(256)) * 16,
}
"""What one may not."""

JSON = {
    "list": "[]",
    "text": '"cases"',
    "number": "7",
    "null": "null",
    "no-cases": "{}",
    "cases-null": '{"cases": null}',
    "cases-empty": '{"cases": []}',
    "cases-number": '{"cases": 7}',
    "comment": '{"cases": [] /* none */}',
    "comma": '{"cases": [],}',
    "quotes": "{'cases': []}",
    "two": f"{X_BENCH}{X_BENCH}",
    "doubled": '{"cases": [], "cases": []}',
    "doubled-below": '{"cases": [{"id": "a", "id": "b", "prompt": "p", "expect": ["diff:x"]}]}',
    "nan": '{"cases": [], "x-a": NaN}',
    "infinity": '{"cases": [], "x-a": -Infinity}',
    "overflow": '{"cases": [], "x-a": 1e999}',
    "digits": f'{{"cases": [], "x-a": {"7" * 400}}}',
    "very-many-digits": f'{{"cases": [], "x-a": {"7" * 100_000}}}',
    "deep-lists": "[" * 100_000,
    "deep-objects": '{"a":' * 100_000,
    "deep-closed": f'{{"cases": {"[" * 100_000}{"]" * 100_000}}}',
    "deep-enough": f'{{"cases": {"[" * 101}{"]" * 101}}}',
    "surrogate-id": '{"cases": [{"id": "\\ud800", "prompt": "p", "expect": ["diff:x"]}]}',
    "surrogate-key": '{"cases": [{"id": "a", "prompt": "p", "expect": ["diff:x"], "\\udfff": 1}]}',
    "surrogate-expectation": '{"cases": [{"id": "a", "prompt": "p", "expect": ["file:\\ud800 exists"]}]}',
    "nul-in-prompt": '{"cases": [{"id": "a", "prompt": "\\u0000", "expect": ["diff:x"]}]}',
    "long-id": json.dumps({"cases": [case("x" * 5 * MIB)]}),
    "long-name": json.dumps({"name": "x" * MIB, "cases": [case()]}),
    "long-key": json.dumps({"cases": [case(**{"x" * MIB: 1})]}),
    "long-expectation": json.dumps({"cases": [case(expect=("x" * 10 * MIB,))]}),
    "calls-itself": json.dumps({"cases": [case(expect=("file:x matches /(?R)*a/",))]}),
    "deep-pattern": json.dumps({"cases": [case(expect=(f"file:x matches /{'(' * 4000}a{')' * 4000}/",))]}),
}

YAML = {
    "list": "- a",
    "text": "tests",
    "number": "7",
    "no-tests": "name: x",
    "tests-null": "tests:",
    "tests-empty": "tests: []",
    "tests-number": "tests: 7",
    "tests-texts": "tests: [a, b]",
    "tests-of-nothing": "tests: [null, {}, 7, []]",
    "tab": "tests:\n\t- a",
    "quote": 'tests: "a',
    "two": f"{AGENTV}---\n{AGENTV}",
    "doubled": f"{AGENTV}tests: []",
    "doubled-below": "tests: [{id: a, id: b, input: x, criteria: y}]",
    "key-is-a-list": "? [a, b]\n: 1",
    "question-marks": "? " * 100_000,
    "tag": "tests: !!python/object/apply:os.system [touch pwned]",
    "own-tag": "tests: !case a",
    "binary-tag": "tests: !!binary aGVsbG8=",
    "alias-of-nothing": "tests: *a",
    "alias-of-itself": "tests: &a [*a]",
    "merges-text": "tests: [{<<: a}]",
    "nan": "tests: .nan",
    "infinity": "tests: -.inf",
    "overflow": "tests: 1e999",
    "digits": f"tests: {'7' * 400}",
    "hexadecimal": f"tests: 0x{'f' * MIB}",
    "deep-lists": "[" * 100_000,
    "deep-mappings": "{a: " * 100_000,
    "deep-dashes": "- " * 100_000,
    "deep-by-aliases": "\n".join(f"a{n}: &a{n} {'[' * 60}{f'*a{n - 1}' if n else 1}{']' * 60}" for n in range(9)),
    "bomb": "\n".join(["a0: &a0 x", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40))]),
    "text-bomb": "\n".join([f"a: &a {'x' * 99_999}", f"tests: [{'*a, ' * 9_999}]"]),
    "merge-bomb": f"a: &a {{{', '.join(f'k{n}: 1' for n in range(999))}}}\ntests: [{'{<<: [*a, *a]}, ' * 999}]",
    "ids": "tests: [{id: [a], input: x, criteria: y}, {id: {}, input: x, criteria: y}, {id: '', input: x}]",
    "long-id": f"tests: [{{id: {'x' * 10 * MIB}, input: x, criteria: y}}]",
    "long-name": f"name: {'x' * MIB}\n{AGENTV}",
    "long-file-name": f"tests: {'x' * MIB}",
    "long-folders": f"tests: [{{id: a, input: x, criteria: y, workspace: {'../' * 99_999}}}]",
    "nul-in-a-path": 'tests: [{id: a, input: x, criteria: y, workspace: {template: "a\\0b"}}]',
    "surrogate": 'tests: [{id: "\\ud800", input: x, criteria: y}]',
    "circle": AGENTV + "  depends_on: [b]\n- {id: b, input: x, criteria: y, depends_on: [a]}",
    "braces": f"tests: ['file://{{{'a,' * 999}b}}']",
    "more-braces": f"tests: ['file://{'{a,b}' * 40}']",
    "pattern": "tests: [{id: a, input: x, assertions: [{type: regex, value: '(?R)'}]}]",
    "wrong-everywhere": "tests: [{id: a, input: 7, criteria: [], metadata: x, tags: {}, execution: 7, workspace: 7}]",
    "itself": "tests: itself.eval.yaml",
}

SAYS = {
    "mark-alone": "expecting value|mapping of keys|has no",
    "utf-16": "not UTF-8 at byte 0; save the file as UTF-8",
    "latin-1": "not UTF-8 at byte",
    "half-a-character": "not UTF-8 at byte",
    "nul": "control character",
    "doubled": "is set twice, first in line 1",
    "doubled-below": r"\[0\].id is set twice",
    "nan": "NaN is not a JSON number|tests is not a finite number",
    "infinity": "Infinity is not a JSON number|tests is not a finite number",
    "overflow": "is not a finite number",
    "digits": "a number has more than 300 digits",
    "hexadecimal": "a number has more than 300 digits",
    "very-many-digits": "a number has more than 300 digits",
    "deep-lists": "nested more than 100 levels deep",
    "deep-objects": "nested more than 100 levels deep",
    "deep-mappings": "nested more than 100 levels deep",
    "deep-dashes": "nested more than 100 levels deep",
    "deep-enough": "nested more than 100 levels deep",
    "deep-by-aliases": "nested more than 100 levels deep",
    "bomb": "aliases expand to more than 250,000 values",
    "merge-bomb": "aliases expand to more than 250,000 values",
    "text-bomb": "aliases expand to more than 16,777,216 characters",
    "alias-of-nothing": r"the alias \*a stands for nothing",
    "alias-of-itself": r"the alias \*a stands for nothing before it, or for itself",
    "tag": "the tag !!python/object/apply:os.system is not supported",
    "long-id": "is longer than 1,000 characters",
    "long-name": "is longer than 1,000 characters",
    "long-key": "unknown key",
    "long-expectation": "longer than 10,000 characters",
    "calls-itself": "a pattern cannot call itself",
    "pattern": "a pattern cannot call itself",
    "deep-pattern": "too complex",
    "circle": "depends on itself: a -> b -> a",
    "braces": "gives more than 100 patterns",
}
"""For some of them, what the message has to say, as a regular expression."""

NO_LINE = frozenset(
    {"empty", "blank", "mark-alone", "utf-16", "utf-16-be", "latin-1", "half-a-character", "binary"}
    | {"deep-lists", "deep-objects", "deep-closed"}
)
"""What has no place in its file, or whose place is not known."""

PROGRAMS = {
    "empty": ("", "no variable `suite`"),
    "syntax": (f"{IMPORTING}def (", ":2:5: SyntaxError"),
    "nul": (f"{IMPORTING}\0", "null bytes"),
    "latin-1": (IMPORTING.encode() + b"x = '\xe9'", "can't decode byte 0xe9"),
    "deep-brackets": (f"{IMPORTING}x = {'(' * 100_000}", "too many nested parentheses"),
    "deep-minus": (f"{IMPORTING}x = {'-' * 100_000}1", "MemoryError|RecursionError|SyntaxError"),
    "deep-sum": (f"{IMPORTING}x = {'1+' * 50_000}1", "RecursionError|MemoryError"),
    "exit": (f"{IMPORTING}import os\nos._exit(3)", "ended its process with exit code 3 while it was imported"),
    "sys-exit": (f"{IMPORTING}import sys\nsys.exit('no')", ":3:1: SystemExit: no"),
    "abort": (f"{IMPORTING}import os\nos.abort()", "was ended by SIGABRT"),
    "recursion": (f"{IMPORTING}def f(): f()\nf()", ":2:10: RecursionError"),
    "memory": (f"{IMPORTING}x = bytearray(5 << 30)", ":2:5: MemoryError"),
    "stdin": (f"{IMPORTING}input()", "EOFError"),
    "long-error": (f"{IMPORTING}raise ValueError('x' * 10 ** 6)", "ValueError: xxx"),
    "too-many": (f"{IMPORTING}suite = [1] * 20_001", "more than 20,000 cases"),
    "no-cases": (f"{IMPORTING}suite = []", "has no cases"),
    "long-id": (
        f"{IMPORTING}suite = [Case(id='x' * 10 ** 7, prompt='p', check=print)]",
        "longer than 1,000 characters",
    ),
    "large": (IMPORTING + "#" * 300_000, r"too large: 300,\d\d\d bytes; the limit is 196,608"),
}

SCRIPTS = {
    "empty": ("", "has no cases"),
    "syntax": (f"{SKILLGYM}const = ;", ":2:7: SyntaxError"),
    "enum": (f"{SKILLGYM}enum A {{ B }}", "enum is not supported"),
    "namespace": (f"{SKILLGYM}namespace A {{ export const b = 1 }}", "namespace declaration is not supported"),
    "decorator": (f"{SKILLGYM}@a class A {{}}", "SyntaxError"),
    "exit": (f"{SKILLGYM}process.exit(0)", "ended its process with exit code 0 while it was imported"),
    "await": (f"{SKILLGYM}await new Promise(() => {{}});\n{TYPESCRIPT}", "awaits a promise that nothing can resolve"),
    "promise": (f"{SKILLGYM}export default new Promise(() => {{}});", "the default export is a Promise"),
    "recursion": (f"{SKILLGYM}function f() {{ f() }} f()", "Maximum call stack size exceeded"),
    "deep": (f"{SKILLGYM}const x = {'[' * 50_000}{']' * 50_000}", "Error"),
    "pattern": (f"{SKILLGYM}const x = /{'(a+)+' * 100_000}/;\n{TYPESCRIPT}", "Invalid regular expression"),
    "memory": (f"{SKILLGYM}for (const a = [];;) a.push(Buffer.alloc(2 ** 29));", "allocation failed"),
    "throws-null": (f"{SKILLGYM}throw null", "null"),
    "forges": (
        f"{SKILLGYM}import fs from 'node:fs'; fs.writeSync(4, '[],'.repeat(10 ** 6) + '\\n')",
        "answered with more",
    ),
    "too-many": (f"{SKILLGYM}export default Array(20001).fill(1)", "more than 20,000 cases"),
    "long-id": (
        f"{SKILLGYM}export default [{{ id: 'x'.repeat(1e7), prompt: 'p', assert() {{}} }}]",
        "longer than 1,000",
    ),
    "large": (SKILLGYM + "/" * 1_100_000, r"too large: 1,100,\d\d\d bytes; the limit is 1,048,576"),
}


# --- small: the files -------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Small:
    """A file, and what is to be said of it, as a regular expression; None: it is a suite with one case, ``a`` or 1."""

    file: str
    content: bytes
    says: str | None = ""
    line: bool = True


def notations() -> Iterator[Small]:
    """Suites that are text: what is wrong with each, and what is not."""
    texts = {"bench.json": X_BENCH.replace("Do a", "do it"), "eval.yaml": AGENTV, "evals.json": SKILL}
    for ending, text in texts.items():
        yield from (Small(file=f"fine-{name}.{ending}", content=make(text), says=None) for name, make in FINE.items())
        broken = {name: make(text) for name, make in BROKEN.items()}
        for name, content in broken.items():
            if ending != "evals.json" or b"evals" in content:
                yield Small(file=f"{name}.{ending}", content=content, says=SAYS.get(name, ""), line=name not in NO_LINE)
    for ending, contents in {"bench.json": JSON, "eval.yaml": YAML}.items():
        for name, text in contents.items():
            content = text.encode("utf-8", "surrogatepass")
            yield Small(file=f"{name}.{ending}", content=content, says=SAYS.get(name, ""), line=name not in NO_LINE)


def programs() -> Iterator[Small]:
    """Suites that are programs."""
    for ending, text, made in (("_suite.py", PYTHON, PROGRAMS), ("-suite.ts", TYPESCRIPT, SCRIPTS)):
        fine = ("plain", "mark", "crlf", "cr")
        yield from (Small(file=f"fine_{name}{ending}", content=FINE[name](text), says=None) for name in fine)
        for name, (source, says) in made.items():
            content = source if isinstance(source, bytes) else source.encode()
            yield Small(file=f"{name.replace('-', '_')}{ending}", content=content, says=says, line=says.startswith(":"))


def places(folder: Path) -> None:
    """What is called like a suite, or like a file of one, and is none: nobody may wait for it or read it to its end."""
    os.mkfifo(folder / "fifo.bench.json")
    os.mkfifo(folder / "fifo.yaml")
    os.mkfifo(folder / ".env")
    for name in ("zero.bench.json", "zero.eval.yaml", "zero_suite.py", "zero-suite.ts", "endless.yaml", "targets.yaml"):
        (folder / name).symlink_to("/dev/zero")
    (folder / "loop.bench.json").symlink_to("loop.bench.json")
    (folder / "loop.eval.yaml").symlink_to("loop-too.eval.yaml")
    (folder / "loop-too.eval.yaml").symlink_to("loop.eval.yaml")
    (folder / "nowhere.eval.yaml").symlink_to("nothing.eval.yaml")
    for name in ("folder.bench.json", "folder.eval.yaml", "folder_suite.py", "folder-suite.ts", "a-folder.yaml"):
        (folder / name).mkdir()


NAMES = (
    "two\nlines.bench.json",
    "::error::x.bench.json",
    "##[error]x.bench.json",
    "\x1b[31mred.bench.json",
    "-rf.bench.json",
    "$(touch pwned).bench.json",
    "%0Ax.eval.yaml",
    "\u202eright.eval.yaml",
    "\u2028.eval.yaml",
    f"{'x' * 240}.bench.json",
    b"\xff\xfe.bench.json".decode("utf-8", "surrogateescape"),
)
"""Names that files can have."""
