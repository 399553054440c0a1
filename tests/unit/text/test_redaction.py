from __future__ import annotations

import base64
import html
import json
from collections import Counter
from dataclasses import replace
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import run_report
from growth import grows_in_proportion
from skillgym_action.text.redaction import Redactor, is_secret_name, key_kinds, looks_like_key, secret_values

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
        pytest.param(json.dumps(SECRET)[1:-1].replace("/", "\\/"), id="JSON with escaped slashes"),
        pytest.param("p4ss%22w%26rd%2f%c3%bc%2b1", id="URL in small letters"),
        pytest.param("p4ss&#34;w&amp;rd/ü+1", id="HTML by numbers"),
        pytest.param(base64.b64encode(SECRET.encode()).decode().rstrip("="), id="base64"),
    ],
)
def test_a_secret_is_hidden_in_every_form(form):
    assert form not in Redactor([SECRET]).text(f"before {form} after")
    assert Redactor([SECRET]).text(f"before {form} after").startswith("before ***")


WRITERS = {
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in UTF-8": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    "JavaScript": lambda text: json.dumps(text)[1:-1].replace("/", "\\/").replace("&", "\\u0026"),
    "Python": repr,
    "bytes of Python": lambda text: repr(text.encode()),
    "HTML": html.escape,
    "XML": lambda text: html.escape(text, quote=False),
    "URL": lambda text: quote(text, safe=""),
    "form": quote_plus,
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


LONG = "sk-ant-" + "a1-B2_c3" * 12


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\\n", "\\\\r\\\\n"])
@pytest.mark.parametrize("width", [64, 76])
def test_a_secret_is_hidden_in_base64_wherever_its_lines_end(proved, width, line_end):
    for before in range(120):
        encoded = base64.b64encode(b"x" * before + LONG.encode() + b"y" * 9).decode()
        lines = [encoded[start : start + width] for start in range(0, len(encoded), width)]
        left = Redactor([LONG]).text(line_end.join(lines)).replace(line_end, "").replace("***", "")
        assert len(left) <= (before + 9) * 4 / 3 + 6, before
    proved("text", "encoded keys broken into lines, hidden", 120)


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
        ("google", "AIzaSy" + "a1B2c" * 6 + "-_9"),
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
        pytest.param("-----BEGIN PRIVATE KEY-----\nTUlJRW9", "***", id="torn off"),
        pytest.param("-----BEGIN PRIVATE KEY-----\\nTUlJRW9" + "Ab1/" * 9 + '", "x"]', '***", "x"]', id="in JSON"),
        pytest.param(
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nTUlJRW9=\n-----END RSA PRIVATE KEY-----",
            "***",
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


@pytest.mark.parametrize(
    ("variable", "values"),
    [
        pytest.param(("API_KEY", "abcdef"), ("abcdef",), id="a key"),
        pytest.param(("GH_PAT", "abcdef"), ("abcdef",), id="a personal access token"),
        pytest.param(("INPUT_GITHUB-TOKEN", "abcdef"), ("abcdef",), id="an input of the action"),
        pytest.param(("HTTPS_PROXY", "http://me:hunter22@proxy:3128"), ("hunter22",), id="the password of an address"),
        pytest.param(("HTTPS_PROXY", "http://proxy:3128"), (), id="an address without one"),
        pytest.param(("PATH", "/bin"), (), id="nothing secret"),
    ],
)
def test_what_of_an_environment_is_secret(variable, values):
    assert secret_values(dict([variable])) == values
    told = "=".join(variable)
    hidden = Redactor.of_environment(dict([variable])).text(told)
    assert hidden == (told.replace(values[0], "***") if values else told)


def test_a_path_is_no_personal_access_token():
    assert not is_secret_name("PATH")
    assert not is_secret_name("MANPATH")


# --- split in two ---------------------------------------------------------------------------------------


FORMS = {
    "raw": SECRET,
    "URL": quote(SECRET, safe=""),
    "JSON": json.dumps(SECRET)[1:-1],
    "HTML": html.escape(SECRET),
    **{
        f"base64 after {before}": base64.b64encode(b"x" * before + SECRET.encode() + b"yy").decode()
        for before in range(3)
    },
    "of GitHub": GITHUB,
    "private": PEM,
}
HELD_BACK = 32_768


@pytest.mark.parametrize("form", FORMS)
def test_a_key_is_hidden_wherever_it_is_split(proved, form):
    key, redactor = FORMS[form], Redactor([SECRET])
    whole = redactor.text(f"-{key}-")
    assert "***" in whole
    tried = 0
    for before in (0, HELD_BACK - len(key) // 2):  # around where a stream lets go
        text = "-" * before + f"-{key}-" + "-" * 2 * HELD_BACK
        for at in range(len(key) + 1):
            split = before + 1 + at
            for chunks in ([text[:split], text[split:]], [text[:split], text[split : split + 1], text[split + 1 :]]):
                assert "".join(redactor.stream(chunks)).strip("-") == whole.strip("-")
                tried += 1
    proved("text", "keys split over two pieces, hidden", tried)


@pytest.mark.parametrize("offset", range(-40, 41, 4))
def test_a_key_is_hidden_wherever_a_stream_lets_go(proved, offset):
    text = "-" * (2 * HELD_BACK + offset) + GITHUB + "-" * 2 * HELD_BACK
    for size in (HELD_BACK // 2, HELD_BACK, HELD_BACK + 7, 4 * HELD_BACK - 1):
        chunks = (text[start : start + size] for start in range(0, len(text), size))
        assert "".join(Redactor().stream(chunks)).strip("-") == "***"
    proved("text", "keys split over two pieces, hidden", 4)


# --- cut in two, and said so ----------------------------------------------------------------------------


KNOWN = "tok_a1-B2_c3.D4~e5F6g7H8"
ENCODED = base64.b64encode(f"xx{KNOWN}yy".encode()).decode()


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        pytest.param(f"it is {KNOWN[:12]}…", "it is ***…", id="its beginning"),
        pytest.param(f"…{KNOWN[12:]} it was", "…*** it was", id="its end"),
        pytest.param(f"{KNOWN[:12]}[… 5,584 …]{KNOWN[12:]}", "***[… 5,584 …]***", id="its middle"),
        pytest.param(f'"{KNOWN[:12]}\\n … 7 left out … x', '"***\\n … 7 left out … x', id="before a line end in JSON"),
        pytest.param(f"{KNOWN[:12]}\n[3 more characters were cut]", "***\n[3 more characters were cut]", id="no dots"),
        pytest.param(f"{ENCODED[:20]} …", f"{ENCODED[:3]}*** …", id="in base64"),
        pytest.param(f"{KNOWN[:7]}…", f"{KNOWN[:7]}…", id="too little of it to know"),
        pytest.param(f"{KNOWN[2:12]}…", f"{KNOWN[2:12]}…", id="neither its beginning nor its end"),
        pytest.param("thinking… done", "thinking… done", id="nothing of it"),
    ],
)  # fmt: skip
def test_half_of_a_secret_is_hidden_where_it_was_cut(text, hidden):
    assert Redactor([KNOWN]).text(text) == hidden


def test_what_was_found_is_known_by_its_lines_and_halves():
    leaks = set()
    Redactor().text(PEM.replace("TUlJRW9", "TUlJRW9abcdef"), leaks)
    (leak,) = leaks
    redactor = Redactor().with_parts(leak.parts)
    assert redactor.text("1| TUlJRW9abcdef\n2| SUJBQUtDQVFFQQ== TUlJRW9ab…") == "1| ***\n2| *** ***…"
    assert Redactor().with_parts(()).text("TUlJRW9abcdef") == "TUlJRW9abcdef"


# --- in JSON --------------------------------------------------------------------------------------------


TEXTS = st.lists(
    st.sampled_from(
        [SECRET, GITHUB, PEM, "-----BEGIN PRIVATE KEY-----", "-----END", "\n", "\\", '"', "\\n", "\t", " ", "é"]
    )
    | st.text(max_size=4),
    max_size=8,
).map("".join)


@given(TEXTS)
def test_json_without_secrets_is_json(text):
    redactor = Redactor([SECRET])
    for content in (text, json.dumps(text), json.dumps({"a": text}, ensure_ascii=False)):
        document = json.dumps([content, "end"], ensure_ascii=False)
        read = json.loads(redactor.text(document))
        assert read[1:] == ["end"]
        assert SECRET not in read[0]
        assert GITHUB not in read[0]
