"""Packages that add agents, formats and reporters: how they are named and used, and what they cannot do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from plug_in_packages import ECHO, TAP, example_installed, installed, without
from scratch import Ran, case, committed, config, environment, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

MARKED = "from pathlib import Path\nPath({file!r}).touch()\nAPI = 1\n"
FAILING_SANDBOX = "API = 1\ndef sandbox(settings): raise RuntimeError('no vm')\n"
AGENT = re.sub(r"AgentInfo\(.*\)", 'AgentInfo(executable="goose", configuration=(".goosehints",))', ECHO)
FORMAT = """
from pathlib import Path
from skillgym_action.plugins import BenchmarkCase, BenchmarkSuite, Location, Outcome, SuiteError, WorkspaceSpec

API = 1


class Says:
    name, type, diagnostic, fail_fast = "says something", "Says", False, False

    def judge(self, context):
        said = bool(context.report and context.report.final_output)
        return (Outcome(assertion=self.name, type=self.type, passed=said, explanation=f"the answer says {said}"),)


def named(path):
    return path.endswith(".tiny")


def accepts(path, head):
    return named(path)


def rejection(path, head):
    return None


def suite(source):
    lines = source.text().splitlines()
    if not lines:
        raise SuiteError(f"{source.path} is empty", remedy="write a prompt on each line")
    places = (Location(path=source.path, line=number) for number, _ in enumerate(lines, start=1))
    cases = tuple(
        BenchmarkCase(id=f"line-{place.line}", prompt=line, location=place, assertions=(Says(),))
        for place, line in zip(places, lines)
    )
    names = {"path": source.path, "file": source.file, "name": Path(source.path).stem, "format": "tiny"}
    return BenchmarkSuite(**names, cases=cases, workspace=WorkspaceSpec(source="empty"))
