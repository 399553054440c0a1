from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import run_report
from growth import grows_in_proportion
from skillgym_action.text.redaction import Redactor
from skillgym_action.text.secret_forms import key_kinds, looks_like_key

SECRET = 'p4ss"w&rd/ü+1'
PEM = "-----BEGIN RSA PRIVATE KEY-----\nTUlJRW9\nSUJBQUtDQVFFQQ==\n-----END RSA PRIVATE KEY-----"


def test_a_secret_is_hidden_in_what_an_author_says_about_a_case():
    report = run_report("edit passed")
    metadata = {"key": SECRET, SECRET: [1, None, {"deep": f"x {SECRET}"}], "clean": 2.5}
    result = replace(report.results[0], metadata=metadata)
    assert Redactor([SECRET]).redacted(result).metadata == {
        "key": "***",
        "***": [1, None, {"deep": "x ***"}],
        "clean": 2.5,
    }
    assert Redactor(["nowhere"]).redacted(result) is result


WRITERS = {
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JavaScript": lambda text: json.dumps(text)[1:-1].replace("/", "\\/").replace("&", "\\u0026"),
}
VALUES = st.text(min_size=6, max_size=20).filter(lambda value: value.isprintable() and value.strip() == value)


@pytest.mark.slow
def test_a_secret_is_hidden_however_often_it_is_quoted(proved):
    tried = Counter()

    @settings(max_examples=200)
    @given(VALUES, st.lists(st.sampled_from(sorted(WRITERS)), max_size=3))
    def holds(value, writers):
        written = f"k3y{value}"
        for name in writers:
            written = WRITERS[name](written)
        assert Redactor([f"k3y{value}"]).text(f"before {written} after").count("***") == 1
        tried["all"] += 1

    holds()
    proved("text", "secrets quoted up to three times over, hidden", tried["all"])


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
        ("google", "AIzaSy" + "a1B2c" * 6 + "-_9"),
        ("google", "ya29.a0" + "a1B2c" * 20),
        ("google", "1//0g" + "a1B2c" * 12),
        ("openai", "rt_" + "a1B2c" * 12),
        ("aws", "ABSKQmVk" + "a1B2c" * 20 + "="),
        ("aws", "bedrock-api-key-" + "a1B2c" * 20),
        ("slack", "xoxb-123456789012-abcdef"),
        ("jwt", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4"),
        ("github", '{"text": "one line\\nghp_' + "a1B2" * 9 + '"}'),
        ("private-key", PEM),
        ("private-key", PEM.replace("\n", "\\n")),
    ],
)
def test_known_keys_are_hidden_and_named(kind, key):
    text = f"it is {key} indeed"
    assert kind in key_kinds(text)
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
        "task-" + "0123456789abcdef" * 2,
        "ask-a-question-about-the-weather",
        "ghp_short",
        "eyJ",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_words_are_no_keys(text):
    assert key_kinds(text) == ()
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param("-----BEGIN PRIVATE KEY-----\nTUlJRW9", "***\n***", id="torn off"),
        pytest.param("-----BEGIN PRIVATE KEY-----\\nTUlJRW9" + "Ab1/" * 9 + '", "x"]', '***", "x"]', id="in JSON"),
        pytest.param(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nTUlJRW9=\n-----END RSA PRIVATE KEY-----",
            "***\n***\n\n***\n***",
            id="with headers",
        ),
        pytest.param('"-----BEGIN PRIVATE KEY-----" begins it.', '"***" begins it.', id="a word about it"),
        pytest.param(
            "-----BEGIN PRIVATE KEY-----, they say. And more.", "***, they say. And more.", id="no more of it"
        ),
    ],
)
def test_a_private_key_is_hidden_as_far_as_it_is_there(text, hidden):
    assert Redactor().text(text) == hidden


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
    hidden = Redactor([SECRET]).redacted(result.judgement)
    assert hidden.failure.message == hidden.outcomes[0].explanation == "the key is ***"
    assert (hidden.status, hidden.origin) == (result.judgement.status, "assertion")


def test_fields_may_stay_as_they_are():
    (result,) = run_report(f"fix failed: the key is {SECRET}").results
    leaking = replace(result, model=SECRET, session_id=SECRET)
    hidden = Redactor([SECRET]).redacted(leaking, exclude=("session_id",))
    assert (hidden.model, hidden.session_id, hidden.status) == ("***", SECRET, result.status)


def test_what_hides_nothing_stays_the_same_object():
    (result,) = run_report("fix failed").results
    assert Redactor([SECRET]).redacted(result.judgement) is result.judgement


def test_it_does_not_show_what_it_knows():
    assert SECRET not in repr(Redactor([SECRET]))
    assert repr(Redactor()) == "Redactor(0 values)"


@settings(max_examples=25)
@given(st.integers(0, 60_000), st.integers(100, 5_000))
def test_a_secret_split_over_two_chunks_is_hidden(before, size):
    text = "x" * before + SECRET + "y" * 40_000 + "ghp_" + "a1B2" * 9 + " " + "z" * 40_000
    chunks = (text[start : start + size] for start in range(0, len(text), size))
    hidden = "".join(Redactor([SECRET]).stream(chunks))
    assert hidden == "x" * before + "***" + "y" * 40_000 + "*** " + "z" * 40_000


