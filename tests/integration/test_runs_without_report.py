"""Runs of the action that end without a report: what each kind of end writes to the log, the job and the pull request.

The entry point is a real process; GitHub is the fake that keeps to GitHub's own description.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import pytest

from action_step import ENTRYPOINT, FORK, finished, pull_request, started, step, variables, workflow_run
from github_replies import server_error
from github_server import READ_ONLY_TOKEN
from markdown_structure import structure
from on_github import BOT, NUMBER, SHA, github_with
from runner_parsers import command, commands, read_lines
from scratch import case, config, git_in, repository, runner, skillgym, suite, written
from waiting import until, until_written

EARLIER = "b" * 40
GREEN = f"""<!-- skillgym-action:default -->
<!-- run: 90/1 -->
<!-- skillgym-action-report: {EARLIER} -->
## ✅ All 3 results pass

✅ 3 passed

<details><summary>✅ 3 passed</summary>

- `one`

</details>
"""
MISSPELT = "runners:\n  sh:\n    agent:\n      type: comand\n"
DID_YOU_MEAN = "unknown agent 'comand'; did you mean 'command'?"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``words`` and ``remedy`` are in every place.

    ``place``: file and line of the annotation; ``creates``: a comment where there is none.
    """

    words: str
    inputs: dict[str, str] = field(default_factory=dict)
    files: dict[str, str | None] = field(default_factory=dict)
    event: tuple[str, object] | None = None
    code: int = 2
    place: tuple[str, str] | None = None
    creates: bool = True
    remedy: str = ""


KINDS = {
    "a misspelt agent in the configuration": Kind(
        files={"skillgym.config.yaml": MISSPELT}, words=DID_YOU_MEAN, place=("skillgym.config.yaml", "4")
    ),
    "a configuration in a folder of the repository": Kind(
        files={"sub/skillgym.config.yaml": MISSPELT}, inputs={"working-directory": "sub"}, words=DID_YOU_MEAN,
        place=("sub/skillgym.config.yaml", "4"),
    ),
    "a configuration that is no YAML": Kind(
        files={"skillgym.config.yaml": "runners:\n  sh: [\n"}, words="not YAML: while parsing a flow node",
        place=("skillgym.config.yaml", "3"),
    ),
    "a configuration that is no YAML, with a section for comments": Kind(
        files={"skillgym.config.yaml": "report: {status: on}\nrunners: [\n"},
        words="not YAML: while parsing a flow node",
        place=("skillgym.config.yaml", "3"), creates=False,
    ),
    "a wrong comment in the configuration": Kind(
        files={"skillgym.config.yaml": "report: {comment: sometimes}\n"}, words="report.comment",
        place=("skillgym.config.yaml", "1"), creates=False,
    ),
    "runners of the input": Kind(
        inputs={"runners": "sh: {agent: {type: comand}}"}, words="input runners:1:14: runners.sh.agent.type"
    ),
    "a wrong word in an input": Kind(inputs={"fail-on": "bogus"}, words="input fail-on: unknown word 'bogus'"),
    "an unknown input": Kind(
        inputs={"coment": "off"}, words="unknown input 'coment'", remedy="did you mean 'comment'?", creates=False
    ),
    "a wrong word for the comment": Kind(
        inputs={"comment": "bogus"}, words="input comment: unknown word 'bogus'", creates=False
    ),
    "an unknown mode": Kind(inputs={"mode": "rum"}, words="input mode: unknown word 'rum'", creates=False),
    "a working directory that is not there": Kind(
        inputs={"working-directory": "nope"}, words="input working-directory: there is no folder nope", creates=False
    ),

    "a refused event": Kind(
        event=("pull_request_target", pull_request(FORK)), words="agents would follow untrusted text",
        remedy="allow-untrusted: true",
    ),
    "results that are not there": Kind(inputs={"mode": "report", "results": "nowhere"}, words="nowhere"),
    "no baseline": Kind(inputs={"fail-on": "regression"}, words="regression in fail-on without a baseline"),
    "a folder of templates that is not there": Kind(
        inputs={"template-dir": "nope"}, words="nope: there is no such folder of report templates"
    ),
    "a misspelt template": Kind(
        inputs={"template-dir": "mine"}, files={"mine/sumary.md.j2": "x"},
        words="no file in this folder has the name of a report template",
        remedy="rename 'sumary.md.j2' to 'summary.md.j2'",
    ),
    "suites of a base commit without git": Kind(inputs={"suites-from": "base"}, words="suites-from", creates=False),
    "a working directory outside": Kind(
        inputs={"working-directory": "../x"}, words="input working-directory", creates=False
    ),
    "a run directory that an agent destroys": Kind(
        inputs={"report-dir": "results"}, code=3, words="cannot write"
    ),
}  # fmt: skip


