"""Where the action reads and writes: the workspace, the folder that it works in, and what outputs say about it."""

from __future__ import annotations

import json

import pytest

from action_step import step
from runner_parsers import command, commands
from scratch import case, config, repository, runner, skillgym, suite

PUSH = ("push", {})
BENCH = {"bench/core.json": suite(case())}


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in files.items()}


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path / "r", below("sub", {"skillgym.config.yaml": config(runner()), **BENCH}), git=True)


def test_paths_in_outputs_are_relative_to_the_workspace(root):
    inputs = {"working-directory": "sub", "junit-path": "reports/j.xml", "report-dir": "run"}
    found = step(root, None, inputs, event=PUSH)
    assert found.code == 0, found.said
    paths = {name: text for name, text in found.outputs.items() if name.endswith(("-path", "-dir"))}
    assert paths == {
        "report-dir": "sub/run",
        "junit-path": "sub/reports/j.xml",
        "results-path": "sub/run/results.json",
        "html-path": "sub/run/report.html",
        "summary-path": "sub/run/summary.md",
        "store-path": "",  # this store is no artifact
    }
    assert [name for name, path in paths.items() if path and not (root / path).exists()] == []
    assert found.said.endswith("reports: sub/run\n")


def test_the_default_run_directory_can_be_uploaded(root):
    repository(root, {"skillgym.config.yaml": config(runner()), **BENCH})
    found = step(root, None, {"working-directory": "sub"}, event=PUSH)
    folder = found.outputs["report-dir"]
    assert folder.startswith("sub/.skillgym-results/")
    assert (root / folder / "results.json").is_file()
    assert found.outputs["results-path"] == f"{folder}/results.json"


@pytest.mark.parametrize(
    ("inputs", "named"),
    [
        pytest.param({"report-dir": "../x"}, "the run directory ../x", id="report-dir"),
        pytest.param({"store": "path=../x"}, "the store ../x", id="store"),
        pytest.param({"mode": "trend", "store": "path=s", "html-path": "../x"}, "the trend page ../x", id="trend"),
        pytest.param({"report-dir": "/github/runner_temp/x"}, "the run directory /github/runner_temp/x", id="absolute"),
    ],
)
def test_what_would_be_lost_with_the_container_is_refused(root, inputs, named):
    repository(root, {"skillgym.config.yaml": config(runner()), **BENCH})
    found = step(root, None, inputs, event=PUSH)
    assert found.code == 2
    assert f"{named} is outside of the workspace: it would be lost with the action's container" in found.said
    assert not (root.parent / "x").exists()
    assert not (root / ".skillgym-results").exists()


def test_a_configuration_cannot_write_out_of_the_workspace_either(tmp_path):
    run = json.loads(config(runner())) | {"run": {"outputDir": "../x"}}
    root = repository(tmp_path / "r", {"skillgym.config.yaml": json.dumps(run), **BENCH})
    found = step(root, None, {}, event=PUSH)
    assert found.code == 2
    assert "run.outputDir: .. leads out of the checkout" in found.said
    assert not (tmp_path / "x").exists()


def test_a_folder_beside_the_working_directory_is_in_the_workspace(root):
    found = step(root, None, {"working-directory": "sub", "report-dir": "../run"}, event=PUSH)
    assert (found.code, found.outputs["report-dir"]) == (0, "run")


def test_paths_of_the_runners_machine_are_those_of_the_workspace(root):
    machine = "/home/runner/work/skills"
    inputs = {"working-directory": "sub", "suites": f"bench\n{machine}/skills/sub/bench/core.json"}
    inputs["report-dir"] = f"{machine}/skills/run"
    found = step(root, None, inputs, event=PUSH, RUNNER_WORKSPACE=machine)
    assert (found.code, found.outputs["report-dir"]) == (0, "run"), found.said


def test_a_path_of_the_machine_outside_of_the_workspace_is_told(root):
    found = step(root, None, {"report-dir": "/home/runner/work/x"}, event=PUSH)
    assert found.code == 2
    assert "input report-dir: /home/runner/work/x does not exist inside the action's container" in found.said
    assert "relative to the workspace" in found.said


def test_a_working_directory_that_is_missing_is_an_error(root):
    found = step(root, None, {"working-directory": "sup"}, event=PUSH)
    assert found.code == 2
    assert "input working-directory: there is no folder sup; did you mean 'sub'?" in found.said
    assert not (root / "sup").exists()


# --- inputs that mirror the command line ------------------------------------------------------------


def test_reports_of_any_kind(root):
    inputs = {"working-directory": "sub", "reports": "ctrf=ctrf.json\njunit=a/j.xml", "results-path": "r.json"}
    found = step(root, None, inputs, event=PUSH)
    assert found.code == 0, found.said
    assert (found.outputs["junit-path"], found.outputs["results-path"]) == ("sub/a/j.xml", "sub/r.json")
    assert json.loads((root / "sub/ctrf.json").read_text())["reportFormat"] == "CTRF"


