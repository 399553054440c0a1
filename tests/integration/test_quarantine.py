"""``skillgym.quarantine.yaml`` in whole runs: what every report says of it, and who cannot use it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import pytest

from scratch import case, config, repository, runner, skillgym, suite, written

SOON = (datetime.now(UTC) + timedelta(days=30)).date().isoformat()
HOSTILE = "</details><img src=x onerror=alert(1)> @everyone \u001b[31m ::error::x"
SUITE = suite(case("good"), case("bad", ("file:none.txt exists",)))


def quarantine(*entries: dict[str, str]) -> str:
    return json.dumps(
        {"quarantine": [{"reason": "slow service", "owner": "ada", "expires": SOON} | one for one in entries]}
    )


def project(folder, *entries: dict[str, str], **more: str):
    files = {"bench/core.json": SUITE, "skillgym.quarantine.yaml": quarantine(*entries)} | more
    return repository(folder, files, git=True)


def results(folder, name: str = "out"):
    return json.loads((folder / name / "results.json").read_text())


def test_a_case_in_quarantine_runs_is_reported_everywhere_and_decides_nothing(tmp_path):
    project(tmp_path, {"case": "bad", "issue": "https://github.com/o/r/issues/7"})
    reports = ("--report", "junit=j.xml", "--report", "ctrf=c.json", "--report", "html=r.html")
    ran = skillgym("run", "--output", "out", "--repeat", "2", *reports, cwd=tmp_path)
    assert ran.code == 0, ran.err
    why = f"until {SOON}, owner ada: slow service, https://github.com/o/r/issues/7"
    assert f"quarantine bad [sh] failed, 0 of 2 attempts passed; {why}" in ran.err
    assert "1 in quarantine" in ran.err
    stored = results(tmp_path)
    (row,) = stored["suites"][0]["quarantined"]
    assert (row["caseId"], row["status"], len(row["attempts"])) == ("bad", "failed", 2)
    issue = "https://github.com/o/r/issues/7"
    assert row["quarantine"] == {"reason": "slow service", "owner": "ada", "expires": SOON, "issue": issue}
    assert (stored["totals"]["executions"], stored["totals"]["passRate"]) == (1, 1.0)
    junit = ET.parse(tmp_path / "j.xml").getroot()
    (skipped,) = junit.iter("skipped")
    assert (junit.get("failures"), junit.get("tests"), skipped.get("type")) == ("0", "2", "skillgym.quarantined")
    assert skipped.get("message") == f"in quarantine {why}; failed: none.txt does not exist"
    counts = json.loads((tmp_path / "c.json").read_text())["results"]["summary"]
    assert (counts["tests"], counts["passed"], counts["failed"], counts["other"]) == (2, 1, 0, 1)
    for name in ("summary.md", "comment.md"):
        text = (tmp_path / "out" / name).read_text()
        assert "1 execution in quarantine" in text
        assert "[issue](https://github.com/o/r/issues/7)" in text
    page = (tmp_path / "r.html").read_text()
    assert 'id="quarantined"' in page
    assert "none.txt does not exist" in page  # on the page of the execution


def test_without_its_entry_the_same_run_is_red(tmp_path):
    project(tmp_path, {"case": "other"})
    ran = skillgym("run", "--output", "out", cwd=tmp_path)
    assert ran.code == 1, ran.err
    assert "skillgym.quarantine.yaml:1:17: quarantine[0]: matches no case: other" in ran.err


def test_mistakes_are_warnings_of_check_and_an_error_if_the_user_says_so(tmp_path):
    project(tmp_path, {"case": "bad", "expires": "2020-01-01"})
    ran = skillgym("check", cwd=tmp_path)
    assert (ran.code, "quarantine[0]: expired" in ran.err) == (0, True), ran.err
    good = skillgym("run", "--case", "good", cwd=tmp_path)
    strict = skillgym("run", "--case", "good", "--fail-on", "warnings", cwd=tmp_path)
    assert (good.code, strict.code) == (0, 1), strict.err


@pytest.mark.parametrize("selection", [["--format", "x-bench"], ["bench/core.json"]])
def test_an_entry_for_a_suite_that_is_not_selected_is_no_mistake(tmp_path, selection):
    files = {"evals/EVAL.yaml": "tests: [{id: other, input: x, assertions: [{type: contains, value: a}]}]\n"}
    project(tmp_path, {"case": "other"}, {"case": "bad"}, **files)
    for command in ("check", "run"):
        ran = skillgym(command, *selection, cwd=tmp_path)
        assert (ran.code, "matches no case" in ran.err) == (0, False), ran.err
    written(tmp_path, {"skillgym.quarantine.yaml": quarantine({"case": "nobody"})})
    assert "quarantine[0]: matches no case: nobody" in skillgym("check", cwd=tmp_path).err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("quarantine: [", "skillgym.quarantine.yaml:1:", id="no YAML"),
        pytest.param("", "has no list of entries", id="empty"),
        pytest.param(quarantine({"case": "bad", "expires": "1796083200"}), "must be a day such as", id="seconds"),
        pytest.param("\x00", "skillgym.quarantine.yaml", id="binary"),
    ],
)
def test_a_file_that_cannot_be_read_quarantines_nothing(tmp_path, content, message):
    project(tmp_path, **{"skillgym.quarantine.yaml": content})
    ran = skillgym("run", cwd=tmp_path)
    assert (ran.code, message in ran.err, "Traceback" in ran.err) == (1, True, False), ran.err


@pytest.mark.parametrize("ending", ["yml", "json", "jsonc", "toml"])
def test_a_file_with_another_ending_is_a_warning_wherever_suites_are_looked_for(tmp_path, ending):
    name = f"skillgym.quarantine.{ending}"
    project(tmp_path, **{name: quarantine({"case": "bad"})})
    warned = f"{name}: is not read; rename it to skillgym.quarantine.yaml\n"
    for command in (("run",), ("run", "bench/core.json"), ("check",), ("check", "bench"), ("list",)):
        ran = skillgym(*command, cwd=tmp_path)
        assert (ran.code, ran.err.count(warned)) == (int(command[0] == "run"), 1), ran.err
    assert skillgym("run", "--case", "good", "--fail-on", "warnings", cwd=tmp_path).code == 1


def test_a_file_in_another_folder_is_a_warning_unless_it_is_excluded(tmp_path):
    folders = ("bench", "vendor/lib", ".venv")
    project(tmp_path, **{f"{folder}/skillgym.quarantine.yaml": quarantine({"case": "bad"}) for folder in folders})
    warned = (
        "bench/skillgym.quarantine.yaml: is not read in this folder; move its entries to skillgym.quarantine.yaml\n"
    )
    ran, checked = skillgym("run", cwd=tmp_path), skillgym("check", cwd=tmp_path)
    assert (ran.code, ran.err.count(warned)) == (1, 1), ran.err
    assert (checked.code, checked.err) == (0, f"warning: {warned}")
    excluded = skillgym("check", ".", "!bench/skillgym.quarantine.yaml", cwd=tmp_path)
    assert (excluded.code, excluded.err) == (0, "")


def test_the_quarantine_of_another_configuration_is_a_warning(tmp_path):
    files = {"bench/core.json": None, "p/bench/core.json": SUITE, "p/skillgym.config.yaml": config(runner())}
    root = repository(tmp_path, {**files, "p/skillgym.quarantine.yaml": quarantine({"case": "bad"})})
    assert skillgym("run", "p", cwd=root).code == 0
    ran = skillgym("run", "p", "--config", "skillgym.config.yaml", cwd=root)
    assert ran.code == 1
    assert "p/skillgym.quarantine.yaml: is not read in this folder; move its entries to skillgym.quarantine" in ran.err


def test_a_link_out_of_the_checkout_is_not_followed(tmp_path):
    outside = tmp_path / "outside.yaml"
    outside.write_text(quarantine({"case": "bad"}))
    root = repository(tmp_path / "r", {"bench/core.json": SUITE})
    (root / "skillgym.quarantine.yaml").symlink_to(outside)
    ran = skillgym("run", cwd=root)
    assert (ran.code, "skillgym.quarantine.yaml" in ran.err) == (1, True), ran.err


def test_hostile_texts_of_an_entry_are_escaped(tmp_path):
    project(tmp_path, {"case": "bad", "reason": HOSTILE, "owner": HOSTILE})
    ran = skillgym("run", "--output", "out", "--report", "html=r.html", cwd=tmp_path)
    assert (ran.code, "\x1b[31m" in ran.err) == (0, False), ran.err
    for name in ("out/summary.md", "out/comment.md", "r.html"):
        text = (tmp_path / name).read_text()
        assert ("<img" in text, "@everyone" in text.replace("@\u2060", "")) == (False, name == "r.html")


def test_a_failure_in_quarantine_does_not_end_the_run(tmp_path):
    files = {"bench/core.json": suite(case("bad", ("file:none.txt exists",)), case("good"))}
    project(tmp_path, {"case": "bad"}, **files)
    ran = skillgym("run", "-x", "--output", "out", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert [row["status"] for row in results(tmp_path)["suites"][0]["results"]] == ["passed"]


def test_stored_runs_keep_it_when_shards_are_merged_judged_again_and_resumed(tmp_path):
    project(tmp_path, {"case": "bad"})
    for part in ("1/2", "2/2"):
        assert skillgym("run", "--shard", part, "--output", f"part{part[0]}", cwd=tmp_path).code in (0, 3)
    ran = skillgym("report", "part1", "part2", "--output", "merged", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert [row["caseId"] for row in results(tmp_path, "merged")["suites"][0]["quarantined"]] == ["bad"]
    assert skillgym("run", "--output", "whole", cwd=tmp_path).code == 0
    again = skillgym("rejudge", "whole", "--output", "again", cwd=tmp_path)
    assert again.code == 0, again.err
    assert [row["status"] for row in results(tmp_path, "again")["suites"][0]["quarantined"]] == ["failed"]
    resumed = skillgym("run", "--resume", "whole", cwd=tmp_path)
    assert resumed.code == 0, resumed.err


def test_a_suite_of_another_folder_has_the_quarantine_of_that_folder(tmp_path):
    """A pull request cannot put into quarantine what the base's suites say about it."""
    base = repository(tmp_path / "base", {"bench/core.json": SUITE})
    head = project(tmp_path / "head", {"case": "bad"})
    ran = skillgym("run", "--suites-from", str(base), cwd=head)
    assert (ran.code, "in quarantine" in ran.err) == (1, False), ran.err


