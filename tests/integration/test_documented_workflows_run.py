"""Every workflow that the documentation shows is run by nektos/act, on this machine: with our action and no engine.

The jobs, their conditions, matrices and outputs are interpreted by act; what others wrote (`actions/cache`, …) has
stand-ins; agents are a line of shell. What a workflow needs of a repository is in FILES.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from action_with_scripted_agents import AGENT
from composite_action import composite_action
from container.act import STAND_INS, THIS_MACHINE, Place
from documented_workflows import Workflow, documented
from git_server import GitServer
from github_events import UNVERIFIED
from github_runs import Artifact, ArtifactHost, WorkflowRun, zipped
from github_server import JOB_TOKEN, GitHubServer
from github_state import PullRequest
from on_github import NUMBER, REPOSITORY
from paths import REPOSITORY as PROJECT
from scratch import case, committed, git_in, suite, written
from skillgym_action.authoring.starter.facts import RepositoryFacts, StarterAgents
from skillgym_action.authoring.starter.files import WORKFLOW, starter_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from container.act import Workflow as Ran

DOCUMENTED = documented()
BY_ACT = {"actions/checkout"}  # act has the repository, but not another commit than that of the event
CHECKOUT = "actions/checkout@v6"
OURS = ("org/skillgym-action", "org/skillgym-action/composite")
STARTS_ACTION = 'exec bash "$SKILLGYM_ACTION_ROOT/composite/run.sh"'
MACHINES = ("macos-latest", "macos-15", "ubuntu-24.04-arm", "ubuntu-slim", "self-hosted", "linux")
SAYS_DONE = {"type": "contains", "value": "done"}
FILES = {
    "bench/core.json": suite(case("one"), case("two")),
    "evals/EVAL.yaml": json.dumps({"tests": [{"id": "one", "input": "Do it", "assertions": [SAYS_DONE]}]}),
    "plugin/.claude-plugin/plugin.json": '{"name": "greeter"}',
    "plugin/skills/greeting/SKILL.md": "---\nname: greeting\ndescription: Greets.\n---\nSay done.\n",
    "plugin/evals/one/prompt.md": "Say done.\n",
    "plugin/evals/one/graders/done.md": "---\ntype: file_exists\npath: out.txt\n---\n",
    "skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Works on PDF files.\n---\nCount the pages.\n",
    "skills/pdf/evals/evals.json": json.dumps(
        {"skill_name": "pdf", "evals": [{"id": "one", "prompt": "Count", "assertions": [SAYS_DONE]}]}
    ),
    "skillgym.config.yaml": json.dumps({"runners": {"claude": {"agent": AGENT}, "recorded": {"agent": AGENT}}}),
    ".gitignore": ".skillgym-results\n",
}
JOB_INDEX = " || ".join(f"matrix.shard == '{number}/4' && '{number - 1}'" for number in range(1, 5))
UNKNOWN_TO_ACT = {"strategy.job-index": f"({JOB_INDEX})"}  # the same in terms that act evaluates
AFTER_TROUBLE = {"docs-how-to-shards-2.yml": {"again"}}  # jobs that run if a shard is missing
VERDICT = re.compile(r"::set-output:: verdict=(.+)$", re.MULTILINE)
PROGRAMS = {"pipx": '#!/bin/sh\n[ "$1" = run ] && shift && exec "$@"\n'}  # programs that runners have


def starter_workflow() -> str:
    """The workflow that `init` writes."""
    agents = StarterAgents.of_keys({"claude-code": "ANTHROPIC_API_KEY"})
    facts = RepositoryFacts(files=frozenset())
    files = starter_files(facts, suite_format="x-bench", agents=agents, branch="main")
    return next(file.text for file in files if file.path == WORKFLOW)


def beside(workflow: Workflow) -> list[Workflow]:
    """The workflows of the same document."""
    document = workflow.file.rpartition("-")[0]
    return [other for other in DOCUMENTED if other.file.rpartition("-")[0] == document] or [workflow]


def triggers(workflow: Workflow) -> list[str]:
    """The events that start it."""
    on = workflow.content["on"]
    return [on] if isinstance(on, str) else list(on)


class Hosted:
    """A repository with all workflows of a document on a GitHub, with a pull request that changes a skill."""

    def __init__(self, folder: Path, workflows: list[Workflow], github: GitHubServer, url: str) -> None:
        self.folder, self.github = folder, github
        shown = {f".github/workflows/{one.file}": for_act(one.text) for one in workflows}
        self.root = written(folder / "skills", FILES | shown)
        git_in(self.root, "init", "--quiet", "--initial-branch=main")
        committed(self.root)
        remote = folder / "remote" / f"{REPOSITORY}.git"
        git_in(folder, "clone", "--quiet", "--bare", str(self.root), str(remote))
        git_in(self.root, "remote", "add", "origin", f"https://github.com/{REPOSITORY}.git")
        self.base = git_in(self.root, "rev-parse", "main").strip()
        git_in(self.root, "checkout", "--quiet", "-b", "feature")
        written(self.root, {"skills/pdf/SKILL.md": FILES["skills/pdf/SKILL.md"] + "Slowly.\n"})
        committed(self.root)
        self.head = git_in(self.root, "rev-parse", "HEAD").strip()
        github.add_pull(PullRequest(number=NUMBER, head_sha=self.head))
        github.add_commit(self.base)
        (folder / "artifacts").mkdir()
        self._runs = 0
        self.fork: str | None = None  # the repository of the pull request's head, if it is another one
        self.place = Place(
            repository=self.root,
            artifacts=folder / "artifacts",
            actions={CHECKOUT: STAND_INS / "checkout"}
            | {name: self._action(name) for one in workflows for name in map(repository_of, uses_of(one))},
            job_image=THIS_MACHINE,
            variables={
                "RUNNER_OS": "Linux",
                "GITHUB_SERVER_URL": url,
                "CHECKOUT_FROM": str(self.root),
                "PATH": f"{programs(folder)}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            },
            options=(
                *(f"--platform={name}={THIS_MACHINE}" for name in MACHINES),
                *("--secret", "ANTHROPIC_API_KEY=none", "--secret", "OPENAI_API_KEY=none"),
                "--defaultbranch=main",
            ),
        )

    def run(self, workflow: Workflow, event: str, **pull: Any) -> Ran:
        """The workflow on an event: of the pull request's commit, or of main. ``pull``: more about the pull request."""
        own = event in {"pull_request", "merge_group"}
        git_in(self.root, "checkout", "--quiet", "feature" if own else "main")
        self._runs += 1
        own_variables = {
            "GITHUB_RUN_ID": str(self._runs),
            "GITHUB_WORKFLOW_REF": f"{REPOSITORY}/.github/workflows/{workflow.file}@refs/heads/main",
        }
        place = replace(self.place, variables=self.place.variables | own_variables)
        payload = self.payload(event)
        payload.get("pull_request", {}).update(pull)
        ran = place.run(workflow.file, event, payload, self.github)
        if not own:
            self._upload_store(workflow.file, event)
        return ran

    def _upload_store(self, workflow: str, event: str) -> None:
        """What a job has uploaded of its results is an artifact on GitHub."""
        folder = self.folder / "artifacts" / "skillgym-store"
        if folder.is_dir():
            files = {path.name: path.read_bytes() for path in folder.iterdir()}
            run = WorkflowRun(id=self._runs, sha=self.base, event=event, workflow=workflow)
            self.github.state.runs[run.id] = run
            self.github.state.artifacts[run.id] = Artifact(id=1, run=run.id, name=folder.name, content=zipped(files))

    def payload(self, event: str) -> dict[str, Any]:
        """The payload; an event that is not here has to be added, with what GitHub sends for it."""
        repo = {"full_name": REPOSITORY, "default_branch": "main"}
        head_repo = {"full_name": self.fork} if self.fork else repo
        head = {"sha": self.head, "ref": "feature", "repo": head_repo}
        base = {"sha": self.base, "ref": "main", "repo": repo}
        pull = {"number": NUMBER, "head": head, "base": base}
        run = {"id": 1, "conclusion": "success", "event": "pull_request", "head_sha": self.head}
        run |= {"head_branch": "feature", "head_repository": head_repo, "pull_requests": []}
        known: dict[str, dict[str, Any]] = {
            "push": {"ref": "refs/heads/main", "before": "0" * 40, "after": self.base},
            "pull_request": {"action": "synchronize", "number": NUMBER, "pull_request": pull},
            "merge_group": {
                "action": "checks_requested",
                "merge_group": {"head_sha": self.head, "base_sha": self.base},
            },
            "workflow_run": {"action": "completed", "workflow_run": run},
            "schedule": {"schedule": "0 3 * * *"},
            "workflow_dispatch": {"ref": "refs/heads/main", "inputs": {"commit": self.head}},
        }
        return known[event] | {"repository": repo}

    def _action(self, uses: str) -> Path:
        name = uses.partition("@")[0]
        if name not in OURS:
            return STAND_INS / name.removeprefix("actions/")
        start = f"exec {sys.executable} {PROJECT}/tests/support/action_with_scripted_agents.py"
        text = composite_action().replace(STARTS_ACTION, start)
        return written(self.folder / "action", {"action.yml": text, "composite/action.yml": text})


