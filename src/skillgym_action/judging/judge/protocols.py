"""The protocols of model services: bodies of requests for an answer that fits a JSON Schema, and what replies contain.

No I/O. The prompt always describes the schema in words; the protocols also send it in their own way.
"""

from __future__ import annotations

import json
from dataclasses import field
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from skillgym_action.model.judge_question import JUDGE_VARIABLES
from skillgym_action.model.records import record
from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.agents.output.lenient_json import LenientJson

MAX_JUDGE_ANSWER_TOKENS = 4096  # asked for; some models have less
NAME = "answer"  # of the tool, or of the schema


@record
class Conversation:
    """``turns``: prompts and answers alternately, a prompt first. ``system``: empty where there is none.

    ``schema``: None where the service takes none, or any text is an answer.
    """

    model: str
    system: str
    turns: tuple[str, ...]
    schema: Mapping[str, object] | None = field(default=None)

    def messages(self) -> list[dict[str, str]]:
        """The turns as both protocols send them."""
        roles = ("user", "assistant")
        return [{"role": roles[index % 2], "content": text} for index, text in enumerate(self.turns)]


@record
class ModelAnswer:
    """What a model answered. ``truncated``: it reached the limit of tokens; ``model``: the service's name for it."""

    text: str
    truncated: bool = False
    model: str | None = None
    usage: Usage = field(default_factory=Usage)


class JudgeProtocol(Protocol):
    """``base_url_variable`` and ``key_variable``: names of environment variables.

    ``default_base_url``: where the variable is not set; ``path`` is appended to the base URL.
    """

    base_url_variable: str
    key_variable: str
    default_base_url: str
    path: str

    def headers(self, key: str) -> dict[str, str]:
        """Headers of a request, with the key unless it is empty."""
        ...

    def body(self, conversation: Conversation) -> dict[str, object]:
        """JSON body of a request."""
        ...

    def answer(self, reply: LenientJson) -> ModelAnswer:
        """Content of a successful reply."""
        ...


class AnthropicMessages:
    """Anthropic's messages: the answer is the input of a tool that the model has to call.

    The service counts tokens read from and written to caches apart from input tokens.
    """

    key_variable, base_url_variable = JUDGE_VARIABLES["anthropic"]
    default_base_url, path = "https://api.anthropic.com", "/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def body(self, conversation: Conversation) -> dict[str, object]:
        body: dict[str, object] = {
            "model": conversation.model,
            "max_tokens": MAX_JUDGE_ANSWER_TOKENS,
            **({"system": conversation.system} if conversation.system else {}),
            "messages": conversation.messages(),
        }
        if conversation.schema is None:
            return body
        tool = {"name": NAME, "description": "Give your answer.", "input_schema": conversation.schema}
        return {**body, "tools": [tool], "tool_choice": {"type": "tool", "name": NAME}}

    def answer(self, reply: LenientJson) -> ModelAnswer:
        """Return the tool's input, or the text where the tool was not called."""
        blocks = reply.children("content")
        calls = [block for block in blocks if block.text("type") == "tool_use"]
        texts = (block.text("text") or "" for block in blocks if block.text("type") == "text")
        return ModelAnswer(
            text=json.dumps(calls[0].at("input")) if calls else "".join(texts),
            truncated=reply.text("stop_reason") == "max_tokens",
            model=reply.text("model"),
            usage=_anthropic_usage(reply.child("usage")),
        )


class OpenAIChat:
    """OpenAI's chat completions, which many services offer.

    Input tokens include those read from caches, output tokens include reasoning.
    """

    key_variable, base_url_variable = JUDGE_VARIABLES["openai"]
    default_base_url, path = "https://api.openai.com/v1", "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, conversation: Conversation) -> dict[str, object]:
        """Not strict: a strict schema must require every field and allow no others, which most graders' do not."""
        system = [{"role": "system", "content": conversation.system}] if conversation.system else []
        messages = [*system, *conversation.messages()]
        body: dict[str, object] = {"model": conversation.model, "messages": messages}
        if conversation.schema is None:
            return body
        form = {"name": NAME, "schema": conversation.schema, "strict": False}
        return {**body, "response_format": {"type": "json_schema", "json_schema": form}}

    def answer(self, reply: LenientJson) -> ModelAnswer:
        """Return the text of the first choice, or its refusal."""
        choices = reply.children("choices")
        choice = choices[0] if choices else reply
        message = choice.child("message")
        return ModelAnswer(
            text=message.text("content") or message.text("refusal") or "",
            truncated=choice.text("finish_reason") == "length",
            model=reply.text("model"),
            usage=_openai_usage(reply.child("usage")),
        )


PROTOCOLS: dict[str, JudgeProtocol] = {"anthropic": AnthropicMessages(), "openai": OpenAIChat()}
"""Keys are values of ``run.judge.api``."""


def error_message(reply: LenientJson) -> str:
    """The service's message in the reply of a failed request; empty where there is none."""
    return reply.text("error", "message") or reply.text("message") or reply.text("error") or ""


def is_transient(status: int, reply: LenientJson) -> bool:
    """Whether the same request may succeed later. A used-up quota has the status of a rate limit, but stays."""
    if reply.text("error", "code") == "insufficient_quota":
        return False
    return status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS} or (
        status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED
    )


def _anthropic_usage(usage: LenientJson) -> Usage:
    uncached, output = usage.count("input_tokens"), usage.count("output_tokens")
    read, written = usage.count("cache_read_input_tokens"), usage.count("cache_creation_input_tokens")
    return Usage(
        input_tokens=None if uncached is None else uncached + (read or 0) + (written or 0),
        output_tokens=output,
        cache_tokens=read,
    )


def _openai_usage(usage: LenientJson) -> Usage:
    output, reasoning = usage.count("completion_tokens"), usage.count("completion_tokens_details", "reasoning_tokens")
    return Usage(
        input_tokens=usage.count("prompt_tokens"),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=usage.count("prompt_tokens_details", "cached_tokens"),
    )
