"""Patterns of suites on what agents wrote: none runs for ever, and one that would is told with its place."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentv_context import FakeContext, graded, session
from fakes_context import context_of
from measured import is_within, measured
from scratch import case, config, repository, runner, skillgym, suite, written
from skillgym_action.judging.assertions.printed_scores import UnusableScoreError, answer_in
from skillgym_action.model.errors import Location
from skillgym_action.model.session_report import Command, FileRead, ObservedFiles, ToolCall
from skillgym_action.suites.agentv.assertions import assertion_of
from skillgym_action.suites.agentv.grader_context import EntryContext, Task
from skillgym_action.suites.programs.hosts.suite_host import CLASSIFY_CRASH
from skillgym_action.suites.xbench.expectations import Expectations, ExpectationSection
from skillgym_action.system.files.globs import paths_matching
from skillgym_action.text.javascript.regex import SearchBudget
from suite_programs import one_case, session_report, suite_hosts
from suite_programs import written as program

if TYPE_CHECKING:
    from proofs import Proved

EXPECTING = Task(expected_output=({"role": "assistant", "content": {"a": 1}},))
OUTPUT = "cb" + "a" * 100_000 + "!"
ENDLESS = (
    "(a+)+$",
    "(a|aa)+$",
    "(.*a){30}c",
    "(a+)+c$",
    "(?:a+)+b$",
    r"([a-z]+)*\d",
    r"(\w+\s?)*$",
    "(a+){2,}c",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(.*)*c$",
    r"(a+)\1+$",
    r"(?<n>a+)\k<n>+$",
    "(a?){5000}a{5000}c",
    "(?:a{1,999}){1,999}c",
    r"[a\s\S]*[a\s\S]*[a\s\S]*c$",
    "(a+)+!b",
)
HARMLESS = ("(a|a)*b$", "^(a*)*$", "(a*a*)*c$", "(x+x+)+y", "((a)*)*c", "(?=(a+)+c)d", "(.+)\\1c$", ".*.*.*=.*")


@pytest.mark.timed
@pytest.mark.parametrize("pattern", [*ENDLESS, *HARMLESS])
def test_a_pattern_on_a_long_answer_ends_in_time(pattern, proved: Proved):
    began = time.process_time()
    outcome = graded({"type": "regex", "value": pattern}, session(OUTPUT), budget=SearchBudget(0.1, 1.0))
    assert time.process_time() - began < 2
    if pattern in HARMLESS:
        assert outcome.trouble is None
        return
    assert (outcome.passed, outcome.score, outcome.trouble) == (None, 0.0, "grader")
    assert outcome.explanation == f"assertions[0].value: /{pattern}/ was searched for more than 0.1 s"
    proved("suites", "regular expressions that would run for ever, ended")


def test_all_patterns_of_a_session_have_a_time_of_their_own(proved: Proved):
    fake_context = FakeContext(report=session(OUTPUT), budget=SearchBudget(0.2, 0.5))
    entry_context = EntryContext(folder=Path(), location=Location(path="s"), key_path="assertions[0]")
    assertion = assertion_of({"type": "regex", "value": "(a+)+$"}, entry_context)
    explanations = [
        assertion.judge(fake_context)[0].explanation.removeprefix("assertions[0].value: /(a+)+$/ ") for _ in range(100)
    ]
    assert explanations[0] == "was searched for more than 0.2 s"
    assert explanations[-1] == "was not searched for, since others of this session took 0.5 s"
    proved("suites", "regular expressions that would run for ever, ended", len(explanations))


@pytest.mark.timed
def test_a_pattern_in_very_many_files_has_one_time_for_all(tmp_path, proved: Proved):
    context = context_of(tmp_path, {f"{number}.txt": OUTPUT for number in range(40)})
    context.budget = SearchBudget(0.2, 0.5)
    section = ExpectationSection.model_validate({"file": "*.txt", "glob": True, "matches": ".(a+)+!$(?!)"})
    assertion = Expectations().parsed(section, "cases[3].expect[1]").assertion
    began = time.process_time()
    (outcome,) = assertion.judge(context)
    assert time.process_time() - began < 2
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert outcome.explanation == "cases[3].expect[1]: the pattern was searched for more than 0.2 s, last in 0.txt"
    proved("suites", "regular expressions that would run for ever, ended")


def test_a_pattern_that_needs_all_memory_is_ended(proved: Proved):
    outcome = graded(
        {"type": "regex", "value": "(a|aa)+$"}, session("a" * 6_000_000 + "!"), budget=SearchBudget(300, 300)
    )
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert outcome.explanation == "assertions[0].value: /(a|aa)+$/ needs too much memory"
    proved("suites", "regular expressions that would run for ever, ended")


def test_an_endless_pattern_makes_a_run_inconclusive_in_words(tmp_path, proved: Proved):
    agent = "head -c 100000 /dev/zero | tr '\\0' a > out.txt; echo '!' >> out.txt"
    endless = case("bad", ("file:out.txt exists", "file:out.txt matches /(a+)+$/"))
    core = suite(case("good", ("file:out.txt exists",)), endless)
    repository(tmp_path, {"bench/core.json": core, "skillgym.config.yaml": config(runner(agent))})
    ran = skillgym("run", "--output", "out", cwd=tmp_path)
    results = json.loads((tmp_path / "out/results.json").read_text())["suites"][0]["results"]
    assert [one["status"] for one in results] == ["passed", "errored"]
    assert results[1]["error"]["message"] == (
        "cases[1].expect[1]: the pattern was searched for more than 2 s, last in out.txt"
    )
    assert ran.code != 0
    proved("suites", "regular expressions that would run for ever, ended")


# --- patterns in programs ---------------------------------------------------------------------------

LONG = session_report(
    final_output=OUTPUT,
    files=ObservedFiles(observed_reads=(OUTPUT,)),
    events=(Command(command=OUTPUT), FileRead(path=OUTPUT), ToolCall(tool=OUTPUT, args={})),
)
PYTHON_CHECKS = {
    "a search": "re.search(ENDLESS, report.final_output)",
    "match": "expect.match(report.final_output, ENDLESS)",
    "output": "expect.output.includes(report, ENDLESS)",
    "commands": "expect.commands.includes(report, ENDLESS)",
    "file reads": "expect.file_reads.includes(report, ENDLESS)",
    "tool calls": "expect.tool_calls.has(report, ENDLESS)",
}
TYPESCRIPT = "import {{ assert }} from 'skillgym';\nexport default [{{ id: 'it', prompt: 'p', {} }}];\n"
TYPESCRIPT_CHECKS = {
    "a search": "assert(report) {{ /{0}/.test(report.finalOutput) }}",
    "match": "assert(report) {{ assert.match(report.finalOutput, /{0}/) }}",
    "output": "assert(report) {{ assert.output.includes(report, /{0}/) }}",
    "commands": "assert(report) {{ assert.commands.includes(report, /{0}/) }}",
}


@pytest.mark.timed
@pytest.mark.parametrize("check", PYTHON_CHECKS)
def test_a_check_in_python_that_searches_for_ever_is_ended(tmp_path, check, proved: Proved):
    file = program(tmp_path, one_case(f"import re\nENDLESS = re.compile('(a+)+$')\n{PYTHON_CHECKS[check]}"))
    with suite_hosts(tmp_path, call_limit=1.0) as hosts:
        (outcome,) = hosts.judge(file, "it", LONG)
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert outcome.explanation == "the check did not answer within 1 s"
    proved("suites", "regular expressions that would run for ever, ended")


@pytest.mark.timed
@pytest.mark.parametrize("check", TYPESCRIPT_CHECKS)
def test_a_check_in_typescript_that_searches_for_ever_is_ended(tmp_path, check, proved: Proved):
    file = tmp_path / "a-suite.mjs"
    file.write_text(TYPESCRIPT.format(TYPESCRIPT_CHECKS[check].format("(a+)+$")))
    with suite_hosts(tmp_path, call_limit=1.0) as hosts:
        (outcome,) = hosts.judge(file, "it", LONG)
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert outcome.explanation == "the check did not answer within 1 s"
    proved("suites", "regular expressions that would run for ever, ended")


@pytest.mark.timed
def test_a_classifier_that_searches_for_ever_is_ended(tmp_path, proved: Proved):
    classify = "def classify_failure(result): return re.search('(a+)+$', result.error.message) and 'x'"
    case_with = "suite = [Case(id='it', prompt='p', check=print, classify_failure=classify_failure)]"
    file = program(tmp_path, f"import re\n{classify}\n{case_with}\n")
    result = {"caseId": "it", "status": "failed", "error": {"name": "x", "message": OUTPUT}}
    with suite_hosts(tmp_path, call_limit=1.0) as hosts:
        assert hosts.classify(file, "it", result) == CLASSIFY_CRASH
    proved("suites", "regular expressions that would run for ever, ended")


# --- patterns of paths and names --------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("**/*" * 200 + "b", id="stars"),
        pytest.param("**/a/" * 190 + "b", id="folders"),
        pytest.param("**/**/" * 150 + "b", id="double stars"),
        pytest.param("*a" * 400 + "b", id="stars in a name"),
        pytest.param("**/" + "?*" * 400 + "b", id="stars and question marks"),
        pytest.param("**/[!b]*" * 100 + "/b", id="sets"),
    ],
)
def test_a_pattern_of_paths_takes_one_walk(tmp_path, pattern, proved: Proved):
    deep = tmp_path
    for _ in range(150):
        deep = deep / "a"
        deep.mkdir()
        (deep / ("a" * 200)).touch()
    began = time.process_time()
    assert list(paths_matching(tmp_path, pattern)) == []
    assert time.process_time() - began < 2
    proved("suites", "patterns of paths and names that would take ages, matched in time")


PARTS = st.sampled_from(["a", "b", "*", "?", "**", "a*", "[ab]", ".h", "a.b", "*.b"])


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder of folders with files of all names in them."""
    root = tmp_path_factory.mktemp("tree")
    for folder in ("", "a", "b", "a/a", "a/b", "a/b/a", ".h", "a/.h"):
        written(root, {f"{folder}/{name}".lstrip("/"): "" for name in ("ab", "a.b", ".hb", "c", "é")})
    return root


