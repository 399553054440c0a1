"""An assertion context over a real folder: what assertions see, without agents and workspaces."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from skillgym_action.suites.xbench.expectations import ExpectationSection, parse_object, parse_text
from skillgym_action.system.files.globs import matches, paths_matching
from skillgym_action.text.javascript.regex import SearchBudget

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.judgement import Judgement, Outcome
    from skillgym_action.model.verdicts import FailureClass


@dataclass(frozen=True)
class Ran:
    """The result of a command; implements ``model.assertion.CommandResult``."""

    exit_code: int | None
    timed_out: bool
    seconds: float
    tail: str
    logs: tuple[str, ...] = ("command-1.stdout.log",)


class Folder:
    """Fulfils ``Files`` of model/assertion.py by comparing whole contents."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.before: dict[str, bytes | None] = {}

    def remember(self) -> None:
        self.before = self._contents()

    def kind(self, path: str) -> str | None:
        target = self.root / path
        if target.is_symlink() and not target.exists():
            return "symlink"
        if not target.exists():
            return None
        if not target.resolve().is_relative_to(self.root.resolve()):
            return "outside"
        return "directory" if target.is_dir() else "file" if target.is_file() else "other"

    def text(self, path: str, limit: int) -> str | None:
        content = (self.root / path).read_bytes()
        return None if len(content) > limit else content.decode("utf-8", "replace").replace("\r\n", "\n")

    def size(self, path: str) -> int | None:
        target = self.root / path
        return target.stat().st_size if target.is_file() else None

    def text_before(self, path: str, limit: int) -> str | None:
        content = self.before.get(path)
        return None if content is None else content[: limit + 1].decode("utf-8", "replace").replace("\r\n", "\n")

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, content in self._contents().items() if content is not None))

    def created(self) -> tuple[str, ...]:
        return tuple(name for name in self.names() if name not in self.before)

    def changed_names(self) -> tuple[str, ...]:
        gone = {name for name, content in self.before.items() if content is not None} - set(self.names())
        return tuple(sorted({name for name in self.names() if self.changed(name)} | gone))

    def existed(self, path: str) -> bool:
        return path in self.before

    def matched_before(self, pattern: str) -> bool:
        return any(content is not None and matches(path, pattern) for path, content in self.before.items())

    def changed(self, path: str) -> bool:
        now = self._contents()
        below = [name for name in now if path in {name, "."} or name.startswith(f"{path}/")]
        return any(now[name] is not None and now[name] != self.before.get(name) for name in below)

    def glob(self, pattern: str) -> tuple[str, ...]:
        found = (path for path in paths_matching(self.root, pattern) if not path.is_symlink())
        return tuple(sorted(path.relative_to(self.root).as_posix() for path in found))

    def _contents(self) -> dict[str, bytes | None]:
        paths = {path.relative_to(self.root).as_posix(): path for path in self.root.rglob("*")}
        return {name: path.read_bytes() if path.is_file() else None for name, path in paths.items()}


@dataclass
class FolderContext:
    """Fulfils ``AssertionContext`` without a report; ``limits`` are the time limits that commands were given."""

    files: Folder
    timeout: float = 60.0
    report: None = None
    limits: list[float] = field(default_factory=list)
    budget: SearchBudget = field(default_factory=SearchBudget)

    def search(self, pattern: Any, text: str, *, at_start: bool = False, start: int = 0) -> Any:
        return self.budget.search(pattern, text, at_start=at_start, start=start)

    def run(self, command: str, timeout: float) -> Ran:
        self.limits.append(timeout)
        argv = ["sh", "-c", command]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        try:
            done = subprocess.run(argv, cwd=self.files.root, timeout=timeout, text=True, check=False, **streams)
        except subprocess.TimeoutExpired:
            return Ran(exit_code=None, timed_out=True, seconds=timeout, tail="")
        exit_code = None if done.returncode < 0 else done.returncode
        return Ran(exit_code=exit_code, timed_out=False, seconds=0.1, tail=done.stdout)

    def decided(self, assertion: Any, seen: Any = None) -> tuple[Outcome, ...]:
        return assertion.judge(seen() if seen else self)

    def check(self, case_id: str) -> tuple[Outcome, ...]:
        raise NotImplementedError(case_id)

    def classify(self, case_id: str, judgement: Judgement) -> FailureClass | None:
        raise NotImplementedError(case_id, judgement)


def context_of(root: Path, before: dict[str, str], after: dict[str, str | None] | None = None) -> FolderContext:
    """A context whose folder had ``before`` in it; the agent then wrote ``after`` (None: deleted)."""
    _write(root, before)
    files = Folder(root)
    files.remember()
    _write(root, after or {})
    return FolderContext(files)


def judged(written: str | dict[str, Any], context: FolderContext) -> Outcome:
    """The outcome of an expectation of x-bench, as text or as an object."""
    if isinstance(written, dict):
        reading = parse_object(ExpectationSection.model_validate(written))
    else:
        reading = parse_text(written)
    (outcome,) = reading.assertion.judge(context)
    assert outcome.assertion == reading.assertion.name
    return outcome


def _write(root: Path, contents: dict[str, str | None] | dict[str, str]) -> None:
    for name, content in contents.items():
        path = root / name
        if content is None:
            path.unlink()
        elif name.endswith("/"):
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
