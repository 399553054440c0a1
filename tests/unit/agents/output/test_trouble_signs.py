from __future__ import annotations

import pytest

from skillgym_action.agents.output.trouble_signs import brief, kind_of_error, kind_of_status, kind_of_text
from skillgym_action.model.verdicts import TROUBLES


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (None, None),
        (200, None),
        (400, "runner-crash"),
        (401, "auth"),
        (402, "quota"),
        (403, "auth"),
        (404, "model-rejected"),
        (408, "provider"),
        (413, "context-exceeded"),
        (429, "rate-limit"),
        (500, "provider"),
        (503, "provider"),
        (529, "rate-limit"),
    ],
)
def test_a_status_stands_for_a_kind(status, kind):
    assert kind_of_status(status) == kind
    assert kind is None or kind in TROUBLES


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Failed to authenticate. API Error: 401 bad key", "auth"),
        ("Invalid API key · Fix external API key", "auth"),
        ("Not logged in · Please run /login", "auth"),
        ("Credit balance is too low", "quota"),
        ("Billing hard limit has been reached", "quota"),
        ("insufficient_quota", "quota"),
        ("402 Insufficient credits. Add more using https://openrouter.ai/settings/credits", "quota"),
        ("402 Insufficient Balance", "quota"),
        ("You have reached your specified API usage limits. You will regain access on 2027-01-01", "quota"),
        ("You've hit your usage limit. Upgrade to Pro, or try again in 3 days", "quota"),
        ("Quota exceeded. Check your plan and billing details.", "quota"),
        ("You have exhausted your daily quota on this model.", "quota"),
        ("You exceeded your current quota, please check your plan and billing details.", "quota"),
        (
            'You exceeded your current quota: "GenerateRequestsPerDayPerProjectPerModel-FreeTier", retry in 38.9s.',
            "quota",
        ),
        (
            'You exceeded your current quota and billing: "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"',
            "rate-limit",
        ),
        ("You exceeded your current quota, please check your plan and billing. Please retry in 12.3s.", "rate-limit"),
        ("This request would exceed your organization's rate limit of 30,000 input tokens per minute", "rate-limit"),
        ("Request too large for gpt-5 on tokens per min (TPM): Limit 30000; rate_limit_exceeded", "rate-limit"),
        ("Too many tokens, please wait before trying again: too many requests", "rate-limit"),
        ("API Error: 400 prompt is too long: 210000 tokens > 200000 maximum", "context-exceeded"),
        ("This model's maximum context length is 128000 tokens.", "context-exceeded"),
        ("Your input exceeds the context window of this model.", "context-exceeded"),
        ("The input token count (1200000) exceeds the maximum number of tokens allowed", "context-exceeded"),
        ("Incomplete response returned, reason: max_output_tokens", "output-limit"),
        ("Claude's response exceeded the 64000 output token maximum.", "output-limit"),
        ("stream disconnected: Incomplete response returned, reason: content_filter", "content-policy"),
        ("Output blocked by content filtering policy", "content-policy"),
        ("Invalid prompt: your prompt was flagged as potentially violating our usage policy", "content-policy"),
        ("The response was blocked by the provider's content filter", "content-policy"),
        ("API Error: Failed to parse JSON", "provider"),
        ("[API Error: no luck]", "provider"),
        ("the tool said: API Error: no luck", None),
        ("Unexpected end of JSON input", "provider"),
        ("Error reading response: malformed server-sent event JSON.", "provider"),
        ("unexpected status 401", "auth"),
        ("HTTP 429", "rate-limit"),
        ("rate_limit_exceeded: try again later", "rate-limit"),
        ("the quota of this minute is used", "rate-limit"),
        ("overloaded_error", "rate-limit"),
        ("The model `gpt-9` does not exist", "model-rejected"),
        ("model: claude-x was not found", "model-rejected"),
        ("Unknown model x", "model-rejected"),
        ("getaddrinfo ENOTFOUND api.example.com", "network"),
        ("connect ECONNREFUSED 127.0.0.1:9", "network"),
        ("Could not connect to local model provider at http://127.0.0.1:9/v1", "network"),
        ("unable to get local issuer certificate", "network"),
        ("API Error: 500 oops", "provider"),
        ("Internal server error", "provider"),
        ("stream disconnected before completion", "provider"),
        ("API Error: 400 tools: unknown field", "runner-crash"),
        ("Segmentation fault", None),
        ("port 4010 is in use", None),
        ("", None),
    ],
)
def test_an_error_message_tells_of_a_kind(text, kind):
    assert kind_of_text(text) == kind


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("Credit balance is too low", 400, "quota"),
        ("You exceeded your current quota, please check your plan and billing details.", 429, "quota"),
        ("This API method requires billing to be enabled", 403, "quota"),
        ("prompt is too long: 210000 tokens > 200000 maximum", 400, "context-exceeded"),
        ("Bad gateway", 401, "auth"),
        ("scripted", 429, "rate-limit"),
        ("model_not_found", 400, "model-rejected"),
        ("no idea", 400, "runner-crash"),
        ("no idea", None, None),
    ],
)
def test_exact_words_say_more_than_a_status_and_a_status_more_than_other_words(text, status, kind):
    assert kind_of_error(text, status) == kind


def test_a_message_is_one_line_of_bounded_length():
    assert brief(" a\n\n  b ") == "a b"
    assert brief("x" * 600) == "x" * 500 + " …"
