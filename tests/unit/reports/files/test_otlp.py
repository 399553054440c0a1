"""Sessions as OpenTelemetry traces: OTLP's JSON, the conventions for generative AI, and nothing that was not asked for.

The schema is that of ``opentelemetry/proto/trace/v1/trace.proto`` in OTLP's own mapping to JSON: ids are hexadecimal,
enums are numbers, 64-bit integers are text.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from builders import run_report
from hostile import any_text
from paths import REPOSITORY
from skillgym_action.model.session import NOT_STORED, SessionArtifacts
from skillgym_action.reports.files.otlp import MAX_TRACE_SPANS, MAX_TRACE_TEXT_CHARACTERS, render

if TYPE_CHECKING:
    from collections.abc import Mapping

NANOSECONDS = {"type": "string", "pattern": r"^\d{1,20}$"}
VALUE = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
    "properties": {
        "stringValue": {"type": "string"},
        "boolValue": {"type": "boolean"},
        "intValue": {"type": "string", "pattern": r"^-?\d{1,19}$"},
        "doubleValue": {"type": "number"},
    },
}


def exactly(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


ATTRIBUTES = {"type": "array", "items": exactly("key value", key={"type": "string", "minLength": 1}, value=VALUE)}
SPAN = exactly(
    "traceId spanId name kind startTimeUnixNano endTimeUnixNano",
    traceId={"type": "string", "pattern": "^(?!0{32})[0-9a-f]{32}$"},
    spanId={"type": "string", "pattern": "^(?!0{16})[0-9a-f]{16}$"},
    parentSpanId={"type": "string", "pattern": "^[0-9a-f]{16}$"},
    name={"type": "string", "minLength": 1},
    kind={"enum": [1, 2, 3, 4, 5]},
    startTimeUnixNano=NANOSECONDS,
    endTimeUnixNano=NANOSECONDS,
    attributes=ATTRIBUTES,
    status=exactly("code", code={"enum": [0, 1, 2]}, message={"type": "string"}),
)
SCOPE = exactly("name version", name={"type": "string"}, version={"type": "string"})
SCHEMA = exactly(
    "resourceSpans",
    resourceSpans={
        "type": "array",
        "minItems": 1,
        "items": exactly(
            "resource scopeSpans",
            resource=exactly("attributes", attributes=ATTRIBUTES),
            scopeSpans={
                "type": "array",
                "minItems": 1,
                "items": exactly("scope spans", scope=SCOPE, spans={"type": "array", "items": SPAN}),
            },
        ),
    },
)
GEMINI = json.loads((REPOSITORY / "tests/captures/gemini/shell/report.json").read_text(encoding="utf-8"))
TIMES = {event["type"]: event["at"] for event in GEMINI["events"]}
SESSION = {"startedAt": GEMINI["events"][0]["at"], "endedAt": GEMINI["events"][-1]["at"]}


class Stored:
    """The same session report for all sessions."""

    def __init__(self, report: Mapping[str, Any] | None) -> None:
        self._report = report

    def session(self, directory: str, most: int) -> SessionArtifacts:  # noqa: ARG002
        return SessionArtifacts(report=self._report)

    def baseline_session(self, directory: str, most: int) -> SessionArtifacts:  # noqa: ARG002
        return NOT_STORED


def spans(report, stored: Mapping[str, Any] | None = None, **options: Any) -> list[dict[str, Any]]:
    """The spans of a document, which is valid; their attributes as a dict of plain values."""
    document = json.loads("".join(render(report, artifacts=Stored(stored), **options)))
    Draft202012Validator(SCHEMA).validate(document)
    found = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    return [span | {"attributes": plain(span["attributes"])} for span in found]


def nanoseconds(at: str) -> str:
    return f"{round(datetime.fromisoformat(at).timestamp() * 1000)}000000"


def plain(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        pair["key"]: int(value) if kind == "intValue" else value
        for pair in pairs
        for kind, value in pair["value"].items()
    }


def test_a_session_is_a_span_of_an_agent_with_rounds_and_tools_below_it():
    found = spans(run_report("fix failed: x"), GEMINI | SESSION)
    assert [span["name"] for span in found] == [
        "invoke_agent claude-code",
        "chat gemini-2.5-flash",
        "execute_tool run_shell_command",
        "chat gemini-2.5-flash",
    ]
    root, first, tool, second = found
    assert {span["traceId"] for span in found} == {root["traceId"]}
    assert [span.get("parentSpanId") for span in found] == [None] + [root["spanId"]] * 3
    assert len({span["spanId"] for span in found}) == 4
    assert [span["kind"] for span in found] == [1, 3, 1, 3]
    assert (first["endTimeUnixNano"], tool["startTimeUnixNano"]) == (nanoseconds(TIMES["toolCall"]),) * 2
    assert tool["endTimeUnixNano"] == nanoseconds(TIMES["toolResult"])
    assert second["startTimeUnixNano"] == tool["endTimeUnixNano"]


def test_the_attributes_are_those_of_the_conventions():
    usage = {"inputTokens": 2000, "outputTokens": 60, "reasoningTokens": 14, "cacheTokens": 600, "totalTokens": 1474}
    stored = GEMINI | SESSION | {"usage": usage, "model": "m-1", "version": "1.2.3", "sessionId": "s-1"}
    root, chat, tool, _ = spans(run_report("fix failed: x"), stored)
    assert root["attributes"] == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.agent.name": "claude-code",
        "gen_ai.agent.version": "1.2.3",
        "gen_ai.conversation.id": "s-1",
        "gen_ai.request.model": "claude-model",
        "gen_ai.response.model": "m-1",
        "gen_ai.usage.input_tokens": 2000,
        "gen_ai.usage.output_tokens": 74,
        "gen_ai.usage.cache_read.input_tokens": 600,
        "test.suite.name": "bench/core.json",
        "test.case.name": "fix",
        "test.case.result.status": "fail",
        "skillgym.runner.id": "claude",
        "skillgym.session.status": "failed",
        "skillgym.session.repetition": 1,
        "skillgym.session.number": 1,
        "skillgym.session.directory": "core/fix/claude/repeat-1",
        "skillgym.failure_class": "assertion",
        "skillgym.times_known": True,
    }
    assert chat["attributes"] == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": "m-1",
        "gen_ai.usage.input_tokens": 1000,
        "gen_ai.usage.output_tokens": 47,
        "gen_ai.usage.cache_read.input_tokens": 300,
    }
    assert tool["attributes"] == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "run_shell_command",
        "gen_ai.tool.type": "function",
        "process.exit.code": 0,
    }


def test_texts_are_written_only_if_they_are_asked_for():
    secretive = GEMINI | SESSION | {"prompt": "PROMPT", "finalOutput": "ANSWER"}
    command = next(event["command"] for event in GEMINI["events"] if event["type"] == "command")
    report = run_report("fix passed")
    without = json.dumps(spans(report, secretive))
    assert [text for text in ("PROMPT", "ANSWER", json.dumps(command)[1:-1]) if text in without] == []
    root, _, tool, _ = spans(report, secretive, content=True)
    message = [{"role": "user", "parts": [{"type": "text", "content": "PROMPT"}]}]
    assert json.loads(root["attributes"]["gen_ai.input.messages"]) == message
    assert json.loads(root["attributes"]["gen_ai.output.messages"])[0]["parts"][0]["content"] == "ANSWER"
    assert tool["attributes"]["process.command_line"] == command
    assert "gen_ai.tool.call.result" in tool["attributes"]
    assert json.loads(tool["attributes"]["gen_ai.tool.call.arguments"])


def test_ids_are_the_same_each_time_and_others_for_other_sessions_and_runs():
    report = run_report("a passed\nb passed 2x")
    first, again = spans(report), spans(report)
    assert [span["spanId"] for span in first] == [span["spanId"] for span in again]
    assert len({span["traceId"] for span in first}) == 3
    other = spans(replace(report, id="other"))
    assert {span["traceId"] for span in first}.isdisjoint(span["traceId"] for span in other)


def test_without_artifacts_a_session_has_its_duration_and_the_time_of_the_run():
    (root,) = spans(run_report("a passed 12s"))
    assert root["attributes"]["skillgym.times_known"] is False
    assert (int(root["endTimeUnixNano"]) - int(root["startTimeUnixNano"])) / 1e9 == 12


def test_a_time_that_would_be_no_date_is_left_out():
    report = run_report("a passed")
    (one,) = report.results
    endless = tuple(replace(attempt, duration_ms=10**15) for attempt in one.attempts)
    (root,) = spans(replace(report, results=(replace(one, attempts=endless),)))
    assert root["endTimeUnixNano"] == root["startTimeUnixNano"]
    events = [{"type": "toolCall", "tool": "Read", "at": "2026-11-21T08:59:47.100Z", "durationMs": 10**15}]
    *_, tool = spans(run_report("a passed"), SESSION | {"events": events})
    assert tool["endTimeUnixNano"] == tool["startTimeUnixNano"]


def test_what_could_not_be_judged_is_an_error_and_what_failed_is_none():
    failed, errored = spans(run_report("a failed\nb errored timeout: no answer"))
    assert "status" not in failed
    assert errored["status"] == {"code": 2, "message": "no answer"}
    assert errored["attributes"]["error.type"] == "timeout"
    assert "test.case.result.status" not in errored["attributes"]


def test_events_without_times_have_no_rounds_and_tools_take_no_time():
    events = [{key: value for key, value in event.items() if key != "at"} for event in GEMINI["events"]]
    root, tool = spans(run_report("a passed"), GEMINI | SESSION | {"events": events})
    assert tool["startTimeUnixNano"] == tool["endTimeUnixNano"] == root["startTimeUnixNano"]


def test_a_duration_of_a_call_counts():
    events = [{"type": "toolCall", "tool": "Read", "at": "2026-11-21T08:59:47.100Z", "durationMs": 50}]
    *_, tool = spans(run_report("a passed"), SESSION | {"events": events})
    assert (int(tool["endTimeUnixNano"]) - int(tool["startTimeUnixNano"])) / 1e6 == 50


def test_long_sessions_and_texts_are_cut_and_counted():
    events = [{"type": "toolCall", "tool": f"t{number}"} for number in range(MAX_TRACE_SPANS + 5)]
    root, *below = spans(run_report("a passed"), SESSION | {"events": events, "prompt": "x" * 10**6}, content=True)
    assert (len(below), root["attributes"]["skillgym.spans_left_out"]) == (MAX_TRACE_SPANS, 5)
    assert len(root["attributes"]["gen_ai.input.messages"]) < MAX_TRACE_TEXT_CHARACTERS + 200


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | any_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["text", "tool", "x"]), inner),
    max_leaves=5,
)
EVENT = st.fixed_dictionaries(
    {"type": st.sampled_from(["toolCall", "toolResult", "command", "message", "raw", 7])},
    optional={
        name: anything | st.sampled_from(["2026-11-21T08:59:47.5Z", "9999-12-31T23:59:59Z", "0001-01-01"])
        for name in ("at", "tool", "args", "output", "command", "exitCode", "durationMs", "role")
    },
)
REPORT = st.dictionaries(st.sampled_from([*GEMINI, "startedAt", "endedAt"]), anything) | st.fixed_dictionaries(
    {"events": st.lists(EVENT | anything, max_size=8)}, optional={"startedAt": st.just(SESSION["startedAt"])}
)


@pytest.mark.slow
@pytest.mark.parametrize("content", [False, True])
@given(stored=REPORT)
def test_whatever_a_stored_report_has_the_document_is_valid(content, stored):
    for span in spans(run_report("a passed"), stored, content=content):
        assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"])
