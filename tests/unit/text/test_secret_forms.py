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
from ways_of_writing import WAYS, encoded, lines

FOUND = {way.name: way for way in WAYS if way.found}
KEY = "sk-ant-api03-Zq7wE4rT1yU8iO0pAs2dF5gH6jK9lX3cV-bN_mQ"
ODD = 'p4ss"w&rd/ü+1\\x'
SHORT = "Zq7w-rT1"
HELD_BACK = 32_768  # characters that a stream does not release before it has seen more
REMAINDER = 12  # characters of base64, or of a dump, that a value shares with what is around it
PRINTABLE = st.text(string.ascii_letters + string.digits + string.punctuation, min_size=8, max_size=200)
UNICODE = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=8, max_size=40)
# A line may end within what looks like an escape, and then nobody can tell which backslash is the value's.
VALUES = (PRINTABLE | UNICODE).filter(lambda value: value.isprintable() and not set(value) & {"\\", "%"})
WORDS = st.lists(st.sampled_from(["a word", "and", "-", "\n", "12", "\\", "%", "é"]), max_size=6).map(" ".join)
# What the programs printed for ``KEY``, with a text around it.
PRINTED = {
    "base64": "eC1rZXk6IHNrLWFudC1hcGkwMy1acTd3RTRyVDF5VThpTzBwQXMyZEY1Z0g2aks5bFgzY1YtYk5f\nbVEK\n",
    "xxd": "00000000: 782d 6b65 793a 2073 6b2d 616e 742d 6170  x-key: sk-ant-ap\n"
    "00000010: 6930 332d 5a71 3777 4534 7254 3179 5538  i03-Zq7wE4rT1yU8\n"
    "00000020: 694f 3070 4173 3264 4635 6748 366a 4b39  iO0pAs2dF5gH6jK9\n"
    "00000030: 6c58 3363 562d 624e 5f6d 510a            lX3cV-bN_mQ.\n",
    "hexdump -C": "00000000  78 2d 6b 65 79 3a 20 73  6b 2d 61 6e 74 2d 61 70  |x-key: sk-ant-ap|\n"
    "00000010  69 30 33 2d 5a 71 37 77  45 34 72 54 31 79 55 38  |i03-Zq7wE4rT1yU8|\n"
    "00000020  69 4f 30 70 41 73 32 64  46 35 67 48 36 6a 4b 39  |iO0pAs2dF5gH6jK9|\n"
    "00000030  6c 58 33 63 56 2d 62 4e  5f 6d 51 0a              |lX3cV-bN_mQ.|\n0000003c\n",
    "hexdump": "0000000 2d78 656b 3a79 7320 2d6b 6e61 2d74 7061\n0000010 3069 2d33 715a 7737 3445 5472 7931 3855\n"
    "0000020 4f69 7030 7341 6432 3546 4867 6a36 394b\n0000030 586c 6333 2d56 4e62 6d5f 0a51          \n000003c\n",
    "od -t x1": "0000000 78 2d 6b 65 79 3a 20 73 6b 2d 61 6e 74 2d 61 70\n"
    "0000020 69 30 33 2d 5a 71 37 77 45 34 72 54 31 79 55 38\n"
    "0000040 69 4f 30 70 41 73 32 64 46 35 67 48 36 6a 4b 39\n0000060 6c 58 33 63 56 2d 62 4e 5f 6d 51 0a\n0000074\n",
}


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
@pytest.mark.parametrize("value", [KEY, ODD, SHORT], ids=["a key", "odd", "short"])
def test_a_secret_is_hidden_as_documented(way, value):
    form = way.write(value)
    hidden = Redactor([value]).text(f"before {form} after")
    if not way.found and form != value:
        assert hidden == f"before {form} after"
        return
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert hidden.count("\n") == form.count("\n")
    assert MASK in hidden
    assert len(hidden.replace(MASK, "").replace("\n", "")) <= len("before  after") + REMAINDER


@pytest.mark.parametrize("program", PRINTED)
@pytest.mark.parametrize("written", [str, json.dumps, lambda text: json.dumps(json.dumps(text))])
def test_what_programs_print_of_a_secret_is_hidden(program, written):
    hidden = Redactor([KEY]).text(written(PRINTED[program]))
    parts = {part for part in PRINTED[program].split() if len(part) > 3 and not part.startswith("00")}
    left = {part for part in parts if part in hidden}
    assert left <= {"eC1rZXk6IHN"}, "what stands before the key"
    assert MASK in hidden
    if written is not str:
        json.loads(json.loads(hidden)) if hidden.startswith('"\\"') else json.loads(hidden)


