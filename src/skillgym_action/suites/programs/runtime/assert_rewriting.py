"""Rewrites plain ``assert`` so that its failure shows the source line and the values in it.

``assert answer == 42`` is compiled as if it were written

    if not ((v0 := answer) == 42):
        raise failed("answer == 42", None, (("answer", v0),))

with names that no program can contain. Of a comprehension and a generator also what they went through is remembered:
``any(p == 1 for p in paths)`` becomes ``any((v0 := watched(paths)).of(p == 1 for p in v0))``. Applied to the suite file
and to the modules of its folder.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import decode_source
from pathlib import Path
from types import AsyncGeneratorType, FunctionType, GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any

from skillgym_action.model.limits import MAX_LISTED_VALUES, MAX_SHOWN_VALUE_CHARACTERS
from skillgym_action.model.session_report import SessionReport
from skillgym_action.suites.programs.runtime.matching import cut, value_text
from skillgym_action.suites.programs.runtime.suite import Context

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence
    from types import CodeType

MAX_SHOWN_SOURCE_CHARACTERS = 800  # of the failed ``assert`` statement in a message
FAILED = "@skillgym_failed"
UNSEEN = "@skillgym_unseen"
WATCHED = "@skillgym_watched"

# Not shown: values of these types explain no failure, and a whole session report is too long.
HIDDEN_TYPES = (ModuleType, FunctionType, GeneratorType, AsyncGeneratorType, type, Context, SessionReport)
NEVER_EVALUATED = object()


def failed(source: str, message: object, seen: tuple[tuple[str, object], ...]) -> AssertionError:
    """The error that a rewritten assert raises; the author's message comes first.

    ``seen``: source and value of each operand; an operand that was not reached has ``NEVER_EVALUATED``. The source of
    what a comprehension goes through is followed by that of its element, after a line end.
    """
    lines: dict[str, str] = {}
    for label, value in seen:
        if value is NEVER_EVALUATED or isinstance(value, HIDDEN_TYPES):
            continue
        if isinstance(value, Watched):
            lines.update(value.lines(*label.split("\n")))
        else:
            lines[label] = value_text(value)
    values = [f"  {label}: {text}" for label, text in lines.items() if text != label]
    return AssertionError("\n".join([*([] if message is None else [str(message)]), f"assert {source}", *values]))


class Watched:
    """An iterable, and the items that were taken from it; ``values``: of a generator, with the item that each is for.

    Iterating gives what the iterable gives, when it gives it.
    """

    def __init__(self, iterable: Any) -> None:
        self.iterable = iterable
        self.items: list[object] = []
        self.values: list[tuple[object, object]] | None = None
        self.taken = 0

    def __iter__(self) -> Generator[Any]:
        return self._items(iter(self.iterable))

    def _items(self, items: Iterator[Any]) -> Generator[Any]:
        for item in items:
            self.taken += 1
            self.last = item
            if len(self.items) < MAX_LISTED_VALUES:
                self.items.append(item)
            yield item

    def of(self, generator: Iterable[Any]) -> Generator[Any]:
        """The values of a generator over this iterable, remembered with their items."""
        values = self.values = []
        return self._values(generator, values)

    def _values(self, generator: Iterable[Any], values: list[tuple[object, object]]) -> Generator[Any]:
        for value in generator:
            # A value that is false is what a check stops at, or what all of them were: it is kept in any case.
            if len(values) < MAX_LISTED_VALUES or not _is_true(value):
                values[MAX_LISTED_VALUES:] = []
                values.append((self.last, value))
            yield value

    def lines(self, source: str, element: str) -> Iterator[tuple[str, str]]:
        """Labels and texts for messages: the items, then the values, those that are false first."""
        yield source, self._shown_items()
        if self.values is None:
            return
        if not self.values:
            if self.taken:
                yield element, f"never evaluated: the condition is true for none of {self.taken}"
        elif any(item is not value for item, value in self.values):
            yield element, _grouped(self.values)

    def _shown_items(self) -> str:
        """The iterable itself; of an iterator what it gave."""
        if not isinstance(self.iterable, Iterator):
            return value_text(self.iterable)
        return value_text(self.items) if self.taken == len(self.items) else f"{value_text(self.items)} and more"


# Added to the globals of rewritten modules.
GLOBALS = {FAILED: failed, UNSEEN: NEVER_EVALUATED, WATCHED: Watched}


def compiled(source: bytes, path: str) -> CodeType:
    """The code of a module with rewritten asserts. Raises what ``compile`` raises, and UnicodeDecodeError."""
    text = decode_source(source)
    tree = ast.parse(text, path)
    try:
        _rewrite(tree, text)
        return compile(tree, path, "exec", dont_inherit=True)
    except RecursionError:  # an expression nested so deeply: leave all asserts as they are
        return compile(text, path, "exec", dont_inherit=True)  # of a tree, only expressions half as deep are compiled


def run_as(name: str, path: str) -> ModuleType:
    """Run a suite file and return its module. Raises anything that the file raises."""
    module = ModuleType(name)
    module.__dict__.update(GLOBALS, __file__=path)
    sys.modules[name] = module
    exec(compiled(Path(path).read_bytes(), path), module.__dict__)  # noqa: S102 - the suite is a program
    return module


class RewritingFinder:
    """A finder for ``sys.meta_path`` that rewrites asserts in all modules below a folder, except installed packages."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of a module below the folder, with a loader that rewrites; None for all other modules."""
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader) or not self._covers(spec.loader.path):
            return None
        spec.loader = _RewritingLoader(spec.loader.name, spec.loader.path)
        return spec

    def _covers(self, path: str) -> bool:
        return Path(path).is_relative_to(self.folder) and "site-packages" not in path


