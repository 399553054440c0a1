"""Directories of users that agents work in: suites of every format that name one, and all that can be seen of it."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from scratch import config, git_in, repository, runner, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LARGE = 65 * 1024**2  # more than a bundle takes of a file


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The agent is a line for the shell. ``prepare``: a command that has to end well before it is started."""

    agent: str
    passes: bool = False
    prepare: str | None = None


@dataclass(frozen=True, kw_only=True)
class Mode:
    """How a suite says where agents work. ``cwd`` is where that is, in the checkout."""

    files: Callable[[Asked], dict[str, str]]
    cwd: str = "app"
    prepares: bool = True
    has_agent: bool = True


def by_configuration(**run: Any) -> Callable[[Asked], dict[str, str]]:
    """An x-bench suite that says nothing of a workspace."""

    def files(asked: Asked) -> dict[str, str]:
        told = dict(run)
        if asked.prepare:
            bootstrap = {"command": "sh", "args": ["-c", asked.prepare]}
            told["workspace"] = {"mode": "none"} | run.get("workspace", {}) | {"bootstrap": bootstrap}
        case = {"id": "one", "prompt": "p", "expect": ["test:true" if asked.passes else "test:false"]}
        return {
            "bench/core.json": json.dumps({"name": "core", "cases": [case]}),
            "skillgym.config.yaml": config(runner(asked.agent), run=told),
        }

    return files


def program(name: str, text: str, workspace: dict[str, Any], **run: Any) -> Callable[[Asked], dict[str, str]]:
    """A suite program. In ``text``, ``WORKSPACE`` and ``PASSES`` are replaced."""

    def files(asked: Asked) -> dict[str, str]:
        told = dict(workspace)
        if asked.prepare:
            told["bootstrap"] = {"command": "sh", "args": ["-c", asked.prepare]}
        filled = text.replace("WORKSPACE", json.dumps(told)).replace("PASSES", "1" if asked.passes else "0")
        return {name: filled, "skillgym.config.yaml": config(runner(asked.agent), run=run)}

    return files


PYTHON = """\
from skillgym_action import Suite, Workspace
suite = Suite("core")
workspace = Workspace(**WORKSPACE)
@suite.case("one", prompt="p")
def one(report): assert PASSES
"""
TYPESCRIPT = """\
import { assert } from "skillgym";
export const workspace = WORKSPACE;
export default [{ id: "one", prompt: "p", assert: () => assert.ok(PASSES) }];
"""


def in_python(**workspace: Any) -> Callable[[Asked], dict[str, str]]:
    return program("bench/core_suite.py", PYTHON, workspace)


def in_typescript(**workspace: Any) -> Callable[[Asked], dict[str, str]]:
    return program("bench/core-suite.ts", TYPESCRIPT, workspace)


def agentv(asked: Asked, target: dict[str, Any] | None, **more: Any) -> dict[str, str]:
    """Where ``target`` is None, the agent is the one of the configuration."""
    wanted = {"type": "contains", "value": "ok" if asked.passes else "something else"}
    suite = {"name": "core", "tests": [{"id": "one", "input": "Do it", "assertions": [wanted]}], **more}
    files = {"bench/EVAL.yaml": json.dumps(suite), "skillgym.config.yaml": config(runner(asked.agent))}
    if target:
        files["bench/targets.yaml"] = json.dumps({"targets": [{"name": "default"} | target]})
    return files


def by_path(**workspace: Any) -> Callable[[Asked], dict[str, str]]:
    """``workspace.path`` of AgentV."""

    def files(asked: Asked) -> dict[str, str]:
        hooks = {"hooks": {"before_each": {"command": ["sh", "-c", asked.prepare]}}} if asked.prepare else {}
        return agentv(asked, None, workspace={"path": "../app", **workspace, **hooks})

    return files


def by_target(**target: Any) -> Callable[[Asked], dict[str, str]]:
    """A ``cli`` target of AgentV, whose suite says nothing of a workspace."""

    def files(asked: Asked) -> dict[str, str]:
        return agentv(asked, {"provider": "cli", "command": f"({asked.agent}) >{{OUTPUT_FILE}}", **target})

    return files


def mock(asked: Asked) -> dict[str, str]:
    return agentv(asked, {"provider": "mock", "response": "ok"})


def replay(asked: Asked) -> dict[str, str]:
    recorded = {"test_id": "one", "source_target": "live", "output": [{"role": "assistant", "content": "ok"}]}
    target = {"provider": "replay", "fixtures": "f.jsonl", "source_target": "live"}
    return agentv(asked, target) | {"bench/f.jsonl": json.dumps(recorded)}


