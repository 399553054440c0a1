"""The action as a step of a job: real processes, and a GitHub that keeps to GitHub's own description."""

from __future__ import annotations

import json
import signal
import time

import pytest

from action_step import finished, merged_on_github, started, step, workflow_run
from github_replies import server_error
from github_server import READ_ONLY_TOKEN
from github_state import ChangedFile
from on_github import NUMBER, SHA, github_with
from scratch import case, config, repository, runner, suite
from skillgym_action.cli.action.inputs import settings_of
from skillgym_action.model.errors import UsageError
from waiting import until, until_written

PASSES = {"bench/core.json": suite(case())}
FAILS = {"bench/core.json": suite(case("good"), case("bad", ("file:nothing exists",)))}


def texts(github):
    return [comment.body for comment in github.comments(NUMBER)]


def test_the_first_run_writes_a_comment_and_the_second_keeps_it_up_to_date(tmp_path):
    root = repository(tmp_path / "r", FAILS, git=True)
    merged_on_github(root)
    with github_with() as github:
        red = step(root, github)
        assert (red.code, red.outputs["verdict"]) == (1, "failed")
        assert "❌ 1 of 2 results passes, 1 fails for 1 reason" in texts(github)[0]
        repository(root, PASSES)
        before = len(github.requests)
        green = step(root, github, GITHUB_RUN_ID="101")
        (text,) = texts(github)
        assert "## ✅ " in text
        assert green.outputs["comment-id"] == red.outputs["comment-id"] == str(github.comments(NUMBER)[0].id)
        assert len(github.requests) - before <= 6
    assert f"https://github.example/octo/skills/blob/{SHA}/bench/core.json#L1" in red.summary


def test_a_comment_that_is_not_to_be_touched_by_an_older_run(tmp_path):
    root = repository(tmp_path / "r", PASSES)
    with github_with() as github:
        step(root, github, GITHUB_RUN_ID="101")
        repository(root, FAILS)
        older = step(root, github, GITHUB_RUN_ID="100")
        assert older.code == 1
        assert ["## ✅ " in text for text in texts(github)] == [True]


def test_a_token_that_cannot_write_changes_no_verdict(tmp_path):
    root = repository(tmp_path / "r", PASSES)
    with github_with() as github:
        found = step(root, github, {"github-token": READ_ONLY_TOKEN})
        assert texts(github) == []
    assert found.code == 0
    assert "permissions:\n  contents: read\n  pull-requests: write\n" in found.summary
    assert found.said.index("pull-requests: write") < found.said.index("1/1"), "reported before agents start"
    assert "::notice title=skillgym-action::" in found.log


def test_a_github_that_is_down_changes_no_verdict(tmp_path):
    root = repository(tmp_path / "r", FAILS)
    with github_with() as github:
        github.fail(server_error(503), times=1000, where="/issues/")
        found = step(root, github, {"comment-when": "failures"}, SKILLGYM_TEST="1")
        assert (found.code, found.outputs["verdict"], found.outputs["comment-id"]) == (1, "failed", "")
        assert "503" in found.summary


def test_an_artifact_cannot_name_the_pull_request_or_reach_out_of_itself(tmp_path):
    root = repository(tmp_path / "r", PASSES)
    step(root, None, {"mode": "run", "report-dir": "results"})
    results = json.loads((root / "results" / "results.json").read_text())
    results["suites"][0]["results"][0]["artifactDir"] = "../../etc"
    (root / "results" / "results.json").write_text(json.dumps(results))
    with github_with() as github:
        found = step(root, github, {"mode": "report", "results": "results"}, event=("workflow_run", workflow_run()))
        assert found.code == 2
        (text,) = texts(github)
        assert "❌ Not run: nothing was tested" in text
        assert "Passed" not in text
    assert "artifactDir" in found.said
    assert "Traceback" not in found.said


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        pytest.param({"mode": "both"}, "known: all, missing, plan, report, run, trend", id="no such mode"),
        pytest.param({"mode": "report"}, "mode report needs the input results", id="nothing to report"),
        pytest.param({"results": "x"}, "mode all does not use the input results", id="results of others"),
        pytest.param({"mode": "report", "results": "nowhere"}, "nowhere", id="results that are not there"),
        pytest.param({"comment": "updaet"}, "did you mean 'update'?", id="comment"),
        pytest.param({"comment-when": "never"}, "known: always, changes, failures", id="comment-when"),
        pytest.param({"status": "yes"}, "known: auto, off, on", id="status"),
        pytest.param({"review-comments": "maybe"}, "review-comments", id="no boolean"),
    ],
)
def test_a_mistake_in_an_input_is_one_message(tmp_path, inputs, words):
    with github_with() as github:
        found = step(repository(tmp_path / "r"), github, inputs)
    assert found.code == 2
    assert words in found.said


