"""Which variables sessions get for an account: whole families, to their own agent, and nothing of others."""

from __future__ import annotations

import pytest

from skillgym_action.agents import AGENTS
from skillgym_action.agents.families import FAMILIES, account
from skillgym_action.agents.model_hosts import model_hosts
from skillgym_action.model.session import AgentConfig
from skillgym_action.text.secret_forms import is_secret_name, secret_values

KEYS = {"ANTHROPIC_API_KEY": "k"}
BEDROCK = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "b"}
AMAZON = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
VERTEX = {
    "CLAUDE_CODE_USE_VERTEX": "true",
    "CLOUD_ML_REGION": "europe-west1",
    "ANTHROPIC_VERTEX_PROJECT_ID": "p",
    "GOOGLE_APPLICATION_CREDENTIALS": "/g.json",
    "VERTEX_REGION_CLAUDE_4_0_SONNET": "us-east5",
}
FOUNDRY = {"CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_RESOURCE": "r", "ANTHROPIC_FOUNDRY_API_KEY": "f"}
GATEWAY = {"ANTHROPIC_BASE_URL": "https://g.example", "ANTHROPIC_AUTH_TOKEN": "t"}
AZURE = {"AZURE_OPENAI_API_KEY": "z", "AZURE_OPENAI_BASE_URL": "https://r.openai.azure.com/openai/v1"}
GEMINI_VERTEX = {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_API_KEY": "g"}
# Set on the machine, and of no family that is used below.
OTHERS = {"AWS_PROFILE": "ci", "AWS_REGION": "us-east-1", "GOOGLE_CLOUD_QUOTA_PROJECT": "q", "GH_TOKEN": "g"}


def env_of(agent: str, environment: dict[str, str], own: dict[str, str] | None = None, asked=None):
    info = AGENTS[agent]
    return account(info.families, own or {}, environment, asked, several=info.provider is None)


@pytest.mark.parametrize(
    ("agent", "environment", "way", "family", "hosts"),
    [
        ("claude-code", KEYS, "key", "anthropic-key", ["api.anthropic.com"]),
        ("claude-code", {"CLAUDE_CODE_OAUTH_TOKEN": "o"}, "key", "anthropic-token", ["api.anthropic.com"]),
        ("claude-code", GATEWAY, "key", "anthropic-gateway", ["g.example"]),
        (
            "claude-code",
            BEDROCK | AMAZON,
            "cloud",
            "bedrock",
            ["bedrock.eu-west-1.amazonaws.com", "bedrock-runtime.eu-west-1.amazonaws.com"],
        ),
        (
            "claude-code",
            VERTEX,
            "cloud",
            "vertex",
            ["europe-west1-aiplatform.googleapis.com", "aiplatform.googleapis.com", "oauth2.googleapis.com"],
        ),
        ("claude-code", FOUNDRY, "cloud", "foundry", ["r.services.ai.azure.com"]),
        ("codex", {"OPENAI_API_KEY": "k", "CODEX_API_KEY": "c"}, "key", "openai", ["api.openai.com"]),
        ("codex", AZURE, "cloud", "azure-openai", ["r.openai.azure.com"]),
        ("gemini", {"GEMINI_API_KEY": "k"}, "key", "google", ["generativelanguage.googleapis.com"]),
        (
            "gemini",
            GEMINI_VERTEX,
            "cloud",
            "google-vertex",
            ["aiplatform.googleapis.com", "oauth2.googleapis.com"],
        ),
        ("qwen", {"OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}, "key", "openai", ["api.openai.com"]),
        ("cursor-agent", {"CURSOR_API_KEY": "k"}, "key", "cursor", ["api2.cursor.sh", "api5.cursor.sh"]),
        (
            "pi",
            {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "o"},
            "key",
            "anthropic-key+openai",
            ["api.anthropic.com", "api.openai.com"],
        ),
    ],
)
def test_a_family_is_passed_whole_and_nothing_else(agent, environment, way, family, hosts):
    found, env = env_of(agent, OTHERS | environment)
    assert (found.way, found.family, found.problem) == (way, family, None)
    assert env == environment
    assert model_hosts(AgentConfig(type=agent, env=env)) == tuple(hosts)


@pytest.mark.parametrize("agent", FAMILIES)
def test_without_any_family_no_variable_is_passed(agent):
    found, env = env_of(agent, OTHERS | AMAZON | {"GOOGLE_APPLICATION_CREDENTIALS": "/g.json", "GOOGLE_API_KEY": "g"})
    assert (found.way, found.problem, env) == (None, None, {})


@pytest.mark.parametrize("off", ["", "0", "false", "False"])
def test_a_switch_that_is_off_is_none(off):
    found, env = env_of("claude-code", BEDROCK | KEYS | {"CLAUDE_CODE_USE_BEDROCK": off})
    assert (found.family, env) == ("anthropic-key", KEYS)


def test_a_switch_wins_over_a_key_which_is_named():
    found, env = env_of("claude-code", BEDROCK | KEYS)
    assert (found.family, found.left_out, env) == ("bedrock", ("ANTHROPIC_API_KEY",), BEDROCK)


def test_a_gateway_does_not_get_the_real_key_beside_its_token():
    assert env_of("claude-code", GATEWAY | KEYS)[1] == GATEWAY
    named = {"ANTHROPIC_AUTH_TOKEN": "t2"}
    url = {"ANTHROPIC_BASE_URL": "https://g.example"}
    assert env_of("claude-code", url | KEYS, named)[1] == url | named
    assert env_of("claude-code", url | KEYS)[1] == url | KEYS
    assert env_of("claude-code", GATEWAY, KEYS)[1] == url | KEYS


def test_a_subscription_s_token_does_not_go_to_another_address():
    assert env_of("claude-code", {"ANTHROPIC_BASE_URL": "u", "CLAUDE_CODE_OAUTH_TOKEN": "o"})[1] == {
        "ANTHROPIC_BASE_URL": "u"
    }


@pytest.mark.parametrize(
    ("agent", "environment", "told"),
    [
        (
            "claude-code",
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r", "AWS_PROFILE": "p"} | KEYS,
            "CLAUDE_CODE_USE_BEDROCK is set, but neither AWS_BEARER_TOKEN_BEDROCK nor AWS_ACCESS_KEY_ID with ",
        ),
        (
            "claude-code",
            {name: value for name, value in VERTEX.items() if name != "CLOUD_ML_REGION"},
            "CLAUDE_CODE_USE_VERTEX is set, but not CLOUD_ML_REGION; the login of gcloud is not passed on: ",
        ),
        ("codex", {"AZURE_OPENAI_API_KEY": "z"}, "AZURE_OPENAI_API_KEY is set, but not AZURE_OPENAI_BASE_URL; "),
        ("copilot", {"COPILOT_PROVIDER_API_KEY": "k"}, "COPILOT_PROVIDER_API_KEY is set, but not "),
    ],
)
def test_half_a_family_says_what_is_missing(agent, environment, told):
    found, env = env_of(agent, environment)
    assert (found.way, env) == (None, {})
    assert str(found.problem).startswith(told)


def test_what_the_runner_names_decides():
    assert env_of("claude-code", BEDROCK, KEYS)[1] == KEYS
    token, url = {"CLAUDE_CODE_OAUTH_TOKEN": "o"}, {"ANTHROPIC_BASE_URL": "https://g.example"}
    for environment in (KEYS, url, KEYS | url, GATEWAY | KEYS):
        found, env = env_of("claude-code", environment, token)
        assert (found.family, found.billing, env) == ("anthropic-token", "plan", token)
    assert env_of("claude-code", url | KEYS, token)[0].left_out == ("ANTHROPIC_API_KEY",)
    assert env_of("codex", {"OPENAI_API_KEY": "k"}, AZURE)[1] == AZURE
    assert env_of("copilot", {"COPILOT_GITHUB_TOKEN": "t"}, {"COPILOT_PROVIDER_BASE_URL": "u"})[0].family == (
        "copilot-provider"
    )


def test_half_a_family_of_the_runner_is_an_error_unless_it_names_another_source_of_the_cloud():
    half = {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "r"}
    found, env = env_of("claude-code", KEYS, half)
    assert (found.way, env) == (None, half)
    assert str(found.problem).startswith("CLAUDE_CODE_USE_BEDROCK is set, but neither AWS_BEARER_TOKEN_BEDROCK nor ")
    found, env = env_of("claude-code", KEYS, half | {"AWS_PROFILE": "p"})
    assert (found.family, found.problem, env) == ("bedrock", None, half | {"AWS_PROFILE": "p"})
    found, _ = env_of("codex", {"OPENAI_API_KEY": "k"}, {"AZURE_OPENAI_API_KEY": "z"})
    assert str(found.problem).startswith("AZURE_OPENAI_API_KEY is set, but not AZURE_OPENAI_BASE_URL")


@pytest.mark.parametrize(
    ("asked", "family", "env"),
    [("key", "anthropic-key", KEYS), ("cloud", "bedrock", BEDROCK), ("login", None, {"OWN": "o"})],
)
def test_the_way_that_is_asked_for_is_the_only_one(asked, family, env):
    found, passed = env_of("claude-code", BEDROCK | KEYS, {"OWN": "o"}, asked)
    assert (found.family, passed) == (family, env | {"OWN": "o"})
    own = {"CLAUDE_CODE_USE_BEDROCK": "1"}
    assert ("CLAUDE_CODE_USE_BEDROCK" in env_of("claude-code", KEYS, own, asked)[1]) == (asked == "cloud")


@pytest.mark.parametrize("agent", FAMILIES)
def test_every_secret_of_the_table_is_redacted(agent):
    for family in FAMILIES[agent]:
        assert [name for name in family.secrets if not is_secret_name(name)] == []


def test_values_of_headers_are_secrets_of_their_own():
    lines = "X-Team: blue-team-7\nAuthorization: Bearer abc-123\r\nno header"
    assert set(secret_values({"ANTHROPIC_CUSTOM_HEADERS": lines})) == {lines, "blue-team-7", "Bearer abc-123"}
