"""Whole runs of trigger queries: loads, runs that end once they decide, unknown loads, and what agents see."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING, Any

import pytest

from action_step import FORK, pull_request, step
from judged_runs import results
from scratch import config, repository, runner, skillgym

if TYPE_CHECKING:
    from pathlib import Path

SUITE = "a/evals/trigger-evals.json"
BASH = [{"type": "toolCall", "tool": "Bash"}, {"type": "command", "command": "ls .agents/skills", "exitCode": 0},
        {"type": "toolResult", "output": "b"}]  # fmt: skip
LOAD = [{"type": "toolCall", "tool": "Skill"}, {"type": "skillSignal", "skill": "b", "signal": "Skill tool"},
        {"type": "toolResult", "output": "# Steps"}]  # fmt: skip
OTHER = [{"type": "skillSignal", "skill": "other", "signal": "Skill tool"}]
MENTION = [{"type": "message", "role": "assistant", "text": "I am using the b skill"}]
ANSWER = {"type": "session", "finalOutput": "done"}
POSITIVE, NEGATIVE = {"query": "do b", "should_trigger": True}, {"query": "do c", "should_trigger": False}


def printing(*events: dict[str, Any]) -> str:
    lines = "\n".join(json.dumps(event) for event in events)
    return f"cat <<'END'\n{lines}\nEND\n"


def each_run(count: Path, *runs: list[dict[str, Any]]) -> str:
    """A shell line that prints other events in each of its sessions; the last ones in all that follow."""
    first = f"n=$(cat {count} 2>/dev/null || echo 0); echo $((n + 1)) > {count}\n"
    branches = "".join(f"{number})\n{printing(*events, ANSWER)};;\n" for number, events in enumerate(runs[:-1]))
    return f"{first}case $n in\n{branches}*)\n{printing(*runs[-1], ANSWER)};;\nesac\n"


def triggers(folder: Path, script: str, *queries: dict[str, Any], **more: Any) -> Path:
    """A repository with the skill ``b`` in the folder ``a``, its queries, and an agent that is a shell line."""
    files = {
        "bench/core.json": None,
        "a/SKILL.md": "---\nname: b\ndescription: Does b.\n---\nSteps\n",
        "a/evals/secret.md": "the answers\n",
        SUITE: json.dumps(list(queries)),
        "skillgym.config.yaml": config(runner(script, **({"output": "events"} | more))),
    }
    return repository(folder, files, git=True)  # type: ignore[arg-type]


def run(root: Path, *args: str, **env: str) -> list[dict[str, Any]]:
    ran = skillgym("run", "--output", "out", *args, cwd=root, **env)
    assert "Traceback" not in ran.err
    assert (root / "out/results.json").exists(), ran.err
    return results(root)


def counted(result: dict[str, Any]) -> tuple[str, int, int, int]:
    trigger = result["trigger"]
    return result["status"], trigger["loaded"], trigger["judged"], len(result["attempts"])


def test_a_query_passes_that_loads_the_skill_in_two_of_three_runs_after_another_tool(tmp_path):
    script = each_run(tmp_path / "n", BASH, [*BASH, *LOAD], [*BASH, *LOAD])
    (result,) = run(triggers(tmp_path / "r", script, POSITIVE))
    assert counted(result) == ("passed", 2, 3, 3)


def test_a_negative_query_fails_once_two_runs_have_loaded_the_skill(tmp_path):
    (result,) = run(triggers(tmp_path / "r", printing(*LOAD, ANSWER), NEGATIVE))
    assert counted(result) == ("failed", 2, 2, 2)
    assert result["error"]["message"].startswith("loaded in 2 of 2 runs; expected in less than 50%")


def test_two_runs_without_a_load_decide_too(tmp_path):
    queries = (POSITIVE, NEGATIVE)
    found = run(triggers(tmp_path / "r", printing(*BASH, *OTHER, *MENTION, ANSWER), *queries))
    assert [counted(result) for result in found] == [("failed", 0, 2, 2), ("passed", 0, 2, 2)]


@pytest.mark.parametrize(
    ("value", "statuses"),
    [
        pytest.param(
            {"should_trigger": ["do b"], "should_not_trigger": ["do c", {"query": "do d"}]},
            ["passed", "failed", "failed"],
            id="two lists",
        ),
        pytest.param(
            [{"query": "do b", "expected": "b"}, {"query": "do c", "expected": None}],
            ["passed", "failed"],
            id="null for no skill",
        ),
    ],
)
def test_lists_and_null_say_which_queries_are_negative(tmp_path, value, statuses):
    root = triggers(tmp_path / "r", printing(*LOAD, ANSWER))
    (root / SUITE).write_text(json.dumps(value))
    found = run(root)
    assert [one["status"] for one in found] == statuses
    assert {one["trigger"]["loaded"] for one in found} == {2}


def test_a_session_ends_once_the_skill_has_loaded(tmp_path):
    """Its program would go on for longer than the run may take."""
    root = triggers(tmp_path / "r", f"{printing(*LOAD)}sleep 900", POSITIVE)
    (result,) = run(root, "--timeout", "800")
    assert counted(result) == ("passed", 2, 2, 2)


def test_a_session_ends_after_the_model_rounds(tmp_path):
    step = 'for n in 1 2 3 4 5 6 7 8; do echo \'{"type": "step", "id": "\'$n\'"}\'; done; sleep 900'
    root = triggers(tmp_path / "r", step, NEGATIVE)
    (result,) = run(root, "--timeout", "800")
    assert counted(result) == ("passed", 0, 2, 2)


def test_the_number_of_model_rounds_is_configured(tmp_path):
    events = [{"type": "step", "id": str(number)} for number in range(1, 4)]
    root = triggers(tmp_path / "r", printing(*events, *LOAD, ANSWER), POSITIVE)
    (result,) = run(root)
    assert counted(result) == ("passed", 2, 2, 2)
    document = json.loads((root / "skillgym.config.yaml").read_text()) | {"skills": {"triggerRounds": 2}}
    (root / "skillgym.config.yaml").write_text(json.dumps(document))
    (result,) = run(root)
    assert counted(result) == ("failed", 0, 2, 2)


@pytest.mark.timed
def test_sessions_that_take_too_long_are_errored_not_without_a_load(tmp_path):
    (result,) = run(triggers(tmp_path / "r", "sleep 50", NEGATIVE), "--timeout", "1")
    assert counted(result) == ("errored", 0, 0, 3)
    assert result["failureClass"]["id"] == "timeout"


def test_one_judged_run_decides_nothing(tmp_path):
    wrong = [{"type": "error", "class": "content-policy", "message": "no"}]
    (result,) = run(triggers(tmp_path / "r", each_run(tmp_path / "n", LOAD, wrong), POSITIVE))
    assert counted(result) == ("errored", 1, 1, 3)


def test_errored_runs_do_not_count(tmp_path):
    wrong = [{"type": "error", "class": "content-policy", "message": "no"}]
    (result,) = run(triggers(tmp_path / "r", each_run(tmp_path / "n", LOAD, wrong, LOAD), POSITIVE))
    assert counted(result) == ("passed", 2, 2, 3)


def test_runs_and_threshold_are_those_of_the_file(tmp_path):
    root = triggers(tmp_path / "r", each_run(tmp_path / "n", LOAD, BASH, BASH, BASH))
    (root / SUITE).write_text(json.dumps({"runs": 4, "threshold": 0.25, "queries": [POSITIVE]}))
    (result,) = run(root)
    assert counted(result) == ("passed", 1, 2, 2)


def test_without_events_of_the_agent_a_query_is_errored(tmp_path):
    (result,) = run(triggers(tmp_path / "r", "echo I use the b skill", NEGATIVE, output="text"))
    assert result["status"] == "errored"
    assert "it is not known whether the skill b was loaded" in result["error"]["message"]


def test_rates_are_printed_and_stored(tmp_path):
    root = triggers(tmp_path / "r", printing(*LOAD, ANSWER), POSITIVE, NEGATIVE)
    ran = skillgym("run", "--output", "out", "--report", "summary=summary.md", cwd=root)
    line = f"Triggers of {SUITE} on sh: recall 100% [34, 100], precision 50% [15, 85], accuracy 50% [15, 85], over"
    assert line in ran.err
    summary = html.unescape((root / "summary.md").read_text()).replace("\xa0", " ")
    assert "recall 100% [34, 100]" in summary, summary
    (rates,) = json.loads((root / "out/results.json").read_text())["run"]["triggers"]
    assert (rates["suite"], rates["runnerId"], rates["queries"], rates["runs"]) == (SUITE, "sh", 2, 4)
    assert rates["recall"]["rate"] == 1.0
    assert round(rates["precision"]["low"], 2) == 0.15


def test_sessions_of_triggers_are_judged_again(tmp_path):
    root = triggers(tmp_path / "r", printing(*LOAD, ANSWER), POSITIVE, NEGATIVE)
    before = [counted(result) for result in run(root)]
    again = skillgym("rejudge", "out", "--output", "again", cwd=root)
    assert [counted(result) for result in results(root, "again")] == before, again.err


def test_a_run_is_resumed_with_its_runs_of_queries(tmp_path):
    root = triggers(tmp_path / "r", printing(*LOAD, ANSWER), POSITIVE, NEGATIVE)
    before = [counted(result) for result in run(root)]
    (root / "out/results.json").unlink()
    ran = skillgym("run", "--resume", "out", cwd=root)
    assert [counted(result) for result in results(root)] == before, ran.err


# --- what the agent sees ----------------------------------------------------------------------------


def test_the_agent_sees_the_skill_and_no_evals(tmp_path):
    listing = f"find . -path ./.git -prune -o -type f -print | sort > {tmp_path}/listing; "
    keep = f"echo $SKILLGYM_SKILL_DIR > {tmp_path}/dir; cat $SKILLGYM_SKILL_DIR/SKILL.md > {tmp_path}/skill; "
    root = triggers(tmp_path / "r", listing + keep + printing(ANSWER), NEGATIVE)
    (result,) = run(root)
    assert result["status"] == "passed"
    assert (tmp_path / "listing").read_text().split() == ["./.agents/skills/b/SKILL.md", "./.claude/skills/b/SKILL.md"]
    assert (tmp_path / "dir").read_text().strip().endswith("/workspace/.agents/skills/b")
    assert "name: b" in (tmp_path / "skill").read_text()


def test_the_repository_is_there_where_it_is_configured_with_neither_skill_nor_suite(tmp_path):
    listing = f"git ls-files | sort > {tmp_path}/listing; git status --porcelain > {tmp_path}/status; "
    root = triggers(tmp_path / "r", listing + printing(ANSWER), NEGATIVE)
    document = json.loads((root / "skillgym.config.yaml").read_text()) | {"skills": {"workspace": "repository"}}
    (root / "skillgym.config.yaml").write_text(json.dumps(document))
    (result,) = run(root)
    assert result["status"] == "passed"
    assert (tmp_path / "listing").read_text().split() == ["a/evals/secret.md", "skillgym.config.yaml"]
    assert (tmp_path / "status").read_text() == ""


def test_a_skill_that_cannot_be_installed_is_an_error_that_says_why(tmp_path):
    root = triggers(tmp_path / "r", printing(ANSWER), NEGATIVE)
    (root / "a/link.md").symlink_to("/etc/passwd")
    (result,) = run(root)
    assert (result["status"], result["failureClass"]["id"]) == ("errored", "workspace")
    assert "link.md is a symbolic link to /etc/passwd, which is not installed" in result["error"]["message"]


@pytest.mark.parametrize(("allowed", "status"), [("true", "skipped"), ("with-configuration", "passed")])
def test_the_skill_of_an_untrusted_commit_is_only_tested_where_that_is_allowed(tmp_path, allowed, status):
    """It instructs agents, as their configuration does."""
    root = triggers(tmp_path / "r", printing(*LOAD, ANSWER), POSITIVE)
    inputs = {"mode": "run", "allow-untrusted": allowed, "report-dir": "out"}
    found = step(root, None, inputs, event=("pull_request_target", pull_request(FORK)))
    assert (root / "out/results.json").exists(), found.said
    (result,) = results(root)
    assert result["status"] == status, result
    if status == "skipped":
        assert "the skill under test is of an untrusted commit" in result["error"]["message"]
        assert result["attempts"] == []


@pytest.mark.parametrize("named", ["--skill", "skills.path"])
def test_the_skill_can_be_named(tmp_path, named):
    root = triggers(tmp_path / "r", printing({**LOAD[1], "skill": "c"}, ANSWER), POSITIVE)
    (root / "c").mkdir()
    (root / "c/SKILL.md").write_text("---\nname: c\n---\n")
    if named == "skills.path":
        document = json.loads((root / "skillgym.config.yaml").read_text()) | {"skills": {"path": "c"}}
        (root / "skillgym.config.yaml").write_text(json.dumps(document))
    (result,) = run(root, *(("--skill", "c") if named == "--skill" else ()))
    assert counted(result) == ("passed", 2, 2, 2)


def test_a_configured_skill_is_a_folder_of_the_repository(tmp_path):
    root = triggers(tmp_path / "r", printing(ANSWER), POSITIVE)
    (root / "linked").symlink_to(tmp_path)
    document = json.loads((root / "skillgym.config.yaml").read_text()) | {"skills": {"path": "linked/x"}}
    (root / "skillgym.config.yaml").write_text(json.dumps(document))
    ran = skillgym("run", "--output", "out", cwd=root)
    assert ran.code == 2
    assert "skills.path: linked is a symbolic link" in ran.err
