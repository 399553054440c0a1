"""The folder with a user's report templates, read once, before anything runs.

A commit can put anything into that folder. Hence it is walked one component at a time by descriptors, no symbolic link
is followed, and nothing but regular files is opened. What is rendered later is what was read here.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from skillgym_action.filesystem.descriptor_walk import FILE_FLAGS, FOLDER_FLAGS
from skillgym_action.limits import (
    MAX_TEMPLATE_BYTES,
    MAX_TEMPLATE_FILES,
    MAX_TEMPLATE_LEVELS,
    MAX_TEMPLATES_BYTES,
)
from skillgym_action.model.errors import ConfigError, Location, Problem, closest_match, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The templates that take part in a report, as far as the packaged ones are concerned.
PARTS = {
    "summary.md.j2": ("summary.md.j2",),
    "comment.md.j2": ("comment.md.j2", "summary.md.j2"),
    "running.md.j2": ("running.md.j2",),
    "report.html.j2": ("report.html.j2",),
}
_ONLY = "name a folder that contains only report templates"
_NO_LINKS = "use a real folder or file: links are not followed for report templates"


@dataclass(frozen=True, kw_only=True, slots=True)
class TemplateSources:
    """``texts``: the files by their path below ``folder``, with ``/``; None for a file that is not UTF-8.

    ``folder`` is as messages show it.
    """

    folder: str
    texts: Mapping[str, str | None]

    def replaces(self, name: str) -> bool:
        """Whether one of them takes part in the report that the packaged template of this name makes."""
        return any(part in self.texts for part in PARTS[name])


def template_sources(folder: Path, root: Path, *, committed: bool) -> TemplateSources:
    """The report templates in ``folder``.

    ``root`` is the checkout, without links in its path. ``committed``: a file of the checkout names the folder, which
    then may not lie outside. Raises ConfigError, also if no file in it replaces a template.
    """
    start, parts = _below(folder, root)
    inside = start == root
    shown = os.path.join("", *parts) or "." if inside else os.fspath(start)
    if committed and not inside:
        remedy = "move it into the repository, or name it with --template-dir"
        _refuse(shown, "the configuration names a folder of report templates outside the repository", remedy)
    if any(part.casefold() == ".git" for part in parts):
        _refuse(shown, "git's own folder contains no report templates", _ONLY)
    with ExitStack() as stack:
        descriptor = _opened(start, parts, stack)
        if descriptor is None:
            _refuse(shown, "there is no such folder of report templates", _similar_folder(folder))
        walk = _Walk(shown)
        walk.folder(descriptor, "", MAX_TEMPLATE_LEVELS)
    if not any(name in walk.texts for name in PARTS):
        _refuse(shown, "no file in this folder has the name of a report template", _similar_name(walk.texts))
    return TemplateSources(folder=shown, texts=walk.texts)


def _similar_folder(folder: Path) -> str:
    """A remedy that names the folder beside a missing one with the most similar name."""
    names: list[str] = []
    with suppress(OSError), os.scandir(folder.parent) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    otherwise = "create it, or leave out template-dir (report.templates in the configuration)"
    return suggestion(folder.name, names) or otherwise


def _similar_name(texts: Iterable[str]) -> str:
    """A remedy that names the known template with the most similar name to one of the files."""
    for path in sorted(texts):
        if meant := closest_match(path.rpartition("/")[2], PARTS):
            return f"rename {path!r} to {meant!r}" if "/" not in path else f"move {path!r} to {meant!r}"
    return f"known: {', '.join(PARTS)}"


def _below(folder: Path, root: Path) -> tuple[Path, tuple[str, ...]]:
    """``root`` and the components from there, where ``folder`` leads into the checkout; else ``folder`` and none."""
    place = Path(os.path.normpath(folder))
    for above in (*reversed(place.parents), place):
        real = Path(os.path.realpath(above))
        if real.is_relative_to(root):
            return root, (*real.relative_to(root).parts, *place.relative_to(above).parts)
    return place, ()


def _opened(start: Path, parts: tuple[str, ...], stack: ExitStack) -> int | None:
    """A descriptor of the folder; None if it does not exist. Raises ConfigError."""
    way = os.fspath(start) if not parts else ""
    try:
        descriptor = os.open(start, os.O_RDONLY | os.O_DIRECTORY)  # trusted: links may lead there
        stack.callback(os.close, descriptor)
        for part in parts:
            way = os.path.join(way, part)
            mode = os.stat(part, dir_fd=descriptor, follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                _refuse(way, "a symbolic link on the way to report templates", _NO_LINKS)
            descriptor = os.open(part, FOLDER_FLAGS, dir_fd=descriptor)
            stack.callback(os.close, descriptor)
    except FileNotFoundError:
        return None
    except OSError as error:
        _refuse(way, f"this folder of report templates cannot be read: {error.strerror}", _ONLY)
    return descriptor


@dataclass(slots=True)
class _Walk:
    """Reads a folder and those in it. Raises ConfigError."""

    shown: str
    texts: dict[str, str | None] = field(default_factory=dict)
    entries: int = 0
    size: int = 0

    def folder(self, descriptor: int, way: str, deeper: int) -> None:
        """Read all below ``way``, which ends with ``/`` unless it is empty."""
        for name in sorted(os.listdir(descriptor)):
            if name.casefold() == ".git":
                continue  # git's folder, where the templates lie at the top of a repository
            path = f"{way}{name}"
            self.entries += 1
            if self.entries > MAX_TEMPLATE_FILES:
                _refuse(self.shown, f"more than {MAX_TEMPLATE_FILES} files and folders", _ONLY)
            try:
                self._entry(descriptor, path, deeper)
            except OSError as error:
                self._refuse(path, f"this report template cannot be read: {error.strerror}", "make it readable")

    def _entry(self, descriptor: int, path: str, deeper: int) -> None:
        name = path.rpartition("/")[2]
        mode = os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode
        if stat.S_ISLNK(mode):
            self._refuse(path, "a symbolic link among the report templates", _NO_LINKS)
        if stat.S_ISDIR(mode):
            if not deeper:
                self._refuse(path, f"folders of report templates are at most {MAX_TEMPLATE_LEVELS} deep", _ONLY)
            inner = os.open(name, FOLDER_FLAGS, dir_fd=descriptor)
            try:
                self.folder(inner, f"{path}/", deeper - 1)
            finally:
                os.close(inner)
            return
        content = _content(name, descriptor) if stat.S_ISREG(mode) else None
        if content is None:
            self._refuse(path, "not a regular file among the report templates", _ONLY)
        self.size += len(content)
        if len(content) > MAX_TEMPLATE_BYTES:
            self._refuse(path, f"a report template has at most {MAX_TEMPLATE_BYTES:,} bytes", _ONLY)
        if self.size > MAX_TEMPLATES_BYTES:
            self._refuse(path, f"report templates have at most {MAX_TEMPLATES_BYTES:,} bytes together", _ONLY)
        try:
            self.texts[path] = content.decode()
        except UnicodeDecodeError:
            self.texts[path] = None  # an error only once it is rendered: it may be a picture

    def _refuse(self, path: str, message: str, remedy: str) -> NoReturn:
        _refuse(os.path.normpath(os.path.join(self.shown, path)), message, remedy)


def _content(name: str, folder: int) -> bytes | None:
    """Return the bytes of a regular file, at most one more than allowed; None if it is not a regular file any more."""
    descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
    with open(descriptor, "rb") as file:
        return file.read(MAX_TEMPLATE_BYTES + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _refuse(path: str, message: str, remedy: str) -> NoReturn:
    raise ConfigError.of(Problem(message=message, location=Location(path=path), remedy=remedy))
