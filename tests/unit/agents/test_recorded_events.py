"""What the real CLIs printed in each event of the table, judged as today's adapters judge it."""

from __future__ import annotations

from functools import cache

from agent_events import EVENTS, PLAYERS, recorded_verdict, recordings, table
from skillgym_action.model.verdicts import TROUBLES
from table_rows import each_row

recordings_of, cells_of_table = cache(recordings), cache(table)


@each_row([(f"{name}, {event.name}", (name, event.name)) for name in PLAYERS for event in EVENTS])
def test_a_recorded_session_has_the_verdict_of_the_table(cell):
    name, event = cell
    assert recorded_verdict(name, recordings_of(name)[event]) == cells_of_table()[event][name]


def test_the_table_has_at_least_twenty_events_and_eight_columns():
    assert len(EVENTS) >= 20
    assert len(PLAYERS) >= 8
    assert table().keys() == {event.name for event in EVENTS}
    assert [event for event, row in table().items() if row.keys() != PLAYERS.keys()] == []


def statuses(event: str) -> set[str]:
    """The statuses of an event on all agents, without the classes."""
    return {cell.partition(":")[0] for cell in cells_of_table()[event].values()}


# Seen 9 of the issue: cut streams were judged.
def test_seen_9_an_answer_that_is_cut_off_is_errored_on_every_agent():
    cut_off = ("cut-head", "cut", "cut-words", "reset", "reset-words")
    assert {event: statuses(event) for event in cut_off} == {event: {"errored"} for event in cut_off}


@each_row((event, event) for event in ("cut-later", "cut-words-later"))
def test_seen_9_so_it_is_after_a_tool_call_unless_the_cli_hides_it(event):
    cells = cells_of_table()[event]
    assert {name for name, cell in cells.items() if not cell.startswith("errored: ")} == {"gemini"}


# Seen 10 of the issue: one event, several verdicts.
def test_seen_10_what_the_model_says_is_judged_on_every_agent():
    said = ("answer", "tool-fails", "unknown-tool", "empty", "empty-later", "429-twice")
    assert {event: statuses(event) for event in said} == {event: {"judged"} for event in said}


CLASSES = {
    "context": "context-exceeded",
    "401": "auth",
    "403": "auth",
    "404": "model-rejected",
    "429-after": "rate-limit",
    "overloaded": "rate-limit",
    "quota": "quota",
    "credit": "quota",
    "500": "provider",
    "garbled": "provider",
    "loop": "max-steps",
}


def classes(event: str) -> set[str]:
    """The classes of an event on all agents; empty where one judged it."""
    return {cell.partition(": ")[2] for cell in cells_of_table()[event].values()}


def test_seen_10_an_event_has_one_class_on_every_agent():
    assert {event: classes(event) for event in CLASSES} == {event: {kind} for event, kind in CLASSES.items()}


@each_row(
    (row[0], row) for row in (("refusal", "refused"), ("output-limit", "output-limit"), ("filter", "content-policy"))
)
def test_seen_10_how_the_model_ended_is_its_class_wherever_the_cli_shows_it(row):
    event, kind = row
    shown = classes(event) - {""}
    assert kind in shown
    assert shown <= {kind, "provider"}


def test_seen_10_an_exhausted_account_is_not_retried_and_stops_the_runner():
    assert (TROUBLES["quota"].retries, TROUBLES["quota"].stops_runner) == (0, True)
    assert (TROUBLES["content-policy"].retries, TROUBLES["content-policy"].stops_runner) == (0, False)
