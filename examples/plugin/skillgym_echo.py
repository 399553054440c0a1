"""The agent `echo`: its answer is the prompt."""

from skillgym_action.plugins import (
    AgentInfo,
    Capture,
    Cost,
    Invocation,
    Message,
    Session,
    Transcript,
    crashed,
    no_event_reader,
    no_progress,
    reported,
    started_again,
)

API = 1
INFO = AgentInfo(needs_no_program=True)


def invocation(session: Session) -> Invocation:
    home = {"HOME": str(session.home)}
    return Invocation(argv=("cat",), cwd=session.workspace, timeout=session.timeout, stdin=session.prompt, env=home)


def transcript(capture: Capture, session: Session) -> Transcript:
    text = "\n".join(capture.stdout.lines())
    answer = Message(role="assistant", phase="final", text=text)
    free = Cost(usd=0.0, source="computed")
    return Transcript(events=(answer,), final_output=text, cost=free, trouble=crashed(capture))


resume = started_again(invocation)
trouble, progress, event_reader = reported, no_progress, no_event_reader
