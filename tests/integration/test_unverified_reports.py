"""``mode: report`` for a fork: its results are shown and never believed. A maintainer's own run on the commit is."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from action_step import FORK, comment_on_pull_request, pull_request, step, workflow_run
from github_server import GitHubServer
from github_state import ChangedFile, PullRequest
from on_github import NUMBER, REPOSITORY, SHA
from scratch import case, config, git_in, repository, runner, suite
from two_phases import Phases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from action_step import Step
    from proofs import Proved

AFTER_A_FORK = ("workflow_run", workflow_run(FORK))
STRANGE = {
    "workflow_run": AFTER_A_FORK,
    "workflow_run of a fork that is gone": ("workflow_run", workflow_run("gone/gone")),
    "pull_request_target": ("pull_request_target", pull_request(FORK)),
    "issue_comment": ("issue_comment", comment_on_pull_request()),
}
STATUS = ("pending", f"unverified: a maintainer runs it on {SHA}")
SUITE_FILE = ChangedFile("bench/core.json", "@@ -0,0 +1,1 @@\n+everything is in this line", status="added")
CONFIG = "skillgym.config.yaml"
TAGGED = {"bench/core.json": suite(case("green", tags=["fast"]), case("red", ["test:exit 1"]))}
TWO = config(good=runner(), bad=runner("true"))


def third_time(folder: str) -> str:
    """A line of shell for an agent that does nothing in its first two sessions, and its work in the third."""
    return f"echo x >>{folder}/count; test $(wc -l <{folder}/count) -lt 3 || echo done >out.txt"


def configurations(folder: str) -> dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]]:
    """Base, head and options by which a fork makes a run green that is red with the base's configuration."""
    flaky = runner(third_time(folder))
    return {
        "selected tags": (TAGGED, {CONFIG: config(runner(), run={"tags": ["fast"]})}, ()),
        "repetitions of which any may pass": (
            {CONFIG: config(flaky)}, {CONFIG: config(flaky, run={"repeat": 20, "require": "any"})}, (),
        ),
        "retries": ({CONFIG: config(flaky)}, {CONFIG: config(flaky, run={"repeatFailure": 2})}, ()),
        "a runner fewer": ({CONFIG: TWO}, {CONFIG: config(good=runner())}, ()),
        "changed-only that selects nothing": (
            {"bench/core.json": suite(case("red", ["test:exit 1"]))}, {}, ("--changed-only", "--base", "HEAD"),
        ),
    }  # fmt: skip


@pytest.fixture
def github() -> Iterator[GitHubServer]:
    with GitHubServer(repository=REPOSITORY) as server:
        pull = PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", head_repository=FORK, files=(SUITE_FILE,))
        server.add_pull(pull)
        yield server


def assert_only_shown(found: Step, phases: Phases, github: GitHubServer) -> None:
    """The report is there, the job is green as it has shown it, and nowhere is a verdict."""
    assert (found.code, found.outputs["verdict"], found.outputs["exit-code"]) == (0, "unverified", "0"), found.said
    decision = phases.decision
    assert (decision["verdict"], decision["passed"]) == ("unverified", False)
    newest = github.statuses(SHA)[0]
    assert (newest.state, newest.description) == STATUS
    (comment,) = github.comments(NUMBER)
    for text in (comment.body, found.summary):
        (title,) = (line for line in text.splitlines() if line.startswith("## "))
        assert "ℹ️ Unverified: " in title  # noqa: RUF001
        assert "a maintainer has to run the suites on" in text
    assert "Unverified: " in found.said


@pytest.mark.parametrize("name", configurations(""))
def test_the_configuration_of_a_fork_makes_nothing_green(tmp_path, github, name, proved: Proved):
    base, head, args = configurations(str(tmp_path))[name]
    phases = Phases(tmp_path, base, head, *args)
    assert phases.code == 0, "the fork's own run is green"
    assert_only_shown(phases.report(github, event=AFTER_A_FORK), phases, github)
    proved("untrusted commits", "configurations of a fork that made a run green, and its report unverified")