def test_formats_and_recordings(root):
    inputs = {"working-directory": "sub", "formats": "x-bench", "record": "recorded", "agentv-compat": "true"}
    found = step(root, None, inputs, event=PUSH)
    assert (found.code, found.outputs["executions"]) == (0, "2"), found.said
    assert len(list((root / "sub/recorded").rglob("report.json"))) == 2
    found = step(root, None, {"working-directory": "sub", "formats": "python"}, event=PUSH)
    assert found.code == 2


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        pytest.param({"formats": "xbench"}, "input formats: ", id="no such format"),
        pytest.param({"resume": "nothing"}, "cannot resume nothing: there is no journal", id="nothing to resume"),
        pytest.param({"mode": "report", "results": "x", "resume": "y"}, "does not use the input resume", id="report"),
        pytest.param({"agent-user": "nobody-like-that"}, "there is no user 'nobody-like-that'", id="no such user"),
    ],
)
def test_a_mistake_in_them_is_told_in_words(root, inputs, words):
    found = step(root, None, {"working-directory": "sub", **inputs}, event=PUSH)
    assert found.code == 2
    assert words in found.said


def test_a_run_is_resumed_from_the_folder_that_an_earlier_attempt_left(tmp_path):
    agent = 'echo "$CASE" >>"$LOG"; echo x >out.txt'
    files = {
        "skillgym.config.yaml": config(runner(agent, env={"LOG": str(tmp_path / "begun")})),
        "bench/core.json": suite(case("a"), case("b")),
    }
    root = repository(tmp_path / "r", files, git=True)
    (tmp_path / "begun").touch()
    (tmp_path / "begun").chmod(0o666)
    first = step(root, None, {"report-dir": "run", "cases": "a"}, event=PUSH)
    assert first.code == 0, first.said
    again = step(root, None, {"resume": "run", "report-dir": "run"}, event=PUSH)
    assert again.code == 0, again.said
    assert "resumed: 1 session finished before" in again.said
    assert (again.outputs["executions"], again.outputs["report-dir"]) == ("2", "run")
    assert (tmp_path / "begun").read_text().count("\n") == 2
    other = step(root, None, {"resume": "run", "report-dir": "other"}, event=PUSH)
    assert other.code == 2
    assert "a resumed run stays in its directory" in other.said


# --- the log ----------------------------------------------------------------------------------------

SAYS = "printf 'first\\n::error::mine\\r::endgroup::\\n##[endgroup]\\nlast'; echo x >out.txt; echo $KEY >&2"


@pytest.fixture
def told(tmp_path):
    files = {
        "skillgym.config.yaml": config(runner(SAYS, env={"KEY": "sk-ant-0123456789"})),
        "bench/core.json": suite(
            case("good"), case("bad", ("file:out.txt exists", "file:nothing exists")), case("odd")
        ),
    }
    return repository(tmp_path / "r", files, git=True)


def test_each_execution_is_a_group_and_what_is_red_is_shown_again_without(told):
    found = step(told, None, {}, event=PUSH)
    assert found.code == 1
    lines = found.said.splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("::group::")]
    ends = [number for number, line in enumerate(lines) if line == "::endgroup::"]
    assert [lines[number].split("  ")[0] for number in begins] == [
        "::group::1/3 ✓ good [sh]",
        "::group::2/3 ✗ bad [sh]",
        "::group::3/3 ✓ odd [sh]",
    ]
    assert len(ends) == 3
    assert all(one < other for one, other in zip(begins, ends, strict=True))
    unfolded = lines[ends[-1] :]
    assert "  bad on sh" in unfolded
    assert any(line.startswith("✗ 1 result: file:nothing exists: ") for line in unfolded)
    assert "      last" in unfolded
    assert commands(found.said) == [name for _ in range(3) for name in ("group", "group", "endgroup", "endgroup")]
    assert {name for name, *_ in filter(None, map(command, found.said.splitlines()))} == {"group", "endgroup"}
    assert " took " not in found.said
    assert "$ " not in found.said.split("::group::")[0]


@pytest.mark.parametrize(("inputs", "more"), [({"verbose": "true"}, {}), ({}, {"RUNNER_DEBUG": "1"})])
def test_verbose_and_debug_logging_show_commands_and_times(told, inputs, more):
    found = step(told, None, inputs, event=PUSH, **more)
    assert found.code == 1
    for stage in ("suites and plan", "installation of agents", "sessions", "reports"):
        assert f"\n{stage} took " in f"\n{found.said}"
    assert "bad [sh] repetition 1: $ sh -c " in found.said
    assert "bad [sh] repetition 1: exited with 0 after " in found.said
    assert "sk-ant-0123456789" not in found.said


def test_a_secret_in_a_command_line_is_not_shown(tmp_path):
    agent = {"type": "command", "command": ["sh", "-c", "echo x >out.txt", "it's a-password-in-an-argument"]}
    files = {"skillgym.config.yaml": json.dumps({"runners": {"sh": {"agent": agent}}}), **BENCH}
    root = repository(tmp_path / "r", files, git=True)
    found = step(root, None, {"verbose": "true"}, event=PUSH, MY_PASSWORD="it's a-password-in-an-argument")
    assert found.code == 0, found.said
    assert "repetition 1: $ sh -c 'echo x >out.txt' '***'\n" in found.said
    assert "password-in" not in found.said


def test_stored_results_have_groups_as_well(told):
    step(told, None, {"report-dir": "run"}, event=PUSH)
    found = step(told, None, {"mode": "report", "results": "run", "report-dir": "again"}, event=PUSH)
    assert found.said.count("::group::") == 3
    assert "✗ bad [sh]" in found.said


def test_the_command_line_has_no_groups(told):
    found = skillgym("run", "--verbose", cwd=told)
    assert "::group::" not in found.err
    assert "bad [sh]: final output" in found.err
