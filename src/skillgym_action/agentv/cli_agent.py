"""Agent: AgentV's ``cli`` targets, a shell command with placeholders that writes its answer to a file.

The placeholders are ``{PROMPT} {PROMPT_FILE} {EVAL_ID} {ATTEMPT} {FILES} {OUTPUT_FILE}``; their values are quoted for
the shell. Stdout is not read.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import no_progress, no_reading, started_again
from skillgym_action.agentv.agent_output import transcript_of_text
from skillgym_action.limits import MAX_CLI_TARGET_OUTPUT_BYTES
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import Transcript, Trouble
from skillgym_action.transcripts.trouble_signs import brief, crashed

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

PLACEHOLDER = re.compile(r"\{(PROMPT|PROMPT_FILE|EVAL_ID|ATTEMPT|FILES|OUTPUT_FILE)\}")
OUTPUT_FILE = "agentv-output"


def invocation(session: Session) -> Invocation:
    """The shell command with its placeholders replaced. ``files_format``: how a file is written in ``{FILES}``."""
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
    command = session.agent.command[0]
    line = PLACEHOLDER.sub(lambda found: values[found[1]], command)
    return Invocation(
        argv=("/bin/sh", "-c", line),
        cwd=session.workspace,
        timeout=session.timeout,
        env={"HOME": str(session.home), **session.agent.env},
        files={prompt_file: session.prompt} if "{PROMPT_FILE}" in command else {},
        collect=(output_file,),
    )


resume = started_again(invocation)
progress = no_progress
reading = no_reading


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - the file has everything
    """The transcript of the output file."""
    if not capture.collected or capture.exit_code:
        return Transcript()
    return transcript_of_text(capture.collected[0].tail(MAX_CLI_TARGET_OUTPUT_BYTES))


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - the file has no errors
    """A crash, or a missing output file."""
    if crash := crashed(capture):
        message = brief(capture.stderr.tail(2000) or capture.stdout.tail(2000))
        if not message or capture.ending is not Ending.EXITED:
            return crash
        return Trouble(kind=crash.kind, message=f"{message} (exit code {capture.exit_code})")
    if not capture.collected:
        return Trouble(kind="collection", message="the command wrote no {OUTPUT_FILE}")
    return None
