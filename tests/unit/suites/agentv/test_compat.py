"""``--agentv-compat``: AgentV's own numbers where the default differs on purpose."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from agentv_context import entry_context, fake_context, real_processes
from agentv_files import case, suite_text
from scratch import repository, run_in, skillgym
from skillgym_action.suites.agentv.assertions import assertion_of

IN_WORKSPACE = 'cd "$AGENTV_WORKSPACE_PATH" && '


def grader(script: str) -> list[dict[str, Any]]:
    return [{"type": "code-grader", "name": "grader", "command": ["sh", "-c", IN_WORKSPACE + script]}]


def ran(root, files, command="echo x >> log; cat log > {OUTPUT_FILE}", *, compat: bool, **given: Any):
    """The run report."""
    targets = {"targets": [{"name": "default", "provider": "cli", "command": command}]}
    standard: dict[str, Any] = {"bench/core.json": None, "targets.yaml": targets}
    texts = {
        name: text if isinstance(text, str | None) else json.dumps(text) for name, text in (standard | files).items()
    }
    return run_in(repository(root, texts), agentv_compat=compat, **given)


# --- the answers of graders -------------------------------------------------------------------------

ANSWERS = [
    pytest.param("0.4", 0, 1, 0.4, id="D15: a number"),
    pytest.param("false", 0, 1, 0, id="D15: false"),
    pytest.param('loading\n{"score": 0.25}', 0, 1, 0.25, id="D15: logs, then JSON"),
    pytest.param('{"score": 0, "assertions": [{"text": "a", "passed": true}]}', 0, 0, 1, id="D18: a score left out"),
    pytest.param('{"score": NaN}', 0, 1, 0, id="NaN is no JSON"),
    pytest.param('{"score": 1e999}', 0, 0, 0, id="infinity"),
    pytest.param('{"score": 0.75}', 0, 0.75, 0.75, id="a score"),
    pytest.param('{"score": 7}', 0, 1, 0, id="a score above 1"),
    pytest.param('{"assertions": [{"text": "a", "passed": true}, {"text": "b"}]}', 0, 0.5, 0.5, id="no score"),
    pytest.param("{}", 0, 0, 0, id="an empty object"),
    pytest.param("[1, 2]", 0, 1, 0, id="a list"),
    pytest.param("fine", 0, 1, 1, id="a text"),
    pytest.param("", 0, 1, 1, id="nothing"),
    pytest.param("2 missing", 3, 0, 0, id="an exit code"),
]


@pytest.mark.parametrize(("stdout", "code", "of_agentv", "default"), ANSWERS)
def test_what_a_program_says(tmp_path, stdout, code, of_agentv, default):
    entry = {
        "type": "code-grader",
        "command": [sys.executable, "-c", f"import sys; print({stdout!r}); sys.exit({code})"],
    }
    with real_processes() as processes:
        context = fake_context(tmp_path, processes)
        scores = [
            assertion_of(entry, entry_context(tmp_path, compat=compat)).judge(context)[0].score
            for compat in (True, False)
        ]
    assert scores == [of_agentv, default]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        pytest.param(["no-such-program"], "cannot start 'no-such-program'", id="not started"),
        pytest.param(["sh", "-c", "echo '{'; exit 2"], "exited 2 although it answered", id="half an answer"),
        pytest.param(["sh", "-c", "kill -9 $$"], "it was ended (signalled)", id="a signal"),
        pytest.param(["sh", "-c", "echo no >&2; exit 1"], "exited 1", id="a complaint"),
    ],
)
def test_a_program_that_fails_says_no(tmp_path, command, why):
    with real_processes() as processes:
        at = entry_context(tmp_path, compat=True)
        (outcome,) = assertion_of({"type": "code-grader", "command": command}, at).judge(
            fake_context(tmp_path, processes)
        )
    assert (outcome.score, outcome.passed, outcome.trouble) == (0, False, None)
    assert outcome.explanation.startswith(why)


# --- workspaces -------------------------------------------------------------------------------------


def seen(text: str) -> dict[str, Any]:
    return {"assertions": [{"type": "equals", "value": text}]}


@pytest.mark.parametrize(
    ("workspace", "of_agentv", "default"),
    [
        pytest.param({"hooks": {}}, ["x", "x x"], ["x", "x"], id="shared by default"),
        pytest.param({"isolation": "per_test"}, ["x", "x"], ["x", "x"], id="per_test"),
        pytest.param({"isolation": "shared"}, ["x", "x x"], ["x", "x x"], id="shared"),
    ],
)
def test_the_workspace_of_a_suite(tmp_path, workspace, of_agentv, default):
    files = {"e/EVAL.yaml": suite_text(case("a"), case("b"), workspace=workspace)}
    found = [
        [" ".join(result.final_output.split()) for result in ran(tmp_path / str(compat), files, compat=compat).results]
        for compat in (True, False)
    ]
    assert found == [of_agentv, default]


def test_a_workspace_beside_the_first_case_is_everybody_s(tmp_path):
    files = {
        "e/EVAL.yaml": {"tests": "cases", "workspace": "./shared/"},
        "e/shared/name.txt": "shared\n",
        "e/cases/one/case.yaml": case(None),
        "e/cases/one/workspace/name.txt": "one\n",
        "e/cases/two/case.yaml": case(None),
        "e/cases/two/workspace/name.txt": "two\n",
    }
    found = [
        [
            result.final_output.strip()
            for result in ran(tmp_path / str(compat), files, "cat name.txt > {OUTPUT_FILE}", compat=compat).results
        ]
        for compat in (True, False)
    ]
    assert found == [["one", "one"], ["one", "two"]]


def test_each_has_its_own_workspace_where_the_first_case_has_none(tmp_path):
    files = {
        "e/EVAL.yaml": {"tests": "cases"},
        "e/cases/one/case.yaml": case(None),
        **{f"e/cases/{name}/case.yaml": case(None) for name in ("two", "zoe")},
        **{f"e/cases/{name}/workspace/name.txt": f"{name}\n" for name in ("two", "zoe")},
    }
    report = ran(tmp_path, files, "cat name.txt > {OUTPUT_FILE} || echo none > {OUTPUT_FILE}", compat=True)
    assert [result.final_output.strip() for result in report.results] == ["none", "two", "zoe"]


def hook(line: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", line]}


@pytest.mark.parametrize(("compat", "score"), [(True, 0), (False, 1)])
def test_graders_see_the_workspace_after_or_before_the_hooks_that_come_last(tmp_path, compat, score):
    hooks = {"after_each": hook('rm "$SKILLGYM_WORKSPACE/log"')}
    workspace = {"hooks": hooks, "isolation": "per_test"}
    files = {"e/EVAL.yaml": suite_text(case(assertions=grader("test -f log")), workspace=workspace)}
    assert [result.score for result in ran(tmp_path, files, compat=compat).results] == [score]


def test_graders_are_told_what_the_agent_changed_all_the_same(tmp_path):
    hooks = {"after_each": hook('rm "$SKILLGYM_WORKSPACE/log"; touch "$SKILLGYM_WORKSPACE/other"')}
    assertions = [
        {
            "type": "code-grader",
            "command": ["sh", "-c", "cat > payload; grep -q '+x' payload && ! grep -q other payload"],
        }
    ]
    workspace = {"hooks": hooks, "isolation": "per_test"}
    files = {"e/EVAL.yaml": suite_text(case(assertions=assertions), workspace=workspace)}
    assert [str(result.status) for result in ran(tmp_path, files, compat=True).results] == ["passed"]


@pytest.mark.parametrize("compat", [True, False])
def test_each_hook_is_run_once(tmp_path, compat):
    log = tmp_path / "log"
    hooks = {
        stage: hook(f"echo {stage} >> {log}") for stage in ("before_all", "before_each", "after_each", "after_all")
    }
    workspace = {"hooks": hooks, "isolation": "per_test"}
    files = {"e/EVAL.yaml": suite_text(case(assertions=grader(f"echo grader >> {log}")), workspace=workspace)}
    ran(tmp_path / "repo", files, f"echo agent >> {log}; echo ok > {{OUTPUT_FILE}}", compat=compat)
    last = ["after_each", "grader"] if compat else ["grader", "after_each"]
    assert log.read_text().split() == ["before_all", "before_each", "agent", *last, "after_all"]


# --- the option -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "environment", "score"),
    [
        pytest.param([], {}, 0.4, id="default"),
        pytest.param(["--agentv-compat"], {}, 1, id="the option"),
        pytest.param([], {"SKILLGYM_AGENTV_COMPAT": "true"}, 1, id="its twin"),
    ],
)
def test_it_has_to_be_asked_for(tmp_path, arguments, environment, score):
    files = {
        "bench/core.json": None,
        "targets.yaml": json.dumps({"targets": [{"name": "default", "provider": "mock", "response": "ok"}]}),
        "e/EVAL.yaml": suite_text(case(assertions=[{"type": "code-grader", "command": ["echo", "0.4"]}])),
    }
    repository(tmp_path, files)
    skillgym("run", "--output", "out", *arguments, cwd=tmp_path, **environment)
    (result,) = json.loads((tmp_path / "out/results.json").read_text())["suites"][0]["results"]
    assert result["score"] == score


def test_graders_get_all_changes_of_the_workspace_that_all_tests_share(tmp_path):
    told = "import json, sys; sys.exit(print(json.load(sys.stdin)['file_changes']) or 1)"
    grader_entry = [{"type": "code-grader", "name": "grader", "command": [sys.executable, "-c", told]}]
    files = {
        "bench/EVAL.yaml": suite_text(
            case("a", assertions=grader_entry), case("b", assertions=grader_entry), workspace={"template": "./start"}
        ),
        "bench/start/kept.txt": "kept\n",
    }
    command = "echo {EVAL_ID} > {EVAL_ID}.txt; rm -f kept.txt; echo ok > {OUTPUT_FILE}"
    report = ran(tmp_path, files, command, compat=True)
    diffs = [one.evidence.split("(ended")[0] for result in report.results for one in result.judgement.outcomes]
    created = ["diff --git a/a.txt b/a.txt" in diff for diff in diffs], ["+b\n" in diff for diff in diffs]
    assert created == ([True, True], [False, True])
    assert all("deleted file mode" in diff and "-kept" in diff for diff in diffs)


def test_what_a_hook_writes_before_each_test_is_in_no_diff(tmp_path):
    told = "import json, sys; sys.exit(print(json.load(sys.stdin)['file_changes']) or 1)"
    grader_entry = [{"type": "code-grader", "name": "grader", "command": [sys.executable, "-c", told]}]
    hook = {"before_each": {"command": ["sh", "-c", "date +%s%N > '{{workspace_path}}/stamp.txt'"]}}
    tests = (case("a", assertions=grader_entry), case("b", assertions=grader_entry))
    files = {"bench/EVAL.yaml": suite_text(*tests, workspace={"hooks": hook})}
    report = ran(tmp_path, files, "echo {EVAL_ID} > {EVAL_ID}.txt; echo ok > {OUTPUT_FILE}", compat=True)
    diffs = [one.evidence.split("(ended")[0] for result in report.results for one in result.judgement.outcomes]
    assert ["stamp" in diff for diff in diffs] == [False, False]
    assert [("a.txt" in diff, "b.txt" in diff) for diff in diffs] == [(True, False), (False, True)]
