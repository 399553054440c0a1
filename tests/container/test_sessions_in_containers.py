"""Sessions in a container each, with a real engine: suites of each format, limits, network, ends of runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psutil
import pytest

from dask_cluster import Cluster, engine_settings
from scratch import HUNG, case, config, repository, runner, skillgym, started, suite
from skillgym_action.workspaces.session_containers import run_label
from waiting import until

if TYPE_CHECKING:
    from pathlib import Path

IMAGE = "python:3.12-slim"
RUN_LABEL = "skillgym-action.run"
BOX: dict[str, Any] = {"image": IMAGE, "network": "none"}


def docker(*args: str) -> str:
    """What Docker's client prints."""
    done = subprocess.run(("docker", *args), capture_output=True, text=True, check=True, timeout=60)
    return done.stdout


def left_of(run: Path) -> list[str]:
    """Containers and networks of a run that are still there."""
    label = f"label={RUN_LABEL}={run_label(run)}"
    return [
        *docker("ps", "--all", "--quiet", "--filter", label).split(),
        *docker("network", "ls", "--quiet", "--filter", label).split(),
    ]


def results_of(folder: Path, output: str = "results") -> list[dict[str, Any]]:
    """The results of a run."""
    document = json.loads((folder / output / "results.json").read_text())
    return [result for each in document["suites"] for result in each["results"]]


def ran(folder: Path, *args: str, output: str = "results", limit: float = 300, **env: str):
    """A whole run; nothing of it may be left in the engine."""
    done = skillgym("run", "--output", output, "--no-html", *args, cwd=folder, limit=limit, **env)
    assert left_of(folder / output) == []
    return done


def boxed(folder: Path, *cases: dict[str, Any], agent: str = "id -u > out.txt", **workspace: Any) -> Path:
    """A repository with one x-bench suite whose sessions run in containers."""
    text = suite(*cases, workspace={**BOX, **workspace})
    return repository(folder, {"bench/core.json": text, "skillgym.config.yaml": config(runner(agent))})


# --- each format ------------------------------------------------------------------------------------


def test_agent_bootstrap_and_commands_of_an_x_bench_suite_run_in_the_container(tmp_path):
    inside = "test:grep -q bookworm /etc/os-release && test ! -e " + str(tmp_path)
    root = boxed(
        tmp_path,
        case(expect=("file:out.txt contains '0'", "file:made.txt exists", "diff:out.txt", inside)),
        bootstrap="echo before > made.txt",
    )
    done = ran(root)
    assert done.code == 0, done.out
    (result,) = results_of(root)
    assert result["status"] == "passed"
    folder = root / "results" / result["artifactDir"]
    assert json.loads((folder / "workspace.json").read_text())["created"] == ["out.txt"]
    assert "+0" in (folder / "changes.diff").read_text()


def test_the_check_of_a_python_suite_reads_the_files_that_the_agent_left_in_the_container(tmp_path):
    program = f"""
from pathlib import Path
from skillgym_action import Suite, Workspace

workspace = Workspace(image="{IMAGE}", network="none", workdir="/app", limits={{"cpus": 1, "pids": 200}})
suite = Suite()

@suite.case("reads", prompt="Do it")
def reads(report, ctx):
    assert report.cwd != "/app"
    assert Path(report.cwd, "where.txt").read_text() == "/app\\n"
"""
    agent = runner("pwd > where.txt")
    root = repository(
        tmp_path, {"bench/core.json": None, "box_suite.py": program, "skillgym.config.yaml": config(agent)}
    )
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (0, "passed"), done.out


def test_the_check_of_a_typescript_suite_reads_the_files_that_the_agent_left_in_the_container(tmp_path):
    program = f"""
import {{ readFileSync }} from "node:fs";
import type {{ BenchmarkSuite, SuiteWorkspaceConfig }} from "skillgym";

export const workspace: SuiteWorkspaceConfig = {{ mode: "isolated", image: "{IMAGE}", network: "none" }};

const suite = [{{
  id: "reads",
  prompt: "Do it",
  assert(report: any) {{
    if (readFileSync(`${{report.cwd}}/where.txt`, "utf8") !== "/workspace\\n") throw new Error("another folder");
  }},
}}];
export default suite;
"""
    agent = runner("pwd > where.txt")
    root = repository(
        tmp_path, {"bench/core.json": None, "box.suite.ts": program, "skillgym.config.yaml": config(agent)}
    )
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (0, "passed"), done.out


