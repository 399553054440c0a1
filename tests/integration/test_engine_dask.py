"""Runs on the workers of a cluster: a real scheduler and real workers on loopback."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from dask_cluster import Cluster, engine_settings, running
from judged_runs import KEY, MODEL, SUITE, said
from judged_runs import results as judged_results
from judged_runs import scratch as judged_repository
from paths import REPOSITORY
from scratch import HUNG, PROGRAM, case, config, environment, git_in, repository, runner, skillgym, started, suite
from scripted_http import ScriptedServer
from tcp_proxy import TcpProxy
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TIMES = {"id", "startedAt", "endedAt", "durationMs", "duration"}
SPENT = """printf '{"type": "session", "cost": {"usd": 0.25}}\\n'; """
DONE = "echo done > out.txt"
JUDGED_TWICE = SUITE + "- {id: two, input: Greet., criteria: It greets nicely.}\n"
SPENT_BY_AGENT = 0.5  # dollars, of each session of a judged repository


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two workers with two slots each."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.start_worker()
        cluster.start_worker()
        yield cluster


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One without workers, for tests that kill some."""
    with Cluster(tmp_path / "cluster") as cluster:
        yield cluster


class Scene:
    """A repository with ``number`` cases, whose agent is a shell script that names its case ``$task``."""

    def __init__(self, folder: Path, cluster: Cluster, script: str = DONE, number: int = 4, **engine: Any) -> None:
        self.root, self.log = folder / "repo", folder / "log"
        self.log.mkdir(parents=True)
        self.mark = f"mark-{folder.name}-{uuid4().hex}"
        agent = runner(f"read -r _ task; {script}", output="events", env={"LOG": str(self.log), "MARK": self.mark})
        files = {
            "bench/core.json": suite(*(case(f"c{index}") for index in range(number))),
            "skillgym.config.yaml": json.dumps(
                {**json.loads(config(agent)), "engine": engine_settings(cluster, **engine)}
            ),
        }
        repository(self.root, files)

    def run(self, *options: str, **env: str):
        return skillgym("run", "--output", "results", *options, cwd=self.root, **env)

    def start(self, *options: str) -> subprocess.Popen[str]:
        return started("run", "--output", "results", *options, cwd=self.root)

    def logged(self) -> list[str]:
        return [path.name for path in self.log.iterdir()]

    def journal(self, event: str | None = None) -> list[dict[str, Any]]:
        """The lines of one kind; None: those of sessions."""
        lines = [json.loads(line) for line in (self.root / "results/journal.jsonl").read_text().splitlines()[1:]]
        return [line for line in lines if line.get("event") == event]

    def statuses(self) -> dict[str, str]:
        found = json.loads((self.root / "results/results.json").read_text())
        return {one["caseId"]: one["status"] for each in found["suites"] for one in each["results"]}


def nap(seconds: int) -> str:
    """Seconds for which only agents of this run of the tests sleep."""
    return f"{seconds}.{os.getpid()}"


def without_times(value: Any) -> Any:
    """Results without times, and without texts that contain some."""
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(each) for each in value]
    if isinstance(value, str):
        timed = "duration_ms" in value or value.startswith("exited 0 after")
        return "…" if timed else re.sub(r"after \d+\.\d s", "after … s", value)
    return value


