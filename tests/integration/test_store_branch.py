"""The action in a repository with a bare remote and a fake GitHub: results are kept on a branch of the repository."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from action_step import Step, finished, started, step
from github_server import GitHubServer
from github_state import PullRequest
from on_github import NUMBER, REPOSITORY
from scratch import IDENTITY, case, committed, config, git_in, repository, runner, suite, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EIGHT = tuple(map(case, "abcdefgh"))
GOOD, BAD = "write out.txt", "do nothing"
AGENT = "if grep -q write AGENTS.md; then echo done > out.txt; fi"
BRANCH = "skillgym-data"


class Hosted:
    """A repository on a fake GitHub, with its git remote, and jobs of the action in checkouts of it."""

    def __init__(self, folder: Path, github: GitHubServer) -> None:
        self.folder, self.github = folder, github
        self.remote = folder / "remote" / f"{REPOSITORY}.git"
        self.remote.mkdir(parents=True)
        git_in(self.remote, "init", "--quiet", "--bare", "--initial-branch=main")
        files = {"bench/core.json": suite(*EIGHT), "skillgym.config.yaml": config(runner(AGENT)), "AGENTS.md": GOOD}
        self.root = repository(folder / "work", files | {".gitignore": ".skillgym-results\n"}, git=True)
        git_in(self.root, "remote", "add", "origin", str(self.remote))
        git_in(self.root, "push", "--quiet", "origin", "main")
        self._jobs = 0

    def job(self, root: Path, event: str, payload: dict[str, object], ref: str, **inputs: str) -> dict[str, object]:
        """The arguments of a step."""
        self._jobs += 1
        whole = payload | {"repository": {"default_branch": "main"}}
        return {
            "root": root,
            "github": self.github,
            "inputs": {"store": "branch", "fail-on": "regression", "comment-when": "always", **inputs},
            "event": (event, whole),
            "GITHUB_SERVER_URL": f"file://{self.folder / 'remote'}",
            "GITHUB_REF": ref,
            "GITHUB_SHA": git_in(root, "rev-parse", "HEAD").strip(),
            "GITHUB_RUN_ID": str(1000 + self._jobs),
            "GITHUB_JOB": "bench",
        }

    def pushed(self, root: Path | None = None, ref: str = "refs/heads/main", **inputs: str) -> Step:
        return step(**self.job(root or self.root, "push", {"ref": ref}, ref, **inputs))

    def proposed(self, files: dict[str, str], **inputs: str) -> tuple[Step, str]:
        """A pull request with those files, GitHub's test merge checked out; the step, and the comment on it."""
        base = git_in(self.root, "rev-parse", "main").strip()
        git_in(self.root, "checkout", "--quiet", "-B", "topic", "main")
        written(self.root, files)
        committed(self.root)
        head = git_in(self.root, "rev-parse", "HEAD").strip()
        git_in(self.root, "checkout", "--quiet", "--detach", "main")
        git_in(self.root, *IDENTITY, "merge", "--quiet", "--no-ff", "--message=Merge", "topic")
        self.github.add_pull(PullRequest(number=NUMBER, head_sha=head, head_branch="topic"))
        pull = {
            "number": NUMBER,
            "head": {"sha": head, "ref": "topic", "repo": {"full_name": REPOSITORY}},
            "base": {"sha": base, "ref": "main"},
        }
        found = step(**self.job(self.root, "pull_request", {"pull_request": pull}, "refs/pull/7/merge", **inputs))
        git_in(self.root, "checkout", "--quiet", "main")
        comment = self.github.comments(NUMBER)[-1].body
        return found, re.sub("[\u2060\u200b]", "", comment)

    def stored(self) -> list[str]:
        """The files of the store's branch; none if there is no such branch."""
        if BRANCH not in git_in(self.remote, "branch", "--list", BRANCH):
            return []
        return git_in(self.remote, "ls-tree", "-r", "--name-only", BRANCH).splitlines()

    def forge(self, name: str, content: str | None) -> None:
        """Commit a file to the store's branch, as anybody with write access can; None: another commit only."""
        clone = self.folder / "forger"
        git_in(self.folder, "clone", "--quiet", "--branch", BRANCH, str(self.remote), str(clone))
        written(clone, {name: content or ""})
        committed(clone)
        git_in(clone, "push", "--quiet", "origin", BRANCH)


