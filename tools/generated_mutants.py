"""Changes the source in small ways drawn by a seed, and counts which changes the unit tests notice.

``make mutants`` tries changes from a list, each with the tests that have to notice it. This program draws lines of the
source at random, and for each line one of the changes that its syntax allows. To compare the tests of two commits:
``--list FILE`` writes the mutants drawn, ``--from FILE`` tries those of a file, and ``--repository`` tries them on the
source and the tests of another checkout.

The nearest unit tests run first: test files that import the module of the mutant, then the folder of its package, then
the folders of packages that import it. A mutant is killed if a test fails that passes without it.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from changed_tests import PACKAGE, SOURCE, UNIT, Tree, is_test, room_of, tree_of
from mutants import AT_ONCE, REPOSITORY, Copy, remove

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NUMBER = 200
SEED = 20
SECONDS = 120  # of processor time, for each group of tests of a mutant
ON_THE_CLOCK = 300.0  # seconds for the same: a test that waits for ever uses no processor time
MEMORY = 3 << 30  # bytes of data of each process
EVERY_TEST = 1800.0  # seconds on the clock for all tests without a mutant
OPTIONS = ("-x", "-n", "0")
NO_TESTS = 5  # the exit code of pytest where it collects none
TESTS_FAILED = 1

# Code that ends processes, removes files or changes their permissions: for root, a change of it could harm the machine.
NOT_DRAWN = (
    "system/supervisor/",
    "system/files/removal.py",
    "system/files/open_below.py",
    "github/step_files.py",
)

COMPARISONS = {
    "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">",
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
OPERATOR = re.compile(r"==|!=|<=|>=|<|>|\bis\s+not\b|\bnot\s+in\b|\bis\b|\bin\b")
BOOLEAN = re.compile(r"\b(and|or)\b")


@dataclass(frozen=True, kw_only=True, order=True)
class Change:
    """``text``, which begins at ``column`` (characters, from 0) of ``line`` (from 1), is replaced by ``becomes``.

    ``file``: below the package. ``whole``: the whole line, by which the place is found if lines were added above it.
    """

    file: str
    line: int
    column: int
    text: str
    becomes: str
    whole: str

    def applied(self, source: str) -> str | None:
        """The source with the change; None if the line is missing or not unique."""
        lines = source.splitlines(keepends=True)
        here = self.line if lines[self.line - 1 : self.line] == [self.whole] else None
        places = [number for number, line in enumerate(lines, 1) if line == self.whole]
        if here is None and len(places) != 1:
            return None
        start = sum(map(len, lines[: (here or places[0]) - 1])) + self.column
        if not source.startswith(self.text, start):
            return None
        return source[:start] + self.becomes + source[start + len(self.text) :]

    def shown(self) -> str:
        """The place and the change, in one line."""
        before, after = (" ".join(text.split()) or "nothing" for text in (self.text, self.becomes))
        return f"{self.file}:{self.line}: {before} -> {after}"


class _Source:
    """A module, with offsets of its nodes in characters."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text = file, text
        self._lines = text.splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        return self._starts[line - 1] + len(self._lines[line - 1].encode()[:column].decode())

    def change(self, start: int, end: int, becomes: str) -> Change:
        line = self.text.count("\n", 0, start) + 1
        column = start - self._starts[line - 1]
        text, whole = self.text[start:end], self._lines[line - 1]
        return Change(file=self.file, line=line, column=column, text=text, becomes=becomes, whole=whole)

    def replaced(self, node: ast.expr | ast.stmt, becomes: str) -> Change:
        return self.change(self.start(node), self.end(node), becomes)

    def operator(self, left: ast.expr, right: ast.expr, words: re.Pattern[str], other: dict[str, str]) -> list[Change]:
        """The change of the operator between two operands, unless a comment is there."""
        start, end = self.end(left), self.start(right)
        found = words.search(self.text, start, end)
        if found is None or "#" in self.text[start:end]:
            return []
        return [self.change(found.start(), found.end(), other[" ".join(found.group().split())])]


def changes(file: str, text: str) -> list[Change]:
    """Every change of a module, sorted; a few have no effect or are syntax errors (``changes_the_program``)."""
    source = _Source(file, text)
    return sorted({change for node in _executed(ast.parse(text)) for change in _of(node, source)})


def changes_the_program(change: Change, text: str) -> bool:
    """Whether the changed source is a program that differs from the original one."""
    changed = change.applied(text)
    try:
        return changed is not None and ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
    except SyntaxError:
        return False


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes except annotations, blocks ``if TYPE_CHECKING``, and f-strings, whose parts have no position."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "type_params"} or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _for_types(child):
                yield from _executed(child)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _of(node: ast.AST, source: _Source) -> Iterator[Change]:
    """The changes of one node, without those of the nodes in it."""
    rule = RULES.get(type(node))
    return iter(()) if rule is None else rule(node, source)


