"""Prints which tests a change needs, a line of arguments for each run of pytest: ``make test-changed``.

The change is everything that differs from the merge base with ``main``: commits, uncommitted changes, and untracked
files. grimp finds the packages that import a changed package. A path that no rule below covers needs every test that
``make test`` runs. The program writes the selected tests and the reasons to stderr, in one line.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

REPOSITORY = Path(__file__).resolve().parents[1]
PACKAGE = "skillgym_action"
SOURCE = f"src/{PACKAGE}/"
UNIT, SMOKE = "tests/unit/", "tests/smoke/"
QUICK = (UNIT, SMOKE)  # what `make test` runs
ELSEWHERE = {
    "tests/agents/": "make test-rest, make test-agents",
    "tests/browser/": "make test-browser",
    "tests/container/": "make test-container",
}
MODULES = ("tests/support/", "tools/")  # what tests import
FILES = ("tests/captures/", "tests/data/", "tests/goldens/")  # what tests read
DEFAULT_BRANCH = ("origin/main", "main")
MARKS = "not slow and not timed and not more_agents"
IMPORT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|.+)|import\s+(.+))$", re.MULTILINE)
OF_ALL_SOURCES = f"{UNIT}test_architecture.py"
DOCUMENTS = ("docs", "documented_defaults", "migration_pages", "mistakes", "pictures", "site")  # tests of documents

# Names of the smoke tests of each package, or of a room in it, without `test_` and `.py`; `*` is any text. `()` where
# unit tests do.
SMOKE_OF: dict[str, tuple[str, ...]] = {
    "__main__": ("exit_codes",),
    "agents": ("exit_codes", "formats"),
    "agents.output": ("formats",),
    "authoring": (),
    "authoring.starter": ("continued_runs",),
    "cli": ("action", "continued_runs", "exit_codes"),
    "github": ("action",),
    "history": ("action", "continued_runs"),
    "judging": ("assertion_vectors", "formats", "seed_agentv"),
    "model": ("*",),
    "pipeline": ("*",),
    "pipeline.stages": ("action", "continued_runs", "exit_codes"),
    "plugins": (),
    "reports": ("reports", "action"),
    "reports.user_templates": ("reports",),
    "results": ("continued_runs", "reports"),
    "results.statistics": ("action", "continued_runs", "reports"),
    "services": ("exit_codes", "formats"),
    "sessions": ("attacks", "exit_codes", "formats"),
    "sessions.engines": (),
    "settings": ("continued_runs", "exit_codes", "seed_*"),
    "suites": ("formats", "seed_*"),
    "suites.agentv": ("formats", "seed_agentv"),
    "suites.harbor": ("formats",),
    "suites.plugin_evals": ("formats",),
    "suites.programs": ("assertion_vectors", "formats", "seed_*"),
    "suites.programs.hosts": ("assertion_vectors", "formats"),
    "suites.programs.runtime": ("assertion_vectors", "formats"),
    "suites.skill_evals": ("formats",),
    "system": ("continued_runs", "exit_codes", "reports"),
    "system.containers": (),
    "system.files": ("attacks", "continued_runs"),
    "system.network": ("action",),
    "system.processes": ("attacks", "exit_codes", "formats"),
    "system.supervisor": ("attacks", "exit_codes"),
    "text": ("attacks", "reports"),
    "text.documents": ("formats", "seed_*"),
    "text.javascript": ("assertion_vectors", "formats"),
    "workspaces": ("attacks", "formats"),
    "workspaces.repository": ("action", "formats"),
}


@dataclass(frozen=True, kw_only=True)
class Tree:
    """The parts of a repository that decide which tests a change needs.

    ``texts``: every Python file of tests and tools, by its path. ``importers``: by module of the source, those that
    import it directly. ``smoke``: like ``SMOKE_OF``.
    """

    texts: Mapping[str, str]
    importers: Mapping[str, frozenset[str]]
    smoke: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: SMOKE_OF)
    imported: dict[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "imported", {path: imports(text) for path, text in self.texts.items()})

    def tests(self, *folders: str) -> list[str]:
        """Files with tests, in order."""
        return sorted(path for path in self.texts if is_test(path) and path.startswith(folders or "tests/"))

    def unit(self, room: str) -> list[str]:
        """The folder of a room's unit tests, without those of rooms in it, or the file of a module's.

        If a room has none, those of what it is in.
        """
        folder = f"{UNIT}{room.replace('.', '/')}"
        below = self.tests(f"{folder}/")
        direct = [path for path in below if os.fspath(PurePosixPath(path).parent) == folder]
        if below:
            return [folder] if direct == below else direct
        file = f"{UNIT}test_{room}.py"
        around = room.rpartition(".")[0]
        return [file] if file in self.texts else self.unit(around) if around else []

    def importing_rooms(self, *modules: str) -> list[str]:
        """The rooms that import any of the modules, except the modules' own rooms."""
        others = {room_of(importer) for module in modules for importer in self.importers.get(module, ())}
        return sorted(others - {room_of(module) for module in modules})

    def importing(self, module: str) -> list[str]:
        """Files of tests that import the module."""
        return sorted(path for path, modules in self.imported.items() if module in modules)

    def using(self, module: str) -> list[str]:
        """The test files that import a module of tests: quick ones, or else slower ones, or else users of its users.

        Those that other commands run, where no others use it.
        """
        seen, modules = set[str](), [module]
        elsewhere: list[str] = []
        while modules:
            files = [path for one in modules for path in self.importing(one)]
            tests = sorted({path for path in files if is_test(path)})
            if here := [path for path in tests if not _elsewhere(path)]:
                return [path for path in here if path.startswith(QUICK)] or here
            elsewhere += tests
            seen.update(modules)
            modules = sorted({PurePosixPath(path).stem for path in files} - seen)
        return sorted(set(elsewhere))