@pytest.fixture
def hosted(tmp_path) -> Iterator[Hosted]:
    with GitHubServer(REPOSITORY) as github:
        yield Hosted(tmp_path, github)


def test_a_push_to_main_is_the_baseline_of_a_pull_request_with_and_without_a_regression(hosted):
    first = hosted.pushed()
    assert first.code == 0, first.said
    assert "has no results of the base: nothing was compared" in first.summary
    assert [name.rpartition("/")[2].endswith(".jsonl") for name in hosted.stored()] == [True, False]
    equal, comment = hosted.proposed({"README.md": "more"})
    assert (equal.code, equal.outputs["comparison"]) == (0, "no-regression-shown"), equal.said
    assert "No regression shown" in comment
    assert "1 run of main, a minute old, up to" in comment
    worse, comment = hosted.proposed({"AGENTS.md": BAD})
    assert (worse.code, worse.outputs["comparison"]) == (1, "regression"), worse.said
    assert "**Regression**: 8 cases pass less often" in comment or "**Regression**: the pass rate dropped" in comment
    assert len(hosted.stored()) == 2, "pull requests do not write"


def test_a_changed_suite_is_named(hosted):
    hosted.pushed()
    changed = suite(case("a", prompt="Do it otherwise"), *EIGHT[1:])
    found, comment = hosted.proposed({"bench/core.json": changed})
    assert (found.code, found.outputs["comparison"]) == (0, "no-regression-shown"), found.said
    assert "1 with a different prompt, assertion or expectation: not compared" in comment
    assert "prompt of bench/core.json: a &#91;sh&#93;: " in comment


def test_a_lost_store_does_not_turn_the_gate_off(hosted):
    hosted.pushed()
    git_in(hosted.remote, "branch", "-D", BRANCH)
    found, comment = hosted.proposed({"AGENTS.md": BAD})
    assert (found.code, found.outputs["verdict"]) == (3, "inconclusive"), found.said
    assert "no baseline to compare with, so regressions cannot be detected" in comment
    git_in(hosted.folder, "-C", str(hosted.folder), "--version")
    (hosted.remote / "HEAD").unlink()  # the remote cannot be read any more
    found, comment = hosted.proposed({"AGENTS.md": BAD})
    assert (found.code, found.outputs["comparison"]) == (3, "inconclusive"), found.said
    assert "the baseline in the store cannot be used, so nothing was compared: the branch skillgym-data" in comment


def test_a_forged_store_is_inconclusive(hosted):
    hosted.pushed()
    hosted.forge("2026-01/20260101T000000Z-000000000000.jsonl", '{"schema": 1, "run": "@octo <img src=x>"}\n')
    found, comment = hosted.proposed({"AGENTS.md": BAD})
    assert (found.code, found.outputs["comparison"]) == (3, "inconclusive"), found.said
    assert "2026-01/20260101T000000Z-000000000000.jsonl:1" in comment.replace("\\", "")
    assert "<img" not in comment


def test_two_pushes_at_once_lose_nothing(hosted):
    hosted.pushed()
    roots = [hosted.root]
    for name in ("second", "third"):
        git_in(hosted.folder, "clone", "--quiet", str(hosted.remote), name)
        roots.append(hosted.folder / name)
    jobs = [started(**hosted.job(root, "push", {}, "refs/heads/main")) for root in roots]
    for process, files in jobs:
        found = finished(process, files)
        assert (found.code, "results added to the branch skillgym-data" in found.said) == (0, True), found.said
    assert len([name for name in hosted.stored() if name.endswith(".jsonl")]) == 4
    assert git_in(hosted.remote, "rev-list", "--count", BRANCH).strip() == "4"
    assert "4 runs of main" in hosted.proposed({"README.md": "x"})[1]


def test_a_push_between_the_check_of_another_and_its_end_is_no_error(hosted):
    """The remote moves the branch while it receives a push, as another job's push may: ``cannot lock ref``."""
    hosted.pushed()
    hook = hosted.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\n"
        "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
        "[ -e moved ] && exit 0\n"
        "touch moved\n"
        f"other=$(git -c user.name=x -c user.email=x@example commit-tree -p {BRANCH} -m other {BRANCH}^{{tree}})\n"
        f"exec git update-ref refs/heads/{BRANCH} $other\n"
    )
    hook.chmod(0o755)
    found = hosted.pushed()
    assert "results added to the branch skillgym-data" in found.said, found.said
    assert (hosted.remote / "moved").exists()
    assert len([name for name in hosted.stored() if name.endswith(".jsonl")]) == 2