def test_the_schema_describes_the_file(tmp_path):
    printed = json.loads(skillgym("schema", "quarantine", cwd=tmp_path).out)
    entry = printed["$defs"]["EntrySection"]
    assert set(entry["required"]) == {"case", "reason", "owner", "expires"}


WRITES = "case {prompt} in *broken*) exit 3;; esac; echo ok"


def eval_suite(*tests: dict[str, object], **more: object) -> str:
    """A suite of AgentV, whose tests pass if the agent says ok."""
    return json.dumps({"tests": [{"assertions": [{"type": "contains", "value": "ok"}]} | one for one in tests]} | more)


def test_a_case_in_quarantine_does_not_end_its_suite(tmp_path):
    """What it would prevent is not red, so that a run without it would be green."""
    tests = ({"id": "bad", "input": "broken"}, {"id": "good", "input": "hello"})
    files = {
        "bench/core.json": None,
        "e/EVAL.yaml": eval_suite(*tests, execution={"fail_on_error": True}),
        "f/EVAL.yaml": eval_suite({"id": "other", "input": "hello"}),
        "skillgym.config.yaml": config(runner(WRITES)),
    }
    project(tmp_path, {"case": "bad"}, **files)
    ran = skillgym("run", "--output", "out", "--jobs", "1", cwd=tmp_path)
    assert (ran.code, "✓ All 2 results pass\n" in ran.err) == (0, True), ran.err


