"""How much texts are alike."""

from __future__ import annotations

import json
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paths import REPOSITORY
from skillgym_action.text.likeness import Likeness, literal_part


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^- \[CLI\] .*--json", "- [CLI] --json"),
        (r"\bnpm\s+(?:run )?test\b", "npm run test"),
        (r"v\d+\.\d+\.[0-9]{1,3}$", "v . ."),
        (r"a\\b", r"a\b"),
        (r"(?<name>x)|(?=y)", "x y"),
        (r"[^\n\r]*end", "end"),
        ("", ""),
        ("[" * 500, ""),
    ],
)
def test_the_literal_part_of_a_pattern(pattern, text):
    assert literal_part(pattern) == text


def test_the_nearest_is_first_then_the_shorter_then_the_earlier():
    texts = ["git log", "npm run test", "npm test --all", "NPM TEST", "npm test", ""]
    assert [texts[at] for at in Likeness("npm test").nearest_first(texts)] == [
        "NPM TEST", "npm test", "npm run test", "npm test --all", "", "git log",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "text", "near"),
    [
        ("deploy", "deploying", True),
        ("deploy", "depl", True),
        ("deploy", "dep", False),
        ("a", "banana", True),
        ("a", "a", True),
        ("", "anything", False),
        ("aaaa", "aa", True),
    ],
)
def test_half_of_the_pairs_are_near(wanted, text, near):
    assert Likeness(wanted).is_near(text) is near


@pytest.mark.timed
def test_long_texts_are_compared_by_their_beginning():
    started = time.process_time()
    Likeness("a" * 10_000_000).nearest_first(["a" * 10_000_000] * 20)
    assert time.process_time() - started < 1


NODE = """
import { likenessTo, literalPart } from "PLACE";
const { patterns, wanted, texts } = JSON.parse(process.argv[1]);
const likeness = likenessTo(wanted);
const answer = [patterns.map(literalPart), likeness.nearestFirst(texts), texts.map(likeness.of), likeness.most];
console.log(JSON.stringify(answer));
"""
PLACE = REPOSITORY / "src/skillgym_action/suites/programs/runtime/skillgym/likeness.mjs"
TEXTS = st.text(st.sampled_from("aAbB ü\n😀\\[](){}.*+?^$|:=!<>09d"), max_size=30)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS, max_size=10), TEXTS, st.lists(TEXTS, max_size=10))
def test_typescript_has_the_same_functions(patterns, wanted, texts):
    given = json.dumps({"patterns": patterns, "wanted": wanted, "texts": texts})
    script = NODE.replace("PLACE", PLACE.as_uri())
    argv = ["node", "--input-type=module", "--eval", script, given]
    answered = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    likeness = Likeness(wanted)
    assert answered == [
        [literal_part(pattern) for pattern in patterns],
        likeness.nearest_first(texts),
        [likeness.of(text) for text in texts],
        likeness.most,
    ]
