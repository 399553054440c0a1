"""Which cases depend on which files of the repository: those that suites, commands and programs name or import.

A path is relative to the root of the repository. What no suite names is not in the map.
"""

from __future__ import annotations

import os
import posixpath
import re
import shlex
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.dependencies import dependency_groups
from skillgym_action.model.limits import MAX_SUITE_FILE_BYTES
from skillgym_action.text.documents.skill_files import EVAL_FOLDERS, SKILL_FILE
from skillgym_action.workspaces.program_imports import imported_modules
from skillgym_action.workspaces.repository.reference_solutions import solution_paths, solutions_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.arm import SkillUnderTest
    from skillgym_action.model.hooks import Hooks
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, WorkspaceSpec
    from skillgym_action.workspaces.repository.repository import Repository

CaseKey = tuple[str, str]
"""The path of a suite, and the id of one of its cases."""
_PROGRAMS = frozenset({".py", ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"})
_FOLDER_NAME = re.compile(r"([^\s/'\"]+)/")
_CASE_FILES = frozenset({"case.yaml", "case.yml", "prompt.md", "task.toml"})


def parents(path: str) -> Iterator[str]:
    """The path and the folders above it, without the root."""
    while path:
        yield path
        path = posixpath.dirname(path)


class CasePaths:
    """The files and folders that the cases of suites depend on."""

    def __init__(self, suites: Iterable[BenchmarkSuite], repository: Repository, *roots: Path) -> None:
        """``repository``: the one that suites are read from. ``roots``: folders with its layout, such as the checkout.

        Raises OSError.
        """
        self._repository = repository
        self._roots = dict.fromkeys((repository.root, *roots))
        self._paths: dict[str, set[CaseKey]] = {}
        self._hidden: dict[str, dict[str, set[CaseKey]]] = {}  # folder -> the folders of cases in it
        self._skills: dict[str, tuple[SkillUnderTest, set[CaseKey]]] = {}
        self._otherwise: dict[str, set[CaseKey]] = {}  # folder -> cases of files in it that none of them names
        self._programs: dict[str, set[CaseKey]] = {}  # folder -> cases that start programs in it
        self._everything: set[CaseKey] = set()
        self._together: list[set[CaseKey]] = []
        self._of_specs: dict[int, tuple[WorkspaceSpec, tuple[str, ...]]] = {}
        self._own: set[str] = set()
        for suite in suites:
            self._add_suite(suite)

    def of(self, path: str) -> frozenset[CaseKey]:
        """The cases that name a file as theirs, or a folder above it; empty if none does."""
        found: set[CaseKey] = set()
        for above in parents(path):
            found |= self._paths.get(above, set())
            if above in self._hidden:
                found |= self._of_hidden(path, above)
            if above in self._skills:
                found |= self._of_skill(path, above)
        if not found:
            for above in parents(posixpath.dirname(path)):
                found |= self._otherwise.get(above, set())
        if found and is_program(path):
            found |= self._programs.get(posixpath.dirname(path), set())
        return self._completed(found)

    def of_copies(self, path: str) -> frozenset[CaseKey]:
        """The cases whose agents work in a copy of the whole repository, if a file is in that copy."""
        if any(above in self._own for above in parents(path)):
            return frozenset()
        return self._completed(self._everything)

    def _completed(self, cases: Iterable[CaseKey]) -> frozenset[CaseKey]:
        """The cases, and those that share a workspace with them, need them or are needed by them."""
        found = set(cases)
        for group in self._together:
            if not found.isdisjoint(group):
                found |= group
        return frozenset(found)

    # --- what suites name

    def _add_suite(self, suite: BenchmarkSuite) -> None:
        whole = {(suite.path, case.id) for case in suite.cases}
        folder = suite.file.parent
        self._own |= {suite.path, solutions_folder(suite.path), *suite.hidden}
        self._add((suite.path,), whole)
        self._add(self._relative(suite.file), whole)
        self._add_files(suite, whole)
        self._add_solutions(suite)
        for case in suite.cases:
            key = (suite.path, case.id)
            spec = case.workspace or suite.workspace
            self._add(self._paths_of_spec(spec), {key})
            self._add(self._named(case.files), {key})
            self._add_programs(self._named(file for one in case.assertions for file in files_of_value(one)), key)
            self._add_programs(self._named(files_of_workspace(spec, folder)), key)
            for skill in spec.skills:
                self._add_skill(skill, suite, key)
            if spec.source == "repository" or spec.mode == "none" or (spec.source == "directory" and not spec.cwd):
                self._everything.add(key)
        if suite.file.suffix.lower() in _PROGRAMS:
            self._add(self._named(imported_modules(suite.file, self._repository.checkout)), whole)
        self._group(suite)

    def _add_files(self, suite: BenchmarkSuite, whole: set[CaseKey]) -> None:
        """The files that were read for a suite, and the paths that are hidden with it.

        What is below the folder of a case, in a folder of cases, belongs to that case alone; so does a file with tests
        to the tests in it.
        """
        by_file: dict[str, set[CaseKey]] = {}
        for case in suite.cases:
            by_file.setdefault(case.location.path, set()).add((suite.path, case.id))
        of_cases: dict[str, set[CaseKey]] = {}
        for path, cases in by_file.items():
            if posixpath.basename(path) in _CASE_FILES:
                of_cases.setdefault(posixpath.dirname(path), set()).update(cases)
        for path in self._named_elsewhere(suite, of_cases):
            of_cases[path] = whole
        for path in suite.hidden:
            if path in suite.files and path in by_file:
                continue
            inner = {name: cases for name, cases in of_cases.items() if name.startswith(f"{path}/")}
            known = self._hidden.setdefault(path, {"": set()})
            known[""] |= whole
            for name, cases in inner.items():
                known.setdefault(name, set()).update(cases)
        for path in suite.files:
            if path == suite.path or any(above in suite.hidden for above in parents(posixpath.dirname(path))):
                continue
            self._add((path,), by_file.get(path, whole))

    def _named_elsewhere(self, suite: BenchmarkSuite, folders: Iterable[str]) -> list[str]:
        """The folders of cases that other files of the suite seem to name: other cases may use what is there."""
        named: dict[str, set[str]] = {}
        for path in (suite.path, *suite.files) if folders else ():
            with suppress(OSError, ValueError), open(self._repository.root / path, encoding="utf-8") as file:
                for name in _FOLDER_NAME.findall(file.read(MAX_SUITE_FILE_BYTES)):
                    named.setdefault(name, set()).add(path)
        return [
            folder
            for folder in folders
            if any(not path.startswith(f"{folder}/") for path in named.get(posixpath.basename(folder), ()))
        ]

    def _of_hidden(self, path: str, folder: str) -> set[CaseKey]:
        inner = self._hidden[folder]
        return next((inner[above] for above in parents(path) if above in inner), inner[""])

    def _add_solutions(self, suite: BenchmarkSuite) -> None:
        folder = self._repository.root / solutions_folder(suite.path)
        self._otherwise.setdefault(solutions_folder(suite.path), set()).update(
            (suite.path, one.id) for one in suite.cases
        )
        for case in suite.cases:
            self._add(self._named(solution_paths(folder, case.id)), {(suite.path, case.id)})

    def _paths_of_spec(self, spec: WorkspaceSpec) -> tuple[str, ...]:
        if id(spec) not in self._of_specs:
            sources = [file.source for file in spec.files if file.source]
            if spec.source == "template" and spec.template:
                sources.append(spec.template)
            if spec.source == "directory" and spec.cwd:
                sources.append(spec.cwd)
            self._of_specs[id(spec)] = spec, tuple(self._with_links(sources))
        return self._of_specs[id(spec)][1]

    def _add_skill(self, skill: SkillUnderTest, suite: BenchmarkSuite, key: CaseKey) -> None:
        for path in self._relative(skill.folder):
            self._skills.setdefault(path, (skill, set()))[1].add(key)
            if suite.path.startswith(f"{path}/") and (beside := posixpath.dirname(suite.path)) != path:
                self._otherwise.setdefault(beside, set()).add(key)
        self._add(self._links_in(skill.folder), {key})

    def _of_skill(self, path: str, folder: str) -> set[CaseKey]:
        """The cases of a skill, if a file below its folder is installed with it."""
        skill, cases = self._skills[folder]
        *between, last = path.removeprefix(folder).strip("/").split("/")
        if any(name.lower() in EVAL_FOLDERS for name in between) or any(above in self._own for above in parents(path)):
            return set()
        if skill.packaging != "plugin":
            below = skill.folder
            for number, name in enumerate(between, start=1):
                below = below / name
                is_its_own_file = number == len(between) and last == SKILL_FILE
                if (below / SKILL_FILE).exists() and not is_its_own_file:
                    return set()  # another skill
        return cases

    def _add_programs(self, paths: Iterable[str], key: CaseKey) -> None:
        """Files that a command names. One that is a program may load others of its folder."""
        for path in paths:
            self._add((path,), {key})
            if is_program(path):
                self._programs.setdefault(posixpath.dirname(path), set()).add(key)

    def _group(self, suite: BenchmarkSuite) -> None:
        """Cases that are run together: in one workspace, or since they depend on each other."""
        groups: dict[object, set[CaseKey]] = {}
        of_dependencies = dependency_groups(suite.cases)
        for case in suite.cases:
            groups.setdefault(of_dependencies[case.id], set()).add((suite.path, case.id))
        shared = {(suite.path, case.id) for case in suite.cases if _is_shared(suite, case)}
        merged = [group for group in groups.values() if len(group) > 1 and group.isdisjoint(shared)]
        if shared:
            merged.append(shared.union(*(group for group in groups.values() if not group.isdisjoint(shared))))
        self._together += merged

    # --- paths

    def _add(self, paths: Iterable[str], cases: set[CaseKey]) -> None:
        for path in paths:
            self._paths.setdefault(path, set()).update(cases)

    def _named(self, files: Iterable[Path]) -> list[str]:
        return [path for file in files for path in self._relative(file)]

    def _with_links(self, places: Iterable[Path]) -> Iterator[str]:
        for place in places:
            yield from self._relative(place)
            yield from self._links_in(place)

    def _links_in(self, folder: Path) -> Iterator[str]:
        """Where the symbolic links in a folder lead to, if that is in the repository."""
        if not folder.is_dir():
            return
        for name in self._repository.files(folder):
            file = self._repository.root / name
            if file.is_symlink():
                yield from self._relative(Path(os.path.realpath(file)))

    def _relative(self, file: Path) -> list[str]:
        """The path of a file and the one that its links lead to; nothing for what is outside of the repository."""
        return [path for path in paths_inside(file, self._roots) if path]


def _is_shared(suite: BenchmarkSuite, case: BenchmarkCase) -> bool:
    return (case.workspace or suite.workspace).mode == "shared"


_WORD = re.compile(r"[^\s'\"`;|&<>(){}=,$:]+")
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
        for word in dict.fromkeys((part, *shell_words(part), *_WORD.findall(part))):
            places = (Path(word),) if word.startswith("/") else tuple(folder / word for folder in folders)
            for place in dict.fromkeys(map(os.path.normpath, places)):
                found = Path(place)
                with suppress(OSError, ValueError):
                    is_inner = found.is_dir() and not any(folder.is_relative_to(found) for folder in folders)
                    if found.is_file() or (is_inner and "/" in word):
                        yield found


def shell_words(text: str) -> list[str]:
    """The words of a command for a shell; none if a quote does not end."""
    try:
        return shlex.split(text)
    except ValueError:
        return []


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


def reads_checkout(agent: AgentConfig, more: Iterable[str], folders: tuple[Path, ...], roots: tuple[Path, ...]) -> bool:
    """Whether an agent's command line, its variables or the words ``more`` name a file or a folder in ``roots``.

    What else its program reads there is not known: it may be any file. A root counts, too.
    """
    words = (*agent.command, *agent.command_args, *agent.env.values(), *more)
    named = (*named_files(words), *named_files(words, *folders))
    return any(True for file in named for _ in paths_inside(file, roots))


def paths_inside(file: Path, roots: Iterable[Path]) -> Iterator[str]:
    """The path of a file, and the one that its links lead to, relative to the roots that they are in.

    A root itself is the empty text.
    """
    places = [Path(os.path.normpath(file))]
    with suppress(OSError, RuntimeError, ValueError):
        places.append(Path(os.path.realpath(file)))
    for place in dict.fromkeys(places):
        for root in roots:
            if place.is_relative_to(root):
                yield "" if place == root else place.relative_to(root).as_posix()


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
