"""The action's image, built once from the Dockerfile; or the one that SKILLGYM_IMAGE names, before it is released."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from paths import REPOSITORY
from scratch import git_in

if TYPE_CHECKING:
    from pathlib import Path

DOCKERFILE = REPOSITORY / "Dockerfile"
BASE = re.compile(r"^FROM ((\S+)@sha256:[0-9a-f]{64}) AS base$", re.MULTILINE)
NAME = "skillgym-action:test"


def docker(*arguments: str, given: str | None = None) -> str:
    """What the engine's command line prints."""
    finished = subprocess.run(["docker", *arguments], input=given, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def copied_sources(folder: Path) -> Path:
    """A copy of this project without what git ignores, in a new folder."""
    listed = git_in(REPOSITORY, "ls-files", "-z", "--cached", "--others", "--exclude-standard").rstrip("\0").split("\0")
    for name in filter(lambda one: (REPOSITORY / one).exists(), listed):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name, follow_symlinks=False)
    return folder


def buildable(dockerfile: str) -> str:
    """The Dockerfile; where no registry has its base, with the stand-in that engine.sh made under the tag's name."""
    (found,) = BASE.finditer(dockerfile)
    inspected = subprocess.run(["docker", "image", "inspect", found[1]], capture_output=True, check=False)
    return dockerfile if inspected.returncode == 0 else BASE.sub(f"FROM {found[2]} AS base", dockerfile)


@cache
def built() -> str:
    """The image's name."""
    if published := os.environ.get("SKILLGYM_IMAGE"):
        docker("pull", "--quiet", published)
        return published
    dockerfile = buildable(DOCKERFILE.read_text(encoding="utf-8"))
    docker("build", "--quiet", "--tag", NAME, "--file", "-", str(REPOSITORY), given=dockerfile)
    return NAME