def for_act(text: str) -> str:
    """The workflow without what act does not know."""
    for unknown, known in UNKNOWN_TO_ACT.items():
        text = text.replace(unknown, known)
    return text


def programs(folder: Path) -> Path:
    """The folder with programs that GitHub's runners have."""
    made = written(folder / "programs", dict(PROGRAMS))
    for path in made.iterdir():
        path.chmod(0o755)
    return made


def uses_of(workflow: Workflow) -> set[str]:
    """The actions that it uses, but for those that act has."""
    return {step["uses"] for step in workflow.steps if "uses" in step and step["uses"].partition("@")[0] not in BY_ACT}


def repository_of(uses: str) -> str:
    """``actions/cache@v5`` for ``actions/cache/restore@v5``."""
    name, _, version = uses.partition("@")
    return f"{'/'.join(name.split('/')[:2])}@{version}"


@pytest.fixture
def hosted(tmp_path, request) -> Iterator[Hosted]:
    (tmp_path / "remote").mkdir()
    with (
        GitHubServer(REPOSITORY) as github,
        ArtifactHost(github.state),
        GitServer(tmp_path / "remote", writers={JOB_TOKEN}) as git,
    ):
        yield Hosted(tmp_path, beside(request.param), github, git.url)


def test_what_a_workflow_uses_of_others_has_a_stand_in_that_knows_its_inputs():
    for workflow, step in ((one, step) for one in DOCUMENTED for step in one.steps):
        name = step.get("uses", "").partition("@")[0]
        if name and name not in {*BY_ACT, *OURS}:
            known = yaml.safe_load((STAND_INS / name.removeprefix("actions/") / "action.yml").read_text())
            assert step.get("with", {}).keys() - known.get("inputs", {}).keys() == set(), (workflow.file, name)


