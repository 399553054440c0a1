"""Where the files of a promoted case are, and how they are written: never outside, never over what is there.

Beside the suite ``core.bench.json`` the folder ``core.bench.json.template`` has the files that workspaces are copies
of, and ``core.bench.json.recordings`` the recorded sessions.
"""

from __future__ import annotations

import os
import posixpath
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.filesystem.descriptor_walk import FOLDER_FLAGS
from skillgym_action.filesystem.folder import Folder
from skillgym_action.model.errors import OutputError, UsageError
from skillgym_action.promotion.file_trees import is_inside
from skillgym_action.repository.checkout import folder_to_write_in
from skillgym_action.repository.reference_solutions import recordings_folder, template_folder

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.promotion.file_trees import FileTree
    from skillgym_action.repository.checkout import Checkout

_RECORDING, _TEMPLATE, _SUITE = "recording", "template", "suite"  # names in the folder of what is unfinished


@dataclass(frozen=True, kw_only=True, slots=True)
class PromotedFiles:
    """What is to be written beside the suite ``file``. ``shown``: how messages name it.

    ``adds``: the file is there, and gets one case more; its other content is part of ``text``. ``recording``: the
    folder of the session below that of recordings.
    """

    file: Path
    shown: str
    text: str
    template: FileTree | None
    recording: str
    recorded: FileTree
    adds: bool = False

    def write(self, checkout: Checkout, *, force: bool) -> None:
        """Write all of it, beside what is there, which it replaces at the end.

        Raises UsageError if something is there and not ``force``, and OutputError; both leave what is there.
        """
        names = self._names()
        try:
            with ExitStack() as stack:
                above = Folder(stack.enter_context(folder_to_write_in(self.file, checkout)))
                there = [name for name in names if above.mode(name) is not None]
                if there and not force:
                    folder = posixpath.dirname(self.shown)
                    listed = ", ".join(posixpath.join(folder, name) for name in there)
                    raise UsageError(
                        f"{listed}: something is there already",
                        remedy="choose --to or --id, or replace it with --force",
                    )
                unfinished = template_folder(f".{os.urandom(8).hex()}.json")  # where no suite is looked for
                stack.callback(above.remove, [unfinished])
                self._write_below(above, unfinished)
                self._replace(above, there, unfinished)
        except OSError as error:
            raise OutputError(f"cannot write {self.shown}: {error.strerror or error}") from error

    def _names(self) -> list[str]:
        """What must not be there before: paths in the folder of the suite."""
        names = [f"{recordings_folder(self.file.name)}/{self.recording}"]
        names += [template_folder(self.file.name)] if self.template is not None else []
        return [*names, *([] if self.adds else [self.file.name])]

    def _write_below(self, above: Folder, unfinished: str) -> None:
        """Write all in a folder, each under its own name. Raises OSError."""
        self._write_tree(above, f"{unfinished}/{_RECORDING}", self.recorded)
        if self.template is not None:
            self._write_tree(above, f"{unfinished}/{_TEMPLATE}", self.template)
        mode = (above.mode(self.file.name) or 0o644) & 0o777
        above.write(f"{unfinished}/{_SUITE}", self.text.encode("utf-8", "surrogateescape"), mode)

    def _replace(self, above: Folder, there: list[str], unfinished: str) -> None:
        """Put what is in a folder in its places. Raises OSError."""
        places = {_RECORDING: f"{recordings_folder(self.file.name)}/{self.recording}"}
        places |= {_TEMPLATE: template_folder(self.file.name)} if self.template is not None else {}
        folder = posixpath.dirname(places[_RECORDING])
        above.make_folder(folder)
        with ExitStack() as stack:
            opened = {"": above.fd, folder: _opened(above, folder), unfinished: _opened(above, unfinished)}
            for descriptor in (opened[folder], opened[unfinished]):
                stack.callback(os.close, descriptor)
            above.remove(there)
            for name, place in (places | {_SUITE: self.file.name}).items():
                parent, _, last = place.rpartition("/")
                os.replace(name, last, src_dir_fd=opened[unfinished], dst_dir_fd=opened[parent])

    @staticmethod
    def _write_tree(above: Folder, name: str, tree: FileTree) -> None:
        """Write files below a folder. Raises OSError, also for a path that leads out of it."""
        above.make_folder(name)
        for path, file in sorted(tree.items()):
            if not is_inside(path):
                raise OSError(None, f"the path {path!r} leads out of {name}")
            if file.link is None:
                above.write(f"{name}/{path}", file.content, file.mode)
        links = [(path, file.link) for path, file in sorted(tree.items()) if file.link is not None]
        for path, target in links:  # last: no file is written through one
            folder, _, last = path.rpartition("/")
            above.make_folder(f"{name}/{folder}")
            descriptor = _opened(above, f"{name}/{folder}")
            try:
                os.symlink(target, last, dir_fd=descriptor)
            finally:
                os.close(descriptor)


def _opened(above: Folder, path: str) -> int:
    """A descriptor of a folder below another one, with no link on the way. Raises OSError."""
    descriptor = os.dup(above.fd)
    for part in filter(None, path.split("/")):
        try:
            below = os.open(part, FOLDER_FLAGS, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor
