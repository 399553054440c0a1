"""Where a run writes, and what may be wrong there: no room, no permission, no file, nobody who reads."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest

import action_step
from faults import REPORTS, bound_by_permissions, whole
from folders import tree
from scratch import HUNG, PROGRAM, case, config, environment, repository, runner, suite, written
from skillgym_action.github.step_files import append_outputs, append_summary

SECRET = "k-1234567890-very-secret"


def run(root: Path, *args: str, limit: int | None = None, **more: Any) -> subprocess.CompletedProcess[str]:
    """``run`` where no file may have more than ``limit`` bytes, as on a disk that is full by then.

    Little is in the environment then, since the tool writes that to a file before all others.
    """

    def prepare() -> None:
        bound_by_permissions()
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    argv = args or ("run", "--output", "out")
    # What Python compiles would be cut off as well, for every later run.
    env = environment() if limit is None else {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    streams = {"capture_output": True, "text": True} | more.pop("streams", {})
    done = subprocess.run(
        argv if Path(argv[0]).is_absolute() else (PROGRAM, *argv),
        cwd=root,
        env=env | more,
        preexec_fn=prepare,
        check=False,
        timeout=HUNG,
        **streams,
    )
    for said in (done.stdout, done.stderr):
        assert "Traceback" not in (said or "")
        assert "internal error" not in (said or "")
    return done


# --- no room ----------------------------------------------------------------------------------------

LIMITS = (0, 150, 500, 2_000, 3_000, 100_000)


def test_at_whatever_point_the_disk_is_full_that_is_told_and_no_half_of_anything_is_left(tmp_path, proved):
    script = (
        "echo done > out.txt; echo $API_TOKEN; head -c 4000 /dev/zero | tr '\\0' x >> out.txt; echo $API_TOKEN > key"
    )
    agent = runner(script, env={"API_TOKEN": "${{ API_TOKEN }}"})
    cases = suite(case("a"), case("b", ("no-file:out.txt",)))
    files = {"bench/core.json": cases, "skillgym.config.yaml": config(agent)}
    codes = {}
    for limit in LIMITS:
        root = repository(tmp_path / str(limit), files)
        args = ("run", "--output", "out", "--record", "rec", "--report", "x-bench=x.json")
        done = run(root, *args, limit=limit, API_TOKEN=SECRET)
        codes[limit] = done.returncode
        there = whole(root / "out") | whole(root / "rec")
        if done.returncode != 1:
            assert done.returncode == 3, done.stderr
            assert re.search(
                r"error: cannot write .*: File too large; raise the limit|error: no workspaces can"
                r"|error: cannot start without secrets in the environment: .*File too large; check .* the space in",
                done.stderr,
            )
        else:
            assert there == REPORTS
        kept = [path for path in (root / "out").rglob("*") if path.is_file()]
        assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    assert (codes[0], codes[100_000]) == (3, 1)
    proved("faults", "points at which the disk was full: told, exit code 3, nothing half-written", len(LIMITS) - 1)


def test_a_step_whose_report_cannot_be_written_is_not_green(tmp_path, proved):
    root = repository(tmp_path / "r")
    inputs = {"report-dir": "out", "comment": "off", "junit-path": "bench/core.json/x.xml"}
    step = action_step.step(root, None, inputs)
    assert step.code == 3, step.said
    assert (step.outputs["verdict"], step.outputs["exit-code"]) == ("inconclusive", "3")
    assert step.said.splitlines()[-1].startswith(f"error: cannot write {root}/")
    assert "one passes" in step.said
    proved("faults", "outputs that could not be written, told with exit code 3")


@pytest.mark.parametrize("name", ["GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"])
def test_a_step_whose_own_files_are_full_is_not_green(tmp_path, name, proved):
    (tmp_path / "full").symlink_to("/dev/full")
    inputs, job = {"report-dir": "out", "comment": "off"}, {name: str(tmp_path / "full")}
    step = action_step.step(repository(tmp_path / "r"), None, inputs, **job)
    assert step.code == 3, step.said
    assert f"error: cannot write {tmp_path}/full: No space left on device" in step.said
    assert step.outputs.get("verdict", "inconclusive") == "inconclusive"
    proved("faults", "outputs that could not be written, told with exit code 3")


@pytest.mark.parametrize(
    "append",
    [
        pytest.param(lambda file: append_outputs(file, {"a": "x" * 100}), id="outputs"),
        pytest.param(lambda file: append_summary(file, "x" * 100), id="summary"),
    ],
)
def test_what_does_not_fit_into_a_file_of_the_job_leaves_it_as_it_was(tmp_path, append):
    (tmp_path / "file").write_text("before<<x\n1\nx\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            append(tmp_path / "file")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "file").read_text() == "before<<x\n1\nx\n"


# --- no place ---------------------------------------------------------------------------------------


def a_pipe(root: Path) -> None:
    os.mkfifo(root / "out")


def read_only(root: Path) -> None:
    (root / "out").mkdir(mode=0o555)


def a_link_for_the_journal(root: Path) -> None:
    (root / "out").mkdir()
    (root / "out" / "journal.jsonl").symlink_to(root / "bench" / "core.json")


def test_a_run_directory_that_is_a_link_is_refused_before_anything_is_started(tmp_path, proved):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(runner(f"touch {tmp_path}/started"))})
    (root / "out").symlink_to("nowhere/at/all")
    done = run(root)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: the run directory: out is a symbolic link; name a path inside")
    assert not (tmp_path / "started").exists()
    proved("faults", "run directories that are links, refused with exit code 2")


@pytest.mark.parametrize("there", [a_pipe, read_only, a_link_for_the_journal], ids=lambda there: there.__name__)
def test_a_place_that_takes_no_reports_is_told_before_anything_is_started(tmp_path, there, proved):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(runner(f"touch {tmp_path}/started"))})
    before = (root / "bench/core.json").read_text()
    there(root)
    done = run(root)
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(
        rf"error: cannot write {root}/out\S*: .*; (allow writing there, or )?name another path\n", done.stderr
    )
    assert not (tmp_path / "started").exists()
    assert (root / "bench/core.json").read_text() == before
    proved("faults", "outputs that could not be written, told with exit code 3")


def test_reports_that_are_folders_cost_themselves_only(tmp_path, proved):
    root = repository(tmp_path / "r")
    for name in ("a.xml", "b.json"):
        (root / name).mkdir()
    done = run(root, "run", "--output", "out", "--report", "junit=a.xml", "--report", "x-bench=b.json")
    assert done.returncode == 3
    assert done.stderr.splitlines()[-2:] == [
        f"error: cannot write {root}/{name}: Is a directory; name another path" for name in ("a.xml", "b.json")
    ]
    assert whole(root / "out") == REPORTS
    proved("faults", "outputs that could not be written, told with exit code 3")


def test_a_report_may_go_to_what_is_no_file(tmp_path):
    root = repository(tmp_path / "r")
    done = run(root, "run", "--output", "out", "--report", "junit=/dev/stdout", "--report", "results=/dev/null")
    assert (done.returncode, done.stdout) == (0, (root / "out/junit.xml").read_text())
    assert Path("/dev/null").is_char_device()
    assert Path("/dev/stdout").is_symlink()


def test_reports_of_an_earlier_run_do_not_pass_for_those_of_one_that_breaks(tmp_path):
    root = repository(tmp_path / "r")
    assert run(root).returncode == 0
    done = run(root, limit=400)
    assert (done.returncode, "cannot write" in done.stderr) == (3, True)
    assert not (root / "out/results.json").exists()


def test_a_run_that_cannot_begin_leaves_an_earlier_one_as_it_is(tmp_path):
    """Nothing was started, and no environment read."""
    root = repository(tmp_path / "r")
    assert run(root).returncode == 0
    before = tree(root)
    done = run(root, limit=10)
    remedy = "check the Python installation and the space in the temporary folder"
    message = f"error: cannot start without secrets in the environment: [Errno 27] File too large; {remedy}\n"
    assert (done.returncode, done.stderr, tree(root)) == (3, message, before)


def test_a_temporary_folder_without_room_costs_sessions_and_is_told(tmp_path, proved):
    """The folder is there and takes nothing: each session says so, and the run is not green."""
    script = 'touch "$HOME/x"; chmod 500 "$HOME/../.."; echo > out.txt'
    files = {"bench/core.json": suite(case("a"), case("b")), "skillgym.config.yaml": config(runner(script))}
    root = repository(tmp_path / "r", files)
    (tmp_path / "tmp").mkdir()
    done = run(root, TMPDIR=str(tmp_path / "tmp"))
    results = json.loads((root / "out/results.json").read_text())
    assert list((tmp_path / "tmp").iterdir()) == []
    assert done.returncode == 3, done.stderr
    told = [result.get("error", {}).get("message", "") for part in results["suites"] for result in part["results"]]
    assert (told[0], "Permission denied" in told[1]) == ("", True)
    proved("faults", "outputs that could not be written, told with exit code 3")


# --- nobody who reads -------------------------------------------------------------------------------


def gone() -> int:
    """The writing end of a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


