"""Reporter: sessions as OpenTelemetry traces, in OTLP/JSON, with the semantic conventions for generative AI.

A trace per session: a span for the agent, and below it one for each model round and each tool, as far as events have
times. One JSON document on one line, which a collector reads from a file or takes as a request. Prompts, answers,
arguments and results are left out unless they are asked for. Stored session reports may be anybody's: whatever does not
have the expected type is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from skillgym_action.model.records import record
from skillgym_action.model.session import NOT_STORED
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, JUDGED, Status
from skillgym_action.reports.wording.unfinished_calls import UnfinishedCalls
from skillgym_action.text.escaping import clipped, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.session import ArtifactSource

MAX_TRACE_SPANS = 2_000  # below the one of a session, in an OpenTelemetry trace
MAX_TRACE_TEXT_CHARACTERS = 16_000  # of one attribute of a span

Json = dict[str, Any]
INTERNAL, CLIENT = 1, 3  # kinds of spans
ERROR = 2  # the code of a status
PROVIDERS = {
    "claude-code": "anthropic",
    "codex": "openai",
    "gemini": "gcp.gemini",
}
"""Services of agents that have one; others get the agent's type, a custom value."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def render(report: RunReport, *, artifacts: ArtifactSource | None = None, content: bool = False) -> Iterator[str]:
    """Yield an ``ExportTraceServiceRequest`` in pieces, one per session.

    ``artifacts``: without them there are no events, and times are those of the run. ``content``: with texts.
    """
    scope = {"name": "skillgym-action", "version": report.version}
    head = _json({"resource": {"attributes": _attributes(_resource(report))}, "scopeSpans": [{"scope": scope}]})
    yield f'{{"resourceSpans":[{head[: -len("}]}")]},"spans":['
    first = True
    for result in (*report.results, *report.quarantined):
        for attempt in result.attempts:
            trace = _Trace(report, result, attempt, content=content)
            stored = artifacts.session(attempt.directory, 0) if artifacts else NOT_STORED
            for span in trace.spans(stored.report or {}):
                yield ("" if first else ",") + _json(span)
                first = False
    yield "]}]}]}\n"


def _resource(report: RunReport) -> Json:
    return {
        "service.name": "skillgym-action",
        "service.version": report.version,
        "skillgym.run.id": report.id,
        "skillgym.run.command": report.command,
        "skillgym.run.shard": report.shard,
        "vcs.ref.head.revision": report.commit,
    }


@record(frozen=False, kw_only=False)
class _Tool:
    """A span of a tool that has begun, and what is known of it."""

    name: str
    began: datetime
    ended: datetime | None
    attributes: Json = field(default_factory=dict)


@record(frozen=False, kw_only=False)
class _Round:
    """A span of a model round, and its tokens if they are known."""

    began: datetime
    ended: datetime
    usage: Mapping[str, Any] = field(default_factory=dict)


