"""Workflows, our own and those of the documentation: what they may do and what they use. `make lint` checks form."""

from __future__ import annotations

import re
from typing import Any

import yaml

from documented_workflows import Workflow, documented
from paths import REPOSITORY
from table_rows import each_row

FOLDER = REPOSITORY / ".github" / "workflows"
OWN = [Workflow(file=path.name, text=path.read_text(encoding="utf-8")) for path in sorted(FOLDER.iterdir())]
DOCUMENTED = documented()
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
USES = re.compile(r"^ *(?:- )?uses: (\S+)(?: # (.*))?$", re.MULTILINE)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
OUTPUT = re.compile(r"steps\.([\w-]+)\.outputs\.([\w-]+)")
OURS = "org/skillgym-action@v1"
COMPOSITE = "org/skillgym-action/composite@v1"
ONLY_SHOWN = dict.fromkeys(  # our own workflows do not use them
    (
        "actions/cache",
        "actions/cache/restore",
        "actions/cache/save",
        "actions/deploy-pages",
        "actions/upload-pages-artifact",
    ),
    "v5",
)

# Every right to write that a job of ours has. Another one is looked at by two people and added here.
WRITES = {
    ("agents.yml", "report"): {"issues"},
    ("docs.yml", "publish"): {"pages", "id-token"},
    ("dogfood.yml", "examples"): {"pull-requests"},
    ("release.yml", "pypi"): {"id-token", "attestations"},
    ("release.yml", "image"): {"packages", "id-token", "attestations"},
    ("release.yml", "index"): {"packages", "id-token", "attestations"},
    ("release.yml", "tag"): {"contents"},
    ("release.yml", "github-release"): {"contents"},
}

each_of_ours, each_documented, each = (
    each_row([(workflow.file, workflow) for workflow in workflows]) for workflows in (OWN, DOCUMENTED, OWN + DOCUMENTED)
)


def jobs(workflow: Workflow) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = workflow.content["jobs"]
    return found


def writes(granted: dict[str, Any]) -> set[str]:
    """The rights to write that a job, or a whole workflow, asks for."""
    return {right for right, access in granted.get("permissions", {}).items() if access == "write"}


def document_of(workflow: Workflow) -> str:
    return workflow.file.rpartition("-")[0]


def foreign(workflow: Workflow) -> list[tuple[str, str]]:
    """What a workflow uses of others, and the comment behind it."""
    return [(uses, comment) for uses, comment in USES.findall(workflow.text) if not uses.startswith("./")]


def test_the_workflows_of_the_project_are_these():
    assert [workflow.file for workflow in OWN] == ["agents.yml", "docs.yml", "dogfood.yml", "release.yml", "test.yml"]


def test_the_documentation_shows_every_kind_of_workflow():
    assert {document_of(workflow) for workflow in DOCUMENTED} == {
        "readme",
        "docs-tutorial",
        "docs-how-to-first-suite",
        "docs-how-to-secrets",
        "docs-how-to-pull-request-comments",
        "docs-how-to-public-repositories",
        "docs-how-to-shards",
        "docs-how-to-runners-without-docker",
        "docs-how-to-container-per-case",
        "docs-how-to-compare-with-a-baseline",
        "docs-how-to-control-costs",
        "docs-how-to-nightly-trend",
        "docs-how-to-many-machines",
        "docs-how-to-monorepo",
        "docs-how-to-re-run-failed-jobs",
        "docs-how-to-flaky-cases",
        "docs-how-to-compare-agents",
        "docs-how-to-own-agent",
        "docs-how-to-judge",
        "docs-how-to-self-hosted",
        "docs-how-to-ghes-and-proxies",
        *(
            f"docs-how-to-from-{tool}"
            for tool in ("agentv", "claude-plugin-eval", "harbor", "promptfoo", "skill-creator", "skillgym")
        ),
    }


# --- what a workflow may do -------------------------------------------------------------------------


@each_of_ours
def test_what_others_wrote_is_pinned_to_a_commit_and_names_its_version(workflow):
    for uses, comment in foreign(workflow):
        assert PINNED.fullmatch(uses), uses
        assert re.fullmatch(r"v\d+\.\d+\.\d+", comment), f"{uses} # {comment}"


def test_an_action_has_the_same_version_everywhere():
    versions: dict[str, set[tuple[str, str]]] = {}
    for workflow in OWN:
        for uses, comment in foreign(workflow):
            name, _, commit = uses.partition("@")
            versions.setdefault(name, set()).add((commit, comment))
    assert {name: pins for name, pins in versions.items() if len(pins) > 1} == {}


@each_of_ours
def test_a_token_can_do_nothing_where_no_job_asks_for_more(workflow):
    assert workflow.content["permissions"] == {}


@each_documented
def test_readers_copy_no_rights_that_the_action_does_not_need(workflow):
    assert "permissions" in workflow.content
    assert not writes(workflow.content) or len(jobs(workflow)) == 1
    for granted in (workflow.content, *jobs(workflow).values()):
        of_branch = {"contents"} if keeps_a_branch(workflow, granted) else set()
        of_pages = {"pages", "id-token"} if only_publishes_pages(granted) else set()
        assert writes(granted) <= {"pull-requests", "statuses"} | of_branch | of_pages