@pytest.mark.parametrize(("stream", "where"), [("stdout", full), ("stderr", gone)])
def test_a_run_that_nobody_can_read_of_is_reported_all_the_same(tmp_path, stream, where, proved):
    root, place = repository(tmp_path / "r"), where()
    other = {"stdout", "stderr"} - {stream}
    streams = {"capture_output": False, stream: place} | dict.fromkeys(other, subprocess.PIPE)
    done = run(root, "run", "--output", "out", "--verbose", streams=streams)
    os.close(place)
    assert done.returncode == 0
    assert whole(root / "out") == REPORTS
    proved("faults", "streams closed, full or without a reader, and all reports there")


def test_closed_streams_are_taken_by_no_file_of_ours(tmp_path, proved):
    script = "links=$(readlink /proc/$$/fd/1 /proc/$$/fd/2); echo said; echo said >&2; echo $links > out.txt"
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(runner(script))})
    done = run(root, "/bin/sh", "-c", f'exec "{PROGRAM}" run --output out --verbose 0<&- 1>&- 2>&-', streams={})
    assert done.returncode == 0
    assert whole(root / "out") == REPORTS
    told = (root / "out/core/one/sh/repeat-1/changes/out.txt").read_text()
    assert told.count("/out/core/one/sh/repeat-1/std") == 2
    proved("faults", "streams closed, full or without a reader, and all reports there")


