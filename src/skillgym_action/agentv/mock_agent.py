"""AgentV's ``mock`` targets: they always give the same answer. No model, no program to speak of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agentv.agent_output import answered
from skillgym_action.model.session import Invocation
from skillgym_action.transcripts.trouble_signs import crashed

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Progress, Session
    from skillgym_action.model.session_report import Transcript, Trouble


def invocation(session: Session) -> Invocation:
    """Nothing has to be started, unless the target wants to wait."""
    delay = session.agent.settings.get("delay", "0")
    return Invocation(argv=() if delay == "0" else ("sleep", delay), cwd=session.workspace, timeout=session.timeout)


def resume(session: Session, session_id: str) -> Invocation:  # noqa: ARG001 - there is nothing to continue
    """The same once more."""
    return invocation(session)


def progress(line: str) -> Progress | None:  # noqa: ARG001 - it prints nothing
    """There are no steps."""
    return None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - it prints nothing
    """The answer."""
    return answered(session.agent.settings.get("response", ""))


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - the answer is always fine
    """None but a machine that cannot wait."""
    return crashed(capture)
