"""Anthropic's Messages API."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, ClassVar

from model_protocols import Ask, Numbered, arguments
from model_script import Call, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from model_protocols import Event
    from model_script import Spoken


class Anthropic:
    """POST /v1/messages. Input, and input that comes from or goes to the cache, exclude one another."""

    BEFORE_END: ClassVar = {"head": 0, "beginning": 1, "words": 3, "call": 4}
    ENDINGS: ClassVar = {"length": "max_tokens", "refusal": "refusal"}
    REJECTIONS: ClassVar = {
        "context": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "policy": (400, "invalid_request_error", "Output blocked by content filtering policy"),
        "quota": (
            400,
            "invalid_request_error",
            "You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.",
        ),
        "credit": (
            400,
            "invalid_request_error",
            (
                "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade "
                "or purchase credits."
            ),
        ),
        "forbidden": (
            403,
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        "overloaded": (529, "overloaded_error", "Overloaded"),
        "usage-limit": (429, "rate_limit_error", "You've hit your weekly limit · resets Jan 5, 3pm (UTC)"),
        "expired": (401, "authentication_error", "OAuth token has expired. Please obtain a new token."),
        "payment": (402, "billing_error", "Your subscription is not active."),
        "too-large": (413, "request_too_large", "Request exceeds the maximum size"),
    }
    # The real service's words, of which some agents show no more.
    WORDS: ClassVar = {429: "This request would exceed your account's rate limit. Please try again later."}
    KINDS: ClassVar = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}

    def __init__(self) -> None:
        self._ids = Numbered()

    def ask(self, _path: str, body: Any) -> Ask:
        return Ask(
            position=sum(message["role"] == "assistant" for message in body.get("messages", [])),
            tools={tool["name"]: arguments(tool.get("input_schema")) for tool in body.get("tools", [])},
            model=body.get("model", ""),
            stream=bool(body.get("stream")),
        )

    def whole(self, ask: Ask, parts: list[Spoken], ending: str = "") -> dict[str, Any]:
        stop = self.ENDINGS.get(ending) or _stop(parts)
        content = [self._block(part) for part in parts]
        return {**self._start(ask), "content": content, "stop_reason": stop, "usage": self._usage(ask, 42)}

    def stream(self, ask: Ask, parts: list[Spoken], ending: str = "") -> Iterator[Event]:
        yield {"type": "message_start", "message": self._start(ask)}
        for index, part in enumerate(parts):
            block = self._block(part)
            match part:
                case Say(text):
                    empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": text}]
                case Think(text):
                    empty = {**block, "thinking": "", "signature": ""}
                    deltas = [
                        {"type": "thinking_delta", "thinking": text},
                        {"type": "signature_delta", "signature": block["signature"]},
                    ]
                case Call(_, args):
                    empty = {**block, "input": {}}
                    deltas = [{"type": "input_json_delta", "partial_json": json.dumps(args)}]
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            if ending == "filter":
                yield self.rejection("policy")[1]
                return
            yield {"type": "content_block_stop", "index": index}
        stop = {"stop_reason": self.ENDINGS.get(ending) or _stop(parts), "stop_sequence": None}
        yield {"type": "message_delta", "delta": stop, "usage": {"output_tokens": 42}}
        yield {"type": "message_stop"}

    def error(self, status: int) -> dict[str, Any]:
        return _error(self.KINDS.get(status, "api_error"), f"{self.WORDS.get(status, 'scripted')} {status}")

    def rejection(self, why: str) -> tuple[int, dict[str, Any]]:
        status, kind, message = self.REJECTIONS[why]
        return status, _error(kind, message)

    def _start(self, ask: Ask) -> dict[str, Any]:
        return {
            "id": self._ids.new("msg"),
            "type": "message",
            "role": "assistant",
            "model": ask.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": self._usage(ask, 1),
        }

    def _usage(self, ask: Ask, output: int) -> dict[str, int]:
        cached = {"cache_creation_input_tokens": 20, "cache_read_input_tokens": 300}
        return {"input_tokens": 1000 + ask.position, **cached, "output_tokens": output}

    def _block(self, part: Spoken) -> dict[str, Any]:
        match part:
            case Say(text):
                return {"type": "text", "text": text}
            case Think(text):
                return {"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}
            case Call(tool, args):
                return {"type": "tool_use", "id": self._ids.new("toolu"), "name": tool, "input": args}


def _error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted"}


def _stop(parts: list[Spoken]) -> str:
    return "tool_use" if any(isinstance(part, Call) for part in parts) else "end_turn"
