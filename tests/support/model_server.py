"""A scripted model on loopback: real agent CLIs run against it, no model is asked and no key is needed.

A script is a tuple of steps; every model call plays the step whose position is the number of assistant turns the
request already holds, so the server keeps no conversation. Steps that name a tool are put into the words of the tools
the request offers.

    with ModelServer() as server:
        base_url = server.script(Shell("ls"), Say("done"))
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from model_anthropic import Anthropic
from model_gemini import Gemini
from model_openai import Chat, Responses
from model_script import (
    SCENARIOS,
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
    Together,
    call_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from model_protocols import Ask, Event, ModelProtocol
    from model_script import Spoken, Step

# By the end of a request's path.
PROTOCOLS: dict[str, ModelProtocol] = {
    "/messages": Anthropic(),
    "/responses": Responses(),
    "/chat/completions": Chat(),
    ":streamGenerateContent": (gemini := Gemini()),
    ":generateContent": gemini,
}


@dataclass(frozen=True)
class Request:
    script: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Script:
    """Steps, and how often each failure was already played."""

    steps: tuple[Step, ...]
    failed: dict[int, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def step(self, position: int) -> Step:
        """The step of a position; past the end the last one. Failures that are used up no longer count."""
        with self.lock:
            steps = [(index, step) for index, step in enumerate(self.steps) if not self._used_up(index, step)]
            index, step = steps[min(position, len(steps) - 1)]
            if isinstance(step, Fail):
                self.failed[index] = self.failed.get(index, 0) + 1
            return step

    def _used_up(self, index: int, step: Step) -> bool:
        return isinstance(step, Fail) and step.times is not None and self.failed.get(index, 0) >= step.times


@dataclass
class Prompted:
    """Scripts by a part of the prompt. The sessions of a prompt play its scripts in turn, and then the last one."""

    scripts: Mapping[str, Sequence[Script]]
    sessions: dict[str, list[str]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, body: Any) -> Script | None:
        """The script of a request. Sessions are known by the id that Claude Code, or Codex, sends."""
        said = json.dumps(body.get("messages") or body.get("input"), ensure_ascii=False)
        prompt = next((prompt for prompt in self.scripts if json.dumps(prompt, ensure_ascii=False)[1:-1] in said), None)
        if prompt is None:
            return None
        session = str((body.get("metadata") or {}).get("user_id") or body.get("prompt_cache_key"))
        with self.lock:
            sessions = self.sessions.setdefault(prompt, [])
            if session not in sessions:
                sessions.append(session)
            scripts = self.scripts[prompt]
            return scripts[min(sessions.index(session), len(scripts) - 1)]


@dataclass
class Told:
    """Other scripts where ``words``, such as the description of a skill, are anywhere in the request."""

    words: str
    told: Prompted
    untold: Prompted

    def script(self, body: Any) -> Script | None:
        """The script of a request."""
        return (self.told if self.words in json.dumps(body, ensure_ascii=False) else self.untold).script(body)


class ModelServer:
    """Listens on a free port of 127.0.0.1 between ``with`` and its end; ``requests`` is the log.

    As a ``proxy`` it refuses everything; ``refused`` are the hosts that were asked for.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        self.requests: list[Request] = []
        self.refused: list[str] = []
        self.scripts: dict[str, Script | Prompted | Told] = {}
        self.closing = threading.Event()
        self._http = _Http((address, 0), _Handler)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def proxy(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def script(self, *steps: Step) -> str:
        """The base URL under which ``steps`` are played."""
        return self._named(Script(steps))

    def prompted(self, scripts: Mapping[str, Sequence[tuple[Step, ...]]]) -> str:
        """The base URL under which each prompt has scripts of its own."""
        return self._named(_prompted(scripts))

    def told(
        self,
        words: str,
        told: Mapping[str, Sequence[tuple[Step, ...]]],
        untold: Mapping[str, Sequence[tuple[Step, ...]]],
    ) -> str:
        """The base URL of a model that plays other scripts by prompt if ``words`` are anywhere in the request."""
        return self._named(Told(words, _prompted(told), _prompted(untold)))

    def _named(self, scripts: Script | Prompted | Told) -> str:
        name = f"script-{len(self.scripts) + 1}"
        self.scripts[name] = scripts
        return f"{self.proxy}/{name}"

    def scenario(self, name: str) -> str:
        """The base URL of a fresh play of a named scenario."""
        return self.script(*SCENARIOS[name])


def _prompted(scripts: Mapping[str, Sequence[tuple[Step, ...]]]) -> Prompted:
    return Prompted({prompt: [Script(one) for one in many] for prompt, many in scripts.items()})


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: ModelServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Requests are in ``ModelServer.requests``."""

    def do_HEAD(self) -> None:
        self._json({})

    def do_GET(self) -> None:
        self._json({"data": []})

    def do_CONNECT(self) -> None:
        self.server.owner.refused.append(self.path)
        self._json({}, 403)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        _, name, path = self.path.partition("?")[0].split("/", 2)
        self.server.owner.requests.append(Request(name, f"/{path}", dict(self.headers), body))
        if path.endswith("/count_tokens"):
            return self._json({"input_tokens": 100})
        protocol = next((PROTOCOLS[end] for end in PROTOCOLS if path.endswith(end)), None)
        script = self.server.owner.scripts.get(name)
        if isinstance(script, Prompted | Told):
            script = script.script(body)
        if protocol is None or script is None:
            return self._json({"error": {"message": f"nothing is scripted for {self.path}"}}, 404)
        return self._play(protocol, protocol.ask(path, body), script)

    def _play(self, protocol: ModelProtocol, ask: Ask, script: Script) -> None:
        step = script.step(ask.position) if ask.tools else Say("side call")
        match step.step if isinstance(step, Forever) else step:
            case Fail(status, _, retry_after):
                self._json(protocol.error(status), status, retry_after)
            case Reject(why):
                self._reject(ask, *protocol.rejection(why))
            case Hang():
                self.server.owner.closing.wait(120)
            case Cut(after, reset):
                self._cut(protocol, ask, after, reset=reset)
            case Garble() | Page() | Disguised() as odd:
                self._no_answer(protocol, ask, odd)
            case End("filter") if not ask.stream and isinstance(protocol, Anthropic):
                self._reject(ask, *protocol.rejection("policy"))
            case End(reason, text):
                self._answer(protocol, ask, [Say(text)], reason)
            case Together(steps):
                self._answer(protocol, ask, [call_for(part, ask.tools) for part in steps])
            case part:
                self._answer(protocol, ask, [call_for(part, ask.tools)])

    def _answer(self, protocol: ModelProtocol, ask: Ask, parts: list[Spoken], ending: str = "") -> None:
        if ask.stream:
            self._head(200, "text/event-stream")
            self._events(protocol.stream(ask, parts, ending))
        else:
            self._json(protocol.whole(ask, parts, ending))

    def _reject(self, ask: Ask, status: int, body: dict[str, Any] | list[dict[str, Any]]) -> None:
        if status == 200 and ask.stream:
            self._head(200, "text/event-stream")
            self._events(iter(body if isinstance(body, list) else [body]))
        else:
            self._json(body, status)

    def _no_answer(self, protocol: ModelProtocol, ask: Ask, step: Garble | Page | Disguised) -> None:
        match step:
            case Page(title, status):
                self._sent("text/html", f"<!DOCTYPE html><html><head><title>{title}</title></head></html>", status)
            case Disguised("body", status):
                self._json(protocol.error(status))
            case Disguised(_, status):
                self._head(200, "text/event-stream")
                self._events(iter([protocol.error(status)]))
            case Garble():
                self._head(200, "text/event-stream" if ask.stream else "application/json")
                self.wfile.write(b'data: {"choices": [{"delta": \n\n')

    def _cut(self, protocol: ModelProtocol, ask: Ask, after: str, *, reset: bool) -> None:
        if ask.stream:
            part = call_for(Shell("echo cut"), ask.tools) if after == "call" else Say("I have begun")
            self._head(200, "text/event-stream")
            self._events(islice(protocol.stream(ask, [part]), protocol.BEFORE_END[after]))
        elif not reset:
            self._head(200, "application/json", length=1000)
        if reset:
            time.sleep(0.1)  # what was sent before a reset is lost unless it was read
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.wfile.close()
            self.rfile.close()
            self.connection.close()
            self.close_connection = True

    def _events(self, events: Iterator[Event]) -> None:
        for event in events:
            name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
            data = event if isinstance(event, str) else json.dumps(event)
            self.wfile.write(f"{name}data: {data}\n\n".encode())
            self.wfile.flush()

    def _json(self, value: dict[str, Any], status: int = 200, retry_after: int | None = 1) -> None:
        self._sent("application/json", json.dumps(value), status, retry_after)

    def _sent(self, kind: str, text: str, status: int, retry_after: int | None = None) -> None:
        body = text.encode()
        self._head(status, kind, len(body), retry_after)
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, kind: str, length: int | None = None, retry_after: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        if length is not None:
            self.send_header("Content-Length", str(length))
        if status == 429 and retry_after is not None:
            self.send_header("Retry-After", str(retry_after))
        self.end_headers()
        self.close_connection = True