@pytest.mark.parametrize(
    ("hosted", "workflow"),
    [(one, one) for one in DOCUMENTED],
    indirect=["hosted"],
    ids=[one.file for one in DOCUMENTED],
)
def test_a_documented_workflow_runs(hosted, workflow):
    """On each of its events no job fails, and each job has run on one of them."""
    succeeded: set[str] = set()
    verdicts: set[str] = set()
    for event in triggers(workflow):
        if event == "workflow_run":  # what it follows has been
            for other in beside(workflow):
                if other.content.get("name") in workflow.content["on"]["workflow_run"]["workflows"]:
                    hosted.run(other, "pull_request")
        ran = hosted.run(workflow, event)
        failed = {name for name, job in ran.jobs.items() if job.result == "failure"}
        assert failed == set(), f"{event}: {failed}\n{ran.log}"
        succeeded |= {name for name, job in ran.jobs.items() if job.result == "success"}
        verdicts |= set(VERDICT.findall(ran.log))
    assert succeeded == workflow.content["jobs"].keys() - AFTER_TROUBLE.get(workflow.file, set())
    assert bool(verdicts) == any(use.partition("@")[0] in OURS for use in uses_of(workflow))
    assert verdicts <= {"passed", "not-gated"}
    if "pull-requests: write" in workflow.text:
        assert {"## ✅ " in one.body for one in hosted.github.comments(NUMBER)} == {True}


FIRST_DOCUMENTED = {
    "readme-1.yml",
    "docs-tutorial-2.yml",
    "docs-how-to-first-suite-2.yml",
    "docs-how-to-secrets-1.yml",
}
FIRST = [
    *(one for one in DOCUMENTED if one.file in FIRST_DOCUMENTED),
    Workflow(file="of-init.yml", text=starter_workflow()),
]
WITHOUT_SECRETS = {
    "a fork": {"head": {"sha": "0" * 40, "ref": "feature", "repo": {"full_name": "somebody/fork"}}},
    "a fork that was deleted": {"head": {"sha": "0" * 40, "ref": "feature", "repo": None}},
    "Dependabot": {"user": {"login": "dependabot[bot]"}},
}


def with_secrets(workflow: Workflow) -> tuple[str, str]:
    """The name of the job that gets secrets, and its condition."""
    ((name, job),) = ((name, job) for name, job in workflow.content["jobs"].items() if "secrets." in str(job))
    return name, job["if"]


def test_the_first_workflows_of_the_documents_have_one_condition():
    assert len({with_secrets(workflow) for workflow in FIRST[:-1]}) == 1


