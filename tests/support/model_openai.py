"""OpenAI's two protocols. Their input includes what comes from the cache, their output the reasoning."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from model_protocols import Ask, Numbered, arguments, turns
from model_script import Call, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from model_protocols import Event
    from model_script import Spoken

# Agents try again after an error of the wrong type, whatever its status.
ERRORS: dict[int, tuple[str, str | None]] = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    429: ("rate_limit_error", "rate_limit_exceeded"),
}
# The real services' words, of which some agents show no more.
WORDS = {404: "The model does not exist or you do not have access to it", 429: "Rate limit reached"}
DONE = {"status": "completed"}
# Status, type, code, message.
REJECTIONS: dict[str, tuple[int, str, str | None, str]] = {
    "context": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        (
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. "
            "Please reduce the length of the messages."
        ),
    ),
    "policy": (
        400,
        "invalid_request_error",
        "invalid_prompt",
        (
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with "
            "a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting"
        ),
    ),
    "quota": (
        429,
        "insufficient_quota",
        "insufficient_quota",
        (
            "You exceeded your current quota, please check your plan and billing details. For more information on this "
            "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
        ),
    ),
    "credit": (400, "invalid_request_error", "billing_hard_limit_reached", "Billing hard limit has been reached"),
    "forbidden": (
        403,
        "request_forbidden",
        "unsupported_country_region_territory",
        "Country, region, or territory not supported",
    ),
    "overloaded": (
        503,
        "server_error",
        None,
        "The engine is currently overloaded, please try again later",
    ),
    "usage-limit": (429, "usage_limit_reached", None, "The usage limit has been reached. It resets in 3 days."),
    "expired": (
        401,
        "invalid_request_error",
        "token_expired",
        "Your refresh token was already used. Please log out and sign in again.",
    ),
    "payment": (402, "invalid_request_error", None, "Your subscription is not active."),
    "too-large": (413, "invalid_request_error", None, "Request Entity Too Large"),
}


def error(status: int) -> dict[str, Any]:
    kind, code = ERRORS.get(status, ("server_error", None))
    message = f"{WORDS.get(status, 'scripted')} {status}"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def rejection(why: str) -> tuple[int, dict[str, Any]]:
    status, kind, code, message = REJECTIONS[why]
    return status, {"error": {"message": message, "type": kind, "param": None, "code": code}}


class Responses:
    """POST /v1/responses."""

    BEFORE_END: ClassVar = {"head": 0, "beginning": 1, "words": 4, "call": 4}
    INCOMPLETE: ClassVar = {"length": "max_output_tokens", "filter": "content_filter"}
    BY_MODEL: ClassVar = frozenset({"function_call", "custom_tool_call", "reasoning"})

    def __init__(self) -> None:
        self._ids = Numbered()

    def ask(self, _path: str, body: Any) -> Ask:
        items = body.get("input", [])
        return Ask(
            position=turns(item.get("type") in self.BY_MODEL or item.get("role") == "assistant" for item in items),
            tools=dict(_offered([*body.get("tools", []), *items])),
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
        )

    def whole(self, ask: Ask, parts: list[Spoken], ending: str = "") -> dict[str, Any]:
        return self._response(ask, [self._item(part, ending) for part in parts])

    def stream(self, ask: Ask, parts: list[Spoken], ending: str = "") -> Iterator[Event]:
        items = [self._item(part, ending) for part in parts]
        response = self._response(ask, items)
        started = {**response, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "response": started}
        for index, (part, item) in enumerate(zip(parts, items, strict=True)):
            place = {"item_id": item["id"], "output_index": index}
            empty = {key: value for key, value in item.items() if key not in {"content", "summary"}}
            match part:
                case Say(text) if ending == "refusal":
                    empty["content"] = []
                    blank = {**item["content"][0], "refusal": ""}
                    deltas = [
                        ("response.content_part.added", {"content_index": 0, "part": blank}),
                        ("response.refusal.delta", {"content_index": 0, "delta": text}),
                    ]
                case Say(text):
                    empty["content"] = []
                    deltas = [("response.output_text.delta", {"content_index": 0, "delta": text})]
                    blank = {**item["content"][0], "text": ""}
                    deltas.insert(0, ("response.content_part.added", {"content_index": 0, "part": blank}))
                case Think(text):
                    empty["summary"] = []
                    deltas = [("response.reasoning_summary_text.delta", {"summary_index": 0, "delta": text})]
                case Call():
                    field, kind = ("arguments", "function_call_arguments")
                    if item["type"] == "custom_tool_call":
                        field, kind = ("input", "custom_tool_call_input")
                    empty[field] = ""
                    deltas = [(f"response.{kind}.delta", {"delta": item[field]})]
            yield {"type": "response.output_item.added", "output_index": index, "item": empty}
            for kind, delta in deltas:
                yield {"type": kind, **place, **delta}
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        if reason := self.INCOMPLETE.get(ending):
            response |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
            yield {"type": "response.incomplete", "response": response}
        else:
            yield {"type": "response.completed", "response": response}

    def error(self, status: int) -> dict[str, Any]:
        return error(status)

    def rejection(self, why: str) -> tuple[int, dict[str, Any] | list[dict[str, Any]]]:
        """A prompt that is too long is rejected in the stream."""
        if why != "context":
            return rejection(why)
        message = "Your input exceeds the context window of this model. Please adjust your input and try again."
        failed = {"id": self._ids.new("resp"), "object": "response", "status": "failed", "output": [], "usage": None}
        problem = {"code": "context_length_exceeded", "message": message}
        rejected = {
            "type": "error",
            "sequence_number": 2,
            "error": {"type": "invalid_request_error", "param": "input", **problem},
        }
        return 200, [rejected, {"type": "response.failed", "response": {**failed, "error": problem}}]

    def _response(self, ask: Ask, items: list[dict[str, Any]]) -> dict[str, Any]:
        usage = {
            "input_tokens": 1000 + ask.position,
            "input_tokens_details": {"cached_tokens": 300},
            "output_tokens": 42,
            "output_tokens_details": {"reasoning_tokens": 5},
            "total_tokens": 1042 + ask.position,
        }
        return {
            "id": self._ids.new("resp"),
            "object": "response",
            "model": ask.model,
            "status": "completed",
            "output": items,
            "usage": usage,
        }

    def _item(self, part: Spoken, ending: str = "") -> dict[str, Any]:
        match part:
            case Say(text) if ending == "refusal":
                content = [{"type": "refusal", "refusal": text}]
                return {"type": "message", "id": self._ids.new("msg"), **DONE, "role": "assistant", "content": content}
            case Say(text):
                content = [{"type": "output_text", "text": text, "annotations": []}]
                return {"type": "message", "id": self._ids.new("msg"), **DONE, "role": "assistant", "content": content}
            case Think(text):
                return {
                    "type": "reasoning",
                    "id": self._ids.new("rs"),
                    "summary": [{"type": "summary_text", "text": text}],
                }
            case Call(tool, {"input": str(text), **rest}) if not rest:
                called = {"name": tool, "input": text, "call_id": self._ids.new("call")}
                return {"type": "custom_tool_call", "id": self._ids.new("ctc"), **DONE, **called}
            case Call(tool, args):
                called = {"name": tool, "arguments": json.dumps(args), "call_id": self._ids.new("call")}
                return {"type": "function_call", "id": self._ids.new("fc"), **DONE, **called}


def _offered(entries: list[dict[str, Any]]) -> Iterator[tuple[str, frozenset[str]]]:
    """Tools, and what is in groups of them; a custom tool takes a text."""
    for entry in entries:
        if entry.get("type") == "custom":
            yield entry["name"], frozenset({"input"})
        elif "tools" in entry:
            yield from _offered(entry["tools"])
        elif entry.get("type") == "function":
            yield entry["name"], arguments(entry.get("parameters"))


class Chat:
    """POST /v1/chat/completions."""

    BEFORE_END: ClassVar = {"head": 0, "beginning": 1, "words": 2, "call": 2}
    ENDINGS: ClassVar = {"length": "length", "filter": "content_filter"}
    # What agents put into the model's mouth before they ask it anything.
    GIVEN: ClassVar = frozenset({"Got it. Thanks for the context!"})

    def __init__(self) -> None:
        self._ids = Numbered()

    def ask(self, _path: str, body: Any) -> Ask:
        functions = [tool["function"] for tool in body.get("tools", []) if "function" in tool]
        return Ask(
            position=turns(
                message["role"] == "assistant" and message.get("content") not in self.GIVEN
                for message in body.get("messages", [])
            ),
            tools={function["name"]: arguments(function.get("parameters")) for function in functions},
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
        )

    def whole(self, ask: Ask, parts: list[Spoken], ending: str = "") -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": None}
        for delta in self._deltas(parts, ending):
            message |= delta
        finish = self.ENDINGS.get(ending) or _finish(parts)
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return {**self._completion(ask, "chat.completion"), "choices": [choice], "usage": self._usage(ask)}

    def stream(self, ask: Ask, parts: list[Spoken], ending: str = "") -> Iterator[Event]:
        finish = self.ENDINGS.get(ending) or _finish(parts)
        completion = self._completion(ask, "chat.completion.chunk")
        for delta in ({"role": "assistant", "content": ""}, *self._deltas(parts, ending)):
            yield {**completion, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        yield {**completion, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
        yield {**completion, "choices": [], "usage": self._usage(ask)}
        yield "[DONE]"

    def error(self, status: int) -> dict[str, Any]:
        return error(status)

    def rejection(self, why: str) -> tuple[int, dict[str, Any]]:
        return rejection(why)

    def _completion(self, ask: Ask, kind: str) -> dict[str, Any]:
        return {"id": self._ids.new("chatcmpl"), "object": kind, "created": 0, "model": ask.model}

    def _usage(self, ask: Ask) -> dict[str, Any]:
        return {
            "prompt_tokens": 1000 + ask.position,
            "completion_tokens": 42,
            "total_tokens": 1042 + ask.position,
            "prompt_tokens_details": {"cached_tokens": 300},
            "completion_tokens_details": {"reasoning_tokens": 5},
        }

    def _deltas(self, parts: list[Spoken], ending: str) -> Iterator[dict[str, Any]]:
        """Thoughts, words, calls: what a message may hold of each once."""
        if thoughts := "".join(part.text for part in parts if isinstance(part, Think)):
            yield {"reasoning_content": thoughts}
        if words := "".join(part.text for part in parts if isinstance(part, Say)):
            yield {"refusal" if ending == "refusal" else "content": words}
        calls = [
            {
                "index": index,
                "id": self._ids.new("call"),
                "type": "function",
                "function": {"name": call.tool, "arguments": json.dumps(call.args)},
            }
            for index, call in enumerate(part for part in parts if isinstance(part, Call))
        ]
        if calls:
            yield {"tool_calls": calls}


def _finish(parts: list[Spoken]) -> str:
    return "tool_calls" if any(isinstance(part, Call) for part in parts) else "stop"
