"""An HTTP server on loopback through which one program asks the judge's model, without having its key.

The interface is that of AgentV's target proxy: ``GET /info``, ``POST /invoke`` and ``POST /invokeBatch``, each with the
token as a bearer token. The program decides what is asked; nothing here vouches for its questions.
"""

from __future__ import annotations

import json
import secrets
import threading
from dataclasses import field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, Self

from skillgym_action.model.judge_question import united_judges
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.judging.judge.client import Judge
    from skillgym_action.model.judge_question import JudgeInfo, ModelReply
    from skillgym_action.model.session_report import Usage

MAX_MODEL_PROXY_BYTES = 4_000_000  # of one request of a program
MAX_MODEL_PROXY_THREADS = 16  # connections of one program at once
MODEL_PROXY_READ_SECONDS = 30.0  # until a request has to be there
MODEL_PROXY_POLL_SECONDS = 0.05  # how soon it notices that the program has ended
_LOOPBACK = "127.0.0.1"


@record(kw_only=False)
class ModelCall:
    """One question that the program asked, and its answer."""

    system: str
    prompt: str
    reply: ModelReply


class _RefusedError(Exception):
    """A request that is not forwarded to the model."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


@record(frozen=False, kw_only=False)
class _State:
    """What the program has asked so far. ``begun`` counts also questions without an answer yet."""

    begun: int = 0
    closed: bool = False
    calls: list[ModelCall] = field(default_factory=list)


class ModelProxy:
    """Listens between ``with`` and its end, on a free port of 127.0.0.1, for whoever has the ``token``.

    Answers at most ``max_calls`` questions. Implements ``model.assertion.ModelAccess``.
    """

    def __init__(self, judge: Judge, max_calls: int, no_proxy: str = "") -> None:
        """``no_proxy``: hosts that the program reaches without a proxy, as in the variable of that name."""
        self._judge, self._max_calls = judge, max_calls
        self._no_proxy = no_proxy
        self._state = _State()
        self._lock, self._asking = threading.Lock(), threading.Lock()
        self.token = secrets.token_hex(32)
        self._http = _Server(self)
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": MODEL_PROXY_POLL_SECONDS}, name="model-proxy"
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening. Questions that still have no answer are not waited for."""
        with self._lock:
            self._state.closed = True
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://{_LOOPBACK}:{self._http.server_address[1]}"

    @property
    def variables(self) -> Mapping[str, str]:
        """Environment variables with which HTTP clients reach the server although they use a proxy otherwise."""
        hosts = ",".join(filter(None, (self._no_proxy, _LOOPBACK)))
        return {"NO_PROXY": hosts, "no_proxy": hosts}

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """The questions with their answers."""
        with self._lock:
            return tuple(self._state.calls)

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all answers; None: unknown, also if a question has no answer yet."""
        with self._lock:
            costs = [call.reply.cost_usd for call in self._state.calls]
            pending = self._state.begun > len(costs)
        return None if pending or None in costs else sum(cost or 0.0 for cost in costs)

    @property
    def judge(self) -> JudgeInfo | None:
        """The judge, if it has answered."""
        return united_judges(call.reply.judge for call in self.calls if call.reply.text is not None)

    @property
    def unanswered(self) -> str | None:
        """Why a question got no answer, also when it was asked again; None: all have one."""
        answered = {(call.system, call.prompt) for call in self.calls if call.reply.text is not None}
        troubles = (call.reply.trouble for call in self.calls if (call.system, call.prompt) not in answered)
        return next((trouble.message for trouble in troubles if trouble), None)

    # --- requests -----------------------------------------------------------------------------------------

    def info(self) -> dict[str, object]:
        """The reply to ``/info``."""
        model = self._judge.model
        with self._lock:
            begun = self._state.begun
        return {"targetName": model, "maxCalls": self._max_calls, "callCount": begun, "availableTargets": [model]}

    def invoke(self, request: object) -> dict[str, object]:
        """The reply to ``/invoke``. Raises _RefusedError."""
        system, prompt = self._question(request)
        self._begin()
        return self._ask(system, prompt)

    def invoke_batch(self, request: object) -> dict[str, object]:
        """The reply to ``/invokeBatch``; a question that gets no answer does not stop the others.

        Raises _RefusedError.
        """
        requests = request.get("requests") if isinstance(request, dict) else None
        if not isinstance(requests, list):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "Missing required field: requests (array)")
        self._refuse_surplus(len(requests))
        responses = []
        for one in requests:
            try:
                responses.append(self.invoke(one))
            except _RefusedError as error:
                responses.append({"output": [], "rawText": f"Error: {error}"})
        return {"responses": responses}

    def _question(self, request: object) -> tuple[str, str]:
        """System prompt and prompt of a request. Raises _RefusedError."""
        found = request if isinstance(request, dict) else {}
        prompt, system, target = found.get("question"), found.get("systemPrompt"), found.get("target")
        if not isinstance(prompt, str) or not prompt:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "Missing required field: question")
        model = self._judge.model
        if target not in {None, model}:
            raise _RefusedError(HTTPStatus.BAD_REQUEST, f"Unknown target {str(target)!r}. Available: {model}")
        return system if isinstance(system, str) else "", prompt

    def _refuse_surplus(self, number: int) -> None:
        """Raise _RefusedError if so many questions more are not answered. The lock is not held."""
        with self._lock:
            if self._state.closed:
                raise _RefusedError(HTTPStatus.SERVICE_UNAVAILABLE, "Proxy is shutting down")
            if self._state.begun + number > self._max_calls:
                raise _RefusedError(HTTPStatus.TOO_MANY_REQUESTS, f"Max calls exceeded (limit: {self._max_calls})")

    def _begin(self) -> None:
        """Count a question that is about to be asked. Raises _RefusedError if it is one too many."""
        with self._asking:
            self._refuse_surplus(1)
            with self._lock:
                self._state.begun += 1

    def _ask(self, system: str, prompt: str) -> dict[str, object]:
        reply = self._judge.reply(system, prompt)
        with self._lock:
            self._state.calls.append(ModelCall(system, prompt, reply))
        if reply.text is None:
            message = reply.trouble.message if reply.trouble else "the model gave no answer"
            raise _RefusedError(HTTPStatus.BAD_GATEWAY, message)
        said: dict[str, object] = {"output": [{"role": "assistant", "content": reply.text}], "rawText": reply.text}
        usage = {"input": reply.usage.input_tokens, "output": reply.usage.output_tokens}
        return said if None in usage.values() else {**said, "tokenUsage": {**usage, **_cached(reply.usage)}}


def _cached(usage: Usage) -> dict[str, int]:
    return {} if usage.cache_tokens is None else {"cached": usage.cache_tokens}


class _Server(ThreadingHTTPServer):
    daemon_threads = True  # a question that the model does not answer must not delay the end of the program
    block_on_close = False

    def __init__(self, proxy: ModelProxy) -> None:
        self.proxy = proxy
        self._places = threading.BoundedSemaphore(MAX_MODEL_PROXY_THREADS)
        super().__init__((_LOOPBACK, 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a program that closes its connection is no error of the tool."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = MODEL_PROXY_READ_SECONDS
    server: _Server
    _ANSWERS: ClassVar[frozenset[str]] = frozenset({"/invoke", "/invokeBatch"})

    def do_GET(self) -> None:
        self._answer(lambda: self.server.proxy.info() if self.path == "/info" else _not_found())

    def do_POST(self) -> None:
        self._answer(self._posted)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the method that it replaces
        """Nothing: requests are kept as artifacts."""

    def _posted(self) -> dict[str, object]:
        if self.path not in self._ANSWERS:
            _not_found()
        try:
            content = json.loads(self._body())
        except (ValueError, RecursionError):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "The body is not JSON") from None
        proxy = self.server.proxy
        return proxy.invoke(content) if self.path == "/invoke" else proxy.invoke_batch(content)

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()):
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
        if len(length) > len(str(MAX_MODEL_PROXY_BYTES)) or int(length) > MAX_MODEL_PROXY_BYTES:
            self.close_connection = True
            message = f"The body has more than {MAX_MODEL_PROXY_BYTES:,} bytes"
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        return self.rfile.read(int(length))

    def _answer(self, reply: Any) -> None:
        try:
            self._refuse_others()
            self._send(HTTPStatus.OK, reply())
        except _RefusedError as error:
            self._send(error.status, {"error": str(error)})

    def _refuse_others(self) -> None:
        """Raise _RefusedError for a request without the token."""
        sent = self.headers.get("Authorization", "").encode("utf-8", "replace")
        if not secrets.compare_digest(sent, f"Bearer {self.server.proxy.token}".encode()):
            self.close_connection = True
            raise _RefusedError(HTTPStatus.UNAUTHORIZED, "Unauthorized")

    def _send(self, status: HTTPStatus, content: Mapping[str, object]) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _not_found() -> dict[str, object]:
    raise _RefusedError(HTTPStatus.NOT_FOUND, "Not found")