def the_repository(folder, kind):
    root = folder / "r"
    files = dict(kind.files)
    if kind.code == 3:
        files["skillgym.config.yaml"] = config(runner(f"rm -rf {root}/results; echo x > {root}/results"))
    return repository(root, files, git="working-directory" in kind.inputs)


def annotations(log):
    return [found for line in read_lines(log) if (found := command(line))]


def head(text):
    """What a reader sees of a comment without unfolding anything."""
    return text.partition("<details")[0]


def safe(text):
    """Raises AssertionError for a link, a mention or markup that is not the tool's own."""
    structure(text.replace("https://github.example/octo", "https://github.com/octo").replace("/runs/100", "/runs/4711"))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_an_early_end_is_written_everywhere_and_takes_the_old_verdict_away(tmp_path, kind):
    root = the_repository(tmp_path, kind)
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        found = step(root, github, {"status": "on", **kind.inputs}, event=kind.event)
        (comment,) = github.comments(NUMBER)
        assert (found.code, found.outputs) == (
            kind.code,
            {
                "verdict": "error",
                "exit-code": str(kind.code),
                "comment-id": str(comment.id),
                "comment-url": f"https://github.com/octo/skills/pull/{NUMBER}#issuecomment-{comment.id}",
            },
        )
        ((name, properties, message),) = annotations(found.log)
        assert name == "error"
        assert (properties.get("file"), properties.get("line")) == (kind.place or (None, None))
        for text in (message, found.said):
            assert kind.words in text
            assert kind.remedy in text
        for text in (found.summary, head(comment.body)):
            seen = text.replace("\u2060", "").replace("`", "").replace("&#42;", "*").replace("&#91;", "[")
            seen = seen.replace("&#93;", "]").replace("&#95;", "_")
            assert kind.words in seen
            assert kind.remedy in seen
            assert "✅" not in text
            safe(text)
        if kind.code == 2:
            assert f"<summary>Report of an earlier run, on commit {EARLIER[:12]}: ✅ All 3 results pass" in comment.body
            assert comment.body.count("- `one`") == 1
        (status, *earlier) = github.statuses(SHA)
        assert (status.state, status.context) == ("error", "skillgym-action")
        assert [one.state for one in earlier] == ([] if kind.code == 2 else ["error", "pending"])


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_comment_is_created_where_the_settings_for_it_can_be_read(tmp_path, kind):
    root = the_repository(tmp_path, kind)
    with github_with() as github:
        found = step(root, github, kind.inputs, event=kind.event)
        assert found.code == kind.code
        assert len(github.comments(NUMBER)) == kind.creates
        assert github.statuses(SHA) == ()
        assert "note:" not in found.said


# --- other exit codes -----------------------------------------------------------------------------------


def in_a_folder_that_is_gone(folder, github, **inputs):
    """A step whose working directory is removed before it starts: an error that no part of the tool expects."""
    files = folder / "files"
    gone = folder / "gone"
    gone.mkdir()
    written(files, {"event.json": json.dumps(pull_request()), "outputs": "", "summary": ""})
    env = variables(github, "pull_request", files, inputs)
    program = f"import os; os.rmdir({str(gone)!r}); os.execv({str(ENTRYPOINT)!r}, [{str(ENTRYPOINT)!r}])"
    pipe = subprocess.PIPE
    argv = (sys.executable, "-c", program)
    process = subprocess.Popen(argv, cwd=gone, env=env, stdout=pipe, stderr=pipe, text=True)
    return finished(process, files)


