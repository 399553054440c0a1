"""AgentV's ``replay`` targets: recorded answers from a file of lines, looked up by suite, test and target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agentv.agent_output import of_object
from skillgym_action.model.session import Invocation
from skillgym_action.model.session_report import Transcript, Trouble
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Progress, Session

SCHEMA = "agentv.replay_fixture.v1"


def invocation(session: Session) -> Invocation:
    """The file is read by a program, since an adapter touches nothing."""
    return Invocation(argv=("cat", session.agent.settings["fixtures"]), cwd=session.workspace, timeout=session.timeout)


def resume(session: Session, session_id: str) -> Invocation:  # noqa: ARG001 - a recording is not continued
    """The recording once more."""
    return invocation(session)


def progress(line: str) -> Progress | None:  # noqa: ARG001 - a recording is read as a whole
    """There are no steps."""
    return None


def transcript(capture: Capture, session: Session) -> Transcript:
    """The one line that fits; none and several are trouble."""
    found = [told for line in capture.stdout.lines() if (told := json_object(line)) and _fits(told, session)]
    if len(found) == 1 and (recorded := of_object(found[0])):
        return recorded
    what = "nothing" if not found else f"{len(found)} answers" if len(found) > 1 else "an answer without output"
    wanted = session.agent.settings.get("source_target", session.key[2])
    message = f"{session.agent.settings['fixtures']} holds {what} for the test {session.case_id!r} on {wanted!r}"
    return Transcript(trouble=Trouble(kind="collection", message=message))


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """A missing recording is a missing agent."""
    return crashed(capture) or transcript.trouble


def _fits(told: LenientJson, session: Session) -> bool:
    """Whether a line is of this test. What the target does not say, and the line has, counts for any; but a variant."""
    settings = session.agent.settings
    wanted = {
        "schema": SCHEMA,
        "test_id": session.case_id,
        "source_target": settings.get("source_target"),
        "suite": settings.get("suite"),
        "eval_path": settings.get("eval_path"),
    }
    said = all(told.text(key) in {None, value} for key, value in wanted.items() if value is not None)
    return (
        said
        and told.text("test_id") == session.case_id
        and told.text("variant") == settings.get("variant")
        and told.count("attempt") in {None, 0}
    )
