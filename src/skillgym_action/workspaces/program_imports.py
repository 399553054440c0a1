"""The modules of the repository that a suite program imports, found in its text: nothing of it is executed.

What an import leads to that is not written as a name or a relative path is not found.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_SCRIPT_SUITE_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.system.files.checkout import Checkout

MAX_IMPORTED_MODULES = 1_000  # files of the repository that one suite program imports, directly or not
_PYTHON = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<package>\.*[\w.]*)[ \t]+import[ \t]+(?P<members>\([^)]{0,4000}|[^\n#]*)"
    r"|import[ \t]+(?P<names>[\w.]+(?:[ \t]+as[ \t]+\w+)?(?:[ \t]*,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*))",
    re.MULTILINE,
)
_NAME = re.compile(r"\w+")
_SCRIPT = re.compile(r"""(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*["'`](\.{1,2}/[^"'`\n]+)["'`]""")
_SCRIPT_ENDINGS = ("", ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js")
_OF_PYTHON = (".py",)


def imported_modules(file: Path, checkout: Checkout) -> tuple[Path, ...]:
    """The files in the checkout that the program imports, and those that these import, in the order they are found.

    At most ``MAX_IMPORTED_MODULES``.

    They are found in its text: nothing of it is executed. What an import leads to that is not written as a name or a
    relative path is not found.
    """
    found: dict[Path, None] = {}
    waiting = [file]
    while waiting and len(found) < MAX_IMPORTED_MODULES:
        current = waiting.pop()
        for module in _named_in(current, file.parent, checkout):
            if module not in found and module != file and _is_module(module, checkout):
                found[module] = None
                waiting.append(module)
    return tuple(found)


def _is_module(path: Path, checkout: Checkout) -> bool:
    with suppress(OSError, ValueError):
        return checkout.contains(path) and path.is_file()
    return False


def _named_in(file: Path, folder: Path, checkout: Checkout) -> Iterator[Path]:
    """Paths that the imports of a file may mean. ``folder``: that of the suite, where Python looks for modules."""
    text = ""
    with suppress(OSError), open(file, "rb", opener=checkout.opener(file)) as opened:
        text = opened.read(MAX_SCRIPT_SUITE_BYTES).decode("utf-8", "replace")
    if file.suffix in _OF_PYTHON:
        yield from _python_modules(text, file.parent, folder)
        return
    for match in _SCRIPT.finditer(text):
        target = os.path.normpath(file.parent / match[1])
        yield from (Path(f"{target}{ending}") for ending in _SCRIPT_ENDINGS)
        if target.endswith(("js", "jsx")):  # TypeScript's way to name a .ts
            stem, _, ending = target.rpartition(".")
            yield Path(f"{stem}.{ending.replace('js', 'ts')}")


def _python_modules(text: str, own: Path, folder: Path) -> Iterator[Path]:
    for match in _PYTHON.finditer(text):
        if match["names"]:
            for name in match["names"].split(","):
                yield from _module_files(folder, [part for part in name.split()[0].split(".") if part])
            continue
        package = match["package"]
        dots = len(package) - len(package.lstrip("."))
        start = own if dots else folder
        for _ in range(dots - 1):
            start = start.parent
        parts = [part for part in package.split(".") if part]
        yield from _module_files(start, parts)
        for member in _NAME.findall(match["members"]):
            yield from _module_files(start, [*parts, member])


def _module_files(start: Path, parts: list[str]) -> Iterator[Path]:
    """The file of a module, and those of the packages that it is in."""
    for number in range(1, len(parts) + 1):
        module = start.joinpath(*parts[:number])
        yield module / "__init__.py"
        if number == len(parts):
            yield module.with_name(f"{module.name}.py")