class _Trace:
    """The spans of one session. Ids depend on the run and the session alone."""

    def __init__(self, report: RunReport, result: Result, attempt: Attempt, *, content: bool) -> None:
        self._report, self._result, self._attempt, self._content = report, result, attempt, content
        key = f"{report.id}\n{report.started_at}\n{attempt.directory}"
        self._trace_id = _id(key, 16)
        self._root_id = _id(key, 8)
        self._key = key
        self._model: str | None = None
        judgement = result.judgement if attempt is result.attempts[-1] else None
        self._failure = attempt.failure_class or (judgement.failure_class if judgement else None)
        failed = judgement.failure.message if judgement and judgement.failure else ""
        self._problem = attempt.message or failed

    def spans(self, stored: Mapping[str, Any]) -> Iterator[Json]:
        """The span of the agent, then those below it. ``stored``: the session report; empty if there is none."""
        begins = _moment(stored.get("startedAt"))
        known = begins is not None
        begin = begins or _moment(self._report.started_at) or _EPOCH
        end = _moment(stored.get("endedAt")) or _after(begin, self._attempt.duration_ms)
        self._model = _text(stored.get("model")) or self._result.model
        below = list(self._below(stored, begin, max(begin, end)))
        attributes = {
            **self._agent(stored),
            **self._case(),
            "skillgym.times_known": known,
            "skillgym.spans_left_out": max(0, len(below) - MAX_TRACE_SPANS) or None,
        }
        agent = attributes["gen_ai.agent.name"]
        span = self._span(f"invoke_agent {agent}", self._root_id, (begin, max(begin, end)), attributes)
        if self._attempt.status is Status.ERRORED:
            span["status"] = {"code": ERROR, "message": _clipped(self._problem)}
        yield span
        yield from below[:MAX_TRACE_SPANS]

    def _agent(self, stored: Mapping[str, Any]) -> Json:
        """Attributes that the conventions define."""
        runner = self._result.runner
        agent = runner.agent.type if runner else "unknown"
        is_errored = self._attempt.status is Status.ERRORED
        texts = {}
        if self._content:
            texts = {
                "gen_ai.input.messages": _message("user", stored.get("prompt") or self._result.prompt),
                "gen_ai.output.messages": _message("assistant", stored.get("finalOutput") or self._result.final_output),
            }
        return {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": PROVIDERS.get(agent, agent),
            "gen_ai.agent.name": agent,
            "gen_ai.agent.version": _text(stored.get("version")) or self._result.version,
            "gen_ai.conversation.id": _text(stored.get("sessionId")),
            "gen_ai.request.model": (runner.agent.model if runner else None) or self._model,
            "gen_ai.response.model": self._model,
            **_tokens(stored.get("usage")),
            "error.type": (self._failure.id if self._failure else "_OTHER") if is_errored else None,
            **texts,
        }

    def _case(self) -> Json:
        """Attributes of the case and of the session's place in the run."""
        result, attempt = self._result, self._attempt
        passed = attempt.status in ASSERTIONS_PASSED
        return {
            "test.suite.name": result.suite.path,
            "test.case.name": result.case_id,
            "test.case.result.status": ("pass" if passed else "fail") if attempt.status in JUDGED else None,
            "skillgym.runner.id": result.runner.id if result.runner else None,
            "skillgym.session.status": str(attempt.status),
            "skillgym.session.repetition": attempt.repetition,
            "skillgym.session.number": attempt.session,
            "skillgym.session.directory": attempt.directory,
            "skillgym.quarantine": True if result.quarantine else None,
            "skillgym.failure_class": self._failure.id if self._failure else None,
        }

    def _below(self, stored: Mapping[str, Any], begin: datetime, end: datetime) -> Iterator[Json]:
        """Spans of model rounds and tools, in the order in which they begin, all within the session."""
        events = stored.get("events")
        rounds: list[_Round] = []
        tools: list[_Tool] = []
        waiting: UnfinishedCalls[_Tool] = UnfinishedCalls()
        last = before = begin
        is_model = False  # whether the event before was the model's own
        for event in events if isinstance(events, list) else ():
            if not isinstance(event, Mapping):
                continue
            kind, at = event.get("type"), _moment(event.get("at"))
            now = min(max(at or last, last), end)
            if kind == "toolCall" or (kind == "message" and event.get("role") == "assistant"):
                if at and not is_model:
                    rounds.append(_Round(began=before, ended=now))
                elif at and rounds:
                    rounds[-1].ended = now
                if at and isinstance(usage := event.get("usage"), Mapping):
                    rounds[-1].usage = usage
                is_model = is_model or at is not None
            if kind == "toolCall":
                tools.append(self._tool(event, now, end))
                waiting.add(tools[-1].name, tools[-1])
            elif kind == "toolResult":
                _finish(waiting, event, now, content=self._content)
                is_model, before = False, now
            elif kind == "command":
                self._command(event, waiting, tools, now)
            last = now
        yield from self._in_order(rounds, tools)

    def _tool(self, event: Mapping[str, Any], now: datetime, end: datetime) -> _Tool:
        lasted = event.get("durationMs")
        known = isinstance(lasted, int | float) and not isinstance(lasted, bool) and 0 <= lasted < 1e12  # noqa: PLR2004
        ended = min(_after(now, float(lasted or 0)), end) if known else None
        tool = _Tool(name=_text(event.get("tool")) or "unknown", began=now, ended=ended)
        if self._content and event.get("args") is not None:
            tool.attributes["gen_ai.tool.call.arguments"] = json.dumps(event["args"])
        return tool

    def _command(
        self, event: Mapping[str, Any], waiting: UnfinishedCalls[_Tool], tools: list[_Tool], now: datetime
    ) -> None:
        """A command belongs to the tool that runs it, or is a span of its own."""
        if (tool := waiting.latest()) is None:
            tool = _Tool(name="shell", began=now, ended=None)
            tools.append(tool)
        attributes = tool.attributes
        exit_code = event.get("exitCode")
        if isinstance(exit_code, int) and not isinstance(exit_code, bool) and -(2**63) <= exit_code < 2**63:
            attributes["process.exit.code"] = exit_code
        if self._content and isinstance(event.get("command"), str):
            attributes["process.command_line"] = event["command"]

    def _in_order(self, rounds: list[_Round], tools: list[_Tool]) -> Iterator[Json]:
        spans = []
        for number, one in enumerate(rounds):
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": self._agent({})["gen_ai.provider.name"],
                "gen_ai.request.model": self._model,
                **_tokens(one.usage),
            }
            name = f"chat {self._model}" if self._model else "chat"
            spans.append(
                self._span(name, _id(f"{self._key}\nround {number}", 8), (one.began, one.ended), attributes, CLIENT)
            )
        for number, tool in enumerate(tools):
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool.name,
                "gen_ai.tool.type": "function",
                **tool.attributes,
            }
            times = tool.began, tool.ended or tool.began
            span_id = _id(f"{self._key}\ntool {number}", 8)
            spans.append(self._span(f"execute_tool {tool.name}", span_id, times, attributes))
        for span in sorted(spans, key=lambda span: int(span["startTimeUnixNano"])):
            yield {**span, "parentSpanId": self._root_id}

    def _span(
        self, name: str, span_id: str, times: tuple[datetime, datetime], attributes: Json, kind: int = INTERNAL
    ) -> Json:
        begin, end = times
        return {
            "traceId": self._trace_id,
            "spanId": span_id,
            "name": _clipped(name),
            "kind": kind,
            "startTimeUnixNano": _nanoseconds(begin),
            "endTimeUnixNano": _nanoseconds(end),
            "attributes": _attributes(attributes),
        }