@pytest.mark.slow
def test_any_value_is_hidden_in_any_text(proved):
    tried = Counter()

    @settings(max_examples=100)
    @given(VALUES, WORDS, WORDS)
    @example("00000000", "", "")
    @example("nrtuxNRTUX", "", "")
    @example("a b  c d", "", "")
    def holds(value, before, after):
        before, after, redactor = f"{before} <", f"> {after}", Redactor([value])
        for name, way in FOUND.items():
            form = way.write(value)
            hidden = redactor.text(before + form + after)
            assert hidden.startswith(before), name
            assert hidden.endswith(after), name
            assert MASK in hidden, name
            left = hidden[len(before) : len(hidden) - len(after)].replace(MASK, "").replace("\n", "")
            assert len(left) <= REMAINDER, name
            tried["all"] += 1

    holds()
    proved("text", "secrets in documented forms, hidden", tried["all"])


@pytest.mark.parametrize("between", ["\n", "\r\n", "\n    ", "\\n", "\\\\n\\\\t", "\\\n"])
def test_a_secret_is_hidden_wherever_its_lines_end(between):
    odd = ODD.replace("\\", "")
    for form in (KEY, odd, encoded(KEY).rstrip("="), KEY.encode().hex()):
        for width in range(1, len(form)):
            hidden = Redactor([KEY, odd]).text(f"it is {lines(form, width, between)}")
            left = "".join(hidden.replace(MASK, "").replace(between, "").replace("\\", "").split())
            assert left.startswith("itis"), width
            assert len(left) <= len("itis") + 1, width  # the last character of base64 has bits of what follows


@pytest.mark.parametrize("name", FOUND)
def test_a_form_is_hidden_wherever_a_stream_releases_text(proved, name):
    form, redactor = FOUND[name].write(SHORT), Redactor([SHORT])
    whole = redactor.text(form)
    for at in range(0, len(form) + 2, 3):
        # A stream releases what it has read up to some place of the form; the pieces also end at each place of it.
        text = "-" * (HELD_BACK - at) + f" {form} " + "-" * (2 * HELD_BACK)
        for split in (text.index(form) + at, HELD_BACK + len(form) + 2 + HELD_BACK - at):
            assert "".join(redactor.stream([text[:split], text[split:]])).strip("- ") == whole
    proved("text", "forms split over two pieces, hidden", len(form) + 1)


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
    ["the secret of a job", "A-SECRET-OF-A-JOB", "a secret\nof a job", "asecretofajob", "612d736563726574"],
)
def test_what_resembles_a_secret_stays(text):
    assert Redactor(["a-secret-of-a-job"]).text(text) == text


def test_several_forms_and_secrets_in_one_text():
    names = ["hexadecimal", "URL-encoded", "escaped for JSON", "unchanged"]
    text = "".join(f"<{FOUND[name].write(value)}>" for name in names for value in (KEY, ODD))
    assert Redactor([KEY, ODD]).text(text) == "<***>" * 8


@pytest.mark.parametrize("name", FOUND)
def test_a_form_in_json_leaves_json(name):
    for value in (KEY, ODD):
        document = json.dumps(["before", json.dumps(FOUND[name].write(value)), "after"])
        hidden = json.loads(Redactor([value]).text(document))
        assert MASK in hidden[1]
        assert [hidden[0], hidden[2]] == ["before", "after"]


def test_a_form_is_reported_as_a_secret():
    for way in FOUND.values():
        found = set()
        Redactor([KEY]).text(way.write(KEY), found)
        assert [leak.kind for leak in found] == ["anthropic"], way.name


@pytest.mark.parametrize(
    "fragment",
    ["\\", "%25", "%", "\n", " \\\n ", "A", "ü", "61 ", "\\u0026", "\\n\\n", "%5c", "00", "00000000 ", "00000000: 61 "],
)
def test_no_text_with_a_secret_takes_long(fragment):
    redactor = Redactor([KEY])
    assert grows_in_proportion(lambda size: redactor.text(KEY + fragment * size), 50_000)
    assert grows_in_proportion(lambda size: redactor.text((KEY + fragment) * size), 5_000)
