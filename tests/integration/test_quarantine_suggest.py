"""``quarantine suggest``: from runs in a store to entries that quarantine exactly the flaky executions."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime, timedelta

import pytest

from artifact_jobs import ArtifactJobs
from github_runs import ArtifactHost, WorkflowRun
from github_server import JOB_TOKEN, GitHubServer
from on_github import REPOSITORY
from scratch import case, config, repository, runner, skillgym, suite, written

FLAKY, FIXED, STEADY = "flaky [*] ##[error]x", "fixed", "steady"
AGENT = """
case "$(cat)" in
  *Flaky*) [ "$SIGN" = f ] || echo done > out.txt;;
  *Fixed*) [ "$AGE" = old ] || echo done > out.txt;;
  *) echo done > out.txt;;
esac
"""
SUITE = suite(case(FLAKY, prompt="Flaky"), case(FIXED, prompt="Fixed"), case(STEADY, prompt="Steady"))
SIGNS = "pfppfpfp"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A folder with a repository, and a store with eight runs of it; to be copied."""
    folder = tmp_path_factory.mktemp("stored")
    sh = runner(AGENT, env={"SIGN": "${SIGN}", "AGE": "${AGE}"})
    root = repository(
        folder / "repo",
        {"bench/core.json": SUITE, "skillgym.config.yaml": config(sh), ".gitignore": ".skillgym-results\n"},
        git=True,
    )
    for number, sign in enumerate(SIGNS):
        run(root, "--store-write", SIGN=sign, AGE="old" if number < 4 else "new")
    return folder


@pytest.fixture
def project(tmp_path, stored):
    """A copy of the repository, beside one of its store."""
    return shutil.copytree(stored, tmp_path / "copy", symlinks=True) / "repo"


def run(root, *args: str, **env: str):
    store = ("--store", f"path={root.parent / 'store'}")
    return skillgym("run", "bench", *store, "--fail-on", "failed", *args, cwd=root, **env)


def suggest(root, *args: str):
    return skillgym("quarantine", "suggest", "--store", f"path={root.parent / 'store'}", *args, cwd=root)


def test_what_is_proposed_quarantines_exactly_the_flaky_executions(project):
    today = datetime.now(UTC).date()
    found = suggest(project, "--owner", "@ada", "--issue", "https://github.com/o/r/issues/7")
    assert found.code == 0, found.err
    assert f'reason: "failed 3 of 8 sessions in 8 runs on {today}"' in found.out
    assert f"expires: {today + timedelta(days=30)}" in found.out
    assert "##[" not in found.out + found.err
    assert "looked at 8 runs with 3 executions: 1 is flaky" in found.err
    assert "bench/core.json: fixed [sh] failed 4 of 8 sessions in 8 runs" in found.err
    assert "changed at some time, so it is not proposed" in found.err

    assert run(project, "--baseline-optional", SIGN="f", AGE="new").code == 1
    written(project, {"skillgym.quarantine.yaml": found.out})
    checked = skillgym("check", cwd=project, SIGN="f", AGE="new")
    assert (checked.code, "quarantine" in checked.err) == (0, False), checked.err
    green = run(project, "--output", "out", "--baseline-optional", SIGN="f", AGE="new")
    assert green.code == 0, green.err
    (rows,) = json.loads((project / "out" / "results.json").read_text())["suites"]
    assert [row["caseId"] for row in rows["quarantined"]] == [FLAKY]
    assert [row["caseId"] for row in rows["results"]] == [FIXED, STEADY]
    assert run(project, "--baseline-optional", SIGN="f", AGE="old").code == 1, "the other cases still count"

    again = suggest(project)
    assert (again.code, again.out) == (0, "")
    assert "looked at 8 runs with 3 executions: 0 are flaky, 1 more in quarantine already" in again.err


def test_without_an_owner_the_entry_has_no_effect_and_says_so(project):
    found = suggest(project)
    written(project, {"skillgym.quarantine.yaml": found.out})
    checked = skillgym("check", cwd=project, SIGN="f", AGE="new")
    assert "skillgym.quarantine.yaml:7:" in checked.err
    assert "quarantine[0].owner" in checked.err
    assert run(project, "--baseline-optional", SIGN="f", AGE="new").code == 1


def test_json_has_the_numbers_and_what_is_not_proposed(project):
    document = json.loads(suggest(project, "--json").out)
    (found,) = document["suggestions"]
    assert (found["case"], found["passed"], found["judged"], found["runs"]) == (FLAKY, 5, 8, 8)
    assert found["entry"]["owner"] is None
    assert (round(found["passRate"]["low"], 2), round(found["passRate"]["high"], 2)) == (0.31, 0.86)
    assert [(one["case"], one["why"]) for one in document["notProposed"]] == [(FIXED, "changed")]
    nothing = json.loads(suggest(project, "--json", "--case", "steady").out)
    assert (nothing["executions"], nothing["suggestions"]) == (1, [])


def test_mistakes_are_errors_with_what_to_do(project):
    assert "--issue: must be an address" in suggest(project, "--issue", "7").err
    assert suggest(project, "--days", "91").code == 2
    without = skillgym("quarantine", "suggest", cwd=project)
    assert (without.code, "suggest without a store: there is nothing to look into; name a --store" in without.err) == (
        2,
        True,
    )
    (file,) = sorted((project.parent / "store").rglob("*.jsonl"))[:1]
    file.write_text("not json\n")
    broken = suggest(project)
    assert (broken.code, "nothing is proposed: " in broken.err, "not JSON" in broken.err) == (3, True, True)
    assert broken.out == ""


def test_an_empty_store_says_what_was_looked_at(tmp_path):
    root = repository(tmp_path / "repo", {"bench/core.json": SUITE}, git=True)
    found = suggest(root)
    assert (found.code, found.out) == (0, "")
    assert "looked at 0 runs with 0 executions: 0 are flaky" in found.err


def test_a_job_of_another_workflow_reads_the_artifacts_of_the_one_that_runs(tmp_path):
    with GitHubServer(REPOSITORY) as github, ArtifactHost(github.state) as host:
        jobs = ArtifactJobs(tmp_path, github, host)
        for number in range(6):
            written(jobs.root, {"AGENTS.md": "write out.txt" if number % 2 else "do nothing"})
            assert jobs.push(**{"fail-on": "none"}).code == 0
        assert all(isinstance(one, WorkflowRun) for one in github.state.runs.values())
        event = tmp_path / "event.json"
        event.write_text(json.dumps({"repository": {"default_branch": "main"}}))
        found = skillgym(
            *("quarantine", "suggest", "--store", "artifact=bench.yml", "--case", "a"),
            cwd=jobs.root,
            GITHUB_ACTIONS="true",
            GITHUB_REPOSITORY=REPOSITORY,
            GITHUB_EVENT_NAME="schedule",
            GITHUB_EVENT_PATH=str(event),
            GITHUB_REF="refs/heads/main",
            GITHUB_API_URL=github.url,
            GITHUB_TOKEN=JOB_TOKEN,
            GITHUB_WORKFLOW_REF=f"{REPOSITORY}/.github/workflows/flaky.yml@refs/heads/main",
        )
    assert found.code == 0, found.err
    assert "failed 3 of 6 sessions in 6 runs" in found.out
