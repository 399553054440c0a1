"""Measures the structure of the package; ``python -m bench.structure OTHER_CHECKOUT`` puts two side by side.

A room is a package or a module at the top. Imports of types count.
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = "skillgym_action"
OWN_WORDS = re.compile(r"(?<![\w-])(told|held|ours|strangers?|mended|withheld)(?![\w-])", re.IGNORECASE)
QUOTED = re.compile(r"```.*?```|`[^`\n]*`|\"[^\"\n]*\"", re.DOTALL)


def modules_of(checkout: Path) -> dict[str, str]:
    """The source of each module, by its path in the package."""
    folder = checkout / "src" / PACKAGE
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}


def room_of(module: str) -> str:
    """The package below the root, or the module itself."""
    return module.removeprefix(PACKAGE).lstrip(".").split(".")[0]


def imports_of(checkout: Path) -> list[tuple[str, str]]:
    """Pairs of modules, the importing one first."""
    code = (
        "import grimp, json\n"
        f"graph = grimp.build_graph({PACKAGE!r}, exclude_type_checking_imports=False, cache_dir=None)\n"
        "print(json.dumps([(m, i) for m in graph.modules for i in graph.find_modules_directly_imported_by(m)]))"
    )
    environment = {"PYTHONPATH": str(checkout / "src"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=True, capture_output=True, text=True)
    return [(one, other) for one, other in json.loads(done.stdout)]


def room_arrows(imports: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Pairs of different rooms of which the first imports the second."""
    pairs = {(room_of(one), room_of(other)) for one, other in imports}
    return {(one, other) for one, other in pairs if one and other and one != other}


def mutual(arrows: set[tuple[str, str]]) -> set[frozenset[str]]:
    """Rooms that reach each other."""
    reached: dict[str, set[str]] = {}
    for start in {one for one, _ in arrows}:
        seen, todo = set(), [start]
        while todo:
            room = todo.pop()
            found = {other for one, other in arrows if one == room} - seen
            seen |= found
            todo += found
        reached[start] = seen
    return {frozenset((one, other)) for one in reached for other in reached[one] if one in reached.get(other, ())}


def docstrings(source: str) -> Iterator[str]:
    """Of the module, its classes and functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield text


def comment_lines(source: str) -> int:
    """Comments, without those that are for a linter."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type == tokenize.COMMENT and "noqa" not in token.string for token in tokens)


def public_classes(sources: dict[str, str]) -> Counter[str]:
    """How many modules define a public class of each name."""
    names = (
        {node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"}
        for source in sources.values()
    )
    return Counter(name for one in names for name in one)


def own_words(checkout: Path, sources: dict[str, str]) -> int:
    """Words of our own in source and documentation, outside of quotations."""
    paths = [*(checkout / "docs").rglob("*.md"), *checkout.glob("*.md"), *(checkout / "src").rglob("*.mjs")]
    texts = [*sources.values(), *(QUOTED.sub("", path.read_text(encoding="utf-8")) for path in paths)]
    return sum(len(OWN_WORDS.findall(re.sub(r"_", " ", text))) for text in texts)


def figures(checkout: Path) -> dict[str, str]:
    """Rows of the table."""
    sources, imports = modules_of(checkout), imports_of(checkout)
    arrows, everything = room_arrows(imports), [text for source in sources.values() for text in docstrings(source)]
    lines = sum(len(source.splitlines()) for source in sources.values())
    importers = Counter(other for _, other in {(one, other) for one, other in imports})
    rooms = {path.split("/")[0] for path in sources} - {"__init__.py"}
    one_line = sum("\n" not in text for text in everything)
    return {
        "modules": str(len([path for path in sources if not path.endswith("__init__.py")])),
        "lines": f"{lines:,}",
        "rooms": str(len(rooms)),
        "arrows between rooms": str(len(arrows)),
        "pairs of rooms that reach each other": str(len(mutual(arrows))),
        "public class names in two modules": str(sum(number > 1 for number in public_classes(sources).values())),
        "words of our own": str(own_words(checkout, sources)),
        "modules with one importer": str(sum(number == 1 for number in importers.values())),
        "docstrings of one line": f"{one_line} of {len(everything)}",
        "comment lines per 1,000": f"{1000 * sum(map(comment_lines, sources.values())) / lines:.0f}",
    }


def main() -> None:
    """Print the table."""
    columns = [figures(Path(folder).resolve()) for folder in (*sys.argv[1:], ".")]
    for name in columns[0]:
        print(f"{name:40}" + "".join(f"{column[name]:>16}" for column in columns))


if __name__ == "__main__":
    main()