class _RewritingLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        """Compile the source. The bytecode cache is not used: it has code that is not rewritten."""
        path = self.get_filename(fullname)
        return compiled(self.get_data(path), path)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(GLOBALS)
        super().exec_module(module)


def _rewrite(tree: ast.Module, text: str) -> None:
    lines = text.encode().split(b"\n")
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, field, None), list):
                statements[:] = [new for old in statements for new in _statements(old, lines)]


def _statements(statement: ast.stmt, lines: list[bytes]) -> Iterator[ast.stmt]:
    if not isinstance(statement, ast.Assert):
        yield statement
        return
    source = cut(_source(statement.test, lines), MAX_SHOWN_SOURCE_CHARACTERS)
    recorder = _OperandRecorder(lines)
    test = recorder.test(statement.test)
    seen = [ast.Tuple([ast.Constant(label), ast.Name(name, ast.Load())], ast.Load()) for name, label in recorder.seen]
    arguments = [ast.Constant(source), statement.msg or ast.Constant(None), ast.Tuple(list(seen), ast.Load())]
    error = ast.Raise(ast.Call(ast.Name(FAILED, ast.Load()), arguments, []), None)
    new: list[ast.stmt] = [ast.If(ast.UnaryOp(ast.Not(), test), [error], [])]
    if recorder.seen:
        # The variables are set first, since ``and`` and ``or`` may not evaluate all operands.
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name, _ in recorder.seen]
        new.insert(0, ast.Assign(targets, ast.Name(UNSEEN, ast.Load())))
    for made in new:
        yield ast.fix_missing_locations(ast.copy_location(made, statement))


class _OperandRecorder:
    """Stores the operands of a test in variables as they are evaluated: each once, and in the same order as before."""

    def __init__(self, lines: list[bytes]) -> None:
        self.lines = lines
        self.seen: list[tuple[str, str]] = []

    def test(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.BoolOp():
                node.values = [self.test(value) for value in node.values]
            case ast.UnaryOp(op=ast.Not()):
                node.operand = self.test(node.operand)
            case ast.Compare():
                node.left = self.operand(node.left)
                node.comparators = [self.operand(value) for value in node.comparators]
            case _:
                return self.operand(node)
        return node

    def operand(self, node: ast.expr) -> ast.expr:
        """The node with its value stored; of a call also the arguments, and the object of a method."""
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                node.func.value = self.value(node.func.value)
            node.args = [self.value(value) for value in node.args]
        return self.value(node)

    def value(self, node: ast.expr) -> ast.expr:
        if isinstance(node, (ast.Constant, ast.Starred)):
            return node
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)) and not _is_async(node):
            node = self.watched(node)
        return self.stored(node, _source(node, self.lines))

    def watched(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp | ast.DictComp) -> ast.expr:
        """The node over a ``Watched``, which is made at the same time as the iterable was."""
        first = node.generators[0]
        elements = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        label = f"{_source(first.iter, self.lines)}\n{': '.join(_source(each, self.lines) for each in elements)}"
        made = ast.Call(ast.Name(WATCHED, ast.Load()), [first.iter], [])
        stored = self.stored(made, label)
        name = stored.target.id
        first.iter = ast.copy_location(ast.Name(name, ast.Load()), first.iter)
        if isinstance(node, ast.GeneratorExp):
            call = ast.Call(ast.Attribute(stored, "of", ast.Load()), [node], [])
            return ast.fix_missing_locations(ast.copy_location(call, node))
        # The value of a tuple's last item, since an assignment cannot stand in a comprehension's iterable.
        both = ast.Tuple([stored, node], ast.Load())
        second = ast.Subscript(both, ast.Constant(1), ast.Load())
        return ast.fix_missing_locations(ast.copy_location(second, node))

    def stored(self, node: ast.expr, label: str) -> ast.NamedExpr:
        name = f"@skillgym_{len(self.seen)}"
        self.seen.append((name, label))
        return ast.copy_location(ast.NamedExpr(ast.Name(name, ast.Store()), node), node)


def _is_async(node: ast.expr) -> bool:
    """Whether a comprehension waits for something, which makes it asynchronous."""
    return any(isinstance(each, ast.Await) or getattr(each, "is_async", 0) for each in ast.walk(node))


def _source(node: ast.expr, lines: list[bytes]) -> str:
    """The source of the expression, in one line."""
    last = (node.end_lineno or node.lineno) - 1
    text: list[Any] = lines[node.lineno - 1 : last + 1]
    text[-1] = text[-1][: node.end_col_offset]
    text[0] = text[0][node.col_offset :]
    return " ".join(line.decode().strip() for line in text)


MAX_NAMED_ITEMS = 5


def _grouped(values: list[tuple[object, object]]) -> str:
    """``False for 'a', 'b'; True for 'c'``."""
    groups: dict[str, list[object]] = {}
    for item, value in sorted(values, key=lambda pair: _is_true(pair[1])):
        groups.setdefault(value_text(value), []).append(item)
    return cut("; ".join(f"{value} for {_named(items)}" for value, items in groups.items()), MAX_SHOWN_VALUE_CHARACTERS)


def _named(items: list[object]) -> str:
    more = len(items) - MAX_NAMED_ITEMS
    return ", ".join(map(value_text, items[:MAX_NAMED_ITEMS])) + (f" and {more} more" if more > 0 else "")


def _is_true(value: object) -> bool:
    try:
        return bool(value)
    except Exception:  # noqa: BLE001 - a suite's own class may do anything
        return True
