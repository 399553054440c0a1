"""Assertions about files, judged over a real folder."""

from __future__ import annotations

import time

import pytest

from fakes_context import context_of, judged
from skillgym_action.judging.assertions.files import FileAbsent
from skillgym_action.model.limits import MAX_SEARCHED_FILE_BYTES
from skillgym_action.suites.xbench.expectations import parse_text

A_TS = {"src/a.ts": "export function a() {}\n"}

PASSING = [
    pytest.param("file:a exists", {}, {"a": "x"}, "a exists", id="exists-created"),
    pytest.param("file:a exists", {"a": "x"}, {"a": "y"}, "a exists", id="exists-modified"),
    pytest.param("file:d/ exists", {}, {"d/x": ""}, "d/ exists", id="exists-directory"),
    pytest.param("file:src/app/[id]/page.tsx exists", {}, {"src/app/[id]/page.tsx": ""}, "src/app/[id]/page.tsx exists",
                 id="exists-brackets-are-literal"),
    pytest.param("file:src/a.ts contains 'export function'", {}, A_TS, "src/a.ts contains it in line 1", id="contains"),
    pytest.param("file:a contains 'x\ny'", {}, {"a": "w\r\nx\r\ny"}, "a contains it in line 2", id="contains-crlf"),
    pytest.param("file:a contains '\ufffd'", {}, {"a": "\ufffd"}, "a contains it in line 1", id="contains-replaced"),
    pytest.param(r"file:src/a.ts matches /^EXPORT\s+function/i", {}, A_TS, "src/a.ts matches in line 1", id="matches"),
    pytest.param("file:a matches /^b/m", {}, {"a": "x\nb"}, "a matches in line 2", id="matches-line"),
    pytest.param("diff:a", {"a": "x"}, {"a": "y"}, "a was modified", id="diff-modified"),
    pytest.param("diff:a", {}, {"a": ""}, "a was created", id="diff-created"),
    pytest.param("diff:d", {"d/x": "1", "d/y": "1"}, {"d/y": "2"}, "d was modified", id="diff-directory"),
    pytest.param("diff:d/", {"d/x": "1"}, {"d/e/f": "2"}, "d was modified", id="diff-file-below-created"),
    pytest.param("diff:.", {"d/x": "1"}, {"d/x": "2"}, ". was modified", id="diff-anything"),
    pytest.param("no-file:a", {"a": "x"}, {"a": None}, "a was deleted", id="no-file-deleted"),
    pytest.param({"file": "**/*.ts", "glob": True, "exists": True}, {}, A_TS, "src/a.ts exists", id="glob-exists"),
    pytest.param({"file": "*", "glob": True, "contains": "y"}, {}, {"a": "x", "b": "y"}, "b contains it in line 1",
                 id="glob-contains-one-is-enough"),
    pytest.param({"file": "*", "glob": True, "matches": "/Y/i"}, {}, {"a": "x", "b": "y"}, "b matches in line 1",
                 id="glob-matches-one-is-enough"),
    pytest.param({"diff": "*", "glob": True}, {"a": "x", "b": "y"}, {"b": "z"}, "b was modified", id="glob-diff"),
    pytest.param({"no-file": "*.tmp", "glob": True}, {"a.tmp": "x"}, {"a.tmp": None}, "no file matches *.tmp",
                 id="glob-no-file"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "before", "after", "explanation"), PASSING)
def test_a_file_assertion_passes(tmp_path, written, before, after, explanation):
    outcome = judged(written, context_of(tmp_path, before, after))
    assert (outcome.passed, outcome.explanation, outcome.trouble) == (True, explanation, None)


