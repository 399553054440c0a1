"""Which agents cannot have an account, for each agent and way to get one; whole runs are in integration."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from skillgym_action.agents import AGENTS
from skillgym_action.agents.accounts import AgentAccounts, key_names, secrets_in
from skillgym_action.model.session import AgentConfig

if TYPE_CHECKING:
    from pathlib import Path

KEYED = [name for name, info in AGENTS.items() if info.package]
HERE = AgentAccounts({})
JOB = AgentAccounts({"GITHUB_ACTIONS": "true", "RUNNER_ENVIRONMENT": "github-hosted"})


@pytest.mark.parametrize("name", KEYED)
def test_an_agent_of_npm_names_its_variables(name, tmp_path):
    agent = AgentConfig(type=name, model="openai/m")
    missing = JOB.missing(agent, [tmp_path])
    assert missing is not None
    assert all(key in missing for key in key_names(name))
    assert f"env: {{{key_names(name)[0]}: ${{{{ secrets.{key_names(name)[0]} }}}}}}" in missing


@pytest.mark.parametrize("name", KEYED)
@pytest.mark.parametrize(
    "given",
    [
        {"env": {"AWS_PROFILE": "ci"}},
        {"command": ("./wrapper.sh",)},
        {"command_args": ("-c", "model_provider=local")},
    ],
    ids=lambda given: next(iter(given)),
)
def test_whoever_configures_more_may_have_another_way(name, given, tmp_path):
    assert JOB.missing(AgentConfig(type=name, model="openai/m", **given), [tmp_path]) is None


@pytest.mark.parametrize("name", ["command", "replay", "nop", "agentv-cli"])
def test_an_agent_without_keys_needs_none(name, tmp_path):
    assert JOB.missing(AgentConfig(type=name), [tmp_path]) is None


@pytest.mark.parametrize(
    ("model", "needs"),
    [(None, False), ("opencode/big-pickle", False), ("ollama/qwen3", False), ("anthropic/claude-sonnet-4-6", True)],
)
def test_opencode_has_models_without_a_key(model, needs, tmp_path):
    assert (HERE.missing(AgentConfig(type="opencode", model=model), [tmp_path]) is not None) == needs


@pytest.mark.parametrize(
    ("agent", "file", "content", "may"),
    [
        ("claude-code", ".claude/settings.json", '{"apiKeyHelper": "x"}', True),
        ("claude-code", ".claude/settings.local.json", '{"env": {}}', True),
        ("claude-code", ".claude/settings.json", '{"permissions": {}}', False),
        ("codex", ".codex/config.toml", 'model_provider = "local"', True),
        ("opencode", "opencode.json", '{"provider": {}}', True),
        ("gemini", ".env", "GEMINI_API_KEY=x", True),
        ("qwen", ".env", "OPENAI_API_KEY=x", True),
        ("qwen", "notes.md", "OPENAI_API_KEY=x", False),
    ],
)
def test_settings_of_the_repository_may_name_one(tmp_path, agent, file, content, may):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(content)
    config = AgentConfig(type=agent, model="openai/m")
    assert (HERE.missing(config, [tmp_path / "other", tmp_path]) is None) == may


def test_a_pipe_in_place_of_settings_is_not_waited_for(tmp_path: Path):
    (tmp_path / ".claude").mkdir()
    os.mkfifo(tmp_path / ".claude" / "settings.json")
    assert HERE.missing(AgentConfig(type="claude-code"), [tmp_path]) is not None


@pytest.mark.parametrize("value", ["true", "True", "TRUE"])
def test_in_a_job_secrets_are_the_remedy_however_it_is_written(value):
    assert "secrets.GEMINI_API_KEY" in AgentAccounts({"GITHUB_ACTIONS": value}).remedy("gemini")


def test_outside_of_a_job_nothing_is_said_of_secrets(tmp_path):
    told = HERE.missing(AgentConfig(type="gemini"), [tmp_path])
    assert told == (
        "gemini has no account to use: set GEMINI_API_KEY; for a cloud, set GOOGLE_GENAI_USE_VERTEXAI; "
        "see docs/how-to/log-in.md of skillgym-action"
    )


@pytest.mark.parametrize(
    ("agent", "begins"), [("claude-code", "run `claude` once"), ("codex", "run `codex login` once")]
)
def test_outside_of_a_job_the_first_remedy_is_to_log_in(agent, begins, tmp_path):
    told = str(HERE.missing(AgentConfig(type=agent), [tmp_path]))
    assert f"has no account to use: {begins} to log in, or set " in told
    assert "to log in" not in str(JOB.missing(AgentConfig(type=agent), [tmp_path]))


def test_secrets_of_a_file_with_credentials_are_found_in_lists_too():
    content = {
        "type": "external_account",
        "token_url": "https://sts.example",
        "credential_source": {"headers": {"Authorization": "Bearer abcdefgh"}},
        "profiles": [{"client_secret": "secret-in-a-list"}, {"keys": ["key-one-", "key-two-"]}],
    }
    assert secrets_in(json.dumps(content)) == ("Bearer abcdefgh", "secret-in-a-list", "key-one-", "key-two-")
    assert secrets_in("no JSON") == ("no JSON",)