def test_a_stream_without_secrets_is_unchanged():
    chunks = ["line\n" * 5_000] * 10
    assert "".join(Redactor([SECRET]).stream(chunks)) == "".join(chunks)


@pytest.mark.parametrize(
    "fragment", ["-----BEGIN PRIVATE KEY-----", "sk-", "eyJ", "eyJaaaaaaaa.", "gh", "ghp_", "xoxb-", "AKIA", "-----"]
)
def test_no_text_takes_long(fragment):
    redactor = Redactor([SECRET])
    assert grows_in_proportion(lambda size: redactor.text(fragment * size), 50_000)


# --- what is found --------------------------------------------------------------------------------------


GITHUB = "ghp_" + "a1B2" * 9


def found(text, *secrets):
    leaks = set()
    Redactor(secrets).text(text, leaks)
    return sorted(leak.kind for leak in leaks)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        pytest.param("nothing", [], id="nothing"),
        pytest.param(f"it is {SECRET}", ["secret"], id="a value"),
        pytest.param(base64.b64encode(SECRET.encode()).decode(), ["secret"], id="in base64"),
        pytest.param(f"{GITHUB} {GITHUB} {SECRET}", ["github", "secret"], id="each once"),
        pytest.param("AKIAIOSFODNN7EXAMPLE", [], id="what documentation shows"),
        pytest.param("aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", [], id="its other half"),
        pytest.param('if "-----BEGIN PRIVATE KEY-----" in text:', [], id="code that looks for keys"),
        pytest.param("-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----", [], id="an outline of one"),
        pytest.param(PEM, ["private-key"], id="a private key"),
    ],
)
def test_what_was_hidden_is_told_by_its_kind(text, kinds):
    assert found(text, SECRET) == kinds


def test_a_value_with_the_shape_of_a_key_is_told_by_that():
    assert found(GITHUB, GITHUB) == ["github"]


def test_one_key_is_told_from_another_and_neither_is_shown():
    first, second = set(), set()
    Redactor().text(GITHUB, first)
    Redactor().text(GITHUB.upper().replace("GHP_", "ghp_"), second)
    assert first != second
    assert "a1B2" not in repr(first)


def test_a_stream_tells_what_was_in_it():
    leaks = set()
    list(Redactor([SECRET]).stream(iter(["x" * 70_000, SECRET[:5], SECRET[5:], "y" * 70_000]), leaks))
    assert [leak.kind for leak in leaks] == ["secret"]


# --- split in two ---------------------------------------------------------------------------------------


HELD_BACK = 32_768


@pytest.mark.parametrize("offset", range(-40, 41, 4))
def test_a_key_is_hidden_wherever_a_stream_lets_go(proved, offset):
    text = "-" * (2 * HELD_BACK + offset) + GITHUB + "-" * 2 * HELD_BACK
    for size in (HELD_BACK // 2, HELD_BACK, HELD_BACK + 7, 4 * HELD_BACK - 1):
        chunks = (text[start : start + size] for start in range(0, len(text), size))
        assert "".join(Redactor().stream(chunks)).strip("-") == "***"
    proved("text", "keys split over two pieces, hidden", 4)


# --- in JSON --------------------------------------------------------------------------------------------


ESCAPED = ('"keys"\\', "üñ-secret", "/+/key\t12")


TEXTS = st.lists(
    st.sampled_from(
        [
            SECRET,
            *ESCAPED,
            GITHUB,
            PEM,
            "-----BEGIN PRIVATE KEY-----",
            "-----END",
            "\n",
            "\\",
            '"',
            "\\n",
            "\t",
            " ",
            "é",
        ]
    )
    | st.text(max_size=4),
    max_size=8,
).map("".join)


@given(TEXTS)
def test_json_without_secrets_is_json(text):
    redactor = Redactor([SECRET, *ESCAPED])
    for content in (text, json.dumps(text), json.dumps({"a": text}, ensure_ascii=False)):
        document = json.dumps([content, "end"], ensure_ascii=False)
        read = json.loads(redactor.text(document))
        assert read[1:] == ["end"]
        assert not any(secret in read[0] for secret in (SECRET, *ESCAPED))
        assert GITHUB not in read[0]


@pytest.mark.parametrize(
    "value",
    [
        "Bearer abc-123",
        "Basic abc-123",
        "token abc-123",
        'Token token="abc-123"',
        "ApiKey  abc-123",
        "X-Team: blue-team-7\nAuthorization: bearer abc-123\r\nX-Other: o",
        '{"Authorization": "Bearer abc-123", "X-Team": "blue"}',
    ],
)
def test_what_follows_a_scheme_is_hidden_alone_too(value):
    redactor = Redactor([value])
    assert redactor.text(value).count("abc-123") == 0
    assert redactor.text("it is abc-123, of the blue-team") == "it is ***, of the blue-team"


def test_other_words_of_a_secret_are_no_secrets():
    redactor = Redactor(["correct horse battery staple", "the basic structure", "Custom of-an-unknown-scheme-7"])
    assert redactor.text("a battery, a structure, of-an-unknown-scheme-7") == "a battery, a structure, ***"
