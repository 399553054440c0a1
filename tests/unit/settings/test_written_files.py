"""Reports that are written to files: their kinds, and the paths that they must not have."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from builders import run_report
from scratch import config, runner, written
from skillgym_action.cli.action.inputs import settings_of
from skillgym_action.model.errors import UsageError
from skillgym_action.settings import resolve
from skillgym_action.settings.configuration_file import read_config
from skillgym_action.settings.context import current_context
from skillgym_action.settings.settings import Settings
from skillgym_action.settings.slices import kind_for
from skillgym_action.settings.written_files import refuse_overwriting

FILES = {
    "skillgym.config.json": config(runner(), run={"baseline": "kept.json"}),
    "skillgym.quarantine.yaml": "quarantine: []\n",
    "plan.json": "{}",
    "b.json": "{}",
    "kept.json": "{}",
    "stored.json": "{}",
    "R/journal.jsonl": "",
    "R/results.json": "{}",
    "base/results.json": "{}",
}


def refusal(folder, stored=(), **settings) -> str:
    """Why the options cannot be used; "": they can."""
    context = current_context(written(folder, FILES), {})
    found = read_config(folder / "skillgym.config.json", "skillgym.config.json")
    try:
        resolve.options(Settings(**settings), found, context, runners=0, stored=[folder / name for name in stored])
    except UsageError as error:
        return str(error)
    return ""


READ = {
    "the configuration": ({"output": "skillgym.config.json"}, "the configuration file skillgym.config.json"),
    "the quarantine": ({"report": ["html=skillgym.quarantine.yaml"]}, "the quarantine file skillgym.quarantine.y"),
    "a baseline": ({"output": "b.json", "baseline": "b.json"}, "the baseline b.json"),
    "a run as baseline": ({"report": ["ctrf=base/results.json"], "baseline": "./base"}, "base/results.json"),
    "a configured baseline": ({"output": "kept.json"}, "the baseline kept.json"),
    "a plan": ({"report": ["ctrf=plan.json"], "plan": "plan.json"}, "the plan plan.json"),
    "a stored run": ({"output": "stored.json", "stored": ["stored.json"]}, "the results file stored.json"),
    "a resumed run": ({"output": "R/results.json", "resume": "R"}, "a file of the run directory R"),
    "a journal": ({"report": ["results=R/journal.jsonl"]}, "a file of the run directory R"),
    "another run": ({"report": ["results=R/results.json"]}, "a file of the run directory R"),
    "this run": ({"output": "new", "report": ["ctrf=new/results.json"]}, "a file of the run directory new"),
    "another report": ({"output": "a.json", "report": ["results=./a.json"]}, "--output a.json are the same file"),
}


@pytest.mark.parametrize(("settings", "message"), READ.values(), ids=READ)
def test_a_report_replaces_nothing_that_the_command_reads(tmp_path, settings, message):
    said = refusal(tmp_path, **settings)
    assert message in said
    assert "name another file" in said


@pytest.mark.parametrize(
    "settings",
    [
        {"output": "new.json", "baseline": "b.json"},
        {"output": "new", "report": ["junit=new/junit.xml", "results=new/results.json"]},
        {"report": ["html=R/report.html"]},
        {"report": ["ctrf=R/ctrf.json"], "resume": "R"},
        {"report": ["junit=a.xml", "junit=a.xml"]},
    ],
)
def test_other_paths_are_free(tmp_path, settings):
    assert refusal(tmp_path, **settings) == ""


def test_a_link_is_the_file_that_it_leads_to_and_a_hard_link_is_not(tmp_path):
    read = tmp_path / "core.json"
    read.touch()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(UsageError, match=r"--output link/core\.json is the suite core\.json"):
        refuse_overwriting([("output", tmp_path / "link/core.json")], [("the suite", read)], tmp_path)
    os.link(read, tmp_path / "copy.json")
    refuse_overwriting([("output", tmp_path / "copy.json")], [("the suite", read)], tmp_path)


def test_results_of_x_bench_suites_alone_have_the_form_of_x_bench():
    report = run_report("suite a/x.json\none passed\nsuite a/y.json\none passed")
    first, second = (replace(suite, format="x-bench") for suite in report.suites)
    assert kind_for(replace(report, suites=(first, second)), "output") == "x-bench"
    assert kind_for(replace(report, suites=(first, replace(second, format="python"))), "output") == "results"
    assert kind_for(replace(report, suites=(first,)), "junit") == "junit"


@pytest.mark.parametrize("container", [True, False])
def test_the_input_report_dir_is_a_folder(container):
    assert settings_of({"report-dir": "m.json/"}, container=container).output == "m.json/"
    with pytest.raises(UsageError, match=r"input report-dir: x\.json is the name of a file"):
        settings_of({"report-dir": "x.json"}, container=container)