def keeps_a_branch(workflow: Workflow, job: dict[str, Any]) -> bool:
    """Whether a job stores results on a branch, and no pull request starts it."""
    events, of_branches = set(workflow.content["on"]), {"push", "schedule", "workflow_dispatch"}
    others = "${{ github.event_name != 'pull_request' }}"
    trusted = events <= of_branches or (job.get("if") == others and events <= of_branches | {"pull_request"})
    of_base = job.get("if") in {f"${{{{ github.event_name == '{event}' }}}}" for event in ("push", "schedule")}
    stores = any(step.get("with", {}).get("store") == "branch" for step in job.get("steps", ()))
    return stores and (trusted or of_base)


def only_publishes_pages(job: dict[str, Any]) -> bool:
    """Whether a job publishes an artifact with GitHub Pages and does nothing else, without a secret."""
    used = [step.get("uses", "").partition("@")[0] for step in job.get("steps", ())]
    return used == ["actions/deploy-pages"] and "secrets." not in str(job)


def test_jobs_can_write_what_they_are_there_to_write():
    found = {(workflow.file, name): writes(job) for workflow in OWN for name, job in jobs(workflow).items()}
    assert {place: rights for place, rights in found.items() if rights} == WRITES


@each
def test_a_checkout_leaves_no_credentials_behind(workflow):
    for step in workflow.steps:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"


@each_of_ours
def test_runs_do_not_pile_up_and_do_not_hang(workflow):
    assert workflow.content["concurrency"]["group"]
    for name, job in jobs(workflow).items():
        assert "timeout-minutes" in job or "uses" in job, name


def test_names_are_unique():
    assert sorted(workflow.content["name"] for workflow in OWN) == ["agents", "docs", "dogfood", "release", "test"]
    shown = [(document_of(workflow), workflow.content.get("name")) for workflow in DOCUMENTED]
    assert len(shown) == len(set(shown))


def test_the_tested_versions_of_python_are_those_that_are_supported():
    (tests,) = (workflow for workflow in OWN if workflow.file == "test.yml")
    tested = jobs(tests)["test"]["strategy"]["matrix"]["python"]
    assert f'requires-python = ">={tested[0]}"' in (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")


# --- what the documentation has readers copy --------------------------------------------------------


@each
def test_only_inputs_and_outputs_that_the_action_has_are_used(workflow):
    ours = [step for step in workflow.steps if step.get("uses") in (OURS, COMPOSITE, "./")]
    for step in ours:
        assert step.get("with", {}).keys() - ACTION["inputs"].keys() == set()
    named = {step["id"] for step in ours if "id" in step}
    read = {output for step, output in OUTPUT.findall(workflow.text) if step in named}
    assert read - ACTION["outputs"].keys() == set()


@each_documented
def test_the_action_is_used_under_its_name(workflow):
    used = {step["uses"] for step in workflow.steps if "skillgym" in step.get("uses", "")}
    assert used in ({OURS}, {COMPOSITE}) or (not used and "pipx run skillgym-action" in workflow.text)


@each_documented
def test_nobody_has_to_install_an_agent(workflow):
    assert [step["run"] for step in workflow.steps if "npm" in step.get("run", "")] == []


@each_documented
def test_actions_have_the_major_versions_that_we_use(workflow):
    used = {uses.partition("@")[0]: comment.partition(".")[0] for own in OWN for uses, comment in foreign(own)}
    used |= ONLY_SHOWN
    shown = dict(uses.split("@") for uses, _ in foreign(workflow))
    assert {name: version for name, version in shown.items() if version != used.get(name, "v1")} == {}


@each_documented
def test_a_workflow_that_follows_another_finds_it_beside_itself(workflow):
    beside = {other.content.get("name") for other in DOCUMENTED if document_of(other) == document_of(workflow)}
    triggers = workflow.content["on"]
    followed = triggers["workflow_run"]["workflows"] if "workflow_run" in triggers else []
    assert set(followed) <= beside


@each_documented
def test_a_job_that_can_write_runs_no_code_of_a_fork(workflow):
    """It may check out the base, which is what a checkout without a ref is there."""
    for job in jobs(workflow).values():
        steps = job.get("steps", ())
        agents_run = any(
            step.get("with", {}).get("mode") != "report" for step in steps if step.get("uses") in (OURS, COMPOSITE)
        )
        checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
        foreign = any(step.get("with", {}).keys() & {"ref", "repository"} for step in checkouts)
        assert "workflow_run" not in workflow.content["on"] or not (agents_run or foreign)
    assert "pull_request_target" not in workflow.content["on"]


@each_documented
def test_a_job_that_reports_for_another_workflow_has_the_bases_suites_to_compare(workflow):
    for job in jobs(workflow).values():
        used = [step.get("uses", "").partition("@")[0] for step in job.get("steps", ())]
        if "workflow_run" in workflow.content["on"]:
            assert used.index("actions/checkout") < used.index("actions/download-artifact"), "it would remove that"
