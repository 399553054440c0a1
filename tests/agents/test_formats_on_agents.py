"""Each suite format on each real agent: it loads, runs, is judged, and the agent is offered the skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_clis import more_agents
from format_agents import MEASURED, QUALITIES, SUITES, cells, measured
from model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.agents
ALL_FORMATS_ON, ON_ALL_AGENTS = "claude-code", "`skill-evals`, `evals.json`"
# Every format on one agent, and one format on every agent; format_agents.py measures all pairs.
PAIRS = [
    pytest.param(suite, agent, marks=() if agent == ALL_FORMATS_ON else more_agents)
    for suite in SUITES
    for agent in MEASURED
    if agent == ALL_FORMATS_ON or suite == ON_ALL_AGENTS
]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.parametrize(("suite", "agent"), PAIRS)
def test_a_format_on_an_agent_is_as_in_the_table(tmp_path, models, suite, agent):
    found = measured(suite, agent, tmp_path / "r", models)
    assert found == cells()[suite][agent]
    assert found == dict.fromkeys(QUALITIES, True)
