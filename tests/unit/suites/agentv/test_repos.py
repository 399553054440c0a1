"""``workspace.repos``: what may be cloned and where to, and real clones of a bare repository on this machine."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from agentv_files import case, one_case, problems, read_tests
from scratch import IDENTITY, git_in, repository, run_in

if TYPE_CHECKING:
    from pathlib import Path


def with_repos(root: Path, *repos: Any, **workspace: Any) -> list[str]:
    suite = read_tests(root, case("a", workspace={"repos": list(repos)} | workspace))
    return problems(suite) + [str(warning) for warning in suite.warnings]


REMOTE = {"repo": "https://github.com/org/name", "path": "./name"}
REFUSED = [
    pytest.param({"repo": "ext::sh -c touch% /tmp/x"}, "repos[0].repo: is neither a URL", id="a helper with blanks"),
    pytest.param({"repo": "ext::sh"}, "names a program to clone with, which is refused", id="ext"),
    pytest.param({"repo": "fd::17/foo"}, "names a program to clone with, which is refused", id="fd"),
    pytest.param({"repo": "::x"}, "names a program to clone with, which is refused", id="no name"),
    pytest.param({"repo": "--upload-pack=touch"}, "is neither a URL nor a path", id="an option"),
    pytest.param({"repo": "git://github.com/org/name"}, "the protocol git is not supported", id="git"),
    pytest.param({"repo": "ftp://x/y"}, "the protocol ftp is not supported", id="ftp"),
    pytest.param({"repo": "ssh://-oProxyCommand=touch/x"}, "a password in it, or is none", id="an option as host"),
    pytest.param({"repo": "git@-oProxyCommand=x:y/z"}, "there is no repository", id="an option as host of scp"),
    pytest.param(
        {"repo": "https://me:secret@github.com/o/n"}, "the URL has a user or a password in it", id="a password"
    ),
    pytest.param({"repo": "https://token@github.com/o/n"}, "the URL has a user or a password in it", id="a token"),
    pytest.param({"repo": "./nowhere.git"}, "there is no repository ./nowhere.git", id="no such folder"),
    pytest.param({"repo": "a\nb"}, "is neither a URL nor a path", id="two lines"),
    pytest.param({"repo": ""}, "repos[0].repo: must not be empty", id="nothing"),
    *(
        pytest.param({"path": path}, "repos[0].path: must be a folder in the workspace", id=f"path {path}")
        for path in ("../x", "/x", "a/../../x", "a/.git/hooks", ".GIT", "-x", "a b")
    ),
    *(
        pytest.param({"commit": commit}, "repos[0].commit: must be a commit, a branch or a tag", id=f"commit {commit}")
        for commit in ("--output=x", "a..b", "HEAD^{/x}", "$(touch x)")
    ),
    pytest.param({"commit": "a", "base_commit": "b"}, "commit and base_commit differ", id="two commits"),
    pytest.param({"ancestor": -1}, "ancestor", id="an ancestor in the future"),
    pytest.param({"sparse": ["../x"]}, "repos[0].sparse[0]: must be a folder of the repository", id="sparse outside"),
    pytest.param({"sparse": ["--stdin"]}, "must be a folder of the repository", id="sparse option"),
    pytest.param({"source": {}}, "repos[0].source: source was removed from AgentV; write repo", id="an old key"),
    pytest.param({"comit": "x"}, "comit", id="a misspelt key"),
    pytest.param({"repo": None}, "repos[0]: the repository has no repo", id="no repo"),
    pytest.param({"path": None}, "repos[0]: the repository has no path", id="no path"),
]


@pytest.mark.parametrize(("keys", "problem"), REFUSED)
def test_what_is_refused_is_told_with_its_key_path(tmp_path, keys, problem):
    repo = {key: value for key, value in (REMOTE | keys).items() if value is not None}
    (told,) = with_repos(tmp_path, repo)
    assert problem in told


def test_a_directory_of_the_user_s_own_gets_no_clones(tmp_path):
    (tmp_path / "evals/folder").mkdir(parents=True)
    (told,) = with_repos(tmp_path, REMOTE, path="folder")
    assert "repositories are cloned into new workspaces only; leave path out" in told


@pytest.mark.parametrize(
    ("repo", "cloned"),
    [
        ("org/name", "https://github.com/org/name.git"),
        ("https://github.com/org/name.git", "https://github.com/org/name.git"),
        ("git@github.com:org/name.git", "git@github.com:org/name.git"),
        ("ssh://git@host/x", "ssh://git@host/x"),
    ],
)
def test_what_is_cloned(tmp_path, repo, cloned):
    test = one_case(tmp_path, workspace={"repos": [{"repo": repo, "path": "./a/b", "commit": "v1", "ancestor": 2}]})
    (hook,) = test.workspace.hooks.before_all
    assert hook.argv[-4:] == ("a/b", cloned, "v1", "2")
    assert "GIT_ALLOW_PROTOCOL=https:http:ssh:file" in hook.argv


# --- real clones ------------------------------------------------------------------------------------


def bare(root: Path) -> None:
    """A bare repository ``origin.git`` with two commits, a tag on the first."""
    work = root / "work"
    work.mkdir(parents=True)
    git_in(work, "init", "--quiet", "--initial-branch=main")
    for number in (1, 2):
        (work / "docs").mkdir(exist_ok=True)
        (work / "file.txt").write_text(f"version {number}\n", encoding="utf-8")
        (work / "docs/page.md").write_text("page\n", encoding="utf-8")
        git_in(work, "add", ".")
        git_in(work, *IDENTITY, "commit", "--quiet", "-m", f"commit {number}")
        if number == 1:
            git_in(work, "tag", "first")
    subprocess.run(("git", "clone", "--quiet", "--bare", str(work), str(root / "origin.git")), check=True)


def ran(
    root: Path,
    *repos: dict[str, Any],
    command: str = "cat repo/file.txt > {OUTPUT_FILE}",
    tests: tuple[str, ...] = ("a",),
    **workspace: Any,
):
    bare(root / "there")
    written = [case(name, assertions=[{"type": "contains", "value": "version"}]) for name in tests]
    files = {
        "bench/core.json": None,
        "bench/EVAL.yaml": json.dumps({"tests": written, "workspace": {"repos": list(repos)} | workspace}),
        "targets.yaml": json.dumps({"targets": [{"name": "default", "provider": "cli", "command": command}]}),
    }
    return run_in(repository(root / "here", files))


def answer(report: Any, root: Path) -> str:
    (stored,) = (root / "here/results").rglob("report.json")
    assert [str(result.status) for result in report.results] == ["passed"], report.results[0].judgement
    return json.loads(stored.read_text(encoding="utf-8"))["finalOutput"].strip()


CHECKED_OUT = [
    pytest.param({}, "version 2", id="the head"),
    pytest.param({"commit": "first"}, "version 1", id="a tag"),
    pytest.param({"base_commit": "main", "ancestor": 1}, "version 1", id="an ancestor of a branch"),
    pytest.param({"sparse": ["docs"]}, "version 2", id="sparse, with the files at the top"),
]


@pytest.mark.parametrize(("keys", "text"), CHECKED_OUT)
def test_a_local_bare_repository_is_cloned_and_checked_out(tmp_path, keys, text):
    repo = {"repo": "../../there/origin.git", "path": "./repo"} | keys
    assert answer(ran(tmp_path, repo), tmp_path) == text


@pytest.mark.parametrize(("keys", "text"), CHECKED_OUT)
def test_a_repository_of_another_machine_is_cloned_from_what_was_fetched(tmp_path, keys, text):
    url = f"file://{tmp_path}/there/origin.git"
    command = "cat repo/file.txt > {OUTPUT_FILE}; git -C repo remote get-url origin >> {OUTPUT_FILE}; "
    command += "! grep -r bundle repo/.git/logs >> {OUTPUT_FILE}"
    assert answer(ran(tmp_path, {"repo": url, "path": "./repo"} | keys, command=command), tmp_path) == f"{text}\n{url}"


def test_a_repository_of_another_machine_is_fetched_once(tmp_path):
    url = f"file://{tmp_path}/there/origin.git"
    command = f"cat repo/file.txt > {{OUTPUT_FILE}}; mv {tmp_path}/there {tmp_path}/gone 2>/dev/null || true"
    report = ran(tmp_path, {"repo": url, "path": "./repo"}, command=command, tests=("a", "b", "c"))
    assert [str(result.status) for result in report.results] == ["passed"] * 3
    assert (tmp_path / "gone").exists()


def test_one_that_cannot_be_fetched_is_told_with_git_s_reason(tmp_path):
    report = ran(tmp_path, {"repo": f"file://{tmp_path}/nowhere.git", "path": "./repo"}, tests=("a", "b"))
    for result in report.results:
        assert str(result.status) == "errored"
        assert "nowhere.git' does not appear to be a git repository" in result.judgement.failure.message


def test_several_repositories_come_before_other_hooks(tmp_path):
    repos = [{"repo": "../../there/origin.git", "path": name} for name in ("repo", "deep/er")]
    hook = {"before_all": {"command": ["sh", "-c", "cd '{{workspace_path}}' && cat deep/er/file.txt >> repo/file.txt"]}}
    assert answer(ran(tmp_path, *repos, hooks=hook), tmp_path) == "version 2\nversion 2"


@pytest.mark.parametrize(("keys", "message"), [({"commit": "nosuch"}, "nosuch"), ({"ancestor": 7}, "7 ancestors")])
def test_a_commit_that_is_not_there_makes_the_case_errored(tmp_path, keys, message):
    report = ran(tmp_path, {"repo": "../../there/origin.git", "path": "./repo"} | keys)
    (result,) = report.results
    assert str(result.status) == "errored"
    assert message in result.judgement.failure.message


@pytest.mark.parametrize("path", ["link/repo", "link/new/repo", "link"])
def test_a_link_does_not_lead_a_clone_out_of_the_workspace(tmp_path, path):
    hooks = {"before_all": {"command": ["true"]}}
    (tmp_path / "here/bench/start").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "here/bench/start/link").symlink_to(tmp_path / "outside")
    report = ran(tmp_path, {"repo": "../../there/origin.git", "path": path}, template="./start", hooks=hooks)
    assert [str(result.status) for result in report.results] == ["errored"]
    assert list((tmp_path / "outside").iterdir()) == []


def test_the_repository_on_this_machine_shares_no_file_with_the_clone(tmp_path):
    command = "find repo/.git/objects -type f -links +1 | wc -l > {OUTPUT_FILE}; echo version >> {OUTPUT_FILE}"
    report = ran(tmp_path, {"repo": "../../there/origin.git", "path": "repo"}, command=command)
    assert answer(report, tmp_path).split() == ["0", "version"]
