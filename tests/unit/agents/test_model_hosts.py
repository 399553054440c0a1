"""The hosts that an agent's container may connect to by default."""

from __future__ import annotations

import pytest

from skillgym_action.agents.model_hosts import model_hosts
from skillgym_action.model.containers import ContainerSpec, NetworkMode, NetworkPolicy
from skillgym_action.model.session import AgentConfig
from skillgym_action.workspaces.session_containers import network_of, required_helper
from table_rows import each_row


@pytest.mark.parametrize(
    ("agent", "env", "hosts"),
    [
        ("claude-code", {}, ("api.anthropic.com",)),
        ("claude-code", {"ANTHROPIC_API_KEY": "k"}, ("api.anthropic.com",)),
        ("claude-code", {"ANTHROPIC_BASE_URL": "http://models.example:8080/v1"}, ("models.example:8080",)),
        ("claude-code", {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "https://m.example/v1"}, ("m.example",)),
        ("claude-code", {"ANTHROPIC_BASE_URL": "http://m.example"}, ("m.example:80",)),
        ("pi", {"OPENAI_API_KEY": "k"}, ("api.openai.com",)),
        ("pi", {"OPENAI_API_KEY": "k", "GEMINI_API_KEY": "k"}, ("api.openai.com", "generativelanguage.googleapis.com")),
        ("command", {"OPENAI_API_KEY": "k"}, ("api.openai.com",)),
        ("command", {}, ()),
        ("command", {"OTHER": "https://example.com"}, ()),
        ("codex", {"OPENAI_BASE_URL": "not an address"}, ()),
    ],
)
def test_the_hosts_are_those_of_the_services_that_the_agent_has_keys_for(agent, env, hosts):
    assert model_hosts(AgentConfig(type=agent, env=env)) == hosts


def test_an_agent_without_a_known_service_has_no_network():
    spec = ContainerSpec(image="a", network=NetworkPolicy(mode=NetworkMode.MODEL_ONLY))
    assert network_of(spec, AgentConfig(type="command")) == NetworkPolicy(mode=NetworkMode.NONE)
    assert network_of(spec, AgentConfig(type="replay", env={"OPENAI_API_KEY": "k"})).mode is NetworkMode.NONE


def test_what_the_suite_says_of_the_network_stays():
    spec = ContainerSpec(image="a", network=NetworkPolicy(mode=NetworkMode.OPEN))
    assert network_of(spec, AgentConfig(type="claude-code")) == spec.network


@each_row(
    [
        ("no network", ("opencode", NetworkMode.NONE, (), "rg")),
        ("the model alone", ("opencode", NetworkMode.MODEL_ONLY, (), "rg")),
        ("hosts of the suite", ("opencode", NetworkMode.ALLOW_LIST, ("github.com",), None)),
        ("all", ("opencode", NetworkMode.OPEN, (), None)),
        ("another agent", ("pi", NetworkMode.NONE, (), None)),
    ]
)
def test_an_image_must_have_what_an_agent_cannot_download_in_its_network(row):
    agent, mode, hosts, helper = row
    spec = ContainerSpec(image="a", network=NetworkPolicy(mode=mode, hosts=hosts))
    assert required_helper(AgentConfig(type=agent), spec) == helper
