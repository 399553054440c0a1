"""Which files are cases of a plugin: ``prompt.md`` and ``case.yaml`` in a folder below the plugin's eval folder."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.documents.skill_files import IN_RESULTS, PLUGIN_MANIFESTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.suite import NotASuite

PROMPT, SETTINGS = "prompt.md", "case.yaml"
DEFAULT_FOLDER = "evals"
_NAME = re.compile(r"(^|/)(prompt\.md|case\.ya?ml)$", re.IGNORECASE)
_MANIFEST = re.compile(r"(^|/)plugin\.json$", re.IGNORECASE)
_PLUGIN_KEY = re.compile(r"^(schema_version|execution|context|graders)[ \t]*:", re.MULTILINE)


def named(path: str) -> bool:
    """Whether a file is called like a part of a case. Only ``part_of`` knows whether it is one."""
    return _NAME.search(path) is not None and IN_RESULTS.search(path) is None


def accepts(path: str, head: str) -> bool:
    """Whether a file may be a part of a case: a ``case.yaml`` of other tools has none of the keys."""
    if _MANIFEST.search(path):
        return True
    return named(path) and (path.lower().endswith(".md") or _PLUGIN_KEY.search(head) is not None)


def rejection(path: str, head: str) -> NotASuite | None:  # noqa: ARG001 - the same for all files
    """No file of such a name is a near miss: other programs have files of the same names."""
    return None


def part_of(path: str, read: Callable[[str], str | None]) -> str | None:
    """The manifest of the plugin that a case file belongs to; None: it belongs to none.

    ``path`` is relative to the repository; ``read`` gives the beginning of a file there, None if there is none. A file
    below another case is none of its own.
    """
    folder = PurePosixPath(path).parent
    for plugin in (folder, *folder.parents):
        for manifest in PLUGIN_MANIFESTS:
            name = str(plugin / manifest)
            if (text := read(name)) is not None:
                roots = [str(plugin / root) for root in eval_folders(text)]
                below = any(str(folder).startswith(f"{root}/") for root in roots)
                return name if below and not _is_in_case(folder, roots, read) else None
    return None


def _is_in_case(folder: PurePosixPath, roots: list[str], read: Callable[[str], str | None]) -> bool:
    """Whether a folder above, below the eval folders, is a case."""
    above = (parent for parent in folder.parents if any(str(parent).startswith(f"{root}/") for root in roots))
    return any(
        (text := read(f"{parent}/{name}")) is not None and accepts(f"{parent}/{name}", text)
        for parent in above
        for name in (PROMPT, SETTINGS)
    )


def eval_folders(manifest: str) -> tuple[str, ...]:
    """The eval folders that a ``plugin.json`` names, relative to the plugin; without one, or a broken file, ``evals``.

    Those that ``unusable_folders`` returns are left out.
    """
    named_folders = _named_folders(manifest)
    usable = [str(PurePosixPath(text)) for text in named_folders if isinstance(text, str) and _is_inside(text)]
    return tuple(usable) or (DEFAULT_FOLDER,)


def unusable_folders(manifest: str) -> tuple[object, ...]:
    """What a ``plugin.json`` names as its eval folders that is not a folder in the plugin."""
    return tuple(one for one in _named_folders(manifest) if not (isinstance(one, str) and _is_inside(one)))


def _is_inside(text: str) -> bool:
    path = PurePosixPath(text)
    return bool(text.strip("./ ")) and not path.is_absolute() and ".." not in path.parts


def _named_folders(manifest: str) -> list[object]:
    """What is under ``experimental.evals``; nothing if that is not set, or in a broken file."""
    try:
        value = json.loads(manifest.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return []
    experimental = value.get("experimental") if isinstance(value, dict) else None
    found = experimental.get("evals") if isinstance(experimental, dict) else None
    return [] if found is None else found if isinstance(found, list) else [found]
