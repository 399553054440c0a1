"""Settings of a run that ended early, each read on its own; and what is written with them."""

from __future__ import annotations

import pytest

from runner_env_files import entries
from scratch import written
from skillgym_action.cli.action.run_without_report import early_settings, publish_run_without_report
from skillgym_action.model.errors import Problem
from skillgym_action.model.report import RunWithoutReport
from skillgym_action.settings.configuration import ReportSection

SECTION = ReportSection.model_validate({"comment": "recreate", "commentId": "nightly", "status": "on"})


def settings(*sections, **inputs):
    environment = {f"INPUT_{name.upper().replace('_', '-')}": value for name, value in inputs.items()}
    return early_settings(environment, sections)


def test_without_any_setting_the_defaults_of_the_action_hold():
    found = settings()
    assert (found.annotations, found.publishes, found.creates, found.summary) == (True, True, True, None)
    assert (found.options.comment, found.options.comment_id, found.options.status) == ("update", "default", "auto")


def test_an_input_wins_over_the_configuration():
    options = settings(SECTION).options
    assert (options.comment, options.comment_id, options.status) == ("recreate", "nightly", "on")
    options = settings(SECTION, comment="NEW", comment_id="a", status="Off").options
    assert (options.comment, options.comment_id, options.status) == ("new", "a", "off")


@pytest.mark.parametrize(
    "inputs", [{"comment": "x"}, {"coment": "off"}, {"mode": "x"}, {"status": "x"}, {"comment_when": "x"}]
)
def test_settings_that_cannot_be_read_create_no_comment(inputs):
    assert not settings(SECTION, **inputs).creates


@pytest.mark.parametrize("cancelled", [False, True])
def test_what_the_job_keeps_is_written_without_a_pull_request(tmp_path, monkeypatch, capsys, cancelled):
    files = written(tmp_path, {"summary": "before\n", "outputs": ""})
    monkeypatch.chdir(tmp_path)
    environment = {"GITHUB_STEP_SUMMARY": str(files / "summary"), "GITHUB_OUTPUT": str(files / "outputs")}
    end = RunWithoutReport(exit_code=130 if cancelled else 2, problems=(Problem(message="odd", remedy="mend it"),))
    publish_run_without_report(end, environment, ())
    assert dict(entries((files / "outputs").read_text())) == {"exit-code": str(end.exit_code), "verdict": "error"}
    assert (files / "summary").read_text().startswith("before\n## ")
    assert capsys.readouterr().out == "::error title=skillgym-action::odd; mend it\n"


def test_a_file_that_cannot_be_written_is_a_note_and_the_others_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(written(tmp_path, {"outputs": ""}))
    environment = {"GITHUB_STEP_SUMMARY": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "outputs")}
    publish_run_without_report(RunWithoutReport(exit_code=2, problems=(Problem(message="odd"),)), environment, ())
    assert "verdict" in (tmp_path / "outputs").read_text()
    said = capsys.readouterr()
    assert said.err == "note: cannot write the job summary: Is a directory\n"
    assert "::notice title=skillgym-action::cannot write the job summary" in said.out
