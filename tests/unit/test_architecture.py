"""What the import contracts in pyproject.toml cannot say: sizes and names."""

from __future__ import annotations

import ast
import re
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from paths import REPOSITORY

PACKAGE = REPOSITORY / "src" / "skillgym_action"
MODULES = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
FOR_NODE = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.mjs")}
# How much there is at most. A change that makes it less lowers the number; one that needs more removes something else.
MOST = {
    "modules": 443,
    "classes": 1_070,
    "packages": 16,
    "arrows between packages": 120,
    "calls of open": 176,
}
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


def imported(module: str) -> set[str]:
    """The files below the package that a file imports: everywhere in it, also for type checking."""
    files = set[str]()
    for node in ast.walk(ast.parse(MODULES[module])):
        if isinstance(node, ast.Import) and PACKAGE.name in {name.name.split(".")[0] for name in node.names}:
            raise AssertionError(
                f"{module}:{node.lineno}: write `from {PACKAGE.name}… import …`, so that one file is named"
            )
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE.name:
            inside = (node.module or "").replace(".", "/").removeprefix(PACKAGE.name).strip("/")
            for name in node.names:
                places = (f"{inside}/{name.name}", inside, f"{inside}/{name.name}/__init__", f"{inside}/__init__")
                files.add(next(file for place in places if (file := f"{place.strip('/')}.py") in MODULES))
    return files - {module}


def measured() -> dict[str, int]:
    """What ``MOST`` limits."""
    trees = {module: ast.parse(source) for module, source in MODULES.items() if not module.endswith("__init__.py")}
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    tops = {module: module.split("/")[0].removesuffix(".py") for module in MODULES}
    arrows = {(tops[module], tops[other]) for module in MODULES for other in imported(module)}
    opens = [node for node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "open"]
    return {
        "modules": len(trees),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "packages": len({module.split("/")[0] for module in MODULES if "/" in module}),
        "arrows between packages": sum(module != other for module, other in arrows),
        "calls of open": len(opens),
    }


@pytest.mark.slow
def test_nothing_grows():
    assert {name: number for name, number in measured().items() if number > MOST[name]} == {}


def test_no_circle_of_files():
    graph = {module: imported(module) for module in MODULES}
    assert sum(map(len, graph.values())) > 2_000
    TopologicalSorter(graph).prepare()  # raises CycleError with the files of a circle


def test_a_module_has_at_most_800_lines():
    sizes = {module: len(source.splitlines()) for module, source in (MODULES | FOR_NODE).items()}
    assert {module: size for module, size in sizes.items() if size > 800} == {}


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


def test_classes_are_records():
    """The other decorators of classes compile methods that most runs never call (docs/adr/0019)."""
    others = re.compile(
        r"^ *(?:from dataclasses import .*\b(?:make_)?dataclass\b|import (?:dataclasses|attrs?)\b)", re.MULTILINE
    )
    alone = "workspaces/closed_path_records.py"  # also a program that is started without the package
    assert {module for module, source in MODULES.items() if others.search(source)} == {"model/records.py", alone}


def test_a_limit_stands_where_it_is_applied():
    """``model/limits`` has those that several modules use, each once."""
    limits = "model/limits.py"
    assigned = [node for node in ast.parse(MODULES[limits]).body if isinstance(node, ast.Assign)]
    names = [target.id for node in assigned for target in node.targets]
    used = Counter(
        word
        for module, source in MODULES.items()
        for word in set(re.findall(r"\b[A-Z][A-Z_]+\b", source))
        if module != limits
    )
    assert len(names) == len(set(names))
    assert [name for name in names if used[name] < 2] == []


def test_one_function_suggests_a_word():
    """Only model/errors.py may word the remedy: so it is the same everywhere, and no code reads it back."""
    assert [name for name, source in MODULES.items() if "did you mean" in source] == ["model/errors.py"]


def test_every_name_of_a_module_says_what_is_in_it():
    words = {module: set(re.split("[_-]", Path(module).stem)) for module in MODULES | FOR_NODE}
    assert {module for module, parts in words.items() if parts & SAYING_NOTHING} == set()


def test_the_tree_is_no_deeper_than_package_family_room_module():
    assert [module for module in MODULES if module.count("/") > 3] == []


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
