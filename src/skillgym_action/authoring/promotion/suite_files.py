"""The text and the files of a promoted case, and writing them: never outside, never over what is there.

Beside the suite ``core.bench.json`` the folder ``core.bench.json.template`` has the files that workspaces are copies
of, and ``core.bench.json.recordings`` the recorded sessions.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING

from skillgym_action.authoring.promotion.files import is_inside
from skillgym_action.model.errors import OutputError, Problem, UsageError
from skillgym_action.model.records import record
from skillgym_action.system.files.checkout import folder_to_write_in
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.text.documents.documents import read_document
from skillgym_action.workspaces.repository.reference_solutions import recordings_folder, template_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from skillgym_action.authoring.promotion.files import FileTree
    from skillgym_action.system.files.checkout import Checkout

_RECORDING, _TEMPLATE, _SUITE = "recording", "template", "suite"  # names in the folder of what is unfinished


@record
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


DRAFT = "x-drafted"
ORIGIN = "x-promoted"
_INDENT = re.compile(r"\n([ \t]+)[\"}]")


def case_section(
    case_id: str,
    prompt: str,
    *,
    kept: Sequence[object],
    drafted: Sequence[str],
    settings: Mapping[str, object],
    origin: Mapping[str, object],
) -> dict[str, object]:
    """A case as the file has it. ``x-drafted`` lists the expectations that a person still has to look at."""
    section: dict[str, object] = {"id": case_id, "prompt": prompt, **settings, "expect": [*kept, *drafted]}
    section[ORIGIN] = dict(origin)
    if drafted:
        section[DRAFT] = list(drafted)
    return section


def new_suite(name: str, case: Mapping[str, object], template: str | None, bootstrap: object = None) -> str:
    """The text of a suite with one case. ``template``: the folder, relative to the file."""
    workspace = {**({"templateDir": template} if template else {}), **({"bootstrap": bootstrap} if bootstrap else {})}
    suite = {
        "name": name,
        "description": "Promoted from sessions. Expectations that x-drafted lists are drafts: check each, then remove "
        "it from that list.",
        **({"workspace": workspace} if workspace else {}),
        "cases": [case],
    }
    return f"{json.dumps(suite, indent=2, ensure_ascii=False)}\n"


def refuse_other_cases(text: str, path: str, case_id: str) -> None:
    """Raise UsageError for a suite that has other cases than the one: an earlier promotion made one case alone."""
    value = read_document(text.removeprefix("\ufeff"), path=path, kind="json", error=UsageError).value
    cases = value.get("cases") if isinstance(value, dict) else None
    others = len([one for one in cases if not isinstance(one, dict) or one.get("id") != case_id]) if cases else 0
    if others:
        raise UsageError(
            f"{path} has {others:,} more {'case' if others == 1 else 'cases'}, which --force would remove",
            remedy="choose --to or --id; to replace it, remove it first",
        )


def with_case(text: str, path: str, case: Mapping[str, object]) -> str:
    """The suite with one case more, after the last one; every other character stays. Raises UsageError."""
    body = text.removeprefix("\ufeff")
    document = read_document(body, path=path, kind="json", error=UsageError)
    cases = document.value.get("cases") if isinstance(document.value, dict) else None
    if not isinstance(cases, list) or not cases:
        raise UsageError.of(
            Problem(
                message="has no cases after which one could be added",
                location=document.locate(()),
                key_path="cases",
                remedy="name another file with --to",
            )
        )
    for index, other in enumerate(cases):
        if isinstance(other, dict) and other.get("id") == case["id"]:
            raise UsageError.of(
                Problem(
                    message=f"there is a case {case['id']} already",
                    location=document.locate(("cases", index, "id")),
                    key_path=f"cases[{index}].id",
                    remedy="choose another id with --id",
                )
            )
    start = document.located.offset(("cases", len(cases) - 1))
    if start is None:
        raise UsageError(f"{path}: it is not known where the last case is", remedy="name another file with --to")
    _, end = json.JSONDecoder().raw_decode(body, start)
    line = body[body.rfind("\n", 0, start) + 1 : start]
    indent = line if not line.strip() else ""
    return f"{text[: len(text) - len(body)]}{body[:end]},{_added(case, body, indent)}{body[end:]}"


def _added(case: Mapping[str, object], body: str, indent: str) -> str:
    """The case in the indentation of the file; on one line in a file that is one."""
    found = _INDENT.search(body)
    if found is None:
        return f" {json.dumps(case, ensure_ascii=False)}"
    lines = json.dumps(case, indent=found[1], ensure_ascii=False).split("\n")
    newline = "\r\n" if "\r\n" in body else "\n"
    return f"{newline}{indent}{f'{newline}{indent}'.join(lines)}"
