"""The image's recipe: all that it is made of is named so that nobody can put anything else in its place."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from paths import REPOSITORY

if TYPE_CHECKING:
    from proofs import Proved

DOCKERFILE = re.sub(r"\\\n", "", (REPOSITORY / "Dockerfile").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
LOCKED = re.compile(r"^([\w.-]+)==(\S+) \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE)
WHEELS = {"requirements.txt": "image", "build-requirements.txt": "image-build"}


def instructions(word: str) -> list[str]:
    return [line.removeprefix(f"{word} ") for line in DOCKERFILE.splitlines() if line.startswith(f"{word} ")]


def commands() -> list[str]:
    """Of the shell: programs in Python are quoted."""
    shell = (re.sub(r'-c "[^"]*"', "-c", run) for run in instructions("RUN"))
    return [command.strip() for run in shell for command in re.split(r"&&|;", run)]


def locked(file: str) -> dict[str, str]:
    text = (REPOSITORY / "docker" / file).read_text(encoding="utf-8")
    return {name: version for name, version, _ in LOCKED.findall(text)}


def test_every_base_is_named_by_its_digest():
    stages: set[str] = {"scratch"}
    for words in map(str.split, instructions("FROM")):
        assert words[0] in stages or re.fullmatch(r"[\w./:-]+:[\w.-]+@sha256:[0-9a-f]{64}", words[0]), words
        stages.update(words[2:])
    copied = [one.split()[0].removeprefix("--from=") for one in instructions("COPY") if "--from" in one]
    assert set(copied) <= stages - {"scratch"}


def test_pip_takes_nothing_but_what_the_locks_name_by_hash():
    taking = [command for command in commands() if re.match(r"pip (install|wheel)", command)]
    from_index = [command for command in taking if "--no-index" not in command]
    assert [command.split("/tmp/")[1] for command in from_index] == ["build-requirements.txt", "requirements.txt"]
    for command in from_index:
        assert command.startswith("pip install --require-hashes --no-deps "), command
        assert " --only-binary :all: -r /tmp/" in command, command


def test_nothing_comes_from_anywhere_but_the_registries_of_packages():
    assert instructions("ADD") == []
    assert not re.search(r"https?:|\bcurl\b|\bwget\b|git clone|npm (install|i|ci)|npx |pip install \S*@", DOCKERFILE)
    programs = {command.split()[0] for command in commands()} - {"for", "do", "done", "id", "id++)", "print"}
    assert programs == {
        "apt-get",
        "awk",
        "chmod",
        "find",
        "ln",
        "mkdir",
        "node=$(python",
        "pip",
        "python",
        "rm",
        "sh",
        "useradd",
    }
    scripts = [command.split()[1] for command in commands() if command.startswith("sh ")]
    assert [Path(one).name for one in scripts] == ["repackage-git.sh", "trim.sh"]
    for name in map(Path, scripts):
        text = (REPOSITORY / "docker" / name.name).read_text(encoding="utf-8")
        assert not re.search(r"https?:|\b(curl|wget|git clone|apt|pip install|npm) ", text)


def test_the_locks_hold_every_dependency_in_a_version_that_it_allows(proved: Proved):
    """And every line has hashes: pip would refuse the file otherwise, in the build."""
    count = 0
    for file, group in WHEELS.items():
        versions = locked(file)
        text = (REPOSITORY / "docker" / file).read_text(encoding="utf-8")
        assert [line for line in LOCKED.sub("", text).splitlines() if line and not line.lstrip().startswith("#")] == []
        wanted = PROJECT["dependency-groups"][group] + (PROJECT["project"]["dependencies"] if group == "image" else [])
        for requirement in map(Requirement, wanted):
            assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement
        count += len(versions)
    assert PROJECT["dependency-groups"]["image-build"] == PROJECT["build-system"]["requires"]
    proved("image", "packages for Python that are locked by hash", count)


def test_what_is_named_is_kept_up_to_date():
    updates = yaml.safe_load((REPOSITORY / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    folders = {one["package-ecosystem"]: one.get("directories", [one.get("directory")]) for one in updates}
    assert folders["docker"] == ["/"]
    assert "/docker" in folders["pip"]
