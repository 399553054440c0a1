"""What the import contracts in pyproject.toml cannot say: sizes and names."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from paths import REPOSITORY

PACKAGE = REPOSITORY / "src" / "skillgym_action"
MODULES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
FOR_NODE = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.mjs")}
SAYING_NOTHING = {"utils", "util", "helpers", "helper", "common", "base", "manager", "misc", "shared", "core", "lib"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> dict[str, Function]:
    """All functions and methods, also inner ones, with the line they begin at."""
    found: dict[str, Function] = {}
    blocks: list[ast.AST] = [tree]
    while blocks:
        block = blocks.pop()
        if isinstance(block, Function):
            found[f"{block.name}:{block.lineno}"] = block
        blocks += [node for node in ast.iter_child_nodes(block) if not isinstance(node, ast.expr)]
    return found


def lines(function: Function) -> int:
    """From ``def`` to the last statement, without the docstring: a contract may be as long as it needs."""
    docstring = ast.get_docstring(function, clean=False)
    return function.end_lineno - function.lineno + 1 - len((docstring or "").splitlines())


def parameters(function: Function) -> int:
    """Named parameters, but for ``self`` and ``cls``."""
    given = function.args
    names = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])


def test_a_module_has_at_most_500_lines():
    sizes = {module: len(source.splitlines()) for module, source in (MODULES | FOR_NODE).items()}
    assert {module: size for module, size in sizes.items() if size > 500} == {}


@pytest.mark.slow
def test_a_function_has_at_most_50_lines_and_6_parameters():
    measured = {
        f"{module}:{name}": (lines(function), parameters(function))
        for module, source in MODULES.items()
        for name, function in functions(ast.parse(source)).items()
    }
    assert len(measured) > 3_000
    assert {name: sizes for name, sizes in measured.items() if sizes[0] > 50 or sizes[1] > 6} == {}


def test_no_public_class_name_is_in_two_modules():
    classes: dict[str, list[str]] = {}
    for module, source in MODULES.items():
        for name in re.findall(r"^class ([^_\W]\w*)", source, re.MULTILINE):
            classes.setdefault(name, []).append(module)
    assert len(classes) > 500
    assert {name: modules for name, modules in classes.items() if len(modules) > 1} == {}


def test_a_limit_has_one_value_and_is_used():
    limits = {module: source for module, source in MODULES.items() if module in {"remote_limits.py", "limits.py"}}
    assigned = [node for source in limits.values() for node in ast.parse(source).body if isinstance(node, ast.Assign)]
    names = [target.id for node in assigned for target in node.targets]
    used = {word for module, source in MODULES.items() if module not in limits for word in re.findall(r"\w+", source)}
    assert len(names) == len(set(names))
    assert [name for name in names if name not in used] == []


def test_one_function_suggests_a_word():
    """Only model/errors.py may word the remedy: so it is the same everywhere, and no code reads it back."""
    assert [name for name, source in MODULES.items() if "did you mean" in source] == ["model/errors.py"]


def test_every_name_of_a_module_says_what_is_in_it():
    words = {module: set(re.split("[_-]", Path(module).stem)) for module in MODULES | FOR_NODE}
    assert {module for module, parts in words.items() if parts & SAYING_NOTHING} == set()


def test_the_tree_is_no_deeper_than_package_room_module():
    assert [module for module in MODULES if module.count("/") > 1] == []


@pytest.mark.parametrize(
    ("source", "size", "count"),
    [
        pytest.param("def f(): pass", 1, 0, id="one line"),
        pytest.param('def f():\n  """Says\n\n  much.\n  """\n  return 1', 2, 0, id="a docstring is free"),
        pytest.param("class C:\n  def f(self, a, /, b, *c, d=1, **e):\n    pass", 2, 3, id="every kind of parameter"),
        pytest.param("try: pass\nexcept E:\n  if 1:\n    async def f(): pass", 1, 0, id="a function anywhere"),
    ],
)
def test_the_measures_measure(source, size, count):
    (function,) = functions(ast.parse(source)).values()
    assert (lines(function), parameters(function)) == (size, count)
