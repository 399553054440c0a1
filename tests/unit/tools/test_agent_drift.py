"""How captures of a newer CLI differ from those of the verified one; real captures, changed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from agent_drift import differences, failures, published
from npm_registry import NpmRegistry, stand_in
from paths import CAPTURES
from skillgym_action.agents import AGENTS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow  # imports much

CODEX = CAPTURES / "codex"


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """Captures that are the same until a test changes them."""
    return shutil.copytree(CODEX, tmp_path / "codex")


def changed(file: Path, change: Callable[[str], str]) -> None:
    before = file.read_text()
    file.write_text(change(before))
    assert file.read_text() != before


def test_the_same_captures_differ_in_nothing(newer):
    assert differences("codex", newer, CODEX) == []


def test_ids_times_and_paths_are_no_difference(newer):
    for file in newer.glob("*/*.jsonl"):
        changed(file, lambda text: text.replace("01a22", "01b99").replace("2026-11-28", "2027-01-02"))
    assert differences("codex", newer, CODEX) == []


def test_a_line_that_the_adapter_does_not_know_is_one(newer):
    new = {"type": "novelty", "subtype": "x", "text": "private words"}
    changed(newer / "shell" / "stdout.jsonl", lambda text: f"{json.dumps(new)}\n{text}")
    assert differences("codex", newer, CODEX) == ["+ shell: line that the adapter does not know: novelty, x"]


def test_an_event_that_is_read_in_another_way_is_one(newer):
    changed(newer / "fail" / "stdout.jsonl", lambda text: text.replace('"exit_code":3', '"exitCode":3'))
    command = {"command": "ls /no/such/dir; exit 3", "exitCode": 3, "type": "command"}
    without = {name: value for name, value in command.items() if name != "exitCode"}
    assert differences("codex", newer, CODEX) == [f"- fail: {json.dumps(command)}", f"+ fail: {json.dumps(without)}"]


def test_another_end_is_one(newer):
    changed(newer / "err401" / "stdout.jsonl", lambda text: text.replace("401 Unauthorized: scripted 401", "oops"))
    assert differences("codex", newer, CODEX) == ["- err401: trouble auth", "+ err401: trouble runner-crash"]


def test_a_scenario_without_a_capture_is_one(newer):
    shutil.rmtree(newer / "skill")
    assert differences("codex", newer, CODEX) == ["- skill: nothing was recorded"]


def test_the_first_request_differs_by_model_size_and_tools(newer):
    request = json.loads((newer / "first-request.json").read_text())
    tools = {*request["tools"], "brand_new"} - {"view_image"}
    larger = {"model": "gpt-9", "characters": request["characters"] * 2, "tools": sorted(tools)}
    (newer / "first-request.json").write_text(json.dumps(larger))
    assert differences("codex", newer, CODEX) == [
        "- first request: model gpt-5.1-codex",
        "+ first request: model gpt-9",
        f"- first request: characters {request['characters']}",
        f"+ first request: characters {request['characters'] * 2}",
        "- first request: tool view_image",
        "+ first request: tool brand_new",
    ]


def test_a_few_characters_more_are_none(newer):
    request = json.loads((newer / "first-request.json").read_text())
    (newer / "first-request.json").write_text(json.dumps(request | {"characters": request["characters"] + 9}))
    assert differences("codex", newer, CODEX) == []


def test_npm_is_asked_for_the_newest_version(monkeypatch):
    package = stand_in("codex", "9.9.9", engines={"node": ">=16"}, deprecated="moved")
    plain = stand_in("gemini", "9.9.9")
    with NpmRegistry(package, plain, latest="9.9.9") as registry:
        for name, value in registry.settings.items():
            monkeypatch.setenv(name, value)
        assert published("codex") == {
            "package": "@openai/codex",
            "verified": AGENTS["codex"].version,
            "version": "9.9.9",
            "deprecated": "moved",
            "engines.node": ">=16",
        }
        assert published("gemini")["version"] == "9.9.9"
        assert "E404" in published("pi")["problem"]


def test_failed_tests_have_their_name_and_the_reason(tmp_path):
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b():\n    assert 1 == 2, 'why'\n")
    command = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--junitxml=tests.xml", "test_it.py")
    subprocess.run(command, cwd=tmp_path, check=False, capture_output=True)
    (failed,) = failures(tmp_path / "tests.xml")
    assert failed["name"] == "test_b"
    assert "why" in failed["message"]
