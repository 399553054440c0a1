"""Plays recorded sessions: same changes to the workspace, same session report, no agent and no model.

A program, ``agents/replay_player.py``, does the work, since an adapter starts nothing and touches nothing.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.agents.output.lenient_json import json_object, shortened
from skillgym_action.agents.output.trouble_signs import brief, crashed
from skillgym_action.model.json_codec import from_json
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Raw, SessionReport, Transcript, Trouble

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

PLAYER = Path(__file__).with_name("replay_player.py")
NO_RECORDING = 66


def invocation(session: Session) -> Invocation:
    """``agent.sessions`` is the folder of recordings; the session's key leads to one of them.

    The player gets the prompt on its standard input: a recording with another one says nothing about the case.
    """
    case = {"prompt": session.prompt, "turns": session.turns, "root": str(session.root or "")}
    return Invocation(
        argv=(
            sys.executable,
            "-I",
            "-S",
            str(PLAYER),
            session.agent.sessions or "",
            str(session.workspace),
            *session.key,
        ),
        cwd=session.workspace,
        timeout=session.timeout,
        env={"HOME": str(session.home), **session.agent.env},
        stdin=json.dumps(case),
    )


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - all is in the recording
    """The transcript of the recorded session, its trouble included."""
    printed = "\n".join(capture.stdout.lines())
    recorded = json_object(printed)
    if recorded is None:
        return Transcript(events=(Raw(line=shortened(printed)),) if printed else ())
    report = from_json(SessionReport, recorded.value)
    return Transcript(
        events=report.events,
        final_output=report.final_output,
        session_id=report.session_id,
        model=report.model,
        usage=report.usage,
        cost=report.cost,
        turns=report.turns,
        version=report.version,
        mcp_servers=report.mcp_servers,
        skills=tuple(detection.skill for detection in report.detected_skills),
        trouble=report.trouble,
        watched_skills=None if report.watched_skills is None else tuple(report.watched_skills),
        answered=report.answered,
        exchanges=report.exchanges,
    )


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """A missing recording, one of another prompt, and one that cannot be played; else the recorded trouble."""
    if capture.exit_code == NO_RECORDING:
        return Trouble(kind="collection", message=brief(capture.stderr.tail(2000)))
    return crashed(capture) or transcript.trouble
