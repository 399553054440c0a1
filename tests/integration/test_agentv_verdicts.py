"""The whole line, from assertions in a suite to verdict, reports and exit code: one criterion for all of them."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from scratch import skillgym, written

TARGETS = """\
targets:
  - name: editor
    provider: cli
    command: "echo done > {OUTPUT_FILE}; echo 2 > a.txt"
"""
SUITE = """\
name: demo
execution: {target: editor, threshold: 0.7}
workspace: {template: ./template}
tests:
"""
JUDGE = '{"run": {"judge": {"api": "anthropic", "model": "claude-haiku-4-5"}}}'  # without a key, so it fails
GRADER = """\
import json, os, sys

told = json.load(sys.stdin)
found = {
    "diff": "-1\\n+2\\n" in told["file_changes"],
    "workspace": open(os.environ["AGENTV_WORKSPACE_PATH"] + "/a.txt").read() == "2\\n",
    "no secret": "SECRET_KEY" not in os.environ,
    "config": told["config"] == {"level": 3},
}
print(json.dumps({"assertions": [{"text": text, "passed": passed} for text, passed in found.items()]}))
"""


@pytest.fixture
def run(tmp_path):
    """Runs a suite of tests, each a list of assertions; gives exit code, results and JUnit's properties."""

    def held(**tests: list[Any]) -> tuple[int, dict[str, Any], dict[str, dict[str, str]]]:
        entries = "".join(
            f"  - {json.dumps({'id': name, 'input': 'Go', 'assertions': entries})}\n" for name, entries in tests.items()
        )
        files = {"evals/EVAL.yaml": SUITE + entries, "evals/targets.yaml": TARGETS, "evals/template/a.txt": "1\n"}
        written(tmp_path, {**files, "evals/grade.py": GRADER, "skillgym.config.yaml": JUDGE})
        reports = ("--report", "results=results.json", "--report", "junit=junit.xml")
        ran = skillgym("run", "evals/EVAL.yaml", *reports, cwd=tmp_path, SECRET_KEY="s3cr3t-s3cr3t")
        (folder,) = (tmp_path / ".skillgym-results").iterdir()
        (suite,) = json.loads((folder / "results.json").read_text())["suites"]
        junit = ET.parse(folder / "junit.xml")
        properties = {
            case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
            for case in junit.iter("testcase")
        }
        return ran.code, {result["caseId"]: result for result in suite["results"]}, properties

    return held


YES, NO = {"type": "contains", "value": "done"}, {"type": "contains", "value": "never"}


def test_score_verdict_and_exit_code_agree(run):
    enough, little = [{**YES, "weight": 7}, {**NO, "weight": 3}], [YES, NO]
    exit_code, results, properties = run(enough=enough, little=little)
    assert {name: (one["status"], one["score"]) for name, one in results.items()} == {
        "enough": ("passed", 0.7),
        "little": ("failed", 0.5),
    }
    assert {name: one["skillgym.score"] for name, one in properties.items()} == {"enough": "0.7", "little": "0.5"}
    assert exit_code == 1
    assert results["little"]["error"]["message"] == "contains-never: the answer does not contain 'never'"
    assert results["little"]["threshold"] == 0.7


def test_what_nobody_could_judge_is_inconclusive(run):
    exit_code, results, properties = run(open=[YES, "It is kind"])
    assert (exit_code, results["open"]["status"], results["open"].get("score")) == (3, "errored", None)
    assert results["open"]["failureClass"]["id"] == "grader"
    assert "skillgym.score" not in properties["open"]