def test_the_configuration_gives_suites_without_a_workspace_a_container(tmp_path):
    program = """
from skillgym_action import Suite

suite = Suite()

@suite.case("where", prompt="Do it")
def where(report, ctx):
    assert ctx.final_output().strip() == "/workspace"
"""
    workspace = {"mode": "isolated", "image": IMAGE, "network": "none"}
    files = {
        "bench/core.json": None,
        "box_suite.py": program,
        "skillgym.config.yaml": config(runner("pwd"), run={"workspace": workspace}),
    }
    root = repository(tmp_path, files)
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (0, "passed"), done.out


SKILL = "---\nname: greet\ndescription: d\n---\nGreet.\n"
AGENTV = "name: a\nworkspace: {template: files}\ntests:\n"
AGENTV += "  - {id: one, input: hello, assertions: [{type: contains, value: bookworm}]}\n"
ELSEWHERE: dict[str, dict[str, Any]] = {
    "evals of a skill": {
        "skills/greet/SKILL.md": SKILL,
        "skills/greet/evals/trigger-evals.json": json.dumps([{"query": "hi", "should_trigger": True}]),
    },
    "a template of AgentV": {"evals/a.eval.yaml": AGENTV, "evals/files/a.txt": "a"},
    "a bootstrap": {
        "bench/own.json": suite(case(expect=("test:grep bookworm /etc/os-release",)), workspace={"bootstrap": "true"})
    },
}


@pytest.mark.parametrize("files", ELSEWHERE.values(), ids=ELSEWHERE.keys())
def test_suites_with_another_workspace_do_not_leave_the_container_of_the_configuration(tmp_path, files):
    workspace = {"mode": "isolated", "image": IMAGE, "network": "none"}
    agent = runner(f"touch {tmp_path}/ran; cat /etc/os-release")
    settings = {"skillgym.config.yaml": config(agent, run={"workspace": workspace})}
    root = repository(tmp_path / "repo", {"bench/core.json": None, **files, **settings})
    done = ran(root)
    printed = [log.read_text() for log in (root / "results").rglob("repeat-1/stdout.log")]
    assert printed, done.out + done.err
    assert all("bookworm" in text for text in printed)
    assert not (tmp_path / "ran").exists()


def test_a_workspace_that_sessions_share_is_refused_where_the_configuration_asks_for_a_container(tmp_path):
    program = """
from skillgym_action import Suite, Workspace

workspace = Workspace(mode="shared", template_dir="files")
suite = Suite()

@suite.case("one", prompt="Do it")
def one(report, ctx):
    pass
"""
    workspace = {"mode": "isolated", "image": IMAGE, "network": "none"}
    settings = config(runner(f"touch {tmp_path}/ran"), run={"workspace": workspace})
    files = {"bench/core.json": None, "a_suite.py": program, "files/a.txt": "a", "skillgym.config.yaml": settings}
    done = skillgym("run", cwd=repository(tmp_path / "repo", files))
    assert done.code == 2, done.out + done.err
    assert "a_suite.py: its workspace has the mode shared, and run.workspace of the configuration asks" in done.err
    assert not (tmp_path / "ran").exists()


def test_files_of_the_image_are_part_of_the_workspace_and_only_the_agents_changes_are_its(tmp_path):
    dockerfile = f"FROM {IMAGE}\nWORKDIR /app\nRUN echo one > kept.txt && echo two > changed.txt && echo 3 > gone.txt\n"
    text = suite(
        case(expect=("file:kept.txt contains 'one'", "diff:changed.txt", "no-file:gone.txt", "file:input.txt exists")),
        workspace={"dockerfile": "image/Dockerfile", "network": "none"},
    )
    files = {
        "core.bench.json": text,
        "bench/core.json": None,
        "image/Dockerfile": dockerfile,
        "input.txt": "in",
        "skillgym.config.yaml": config(runner("echo more >> changed.txt; rm gone.txt; mkdir d; echo new > d/new.txt")),
    }
    root = repository(tmp_path, files)
    done = ran(root)
    (result,) = results_of(root)
    assert (done.code, result["status"]) == (0, "passed"), done.out
    folder = root / "results" / result["artifactDir"]
    changes = json.loads((folder / "workspace.json").read_text())
    assert [changes[kind] for kind in ("created", "modified", "deleted")] == [
        ["d/new.txt"],
        ["changed.txt"],
        ["gone.txt"],
    ]
    diff = (folder / "changes.diff").read_text()
    assert " two\n+more\n" in diff
    assert "-3\n" in diff


