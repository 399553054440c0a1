"""The command line as people and scripts meet it: real processes in scratch repositories."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import time
from pathlib import Path

import pytest

from scratch import (
    PROGRAM,
    Ran,
    case,
    config,
    environment,
    git_in,
    repository,
    runner,
    skillgym,
    suite,
    written,
)
from skillgym_action.results.schema import Results
from table_rows import each_row_holds

PYTHON = "from skillgym_action import Case, Suite\n"


def results(folder: Path) -> dict:
    """The results file of a run directory, which its schema accepts."""
    text = (folder / "results.json").read_text(encoding="utf-8")
    Results.model_validate_json(text)
    return json.loads(text)


def told(folder: Path) -> dict[str, str]:
    """The status of every case."""
    return {one["caseId"]: one["status"] for part in results(folder)["suites"] for one in part["results"]}


def run(folder: Path, *args: str, **env: str) -> Ran:
    """``run`` into ``out``; no error has a traceback."""
    ran = skillgym("run", "--output", "out", *args, cwd=folder, **env)
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err
    return ran


# --- help ---------------------------------------------------------------------------------------------


# --- exit codes -------------------------------------------------------------------------------------


# --- what a user may get wrong ----------------------------------------------------------------------


def test_a_misspelt_placeholder_is_a_warning(tmp_path):
    files = {"skillgym.config.yaml": 'runners:\n  sh: {agent: {type: command, command: [echo, "{promt}"]}}\n'}
    ran = skillgym("check", cwd=repository(tmp_path, files))
    place = "skillgym.config.yaml:2:47: runners.sh.agent.command[1]"
    assert f"{place}: unknown placeholder '{{promt}}'; did you mean '{{prompt}}'?" in ran.err


@pytest.mark.parametrize(
    ("args", "files", "why"),
    [
        pytest.param(["--shard", "2/2"], {}, "no case to run: the suites have none for", id="an empty shard"),
        pytest.param(["!bench"], {}, "no suite was found; ", id="everything left out"),
    ],
)
def test_a_run_that_judges_nothing_is_never_green(tmp_path, args, files, why):
    ran = run(repository(tmp_path, files), *args)
    assert ran.code == 2
    assert re.search(rf"^! Not tested: {re.escape(why)}", ran.err, re.MULTILINE)
    assert results(tmp_path / "out")["totals"]["executions"] == 0


def test_outside_of_git_and_where_git_is_broken(tmp_path):
    assert run(repository(tmp_path / "plain")).code == 0
    broken = repository(tmp_path / "broken", {".git/HEAD": "nonsense"})
    ran = run(broken)
    assert ran.code == 2
    assert "cannot be listed: fatal: not a git repository" in ran.err
    assert "install git, and run `git status` there" in ran.err


# --- cancellation -----------------------------------------------------------------------------------


# --- other commands ---------------------------------------------------------------------------------


def test_list_shows_what_would_run(tmp_path):
    cases = suite(case("a", tags=["smoke"], timeout=5), case("b", budget=2))
    repository(tmp_path, {"bench/core.json": cases, "skillgym.config.yaml": config(runner(model="m"))})
    ran = skillgym("list", cwd=tmp_path)
    assert ran.code == 0
    assert [line.split() for line in ran.out.splitlines() if line.strip()] == [
        ["suite", "case", "runner", "model", "tags"],
        ["bench/core.json", "a", "sh", "m", "smoke"],
        ["bench/core.json", "b", "sh", "m"],
    ]
    rows = json.loads(skillgym("list", "--json", cwd=tmp_path).out)["executions"]
    common = {"suite": "bench/core.json", "format": "x-bench", "runner": "sh", "model": "m"}
    common |= {"title": None, "skills": [], "assertions": 1, "questions": 0, "arm": None, "expected": None}
    assert rows == [
        common | {"case": "a", "tags": ["smoke"], "timeout": 5, "budget": 5.0},
        common | {"case": "b", "tags": [], "timeout": 600, "budget": 2},
    ]


def test_list_makes_a_matrix_for_a_workflow(tmp_path):
    ran = skillgym("list", "--matrix", "3", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, '{"include": [{"shard": "1/3"}, {"shard": "2/3"}, {"shard": "3/3"}]}\n')


def test_a_dry_run_starts_nothing_and_keeps_nothing(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": config(runner(f"touch {tmp_path}/started"))})
    ran = skillgym("run", "--dry-run", cwd=tmp_path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        "bench/core.json one [sh] 600 s, $5.00\n1 execution, 1 session\n"
        "cost and time: unknown without a store of earlier runs; name one with --store\n"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "skillgym.config.yaml"]
    nothing = skillgym("run", "--dry-run", "--case", "nope", cwd=tmp_path)
    assert (nothing.code, nothing.out) == (2, "")
    assert nothing.err == "error: unknown case 'nope'; known: one\n"


def test_check_is_content_with_good_suites_and_needs_no_runner(tmp_path):
    repository(tmp_path, {"skillgym.config.yaml": None, "bench/two.json": suite(case("a"), case("b"))})
    ran = skillgym("check", cwd=tmp_path)
    assert (ran.code, ran.out) == (
        0,
        """\