@given(parts=st.lists(PARTS, min_size=1, max_size=5))
def test_a_pattern_of_paths_matches_what_it_does_in_python(tree, parts):
    pattern = "/".join([*parts, "*"] if parts[-1] == "**" else parts)
    assert sorted(paths_matching(tree, pattern)) == sorted({path for path in tree.glob(pattern) if path.is_file()})


def test_links_are_not_followed_and_folders_are_no_files(tmp_path):
    written(tmp_path, {"real/x": "", "y": ""})
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "round").symlink_to(".")
    assert sorted(path.name for path in paths_matching(tmp_path, "**/*")) == ["link", "round", "x", "y"]
    assert list(paths_matching(tmp_path, "link/*")) == []
    assert [list(paths_matching(tmp_path, pattern)) for pattern in ("", "/", ".", "*" * 1_001)] == [[], [], [], []]


@pytest.mark.timed
def test_patterns_of_cases_and_runners_are_matched_in_time(tmp_path, proved: Proved):
    long = case("a" * 1_000, runners=["*a" * 500 + "b", "*" * 100_000, "sh"])
    repository(tmp_path, {"bench/core.json": suite(long)})
    ran = measured("list", "--json", "--case", "*a" * 400 + "b", "--case", "a" * 999 + "?", cwd=tmp_path)
    assert [row["runner"] for row in json.loads(ran.out)["executions"]] == ["sh"]
    assert is_within(ran.seconds, 2, ran.slowness)
    proved("suites", "patterns of paths and names that would take ages, matched in time", 4)


# --- answers that look like data --------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize("answer", ["{" * 200_000, "{\n" * 200_000, "```json\n" * 50_000, "}" * 9 + "{" * 200_000])
def test_an_answer_that_might_be_json_is_looked_at_once(answer):
    began = time.process_time()
    fields = {"type": "field-accuracy", "fields": [{"path": "a", "match": "exact"}]}
    assert graded(fields, session(answer), task=EXPECTING).passed is False
    with suppress(UnusableScoreError):
        assert answer_in("said:\n" + answer) is None
    assert time.process_time() - began < 2
