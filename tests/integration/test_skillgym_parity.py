"""The same TypeScript suites here and with the npm package skillgym: the same statuses, origins and classes.

Where we say something else on purpose, it is listed with the reason.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paths import DATA
from scratch import HUNG, environment, skillgym
from skillgym_package import new_node, skillgym_package

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SUITES = DATA / "parity"
TYPES = {"claude": "claude-code", "cursor": "cursor-agent", "opencode": "opencode"}
# The session `works` uses 107 tokens.
SNAPSHOTS = {"as dear as before": 107, "cheaper than before": 200, "a little dearer": 100} | dict.fromkeys(
    ("dearer", "dearer, classified", "dearer and wrong", "dearer and wrong, as expected", "counts nothing"), 50
)
LIMITS = {"path": "./snapshots.json", "tolerance": {"absolute": 10}}


@dataclass(frozen=True)
class Run:
    """A suite on a runner; ``settings`` are more of a configuration."""

    suite: str
    runner: str = "claude"
    settings: dict[str, Any] = field(default_factory=dict)


RUNS = (
    Run("sessions-suite.ts"),
    Run("workspace-suite.ts"),
    Run("bootstrap-suite.ts"),
    Run("template-suite.ts"),
    Run("rejected-suite.ts"),
    Run("cursor-suite.ts", "cursor"),
    Run("opencode-suite.ts", "opencode"),
    Run("snapshot-suite.ts", settings={"snapshots": LIMITS}),
    Run("repeat-suite.ts", settings={"run": {"repeatFailure": 1}}),
)
Verdict = tuple[str, str | None, str | None]  # status, origin, id of the failure class
ORIGINS = {
    *("assertion", "assert-hook", "max-steps", "model-rejected", "runner", "workspace", "workspace-bootstrap"),
    *("collection", "normalization", "snapshot"),
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
        ours=("failed", "assert-hook", "assert-hook"),
        theirs=("failed", "assertion", "assertion"),
        reason="soft failures are collected, as documented; the package as it is published throws the first at once",
    ),
    "wrong in several ways": OnPurpose(
        ours=("failed", "assertion", "assertion"),
        theirs=("failed", "assert-hook", "assert-hook"),
        reason="several failed assertions are no crash, however they are told together",
    ),
    "marked later": OnPurpose(
        ours=("failed", "assertion", "own"),
        theirs=("failed", "assertion", "assertion"),
        reason="classify waits for what it runs",
    ),
    "hangs": OnPurpose(
        ours=("failed", "limit", "timeout"),
        theirs=("errored", "runner", "timeout"),
        reason="an agent that does not end in time has failed",
    ),
    "hangs, classified": OnPurpose(
        ours=("failed", "limit", "own timeout"),
        theirs=("errored", "runner", "own timeout"),
        reason="an agent that does not end in time has failed",
    ),
    "opencode floods": OnPurpose(
        ours=("passed", None, None),
        theirs=("errored", "collection", "own collection collection"),
        reason="a session with very many events is judged as far as it can be",
    ),
    "too many steps": OnPurpose(
        ours=("failed", "limit", "max-steps"),
        theirs=("errored", "max-steps", "max-steps"),
        reason="an agent that exceeds a limit has failed",
    ),
    "too many steps, classified": OnPurpose(
        ours=("failed", "limit", "own limit"),
        theirs=("errored", "max-steps", "own max-steps"),
        reason="an agent that exceeds a limit has failed",
    ),
    "a timeout is not expected": OnPurpose(
        ours=("failed", "limit", "timeout"),
        theirs=("errored", "runner", "timeout"),
        reason="an agent that does not end in time has failed",
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
    "opencode tells no session": OnPurpose(
        ours=PASSED,
        theirs=("errored", "collection", "collection"),
        reason="what it prints is enough to be judged; nothing is exported afterwards",
    ),
    "opencode fails": OnPurpose(
        ours=CRASH, theirs=("errored", "collection", "collection"), reason="an agent that fails is no trouble of ours"
    ),
    "hangs at first": OnPurpose(
        ours=("failed", "limit", "timeout"),
        theirs=PASSED,
        reason="repeatFailure is about assertions; a session that took too long is not held again",
    ),
    "cursor has an odd clock": OnPurpose(
        ours=PASSED,
        theirs=("errored", "normalization", "normalization"),
        reason="a time that no calendar knows does not make the rest unreadable",
    ),
}


# A command line as people have it, with each option that skillgym alone has; the suite fails and passes at first.
OPTIONS = (
    *("--config", "config.json", "--runner", "claude", "--schedule", "parallel", "--max-parallel", "2"),
    *("--repeat", "1", "--repeat-failure", "1", "--retry-failed", "0", "--output-dir", "runs", "--reporter", "json"),
    *("--snapshots", "own-snapshots.json", "--update-snapshots", "--cwd", "./desk", "--tag", "flags"),
)


def root_with_suites(folder: Path) -> Path:
    """The suites, their agent, and what it used before."""
    shutil.copytree(SUITES, folder)
    known = {"runnerId": "claude", "agentType": "claude-code", "model": "m", "metric": "totalTokens"}
    entries = {
        f"{case}::claude": {"caseId": case, "value": value, "updatedAt": "2026-01-01T00:00:00.000Z", **known}
        for case, value in SNAPSHOTS.items()
    }
    (folder / "snapshots.json").write_text(json.dumps({"version": 1, "entries": entries}))
    (folder / "node_modules").symlink_to(skillgym_package().parent)
    return folder


def configuration(root: Path, run: Run) -> str:
    """As both of them take it."""
    agent = {"model": "m", "command": str(root / "agent.sh")}
    runners = {name: {"agent": {"type": kind, **agent}} for name, kind in TYPES.items()}
    limited = {"maxSteps": 3, **run.settings.get("run", {})}
    return json.dumps({**run.settings, "run": limited, "runners": runners})


def ours(root: Path, run: Run) -> dict[str, Verdict]:
    (root / "config.json").write_text(configuration(root, run))
    # One after the other, which is what they do, shows who is not started; where it does not matter it is slow.
    jobs = "4" if run.suite.startswith("sessions") else "1"
    options = ("--config", "config.json", "--runner", run.runner, "--output", f"out/{run.suite}", "--jobs", jobs)
    ran = skillgym("run", run.suite, *options, cwd=root)
    assert ran.code in (1, 3), ran.err
    stored = json.loads((root / "out" / run.suite / "results.json").read_text())
    return {result["caseId"]: verdict(result) for suite in stored["suites"] for result in suite["results"]}


def theirs(root: Path, run: Run) -> dict[str, Verdict]:
    config = root / f"config-{run.suite}.mjs"
    config.write_text(f"export default {configuration(root, run)};\n")
    options = (
        "--config",
        config.name,
        "--runner",
        run.runner,
        "--output-dir",
        f"out/{run.suite}",
        "--reporter",
        "json",
    )
    argv = (new_node(), str(skillgym_package() / "bin.js"), "run", run.suite, *options)
    ran = subprocess.run(argv, cwd=root, env=environment(), capture_output=True, text=True, check=False, timeout=HUNG)
    found = list((root / "out" / run.suite).glob("*/results.json"))
    assert found, ran.stderr
    stored = json.loads(found[0].read_text())
    results = {case["caseId"]: case["runnerResults"][0] for case in stored["cases"]}
    return {case: in_our_words(verdict(telling(result))) for case, result in results.items()}


def telling(result: dict[str, Any]) -> dict[str, Any]:
    """Of expected failures only the repetition says what they are, and of snapshots only the whole."""
    whole: bool = result.get("failureOrigin") == "snapshot"
    return result if whole else result["repetitions"][-1]  # type: ignore[no-any-return]


def verdict(result: Mapping[str, dict[str, str]]) -> Verdict:
    return result["status"], result.get("failureOrigin"), result.get("failureClass", {}).get("id")


def in_our_words(theirs: Verdict) -> Verdict:
    """They have no word for *errored*: it is failed with another origin than the check."""
    status, origin, failure_class = theirs
    judged = ("assertion", "assert-hook")
    return ("errored" if status == "failed" and origin not in judged else status), origin, failure_class


def test_the_same_suites_get_the_same_verdicts_here_and_there(tmp_path):
    here, there = {}, {}
    our_root, their_root = (root_with_suites(tmp_path / name) for name in ("ours", "theirs"))
    for run in RUNS:
        here |= ours(our_root, run)
        there |= theirs(their_root, run)
    assert len(there) >= 80
    assert {origin for _, origin, _ in there.values()} == {*ORIGINS, None}
    assert here == there | {case: different.ours for case, different in DIFFERENCES.items()}
    assert {case: there[case] for case in DIFFERENCES} == {case: one.theirs for case, one in DIFFERENCES.items()}


def flagged(root: Path, *program: str) -> tuple[int, dict[str, Any], dict[str, Any], list[str]]:
    """What that command line makes of a suite: exit code, printed JSON, token snapshots, names of run directories."""
    settings = configuration(root, Run("flags-suite.ts", settings={"snapshots": {"tolerance": {"absolute": 10}}}))
    (root / "config.json").write_text(settings)
    (root / "config.mjs").write_text(f"export default {settings};\n")
    (root / "desk").mkdir()
    ran = subprocess.run(
        program, cwd=root, env=environment(), capture_output=True, text=True, check=False, timeout=HUNG
    )
    assert ran.stdout.startswith("{"), ran.stderr
    entries = json.loads((root / "own-snapshots.json").read_text())["entries"]
    made = [folder.name for folder in (root / "runs").iterdir() if (folder / "results.json").is_file()]
    return ran.returncode, json.loads(ran.stdout), {name: entry["value"] for name, entry in entries.items()}, made


def test_a_command_line_of_skillgym_does_the_same_here_and_there(tmp_path):
    our_root, their_root = (root_with_suites(tmp_path / name) for name in ("ours", "theirs"))
    there = tuple("config.mjs" if word == "config.json" else word for word in OPTIONS)
    run = ("run", "flags-suite.ts")
    ours = flagged(our_root, sys.executable, "-m", "skillgym_action", *run, *OPTIONS)
    theirs = flagged(their_root, new_node(), str(skillgym_package() / "bin.js"), *run, *there)
    here = {result["caseId"]: result for suite in ours[1]["suites"] for result in suite["results"]}
    of_them = {case["caseId"]: case["runnerResults"][0] for case in theirs[1]["cases"]}
    sessions = {"works at the desk": 1, "wrong at first": 2, "always wrong": 2}
    assert {case: len(result["attempts"]) for case, result in here.items()} == sessions
    assert {case: len(result.get("sessions", [result])) for case, result in of_them.items()} == sessions
    assert {case: result["status"] for case, result in here.items()} == {
        case: result["status"] for case, result in of_them.items()
    }
    assert (ours[0], len(ours[3])) == (theirs[0], len(theirs[3])) == (1, 1)
    assert ours[2] == theirs[2]
    assert set(ours[2]) == {"works at the desk::claude", "wrong at first::claude"}


def test_both_refuse_a_directory_for_sessions_that_have_one_of_their_own(tmp_path):
    root = root_with_suites(tmp_path / "suites")
    (root / "config.json").write_text(configuration(root, Run("workspace-suite.ts")))
    (root / "config.mjs").write_text(f"export default {configuration(root, Run('workspace-suite.ts'))};\n")
    here = skillgym("run", "workspace-suite.ts", "--config", "config.json", "--cwd", ".", cwd=root)
    argv = (new_node(), str(skillgym_package() / "bin.js"), "run", "workspace-suite.ts", "--config", "config.mjs")
    there = subprocess.run(
        (*argv, "--cwd", "."), cwd=root, env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    assert (here.code, there.returncode) == (2, 1)
    assert "--cwd .: sessions of workspace-suite.ts get a workspace of their own; leave --cwd out" in here.err
    assert "--cwd is only supported when the effective workspace mode is shared" in there.stderr