def test_what_depends_on_a_case_in_quarantine_is_not_silently_left_out(tmp_path):
    tests = (
        {"id": "bad", "input": "broken"},
        {"id": "next", "input": "hello", "depends_on": ["bad"]},
        {"id": "last", "input": "hello", "depends_on": ["next"]},
        {"id": "other", "input": "hello"},
    )
    files = {
        "bench/core.json": None,
        "e/EVAL.yaml": eval_suite(*tests),
        "skillgym.config.yaml": config(runner(WRITES)),
    }
    project(tmp_path, {"case": "bad"}, **files)
    ran = skillgym("run", "--output", "out", "--retry", "0", cwd=tmp_path)
    assert (ran.code, "2 skipped, since they depend on cases in quarantine" in ran.err) == (3, True), ran.err
    project(tmp_path, {"case": "bad"}, {"case": "next"}, {"case": "last"}, **files)
    ran = skillgym("run", "--retry", "0", cwd=tmp_path)
    assert (ran.code, "3 in quarantine" in ran.err) == (0, True), ran.err


def test_traces_have_the_sessions_in_quarantine(tmp_path):
    project(tmp_path, {"case": "bad"})
    ran = skillgym("run", "--output", "out", "--report", "otlp=o.json", cwd=tmp_path)
    assert ran.code == 0, ran.err
    (scope,) = json.loads((tmp_path / "o.json").read_text())["resourceSpans"][0]["scopeSpans"]
    roots = [{one["key"]: one["value"] for one in span["attributes"]} for span in scope["spans"]]
    apart = {
        root["test.case.name"]["stringValue"]: root.get("skillgym.quarantine")
        for root in roots
        if "test.case.name" in root
    }
    assert apart == {"good": None, "bad": {"boolValue": True}}


def test_what_failed_in_quarantine_is_left_out_of_the_next_run_and_counted(tmp_path):
    """It made nothing red. ``--case`` names it where somebody repairs it."""
    cases = (case("good"), case("bad", ("file:none.txt exists",)), case("worse", ("file:none.txt exists",)))
    project(tmp_path, {"case": "bad"}, **{"bench/core.json": suite(*cases)})
    skillgym("run", "--output", "out", cwd=tmp_path)
    again = skillgym("run", "--last-failed", "--output", "out", "--dry-run", cwd=tmp_path)
    assert "last-failed: 1 of 2 executions in out; 1 in quarantine left out\n" in again.err
    assert "worse" in again.out
    assert "bad" not in again.out
    skillgym("run", "--case", "good", "--case", "bad", "--output", "green", cwd=tmp_path)
    again = skillgym("run", "--last-failed", "--output", "green", "--dry-run", cwd=tmp_path)
    assert "last-failed: all, but 1 in quarantine, was green in green: all run\n" in again.err
