"""Removes one protection of the product at a time, and requires that the tests notice: ``make mutants``.

``tests/data/mutants.toml`` lists the mutants: each replaces one line of the product, and names the tests that must fail
then. The contributor's tree is not changed: the sources are copied, twice since two mutants are tried at a time, each
copy with a virtual environment of its own that imports the copy and, for all else, the packages of this one. An
environment variable would not do: the tool starts itself again without most of them, and its helpers with none.

First the named tests must pass in a copy without a mutant. What fails in the same copy afterwards, fails because of the
mutant. A mutant is killed when each of its tests fails; tests that do not end within ``LIMIT`` have not failed.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import psutil

import modules_of_tests
from paths import REPOSITORY

LIST = "tests/data/mutants.toml"
PACKAGE = "src/skillgym_action"
AT_ONCE = 2
LIMIT = 120.0  # seconds for the tests of one mutant
WAIT = "30"  # seconds
ALL_TESTS = 1800.0  # seconds for the tests of all mutants, once
NOTICED = re.compile(r"^(?:FAILED|ERROR) (tests/\S+?\.py::.+)$", re.MULTILINE)
TESTS_FAILED = 1  # the exit code of pytest
PR_SET_CHILD_SUBREAPER = 36
CONTAINED = "--contained"
OWN = ("dask", "skillgym-action", "skillgym-action-entrypoint")  # scripts of programs that import the package
NOT_LINKED = re.compile(r"python|pip|[aA]ctivate|dask|skillgym-action")


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """``text`` is a part of a line that occurs once in ``file``. ``removes``: which protection is gone without it.

    ``root``: the tests can fail only where root runs them. ``engine``: they need a Docker engine.
    """

    name: str
    file: str
    text: str
    becomes: str
    removes: str
    tests: tuple[str, ...]
    root: bool = False
    engine: bool = False

    def stale(self, repository: Path) -> str | None:
        """Why the entry no longer fits the repository; None where it does."""
        try:
            count = (repository / PACKAGE / self.file).read_text(encoding="utf-8").count(self.text)
        except OSError as error:
            return f"{self.file}: {error.strerror}"
        if count != 1 or "\n" in self.text:
            return f"{self.file} has the text {count} times, not once within a line: {self.text}"
        missing = [test for test in self.tests if not _is_there(repository, test)]
        return f"there is no test {missing[0]}" if missing else None


def _is_there(repository: Path, test: str) -> bool:
    file, _, name = test.partition("::")
    try:
        source = (repository / file).read_text(encoding="utf-8")
    except OSError:
        return False
    return f"def {name.partition('[')[0]}(" in source


def mutants(repository: Path = REPOSITORY) -> tuple[Mutant, ...]:
    """The list."""
    entries = tomllib.loads((repository / LIST).read_text(encoding="utf-8"))["mutants"]
    return tuple(Mutant(**entry | {"tests": tuple(entry["tests"])}) for entry in entries)


class Copy:
    """The sources in a folder of their own, and a Python that imports them."""

    def __init__(self, repository: Path, place: Path) -> None:
        self.root = place / "repository"
        self._python = place / "venv" / "bin" / "python"
        self._temporary = place / "tmp"
        self._temporary.mkdir(parents=True)
        self._temporary.chmod(0o1777)  # as /tmp is: the tool looks at that
        _copy_sources(repository, self.root)
        _make_environment(place / "venv", self.root / "src")
        # Compared by content: a file may change twice within a second, and times of files do not show that.
        checked = ("-m", "compileall", "-q", "--invalidation-mode", "checked-hash", self.root / "src")
        subprocess.run([self._python, *checked], check=True)

    def notices(self, tests: tuple[str, ...], limit: float, *options: str) -> tuple[int | None, tuple[str, ...]]:
        """The exit code of pytest, None where it took too long, and which tests fail, each with what it says."""
        left_out = ("PYTEST_", "PYTHON")
        env = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        env["TESTS_WAIT_SECONDS"] = WAIT  # a test that waits for what the mutant prevents fails before LIMIT
        argv = (
            sys.executable,
            __file__,
            CONTAINED,
            self._python,
            "-m",
            "pytest",
            "-q",
            "-rfE",
            "--tb=no",
            "-p",
            "no:cacheprovider",
            *options,
            *tests,
        )
        with subprocess.Popen(
            argv,
            cwd=self.root,
            env=env | {"TMPDIR": os.fspath(self._temporary), "COLUMNS": "400"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as pytest:
            try:
                out, _ = pytest.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                _end_descendants(pytest.pid)
                pytest.communicate()
                return None, ()
        return pytest.returncode, tuple(NOTICED.findall(out)) or (_last_error(out),)

    def tried(self, mutant: Mutant) -> str:
        """What became of the mutant."""
        file = self.root / PACKAGE / mutant.file
        source = file.read_text(encoding="utf-8")
        file.write_text(source.replace(mutant.text, mutant.becomes), encoding="utf-8")
        try:
            code, failed = self.notices(mutant.tests, LIMIT)
        finally:
            file.write_text(source, encoding="utf-8")
        if code is None:
            return f"timed out after {LIMIT:g} s"
        if code not in {0, TESTS_FAILED}:
            return f"broken: {failed[0]}"
        passed = [test for test in mutant.tests if not any(_is_of(one, test) for one in failed)]
        return f"survived {', '.join(passed)}" if passed else "killed"


def _last_error(out: str) -> str:
    """Why no test was run."""
    lines = [line for line in out.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1] if lines else "")


def _is_of(failed: str, test: str) -> bool:
    return re.match(rf"{re.escape(test)}(\[|\s|$)", failed) is not None


def _copy_sources(repository: Path, target: Path) -> None:
    """What git tracks, and what it would if it were added."""
    listing = ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = subprocess.run(listing, cwd=repository, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        source, copy = repository / name, target / name
        if os.path.lexists(source):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy, follow_symlinks=False)


def _make_environment(place: Path, source: Path) -> None:
    """Path files of the packages' folder do not count there, and with them not the one that leads to the repository."""
    venv.create(place, symlinks=True)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "mutants.pth").write_text(f"{source}\n{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    for script in Path(sys.executable).parent.iterdir():
        if not NOT_LINKED.match(script.name):
            (place / "bin" / script.name).symlink_to(script)
        elif script.name in OWN:
            _, code = script.read_text(encoding="utf-8").split("\n", 1)
            own = place / "bin" / script.name
            own.write_text(f"#!{place / 'bin' / 'python'}\n{code}", encoding="utf-8")
            own.chmod(0o755)


def main() -> int:
    """1 where a mutant survived or an entry is stale."""
    parser = argparse.ArgumentParser(description="Remove one protection at a time; the tests have to notice.")
    parser.add_argument("only", nargs="?", default="", help="regular expression, searched in name, file and tests")
    parser.add_argument("--repository", type=Path, default=REPOSITORY, help="checkout with the source and the tests")
    parser.add_argument("--root", action="store_true", help="try only mutants that need root")
    given = parser.parse_args()
    repository = given.repository.resolve()
    chosen = [
        mutant
        for mutant in mutants(repository)
        if re.search(given.only, _searched(mutant)) and (mutant.root or not given.root)
    ]
    began = time.monotonic()
    found = Counter[str]()
    usable = []
    for mutant in chosen:
        if stale := mutant.stale(repository):
            found[_shown(mutant, f"stale: {stale}")] += 1
        elif mutant.root and os.geteuid() != 0:
            found[_shown(mutant, "not tried: needs root")] += 1
        elif mutant.engine and "DOCKER_HOST" not in os.environ:
            found[_shown(mutant, "not tried: needs DOCKER_HOST")] += 1
        else:
            usable.append(mutant)
    place = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        place.chmod(0o755)  # users of sessions read the package
        found += _tried(usable, [Copy(repository, place / str(number)) for number in range(min(AT_ONCE, len(usable)))])
    finally:
        remove(place)
    print(", ".join(f"{count} {what}" for what, count in found.items()), f"in {time.monotonic() - began:.0f} s")
    return int(set(found) - {"killed", "not tried"} != set() or not chosen)


def contained(argv: list[str]) -> int:
    """The exit code of a program, once nothing is left of what it started; on Linux also of what it left to itself."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    program = subprocess.Popen(argv)
    while (ended := os.wait())[0] != program.pid:
        continue  # an orphan, which came to this process
    program.returncode = os.waitstatus_to_exitcode(ended[1])
    _end_descendants()
    return program.returncode


def _end_descendants(pid: int | None = None) -> None:
    while left := psutil.Process(pid).children(recursive=True):
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        if pid is not None:
            return
        psutil.wait_procs(left, timeout=10)


def remove(place: Path) -> None:
    """Remove a folder. Tests leave closed folders in it, and some that are too deep for Python."""
    if os.geteuid() != 0:
        subprocess.run(["chmod", "-R", "u+rwX", place], check=False)
    subprocess.run(["rm", "-rf", place], check=True)


def _tried(usable: list[Mutant], copies: list[Copy]) -> Counter[str]:
    """How many of each status; the copies are used side by side."""
    if not usable:
        return Counter()
    free = SimpleQueue[Copy]()
    for copy in copies:
        free.put(copy)

    def one(mutant: Mutant) -> tuple[str, float]:
        copy, begun = free.get(), time.monotonic()
        try:
            return copy.tried(mutant), time.monotonic() - begun
        finally:
            free.put(copy)

    failing = _failing(usable, copies[0])
    found = Counter[str]()
    with ThreadPoolExecutor(len(copies)) as pool:
        running: dict[Future[tuple[str, float]], Mutant] = {}
        for mutant in usable:
            if spoilt := [test for test in mutant.tests if test in failing]:
                found[_shown(mutant, f"in vain: without it fails {spoilt[0]}")] += 1
            else:
                running[pool.submit(one, mutant)] = mutant
        return found + Counter(_shown(running[done], *done.result()) for done in as_completed(running))


def _failing(usable: list[Mutant], copy: Copy) -> frozenset[str]:
    """Those of the mutants' tests that fail without any; all where they do not end."""
    tests = tuple(dict.fromkeys(test for mutant in usable for test in mutant.tests))
    began = time.monotonic()
    code, failed = copy.notices(tests, ALL_TESTS, *(("-n", str(AT_ONCE)) if len(tests) > AT_ONCE else ()))
    took = time.monotonic() - began
    failing = {
        test for test in tests if code != 0 and (code != TESTS_FAILED or any(_is_of(one, test) for one in failed))
    }
    print(f"without a mutant {len(tests) - len(failing)} of {len(tests)} tests pass ({took:.0f} s)", flush=True)
    if failing:
        print(*failed, sep="\n", flush=True)
    return frozenset(failing)


def _searched(mutant: Mutant) -> str:
    return " ".join((mutant.name, mutant.file, *mutant.tests))


def _shown(mutant: Mutant, status: str, seconds: float = 0.0) -> str:
    """Print the row of a mutant; the kind of its status."""
    kind, _, more = re.match(
        r"(killed|survived|broken|stale|timed out|not tried|in vain)(:? (.*))?", status, re.DOTALL
    ).groups()
    print(f"{kind:<10}{seconds:6.1f} s  {mutant.name:<44} {mutant.removes}", flush=True)
    if more:
        print(f"{'':20}{more}", flush=True)
    return kind


if __name__ == "__main__":
    sys.exit(contained(sys.argv[2:]) if sys.argv[1:2] == [CONTAINED] else main())
