"""The same TypeScript suites here and with the npm package skillgym: the same statuses, origins and classes.

Where we say something else on purpose, it is listed with the reason.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scratch import environment, skillgym
from skillgym_package import new_node, skillgym_package

if TYPE_CHECKING:
    from collections.abc import Mapping

SUITES = Path(__file__).parent / "data" / "parity"
RUNS = (
    ("sessions-suite.ts", "claude"),
    ("workspace-suite.ts", "claude"),
    ("bootstrap-suite.ts", "claude"),
    ("template-suite.ts", "claude"),
    ("rejected-suite.ts", "claude"),
    ("cursor-suite.ts", "cursor"),
)
Verdict = tuple[str, str | None, str | None]  # status, origin, id of the failure class
ORIGINS = {
    *("assertion", "assert-hook", "max-steps", "model-rejected", "runner", "workspace", "workspace-bootstrap"),
    "normalization",
}


@dataclass(frozen=True)
class OnPurpose:
    """Where we say something else than skillgym."""

    ours: Verdict
    theirs: Verdict
    reason: str


CRASH = ("errored", "runner", "runner-crash")
PASSED = ("passed", None, None)
DIFFERENCES = {
    "softly wrong, then broken": OnPurpose(
        ours=("errored", "assert-hook", "assert-hook"),
        theirs=("failed", "assertion", "assertion"),
        reason="soft failures are collected, as documented; the package as it is published throws the first at once",
    ),
    "marked later": OnPurpose(
        ours=("failed", "assertion", "own"),
        theirs=("failed", "assertion", "assertion"),
        reason="classify waits for what it runs",
    ),
    "hangs": OnPurpose(
        ours=("errored", "timeout", "timeout"),
        theirs=("errored", "runner", "timeout"),
        reason="a time limit is an origin of its own",
    ),
    "hangs, classified": OnPurpose(
        ours=("errored", "timeout", "own timeout"),
        theirs=("errored", "runner", "own timeout"),
        reason="a time limit is an origin of its own",
    ),
    "a timeout is not expected": OnPurpose(
        ours=("errored", "timeout", "timeout"),
        theirs=("errored", "runner", "timeout"),
        reason="a time limit is an origin of its own",
    ),
    "is killed": OnPurpose(
        ours=CRASH, theirs=("errored", "runner", "timeout"), reason="who was killed by others did not take too long"
    ),
    "reports an error": OnPurpose(
        ours=CRASH, theirs=PASSED, reason="what the agent itself calls an error is none of its answers"
    ),
    "says nothing": OnPurpose(
        ours=CRASH, theirs=PASSED, reason="an agent that ends without a result has given no answer to judge"
    ),
    "rejected": OnPurpose(
        ours=("errored", "model-rejected", "model-rejected"),
        theirs=("errored", "model-rejected", "runner-crash"),
        reason="the first execution with a rejected model is of the same class as those after it",
    ),
    "cursor has an odd clock": OnPurpose(
        ours=PASSED,
        theirs=("errored", "normalization", "normalization"),
        reason="a time that no calendar knows does not make the rest unreadable",
    ),
}


def root_with_suites(folder: Path) -> Path:
    """The suites, their agent, and one configuration as each of the two wants it written."""
    shutil.copytree(SUITES, folder, dirs_exist_ok=True)
    agent = {"model": "m", "command": str(folder / "agent.sh")}
    types = {"claude": "claude-code", "cursor": "cursor-agent"}
    config = {
        "run": {"maxSteps": 3},
        "runners": {name: {"agent": {"type": kind, **agent}} for name, kind in types.items()},
    }
    (folder / "ours.json").write_text(json.dumps(config))
    (folder / "theirs.mjs").write_text(f"export default {json.dumps(config)};\n")
    (folder / "node_modules").symlink_to(skillgym_package().parent)
    return folder


def ours(root: Path, suite: str, runner: str) -> dict[str, Verdict]:
    # One after the other, which is what they do, shows who is not started; where it does not matter it is slow.
    jobs = "4" if suite.startswith("sessions") else "1"
    options = ("--config", "ours.json", "--runner", runner, "--output", f"ours/{suite}", "--jobs", jobs)
    ran = skillgym("run", suite, *options, cwd=root)
    assert ran.code in (1, 3), ran.err
    stored = json.loads((root / "ours" / suite / "results.json").read_text())
    return {result["caseId"]: verdict(result) for suite in stored["suites"] for result in suite["results"]}


def theirs(root: Path, suite: str, runner: str) -> dict[str, Verdict]:
    options = ("--config", "theirs.mjs", "--runner", runner, "--output-dir", f"theirs/{suite}", "--reporter", "json")
    argv = (new_node(), str(skillgym_package() / "bin.js"), "run", suite, *options)
    ran = subprocess.run(argv, cwd=root, env=environment(), capture_output=True, text=True, check=False, timeout=60)
    found = list((root / "theirs" / suite).glob("*/results.json"))
    assert found, ran.stderr
    stored = json.loads(found[0].read_text())
    # Of expected failures only the repetition says what they are.
    results = {case["caseId"]: case["runnerResults"][0]["repetitions"][-1] for case in stored["cases"]}
    return {case: in_our_words(verdict(result)) for case, result in results.items()}


def verdict(result: Mapping[str, dict[str, str]]) -> Verdict:
    return result["status"], result.get("failureOrigin"), result.get("failureClass", {}).get("id")


def in_our_words(theirs: Verdict) -> Verdict:
    """They have no word for *errored*: it is failed with another origin than an assertion."""
    status, origin, failure_class = theirs
    return ("errored" if status == "failed" and origin != "assertion" else status), origin, failure_class


def test_the_same_suites_get_the_same_verdicts_here_and_there(tmp_path):
    root = root_with_suites(tmp_path)
    here, there = {}, {}
    for run in RUNS:
        here |= ours(root, *run)
        there |= theirs(root, *run)
    assert len(there) >= 30
    assert {origin for _, origin, _ in there.values()} == {*ORIGINS, None}
    assert here == there | {case: different.ours for case, different in DIFFERENCES.items()}
    assert {case: there[case] for case in DIFFERENCES} == {case: one.theirs for case, one in DIFFERENCES.items()}