ONCE = {"hooks": {"before_all": {"command": ["true"]}}}
MODES = {
    "x-bench, mode none": Mode(files=by_configuration(workspace={"mode": "none"}), cwd="."),
    "x-bench, run.cwd .": Mode(files=by_configuration(cwd="."), cwd="."),
    "x-bench, run.cwd": Mode(files=by_configuration(cwd="app")),
    "x-bench, mode none with cwd": Mode(files=by_configuration(workspace={"mode": "none", "cwd": "app"})),
    "x-bench, shared with cwd": Mode(files=by_configuration(workspace={"mode": "shared", "cwd": "app"})),
    "python, mode none": Mode(files=in_python(mode="none"), cwd="."),
    "python, mode none with cwd": Mode(files=in_python(mode="none", cwd="../app")),
    "python, shared with cwd": Mode(files=in_python(mode="shared", cwd="../app")),
    "python, mode none and run.cwd": Mode(files=program("core_suite.py", PYTHON, {"mode": "none"}, cwd="app")),
    "typescript, mode none": Mode(files=in_typescript(mode="none"), cwd="."),
    "typescript, mode none with cwd": Mode(files=in_typescript(mode="none", cwd="../app")),
    "typescript, shared with cwd": Mode(files=in_typescript(mode="shared", cwd="../app")),
    "agentv, workspace.path": Mode(files=by_path()),
    "agentv, workspace.path, prepared once": Mode(files=by_path(**ONCE)),
    "agentv, cli": Mode(files=by_target(), cwd="bench", prepares=False),
    "agentv, cli with cwd": Mode(files=by_target(cwd="../app"), prepares=False),
    "agentv, mock": Mode(files=mock, cwd="bench", prepares=False, has_agent=False),
    "agentv, replay": Mode(files=replay, cwd="bench", prepares=False, has_agent=False),
}


def checkout(root: Path, files: dict[str, str], cwd: str = "app") -> Path:
    """A repository with those files, and in ``cwd`` all that would change if it were cleaned, moved or copied."""
    repository(root, {"bench/core.json": None, "app/a.txt": "a\n", **files}, git=True)
    place = root / cwd
    odd = written(place / "odd", {".claude/skills/greet/SKILL.md": "# Greet\n", "closed/known.txt": "before\n"})
    written(place, {".claude/skills/greet/SKILL.md": "# Greet\n", ".gitignore": "ignored\n", "ignored/a.txt": "a\n"})
    written(odd, {"read-only.txt": "x", "unreadable/a.txt": "a", "set-group/a.txt": "a"})
    repository(odd / "nested", {"a.txt": "a"}, git=True)
    git_in(odd / "nested", "branch", "other")
    for name, target in {
        "out": "/etc",
        "out-relative": "../../../outside",
        "dangling": "nowhere",
        "loop": "loop",
        "inside": "read-only.txt",
        "absolute": str(odd / "read-only.txt"),
    }.items():
        (odd / name).symlink_to(target)
    os.mkfifo(odd / "fifo")
    with (odd / "large").open("wb") as file:
        file.truncate(LARGE)
    with suppress(OSError):  # not every file system has them
        os.setxattr(odd / "read-only.txt", "user.mark", b"of the user")
    (odd / "read-only.txt").chmod(0o400)
    (odd / "closed").chmod(0o500)
    (odd / "set-group").chmod(0o2775)
    (odd / "unreadable").chmod(0)
    return root


def state(root: Path, *, ctime: bool = True) -> dict[str, tuple[object, ...]]:
    """The folder and every path below it, with all that can be seen of it; what was only touched has another ctime."""
    found: dict[str, tuple[object, ...]] = {}
    waiting = [root]
    while waiting:
        path = waiting.pop()
        told = path.lstat()
        content: object = path.readlink() if path.is_symlink() else None
        if stat.S_ISREG(told.st_mode) and told.st_size < LARGE:
            with suppress(PermissionError):
                content = sha256(path.read_bytes()).hexdigest()
        if stat.S_ISDIR(told.st_mode):
            with suppress(PermissionError):
                waiting += path.iterdir()
        found[path.relative_to(root).as_posix()] = (
            oct(told.st_mode),
            (told.st_uid, told.st_gid, told.st_ino, told.st_nlink, told.st_blocks),
            None if stat.S_ISDIR(told.st_mode) else told.st_size,
            told.st_mtime_ns,
            told.st_ctime_ns if ctime else None,
            content,
            _attributes(path),
        )
    return found


def _attributes(path: Path) -> dict[str, bytes]:
    with suppress(OSError, AttributeError):
        names = os.listxattr(path, follow_symlinks=False)
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in names}
    return {}


def differing(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[object, object]]:
    """What is there before and after, where that is not the same."""
    return {
        path: (before.get(path), after.get(path))
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    }


def open_up(folder: Path) -> None:
    """Let its owner remove all of it."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
