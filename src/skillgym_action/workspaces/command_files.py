"""Files of the repository that command lines name: the programs of hooks, graders and agents, and their arguments."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.hooks import Hooks
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.suite import WorkspaceSpec

_WORD = re.compile(r"[^\s'\"`;|&<>(){}=,$]+")
_PROGRAM = re.compile(r"\.(?:[cm]?[jt]sx?|py|sh|bash|rb|go|rs|pl|php|lua)$", re.IGNORECASE)
_DEEPEST = 20  # of values in each other


def is_program(path: str) -> bool:
    """Whether a file is called like a program, which may load its neighbours."""
    return _PROGRAM.search(path) is not None


def named_files(argv: Iterable[str], *folders: Path) -> Iterator[Path]:
    """Files that words of a command line name, and folders below those of ``folders``.

    A command that is text for a shell is searched word by word. Relative names are looked up in ``folders``; without
    one only absolute names count.
    """
    for part in argv:
        for word in dict.fromkeys((part, *_WORD.findall(part))):
            places = (Path(word),) if word.startswith("/") else tuple(folder / word for folder in folders)
            for place in dict.fromkeys(map(os.path.normpath, places)):
                found = Path(place)
                with suppress(OSError, ValueError):
                    is_inner = found.is_dir() and not any(folder.is_relative_to(found) for folder in folders)
                    if found.is_file() or (is_inner and "/" in word):
                        yield found


def files_of_workspace(spec: WorkspaceSpec, folder: Path) -> Iterator[Path]:
    """Files that the bootstrap command and the hooks of a workspace name. ``folder``: that of the suite."""
    if spec.bootstrap:  # it runs in the workspace: relative names are those of files there
        yield from named_files(spec.bootstrap.argv)
    yield from files_of_hooks(spec.hooks, folder)


def files_of_hooks(hooks: Hooks, folder: Path) -> Iterator[Path]:
    """Files that the commands of hooks name."""
    for hook in (*hooks.before_all, *hooks.before_each, *hooks.after_each, *hooks.after_all):
        yield from named_files(hook.argv, *((hook.cwd,) if hook.cwd else ()), folder)


def files_of_agent(agent: AgentConfig, folders: tuple[Path, ...]) -> Iterator[Path]:
    """Files that the command line of an agent names, and the recordings that it replays."""
    recordings = (agent.sessions,) if agent.sessions else ()
    yield from named_files((*agent.command, *agent.command_args), *folders)
    for folder in folders:
        with suppress(OSError, ValueError):
            yield from (folder / name for name in recordings if (folder / name).exists())


def files_of_value(value: object, depth: int = 0) -> Iterator[Path]:
    """Files that an assertion names: paths in it, and the words of the programs that it starts."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Path):
        with suppress(OSError, ValueError):
            if value.is_file():
                yield value
        return
    if is_dataclass(value) and not isinstance(value, type):
        yield from _named_by(value)
    for part in _parts(value):
        yield from files_of_value(part, depth + 1)


def _named_by(value: object) -> Iterator[Path]:
    """Files that the command line of a program or of a command in the workspace names."""
    argv, command = getattr(value, "argv", None), getattr(value, "command", None)
    folders = (getattr(value, "cwd", None), getattr(value, "folder", None))
    if isinstance(argv, tuple):
        yield from named_files(map(str, argv), *(folder for folder in folders if isinstance(folder, Path)))
    elif isinstance(command, str):
        yield from named_files((command,))


def _parts(value: object) -> Iterable[object]:
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | set | frozenset) else ()
