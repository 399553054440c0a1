from __future__ import annotations

import pytest

from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.transcripts.trouble_signs import brief, kind_of_status, kind_of_text


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (None, None),
        (200, None),
        (400, "runner-crash"),
        (401, "auth"),
        (403, "auth"),
        (404, "model-rejected"),
        (408, "provider"),
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
        ("Credit balance is too low", "auth"),
        ("unexpected status 401", "auth"),
        ("HTTP 429", "rate-limit"),
        ("rate_limit_exceeded: try again later", "rate-limit"),
        ("You exceeded your current quota", "rate-limit"),
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
        ("API Error: 400 prompt is too long", "runner-crash"),
        ("Segmentation fault", None),
        ("port 4010 is in use", None),
        ("", None),
    ],
)
def test_an_error_message_tells_of_a_kind(text, kind):
    assert kind_of_text(text) == kind


def test_a_message_is_one_line_of_bounded_length():
    assert brief(" a\n\n  b ") == "a b"
    assert brief("x" * 600) == "x" * 500 + " …"