def test_an_agent_and_commands_run_as_the_user_that_the_suite_names(tmp_path):
    root = boxed(
        tmp_path,
        case(expect=("file:out.txt contains '1234'", "test:test $(id -u) = 1234 && touch new && test -w out.txt")),
        user="1234:1234",
    )
    assert ran(root).code == 0


def test_the_diff_has_nothing_of_what_commands_of_the_suite_changed(tmp_path):
    root = boxed(tmp_path, case(expect=("test:echo more > other.txt", "file:other.txt exists", "file:out.txt exists")))
    assert ran(root).code == 0
    folder = root / "results" / results_of(root)[0]["artifactDir"]
    assert "other.txt" not in (folder / "changes.diff").read_text()


def test_a_failed_workspace_is_archived_as_the_container_had_it(tmp_path):
    root = boxed(tmp_path, case(expect=("file:missing.txt exists",)))
    assert ran(root, "--keep", "all").code == 1
    (archived,) = (root / "results" / "workspaces").glob("*/*/*/repeat-1")
    assert (archived / "out.txt").read_text() == "0\n"


# --- many, and ends ---------------------------------------------------------------------------------


def test_fifty_containers_at_once_all_pass_and_nothing_is_left(tmp_path):
    root = boxed(tmp_path, *(case(f"case-{number}") for number in range(50)))
    done = ran(root, "--jobs", "50", limit=600)
    assert done.code == 0, done.out
    assert [result["status"] for result in results_of(root)] == ["passed"] * 50


def containers_of(run: Path) -> list[str]:
    return docker("ps", "--quiet", "--filter", f"label={RUN_LABEL}={run_label(run)}").split()


def test_nothing_of_a_killed_run_goes_on_and_it_is_resumed_and_leaves_nothing(tmp_path):
    root = boxed(tmp_path, *(case(f"case-{number}") for number in range(4)), agent="sleep 2; echo done > out.txt")
    run = started("run", "--output", "killed", "--no-html", cwd=root)
    journal = root / "killed" / "journal.jsonl"
    until(lambda: journal.is_file() and containers_of(root / "killed"), "a container")
    until(lambda: journal.read_text().count('{"digest"') >= 1, "a session that has ended")
    run.send_signal(signal.SIGKILL)
    run.communicate()
    # One that was just made and never ran is left to the next run.
    until(lambda: not containers_of(root / "killed"), "the end of the containers")
    done = skillgym("run", "--resume", "killed", "--no-html", cwd=root, limit=300)
    assert done.code == 0, done.out
    assert len(results_of(root, "killed")) == 4
    assert left_of(root / "killed") == []


def test_a_cancelled_run_removes_its_containers_and_ends(tmp_path):
    root = boxed(tmp_path, case(), agent="sleep 600")
    run = started("run", "--output", "cancelled", "--no-html", cwd=root)
    until(lambda: containers_of(root / "cancelled"), "a container")
    run.send_signal(signal.SIGTERM)
    out, _ = run.communicate(timeout=HUNG)
    assert run.returncode == 130, out
    assert left_of(root / "cancelled") == []


def processes_with(words: str) -> list[psutil.Process]:
    """Processes of this machine, also those in containers, whose command line ends with these words."""
    return [one for one in psutil.process_iter(["cmdline"]) if " ".join(one.info["cmdline"] or ()).endswith(words)]


def test_a_cancelled_run_ends_the_build_of_its_image(tmp_path):
    mark = f"sleep 6{uuid4().int % 10**12}"
    files = {
        "bench/core.json": suite(case(), workspace={"dockerfile": "environment/Dockerfile"}),
        "bench/environment/Dockerfile": f"FROM {IMAGE}\nRUN {mark}\n",
        "skillgym.config.yaml": config(runner()),
    }
    root = repository(tmp_path, files)
    run = started("run", "--output", "cancelled", "--no-html", cwd=root)
    until(lambda: processes_with(mark), "the build")
    run.send_signal(signal.SIGTERM)
    out, _ = run.communicate(timeout=HUNG)
    assert run.returncode == 130, out
    until(lambda: not processes_with(mark), "the end of the build")


