"""Format: the eval folders of a Claude plugin. Its suite file is the ``plugin.json``; a case is a folder.

Which files these are is in ``case_files``.
"""

from __future__ import annotations

from dataclasses import field, replace
from itertools import islice
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_PLUGIN_FOLDERS
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Invalid
from skillgym_action.suites.plugin_evals.case_files import (
    CASE_FILES,
    PluginFiles,
    accepts,
    eval_folders,
    named,
    part_of,
    read_case,
    rejection,
    unread_files,
    unusable_folders,
)
from skillgym_action.suites.plugin_evals.cases import case_id_of, plugin_case
from skillgym_action.suites.plugin_evals.plugins import PluginsUnderTest, plugin_folder
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.user_files import kind_of, skipped_link
from skillgym_action.text.javascript.regex import Patterns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.suites import SuiteFile

MAX_PLUGIN_CASES = 5_000

__all__ = ["accepts", "named", "part_of", "rejection", "suite"]


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. A case that cannot be used becomes an Invalid. Raises SuiteError for problems of the manifest."""
    files = _files(source)
    document = read_document(source.text(), path=source.path, kind="json", error=SuiteError)
    top = SuiteValue(source=document, value=document.value)
    top.mapping()
    if unusable := unusable_folders(source.text()):
        named_folders = top.member("experimental").member("evals")
        raise named_folders.error(f"{unusable[0]!r} is not a folder in the plugin", "write a path such as evals")
    roots = [files.plugin / root for root in eval_folders(source.text())]
    loaded = _Cases(PluginsUnderTest(source, files, top))
    for folder in _case_folders(source, files, roots, loaded.warnings):
        loaded.add(folder, files)
    if not loaded.cases and not loaded.invalid:
        location = Location(path=source.path, line=1)
        remedy = "write evals/CASE/prompt.md and evals/CASE/graders/NAME.md"
        raise SuiteError.of(Problem(message="the plugin has no case", location=location, remedy=remedy))
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=loaded.plugins.own_name,
        format="plugin-evals",
        cases=tuple(loaded.cases),
        invalid=tuple(loaded.invalid),
        warnings=(*loaded.warnings, *loaded.plugins.warnings),
        hidden=tuple(path for root in roots if not (path := files.shown(root)).startswith("/")),
    )


@record(frozen=False, kw_only=False)
class _Cases:
    """The cases of a plugin so far."""

    plugins: PluginsUnderTest
    cases: list[BenchmarkCase] = field(default_factory=list)
    invalid: list[Invalid] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    patterns: Patterns = field(default_factory=Patterns)
    places: dict[str, Location] = field(default_factory=dict)

    def add(self, folder: Path, files: PluginFiles) -> None:
        """Read the case in a folder. What is wrong with it is an Invalid."""
        case_id = folder.name
        try:
            written = read_case(folder, files)
            case_id = case_id_of(written)
            read = plugin_case(written, files, self.plugins.workspace, self.patterns)
            if first := self.places.get(read.case.id):
                message = f"the name {read.case.id!r} is already used by the case at {first}"
                raise SuiteError.of(Problem(message=message, location=read.case.location, remedy="rename one of them"))
            skills = self.plugins.skills(folder, read.plugins)
        except SuiteError as error:
            self.invalid.append(Invalid.of(error.problems, case_id))
            return
        self.warnings.extend(unread_files(folder, files))
        self.places[read.case.id] = read.case.location
        workspace = read.case.workspace or self.plugins.workspace
        self.cases.append(replace(read.case, workspace=replace(workspace, skills=skills)))
        self.warnings.extend(read.warnings)


def _files(source: SuiteFile) -> PluginFiles:
    path, plugin = PurePosixPath(source.path), plugin_folder(source.file)
    root = plugin if path.is_absolute() else source.file.parents[len(path.parts) - 1]
    return PluginFiles(plugin=plugin, root=root, opener=source.opener, refusal=source.refusal_to_read)


def _case_folders(source: SuiteFile, files: PluginFiles, roots: list[Path], warnings: list[Problem]) -> list[Path]:
    """The folders of the cases, sorted: those that were found, else all below the eval folders. Raises SuiteError."""
    found = {(files.root / part).parent for part in source.parts}
    walked = {folder for root in roots for folder in _cases_below(root, files, found, warnings)}
    folders = found or walked
    if len(folders) > MAX_PLUGIN_CASES:
        message = f"the plugin has more than {MAX_PLUGIN_CASES:,} cases"
        raise SuiteError.of(Problem(message=message, location=Location(path=source.path, line=1)))
    return sorted(folders)


def _cases_below(root: Path, files: PluginFiles, known: set[Path], warnings: list[Problem]) -> Iterator[Path]:
    """Folders with a case below ``root``; nothing in a case is another. Links are not followed, but reported.

    ``known``: folders that have one.
    """
    if files.refusal(root):
        return
    left, seen = [root], 0
    while left:
        folder = left.pop()
        try:
            inside = sorted(islice(folder.iterdir(), MAX_PLUGIN_FOLDERS + 1))
        except OSError as error:
            if kind_of(folder):
                message = f"cannot be listed: {error.strerror}"
                warnings.append(Problem(message=message, location=Location(path=files.shown(folder))))
            continue
        seen += len(inside)
        if seen > MAX_PLUGIN_FOLDERS:
            message = f"has more than {MAX_PLUGIN_FOLDERS:,} files and folders: cases may be missing"
            warnings.append(Problem(message=message, location=Location(path=files.shown(root))))
            return
        for entry in inside:
            if link := skipped_link(entry, files.shown(entry), CASE_FILES):
                warnings.append(link)
            if entry.is_symlink() or not entry.is_dir():
                continue
            if entry in known or any(kind_of(entry / name) == "file" for name in CASE_FILES):
                yield entry
            else:
                left.append(entry)
