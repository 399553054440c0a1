"""The files of a case: frontmatter and body of ``prompt.md``, ``case.yaml``, and the files of its graders."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.documents.documents import read_document
from skillgym_action.documents.suite_values import SuiteValue
from skillgym_action.documents.user_files import kind_of, read_text
from skillgym_action.limits import MAX_PLUGIN_CASE_GRADERS
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.plugin_evals.suite_names import PROMPT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.documents.user_files import Opener

_OPEN = re.compile(r"\A---[ \t]*(?:\n|\Z)")
_CLOSE = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)
_CASE_YAML = ("case.yaml", "case.yml")
GRADERS, MOCKS = "graders", "mocks"


@dataclass(frozen=True, kw_only=True)
class PluginFiles:
    """What may be read for the suite of a plugin. ``plugin``: its folder; ``root``: of the repository, absolute.

    ``refusal``: why a folder must not be read, such as a link on the way to it; None if it may.
    """

    plugin: Path
    root: Path
    opener: Opener | None
    refusal: Callable[[Path], str | None]

    def shown(self, path: Path) -> str:
        """The path in messages: relative to the repository, if it is in it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def text(self, file: Path) -> str:
        """The text of a file. Raises SuiteError, also for what is not a regular file of the repository."""
        return read_text(file, path=self.shown(file), error=SuiteError, opener=self.opener)


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseFiles:
    """A case as it is written. ``settings``: ``case.yaml``; ``prompt``: the frontmatter of ``prompt.md``; None: none.

    ``body``: of ``prompt.md``; ``graders``: those in files, each with its body.
    """

    folder: Path
    settings: SuiteValue | None
    prompt: SuiteValue | None
    body: str
    graders: tuple[tuple[SuiteValue, str, str], ...]

    @property
    def location(self) -> Location:
        """Where the case begins."""
        return (self.prompt or self.settings or self.graders[0][0]).location


def read_case(folder: Path, files: PluginFiles) -> CaseFiles:
    """The files of the case in a folder. Raises SuiteError."""
    settings = next((folder / name for name in _CASE_YAML if kind_of(folder / name)), None)
    frontmatter, body = None, ""
    if kind_of(folder / PROMPT):
        frontmatter, body = _with_frontmatter(folder / PROMPT, files)
    return CaseFiles(
        folder=folder,
        settings=_document(files.text(settings), files.shown(settings)) if settings else None,
        prompt=frontmatter,
        body=body,
        graders=tuple(_graders(folder / GRADERS, files)),
    )


def _graders(folder: Path, files: PluginFiles) -> list[tuple[SuiteValue, str, str]]:
    """Frontmatter, body and name of each grader. Raises SuiteError."""
    if not kind_of(folder):
        return []
    if refused := files.refusal(folder):
        raise _problem(files.shown(folder), refused, "keep the graders in the case's folder")
    try:
        names = list(islice((entry.name for entry in folder.iterdir()), MAX_PLUGIN_CASE_GRADERS + 1))
    except OSError as error:
        raise _problem(files.shown(folder), f"cannot be listed: {error.strerror}", "make it a folder") from error
    if len(names) > MAX_PLUGIN_CASE_GRADERS:
        message = f"has more than {MAX_PLUGIN_CASE_GRADERS:,} entries"
        raise _problem(files.shown(folder), message, "keep nothing but the case's graders there")
    found = []
    for name in sorted(names):
        if name.endswith(".md"):
            frontmatter, body = _with_frontmatter(folder / name, files)
            found.append((frontmatter, body, name.removesuffix(".md")))
    return found


def _with_frontmatter(file: Path, files: PluginFiles) -> tuple[SuiteValue, str]:
    """The frontmatter, an empty mapping if there is none, and the text after it. Raises SuiteError."""
    text, shown = files.text(file), files.shown(file)
    opened = _OPEN.match(text)
    if opened is None:
        return _document("{}", shown), text
    closed = _CLOSE.search(text, opened.end())
    if closed is None:
        raise _problem(shown, "the frontmatter is not closed", "end it with a line ---")
    frontmatter = text[opened.end() : closed.start()]
    return _document(frontmatter, shown, line=2), text[closed.end() :]


def _document(text: str, path: str, line: int = 1) -> SuiteValue:
    document = read_document(text, path=path, kind="yaml", error=SuiteError, line=line)
    value = SuiteValue(source=document, value=document.value)
    if document.value is None:
        return replace(value, value={})
    value.mapping()
    return value


def _problem(path: str, message: str, remedy: str) -> SuiteError:
    problem = Problem(message=message, location=Location(path=path), remedy=remedy)
    return SuiteError(message, problems=(problem,))
