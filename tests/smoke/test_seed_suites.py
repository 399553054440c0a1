"""The suites that define the format, as their authors wrote them and in Python: both give the same verdicts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from paths import DATA
from scratch import skillgym, written

SUITES = DATA / "skillgym"
AGENT = {"type": "command", "command": ["sh", "bench/agent.sh"], "output": "events"}
WRONG_ALIAS = {"id": "wrong-cli-alias", "label": "Wrong CLI alias"}
ASSERTION = {"id": "assertion", "label": "Assertion failure"}
UNEXPECTED = {"id": "unexpected-passed", "label": "Unexpected pass"}
CRASH = {"id": "assert-hook", "label": "Assert hook crash"}
PASSED = ("passed", None, None)
FAILED = ("failed", "assertion", ASSERTION)
LANGUAGES = {"typescript": ("-", ".ts"), "python": ("_", ".py")}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of one run of all suites, by suite file, case and runner."""
    root = tmp_path_factory.mktemp("seeds")
    shutil.copytree(SUITES, root / "bench")
    agent = root / "bench" / "agent.sh"
    runners = {
        name: {"agent": AGENT | {"command": ["sh", str(agent), name, "{case_id}"]}} for name in ("right", "wrong")
    }
    written(root, {"skillgym.config.json": json.dumps({"runners": runners})})
    ran = skillgym("run", "bench", "--output", "out", cwd=root)
    assert ran.code == 1, ran.err
    stored = json.loads((root / "out" / "results.json").read_text())
    return {
        (Path(suite["path"]).name, result["caseId"], result["runnerId"]): result
        for suite in stored["suites"]
        for result in suite["results"]
    }


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("suite", "case", "runner", "verdict"),
    [
        pytest.param("list", "always-passes", "right", PASSED, id="a list"),
        pytest.param("list", "always-passes", "wrong", FAILED, id="a list fails"),
        pytest.param("map", "always-passes", "right", PASSED, id="a map"),
        pytest.param("map", "always-passes", "wrong", FAILED, id="a map fails"),
        pytest.param("tags", "login-smoke", "right", PASSED, id="an empty check"),
        pytest.param("skills", "find-skills-expo", "right", PASSED, id="skill, command, output"),
        pytest.param("skills", "find-skills-expo", "wrong", FAILED, id="skill not used"),
        pytest.param("classified", "cursor-alias-check", "right", PASSED, id="nothing to classify"),
        pytest.param(
            "classified", "cursor-alias-check", "wrong", ("failed", "assertion", WRONG_ALIAS), id="a classified failure"
        ),
        pytest.param(
            "expected-fail",
            "known-missing-skill-selection",
            "wrong",
            ("expected-failed", "assertion", ASSERTION),
            id="an expected failure",
        ),
        pytest.param(
            "expected-fail",
            "known-missing-skill-selection",
            "right",
            ("unexpected-passed", None, UNEXPECTED),
            id="an unexpected pass",
        ),
        pytest.param("context", "context", "right", PASSED, id="the context"),
        pytest.param("context", "context", "wrong", FAILED, id="the context fails"),
        pytest.param("workspace", "workspace-check", "right", PASSED, id="template and bootstrap"),
        pytest.param("crash", "crash", "right", ("failed", "assert-hook", CRASH), id="a crash of the check"),
    ],
)
def test_a_seed_gets_its_verdict(results, language, suite, case, runner, verdict):
    sign, ending = LANGUAGES[language]
    result = results[f"{suite.replace('-', sign)}{sign}suite{ending}", case, runner]
    assert (result["status"], result.get("failureOrigin"), result.get("failureClass")) == verdict


def test_a_failure_is_shown_where_the_author_wrote_the_assertion(results):
    failed = results["skills-suite.ts", "find-skills-expo", "wrong"]
    assert failed["error"] == {
        "name": "AssertionError",
        "message": 'expected the skill "find-skills"\n  detected skills: none',
        "location": {"path": "bench/skills-suite.ts", "line": 7, "column": 15},
    }
    assert failed["location"] == {"path": "bench/skills-suite.ts", "line": 4, "column": 1}


def test_both_languages_report_a_failure_with_the_same_message(results):
    files = "skills-suite.ts", "skills_suite.py"
    typescript, python = (results[file, "find-skills-expo", "wrong"]["error"]["message"] for file in files)
    assert typescript == python