def test_only_the_default_branch_and_protected_ones_write(hosted):
    hosted.pushed(ref="refs/heads/topic")
    assert hosted.stored() == []
    arguments = hosted.job(hosted.root, "push", {}, "refs/heads/release")
    assert step(**arguments, GITHUB_REF_PROTECTED="true").code == 0
    assert len(hosted.stored()) == 2
    arguments = hosted.job(hosted.root, "workflow_run", {}, "refs/heads/main", **{"allow-untrusted": "true"})
    step(**arguments)
    assert len(hosted.stored()) == 2
    arguments = hosted.job(hosted.root, "push", {}, "refs/heads/main") | {"GITHUB_SHA": "b" * 40}
    step(**arguments)
    assert len(hosted.stored()) == 2


def deny_pushes(hosted: Hosted) -> None:
    hook = hosted.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'Permission to octo/skills.git denied to github-actions[bot].' >&2\nexit 1\n")
    hook.chmod(0o755)


def test_a_job_that_may_not_write_says_so_and_keeps_its_verdict(hosted):
    deny_pushes(hosted)
    found = hosted.pushed(**{"fail-on": "failed"})
    assert found.code == 0, found.said
    assert "the results were not added to the store: the branch skillgym-data: " in found.summary.replace("\\", "")
    assert "Permission to octo/skills.git denied" in found.summary.replace("\\", "")


# --- nothing about a store in the workflow ---------------------------------------------------------------

UNNAMED = {"store": "", "fail-on": "failed,errored"}


def test_results_are_kept_and_compared_without_an_input(hosted):
    first = hosted.pushed(**UNNAMED)
    assert (first.code, len(hosted.stored())) == (0, 2), first.said
    assert "nothing was compared" not in first.summary
    equal, comment = hosted.proposed({"README.md": "more"}, **UNNAMED)
    assert (equal.code, equal.outputs["comparison"]) == (0, "no-regression-shown"), equal.said
    assert "1 run of main, a minute old, up to" in comment
    worse, comment = hosted.proposed({"AGENTS.md": BAD}, **{**UNNAMED, "fail-on": "errored"})
    assert (worse.code, worse.outputs["comparison"]) == (0, "regression"), worse.said
    assert "**Regression**: " in comment


@pytest.mark.parametrize("inputs", [{"store": "none"}, {"baseline": "other", "baseline-optional": "true"}])
def test_a_workflow_can_turn_the_default_store_off(hosted, inputs):
    found = hosted.pushed(**UNNAMED | inputs)
    assert (found.code, hosted.stored()) == (0, []), found.said


def test_without_the_permission_to_write_nothing_is_said_of_the_default_store(hosted):
    deny_pushes(hosted)
    found = hosted.pushed(**UNNAMED)
    assert (found.code, hosted.stored()) == (0, []), found.said
    assert "skillgym-data" not in found.said + found.summary + found.log
    found, comment = hosted.proposed({"README.md": "more"}, **UNNAMED)
    assert (found.code, found.outputs["comparison"]) == (0, ""), found.said
    assert "baseline" not in comment
    assert "skillgym-data" not in found.said + found.summary + found.log


def test_a_default_store_that_was_forged_is_inconclusive(hosted):
    hosted.pushed(**UNNAMED)
    hosted.forge("2026-01/20260101T000000Z-000000000000.jsonl", "{}\n")
    found, comment = hosted.proposed({"README.md": "more"}, **UNNAMED)
    assert (found.code, found.outputs["comparison"]) == (0, "inconclusive"), found.said
    assert "the baseline in the store cannot be used" in comment


def test_a_gate_needs_the_default_store(hosted):
    deny_pushes(hosted)
    gate = UNNAMED | {"fail-on": "regression"}
    found = hosted.pushed(**gate)
    assert "the results were not added to the store" in found.summary, found.said
    found, comment = hosted.proposed({"AGENTS.md": BAD}, **gate)
    assert (found.code, found.outputs["verdict"]) == (3, "inconclusive"), found.said
    assert "contents: write" in comment
