"""What the real CLIs printed in each event of the table, judged as today's adapters judge it."""

from __future__ import annotations

from functools import cache

import pytest

from agent_events import EVENTS, PLAYERS, recorded_verdict, recordings, table
from skillgym_action.model.verdicts import TROUBLES

CELLS = [pytest.param(name, event.name, id=f"{name}-{event.name}") for name in PLAYERS for event in EVENTS]
cached_recordings = cache(recordings)


@pytest.mark.parametrize(("name", "event"), CELLS)
def test_a_recorded_session_has_the_verdict_of_the_table(name, event):
    assert recorded_verdict(name, cached_recordings(name)[event]) == table()[event][name]


def test_the_table_has_at_least_twenty_events_and_eight_columns():
    assert len(EVENTS) >= 20
    assert len(PLAYERS) >= 8
    assert table().keys() == {event.name for event in EVENTS}
    assert all(row.keys() == PLAYERS.keys() for row in table().values())


def statuses(event: str) -> set[str]:
    """The statuses of an event on all agents, without the classes."""
    return {cell.partition(":")[0] for cell in table()[event].values()}


# Seen 9 of the issue: cut streams were judged.
@pytest.mark.parametrize("event", ["cut-head", "cut", "cut-words", "reset", "reset-words"])
def test_seen_9_an_answer_that_is_cut_off_is_errored_on_every_agent(event):
    assert statuses(event) == {"errored"}


@pytest.mark.parametrize("event", ["cut-later", "cut-words-later"])
def test_seen_9_so_it_is_after_a_tool_call_unless_the_cli_hides_it(event):
    assert {name for name, cell in table()[event].items() if not cell.startswith("errored: ")} == {"gemini"}


# Seen 10 of the issue: one event, several verdicts.
@pytest.mark.parametrize("event", ["answer", "tool-fails", "unknown-tool", "empty", "empty-later", "429-twice"])
def test_seen_10_what_the_model_says_is_judged_on_every_agent(event):
    assert statuses(event) == {"judged"}


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("context", "context-exceeded"),
        ("401", "auth"),
        ("403", "auth"),
        ("404", "model-rejected"),
        ("429-after", "rate-limit"),
        ("overloaded", "rate-limit"),
        ("quota", "quota"),
        ("credit", "quota"),
        ("500", "provider"),
        ("garbled", "provider"),
        ("loop", "max-steps"),
    ],
)
def test_seen_10_an_event_has_one_class_on_every_agent(event, kind):
    assert {cell.partition(": ")[2] for cell in table()[event].values()} == {kind}


@pytest.mark.parametrize(
    ("event", "kind"), [("refusal", "refused"), ("output-limit", "output-limit"), ("filter", "content-policy")]
)
def test_seen_10_how_the_model_ended_is_its_class_wherever_the_cli_shows_it(event, kind):
    shown = {cell.partition(": ")[2] for cell in table()[event].values()} - {""}
    assert kind in shown
    assert shown <= {kind, "provider"}


def test_seen_10_an_exhausted_account_is_not_retried_and_stops_the_runner():
    assert (TROUBLES["quota"].retries, TROUBLES["quota"].stops_runner) == (0, True)
    assert (TROUBLES["content-policy"].retries, TROUBLES["content-policy"].stops_runner) == (0, False)
