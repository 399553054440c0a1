"""A plugin under test on the real Claude Code: loaded whole, and cases limit its tools and add to its prompt."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import claude_code
from agent_desk import wiring
from model_script import Say, Shell, Skill, Step
from model_server import ModelServer
from plugin_runs import MANIFEST, plugin
from scratch import skillgym

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
SECRET_OF_EVALS = "the agent must not read this"
GRADERS = f"""graders:
- {{name: loads, type: tool_used, tool: Skill, input_match: greeting}}
- {{name: says, type: regex, pattern: "^Good day$"}}
- {{name: order, type: tool_order, before: Skill, after: Bash}}
- {{name: never, type: regex, pattern: "{SECRET_OF_EVALS}", match: not_contains, target: trace}}
"""


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def server(folder: Path, name: str) -> dict[str, Any]:
    """The configuration of an MCP server, which creates a file when it is started."""
    return {"mcpServers": {name: {"command": "sh", "args": ["-c", f"echo > {folder.with_name(name)}; exec cat"]}}}


def run(
    folder: Path,
    models: ModelServer,
    frontmatter: str,
    *script: Step,
    arms: str = "with",
    configured: dict[str, Any] | None = None,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The results of one case with each arm, and what the model was sent.

    The plugin has MCP servers, and so has the folder ``arms/servers``, which an arm may name.
    """
    files = {
        "skillgym.config.yaml": json.dumps({"arms": configured} if configured else {}),
        MANIFEST: json.dumps({"name": "greeter", "commands": ["./more/wave.md"]} | server(folder, "in-manifest")),
        ".mcp.json": json.dumps(server(folder, "in-file")),
        "arms/servers/.mcp.json": json.dumps(server(folder, "of-arm")),
        "evals/one/prompt.md": f"---\nruns: 1\n{frontmatter}---\nGreet Ada.\n",
        "evals/one/graders/hello.md": None,
        "more/wave.md": "---\ndescription: Waves at people\n---\nWave.\n",
    }
    root = plugin(folder, files, git=True)
    env = wiring("claude-code", models.script(*script)) | {"PATH": f"{claude_code().parent}:/usr/bin:/bin"}
    before = len(models.requests)
    options = ("--runner", "claude-code", "--output", "out", "--arms", arms)
    ran = skillgym("run", *options, cwd=root, **env)
    assert "Traceback" not in ran.err
    stored = json.loads((root / "out/results.json").read_text())["suites"][0]
    results = {"with": stored["results"][0]} | {result["arm"]: result for result in stored.get("otherArms", [])}
    return results, [request.body for request in models.requests[before:]]


def test_the_whole_plugin_is_loaded_and_its_evals_are_not(tmp_path, models):
    script = (Skill("greeter:greeting"), Shell("find . -type f; grep -r 'must not' . || true"), Say("Good day"))
    results, sent = run(tmp_path / "r", models, GRADERS, *script)
    result = results["with"]
    assert (result["status"], result["score"]) == ("passed", 1.0), json.dumps(result, indent=1)[:4000]
    everything = json.dumps(sent)
    assert "greeter:greeting" in everything
    assert "greeter:wave" in everything
    assert SECRET_OF_EVALS not in everything
    changed = json.loads((tmp_path / "r/out" / result["artifactDir"] / "workspace.json").read_text())
    assert (changed["created"], changed["modified"]) == ([], [])


def test_the_servers_of_a_plugin_are_not_started_and_those_of_an_arm_are(tmp_path, models):
    arms = {"servers": {"files": "arms/servers"}, "plain": {}}
    begun = f"for n in $(seq 900); do [ -e {tmp_path}/of-arm ] && break; sleep 0.1; done; sleep 1"
    script = (Skill("greeter:greeting"), Shell(begun), Say("Good day"))
    results, sent = run(tmp_path / "r", models, GRADERS, *script, arms="servers", configured=arms)
    assert results["with"]["status"] == "passed", json.dumps(results["with"], indent=1)[:4000]
    assert "greeter:wave" in json.dumps(sent)
    started = [name for name in ("in-manifest", "in-file", "of-arm") if (tmp_path / name).exists()]
    assert started == ["of-arm"]


def test_the_arm_without_the_plugin_has_no_trace_of_it(tmp_path, models):
    results, sent = run(tmp_path / "r", models, GRADERS, Say("Good day"), arms="without")
    assert results["with"]["arm"] == "without_skill"
    assert "greeter" not in json.dumps(sent)
    assert "greeting" not in json.dumps(sent)


def test_a_case_limits_the_tools_and_adds_to_the_system_prompt(tmp_path, models):
    frontmatter = (
        "allowed_tools: [Read]\ndisallowed_tools: [WebFetch]\nappend_system_prompt: Be as brief as Hemingway.\n"
        "graders:\n- {name: none, type: file_exists, path: made.txt, exists: false}\n"
    )
    results, sent = run(tmp_path / "r", models, frontmatter, Shell("echo x > made.txt"), Say("Good day"))
    assert results["with"]["status"] == "passed", json.dumps(results["with"], indent=1)[:4000]
    assert "Be as brief as Hemingway." in json.dumps(sent[0]["system"])
    main = next(body for body in sent if "Greet Ada." in json.dumps(body))
    assert "WebFetch" not in [tool["name"] for tool in main["tools"]]
    assert "Read" in [tool["name"] for tool in main["tools"]]