# --- limits and network -----------------------------------------------------------------------------


def test_the_workspace_may_be_a_folder_of_the_image_with_many_files(tmp_path):
    """Whether it has files is seen in the first ones; the engine answers nothing else until the others are sent."""
    root = boxed(tmp_path, case(expect=("file:out.txt exists",)), workdir="/etc")
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (0, "passed"), done.err


@pytest.mark.parametrize(("workdir", "whose"), [("/dev/shm/work", "the kernel"), ("/skillgym/work", "the tool")])
def test_a_folder_whose_files_cannot_be_read_is_no_workspace(tmp_path, workdir, whose):
    root = boxed(tmp_path, case(expect=("file:out.txt exists",)), workdir=workdir)
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (3, "errored"), done.err
    assert f"the folder of the workspace cannot be {workdir}: " in done.err
    assert f"belongs to {whose}; name another workdir, such as /app" in done.err


FAILS = {"test": "grep -q secret out.txt", "fails": True}


def test_the_workspace_that_an_agent_removed_is_made_again_for_commands(tmp_path):
    root = boxed(tmp_path, case(expect=("test:pwd", FAILS)), agent="cd /; rm -rf /workspace")
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (0, "passed"), done.err


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("cd /; rm -rf /workspace; echo secret > /workspace", "was not run: cannot start 'sh': "),
        ("rm /bin/sh /bin/dash; true", "was not run: cannot start 'sh': "),
        ("cd /; rm -rf /workspace; ln -s /workspace /workspace", "cannot read /workspace in the container: "),
    ],
    ids=["file", "no shell", "endless link"],
)
def test_a_command_that_cannot_be_started_has_not_failed_as_it_should(tmp_path, agent, said):
    root = boxed(tmp_path, case(expect=(FAILS,)), agent=agent)
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (3, "errored"), done.err
    assert said in done.err
    assert "Errno" not in done.err
    assert "Server Error" not in done.err


def test_a_container_that_needs_more_memory_than_it_may_is_out_of_memory(tmp_path):
    root = boxed(
        tmp_path,
        case(expect=("file:out.txt exists",)),
        agent="exec python3 -c 'x = bytearray(400 * 1024 * 1024); print(len(x))'",
        limits={"memory": "64MiB"},
    )
    done = ran(root)
    (result,) = results_of(root)
    assert (result["status"], result["failureClass"]["id"]) == ("failed", "out-of-memory"), done.out


def test_a_fork_bomb_stays_below_the_limit_of_processes_and_the_machine_goes_on(tmp_path):
    bomb = "python3 -c 'import os\nfor i in range(5000): os.fork() or os._exit(__import__(\"time\").sleep(600))'"
    root = boxed(tmp_path, case(timeout=20), case("two"), agent=f"{bomb} 2>err.txt; true", limits={"pids": 64})
    ran(root)
    folder = root / "results" / results_of(root)[0]["artifactDir"]
    assert "Resource temporarily unavailable" in (folder / "changes" / "err.txt").read_text()


def test_a_container_that_writes_more_than_it_may_is_stopped(tmp_path):
    root = boxed(
        tmp_path,
        case(),
        agent="dd if=/dev/zero of=/var/big bs=1M count=300; sleep 60; echo done > out.txt",
        limits={"disk": "50MiB"},
    )
    ran(root)
    (result,) = results_of(root)
    assert (result["status"], result["failureClass"]["id"]) == ("failed", "resource-limit")


def test_without_a_network_nothing_is_reached(tmp_path):
    agent = "python3 -c 'import socket; socket.create_connection((\"172.17.0.1\", 80), 3)' 2> err.txt; true"
    root = boxed(tmp_path, case(expect=("file:err.txt contains 'unreachable'",)), agent=agent)
    assert ran(root).code == 0


