"""``view``, and what turns the HTML report on and off."""

from __future__ import annotations

import os
import shutil

import pytest

from scratch import case, repository, skillgym, suite


@pytest.fixture
def ran(tmp_path):
    root = repository(tmp_path / "repo", {"bench/core.json": suite(case("one"), case("two", ("file:gone exists",)))})
    for name in ("first", "second"):
        assert skillgym("run", "--output", f".skillgym-results/{name}", cwd=root).code == 1
    return root


def test_the_last_run_is_written_anew_and_its_path_is_printed(ran):
    runs = ran / ".skillgym-results"
    os.utime(runs / "first/results.json", (1, 1))
    (runs / "second/report.html").write_text("<script>what somebody else wrote</script>")
    shown = skillgym("view", cwd=ran)
    assert (shown.code, shown.out) == (0, ".skillgym-results/second/report.html\n")
    assert "no browser was found" in shown.err
    page = (runs / "second/report.html").read_text()
    assert "somebody else" not in page
    assert "gone does not exist" in page
    assert '"found":true' in page
    assert sorted(path.name for path in (runs / "second").iterdir() if path.name.startswith("report")) == [
        "report.html"
    ]


def test_a_named_run_is_opened_and_compared(ran):
    opened = ran / "opened"
    browser = ran / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    args = ("view", ".skillgym-results/second", "--baseline", ".skillgym-results/first")
    assert skillgym(*args, cwd=ran, BROWSER=str(browser)).out == ".skillgym-results/second/report.html\n"
    assert "Since the baseline" in (ran / ".skillgym-results/second/report.html").read_text()
    shown = skillgym(*args, "--no-open", cwd=ran, BROWSER=str(browser))
    assert shown.err == ""


def test_the_report_is_written_through_no_link(ran):
    target = ran / "kept.html"
    target.write_text("mine")
    (ran / ".skillgym-results/second/report.html").unlink()
    (ran / ".skillgym-results/second/report.html").symlink_to(target)
    shown = skillgym("view", ".skillgym-results/second", cwd=ran)
    assert (shown.code, target.read_text()) == (2, "mine"), shown.err
    assert "the HTML report" in shown.err


def test_no_run_is_an_error(tmp_path):
    shown = skillgym("view", cwd=tmp_path)
    assert (shown.code, shown.err) == (2, "error: there is no run in .skillgym-results; name a run directory\n")
    assert skillgym("view", "gone", cwd=tmp_path).code == 2


def test_a_run_that_was_killed_is_said_to_be_unfinished_by_every_command(ran):
    killed, other = ran / "killed", ".skillgym-results/first"
    shutil.copytree(ran / other, killed)
    (killed / "results.json").unlink()
    message = "error: killed: the run did not finish: it has no results.json; continue it with --resume\n"
    for args in (("view",), ("rejudge",), ("report",), ("report", other), ("compare", other)):
        shown = skillgym(*args, "killed", cwd=ran)
        assert (args, shown.code, shown.err) == (args, 2, message)
    assert skillgym("compare", "killed", other, cwd=ran).err == message
    assert skillgym("run", "--resume", "killed", cwd=ran).code == 1
    assert skillgym("rejudge", "killed", cwd=ran).code == 1


def test_the_report_can_be_turned_off_and_copied(tmp_path):
    root = repository(tmp_path / "repo")
    skillgym("run", "--output", "out", "--no-html", "--report", "html=copy.html", cwd=root)
    assert not (root / "out/report.html").exists()
    assert "<!doctype html>" in (root / "copy.html").read_text()


def test_a_merged_report_has_the_sessions_of_its_runs_where_they_are(ran):
    done = skillgym("report", ".skillgym-results/second", "--output", "merged", cwd=ran)
    assert done.code == 1, done.err
    assert '"found":true' in (ran / "merged/report.html").read_text()
    (ran / "alone.json").write_bytes((ran / ".skillgym-results/second/results.json").read_bytes())
    assert skillgym("report", "alone.json", "--output", "alone", cwd=ran).code == 1
    assert '"found":false' in (ran / "alone/report.html").read_text()
