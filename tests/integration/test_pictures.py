"""The pictures of the documentation are there, in light and dark, and the run that they show can be made again."""

from __future__ import annotations

import json
import re
import struct

import pytest

from documentation import documents
from paths import REPOSITORY
from picture_run import GOOD, MODELS, SHORTENED, SUITE
from pictures import FOLDER, NAMES, SCHEMES, SESSION, SKILL_NAMES, TREND_NAMES
from skill_picture_run import DECISIONS, EVALS
from skill_scripts import WITH, WITHOUT

SHOWN = re.compile(
    r'<source media="\(prefers-color-scheme: dark\)" srcset="(\S+)-dark\.png">\s*'
    r'<img alt="([^"]+)" src="(\S+)-light\.png"'
)
FIXTURES = re.compile(r"hostile|everything|fuzz|case-\d|fixture|foo|bar\b|lorem", re.IGNORECASE)
MOST_BYTES = 200_000


def shown() -> list[tuple[str, str]]:
    """Name and alternative text of each picture, where a document shows it."""
    found = []
    for document in documents():
        text = document.read_text(encoding="utf-8")
        assert text.count("<picture>") == len(SHOWN.findall(text)), document
        for dark, words, light in SHOWN.findall(text):
            assert dark == light, document
            path = (document.parent / light).resolve()
            assert path.parent == FOLDER, document
            found.append((path.name, words))
    return found


def test_every_picture_is_shown_and_the_first_document_shows_the_comment():
    every = (*NAMES, *SKILL_NAMES, *TREND_NAMES)
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}-{scheme}.png" for name in every for scheme in SCHEMES}
    assert {name for name, _ in shown()} == set(every)
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert {light.removeprefix("docs/images/") for _, _, light in SHOWN.findall(readme)} == {"comment"}


@pytest.mark.parametrize("name", [*NAMES, *SKILL_NAMES, *TREND_NAMES])
def test_light_and_dark_show_the_same_at_a_size_that_can_be_read(name):
    sizes = set()
    for scheme in SCHEMES:
        content = (FOLDER / f"{name}-{scheme}.png").read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert len(content) <= MOST_BYTES
        sizes.add(struct.unpack(">II", content[16:24]))
    ((width, height),) = sizes
    assert 1600 <= width <= 2400
    assert 600 <= height <= 2 * width


def test_every_case_of_the_run_has_a_script_and_no_fixture_is_in_it():
    sources = [json.dumps(SUITE, ensure_ascii=False)]
    for folder, pattern in (("x-bench", "*.json"), ("python", "*_suite.py"), ("typescript", "workspace-*.ts")):
        sources += [path.read_text() for path in (REPOSITORY / "examples" / folder).glob(pattern)]
    for prompt in GOOD:
        assert sum(source.count(prompt) for source in sources) == 1, prompt
    prompts = sum(len(re.findall(r"""\bprompt"?[:=] ?["']""", source)) for source in sources)
    assert prompts == len(GOOD)
    for scripts in SHORTENED.values():
        assert scripts.keys() == GOOD.keys()
    assert SHORTENED.keys() == MODELS.keys()
    assert FIXTURES.findall("".join(sources) + repr(SHORTENED) + repr(GOOD)) == []


def test_the_session_that_is_shown_is_one_of_the_run():
    assert SESSION["suite"] == f"bench/{SUITE['name']}.json"
    assert SESSION["case"] in [case["id"] for case in SUITE["cases"]]
    assert SESSION["runner"] in MODELS


def test_every_question_of_the_skill_has_a_decision_and_every_prompt_two_scripts():
    texts = {
        one if isinstance(one, str) else one["text"]
        for case in EVALS["evals"]
        for one in case["expectations"]
        if isinstance(one, str) or "text" in one
    }
    assert texts == DECISIONS.keys()
    prompts = {case["prompt"] for case in EVALS["evals"]}
    assert all(prompts == scripts.keys() for scripts in (WITHOUT, *WITH.values()))
    assert FIXTURES.findall(json.dumps(EVALS) + repr(WITH) + repr(WITHOUT)) == []
