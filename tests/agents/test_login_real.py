"""The real Claude Code with the login of its user, and with variables of clouds: what it sends, and what is left."""

from __future__ import annotations

import json
import os
import time
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import agent_cli, claude_code, more_agents
from model_script import Say
from model_server import ModelServer
from scratch import Ran, config, repository, skillgym, suite
from vendor_services import VendorServices

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    with ModelServer() as server:
        yield server.script(Say("Done."))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "home" / ".claude").mkdir(parents=True)
    (tmp_path / "home" / ".claude" / "CLAUDE.md").write_text("Of the user.\n")
    (tmp_path / "home" / ".claude" / "settings.json").write_text('{"env": {"FROM_USER": "1"}}\n')
    cases = suite({"id": "one", "prompt": "p", "expect": ["no-file:nothing"]})
    claude = {"agent": {"type": "claude-code", "model": "claude-sonnet-4-6"}}
    return repository(tmp_path / "root", {"bench/core.json": cases, "skillgym.config.yaml": config(claude=claude)})


def run(root: Path, vendors: VendorServices, *options: str, **env: str) -> tuple[Ran, dict[str, Any]]:
    path = f"{claude_code().parent}{os.pathsep}{os.environ['PATH']}"
    more = {"HOME": str(root.parent / "home"), "PATH": path, **vendors.environment} | env
    ran = skillgym("run", "--output", "results", *options, cwd=root, limit=170, **more)
    return ran, json.loads((root / "results" / "results.json").read_text())


def content(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def test_parallel_sessions_refresh_an_expired_login_once_where_it_is(root, model):
    home = root.parent / "home"
    with VendorServices(root.parent, model) as vendors:
        store = home / ".claude" / ".credentials.json"
        store.write_text(vendors.login(time.time() - 3600))
        store.chmod(0o600)
        before = content(home)
        ran, found = run(root, vendors, "--repeat", "4", "--jobs", "4")
        assert ran.code == 0, ran.err
        assert vendors.refreshes == 1
        assert found["runners"][0]["auth"]["way"] == "login"
        assert json.loads(store.read_text())["claudeAiOauth"]["refreshToken"].endswith(f"-{vendors.number}")
        again, _ = run(root, vendors)
        assert (again.code, vendors.refreshes) == (0, 1)
        assert {host for host, _, _ in vendors.seen} <= {"api.anthropic.com", "platform.claude.com"}
    changed = {name for name, text in content(home).items() if before.get(name) != text}
    assert {name for name in changed if not name.startswith(".cache/")} == {".claude/.credentials.json"}
    stored = b"".join(content(root / "results").values()) + (ran.out + ran.err).encode()
    assert b"scripted-access-token" not in stored
    assert b"scripted-refresh-token" not in stored


def test_a_refused_refresh_ends_the_runner_after_one_session(root, model):
    with VendorServices(root.parent, model, refuses=True) as vendors:
        (root.parent / "home" / ".claude" / ".credentials.json").write_text(vendors.login(time.time() - 3600))
        ran, found = run(root, vendors, "--repeat", "3")
        assert ran.code == 3
        assert [path for _, path, _ in vendors.seen if "/v1/messages" in path] == []
    (result,) = found["suites"][0]["results"]
    assert result["failureClass"]["id"] == "auth"
    assert len(result["attempts"]) <= 1


@pytest.mark.parametrize(
    ("env", "host", "header"),
    [
        pytest.param(
            {
                "CLAUDE_CODE_USE_FOUNDRY": "1",
                "ANTHROPIC_FOUNDRY_RESOURCE": "res",
                "ANTHROPIC_FOUNDRY_API_KEY": "key-of-foundry",
            },
            "res.services.ai.azure.com",
            ("x-api-key", "key-of-foundry"),
            id="foundry",
        ),
        pytest.param(
            {"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "token-of-bedrock"},
            "bedrock-runtime.eu-west-1.amazonaws.com",
            ("authorization", "Bearer token-of-bedrock"),
            id="bedrock",
        ),
        pytest.param(
            {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-scripted-access-token-0"},
            "api.anthropic.com",
            ("authorization", "Bearer sk-ant-oat01-scripted-access-token-0"),
            id="setup token",
        ),
        pytest.param(
            {"ANTHROPIC_BASE_URL": "https://gateway.example", "ANTHROPIC_AUTH_TOKEN": "token-of-gateway"},
            "gateway.example",
            ("authorization", "Bearer token-of-gateway"),
            id="gateway",
        ),
    ],
)
def test_a_family_reaches_its_host_with_its_header_and_no_other_key(root, model, env, host, header):
    others = {"ANTHROPIC_API_KEY": "sk-ant-key-of-the-caller-0123456789", "AWS_PROFILE": "ci"}
    if "CLAUDE_CODE_OAUTH_TOKEN" in env:
        del others["ANTHROPIC_API_KEY"]
    with VendorServices(root.parent, model) as vendors:
        run(root, vendors, **env, **others)
        calls = [headers for of, path, headers in vendors.seen if of == host and ("message" in path or "model" in path)]
        assert calls
        assert {call.get(header[0]) for call in calls} == {header[1]}
        assert [one for one in vendors.seen if "sk-ant-key-of-the-caller" in str(one)] == []


@more_agents
def test_codex_sends_the_access_token_and_refreshes_nothing(root, model):
    payload = urlsafe_b64encode(json.dumps({"exp": int(time.time()) + 36_000}).encode()).decode().rstrip("=")
    access = f"eyJhbGciOiJub25lIn0.{payload}.c2lnbmVk"
    tokens = {"id_token": access, "access_token": access, "refresh_token": "refresh-of-codex", "account_id": "acc-1"}
    store = root.parent / "home" / ".codex"
    store.mkdir()
    (store / "auth.json").write_text(json.dumps({"auth_mode": "chatgpt", "tokens": tokens}))
    before = content(store)
    path = f"{agent_cli('codex').parent}{os.pathsep}{os.environ['PATH']}"
    with VendorServices(root.parent, model) as vendors:
        trusted = vendors.environment["NODE_EXTRA_CA_CERTS"]
        run(root, vendors, "--runner", "codex:gpt-5", PATH=path, SSL_CERT_FILE=trusted)
        calls = [headers for host, path, headers in vendors.seen if host == "chatgpt.com" and "codex" in path]
        assert calls
        assert {call["authorization"] for call in calls} == {f"Bearer {access}"}
        assert {host for host, _, _ in vendors.seen if "auth.openai" in host} == set()
    assert content(store) == before
