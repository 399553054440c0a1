"""AgentV's ``cli`` targets: a line for the shell, with placeholders, that writes its answer to a file.

``{PROMPT} {PROMPT_FILE} {EVAL_ID} {ATTEMPT} {FILES} {OUTPUT_FILE}``, each as quoted words. Stdout is not read.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from skillgym_action.agentv.agent_output import of_text
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.model.session_report import Transcript, Trouble
from skillgym_action.transcripts.trouble_signs import brief, crashed

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Progress, Session

PLACEHOLDER = re.compile(r"\{(PROMPT|PROMPT_FILE|EVAL_ID|ATTEMPT|FILES|OUTPUT_FILE)\}")
OUTPUT_FILE = "agentv-output"
LARGEST = 10 * 1024 * 1024
"""Bytes of an answer."""


def invocation(session: Session) -> Invocation:
    """``settings.files_format`` says how a file is named: ``{path}`` and ``{basename}``."""
    prompt_file = session.scratch / "prompt.txt"
    form = session.agent.settings.get("files_format", "{path}")
    names = ((shlex.quote(str(file)), shlex.quote(file.name)) for file in session.files)
    values = {
        "PROMPT": shlex.quote(session.prompt),
        "PROMPT_FILE": shlex.quote(str(prompt_file)),
        "EVAL_ID": shlex.quote(session.case_id),
        "ATTEMPT": shlex.quote(session.key[-1].rpartition("-")[2]),
        "FILES": " ".join(form.replace("{path}", path).replace("{basename}", name) for path, name in names),
        "OUTPUT_FILE": shlex.quote(str(session.home / OUTPUT_FILE)),
    }
    command = session.agent.command[0]
    line = PLACEHOLDER.sub(lambda found: values[found[1]], command)
    return Invocation(
        argv=("/bin/sh", "-c", line),
        cwd=session.workspace,
        timeout=session.timeout,
        env={"HOME": str(session.home), **session.agent.env},
        files={prompt_file: session.prompt} if "{PROMPT_FILE}" in command else {},
        collect=(OUTPUT_FILE,),
    )


def resume(session: Session, session_id: str) -> Invocation:  # noqa: ARG001 - a stand-in keeps no session
    """The program is simply started again with the new prompt."""
    return invocation(session)


def progress(line: str) -> Progress | None:  # noqa: ARG001 - its output is not read while it runs
    """Nothing is known of steps."""
    return None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001 - all is in the file
    """The file is the answer, or a JSON object that tells more."""
    if not capture.collected or capture.exit_code:
        return Transcript()
    return of_text(capture.collected[0].tail(LARGEST))


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:  # noqa: ARG001 - the file tells nothing of it
    """How it ended; or that it wrote no file."""
    if crash := crashed(capture):
        said = brief(capture.stderr.tail(2000) or capture.stdout.tail(2000))
        if not said or capture.ending is not Ending.EXITED:
            return crash
        return Trouble(kind=crash.kind, message=f"{said} (exit code {capture.exit_code})")
    if not capture.collected:
        return Trouble(kind="collection", message="the command wrote no {OUTPUT_FILE}")
    return None
