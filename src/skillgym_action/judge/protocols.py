"""How services of models are asked for an answer of a given form: bodies out, replies in. Nothing is sent here.

The form is told in words always, and in the protocol's own way where the service takes that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from skillgym_action.model.session_report import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.transcripts.lenient_json import Loose

NAME = "answer"
MOST_TOKENS = 4096  # of an answer; more than some models have


@dataclass(frozen=True, kw_only=True, slots=True)
class Talk:
    """What was said so far: ``turns`` are ours and the model's alternately. ``schema`` None: the words must do."""

    model: str
    system: str
    turns: tuple[str, ...]
    schema: Mapping[str, object] | None = field(default=None)

    def messages(self) -> list[dict[str, str]]:
        """The turns as both protocols write them."""
        roles = ("user", "assistant")
        return [{"role": roles[index % 2], "content": text} for index, text in enumerate(self.turns)]


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a model said. ``cut``: it had more to say; ``model`` and ``usage`` as the service tells."""

    text: str
    cut: bool = False
    model: str | None = None
    usage: Usage = field(default_factory=Usage)


class JudgeProtocol(Protocol):
    """A way to ask. ``base_url`` and ``key`` are names of environment variables.

    ``home``: the base URL where none is set; ``path`` comes after it.
    """

    base_url: str
    key: str
    home: str
    path: str

    def headers(self, key: str) -> dict[str, str]:
        """With the key, if there is one."""
        ...

    def body(self, talk: Talk) -> dict[str, object]:
        """Of a request."""
        ...

    def said(self, reply: Loose) -> Said:
        """What a good reply says."""
        ...


class AnthropicMessages:
    """The answer is the input of a tool that has to be called. Input excludes what comes from and goes to caches."""

    base_url, key = "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
    home, path = "https://api.anthropic.com", "/v1/messages"

    def headers(self, key: str) -> dict[str, str]:
        """With the key."""
        return {"anthropic-version": "2023-06-01", **({"x-api-key": key} if key else {})}

    def body(self, talk: Talk) -> dict[str, object]:
        """Of the request."""
        body: dict[str, object] = {
            "model": talk.model,
            "max_tokens": MOST_TOKENS,
            "system": talk.system,
            "messages": talk.messages(),
        }
        if talk.schema is None:
            return body
        tool = {"name": NAME, "description": "Give your answer.", "input_schema": talk.schema}
        return {**body, "tools": [tool], "tool_choice": {"type": "tool", "name": NAME}}

    def said(self, reply: Loose) -> Said:
        """The tool's input, or else the text."""
        blocks = reply.children("content")
        calls = [block for block in blocks if block.text("type") == "tool_use"]
        texts = (block.text("text") or "" for block in blocks if block.text("type") == "text")
        return Said(
            text=json.dumps(calls[0].at("input")) if calls else "".join(texts),
            cut=reply.text("stop_reason") == "max_tokens",
            model=reply.text("model"),
            usage=_anthropic_usage(reply.child("usage")),
        )


class OpenAIChat:
    """Chat completions, as many services offer them; input includes what comes from caches, output the reasoning."""

    base_url, key = "OPENAI_BASE_URL", "OPENAI_API_KEY"
    home, path = "https://api.openai.com/v1", "/chat/completions"

    def headers(self, key: str) -> dict[str, str]:
        """With the key."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, talk: Talk) -> dict[str, object]:
        """Of the request. The schema is not strict: that would demand more of it than most forms fulfil."""
        messages = [{"role": "system", "content": talk.system}, *talk.messages()]
        body: dict[str, object] = {"model": talk.model, "messages": messages}
        if talk.schema is None:
            return body
        form = {"name": NAME, "schema": talk.schema, "strict": False}
        return {**body, "response_format": {"type": "json_schema", "json_schema": form}}

    def said(self, reply: Loose) -> Said:
        """The text of the first choice; a refusal stands in for it."""
        choices = reply.children("choices")
        choice = choices[0] if choices else reply
        message = choice.child("message")
        return Said(
            text=message.text("content") or message.text("refusal") or "",
            cut=choice.text("finish_reason") == "length",
            model=reply.text("model"),
            usage=_openai_usage(reply.child("usage")),
        )


PROTOCOLS: dict[str, JudgeProtocol] = {"anthropic": AnthropicMessages(), "openai": OpenAIChat()}
"""By the name that ``run.judge.api`` gives it."""


def words_of(reply: Loose) -> str:
    """A service's own words about an error; empty when it has none."""
    return reply.text("error", "message") or reply.text("message") or reply.text("error") or ""


def may_pass(status: int, reply: Loose) -> bool:
    """Whether the same request may succeed later. A quota that is used up is no limit that passes."""
    if reply.text("error", "code") == "insufficient_quota":
        return False
    return status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS} or (
        status >= HTTPStatus.INTERNAL_SERVER_ERROR and status != HTTPStatus.NOT_IMPLEMENTED
    )


def _anthropic_usage(told: Loose) -> Usage:
    plain, output = told.count("input_tokens"), told.count("output_tokens")
    read, written = told.count("cache_read_input_tokens"), told.count("cache_creation_input_tokens")
    return Usage(
        input_tokens=None if plain is None else plain + (read or 0) + (written or 0),
        output_tokens=output,
        cache_tokens=read,
    )


def _openai_usage(told: Loose) -> Usage:
    output, reasoning = told.count("completion_tokens"), told.count("completion_tokens_details", "reasoning_tokens")
    return Usage(
        input_tokens=told.count("prompt_tokens"),
        output_tokens=None if output is None else max(0, output - (reasoning or 0)),
        reasoning_tokens=reasoning,
        cache_tokens=told.count("prompt_tokens_details", "cached_tokens"),
    )
