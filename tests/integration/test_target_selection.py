"""``--runner`` and the targets of AgentV suites, for every command that plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from agentv_files import case, suite_text
from scratch import repository, skillgym

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = {"runners": {"mine": {"agent": {"type": "command", "command": "echo ok"}}}}
TARGETS = [
    {"name": name, "provider": "cli", "command": f"echo ok {name} > {{OUTPUT_FILE}}"} for name in ("cheap", "dear")
]
COMMANDS = [("check",), ("run", "--quiet")]


def scratch(root: Path, targets: list[dict[str, Any]] | None = None, **execution: Any) -> Path:
    """Two suites that name the target ``gone``."""
    text = suite_text(case("a"), execution={"target": "gone"} | execution)
    files: dict[str, Any] = {
        "bench/core.json": None,
        "bench/a.eval.yaml": text,
        "bench/b.eval.yaml": text,
        "skillgym.config.yaml": json.dumps(CONFIG),
    }
    return repository(root, files | ({"targets.yaml": json.dumps({"targets": targets})} if targets else {}))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0] + words[-1])
def test_a_target_that_is_replaced_need_not_be_there(tmp_path, command):
    ran = skillgym(*command, "--runner", "mine", cwd=scratch(tmp_path))
    assert (ran.code, "gone" in ran.out + ran.err) == (0, False), ran.err


def test_one_that_is_not_replaced_is_an_error_at_its_place_in_each_suite(tmp_path):
    ran = skillgym("check", cwd=scratch(tmp_path))
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert (ran.code, [line.count("no target is called 'gone'") for line in errors]) == (2, [1, 1])
    assert [line.split(":")[1] for line in errors] == [" bench/a.eval.yaml", " bench/b.eval.yaml"]


def selected(root: Path, *names: str) -> list[str]:
    ran = skillgym("list", "--json", *(word for name in names for word in ("--runner", name)), cwd=root)
    assert ran.code == 0, ran.err
    return [row["runner"] for row in json.loads(ran.out)["executions"] if row["suite"] == "bench/a.eval.yaml"]


def test_a_target_that_no_suite_names_is_chosen_by_its_name(tmp_path):
    root = scratch(tmp_path, TARGETS)
    assert selected(root, "cheap") == ["cheap"]
    assert selected(root, "cheap", "dear", "mine") == ["mine", "cheap", "dear"]
    ran = skillgym("run", "--runner", "dear", cwd=root)
    assert (ran.code, "All 2 results pass" in ran.err) == (0, True), ran.err


def test_a_pattern_chooses_no_target_that_is_not_named(tmp_path):
    ran = skillgym("check", "--runner", "chea*", cwd=scratch(tmp_path, TARGETS))
    assert (ran.code, "unknown runner 'chea*'" in ran.err) == (2, True)
    assert "cheap" in ran.err


def test_a_configured_runner_of_that_name_comes_first(tmp_path):
    root = scratch(tmp_path, [{"name": "mine", "provider": "nonsense"}])
    assert selected(root, "mine") == ["mine"]
    assert skillgym("run", "--quiet", "--runner", "mine", cwd=root).code == 0


def test_a_chosen_target_that_cannot_be_used_is_an_error(tmp_path):
    ran = skillgym("check", "--runner", "bad", cwd=scratch(tmp_path, [{"name": "bad", "provider": "nonsense"}]))
    assert ran.code == 2
    assert "targets.yaml:1:" in ran.err
    assert "the provider nonsense is not supported yet (suites bench/a.eval.yaml, bench/b.eval.yaml)" in ran.err
