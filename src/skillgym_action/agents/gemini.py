"""Gemini CLI: ``gemini --output-format stream-json`` reads the prompt from stdin and prints one JSON object a line.

Its signs, verified with the version in ``AGENTS``: a message comes in pieces; a command that failed is a success; the
exit code after a failed call is the HTTP status modulo 256. Thoughts, exit codes of commands and the tokens of a round
are in the CLI's log of the session only, where the last line about a message counts. Nothing in the stream tells model
rounds while it runs, so the CLI itself is asked to keep to ``max_steps``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Command, FileRead, FileWrite, SkillSignal, Usage
from skillgym_action.transcripts.agent_output import TranscriptParser
from skillgym_action.transcripts.lenient_json import LenientJson, json_object
from skillgym_action.transcripts.trouble_signs import crashed, kind_of_status, kind_of_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.session import Capture, Session
    from skillgym_action.model.session_report import Transcript, Trouble
    from skillgym_action.transcripts.agent_output import Effect

SETTINGS = {
    "general": {"enableAutoUpdate": False, "maxAttempts": 3},
    "privacy": {"usageStatisticsEnabled": False},
}
TURN_LIMIT = "FatalTurnLimitedError"
NOT_SIGNED_IN = 41
# What the CLI tells the model of a command that has ended; a code of 0 is left out.
ENDED = re.compile(
    r"\n(?:Exit Code: (?P<code>\d+)\n)?(?P<signal>Signal: \S+\n)?(?:Background PIDs: .*\n)?"
    r"Process Group PGID: \d+\s*(?:</untrusted_context>)?\s*\Z"
)
# How stderr shows a call that failed, and what is left of its status in the exit code.
SHOWN_STATUS = re.compile(r"^  (?:status|code): (\d{3})\b", re.MULTILINE)
STATUS_ENDS = range(400 - 256, 256)
FILES: dict[str, type[FileRead | FileWrite]] = {"read_file": FileRead, "write_file": FileWrite, "replace": FileWrite}


def invocation(session: Session) -> Invocation:
    """A session with a config folder of its own; the CLI tries a failed model call twice more."""
    return _invocation(session)


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home and the workspace of the session that is continued."""
    return _invocation(session, f"--resume={session_id}")


def _invocation(session: Session, *resumed: str) -> Invocation:
    agent = session.agent
    argv = [*(agent.command or ("gemini",)), "--yolo", "--output-format", "stream-json", *resumed]
    if agent.model:
        argv += ["--model", agent.model]
    # Left to itself, the CLI guesses wrongly as soon as a base URL is set.
    auth = "vertex-ai" if agent.env.get("GOOGLE_GENAI_USE_VERTEXAI") == "true" else "gemini-api-key"
    turns = {"model": {"maxSessionTurns": session.max_steps}} if session.max_steps else {}
    settings = {**SETTINGS, **turns, "security": {"auth": {"selectedType": auth}}}
    return Invocation(
        argv=(*argv, *agent.command_args),
        cwd=session.workspace,
        timeout=session.timeout,
        stdin=session.prompt,
        env={"HOME": str(session.home), "GEMINI_CLI_TRUST_WORKSPACE": "true", **agent.env},
        files={session.home / ".gemini" / "settings.json": json.dumps(settings)},
        collect=(".gemini/tmp/*/chats/session-*.jsonl",),
    )


def progress(line: str) -> Progress | None:
    """The end only: calls of tools in one round cannot be told from calls in several."""
    said = json_object(line)
    return Progress(finished=True) if said and said.text("type") == "result" else None


def transcript(capture: Capture, session: Session) -> Transcript:  # noqa: ARG001  # the CLI tells all there is
    """Read line by line; a session that was ended early gives what it had said so far."""
    reading = _Reading()
    for log in capture.collected:
        for line in log.lines():
            reading.take_of_log(json_object(line) or LenientJson({}))
    reading.read(capture.stdout)
    reading.end_of_words()
    reading.find_trouble(capture)
    return reading.transcript(capture)


def trouble(capture: Capture, transcript: Transcript) -> Trouble | None:
    """The stream's own word first; how the process ended is evidence only where the stream says nothing."""
    return transcript.trouble or crashed(capture)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Round:
    """A model round as the log tells it. ``at`` is a time in ISO 8601; ``codes``: call -> exit code."""

    at: str
    usage: Usage
    thoughts: tuple[str, ...]
    codes: dict[str, int | None]


