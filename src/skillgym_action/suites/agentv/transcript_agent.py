"""Agent: sessions that AgentV has imported (``agentv import``), in a JSONL file with a line for each message."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import crashed
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Transcript, Trouble
from skillgym_action.suites.agentv.agent_output import transcript_of_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session import Capture, Session

AGENT = "agentv-transcript"


def in_order(runners: Iterable[Runner], case_ids: Iterable[str]) -> tuple[Runner, ...]:
    """The runners; those of transcripts know the order of the tests, to which that of the sessions may correspond."""
    ids = json.dumps(list(case_ids))
    return tuple(
        replace(runner, agent=replace(runner.agent, settings={**runner.agent.settings, "tests": ids}))
        if runner.agent.type == AGENT and not runner.problem
        else runner
        for runner in runners
    )


def invocation(session: Session) -> Invocation:
    """``cat`` of the file: agents do no input or output themselves."""
    return Invocation(
        argv=("cat", session.agent.settings["transcript"]), cwd=session.workspace, timeout=session.timeout
    )


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:
    """The session whose ``test_id`` is that of the case.

    Where no session has the id of a test, since imported ones have ids of their own, the first is that of the first
    test, and so on. No session, and a number of sessions that is not that of the tests, are trouble.
    """
    sessions = _sessions(capture)
    tests = json.loads(session.agent.settings.get("tests", "[]"))
    found = sessions.get(session.case_id)
    if found is None and not sessions.keys() & set(tests):
        if len(sessions) != len(tests) or session.case_id not in tests:
            return _trouble(
                session, f"{len(sessions)} session(s) with other ids than those of the {len(tests)} test(s)"
            )
        found = list(sessions.values())[tests.index(session.case_id)]
    if found is None:
        return _trouble(session, f"no session with the id of the test {session.case_id!r}")
    return _transcript(found) or _trouble(session, f"no message of an agent for the test {session.case_id!r}")


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """A crash of ``cat``, or a missing session."""
    return crashed(capture) or transcript.trouble


def _trouble(session: Session, what: str) -> Transcript:
    message = f"{session.agent.settings['transcript']} has {what}"
    return Transcript(trouble=Trouble(kind="collection", message=message))


def _sessions(capture: Capture) -> dict[str, list[LenientJson]]:
    """The lines of each session by its ``test_id``, in the order in which sessions begin."""
    sessions: dict[str, list[LenientJson]] = {}
    for line in capture.stdout.lines():
        if (row := json_object(line)) and (test_id := row.text("test_id")) is not None:
            sessions.setdefault(test_id, []).append(row)
    return sessions


def _transcript(rows: Sequence[LenientJson]) -> Transcript | None:
    """The transcript of a session's messages; the first line has what is known of all of it."""
    ordered = sorted(rows, key=lambda row: row.count("message_index") or 0)
    messages = [_message(row) for row in ordered]
    if not any(message["role"] == "assistant" for message in messages):
        return None
    first = rows[0]
    known: Mapping[str, object] = {
        "output": messages,
        "token_usage": first.at("transcript_token_usage"),
        "cost_usd": first.at("transcript_cost_usd"),
        "duration_ms": first.at("transcript_duration_ms"),
    }
    return transcript_of_object(LenientJson(known))


def _message(row: LenientJson) -> dict[str, object]:
    keys = ("role", "name", "content", "tool_calls", "start_time", "end_time", "duration_ms")
    return {key: value for key in keys if (value := row.at(key)) is not None} | {"role": row.text("role") or ""}