def test_an_internal_error_names_its_log_everywhere(tmp_path):
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        found = in_a_folder_that_is_gone(tmp_path, github, **{"comment-id": "default", "status": "on"})
        (comment,) = github.comments(NUMBER)
        assert (found.code, found.outputs["exit-code"], found.outputs["verdict"]) == (70, "70", "error")
        log = found.said.partition("internal error: please report it with ")[2].split()[0]
        assert log.endswith(".log")
        for text in (found.log, found.summary, head(comment.body), github.statuses(SHA)[0].description):
            assert "internal error: please report it with" in text.replace("\u2060", "")
        assert log in found.log
        assert "❌ Internal error" in found.summary


def waiting(folder):
    """A repository whose configuration is a program that does not end."""
    root = folder / "r"
    program = (
        f'import {{writeFileSync}} from "node:fs"; writeFileSync("{root}/begun", "x"); setTimeout(() => {{}}, 6e5);'
    )
    hanging = f"{program}\nawait new Promise(() => {{}});\nexport default {{}};\n"
    return repository(root, {"skillgym.config.yaml": None, "skillgym.config.mjs": hanging})


@pytest.mark.timed
def test_a_run_that_is_cancelled_during_its_start_says_so_everywhere(tmp_path):
    root = waiting(tmp_path)
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        process, files = started(root, github, {"status": "on"})
        until_written(root / "begun")
        process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        found = finished(process, files)
        assert time.monotonic() - began < 7.5, "GitHub kills then"
        (comment,) = github.comments(NUMBER)
        assert (found.code, found.outputs["exit-code"], found.outputs["verdict"]) == (130, "130", "error")
        assert "## ⚠️ Cancelled" in found.summary
        assert "## ⚠️ Cancelled" in head(comment.body)
        assert [(name, message) for name, _, message in annotations(found.log)] == [("error", "cancelled")]
        assert [(one.state, one.description) for one in github.statuses(SHA)] == [("error", "cancelled")]


@pytest.mark.parametrize("module", ["cli.action.inputs", "pipeline.wiring", "settings.settings"])
def test_a_signal_while_modules_are_imported_loses_neither_inputs_nor_event(tmp_path, module):
    root = repository(tmp_path / "r")
    files = tmp_path / "files"
    written(files, {"event.json": json.dumps(pull_request()), "outputs": "", "summary": ""})
    program = f"""import os, signal, sys
class Cancels:
    def find_spec(name, path=None, target=None):
        if name == "skillgym_action.{module}":
            sys.meta_path.remove(Cancels)
            os.kill(os.getpid(), signal.SIGTERM)
sys.meta_path.insert(0, Cancels)
from skillgym_action.__main__ import action
action()"""
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        env = variables(github, "pull_request", files, {"status": "on"})
        pipe = subprocess.PIPE
        argv = (sys.executable, "-c", program)
        found = finished(subprocess.Popen(argv, cwd=root, env=env, stdout=pipe, stderr=pipe, text=True), files)
        (comment,) = github.comments(NUMBER)
        assert (found.code, found.outputs["exit-code"], found.outputs["verdict"]) == (130, "130", "error")
        assert "## ⚠️ Cancelled" in found.summary
        assert "## ⚠️ Cancelled" in head(comment.body)
        assert [one.state for one in github.statuses(SHA)] == ["error"]


@pytest.mark.timed
def test_a_second_signal_only_shortens_what_is_published(tmp_path):
    root = waiting(tmp_path)
    with github_with() as github:
        github.fail(server_error(503), times=1000)
        process, files = started(root, github)
        until_written(root / "begun")
        asked = len(github.asked)
        process.send_signal(signal.SIGTERM)
        until(lambda: len(github.asked) > asked, "something that is published")
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        found = finished(process, files)
        assert time.monotonic() - began < 5
        assert (found.code, found.outputs["exit-code"]) == (130, "130")
        assert "Traceback" not in found.said