@dataclass
class _Reading(TranscriptParser):
    """``logged``: the rounds of the log; ``pieces``: of the message that is being said, since ``begun``."""

    logged: dict[str, _Round] = field(default_factory=dict)
    codes: dict[str, int | None] = field(default_factory=dict)
    thoughts: list[tuple[str, ...]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    begun: str | None = None
    between_rounds: bool = True
    error: LenientJson | None = None
    notice: str = ""

    def take_of_log(self, said: LenientJson) -> None:
        """The last line about a message counts; some lines repeat many of them."""
        for message in (said, *said.children("$set", "messages")):
            if message.text("type") == "gemini" and (key := message.text("id")):
                self.logged[key] = _round(message)

    def take(self, said: LenientJson) -> bool:
        at, kind = said.text("timestamp"), said.text("type")
        if kind == "message" and said.text("role") == "assistant":
            self._round_goes_on()
            self.begun = self.begun or at
            self.pieces.append(said.text("content") or "")
            return True
        self.end_of_words()
        match kind:
            case "init":
                self._begin(said)
            case "message":
                self.log.user_message(said.text("content") or "", at)
                self.between_rounds = True
            case "tool_use":
                self._round_goes_on()
                tool, given = said.text("tool_name") or "", said.child("parameters")
                self.log.call(said.text("tool_id") or "", tool, given.value, _effects(tool, given), at)
            case "tool_result":
                self._tool_result(said, at)
            case "result":
                self._result(said)
            case _:
                self.notice = said.text("message") or self.notice
                return False
        return True

    def _begin(self, said: LenientJson) -> None:
        """Rounds that were logged before belong to a session that this one continues."""
        self.session_id, self.model = said.text("session_id"), said.text("model")
        rounds = {key: told for key, told in self.logged.items() if told.at >= (said.text("timestamp") or "")}
        self.rounds = {key: told.usage for key, told in rounds.items()}
        self.thoughts = [told.thoughts for told in rounds.values()]
        self.codes = {call: code for told in rounds.values() for call, code in told.codes.items()}

    def _round_goes_on(self) -> None:
        """The first sign of a round after the user's words or a tool's is its begin; its thoughts come first."""
        if self.between_rounds:
            number, self.between_rounds = self.turns or 0, False
            self.turns = number + 1
            for thought in self.thoughts[number : number + 1]:
                for text in thought:
                    self.log.thinking(text)

    def end_of_words(self) -> None:
        """The pieces of a message are complete."""
        if self.pieces:
            self.log.assistant_message("".join(self.pieces), self.begun)
            self.pieces, self.begun = [], None

    def _tool_result(self, said: LenientJson, at: str | None) -> None:
        key, failed = said.text("tool_id") or "", said.text("status") == "error"
        output = said.text("output") or said.text("error", "message") or ""
        self.log.result(key, output, failed=failed, exit_code=self.codes.get(key), at=at)
        self.between_rounds = True

    def _result(self, result: LenientJson) -> None:
        self.complete, self.usage = True, _total(result.child("stats"))
        models = result.child("stats", "models")
        if models.value and self.model not in models.value:
            self.model = max(models.value, key=lambda name: models.count(name, "total_tokens") or 0)
        if result.text("status") != "success":
            self.error = result.child("error")

    def find_trouble(self, capture: Capture) -> None:
        """The words of the error first, then the status they leave out."""
        if self.error is not None:
            message = self.error.text("message") or self.notice or "the session failed"
            kind = "max-steps" if self.error.text("type") == TURN_LIMIT else kind_of_text(message)
            self.fail(message, kind or kind_of_status(_status(capture)))
        elif not self.complete and capture.exit_code == NOT_SIGNED_IN:
            self.fail(capture.stderr.tail(500), "auth")
        elif not self.complete and (refusal := _refusal(capture)):
            self.fail(refusal, "runner-crash")


def _round(message: LenientJson) -> _Round:
    tokens = message.child("tokens")
    parts = [(thought.text("subject"), thought.text("description")) for thought in message.children("thoughts")]
    return _Round(
        at=message.text("timestamp") or "",
        usage=Usage(
            input_tokens=tokens.count("input"),
            output_tokens=tokens.count("output"),
            reasoning_tokens=tokens.count("thoughts"),
            cache_tokens=tokens.count("cached"),
        ),
        thoughts=tuple("\n".join(filter(None, part)) for part in parts if any(part)),
        codes={call.text("id") or "": _exit_code(call) for call in message.children("toolCalls")},
    )


def _exit_code(call: LenientJson) -> int | None:
    """Of a command that ended by itself; one in the background has none yet."""
    told = [result.text("functionResponse", "response", "output") or "" for result in call.children("result")]
    ended = ENDED.search("\n".join(told))
    return int(ended["code"] or 0) if ended and not ended["signal"] else None


def _effects(tool: str, given: LenientJson) -> Iterator[Effect]:
    if tool == "run_shell_command" and (command := given.text("command")) is not None:
        yield Command(command=command)
    elif tool == "activate_skill" and (skill := given.text("name")):
        yield SkillSignal(skill=skill, signal="activate_skill tool")
    elif tool in FILES and (path := given.text("file_path")):
        yield FILES[tool](path=path)


def _total(stats: LenientJson) -> Usage:
    """Input includes what comes from the cache; only the total includes the thoughts."""
    names = ("total_tokens", "input_tokens", "output_tokens")
    total, input_tokens, output = (stats.count(name) for name in names)
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output,
        reasoning_tokens=None if total is None else max(0, total - (input_tokens or 0) - (output or 0)),
        cache_tokens=stats.count("cached"),
    )


def _status(capture: Capture) -> int | None:
    shown, code = SHOWN_STATUS.findall(capture.stderr.tail(4096)), capture.exit_code
    if shown:
        return int(shown[-1])
    return code + 256 if code is not None and code in STATUS_ENDS else None


def _refusal(capture: Capture) -> str | None:
    """The first line of a long help that follows wrong arguments."""
    return next((line for line in capture.stderr.lines() if line.startswith("Unknown argument")), None)