def test_what_the_network_refused_is_named_in_the_message_of_a_session_that_failed(tmp_path):
    agent = "python3 -c 'import urllib.request as r; r.urlopen(\"http://example.com\", timeout=9)'; true"
    hosts = {"mode": "allow-list", "hosts": ["pypi.org"]}
    root = boxed(tmp_path, case(), agent=agent, network=hosts)
    assert ran(root).code == 1
    (result,) = results_of(root)
    assert "the container's network refused: " in result["error"]["message"]
    assert "example.com" in result["error"]["message"]
    refused = json.loads((root / "results" / result["artifactDir"] / "network.json").read_text())["refused"]
    assert "example.com" in refused[0]["target"]


# --- arms and skills --------------------------------------------------------------------------------


def test_an_arm_adds_and_removes_files_of_the_container(tmp_path):
    found = "ls > out.txt; cat instructions.txt >> out.txt 2>/dev/null; true"
    text = suite(
        case(expect=("file:out.txt contains 'with the arm'", "no-file:old.txt")),
        workspace=BOX,
        arms={"with": {"files": "arms/with", "remove": ["old.txt"]}, "without": {}},
    )
    files = {
        "bench/core.json": text,
        "bench/arms/with/instructions.txt": "with the arm",
        "old.txt": "old",
        "skillgym.config.yaml": config(runner(found)),
    }
    root = repository(tmp_path, files)
    done = ran(root)
    assert {result["arm"]: result["status"] for result in results_of(root)} == {"with": "passed"}, done.out


def test_files_that_the_image_does_not_remove_are_an_error(tmp_path):
    workspace = {"dockerfile": "environment/Dockerfile", "network": "none"}
    arms = {"with": {"remove": ["old.txt"]}, "without": {}}
    files = {
        "bench/core.json": suite(case(expect=("no-file:old.txt",)), workspace=workspace, arms=arms),
        "bench/environment/Dockerfile": f"FROM {IMAGE}\nRUN printf '#!/bin/sh\\n' > /bin/rm\n",
        "old.txt": "old",
        "skillgym.config.yaml": config(runner()),
    }
    root = repository(tmp_path, files)
    done = ran(root)
    assert (done.code, results_of(root)[0]["status"]) == (3, "errored"), done.err
    assert "rm in the container did not remove old.txt" in done.err


def test_a_skill_under_test_is_in_the_container(tmp_path):
    # evals of skills have no workspace of their own that could name an image: the repository's skill is copied
    agent = "cat .claude/skills/greeter/SKILL.md .agents/skills/greeter/SKILL.md > out.txt"
    files = {
        "bench/core.json": suite(case(expect=("file:out.txt contains 'Greet'", "diff:out.txt")), workspace=BOX),
        ".claude/skills/greeter/SKILL.md": "---\nname: greeter\ndescription: d\n---\nGreet.\n",
        "skillgym.config.yaml": config(runner(agent)),
    }
    root = repository(tmp_path, files)
    assert ran(root).code == 0
    created = json.loads((root / "results" / results_of(root)[0]["artifactDir"] / "workspace.json").read_text())
    assert created["created"] == ["out.txt"]


def test_a_recorded_session_is_played_in_a_container(tmp_path):
    root = boxed(tmp_path, case(expect=("file:out.txt contains '0'", "test:grep -q bookworm /etc/os-release")))
    assert ran(root, "--record", "recorded").code == 0
    replay = {"agent": {"type": "replay", "sessions": "recorded"}}
    (root / "skillgym.config.yaml").write_text(json.dumps({"runners": {"sh": replay}}))
    assert ran(root, output="played").code == 0


def test_an_image_that_is_not_there_makes_the_session_errored_and_the_others_run(tmp_path):
    root = boxed(tmp_path, case(timeout=60), image="no-such-image.example/a:1")
    done = ran(root)
    (result,) = results_of(root)
    assert (done.code, result["status"]) == (3, "errored"), done.out
    assert "no-such-image.example/a:1" in result["error"]["message"]


# --- where there is no engine -----------------------------------------------------------------------


def test_a_suite_with_an_image_is_never_run_without_a_container(tmp_path):
    root = boxed(tmp_path, case(), agent="touch " + str(tmp_path / "ran"))
    refused = skillgym("run", "--sandbox", "none", cwd=root)
    assert refused.code == 2
    assert "bench/core.json: workspace asks for a container, and the sandbox is none" in refused.err
    unreachable = skillgym("run", cwd=root, DOCKER_HOST=f"unix://{tmp_path}/nothing.sock")
    assert unreachable.code == 2
    assert "workspace asks for a container: no Docker engine answers at " in unreachable.err
    assert unreachable.err.count("DOCKER_HOST") == 1
    assert not (tmp_path / "ran").exists()
    assert not list(tmp_path.glob(".skillgym-results/*/journal.jsonl"))