def test_all_formats_have_the_same_results_on_workers_as_on_this_machine(cluster: Cluster, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    shutil.copytree(REPOSITORY / "examples", root)
    git_in(root, "init", "--quiet")
    here = skillgym("run", "--output", "here", "--keep", "changed", cwd=root)  # histories have times
    there = skillgym("run", "--output", "there", "--keep", "changed", "--engine", cluster.address, cwd=root)
    assert (there.code, here.code) == (0, 0), there.err
    found = [json.loads((root / name / "results.json").read_text()) for name in ("here", "there")]
    assert without_times(found[1]) == without_times(found[0])
    files = [
        {
            re.sub(r"-\d+\.log$", ".log", str(path.relative_to(root / name)))  # suites are loaded in any order
            for path in (root / name).rglob("*")
            if path.is_file()
        }
        for name in ("here", "there")
    ]
    assert files[1] == files[0]


def test_uncommitted_files_are_sent_and_ignored_ones_are_not(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, "cat secret.env > out.txt 2>/dev/null; cat new.txt >> out.txt", number=1)
    git_in(scene.root, "init", "--quiet")
    (scene.root / ".gitignore").write_text("secret.env\n")
    (scene.root / "secret.env").write_text("not for workers")
    (scene.root / "new.txt").write_text("uncommitted")
    (scene.root / "bench/core.json").write_text(suite(case("c0", ("file:out.txt contains 'uncommitted'",))))
    ran = scene.run()
    assert ran.code == 0, ran.err
    assert "not for workers" not in next(scene.root.glob("results/*/*/*/repeat-1/changes/out.txt")).read_text()


def test_a_git_checkout_is_one_on_workers_too_also_below_its_root(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, "git log --format=%an --all > out.txt; ls -A >> out.txt", number=1)
    (scene.root / "part").mkdir()
    (scene.root / "part/file").touch()
    git_in(scene.root, "init", "--quiet")
    ran = {
        engine: skillgym("run", "../bench", "--engine", engine, "--output", name, cwd=scene.root / "part")
        for engine, name in (("local", "here"), (cluster.address, "there"))
    }
    assert [each.code for each in ran.values()] == [0, 0], [each.err for each in ran.values()]
    written = "*/*/*/repeat-1/changes/out.txt"
    here, there = (next((scene.root / "part" / name).glob(written)).read_text() for name in ("here", "there"))
    assert there == here
    assert ".git\n" in there


def test_folders_without_files_are_sent_unless_git_ignores_them(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, 'test "$(ls)" = inner && echo done > out.txt', number=1)
    for name in ("template/inner", "ignored/inner", "new/node_modules/inner"):
        (scene.root / name).mkdir(parents=True)
    (scene.root / ".gitignore").write_text("/ignored/\n")
    (scene.root / "bench/core.json").write_text(suite(case("c0"), workspace={"templateDir": "../template"}))
    for git in (False, True):
        if git:
            git_in(scene.root, "init", "--quiet")
        ran = scene.run()
        assert ran.code == 0, ran.err
    (scene.root / "template/inner").rmdir()
    (scene.root / "skillgym.config.yaml").write_text(
        json.dumps({**json.loads(config(runner())), "engine": engine_settings(cluster)})
    )
    empty = scene.run()
    assert empty.code == 0, empty.err


@pytest.mark.timed
def test_the_sessions_of_a_killed_worker_run_again_on_another_one(own_cluster: Cluster, tmp_path: Path) -> None:
    first, _ = own_cluster.start_worker(), own_cluster.start_worker()
    once = f'mkdir "$LOG/$task" 2>/dev/null && {{ echo $MARK > /dev/null; sleep {nap(600)}; }}; echo done > out.txt'
    scene = Scene(tmp_path, own_cluster, once)
    process = scene.start()
    until(lambda: len(scene.logged()) == 4, "all sessions have begun")
    killed = time.monotonic()
    first.kill()
    until(lambda: len(scene.journal("lost")) == 2, "two sessions are lost")
    assert time.monotonic() - killed < 10  # with the load of other tests; without, it is about 0.1 s
    for sleeper in agents(nap(600)):  # those on the other worker end
        sleeper.kill()
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 0, err
    assert "was lost after" in err
    assert sorted(line["result"]["caseId"] for line in scene.journal()) == ["c0", "c1", "c2", "c3"]


def test_a_worker_removes_the_folders_of_killed_ones_only(own_cluster: Cluster, tmp_path: Path) -> None:
    killed, _ = own_cluster.start_worker(), own_cluster.start_worker()
    scene = Scene(tmp_path, own_cluster, "touch $LOG/$task; sleep 1; echo done > out.txt")
    process = scene.start()
    until(lambda: len(scene.logged()) == 4, "sessions run on both workers")
    killed.kill()
    killed.wait()
    before = own_cluster.worker_folders()
    assert len(before) == 2
    own_cluster.start_worker()
    after = own_cluster.worker_folders()
    assert (len(after), len(after & before)) == (2, 1)
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 0, err


def test_a_session_whose_workers_are_lost_again_and_again_is_errored(own_cluster: Cluster, tmp_path: Path) -> None:
    """The agent kills the worker that runs it, as a machine without memory does."""
    for _ in range(3):
        own_cluster.start_worker(slots=1)
    fatal = "[ $task = c0 ] && { touch $LOG/$$; sleep 600; }; echo done > out.txt"
    scene = Scene(tmp_path, own_cluster, fatal, number=2)
    process = scene.start("--lost-retries", "1")
    for lost in (1, 2):
        until(lambda lost=lost: len(scene.logged()) == lost, "the session runs")
        slot = until(lambda: running_on(own_cluster), "its worker is known")
        slot.kill()
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 3, err
    assert scene.statuses() == {"c0": "errored", "c1": "passed"}
    assert "worker-lost" in (scene.root / "results/results.json").read_text()
    assert "the worker was lost 2 times" in err
    assert [line["chargedUsd"] for line in scene.journal("lost")] == [5.0, 5.0]


def words_of(process: Any) -> list[str]:
    """The command line of a process; empty once it has ended."""
    import psutil

    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words


def running_on(cluster: Cluster) -> Any:
    """The worker that has an agent which sleeps."""
    import psutil

    for worker in cluster.workers:
        if worker.poll() is None:
            children = psutil.Process(worker.pid).children(recursive=True)
            if any(words_of(child) == ["sleep", "600"] for child in children):
                return worker
    return None


@pytest.mark.timed
def test_a_frozen_worker_is_noticed_and_its_late_answer_dropped(own_cluster: Cluster, tmp_path: Path) -> None:
    frozen = own_cluster.start_worker(slots=1)
    scene = Scene(
        tmp_path, own_cluster, "touch $LOG/$task-$$; sleep 2; echo done > out.txt", number=1, **{"lost-after": "3s"}
    )
    process = scene.start()
    until(scene.logged, "the session runs")
    frozen.send_signal(signal.SIGSTOP)
    own_cluster.start_worker(slots=1)
    lost = until(lambda: scene.journal("lost"), "the worker is lost")
    assert lost[0]["seconds"] < 3 + 5 + 2
    frozen.send_signal(signal.SIGCONT)  # its session has ended meanwhile: it answers now
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 0, err
    assert len(scene.journal()) == 1
    assert len(scene.logged()) == 2


def test_a_worker_that_gets_an_announcement_twice_keeps_its_session(own_cluster: Cluster, tmp_path: Path) -> None:
    """As one that connects while the scheduler sends the announcement to all workers."""
    from distributed import Client

    from skillgym_action.sessions.engines.dask_engine import announce, plugin_name

    own_cluster.start_worker(slots=1)
    scene = Scene(tmp_path, own_cluster, "touch $LOG/$$; until [ -e $LOG/fast ]; do sleep 0.1; done; " + DONE, number=1)
    process = scene.start()
    until(scene.logged, "the session runs")
    with Client(own_cluster.address, set_as_default=False) as client:
        plugins = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.worker_plugins)
        (name,) = (name for name in plugins if name.startswith(plugin_name("")))
        client.run_on_scheduler(announce, name.removeprefix(plugin_name("")), plugins[name])
        has_ended = lambda dask_scheduler: dask_scheduler.plugins[name].announcing.done()  # noqa: E731 -- it is sent
        until(lambda: client.run_on_scheduler(has_ended), "the worker has it")
    (scene.log / "fast").touch()
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 0, err
    assert scene.journal("lost") == []
    assert len(scene.logged()) == 2