def _finish(waiting: UnfinishedCalls[_Tool], event: Mapping[str, Any], now: datetime, *, content: bool) -> None:
    """End the call that a result belongs to: the first of the tool that it names, else the first."""
    tool = waiting.take(_text(event.get("tool")) or "") or waiting.take_first()
    if tool is None:
        return
    tool.ended = tool.ended or now
    if content and isinstance(event.get("output"), str):
        tool.attributes["gen_ai.tool.call.result"] = event["output"]


def _tokens(usage: object) -> Json:
    """Attributes for the tokens of a session or a model round; the conventions count reasoning as output."""
    known = usage if isinstance(usage, Mapping) else {}
    output = [number for name in ("outputTokens", "reasoningTokens") if (number := _count(known, name)) is not None]
    return {
        "gen_ai.usage.input_tokens": _count(known, "inputTokens"),
        "gen_ai.usage.output_tokens": sum(output) if output else None,
        "gen_ai.usage.cache_read.input_tokens": _count(known, "cacheTokens"),
    }


def _attributes(values: Json) -> list[Json]:
    """Key-value pairs; those without a value are left out."""
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: object) -> Json:
    if isinstance(value, str):
        return {"stringValue": _clipped(value)}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": _clipped(str(value))}


def _message(role: str, text: object) -> str | None:
    """A message in the form of the conventions, as JSON."""
    if not isinstance(text, str) or not text:
        return None
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": _clipped(text)}]}])


def _clipped(text: str) -> str:
    return clipped(visible(text), MAX_TRACE_TEXT_CHARACTERS)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(usage: Mapping[str, Any], name: str) -> int | None:
    number = usage.get(name)
    return number if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**63 else None


def _after(moment: datetime, milliseconds: float) -> datetime:
    """So much later; the moment itself where that is no date: times are what a worker or a journal says."""
    try:
        return moment + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return moment


def _moment(value: object) -> datetime | None:
    """A time with its zone; None for everything else, such as times that cannot be written in 64 bits."""
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return found if 1970 <= found.year < 2200 else None  # noqa: PLR2004


def _nanoseconds(moment: datetime) -> str:
    return str((moment - _EPOCH) // timedelta(microseconds=1) * 1000)


def _id(key: str, size: int) -> str:
    """An id of that many bytes in hexadecimal digits, the same for the same key."""
    return blake2b(key.encode("utf-8", "replace"), digest_size=size, person=b"skillgym-otlp").hexdigest()


def _json(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)
