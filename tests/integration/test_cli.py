"""The command line as people and scripts meet it: real processes in scratch repositories."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from scratch import (
    HUNG,
    PROGRAM,
    Ran,
    case,
    config,
    environment,
    git_in,
    repository,
    runner,
    skillgym,
    started,
    suite,
    written,
)
from skillgym_action.cli.help.layout import EXAMPLES
from skillgym_action.results.schema import Results
from waiting import until_written

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


@pytest.mark.parametrize("columns", [80, 100])
def test_help_of_a_process_fits_the_width_of_the_terminal(columns):
    for name in EXAMPLES:
        ran = skillgym(*name.split(), "--help", cwd=Path.cwd(), COLUMNS=str(columns))
        assert (ran.code, ran.err) == (0, ""), name
        assert ran.out.count("\nExamples:\n") == 1, name
        assert [line for line in ran.out.splitlines() if len(line) > columns] == [], name


# --- exit codes -------------------------------------------------------------------------------------


@pytest.mark.timed
def test_a_session_that_exceeds_its_time_limit_has_failed(tmp_path):
    files = {"bench/core.json": suite(case(timeout=0.2)), "skillgym.config.yaml": config(runner("sleep 60"))}
    ran = run(repository(tmp_path, files))
    assert (ran.code, results(tmp_path / "out")["run"]["decision"]["exitCode"]) == (1, 1)
    assert "✗ one fails" in ran.err


def test_every_run_leaves_its_reports(tmp_path):
    run(repository(tmp_path))
    files = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files >= {
        *("results.json", "journal.jsonl", "junit.xml", "summary.md", "comment.md", "report.html"),
        *(f"core/one/sh/repeat-1/{name}" for name in ("stdout.log", "stderr.log", "report.json", "workspace.json")),
    }


# --- what a user may get wrong ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "message"),
    [
        pytest.param(["--fail-on", "faild"], "--fail-on: unknown word 'faild'; did you mean 'failed'?", id="a word"),
        pytest.param(
            ["nope.json"],
            "no such file or folder: nope.json; name a suite file, a folder or a glob; !PATH excludes",
            id="a path",
        ),
        pytest.param(
            ["README.md"], "README.md: no suite format has files ending in '.md'; suites end in", id="a format"
        ),
    ],
)
def test_a_mistake_on_the_command_line_is_one_clear_message(tmp_path, args, message):
    repository(tmp_path, {"README.md": "x", "skillgym.config.yaml": config(runner())})
    ran = run(tmp_path, *args)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not (tmp_path / "out" / "results.json").exists()


@pytest.mark.parametrize("command", ["check", "list", "run"])
def test_a_misspelt_placeholder_is_a_warning_of_each_command(tmp_path, command):
    files = {"skillgym.config.yaml": 'runners:\n  sh: {agent: {type: command, command: [echo, "{promt}"]}}\n'}
    ran = skillgym(command, cwd=repository(tmp_path, files))
    place = "skillgym.config.yaml:2:47: runners.sh.agent.command[1]"
    assert f"{place}: unknown placeholder '{{promt}}'; did you mean '{{prompt}}'?" in ran.err


def test_an_option_from_the_environment_is_named_by_its_variable(tmp_path):
    ran = skillgym("list", cwd=repository(tmp_path), SKILLGYM_REPEAT="abc", SKILLGYM_SHARD="5/4")
    assert ran.code == 2
    assert "error: SKILLGYM_REPEAT (--repeat): 'abc' is not a whole number\n" in ran.err
    assert "error: SKILLGYM_SHARD (--shard): " in ran.err
    ran = skillgym("list", "--repeat", "x", cwd=tmp_path, SKILLGYM_REPEAT="abc")
    assert ran.err == "error: --repeat: 'x' is not a whole number\n"


def test_an_agent_that_is_not_executable_is_told_with_the_command_that_makes_it(tmp_path):
    agent = {"agent": {"type": "command", "command": ["./agent.sh"]}}
    ran = run(repository(tmp_path, {"skillgym.config.yaml": config(agent), "agent.sh": "#!/bin/sh\n"}))
    assert f"cannot start '{tmp_path}/agent.sh': Permission denied; run chmod +x {tmp_path}/agent.sh" in ran.err


def test_a_mistake_in_the_configuration_is_told_with_its_place(tmp_path):
    ran = run(repository(tmp_path, {"skillgym.config.yaml": "run: {repeet: 2}\n"}))
    assert (ran.code, ran.err) == (
        2,
        "error: skillgym.config.yaml:1:7: run.repeet: unknown key 'repeet'; did you mean 'repeat'?\n",
    )


@pytest.mark.parametrize(
    ("args", "files", "why"),
    [
        pytest.param([], {"bench/core.json": None}, "no suite was found; ", id="no suite"),
        pytest.param(["--case", "nope"], {}, "unknown case 'nope'; ", id="no case of that id"),
        pytest.param(["--tag", "nope"], {}, "unknown tag 'nope'; ", id="no case with that tag"),
        pytest.param(["--shard", "2/2"], {}, "no case to run: the suites have none for", id="an empty shard"),
        pytest.param(["bench/*.py"], {}, "no suite was found; ", id="a glob that matches nothing"),
        pytest.param(["!bench"], {}, "no suite was found; ", id="everything left out"),
    ],
)
def test_a_run_that_judges_nothing_is_never_green(tmp_path, args, files, why):
    ran = run(repository(tmp_path, files), *args)
    assert ran.code == 2
    assert re.search(rf"^! Not tested: {re.escape(why)}", ran.err, re.MULTILINE)
    assert results(tmp_path / "out")["totals"]["executions"] == 0


BAD_SUITES = [
    ("bad.json", '{"cases": [{"prompt": 1, "expect": []}, nope]}', "bench/bad.json:1:41: not JSON: expecting value"),
    (
        "bad.json",
        suite(case(prompt=5, budget="x")),
        'cases[0].prompt: must be text, not 5; also cases[0].budget: must be a number, not "x"',
    ),
    (
        "bad.json",
        suite(case("a"), case("a")),
        "cases[1].id: the id 'a' is already used by cases[0] at bench/bad.json:1:29; rename one of them",
    ),
    ("bad.json", suite(case(expect=())), "cases[0].expect: must not be empty"),
    (
        "bad.json",
        suite(case(expect=("fiel:x exists",))),
        "cases[0].expect[0]: unknown kind of expectation: 'fiel:x exists'; did you mean 'file:'?",
    ),
    ("bad.json", suite(case(expect=("file:../x exists",))), "../x leads out of the workspace"),
    ("bad.json", suite(case(expect=("diff:/etc/passwd",))), "the path /etc/passwd is absolute"),
    ("bad.json", '{"cases": []}', "cases: must not be empty; a suite without cases judges nothing"),
    (
        "bad.json",
        b'{"cases": [{"prompt": "\xff", "expect": []}]}',
        "bench/bad.json: not UTF-8 at byte 23; save the file as UTF-8",
    ),
    ("bad_suite.py", PYTHON + "raise RuntimeError('no luck')\n", "bench/bad_suite.py:2:1: RuntimeError: no luck"),
    (
        "bad_suite.py",
        PYTHON + "import sys; sys.exit(3)\n",
        "bench/bad_suite.py:2:13: SystemExit: 3; a suite file only defines cases",
    ),
    (
        "bad_suite.py",
        PYTHON + "import os; os._exit(3)\n",
        "the suite ended its process with exit code 3 while it was imported",
    ),
    ("bad_suite.py", PYTHON + "def (:\n", "bench/bad_suite.py:2:5: SyntaxError: invalid syntax"),
    ("bad_suite.py", PYTHON, "the file has no variable `suite`; write"),
    (
        "bad-suite.ts",
        'import "skillgym"',
        "bench/bad-suite.ts: the file has no default export; write `export default [ … cases … ]`",
    ),
    (
        "bad-suite.ts",
        'import "skillgym";\nexport default 5;',
        "bench/bad-suite.ts: the default export is 5; export a list of cases",
    ),
    (
        "bad-suite.ts",
        'import "skillgym";\nexport default [\n  { id: "a", assert() {} },\n];',
        "bench/bad-suite.ts:3:5: the case has no prompt; write prompt",
    ),
    (
        "bad-suite.ts",
        'import "skillgym";\nexport default [\n  { id: "a", prompt: "p" },\n];',
        "bench/bad-suite.ts:3:5: the case has no assert; write `assert(report, ctx) { … }`",
    ),
    ("bad-suite.ts", 'import "skillgym";\nexport default [', "bench/bad-suite.ts:2:17: SyntaxError: "),
    ("bad-suite.ts", 'import "skillgym";\nimport "./missing.ts";', "bench/bad-suite.ts:2:8: Cannot find module"),
    (
        "bad-suite.ts",
        'import "skillgym";\nprocess.exit(3);',
        "the suite ended its process with exit code 3 while it was imported",
    ),
    (
        "bad-suite.ts",
        'import "skillgym";\nawait new Promise(() => {});',
        "bench/bad-suite.ts: Deadlock: it awaits a promise that nothing can resolve any more",
    ),
    (
        "EVAL.yaml",
        "cases: []",
        "bench/EVAL.yaml:1:1: has no tests; tests: ./cases/, a folder with a case.yaml for each; or a list",
    ),
]


@pytest.fixture
def bad_suites(tmp_path) -> dict[str, str]:
    """A repository with all of them, each in a folder of its own; their paths, and what is said of them."""
    files, said = {}, {}
    for number, (name, text, message) in enumerate(BAD_SUITES):
        files[f"bench/{number}/{name}"] = text
        said[f"bench/{number}/{name}"] = message.replace("bench/", f"bench/{number}/")
    repository(tmp_path, files)
    return said


def said_wrongly(err: str, messages: dict[str, str], before: str = "") -> list[tuple[str, str, list[str]]]:
    """Suites whose message is not just once in the lines with ``before`` and their path; and what these lines say."""
    found = {path: [line for line in err.splitlines() if f"{before}{path}" in line] for path in messages}
    return [
        (path, message, found[path])
        for path, message in messages.items()
        if sum(line.count(message) for line in found[path]) != 1
    ]


def test_a_bad_suite_is_told_and_costs_nothing_but_itself(tmp_path, bad_suites):
    ran = run(tmp_path)
    assert ran.code == 2
    assert said_wrongly(ran.err, bad_suites) == []
    statuses = {one["path"]: {row["status"] for row in one["results"]} for one in results(tmp_path / "out")["suites"]}
    assert statuses.pop("bench/core.json") == {"passed"}
    assert statuses.keys() == bad_suites.keys()
    assert all("errored" in found for found in statuses.values()), statuses
    assert len(ET.parse(tmp_path / "out/junit.xml").findall(".//error")) >= len(bad_suites)


def test_check_says_the_same_and_starts_nothing(tmp_path, bad_suites):
    ran = skillgym("check", cwd=tmp_path)
    assert ran.code == 2
    assert sorted(line.partition(":")[0] for line in ran.out.splitlines()) == sorted([*bad_suites, "bench/core.json"])
    assert said_wrongly(ran.err, bad_suites, before="error: ") == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bench", "skillgym.config.yaml"]


def test_what_a_suite_prints_goes_to_its_log_and_not_to_us(tmp_path):
    body = "print('at import')\nsuite = Suite()\n@suite.case('x', prompt='p')\ndef x(report, ctx): print('in check')\n"
    ran = run(repository(tmp_path, {"bench/own_suite.py": PYTHON + body}))
    assert (ran.code, ran.out) == (0, "")
    assert "at import" not in ran.err
    logs = "".join(path.read_text() for path in (tmp_path / "out").glob("*.log"))
    assert ("at import" in logs, "in check" in logs) == (True, True)


def test_a_missing_agent_is_told_once_and_stops_its_cases(tmp_path):
    claude = {"agent": {"type": "claude-code"}}
    files = {"bench/core.json": suite(case("a"), case("b")), "skillgym.config.yaml": config(claude)}
    ran = run(repository(tmp_path, files), PATH="/usr/bin:/bin", SKILLGYM_AGENTS_DIR=str(tmp_path / "agents"))
    assert ran.code == 3
    assert "claude-code: claude is not on PATH; use --install-agents, or skillgym-action doctor" in ran.err
    assert told(tmp_path / "out") == {"a": "errored", "b": "errored"}


def test_a_suite_that_cannot_be_opened_is_told(tmp_path):
    repository(tmp_path)
    (tmp_path / "bench/loop.bench.json").symlink_to("loop.bench.json")
    ran = run(tmp_path, "bench/loop.bench.json")
    assert ran.code == 2
    assert "bench/loop.bench.json: cannot be read: " in ran.err


def test_a_report_that_cannot_be_written_keeps_nothing_else_from_being_told(tmp_path):
    ran = run(repository(tmp_path), "--report", "junit=bench/core.json/x.xml", "--report", "x-bench=x.json")
    assert ran.code == 3
    assert "✓ one passes" in ran.err
    assert ran.err.splitlines()[-1].startswith(f"error: cannot write {tmp_path}/bench/core.json/x.xml: ")
    assert (tmp_path / "x.json").exists()


def test_outside_of_git_and_where_git_is_broken(tmp_path):
    assert run(repository(tmp_path / "plain")).code == 0
    broken = repository(tmp_path / "broken", {".git/HEAD": "nonsense"})
    ran = run(broken)
    assert ran.code == 2
    assert "cannot be listed: fatal: not a git repository" in ran.err
    assert "install git, and run `git status` there" in ran.err


# --- cancellation -----------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_run_ends_before_github_kills_it(tmp_path, number):
    agent = runner("echo $$ > $PID; sleep 300", env={"PID": str(tmp_path / "pid")})
    child = started("run", cwd=repository(tmp_path / "repo", {"skillgym.config.yaml": config(agent)}))
    until_written(tmp_path / "pid")
    child.send_signal(number)
    began = time.monotonic()
    child.communicate(timeout=HUNG)
    assert (child.returncode, time.monotonic() - began < 7) == (130, True)


HANG = "echo x > {pid}; sleep 300"
HANGING = PYTHON + "import time\nopen({pid!r}, 'w').write('x')\ntime.sleep(300)\n"


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(
            lambda pid: {"bench/core.json": suite(case(expect=(f"test:{HANG.format(pid=pid)}",)))}, id="a command"
        ),
        pytest.param(
            lambda pid: {"bench/core.json": suite(workspace={"bootstrap": HANG.format(pid=pid)})}, id="a bootstrap"
        ),
        pytest.param(lambda pid: {"bench/own_suite.py": HANGING.format(pid=pid)}, id="an import"),
    ],
)
def test_a_cancellation_is_no_failure_whatever_it_interrupts(tmp_path, files):
    pid = tmp_path / "pid"
    child = started("run", "--output", "out", cwd=repository(tmp_path / "repo", files(str(pid))))
    until_written(pid)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=HUNG)
    assert child.returncode == 130
    assert results(tmp_path / "repo/out")["run"]["status"] == "cancelled"
    assert told(tmp_path / "repo/out")["one"] == "skipped"


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


def test_check_without_a_suite_is_an_error(tmp_path):
    ran = skillgym("check", cwd=tmp_path)
    assert (ran.code, ran.err) == (
        2,
        "error: no suite was found; name a suite file or its folder, or run `skillgym-action init`\n",
    )


@pytest.mark.parametrize("name", ["config", "x-bench", "results", "plan"])
def test_schemas_are_json(tmp_path, name):
    ran = skillgym("schema", name, cwd=tmp_path)
    assert ran.code == 0
    assert "properties" in json.loads(ran.out)


def test_schemas_are_listed_and_misspelt_ones_guessed(tmp_path):
    assert skillgym("schema", cwd=tmp_path).out.split() == [
        *("config", "quarantine", "x-bench", "results", "plan", "list", "check", "check-cases", "doctor"),
        *("compare", "quarantine-suggest", "trend", "error", "typescript"),
    ]
    ran = skillgym("schema", "confg", cwd=tmp_path)
    assert (ran.code, ran.err) == (2, "error: unknown schema 'confg'; did you mean 'config'?\n")


# --- selection --------------------------------------------------------------------------------------


BENCH = ["bench/core.json", "bench/sub/z.bench.json"]


@pytest.mark.parametrize(
    ("args", "suites"),
    [
        pytest.param([], [*BENCH, "deep/x.bench.json", "own_suite.py"], id="all below the repository"),
        pytest.param(["bench"], BENCH, id="a folder"),
        pytest.param(["deep/x.bench.json", "bench"], [*BENCH, "deep/x.bench.json"], id="a file and a folder"),
        pytest.param(["**/*.json"], [*BENCH, "deep/x.bench.json"], id="a glob"),
        pytest.param(["bench/*.json"], ["bench/core.json"], id="a star stops at a slash"),
        pytest.param(["bench/**/*.json"], ["bench/core.json", "bench/sub/z.bench.json"], id="two stars do not"),
        pytest.param(["b*"], ["bench/core.json", "bench/sub/z.bench.json"], id="a glob of folders"),
        pytest.param(["bench", "!bench/*.json"], ["bench/sub/z.bench.json"], id="an excluded glob"),
        pytest.param(["bench", "!**/sub"], ["bench/core.json"], id="an excluded glob of folders"),
        pytest.param(["!deep"], [*BENCH, "own_suite.py"], id="but not"),
        pytest.param([".", "!**/*.json"], ["own_suite.py"], id="but no glob"),
        pytest.param(["--format", "python"], ["own_suite.py"], id="a format"),
        pytest.param(["ignored/x.bench.json"], ["ignored/x.bench.json"], id="a named file, ignored or not"),
        pytest.param(["odd/name.json"], ["odd/name.json"], id="a named file, wherever it is"),
    ],
)
def test_which_suites_run(tmp_path, args, suites):
    body = PYTHON + "suite = Suite()\n@suite.case('x', prompt='p')\ndef x(report, ctx): pass\n"
    files = dict.fromkeys(("deep/x.bench.json", "ignored/x.bench.json", "node_modules/y.bench.json", BENCH[1]), suite())
    files |= {"odd/name.json": suite(), "own_suite.py": body, ".gitignore": "ignored/\n", "bench/data.json": "[1]"}
    repository(tmp_path, files, git=True)
    rows = json.loads(skillgym("list", "--json", *args, cwd=tmp_path).out)["executions"]
    assert sorted({row["suite"] for row in rows}) == suites


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
        assert "1 passed of 1" in shown
        assert (COLORED.search(shown) is not None) is colored, (args, env)


def test_colors_can_be_forced_where_the_output_is_no_terminal(tmp_path):
    """In each command that has colors; ``--no-color`` and its variable win."""
    repository(tmp_path)

    def shown(*args: str, **env: str) -> tuple[str, str, str]:
        ran = run(tmp_path, *args, FORCE_COLOR="1", **env)
        assert "1 passed of 1" in ran.err
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
        ["list", "--json"],
        ["check", "--json"],
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
        pytest.param(
            ["broken"],
            "error: broken/results.json: not JSON: Expecting property name enclosed in double quotes: line 1 column 2",
            id="a broken one",
        ),
        pytest.param(["other"], "error: other/results.json: schema: is missing", id="somebody else's"),
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
        pytest.param("", {"cwd": "app"}, id="a suite that says nothing"),
        pytest.param("workspace = Workspace(mode='none')", {"cwd": "app"}, id="a suite that says none"),
        pytest.param("", {"cwd": "app", "workspace": {"mode": "none"}}, id="a configuration that says none"),
        pytest.param("", {"workspace": {"mode": "none", "cwd": "app"}}, id="a directory of its own"),
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
