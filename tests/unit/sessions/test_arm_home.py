"""Files of an arm that the tool writes, too: the settings of both, or a message."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from skillgym_action.model.arm import Arm, OverlayFile
from skillgym_action.sessions.run_session import HomeConflictError, with_arm_settings

HOME = Path("/home/x")


def joined(path: str, own: str, added: str) -> str:
    arm = Arm(name="with", home=(OverlayFile(path=path, content=added.encode()),))
    return with_arm_settings({HOME / path: own, HOME / "other": "o"}, HOME, arm)[HOME / path]


def test_json_has_the_settings_of_both():
    own = {"model": {"rounds": 3}, "plugin": ["a"]}
    added = {"mcpServers": {"x": {}}, "model": {"name": "m"}, "plugin": ["a", "b"]}
    assert json.loads(joined(".gemini/settings.json", json.dumps(own), json.dumps(added))) == {
        "model": {"rounds": 3, "name": "m"},
        "plugin": ["a", "b"],
        "mcpServers": {"x": {}},
    }


def test_toml_has_the_settings_of_both():
    own = 'provider = "p"\n[providers.p]\nname = "n"\n'
    added = 'personality = "none"\n# servers\n[mcp_servers.x]\ncommand = "c"\n'
    assert tomllib.loads(joined(".codex/config.toml", own, added)) == {
        "provider": "p",
        "personality": "none",
        "providers": {"p": {"name": "n"}},
        "mcp_servers": {"x": {"command": "c"}},
    }


@pytest.mark.parametrize(
    ("path", "own", "added", "why"),
    [
        ("a.json", '{"a": {"b": 1}}', '{"a": {"b": 2}}', "sets a.b, which skillgym-action sets itself"),
        ("a.json", "{}", "{", "cannot be joined"),
        ("a.json", "{}", "[]", "sets another value"),
        ("a.toml", "a = 1\n", "a = 1\n", "cannot be joined"),
        ("a.toml", "a = 1\n", "a = 2\n", "sets a, which skillgym-action sets itself"),
        ("a.toml", "a = 1\n", "a = \n", "cannot be joined"),
        ("a.toml", "a = 1\n[b]\nc = 2\n", 'x = """\n[\n"""\n', "a line that begins with [ is in a text"),
        ("a.json", "{}", "[" * 100_000, "cannot be joined"),
        ("a.js", "1", "2", "is written by skillgym-action itself; leave it out"),
    ],
)
def test_what_does_not_go_together_is_refused(path, own, added, why):
    with pytest.raises(HomeConflictError, match=r"arms\.with\.home: a\.") as refused:
        joined(path, own, added)
    assert why in str(refused.value)


def test_other_files_are_left_alone():
    arm = Arm(name="with", home=(OverlayFile(path="AGENTS.md", content=b"x"),))
    own = {HOME / "a.json": "{}"}
    assert with_arm_settings(own, HOME, arm) is own
    assert with_arm_settings(own, HOME, None) is own