@pytest.mark.parametrize(
    ("hosted", "workflow"),
    [(one, one) for one in (FIRST[0], FIRST[-1])],
    indirect=["hosted"],
    ids=["of a document", "of-init"],
)
def test_a_first_workflow_skips_pull_requests_that_get_no_secrets(hosted, workflow):
    """Their checks could not pass, whatever they change. All others run."""
    name, _ = with_secrets(workflow)
    for pull in WITHOUT_SECRETS.values():
        jobs = hosted.run(workflow, "pull_request", **pull).jobs
        assert name not in jobs or jobs[name].result == "skipped"
        assert "failure" not in {job.result for job in jobs.values()}
    for event in triggers(workflow):
        ran = hosted.run(workflow, event, user={"login": "somebody"})
        assert ran.jobs[name].result == "success", ran.log


PUBLIC = [one for one in DOCUMENTED if one.file.startswith("docs-how-to-public-repositories")]


@pytest.mark.parametrize("hosted", PUBLIC[:1], indirect=True, ids=["public-repositories"])
def test_a_fork_is_shown_and_a_maintainers_run_on_its_commit_counts(hosted):
    run, report, maintainers = PUBLIC
    hosted.fork = "somebody/fork"
    hosted.github.add_pull(PullRequest(number=NUMBER, head_sha=hosted.head, head_repository=hosted.fork))
    seen = []
    for workflow, event in ((run, "pull_request"), (report, "workflow_run"), (maintainers, "workflow_dispatch")):
        ran = hosted.run(workflow, event)
        assert {job.result for job in ran.jobs.values()} == {"success"}, ran.log
        titles = [line for one in hosted.github.comments(NUMBER) for line in one.body.splitlines() if "## " in line]
        seen.append(([one.state for one in hosted.github.statuses(hosted.head)][:1], titles[:1]))
    (before, unverified, verified) = seen
    assert before == ([], [])
    assert (unverified[0], unverified[1][0].startswith(f"## {UNVERIFIED}")) == (["pending"], True)
    assert (verified[0], verified[1][0].startswith("## ✅ ")) == (["success"], True)


BALANCED = next(one for one in DOCUMENTED if one.file == "docs-how-to-shards-2.yml")
RAN = "if: always() # also if the job failed, was cancelled, or exceeded its time"
LOST = {
    "nothing was uploaded": BALANCED.text.replace(RAN, "if: ${{ matrix.shard != '1/2' }} #"),
    "killed before its results": BALANCED.text.replace(
        "      - uses: actions/upload-artifact@v7\n        " + RAN,
        "      - if: ${{ matrix.shard == '1/2' }}\n        run: rm shard-1/results.json\n"
        "      - uses: actions/upload-artifact@v7\n        " + RAN,
    ),
}


@pytest.mark.parametrize(
    ("hosted", "kind"),
    [(replace(BALANCED, text=text), kind) for kind, text in LOST.items()],
    indirect=["hosted"],
    ids=list(LOST),
)
def test_a_missing_shard_runs_again_alone_and_there_is_one_comment(hosted, kind):
    text = LOST[kind]
    assert text != BALANCED.text
    written(hosted.root, {f".github/workflows/{BALANCED.file}": text})
    committed(hosted.root)
    ran = hosted.run(replace(BALANCED, text=text), "pull_request")
    jobs = ("plan", "shard", "missing", "again", "report")
    assert {name: job.result for name, job in ran.jobs.items()} == dict.fromkeys(jobs, "success"), ran.log
    assert '{"include": [{"shard": "1/2"}]}' in ran.log
    assert ("finished before" in ran.log) == (kind == "killed before its results")
    (comment,) = hosted.github.comments(NUMBER)
    assert "## ✅ " in comment.body


SHARDS = next(one for one in DOCUMENTED if one.file == "docs-how-to-shards-1.yml")
ELSEWHERE = replace(SHARDS, text=SHARDS.text.replace("pattern: shard-*", "pattern: other-*"))


@pytest.mark.parametrize("hosted", [ELSEWHERE], indirect=True, ids=["shards"])
def test_a_workflow_that_looks_for_other_artifacts_than_it_keeps_fails(hosted):
    written(hosted.root, {f".github/workflows/{ELSEWHERE.file}": for_act(ELSEWHERE.text)})
    jobs = hosted.run(ELSEWHERE, "pull_request").jobs
    assert {name: job.result for name, job in jobs.items()} == {
        "plan": "success",
        "shard": "success",
        "report": "failure",
    }
