"""Texts and files of a session without secrets and without the private paths of the machine that it ran on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.promotion.file_trees import FileTree, PromotedFile
    from skillgym_action.text.redaction import Leak, Redactor

HOME = "/home/user"
"""Takes the place of all home folders."""
_HOMES = re.compile(r"(?:/home|/Users)/(?!user(?![\w.-]))[\w.-]+|/root(?![\w.-])|[A-Za-z]:\\{1,2}Users\\{1,2}[\w.-]+")


@dataclass(kw_only=True, slots=True)
class CleanTexts:
    """Takes out what must not be committed. ``folder``: where the session worked; ``home``: the user's, "" for none.

    ``keys``: what was taken out, by where it was; ``private``: how many paths of home folders were replaced.
    """

    redactor: Redactor
    folder: str = ""
    home: str = ""
    keys: dict[str, set[Leak]] = field(default_factory=dict)
    private: int = 0

    def text(self, text: str, where: str, workspace: str = "/workspace") -> str:
        """The text; the session's folder becomes ``workspace``, which is "" in prompts: paths become relative."""
        text = self._redacted(text, where)  # before paths are replaced: a key with one in it would no longer be one
        if len(self.folder) > 1 and self.folder in text:
            text = _moved(text, self.folder, workspace)
        if len(self.home) > 1:
            text = self._without_home(text)
        text, homes = _HOMES.subn(HOME, text)
        self.private += homes
        return text

    def _without_home(self, text: str) -> str:
        text, homes = re.subn(rf"{re.escape(self.home)}(?![\w.-])", HOME, text)
        self.private += homes if self.home != HOME else 0
        return text

    def value(self, value: object, where: str) -> object:
        """A JSON value with all of its texts, also keys, made clean."""
        if isinstance(value, str):
            return self.text(value, where)
        if isinstance(value, list):
            return [self.value(item, where) for item in value]
        if isinstance(value, dict):
            return {self.text(key, where): self.value(item, where) for key, item in value.items()}
        return value

    def tree(self, tree: FileTree, where: str, *, paths: bool) -> FileTree:
        """Files without secrets, those with one in their name left out; with ``paths`` also without private paths."""
        clean: FileTree = {}
        for path, file in tree.items():
            if self._redacted(path, where) != path or (file.link and self._redacted(file.link, where) != file.link):
                continue
            clean[path] = self._file(file, f"{where}/{path}", paths=paths)
        return clean

    def _file(self, file: PromotedFile, where: str, *, paths: bool) -> PromotedFile:
        if b"\0" in file.content[:8192]:  # bytes of a program or a picture; only whole keys are looked for
            text = file.content.decode("utf-8", "surrogateescape")
            return replace(file, content=self._redacted(text, where).encode("utf-8", "surrogateescape"))
        text = file.content.decode("utf-8", "surrogateescape")
        clean = self.text(text, where, self.folder) if paths else self._redacted(text, where)
        return file if clean == text else replace(file, content=clean.encode("utf-8", "surrogateescape"))

    def _redacted(self, text: str, where: str) -> str:
        found: set[Leak] = set()
        clean = self.redactor.text(text, found)
        if clean != text:
            self.keys.setdefault(where, set()).update(found)
        return clean


def _moved(text: str, folder: str, workspace: str) -> str:
    """The text with a folder renamed; without a name for it, what is in it has a relative path."""
    start = re.escape(folder)
    if workspace:
        return re.sub(rf"{start}(?![\w-])", lambda _: workspace, text)
    text = re.sub(rf"{start}/(?=\.?[\w@-])", "", text)
    return re.sub(rf"{start}(?!\.?[\w-])/?", "./", text)
