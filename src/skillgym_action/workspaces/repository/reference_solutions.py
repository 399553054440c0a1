"""Folders beside a suite: reference solutions of its cases, for ``check --oracle``, and what `promote` writes.

Beside ``bench/core.json`` the folder ``bench/core.json.oracle`` has, for the case ``edit``, either ``edit.patch`` (a
unified diff) or the folder ``edit`` (files that replace those of the workspace), and perhaps ``edit.md`` (the final
answer). They are hidden from agents, and so are recorded sessions, in ``bench/core.json.recordings``.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.text.escaping import safe_name

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.system.files.checkout import Checkout

SUFFIX = ".oracle"
TEMPLATE_SUFFIX, RECORDINGS_SUFFIX = ".template", ".recordings"
_COMPANIONS = (SUFFIX, f".json{TEMPLATE_SUFFIX}", f".json{RECORDINGS_SUFFIX}")


def solutions_folder(suite_path: str) -> str:
    """The path of the folder with the reference solutions of a suite; it may not exist."""
    return f"{suite_path}{SUFFIX}"


def template_folder(suite_path: str) -> str:
    """The path of the folder with the template of a suite that `promote` wrote."""
    return f"{suite_path}{TEMPLATE_SUFFIX}"


def recordings_folder(suite_path: str) -> str:
    """The path of the folder with the recorded sessions of a suite; it may not exist."""
    return f"{suite_path}{RECORDINGS_SUFFIX}"


def is_in_companion(path: str) -> bool:
    """Whether a path of the repository is in a folder that belongs to a suite: no suite is looked for there."""
    return any(part.endswith(_COMPANIONS) for part in PurePosixPath(path).parts[:-1])


def solution_paths(folder: Path, case_id: str) -> tuple[Path, ...]:
    """The existing paths of the solution of a case; (): it has none. A dangling link counts."""
    name = safe_name(case_id)
    paths = (folder / f"{name}.patch", folder / name, folder / f"{name}.md")
    return tuple(path for path in paths if path.exists() or path.is_symlink())


def problem_with(paths: tuple[Path, ...], checkout: Checkout) -> str | None:
    """Why a solution cannot be used, if so: it leads through a link, or is a patch and a folder at once."""
    for path in paths:
        if checkout.contains(path) and (refused := checkout.refusal(path)):
            return refused
        if path.is_symlink():
            return f"{path.name} is a symbolic link"
    changing = [path.name for path in paths if path.suffix != ".md" or path.is_dir()]
    return f"there are two solutions, {' and '.join(changing)}" if len(changing) > 1 else None
