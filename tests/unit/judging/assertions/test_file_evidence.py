"""What is shown of files when an assertion about them does not hold."""

from __future__ import annotations

import time

import pytest

from fakes_context import context_of, judged
from skillgym_action.judging.assertions.evidence import MAX_EVIDENCE_NAMES, excerpt, nearest_names
from skillgym_action.model.limits import MAX_COMPARED_LINES

LOG = "# Changelog\n\n## Unreleased\n\n- [API] Carts survive a restart\n- [API] Prices are rounded half up\n"
ENTRY = r"file:log matches /^- \[CLI\] .*--json/im"
CREATED = "log was created by the agent:\n+ 1 | a"

EVIDENCE = [
    pytest.param(ENTRY, {"log": LOG}, {"log": LOG + "- [API] The option --json\n"},
                 "changed by the agent:\n+ 7 | - [API] The option --json", id="matches-a-line-that-was-added"),
    pytest.param("file:log contains '[CLI] The option --json'", {"log": LOG},
                 {"log": LOG.replace("Prices are rounded", "The price is rounded")},
                 "changed by the agent:\n- 6 | - [API] Prices are rounded half up\n"
                 "+ 6 | - [API] The price is rounded half up", id="contains-a-line-that-was-replaced"),
    pytest.param("file:log contains 'Carts survive restarts'", {"log": LOG}, {},
                 "log was not changed by the agent\nnearest lines:\n  5 | - [API] Carts survive a restart",
                 id="contains-nearest-of-an-unchanged-file"),
    pytest.param("file:log contains 'zzz'", {"log": LOG}, {},
                 "log was not changed by the agent\nits first lines:\n  1 | # Changelog\n  3 | ## Unreleased\n"
                 "  5 | - [API] Carts survive a restart", id="nothing-near"),
    pytest.param("file:log contains '# Changes\n\n## Released'", {"log": LOG}, {},
                 "log was not changed by the agent\nnearest lines:\n  1 | # Changelog",
                 id="contains-several-lines"),
    pytest.param("file:log contains 'b'", {}, {"log": "a\n"}, CREATED, id="contains-created"),
    pytest.param("file:log matches /b/", {}, {"log": "a"}, CREATED, id="matches-created"),
    pytest.param("file:log contains 'b'", {"log": "x"}, {"log": ""}, "log is empty", id="empty"),
    pytest.param("file:log contains 'b'", {}, {"log": "PNG\0\1"}, "log is not a text: it has null bytes", id="binary"),
    pytest.param("file:log contains 'b'", {"log": "x\ny\n"}, {"log": "y\nx\n"},
                 "the agent changed only the order of lines, or white space, in log\n"
                 "its first lines:\n  1 | y\n  2 | x", id="moved-only"),
    pytest.param("file:log contains 'b'", {"log": "x\n"}, {"log": "x\r\ny\r\n"}, "changed by the agent:\n+ 2 | y",
                 id="line-ends-are-no-change"),
    pytest.param({"file": "*", "glob": True, "contains": "zz"}, {"a": "1", "b": "2"}, {"b": "3"},
                 "changed by the agent:\n- 1 | 2\n+ 1 | 3", id="glob-takes-the-changed-file"),
    pytest.param("file:src/app.ts exists", {"src/ap.ts": "", "docs/a.md": ""}, {"src/app.js": ""},
                 "nearest: src/ap.ts, src/app.js\ncreated by the agent: src/app.js", id="exists"),
    pytest.param("file:x exists", {"docs/a.md": ""}, {}, "the agent created no file", id="exists-nothing-near"),
    pytest.param("file:x exists", {}, {}, None, id="exists-in-an-empty-workspace"),
    pytest.param("file:out.md contains 'x'", {}, {"Out.md": "x"},
                 "nearest: Out.md\ncreated by the agent: Out.md", id="contains-in-a-missing-file"),
    pytest.param("diff:src/a.ts", {"src/a.ts": "1", "src/b.ts": "1", "c": "1"}, {"src/b.ts": "2", "c": None},
                 "changed by the agent: src/b.ts, c", id="diff"),
    pytest.param("diff:a", {"a": "x"}, {}, None, id="diff-nothing-was-changed"),
    pytest.param("no-file:a", {}, {"a": "x"}, "a was created by the agent", id="no-file-created"),
    pytest.param("no-file:a", {"a": "x"}, {"a": "y"}, "a was there before the agent started, which changed it",
                 id="no-file-changed"),
    pytest.param("no-file:d", {"d/x": ""}, {"d/y": ""},
                 "d was there before the agent started, which changed it\nin it: d/x, d/y", id="no-file-directory"),
    pytest.param({"no-file": "*.t", "glob": True}, {"a.t": ""}, {"b.t": ""},
                 "a.t was there before the agent started\nb.t was created by the agent", id="no-file-glob"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "before", "after", "evidence"), EVIDENCE)
