"""Gemini CLI: ``gemini --output-format stream-json`` reads the prompt from stdin and prints one JSON object a line.

Verified with the version in ``AGENTS``: a message comes in pieces; a command that failed is a success; the
exit code after a failed call is the HTTP status modulo 256. Thoughts, exit codes of commands and the tokens of a round
are in the CLI's log of the session only, where the last line about a message counts. The stream does not separate
model rounds while it runs, so the CLI itself is asked to keep to ``max_steps``.
"""

from __future__ import annotations

import json
import re
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.agents.defaults import StreamParser, Tools, cli_invocation, lines_of, reported, streamed_events
from skillgym_action.agents.families import OFF
from skillgym_action.agents.output.lenient_json import LenientJson, json_object
from skillgym_action.agents.output.trouble_signs import NO_ANSWER, kind_of_error
from skillgym_action.model.records import record
from skillgym_action.model.session import Invocation, Progress
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from skillgym_action.model.session import Capture, Session

SETTINGS = {
    "general": {"enableAutoUpdate": False, "maxAttempts": 3},
    "privacy": {"usageStatisticsEnabled": False},
}
TURN_LIMIT = "FatalTurnLimitedError"
# Notices: of an answer without words, which is an answer; and of a model that calls the same tool again and again.
NO_WORDS = "The model returned an empty response"
LOOP = "Loop detected"
NOT_SIGNED_IN = 41
# The end of the text that the model gets for a command that has ended; a code of 0 is left out.
ENDED = re.compile(
    r"\n(?:Exit Code: (?P<code>\d+)\n)?(?P<signal>Signal: \S+\n)?(?:Background PIDs: .*\n)?"
    r"Process Group PGID: \d+\s*(?:</untrusted_context>)?\s*\Z"
)
# How stderr shows a call that failed, and what is left of its status in the exit code.
SHOWN_STATUS = re.compile(r"^  (?:status|code): (\d{3})\b", re.MULTILINE)
STATUS_ENDS = range(400 - 256, 256)
TOOLS = Tools(
    commands={"run_shell_command": "command"},
    skills={"activate_skill": "name"},
    reads={"read_file": "file_path"},
    writes={"write_file": "file_path", "replace": "file_path"},
)