@pytest.mark.timed
def test_a_cancelled_run_leaves_no_comment_that_says_it_runs(tmp_path):
    begun = tmp_path / "begun"
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(runner(f"echo x >{begun}; sleep 600"))})
    with github_with() as github:
        process, files = started(root, github)
        until(lambda: any("Running" in text for text in texts(github)), "a comment that the run is in progress")
        until_written(begun)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        found = finished(process, files)
        assert time.monotonic() - began < 7.5, "GitHub kills then"
        assert found.code == 130
        (text,) = texts(github)
        assert "Running" not in text
        assert "cancelled" in text


def test_review_comments_stand_at_the_lines_that_changed(tmp_path):
    root = repository(tmp_path / "r", FAILS)
    file = ChangedFile("bench/core.json", "@@ -0,0 +1,1 @@\n+everything is in this line", status="added")
    with github_with(file) as github:
        step(root, github, {"review-comments": "true"})
        assert [(one.path, one.line) for one in github.review_comments(NUMBER)] == [("bench/core.json", 1)]


def test_the_configuration_file_may_say_it_all(tmp_path):
    told = json.loads(config(runner())) | {
        "report": {"commentId": "nightly", "status": "on", "templates": "mine", "commentWhen": "always"}
    }
    root = repository(
        tmp_path / "r",
        {
            "skillgym.config.yaml": json.dumps(told),
            "mine/comment.md.j2": '{% extends "packaged/comment.md.j2" %}{% block provenance %}By us.{% endblock %}',
        },
    )
    with github_with() as github:
        found = step(root, github)
        assert found.code == 0, found.said
        (text,) = texts(github)
        assert text.startswith("<!-- skillgym-action:nightly -->\n")
        assert text.rstrip().endswith("By us.")
        assert github.statuses(SHA)[0].context == "skillgym-action/nightly"


def test_a_run_that_breaks_off_leaves_no_comment_that_says_it_runs(tmp_path):
    root = tmp_path / "r"
    breaks = runner(f"rm -rf {root}/results; echo x > {root}/results")
    repository(root, {"skillgym.config.yaml": config(breaks)})
    with github_with() as github:
        found = step(root, github, {"report-dir": "results"})
        assert found.code == 3, found.said
        (text,) = texts(github)
        assert "Running" not in text


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        pytest.param("claude", {"runner": ("claude",)}, id="an id"),
        pytest.param(
            "codex:gpt-5\n- pi:openai/gpt-5-mini", {"runner": ("codex:gpt-5", "pi:openai/gpt-5-mini")}, id="models"
        ),
        pytest.param("sh: {agent: {type: command}}", {"runner": ()}, id="a runner"),
        pytest.param('{"sh":{"agent":{"type":"command"}}}', {"runner": ()}, id="in JSON"),
        pytest.param("sh:\n  agent:\n    type: command", {"runner": ()}, id="in several lines"),
    ],
)
def test_runners_are_words_or_what_the_configuration_would_say(text, setting):
    told = settings_of({"runners": text})
    assert {"runner": told.runner} == setting
    assert told.runners == (None if told.runner else text)


def test_a_report_of_the_action_is_a_file_and_times_may_have_units():
    with pytest.raises(UsageError, match="a report on standard output, -, would only be in the job's log"):
        settings_of({"reports": "results=-"})
    chosen = settings_of({"maxfail": "3", "timeout": "5m"})
    assert (chosen.maxfail, chosen.timeout) == (3, 300)