def _of_comparison(node: ast.Compare, source: _Source) -> Iterator[Change]:
    operands = [node.left, *node.comparators]
    for one, other in pairwise(operands):
        yield from source.operator(one, other, OPERATOR, COMPARISONS)
    for operand in operands:
        if isinstance(operand, ast.Constant) and isinstance(operand.value, str):
            yield source.replaced(operand, repr(f"{operand.value}x"))


def _of_operands(node: ast.BoolOp, source: _Source) -> Iterator[Change]:
    for one, other in pairwise(node.values):
        yield from source.operator(one, other, BOOLEAN, {"and": "or", "or": "and"})


def _of_not(node: ast.UnaryOp, source: _Source) -> Iterator[Change]:
    start = source.start(node)
    word = re.match(r"not\s*", source.text[start : source.start(node.operand)])
    if word:
        yield source.change(start, start + word.end(), "")


def _of_constant(node: ast.Constant, source: _Source) -> Iterator[Change]:
    if isinstance(node.value, bool):
        yield source.replaced(node, str(not node.value))
    elif isinstance(node.value, int | float):
        yield source.replaced(node, repr(node.value + 1))


def _of_return(node: ast.Return, source: _Source) -> Iterator[Change]:
    if node.value is not None:
        yield source.replaced(node.value, "None")


def _of_statement(node: ast.Raise | ast.Expr, source: _Source) -> Iterator[Change]:
    if isinstance(node, ast.Raise) or isinstance(node.value, ast.Call):
        yield source.replaced(node, "pass")


def _of_condition(node: ast.If | ast.IfExp, source: _Source) -> Iterator[Change]:
    yield from (source.replaced(node.test, becomes) for becomes in ("True", "False"))


def _of_loop(node: ast.While, source: _Source) -> Iterator[Change]:
    yield source.replaced(node.test, "False")


def _of_filter(node: ast.comprehension, source: _Source) -> Iterator[Change]:
    yield from (source.replaced(test, becomes) for test in node.ifs for becomes in ("True", "False"))


RULES: dict[type[ast.AST], Callable[[Any, _Source], Iterator[Change]]] = {
    ast.Compare: _of_comparison,
    ast.BoolOp: _of_operands,
    ast.UnaryOp: _of_not,
    ast.Constant: _of_constant,
    ast.Return: _of_return,
    ast.Raise: _of_statement,
    ast.Expr: _of_statement,
    ast.If: _of_condition,
    ast.IfExp: _of_condition,
    ast.While: _of_loop,
    ast.comprehension: _of_filter,
}


def drawn(number: int, seed: int, sources: dict[str, str]) -> list[Change]:
    """``number`` changes, at most one in a line. All lines are equally likely, and all changes of a line."""
    by_line: dict[tuple[str, int], list[Change]] = {}
    for file, text in sorted(sources.items()):
        for change in changes(file, text):
            by_line.setdefault((file, change.line), []).append(change)
    chance = random.Random(seed)
    lines = sorted(by_line)
    chance.shuffle(lines)
    found: list[Change] = []
    for line in lines:
        if len(found) == number:
            break
        change = chance.choice(by_line[line])
        if changes_the_program(change, sources[change.file]):
            found.append(change)
    return found


def sources_of(repository: Path) -> dict[str, str]:
    """By the file's name below the package, the modules that may be changed."""
    folder = repository / SOURCE
    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    return {file: text for file, text in texts.items() if not file.startswith(NOT_DRAWN)}


def groups(file: str, tree: Tree) -> list[list[str]]:
    """The unit tests that may notice a change of a module, in groups, the nearest first."""
    module = ".".join((PACKAGE, *Path(file).with_suffix("").parts)).removesuffix(".__init__")
    room = room_of(module)
    named = f"test_{Path(file).stem}.py"
    direct = [path for path in tree.importing(module) if is_test(path) and path.startswith(UNIT)]
    same_name = [path for path in tree.tests(f"{UNIT}{room.replace('.', '/')}/") if path.endswith(f"/{named}")]
    nearest = sorted({*direct, *same_name})
    others = [test for one in tree.importing_rooms(module) for test in tree.unit(one)]
    return [group for group in (nearest, tree.unit(room), others) if group]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """``status``: killed, survived, timeout or stale. ``by``: the first test that failed."""

    status: str
    by: str = ""


