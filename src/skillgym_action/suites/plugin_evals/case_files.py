"""Where the cases of a plugin are, and their files: ``prompt.md``, ``case.yaml``, and those of the graders."""

from __future__ import annotations

import json
import posixpath
import re
from dataclasses import replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_PLUGIN_CASE_GRADERS
from skillgym_action.model.records import record
from skillgym_action.model.suite import Bootstrap, InputFile
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.skill_files import IN_RESULTS, PLUGIN_MANIFESTS
from skillgym_action.text.documents.user_files import kind_of, read_text, unread_twins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.model.suite import NotASuite, WorkspaceSpec
    from skillgym_action.text.documents.user_files import Opener

_OPEN = re.compile(r"\A---[ \t]*(?:\n|\Z)")
_CLOSE = re.compile(r"^---[ \t]*(?:\n|\Z)", re.MULTILINE)
GRADERS, MOCKS = "graders", "mocks"
_LIKE_GRADERS = (".md", ".mdx", ".markdown", ".yaml", ".yml")


@record(slots=False)
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


@record
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
    settings = next((folder / name for name in SETTINGS if kind_of(folder / name)), None)
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


def unread_files(folder: Path, files: PluginFiles) -> Iterator[Problem]:
    """Warnings about files of the case in a folder that seem to belong to it, but are not read."""
    yield from unread_twins(folder, SETTINGS, files.shown)
    inside = folder / GRADERS
    for file in sorted(inside.iterdir()) if kind_of(inside) == "folder" else ():
        if file.name.lower().endswith(_LIKE_GRADERS) and not file.name.endswith(".md"):
            message, remedy = "is not read: graders are files NAME.md", "rename it, or move it out of the folder"
            yield Problem(message=message, location=Location(path=files.shown(file)), remedy=remedy)


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


_EXECUTABLE = 0o111
_INSIDE = "name a path in the plugin, relative to the folder of the case"


@record(kw_only=False)
class CasePlaces:
    """The folder of a case, from which its paths start.

    They lead to files and folders of its plugin, and to nothing else.
    """

    folder: Path
    files: PluginFiles

    def path(self, value: SuiteValue, *, anywhere: bool = False) -> Path:
        """The absolute path that a value names, in the plugin, or ``anywhere`` in the repository.

        Raises SuiteError for one outside, or through a link.
        """
        text, top = value.as_text(), self.files.root if anywhere else self.files.plugin
        start = PurePosixPath(self.folder.relative_to(top).as_posix())
        inside = posixpath.normpath(start / text)
        if PurePosixPath(text).is_absolute() or "\0" in text or inside == ".." or inside.startswith("../"):
            raise value.error(f"leads out of the {'repository' if anywhere else 'plugin'}", _INSIDE)
        found = top / inside
        if refused := self.files.refusal(found):
            raise value.error(refused, _INSIDE)
        return found

    def text(self, value: SuiteValue) -> str:
        """The text of a file. Raises SuiteError."""
        file = self.path(value)
        if kind_of(file) != "file":
            raise value.error(f"there is no file {self.files.shown(file)}", _INSIDE)
        return self.files.text(file)

    def workspace(self, context: dict[str, SuiteValue], spec: WorkspaceSpec) -> WorkspaceSpec:
        """The workspace of the case. Raises SuiteError."""
        if history := context.get("history_file"):
            raise history.error(
                "conversations are not supported: a case is one prompt",
                "write what the agent needs to know into the prompt, or run the case with claude plugin eval",
            )
        if script := context.get("scaffold_script"):
            spec = replace(spec, bootstrap=Bootstrap(argv=self._program(script)))
        if folders := context.get("add_dirs"):
            spec = replace(spec, files=(*spec.files, *self._copies(folders)))
        return spec

    def _program(self, value: SuiteValue) -> tuple[str, ...]:
        """The command that runs a script: itself if it is executable, else by the shell."""
        file = self.path(value)
        if kind_of(file) != "file":
            raise value.error(f"there is no file {self.files.shown(file)}", _INSIDE)
        return (str(file),) if file.stat().st_mode & _EXECUTABLE else ("sh", str(file))

    def _copies(self, value: SuiteValue) -> list[InputFile]:
        found: dict[str, InputFile] = {}
        for item in value.items():
            folder = self.path(item)
            if kind_of(folder) != "folder":
                raise item.error(f"there is no folder {self.files.shown(folder)}", _INSIDE)
            if folder.name in found:
                raise item.error(f"two folders are called {folder.name}", "rename one: both are copied by their names")
            if folder == self.files.plugin or self.folder.is_relative_to(folder):
                raise item.error("contains the case, which agents must not read", "name a folder of fixtures")
            found[folder.name] = InputFile(path=folder.name, source=folder, read_only=True)
        return list(found.values())


PROMPT = "prompt.md"

SETTINGS = ("case.yaml", "case.yml")
"""Of these, the first that a case has is read."""

CASE_FILES = (PROMPT, *SETTINGS)
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
        for name in CASE_FILES
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
