"""x-bench suites: discovered, read, every question of the format answered, every mistake reported with its location."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from growth import grows_in_proportion
from paths import DATA
from skillgym_action.judging.assertions.commands import CommandPasses
from skillgym_action.judging.assertions.files import FileAbsent, FileChanged, FileContains, FileExists, FileMatches
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import Bootstrap, WorkspaceSpec
from skillgym_action.suites.xbench import suite as xbench
from skillgym_action.suites.xbench.expectations import GrammarError, parse_text, section_with

EXAMPLE = DATA / "x-bench" / "example-suite.json"


@dataclass(frozen=True)
class Source:
    """A suite file that is nowhere."""

    content: str
    path: str = "bench/s.json"
    file: Path = Path("/repository/bench/s.json")

    def refusal(self, _: Path) -> None:
        return None

    def text(self) -> str:
        return self.content

    def program(self) -> dict[str, object]:
        raise NotImplementedError


def read(value: Any):
    return xbench.suite(Source(json.dumps(value)))


def suite_with(*cases: Any, **keys: Any):
    return read({"cases": list(cases), **keys})


def case(**keys: Any) -> dict[str, Any]:
    return {"id": "a", "prompt": "do it", "expect": ["diff:a"], **keys}


def one_case(**keys: Any):
    suite = suite_with(case(**keys))
    assert suite.invalid == ()
    return suite.cases[0]


def refused(text: str) -> list[str]:
    with pytest.raises(SuiteError) as caught:
        xbench.suite(Source(text))
    return [str(problem) for problem in caught.value.problems]


def invalid(*cases: Any) -> list[tuple[str | None, str]]:
    return [(each.case_id, str(each.problem)) for each in suite_with(*cases).invalid]


# --- the example ------------------------------------------------------------------------------------


def test_the_example_of_the_format_loads_unchanged():
    suite = xbench.suite(Source(EXAMPLE.read_text(encoding="utf-8"), path="bench/example-suite.json"))
    assert (suite.name, suite.format, suite.invalid, suite.warnings) == ("core-refactors", "x-bench", (), ())
    assert suite.workspace == WorkspaceSpec(mode="isolated", source="repository")
    extract, add = suite.cases
    assert (extract.id, extract.prompt) == ("extract-auth", "Extract auth logic into src/auth.ts")
    assert (extract.budget, extract.timeout, extract.model) == (2.0, 120, "claude-opus-4-6")
    assert (add.budget, add.timeout, add.model) == (3.0, 180, "claude-opus-4-6")
    assert [str(each.location) for each in suite.cases] == [
        "bench/example-suite.json:10:1",
        "bench/example-suite.json:21:1",
    ]
    assert extract.assertions == (
        FileExists(name="file:src/auth.ts exists", path="src/auth.ts"),
        FileContains(name="file:src/auth.ts contains 'export function'", path="src/auth.ts", text="export function"),
        CommandPasses(name="test:npm test passes", command="npm test"),
    )


# --- discovery --------------------------------------------------------------------------------------

SUITE = json.dumps({"cases": [case()]})


@pytest.mark.parametrize(
    ("path", "head", "accepted"),
    [
        pytest.param("bench/s.json", SUITE, True, id="in-bench"),
        pytest.param("a/bench/b/s.json", SUITE, True, id="deep-in-bench"),
        pytest.param("a/s.bench.json", SUITE, True, id="by-name"),
        pytest.param("bench/s.json", "\ufeff" + SUITE, True, id="byte-order-mark"),
        pytest.param("a/s.json", SUITE, False, id="elsewhere"),
        pytest.param("bench.json", SUITE, False, id="bench-is-the-file"),
        pytest.param("workbench/s.json", SUITE, False, id="other-folder"),
        pytest.param("bench/s.yaml", SUITE, False, id="not-json"),
        pytest.param("bench/package.json", '{"name": "x", "scripts": {}}', False, id="other-json"),
        pytest.param("bench/s.json", '{"cases": [{"prompt": "x", "expected": "y"}]}', False, id="another-format"),
        pytest.param("bench/s.json", '{"cases": [{"expect": []}]}', False, id="no-prompt"),
        pytest.param("bench/s.json", '{"cases": {"prompt": 1, "expect": 2}}', False, id="cases-are-no-list"),
        pytest.param("bench/s.json", "[1]", False, id="no-object"),
        pytest.param("bench/s.json", '{"cases": [{"prompt": "x", "expct": []}]}', True, id="misspelt-expect"),
        pytest.param("bench/s.json", '{"cases": [7, {"prompt": "x", "expect": []}]}', True, id="one-good-case"),
        pytest.param("bench/s.json", '{"name": "x", "cases": []}', True, id="no-cases"),
        pytest.param("bench/s.json", '{"other": "x", "cases": []}', False, id="no-cases-and-other-keys"),
        pytest.param("bench/s.json", SUITE[:-1], True, id="broken-or-cut-off"),
        pytest.param("bench/s.json", "{,", False, id="broken-and-nothing-like-it"),
        pytest.param("bench/s.json", "[" * 60_000, False, id="deep"),
    ],
)
def test_what_looks_like_a_suite(path, head, accepted):
    assert xbench.accepts(path, head) is accepted


# --- the grammar ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command"),
    [
        pytest.param("test:npm test passes", "npm test", id="row-1-passes-is-syntax"),
        pytest.param("test:npm test", "npm test", id="row-1-passes-may-be-left-out"),
        pytest.param("test:npm test \t passes", "npm test", id="row-1-any-blanks"),
        pytest.param("test:npm run passes passes", "npm run passes", id="row-1-only-one"),
        pytest.param("test:npm test PASSES", "npm test PASSES", id="row-1-case-sensitive"),
        pytest.param("test:npm test fails", "npm test fails", id="row-1-nothing-else"),
        pytest.param("test:npm test exits 3", "npm test exits 3", id="row-1-no-exits"),
        pytest.param("test:'run passes'", "run passes", id="row-1-quoted"),
        pytest.param('test:"run passes" passes', "run passes", id="row-1-quoted-and-passes"),
        pytest.param("test:'a' 'b' passes", "'a' 'b'", id="row-1-quotes-of-the-shell"),
        pytest.param("test:grep 'x passes' f", "grep 'x passes' f", id="row-1-inside"),
        pytest.param("test:  a:b  ", "a:b", id="row-2-first-colon"),
    ],
)
def test_a_command(text, command):
    assert parse_text(text).assertion == CommandPasses(name=text, command=command)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("file:a.txt exists", "a.txt", id="plain"),
        pytest.param("file: a:b.txt exists ", "a:b.txt", id="row-2-first-colon-and-blanks"),
        pytest.param("file:my file.txt exists", "my file.txt", id="row-3-blanks"),
        pytest.param("file:a exists exists", "a exists", id="row-3-from-the-right"),
        pytest.param("file:'a contains b.txt' exists", "a contains b.txt", id="row-3-quoted"),
        pytest.param('file:"it\'s" exists', "it's", id="row-3-double-quoted"),
        pytest.param("file:'it's.txt' exists", "it's.txt", id="row-3-quote-in-quotes"),
        pytest.param("file:./src//a/../b.ts exists", "src/b.ts", id="row-8-made-plain"),
        pytest.param("file:dir/ exists", "dir/", id="row-7-directory"),
        pytest.param("file:src/app/[id]/*.tsx exists", "src/app/[id]/*.tsx", id="row-9-no-globs"),
    ],
)
def test_a_path(text, path):
    reading = parse_text(text)
    assert (reading.assertion, reading.warning) == (FileExists(name=text, path=path), None)


@pytest.mark.parametrize(
    ("text", "path", "literal"),
    [
        pytest.param("file:a contains 'b c'", "a", "b c", id="single"),
        pytest.param('file:a contains "b c"', "a", "b c", id="row-4-double"),
        pytest.param("file:a contains 'it's'", "a", "it's", id="row-4-last-quote"),
        pytest.param(r"file:a contains 'b\n'", "a", r"b\n", id="row-4-single-is-raw"),
        pytest.param(r'file:a contains "\"b\'\\\n\t\x"', "a", "\"b'\\\n\t\\x", id="row-4-escapes"),
        pytest.param("file:a contains 'b\r\nc'", "a", "b\nc", id="row-5-line-ends"),
        pytest.param("file:a contains ' '", "a", " ", id="blank"),
        pytest.param("file:a contains 'x exists y'", "a", "x exists y", id="row-3-words-in-the-text"),
        pytest.param("file:a contains 'b contains 'c''", "a", "b contains 'c'", id="row-3-contains-in-the-text"),
        pytest.param("file:'a contains b' contains 'c'", "a contains b", "c", id="row-3-quoted-path"),
        pytest.param("file:a contains 'x matches /y/'", "a", "x matches /y/", id="row-3-matches-in-the-text"),
    ],
)
def test_a_text(text, path, literal):
    reading = parse_text(text)
    assert (reading.assertion, reading.warning) == (FileContains(name=text, path=path, text=literal), None)


@pytest.mark.parametrize(
    ("text", "path", "searched", "found"),
    [
        pytest.param("file:a matches /b+/", "a", "xbb", "bb", id="row-6-search"),
        pytest.param("file:a matches /B/i", "a", "b", "b", id="row-6-flag"),
        pytest.param("file:a matches /b$/", "a", "b\n", None, id="row-6-dollar"),
        pytest.param("file:a matches /x/y/", "a", "x/y", "x/y", id="row-6-last-slash"),
        pytest.param(r"file:a matches /x\/(?<n>y)/gu", "a", "x/y", "x/y", id="row-6-written-for-javascript"),
        pytest.param("file:a matches /'b' exists?/", "a", "'b' exist", "'b' exist", id="row-3-words-in-the-regex"),
        pytest.param("file:a matches b matches /c/", "a matches b", "c", "c", id="row-3-from-the-right"),
        pytest.param("file:'a matches /b/' matches /c/", "a matches /b/", "c", "c", id="row-3-quoted-path"),
    ],
)
def test_a_regular_expression(text, path, searched, found):
    assertion = parse_text(text).assertion
    assert isinstance(assertion, FileMatches)
    match = assertion.pattern.search(searched)
    assert (assertion.path, match and match[0]) == (path, found)


@pytest.mark.parametrize(
    ("text", "assertion"),
    [
        pytest.param("diff:src/a.ts", FileChanged(name="diff:src/a.ts", path="src/a.ts"), id="row-10-file"),
        pytest.param("diff: src/ ", FileChanged(name="diff: src/ ", path="src/"), id="row-10-directory"),
        pytest.param("diff:'a b'", FileChanged(name="diff:'a b'", path="a b"), id="row-10-quoted"),
        pytest.param("diff:a/..", FileChanged(name="diff:a/..", path="."), id="row-10-everything"),
        pytest.param("no-file:a b", FileAbsent(name="no-file:a b", path="a b"), id="row-11"),
    ],
)
def test_a_change(text, assertion):
    assert parse_text(text).assertion == assertion


@pytest.mark.parametrize(
    ("text", "path", "literal", "warning"),
    [
        pytest.param("file:a contains b c", "a", "b c",
                     "the text after contains is not in quotes; it is used unchanged: 'b c'", id="row-4-unquoted"),
        pytest.param("file:a contains 'b", "a", "'b",
                     "the text after contains is not in quotes; it is used unchanged: \"'b\"", id="row-4-unclosed"),
        pytest.param("file:a contains b.txt contains c", "a contains b.txt", "c",
                     "the text after contains is not in quotes; it is used unchanged: 'c'", id="row-3-from-the-right"),
        pytest.param("file:a contains b.txt contains 'c'", "a contains b.txt", "c",
                     "the path is taken to be 'a contains b.txt'; put it in quotes if that is meant",
                     id="row-3-path-with-a-rule"),
    ],
)  # fmt: skip
def test_what_is_dubious_is_taken_with_a_warning(text, path, literal, warning):
    reading = parse_text(text)
    assert reading.assertion == FileContains(name=text, path=path, text=literal)
    assert reading.warning == warning


@pytest.mark.parametrize(
    ("text", "command", "warning"),
    [
        pytest.param("test:grep -rq legacy src fails", "grep -rq legacy src fails",
                     "`fails` is an argument of the command here; to require that the command fails, "
                     'write {"test": "grep -rq legacy src", "fails": true}', id="fails"),
        pytest.param("test:npm test\tfail ", "npm test\tfail",
                     "`fail` is an argument of the command here; to require that the command fails, "
                     'write {"test": "npm test", "fails": true}', id="fail"),
        pytest.param("test:npm test exits 3", "npm test exits 3",
                     "`exits 3` are arguments of the command here; to require that the command exits with 3, "
                     'write {"test": "npm test", "exits": 3}', id="exits"),
        pytest.param("test:'grep -q \"é\" a' fails", "'grep -q \"é\" a' fails",
                     "`fails` is an argument of the command here; to require that the command fails, "
                     'write {"test": "grep -q \\"é\\" a", "fails": true}', id="after-quotes"),
    ],
)  # fmt: skip
def test_a_result_that_only_objects_can_require_is_a_part_of_the_command_with_a_warning(text, command, warning):
    reading = parse_text(text)
    assert reading.assertion == CommandPasses(name=text, command=command)
    assert reading.warning == warning
    meant = json.loads(warning.partition("write ")[2])
    assert not suite_with(case(expect=[meant])).invalid


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("test:npm run fails passes", id="the-result-is-there"),
        pytest.param("test:'npm run fails'", id="in-quotes"),
        pytest.param("test:fails", id="it-is-the-program"),
        pytest.param("test:cmp a b || fail", id="it-is-a-command"),
        pytest.param("test:! grep -q legacy src", id="the-shell-negates"),
        pytest.param("test:node a.js; exit 3", id="exit-of-the-shell"),
        pytest.param("test:a exits 256", id="no-exit-code"),
        pytest.param("test:grep -q fails log", id="inside"),
        pytest.param("test:npm run test-fails", id="part-of-a-word"),
        pytest.param("test:npm test FAILS", id="in-capitals"),
        pytest.param("no-file:fails", id="no-command"),
    ],
)
def test_other_commands_and_paths_are_read_without_a_word(text):
    assert parse_text(text).warning is None


@pytest.mark.parametrize(
    ("text", "assertion", "warning"),
    [
        pytest.param("no-file:a exists", FileAbsent(name="no-file:a exists", path="a exists"),
                     "the path is taken to be 'a exists', because no-file: has no rules; "
                     "write no-file:a, or put the path in quotes if that is meant", id="exists"),
        pytest.param("diff:a contains 'b'", FileChanged(name="diff:a contains 'b'", path="a contains 'b'"),
                     "the path is taken to be \"a contains 'b'\", because diff: has no rules; "
                     "write diff:a, or put the path in quotes if that is meant", id="contains"),
        pytest.param("no-file:'a exists'", FileAbsent(name="no-file:'a exists'", path="a exists"), None, id="quoted"),
        pytest.param("no-file:exists", FileAbsent(name="no-file:exists", path="exists"), None, id="only-the-word"),
    ],
)  # fmt: skip
def test_a_rule_after_the_path_of_another_kind_is_a_part_of_the_path_with_a_warning(text, assertion, warning):
    reading = parse_text(text)
    assert (reading.assertion, reading.warning) == (assertion, warning)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        pytest.param("fiel:a exists", "unknown kind of expectation: 'fiel:a exists'", "did you mean 'file:'?",
                     id="row-2-misspelt"),
        pytest.param("a.txt exists", "unknown kind of expectation: 'a.txt exists'",
                     "an expectation starts with one of file:, test:, diff:, no-file:", id="row-2-none"),
        pytest.param("File:a exists", "unknown kind of expectation: 'File:a exists'", "did you mean 'file:'?",
                     id="case"),
        pytest.param("file:", "nothing follows file:", "write file:PATH", id="row-2-nothing"),
        pytest.param("diff: ", "nothing follows diff:", None, id="row-10-nothing"),
        pytest.param("test: passes", "test: needs a command", "write test:COMMAND passes", id="row-1-no-command"),
        pytest.param("test:'' passes", "test: needs a command", "write test:COMMAND passes", id="row-1-empty-quotes"),
        pytest.param("file:a", "says nothing about the file", "write file:PATH", id="row-3-no-rule"),
        pytest.param("file:exists", "says nothing about the file", "write file:PATH", id="row-3-no-path"),
        pytest.param("file:a exist", "unknown rule 'exist'", "did you mean 'exists'?", id="row-3-misspelt"),
        pytest.param("file:a contain 'x'", "unknown rule 'contain'", "did you mean 'contains'?", id="row-3-contain"),
        pytest.param("file:a contains", "contains needs a text", "write file:PATH", id="row-4-nothing"),
        pytest.param("file:a contains ''", "contains needs something to look for", None, id="row-4-empty"),
        pytest.param('file:a contains ""', "contains needs something to look for", None, id="row-4-empty-double"),
        pytest.param("file:a matches x", "matches needs a regular expression between slashes", "write file:PATH",
                     id="row-6-no-slashes"),
        pytest.param("file:a matches //", "the regular expression is empty", None, id="row-6-empty"),
        pytest.param("file:a matches /(/", "not a regular expression: missing )", None, id="row-6-broken"),
        pytest.param("file:a matches /x/q", "not a regular expression: unknown flag 'q'", None, id="row-6-flag"),
        pytest.param("file:/etc/passwd exists", "the path /etc/passwd is absolute", "paths are relative", id="row-8"),
        pytest.param(r"diff:C:\x", r"the path C:\x is absolute", "paths are relative", id="row-8-drive"),
        pytest.param("no-file:../x", "the path ../x leads out of the workspace", "paths are relative", id="row-8-up"),
        pytest.param("file:'a/../../b' contains 'x'", "the path a/../../b leads out", "paths are", id="row-8-quoted"),
        pytest.param("file:a contains '" + "x" * 10_000 + "'", "longer than 10,000 characters", None, id="length"),
    ],
)  # fmt: skip
def test_what_says_nothing_is_refused(text, message, remedy):
    with pytest.raises(GrammarError) as caught:
        parse_text(text)
    assert message in caught.value.message
    assert (caught.value.remedy or "").startswith(remedy or "")
    assert (caught.value.remedy is None) == (remedy is None)


@given(st.text(max_size=60) | st.text(alphabet="'\"/ ecx:.\\", max_size=40).map("file:a contains ".__add__))
def test_any_text_is_an_expectation_or_refused(text):
    with suppress(GrammarError):
        assert parse_text(text).assertion.name == text


@pytest.mark.parametrize("piece", [" ", " contains", " contains '", " matches /", "/", "'a' ", "../", "\\"])
def test_hostile_expectations_are_read_in_no_time(piece):
    def read(size):
        for prefix in ("file:a", "test:", "diff:'", "no-file:"):
            with suppress(GrammarError):
                parse_text((prefix + piece * size)[:size])

    assert grows_in_proportion(read, 10_000)


# --- objects ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "assertion"),
    [
        pytest.param({"file": "a", "exists": True}, FileExists(name="file:a exists", path="a"), id="exists"),
        pytest.param({"file": "*", "exists": True, "glob": True}, FileExists(name="file:* exists", path="*", glob=True),
                     id="row-9-glob"),
        pytest.param({"file": "a", "contains": "'"}, FileContains(name='file:a contains "\'"', path="a", text="'"),
                     id="contains"),
        pytest.param({"test": "npm test"}, CommandPasses(name="test:npm test passes", command="npm test"), id="test"),
        pytest.param({"test": "run passes", "timeout": 5, "failFast": True},
                     CommandPasses(name="test:run passes passes", command="run passes", timeout=5, fail_fast=True),
                     id="row-12-and-13"),
        pytest.param({"test": "x", "exits": 3}, CommandPasses(name="test:x exits 3", command="x", exits=3),
                     id="row-1-exits"),
        pytest.param({"test": "x", "fails": True}, CommandPasses(name="test:x fails", command="x", exits=None),
                     id="row-1-fails"),
        pytest.param({"diff": "a", "failFast": True}, FileChanged(name="diff:a", path="a", fail_fast=True), id="diff"),
        pytest.param({"no-file": "a"}, FileAbsent(name="no-file:a", path="a"), id="no-file"),
    ],
)  # fmt: skip
def test_the_object_form_says_the_same_and_more(written, assertion):
    assert one_case(expect=[written]).assertions == (assertion,)


@pytest.mark.parametrize("pattern", ["/^B/i", "^[Bb]"])
def test_the_object_form_takes_a_pattern_with_or_without_slashes(pattern):
    (assertion,) = one_case(expect=[{"file": "a", "matches": pattern}]).assertions
    assert assertion.pattern.search("bc")
    assert assertion.name == f"file:a matches {pattern}"


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param({}, "must have exactly one of file, test, diff, no-file", id="nothing"),
        pytest.param({"diff": "a", "test": "b"}, "must have exactly one of file, test, diff, no-file", id="two-kinds"),
        pytest.param({"file": "a"}, "file needs exactly one of exists, contains, matches", id="no-rule"),
        pytest.param({"file": "a", "exists": True, "contains": "x"}, "file needs exactly one of", id="two-rules"),
        pytest.param({"file": "a", "exists": False}, "expect[0].exists: must be true, not false", id="exists-not"),
        pytest.param({"file": "a", "contains": ""}, "contains needs something to look for", id="empty"),
        pytest.param({"file": "../a", "exists": True}, "the path ../a leads out of the workspace", id="escaping"),
        pytest.param({"diff": "a", "timeout": 3}, "timeout does not go with diff", id="surplus"),
        pytest.param({"test": "a", "glob": True}, "glob does not go with test", id="surplus-glob"),
        pytest.param({"test": "a", "fails": True, "exits": 1}, "fails and exits exclude each other", id="both"),
        pytest.param({"test": "a", "exits": 256}, "must be less than or equal to 255, not 256", id="exit-code"),
        pytest.param({"nofile": "a"}, "unknown key 'nofile'; did you mean 'no-file'?", id="misspelt"),
        pytest.param({"test": "a", "failfast": True}, "unknown key 'failfast'; did you mean 'failFast'?", id="camel"),
        pytest.param(7, "cases[0].expect[0]: must be text, not 7", id="number"),
    ],
)
def test_a_wrong_object_makes_its_case_invalid(written, message):
    ((case_id, problem),) = invalid(case(expect=[written]))
    assert case_id == "a"
    assert message in problem
    assert "cases[0].expect[0]" in problem


# --- cases ------------------------------------------------------------------------------------------


def test_a_case_without_limits_has_those_of_the_tool():
    assert (one_case().budget, one_case().timeout) == (5.0, 600.0)
    assert suite_with(case()).default_timeout == 600.0


def test_limits_and_model_of_the_case_win_over_those_of_the_suite():
    suite = suite_with(
        case(), case(id="b", budget=1, timeout=7.5, model="m"), model="s", defaults={"budget": 3, "timeout": 4}
    )
    assert [(each.budget, each.timeout, each.model) for each in suite.cases] == [(3, 4, "s"), (1, 7.5, "m")]
    assert suite.default_timeout == 4


def test_tags_runners_and_expected_failure():
    keys = {"tags": ["slow", "all"], "expectedFail": True, "runners": ["claude"]}
    suite = suite_with(case(**keys), case(id="b"), tags=["all"], runners=["codex"])
    assert [(each.tags, each.expected_fail, each.runners) for each in suite.cases] == [
        (("all", "slow"), True, ("claude",)),
        (("all",), False, ("codex",)),
    ]


def test_extensions_are_ignored():
    text = {"$schema": "s", "x-a": 1, "cases": [case(**{"x-b": 2})], "defaults": {"x-c": 3}}
    suite = read(text)
    assert ([each.id for each in suite.cases], suite.invalid) == (["a"], ())


def test_warnings_name_their_places():
    suite = suite_with(case(expect=["diff:a", "file:a contains b"]))
    assert [str(warning) for warning in suite.warnings] == [
        "bench/s.json:1:64: cases[0].expect[1]: the text after contains is not in quotes; it is used unchanged: 'b'"
    ]


@pytest.mark.parametrize(
    ("path", "name"), [("bench/core.json", "core"), ("a/b.bench.json", "b"), ("bench/x.y.json", "x.y")]
)
def test_a_suite_without_a_name_has_that_of_its_file(path, name):
    assert xbench.suite(Source(SUITE, path=path)).name == name


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"expect": []}, "cases[1].expect: must not be empty", id="row-23-empty-expect"),
        pytest.param({"expect": "diff:a"}, 'cases[1].expect: must be a list, not "diff:a"', id="expect-is-text"),
        pytest.param({"expct": ["diff:a"]}, "cases[1].expct: unknown key 'expct'; did you mean 'expect'?",
                     id="row-24"),
        pytest.param({"budget": 0}, "cases[1].budget: must be greater than 0, not 0", id="row-16-zero"),
        pytest.param({"budget": -1.5}, "cases[1].budget: must be greater than 0, not -1.5", id="row-16-negative"),
        pytest.param({"budget": "3"}, 'cases[1].budget: must be a number, not "3"', id="budget-is-text"),
        pytest.param({"budget": True}, "cases[1].budget: must be a number, not true", id="budget-is-boolean"),
        pytest.param({"timeout": 0}, "cases[1].timeout: must be greater than 0, not 0", id="row-15-zero"),
        pytest.param({"timeout": 1e12}, "cases[1].timeout: must be less than or equal to 604800", id="timeout-of-ages"),
        pytest.param({"prompt": ""}, "cases[1].prompt: must not be empty", id="empty-prompt"),
        pytest.param({"prompt": None}, "cases[1].prompt: must be text, not null", id="no-prompt"),
        pytest.param({"prompt": "a\0b"}, "cases[1].prompt: has a character that cannot be passed to a program: U+0000",
                     id="nul"),
        pytest.param({"prompt": "\ud800"}, "cases[1].prompt: must be text without halves of surrogate pairs",
                     id="surrogate"),
        pytest.param({"expect": ["diff:a", "test:a\0"]}, "cases[1].expect[1]: has a character", id="nul-in-command"),
        pytest.param({"expect": ["diff:a", "dif:a"]}, "cases[1].expect[1]: unknown kind of expectation", id="row-2"),
        pytest.param({"expect": ["diff:../a"]}, "cases[1].expect[0]: the path ../a leads out", id="row-8"),
        pytest.param({"id": "first"}, "cases[1].id: the id 'first' is already used by cases[0] at bench/s.json:1:13",
                     id="row-23-double-id"),
    ],
)  # fmt: skip
def test_a_wrong_case_is_invalid_and_its_siblings_are_not(keys, message):
    wrong = {key: value for key, value in case(**keys).items() if key != "expect" or "expct" not in keys}
    suite = suite_with(case(id="first"), wrong, case(id="last"))
    assert [each.id for each in suite.cases] == ["first", "last"]
    (only,) = suite.invalid
    assert message in str(only.problem)
    assert only.case_id == keys.get("id", "a")
    assert only.problem.location.line == 1
    assert only.problem.location.column > 60


def test_everything_wrong_with_a_case_is_reported_at_once():
    ((_, problem),) = invalid(case(budget=0, expect=["fil:a"], model=7))
    assert "cases[0].budget: must be greater than 0, not 0; also cases[0].model: must be text, not 7" in problem
    ((_, problem),) = invalid(case(expect=["fil:a", "file:a"]))
    assert "also cases[0].expect[1]: says nothing about the file" in problem


def test_a_case_without_an_id_is_named_by_its_index():
    assert [case_id for case_id, _ in invalid(case(), {"prompt": "x", "expect": ["diff:a"]}, 7, case(id=""))] == [
        "cases[1]",
        "cases[2]",
        "cases[3]",
    ]


def test_the_place_of_a_problem_is_its_line_in_the_file():
    text = json.dumps({"cases": [case(), case(id="b", expect=["diff:a", "x:y"])]}, indent=2)
    (only,) = xbench.suite(Source(text)).invalid
    assert str(only.problem).startswith("bench/s.json:15:9: cases[1].expect[1]: unknown kind of expectation: 'x:y'")


# --- suites -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param("{", ["bench/s.json:1:2: not JSON: expecting property name enclosed in double quotes"],
                     id="syntax"),
        pytest.param("[]", ["bench/s.json:1:1: must be a mapping of keys to values, not a list"], id="list"),
        pytest.param('{"cases": []}',
                     ["bench/s.json:1:2: cases: must not be empty; a suite without cases judges nothing"],
                     id="row-23-no-cases"),
        pytest.param("{}", ["bench/s.json:1:1: cases: is missing"], id="cases-missing"),
        pytest.param('{"cases": 3}', ["bench/s.json:1:2: cases: must be a list, not 3"], id="cases-are-a-number"),
        pytest.param('{"cases": [{"id": "a", "id": "b"}]}',
                     ["bench/s.json:1:24: cases[0].id is set twice, first in line 1; keep one of them"],
                     id="key-twice"),
        pytest.param(json.dumps({"nam": "x", "defaults": {"budget": 0}, "cases": [case(budget=0)]}), [
            "bench/s.json:1:2: nam: unknown key 'nam'; did you mean 'name'?",
            "bench/s.json:1:27: defaults.budget: must be greater than 0, not 0",
            "bench/s.json:1:104: cases[0].budget: must be greater than 0, not 0",
        ], id="row-24-all-at-once"),
    ],
)  # fmt: skip
def test_a_wrong_suite_is_refused_with_all_its_problems(text, problems):
    assert refused(text) == problems


@pytest.mark.slow
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["cases", "id", "prompt", "expect"]), inner),
    )
)
def test_no_json_gives_more_than_a_suite_error(value):
    for whole in (
        value,
        {"cases": [value]},
        {"cases": [case(expect=value)]},
        {"cases": [case(id=value)], "tags": value},
    ):
        text = json.dumps(whole)
        xbench.accepts("bench/s.json", text)
        with suppress(SuiteError):
            suite = xbench.suite(Source(text))
            assert len(suite.cases) + len(suite.invalid) == len(whole["cases"])


# --- workspaces -------------------------------------------------------------------------------------


def test_a_template_is_relative_to_the_suite_file():
    assert suite_with(case(), workspace={"templateDir": "../fixtures/app"}).workspace == WorkspaceSpec(
        mode="isolated", source="template", template=Path("/repository/bench/../fixtures/app")
    )


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "/etc",
            "workspace.templateDir: the path /etc is absolute; template directories are relative to the suite file",
        ),
        (
            "../../x",
            "workspace.templateDir: the path bench/../../x leads out of the workspace; template directories are",
        ),
    ],
)
def test_a_template_outside_of_the_repository_is_refused(template, message):
    assert message in refused(json.dumps({"workspace": {"templateDir": template}, "cases": [case()]}))[0]


@pytest.mark.parametrize(
    ("written", "bootstrap"),
    [
        pytest.param("npm ci && make", Bootstrap(argv=("sh", "-c", "npm ci && make")), id="shell-line"),
        pytest.param({"command": "npm", "args": ["ci"], "timeout": 60, "env": {"CI": "1"}},
                     Bootstrap(argv=("npm", "ci"), timeout=60, env=(("CI", "1"),)), id="command"),
        pytest.param({"command": "./setup.sh", "args": ["../x", "y/z"]},
                     Bootstrap(argv=("/repository/bench/setup.sh", "/repository/bench/../x", "y/z")), id="paths"),
    ],
)  # fmt: skip
def test_a_bootstrap_is_a_shell_line_or_a_command(written, bootstrap):
    assert suite_with(case(), workspace={"bootstrap": written}).workspace.bootstrap == bootstrap


def test_the_schema_allows_extensions_and_names_every_key():
    schema = xbench.suite_schema()
    assert set(schema["properties"]) == {
        "name", "description", "model", "defaults", "cases", "tags", "workspace", "runners", "arms",
    }  # fmt: skip
    assert schema["patternProperties"] == {r"^(x-.*|\$schema)$": {}}
    assert schema["additionalProperties"] is False


def test_a_kind_of_expectation_may_be_called_like_an_attribute_of_the_model():
    names = [name for name in dir(BaseModel) if not name.startswith("_")]
    assert {"json", "copy", "schema", "model_fields"} <= set(names)
    own = ["set-keys", "model", "validate", "self", "cls"]
    section = section_with(dict.fromkeys([*names, *own], "x"))
    for name in (*names, *own):
        made = section.model_validate({name: "x", "failFast": True})
        assert made.set_keys() == {f"kind_{name.replace('-', '_')}", "fail_fast"}
        assert name in section.model_json_schema()["properties"]
