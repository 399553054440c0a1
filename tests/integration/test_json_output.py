"""``--json``: one document on standard output, which its schema describes; also for errors."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from scratch import PASSING, PROGRAM, case, config, environment, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def repo(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("repo")
    repository(folder, {"bench/core.json": suite(case("a"), case("b")), "bench/test_suite.py": "import pytest\n"})
    skillgym("run", "--output", "base", cwd=folder)
    written(folder, {"skillgym.config.yaml": config(runner("true"))})
    skillgym("run", "--output", "head", cwd=folder)
    written(folder, {"skillgym.config.yaml": config(runner(PASSING))})
    return folder


def document(*args: str, cwd: Path, schema: str, code: int) -> dict[str, Any]:
    """The document that a command prints, valid by its schema."""
    ran = skillgym(*args, "--json", cwd=cwd)
    assert ran.code == code, ran
    found = json.loads(ran.out)
    Draft202012Validator(json.loads(skillgym("schema", schema, cwd=cwd).out)).validate(found)
    return found


def test_a_run(repo):
    found = document("run", schema="results", cwd=repo, code=0)
    assert found["totals"]["passed"] == 2
    found = document("report", "head", schema="results", cwd=repo, code=1)
    assert found["run"]["decision"]["exitCode"] == 1
    found = document("rejudge", "head", schema="results", cwd=repo, code=1)
    assert found["run"]["command"] == "rejudge"


def test_nothing_else_is_on_standard_output(repo):
    ran = skillgym("run", "--report", "results=-", "--verbose", cwd=repo)
    assert json.loads(ran.out)["totals"]["passed"] == 2
    assert "All 2 results pass" in ran.err


def test_check(repo, tmp_path):
    found = document("check", schema="check", cwd=repo, code=0)
    suite_file = {"path": "bench/core.json", "format": "x-bench", "loaded": True, "cases": 2, "unusable": 0}
    assert (found["suites"], found["runners"], found["problems"]) == ([suite_file], 1, [])
    assert [skipped["path"] for skipped in found["skipped"]] == ["bench/test_suite.py"]
    broken = {"bench/core.json": suite(case("a"), case("b", expect=["nonsense"])), "bench/x.bench.json": "{"}
    repository(tmp_path, broken)
    found = document("check", schema="check", cwd=tmp_path, code=2)
    assert found["exitCode"] == 2
    assert {(one["path"], one["severity"]) for one in found["problems"]} == {
        ("bench/core.json", "error"),
        ("bench/x.bench.json", "error"),
    }
    assert all(problem["line"] for problem in found["problems"])


def test_a_check_of_the_cases(repo, tmp_path):
    assert document("check", "--nop", schema="check-cases", cwd=repo, code=0)["correct"] == 2
    repository(tmp_path, {"bench/core.json": suite(case("empty", expect=["no-file:gone.txt"]), case("b"))})
    found = document("check", "--nop", schema="check-cases", cwd=tmp_path, code=1)
    assert [(one["case"], one["finding"]) for one in found["cases"]] == [("empty", "measures-nothing")]
    left_out = document("check", "--oracle", schema="check-cases", cwd=tmp_path, code=3)
    assert {one["finding"] for one in left_out["cases"]} == {"left-out"}


def test_doctor(repo):
    found = document("doctor", schema="doctor", cwd=repo, code=0)
    states = {check["subject"]: check["state"] for check in found["checks"]}
    assert (states["git"], states["sh"]) == ("fine", "fine")


def test_list(repo, tmp_path):
    found = document("list", schema="list", cwd=repo, code=0)
    assert (found["schema"], found["exitCode"], found["forecast"]) == (1, 0, None)
    assert [(row["case"], row["arm"], row["expected"]) for row in found["executions"]] == [
        ("a", None, None),
        ("b", None, None),
    ]
    found = document("list", "--cost", "--store", f"path={tmp_path}", schema="list", cwd=repo, code=0)
    assert [row["expected"]["repetitions"] for row in found["executions"]] == [1, 1]
    assert found["forecast"]["costUsd"] == {"total": 0, "interval": None, "unknown": 2}
    repository(tmp_path, {"bench/core.json": suite(case("a", expect=["nonsense"]))})
    found = document("list", schema="list", cwd=tmp_path, code=2)
    assert (found["exitCode"], found["executions"]) == (2, [])
    found = document("list", "--case", "x", schema="list", cwd=tmp_path, code=2)
    assert (found["exitCode"], found["executions"]) == (2, [])


def test_a_name_that_is_not_utf_8_is_in_a_document(tmp_path):
    (repository(tmp_path) / "bench" / os.fsdecode(b"b\xff.bench.json")).write_text(suite(case("b")), encoding="utf-8")
    found = document("list", schema="list", cwd=tmp_path, code=0)
    assert [row["suite"] for row in found["executions"]] == ["bench/b\udcff.bench.json", "bench/core.json"]
    found = document("check", schema="check", cwd=tmp_path, code=0)
    assert [row["path"] for row in found["suites"]] == ["bench/b\udcff.bench.json", "bench/core.json"]


def test_compare(repo):
    found = document("compare", "base", "head", "--fail-on", "regression", schema="compare", cwd=repo, code=3)
    assert (found["verdict"], found["decision"]["verdict"], found["exitCode"]) == ("inconclusive", "inconclusive", 3)
    assert found["changed"] == [
        {
            "suite": "bench/core.json",
            "case": name,
            "runner": "sh",
            "before": {"passed": 1, "judged": 1},
            "after": {"passed": 0, "judged": 1},
        }
        for name in "ab"
    ]
    assert (found["base"]["passRate"], found["head"]["passRate"]) == (1.0, 0.0)
    assert found["runners"][0]["head"]["executions"] == 2


@pytest.mark.parametrize(
    ("args", "said"),
    [
        pytest.param(("run", "--timeout", "soon"), "--timeout: 'soon' is neither a number", id="an option"),
        pytest.param(("run", "--report", "junit=-"), "both write to standard output", id="another report"),
        pytest.param(("check", "nowhere"), "nowhere", id="check"),
        pytest.param(("doctor", "--install", "nobody"), "unknown agent 'nobody'", id="doctor"),
        pytest.param(("list", "--case", "nothing"), "unknown case 'nothing'", id="list"),
    ],
)
def test_errors_are_a_document_and_on_standard_error(repo, args, said):
    found = document(*args, schema="error", cwd=repo, code=2)
    assert said in found["errors"][0]["message"]
    assert said in skillgym(*args, "--json", cwd=repo).err


@pytest.mark.parametrize(
    "args",
    [
        pytest.param(("list", "--matrix", "topsecretvalue123"), id="a value of click"),
        pytest.param(("quarantine", "suggest", "--days", "topsecretvalue123"), id="of a command of a group"),
        pytest.param(("run", "--schedule", "topsecretvalue123"), id="a value of the settings"),
    ],
)
def test_errors_on_standard_output_have_no_secrets(repo, args):
    ran = skillgym(*args, "--json", cwd=repo, MY_TOKEN="topsecretvalue123")
    assert ran.code == 2
    assert "***" in json.loads(ran.out)["errors"][0]["message"]
    assert "topsecretvalue123" not in ran.out + ran.err


def test_a_report_that_cannot_be_written_leaves_one_document(repo, tmp_path):
    written(tmp_path, {"file": ""})
    ran = skillgym("run", "--json", "--report", f"junit={tmp_path}/file/x", cwd=repo)
    assert (ran.code, json.loads(ran.out)["totals"]["passed"]) == (3, 2)


def test_the_reader_may_have_enough(repo):
    """As of ``skillgym-action run --json | head -1``."""
    command = f"{PROGRAM} run --json --output piped | true; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", command], cwd=repo, env=environment(), check=False, capture_output=True, text=True
    )
    assert (ran.returncode, "cannot write" in ran.stderr) == (141, False), ran.stderr
    assert (repo / "piped/results.json").exists()


def test_sessions_are_exported_as_traces_from_their_artifacts(tmp_path):
    """Also of a stored run; prompts only if they are asked for."""
    agent = runner("""printf '%s\\n' '{"type":"toolCall","tool":"Bash","args":{"x":"ARGUMENT"}}'""", output="events")
    repository(tmp_path, {"skillgym.config.yaml": config(agent)})
    ran = skillgym("run", "--output", "out", "--report", "otlp=-", cwd=tmp_path)
    stored = skillgym("report", "out", "--report", "otlp=-", "--otlp-content", cwd=tmp_path)
    for text, has_content in ((ran.out, False), (stored.out, True)):
        spans = json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert [span["name"] for span in spans] == ["invoke_agent command", "execute_tool Bash"]
        assert [found in text for found in ("ARGUMENT", "Do one")] == [has_content] * 2
    ids = [
        [span["spanId"] for span in json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
        for text in (ran.out, stored.out)
    ]
    assert ids[0] == ids[1]