class Trials:
    """Copies of a repository, in which mutants are tried side by side."""

    def __init__(self, repository: Path, place: Path, tree: Tree, at_once: int) -> None:
        self._tree = tree
        self._copies = [Copy(repository, place / str(number)) for number in range(at_once)]
        self._free = SimpleQueue[Copy]()
        for copy in self._copies:
            self._free.put(copy)
        self._left_out: tuple[str, ...] = ()

    def leave_out_what_fails(self, found: list[Change]) -> tuple[str, ...]:
        """Leave out and return the tests that fail without a mutant.

        Raises ``SystemExit`` if pytest cannot run them, or if they do not end.
        """
        every = sorted({path for change in found for group in groups(change.file, self._tree) for path in group})
        code, failed = self._copies[0].notices(tuple(every), EVERY_TEST, "-n", str(len(self._copies)))
        if code not in {0, TESTS_FAILED}:
            sys.exit(f"without a mutant: {failed[0] if failed else f'no end after {EVERY_TEST:g} s'}")
        failing = tuple(test.split(" - ")[0] for test in failed) if code else ()
        self._left_out = tuple(f"--deselect={test}" for test in failing)
        return failing

    def outcomes(self, found: list[Change]) -> Iterator[tuple[Change, Outcome]]:
        """Each mutant with its outcome, in the order in which the trials end."""
        with ThreadPoolExecutor(len(self._copies)) as pool:
            running = {pool.submit(self._in_a_copy, change): change for change in found}
            for done in as_completed(running):
                yield running[done], done.result()

    def _in_a_copy(self, change: Change) -> Outcome:
        copy = self._free.get()
        file = copy.root / SOURCE / change.file
        try:
            source = file.read_text(encoding="utf-8") if file.exists() else ""
            changed = change.applied(source)
            if changed is None:
                return Outcome(status="stale")
            file.write_text(changed, encoding="utf-8")
            try:
                return self._noticed(change.file, copy)
            finally:
                file.write_text(source, encoding="utf-8")
        finally:
            self._free.put(copy)

    def _noticed(self, file: str, copy: Copy) -> Outcome:
        for group in groups(file, self._tree):
            code, failed = copy.notices(tuple(group), ON_THE_CLOCK, *OPTIONS, *self._left_out)
            if code in {None, 256 - signal.SIGXCPU}:
                return Outcome(status="timeout")
            if code not in {0, NO_TESTS}:
                return Outcome(status="killed", by=failed[0])
        return Outcome(status="survived")


def main() -> int:
    """0 if every mutant was tried; 1 if the source no longer has the line of one of them."""
    parser = argparse.ArgumentParser(description="Try random changes of the source; count those that tests notice.")
    parser.add_argument("--number", type=int, default=NUMBER, help="number of mutants (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the selection (default: %(default)s)")
    parser.add_argument("--repository", type=Path, default=REPOSITORY, help="checkout with the source and the tests")
    parser.add_argument("--list", type=Path, metavar="FILE", help="write the mutants drawn to FILE, and try none")
    parser.add_argument(
        "--from", type=Path, metavar="FILE", dest="listed", help="try the mutants in FILE, which --list wrote"
    )
    parser.add_argument(
        "--seconds",
        type=int,
        default=SECONDS,
        help="limit of processor time for each group of tests (default: %(default)s)",
    )
    given = parser.parse_args()
    repository = given.repository.resolve()
    if given.listed:
        found = [Change(**entry) for entry in json.loads(given.listed.read_text(encoding="utf-8"))]
    else:
        found = drawn(given.number, given.seed, sources_of(repository))
    if given.list:
        given.list.write_text(json.dumps([asdict(change) for change in found], indent=1) + "\n", encoding="utf-8")
        return 0
    return _tried(found, repository, given.seconds)


def _tried(found: list[Change], repository: Path, seconds: int) -> int:
    began = time.monotonic()
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))  # of all processes that this one starts
    place = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        place.chmod(0o755)  # users of sessions read the package
        trials = Trials(repository, place, tree_of(repository), min(AT_ONCE, len(found)))
        failing = trials.leave_out_what_fails(found)
        print(f"tests that fail without a mutant: {len(failing)}", *failing, sep="\n  ", flush=True)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, 2 * seconds))  # SIGXCPU, and later SIGKILL
        used, count = _processor_time(), Counter[str]()
        for change, outcome in trials.outcomes(found):
            count[outcome.status] += 1
            print(f"{outcome.status:<10}{change.shown()}{f'  [{outcome.by}]' if outcome.by else ''}", flush=True)
        each = (_processor_time() - used) / len(found)
    finally:
        remove(place)
    noticed = (count["killed"] + count["timeout"]) / max(1, len(found) - count["stale"])
    counts = ", ".join(f"{number} {status}" for status, number in sorted(count.items()))
    print(f"{counts}: {noticed:.1%} noticed, {each:.1f} s of processor each, {time.monotonic() - began:.0f} s in all")
    return int(count["stale"] > 0)


def _processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
