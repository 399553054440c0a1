"""Input files of a case: where they are looked for, and the line of the prompt that lists them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.model.suite import InputFile
from skillgym_action.suites.skill_evals.keys import Members
from skillgym_action.text.documents.skill_files import EVAL_FOLDERS, RESULTS_ENDING, SKILL_FILE
from skillgym_action.text.documents.user_files import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.values import SuiteValue

MAX_EVAL_FILES = 1_000  # that one case lists
MAX_LISTED_PLACES = 6  # where an input file was looked for
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_WINDOWS = re.compile(r"[A-Za-z]:[\\/]")
_SKILL_ITSELF = "is the skill under test, which is installed: it is not copied, else the arm without it had it, too"
_PART_OF_SKILL = "belongs to the skill under test, and is in the arm without it, too"
_LEAVE_OUT = "leave it out: the skill is installed where the agent looks for skills"
_MOVE = "put input files into evals/files"
_REMEDY = "input files are relative to the folder above evals/, to the suite, to the skill or to the repository"


@record
class InputPlaces:
    """The folders that input files of a suite file are looked for in, the first first.

    ``refusal``: why a file or folder must not be copied, such as a link on the way to it. ``is_suite``: whether a name
    is that of a suite, which agents must not read. ``shown``: a path as messages name it. ``skills``: folders of the
    skills under test.
    """

    suite: Path
    folders: tuple[Path, ...]
    refusal: Callable[[Path], str | None]
    is_suite: Callable[[str], bool]
    shown: Callable[[Path], str]
    skills: tuple[Path, ...] = ()

    def files_of(self, value: SuiteValue) -> tuple[tuple[InputFile, ...], tuple[Problem, ...]]:
        """The files that a case lists under ``files``, and warnings about what of the skill is among them.

        Raises SuiteError.
        """
        items = (value,) if isinstance(value.value, str | dict) else value.items()
        if len(items) > MAX_EVAL_FILES:
            raise value.error(f"has more than {MAX_EVAL_FILES:,} entries", "list a folder")
        found: dict[str, InputFile] = {}
        warnings: list[Problem] = []
        for item in items:
            if item.value is None:
                continue
            file = self._file(item)
            if file.source and self._is_skill(file.source):
                warnings.append(item.problem(f"{file.path} {_SKILL_ITSELF}", _LEAVE_OUT))
                continue
            if file.source and self._is_of_skill(file.source):
                warnings.append(item.problem(f"{file.path} {_PART_OF_SKILL}", _MOVE))
            found.setdefault(file.path, file)
        return tuple(found.values()), tuple(warnings)

    def _is_skill(self, source: Path) -> bool:
        """Whether it is the SKILL.md of a skill under test."""
        return any(source.resolve() == (folder / SKILL_FILE).resolve() for folder in self.skills)

    def _is_of_skill(self, source: Path) -> bool:
        """Whether it is installed with a skill under test, and so is what the arm without that skill must not have."""
        for folder in self.skills:
            if source.is_relative_to(folder):
                parts = source.relative_to(folder).parts
                return not any(part.lower() in EVAL_FOLDERS or part.endswith(RESULTS_ENDING) for part in parts)
        return False

    def _file(self, item: SuiteValue) -> InputFile:
        if isinstance(item.value, dict):
            members = Members(item)
            if (named := members.named("path", "file", "name")) is None:
                raise item.error("has no path", "write path: the file's path")
            path = _relative(named)
            content = members.named("content")
            if content is not None:
                if not isinstance(content.value, str):
                    raise content.wrong_type("text")
                return InputFile(path=path, content=content.value)
            return self._copied(named, path)
        return self._copied(item, _relative(item))

    def _copied(self, item: SuiteValue, path: str) -> InputFile:
        refused: list[str] = []
        for folder in dict.fromkeys(self.folders):
            candidate = folder / path
            if kind_of(candidate) not in {"file", "folder"}:
                continue
            if why := self.refusal(candidate):
                refused.append(f"{self.shown(candidate)} {why}")
                continue
            if self.is_suite(path) or self.suite.is_relative_to(candidate):
                raise item.error(
                    f"{path} is a suite or has one in it, whose questions the agent must not read", "leave it out"
                )
            if any(folder.is_relative_to(candidate) for folder in self.skills):
                raise item.error(f"{path} has the skill under test in it, which would be in all arms", _LEAVE_OUT)
            return InputFile(path=path, source=candidate)
        if refused:
            raise item.error(f"{path} cannot be copied: {refused[0]}", "name a file without links on the way to it")
        places = [self.shown(folder / path) for folder in dict.fromkeys(self.folders)][:MAX_LISTED_PLACES]
        raise item.error(f"there is no file {path}; looked for: {', '.join(places)}", _REMEDY)


def with_input_files(prompt: str, files: tuple[InputFile, ...]) -> str:
    """The prompt; with a line that lists the input files that it names neither by path nor by file name."""
    unnamed = [file.path for file in files if file.path not in prompt and file.path.rpartition("/")[2] not in prompt]
    if not unnamed:
        return prompt
    return f"{prompt.rstrip()}\n\nInput files: {', '.join(unnamed)}"


def _relative(item: SuiteValue) -> str:
    """A path below the workspace, without ``./`` and ``/`` at its end. Raises SuiteError for any other."""
    written = item.as_text().strip()
    if _ADDRESS.match(written):
        raise item.error(f"{written!r} is an address: nothing is downloaded", "put the file beside the suite")
    parts = [part for part in written.split("/") if part not in {"", "."}]
    if written.startswith(("/", "~")) or _WINDOWS.match(written) or ".." in parts or not parts or ".git" in parts:
        raise item.error(f"{written!r} leads out of the workspace, so that nothing is copied", _REMEDY)
    if "\0" in written:
        raise item.error("has a character that no path has")
    return "/".join(parts)
