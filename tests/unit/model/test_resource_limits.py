"""Resource limits of a session: their notation, precedence, and what exceeding one means."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from action_step import step
from agentv_files import case as agentv_case
from agentv_files import one_case, read_tests
from builders import run_report
from on_github import github_with
from scratch import case, config, repository, run_in, runner, skillgym, suite, world_in, written
from skillgym_action.cli.action.inputs import settings_of
from skillgym_action.model.errors import ConfigError, SuiteError, UsageError
from skillgym_action.model.resource_limits import LimitError, ResourceLimits, format_size, parse_limits, parse_size
from skillgym_action.model.suite import FoundSuite, WorkspaceSpec
from skillgym_action.model.verdicts import TROUBLES, FailureClass, Status
from skillgym_action.pipeline import pipeline
from skillgym_action.pipeline.stages.load import SuiteFileAccess, load
from skillgym_action.pipeline.stages.plan import plan
from skillgym_action.pipeline.wiring import configuration
from skillgym_action.reports.files.annotations import render as annotations_of
from skillgym_action.reports.files.junit import render as junit_of
from skillgym_action.settings import resolve
from skillgym_action.settings.context import Job, current_context
from skillgym_action.settings.resolve import default_limits
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import Settings, validated_settings
from skillgym_action.settings.slices import PlanOptions
from skillgym_action.settings.suite_options import LoadOptions
from skillgym_action.suites.programs import python as python_suite
from skillgym_action.suites.programs import typescript as typescript_suite
from skillgym_action.suites.xbench import suite as xbench
from skillgym_action.system.processes.launcher import ProcessLauncher
from skillgym_action.system.processes.resource_usage import memory_size
from suite_programs import HEAD, suite_hosts

if TYPE_CHECKING:
    from pathlib import Path

MIB, GIB = 1024**2, 1024**3
OVER = "kill -XFSZ $$"  # as the kernel ends a program that writes beyond the largest size of a file

# --- how limits are written ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written_as", "number"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("4096 B", 4096),
        ("512MiB", 512 * MIB),
        ("4 GiB", 4 * GIB),
        ("1.5gib", 3 * GIB // 2),
        ("2GB", 2_000_000_000),
        (" 500 MB ", 500_000_000),
        ("64kb", 64_000),
        ("1TiB", 1024**4),
        ("none", "none"),
    ],
)
def test_a_size_has_a_unit_or_is_in_bytes(written_as, number):
    assert parse_size(written_as) == number


@pytest.mark.parametrize(
    ("written_as", "problem"),
    [
        pytest.param("4G", "'4G' is not a size", id="a unit that could be two"),
        pytest.param("big", "'big' is not a size", id="a word"),
        pytest.param("-1GiB", "'-1GiB' is not a size", id="negative"),
        pytest.param(True, "True is not a size", id="a boolean"),
        pytest.param(1.5, "1.5 is not a size", id="half a byte"),
        pytest.param(None, "None is not a size", id="nothing"),
        pytest.param(4, "4 is less than 4,096 bytes", id="a number whose unit was forgotten"),
        pytest.param("9999999TiB", "'9999999TiB' is more than any machine has", id="too much"),
    ],
)
def test_an_invalid_size_is_refused_with_an_example(written_as, problem):
    with pytest.raises(LimitError) as caught:
        parse_size(written_as)
    assert str(caught.value) == f"{problem}; write a number of bytes, or a size such as 512MiB, 4 GiB or 2GB"


@pytest.mark.parametrize(
    "text",
    [
        "memory=4GiB,fileSize=100MB,processes=50",
        "memory: 4GiB\nfileSize: '100 MB'  # of logs, mostly\nprocesses: 50\n",
        "{memory: 4GiB, fileSize: 100MB, processes: 50}",
        '{"memory": "4GiB", "fileSize": "100MB", "processes": 50}',
    ],
)
def test_limits_as_text_and_as_yaml_are_equal(text):
    assert parse_limits(text) == {"memory": 4 * GIB, "file_size": 100_000_000, "processes": 50}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            "memory=4",
            "memory: '4' is less than 4,096 bytes; write a number of bytes, or a size such as 512MiB, 4 GiB or 2GB",
        ),
        ("memor=4GiB", "unknown limit 'memor'; known: memory, disk, processes, fileSize"),
        ("memory", "'memory' is not KEY=VALUE, such as memory=4GiB"),
        ("memory=1GiB,memory=2GiB", "memory: is set twice"),
        ("processes=0", "processes: '0' is not a number of processes; write a whole number, 1 or more"),
        ("processes=1.5", "processes: '1.5' is not a number of processes; write a whole number, 1 or more"),
        (7, "7 is not a mapping of limits; known: memory, disk, processes, fileSize"),
    ],
)
def test_a_limit_that_cannot_be_used_is_named(value, problem):
    with pytest.raises(LimitError) as caught:
        parse_limits(value)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("number", "text"),
    [(4096, "4 KiB"), (512 * MIB, "512 MiB"), (4 * GIB, "4 GiB"), (int(5.2 * GIB), "5.2 GiB"), (10, "10 bytes")],
)
def test_sizes_are_shown_in_the_largest_unit_that_fits(number, text):
    assert format_size(number) == text


def test_the_smaller_one_of_two_limits_applies():
    run, own = ResourceLimits(memory=4 * GIB, disk=GIB), ResourceLimits(memory=5 * GIB, disk=MIB, processes=9)
    assert run.tightest(own) == own.tightest(run) == ResourceLimits(memory=4 * GIB, disk=MIB, processes=9)
    assert run.tightest(None) == run


# --- which one wins -----------------------------------------------------------------------------------


def chosen(folder: Path, run: str = "", job: Job | None = None, **given: Any) -> ResourceLimits:
    """The limits of a run whose configuration says ``run``."""
    written(folder, {"skillgym.config.yaml": f"run: {{{run}}}\n", ".git/HEAD": ""})
    here = current_context(folder, {}, job)
    configured = configuration(Settings(), here)
    return resolve.options(validated_settings(given, str), configured, here, runners=1).plan.limits


def test_an_option_wins_over_the_configuration_key_by_key(tmp_path):
    configured = "limits: {memory: 2GiB, disk: 3 GiB, processes: none}"
    assert chosen(tmp_path, configured, limits="memory=1GiB") == ResourceLimits(
        memory=GIB, disk=3 * GIB, processes=None, file_size=4 * GIB
    )


def test_on_the_command_line_processes_and_sizes_of_files_are_limited(tmp_path):
    assert chosen(tmp_path) == ResourceLimits(processes=2048, file_size=4 * GIB)


def test_in_the_action_memory_and_disk_are_limited_as_well(tmp_path):
    memory = memory_size()
    assert memory
    assert chosen(tmp_path, job=Job()) == default_limits(in_action=True)
    assert default_limits(in_action=True) == ResourceLimits(
        memory=memory * 9 // 10, disk=10 * GIB, processes=2048, file_size=4 * GIB
    )
    assert chosen(tmp_path, job=Job(), limits="disk=none").disk is None


def test_limits_from_the_environment_and_from_the_option(tmp_path):
    root = repository(tmp_path)
    refused = skillgym("run", cwd=root, SKILLGYM_LIMITS="memory=lots")
    assert refused.code == 2
    assert "SKILLGYM_LIMITS (--limits): memory: 'lots' is not a size" in refused.err
    refused = skillgym("run", "--limits", "fileSize=1", cwd=root, SKILLGYM_LIMITS="memory=1GiB")
    assert "--limits: fileSize: '1' is less than 4,096 bytes" in refused.err


def test_the_input_is_text_or_a_mapping():
    configured = settings_of({"limits": "memory: 2GiB\nprocesses: 100", "keep": "all"})
    assert (dict(configured.limits), configured.keep) == ({"memory": 2 * GIB, "processes": 100}, "all")
    with pytest.raises(UsageError, match="input limits: disk: '1' is less than"):
        settings_of({"limits": "disk=1"})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("run:\n  limits:\n    memory: 4G\n", "3:5: run.limits.memory: '4G' is not a size; write a number of bytes"),
        ("run:\n  limits:\n    memroy: 4GiB\n", "3:5: run.limits.memroy: unknown key 'memroy'; did you mean 'memory'?"),
        ("run:\n  limits: 4\n", "2:3: run.limits: must be"),
        ("run:\n  keep: some\n", "2:3: run.keep: must be 'all', 'changed' or 'none'"),
    ],
)
def test_an_error_in_the_configuration_has_its_location(tmp_path, text, problem):
    written(tmp_path, {"skillgym.config.yaml": text, ".git/HEAD": ""})
    with pytest.raises(ConfigError) as caught:
        configuration(Settings(), current_context(tmp_path, {}))
    assert str(caught.value).startswith(f"skillgym.config.yaml:{problem}")


def test_what_is_archived_is_chosen_by_option_configuration_and_default(tmp_path):
    def kept(run: str = "", **given: Any) -> str:
        written(tmp_path, {"skillgym.config.yaml": f"run: {{{run}}}\n", ".git/HEAD": ""})
        here = current_context(tmp_path, {})
        settings = validated_settings(given, str)
        return resolve.options(settings, configuration(Settings(), here), here, runners=1).execute.keep

    assert (kept(), kept("keep: none"), kept("keep: none", keep="all")) == ("all", "none", "all")
    with pytest.raises(UsageError, match="keep: unknown word 'some'"):
        validated_settings({"keep": "some"}, str)


# --- suites -------------------------------------------------------------------------------------------


def loaded(root: Path, name: str, body: str):
    """The suite of a program."""
    file = written(root, {name: body}) / name
    made = python_suite if name.endswith(".py") else typescript_suite
    with suite_hosts(root) as hosts:
        return made.suite(SuiteFileAccess(path=name, file=file, hosts=hosts, environment={}))


PYTHON = f"""\
{HEAD}def ok(report, ctx): pass
suite = [Case("a", prompt="p", check=ok)]
workspace = Workspace(limits=LIMITS)
"""
TYPESCRIPT = (
    'import { assert } from "skillgym";\nexport const workspace = { mode: "isolated", limits: LIMITS };\n'
    'export default [{ id: "a", prompt: "p", assert() { assert.ok(1); } }];\n'
)


def of_xbench(root: Path, limits: Any):
    written(root, {"s.json": json.dumps({"cases": [case()], "workspace": {"limits": limits}})})
    return xbench.suite(SuiteFileAccess(path="s.json", file=root / "s.json", hosts=None, environment={}))


def of_python(root: Path, limits: Any):
    spelled = {{"fileSize": "file_size"}.get(key, key): limit for key, limit in limits.items()}
    return loaded(root, "a_suite.py", PYTHON.replace("LIMITS", repr(spelled)))


def of_typescript(root: Path, limits: Any):
    return loaded(root, "a-suite.ts", TYPESCRIPT.replace("LIMITS", json.dumps(limits)))


def of_agentv(root: Path, limits: Any):
    return read_tests(root, agentv_case(), workspace={"limits": limits})


FORMATS = [of_xbench, of_python, of_typescript, of_agentv]


@pytest.mark.parametrize("format_", FORMATS)
def test_every_format_has_limits_in_the_workspace(tmp_path, format_):
    limits = {"memory": "512MiB", "disk": MIB, "processes": 50, "fileSize": "1 MB"}
    expected = ResourceLimits(memory=512 * MIB, disk=MIB, processes=50, file_size=1_000_000)
    assert format_(tmp_path, limits).workspace.limits == expected


@pytest.mark.parametrize(
    ("format_", "where"),
    [
        (of_xbench, "s.json:1:"),
        (of_python, "a_suite.py:4:"),
        (of_typescript, "a-suite.ts"),
        (of_agentv, "evals/EVAL.yaml:1:"),
    ],
)
def test_an_error_in_a_suite_has_its_location(tmp_path, format_, where):
    with pytest.raises(SuiteError) as caught:
        format_(tmp_path, {"memory": "4G"})
    assert str(caught.value).startswith(where)
    assert "memory" in str(caught.value)
    assert "'4G' is not a size" in str(caught.value)


@pytest.mark.parametrize("format_", FORMATS)
def test_an_unknown_limit_of_a_suite_is_refused(tmp_path, format_):
    with pytest.raises(SuiteError, match="memroy"):
        format_(tmp_path, {"memroy": "4GiB"})


def test_limits_alone_do_not_replace_the_configured_workspace(tmp_path):
    """What the configuration says of workspaces is for a suite that says nothing but limits, too."""
    written(tmp_path, {"s.json": json.dumps({"cases": [case()], "workspace": {"limits": {"processes": 9}}})})
    found = FoundSuite(path="s.json", file=tmp_path / "s.json", format="x-bench")
    with suite_hosts(tmp_path) as hosts:
        (made,) = load([found], hosts, LoadOptions(workspace=WorkspaceSpec(mode="none", source="empty", cwd=tmp_path)))
    limits = ResourceLimits(processes=9)
    assert made.workspace == WorkspaceSpec(mode="none", source="empty", cwd=tmp_path, limits=limits)
    assert read_tests(tmp_path, agentv_case(), workspace={"limits": {"processes": 9}}).workspace == WorkspaceSpec(
        limits=limits
    )


def test_limits_of_an_agentv_case_override_those_of_its_suite(tmp_path):
    shared = {"workspace": {"template": "t", "limits": {"memory": "2GiB", "processes": 9}}}
    files = {"evals/t/a.txt": "a"}
    own = one_case(tmp_path, workspace={"limits": {"memory": "3GiB"}}, suite=shared, files=files).workspace
    assert own
    assert (own.limits, own.source) == (ResourceLimits(memory=3 * GIB, processes=9), "template")


def test_a_suite_can_lower_the_limits_of_the_run_and_not_raise_them(tmp_path):
    suite_limits = {"memory": "8GiB", "disk": "1GiB"}
    made = of_xbench(tmp_path, suite_limits)
    (sh,) = runners_of(tmp_path)
    run = ResourceLimits(memory=4 * GIB, disk=2 * GIB, processes=7)
    (execution,) = plan((made,), (sh,), PlanOptions(limits=run)).executions
    assert execution.limits == ResourceLimits(memory=4 * GIB, disk=GIB, processes=7)
    (execution,) = plan((replace(made, workspace=WorkspaceSpec()),), (sh,), PlanOptions()).executions
    assert execution.limits is None


def runners_of(root: Path):
    written(root, {"skillgym.config.yaml": config(runner()), ".git/HEAD": ""})
    here = current_context(root, {})
    return configured_runners(Settings(), configuration(Settings(), here), here)


class Noting(ProcessLauncher):
    """A launcher that records its requests."""

    def __init__(self, door: ProcessLauncher) -> None:
        self.__dict__ = door.__dict__
        self.asked: list[tuple[str, ResourceLimits | None]] = []

    def run(self, invocation, **settings):
        self.asked.append((" ".join(invocation.argv), invocation.limits))
        return super().run(invocation, **settings)


def test_the_agent_the_bootstrap_and_the_commands_of_a_case_have_the_limits(tmp_path):
    files = {"bench/core.json": suite(case(expect=("test:true",)), workspace={"bootstrap": "echo boot"})}
    root = repository(tmp_path, files)
    given = validated_settings({"limits": "memory=2GiB"}, str)
    here = current_context(root, {})
    configured = configuration(given, here)
    found = configured_runners(given, configured, here)
    options = resolve.options(given, configured, here, runners=1)
    with world_in(root) as services:
        door = Noting(services.processes)
        pipeline.run(replace(services, processes=door), found, options, command="run", show=lambda _: None)
    limits = ResourceLimits(memory=2 * GIB, processes=2048, file_size=4 * GIB)
    assert {name: given for name, given in door.asked if "git" not in name} == {
        "sh -c echo boot": limits,
        "sh -c echo done > out.txt": limits,
        "sh -c true": limits,
    }


# --- what comes of a session that passes one -------------------------------------------------------------


def over_the_limit(folder: Path, **more: Any) -> Path:
    """A repository whose agent passes a limit, and fails its assertion, too."""
    script = f"echo x >> '{folder}/log'; {OVER}"
    files = {"bench/core.json": suite(case(**more)), "skillgym.config.yaml": config(runner(script))}
    return repository(folder / "repo", files)


def test_a_session_that_exceeds_a_limit_fails_and_is_not_retried(tmp_path):
    log = tmp_path / "log"
    root = over_the_limit(tmp_path)
    ran = skillgym("run", "--retry", "3", "--output", "out", cwd=root)
    assert ran.code == 1
    assert log.read_text() == "x\n"
    (row,) = json.loads((root / "out" / "results.json").read_text())["suites"][0]["results"]
    assert (row["status"], row["failureOrigin"]) == ("failed", "limit")
    assert row["failureClass"] == {"id": "resource-limit", "label": "Resource limit exceeded"}
    assert "limits.fileSize" in row["error"]["message"]
    assert [outcome["passed"] for outcome in row["outcomes"]] == [False], "evaluated for diagnosis"
    assert json.loads((root / "out" / "results.json").read_text())["totals"]["passRate"] == 0
    assert "✗ 1 result: Resource limit exceeded: " in ran.err
    assert '<failure type="skillgym.resource-limit"' in (root / "out" / "junit.xml").read_text()


def test_an_expected_failure_does_not_cover_a_limit(tmp_path):
    root = over_the_limit(tmp_path, expectedFail=True)
    (result,) = run_in(root, fail_on="failed", limits="memory=2GiB").results
    assert result.status is Status.FAILED


@pytest.mark.slow
def test_a_resumed_run_keeps_sessions_that_exceeded_a_limit(tmp_path):
    log = tmp_path / "log"
    root = over_the_limit(tmp_path)
    first = skillgym("run", "--output", "out", cwd=root)
    again = skillgym("run", "--resume", "out", cwd=root)
    assert (first.code, again.code) == (1, 1)
    assert log.read_text() == "x\n", "it was not run again"
    assert '<failure type="skillgym.resource-limit"' in (root / "out" / "junit.xml").read_text()
    reported = skillgym("report", "out", "--output", "second", cwd=root)
    assert reported.code == 1
    assert '<failure type="skillgym.resource-limit"' in (root / "second" / "junit.xml").read_text()


def limited():
    """A report of one execution that failed by a limit, and whose assertion failed, too."""
    report = run_report("fix failed resource-limit: used 5.2 GiB of memory; the limit is 4 GiB (limits.memory)")
    (result,) = report.results
    kind = TROUBLES["resource-limit"]
    failure_class = FailureClass(id="resource-limit", label=kind.label)
    judgement = replace(result.judgement, origin=kind.origin, failure_class=failure_class)
    return replace(report, results=(replace(result, judgement=judgement),))


def test_reports_blame_the_limit_and_not_an_assertion():
    report = limited()
    assert 'failure type="skillgym.resource-limit" message="used 5.2 GiB of memory' in "".join(junit_of(report))
    (line,) = annotations_of(report)
    assert line.endswith("::used 5.2 GiB of memory; the limit is 4 GiB (limits.memory)\n")


def test_limits_of_a_session_and_of_its_model_are_failures():
    failed = {name: kind.origin for name, kind in TROUBLES.items() if kind.status is Status.FAILED}
    limits = dict.fromkeys(("timeout", "max-steps", "budget-exceeded", "resource-limit", "out-of-memory"), "limit")
    assert failed == limits | dict.fromkeys(("context-exceeded", "output-limit", "refused"), "model")


def test_the_action_takes_both_inputs(tmp_path):
    root = over_the_limit(tmp_path)
    with github_with() as github:
        found = step(root, github, INPUT_LIMITS="memory: 2GiB", INPUT_KEEP="none")
    assert (found.code, found.outputs["verdict"], found.outputs["failed"]) == (1, "failed", "1")
    assert "Resource limit exceeded" in found.summary
