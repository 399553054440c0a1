from __future__ import annotations

import json
import os

import pytest

from scratch import written
from skillgym_action.model.session import NOT_STORED
from skillgym_action.results.session_artifacts import ArtifactRoot, RunArtifacts, artifact_root
from skillgym_action.text.redaction import Redactor

SESSION = "core/one/claude/repeat-1"
REPORT = json.dumps({"events": [], "cwd": "/w"})


@pytest.fixture
def run(tmp_path):
    return tmp_path / "run"


def source(*roots, secrets=(), baseline=None) -> RunArtifacts:
    folders = [ArtifactRoot(root) for root in roots]
    base = ArtifactRoot(baseline) if baseline else None
    return RunArtifacts(roots=folders, redact=Redactor(secrets).text, baseline=base)


def stored(run, **files):
    return written(run / SESSION, {name.replace("__", "."): text for name, text in files.items()})


def test_all_artifacts_are_read(run):
    stored(run, report__json=REPORT, workspace__json='{"created": ["a"]}', changes__diff="+a\n")
    names = {"stdout.log": "out", "stderr.log": "", "command-10.stdout.log": "ten", "command-2.stdout.log": "two"}
    questions = {"judge-10.json": '{"n": 10}', "judge-2.json": '{"n": 2}'}
    names |= {"turn-10.stdout.log": "x", "turn-2.stderr.log": "y", "session.jsonl": "z", "before_each.stdout.log": "b"}
    written(run / SESSION, names | questions | {"changes/a": "new", "other.log": "no", "turn-2.log": "no"})
    found = source(run).session(SESSION, 1_000)
    assert found.report == {"events": [], "cwd": "/w"}
    assert [one["n"] for one in found.questions] == [2, 10]
    assert found.diff
    assert (found.diff.head, found.changed) == ("+a\n", ())
    assert [log.name for log in found.logs] == [
        "stdout.log",
        "stderr.log",
        "turn-2.stderr.log",
        "turn-10.stdout.log",
        "session.jsonl",
        "before_each.stdout.log",
        "command-2.stdout.log",
        "command-10.stdout.log",
    ]
    assert found.problems == ()


def test_changed_files_are_read_where_there_is_no_diff(run):
    stored(run, workspace__json='{"created": ["a/b", "../../escape", 3], "modified": ["gone"]}')
    written(run, {"core/escape": "outside", f"{SESSION}/changes/a/b": "new"})
    found = source(run).session(SESSION, 1_000)
    assert [(one.name, one.head) for one in found.changed] == [("changes/a/b", "new")]
    assert found.problems == ("changes/gone cannot be read: No such file or directory",)


def test_files_that_are_not_shown_are_counted(run):
    logs = {f"command-{number}__stdout__log": "x" for number in range(43)}
    questions = {f"judge-{number}__json": '{"judge": {}}' for number in range(41)}
    stored(run, report__json=REPORT, **logs, **questions)
    found = source(run).session(SESSION, 100)
    assert (len(found.logs), len(found.questions)) == (40, 40)
    assert found.problems == (
        "1 more question in the run directory, not shown here",
        "3 more logs in the run directory, not shown here",
    )


def test_a_session_that_several_runs_have_is_not_guessed(run, tmp_path):
    stored(run, report__json=REPORT)
    stored(tmp_path / "other", report__json="{}")
    found = source(run, tmp_path / "other").session(SESSION, 100)
    assert found.report is None
    assert found.problems[0].startswith(f"2 of the merged runs have a folder {SESSION}: it is not known which")
    assert source(run, run).session(SESSION, 100).report is not None


def test_of_a_long_file_both_ends_are_read(run):
    stored(run, stdout__log="a" * 600 + "b" * 600)
    (log,) = source(run).session(SESSION, 100).logs
    assert (log.head, log.tail, log.left_out) == ("a" * 50, "b" * 50, 1_100)


def test_sessions_are_found_in_any_of_the_runs_and_may_be_missing(run, tmp_path):
    stored(run, report__json=REPORT)
    other = tmp_path / "other"
    other.mkdir()
    assert source(other, run).session(SESSION, 10).report
    assert source(other).session(SESSION, 10) == NOT_STORED
    assert source(other).baseline_session(SESSION, 10) == NOT_STORED
    assert source(other, baseline=run).baseline_session(SESSION, 10).report


@pytest.mark.parametrize("directory", ["../run/core", "/etc", "core/./one", ""])
def test_no_name_leads_out_of_the_run(run, directory):
    stored(run, report__json=REPORT)
    assert source(run).session(directory, 10) == NOT_STORED


def test_no_link_is_followed(run, tmp_path):
    secret = written(tmp_path, {"secret.log": "do not read", "whole/stdout.log": "do not read"})
    stored(run, report__json=REPORT)
    (run / SESSION / "stdout.log").symlink_to(secret / "secret.log")
    (run / SESSION / "judge-1.json").symlink_to("report.json")
    found = source(run).session(SESSION, 100)
    assert (found.logs, found.questions) == ((), ())
    assert len(found.problems) == 2
    (run / "core/two").symlink_to(secret / "whole")
    assert source(run).session("core/two", 100) == NOT_STORED


def test_a_fifo_is_not_waited_for(run):
    stored(run, report__json=REPORT)
    os.mkfifo(run / SESSION / "stdout.log")
    assert source(run).session(SESSION, 100).problems == ("stdout.log cannot be read: is not a file",)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a" * 10_000])
def test_a_name_that_no_file_can_have_is_a_problem(run, name):
    stored(run, report__json=REPORT, workspace__json=json.dumps({"created": [name, "b"]}))
    written(run / SESSION / "changes", {"b": "content"})
    found = source(run).session(SESSION, 100)
    assert [file.head for file in found.changed] == ["content"]
    assert found.problems[0].startswith(f"changes/{name} cannot be read: ")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("{", "it is not JSON", id="cut off"),
        pytest.param("[" * 100_000, "nested too deep", id="deep"),
        pytest.param("[" + "[]," * 500_000 + "[]]", "more than 400,000 lists and objects", id="many lists"),
        pytest.param('"text"', "is not a JSON object", id="no object"),
        pytest.param("9" * 10_000, "it is not JSON", id="a number that takes long to read"),
    ],
)
def test_what_is_no_session_report_is_a_problem(run, text, reason):
    stored(run, report__json=text, stdout__log="out")
    found = source(run).session(SESSION, 100)
    assert found.report is None
    assert reason in found.problems[0]
    assert found.logs[0].head == "out"


def test_secrets_are_taken_out_of_keys_too(run):
    stored(run, report__json=json.dumps({"nested": [{"secret-1234": 1}]}))
    assert source(run, secrets=["secret-1234"]).session(SESSION, 1_000).report == {"nested": [{"***": 1}]}


def test_secrets_of_this_process_are_taken_out_also_where_json_escapes_them(run):
    secret = 'quoted"secret-1234'
    stored(run, report__json=json.dumps({"finalOutput": f"it is {secret}"}), stdout__log=f"also {secret}")
    found = source(run, secrets=[secret]).session(SESSION, 1_000)
    assert found.report == {"finalOutput": "it is ***"}
    assert found.logs[0].head == "also ***"


def test_a_confined_run_is_reached_without_links(run, tmp_path):
    stored(run, report__json=REPORT)
    (tmp_path / "link").symlink_to(run)
    results = (tmp_path / "link/results.json").relative_to(tmp_path)
    for confined, is_found in ((True, False), (False, True)):
        root = artifact_root(results, tmp_path, confined=confined)
        assert RunArtifacts(roots=[root], redact=str).session(SESSION, 10).found is is_found
