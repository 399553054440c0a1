"""Applies the reference solution of a case in place of an agent, for ``check --oracle``.

A program, ``agents/reference_player.py``, does the work, since an adapter starts nothing and touches nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.agents.output.trouble_signs import brief
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Cost, Transcript, Trouble, Usage
from skillgym_action.text.escaping import safe_name

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

PLAYER = Path(__file__).with_name("reference_player.py")


def invocation(session: Session) -> Invocation:
    """``agent.sessions`` is the folder of reference solutions; the id of the case leads to one of them."""
    folder, name = session.agent.sessions or "", safe_name(session.case_id)
    return Invocation(
        argv=(sys.executable, "-I", "-S", str(PLAYER), folder, name, str(session.workspace)),
        cwd=session.workspace,
        timeout=session.timeout,
        env={"HOME": str(session.home)},
    )


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - the answer is all there is
    """The answer that stands beside the solution; no token, no cost."""
    none = Usage(input_tokens=0, output_tokens=0, reasoning_tokens=0, cache_tokens=0)
    answer = "\n".join(capture.stdout.lines())
    return Transcript(events=(), final_output=answer, usage=none, cost=Cost(usd=0.0, source="computed"), turns=0)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - the exit code says it
    """A solution that could not be applied."""
    if capture.exit_code == 0:
        return None
    message = f"the reference solution could not be applied: {brief(capture.stderr.tail(2000))}"
    return Trouble(kind="collection", message=message)
