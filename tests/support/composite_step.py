"""A step of a job that uses the composite action: its script, the job's variables, and the folders of GitHub's runner.

Nothing is downloaded: in place of uv a script makes an environment with the packages that the tests have.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import everybody
from attempts import IN_ACTION, OF_OTHER_STEPS
from paths import REPOSITORY
from scratch import HUNG, Ran, environment, written

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES = {
    "GITHUB_ENV": "set_env",
    "GITHUB_OUTPUT": "set_output",
    "GITHUB_PATH": "add_path",
    "GITHUB_STATE": "save_state",
    "GITHUB_STEP_SUMMARY": "step_summary",
}
# ``uv venv --quiet --no-project --python PYTHON FOLDER``; ``uv pip install --quiet --python FOLDER/bin/python …``
UV = """\
#!/bin/sh
if [ "$1" = venv ]; then exec {python} -I -m venv --without-pip "$6"; fi
echo '{packages}' >"$("$5" -I -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/others.pth"
"""


@dataclass(frozen=True, kw_only=True)
class RunnersFolders:
    """What GitHub's runner has for a job. ``home``: the one of Docker actions, or of all steps of a job in a container.

    ``commands``: the folder of the files in which a step leaves commands.
    """

    temp: Path
    payload: Path
    home: Path

    @property
    def commands(self) -> Path:
        """Where the files are in which a step leaves commands."""
        return self.temp / "_runner_file_commands"

    @property
    def places(self) -> dict[str, str | Path]:
        """As ``attempts.script`` wants them."""
        named = {"commands": self.commands, "event": self.payload, "jobhome": self.home, "temp": self.temp}
        return {**IN_ACTION, **named}

    @property
    def variables(self) -> dict[str, str]:
        """The variables of the job and of the step that name them."""
        files = {name: str(self.commands / file) for name, file in FILES.items()}
        return {"RUNNER_TEMP": str(self.temp), "GITHUB_EVENT_PATH": str(self.payload), **files}


def on_machine(folder: Path) -> RunnersFolders:
    """The runner's folders of a job on a machine, with files in them."""
    temp = folder / "work" / "_temp"
    return _filled(
        RunnersFolders(temp=temp, payload=temp / "_github_workflow" / "event.json", home=temp / "_github_home")
    )


def in_container(folder: Path) -> RunnersFolders:
    """The same for a job in a container."""
    inside = folder / "github"
    payload = inside / "workflow" / "event.json"
    return _filled(RunnersFolders(temp=folder / "__w" / "_temp", payload=payload, home=inside / "home"))


def _filled(folders: RunnersFolders) -> RunnersFolders:
    written(folders.temp, OF_OTHER_STEPS)
    written(folders.payload.parent, {folders.payload.name: "{}"})
    written(folders.commands, dict.fromkeys(FILES.values(), ""))
    written(folders.home, {"of-a-step": ""})
    return folders


def composite_step(root: Path, folders: RunnersFolders, inputs: Mapping[str, str], **env: str) -> Ran:
    """The step, in the checkout ``root``."""
    beside = root.parent
    action = _action(beside / "action")
    files = {"python3": f'#!/bin/sh\nexec {everybody.python()} "$@"\n', "uv": _uv()}
    for name in files:
        (written(beside / "bin", files) / name).chmod(0o755)
    path = [folder for folder in os.environ["PATH"].split(os.pathsep) if everybody.is_open(Path(folder))]
    given = {"github-token": "", "store": "none", "comment": "off", "status": "off", **inputs}
    job = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "push", "GITHUB_REPOSITORY": "octo/skills"}
    settings = {"SKILLGYM_ACTION_ROOT": f"{action}/composite/..", "SKILLGYM_INPUTS": json.dumps(given)}
    variables = environment(
        **{**job, **settings, **folders.variables, "PATH": os.pathsep.join([str(beside / "bin"), *path]), **env}
    )
    done = subprocess.run(
        ["bash", action / "composite" / "run.sh"],
        cwd=root, env=variables, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=HUNG,
    )  # fmt: skip
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def _action(folder: Path) -> Path:
    """The action's own checkout, where every user can read it."""
    for name in ("composite/run.sh", "requirements/composite.txt"):
        written(folder, {name: (REPOSITORY / name).read_bytes()})
    if not (folder / "src").exists():
        (folder / "src").symlink_to(everybody.packages()[0])
    return folder


def _uv() -> str:
    return UV.format(python=everybody.python(), packages="\n".join(map(str, everybody.packages()[1:])))
