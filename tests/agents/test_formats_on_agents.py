"""Each suite format on each real agent: it loads, runs, is judged, and the agent is offered the skill."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_clis import ALWAYS, more_agents
from format_agents import MEASURED, QUALITIES, SUITES, cells, measured
from model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.agents
EACH = [pytest.param(agent, marks=() if agent in ALWAYS else more_agents) for agent in MEASURED]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.parametrize("agent", EACH)
@pytest.mark.parametrize("suite", SUITES)
def test_a_format_on_an_agent_is_as_in_the_table(tmp_path, models, suite, agent):
    found = measured(suite, agent, tmp_path / "r", models)
    assert found == cells()[suite][agent]
    assert found == dict.fromkeys(QUALITIES, True)
