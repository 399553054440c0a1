"""One event, one verdict: the real CLIs, run through events by a scripted model, and the table of what they become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_events import EVENTS, PLAYERS, play, recorded_verdict, recording, table, verdict
from model_server import ModelServer

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.agents, pytest.mark.more_agents]
QUICK = ("claude-code", "codex")
# Of the other agents, which take longer, these events are played; their other cells are judged by what was recorded.
PLAYED = (
    "empty",
    "refusal",
    "output-limit",
    "context",
    "filter",
    "quota",
    "credit",
    "cut-words",
    "cut-later",
    "cut-words-later",
    "reset",
    "loop",
    "404-page",
    "413",
    "error-body",
    "error-body-later",
    "error-event-later",
    "help",
    "clear",
    "exit-1",
)
SLOW = {("qwen", "quota")}  # it retries for more than a minute, whatever it is told
CELLS = [
    pytest.param(name, event, id=f"{name}-{event.name}")
    for name in PLAYERS
    for event in EVENTS
    if (name in QUICK or event.name in PLAYED) and (name, event.name) not in SLOW
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