FAILING = [
    pytest.param("file:a exists", {}, {}, "a does not exist", id="exists-missing"),
    pytest.param("file:src/x/a exists", A_TS, {}, "src/x/a does not exist; the nearest directory that does is src/",
                 id="exists-nearest-directory"),
    pytest.param("file:a exists", {"a": "x"}, {"a": None}, "a does not exist; it was deleted", id="exists-deleted"),
    pytest.param("file:src exists", A_TS, {}, "src is a directory, not a file; write src/ to ask for a directory",
                 id="exists-directory-instead"),
    pytest.param("file:a/ exists", {"a": "x"}, {}, "a/ is a file, not a directory", id="exists-file-instead"),
    pytest.param("file:a contains 'b'", {}, {}, "a does not exist", id="contains-missing"),
    pytest.param("file:a contains 'EXP'", {}, {"a": "\nexp"},
                 "a does not contain 'EXP'; line 2 of a differs in upper and lower case only", id="contains-case"),
    pytest.param("file:a contains 'x'", {}, {"a": "x" * (MAX_SEARCHED_FILE_BYTES + 1)},
                 "a is too large to be searched (more than 8 MiB), or cannot be read", id="contains-too-large"),
    pytest.param("file:a matches /x/", {}, {"a": "x" * (MAX_SEARCHED_FILE_BYTES + 1)},
                 "a is too large to be searched (more than 8 MiB), or cannot be read", id="matches-too-large"),
    pytest.param("file:a matches /x/", {}, {"a": "y"}, "no match in a", id="matches-nothing"),
    pytest.param("diff:a", {"a": "x"}, {"a": "x"}, "a has not changed since the agent started", id="diff-same-content"),
    pytest.param("diff:a", {"a": "x"}, {"a": None}, "a was deleted, which does not count as a change: use no-file:",
                 id="diff-deleted"),
    pytest.param("diff:a", {}, {}, "a does not exist, and did not before the agent started", id="diff-never-there"),
    pytest.param("diff:d/", {}, {"d/": ""}, "d/ is new, but has no files", id="diff-empty-directory"),
    pytest.param("no-file:a", {"a": "x"}, {}, "a is still there: a file", id="no-file-there"),
    pytest.param("no-file:src", A_TS, {}, "src is still there: a directory", id="no-file-directory"),
    pytest.param({"file": "*.js", "glob": True, "exists": True}, A_TS, {}, "no file matches *.js", id="glob-nothing"),
    pytest.param({"file": "*", "glob": True, "contains": "z"}, {}, {"a": "x", "b": "y"}, "a, b do not contain 'z'",
                 id="glob-contains-in-none"),
    pytest.param({"diff": "*", "glob": True}, {"a": "x"}, {}, "no file that matches * was changed (1 match)",
                 id="glob-diff"),
    pytest.param({"no-file": "*.t", "glob": True}, {}, {f"{n}.t": "" for n in range(7)},
                 "still there: 0.t, 1.t, 2.t, 3.t, 4.t and 2 more", id="glob-no-file"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "before", "after", "explanation"), FAILING)
def test_a_file_assertion_fails_and_says_what_was_found(tmp_path, written, before, after, explanation):
    outcome = judged(written, context_of(tmp_path, before, after))
    assert (outcome.passed, outcome.explanation, outcome.trouble) == (False, explanation, None)


def test_a_file_that_was_there_all_along_passes_with_a_warning(tmp_path):
    outcome = judged("file:a exists", context_of(tmp_path, {"a": "x"}))
    assert outcome.passed
    assert outcome.explanation.startswith("a exists (preexisting: ")


@pytest.mark.parametrize("path", ["a", "a/"])
def test_a_file_that_was_never_there_is_absent_with_a_warning(tmp_path, path):
    outcome = judged(f"no-file:{path}", context_of(tmp_path, {}))
    assert (outcome.passed, outcome.vacuous) == (True, True)
    assert outcome.explanation.startswith(f"{path} does not exist (vacuous: ")


def test_a_pattern_that_never_matched_is_vacuous_too(tmp_path):
    outcome = judged({"no-file": "**/*.tmp", "glob": True}, context_of(tmp_path, {"a": "x"}))
    assert (outcome.passed, outcome.vacuous) == (True, True)
    assert outcome.explanation.startswith("no file matches **/*.tmp (vacuous: ")