@pytest.mark.timed
def test_a_cluster_whose_machine_was_suspended_keeps_its_sessions(own_cluster: Cluster, tmp_path: Path) -> None:
    worker = own_cluster.start_worker(slots=1)
    script = "touch $LOG/$$; until [ -e $LOG/fast ]; do sleep 0.1; done; " + DONE
    scene = Scene(tmp_path, own_cluster, script, number=1, **{"lost-after": "5s"})
    process = scene.start()
    until(scene.logged, "the session runs")
    for one in (own_cluster.scheduler, worker, process):
        one.send_signal(signal.SIGSTOP)
    time.sleep(7)
    own_cluster.scheduler.send_signal(signal.SIGCONT)
    time.sleep(2)  # for surveys before the worker's first sign of life
    worker.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGCONT)
    time.sleep(1)
    (scene.log / "fast").touch()
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 0, err
    assert scene.journal("lost") == []
    assert len(scene.logged()) == 2


def test_workers_that_cannot_take_sessions_do_not_keep_a_run_from_starting(
    own_cluster: Cluster, tmp_path: Path
) -> None:
    """One is frozen, and one is no worker of the tool and lacks its package."""
    own_cluster.start_worker(slots=1)
    own_cluster.start_worker(slots=4).send_signal(signal.SIGSTOP)
    own_cluster.start_foreign_worker()
    scene = Scene(tmp_path, own_cluster, number=2)
    ran = skillgym("run", "--output", "results", cwd=scene.root)
    assert ran.code == 0, ran.err
    assert scene.journal("lost") == []
    assert ran.err.count("is refused: it has another program") == 1


