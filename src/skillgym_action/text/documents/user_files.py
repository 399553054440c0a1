"""Files of users, read with caution: regular ones, of bounded size, in UTF-8. Anything else is an error that names it.

Reading a FIFO would block for ever, and ``/dev/zero`` would fill the memory; both can be called like a suite.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

from skillgym_action.model.errors import Location, Problem, SkillgymError
from skillgym_action.model.limits import MAX_SUITE_FILE_BYTES

Kind = Literal["file", "folder", "other"]
Opener = Callable[[str | Path, int], int]
"""An opener for ``open``: the descriptor of a regular file. Raises OSError for what must not be read."""
PLAIN_PATH = "name a path inside the repository, with no symbolic link and no .git on the way to it"
PLAIN_DIRECTORY = "agents work in a folder of the repository; only links that stay in it may lead there"
PLAIN_TEMPLATE = "a template is a folder of the repository, with no symbolic link on the way to it"


def read_bytes(
    file: Path,
    *,
    path: str,
    error: type[SkillgymError],
    largest: int = MAX_SUITE_FILE_BYTES,
    opener: Opener | None = None,
) -> bytes:
    """The content; messages call the file ``path``. Without ``opener`` links are followed. Raises ``error``."""
    location = Location(path=path)
    try:
        if opener is None and not stat.S_ISREG(file.stat().st_mode):
            raise error.of(Problem(message="is not a regular file", location=location))
        with open(file, "rb", opener=opener) as opened:
            content = opened.read(largest + 1)
            size = opened.seek(0, 2) if len(content) > largest else 0
    except OSError as trouble:
        raise error.of(Problem(message=f"cannot be read: {trouble.strerror}", location=location)) from trouble
    if len(content) > largest:
        message = f"too large: {max(size, len(content)):,} bytes; the limit is {largest:,}"
        raise error.of(Problem(message=message, location=location, remedy="split it into several files"))
    return content


def decoded(content: bytes, *, path: str, error: type[SkillgymError]) -> str:
    """The text, with a line feed as the only line end and without a byte order mark. Raises ``error``."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as trouble:
        message = f"not UTF-8 at byte {trouble.start}"
        problem = Problem(message=message, location=Location(path=path), remedy="save the file as UTF-8")
        raise error.of(problem) from trouble
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_text(
    file: Path,
    *,
    path: str,
    error: type[SkillgymError],
    largest: int = MAX_SUITE_FILE_BYTES,
    opener: Opener | None = None,
) -> str:
    """The text of a file. Raises ``error``."""
    return decoded(read_bytes(file, path=path, error=error, largest=largest, opener=opener), path=path, error=error)


def kind_of(file: Path) -> Kind | None:
    """What is at a path, through links; None if there is nothing, or the path is not valid."""
    try:
        mode = file.stat().st_mode
    except (OSError, ValueError):
        return None
    return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"


def skipped_link(path: Path, shown: str, wanted: Iterable[str] = ()) -> Problem | None:
    """The warning about a symbolic link that is skipped, though a suite may have meant it; None if there is none.

    That is a link to nothing, and one to a folder with a file that is called like one of ``wanted``.
    """
    if not path.is_symlink():
        return None
    kind, location = kind_of(path), Location(path=shown)
    if kind is None:
        message = f"skipped: {path.name} is a symbolic link that leads to nothing"
        return Problem(message=message, location=location, remedy="correct the link, or remove it")
    if kind != "folder" or not any(kind_of(path / name) == "file" for name in wanted):
        return None
    message = f"skipped: {path.name} is a symbolic link, which is not followed"
    return Problem(message=message, location=location, remedy="copy the folder, or remove the link")


def unread_twins(folder: Path, names: Iterable[str], shown: Callable[[Path], str]) -> Iterator[Problem]:
    """A warning for each file after the first of these names: only the first that a folder has is read."""
    there = [folder / name for name in names if kind_of(folder / name) == "file"]
    for file in there[1:]:
        message = f"is not read, since there is {shown(there[0])}"
        yield Problem(message=message, location=Location(path=shown(file)), remedy="keep one of them")


def missing_folder(folder: Path) -> str | None:
    """Why there is no folder at a path; None if there is one."""
    kind = kind_of(folder)
    return None if kind == "folder" else "there is no such folder" if kind is None else "is not a folder"


def resolved(file: Path) -> Path:
    """The path with symbolic links resolved; unchanged if they form a loop."""
    try:
        return file.resolve()
    except (OSError, RuntimeError, ValueError):
        return file
