"""Whole runs of the eval folders of a plugin: scores, runs, arms, scripts, and what agents get to see."""

from __future__ import annotations

import json

import pytest

from plugin_runs import MANIFEST, plugin, results, run_plugin, verdict
from scratch import config, skillgym
from scripted_http import ScriptedServer

WEIGHED = {
    "evals/one/graders/hello.md": "---\ntype: regex\nweight: 3\n---\nhello\n",
    "evals/one/graders/tool.md": "---\ntype: tool_used\ntool: Bash\n---\n",
}
SKILL_USED = WEIGHED | {"evals/one/graders/tool.md": "---\ntype: tool_used\ntool: Skill\n---\n"}
ONE_RUN = ("--repeat", "1")


def only(root):
    (result,) = results(root)
    return result


@pytest.mark.parametrize(
    ("threshold", "status", "code"),
    [
        pytest.param(("--threshold", "0.7"), "passed", 0, id="a threshold below the share"),
        pytest.param((), "failed", 1, id="without a threshold all have to hold"),
    ],
)
def test_the_score_is_the_weighted_share_of_graders_that_hold(tmp_path, threshold, status, code):
    ran = run_plugin(plugin(tmp_path, WEIGHED), "--arms", "with", *ONE_RUN, *threshold)
    result = only(tmp_path)
    assert (ran.code, result["status"], result["score"]) == (code, status, 0.75)


def test_an_indicator_is_shown_and_not_scored_where_there_are_two_arms(tmp_path):
    ran = run_plugin(plugin(tmp_path, SKILL_USED), *ONE_RUN)
    result = only(tmp_path)
    assert (ran.code, result["status"], result["score"], result["arm"]) == (0, "passed", 1.0, "with_skill")
    shown = {one["assertion"]: (one["passed"], one.get("advisory", False)) for one in result["outcomes"]}
    assert shown == {"hello": (True, False), "tool": (False, True)}


@pytest.mark.parametrize(
    ("files", "score"),
    [
        pytest.param(
            {"evals/one/graders/tool.md": "---\ntype: tool_used\ntool: Skill\narm: both\n---\n"},
            0.75,
            id="in both",
        ),
        pytest.param({"evals/one/graders/hello.md": None}, 0, id="nothing else is left"),
    ],
)
def test_an_indicator_is_scored_where_it_has_to_be(tmp_path, files, score):
    run_plugin(plugin(tmp_path, SKILL_USED | files), *ONE_RUN)
    assert only(tmp_path)["score"] == score


def test_the_mean_over_the_runs_decides_not_each_run(tmp_path):
    counter = tmp_path / "count"
    script = f"n=$(cat {counter} 2>/dev/null || echo 0); echo $((n + 1)) > {counter}; [ $n = 1 ] || touch made.txt"
    grader = {"evals/one/graders/hello.md": "---\ntype: file_exists\npath: made.txt\n---\n"}
    run_plugin(plugin(tmp_path / "r", grader), "--arms", "with", "--threshold", "0.6", script=script)
    result = only(tmp_path / "r")
    assert (result["status"], len(result["attempts"]), result["score"]) == ("passed", 3, pytest.approx(2 / 3, abs=1e-3))


def test_the_judge_is_asked_three_times(tmp_path):
    grader = {"evals/one/graders/hello.md": "---\ntype: llm\n---\nIt greets nicely.\n"}
    with ScriptedServer(*map(verdict, ("PASS", "FAIL", "PASS"))) as server:
        run_plugin(plugin(tmp_path, grader), "--arms", "with", *ONE_RUN, server=server)
    assert (only(tmp_path)["status"], len(server.requests)) == ("passed", 3)


def test_without_a_judge_no_session_starts(tmp_path):
    grader = {"evals/one/graders/hello.md": "---\ntype: llm\n---\nIt greets nicely.\n"}
    ran = run_plugin(plugin(tmp_path, grader), "--arms", "with")
    assert (ran.code, "1 question needs a judge: set run.judge" in ran.err) == (2, True)


