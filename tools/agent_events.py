"""Events of a session and what each agent makes of them: the table of events in agents.md.

``python tools/agent_events.py 'COLUMN/COLUMN:EVENT,EVENT'`` runs the real CLIs through events (all, if none is
named) and keeps what they printed; without an argument it judges what was kept and writes the table.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import modules_of_tests
from agent_desk import KEY, MODELS, Desk, wiring
from model_script import (
    Cut,
    Disguised,
    End,
    Fail,
    Forever,
    Garble,
    Hang,
    Page,
    Reject,
    Say,
    Shell,
    Step,
    Together,
    Use,
)
from model_server import ModelServer
from paths import REPOSITORY
from sessions import SESSION, capture_of, session_with
from skillgym_action.agents import agent_named, copilot, pi
from skillgym_action.model.session import AgentConfig, Ending
from skillgym_action.model.session_report import Trouble
from skillgym_action.sessions.judge import trouble_judgement
from skillgym_action.sessions.session_limits import SessionLimits, trouble_of_session

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.session import Capture, Session

RECORDINGS = REPOSITORY / "tests" / "data" / "agent-events"
TABLE = REPOSITORY / "tests" / "data" / "agent-events.json"
NOISE = (*pi.NOISE, *copilot.NOISE)
DONE = Say("skillgym ready")
WORK = Shell("echo hello > out.txt")


@dataclass(frozen=True)
class AgentEvent:
    """``name``: of its recording; ``what``: its row in the documentation; ``steps``: what the scripted model does.

    ``timeout``: seconds, where the event has no other end; ``max_steps``, ``prompt``: of the session; ``exit_code``:
    with which a shell around the CLI ends, whatever the CLI's own is.
    """

    name: str
    what: str
    steps: tuple[Step, ...]
    timeout: float | None = None
    max_steps: int | None = None
    prompt: str = SESSION.prompt
    exit_code: int | None = None


EVENTS = (
    AgentEvent("answer", "the model answers", (DONE,)),
    AgentEvent("tool-fails", "a command fails, then the model answers", (Shell("ls /no/such/dir; exit 3"), DONE)),
    AgentEvent("unknown-tool", "the model calls a tool that does not exist, then answers", (Use("no_such_tool"), DONE)),
    AgentEvent("empty", "the model's answer is empty", (Say(""),)),
    AgentEvent("empty-later", "the model's answer after a tool call is empty", (WORK, Say(""))),
    AgentEvent("refusal", "the model refuses", (End("refusal", "I cannot help with that."),)),
    AgentEvent("output-limit", "the answer reaches the output limit", (End("length", "I have begun"),)),
    AgentEvent("context", "the conversation exceeds the context window", (Reject("context"),)),
    AgentEvent("policy", "the service rejects the prompt because of its content policy", (Reject("policy"),)),
    AgentEvent("filter", "the service's content filter stops the answer", (End("filter", "I have begun"),)),
    AgentEvent("401", "HTTP status 401, wrong key", (Fail(401),)),
    AgentEvent("expired", "HTTP status 401, the login has expired", (Reject("expired"),)),
    AgentEvent("402", "HTTP status 402, payment required", (Reject("payment"),)),
    AgentEvent("403", "HTTP status 403, access denied", (Reject("forbidden"),)),
    AgentEvent("404", "HTTP status 404, unknown model", (Fail(404),)),
    AgentEvent("404-page", "HTTP status 404 with an HTML page: a wrong base URL", (Page("404 Not Found", 404),)),
    AgentEvent("413", "HTTP status 413, the request is too large", (Reject("too-large"),)),
    AgentEvent("429", "HTTP status 429 on every call, without `retry-after`", (Fail(429, retry_after=None),)),
    AgentEvent("429-after", "HTTP status 429 on every call, with `retry-after`", (Fail(429),)),
    AgentEvent("429-hour", "HTTP status 429 with a `retry-after` of an hour", (Fail(429, retry_after=3600),)),
    AgentEvent("429-twice", "HTTP status 429 on two calls, then the model answers", (Fail(429, times=2), DONE)),
    AgentEvent("quota", "the account's quota is exhausted", (Reject("quota"),)),
    AgentEvent("credit", "the account has no credit left", (Reject("credit"),)),
    AgentEvent("usage-limit", "the account's usage limit is reached, and resets later", (Reject("usage-limit"),)),
    AgentEvent("500", "HTTP status 500 on every call", (Fail(500),)),
    AgentEvent("503", "HTTP status 503 on every call, without a word on overload", (Fail(503),)),
    AgentEvent("overloaded", "HTTP status 503 or 529 (overloaded) on every call", (Reject("overloaded"),)),
    AgentEvent("garbled", "the response is malformed JSON", (Garble(),)),
    AgentEvent("login-page", "HTTP status 200 with an HTML page: a login page of the network", (Page("Sign in"),)),
    AgentEvent("error-body", "HTTP status 200 with an error as the body", (Disguised("body"),)),
    AgentEvent(
        "error-body-later", "in a later round, HTTP status 200 with an error as the body", (WORK, Disguised("body"))
    ),
    AgentEvent("error-event", "HTTP status 200 with an error as an event of the stream", (Disguised("event"),)),
    AgentEvent(
        "error-event-later",
        "in a later round, HTTP status 200 with an error as an event",
        (WORK, Disguised("event")),
    ),
    AgentEvent("cut-head", "the stream ends before its first event", (Cut("head"),)),
    AgentEvent("cut", "the stream ends before the first word of the answer", (Cut(),)),
    AgentEvent("cut-words", "the stream ends after the first words of the answer", (Cut("words"),)),
    AgentEvent("cut-call", "the stream ends after a tool call, before the end of the answer", (Cut("call"), DONE)),
    AgentEvent("cut-later", "in a later round, the stream ends before the first word", (WORK, Cut())),
    AgentEvent("cut-words-later", "in a later round, the stream ends after the first words", (WORK, Cut("words"))),
    AgentEvent("reset", "the connection is reset before the response", (Cut("head", reset=True),)),
    AgentEvent(
        "reset-words", "the connection is reset after the first words of the answer", (Cut("words", reset=True),)
    ),
    AgentEvent("silence", "the service sends no response before the time limit", (Hang(),), timeout=30),
    AgentEvent(
        "loop",
        "the model endlessly repeats the same tool call, and `--max-steps` is set",
        (Forever(Together((Say("Once more."), WORK))),),
        max_steps=8,
    ),
    AgentEvent("slash", "the prompt is a slash command that does not exist", (DONE,), prompt="/nonexistent do it"),
    AgentEvent("help", "the prompt is `/help`, which is a command of some CLIs", (DONE,), prompt="/help"),
    AgentEvent("clear", "the prompt is `/clear`, which is a command of some CLIs", (DONE,), prompt="/clear"),
    AgentEvent("exit-1", "the model answers, then the CLI exits with code 1", (DONE,), exit_code=1),
)


@dataclass(frozen=True)
class Player:
    """A column of the table: an agent and the service it asks. ``model``, ``service``: of a ``Desk``'s session."""

    agent: str
    model: str | None
    service: str