@dataclass(frozen=True, kw_only=True)
class Selection:
    """``why``: the folders and files of each reason. ``changed``: changed test files.

    ``elsewhere``: files whose tests another command runs, by this command.
    """

    why: Mapping[str, tuple[str, ...]]
    changed: tuple[str, ...] = ()
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def chosen(self) -> tuple[str, ...]:
        """Each folder and file once; no file whose folder is also selected."""
        all_of = {path for paths in self.why.values() for path in paths}
        return tuple(sorted(path for path in all_of if not any(folder in all_of for folder in _above(path))))

    def summary(self) -> str:
        """The selected tests and the reasons, in one line."""
        parts = [f"{reason}: {' '.join(paths)}" for reason, paths in self.why.items() if paths]
        parts += [f"not run here: {' '.join(paths)} ({command})" for command, paths in self.elsewhere.items()]
        return "; ".join(parts) or "no changed file has tests"


def is_test(path: str) -> bool:
    """Whether pytest collects the file."""
    name = PurePosixPath(path).name
    return path.startswith("tests/") and name.startswith("test_") and name.endswith(".py")


def imports(text: str) -> frozenset[str]:
    """The modules that a source imports, and the imported names, since some of them may be modules."""
    found = set[str]()
    for origin, names, modules in IMPORT.findall(text):
        parts = [part.split()[0] for part in re.sub(r"[()]|#.*", "", names or modules).split(",") if part.strip()]
        found.update([origin, *(f"{origin}.{part}" for part in parts)] if origin else parts)
    return frozenset(found)


def selection(changed: Iterable[str], tree: Tree) -> Selection:
    """The tests that a change of these paths needs."""
    paths = sorted(set(changed))
    why: dict[str, dict[str, None]] = {}
    not_here = {path for path in paths if _elsewhere(path)}
    for path in paths:
        for reason, needed in _reasons(path, tree):
            tests = set(needed)
            not_here |= {test for test in tests if _elsewhere(test)}
            why.setdefault(reason, {}).update(dict.fromkeys(sorted(tests - not_here)))
    elsewhere = {
        command: files
        for folder, command in ELSEWHERE.items()
        if (files := tuple(path for path in sorted(not_here) if path.startswith(folder)))
    }
    own = tuple(path for path in paths if path in tree.texts and is_test(path) and not _elsewhere(path))
    return Selection(why={reason: tuple(needed) for reason, needed in why.items()}, changed=own, elsewhere=elsewhere)


