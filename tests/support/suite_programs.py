"""Suite programs in tests: written to a folder, run in real suite hosts."""

from __future__ import annotations

import os
from contextlib import contextmanager
from textwrap import dedent

from skillgym_action.model.session_report import (
    AgentRef,
    Command,
    FileRead,
    ObservedFiles,
    RunnerRef,
    SessionReport,
    SkillDetection,
    ToolCall,
)
from skillgym_action.suites.programs.hosts.suite_host import SuiteHosts
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher

HEAD = "from skillgym_action import Case, Suite, Workspace, expect\n"


def session_report(**changes):
    """A session that ran ``ls``, read a file, and ended with ``ready``."""
    told = {
        "runner": RunnerRef(id="claude", path_key="claude", agent=AgentRef(type="claude-code", model="m")),
        "prompt": "Say ready",
        "cwd": "/workspace",
        "final_output": "ready",
        "files": ObservedFiles(observed_reads=("/workspace/a.txt",)),
        "detected_skills": (SkillDetection(skill="deploy", confidence="explicit", evidence=("tool",)),),
        "events": (
            Command(command="ls", exit_code=0),
            ToolCall(tool="Read", args={"filePath": "a.txt", "line_no": None}),
            ToolCall(tool="Bash", args={"command": "ls"}),
            FileRead(path="/workspace/a.txt"),
        ),
    }
    return SessionReport(**told | changes)


@contextmanager
def suite_hosts(folder, environment=None, logs=None, **settings):
    """Suite hosts whose root is ``folder``; PATH alone is in their environment."""
    cancelled = Cancellation()
    given = {"PATH": os.environ["PATH"]} if environment is None else environment
    try:
        with (
            ProcessLauncher(environment=given, cancelled=cancelled) as processes,
            SuiteHosts(
                processes, root=folder, logs=logs or folder / "logs", **{"call_limit": 20.0} | settings
            ) as hosts,
        ):
            yield hosts
    finally:
        cancelled.close()


def written(folder, body, name="bench/demo_suite.py", head=HEAD):
    """A suite file; its line 1 is the import of this package."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + dedent(body), encoding="utf-8")
    return file


def one_case(check):
    """A suite with the case ``it``, whose check has that body, its first line being line 5 of the file."""
    body = "\n".join("    " + line for line in dedent(check).strip().splitlines())
    return f"suite = Suite()\n@suite.case('it', prompt='Say ready')\ndef check(report, ctx):\n{body}\n"