def test_a_script_prepares_the_workspace_and_folders_are_read_only(tmp_path):
    files = {
        "evals/one/prompt.md": (
            "---\nenv: {EVAL_MODE: fast}\ncontext: {scaffold_script: ./setup.sh, add_dirs: [../../data]}\n---\nHi.\n"
        ),
        "evals/one/setup.sh": "echo prepared > prepared.txt\n",
        "data/table.csv": "1,2\n",
        "evals/one/graders/hello.md": "---\ntype: file_exists\npath: made.txt\n---\n",
    }
    script = (
        'cat prepared.txt data/table.csv > made.txt; echo "$EVAL_MODE" >> made.txt; ls -l data/table.csv >> made.txt'
    )
    run_plugin(plugin(tmp_path, files), "--arms", "with", *ONE_RUN, "--keep", "all", script=script, answer="bye")
    assert only(tmp_path)["status"] == "passed"


def test_agents_see_the_skills_and_no_evals_and_what_they_cannot_do_is_a_warning(tmp_path):
    files = {
        "evals/one/prompt.md": "---\nallowed_tools: [Read]\n---\nHi.\n",
        "evals/one/graders/hello.md": "---\ntype: regex\ntarget: {source: file, path: seen.txt}\n---\nSKILL\n",
        "commands/greet.md": "Greet.",
    }
    ran = run_plugin(plugin(tmp_path, files), *ONE_RUN, script="find . -type f -not -path './.git/*' > seen.txt")
    stored = json.loads((tmp_path / "out/results.json").read_text())["suites"][0]
    assert only(tmp_path)["status"] == "passed"
    assert [result["status"] for result in stored["otherArms"]] == ["failed"]
    seen = [path.read_text() for path in (tmp_path / "out").rglob("changes/seen.txt")]
    assert len(seen) == 2
    assert not any("evals" in text or "prompt.md" in text for text in seen)
    assert "command loads no plugins: it gets the skills of greeter and nothing else" in ran.err
    assert "command limits no tools and takes no addition to its system prompt" in ran.err


def test_claude_code_loads_a_copy_of_the_plugin_with_its_manifest_and_without_evals_and_servers(tmp_path):
    servers = {"mcpServers": {"docs": {"command": "docs-server"}}}
    shown = 'for one in "$@"; do case $one in --plugin-dir=*) cd "${one#*=}";; esac; done; find . -type f'
    done = json.dumps({"type": "result", "subtype": "success", "result": "hello"})
    script = f"({shown}; cat .claude-plugin/*) > seen.txt; printf '%s\\n' '{done}'"
    files = {
        MANIFEST: json.dumps({"name": "greeter", "commands": ["./more/wave.md"]} | servers),
        ".mcp.json": json.dumps(servers),
        "more/wave.md": "Wave.",
        "skillgym.config.yaml": config({"agent": {"type": "claude-code", "command": ["sh", "-c", script, "claude"]}}),
    }
    ran = skillgym("run", "--output", "out", "--arms", "with", *ONE_RUN, cwd=plugin(tmp_path, files, git=True))
    assert (ran.code, ran.err.count("the MCP servers of the plugin greeter are not started")) == (0, 1), ran.err
    (seen,) = (path.read_text() for path in (tmp_path / "out").rglob("changes/seen.txt"))
    found, _, manifest = seen.partition("{")
    assert {"./.claude-plugin/plugin.json", "./more/wave.md", "./skills/greeting/SKILL.md"} <= set(found.split())
    assert "evals" not in seen
    assert ".mcp.json" not in found
    assert json.loads("{" + manifest) == {"name": "greeter", "commands": ["./more/wave.md"]}


def test_list_shows_how_many_graders_need_a_judge(tmp_path):
    graders = {f"evals/one/graders/{name}.md": "---\ntype: llm\n---\nNice.\n" for name in "abc"}
    listed = skillgym("list", "--json", cwd=plugin(tmp_path, graders))
    (row, *_) = json.loads(listed.out)["executions"]
    assert (row["caseId"] if "caseId" in row else row["case"], row["assertions"], row["questions"]) == ("one", 4, 3)