"""


def project(folder: Path) -> Path:
    files = {"bench/core.json": suite(case("one", ("test:true passes",))), ".gitignore": ".skillgym-results\n"}
    return repository(folder / "project", files)


def results(root: Path) -> dict[str, Any]:
    (file,) = (root / ".skillgym-results").glob("*/results.json")
    return json.loads(file.read_text())


def run(root: Path, site: Path, *args: str, **more: str) -> Ran:
    return skillgym(*args, cwd=root, PYTHONPATH=str(site), **more)


# --- the example ------------------------------------------------------------------------------------


def test_the_example_runs_and_results_name_its_plug_ins(tmp_path):
    root, site = project(tmp_path), example_installed(tmp_path / "site")
    ran = run(root, site, "run", "--runner", "echo", "--report", "tap=-")
    assert (ran.code, ran.out) == (0, "TAP version 14\n1..1\nok 1 - bench/core.json: one on echo\n"), ran
    found = results(root)
    assert found["suites"][0]["results"][0]["finalOutput"] == "Do one"
    of = {"package": "skillgym-echo", "version": "0.1.0"}
    assert found["run"]["plugIns"] == [
        {"kind": "agents", "name": "echo"} | of,
        {"kind": "reporters", "name": "tap"} | of,
    ]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param(("list", "--runner", "eco"), ("unknown runner 'eco'", "did you mean 'echo'?"), id="an agent"),
    ],
)
def test_a_name_like_that_of_a_plug_in_suggests_it(tmp_path, command, words):
    ran = run(project(tmp_path), example_installed(tmp_path / "site"), *command)
    assert ran.code == 2
    assert [word for word in words if word not in ran.err] == []


# --- what cannot be used ----------------------------------------------------------------------------

BROKEN = {
    "a later interface": (
        ECHO.replace("API = 1", "API = 2"),
        "the plug-in echo is for interface 2, and this is interface 1; use versions of skillgym-action and",
    ),
    "an error": ("raise ValueError('a\\x1b[31m\\n::error::b')", "ValueError: a"),
    "an exit": ("raise SystemExit(0)", "SystemExit: 0"),
    "a function is missing": (ECHO.replace("def transcript", "def other"), "has no attribute 'transcript'"),
}


@pytest.mark.parametrize(("source", "words"), BROKEN.values(), ids=BROKEN)
def test_a_plug_in_that_cannot_be_used_is_an_error_that_names_it(tmp_path, source, words):
    site = installed(tmp_path / "site", {"agents": {"echo": "echo_agent"}}, {"echo_agent": source})
    ran = run(project(tmp_path), site, "run", "--runner", "echo")
    assert (ran.code, words in ran.err) == (2, True), ran
    assert "of-a-test 1.0" in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err
    assert [line for line in ran.err.splitlines() if line.startswith("::")] == []
    if "interface" not in words:
        assert "entry point echo = echo_agent in skillgym_action.agents of the package of-a-test 1.0" in ran.err
        assert "update the package, or uninstall it" in ran.err


def test_two_packages_with_one_name_are_refused(tmp_path):
    site = example_installed(tmp_path / "site")
    installed(site, {"agents": {"echo": "other"}}, {"other": ECHO})
    ran = run(project(tmp_path), site, "run", "--runner", "echo")
    assert (ran.code, ran.err) == (
        2,
        "error: the plug-in echo is in of-a-test 1.0 and skillgym-echo 0.1.0; uninstall all but one of them\n",
    )


def test_no_package_takes_over_a_name_of_the_tool(tmp_path):
    root, marker = project(tmp_path), tmp_path / "imported"
    taken = {
        "agents": ("command", "claude-code"),
        "formats": ("x-bench",),
        "reporters": ("junit",),
        "sandboxes": ("docker",),
    }
    points = {kind: dict.fromkeys(names, "taken") for kind, names in taken.items()}
    site = installed(tmp_path / "site", points, {"taken": MARKED.format(file=str(marker)) + ECHO + TAP})
    ran = run(root, site, "run", "--format", "x-bench", "--report", "junit=out.xml", "--sandbox", "docker")
    assert (ran.code, (root / "out.xml").read_text()[:5]) == (0, "<?xml"), ran
    assert "plugIns" not in results(root)["run"]
    assert run(root, site, "list", "--runner", "claude-code").code == 0
    assert not marker.exists()


def test_no_package_is_looked_at_if_all_names_are_those_of_the_tool(tmp_path):
    root, site = project(tmp_path), installed(tmp_path / "site", {}, {})
    for damage, error in ((b"[\xff]\n", "UnicodeDecodeError"), (b"[console_scripts]\nfoo\n", "TypeError")):
        (site / "of_a_test-1.0.dist-info" / "entry_points.txt").write_bytes(damage)
        ran = run(root, site, "run", "--format", "x-bench", "--report", "junit=out.xml", "--sandbox", "none")
        assert ran.code == 0, ran
        ran = run(root, site, "list", "--runner", "eco")
        said = f"the packages of this Python cannot be searched for plug-ins: {error}" in ran.err
        assert (ran.code, said) == (2, True), ran


def test_a_package_in_the_checkout_is_no_plug_in(tmp_path):
    """Python searches it with ``-m`` or ``PYTHONPATH``; a commit could add a package there."""
    root = project(tmp_path)
    git_in(root, "init", "--quiet")
    example_installed(root / "src")
    argv = (sys.executable, "-m", "skillgym_action", "list", "--runner", "echo")
    more = environment(PYTHONPATH=str(root / "src"))
    ran = subprocess.run(argv, cwd=root, env=more, capture_output=True, text=True, check=False)
    assert (ran.returncode, "unknown runner 'echo'" in ran.stderr) == (2, True), ran


def test_what_a_sandbox_raises_names_the_plug_in(tmp_path):
    site = installed(tmp_path / "site", {"sandboxes": {"vm": "vm"}}, {"vm": FAILING_SANDBOX})
    root = project(tmp_path)
    (root / "bench/core.json").write_text(suite(case(), workspace={"image": "x"}))
    ran = run(root, site, "run", "--sandbox", "vm")
    assert ran.code != 70
    assert "the plug-in vm of of-a-test 1.0 failed: RuntimeError: no vm" in ran.err


def test_doctor_lists_plug_ins_with_what_is_wrong_with_them(tmp_path):
    root, site = project(tmp_path), example_installed(tmp_path / "site")
    installed(site, {"agents": {"claude-code": "b", "\x1b[31mevil\x07": "b", "Upper": "b"}}, {"b": ECHO}, package="b")
    installed(site, {"formats": {"later": "c", "raises": "d"}}, {"c": "API = 2", "d": "1 / 0"}, package="c")
    installed(site, {"formats": {"evals": "b"}, "reporters": {"output": "b", "skill-creator": "b"}}, {}, package="e")
    installed(site, {"sandboxes": {"none": "c"}}, {}, package="\x1b[2Jd\x07", version="1\x1f2")
    ran = run(root, site, "doctor", "--runner", "sh")
    lines = [line.split("plug-in", 1)[1].strip() for line in ran.out.splitlines() if line[2:9] == "plug-in"]
    older = "use versions of skillgym-action and c 1.0 with the same interface: update the older one"
    where = "entry point raises = d in skillgym_action.formats"
    raised = "ZeroDivisionError: division by zero; update the package, or uninstall it"
    unused = "names have a-z, 0-9 and -, and begin with a letter; uninstall the package"
    assert "\x1b" not in ran.out
    assert "\x07" not in ran.out
    assert lines == [
        f"agents: Upper of b 1.0 is not used: {unused}",
        "agents: claude-code of b 1.0 is not used: the tool has one of this name; uninstall the package",
        "agents: echo of skillgym-echo 0.1.0",
        f"agents: �[31mevil� of b 1.0 is not used: {unused}",
        "formats: evals of e 1.0 is not used: the tool has one of this name; uninstall the package",
        f"the plug-in later is for interface 2, and this is interface 1; {older}",
        f"the plug-in raises cannot be loaded: {where} of the package c 1.0: {raised}",
        "reporters: output of e 1.0 is not used: the tool has one of this name; uninstall the package",
        "reporters: skill-creator of e 1.0 is not used: the tool has one of this name; uninstall the package",
        "reporters: tap of skillgym-echo 0.1.0",
        "sandboxes: none of �[2Jd� 1�2 is not used: the tool has one of this name; uninstall the package",
    ]
    assert ran.code == 0, ran


# --- what is used -----------------------------------------------------------------------------------


def test_a_format_of_a_plug_in_reads_files_where_it_is_named_only(tmp_path):
    root = written(project(tmp_path), {"prompts.tiny": "Say a\nSay b\n", "empty.tiny": ""})
    site = installed(example_installed(tmp_path / "site"), {"formats": {"tiny": "tiny"}}, {"tiny": FORMAT})
    unnamed = run(root, site, "list", "--json", "--runner", "echo")
    assert {one["suite"] for one in json.loads(unnamed.out)["executions"]} == {"bench/core.json"}
    refused = run(root, site, "list", "prompts.tiny", "--runner", "echo")
    assert (refused.code, "or use --format tiny" in refused.err) == (2, True), refused
    ran = run(root, site, "run", "--format", "tiny", "--runner", "echo", "--fail-on", "failed")
    found = results(root)
    statuses = {row["caseId"]: row["status"] for one in found["suites"] for row in one["results"]}
    assert (ran.code, statuses) == (0, {"line-1": "passed", "line-2": "passed", "(suite)": "errored"}), ran
    assert [one["name"] for one in found["run"]["plugIns"]] == ["echo", "tiny"]


def test_a_reporter_that_fails_does_not_prevent_the_other_reports(tmp_path):
    broken = TAP.replace("name = terminal_line", "raise ValueError(number)\n        name = terminal_line")
    site = installed(tmp_path / "site", {"reporters": {"tap": "tap_reporter"}}, {"tap_reporter": broken})
    root = project(tmp_path)
    ran = run(root, site, "run", "--report", "tap=-", "--report", "junit=out.xml")
    assert (ran.code, (root / "out.xml").exists(), results(root)["totals"]["passed"]) == (3, True, 1), ran
    assert (
        "error: the plug-in tap of of-a-test 1.0 failed: ValueError: 1; update its package, or uninstall it" in ran.err
    )


def test_a_format_that_fails_is_an_error_that_names_it(tmp_path):
    root = written(project(tmp_path), {"prompts.tiny": "Say a\n"})
    broken = f"{FORMAT}\n\ndef suite(*_):\n    raise ValueError(1)\n"
    site = installed(example_installed(tmp_path / "site"), {"formats": {"tiny": "tiny"}}, {"tiny": broken})
    ran = run(root, site, "check", "--format", "tiny")
    assert (ran.code, "Traceback" in ran.err, "internal error" in ran.err) == (2, False, False), ran
    assert (
        "the plug-in tiny of of-a-test 1.0 failed: ValueError: 1; update its package, or uninstall it"
        in ran.err + ran.out
    )


def test_what_a_reporter_prints_is_no_command_for_the_job_log(tmp_path):
    printing = 'API = 1\n\n\ndef render(report):\n    yield "::error::a\\n##[group]b\\n"\n'
    site = installed(tmp_path / "site", {"reporters": {"log": "log_reporter"}}, {"log_reporter": printing})
    ran = run(project(tmp_path), site, "run", "--report", "log=-")
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if line.startswith(("::", "##["))] == []


class Reusing:
    """A repository whose runner `goose` is an agent of a plug-in, and a store beside it."""

    def __init__(self, folder: Path, files: dict[str, str]) -> None:
        standard = {
            "skillgym.config.yaml": config(goose={"agent": {"type": "goose"}}),
            ".gitignore": ".skillgym-results\n",
            "bench/core.json": None,
        }
        self.root = repository(folder / "project", standard | files, git=True)
        self.site, self.store = folder / "site", folder / "store"
        program = written(folder / "bin", {"goose": "#!/bin/sh\necho 3.2.1\n"}) / "goose"
        program.chmod(0o755)
        self.path = f"{program.parent}:{os.environ['PATH']}"

    def reused(self, version: str, *args: str) -> tuple[list[bool], dict[str, Any]]:
        """Whether each result was reused in a run with this version of the package; the results."""
        without(self.site, "of-a-test")
        points = {"agents": {"goose": "goose_agent"}, "formats": {"tiny": "tiny"}}
        installed(self.site, points, {"goose_agent": AGENT, "tiny": FORMAT}, version=version)
        output = f".skillgym-results/{len(list(self.root.glob('.skillgym-results/*')))}"
        store = ("--store", f"path={self.store}", "--reuse", "unchanged", "--output", output)
        ran = run(self.root, self.site, "run", *store, *args, PATH=self.path)
        assert ran.code == 0, ran
        found = json.loads((self.root / output / "results.json").read_text())
        return ["reused" in row for one in found["suites"] for row in one["results"]], found


def test_another_version_of_a_plug_in_runs_again_and_is_a_difference(tmp_path):
    cases = suite(case("one", ("file:a.txt exists",)), workspace={"templateDir": "template"})
    project = Reusing(tmp_path, {"bench/core.json": cases, "bench/template/a.txt": "a"})
    assert project.reused("1.0", "--store-write")[0] == [False]
    committed(project.root)
    assert project.reused("1.0")[0] == [True]
    reused, found = project.reused("1.1", "--baseline", "auto")
    (row,) = found["suites"][0]["results"]
    assert (reused, row["inputs"]["plugIns"]) == ([False], "goose of of-a-test 1.1")
    assert found["run"]["comparison"]["differences"] == [
        "plug-ins of bench/core.json: one [goose]: goose of of-a-test 1.0 then, goose of of-a-test 1.1 now"
    ]


def test_an_assertion_of_a_plug_in_may_read_any_file_of_the_checkout(tmp_path):
    project = Reusing(tmp_path, {"prompts.tiny": "Say a\n", "other.txt": "a"})
    assert project.reused("1.0", "--format", "tiny", "--store-write")[0] == [False]
    committed(project.root)
    assert project.reused("1.0", "--format", "tiny")[0] == [True]
    written(project.root, {"other.txt": "b"})
    committed(project.root)
    assert project.reused("1.0", "--format", "tiny")[0] == [False]


def test_configuration_of_an_agent_of_a_plug_in_is_left_out_of_untrusted_commits(tmp_path):
    site = installed(tmp_path / "site", {"agents": {"goose": "goose_agent"}}, {"goose_agent": AGENT})
    installed(site, {"agents": {"later": "later_agent"}}, {"later_agent": "API = 2"}, package="later")
    program = (
        "from skillgym_action.workspaces.untrusted_configuration import is_configuration\n"
        "print(is_configuration('a/.goosehints'), is_configuration('CLAUDE.md'), is_configuration('a'))\n"
    )
    argv = (sys.executable, "-c", program)
    ran = subprocess.run(argv, cwd=tmp_path, env=environment(PYTHONPATH=str(site)), capture_output=True, check=True)
    assert ran.stdout == b"True True False\n"


def test_the_printed_schema_has_the_agents_of_plug_ins(tmp_path):
    root, site = project(tmp_path), example_installed(tmp_path / "site")
    written(root, {"skillgym.config.yaml": config(runner(), mine={"agent": {"type": "echo"}})})
    assert run(root, site, "list", "--runner", "mine").code == 0
    printed = json.loads(run(root, site, "schema", "config").out)
    assert "echo" in printed["$defs"]["AgentSection"]["properties"]["type"]["enum"]
