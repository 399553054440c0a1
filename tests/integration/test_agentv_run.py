"""AgentV suites, run: what the design of directory discovery asks for, and what became of AgentV's defects."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from agentv_files import case, suite_text
from paths import REPOSITORY
from scratch import config, git_in, repository, run_in, runner, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path

ANSWER = 'printf "ok: %s" {EVAL_ID} > {OUTPUT_FILE}'
IN_WORKSPACE = 'cd "$AGENTV_WORKSPACE_PATH" && '


def cli(command: str = ANSWER, **more: Any) -> dict[str, Any]:
    return {"name": "default", "provider": "cli", "command": command} | more


def grader(script: str, name: str = "grader") -> dict[str, Any]:
    """A program that looks at the workspace."""
    return {"type": "code-grader", "name": name, "command": ["sh", "-c", IN_WORKSPACE + script]}


def hook(line: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", line]}


def scratch(root: Path, files: dict[str, Any], *targets: dict[str, Any]) -> Path:
    """A repository with an AgentV suite and no other; what is no text is written as JSON."""
    standard: dict[str, Any] = {"bench/core.json": None, "targets.yaml": {"targets": list(targets or (cli(),))}}
    texts = {
        name: text if isinstance(text, str | None) else json.dumps(text) for name, text in (standard | files).items()
    }
    return repository(root, texts)


def ran(root: Path, files: dict[str, Any], *targets: dict[str, Any], **given: Any):
    """The run report."""
    return run_in(scratch(root, files, *targets), **given)


def statuses(report) -> dict[str, str]:
    names = (f"{one.case_id}@{one.runner.id}" if one.runner else one.case_id for one in report.results)
    return dict(zip(names, (str(one.status) for one in report.results), strict=True))


# --- the signals by which directory discovery is accepted -------------------------------------------


def test_a_case_file_is_loaded_with_the_schema_of_every_other_test(tmp_path):
    fields = {
        "input": [{"role": "system", "content": "S"}, {"role": "user", "content": "U {{ x }}"}],
        "vars": {"x": "1"},
        "criteria": "c",
        "metadata": {"difficulty": "medium"},
        "expected_output": "o",
        "execution": {"threshold": 0.9},
    }
    inline = ran(tmp_path / "a", {"e/EVAL.yaml": {"tests": [case("one", **fields)]}}).results[0]
    found = ran(tmp_path / "b", {"e/EVAL.yaml": {"tests": "t"}, "e/t/one/case.yaml": case(None, **fields)}).results[0]
    assert found.prompt == inline.prompt == "@[System]:\nS\n\n@[User]:\nU 1"
    assert (found.case_id, found.status, found.judgement.score) == (
        inline.case_id,
        inline.status,
        inline.judgement.score,
    )


# --- the example ------------------------------------------------------------------------------------


def test_the_example_has_the_layout_of_the_design_and_is_green(tmp_path):
    shutil.copytree(REPOSITORY / "examples" / "agentv", tmp_path / "agentv")
    report = run_in(tmp_path)
    assert statuses(report) == {
        "add-auth@agent-baseline": "passed",
        "add-auth@agent-superpowers": "passed",
        "fix-null-check@agent-baseline": "passed",
        "fix-null-check@agent-superpowers": "passed",
        "refactor-parser@agent-baseline": "expected-failed",
        "refactor-parser@agent-superpowers": "expected-failed",
    }
    assert (report.decision.exit_code, report.warnings) == (0, ())
    assert len({result.directory for result in report.results}) == 6


# --- targets ----------------------------------------------------------------------------------------

OF_THE_JOB = ("GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "INPUT_GITHUB-TOKEN")


def test_a_target_may_name_any_variable_but_what_the_job_gives_to_the_action(tmp_path):
    """A commit brings targets along: it could take the job's tokens, which agents' keys are not."""
    named = (
        {"env": [*OF_THE_JOB, "OWN_KEY"]},
        {"env": {f"MINE_{number}": f"<${{{{ {name} }}}}>" for number, name in enumerate(OF_THE_JOB)}},
    )
    targets = [cli(f"env >{tmp_path}/{number}; {ANSWER}", name=f"t{number}", **env) for number, env in enumerate(named)]
    root = scratch(
        tmp_path / "repo", {"e/EVAL.yaml": suite_text(case(), execution={"targets": ["t0", "t1"]})}, *targets
    )
    values = {name: f"planted-{number}" for number, name in enumerate(OF_THE_JOB)}
    skillgym("run", "--output", "results", cwd=root, OWN_KEY="of-the-agent", **values)
    seen = [(tmp_path / str(number)).read_text() for number in range(2)]
    assert "OWN_KEY=of-the-agent" in seen[0]
    assert "MINE_0=<>" in seen[1]
    assert "planted" not in "".join(seen)


VARIANTS = {
    "e/EVAL.yaml": suite_text(
        case(assertions=[{"type": "equals", "value": "superpowers"}]),
        workspace={"hooks": {}},
        execution={
            "targets": [
                {
                    "name": f"agent-{name}",
                    "use_target": "${{ AGENT_TARGET }}",
                    "hooks": {"before_each": {"command": f'printf {name} > "$SKILLGYM_WORKSPACE/v"'}},
                }
                for name in ("baseline", "superpowers")
            ]
        },
    ),
    ".env": "AGENT_TARGET=default",
}


def test_two_variants_of_one_agent_keep_their_own_names_and_artifacts(tmp_path):
    report = ran(tmp_path, VARIANTS, cli("cat v > {OUTPUT_FILE}"))
    assert statuses(report) == {"one@agent-baseline": "failed", "one@agent-superpowers": "passed"}
    assert [runner.id for runner in report.runners] == ["agent-baseline", "agent-superpowers"]
    assert [result.directory for result in report.results] == [
        "EVAL/one/agent-baseline/repeat-1",
        "EVAL/one/agent-superpowers/repeat-1",
    ]


@pytest.mark.parametrize(
    ("selector", "runners"),
    [
        pytest.param(["agent-superpowers"], ["agent-superpowers"], id="an id"),
        pytest.param(["*-base*"], ["agent-baseline"], id="a glob"),
        pytest.param(["agent-*"], ["agent-baseline", "agent-superpowers"], id="both"),
        pytest.param(["sh"], ["sh"], id="one of the configuration in their place"),
        pytest.param(["sh", "agent-baseline"], ["agent-baseline"], id="the suite's own come first"),
    ],
)
def test_runners_of_a_suite_are_selected_by_id(tmp_path, selector, runners):
    files = VARIANTS | {"skillgym.config.yaml": config(runner("echo ok"))}
    report = ran(tmp_path, files, cli("cat v > {OUTPUT_FILE}"), runner=tuple(selector))
    assert [result.runner.id for result in report.results] == runners


def test_a_runner_that_neither_suite_nor_configuration_has_is_an_error(tmp_path):
    scratch(tmp_path, VARIANTS)
    done = skillgym("run", "--runner", "agent-bas", cwd=tmp_path)
    assert (done.code, done.err) == (2, "error: unknown runner 'agent-bas'; did you mean 'agent-baseline'?\n")


def test_a_suite_with_targets_needs_no_configuration(tmp_path):
    assert statuses(ran(tmp_path, {"e/EVAL.yaml": suite_text(), "skillgym.config.yaml": "{}"})) == {
        "one@default": "passed"
    }


@pytest.mark.parametrize(
    ("target", "told"),
    [
        pytest.param("gone", "target gone: no target is called 'gone'", id="not defined"),
    ],
)
def test_a_target_that_cannot_be_used_is_an_error_and_the_other_runs(tmp_path, target, told):
    files = {"e/EVAL.yaml": suite_text(execution={"targets": [target, "default"]})}
    report = ran(tmp_path, files)
    assert statuses(report) == {"(suite)": "errored", "one@default": "passed"}
    assert told in report.results[0].judgement.failure.message
    assert report.decision.exit_code != 0


def test_a_key_of_an_env_file_is_no_secret_that_gets_out(tmp_path):
    command = 'echo "ok $MY_KEY" > {OUTPUT_FILE}'
    scratch(tmp_path, {"e/EVAL.yaml": suite_text(), "e/.env": "MY_KEY=key-of-a-file"}, cli(command, env=["MY_KEY"]))
    assert skillgym("run", "--output", "out", cwd=tmp_path).code == 0
    texts = [file.read_text(errors="replace") for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert any("ok ***" in text for text in texts)
    assert not any("key-of-a-file" in text for text in texts)


# --- hooks ------------------------------------------------------------------------------------------

STAGES = ("before_all", "before_each", "after_each", "after_all")


def hooked(log: Path, **workspace: Any) -> dict[str, Any]:
    """A suite whose hooks, agent and grader write their names into ``log``."""
    of_suite = {stage: hook(f"echo suite.{stage} >> {log}") for stage in STAGES}
    of_target = {stage: hook(f"echo target.{stage} >> {log}") for stage in STAGES}
    return {
        "e/EVAL.yaml": suite_text(
            case("a", assertions=[grader(f"echo grader >> {log}")]),
            case("b", assertions=[grader(f"echo grader >> {log}")]),
            workspace={"hooks": of_suite, **workspace},
            execution={"targets": [{"name": "t", "use_target": "default", "hooks": of_target}]},
        )
    }


EACH = ["suite.before_each", "target.before_each", "agent", "grader", "target.after_each", "suite.after_each"]
BEFORE, AFTER = ["suite.before_all", "target.before_all"], ["target.after_all", "suite.after_all"]


@pytest.mark.parametrize(
    ("isolation", "order"),
    [
        pytest.param({}, [*BEFORE, *EACH, *AFTER] * 2, id="each session has a workspace of its own"),
        pytest.param({"isolation": "shared"}, [*BEFORE, *EACH, *EACH, *AFTER], id="shared"),
    ],
)
def test_the_order_of_hooks_with_the_grader_before_what_comes_after(tmp_path, isolation, order):
    log = tmp_path / "log"
    report = ran(tmp_path / "repo", hooked(log, **isolation), cli(f"echo agent >> {log}; echo ok > {{OUTPUT_FILE}}"))
    assert statuses(report) == {"a@t": "passed", "b@t": "passed"}
    assert log.read_text().split() == order


@pytest.mark.parametrize(("stage", "test_id"), [("before_all", "__before_all__"), ("before_each", "one")])
def test_what_a_hook_is_told(tmp_path, stage, test_id):
    line = 'cat > stdin.json; printf "%s|%s|%s" "$1" "$2" "$3" > words.txt'
    command = [
        "sh",
        "-c",
        f'cd "$SKILLGYM_WORKSPACE"; {line}',
        "sh",
        "{{workspace_path}}",
        "{{test_id}}",
        "{{case_metadata}}",
    ]
    answer = "cat stdin.json words.txt > {OUTPUT_FILE}"
    files = {"e/EVAL.yaml": suite_text(case(metadata={"a": 1}), workspace={"hooks": {stage: {"command": command}}})}
    (result,) = ran(tmp_path, files, cli(answer)).results
    told, end = json.JSONDecoder().raw_decode(result.final_output)
    assert (told["test_id"], told["case_input"], told["case_metadata"]) == (test_id, "Do it", {"a": 1})
    assert told["eval_run_id"] == "results"
    assert result.final_output[end:] == f"{told['workspace_path']}|{test_id}|{json.dumps({'a': 1})}"


@pytest.mark.parametrize("stage", ["before_all", "before_each"])
def test_a_hook_that_fails_before_the_agent_is_an_error(tmp_path, stage):
    hooks = {stage: hook("echo no disk >&2; exit 3")}
    (result,) = ran(tmp_path, {"e/EVAL.yaml": suite_text(workspace={"hooks": hooks})}).results
    assert (str(result.status), result.judgement.failure_class.id) == ("errored", "workspace-bootstrap")
    assert result.judgement.failure.message == f"{stage}: sh: exit code 3\nno disk"


@pytest.mark.parametrize("stage", ["after_each", "after_all"])
def test_the_output_of_a_hook_that_fails_afterwards_is_no_workflow_command(tmp_path, stage):
    fails = hook(r"printf 'gone\n::add-mask::e\n##[group]x\n\033[2J' >&2; exit 3")
    scratch(tmp_path, {"e/EVAL.yaml": suite_text(workspace={"hooks": {stage: fails}})})
    done = skillgym("run", cwd=tmp_path)
    assert f"e/EVAL.yaml: one [default]: {stage}: sh: exit code 3\ngone\n: :add-mask::e\n## [group]x\n" in done.err
    assert "\033" not in done.err


@pytest.mark.timed
def test_a_hook_that_does_not_end_is_ended(tmp_path):
    hooks = {"before_each": hook("sleep 30") | {"timeout_ms": 200}}
    (result,) = ran(tmp_path, {"e/EVAL.yaml": suite_text(workspace={"hooks": hooks})}).results
    assert result.judgement.failure.message == "before_each: sh: timed out after 0.2 s"


def test_what_hooks_write_is_no_work_of_the_agent(tmp_path):
    hooks = {
        "before_all": hook('echo a > "$SKILLGYM_WORKSPACE/all"'),
        "before_each": hook('echo a > "$SKILLGYM_WORKSPACE/each"'),
    }
    files = {"e/EVAL.yaml": suite_text(workspace={"hooks": hooks})}
    ran(tmp_path, files, cli("touch all each; echo b > own; echo ok > {OUTPUT_FILE}"))
    changes = json.loads((tmp_path / "results/EVAL/one/default/repeat-1/workspace.json").read_text())
    assert (changes["created"], changes["modified"]) == (["own"], [])


def test_no_hook_sees_a_secret(tmp_path):
    hooks = {"before_each": hook('echo "[$MY_TOKEN]" > "$SKILLGYM_WORKSPACE/seen"')}
    files = {
        "e/EVAL.yaml": suite_text(case(assertions=[grader('test "$(cat seen)" = "[]"')]), workspace={"hooks": hooks})
    }
    scratch(tmp_path, files)
    assert skillgym("run", cwd=tmp_path, MY_TOKEN="t-0123456789").code == 0


# --- what must not be read by agents ----------------------------------------------------------------


# --- dependencies -----------------------------------------------------------------------------------

FAILS = [{"type": "contains", "value": "never"}]


@pytest.mark.parametrize(
    ("on_failure", "status"),
    [
        pytest.param({}, "skipped", id="skip is the default"),
        pytest.param({"on_dependency_failure": "fail"}, "failed", id="fail"),
        pytest.param({"on_dependency_failure": "run"}, "passed", id="run"),
    ],
)
def test_what_depends_on_a_red_case(tmp_path, on_failure, status):
    files = {
        "e/EVAL.yaml": suite_text(case("b", depends_on=["a"], **on_failure), case("a", assertions=FAILS), case("c"))
    }
    report = ran(tmp_path, files, jobs=3)
    assert statuses(report) == {"b@default": status, "a@default": "failed", "c@default": "passed"}
    if status != "passed":
        assert report.results[0].judgement.reason == "it depends on a, which is failed"


def test_a_chain_is_run_in_order_whatever_the_order_of_the_file(tmp_path):
    log = tmp_path / "log"
    cases = (case("c", depends_on=["b"]), case("b", depends_on=["a"]), case("a"))
    report = ran(
        tmp_path / "repo",
        {"e/EVAL.yaml": suite_text(*cases)},
        cli(f"echo {{EVAL_ID}} >> {log}; echo ok > {{OUTPUT_FILE}}"),
        jobs=3,
    )
    assert set(statuses(report).values()) == {"passed"}
    assert log.read_text().split() == ["a", "b", "c"]


def test_a_dependency_that_is_not_selected_does_not_count(tmp_path):
    files = {"e/EVAL.yaml": suite_text(case("a", assertions=FAILS), case("b", depends_on=["a"]))}
    assert statuses(ran(tmp_path, files, case="b")) == {"b@default": "passed"}


# --- verdicts ---------------------------------------------------------------------------------------


TURNS = """echo x >> {log}; printf %s {{PROMPT}} | cut -d, -f$(wc -l < {log}) > {{OUTPUT_FILE}}"""
"""Answers with the next of the words of the prompt, each time."""


@pytest.mark.parametrize(
    ("strategy", "words", "status", "score"),
    [
        pytest.param("mean", "ab,a,a", "failed", 2 / 3, id="the mean is not enough"),
        pytest.param("confidence_interval", "ab,ab,a", "failed", 0.1162, id="it is not certain"),
    ],
)
def test_the_score_of_trials_decides(tmp_path, strategy, words, status, score):
    test = case(input=words, assertions=[{"type": "contains", "value": letter} for letter in "ab"])
    files = {"e/EVAL.yaml": suite_text(test, execution={"trials": {"count": 3, "strategy": strategy}})}
    report = ran(tmp_path / "repo", files, cli(TURNS.format(log=tmp_path / "log")))
    (result,) = report.results
    assert (str(result.status), result.score) == (status, pytest.approx(score, abs=1e-4))
    assert [attempt.score for attempt in result.attempts] == [len(word) / 2 for word in words.split(",")]
    assert report.decision.exit_code == (status == "failed")


def test_after_an_error_a_suite_may_end(tmp_path):
    command = "case {PROMPT} in broken) exit 3;; esac; echo ok > {OUTPUT_FILE}"
    tests = (case("a"), case("b", input="broken"), case("c"), case("d"))
    files = {"e/EVAL.yaml": suite_text(*tests, execution={"fail_on_error": True}), "f/EVAL.yaml": suite_text(case("e"))}
    report = ran(tmp_path, files, cli(command), jobs=1)
    assert list(statuses(report).values()) == ["passed", "errored", "skipped", "skipped", "passed"]
    judgement = report.results[2].judgement
    assert (judgement.origin, judgement.reason) == (
        "fail-on-error",
        "b could not be judged, and fail_on_error of the suite is set",
    )
    assert report.decision.exit_code == 3


def test_a_target_that_is_not_healthy_runs_nothing(tmp_path):
    log, check = tmp_path / "log", {"command": "echo it is asleep >&2; test -f awake"}
    files = {"e/EVAL.yaml": suite_text(case("a"), case("b"))}
    target = cli(f"echo x >> {log}; {ANSWER}", healthcheck=check)
    report = ran(tmp_path / "asleep", files, target)
    assert list(statuses(report).values()) == ["errored", "errored"]
    first, second = (result.judgement.failure.message for result in report.results)
    assert first == "the healthcheck failed: it is asleep"
    assert second == "not started, since the runner failed before: the healthcheck failed: it is asleep"
    assert not log.exists()
    assert set(statuses(ran(tmp_path / "awake", files | {"e/awake": "x"}, target)).values()) == {"passed"}
    assert log.read_text().split() == ["x", "x"]


def test_of_the_output_of_a_batch_the_line_of_the_test_counts(tmp_path):
    lines = [{"id": "a", "text": "ok"}, {"id": "b", "output": [{"role": "assistant", "content": "no"}]}, {"id": "d"}]
    files = {
        "e/EVAL.yaml": suite_text(*map(case, "abcd")),
        "answers.jsonl": "\n".join(map(json.dumps, lines)),
    }
    target = cli(f"cp {tmp_path}/repo/answers.jsonl {{OUTPUT_FILE}}", provider_batching=True)
    report = ran(tmp_path / "repo", files, target)
    assert list(statuses(report).values()) == ["passed", "failed", "errored", "failed"]
    assert report.results[2].judgement.failure.message == "the command wrote {OUTPUT_FILE} without a line of the test c"


def test_a_suite_stops_when_its_budget_is_spent(tmp_path):
    command = """echo '{"text": "ok", "cost_usd": 0.6}' > {OUTPUT_FILE}"""
    files = {"e/EVAL.yaml": suite_text(case("a"), case("b"), case("c"), execution={"budget_usd": 1})}
    report = ran(tmp_path, files, cli(command))
    assert statuses(report) == {"a@default": "passed", "b@default": "passed", "c@default": "skipped"}
    assert report.results[2].judgement.reason == "the suite's budget is spent: $1.20 of $1.00"


def test_a_run_on_a_suite_s_own_runners_can_be_judged_again(tmp_path):
    scratch(tmp_path, VARIANTS, cli("cat v > {OUTPUT_FILE}"))
    git_in(tmp_path, "init", "--quiet")
    assert skillgym("run", "--output", "first", cwd=tmp_path).code == 1
    written(
        tmp_path,
        {
            "e/EVAL.yaml": VARIANTS["e/EVAL.yaml"].replace(
                '"equals", "value": "superpowers"', '"contains", "value": "e"'
            )
        },
    )
    done = skillgym("rejudge", "first", "--output", "second", cwd=tmp_path)
    results = json.loads((tmp_path / "second/results.json").read_text())["suites"][0]["results"]
    assert (done.code, [(one["runnerId"], one["status"]) for one in results]) == (
        0,
        [("agent-baseline", "passed"), ("agent-superpowers", "passed")],
    )