@pytest.mark.parametrize(
    ("written", "before", "after"),
    [
        pytest.param("no-file:a", {"a": "x"}, {"a": None}, id="a file that was deleted"),
        pytest.param({"no-file": "d/*.tmp", "glob": True}, {"d/a.tmp": ""}, {"d/a.tmp": None}, id="and of a pattern"),
        pytest.param("no-file:a", {}, {"a": "x"}, id="a file that the agent made"),
        pytest.param("file:a exists", {"a": "x"}, {}, id="another kind of expectation"),
    ],
)
def test_what_measures_something_is_not_vacuous(tmp_path, written, before, after):
    assert not judged(written, context_of(tmp_path, before, after)).vacuous


@pytest.mark.parametrize(
    ("path", "prompt", "named"),
    [
        pytest.param("src/legacy.ts", "Remove src/legacy.ts", True, id="the path"),
        pytest.param("src/legacy.ts", "Do not write a new legacy.ts", True, id="its last part"),
        pytest.param("dist/", "Never make dist", True, id="a directory"),
        pytest.param("**/*.tmp", "Leave no .tmp files", True, id="the end of a pattern"),
        pytest.param("src/legacy.ts", "Remove the legacy code in src", False, id="words of it"),
        pytest.param("x/a", "Make a list", False, id="a short name is in many words"),
        pytest.param("a", "", False, id="no prompt"),
    ],
)
def test_a_prompt_names_a_path(path, prompt, named):
    assert FileAbsent(name="no-file", path=path).is_named_in(prompt) is named


def test_touching_a_file_is_no_change(tmp_path):
    context = context_of(tmp_path, {"a": "x"})
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(0o755)
    assert judged("diff:a", context).passed is False


@pytest.mark.parametrize(
    ("written", "explanation"),
    [
        pytest.param("file:link exists", "link is a symbolic link that leads nowhere", id="exists"),
        pytest.param("no-file:link", "link is still there: a symbolic link", id="no-file"),
        pytest.param("diff:link", "link is a symbolic link that leads nowhere", id="diff"),
        pytest.param("file:link contains 'x'", "link is a symbolic link that leads nowhere", id="contains"),
    ],
)
def test_a_dangling_link_neither_exists_nor_is_absent(tmp_path, written, explanation):
    context = context_of(tmp_path, {})
    (tmp_path / "link").symlink_to("nowhere")
    outcome = judged(written, context)
    assert (outcome.passed, outcome.explanation) == (False, explanation)


@pytest.mark.parametrize("written", ["file:l exists", "file:l contains 'x'", "file:l matches /x/", "diff:l"])
def test_a_link_out_of_the_workspace_fails(tmp_path, written):
    (tmp_path / "outside").write_text("x")
    context = context_of(tmp_path / "workspace", {"a": ""})
    (tmp_path / "workspace" / "l").symlink_to("../outside")
    outcome = judged(written, context)
    assert outcome.passed is False
    assert outcome.explanation == "l is a symbolic link that leads out of the workspace"


def test_a_link_within_the_workspace_is_what_it_leads_to(tmp_path):
    context = context_of(tmp_path, {"a": "x"})
    (tmp_path / "link").symlink_to("a")
    assert judged("file:link contains 'x'", context).passed


@pytest.mark.timed
def test_a_pattern_that_runs_away_is_stopped_and_not_judged(tmp_path):
    context = context_of(tmp_path, {"a": "a" * 100 + "b"})
    started = time.monotonic()
    outcome = judged("file:a matches /^(a|aa)+$/", context)
    assert time.monotonic() - started < 10
    assert (outcome.passed, outcome.trouble) == (None, "grader")
    assert outcome.explanation == "file:a matches /^(a|aa)+$/: the pattern was searched for more than 2 s, last in a"


@pytest.mark.parametrize(
    ("written", "kind", "diagnostic"),
    [
        ("file:a exists", "file-exists", True),
        ("file:a contains 'x'", "file-contains", True),
        ("file:a matches /x/", "file-matches", True),
        ("diff:a", "file-changed", True),
        ("no-file:a", "file-absent", True),
    ],
)
def test_an_assertion_says_what_it_is(written, kind, diagnostic):
    assertion = parse_text(written).assertion
    assert (assertion.name, assertion.type, assertion.diagnostic) == (written, kind, diagnostic)
    assert assertion.fail_fast is False
