"""What started a workflow, read from the variables and the payload of each kind of event."""

from __future__ import annotations

import json

import pytest

from skillgym_action.github.event import GitHubEvent, Head, github_event
from skillgym_action.model.errors import Location, UsageError

SHA, MERGE = "a" * 40, "b" * 40
OURS, FORK = "octo/skills", "stranger/skills"


def pull(repository=OURS, number=7):
    repo = repository and {"full_name": repository}
    return {"pull_request": {"number": number, "head": {"sha": SHA, "ref": "topic", "repo": repo}}}


def workflow_run(repository=FORK):
    repo = repository and {"full_name": repository}
    return {"workflow_run": {"head_sha": SHA, "head_branch": "topic", "head_repository": repo, "pull_requests": []}}


@pytest.fixture
def seen(tmp_path):
    """The event that a payload and some variables make."""

    def event(name: str, payload: object, **variables: str) -> GitHubEvent | None:
        path = tmp_path / "event.json"
        path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
        usual = {"GITHUB_EVENT_NAME": name, "GITHUB_EVENT_PATH": str(path), "GITHUB_REPOSITORY": OURS,
                "GITHUB_SHA": MERGE, "GITHUB_REF": "refs/pull/7/merge", "GITHUB_RUN_ID": "4711",
                "GITHUB_RUN_ATTEMPT": "2"}  # fmt: skip
        return github_event(usual | variables)

    return event


@pytest.mark.parametrize(
    ("name", "payload", "head", "number"),
    [
        pytest.param("pull_request", pull(), Head(sha=SHA, repository=OURS, branch="topic"), 7, id="not the merge"),
        pytest.param("pull_request_target", pull(FORK), Head(sha=SHA, repository=FORK, branch="topic"), 7, id="fork"),
        pytest.param(
            "pull_request", pull(None), Head(sha=SHA, repository="(deleted)", branch="topic"), 7, id="a deleted fork's"
        ),
        pytest.param(
            "workflow_run", workflow_run(), Head(sha=SHA, repository=FORK, branch="topic"), None,
            id="the commit of the other run; its number is to be found",
        ),
        pytest.param(
            "merge_group",
            {"merge_group": {"head_sha": SHA, "head_ref": f"refs/heads/gh-readonly-queue/main/pr-12-{MERGE}"}},
            Head(sha=SHA, repository=OURS), None, id="a group may be of several pull requests",
        ),
        pytest.param("issue_comment", {"issue": {"number": 9, "pull_request": {}}}, None, 9, id="on a pull request"),
        pytest.param("issue_comment", {"issue": {"number": 9}}, Head(sha=MERGE, repository=OURS), None, id="an issue"),
        pytest.param("schedule", {}, Head(sha=MERGE, repository=OURS), None, id="nobody's"),
    ],
)  # fmt: skip
def test_the_head_is_what_the_run_is_about(seen, name, payload, head, number):
    event = seen(name, payload)
    assert (event.head, event.pull) == (head, number)


@pytest.mark.parametrize("name", ["push", "workflow_dispatch"])
def test_a_push_and_a_dispatch_are_about_a_branch(seen, name):
    event = seen(name, {"ref": "refs/heads/a/b"}, GITHUB_REF="refs/heads/a/b")
    assert event.head == Head(sha=MERGE, repository=OURS, branch="a/b")
    assert seen(name, {}, GITHUB_REF="refs/tags/v1").head == Head(sha=MERGE, repository=OURS)


@pytest.mark.parametrize(
    ("name", "merge"),
    [
        ("pull_request", MERGE),
        ("pull_request_review", MERGE),
        ("pull_request_target", None),
        ("push", None),
        ("workflow_run", None),
    ],
)
def test_githubs_test_merge_is_known_where_it_is_checked_out(seen, name, merge):
    assert seen(name, pull()).merge == merge


