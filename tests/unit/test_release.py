"""The release script: what it refuses, what it tags, and that it may be started again. git is real."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
import yaml

from paths import REPOSITORY
from release_sources import release, released
from scratch import IDENTITY, git_in, written

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "ghcr.io/octo/skillgym-action"
DIGEST = f"sha256:{'a1' * 32}"
OTHER = f"sha256:{'b2' * 32}"
ACTION = "name: x\nruns:\n  using: docker\n  image: Dockerfile\n"


def project(folder: Path, version: str = "1.2.3", heading: str = "## 1.2.3 (2026-01-02)") -> Path:
    files = {
        "action.yml": ACTION,
        "CHANGELOG.md": f"# Changelog\n\n{heading}\n",
        "src/skillgym_action/model/version.py": f'"""x"""\n__version__ = "{version}"\n',
    }
    repository = released(written(folder / "r", files), folder / "origin.git")
    git_in(repository, "remote", "set-url", "origin", str(folder / "origin.git"))
    return repository


def next_commit(repository: Path, version: str) -> None:
    """With that version in the sources."""
    heading = f"## {version} (2026-01-02)"
    written(
        repository,
        {"CHANGELOG.md": f"{heading}\n", "src/skillgym_action/model/version.py": f'__version__ = "{version}"\n'},
    )
    git_in(repository, *IDENTITY, "commit", "--quiet", "--all", "--message=next")


def tags(repository: Path) -> dict[str, str]:
    lines = git_in(repository, "ls-remote", "--tags", "origin").splitlines()
    return {name.removeprefix("refs/tags/"): commit for commit, name in map(str.split, lines)}


def image_of(repository: Path, tag: str) -> str:
    git_in(repository, "fetch", "--quiet", "origin", f"refs/tags/{tag}")
    text = git_in(repository, "show", "FETCH_HEAD:action.yml")
    return yaml.safe_load(text)["runs"]["image"]


@pytest.mark.parametrize(
    ("changes", "version", "branch", "told"),
    [
        pytest.param({}, "1.2", "main", "'1.2' is no version such as 1.2.3", id="no version"),
        pytest.param({}, "v1.2.3", "main", "'v1.2.3' is no version such as 1.2.3", id="a tag's name"),
        pytest.param({}, "1.2.4", "main", "the sources are of version 1.2.3, not 1.2.4", id="another version"),
        pytest.param({}, "1.2.3", "topic", "not of refs/heads/topic", id="another branch"),
        pytest.param(
            {"heading": "## 1.2.3 (unreleased)"}, "1.2.3", "main",
            "CHANGELOG.md has no section `## 1.2.3 (YYYY-MM-DD)`", id="no date in the changelog",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_released_is_refused(tmp_path, changes, version, branch, told):
    refused = release(project(tmp_path, **changes), "plan", version, GITHUB_REF=f"refs/heads/{branch}")
    assert (refused.code, refused.outputs) == (1, {})
    assert told in refused.log
    assert "Traceback" not in refused.log


@pytest.mark.parametrize("branch", ["main", "release/1"])
def test_a_new_version_has_no_digest_yet(tmp_path, branch):
    planned = release(project(tmp_path), "plan", "1.2.3", GITHUB_REF=f"refs/heads/{branch}")
    assert planned.outputs == {"image": IMAGE, "digest": ""}, planned.log


def test_another_registry_may_be_named(tmp_path):
    planned = release(project(tmp_path), "plan", "1.2.3", REGISTRY="registry.example:5000")
    assert planned.outputs["image"] == "registry.example:5000/octo/skillgym-action"


def test_a_tag_is_the_released_commit_with_one_line_changed(tmp_path):
    repository = project(tmp_path)
    head = git_in(repository, "rev-parse", "HEAD").strip()
    tagged = release(repository, "tag", f"{IMAGE}@{DIGEST}", "1.2.3")
    assert tagged.code == 0, tagged.log
    commit = tagged.outputs["commit"]
    assert tags(repository) == {"v1.2.3": commit, "v1": commit}
    assert image_of(repository, "v1.2.3") == f"docker://{IMAGE}@{DIGEST}"
    assert git_in(repository, "rev-parse", f"{commit}^").strip() == head
    assert git_in(repository, "diff", "--numstat", head, commit) == "1\t1\taction.yml\n"
    assert git_in(tmp_path / "origin.git", "rev-parse", "main").strip() == head, "no branch has it"


@pytest.mark.slow
def test_a_release_that_failed_is_started_again(tmp_path):
    repository = project(tmp_path)
    first = release(repository, "tag", f"{IMAGE}@{DIGEST}", "1.2.3")
    git_in(repository, "push", "--quiet", "origin", ":refs/tags/v1")
    planned = release(repository, "plan", "1.2.3")
    assert planned.outputs["digest"] == DIGEST, planned.log
    again = release(repository, "tag", f"{IMAGE}@{DIGEST}", "1.2.3")
    assert again.outputs == first.outputs
    assert tags(repository) == {"v1.2.3": first.outputs["commit"], "v1": first.outputs["commit"]}
    # Where not even the tag was pushed, the commit is the same one.
    git_in(repository, "push", "--quiet", "origin", ":refs/tags/v1", ":refs/tags/v1.2.3")
    assert release(repository, "tag", f"{IMAGE}@{DIGEST}", "1.2.3").outputs == first.outputs


def test_a_tag_does_not_move(tmp_path):
    repository = project(tmp_path)
    first = release(repository, "tag", f"{IMAGE}@{DIGEST}", "1.2.3")
    other = release(repository, "tag", f"{IMAGE}@{OTHER}", "1.2.3")
    assert other.code == 1
    assert f"v1.2.3 is there and names {IMAGE}@{DIGEST}, not {IMAGE}@{OTHER}: tags do not move" in other.log
    next_commit(repository, "1.2.3")
    planned = release(repository, "plan", "1.2.3")
    assert planned.code == 1
    assert "v1.2.3 is released already, of the commit" in planned.log
    assert set(tags(repository).values()) == {first.outputs["commit"]}


@pytest.mark.slow
def test_the_major_tag_is_that_of_the_newest_release_and_never_moves_back(tmp_path):
    repository = project(tmp_path)
    found = {}
    for version in ("1.9.0", "1.10.0", "1.9.1", "2.0.0"):
        next_commit(repository, version)
        found[version] = release(repository, "tag", f"{IMAGE}@{DIGEST}", version)
    assert tags(repository)["v1"] == found["1.10.0"].outputs["commit"]
    assert tags(repository)["v2"] == found["2.0.0"].outputs["commit"]
    assert "v1.10.0 is newer: v1 stays where it is" in found["1.9.1"].log


def test_an_image_without_a_digest_is_refused(tmp_path):
    repository = project(tmp_path)
    assert release(repository, "tag", f"{IMAGE}:1.2.3", "1.2.3").code == 1
    assert tags(repository) == {}


def test_the_token_is_on_no_command_line_and_masked(tmp_path):
    repository = project(tmp_path)
    git_in(repository, "remote", "set-url", "origin", "https://127.0.0.1:9/octo/skillgym-action")
    failed = release(repository, "plan", "1.2.3", GH_TOKEN="token-of-the-job", GIT_TRACE="1")
    assert failed.code == 1
    lines = [line for line in failed.log.splitlines() if not line.startswith("::add-mask::")]
    masked = [line.removeprefix("::add-mask::") for line in failed.log.splitlines() if line.startswith("::add-mask::")]
    assert masked != []
    assert not [line for line in lines if "token-of-the-job" in line or masked[0] in line]


def report(*found: tuple[str, str, list[str]]) -> str:
    """What osv-scanner writes: severity, package, versions in which it is fixed."""
    packages = [
        {
            "package": {"name": name, "version": "1", "ecosystem": "Debian:13"},
            "groups": [{"ids": [f"CVE-{number}"], "max_severity": severity}],
            "vulnerabilities": [{
                "id": f"CVE-{number}",
                "affected": [
                    {"package": {"name": name, "ecosystem": "Debian:13"},
                     "ranges": [{"events": [{"introduced": "0"}, *({"fixed": one} for one in fixed)]}]},
                    {"package": {"name": name, "ecosystem": "Debian:11"},
                     "ranges": [{"events": [{"introduced": "0"}, {"fixed": "0.9"}]}]},
                ],
            }],
        }
        for number, (severity, name, fixed) in enumerate(found)
    ]  # fmt: skip
    return json.dumps({"results": [{"source": {"path": "x", "type": "docker"}, "packages": packages}]})


@pytest.mark.parametrize(
    ("found", "code", "told"),
    [
        pytest.param((), 0, "0 known vulnerabilities", id="nothing"),
        pytest.param(
            (("9.8", "zlib", []),), 0, "known: zlib 1: CVE-0, severity 9.8, not fixed", id="severe, not fixed"
        ),
        pytest.param((("6.9", "zlib", ["2"]),), 0, "severity 6.9, fixed in 2", id="fixed, not severe"),
        pytest.param((("", "zlib", ["2"]),), 0, "severity ?, fixed in 2", id="fixed, not judged"),
        pytest.param((("7.0", "zlib", ["2"]),), 1, "zlib 1: CVE-0, severity 7.0, fixed in 2", id="severe and fixed"),
    ],
)
def test_what_is_severe_and_fixed_stops_a_release(tmp_path, found, code, told):
    (tmp_path / "osv.json").write_text(report(*found))
    scanned = release(tmp_path, "scan", "osv.json")
    assert scanned.code == code, scanned.log
    assert told in scanned.log


def test_documents_name_the_major_tag_of_this_version():
    from skillgym_action import __version__

    documents = [REPOSITORY / "README.md", *(REPOSITORY / "docs").rglob("*.md")]
    named = re.findall(r"org/skillgym-action(?:/\w+)?@(v[\w.]+)", "".join(one.read_text("utf-8") for one in documents))
    assert len(named) >= 9
    assert set(named) <= {f"v{__version__.partition('.')[0]}", f"v{__version__}"}
    assert re.search(
        rf"^## {re.escape(__version__)} \(", (REPOSITORY / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )


def test_the_action_of_the_main_branch_builds_its_sources_and_is_one_line_away_from_a_tag():
    text = (REPOSITORY / "action.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["runs"]["image"] == "Dockerfile"
    assert text.count("\n  image: ") == 1