def test_a_failure_after_the_report_stands_above_the_report(tmp_path):
    root = repository(tmp_path / "r", {"taken": "a file"})
    with github_with() as github:
        found = step(root, github, {"junit-path": "taken/junit.xml", "status": "on"})
        (comment,) = github.comments(NUMBER)
        assert (found.code, found.outputs["exit-code"], found.outputs["verdict"]) == (3, "3", "inconclusive")
        assert found.outputs["passed"] == "1"
        assert head(comment.body).count("the run failed after its report") == 1
        assert "<details open><summary>Report of this run, on this commit: ✅ " in comment.body
        assert github.statuses(SHA)[0].state == "error"


def test_a_run_without_a_case_has_a_report_and_an_annotation(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        found = step(root, github, {"cases": "nosuch"})
        assert (found.code, found.outputs["exit-code"], found.outputs["verdict"]) == (2, "2", "inconclusive")
        ((name, properties, message),) = annotations(found.log)
        assert (name, properties["title"]) == (
            "error",
            "skillgym-action: Not tested: unknown case 'nosuch'; known: one",
        )
        assert "unknown case 'nosuch'; known: one" in message
        assert "nosuch" in head(github.comments(NUMBER)[0].body)


# --- one after the other ----------------------------------------------------------------------------------


def test_a_second_early_end_keeps_the_report_and_a_good_run_brings_the_comment_back(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        step(root, github)
        written(root, {"skillgym.config.yaml": MISSPELT})
        for run in ("101", "102", "103"):
            assert step(root, github, GITHUB_RUN_ID=run).code == 2
            (comment,) = github.comments(NUMBER)
            assert comment.body.count("## ✅ ") == 1
            assert comment.body.count("<details><summary>Report of an earlier run") == 1
            assert comment.body.count(DID_YOU_MEAN) == 1
        repository(root)
        step(root, github, GITHUB_RUN_ID="104")
        (after,) = github.comments(NUMBER)
        assert after.id == comment.id
        assert "## ✅ " in head(after.body)
        assert "earlier run" not in after.body


def test_an_early_end_does_not_write_over_the_comment_of_a_later_run(tmp_path):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": MISSPELT})
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN.replace("90/1", "900/1"))
        step(root, github)
        assert [comment.body for comment in github.comments(NUMBER)] == [GREEN.replace("90/1", "900/1")]


def test_a_report_that_leaves_no_room_is_named(tmp_path):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": MISSPELT})
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN + "x" * 64_900)
        assert step(root, github).code == 2
        (comment,) = github.comments(NUMBER)
        assert len(comment.body) < 2_000
        assert f"Report of an earlier run, on commit {EARLIER[:12]}: ✅ All 3 results pass" in comment.body


COMPUTED = 'export default {report: {commentId: "night" + "ly"}};'


# --- settings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inputs", "files", "marker"),
    [
        pytest.param({"comment-id": "nightly"}, {}, "nightly", id="of the input"),
        pytest.param(
            {}, {"skillgym.config.yaml": "report: {commentId: nightly}\nx: 1\n"}, "nightly", id="of a wrong file"
        ),
        pytest.param({}, {"skillgym.config.yaml": "report: {commentId: nightly}\nx: [\n"}, None, id="of a broken file"),
        pytest.param(
            {}, {"skillgym.config.yaml": None, "skillgym.config.mjs": COMPUTED}, "nightly", id="of a program that ran",
        ),
        pytest.param(
            {}, {"skillgym.config.yaml": None, "skillgym.config.mjs": 'throw new Error({commentId: "nightly"});'},
            None, id="of a program that failed",
        ),
    ],
)  # fmt: skip
def test_the_comment_is_the_one_of_the_comment_id_as_far_as_it_can_be_known(tmp_path, inputs, files, marker):
    root = repository(tmp_path / "r", files)
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        assert step(root, github, {"fail-on": "regression", **inputs}).code == 2
        default, *others = github.comments(NUMBER)
        assert default.body == GREEN
        assert [one.body.startswith(f"<!-- skillgym-action:{marker} -->") for one in others] == [True] * bool(marker)


