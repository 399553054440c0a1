"""One event, one verdict: the real CLIs, run through events by a scripted model, and the table of what they become."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from agent_events import EVENTS, PLAYERS, play, recorded_verdict, recording, table, verdict
from model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.agents, pytest.mark.more_agents]
# A cell is judged by what was recorded, in the unit tests. These events are played by every CLI again, since they show
# that the tool starts it as it was started for the recordings. With EVENTS=all, all of them are.
PLAYED = (
    "empty",
    "refusal",
    "output-limit",
    "quota",
    "404-page",
    "error-body-later",
    "cut-words-later",
    "help",
    "exit-1",
)
SLOW = {("qwen", "quota")}  # it retries for more than a minute, whatever it is told
CELLS = [
    pytest.param(name, event, id=f"{name}-{event.name}")
    for name in PLAYERS
    for event in EVENTS
    if (event.name in PLAYED or os.environ.get("EVENTS") == "all") and (name, event.name) not in SLOW
]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.mark.parametrize(("name", "event"), CELLS)
def test_a_real_session_has_the_verdict_of_the_table(tmp_path, models, name, event):
    capture, session, silence = play(PLAYERS[name], event, tmp_path, models)
    assert verdict(PLAYERS[name].agent, capture, session, silence) == table()[event.name][name]
    assert recorded_verdict(name, recording(capture, silence, tmp_path)) == table()[event.name][name]
