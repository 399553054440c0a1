"""Whole runs whose sessions had another environment than they were to have."""

from __future__ import annotations

import json

import pytest

from scratch import case, config, git_in, repository, runner, skillgym, suite

MODEL = "claude-opus-4-5"
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "done", "num_turns": 1}


def lines(model, servers=()):
    """What the agent prints."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "m1", "model": model, "role": "assistant", "content": [{"type": "text", "text": "done"}]}
    init = {"type": "system", "subtype": "init", "session_id": "s", "model": MODEL, "mcp_servers": list(servers)}
    said = {"type": "assistant", "session_id": "s", "parent_tool_use_id": None, "message": message | {"usage": usage}}
    return "\n".join(map(json.dumps, (init, said, {**RESULT, "session_id": "s", "usage": usage})))


def ran(tmp_path, printed, *cases, agent_exits=0, **env):
    agent = {"type": "claude-code", "command": ["./agent.sh"], "model": MODEL}
    files = {
        "bench/core.json": suite(*cases),
        "skillgym.config.yaml": config(claude={"agent": agent}),
        "agent.sh": f'#!/bin/sh\ncat >/dev/null; echo ok >out.txt; cat "$(dirname "$0")/printed"; exit {agent_exits}\n',
        "printed": printed,
    }
    repository(tmp_path, files, git=True)
    (tmp_path / "agent.sh").chmod(0o755)
    done = skillgym("run", "--output", "out", *env.pop("args", ()), cwd=tmp_path, **env)
    return done, json.loads((tmp_path / "out/results.json").read_text())


def test_another_model_is_a_warning_at_once_and_in_the_results(tmp_path):
    done, results = ran(tmp_path, lines("claude-haiku-4-5"), case("one"), case("two"), args=("--fail-on", "warnings"))
    sentence = "claude: another model answered: claude-haiku-4-5 instead of claude-opus-4-5"
    assert done.err.count(f"warning: {sentence}\n") == 1
    assert done.err.index(f"warning: {sentence}") < done.err.index("1/2")
    (warning,) = results["warnings"]
    assert warning["message"].startswith(f"{sentence} (2 executions); ")
    assert (done.code, results["run"]["decision"]["reasons"]) == (1, ["1 warning"])
    found = [result for part in results["suites"] for result in part["results"]]
    assert {result["model"] for result in found} == {"claude-haiku-4-5"}
    assert found[0]["findings"][0]["id"] == "other-model"


@pytest.mark.parametrize(("prompt", "status"), [("Do it.", "passed"), ("Ask the MCP server db.", "errored")])
def test_a_server_that_failed_makes_a_session_errored_if_it_is_named(tmp_path, prompt, status):
    printed = lines(MODEL, servers=[{"name": "db", "status": "failed"}])
    done, results = ran(tmp_path, printed, case("one", prompt=prompt))
    (result,) = results["suites"][0]["results"]
    assert (result["status"], len(result["attempts"])) == (status, 1)
    assert "claude: the MCP server db could not be used (1 execution)" in results["warnings"][0]["message"]
    if status == "errored":
        assert (done.code, result["failureClass"]["id"], result["failureOrigin"]) == (3, "mcp-server", "runner")


def test_check_and_run_warn_about_what_agents_will_lack(tmp_path):
    files = {
        "bench/core.json": suite(case("one")),
        "skillgym.config.yaml": config(runner()),
        ".claude/skills/reader/SKILL.md": "---\nname: reader\ndescription: Reads: all of it\n---\n",
    }
    root = repository(tmp_path, files, git=True)
    git_in(root, "update-index", "--add", "--cacheinfo", f"160000,{'01' * 20},lib")
    for command in (("check",), ("run", "--output", "out")):
        done = skillgym(*command, cwd=tmp_path)
        assert done.code == 0
        assert "agents find empty folders: 1 submodule (lib)" in done.err
        assert ".claude/skills/reader/SKILL.md:3:19: the frontmatter of the skill is not YAML" in done.err


def test_an_exit_code_after_the_result_is_a_finding_and_the_run_can_be_reported(tmp_path):
    done, results = ran(tmp_path, lines(MODEL), case("one"), agent_exits=1)
    (result,) = results["suites"][0]["results"]
    assert (done.code, result["status"], [found["id"] for found in result["findings"]]) == (0, "passed", ["exit"])
    assert "after the agent's result, exited with code 1; the result was judged" in results["warnings"][0]["message"]
    assert skillgym("report", "out", cwd=tmp_path).code == 0