def test_evidence_shows_what_is_nearest_to_the_wanted(tmp_path, written, before, after, evidence):
    outcome = judged(written, context_of(tmp_path, before, after))
    assert (outcome.passed, outcome.evidence) == (False, evidence)


def test_of_many_changed_lines_those_like_the_wanted_one_are_shown(tmp_path):
    lines = [f"note {number}" for number in range(1, 1001)]
    lines[899] = "- [API] The option --json"
    outcome = judged(ENTRY, context_of(tmp_path, {"log": LOG}, {"log": "\n".join(lines)}))
    first, *shown, more = outcome.evidence.split("\n")
    assert first == "changed by the agent:"
    assert "+ 900 | - [API] The option --json" in shown
    assert (len(shown), more) == (8, "… and 996 more")


def test_lines_without_anything_of_the_wanted_text_are_not_called_near(tmp_path):
    evidence = judged("file:a contains 'authentication'", context_of(tmp_path, {"a": "int main\nat it\n"})).evidence
    assert "nearest" not in evidence


@pytest.mark.parametrize("unsafe", ["\x1b[31mred", "::error::x", "<script>", "```", "\u202eabc", "a\u2028b", "\ud800"])
def test_hostile_lines_are_kept_as_they_are_for_the_reporters_to_escape(tmp_path, unsafe):
    context = context_of(tmp_path, {}, {})
    (tmp_path / "a").write_bytes(f"wanted {unsafe}\n".encode("utf-8", "surrogatepass"))
    evidence = judged("file:a contains 'wanted thing'", context).evidence
    assert evidence.count("\n") == 1, "each line of the file is one line of the evidence"


def test_a_long_line_is_cut():
    assert excerpt("a" * 160) == "a" * 160
    assert excerpt("x" * 5000) == "x" * 160 + "… (5,000 characters)"
    assert excerpt("é " * 300) == ("é " * 80).strip() + "… (600 characters)"


def long_text(change=""):
    return "".join(f"line {number} of some words {number * 7919 % 10007}{change}\n" for number in range(140_000))


@pytest.mark.timed
@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(long_text, lambda: long_text().replace("line 70000 of", "line seventy"), id="one line"),
        pytest.param(long_text, lambda: long_text(" more"), id="every line"),
        pytest.param(lambda: None, long_text, id="created"),
        pytest.param(lambda: "a", lambda: "a" * 5_000_000, id="one long line"),
        pytest.param(lambda: "\n" * 2_000_000, lambda: "\n" * 5_000_000, id="empty lines"),
        pytest.param(lambda: "ab" * 2_500_000, lambda: "ba" * 2_500_000, id="alternating"),
        pytest.param(lambda: None, lambda: "words some\n" * 450_000, id="near everywhere"),
        pytest.param(lambda: None, lambda: "é words\n" * 600_000, id="not ASCII"),
    ],
)
def test_evidence_of_a_large_file_takes_no_time_and_little_text(tmp_path, before, after):
    earlier, later = before(), after()
    context = context_of(tmp_path, {} if earlier is None else {"a": earlier}, {"a": later})
    started = time.process_time()
    outcome = judged("file:a contains 'some other words than these'", context)
    assert time.process_time() - started < 1.0, "50 ms where nothing else runs, and reading the file"
    assert len(outcome.evidence) < 3_000


def test_the_same_files_give_the_same_evidence(tmp_path):
    files = {f"d{n}/f{n}.py": f"def f{n}(): pass\n" for n in range(50)}
    found = {judged("file:d7/f.py exists", context_of(tmp_path / str(n), files)).evidence for n in range(3)}
    assert len(found) == 1
    assert found.pop().startswith("nearest: d7/f7.py, ")


def test_of_very_many_names_without_a_word_of_the_wanted_one_some_are_compared():
    names = [f"{number:04}" for number in range(MAX_COMPARED_LINES + 1)]
    assert len(nearest_names("gone.txt", names)) == MAX_EVIDENCE_NAMES
