"""Recorded output of real CLIs, and the session reports expected of it.

``python tests/support/captured.py`` writes them anew.

A recording is a folder ``captures/AGENT/SCENARIO``: what was printed, how the process ended, the CLI's own record of
the session and its stderr where the adapter reads them. Long texts that belong to the CLI were cut. The samples of
``cursor-agent`` are no recordings: they were written after its documentation.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from paths import CAPTURES
from sessions import capture_of, session_with
from skillgym_action.agents import agent_named
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import AgentRef, RunnerRef
from skillgym_action.sessions.session_reports import normalise

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.session import Capture
    from skillgym_action.model.session_report import SessionReport

FOLDER = CAPTURES
RECORDED = tuple((path.parent.parent.name, path.parent.name) for path in sorted(FOLDER.glob("*/*/stdout.jsonl")))
AGENTS = tuple(dict.fromkeys(agent for agent, _ in RECORDED))


def lines_of(agent: str) -> list[str]:
    """Every line of stdout that was recorded of an agent."""
    return [line for path in sorted(FOLDER.glob(f"{agent}/*/stdout.jsonl")) for line in path.read_text().splitlines()]


def capture_in(folder: Path) -> Capture:
    exit_code = json.loads((folder / "exit.json").read_text())["exit"]
    collected = [path.read_text() for path in sorted(folder.glob("session.jsonl"))]
    stderr = "".join(path.read_text() for path in folder.glob("stderr.txt"))
    return capture_of((folder / "stdout.jsonl").read_text(), exit_code=exit_code, collected=collected, stderr=stderr)


def report_of(agent: str, capture: Capture) -> SessionReport:
    session = session_with(AgentConfig(type=agent))
    adapter = agent_named(agent)
    transcript = adapter.transcript(capture, session)
    runner = RunnerRef(id=agent, path_key=agent, agent=AgentRef(type=agent))
    made = normalise(transcript, capture, session, runner, started_at=None, ended_at=None)
    assert made.trouble == adapter.trouble(capture, transcript)
    return made


def recorded_report(agent: str, scenario: str) -> SessionReport:
    return report_of(agent, capture_in(FOLDER / agent / scenario))


if __name__ == "__main__":
    for agent, scenario in RECORDED:
        report = to_json(recorded_report(agent, scenario))
        (FOLDER / agent / scenario / "report.json").write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