def test_the_scheduler_keeps_no_events_of_a_run(cluster: Cluster, tmp_path: Path) -> None:
    from distributed import Client

    scene = Scene(tmp_path, cluster, number=2)
    ran = skillgym("run", "--output", "results", cwd=scene.root)
    assert ran.code == 0, ran.err
    with Client(cluster.address, set_as_default=False) as client:
        events = {name: len(found) for name, found in client.get_events().items() if name.startswith("skillgym")}
    assert sum(events.values()) == 0


@pytest.mark.timed
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["cancelled", "killed"])
def test_without_its_coordinator_a_run_ends_and_can_be_resumed(cluster: Cluster, tmp_path: Path, how: int) -> None:
    slow = f"touch $LOG/$task; [ $task = c0 ] || [ -e $LOG/fast ] || sleep {nap(602)}; echo done > out.txt"
    scene = Scene(tmp_path, cluster, slow)
    process = scene.start()
    until(lambda: len(scene.logged()) == 4 and scene.journal(), "one session has ended, three run")
    until(lambda: agents(nap(602)), "an agent")
    process.send_signal(how)
    ended = time.monotonic()
    until(lambda: not agents(nap(602)), "no agent is left")
    assert time.monotonic() - ended < 5  # 2 s on an idle machine
    process.communicate(timeout=HUNG)
    assert process.returncode == (130 if how == signal.SIGINT else -9)
    until(lambda: not cluster.leftovers(), "workers keep no files")
    (scene.log / "fast").touch()
    resumed = skillgym("run", "--resume", "results", cwd=scene.root)
    assert resumed.code == 0, resumed.err
    assert "resumed: 1 session finished before" in resumed.err
    assert sorted(line["result"]["caseId"] for line in scene.journal()) == ["c0", "c1", "c2", "c3"]


def agents(seconds: str) -> list[Any]:
    return [one for one in running("sleep") if words_of(one) == ["sleep", seconds]]