def test_what_is_switched_off_is_not_written(tmp_path):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": MISSPELT})
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        found = step(root, github, {"comment": "Off", "summary": "FALSE", "annotations": "false"})
        assert (found.code, found.log, found.summary) == (2, "", "")
        assert DID_YOU_MEAN in found.said
        assert [comment.body for comment in github.comments(NUMBER)] == [GREEN]


def test_mode_run_publishes_nothing(tmp_path):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": MISSPELT})
    with github_with() as github:
        found = step(root, github, {"mode": "Run"})
        assert (found.code, found.outputs, github.requests) == (2, {"verdict": "error", "exit-code": "2"}, ())
        assert DID_YOU_MEAN in found.summary


def test_under_workflow_run_the_status_is_set_without_being_asked_for(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        inputs = {"mode": "report", "results": "nowhere"}
        assert step(root, github, inputs, event=("workflow_run", workflow_run())).code == 2
        assert [status.state for status in github.statuses(SHA)] == ["error"]
        assert len(github.comments(NUMBER)) == 1


def test_without_an_event_that_can_be_read_the_job_has_it(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        found = step(root, github, event=("pull_request", {"pull_request": "x"}))
        assert (found.code, github.requests) == (2, ())
        assert "event.json" in found.summary
        assert found.outputs == {"verdict": "error", "exit-code": "2"}


@pytest.mark.parametrize(
    ("token", "fault", "words"),
    [
        pytest.param(READ_ONLY_TOKEN, None, "pull-requests: write", id="a token that can only read"),
        pytest.param("", None, "github-token is empty", id="no token"),
        pytest.param(None, server_error(502), "502", id="GitHub is down"),
    ],
)
def test_trouble_with_github_is_a_note_and_changes_no_exit_code(tmp_path, token, fault, words):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": MISSPELT})
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        if fault:
            github.fail(fault, times=1000)
        found = step(root, github, {} if token is None else {"github-token": token})
        assert (found.code, found.outputs["exit-code"]) == (2, "2")
        assert words in found.summary
        assert "note: " in found.said
        assert "::notice title=skillgym-action::" in found.log


def test_a_pull_request_that_the_payload_does_not_name_is_a_note(tmp_path):
    with github_with() as github:
        found = step(repository(tmp_path / "r"), github, event=("pull_request", {}))
        assert found.code == 0
        for text in (found.said, found.log, found.summary):
            assert "nothing is written on a pull request" in text.replace("\u2060", "")
        assert github.comments(NUMBER) == ()


def test_an_empty_token_is_reported_before_and_after_a_good_run(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        found = step(root, github, {"github-token": ""})
        assert (found.code, github.requests) == (0, ())
        assert found.said.index("github-token is empty") < found.said.index("1/1")
        assert (
            "::notice title=skillgym-action::nothing is written on GitHub: the input github-token is empty" in found.log
        )
        assert "github-token is empty" in found.summary
        silent = step(root, github, {"github-token": "", "comment": "off"})
        assert "github-token" not in silent.said + silent.log + silent.summary


# --- hostile text -------------------------------------------------------------------------------------------

HOSTILE = (
    "x\n::error::pwned\r##[add-mask]y \x1b[31m @octocat #7 [a](http://evil.example) <img src=x> <!-- run: 9/9 --> `"
)


@pytest.mark.parametrize(
    ("inputs", "files"),
    [
        pytest.param(
            {}, {"skillgym.config.yaml": json.dumps({"runners": {"sh": {"agent": {"type": HOSTILE}}}})}, id="value"
        ),
        pytest.param({}, {"skillgym.config.yaml": json.dumps({HOSTILE: 1})}, id="key"),
        pytest.param({"template-dir": HOSTILE.replace("\n", " ")}, {}, id="folder"),
        pytest.param({"mode": HOSTILE}, {}, id="input"),
        pytest.param({"suites": HOSTILE.replace("\n", " ")}, {}, id="path"),
    ],
)  # fmt: skip
def test_hostile_text_in_a_message_is_harmless_in_every_place(tmp_path, inputs, files):
    root = repository(tmp_path / "r", files)
    with github_with() as github:
        github.add_comment(NUMBER, BOT, GREEN)
        found = step(root, github, {"status": "on", **inputs})
        (comment,) = github.comments(NUMBER)
        (status,) = github.statuses(SHA)
    assert found.code == 2
    assert commands(found.said) == []
    assert set(commands(found.log)) == {"error"}
    assert len(annotations(found.log)) == 1
    for text in (found.said, found.log, status.description):
        assert not set(text) & {"\x1b", "\r"}
    body = comment.body
    for text in (found.summary, body):
        links = text.replace("https://github.example/octo", "https://github.com/octo").replace(
            "/runs/100", "/runs/4711"
        )
        structure(links)
    assert body.startswith("<!-- skillgym-action:default -->\n<!-- run: 100/1 -->\n## ❌")
    assert body.count("<!-- run:") == 1


def test_a_secret_in_a_message_is_redacted_in_every_place(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        found = step(root, github, {"template-dir": "s3cret-value-x", "status": "on"}, MY_API_KEY="s3cret-value-x")
        (comment,) = github.comments(NUMBER)
        assert found.code == 2
        described = github.statuses(SHA)[0].description
        assert "s3cret" not in f"{found.said}{found.log}{found.summary}{comment.body}{described}"
        assert "***" in found.said


# --- the command check ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "args", "expected"),
    [
        pytest.param(
            {"skillgym.config.yaml": MISSPELT}, (),
            [("error", "skillgym.config.yaml", "4")], id="the configuration",
        ),
        pytest.param(
            {"bench/core.json": suite(case(expect=("fil:out.txt exists",)))}, (),
            [("error", "bench/core.json", "1")], id="a suite",
        ),
        pytest.param({"more.json": suite()}, (), [("warning", "more.json", None)], id="a near miss"),
        pytest.param({}, ("--format", "x"), [("error", None, None)], id="an option"),
        pytest.param({}, ("--nosuch",), [("error", None, None)], id="an unknown option"),
    ],
)  # fmt: skip
def test_check_annotates_in_a_job_and_nowhere_else(tmp_path, files, args, expected):
    root = repository(tmp_path / "r", files)
    found = annotations(skillgym("check", *args, cwd=root, GITHUB_ACTIONS="true").out)
    assert [(name, properties.get("file"), properties.get("line")) for name, properties, _ in found] == expected
    assert annotations(skillgym("check", *args, cwd=root).out) == []


def test_annotations_of_check_in_a_folder_name_files_from_the_root(tmp_path):
    root = repository(tmp_path / "r", {"sub/skillgym.config.yaml": MISSPELT})
    git_in(root, "init", "--quiet")
    (found,) = annotations(skillgym("check", cwd=root / "sub", GITHUB_ACTIONS="true").out)
    assert found[1]["file"] == "sub/skillgym.config.yaml"


# --- words ------------------------------------------------------------------------------------------------------


def test_words_of_inputs_are_free_of_case(tmp_path):
    root = repository(tmp_path / "r")
    with github_with() as github:
        inputs = {"mode": "ALL", "comment": "OFF", "status": "On", "fail-on": "Failed, ERRORED", "schedule": "Serial"}
        more = {"keep": "None", "require": "ANY", "on-limit": "Errored", "comment-when": "Always"}
        found = step(root, github, {**inputs, **more})
        assert found.code == 0, found.said
        assert github.comments(NUMBER) == ()
        assert [status.state for status in github.statuses(SHA)] == ["success", "pending"]
