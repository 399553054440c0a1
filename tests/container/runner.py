"""Runs an image as GitHub's runner runs a step of a Docker action: mounts, folder, variables, file commands."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import yaml

from attempts import OF_OTHER_STEPS
from runner_env_files import entries
from scratch import written

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[2]
INSIDE = Path("/github")
FILE_COMMANDS = {
    "GITHUB_OUTPUT": "set_output",
    "GITHUB_STEP_SUMMARY": "step_summary",
    "GITHUB_ENV": "set_env",
    "GITHUB_PATH": "add_path",
    "GITHUB_STATE": "save_state",
}
JOB = {
    "CI": "true",
    "HOME": "/github/home",
    "GITHUB_ACTIONS": "true",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_EVENT_PATH": "/github/workflow/event.json",
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_REPOSITORY": "octocat/benchmarks",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_RUN_ID": "4711",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
    "GITHUB_WORKSPACE": "/github/workspace",
    "RUNNER_OS": "Linux",
    "RUNNER_TEMP": "/github/runner_temp",
    # What a container action gets and nothing that it starts may see.
    "ACTIONS_RUNTIME_TOKEN": "runtime-token-of-the-job",
    "ACTIONS_RESULTS_URL": "https://results.example/",
}


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a step leaves. ``outputs`` as the runner reads them, ``log`` is stdout and stderr as they came."""

    exit_code: int
    outputs: dict[str, str]
    summary: str
    log: str
    env: str
    path: str


def run_step(
    image: str,
    workspace: Path,
    *,
    inputs: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    event: object = None,
    options: tuple[str, ...] = (),
) -> Step:
    """Run ``image`` on ``workspace`` as ``uses: …`` with these inputs, job variables and event payload would.

    ``options`` are the engine's, and not the runner's.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        temp = Path(folder)
        mounts = {"home": "_github_home", "workflow": "_github_workflow", "runner_temp": "_runner_temp",
                  "file_commands": "_runner_file_commands"}  # fmt: skip
        for name in mounts.values():
            (temp / name).mkdir()
        (temp / "_github_workflow" / "event.json").write_text(json.dumps(event or {}), encoding="utf-8")
        written(temp / "_runner_temp", OF_OTHER_STEPS)
        files = {name: f"{stem}_{uuid4()}" for name, stem in FILE_COMMANDS.items()}
        for file in files.values():
            (temp / "_runner_file_commands" / file).touch()
        variables = {
            **JOB,
            **{name: str(INSIDE / "file_commands" / file) for name, file in files.items()},
            **(env or {}),
            **_input_variables(inputs or {}),
        }
        volumes = {workspace: INSIDE / "workspace", **{temp / source: INSIDE / name for name, source in mounts.items()}}
        finished = _docker_run(image, variables, {**volumes, **_engine_socket()}, options)
        left = {name: (temp / "_runner_file_commands" / file).read_bytes().decode() for name, file in files.items()}
    return Step(
        exit_code=finished.returncode,
        outputs=dict(entries(left["GITHUB_OUTPUT"])),
        summary=left["GITHUB_STEP_SUMMARY"],
        log=finished.stdout,
        env=left["GITHUB_ENV"],
        path=left["GITHUB_PATH"],
    )


def _input_variables(inputs: Mapping[str, str]) -> dict[str, str]:
    """``INPUT_<NAME>`` for every input of the action, given or not: upper case, blanks as ``_``, dashes kept.

    The job has no token: there is no GitHub behind it.
    """
    declared = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert set(inputs) <= set(declared), "the runner would warn of inputs that the action does not have"
    defaults = {name: str(declaration.get("default", "")) for name, declaration in declared.items()}
    values = {name: text.replace("${{ github.token }}", "") for name, text in defaults.items()} | dict(inputs)
    return {f"INPUT_{name.upper().replace(' ', '_')}": value for name, value in values.items()}


def _engine_socket() -> dict[Path, Path]:
    """The engine's own socket, which the runner hands to every container action."""
    socket = Path(os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://"))
    return {socket: Path("/var/run/docker.sock")} if socket.exists() else {}


def _docker_run(
    image: str, variables: Mapping[str, str], volumes: Mapping[Path, Path], options: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    command = ["docker", "run", "--rm", "--workdir", "/github/workspace", *options]
    for name in variables:
        command += ["-e", name]
    for outside, inside in volumes.items():
        command += ["-v", f"{outside}:{inside}"]
    return subprocess.run(
        [*command, image],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        timeout=300,
        check=False,
    )
