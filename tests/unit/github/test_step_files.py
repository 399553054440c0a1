from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner_env_files import entries
from skillgym_action.github.step_files import MAX_STEP_SUMMARY_BYTES, append_outputs, append_summary, give_to_owner

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,20}", fullmatch=True)
FRAGMENTS = st.sampled_from(
    ["\n", "\r", "\r\n", "=", "<<", "EOF", "verdict=passed", "end-", "\x85", "\u2028", "\ufeff", "😀"]
)
VALUES = st.lists(FRAGMENTS | st.text(max_size=8), max_size=12).map("".join)


@pytest.mark.slow
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_whatever_a_value_holds_exactly_the_given_outputs_come_out(outputs):
    with TemporaryDirectory() as folder:
        file = Path(folder) / "output"
        append_outputs(file, outputs)
        assert entries(file.read_bytes().decode("utf-8")) == list(outputs.items())


def test_no_outputs_leave_an_empty_file(tmp_path):
    append_outputs(tmp_path / "output", {})
    assert (tmp_path / "output").read_bytes() == b""


def test_outputs_are_added_to_those_already_there(tmp_path):
    append_outputs(tmp_path / "output", {"verdict": "failed"})
    append_outputs(tmp_path / "output", {"passed": "3"})
    assert entries((tmp_path / "output").read_text(encoding="utf-8")) == [("verdict", "failed"), ("passed", "3")]


def test_a_value_cannot_foresee_the_line_that_ends_it(tmp_path):
    append_outputs(tmp_path / "output", {"verdict": "failed"})
    seen = (tmp_path / "output").read_text(encoding="utf-8")
    append_outputs(tmp_path / "output", {"reason": seen})
    assert entries((tmp_path / "output").read_text(encoding="utf-8")) == [("verdict", "failed"), ("reason", seen)]


def test_a_lone_surrogate_is_replaced_not_fatal(tmp_path):
    append_outputs(tmp_path / "output", {"model": "a\ud800b"})
    assert entries((tmp_path / "output").read_text(encoding="utf-8")) == [("model", "a?b")]


@pytest.mark.parametrize("name", ["", "a=b", "a<<b", "a\nb", "a b", "-a", "1"])
def test_a_name_that_is_no_output_is_refused_before_anything_is_written(tmp_path, name):
    with pytest.raises(ValueError, match="not the name of a step output"):
        append_outputs(tmp_path / "output", {"verdict": "passed", name: "1"})
    assert not (tmp_path / "output").exists()


def test_a_summary_is_added_to_what_is_there(tmp_path):
    (tmp_path / "summary").write_text("# one\n", encoding="utf-8")
    assert append_summary(tmp_path / "summary", "# two: ü\n")
    assert (tmp_path / "summary").read_bytes() == "# one\n# two: ü\n".encode()


def test_a_summary_as_large_as_github_takes_is_written(tmp_path):
    assert append_summary(tmp_path / "summary", "x" * MAX_STEP_SUMMARY_BYTES)
    assert (tmp_path / "summary").stat().st_size == 1_048_576


@pytest.mark.parametrize(
    ("there", "added"),
    [
        pytest.param("", "x" * (MAX_STEP_SUMMARY_BYTES + 1), id="a byte too many"),
        pytest.param("", "ü" * (MAX_STEP_SUMMARY_BYTES // 2 + 1), id="bytes count, not characters"),
        pytest.param("xx", "x" * (MAX_STEP_SUMMARY_BYTES - 1), id="what is there counts"),
    ],
)
def test_a_summary_that_gets_too_large_is_not_written_at_all(tmp_path, there, added):
    (tmp_path / "summary").write_text(there, encoding="utf-8")
    assert not append_summary(tmp_path / "summary", added)
    assert (tmp_path / "summary").read_text(encoding="utf-8") == there


def owners(*paths: Path) -> set[tuple[int, int]]:
    return {(path.lstat().st_uid, path.lstat().st_gid) for path in paths}


@pytest.fixture
def owner() -> tuple[int, int]:
    """Who a checkout belongs to: somebody else, where we may give files away."""
    return (12345, 54321) if os.geteuid() == 0 else (os.getuid(), os.getgid())


def test_root_gives_what_it_made_to_the_owner_of_the_workspace(tmp_path, owner):
    workspace, outside = tmp_path / "workspace", tmp_path / "outside"
    results, report = workspace / "made" / "results", workspace / "reports" / "junit.xml"
    for folder in (results / "case", report.parent, outside):
        folder.mkdir(parents=True)
    for file in (results / "results.json", results / "case" / "stdout.log", report, outside / "secret"):
        file.touch()
    (results / "link").symlink_to(outside / "secret")
    (results / "folder").symlink_to(outside)
    os.chown(workspace, *owner)

    give_to_owner([results, report, workspace / "never-written"], workspace)

    assert owners(workspace, *workspace.rglob("*")) == {owner}
    assert owners(tmp_path, outside, outside / "secret") == {(os.getuid(), os.getgid())}


def test_root_gives_away_nothing_that_it_was_not_told_to(tmp_path, owner):
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    (workspace / "made").mkdir(parents=True)
    (workspace / "own").touch()
    elsewhere.mkdir()
    (elsewhere / "results.json").touch()
    os.chown(workspace, *owner)

    give_to_owner([workspace / "made", elsewhere / "results.json"], workspace)

    assert owners(workspace / "made", elsewhere / "results.json") == {owner}
    assert owners(workspace / "own", elsewhere) == {(os.getuid(), os.getgid())}