def _reasons(path: str, tree: Tree) -> Iterator[tuple[str, Iterable[str]]]:
    """Why which tests are needed for one path."""
    if path.startswith(SOURCE):
        yield from _source(path, tree)
    elif path.startswith("templates/"):
        for room in ("reports.html", "reports.markdown"):
            yield from _room(room, tree)
    elif _elsewhere(path):
        return
    elif path.startswith("tests/") and is_test(path):
        yield "changed", [path] if path in tree.texts else []
    elif path.startswith(MODULES) and path.endswith(".py"):
        module = PurePosixPath(path).stem
        yield from _found(path, f"import {module}", tree.using(module))
    elif path.startswith(FILES):
        yield from _found(path, f"read {path.split('/', 2)[2]}", reading(path, tree))
    elif path.startswith(("docs/", "mkdocs.yml")) or path.endswith(".md"):
        of_documents = [test for test in tree.tests() if any(_is_named(test, name) for name in DOCUMENTS)]
        naming = [test for test in tree.tests() if path.startswith("docs/") and path in tree.texts[test]]
        yield "documents", [test for test in of_documents + naming if not _elsewhere(test)]
    else:
        yield from _everything(path)


def _source(path: str, tree: Tree) -> Iterator[tuple[str, Iterable[str]]]:
    module = ".".join((PACKAGE, *PurePosixPath(path.removeprefix(SOURCE)).with_suffix("").parts))
    yield from _room(room_of(module), tree)
    module = module.removesuffix(".__init__")
    direct = [test for test in tree.importing(module) if is_test(test) and test.startswith(QUICK)]
    yield f"import {module.removeprefix(f'{PACKAGE}.')}", direct


def _room(room: str, tree: Tree) -> Iterator[tuple[str, Iterable[str]]]:
    yield f"{room} changed", tree.unit(room)
    importers = tree.importing_rooms(*(module for module in tree.importers if room_of(module) == room))
    yield f"rooms that import {room}", [test for one in importers for test in tree.unit(one)]
    names = tree.smoke.get(room, tree.smoke.get(room.partition(".")[0], ("*",)))
    yield f"runs for {room}", [test for test in tree.tests(SMOKE) if any(_is_named(test, name) for name in names)]
    yield "all sources", [OF_ALL_SOURCES] if OF_ALL_SOURCES in tree.texts else []


def _found(path: str, reason: str, tests: list[str]) -> Iterator[tuple[str, Iterable[str]]]:
    if tests:
        yield reason, tests
    else:
        yield from _everything(path)


def _everything(path: str) -> Iterator[tuple[str, Iterable[str]]]:
    yield f"all tests, for {path}", [folder.rstrip("/") for folder in QUICK]


def reading(path: str, tree: Tree) -> list[str]:
    """The test files that read a file of tests, themselves or through a module.

    Files of ``tests/data`` are named in the source; others are found below a folder that it imports.
    """
    folder = next(folder for folder in FILES if path.startswith(folder))
    parts = PurePosixPath(path.removeprefix(folder)).parts
    words = (parts[0], parts[-1]) if folder == "tests/data/" else ()
    patterns = [re.compile(rf"""["'/]{re.escape(word)}["'/]""") for word in words]
    found = [[file for file, text in tree.texts.items() if pattern.search(text)] for pattern in patterns]
    found.append(tree.importing(f"paths.{PurePosixPath(folder).name.upper()}"))
    for files in found:
        modules = [PurePosixPath(file).stem for file in files if file.startswith(MODULES)]
        tests = {file for file in files if is_test(file)}.union(*(tree.using(module) for module in modules))
        here = sorted(test for test in tests if not _elsewhere(test))
        if here:
            return [test for test in here if test.startswith(QUICK)] or here
    return []


def _is_named(test: str, name: str) -> bool:
    return fnmatch(PurePosixPath(test).stem, f"test_{name}")


def _elsewhere(path: str) -> bool:
    return path.startswith(tuple(ELSEWHERE))


def _above(path: str) -> Iterator[str]:
    return (os.fspath(folder) for folder in PurePosixPath(path).parents)