@pytest.mark.parametrize(
    ("args", "where", "code", "said"),
    [
        pytest.param(("list", "--json"), gone, 141, "", id="gone"),
        pytest.param(("doctor",), full, 3, "No space left on device", id="full"),
    ],
)
def test_a_command_whose_answer_cannot_be_written_does_not_succeed(tmp_path, args, where, code, said, proved):
    many = suite(*(case(str(number)) for number in range(200)))
    root, place = repository(tmp_path / "r", {"bench/core.json": many}), where()
    done = run(root, *args, streams={"capture_output": False, "stdout": place, "stderr": subprocess.PIPE})
    os.close(place)
    assert (done.returncode, said in done.stderr) == (code, True)
    proved("faults", "answers that could not be written, and no success")


def test_annotations_that_cannot_be_written_are_told(tmp_path, proved):
    root = repository(tmp_path / "r", {"skillgym.config.yaml": config(runner("true"))})
    files = written(tmp_path / "f", {"outputs": "", "summary": ""})
    env = action_step.variables(None, "push", files, {"report-dir": "out", "comment": "off"})
    place = gone()
    done = subprocess.run(
        [action_step.ENTRYPOINT], cwd=root, env=env, stdout=place, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(place)
    assert done.returncode == 3
    assert "error: cannot write standard output: Broken pipe" in done.stderr
    assert whole(root / "out") == REPORTS
    proved("faults", "streams closed, full or without a reader, and all reports there")
