"""What the real CLIs printed in each event of the table, judged as today's adapters judge it."""

from __future__ import annotations

import re
from functools import cache

from agent_events import EVENTS, PLAYERS, RECORDINGS, recorded_capture, recorded_verdict, recordings, table
from paths import CAPTURES
from sessions import SESSION
from skillgym_action.agents import agent_named
from skillgym_action.model.session_report import Message
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
    said = ("answer", "tool-fails", "unknown-tool", "empty", "empty-later", "429-twice", "exit-1")
    assert {event: statuses(event) for event in said} == {event: {"judged"} for event in said}


CLASSES = {
    "context": "context-exceeded",
    "401": "auth",
    "403": "auth",
    "404": "model-rejected",
    "429-after": "rate-limit",
    "overloaded": "rate-limit",
    "429-hour": "rate-limit",
    "quota": "quota",
    "credit": "quota",
    "usage-limit": "quota",
    "402": "quota",
    "expired": "auth",
    "404-page": "network",
    "413": "context-exceeded",
    "500": "provider",
    "503": "provider",
    "error-body": "provider",
    "error-body-later": "provider",
    "error-event": "provider",
    "error-event-later": "provider",
    "garbled": "provider",
    "loop": "max-steps",
}


def classes(event: str) -> set[str]:
    """The classes of an event on all agents; empty where one judged it."""
    return {cell.partition(": ")[2] for cell in cells_of_table()[event].values()}


def test_seen_10_an_event_has_one_class_on_every_agent():
    assert {event: classes(event) for event in CLASSES} == {event: {kind} for event, kind in CLASSES.items()}


def test_a_login_page_is_an_infrastructure_failure_whether_the_cli_shows_it_or_not():
    assert classes("login-page") == {"network", "provider"}


@each_row((event, event) for event in ("slash", "help", "clear"))
def test_a_prompt_with_a_slash_is_judged_if_the_model_got_it_and_else_errored(event):
    cells = cells_of_table()[event]
    own = {name for name in cells if _final_output(name, event) != "skillgym ready"}
    assert {name for name, cell in cells.items() if cell == "errored: no-model-call"} == own
    assert {cell for name, cell in cells.items() if name not in own} == {"judged"}


def _final_output(name: str, event: str) -> str:
    capture = recorded_capture(recordings_of(name)[event])
    transcript = agent_named(PLAYERS[name].agent).transcript(capture, SESSION)
    texts = [said.text for said in transcript.events if isinstance(said, Message) and said.role == "assistant"]
    return transcript.final_output or "".join(texts)


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


def test_no_recording_names_a_folder_of_the_machine_on_which_it_was_made():
    files = [*RECORDINGS.glob("*.json"), *(file for file in CAPTURES.rglob("*") if file.is_file())]
    roots = re.compile(r"(/[\w.-][\w./-]*)/\.cache/agents/[\w.-]+/node_modules")
    assert {root for file in files for root in roots.findall(file.read_text(encoding="utf-8"))} == {"/repository"}
