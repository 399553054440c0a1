"""One suite on every real CLI: the same verdict and the same events; one fault, and the class it is told as."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from agent_clis import ALWAYS, QUICK, agent_cli, more_agents, search_path
from agent_desk import MODELS, Desk, wiring
from agent_tables import AGENTS, AGREED, FAULTS
from model_script import Forever, Say, Shell, Skill, Together
from model_server import ModelServer
from scratch import repository, skillgym
from skillgym_action.model.verdicts import TROUBLES
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
EACH = [pytest.param(agent, marks=() if agent in ALWAYS else more_agents) for agent in AGENTS]
SKILL = "---\nname: greeter\ndescription: Greets people. Use when asked for a greeting.\n---\n\n# Greeter\n\nGreet.\n"
SUITE = """\
from skillgym_action import Suite, expect

suite = Suite("agreement")


@suite.case("greets", prompt="Greet, with the skill, and write made.txt.", timeout_ms=110_000)
def greets(report, ctx):
    expect.skills.has(report, "greeter", min_confidence="strong")
    expect.commands.includes(report, "echo greeted > greeted.txt")
    expect.output.includes(report, "skillgym ready")
"""
DATA = json.dumps(
    {
        "name": "agreement",
        "cases": [
            {
                "id": "greets",
                "prompt": "Greet.",
                "expect": ["file:greeted.txt contains 'greeted'", "file:made.txt contains 'made'"],
            }
        ],
    }
)


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


def environment_of(agent: str, base_url: str) -> dict[str, str]:
    return wiring(agent, base_url) | {"PATH": search_path(agent_cli(agent).parent)}


def run(root: Path, agent: str, env: dict[str, str], *options: str) -> list[dict[str, Any]]:
    """The results of all cases on one agent."""
    runner = agent + (f":{MODELS[agent]}" if MODELS[agent] else "")
    skillgym("run", "--runner", runner, "--output", "results", *options, cwd=root, limit=400, **env)
    results = json.loads((root / "results" / "results.json").read_text())
    return [result for suite in results["suites"] for result in suite["results"]]


@pytest.mark.parametrize("agent", EACH)
def test_one_suite_gives_the_same_verdict_and_events_on_every_agent(tmp_path, models, agent):
    files = {"skillgym.config.yaml": None, "bench/core.json": DATA, ".claude/skills/greeter/SKILL.md": SKILL,
             "bench/agreement_suite.py": SUITE}  # fmt: skip
    root = repository(tmp_path / "r", files, git=True)
    made = Shell("echo made > made.txt")  # tools that write files want absolute paths, which no script can know
    script = (Skill("greeter"), Shell("echo greeted > greeted.txt"), made, Say("skillgym ready"))
    results = run(root, agent, environment_of(agent, models.script(*script)), "--timeout", "110")
    assert [result["status"] for result in results] == ["passed", "passed"], json.dumps(results, indent=1)[:4000]
    for result in results:
        folder = root / "results" / result["artifactDir"]
        report = json.loads((folder / "report.json").read_text())
        changed = json.loads((folder / "workspace.json").read_text())
        (command,) = [
            event for event in report["events"] if event["type"] == "command" and "greeted" in event["command"]
        ]
        (skill,) = [
            found["skill"] for found in report["detectedSkills"] if found["confidence"] in ("strong", "explicit")
        ]
        (written,) = [path for path in changed["created"] if path == "made.txt"]
        assert {
            "skill": skill,
            "command": f"{command['command']}, exit code {command['exitCode']}",
            "file": f"{written} written",
            "final output": report["finalOutput"],
            "verdict": result["status"],
        } == AGREED


# --- faults -----------------------------------------------------------------------------------------


def failing(desk: Desk, base_url: str, **changes: Any) -> str:
    _, trouble = desk.report(desk.session(base_url, **changes))
    assert trouble is not None
    return trouble.kind


def wrong_argument(desk: Desk) -> str:
    session = desk.session(desk.models.scenario("plain"))
    _, trouble = desk.report(replace(session, agent=replace(session.agent, command_args=("--nope",))))
    assert trouble is not None
    return trouble.kind


def killed(desk: Desk) -> str:
    """By somebody else, in the middle of a command."""
    marker = desk.workspace / "running"
    others = set(psutil.Process().children(recursive=True))

    def kill() -> None:
        until(marker.exists, "the agent's command")
        own = set(psutil.Process().children(recursive=True)) - others
        # The oldest first: a CLI whose command was killed before it would go on, and answer.
        for process in sorted(own, key=psutil.Process.create_time):
            with suppress(psutil.NoSuchProcess):  # it ended with the one before it
                process.send_signal(signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        return failing(desk, desk.models.script(Shell(f"touch {marker}; sleep 600"), Say("no")))
    finally:
        killer.join()


def whole_run(root: Path, desk: Desk, base_url: str, *options: str, env: dict[str, str] | None = None) -> str:
    repository(root, {"skillgym.config.yaml": None}, git=True)
    (result,) = run(root, desk.agent, env or environment_of(desk.agent, base_url), *options)
    assert result["status"] == str(TROUBLES[result["failureClass"]["id"]].status)
    return str(result["failureClass"]["id"])


def no_such_program(root: Path, desk: Desk) -> str:
    places = {"PATH": "/usr/bin:/bin", "SKILLGYM_AGENTS_DIR": str(root.with_name("no-agents"))}
    return whole_run(root, desk, "", env=wiring(desk.agent, "http://127.0.0.1:9") | places)


SHOWN = {
    "no service answers at the base URL": lambda desk, _: failing(desk, "http://127.0.0.1:9"),
    "no key is set": lambda desk, _: failing(desk, "", env={}),
    "the CLI does not know an argument": lambda desk, _: wrong_argument(desk),
    "the session needs more model rounds than `--max-steps` allows": lambda desk, root: whole_run(
        root, desk, desk.models.script(Forever(Together((Say("Once more."), Shell("echo again"))))), "--max-steps", "3",
        "--timeout", "100",
    ),
    "the time limit is exceeded": lambda desk, root: whole_run(
        root, desk, desk.models.script(Shell("tail -f /dev/null")), "--timeout", "6" if desk.agent in QUICK else "45"
    ),
    "the CLI is killed": lambda desk, _: killed(desk),
    "the program does not exist": lambda desk, root: no_such_program(root, desk),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("agent", EACH)
def test_every_fault_is_told_as_its_class(tmp_path, models, agent, fault):
    assert SHOWN.keys() == FAULTS.keys()
    (tmp_path / "desk").mkdir()
    desk = Desk(agent, tmp_path / "desk", models)
    assert SHOWN[fault](desk, tmp_path / "r") == FAULTS[fault]
