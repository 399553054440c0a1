"""Agent: AgentV's ``mock`` targets, which always give the same answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.agents.output.trouble_signs import crashed
from skillgym_action.model.session import Invocation
from skillgym_action.suites.agentv.agent_output import transcript_of_answer

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble


def invocation(session: Session) -> Invocation:
    """No process, or ``sleep`` for a target with a delay."""
    delay = session.agent.settings.get("delay", "0")
    return Invocation(argv=() if delay == "0" else ("sleep", delay), cwd=session.workspace, timeout=session.timeout)


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - it prints nothing
    """The target's answer."""
    return transcript_of_answer(session.agent.settings.get("response", ""))


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - only the delay can fail
    """A crash of ``sleep``."""
    return crashed(capture)
