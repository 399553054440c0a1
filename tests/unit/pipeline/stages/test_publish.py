"""Publishing: reports to files, numbers to step outputs; one failed write does not prevent the others."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders import run_report
from github_server import READ_ONLY_TOKEN
from on_github import NUMBER, api_of, event_of, github_with
from runner_env_files import entries
from runner_parsers import commands
from scratch import Watched, written
from skillgym_action.github.options import PublisherOptions
from skillgym_action.github.publisher import Publisher
from skillgym_action.model.errors import OutputError
from skillgym_action.pipeline.stages.publish import action_outputs, publish
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.settings.slices import PublishOptions
from skillgym_action.text.redaction import Redactor
from users_templates import rendered_elsewhere

REPORT = run_report("""
    suite bench/core.json
    edit passed $0.20 12s 900t
    fix failed $0.30 1s 100t: expected a file
    old skipped
""")


@pytest.fixture
def directory(tmp_path):
    with RunDirectory(tmp_path / "out", Redactor(["s3cret-value"])) as opened:
        yield opened


def test_outputs_are_numbers_words_and_paths(directory, tmp_path):
    found = action_outputs(REPORT, directory, PublishOptions(workspace=tmp_path))
    assert found == {
        "verdict": "failed",
        "exit-code": "1",
        "executions": "3",
        "passed": "1",
        "failed": "1",
        "expected-failed": "0",
        "unexpected-passed": "0",
        "errored": "0",
        "skipped": "1",
        "pass-rate": "0.5000",
        "flaky": "0",
        "comparison": "",
        "regression-check": "",
        "cost-usd": "0.500000",
        "tokens": "1000",
        "duration-seconds": "60.000",
        "report-dir": "out",
        "html-path": "out/report.html",
        "junit-path": "out/junit.xml",
        "results-path": "out/results.json",
        "store-path": "",
        "summary-path": "out/summary.md",
    }


def test_unknown_outputs_are_empty_and_not_zero(directory, tmp_path):
    report = run_report("one errored timeout $?")
    report = replace(report, results=tuple(replace(one, usage=type(one.usage)()) for one in report.results))
    found = action_outputs(report, directory, PublishOptions(workspace=tmp_path))
    assert {name: found[name] for name in ("pass-rate", "cost-usd", "tokens")} == {
        "pass-rate": "",
        "cost-usd": "",
        "tokens": "",
    }


def test_the_output_of_a_report_at_another_path_is_that_path(directory, tmp_path):
    options = PublishOptions(reports=(("junit", tmp_path / "deep/j.xml"),), workspace=tmp_path)
    publish(directory, REPORT, options, Watched())
    assert action_outputs(REPORT, directory, options)["junit-path"] == "deep/j.xml"
    assert (tmp_path / "deep/j.xml").read_text() == (tmp_path / "out/junit.xml").read_text()


def test_github_gets_outputs_summary_and_annotations(directory, tmp_path):
    written(tmp_path, {"outputs": "", "summary": "before\n"})
    watched = Watched()
    options = PublishOptions(
        annotations=True, step_summary=tmp_path / "summary", step_outputs=tmp_path / "outputs", workspace=tmp_path
    )
    publish(directory, REPORT, options, watched)
    assert dict(entries((tmp_path / "outputs").read_text()))["verdict"] == "failed"
    assert (tmp_path / "summary").read_text() == "before\n" + (tmp_path / "out/summary.md").read_text()
    assert watched.said[0].startswith("::error ")


def test_no_report_contains_a_secret(directory, tmp_path):
    written(tmp_path, {"summary": ""})
    watched = Watched()
    options = PublishOptions(annotations=True, step_summary=tmp_path / "summary", workspace=tmp_path)
    publish(directory, run_report("fix failed: it says s3cret-value"), options, watched)
    texts = [path.read_text() for path in (*directory.path.iterdir(), tmp_path / "summary")] + watched.said
    assert [text for text in texts if "s3cret-value" in text] == []
    assert any("it says" in text for text in texts)


@pytest.mark.parametrize("place", ["step_summary", "step_outputs"])
def test_an_unwritable_step_file_does_not_prevent_other_reports(directory, tmp_path, place):
    other = {"step_summary": "step_outputs", "step_outputs": "step_summary"}[place]
    written(tmp_path, {"file": "", "there": ""})
    options = PublishOptions(**{place: tmp_path / "file/x", other: tmp_path / "there"}, workspace=tmp_path)
    with pytest.raises(OutputError) as caught:
        publish(directory, REPORT, options, Watched())
    assert str(caught.value) == f"cannot write {tmp_path}/file/x: Not a directory"
    assert (tmp_path / "out/junit.xml").exists()
    assert (tmp_path / "there").read_text()


def test_every_report_that_cannot_be_written_is_reported(directory, tmp_path):
    written(tmp_path, {"file": ""})
    reports = (("junit", tmp_path / "file/a"), ("x-bench", tmp_path / "b.json"), ("comment", tmp_path / "file/c"))
    with pytest.raises(OutputError) as caught:
        publish(directory, REPORT, PublishOptions(reports=reports, workspace=tmp_path), Watched())
    assert [f"{tmp_path}/file/{name}" in str(caught.value) for name in "abc"] == [True, False, True]
    assert (tmp_path / "b.json").exists()


# --- a report on standard output --------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["results", "junit", "summary", "x-bench", "ctrf", "agentv"])
def test_a_printed_report_is_that_of_the_file_without_secrets(directory, tmp_path, kind):
    watched = Watched()
    report = run_report("fix failed: it says s3cret-value")
    publish(directory, report, PublishOptions(reports=((kind, tmp_path / "file"),), printed=kind), watched)
    assert "".join(f"{line}\n" for line in watched.said).rstrip("\n") == (tmp_path / "file").read_text().rstrip("\n")
    assert "s3cret-value" not in "".join(watched.said)


def test_a_printed_report_has_no_workflow_command(directory):
    report = run_report("fix failed: x")
    evil = "first\n::stop-commands::x\n##[group]y"
    results = (replace(report.results[0], prompt=evil, final_output=evil),)
    for kind in ("results", "junit", "summary", "comment", "ctrf"):
        watched = Watched()
        publish(directory, replace(report, results=results), PublishOptions(printed=kind), watched)
        printed = "\n".join(watched.said)
        assert "fix" in printed
        assert commands(printed) == []


class Closed(Watched):
    """The reader of standard output has exited."""

    def write_line(self, line: str) -> None:  # noqa: ARG002
        raise BrokenPipeError


def test_a_reader_that_has_exited_prevents_no_report(directory, tmp_path):
    options = PublishOptions(reports=(("junit", tmp_path / "j.xml"),), printed="results")
    assert publish(directory, REPORT, options, Closed()) is REPORT
    assert (tmp_path / "j.xml").exists()


# --- report templates of the user's, and the pull request -------------------------------------------


def test_an_invalid_report_template_is_a_note_and_the_packaged_one_is_used(directory, tmp_path):
    written(tmp_path, {"mine/summary.md.j2": "{{ view.nothing }}", "summary": ""})
    watched = Watched()
    with rendered_elsewhere(tmp_path / "mine") as templates:
        options = PublishOptions(
            annotations=True, step_summary=tmp_path / "summary", workspace=tmp_path, templates=templates
        )
        publish(directory, REPORT, options, watched)
    summary = (tmp_path / "summary").read_text()
    assert "❌ 1 of 3 results passes, 1 fails for 1 reason" in summary
    assert "summary.md.j2" in summary.splitlines()[-2]
    assert [line for line in watched.lines if "summary.md.j2" in line] == watched.lines != []
    assert [line.startswith("::notice title=skillgym-action::") for line in watched.said][-1]


def test_the_comment_is_published_and_its_address_is_an_output(directory, tmp_path):
    written(tmp_path, {"outputs": ""})
    options = PublishOptions(step_outputs=tmp_path / "outputs", workspace=tmp_path)
    with github_with() as github, api_of(github) as api:
        watched = Watched()
        talk = Publisher(api, event_of(github), PublisherOptions(), directory.redactor, watched.progress)
        publish(directory, REPORT, options, watched, talk)
        (comment,) = github.comments(NUMBER)
    found = dict(entries((tmp_path / "outputs").read_text()))
    assert found["comment-id"] == str(comment.id)
    assert found["comment-url"].endswith(f"/octo/skills/pull/7#issuecomment-{comment.id}")


def test_a_refusal_by_github_is_in_the_summary_with_the_remedy(directory, tmp_path):
    written(tmp_path, {"outputs": "", "summary": ""})
    options = PublishOptions(step_outputs=tmp_path / "outputs", step_summary=tmp_path / "summary", workspace=tmp_path)
    with github_with() as github, api_of(github, READ_ONLY_TOKEN) as api:
        watched = Watched()
        talk = Publisher(api, event_of(github), PublisherOptions(), directory.redactor, watched.progress)
        publish(directory, REPORT, options, watched, talk)
        assert github.comments(NUMBER) == ()
    summary = (tmp_path / "summary").read_text()
    assert summary.endswith("```yaml\npermissions:\n  contents: read\n  pull-requests: write\n```\n")
    assert "Resource not accessible by integration" in summary
    found = dict(entries((tmp_path / "outputs").read_text()))
    assert (found["verdict"], found["comment-id"], found["comment-url"]) == ("failed", "", "")