PLAYERS = {
    **{agent: Player(agent, model, agent) for agent, model in sorted(MODELS.items())},
    "pi, Anthropic": Player("pi", "anthropic/claude-sonnet-4-5", "claude-code"),
    "opencode, Anthropic": Player("opencode", "anthropic/claude-sonnet-4-5", "claude-code"),
}
STDERR_CHARACTERS = 4000
READ_RECORDS = re.compile(
    r'"type": ?"(?:session\.usage_record|gemini)"|"qwen-code\.api_(?:error|response)"'
)  # lines of session files that decide verdicts
TEXT_CHARACTERS = 600
LIST_ITEMS = 20


def play(player: Player, event: AgentEvent, folder: Path, models: ModelServer) -> tuple[Capture, Session, float | None]:
    """Run the real CLI through an event. The third value: seconds of silence at its end."""
    desk = Desk(player.agent, folder, models)
    base_url = models.script(*event.steps)
    session = desk.session("", model=player.model, env=wiring(player.service, base_url), max_steps=event.max_steps)
    session = replace(session, timeout=event.timeout or session.timeout, prompt=event.prompt)
    limits = SessionLimits(desk.adapter, session)
    invocation = desk.adapter.invocation(session)
    if event.exit_code is not None:
        argv = ("/bin/sh", "-c", f'"$@"; exit {event.exit_code}', "sh", *invocation.argv)
        invocation = replace(invocation, argv=argv)
    return desk.capture(invocation, watch=limits), session, limits.silence().seconds


def verdict(agent: str, capture: Capture, session: Session, silence: float | None) -> str:
    """What the table says of a session: ``judged``, or status and class."""
    adapter = agent_named(agent)
    transcript = adapter.transcript(capture, session)
    of_agent = adapter.trouble(capture, transcript)
    limits = SessionLimits(adapter, session)
    for line in capture.stdout.lines():
        limits(line)
    end = None if silence is None else replace(limits.silence(), seconds=silence)
    found = trouble_of_session(of_agent, capture, transcript, end, session.timeout)
    return f"{trouble_judgement(found).status}: {found.kind}" if found else "judged"


