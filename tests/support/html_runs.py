"""Runs for the tests of the HTML report: a mixed one with a baseline, in all formats, and one of any size."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from builders import run_report
from paths import REPOSITORY
from scratch import skillgym, suite, written
from skillgym_action.model.result import Attempt
from skillgym_action.model.verdicts import Status
from skillgym_action.results.results_file import render

if TYPE_CHECKING:
    from pathlib import Path

# Whatever is parsed as HTML, or opened as an address, runs something of it, or requests something.
ATTACK = (
    "</script><script>window.hurt=1</script><!-- <img src=http://e.example/x onerror='window.hurt=2'>"
    '"><svg onload=window.hurt=3><a href="javascript:window.hurt=4">&lt;b&gt;</a>\u2028\u2029${window.hurt=5}'
)
AGENT = """
import json, os, pathlib, sys
attack, log, prompt = {attack!r}, pathlib.Path(os.environ["LOG"]), sys.argv[1]
def say(**fields): print(json.dumps(fields))
cwd = os.getcwd()
say(type="message", role="user", text=prompt)
usage = {{"inputTokens": 1234, "cacheTokens": 1000, "outputTokens": 56, attack: attack}}
thought = {{"text": "Think about " + attack, "phase": "thinking", "usage": usage, "at": "2026-01-02T03:04:05Z"}}
say(type="message", role="assistant", **thought)
say(type="toolCall", tool="Read", args={{"path": "in.txt", attack: attack}})
say(type="fileRead", path=cwd + "/in.txt")
say(type="toolResult", tool="Read", output="in.txt says " + attack)
number = 1
while "flaky" in prompt:  # which of its sessions this is, also if two begin at once
    try:
        (log / str(number)).touch(exist_ok=False)
        break
    except FileExistsError:
        number += 1
works = os.environ["MODE"] == "good" or ("flaky" in prompt and number % 2)
line = "echo done > out.txt" if works else "echo done > other.txt"
say(type="toolCall", tool="Bash", args={{"command": line}}, at="2026-01-02T03:04:07Z")
say(type="command", command=line, exitCode=0)
say(type="toolResult", tool="Bash", output=attack, at="2026-01-02T03:04:10Z")
say(type="skillSignal", skill="skill " + attack, signal="tool")
pathlib.Path("out.txt" if works else "other.txt").write_text("done " + attack + "\\n")
pathlib.Path("in.txt").write_text("changed by the agent\\n" + attack + "\\n")
pathlib.Path("odd <b>&name.txt").write_text(attack)
say(type="message", role="assistant", phase="final", text="The answer: " + attack)
say(type="session", usage={{"inputTokens": 1234 * (1 + len(prompt)), "outputTokens": 56}}, cost={{"usd": 0.01}})
"""


def mixed_runs(folder: Path) -> tuple[Path, Path]:
    """Run directories of a run of five formats with every kind of result, and of its baseline, with a hostile agent."""
    shutil.copytree(REPOSITORY / "examples", folder / "examples")
    cases = [
        {"id": name, "prompt": f"Do {name} {more}", "tags": ["plain", f"odd {ATTACK}"][: 1 + number], "expect": expect}
        for number, (name, more, expect) in enumerate([
            ("write-out", "", ["file:out.txt contains 'done'"]),
            ("flaky-out", "", ["file:out.txt exists"]),
            (f"odd {ATTACK}", ATTACK, ["file:out.txt exists", f"file:in.txt contains '{ATTACK[:40]}x'"]),
        ])
    ]  # fmt: skip
    template = {"examples/plain/template/in.txt": "as it was\n"}
    core = suite(*cases, workspace={"templateDir": "template"})
    written(folder, {"examples/plain/core.bench.json": core, "agent.py": AGENT.format(attack=ATTACK)} | template)
    for mode in ("good", "bad"):
        (folder / f"log-{mode}").mkdir()
    base = _run(folder, "good", "examples/plain", "--runner", "hostile")
    return _run(folder, "bad", "examples", "--baseline", str(base)), base


def _run(folder: Path, mode: str, *args: str) -> Path:
    agent = {"type": "command", "command": [sys.executable, str(folder / "agent.py"), "{prompt}"], "output": "events"}
    agent["env"] = {"LOG": str(folder / f"log-{mode}"), "MODE": mode}
    recorded = {"agent": {"type": "replay", "sessions": "recordings", "model": "claude-sonnet-4-6"}}
    config = {"runners": {"hostile": {"agent": agent}, "recorded": recorded}}
    written(folder, {"examples/skillgym.config.yaml": json.dumps(config)})
    output = folder / mode
    options = ("--repeat", "5", "--jobs", "2", "--timeout", "60", "--output", output, "--fail-on", "failed")
    ran = skillgym("run", *args, "--config", "examples/skillgym.config.yaml", *options, cwd=folder, limit=300)
    assert ran.code in (0, 1), ran.err
    return output


def large_run(folder: Path, sessions: int) -> Path:
    """A stored run of that many sessions, each with a transcript of 60 kB, a diff and logs of 40 kB."""
    every = 4
    rows = [
        f"case-{number} {'failed 2of4' if number % 3 == 0 else 'passed 4of4'}" for number in range(sessions // every)
    ]
    report = run_report("\n".join(rows), id="large")
    call = {"type": "toolCall", "tool": "Bash", "args": {"command": "make test"}, "at": "2026-01-02T03:04:05Z"}
    result = {"type": "toolResult", "tool": "Bash", "output": "line of output\n" * 90, "at": "2026-01-02T03:04:09Z"}
    text = {"type": "message", "role": "assistant", "phase": "commentary", "text": "what is done next, in words. " * 6}
    events = [event for _ in range(40) for event in (text, call, result)]
    files = {
        "report.json": json.dumps({"events": events, "cwd": "/w", "finalOutput": "done " * 100, "usage": {}}),
        "workspace.json": json.dumps({"created": [], "modified": ["a.py"], "deleted": [], "complete": True}),
        "changes.diff": "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n-old\n+new\n"
        + " same\n" * 400,
        "stdout.log": "what the agent printed\n" * 1_800,
    }
    results = []
    for one in report.results:
        attempts = tuple(
            Attempt(
                repetition=number,
                session=1,
                status=Status.FAILED if one.status is Status.FAILED and number > 2 else Status.PASSED,
                duration_ms=1000 * number,
                directory=f"core/{one.case_id}/claude/repeat-{number}",
            )
            for number in range(1, every + 1)
        )
        for attempt in attempts:
            written(folder / attempt.directory, files)
        results.append(replace(one, attempts=attempts))
    written(folder, {"results.json": "".join(render(replace(report, results=tuple(results))))})
    return folder