def invocation(session: Session, *resumed: str) -> Invocation:
    """A session with a config folder of its own; the CLI retries a failed model call twice."""
    # Left to itself, the CLI guesses wrongly as soon as a base URL is set.
    vertex = session.agent.env.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() not in OFF
    auth = {"selectedType": "vertex-ai" if vertex else "gemini-api-key"}
    rounds = {"model": {"maxSessionTurns": session.max_steps}} if session.max_steps else {}
    return cli_invocation(
        session,
        ("gemini", "--yolo", "--output-format", "stream-json", *resumed),
        env={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        files={
            session.home / ".gemini" / "settings.json": json.dumps({**SETTINGS, **rounds, "security": {"auth": auth}})
        },
        collect=(".gemini/tmp/*/chats/session-*.jsonl",),
    )


def resume(session: Session, session_id: str) -> Invocation:
    """Needs the home and the workspace of the session that is continued."""
    return invocation(session, f"--resume={session_id}")


def progress(line: str) -> Progress | None:
    """Only the end of the session: the stream does not group tool calls by model round."""
    event = json_object(line)
    return Progress(finished=True) if event and event.text("type") == "result" else None


@record
class _Round:
    """A model round, as in the log. ``at`` is a time in ISO 8601; ``codes``: call -> exit code.

    ``is_blank``: it has neither words nor calls nor tokens, which is what an error with HTTP status 200 looks like.
    """

    at: str
    usage: Usage
    thoughts: tuple[str, ...]
    codes: dict[str, int | None]
    is_blank: bool


@record(frozen=False, kw_only=False, slots=False)
class _Parser(StreamParser):
    """``logged``: the rounds of the log; ``pieces``: the parts of the current message, which began at ``begun``.

    ``order``: ids of the rounds of this session, in the order of the log; ``is_blank``: the last one is.
    """

    logged: dict[str, _Round] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    codes: dict[str, int | None] = field(default_factory=dict)
    thoughts: list[tuple[str, ...]] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    begun: str | None = None
    between_rounds: bool = True
    is_blank: bool = False
    error: LenientJson | None = None
    notice: str = ""

    def take_collected(self, record: LenientJson) -> None:
        """Take a line of the log. The last line about a message counts; some lines repeat many of them."""
        for message in (record, *record.children("$set", "messages")):
            if message.text("type") == "gemini" and (key := message.text("id")):
                self.logged[key] = _round(message)

    def take(self, event: LenientJson) -> bool:
        at, kind = event.text("timestamp"), event.text("type")
        if kind == "message" and event.text("role") == "assistant":
            self._note_round()
            self.begun = self.begun or at
            self.pieces.append(event.text("content") or "")
            return True
        self._end_message()
        match kind:
            case "init":
                self._begin(event)
            case "message":
                self.log.user_message(event.text("content") or "", at)
                self.between_rounds = True
            case "tool_use":
                self._note_round()
                tool, arguments = event.text("tool_name") or "", event.child("parameters")
                self.log.call(event.text("tool_id") or "", tool, arguments.value, TOOLS.effects(tool, arguments), at)
            case "tool_result":
                self._tool_result(event, at)
            case "result":
                self._result(event)
            case _:
                self.notice = event.text("message") or self.notice
                return False
        return True

    def _begin(self, event: LenientJson) -> None:
        """Rounds that were logged before belong to a session that this one continues."""
        self.session_id, self.model = event.text("session_id"), event.text("model")
        rounds = {key: one for key, one in self.logged.items() if one.at >= (event.text("timestamp") or "")}
        self.rounds = {key: one.usage for key, one in rounds.items()}
        self.order = list(rounds)
        self.is_blank = any(one.is_blank for one in list(rounds.values())[-1:])
        self.thoughts = [one.thoughts for one in rounds.values()]
        self.codes = {call: code for one in rounds.values() for call, code in one.codes.items()}

    def _note_round(self) -> None:
        """Begin a model round at the first event after the user's message or a tool's result; thoughts come first."""
        if self.between_rounds:
            number, self.between_rounds = self.turns or 0, False
            self.turns = number + 1
            self.log.round = next(iter(self.order[number : number + 1]), "")
            for thought in self.thoughts[number : number + 1]:
                for text in thought:
                    self.log.thinking(text)

    def _end_message(self) -> None:
        """Log the message whose pieces are complete."""
        if self.pieces:
            self.log.assistant_message("".join(self.pieces), self.begun)
            self.pieces, self.begun = [], None

    def _tool_result(self, event: LenientJson, at: str | None) -> None:
        key, failed = event.text("tool_id") or "", event.text("status") == "error"
        output = event.text("output") or event.text("error", "message") or ""
        self.log.result(key, output, failed=failed, exit_code=self.codes.get(key), at=at)
        self.between_rounds = True

    def _result(self, result: LenientJson) -> None:
        self.ended(None)
        self.spent(None, _total(result.child("stats")))
        models = result.child("stats", "models")
        if models.value and self.model not in models.value:
            self.model = max(models.value, key=lambda name: models.count(name, "total_tokens") or 0)
        self.error = None if result.text("status") == "success" else result.child("error")

    def finish(self, capture: Capture) -> None:
        """Find the failure: by the error message first, then by the HTTP status that it leaves out."""
        self._end_message()
        if self.turns != len(self.order):  # calls of one round, one after the other, look like several
            self.log.forget_rounds()
        if self.error is not None:
            message = self.error.text("message") or self.notice or "the session failed"
            kind = "max-steps" if self.error.text("type") == TURN_LIMIT else kind_of_error(message, _status(capture))
            if not message.startswith(NO_WORDS):
                self.fail(message, kind)
        elif self.notice.startswith(LOOP):
            self.fail(f"the CLI stopped: {self.notice}", "max-steps")
        elif self.complete and self.is_blank:
            self.fail(NO_ANSWER, "provider")
        elif not self.complete and capture.exit_code == NOT_SIGNED_IN:
            self.fail(capture.stderr.tail(500), "auth")


transcript = streamed_events(_Parser)
event_reader = lines_of(_Parser)
trouble = reported


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
        is_blank=not (tokens.value or message.at("content") or message.at("toolCalls")),
    )


def _exit_code(call: LenientJson) -> int | None:
    """The exit code of a command that ended by itself; one in the background has none yet."""
    outputs = [result.text("functionResponse", "response", "output") or "" for result in call.children("result")]
    ended = ENDED.search("\n".join(outputs))
    return int(ended["code"] or 0) if ended and not ended["signal"] else None


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