bench/core.json: x-bench, 1 case
bench/two.json: x-bench, 2 cases
OK: 2 suites, 3 cases. No runner is configured: add one, or pass --runner
""",
    )


def test_check_names_a_missing_template_beside_all_other_problems(tmp_path):
    broken, template = suite(case(retries="x")), suite(case(), workspace={"templateDir": "nope"})
    ran = skillgym("check", cwd=repository(tmp_path, {"bench/broken.json": broken, "bench/template.json": template}))
    assert ran.code == 2
    assert "error: bench/broken.json:1:" in ran.err
    assert "error: bench/template.json: workspace template nope: there is no such folder" in ran.err
    assert "bench/core.json: x-bench, 1 case\n" in ran.out


def test_schemas_are_listed_and_misspelt_ones_guessed(tmp_path):
    assert skillgym("schema", cwd=tmp_path).out.split() == [
        *("config", "quarantine", "x-bench", "results", "plan", "list", "check", "check-cases", "doctor"),
        *("compare", "quarantine-suggest", "trend", "error", "typescript"),
    ]
    ran = skillgym("schema", "confg", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, "error: unknown schema 'confg'; did you mean 'config'?\n")


# --- selection --------------------------------------------------------------------------------------


BENCH = ["bench/core.json", "bench/sub/z.bench.json"]


SELECTED = {
    "all below the repository": ([], [*BENCH, "deep/x.bench.json", "own_suite.py"]),
    "a folder": (["bench"], BENCH),
    "a file and a folder": (["deep/x.bench.json", "bench"], [*BENCH, "deep/x.bench.json"]),
    "a glob": (["**/*.json"], [*BENCH, "deep/x.bench.json"]),
    "a star stops at a slash": (["bench/*.json"], ["bench/core.json"]),
    "two stars do not": (["bench/**/*.json"], ["bench/core.json", "bench/sub/z.bench.json"]),
    "a glob of folders": (["b*"], ["bench/core.json", "bench/sub/z.bench.json"]),
    "an excluded glob": (["bench", "!bench/*.json"], ["bench/sub/z.bench.json"]),
    "an excluded glob of folders": (["bench", "!**/sub"], ["bench/core.json"]),
    "but not": (["!deep"], [*BENCH, "own_suite.py"]),
    "but no glob": ([".", "!**/*.json"], ["own_suite.py"]),
    "a format": (["--format", "python"], ["own_suite.py"]),
    "a named file, ignored or not": (["ignored/x.bench.json"], ["ignored/x.bench.json"]),
    "a named file, wherever it is": (["odd/name.json"], ["odd/name.json"]),
}


def test_which_suites_run(tmp_path):
    body = PYTHON + "suite = Suite()\n@suite.case('x', prompt='p')\ndef x(report, ctx): pass\n"
    files = dict.fromkeys(("deep/x.bench.json", "ignored/x.bench.json", "node_modules/y.bench.json", BENCH[1]), suite())
    files |= {"odd/name.json": suite(), "own_suite.py": body, ".gitignore": "ignored/\n", "bench/data.json": "[1]"}
    root = repository(tmp_path, files, git=True)

    def selects(row: tuple[list[str], list[str]]) -> None:
        args, suites = row
        rows = json.loads(skillgym("list", "--json", *args, cwd=root).out)["executions"]
        assert sorted({row["suite"] for row in rows}) == suites

    each_row_holds(SELECTED.items(), selects)


def test_what_is_excluded_is_relative_to_the_working_directory_as_paths_are(tmp_path):
    repository(tmp_path, dict.fromkeys(("bench/sub/z.bench.json", "sub/y.bench.json"), suite()), git=True)
    rows = json.loads(skillgym("list", "--json", "..", "!sub", cwd=tmp_path / "bench").out)["executions"]
    assert sorted({row["suite"] for row in rows}) == ["bench/core.json", "sub/y.bench.json"]


def test_a_folder_outside_of_the_repository_is_searched_as_well(tmp_path):
    here, there = repository(tmp_path / "here", git=True), repository(tmp_path / "there")
    rows = json.loads(skillgym("list", "--json", there, cwd=here).out)["executions"]
    assert [row["suite"] for row in rows] == [str(there / "bench/core.json")]


def test_run_directories_are_never_searched(tmp_path):
    repository(tmp_path, {"bench/core.json": suite(case(expect=("file:never exists",))), "bench/t.json": suite()})
    run(tmp_path, "bench/core.json", "--keep", "all")
    assert (tmp_path / "out/workspaces").exists()
    rows = json.loads(skillgym("list", "--json", cwd=tmp_path).out)["executions"]
    assert sorted({row["suite"] for row in rows}) == ["bench/core.json", "bench/t.json"]


# --- the terminal -----------------------------------------------------------------------------------


def test_progress_goes_to_stderr_and_stdout_is_for_machines(tmp_path):
    ran = run(repository(tmp_path))
    assert ran.out == ""
    assert re.sub(r"\d[\d.]* m?s|/.*/", "…", ran.err).splitlines() == [
        "1/1 ✓ one [sh]  passed  …  unknown",
        "",
        "✓ one passes",
        "  1 attempt, cost unknown, …",
        "reports: out",
    ]


def test_quiet_leaves_the_verdict(tmp_path):
    ran = run(repository(tmp_path), "--quiet")
    assert re.fullmatch(r"✓ one passes\n  1 attempt, cost unknown, \d[\d.]* m?s\n", ran.err)


def on_a_terminal(folder: Path, *args: str, **env: str) -> str:
    """What a run shows on a terminal."""
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [PROGRAM, "run", *args], cwd=folder, env=environment(TERM="xterm-256color", **env), stderr=slave, stdout=slave
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(master)
    child.wait()
    return shown.decode()


def test_a_variable_has_several_values_in_lines_and_folders_of_reports_are_created(tmp_path):
    root = repository(tmp_path)
    ran = skillgym("run", "--output", "out", cwd=root, SKILLGYM_REPORT="junit=deep/a.xml\n\n summary=b.md\n")
    assert ran.code == 0, ran.err
    assert ((root / "deep/a.xml").exists(), (root / "b.md").exists()) == (True, True)


COLORED = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")


def test_colours_are_for_terminals_whose_user_wants_them(tmp_path):
    root = repository(tmp_path)
    for args, env, colored in (([], {}, True), ([], {"NO_COLOR": "1"}, False), (["--no-color"], {}, False)):
        shown = on_a_terminal(root, *args, **env)
        assert "one passes" in shown
        assert (COLORED.search(shown) is not None) is colored, (args, env)


def test_colors_can_be_forced_where_the_output_is_no_terminal(tmp_path):
    """In each command that has colors; ``--no-color`` and its variable win."""
    repository(tmp_path)

    def shown(*args: str, **env: str) -> tuple[str, str, str]:
        ran = run(tmp_path, *args, FORCE_COLOR="1", **env)
        assert "one passes" in ran.err
        compared = skillgym("compare", "out", "out", *args, cwd=tmp_path, FORCE_COLOR="1", **env)
        checked = skillgym("doctor", *args, cwd=tmp_path, FORCE_COLOR="1", **env)
        return ran.err, compared.out, checked.out

    assert [COLORED.search(text) is not None for text in shown()] == [True] * 3
    assert [COLORED.search(text) for text in shown("--no-color")] == [None] * 3
    assert COLORED.search(run(tmp_path, FORCE_COLOR="1", SKILLGYM_NO_COLOR="1").err) is None


def test_forced_colors_change_neither_documents_nor_tables(tmp_path):
    long = "case-" + "x" * 90
    folder = repository(tmp_path, {"bench/core.json": suite(case(long))})
    for args in (
        ["list"],
        ["run", "--json"],
        ["run", "--report", "summary=-"],
    ):
        plain, forced = (skillgym(*args, cwd=folder, **env).out for env in ({}, {"FORCE_COLOR": "1"}))
        assert "\x1b" not in forced
        if args[0] != "run":
            assert forced == plain


# --- reports ----------------------------------------------------------------------------------------


def test_a_default_run_directory_is_new_and_nothing_to_commit(tmp_path):
    repository(tmp_path, git=True)
    for _ in range(2):
        assert skillgym("run", cwd=tmp_path).code == 0
    assert len(list((tmp_path / ".skillgym-results").glob("*/results.json"))) == 2
    assert git_in(tmp_path, "status", "--porcelain") == ""


def test_a_run_into_the_same_folder_leaves_nothing_of_the_one_before(tmp_path):
    files = {"skillgym.config.yaml": config(runner("true"))}
    assert run(repository(tmp_path, files)).code == 1
    written(tmp_path, {"skillgym.config.yaml": config(runner())})
    assert run(tmp_path).code == 0
    assert not (tmp_path / "out/core/one/sh/repeat-1/error.json").exists()


# --- stored sessions --------------------------------------------------------------------------------

TWO = (case("a", ("file:a.txt contains 'A'",)), case("b", ("no-file:gone.txt", "file:d/b.txt exists")))
TWO_DONE = 'echo x >> "$LOG"; echo A > a.txt; rm -f gone.txt; mkdir -p d; echo b > d/b.txt; ln -s d/b.txt link; pwd'


def with_sessions(tmp_path: Path) -> Path:
    agent = runner(TWO_DONE, env={"LOG": str(tmp_path / "log")})
    files = {"bench/core.json": suite(*TWO), "skillgym.config.yaml": config(agent), "gone.txt": "x"}
    return repository(tmp_path / "repo", files)


def test_judging_again_asks_today_s_assertions_and_no_agent(tmp_path):
    root = with_sessions(tmp_path)
    assert run(root).code == 0
    written(root, {"bench/core.json": suite(case("a", ("file:a.txt contains 'B'",)), TWO[1], case("new"))})
    again = skillgym("rejudge", "out", "--output", "again", cwd=root)
    assert (again.code, told(root / "again")) == (1, {"a": "failed", "b": "passed"})
    assert "a.txt" in again.err
    assert (tmp_path / "log").read_text() == "x\nx\n"
    third = skillgym("rejudge", "again", "--output", "third", cwd=root)
    assert (third.code, told(root / "third")) == (1, {"a": "failed", "b": "passed"})


@pytest.mark.timed
def test_judging_again_what_had_trouble_neither_waits_nor_changes_it(tmp_path):
    event = json.dumps({"type": "error", "class": "rate-limit", "message": "slow down", "retryAfter": 30})
    script = (
        f"echo x >> $LOG; [ $(wc -l < $LOG) -ge 3 ] && printf '%s' '{event}' || printf '%s' '{event}' | sed s/30/0/"
    )
    agent = runner(script, output="events", env={"LOG": str(tmp_path / "log")})
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": config(agent)})
    assert run(root).code == 3
    began = time.monotonic()
    assert skillgym("rejudge", "out", "--output", "again", cwd=root).code == 3
    assert time.monotonic() - began < 10
    (one,) = results(root / "again")["suites"][0]["results"]
    assert (one["failureClass"]["id"], one["error"]["message"]) == ("rate-limit", "slow down")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(
            ["bench"], "error: bench/results.json: No such file or directory; name a run directory", id="no run"
        ),
    ],
)
def test_what_cannot_be_judged_again_is_told(tmp_path, args, message):
    repository(tmp_path, {"broken/results.json": "{", "other/results.json": "{}"})
    ran = skillgym("rejudge", *args, cwd=tmp_path)
    assert ran.code == 2
    assert message in ran.err


def test_a_run_is_not_judged_again_into_itself(tmp_path):
    root = with_sessions(tmp_path)
    run(root)
    ran = skillgym("rejudge", "out", "--output", "./out", cwd=root)
    assert (ran.code, ran.err) == (2, "error: --output is the run that is judged again; name another folder\n")
    assert skillgym("rejudge", "out", cwd=root).code == 0


def test_a_recording_plays_the_same_verdict_and_the_same_files(tmp_path):
    root = with_sessions(tmp_path)
    assert run(root, "--record", "recorded").code == 0
    replay = {"agent": {"type": "replay", "sessions": "recorded"}}
    written(root, {"replay.yaml": config(sh=replay)})
    for args, code in (((), 0), (("--repeat", "2"), 0)):
        assert run(root, "--config", "replay.yaml", "--runner", "sh", *args).code == code
    played = root / "out/core/a/sh/repeat-1"
    assert told(root / "out") == {"a": "passed", "b": "passed"}
    assert (tmp_path / "log").read_text() == "x\nx\n"
    assert (played / "changes/a.txt").read_text() == "A\n"
    assert (played / "changes/link").readlink() == Path("d/b.txt")
    assert json.loads((played / "workspace.json").read_text())["deleted"] == ["gone.txt"]
    text = json.loads((root / "recorded/core/a/sh/repeat-1/report.json").read_text())["finalOutput"]
    assert text == "/workspace"


@pytest.mark.parametrize(
    ("workspace", "run"),
    [
        pytest.param("workspace = Workspace(mode='none')", {"cwd": "app"}, id="a suite that says none"),
        pytest.param("", {"cwd": "app", "workspace": {"mode": "none"}}, id="a configuration that says none"),
    ],
)
def test_agents_work_where_the_configuration_says(tmp_path, workspace, run):
    check = "Suite, Workspace\nsuite = Suite('s')\n@suite.case('c', prompt='p')\ndef c(report): pass\n"
    files = {
        "bench/core.json": None,
        "app/here": "",
        "where_suite.py": f"from skillgym_action import {check}{workspace}\n",
        "skillgym.config.yaml": config(runner("echo > seen"), run=run),
    }
    ran = skillgym("run", cwd=repository(tmp_path, files))
    assert ran.code == 0, ran.err
    assert (tmp_path / "app" / "seen").is_file()


def test_a_message_holds_no_secret(tmp_path):
    ran = skillgym("run", "--config", "s3cret-value/of-the-job.yaml", cwd=tmp_path, API_TOKEN="s3cret-value/of-the-job")
    assert (ran.code, ran.err) == (2, "error: no such configuration file: ***.yaml; check --config\n")
