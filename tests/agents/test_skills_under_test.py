"""A skill under test on every real CLI: it is installed where the CLI finds it, and its load is seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import agent_cli, more_agents, search_path
from agent_desk import MODELS, wiring
from model_script import Say, Shell, Skill, Step, Together
from model_server import ModelServer
from scratch import repository, skillgym

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
EACH = [pytest.param(agent, marks=() if agent == "claude-code" else more_agents) for agent in MODELS]
NAME, DESCRIPTION = "polite-greeter", "Greets people politely. Use when somebody is to be greeted."
SECRET_OF_EVALS = "the agent must not read this query"
FILES: dict[str, str | bytes] = {
    "skills/folder/SKILL.md": f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n# Steps\n\nSay good day.\n",
    "skills/folder/evals/evals.json": json.dumps({"note": SECRET_OF_EVALS}),
}


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def run(
    folder: Path, models: ModelServer, agent: str, queries: list[dict[str, Any]], *script: Step
) -> tuple[list[dict[str, Any]], list[Any]]:
    """The results of trigger queries on an agent whose model does what the script says, and what its model was sent."""
    triggers = {"skills/folder/evals/trigger-evals.json": json.dumps(queries)}
    files = {"skillgym.config.yaml": None, "bench/core.json": None} | FILES | triggers
    root = repository(folder, files, git=True)
    runner = agent + (f":{MODELS[agent]}" if MODELS[agent] else "")
    env = wiring(agent, models.script(*script)) | {"PATH": search_path(agent_cli(agent).parent)}
    before = len(models.requests)
    ran = skillgym(
        "run", "skills", "--runner", runner, "--output", "results", "--timeout", "110", cwd=root, limit=550, **env
    )
    assert (root / "results/results.json").exists(), ran.err
    results = json.loads((root / "results" / "results.json").read_text())
    found = [result for suite in results["suites"] for result in suite["results"]]
    return found, [request.body for request in models.requests[before:]]


@pytest.mark.parametrize("agent", EACH)
def test_the_agent_is_offered_the_skill_and_its_load_is_seen(tmp_path, models, agent):
    queries = [{"query": "Greet Ada.", "should_trigger": True}]
    (result,), sent = run(tmp_path / "r", models, agent, queries, Skill(NAME), Shell("echo on"), Say("ready"))
    assert result["status"] == "passed", json.dumps(result, indent=1)[:4000]
    assert result["trigger"] == {"shouldTrigger": True, "loaded": 2, "judged": 2}
    asked = [json.dumps(body) for body in sent if "Greet Ada." in json.dumps(body)]
    assert asked
    assert all(NAME in text and DESCRIPTION in text for text in asked)
    assert not any(SECRET_OF_EVALS in text for text in asked)
    changed = json.loads((tmp_path / "r/results" / result["artifactDir"] / "workspace.json").read_text())
    assert [path for path in (*changed["created"], *changed["modified"]) if "SKILL" in path] == []


@pytest.mark.parametrize("agent", EACH)
def test_a_skill_that_is_only_listed_and_mentioned_is_not_loaded(tmp_path, models, agent):
    queries = [{"query": "Add two and two.", "should_trigger": False}]
    look = Shell("ls .agents/skills .claude/skills; true")
    script = (look, Say(f"I could use the skill {NAME}, but do not."))
    (result,), _ = run(tmp_path / "r", models, agent, queries, *script)
    assert result["status"] == "passed", json.dumps(result, indent=1)[:4000]
    assert result["trigger"] == {"shouldTrigger": False, "loaded": 0, "judged": 2}


@pytest.mark.parametrize("agent", EACH)
def test_a_session_without_a_load_ends_after_the_model_rounds(tmp_path, models, agent):
    queries = [{"query": "Loop.", "should_trigger": True}]
    steps = [Together((Say(f"Step {number}."), Shell(f"echo {number}"))) for number in range(30)]
    (result,), sent = run(tmp_path / "r", models, agent, queries, *steps)
    assert (result["status"], result["trigger"]["loaded"]) == ("failed", 0), json.dumps(result, indent=1)[:4000]
    assert "expected in at least 50%" in result["error"]["message"]
    assert len(sent) <= 2 * (5 + 5)