def test_a_process_that_does_not_end_with_its_run_is_killed(own_cluster: Cluster, tmp_path: Path) -> None:
    """Such as one that an agent has stopped."""
    import psutil

    worker = own_cluster.start_worker(slots=1)
    scene = Scene(tmp_path, own_cluster, f"sleep {nap(604)}", number=1)
    process = scene.start()
    until(lambda: agents(nap(604)), "the session runs")
    (slot,) = (each for each in psutil.Process(worker.pid).children() if each.cmdline()[-1] == "slot")
    slot.suspend()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=HUNG)
    assert process.returncode == 130
    until(lambda: not slot.is_running() or slot.status() == psutil.STATUS_ZOMBIE, "the slot is killed")
    until(lambda: not agents(nap(604)), "the agent ends")
    until(lambda: not own_cluster.leftovers(), "the files are removed")


@pytest.mark.timed
def test_what_accepts_connections_and_never_answers_is_no_scheduler(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        root = repository(tmp_path / "repo", {"skillgym.config.yaml": config(runner())})
        refused = skillgym("run", "--engine", address, cwd=root)
        assert (refused.code, f"the scheduler {address} cannot be reached: " in refused.err) == (3, True), refused.err
        assert "no answer within 18 s" in refused.err

        with started("run", "--engine", address, cwd=root) as run:
            silent.accept()[0].close()  # of the run before
            connection, _ = silent.accept()
            began = time.monotonic()
            run.send_signal(signal.SIGTERM)
            assert run.wait(HUNG) == 130
            assert time.monotonic() - began < 10
            connection.close()


def test_a_run_ends_with_a_message_when_its_scheduler_is_gone(own_cluster: Cluster, tmp_path: Path) -> None:
    own_cluster.start_worker()
    slow = f"touch $LOG/$task; [ $task = c0 ] || [ -e $LOG/fast ] || sleep {nap(603)}; echo done > out.txt"
    scene = Scene(tmp_path, own_cluster, slow, number=2)
    process = scene.start()
    until(lambda: len(scene.logged()) == 2 and scene.journal(), "one session has ended, one runs")
    own_cluster.scheduler.kill()
    own_cluster.scheduler.wait()
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 3
    assert "the connection to the scheduler" in err
    assert "--resume" in err
    until(lambda: not agents(nap(603)), "no agent is left")
    (scene.log / "fast").touch()
    own_cluster.start_scheduler()  # workers come back by themselves
    resumed = skillgym("run", "--resume", "results", cwd=scene.root)
    assert resumed.code == 0, resumed.err
    assert "resumed: 1 session finished before" in resumed.err


def test_a_run_ends_with_a_message_when_its_connection_is_cut(own_cluster: Cluster, tmp_path: Path) -> None:
    """The scheduler stays, so Dask's client connects again, but the run's sessions have ended."""
    own_cluster.start_worker()
    slow = f"touch $LOG/$task; [ $task = c0 ] || [ -e $LOG/fast ] || sleep {nap(606)}; echo done > out.txt"
    scene = Scene(tmp_path, own_cluster, slow, number=2)
    with TcpProxy(own_cluster.port) as proxy:
        process = scene.start("--engine", proxy.address)
        until(lambda: len(scene.logged()) == 2 and scene.journal(), "one session has ended, one runs")
        proxy.cut()
        _, err = process.communicate(timeout=HUNG)
        assert process.returncode == 3
        assert f"the connection to the scheduler {proxy.address} was lost" in err
        assert scene.journal("lost") == []
        until(lambda: not agents(nap(606)), "no agent is left")
        until(lambda: not own_cluster.leftovers(), "workers keep no files")
        (scene.log / "fast").touch()
        resumed = skillgym("run", "--resume", "results", cwd=scene.root)
    assert resumed.code == 0, resumed.err
    assert "resumed: 1 session finished before" in resumed.err


def test_a_budget_ends_a_run_with_at_most_what_is_in_flight_beyond_it(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, SPENT + DONE, number=16)
    ran = scene.run("--max-cost", "1")
    assert "not started, since the run's budget was spent" in ran.err
    assert 4 <= len(scene.journal()) <= 4 + 3  # four are paid for; three more may run when the fourth one ends
    assert len(scene.journal("started")) == len(scene.journal())
    assert set(scene.statuses().values()) == {"passed", "skipped"}


def test_an_error_in_the_process_of_a_slot_errs_its_session_and_not_the_run(cluster: Cluster, tmp_path: Path) -> None:
    """The agent of c0 replaces the folder for results by a file, as if the disk were full."""
    folders = f"{cluster.temporary}/skillgym-workers-*/worker-*/*/slot-*/run"
    spoil = f"for each in {folders}; do rm -rf $each; touch $each; done"
    scene = Scene(tmp_path, cluster, f"[ $task != c0 ] || {{ {spoil}; }}; {DONE}", number=2)
    ran = scene.run("--jobs", "1")
    assert ran.code == 3, ran.err
    assert scene.statuses() == {"c0": "errored", "c1": "passed"}
    (line,) = (line for line in scene.journal() if line["result"]["caseId"] == "c0")
    assert line["trouble"]["kind"] == "worker-answer"
    assert "the worker failed: OutputError: " in line["trouble"]["message"]
    assert line["agentUsd"] is None
    assert scene.journal("lost") == []


def test_a_session_whose_artifacts_are_too_large_is_errored_with_its_cost(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, f"{SPENT}truncate -s 20M a b c; head -c 9000000 /dev/zero", number=3)
    ran = scene.run("--jobs", "1", "--keep", "all", "--max-cost", "0.3")
    assert ran.code == 3, ran.err
    lines = scene.journal()
    assert [line["agentUsd"] for line in lines] == [0.25, 0.25]
    assert [line["result"]["costUsd"] for line in lines] == [0.25, 0.25]
    assert {line["trouble"]["kind"] for line in lines} == {"worker-answer"}
    assert "its artifacts cannot be sent: " in lines[0]["trouble"]["message"]
    assert sorted(scene.statuses().values()) == ["errored", "errored", "skipped"]


def test_artifacts_that_the_coordinator_cannot_write_do_not_take_the_cost_away(
    cluster: Cluster, tmp_path: Path
) -> None:
    """A limit on the size of its files stands for a full disk."""
    scene = Scene(tmp_path, cluster, f"{SPENT}head -c 20M /dev/zero > big", number=1)
    command = ["sh", "-c", 'ulimit -f 16384; exec "$@"', "sh", PROGRAM, "run", "--output", "results", "--keep", "all"]
    ran = subprocess.run(command, cwd=scene.root, env=environment(), capture_output=True, check=False, timeout=HUNG)
    assert ran.returncode == 3, ran.stderr
    (line,) = scene.journal()
    assert "its artifacts cannot be written: " in line["trouble"]["message"]
    assert line["agentUsd"] == line["result"]["costUsd"] == 0.25
    assert scene.statuses() == {"c0": "errored"}


def test_a_worker_whose_processes_are_killed_does_not_decide_the_run(own_cluster: Cluster, tmp_path: Path) -> None:
    """As on a machine without memory: those of one worker are killed while they start, or soon after."""
    import psutil

    own_cluster.start_worker()
    bad = own_cluster.start_worker()
    scene = Scene(tmp_path, own_cluster, f"sleep 1; {DONE}", number=12)
    process = scene.start()

    def kill() -> bool:
        for child in psutil.Process(bad.pid).children():
            with suppress(psutil.Error):
                if child.cmdline()[-1:] == ["slot"]:
                    child.kill()
        return process.poll() is not None

    until(kill, "the end of the run", limit=HUNG)
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 0, err
    assert len(scene.journal("lost")) <= 4  # three in a row, and one that ran beside them
    assert Counter(scene.statuses().values()) == {"passed": 12}


def test_a_hook_may_write_artifacts_whose_names_begin_as_those_of_retries(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, """printf '{"type": "session", "finalOutput": "done"}\\n'""")
    (scene.root / "bench/core.json").unlink()
    write = ["sh", "-c", 'echo x > "$SKILLGYM_ARTIFACT_DIR/session-notes.txt"']
    hooks = {"after_each": {"command": write, "timeout_ms": 10_000}}
    tests = [{"id": "a", "input": "x", "assertions": [{"type": "contains", "value": "done"}]}]
    (scene.root / "bench/EVAL.yaml").write_text(json.dumps({"workspace": {"hooks": hooks}, "tests": tests}))
    ran = scene.run()
    assert ran.code == 0, ran.err
    assert next(scene.root.glob("results/*/*/*/repeat-1/session-notes.txt")).read_text() == "x\n"


def test_a_worker_without_the_cli_of_a_runner_gets_none_of_its_sessions(own_cluster: Cluster, tmp_path: Path) -> None:
    """The CLI is a stub: what matters is where it starts. Both workers lack the CLI of pi."""
    scene = Scene(tmp_path, own_cluster, "sleep 1; " + DONE, number=3)
    (tmp_path / "bin").mkdir()
    stub = tmp_path / "bin/codex"
    stub.write_text(f"#!/bin/sh\nmktemp {scene.log}/XXXXXX\nsleep 1\n")
    stub.chmod(0o755)
    settings = json.loads((scene.root / "skillgym.config.yaml").read_text())
    settings["runners"] |= {name: {"agent": {"type": name, "model": "openai/gpt-5"}} for name in ("codex", "pi")}
    (scene.root / "skillgym.config.yaml").write_text(json.dumps(settings))
    own_cluster.env["OPENAI_API_KEY"] = "k-12345678901234567890"
    for path in (f"{stub.parent}:{os.environ['PATH']}", os.environ["PATH"]):
        own_cluster.env["PATH"] = path
        own_cluster.start_worker(slots=1)
    ran = scene.run()
    assert ran.code == 3, ran.err
    found = json.loads((scene.root / "results/results.json").read_text())
    by_runner: dict[str, list[str]] = {"sh": [], "codex": [], "pi": []}
    for one in found["suites"][0]["results"]:
        by_runner[one["runnerId"]].append(one.get("failureClass", {"id": one["status"]})["id"])
    assert by_runner["sh"] == ["passed"] * 3
    assert by_runner["pi"] == ["agent-missing"] * 3
    assert "agent-missing" not in by_runner["codex"]
    assert len(scene.logged()) >= 3
    assert "gets no sessions of codex: " in ran.err


def test_hooks_after_all_sessions_end_on_workers_however_long_they_take(cluster: Cluster, tmp_path: Path) -> None:
    hook = ["sh", "-c", f"touch {tmp_path}/began; sleep 12; touch {tmp_path}/ended"]
    hooks = {"after_all": {"command": hook, "timeout_ms": 60_000}}
    tests = [{"id": "a", "input": "x", "assertions": [{"type": "contains", "value": "done"}]}]
    scene = Scene(tmp_path, cluster, """printf '{"type": "session", "finalOutput": "done"}\\n'""")
    (scene.root / "bench/core.json").unlink()
    (scene.root / "bench/EVAL.yaml").write_text(
        json.dumps({"workspace": {"isolation": "shared", "hooks": hooks}, "tests": tests})
    )
    ran = scene.run()
    assert ran.code == 0, ran.err
    until((tmp_path / "ended").exists, "the hook ends")


def test_a_run_on_workers_decides_by_stored_results(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster, number=10)
    base = skillgym("run", "--engine", "local", "--repeat", "10", "--output", "stored", cwd=scene.root)
    assert base.code == 0, base.err
    ran = scene.run("--baseline", "stored", "--repeat", "auto")
    assert ran.code == 0, ran.err
    found = json.loads((scene.root / "results/results.json").read_text())["run"]["adaptive"]
    assert (found["mode"], found["check"]) == ("stored", "cleared")
    assert [line["repetition"] for line in scene.journal("started")] == [1] * 10


def test_a_worker_asks_the_judge_with_its_own_key(tmp_path: Path) -> None:
    with ScriptedServer(said(0.9), said(0.1)) as server:
        env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
        with Cluster(tmp_path / "cluster", **env) as cluster:
            cluster.start_worker(slots=1)
            root = judged_repository(tmp_path / "repo", model=MODEL, suite=JUDGED_TWICE)
            settings = json.loads((root / "skillgym.config.yaml").read_text()) | {"engine": engine_settings(cluster)}
            (root / "skillgym.config.yaml").write_text(json.dumps(settings))
            ran = skillgym("run", "--output", "out", "--max-cost", "5", cwd=root)
    assert ran.code == 1, ran.err
    assert [one["status"] for one in judged_results(root)] == ["passed", "failed"]
    assert all(one["costUsd"] > SPENT_BY_AGENT for one in judged_results(root)), "agent and judge"
    assert [request.headers["x-api-key"] for request in server.requests] == [KEY, KEY]
    written = [path.read_text() for path in (root / "out").rglob("*") if path.is_file()]
    assert KEY not in "".join([ran.out, ran.err, *written])


def test_sessions_that_share_a_workspace_run_in_one_process_of_one_worker(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster)
    cases = [case(f"c{index}", (f"file:lines contains 'c{index}'",)) for index in range(4)]
    files = {"bench/core.json": suite(*cases)}
    agent = runner("read -r _ task; echo $task >> lines; [ $(wc -l < lines) = $((${task#c} + 1)) ] || rm lines")
    of_run = {"workspace": {"mode": "shared"}}
    files["skillgym.config.yaml"] = json.dumps(
        {**json.loads(config(agent, run=of_run)), "engine": engine_settings(cluster)}
    )
    repository(scene.root, files)
    ran = scene.run()
    assert ran.code == 0, ran.out


def test_sessions_whose_shared_workspace_was_lost_do_not_run_in_a_new_one(own_cluster: Cluster, tmp_path: Path) -> None:
    import psutil

    worker = own_cluster.start_worker(slots=1)
    scene = Scene(tmp_path, own_cluster)
    script = "read -r _ task; echo $task >> lines; touch $LOG/$task; [ $task != c1 ] || sleep 600"
    agent = runner(script, env={"LOG": str(scene.log)})
    of_run = {"workspace": {"mode": "shared"}}
    cases = [case(f"c{index}", ("file:lines contains 'c0'",)) for index in range(3)]
    settings = {**json.loads(config(agent, run=of_run)), "engine": engine_settings(own_cluster)}
    repository(scene.root, {"bench/core.json": suite(*cases), "skillgym.config.yaml": json.dumps(settings)})
    process = scene.start()
    until((scene.log / "c1").exists, "the second session runs")
    (slot,) = (each for each in psutil.Process(worker.pid).children() if each.cmdline()[-1] == "slot")
    slot.kill()
    _, err = process.communicate(timeout=HUNG)
    assert process.returncode == 3, err
    found = [line["result"] for line in scene.journal()]
    assert [one["status"] for one in found] == ["passed", "errored", "errored"]
    assert [one["failureClass"]["id"] for one in found[1:]] == ["worker-lost"] * 2
    assert err.count("the shared workspace of the sessions before was lost with its worker") >= 2
    assert not (scene.log / "c2").exists()


def test_a_suite_that_works_in_a_folder_of_this_machine_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    scene = Scene(tmp_path, cluster)
    ran = scene.run("--cwd", ".")
    assert ran.code == 2
    assert "bench/core.json" in ran.err
    assert "--engine local" in ran.err