# --- recorded ---------------------------------------------------------------------------------------


def recording(capture: Capture, silence: float | None, folder: Path) -> dict[str, Any]:
    """A capture as JSON: what was printed, without long texts, lines that adapters leave out, paths and ports."""
    stopped = capture.stopped_for
    lines = [_shortened_line(line) for line in capture.stdout.lines() if line.strip() and not line.startswith(NOISE)]
    found = {
        "ending": capture.ending.value,
        "exit": capture.exit_code,
        "stopped": [stopped.kind, stopped.message] if stopped else None,
        "stdout": lines,
        "stderr": capture.stderr.tail(STDERR_CHARACTERS),
        "session": [
            _shortened_line(line) for file in capture.collected for line in file.lines() if READ_RECORDS.search(line)
        ],
    }
    if capture.ending is Ending.TIMED_OUT:
        found |= {"seconds": capture.seconds, "silence": silence}
    text = json.dumps(found, ensure_ascii=False)
    for real, stand_in in ((str(folder), "/session"), (str(REPOSITORY), "/repository"), (KEY, "KEY")):
        text = text.replace(real, stand_in)
    recorded: dict[str, Any] = json.loads(re.sub(r"127\.0\.0\.1:\d+/script-\d+", "127.0.0.1:1/script", text))
    return recorded


def recorded_capture(recorded: dict[str, Any]) -> Capture:
    kind, message = recorded["stopped"] or ("", "")
    return capture_of(
        "".join(f"{line}\n" for line in recorded["stdout"]),
        ending=Ending(recorded["ending"]),
        exit_code=recorded["exit"],
        stderr=recorded["stderr"],
        seconds=recorded.get("seconds", 1.5),
        collected=["".join(f"{line}\n" for line in recorded["session"])],
        stopped_for=Trouble(kind=kind, message=message) if kind else None,
    )


def recorded_verdict(name: str, recorded: dict[str, Any]) -> str:
    agent = PLAYERS[name].agent
    session = session_with(AgentConfig(type=agent))
    return verdict(agent, recorded_capture(recorded), session, recorded.get("silence"))


def recordings(name: str) -> dict[str, dict[str, Any]]:
    """The recorded events of a column, by the event's name."""
    found: dict[str, dict[str, Any]] = json.loads(_recordings(name).read_text(encoding="utf-8"))
    return found


def _recordings(name: str) -> Path:
    return RECORDINGS / f"{name.replace(', ', '-').lower()}.json"


def _shortened_line(line: str) -> str:
    try:
        return json.dumps(_shortened(json.loads(line)), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return line[:TEXT_CHARACTERS]


def _shortened(value: Any) -> Any:
    match value:
        case str():
            return value[:TEXT_CHARACTERS]
        case list():
            return [_shortened(item) for item in value[:LIST_ITEMS]]
        case dict():
            return {name: _shortened(item) for name, item in value.items()}
        case _:
            return value


# --- the table --------------------------------------------------------------------------------------


def table() -> dict[str, dict[str, str]]:
    """Event -> column -> verdict, as reviewed."""
    found: dict[str, dict[str, str]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return found


def of_events() -> Iterator[tuple[str, ...]]:
    """A row for each event, a column for each player."""
    cells = table()
    yield "Event", *(name if "," in name else f"`{name}`" for name in PLAYERS)
    for event in EVENTS:
        yield event.what, *(cells[event.name][name] for name in PLAYERS)


def write_table() -> None:
    """The table as the recordings are judged now."""
    columns = {name: recordings(name) for name in PLAYERS}
    cells = {
        event.name: {name: recorded_verdict(name, columns[name][event.name]) for name in PLAYERS} for event in EVENTS
    }
    TABLE.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")


def record(name: str, chosen: Sequence[str], models: ModelServer) -> None:
    """Play events on the real CLI and keep what it printed."""
    path = _recordings(name)
    kept = recordings(name) if path.exists() else {}
    for event in EVENTS:
        if not chosen or event.name in chosen:
            with TemporaryDirectory() as place:
                folder = Path(place).resolve()
                capture, session, silence = play(PLAYERS[name], event, folder, models)
                found = verdict(PLAYERS[name].agent, capture, session, silence)
                print(f"{name}: {event.name}: {found} {capture.seconds:.0f} s")
                kept[event.name] = recording(capture, silence, folder)
                path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    columns, _, events = sys.argv[1].partition(":") if len(sys.argv) > 1 else ("", "", "")
    with ModelServer() as server:
        for column in columns.split("/") if columns else ():
            record(column, events.split(",") if events else (), server)
    if not columns:
        write_table()
