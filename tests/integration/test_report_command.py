"""``report``: stored runs are merged, reported and decided anew; no agent is started."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from paths import REPOSITORY
from scratch import PASSING, case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

REPORTS = ("results.json", "junit.xml", "summary.md", "comment.md")
THREE = suite(case("a"), case("b"), case("c"))


def run(folder: Path, output: str, *args: str, **env: str) -> int:
    return skillgym("run", "--output", output, *args, cwd=folder, **env).code


def results(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))


def told(folder: Path) -> dict[str, str]:
    """The status of every execution."""
    return {
        f"{one['caseId']} {one['runnerId']}": one["status"]
        for part in results(folder)["suites"]
        for one in part["results"]
    }


def reports(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text(encoding="utf-8") for name in REPORTS}


# --- a report of a run ------------------------------------------------------------------------------


def test_a_report_of_the_examples_is_the_report_of_their_run(tmp_path):
    shutil.copytree(REPOSITORY / "examples", tmp_path / "examples")
    ran = skillgym(
        "run", "examples", "--output", "out", "--report", "annotations=a.txt", "--report", "x-bench=x.json",
        cwd=tmp_path,
    )  # fmt: skip
    again = skillgym(
        "report", "out", "--output", "again", "--report", "annotations=b.txt", "--report", "x-bench=y.json",
        cwd=tmp_path,
    )  # fmt: skip
    assert "✓ The skill helps: 42% without it → 100% with it\n  5 are marked as failing.\n" in ran.err
    assert (again.code, again.out) == (ran.code, "") == (0, "")
    assert reports(tmp_path / "again") == reports(tmp_path / "out")
    for one, other in (("a.txt", "b.txt"), ("x.json", "y.json")):
        assert (tmp_path / one).read_text() == (tmp_path / other).read_text()


@pytest.mark.parametrize(
    ("script", "cases"),
    [
        pytest.param("true", [case("a"), case("b", expectedFail=True)], id="red"),
        pytest.param(PASSING, [], id="a broken suite"),
        pytest.param("printf 'x\\033[31m@octocat ::error::\\377 $KEPT'", [case("a")], id="hostile output"),
    ],
)
def test_a_report_of_a_run_is_the_report_of_that_run(tmp_path, script, cases):
    content = suite(*cases) if cases else '{"cases": []}'
    agent = runner(script, env={"KEPT": "${{ MY_KEY }}"})
    repository(tmp_path, {"bench/core.json": content, "skillgym.config.yaml": config(agent)}, git=True)
    code = run(tmp_path, "out", MY_KEY="s3cret-value")
    again = skillgym("report", "out", "--output", "again", cwd=tmp_path)
    assert again.code == code
    assert reports(tmp_path / "again") == reports(tmp_path / "out")
    assert "s3cret-value" not in "".join(reports(tmp_path / "again").values())


def test_neither_suites_nor_runners_are_needed(tmp_path):
    repository(tmp_path / "one", {"bench/core.json": THREE})
    run(tmp_path / "one", "out")
    other = tmp_path / "two"
    other.mkdir()
    shutil.copytree(tmp_path / "one/out", other / "artifacts/run")
    ran = skillgym("report", "artifacts/*", cwd=other)
    assert (ran.code, "✓ All 3 results pass\n" in ran.err) == (0, True)
    (made,) = (other / ".skillgym-results").iterdir()
    assert told(made) == {"a sh": "passed", "b sh": "passed", "c sh": "passed"}
    again = skillgym("report", ".skillgym-results/*", cwd=other)
    assert again.code == 0


def test_secrets_of_this_job_are_told_by_nobody(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner("echo 'a_b*c_d-e'"))})
    code = run(tmp_path, "out")
    assert "a_b*c_d-e" in (tmp_path / "out/results.json").read_text()
    ran = skillgym("report", "out", "--output", "again", "--verbose", cwd=tmp_path, DEPLOY_KEY="a_b*c_d-e")
    assert ran.code == code
    shown = reports(tmp_path / "again")
    assert '"finalOutput": "***"' in shown["results.json"]
    assert [text for text in (ran.out, ran.err, *shown.values()) if "a_b" in text or "a&#95;b" in text] == []


# --- several runs -----------------------------------------------------------------------------------


def sharded(folder: Path, *parts: int) -> None:
    repository(folder, {"bench/core.json": THREE})
    for part in parts:
        assert run(folder, f"out/shard-{part}", "--shard", f"{part}/3") == 0


def test_shards_are_merged_into_the_whole_run(tmp_path):
    sharded(tmp_path, 1, 2, 3)
    ran = skillgym("report", "out/*", "--output", "merged", cwd=tmp_path)
    assert (ran.code, list(told(tmp_path / "merged"))) == (0, ["a sh", "b sh", "c sh"])
    assert run(tmp_path, "whole") == 0
    merged, whole = results(tmp_path / "merged"), results(tmp_path / "whole")
    assert [one["index"] for one in merged["suites"][0]["results"]] == [0, 1, 2]
    assert merged["suites"][0]["digest"] == whole["suites"][0]["digest"]
    assert (merged["run"]["id"], merged["run"]["command"]) == ("merged", "run")
    assert "shard" not in merged["run"]


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        pytest.param((), ("--case", "a"), "1 execution instead of 2", id="a filter"),
        pytest.param(
            ("--repeat", "3"),
            ("--repeat", "2", "--retry", "3", "--require", "any"),
            "repeat 2 instead of 3, require any instead of all, retry 3 instead of 0",
            id="options of repetitions",
        ),
        pytest.param(
            ("--match", "a or b"), ("--match", "a or c"), "other executions, or other numbers of repetitions of cases",
            id="as many other cases",
        ),
    ],
)  # fmt: skip
def test_shards_with_different_filters_or_repetitions_are_not_green(tmp_path, first, second, difference):
    """A case that is in no shard that ran would be lost, and the run green."""
    cases = "abc" if "a or b" in first else "ab"
    repository(tmp_path, {"bench/core.json": suite(*map(case, cases))})
    assert run(tmp_path, "out/1", "--shard", "1/2", *first) == 0
    assert run(tmp_path, "out/2", "--shard", "2/2", "--fail-on", "none", *second) == 0
    ran = skillgym("report", "out/*", "--fail-on", "none", "--output", "merged", cwd=tmp_path)
    missing = json.loads(skillgym("report", "--missing", "out/*", cwd=tmp_path).out)["include"]
    stored = results(tmp_path / "merged")["run"]
    sentence = f"the plan of shard 2/2 differs from that of shard 1/2: {difference}"
    assert (ran.code, sentence in ran.err, missing) == (3, True, [{"shard": "2/2"}])
    assert (stored["incomplete"], stored["missingShards"]) == ([sentence], ["2/2"])


# --- the decision -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "configured", "code"),
    [
        pytest.param([], {"failOn": ["none"]}, 0, id="by the configuration"),
        pytest.param(["--fail-on", "errored", "--min-pass-rate", "0.9"], {}, 1, id="by the pass rate"),
    ],
)
def test_the_decision_is_made_anew(tmp_path, args, configured, code):
    repository(tmp_path, {"skillgym.config.yaml": config(runner("true"))})
    assert run(tmp_path, "out") == 1
    written(tmp_path, {"skillgym.config.yaml": json.dumps({"run": configured})})
    assert skillgym("report", "out", "--output", "again", *args, cwd=tmp_path).code == code


# --- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["nope"], "error: no such run: nope; name a run directory", id="no such run"),
        pytest.param(["bad"], "error: bad/results.json: not JSON: Expecting property name", id="not a run"),
        pytest.param(
            ["out", "--baseline", "base"],
            "--baseline base: the stored run has no sessions of the base commit; write ./base",
            id="beside no base",
        ),
        pytest.param(["out", "copy"], "'one' of bench/core.json on sh is in out/results.json and in copy/", id="twice"),
        pytest.param(
            ["out", "--output", "./out"], "error: --output is a run that is reported again; name another folder",
            id="into itself",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_one_clear_message(tmp_path, args, message):
    repository(tmp_path, {"bad/results.json": "{"})
    run(tmp_path, "out")
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    ran = skillgym("report", *args, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert "Traceback" not in ran.err


# --- the baseline -----------------------------------------------------------------------------------


def compared(tmp_path: Path, command: str, *args: str, **configured: Any) -> tuple[int, str]:
    """The code and the summary of a red run after a green one that is stored as ``base``."""
    seven = suite(*map(case, "abcdefg"))  # fewer single sessions prove nothing
    repository(tmp_path, {"bench/core.json": seven})
    run(tmp_path, "base")
    written(tmp_path, {"skillgym.config.yaml": config(runner("true"), run=configured)})
    named = {"run": [], "report": ["out"], "rejudge": ["base"]}[command]
    run(tmp_path, "out")
    ran = skillgym(command, *named, "--output", "told", *args, cwd=tmp_path)
    return ran.code, (tmp_path / "told/summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        ("run", "❌ Worse than run "),
        ("report", "❌ Worse than run "),
        ("rejudge", "No change"),
    ],
)
def test_a_run_is_compared_with_its_baseline(tmp_path, command, broken):
    """What is judged again here is the baseline itself."""
    code, summary = compared(tmp_path, command, "--baseline", "./base")
    assert code == (0 if command == "rejudge" else 1)
    assert broken in summary.replace("\u00a0", " ")


def test_the_configuration_names_the_baseline_from_where_it_is(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner(), run={"baseline": "./base"})})
    (tmp_path / "app").mkdir()
    run(tmp_path, "base", "--baseline", "nope", "--baseline-optional")
    ran = skillgym("run", "../bench", "--output", "out", cwd=tmp_path / "app")
    assert (ran.code, "no baseline" in ran.err) == (0, False)
