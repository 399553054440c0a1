from __future__ import annotations

import base64
import html
import json
import time
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import run_report
from skillgym_action.redaction import Redactor, leaks, looks_like_key

SECRET = 'p4ss"w&rd/ü+1'
PEM = "-----BEGIN RSA PRIVATE KEY-----\nTUlJRW9\nSUJBQUtDQVFFQQ==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(SECRET, id="raw"),
        pytest.param(quote(SECRET, safe=""), id="URL"),
        pytest.param(quote_plus(SECRET), id="form"),
        pytest.param(json.dumps(SECRET)[1:-1], id="JSON"),
        pytest.param(json.dumps(SECRET, ensure_ascii=False)[1:-1], id="JSON in UTF-8"),
        pytest.param(json.dumps(json.dumps(SECRET))[3:-3], id="JSON in JSON"),
        pytest.param(html.escape(SECRET), id="HTML"),
        pytest.param(base64.b64encode(SECRET.encode()).decode().rstrip("="), id="base64"),
    ],
)
def test_a_secret_is_hidden_in_every_form(form):
    assert form not in Redactor([SECRET]).text(f"before {form} after")
    assert Redactor([SECRET]).text(f"before {form} after").startswith("before ***")


@pytest.mark.parametrize("prefix", ["", "x", "user:", "x-access-token:"])
def test_a_secret_is_hidden_inside_longer_base64(prefix):
    encoded = base64.b64encode(f"{prefix}{SECRET}{prefix}".encode()).decode()
    assert "***" in Redactor([SECRET]).text(encoded)


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("github", "ghp_" + "a1B2" * 9),
        ("github", "github_pat_" + "a1B2_" * 10),
        ("anthropic", "sk-ant-api03-" + "a1B2-" * 10),
        ("openai", "sk-proj-" + "a1B2_" * 10),
        ("openai", "sk-" + "a1B2" * 12),
        ("aws", "AKIA" + "A1B2" * 4),
        ("aws", "aws_secret_access_key=" + "a1B2" * 10),
        ("slack", "xoxb-123456789012-abcdef"),
        ("jwt", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4"),
        ("github", '{"text": "one line\\nghp_' + "a1B2" * 9 + '"}'),
        ("private-key", PEM),
        ("private-key", PEM.replace("\n", "\\n")),
    ],
)
def test_known_keys_are_hidden_and_named(kind, key):
    text = f"it is {key} indeed"
    assert kind in leaks(text)
    assert looks_like_key(text)
    hidden = Redactor().text(text)
    assert not any(part in hidden for part in ("a1B2a1B2", "A1B2A1B2", "TUlJ", "abcdef", "SflKx"))
    assert "***" in hidden
    assert hidden.startswith("it is ")
    assert hidden.endswith(" indeed")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sk-learn is a library",
        "ask-a-question-about-the-weather",
        "ghp_short",
        "eyJ",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_words_are_no_keys(text):
    assert leaks(text) == ()
    assert Redactor().text(text) == text


def test_a_private_key_without_end_is_hidden():
    assert Redactor().text("-----BEGIN PRIVATE KEY-----\nTUlJRW9") == "***"


def test_short_values_are_left_alone():
    assert Redactor(["abc", "", " ", "12345"]).text("abc 12345") == "abc 12345"


def test_each_long_line_of_a_value_is_a_secret():
    redactor = Redactor(["first-line-of-it\n{\nsecond-line-of-it\n"])
    assert redactor.text("{ first-line-of-it second-line-of-it }") == "{ *** *** }"


def test_of_two_secrets_the_longer_is_hidden_whole():
    assert Redactor(["secret", "secret-and-more"]).text("secret-and-more") == "***"


def test_bytes_that_are_no_text_stay():
    assert Redactor([SECRET]).bytes(b"\xff\xfe" + SECRET.encode() + b"\x80") == b"\xff\xfe***\x80"


def test_a_judgement_is_redacted_before_it_is_escaped():
    (result,) = run_report(f"fix failed: the key is {SECRET}").results
    hidden = Redactor([SECRET]).within(result.judgement)
    assert hidden.failure.message == hidden.outcomes[0].explanation == "the key is ***"
    assert (hidden.status, hidden.origin) == (result.judgement.status, "assertion")


def test_what_hides_nothing_stays_the_same_object():
    (result,) = run_report("fix failed").results
    assert Redactor([SECRET]).within(result.judgement) is result.judgement


def test_it_does_not_show_what_it_knows():
    assert SECRET not in repr(Redactor([SECRET]))
    assert repr(Redactor()) == "Redactor(0 forms)"


@settings(max_examples=25)
@given(st.integers(0, 60_000), st.integers(100, 5_000))
def test_a_secret_split_over_two_chunks_is_hidden(before, size):
    text = "x" * before + SECRET + "y" * 20_000 + "ghp_" + "a1B2" * 9 + "z" * 20_000
    chunks = (text[start : start + size] for start in range(0, len(text), size))
    assert "".join(Redactor([SECRET]).stream(chunks)) == "x" * before + "***" + "y" * 20_000 + "***"


def test_a_stream_without_secrets_is_unchanged():
    chunks = ["line\n" * 5_000] * 10
    assert "".join(Redactor([SECRET]).stream(chunks)) == "".join(chunks)


@pytest.mark.parametrize(
    "fragment", ["-----BEGIN PRIVATE KEY-----", "sk-", "eyJ", "eyJaaaaaaaa.", "gh", "ghp_", "xoxb-", "AKIA", "-----"]
)
def test_no_text_takes_long(fragment):
    started = time.perf_counter()
    Redactor([SECRET]).text(fragment * 50_000)
    assert time.perf_counter() - started < 2
