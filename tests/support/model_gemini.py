"""Google's Gemini API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from model_protocols import Ask, Numbered, arguments, turns
from model_script import Call, Say, Think

if TYPE_CHECKING:
    from collections.abc import Iterator

    from model_protocols import Event
    from model_script import Spoken


class Gemini:
    """POST /v1beta/models/MODEL:streamGenerateContent, or :generateContent.

    Its input includes what comes from the cache; output and thoughts exclude one another.
    """

    BEFORE_END: ClassVar = {"head": 0, "beginning": 1, "words": 1, "call": 1}
    ENDINGS: ClassVar = {"length": "MAX_TOKENS", "refusal": "SAFETY", "filter": "PROHIBITED_CONTENT"}
    # Status, name of the status, message, details.
    REJECTIONS: ClassVar = {
        "context": (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            [],
        ),
        "quota": (
            429,
            "RESOURCE_EXHAUSTED",
            (
                "You exceeded your current quota, please check your plan and billing details. For more information on "
                "this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
            ),
            [
                {
                    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [
                        {
                            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                            "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                            "quotaDimensions": {"location": "global", "model": "gemini-2.5-flash"},
                            "quotaValue": "250",
                        }
                    ],
                }
            ],
        ),
        "credit": (
            403,
            "PERMISSION_DENIED",
            (
                "This API method requires billing to be enabled. Please enable billing on project #1 by visiting "
                "https://console.developers.google.com/billing/enable?project=1 then retry."
            ),
            [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "BILLING_DISABLED",
                    "domain": "googleapis.com",
                }
            ],
        ),
        "forbidden": (
            403,
            "PERMISSION_DENIED",
            "The caller does not have permission",
            [],
        ),
        "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", []),
        "usage-limit": (
            429,
            "RESOURCE_EXHAUSTED",
            "You have exhausted your capacity on this model. Your quota will reset after 21h54m17s.",
            [],
        ),
        "expired": (
            401,
            "UNAUTHENTICATED",
            "Request had invalid authentication credentials: the access token has expired.",
            [],
        ),
        "payment": (402, "FAILED_PRECONDITION", "Your subscription is not active.", []),
        "too-large": (413, "INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes.", []),
    }
    STATUSES: ClassVar = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}

    def __init__(self) -> None:
        self._ids = Numbered()

    def ask(self, path: str, body: Any) -> Ask:
        functions = [function for tool in body.get("tools", []) for function in tool.get("functionDeclarations", [])]
        return Ask(
            position=turns(content.get("role") == "model" for content in body.get("contents", [])),
            tools={
                function["name"]: arguments(function.get("parametersJsonSchema") or function.get("parameters"))
                for function in functions
            },
            model=path.rpartition("/")[2].partition(":")[0],
            stream=":stream" in path,
        )

    def whole(self, ask: Ask, parts: list[Spoken], ending: str = "") -> dict[str, Any]:
        return self._answer(ask, [self._part(part) for part in parts], self.ENDINGS.get(ending, "STOP"))

    def stream(self, ask: Ask, parts: list[Spoken], ending: str = "") -> Iterator[Event]:
        for part in parts:
            yield self._answer(ask, [self._part(part)], None)
        yield self._answer(ask, [], self.ENDINGS.get(ending, "STOP"))

    def error(self, status: int) -> dict[str, Any]:
        kind = self.STATUSES.get(status, "INTERNAL")
        return {"error": {"code": status, "message": f"scripted {status}", "status": kind}}

    def rejection(self, why: str) -> tuple[int, dict[str, Any]]:
        """A prompt that is against the rules is answered without a candidate."""
        if why == "policy":
            return 200, {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}
        status, kind, message, details = self.REJECTIONS[why]
        return status, {"error": {"code": status, "message": message, "status": kind, "details": details}}

    def _answer(self, ask: Ask, parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
        candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
        usage = {
            "promptTokenCount": 1000 + ask.position,
            "cachedContentTokenCount": 300,
            "candidatesTokenCount": 42,
            "thoughtsTokenCount": 5,
            "totalTokenCount": 1047 + ask.position,
        }
        return {
            "candidates": [{**candidate, "finishReason": finish} if finish else candidate],
            "usageMetadata": usage,
            "modelVersion": ask.model,
            "responseId": self._ids.new("response"),
        }

    def _part(self, part: Spoken) -> dict[str, Any]:
        match part:
            case Say(text):
                return {"text": text}
            case Think(text):
                return {"text": text, "thought": True}
            case Call(tool, args):
                return {"functionCall": {"name": tool, "args": args}}
