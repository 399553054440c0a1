"""Real agents in containers, led by a scripted model on this machine, through the proxy of their network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agent_clis import CACHE, agent_cli
from agent_desk import KEY
from model_script import Say, Shell, Write
from model_server import ModelServer
from scratch import case, repository, skillgym, suite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IMAGE = "python:3.12-slim"


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer("0.0.0.0") as server:
        yield server


def seen_from_containers(url: str) -> str:
    """The address of a server of this machine, as containers call it."""
    return url.replace("127.0.0.1", "host.docker.internal")


def claude(folder: Path, models: ModelServer, url: str, **workspace: Any) -> tuple[dict[str, Any], Path]:
    """The result of a session of Claude Code in a container, and the folder of its artifacts."""
    agent_cli("claude-code")
    text = suite(
        case(expect=("file:os.txt contains 'bookworm'", "file:new.py exists", "test:python3 new.py"), timeout=240),
        workspace={"image": IMAGE, "limits": {"cpus": 2, "memory": "2GiB", "pids": 512}, **workspace},
    )
    runners = json.dumps({"runners": {"claude": {"agent": {"type": "claude-code", "version": "2.1.332"}}}})
    root = repository(folder, {"bench/core.json": text, "skillgym.config.yaml": runners}, git=True)
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url, "SKILLGYM_AGENTS_DIR": str(CACHE)}
    done = skillgym("run", "--output", "results", "--no-html", cwd=root, limit=500, **env)
    assert (root / "results" / "results.json").exists(), done.out + done.err
    (of_suite,) = json.loads((root / "results" / "results.json").read_text())["suites"]
    (result,) = of_suite["results"]
    return result, root / "results" / result["artifactDir"]


def test_claude_code_is_brought_into_the_image_and_reaches_its_models_service_alone(tmp_path, models):
    reach = "python3 -c 'import urllib.request as r; r.urlopen(\"http://example.com\", timeout=5)' 2>&1 | tail -n 1"
    script = (
        Shell("cat /etc/os-release > os.txt; ls / > root.txt"),
        Write("new.py", "print(1)\n"),
        Shell(reach),
        Say("done"),
    )
    result, folder = claude(tmp_path, models, seen_from_containers(models.script(*script)))
    assert result["status"] == "passed", json.dumps(result)[:4000]
    assert (result["version"], result["usage"]["inputTokens"] > 0) == ("2.1.332", True)
    assert "example.com" in (folder / "network.json").read_text()
    commands = json.loads((folder / "report.json").read_text())["events"]
    assert any("403" in json.dumps(event) for event in commands)


def test_without_a_network_the_session_could_not_be_judged_and_the_key_is_in_no_artifact(tmp_path, models):
    url = seen_from_containers(models.script(Say("done")))
    result, folder = claude(tmp_path, models, url, network="none")
    assert result["status"] == "errored", json.dumps(result)[:4000]
    texts = {file.name: file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file()}
    assert texts
    assert [name for name, text in texts.items() if KEY in text] == []


def test_opencode_in_an_image_without_ripgrep_is_told_before_its_first_session(tmp_path, models):
    text = suite(case(expect=("file:a exists",)), workspace={"image": IMAGE, "network": "model-only"})
    runners = json.dumps({"runners": {"oc": {"agent": {"type": "opencode", "model": "openai/gpt-5-mini"}}}})
    root = repository(tmp_path, {"bench/core.json": text, "skillgym.config.yaml": runners}, git=True)
    asked = len(models.requests)
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{seen_from_containers(models.script(Say('done')))}/v1"}
    done = skillgym("run", "--output", "results", "--no-html", cwd=root, limit=500, **env)
    assert done.code == 3
    (of_suite,) = json.loads((root / "results" / "results.json").read_text())["suites"]
    (result,) = of_suite["results"]
    assert (result["failureClass"]["id"], result["attempts"]) == ("agent-missing", [])
    assert result["error"]["message"].startswith(f"the image {IMAGE} does not have rg, which opencode needs; ")
    assert len(models.requests) == asked