GREEN = {"bench/core.json": suite(case("one", ["test:exit 0"]))}
RED = {"bench/core.json": suite(case("one", ["test:exit 1"]))}
REPORTS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "the base's suite, green": ({}, {}, {}),
    "the base's suite, red": (RED, {}, {}),
    "a suite that is weakened": (RED, GREEN, {}),
    "a suite that is weakened, which is allowed": (RED, GREEN, {"allow-changed-suites": "true"}),
    "nothing decides": ({}, {}, {"fail-on": "none"}),
    "review comments are asked for": (RED, {}, {"review-comments": "true"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", REPORTS.values(), ids=REPORTS)
def test_whatever_a_fork_reports_is_unverified(tmp_path, github, row):
    base, head, inputs = row
    phases = Phases(tmp_path, base, head)
    assert_only_shown(phases.report(github, event=AFTER_A_FORK, **inputs), phases, github)
    assert github.reviews(NUMBER) == ()


@pytest.mark.slow
@pytest.mark.parametrize("event", STRANGE.values(), ids=STRANGE)
def test_on_every_event_of_an_untrusted_commit(tmp_path, github, event):
    github.add_pull(PullRequest(number=NUMBER, head_sha=SHA, head_branch="topic", head_repository="gone/gone"))
    phases = Phases(tmp_path, {}, {})
    found = phases.report(github, event=event, status="on")
    assert (found.code, found.outputs["verdict"]) == (0, "unverified"), found.said
    assert {(one.state, one.description) for one in github.statuses(SHA)} == {STATUS}


def test_the_commit_in_the_results_makes_no_difference(tmp_path, github):
    """A fork can write any commit there."""
    phases = Phases(tmp_path, {}, {})
    results = phases.results
    results["run"] |= {"commit": "f" * 40, "mergeParents": []}
    phases.rewrite(results)
    assert_only_shown(phases.report(github, event=AFTER_A_FORK), phases, github)


@pytest.mark.slow
def test_what_a_maintainer_runs_and_reports_in_two_jobs_is_unverified(tmp_path, github):
    """Results do not say who made them."""
    phases = Phases(tmp_path, {}, {})
    found = phases.report(github, event=("workflow_dispatch", {}), commit=SHA)
    assert_only_shown(found, phases, github)


# --- the run of a maintainer ------------------------------------------------------------------------


class Recipe:
    """The checkouts of the documented workflow: the fork's commit, and beside it the base."""

    def __init__(self, folder: Any, base: dict[str, Any], head: dict[str, Any], github: GitHubServer) -> None:
        self.folder, self._github = folder / "workspace", github
        self.folder.mkdir()
        repository(self.folder / "base", base, git=True)
        self.sha = git_in(repository(self.folder / "head", base | head, git=True), "rev-parse", "HEAD").strip()
        github.add_pull(PullRequest(number=NUMBER, head_sha=self.sha, head_branch="topic", head_repository=FORK))
        github.add_commit(self.sha)

    def run(self, **more: str) -> Step:
        inputs = {"commit": self.sha, "allow-untrusted": "true", "working-directory": "head", "suites-from": "../base"}
        given = inputs | {name.replace("_", "-"): value for name, value in more.items()}
        return step(self.folder, self._github, given, event=("workflow_dispatch", {}), GITHUB_REF="refs/heads/main")


@pytest.mark.slow
def test_a_maintainers_run_on_the_commit_sets_its_status(tmp_path, github):
    recipe = Recipe(tmp_path, {}, {"README.md": "of the fork"}, github)
    found = recipe.run()
    assert (found.code, found.outputs["verdict"]) == (0, "passed"), found.said
    assert [one.state for one in github.statuses(recipe.sha)] == ["success", "pending"]
    assert "## ✅ " in github.comments(NUMBER)[0].body


@pytest.mark.parametrize("name", ["selected tags", "a runner fewer"])
def test_there_the_configuration_is_the_bases(tmp_path, github, name):
    base, head, _ = configurations(str(tmp_path))[name]
    recipe = Recipe(tmp_path, base, head, github)
    assert recipe.run().code == 1
    assert github.statuses(recipe.sha)[0].state == "failure"


WRONG = {
    "another commit is checked out": ({"commit": SHA}, 0, "error", "which this run reports on; check out the head"),
    "nobody knows what is checked out": ({"without-git": "true"}, 0, "error", "it is unknown which commit was judged"),
    "not a whole id": ({"commit": "abc123"}, 2, None, "'abc123' is not the full id of a commit"),
    "it is not said that it is untrusted": (
        {"allow-untrusted": "false"},
        2,
        None,
        "agents would follow untrusted text",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", WRONG.values(), ids=WRONG)
def test_what_a_maintainer_does_wrong_makes_nothing_green(tmp_path, github, row):
    given, code, state, said = row
    recipe = Recipe(tmp_path, {}, {}, github)
    inputs = dict(given)
    if inputs.pop("without-git", None):
        shutil.rmtree(recipe.folder / "head" / ".git")
    found = recipe.run(**inputs)
    assert (found.code, said in found.said) == (code, True), found.said
    assert "success" not in {one.state for sha in (recipe.sha, SHA) for one in github.statuses(sha)}
    assert state is None or [*github.statuses(SHA), *github.statuses(recipe.sha)][0].state == state


def test_the_commit_is_named_in_a_workflow_that_only_maintainers_start(tmp_path):
    found = step(repository(tmp_path / "r"), None, {"commit": SHA}, event=("pull_request", pull_request(FORK)))
    assert (found.code, "the event pull_request does not use the input commit" in found.said) == (2, True), found.said
