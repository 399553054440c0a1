"""Agent: AgentV's ``cli`` targets, a shell command with placeholders that writes its answer to a file.

The placeholders are ``{PROMPT} {PROMPT_FILE} {EVAL_ID} {ATTEMPT} {FILES} {OUTPUT_FILE}``; their values are quoted for
the shell. Stdout is not read.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_event_reader, no_progress, started_again
from skillgym_action.agents.output.trouble_signs import brief, crashed
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import Transcript, Trouble
from skillgym_action.suites.agentv.agent_output import transcript_of_batch, transcript_of_text

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

MAX_CLI_TARGET_OUTPUT_BYTES = 10 * 1024**2  # the end of a `cli` target's output file that is read
PLACEHOLDER = re.compile(r"\{(PROMPT|PROMPT_FILE|EVAL_ID|ATTEMPT|FILES|OUTPUT_FILE)\}")
OUTPUT_FILE = "agentv-output"
UNHEALTHY = 69
"""The exit code after a failed healthcheck: EX_UNAVAILABLE of sysexits.h."""


def invocation(session: Session) -> Invocation:
    """The shell command with its placeholders replaced, after the healthcheck.

    Settings: ``files_format``, how a file is written in ``{FILES}``; ``healthcheck``, a line for the shell; ``batch``:
    the output has a line for each of several tests.
    """
    prompt_file = session.scratch / "prompt.txt"
    form = session.agent.settings.get("files_format", "{path}")
    output_file = f"{OUTPUT_FILE}-{session.turn}" if session.turn else OUTPUT_FILE
    names = ((shlex.quote(str(file)), shlex.quote(file.name)) for file in session.files)
    values = {
        "PROMPT": shlex.quote(session.prompt),
        "PROMPT_FILE": shlex.quote(str(prompt_file)),
        "EVAL_ID": shlex.quote(session.case_id),
        "ATTEMPT": shlex.quote(session.key[-1].rpartition("-")[2]),
        "FILES": " ".join(form.replace("{path}", path).replace("{basename}", name) for path, name in names),
        "OUTPUT_FILE": shlex.quote(str(session.home / output_file)),
    }
    command, check = session.agent.command[0], session.agent.settings.get("healthcheck")
    if check and session.turn < 2:  # noqa: PLR2004 - once in a session
        command = f"( {check} ) >&2 || exit {UNHEALTHY}\n{command}"
    return Invocation(
        argv=("/bin/sh", "-c", PLACEHOLDER.sub(lambda found: values[found[1]], command)),
        cwd=session.workspace,
        timeout=session.timeout,
        env={"HOME": str(session.home), **session.agent.env},
        files={prompt_file: session.prompt} if "{PROMPT_FILE}" in command else {},
        collect=(output_file,),
    )


resume = started_again(invocation)
progress = no_progress
event_reader = no_event_reader


def transcript(capture: Capture, session: Session) -> Transcript:
    """The transcript of the output file. Of a batch, only the line of the session's test counts."""
    if not capture.collected or capture.exit_code:
        return Transcript()
    text = capture.collected[0].tail(MAX_CLI_TARGET_OUTPUT_BYTES)
    if session.agent.settings.get("batch"):
        return transcript_of_batch(text, session.case_id)
    return transcript_of_text(text)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """A failed healthcheck, a crash, a missing output file, or one of a batch without the session's test."""
    if capture.exit_code == UNHEALTHY and capture.ending is Ending.EXITED:
        said = brief(capture.stderr.tail(2000))
        return Trouble(kind="agent-missing", message=f"the healthcheck failed{f': {said}' if said else ''}")
    if crash := crashed(capture):
        message = brief(capture.stderr.tail(2000) or capture.stdout.tail(2000))
        if not message or capture.ending is not Ending.EXITED:
            return crash
        return Trouble(kind=crash.kind, message=f"{message} (exit code {capture.exit_code})")
    if not capture.collected:
        return Trouble(kind="collection", message="the command wrote no {OUTPUT_FILE}")
    return transcript.trouble
