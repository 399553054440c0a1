"""``report``: stored runs are merged, reported and decided anew; no agent is started."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from paths import REPOSITORY
from scratch import PASSING, case, config, repository, runner, skillgym, suite, written
from skillgym_action.pipeline.stages.gate import gate
from skillgym_action.results.stored_runs import stored_reports
from skillgym_action.settings.slices import GateOptions

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
    assert "passed: 23 passed, 5 failed as expected of 28" in ran.err
    assert (again.code, again.out) == (ran.code, "") == (0, "")
    assert reports(tmp_path / "again") == reports(tmp_path / "out")
    for one, other in (("a.txt", "b.txt"), ("x.json", "y.json")):
        assert (tmp_path / one).read_text() == (tmp_path / other).read_text()


@pytest.mark.parametrize(
    ("script", "cases"),
    [
        pytest.param("true", [case("a"), case("b", expectedFail=True)], id="red"),
        pytest.param("exit 3", [case("a")], id="inconclusive"),
        pytest.param("sleep 60", [case("a", timeout=0.2)], id="a time limit", marks=pytest.mark.timed),
        pytest.param(PASSING, [case("a"), case("b", ["fiel:x"])], id="a broken case"),
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
    assert (ran.code, "passed: 3 passed of 3" in ran.err) == (0, True)
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


def test_a_shard_that_never_came_is_not_green(tmp_path):
    sharded(tmp_path, 1, 3)
    ran = skillgym("report", "out/*", "--output", "merged", cwd=tmp_path)
    assert ran.code == 3
    assert "inconclusive: 2 passed of 2" in ran.err
    run_told = results(tmp_path / "merged")["run"]
    assert run_told["incomplete"] == ["shard 2/3 is missing"]
    assert run_told["decision"] == {
        "verdict": "inconclusive",
        "passed": False,
        "exitCode": 3,
        "reasons": ["shard 2/3 is missing"],
    }
    assert skillgym("report", "merged", cwd=tmp_path).code == 3


@pytest.mark.parametrize(
    ("first", "second", "difference"),
    [
        pytest.param((), ("--case", "a"), "1 execution instead of 2", id="a filter"),
        pytest.param((), ("--case", "a", "--case", "b"), "", id="a filter that leaves all cases"),
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
    if not difference:
        assert (ran.code, missing, "incomplete" in stored) == (0, [], False)
        return
    sentence = f"the plan of shard 2/2 differs from that of shard 1/2: {difference}"
    assert (ran.code, sentence in ran.err, missing) == (3, True, [{"shard": "2/2"}])
    assert (stored["incomplete"], stored["missingShards"]) == ([sentence], ["2/2"])


def test_jobs_of_a_matrix_are_merged(tmp_path):
    agents = {"claude": runner(), "codex": runner("true")}
    repository(tmp_path, {"bench/core.json": THREE, "skillgym.config.yaml": config(**agents)})
    for name in agents:
        run(tmp_path, f"out/{name}", "--runner", name)
    ran = skillgym("report", "out/*/results.json", "--output", "merged", cwd=tmp_path)
    assert ran.code == 1
    assert list(told(tmp_path / "merged").items()) == [
        ("a claude", "passed"), ("a codex", "failed"), ("b claude", "passed"), ("b codex", "failed"),
        ("c claude", "passed"), ("c codex", "failed"),
    ]  # fmt: skip


# --- the decision -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "configured", "code"),
    [
        pytest.param([], {}, 1, id="as a run decides"),
        pytest.param(["--fail-on", "errored"], {}, 0, id="by an option"),
        pytest.param([], {"failOn": ["none"]}, 0, id="by the configuration"),
        pytest.param(["--fail-on", "errored", "--min-pass-rate", "0.9"], {}, 1, id="by the pass rate"),
    ],
)
def test_the_decision_is_made_anew(tmp_path, args, configured, code):
    repository(tmp_path, {"skillgym.config.yaml": config(runner("true"))})
    assert run(tmp_path, "out") == 1
    written(tmp_path, {"skillgym.config.yaml": json.dumps({"run": configured})})
    assert skillgym("report", "out", "--output", "again", *args, cwd=tmp_path).code == code


def test_a_file_that_calls_itself_green_is_not_believed(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner("true"))})
    run(tmp_path, "out")
    told = results(tmp_path / "out")
    told["run"]["decision"] = {"passed": True, "exitCode": 0, "reasons": []}
    (tmp_path / "out/results.json").write_text(json.dumps(told))
    assert skillgym("report", "out", cwd=tmp_path).code == 1


# --- mistakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param([], "missing argument 'RUN...'", id="nothing named"),
        pytest.param(["nope"], "error: no such run: nope; name a run directory", id="no such run"),
        pytest.param(["bad"], "error: bad/results.json: not JSON: Expecting property name", id="not a run"),
        pytest.param(["out", "copy"], "'one' of bench/core.json on sh is in out/results.json and in copy/", id="twice"),
        pytest.param(
            ["out", "--output", "./out"], "error: --output is a run that is reported again; name another folder",
            id="into itself",
        ),
        pytest.param(["out", "--baseline", "bad"], "bad/results.json: not JSON: Expecting", id="a broken baseline"),
        pytest.param(["out", "--fail-on", "faild"], "--fail-on: unknown word 'faild'", id="a word"),
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
        ("run", "regression since the baseline"),
        ("report", "regression since the baseline"),
        ("rejudge", "no regression shown since the baseline"),
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


def test_an_optional_baseline_that_is_not_there_is_a_warning(tmp_path):
    repository(tmp_path)
    args = ("--output", "out", "--baseline", "artifacts/main")
    strict = skillgym("run", *args, cwd=tmp_path)
    assert (strict.code, "no baseline at artifacts/main" in strict.err) == (2, True)
    ran = skillgym("run", *args, "--baseline-optional", cwd=tmp_path)
    assert ran.code == 0
    (warning,) = results(tmp_path / "out")["warnings"]
    assert warning == {
        "message": "no baseline at artifacts/main: nothing was compared;"
        " a first run has nothing to compare with; store its results there for the next one"
    }


def test_a_baseline_that_cannot_be_used_costs_no_session(tmp_path):
    repository(tmp_path, {"base.json": "{}", "skillgym.config.yaml": config(runner("touch $LOG", env={"LOG": "/x"}))})
    ran = skillgym("run", "--output", "out", "--baseline", "base.json", cwd=tmp_path)
    assert (ran.code, "error: base.json: schema: is missing" in ran.err) == (2, True)
    assert not (tmp_path / "out/core").exists()


def test_the_gate_sees_a_stored_run_as_it_saw_the_run(tmp_path):
    repository(tmp_path, {"bench/core.json": suite(case("a"), case("b", ["file:no exists"]))})
    run(tmp_path, "out")
    ((_, report),) = stored_reports(["out"], tmp_path)
    decision = gate(report, GateOptions())
    assert results(tmp_path / "out")["run"]["decision"] == {
        "verdict": decision.verdict,
        "passed": decision.passed,
        "exitCode": decision.exit_code,
        "reasons": list(decision.reasons),
    }
