"""Each exit code of the tool, from a whole run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from scratch import PASSING, PROGRAM, case, config, environment, repository, runner, skillgym, started, suite
from skillgym_action.model.exit_codes import ExitCode
from waiting import until_written

BROKEN = case("broken", expect=("fiel:x",))


@pytest.mark.parametrize(
    ("script", "cases", "code", "verdict"),
    [
        pytest.param(PASSING, [case()], ExitCode.PASSED, "✓ one passes", id="green"),
        pytest.param("true", [case()], ExitCode.FAILED, "✗ one fails", id="red"),
        pytest.param("true", [case(expectedFail=True)], ExitCode.PASSED, "✓ one is marked as failing", id="expected"),
        pytest.param(
            PASSING,
            [case(expectedFail=True)],
            ExitCode.FAILED,
            "✗ 1 result passes although marked as failing",
            id="unexpected",
        ),
        pytest.param(PASSING, [case(), BROKEN], ExitCode.INVALID_INPUT, "! Not sure: ", id="a bad suite"),
        pytest.param("exit 3", [case()], ExitCode.INCONCLUSIVE, "! Not tested: ", id="an agent that cannot work"),
    ],
)
def test_the_exit_code_of_a_run_is_its_verdict(tmp_path, script, cases, code, verdict):
    files = {"bench/core.json": suite(*cases), "skillgym.config.yaml": config(runner(script))}
    ran = skillgym("run", "--output", "out", cwd=repository(tmp_path, files))
    assert (ran.code, verdict in ran.err) == (code, True), ran.err
    assert json.loads((tmp_path / "out/results.json").read_text())["run"]["decision"]["exitCode"] == code


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--jbos", "2"], "error: unknown option '--jbos'; did you mean '--jobs'?", id="an option"),
        pytest.param(["--config", "no.yaml"], "error: no such configuration file: no.yaml", id="a configuration"),
        pytest.param(["--case", "nope"], "! Not tested: unknown case", id="nothing to run"),
    ],
)
def test_a_mistake_on_the_command_line_is_2_with_one_message(tmp_path, args, message):
    ran = skillgym("run", "--output", "out", *args, cwd=repository(tmp_path))
    assert (ran.code, ran.out, ran.err.count(message)) == (ExitCode.INVALID_INPUT, "", 1), ran.err


def test_a_result_that_cannot_be_written_is_3_and_no_agent_starts(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner(f"touch {tmp_path}/started"))})
    ran = skillgym("run", "--output", "skillgym.config.yaml", cwd=tmp_path)
    message = f"cannot write {tmp_path}/skillgym.config.yaml: Not a directory"
    assert (ran.code, ran.err) == (ExitCode.INCONCLUSIVE, f"error: {message}; name another path\n")
    assert not (tmp_path / "started").exists()


def test_an_internal_error_is_70_and_names_a_file_to_report(tmp_path):
    (tmp_path / "gone").mkdir()
    lost = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.argv[1], sys.argv[1:])"
    argv = (sys.executable, "-c", lost, PROGRAM, "list")
    env = environment(TMPDIR=str(tmp_path))
    done = subprocess.run(argv, cwd=tmp_path / "gone", env=env, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.INTERNAL_ERROR
    assert "internal error: please report it with " in done.stderr
    (log,) = tmp_path.glob("*.log")
    assert str(log) in done.stderr
    assert ("Traceback" in log.read_text(), "Traceback" in done.stderr) == (True, False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_run_is_130_with_complete_reports_and_no_process_left(tmp_path, number):
    script = f"case $(cat) in *slow) echo $$ > {tmp_path}/pid; sleep 300;; esac; {PASSING}"
    cases = suite(case("quick"), case("slow"), case("never"))
    root = repository(tmp_path / "r", {"bench/core.json": cases, "skillgym.config.yaml": config(runner(script))})
    child = started("run", "--output", "out", cwd=root)
    agent = until_written(tmp_path / "pid").strip()
    child.send_signal(number)
    out, err = child.communicate()
    assert (child.returncode, out) == (ExitCode.CANCELLED, "")
    assert "! Cancelled: " in err
    stored = json.loads((root / "out/results.json").read_text())
    assert (stored["run"]["status"], stored["run"]["decision"]["exitCode"]) == ("cancelled", 130)
    statuses = {one["caseId"]: one["status"] for one in stored["suites"][0]["results"]}
    assert statuses == {"quick": "passed", "slow": "skipped", "never": "skipped"}
    junit = ET.parse(root / "out/junit.xml")
    assert [len(junit.findall(f".//{name}")) for name in ("testcase", "skipped")] == [3, 2]
    assert "cancelled" in (root / "out/summary.md").read_text().lower()
    assert (root / "out/comment.md").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(agent), 0)


def test_a_closed_standard_output_is_141_and_the_run_is_complete(tmp_path):
    root = repository(tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    argv = (PROGRAM, "run", "--output", "out", "--json")
    done = subprocess.run(argv, cwd=root, env=environment(), stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert done.returncode == ExitCode.BROKEN_PIPE, done.stderr
    assert json.loads((root / "out/results.json").read_text())["totals"]["passed"] == 1