# --- on workers -------------------------------------------------------------------------------------


def on_workers(folder: Path, cluster: Cluster) -> Path:
    """A repository whose sessions are given to the workers; ``ran`` in ``folder`` is there if one ran without image."""
    expect = ("file:out.txt exists", "test:grep -q bookworm /etc/os-release && test ! -e " + str(folder))
    settings = json.loads(config(runner(f"touch {folder}/ran; pwd > out.txt")))
    files = {
        "bench/core.json": suite(case("one", expect=expect), case("two", expect=expect), workspace=BOX),
        "skillgym.config.yaml": json.dumps({**settings, "engine": engine_settings(cluster)}),
    }
    return repository(folder / "repo", files)


def test_on_a_worker_sessions_run_in_containers_of_its_own_engine(tmp_path):
    with Cluster(tmp_path / "cluster", DOCKER_HOST=os.environ["DOCKER_HOST"]) as cluster:
        cluster.start_worker()
        root = on_workers(tmp_path, cluster)
        done = skillgym("run", "--output", "results", cwd=root, DOCKER_HOST=f"unix://{tmp_path}/nothing.sock")
        assert [result["status"] for result in results_of(root)] == ["passed"] * 2, done.out + done.err
        assert not (tmp_path / "ran").exists()
        assert skillgym("run", "--sandbox", "none", "--output", "none", cwd=root).code == 2


def test_a_worker_without_an_engine_gets_no_sessions_and_runs_none_without_a_container(tmp_path):
    with Cluster(tmp_path / "cluster", DOCKER_HOST=f"unix://{tmp_path}/nothing.sock") as cluster:
        cluster.start_worker()
        done = skillgym("run", "--output", "results", cwd=on_workers(tmp_path, cluster))
    assert done.code == 3, done.out + done.err
    assert "gets no sessions: bench/core.json: workspace asks for a container: no Docker engine answers" in done.err
    assert not (tmp_path / "ran").exists()


# --- judged again -----------------------------------------------------------------------------------


def test_a_stored_session_is_judged_again_in_a_new_container(tmp_path):
    expect = ("file:out.txt exists", "test:grep -q 0 out.txt && grep -q bookworm /etc/os-release")
    root = boxed(tmp_path, case(expect=expect), agent="id -u > out.txt; mkdir -p a/b; echo 1 > a/b/c")
    assert ran(root).code == 0
    again = skillgym("rejudge", "results", "--output", "again", "--no-html", cwd=root, limit=120)
    assert again.code == 0, again.out + again.err
    assert left_of(root / "again") == []
    folder = root / "again" / results_of(root, "again")[0]["artifactDir"]
    assert json.loads((folder / "workspace.json").read_text())["created"] == ["a/b/c", "out.txt"]


def test_the_key_of_the_agent_reaches_the_agent_alone(tmp_path):
    key = "sk-ant-" + os.urandom(16).hex()
    text = suite(
        case(
            expect=(
                "file:out.txt contains 'has it'",
                "test:! env | grep -q SERVICE_KEY && ! grep -aq SERVICE_KEY /proc/*/environ",
            )
        ),
        workspace=BOX,
    )
    agent = runner(
        'test -n "$SERVICE_KEY" && echo has it > out.txt; sleep 600 & true', env={"SERVICE_KEY": "${SERVICE_KEY}"}
    )
    root = repository(tmp_path, {"bench/core.json": text, "skillgym.config.yaml": config(agent)})
    run = started("run", "--output", "results", "--no-html", cwd=root, SERVICE_KEY=key)
    seen = ""
    while run.poll() is None:
        for container in containers_of(root / "results"):
            inspected = subprocess.run(("docker", "inspect", container), capture_output=True, text=True, check=False)
            seen += inspected.stdout
    out, err = run.communicate()
    assert run.returncode == 0, out + err
    assert "skillgym-action.run" in seen
    assert key not in seen
