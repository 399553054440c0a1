"""A run directory that another workflow left: only regular files in it are read, and no name in it leads elsewhere."""

from __future__ import annotations

import json
import os
import shutil
import socket
from typing import TYPE_CHECKING

import pytest

from action_step import FORK, step, workflow_run
from github_server import GitHubServer
from github_state import PullRequest
from on_github import NUMBER, REPOSITORY, SHA
from scratch import repository, skillgym, written
from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_RESULTS_BYTES
from skillgym_action.results.run_files import matching, read_file
from skillgym_action.results.stored_runs import stored_reports

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

AFTER_A_FORK = ("workflow_run", workflow_run(FORK))


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer(repository=REPOSITORY) as server:
        server.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", head_repository=FORK))
        yield server


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout with a good run in ``artifact/run``."""
    root = repository(tmp_path_factory.mktemp("artifacts") / "checkout", git=True)
    assert skillgym("run", "--output", "artifact/run", cwd=root).code == 0
    return root


@pytest.fixture
def root(checkout: Path, tmp_path: Path) -> Path:
    """A copy of it, with one more run in ``outside/run``."""
    shutil.copytree(checkout / "artifact/run", tmp_path / "outside/run")
    return shutil.copytree(checkout, tmp_path / "checkout")


def results_of(root: Path) -> Path:
    return root / "artifact/run/results.json"


def link(root: Path) -> None:
    results_of(root).unlink()
    results_of(root).symlink_to("../../../outside/run/results.json")


def link_inside(root: Path) -> None:
    results_of(root).rename(root / "artifact/run/other.json")
    results_of(root).symlink_to("other.json")


def link_to_a_device(root: Path) -> None:
    results_of(root).unlink()
    results_of(root).symlink_to("/dev/zero")


def dangling_link(root: Path) -> None:
    results_of(root).unlink()
    results_of(root).symlink_to("nowhere")


def endless_link(root: Path) -> None:
    results_of(root).unlink()
    results_of(root).symlink_to("results.json")


def linked_folder(root: Path) -> None:
    shutil.rmtree(root / "artifact/run")
    (root / "artifact/run").symlink_to("../../outside/run")


def linked_parent(root: Path) -> None:
    shutil.rmtree(root / "artifact")
    (root / "artifact").symlink_to("../outside")


def fifo(root: Path) -> None:
    results_of(root).unlink()
    os.mkfifo(results_of(root))


def folder(root: Path) -> None:
    results_of(root).unlink()
    results_of(root).mkdir()


def listening(root: Path) -> None:
    results_of(root).unlink()
    before = os.open(".", os.O_RDONLY)
    os.chdir(results_of(root).parent)  # the whole path is too long for a socket
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("results.json")
    finally:
        os.fchdir(before)
        os.close(before)


def huge(root: Path) -> None:
    os.truncate(results_of(root), MAX_RESULTS_BYTES + 1)


def deep(root: Path) -> None:
    results_of(root).write_text("[" * 100_000 + "]" * 100_000)


def key_twice(root: Path) -> None:
    text = results_of(root).read_text()
    results_of(root).write_text(text.replace('"passed": true', '"passed": true, "p\\u0061ssed": true', 1))


def changed(root: Path, path: str, value: str) -> None:
    results = json.loads(results_of(root).read_text())
    (suite,) = results["suites"]
    (result,) = suite["results"]
    if path == "path":
        suite["path"] = value
    elif path == "location":
        result["location"]["path"] = value
    else:
        result["artifactDir"] = result["attempts"][0]["artifactDir"] = value
    results_of(root).write_text(json.dumps(results))


SPOILT: dict[str, tuple[Callable[[Path], None], str]] = {
    "results through a link": (link, "artifact/run/results.json: is a symbolic link, which is not followed"),
    "through a link within the artifact": (link_inside, "artifact/run/results.json: is a symbolic link"),
    "through a link to a device": (link_to_a_device, "artifact/run/results.json: is a symbolic link"),
    "through a link to nothing": (dangling_link, "artifact/run/results.json: is a symbolic link"),
    "through a link to itself": (endless_link, "artifact/run/results.json: is a symbolic link"),
    "through a linked folder": (linked_folder, "artifact/run: is a symbolic link, which is not followed"),
    "through a linked folder above": (linked_parent, "artifact: is a symbolic link, which is not followed"),
    "a FIFO": (fifo, "artifact/run/results.json: is not a file"),
    "a folder": (folder, "artifact/run/results.json: is not a file"),
    "a socket": (listening, "artifact/run/results.json: is not a file"),
    "a huge file": (huge, "artifact/run/results.json: is larger than 1,073,741,824 bytes"),
    "deeply nested": (deep, "artifact/run/results.json: "),
    "a key that is set twice": (key_twice, "run.decision.passed is set twice"),
    "artifacts above the run directory": (
        lambda root: changed(root, "artifactDir", "../../.git"), "artifactDir: must be a path below the run directory",
    ),
    "artifacts at an absolute path": (
        lambda root: changed(root, "artifactDir", "/etc"), "artifactDir: must be a path below the run directory",
    ),
    "a suite above the repository": (lambda root: changed(root, "path", "../x.json"), "must be a path without steps"),
    "a suite at an absolute path": (lambda root: changed(root, "path", "/etc/x.json"), "must be relative to the rep"),
    "a place at an absolute path": (lambda root: changed(root, "location", "/etc/x"), "must be relative to the rep"),
}  # fmt: skip


@pytest.mark.parametrize("named", ["artifact/run", "artifact/r*", "**/results.json", "{root}/artifact/run"])
@pytest.mark.parametrize("spoilt", SPOILT)
def test_an_artifact_that_is_no_run_directory_is_refused(root, spoilt, named):
    spoil, message = SPOILT[spoilt]
    spoil(root)
    if named == "**/results.json" and "linked folder" in spoilt:
        message = "no such run: **/results.json"  # links are not searched
    with pytest.raises(UsageError) as refused:
        stored_reports([named.format(root=root)], root, confined=True)
    assert message in str(refused.value)


@pytest.mark.parametrize("spoilt", SPOILT)
def test_the_action_refuses_it_at_once(root, github, spoilt):
    spoil, message = SPOILT[spoilt]
    spoil(root)
    found = step(root, github, {"mode": "report", "results": "artifact/run"}, event=AFTER_A_FORK)
    assert (found.code, message in found.said) == (2, True), found.said
    assert "Traceback" not in found.said
    (comment,) = github.comments(NUMBER)
    assert "## ❌ Not run: nothing was tested" in comment.body
    assert [status.state for status in github.statuses(SHA)] == ["error"]


@pytest.mark.slow
def test_a_good_artifact_is_reported(root, github):
    found = step(root, github, {"mode": "report", "results": "artifact/*"}, event=AFTER_A_FORK)
    assert (found.code, found.outputs["verdict"]) == (0, "unverified"), found.said


@pytest.mark.slow
def test_other_files_of_the_artifact_are_not_even_looked_at(root, github):
    run = root / "artifact/run"
    shutil.rmtree(run / "core", ignore_errors=True)
    (run / "core").symlink_to("/")
    os.mkfifo(run / "journal.jsonl.fifo")
    os.mkfifo(root / "artifact/pipe")
    found = step(root, github, {"mode": "report", "results": "artifact/*"}, event=AFTER_A_FORK)
    assert found.code == 0, found.said


@pytest.mark.slow
def test_a_baseline_is_read_with_the_same_caution(root):
    os.mkfifo(root / "pipe.json")
    (root / "link.json").symlink_to(results_of(root))
    (root / "inside.json").symlink_to("artifact/run/results.json")
    told = {
        "pipe.json": "pipe.json: is not a file",
        "inside.json": "inside.json: is a symbolic link, which is not followed",
        "link.json": "link.json: link.json is a symbolic link that leads out of the checkout",
    }
    for name, message in told.items():
        ran = skillgym("report", "artifact/run", "--baseline", name, cwd=root)
        assert (ran.code, f"error: {message}" in ran.err) == (2, True), ran.err


def test_a_search_has_an_end(tmp_path):
    deep = tmp_path.joinpath(*"d" * 101)
    deep.mkdir(parents=True)
    with pytest.raises(OSError, match="is more than 100 levels deep"):
        matching(tmp_path, ("**", "results.json"))


def test_what_matches_is_found_once_and_in_order(tmp_path):
    written(tmp_path, {"b/results.json": "2", "a/results.json": "1", "a/c/results.json": "3", "a/c/other": ""})
    assert matching(tmp_path, ("**", "**", "results.json")) == [
        ("a", "c", "results.json"), ("a", "results.json"), ("b", "results.json"),
    ]  # fmt: skip
    assert matching(tmp_path, ("[ab]", "results.json")) == [("a", "results.json"), ("b", "results.json")]
    assert matching(tmp_path, ("a", "c")) == [("a", "c")]
    assert matching(tmp_path, ("no", "c")) == []
    assert read_file(tmp_path, ("a", "c", "results.json"), 10).data == b"3"
