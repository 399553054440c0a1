"""Every way of writing a secret that the documentation says is found, for any value, in any text, at any split."""

from __future__ import annotations

import json
import random
import string
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from growth import grows_in_proportion
from hostile import any_text
from skillgym_action.text.redaction import MASK, Redactor
from skillgym_action.text.secret_forms import SHORTEST_HIDDEN
from ways_of_writing import WAYS, lines

FOUND = {way.name: way for way in WAYS if way.shortest}
NOT_FOUND = {way.name: way for way in WAYS if not way.shortest}
NEW = {name: way for name, way in FOUND.items() if way.shortest == SHORTEST_HIDDEN}
KEY = "sk-ant-api03-Zq7wE4rT1yU8iO0pAs2dF5gH6jK9lX3cV-bN_mQ"
ODD = 'p4ss"w&rd/ü+1\\x'
SHORT = "Zq7w-rT1"
HELD_BACK = 32_768  # characters that a stream does not release before it has seen more
REMAINDER = 12  # characters of base64 that a value shares with what is around it
PRINTABLE = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=8, max_size=200)
UNICODE = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=8, max_size=40)
# Where a line begins with what quotes are marked by, nobody can tell which of them is the value's.
VALUES = (PRINTABLE | UNICODE).filter(lambda value: not set(value) & {">", "|"} and value.isprintable())
WORDS = st.lists(st.sampled_from(["a word", "and", "-", "\n", "12", "\\", "%", "é"]), max_size=6).map(" ".join)


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("value", [KEY, ODD])
def test_a_secret_is_hidden_as_documented(name, value):
    form = FOUND[name].write(value)
    hidden = Redactor([value]).text(f"before {form} after")
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert MASK in hidden
    assert len(hidden) <= len("before *** after") + REMAINDER


@pytest.mark.parametrize("name", NOT_FOUND)
def test_what_is_documented_as_not_found_is_not_found(name):
    form = NOT_FOUND[name].write(KEY)
    assert Redactor([KEY]).text(form) == form


@pytest.mark.slow
def test_any_value_is_hidden_in_any_text(proved):
    tried = Counter()

    @settings(max_examples=100)
    @given(VALUES, WORDS, WORDS)
    @example("00000000", "", "")
    @example("nrtuxNRTUX", "", "")
    @example("\\u0041\\n/+", "", "")
    def holds(value, before, after):
        before, after, redactor = f"{before} <", f"> {after}", Redactor([value])
        for name, way in NEW.items():
            if name.startswith("split across") and not set(value).isdisjoint("\\%&"):
                continue  # documented: a line may end within what looks like an escape
            hidden = redactor.text(before + way.write(value) + after)
            assert hidden.startswith(before), name
            assert hidden.endswith(after), name
            assert MASK in hidden, name
            assert len(hidden) - len(before + after) <= len(MASK) + REMAINDER, name
            tried["all"] += 1

    holds()
    proved("text", "secrets in forms that need decoding, hidden", tried["all"])


@pytest.mark.parametrize("value", [KEY, ODD.replace("\\", "")])
@pytest.mark.parametrize("between", ["\n", "\r\n", "\n    ", "\n> ", "\n> > ", "\\n", "\\\\n\\\\t", " \\\n", "\n| "])
def test_a_secret_is_hidden_wherever_its_lines_end(value, between):
    for width in range(1, len(value)):
        text = f"it is {lines(value, width, between)}{between}and more"
        assert Redactor([value]).text(text) == f"it is ***{between}and more", width


@pytest.mark.parametrize("name", NEW)
def test_a_form_is_hidden_wherever_it_is_split(proved, name):
    form, redactor = NEW[name].write(SHORT), Redactor([SHORT])
    whole = redactor.text(form)
    for at in range(len(form) + 1):
        # A stream releases what it has read up to the middle of the form; the pieces end at each place of it.
        text = "-" * (HELD_BACK - len(form) // 2) + f" {form} " + "-" * (2 * HELD_BACK)
        split = text.index(form) + at
        assert "".join(redactor.stream([text[:split], text[split:]])).strip("- ") == whole
    proved("text", "forms split over two pieces, hidden", len(form) + 1)


@pytest.mark.parametrize("name", NEW)
def test_a_form_is_hidden_wherever_a_stream_releases_text(name):
    form, redactor = NEW[name].write(SHORT), Redactor([SHORT])
    whole = redactor.text(form)
    for offset in range(0, len(form) + 2, 3):
        text = "-" * (HELD_BACK - offset) + f" {form} " + "-" * HELD_BACK
        release = HELD_BACK + len(f" {form} ") + HELD_BACK - offset
        assert "".join(redactor.stream([text[:release], text[release:]])).strip("- ") == whole


def test_a_text_without_secrets_stays_as_it_is(proved):
    drawn, tried = random.Random(12), Counter()
    secrets = ["".join(drawn.choices(string.ascii_letters + string.digits, k=size)) for size in (8, 12, 20, 40, 200)]
    other = "".join(drawn.choices(string.ascii_letters, k=40))
    redactor = Redactor(secrets)

    @settings(max_examples=200)
    @given(any_text, st.sampled_from([way.write for way in WAYS]), any_text)
    def holds(before, write, after):
        text = f"{before}{write(other)}{after}"
        assert redactor.text(text) == Redactor().text(text)
        tried["all"] += 1

    holds()
    proved("text", "texts without a secret, left as they are", tried["all"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("the secret of a job", id="its words"),
        pytest.param("A-SECRET-OF-A-JOB", id="in capitals"),
        pytest.param("a secret\nof a job", id="its words in lines"),
        pytest.param("asecretofajob", id="its letters"),
        pytest.param("612d736563726574", id="half of it in hexadecimal"),
        pytest.param("a-secret-%6ff", id="the beginning of it escaped"),
    ],
)
def test_what_resembles_a_secret_stays(text):
    assert Redactor(["a-secret-of-a-job"]).text(text) == text


def test_several_forms_and_secrets_in_one_text():
    names = [
        "hexadecimal",
        "reversed",
        "every character escaped for HTML",
        "split across lines that begin with `>`",
        "unchanged",
    ]
    text = "".join(f"<{FOUND[name].write(value)}>" for name in names for value in (KEY, ODD))
    assert Redactor([KEY, ODD]).text(text) == "<***>" * 10


@pytest.mark.parametrize("name", NEW)
def test_a_form_in_json_leaves_json(name):
    for value in (KEY, ODD):
        document = json.dumps(["before", json.dumps(NEW[name].write(value)), "after"])
        hidden = json.loads(Redactor([value]).text(document))
        assert MASK in hidden[1]
        assert [hidden[0], hidden[2]] == ["before", "after"]


def test_a_hidden_form_is_reported_as_a_secret():
    found = set()
    Redactor([KEY]).text(KEY.encode().hex(), found)
    assert [leak.kind for leak in found] == ["secret"]


def test_short_values_are_searched_in_common_forms_only():
    assert Redactor(["abc1234"]).text("4321cba 61626331323334 abc\n1234 abc1234") == (
        "4321cba 61626331323334 abc\n1234 ***"
    )


@pytest.mark.parametrize(
    "fragment",
    ["\\", "\\x6", "%25", "%", "&amp;", "&#", "\n", " \\\n> ", "A", "ü", "61 ", "\\u0026", "\\n\\n", "%5c", "&#97;"],
)
def test_no_text_with_a_secret_takes_long(fragment):
    redactor = Redactor([KEY])
    assert grows_in_proportion(lambda size: redactor.text(KEY[::-1] + fragment * size), 50_000)