def runs(chosen: Selection, tree: Tree) -> list[list[str]]:
    """The arguments of each run of pytest: quick tests, and the slow and the timed tests of changed files."""
    marks = {path: marked(tree.texts[path]) for path in chosen.changed}
    quick = [path for path in chosen.chosen if path not in marks or "" in marks[path]]
    slow, timed = ([path for path, found in marks.items() if mark in found] for mark in ("slow", "timed"))
    every = ([["-m", MARKS, *quick]], [["-m", "slow and not timed", *slow]], [["-n", "0", "-m", "timed", *timed]])
    return [run for (run,), paths in zip(every, (quick, slow, timed), strict=True) if paths]


def marked(text: str) -> set[str]:
    """Which of the marks ``slow`` and ``timed`` the tests of a file have; ``""`` if a test has neither."""
    module = ast.parse(text)
    of_all = {mark for node in module.body for mark in _marks(node) if _assigns(node, "pytestmark")}
    found = set[str]()
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            own = {mark for decorator in node.decorator_list for mark in _marks(decorator)}
            found |= own | of_all or {""}
    return found


def _marks(node: ast.AST) -> set[str]:
    names = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    return names & {"slow", "timed"}


def _assigns(node: ast.stmt, name: str) -> bool:
    return isinstance(node, ast.Assign) and any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


# --- a repository ------------------------------------------------------------------------------------


def tree_of(repository: Path) -> Tree:
    """The files of a repository, and the import graph of its source."""
    folders = (repository / "tests", repository / "tools")
    files = sorted(path for folder in folders for path in folder.rglob("*.py"))
    texts = {path.relative_to(repository).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return Tree(texts=texts, importers=importers_of(repository))


def importers_of(repository: Path) -> dict[str, frozenset[str]]:
    """By module of the source, those that import it directly."""
    import grimp

    sys.path.insert(0, os.fspath(repository / "src"))
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    return {module: frozenset(graph.find_modules_that_directly_import(module)) for module in graph.modules}


def room_of(module: str) -> str:
    """The folder of a module, as ``reports.html``; ``services`` for a module outside of packages.

    ``PACKAGE`` for its own ``__init__``. A package counts for the room that it is in.
    """
    inside = module.split(".")[1:]
    return ".".join(inside[:-1]) or (inside[0] if inside else PACKAGE)


def changed_since(base: str, repository: Path) -> list[str]:
    """Paths that differ, committed or not, and untracked ones; of a renamed file both paths."""
    differing = _git(repository, "diff", "--name-only", "--no-renames", "-z", base, "--")
    unknown = _git(repository, "ls-files", "--others", "--exclude-standard", "-z")
    return sorted(set(filter(None, (differing + unknown).split("\0"))))


def merge_base(repository: Path) -> str:
    """The last commit that HEAD and the default branch have in common.

    Raises ``SystemExit`` where there is no such branch, or no such commit, as in a shallow clone.
    """
    for branch in DEFAULT_BRANCH:
        found = subprocess.run(
            ("git", "merge-base", "HEAD", branch), cwd=repository, capture_output=True, text=True, check=False
        )
        if found.returncode == 0:
            return found.stdout.strip()
    sys.exit("HEAD and main have no common commit: name a commit, as in make test-changed BASE=HEAD~1")


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(("git", *arguments), cwd=repository, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return done.stdout


def main() -> int:
    """0, also where nothing needs a test."""
    parser = argparse.ArgumentParser(description="Print the arguments of pytest for what changed, a line for each run.")
    parser.add_argument("base", nargs="?", help="commit to compare with (default: the merge base with main)")
    parser.add_argument("--repository", type=Path, default=REPOSITORY, help="repository with the tests")
    given = parser.parse_args()
    repository = given.repository.resolve()
    tree = tree_of(repository)
    chosen = selection(changed_since(given.base or merge_base(repository), repository), tree)
    print(f"test-changed: {chosen.summary()}", file=sys.stderr)
    for run in runs(chosen, tree):
        print(shlex.join(run))
    return 0


if __name__ == "__main__":
    sys.exit(main())
