"""Scratch repositories, and the tool run in them: as a program, or stage by stage in this process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import validated_settings
from skillgym_action.workspaces.workspaces import LOOK_SECONDS
from waiting import LIMIT
from warm_start import RUNS, can_start_warm, warm_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.services import Services
    from skillgym_action.sessions.engines.dispatch import Dispatcher

PROGRAM = Path(sys.executable).with_name("skillgym-action")
PASSING = "echo done > out.txt"
HUNG = 2.5 * LIMIT  # 300 s; ends a program of a test that would never end
IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false")

OF_AGENTS = (
    "ANTHROPIC_",
    "CLAUDE_",
    "CODEX_",
    "CURSOR_",
    "GEMINI_",
    "GOOGLE_",
    "OPENAI_",
    "OPENROUTER_",
    "PI_",
    "QWEN_",
)


def environment(**more: str) -> dict[str, str]:
    """Ours, without what a workflow, the tool or an agent reads out of it; ``more`` is added.

    Without a home of the test, CLIs have no stored login, whoever is logged in on this machine.
    """
    foreign = ("GITHUB_", "ACTIONS_", "INPUT_", "RUNNER_", "SKILLGYM_", "GIT_", *OF_AGENTS)
    alone = ("CI", "NO_COLOR", "FORCE_COLOR")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign) and name not in alone}
    return ours | ({} if "HOME" in more else dict.fromkeys(("CLAUDE_CONFIG_DIR", "CODEX_HOME"), os.devnull)) | more


# --- repositories -----------------------------------------------------------------------------------


def case(case_id: str = "one", expect: tuple[str, ...] = ("file:out.txt exists",), **more: Any) -> dict[str, Any]:
    """A case of an x-bench suite."""
    return {"id": case_id, "prompt": f"Do {case_id}", "expect": list(expect)} | more


def suite(*cases: dict[str, Any], **more: Any) -> str:
    """An x-bench suite."""
    return json.dumps({"name": "core", "cases": list(cases or (case(),))} | more)


def runner(script: str | None = PASSING, **more: Any) -> dict[str, Any]:
    """A configured agent that is a shell line."""
    return {"agent": {"type": "command"} | ({"command": script} if script is not None else {}) | more}


def config(*runners: dict[str, Any], run: dict[str, Any] | None = None, **named: dict[str, Any]) -> str:
    """A configuration in JSON, which is YAML; one runner without a name is ``sh``."""
    return json.dumps({"runners": dict(zip(("sh", "second"), runners, strict=False)) | named, "run": run or {}})


def repository(folder: Path, files: dict[str, str | bytes] | None = None, *, git: bool = False) -> Path:
    """A folder with a passing suite, an agent and whatever ``files`` says; None of a name leaves it out."""
    standard = {"bench/core.json": suite(), "skillgym.config.yaml": config(runner())}
    written(folder, {name: text for name, text in (standard | (files or {})).items() if text is not None})
    if git:
        git_in(folder, "init", "--quiet", "--initial-branch=main")
        committed(folder)
    return folder


def written(folder: Path, files: dict[str, str | bytes]) -> Path:
    """The folder, with those files in it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


_commits = count(1)


def committed(folder: Path) -> None:
    """Commit all files. Each commit has a message of its own: else two of one second and one content were the same."""
    git_in(folder, "add", "--all")
    git_in(folder, *IDENTITY, "commit", "--quiet", "--allow-empty", f"--message=Commit {next(_commits)}")


def git_in(folder: Path, *args: str) -> str:
    """What git prints."""
    argv = ("git", *args)
    return subprocess.run(argv, cwd=folder, env=environment(), check=True, capture_output=True, text=True).stdout


# --- the program ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ran:
    """A program that has ended."""

    code: int
    out: str
    err: str


def skillgym(*args: str | Path, cwd: Path, limit: float = HUNG, **env: str) -> Ran:
    """The command line, in a process of its own."""
    if can_start_warm(env):
        done = warm_run(PROGRAM, *map(os.fspath, args), cwd=cwd, env=environment(**env), limit=limit)
    else:
        RUNS.append(PROGRAM.name)
        argv, streams = (PROGRAM, *args), {"stdin": subprocess.DEVNULL, "capture_output": True}
        done = subprocess.run(argv, cwd=cwd, env=environment(**env), check=False, timeout=limit, **streams)
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def started(*args: str, cwd: Path, **env: str) -> subprocess.Popen[str]:
    """The console script, left running."""
    RUNS.append(PROGRAM.name)
    pipe = subprocess.PIPE
    argv = (os.fspath(PROGRAM), *args)
    return subprocess.Popen(argv, cwd=cwd, env=environment(**env), stdout=pipe, stderr=pipe, text=True)


# --- the line, in this process ----------------------------------------------------------------------


@dataclass
class Watched:
    """Watches a run; fulfils ``services.Observer``."""

    total: int = 0
    begun: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def planned(self, total: int) -> None:
        self.total = total

    def started(self, execution: Execution) -> None:
        self.begun.append(execution.case.id)

    def finished(self, result: Result) -> None:
        self.ended.append(result.case_id)

    def progress(self, line: str) -> None:
        self.lines.append(line)

    def detail(self, line: str) -> None:
        self.details.append(line)

    def write_line(self, line: str) -> None:
        self.said.append(line)


@contextmanager
def world_in(root: Path, observer: Watched | None = None, output: str = "results", **env: str) -> Iterator[Services]:
    """All doors, open in a repository."""
    context = current_context(root, environment(**env))
    with wiring.open_services(context, context.cwd / output, observer or Watched()) as services:
        yield services


def run_in(
    root: Path,
    observer: Watched | None = None,
    workers: Callable[[Services], AbstractContextManager[Dispatcher]] | None = None,
    clock: Any = None,
    look_seconds: float = LOOK_SECONDS,
    **given: Any,
) -> RunReport:
    """A whole run with those settings, as ``run`` does it; its directory is ``results``. ``clock``: one of the test.

    ``look_seconds``: that the tool may look at a workspace.
    """
    chosen = validated_settings(given, str)
    context = current_context(root, environment())
    told = wiring.configuration(chosen, context)
    runners = configured_runners(chosen, told, context)
    options = resolve.options(chosen, told, context, runners=len(runners))
    directory = context.cwd / (chosen.output or "results")
    with wiring.open_services(context, directory, observer or Watched(), options) as real:
        services = replace(real, clock=clock or real.clock)
        services.workspaces.look_seconds = look_seconds
        opened = partial(workers, services) if workers else None
        return pipeline.run(services, runners, options, command="run", show=lambda _: None, workers=opened)