@pytest.mark.parametrize(
    ("name", "payload", "actor", "untrusted", "read_only"),
    [
        pytest.param("pull_request", pull(), "ada", False, False, id="of this repository"),
        pytest.param("pull_request", pull(FORK), "ada", False, True, id="of a fork: no secrets, no writing"),
        pytest.param("pull_request", pull(None), "ada", False, True, id="of a fork that is gone"),
        pytest.param("pull_request", pull("OCTO/Skills"), "ada", False, False, id="in other letters"),
        pytest.param("pull_request", pull(), "dependabot[bot]", False, True, id="of Dependabot"),
        pytest.param("pull_request_target", pull(FORK), "ada", True, False, id="of a fork, with secrets"),
        pytest.param("pull_request_target", pull(), "ada", False, False, id="of this repository, with secrets"),
        pytest.param("workflow_run", workflow_run(), "dependabot[bot]", True, False, id="after a fork's run"),
        pytest.param("workflow_run", workflow_run(OURS), "ada", False, False, id="after an own run"),
        pytest.param("workflow_run", workflow_run(None), "ada", True, False, id="after the run of a fork that is gone"),
        pytest.param("pull_request_target", {}, "ada", True, False, id="of an unknown head"),
        pytest.param("workflow_run", {}, "ada", True, False, id="after the run of an unknown head"),
        pytest.param("issue_comment", {}, "ada", True, False, id="a comment on what is unknown"),
        pytest.param("pull_request_review", pull(FORK), "ada", False, True, id="a review of a fork's: no secrets"),
        pytest.param("pull_request_review_comment", pull(FORK), "ada", False, True, id="a comment in such a review"),
        pytest.param("issue_comment", {"issue": {"number": 9}}, "ada", False, False, id="a comment on an issue"),
        pytest.param(
            "issue_comment", {"issue": {"number": 9, "pull_request": {}}}, "ada", True, False,
            id="a comment on a pull request, whose author it does not name",
        ),
        *(
            pytest.param(name, {}, "ada", False, False, id=f"{name}: by who may write")
            for name in ("push", "schedule", "workflow_dispatch", "repository_dispatch", "release", "merge_group")
        ),
    ],
)  # fmt: skip
def test_who_can_write_and_whom_to_trust_is_known_before_anything_runs(
    seen, name, payload, actor, untrusted, read_only
):
    event = seen(name, payload, GITHUB_ACTOR=actor)
    assert (event.untrusted, event.read_only_reason is not None) == (untrusted, read_only)


def test_a_commit_that_the_workflow_names_may_be_anybodys(seen):
    event = seen("workflow_dispatch", {}, GITHUB_REF="refs/heads/main", INPUT_COMMIT=f" {SHA} ")
    assert event.head == Head(sha=SHA)
    assert (event.untrusted, event.detached, event.read_only_reason) == (True, True, None)
    for name, sha, words in (("push", SHA, "the event push does"), ("workflow_dispatch", "main", "'main' is not")):
        with pytest.raises(UsageError, match=words):
            seen(name, {}, INPUT_COMMIT=sha)


@pytest.mark.parametrize(
    "missing", [{"GITHUB_REPOSITORY": ""}, {"GITHUB_EVENT_NAME": ""}, {"GITHUB_REPOSITORY": "../../x"}]
)
def test_outside_of_github_there_is_no_event(seen, missing):
    assert seen("push", {}, **missing) is None


def test_addresses_are_those_of_the_server(seen):
    event = seen(
        "pull_request",
        pull(),
        GITHUB_SERVER_URL="https://ghe.example/",
        GITHUB_API_URL="https://ghe.example/api/v3/",
        GITHUB_GRAPHQL_URL="https://ghe.example/api/graphql",
    )
    assert (event.api_url, event.graphql_url) == ("https://ghe.example/api/v3", "https://ghe.example/api/graphql")
    links = event.links()
    assert links.run == "https://ghe.example/octo/skills/actions/runs/4711/attempts/2"
    assert links.line_address(Location(path="bench/a b#1.json", line=3)) == (
        f"https://ghe.example/octo/skills/blob/{SHA}/bench/a%20b%231.json#L3"
    )
    assert event.run_key == "4711/2"


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        pytest.param("{", "Invalid JSON", id="no JSON"),
        pytest.param({"pull_request": {"number": 1, "head": {"sha": "../x"}}}, "pull_request.head.sha", id="no commit"),
        pytest.param({"pull_request": {"number": "x", "head": {"sha": SHA}}}, "pull_request.number", id="no number"),
        pytest.param({"workflow_run": {"head_sha": SHA, "head_repository": {"full_name": ""}}}, "full_name", id="name"),
    ],
)  # fmt: skip
def test_a_payload_that_is_not_githubs_is_refused_in_words(seen, payload, words):
    with pytest.raises(UsageError, match=words):
        seen("pull_request", payload)


def test_without_a_payload_the_variables_speak(seen):
    event = seen("push", {}, GITHUB_EVENT_PATH="", GITHUB_REF="refs/heads/main", GITHUB_RUN_ID="x")
    assert (event.head, event.run_key) == (Head(sha=MERGE, repository=OURS, branch="main"), "1/2")


def test_the_base_branch_of_a_merge_group(seen):
    group = {"head_sha": SHA, "base_sha": MERGE, "base_ref": "refs/heads/release"}
    found = seen("merge_group", {"merge_group": group, "repository": {"default_branch": "main"}})
    assert (found.base_branch, found.base) == ("release", MERGE)
    assert seen("push", {"merge_group": group}).base_branch is None


@pytest.mark.parametrize(
    ("ref", "workflow"),
    [
        (f"{OURS}/.github/workflows/bench.yml@refs/heads/main", "bench.yml"),
        (f"{OURS.upper()}/.github/workflows/bench.yaml@refs/pull/7/merge", "bench.yaml"),
        ("other/shared/.github/workflows/bench.yml@refs/heads/main", None),
        (f"{OURS}/.github/workflows/a/../bench.yml@refs/heads/main", None),
        ("", None),
    ],
)
def test_the_workflow_is_known_by_its_file_if_it_is_one_of_this_repository(seen, ref, workflow):
    assert seen("push", {}, GITHUB_WORKFLOW_REF=ref).workflow == workflow
