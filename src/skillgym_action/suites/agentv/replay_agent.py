"""Agent: AgentV's ``replay`` targets, recorded answers in a JSONL file, found by suite, test and target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import crashed
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Transcript, Trouble
from skillgym_action.suites.agentv.agent_output import transcript_of_object

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

SCHEMA = "agentv.replay_fixture.v1"


def invocation(session: Session) -> Invocation:
    """``cat`` of the file: agents do no input or output themselves."""
    return Invocation(argv=("cat", session.agent.settings["fixtures"]), cwd=session.workspace, timeout=session.timeout)


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:
    """The transcript of the line that matches the session; no line, and several lines, are trouble."""
    found = [one for line in capture.stdout.lines() if (one := json_object(line)) and _matches(one, session)]
    if len(found) == 1 and (recorded := transcript_of_object(found[0])):
        return recorded
    what = "no answer" if not found else f"{len(found)} answers" if len(found) > 1 else "an answer without output"
    wanted = session.agent.settings.get("source_target", session.key[2])
    message = f"{session.agent.settings['fixtures']} has {what} for the test {session.case_id!r} on {wanted!r}"
    return Transcript(trouble=Trouble(kind="collection", message=message))


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """A crash of ``cat``, or a missing recording."""
    return crashed(capture) or transcript.trouble


def _matches(recording: LenientJson, session: Session) -> bool:
    """Whether a recording is of this test. Fields that the recording or the target lacks match all values.

    The variant is an exception: both must have the same, or none.
    """
    settings = session.agent.settings
    wanted = {
        "schema": SCHEMA,
        "test_id": session.case_id,
        "source_target": settings.get("source_target"),
        "suite": settings.get("suite"),
        "eval_path": settings.get("eval_path"),
    }
    same = all(recording.text(key) in {None, value} for key, value in wanted.items() if value is not None)
    return (
        same
        and recording.text("test_id") == session.case_id
        and recording.text("variant") == settings.get("variant")
        and recording.count("attempt") in {None, 0}
    )
