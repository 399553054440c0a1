"""Assertions of ``evals.json`` that need no judge, on a session and its workspace."""

from __future__ import annotations

import pytest

from agentv_context import FakeContext, session
from fakes_context import context_of
from skill_eval_files import read_cases
from skillgym_action.model.session_report import Command, SkillDetection

BEFORE = {"input.csv": "a,b", "kept.json": '{"a": 1}'}
AFTER = {"out/report.md": "Summary\nTotal: 42\n", "bad.json": "{", "nan.json": "NaN"}


def outcome(tmp_path, entry, answer="It is Done.", **figures):
    (case,) = read_cases(tmp_path / "suite", entry if "must_not_have" in entry else {"assertions": [entry]}).cases
    folder = context_of(tmp_path / "workspace", BEFORE, AFTER)
    report = session(answer, [Command(command="make check", exit_code=0)], **figures)
    (found,) = case.assertions[0].judge(FakeContext(report=report, files=folder.files))
    return found


HOLDING = [
    pytest.param({"type": "contains", "value": "Done"}, "'Done' is in the final message", id="the message"),
    pytest.param({"type": "contains", "value": "42"}, "'42' is in out/report.md", id="a created file"),
    pytest.param({"type": "contains", "value": "make check"}, "'make check' is in a command", id="a command"),
    pytest.param({"type": "contains", "value": ["Done", "42"]}, "'Done' is in the final message", id="all of several"),
    pytest.param({"type": "icontains", "value": "dONE"}, "'dONE' is in the final message", id="in any case"),
    pytest.param({"type": "contains", "value": "a,b", "path": "input.csv"}, "'a,b' is in input.csv", id="a file"),
    pytest.param({"type": "not_contains", "value": "a,b"}, "'a,b' is not in the final message", id="not an input"),
    pytest.param({"type": "not_contains", "value": "x", "path": "input.csv"}, "'x' is not in input.csv", id="not in"),
    pytest.param({"type": "regex", "pattern": r"^Total: \d+$"}, "is in out/report.md", id="MULTILINE"),
    pytest.param({"type": "regex", "value": r"(?P<w>Don)e"}, "is in the final message", id="a name of Python's"),
    pytest.param({"type": "not_regex", "value": "^Done"}, "'^Done' is not in", id="not_regex"),
    pytest.param({"type": "file_exists", "path": "out/report.md"}, "out/report.md exists", id="file_exists"),
    pytest.param({"type": "file_exists", "path": "**/*.md"}, "out/report.md exists", id="a pattern"),
    pytest.param({"type": "file_exists", "path": "input.csv"}, "(preexisting: it was there", id="an input"),
    pytest.param(
        {"type": "file_contains", "path": "out/report.md", "value": "42"}, "is in out/report.md", id="contains"
    ),
    pytest.param({"type": "json_valid", "path": "kept.json"}, "kept.json is JSON", id="json_valid"),
    pytest.param({"must_not_have": [{"type": "contains", "value": "chapters"}]}, "is not in", id="negated"),
]


@pytest.mark.parametrize(("entry", "explanation"), HOLDING)
def test_what_holds(tmp_path, entry, explanation):
    found = outcome(tmp_path, entry)
    assert (found.passed, found.evidence) == (True, None)
    assert explanation in found.explanation


FAILING = [
    pytest.param({"type": "contains", "value": "done"}, "'done' is not in the final message, the created", id="case"),
    pytest.param({"type": "contains", "value": ["Done", "zzz"]}, "'zzz' is not in", id="one of several is missing"),
    pytest.param(
        {"type": "not_contains", "value": ["zzz", "Done"]}, "'Done' is in the final message", id="one is there"
    ),
    pytest.param({"type": "contains", "value": "x", "path": "no.txt"}, "no.txt does not exist", id="no file"),
    pytest.param({"type": "not_contains", "value": "x", "path": "no.txt"}, "no.txt does not exist", id="no file, not"),
    pytest.param({"type": "contains", "value": "x", "path": "out"}, "out is not a file: directory", id="a folder"),
    pytest.param({"type": "regex", "pattern": "^Done"}, "'^Done' is not in", id="regex"),
    pytest.param({"type": "file_exists", "path": "out/raport.md"}, "out/raport.md does not exist", id="file_exists"),
    pytest.param({"type": "file_exists", "path": "*.xlsx"}, "no file matches *.xlsx", id="a pattern"),
    pytest.param({"type": "json_valid", "path": "bad.json"}, "bad.json is not JSON: ", id="json_valid"),
    pytest.param({"type": "json_valid", "path": "nan.json"}, "nan.json is not JSON: NaN", id="NaN"),
    pytest.param({"type": "json_valid"}, "the final message is not JSON", id="a message"),
    pytest.param({"must_not_have": [{"type": "contains", "value": "Done"}]}, "is in the final message", id="negated"),
    pytest.param({"type": "skill_used"}, "pdf was not used; no skill was used", id="no skill"),
]


@pytest.mark.parametrize(("entry", "explanation"), FAILING)
def test_what_does_not_hold(tmp_path, entry, explanation):
    found = outcome(tmp_path, entry)
    assert found.passed is False
    assert explanation in found.explanation


@pytest.mark.parametrize("answer", ['{"a": 1}', '```json\n{"a": 1}\n```', "Here:\n```\n[1]\n```\nFine."])
def test_a_message_may_have_its_json_in_a_fence(tmp_path, answer):
    assert outcome(tmp_path, {"type": "json_valid"}, answer).passed is True


@pytest.mark.parametrize(
    ("skill", "confidence", "passed"),
    [("pdf", "explicit", True), ("plugin:pdf", "strong", True), ("pdf", "weak", False), ("xlsx", "explicit", False)],
)
def test_a_skill_is_used_if_it_was_loaded(tmp_path, skill, confidence, passed):
    detected = (SkillDetection(skill=skill, confidence=confidence),)
    assert outcome(tmp_path, {"type": "skill_used"}, detected_skills=detected).passed is passed


@pytest.mark.timed
def test_a_search_that_takes_too_long_decides_nothing(tmp_path):
    found = outcome(tmp_path, {"type": "regex", "value": "(a|aa)+$"}, "a" * 5_000 + "!")
    assert (found.passed, found.trouble) == (None, "grader")
    assert "the pattern was searched for more than" in found.explanation
