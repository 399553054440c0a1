"""Does nothing: no process, no model, no cost, an empty answer. What passes with it does not measure an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Cost, Transcript, Usage

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Trouble


def invocation(session: Session) -> Invocation:
    """No process."""
    return Invocation(argv=(), cwd=session.workspace, timeout=session.timeout)


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - it does nothing
    """No event, an empty answer, no token, no cost."""
    none = Usage(input_tokens=0, output_tokens=0, reasoning_tokens=0, cache_tokens=0)
    return Transcript(events=(), usage=none, cost=Cost(usd=0.0, source="computed"), turns=0)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - nothing can fail
    """None: an empty answer is what is wanted."""
    return None
