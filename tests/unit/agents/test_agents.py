"""What holds for all adapters, with a recorded session of each. What an agent's lines mean is in a file of its own."""

from __future__ import annotations

import pytest

from captured import FOLDER, recorded_report
from skillgym_action.agents import agent_named

# A session, and how many times its model was asked; Gemini does not tell while it goes on.
STEPS = {
    "claude-code": ("skill", 3),
    "codex": ("skill", 3),
    "copilot": ("skill", 3),
    "cursor-agent": ("shell", 2),
    "opencode": ("plugin", 3),
    "pi": ("skill", 3),
    "qwen": ("skill", 3),
}


@pytest.mark.parametrize(("agent", "session", "steps"), [(agent, *told) for agent, told in STEPS.items()])
def test_the_steps_of_a_recorded_session_are_its_model_rounds(agent, session, steps):
    lines = (FOLDER / agent / session / "stdout.jsonl").read_text().splitlines()
    seen = [progress for line in lines if (progress := agent_named(agent).progress(line))]
    assert len({progress.step for progress in seen if progress.step}) == steps


@pytest.mark.parametrize("agent", ["claude-code", "codex", "copilot", "gemini", "opencode", "pi", "qwen"])
def test_a_tool_that_fails_inside_a_session_is_no_trouble(agent):
    assert recorded_report(agent, "fail").trouble is None
