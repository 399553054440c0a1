"""What a cluster must not do: accept unknown clients, store keys, and trust its workers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from action_step import FORK, pull_request, step
from dask_cluster import HOSTILE, Certificates, Cluster, engine_settings
from hostile_worker import FORGERIES
from scratch import HUNG, case, config, environment, git_in, repository, runner, skillgym, started, suite
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "canary-5f2b8e71c9"
CLIENT = """
import sys
from distributed import Client, Security
address, ca, cert, key = sys.argv[1:]
files = {"tls_client_cert": cert, "tls_client_key": key} if cert else {}
security = Security(tls_ca_file=ca, require_encryption=True, **files) if ca else None
print(Client(address, security=security, timeout=15).status)
"""


def scene(root: Path, cluster: Cluster, *ids: str, script: str = "echo done > out.txt", **engine: object) -> Path:
    agent = runner(script, output="events")
    settings = {**json.loads(config(agent)), "engine": engine_settings(cluster, **engine)}
    files = {"bench/core.json": suite(*(case(one) for one in ids)), "skillgym.config.yaml": json.dumps(settings)}
    return repository(root, files)


def results(root: Path) -> dict[str, dict[str, str]]:
    found = json.loads((root / "results/results.json").read_text())
    return {one["caseId"]: one for each in found["suites"] for one in each["results"]}


# --- answers ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("hostile")) as cluster:
        cluster.start_worker(program=(sys.executable, str(HOSTILE)))
        yield cluster


def test_a_forged_answer_errs_its_own_session_and_writes_nothing(hostile: Cluster, tmp_path: Path) -> None:
    escaped = Path("/tmp/escaped")
    assert not escaped.exists()
    root = scene(tmp_path / "repo", hostile, "honest", *FORGERIES)
    ran = skillgym("run", "--output", "results", cwd=root)
    assert ran.code == 3, ran.err
    found = results(root)
    statuses = {name: one["status"] for name, one in found.items()}
    assert statuses == {"honest": "passed"} | dict.fromkeys(FORGERIES, "errored")
    assert {found[name]["failureOrigin"] for name in FORGERIES} == {"worker"}
    assert not escaped.exists()
    assert [path.name for path in root.rglob("*escaped*")] == []
    for name in FORGERIES:
        folder = root / "results" / found[name]["artifactDir"]
        assert sorted(path.name for path in folder.rglob("*")) == []


def test_a_worker_of_another_version_gets_no_sessions(tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster") as cluster:
        cluster.start_worker("--as", "0.1.0", program=(sys.executable, str(HOSTILE)))
        root = scene(tmp_path / "repo", cluster, "one", wait="5s")
        ran = skillgym("run", "--output", "results", cwd=root)
        assert ran.code == 3
        assert "it has skillgym-action 0.1.0, Python 3.99, protocol 1, and this run skillgym-action" in ran.err
        assert "has accepted sessions for 5.0 s" in ran.err
        assert "skillgym-action worker" in ran.err


# --- who may connect --------------------------------------------------------------------------------


def test_only_certificates_of_the_same_authority_are_taken(tmp_path: Path) -> None:
    own, foreign = Certificates(tmp_path / "own"), Certificates(tmp_path / "foreign")
    with Cluster(tmp_path / "cluster", own) as cluster:
        cluster.start_worker()
        root = scene(tmp_path / "repo", cluster, "one")
        ran = skillgym("run", "--output", "results", cwd=root)
        assert ran.code == 0, ran.err
        by_option = skillgym("run", "--engine", f"dask://127.0.0.1:{cluster.port}", "--output", "more", cwd=root)
        assert by_option.code == 0, by_option.err
        for ca, cert, key in ((own.ca, "", ""), ("", "", ""), (own.ca, foreign.cert, foreign.key)):
            address = cluster.address if ca else cluster.address.replace("tls", "tcp")
            words = [sys.executable, "-c", CLIENT, address, str(ca), str(cert), str(key)]
            client = subprocess.run(words, capture_output=True, text=True, check=False, env=environment(), timeout=HUNG)
            assert client.returncode == 1, client.stdout
            assert "running" not in client.stdout
        cluster.certificates = foreign
        refused = skillgym("run", "--output", "results", cwd=scene(tmp_path / "foreign-repo", cluster, "one"))
        assert refused.code == 3
        assert "cannot be reached" in refused.err


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://10.1.2.3:8786", "tcp:// is not encrypted"),
        ("dask://user:secret@scheduler.example:8786", "is not the address of a scheduler"),
        ("dask://scheduler.example:8786", "needs certificates"),
    ],
)
def test_an_address_that_is_not_safe_is_refused_by_runs_and_workers(tmp_path: Path, address: str, message: str) -> None:
    root = repository(tmp_path / "repo")
    for words in (("run", "--engine", address), ("worker", address)):
        ran = skillgym(*words, cwd=root)
        assert (ran.code, message in ran.err) == (2, True), ran.err
        assert "Traceback" not in ran.err


def test_a_key_in_the_checkout_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo")
    Certificates(root / "certs")
    tls = {"ca": "certs/ca.pem", "cert": "certs/cert.pem", "key": "certs/key.pem"}
    engine = {"type": "dask", "address": "dask://127.0.0.1:1", "tls": tls}
    (root / "skillgym.config.yaml").write_text(json.dumps({**json.loads(config(runner())), "engine": engine}))
    ran = skillgym("run", cwd=root)
    assert ran.code == 2
    assert "engine.tls.key" in ran.err


# --- commits that are not trusted -------------------------------------------------------------------


def test_the_configuration_of_an_untrusted_commit_cannot_name_a_scheduler(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as scheduler:
        engine = {"type": "dask", "address": f"tcp://127.0.0.1:{scheduler.getsockname()[1]}"}
        settings = {**json.loads(config(runner())), "engine": engine}
        root = repository(tmp_path / "repo", {"skillgym.config.yaml": json.dumps(settings)}, git=True)
        event, inputs = (
            ("pull_request_target", pull_request(FORK)),
            {"mode": "run", "allow-untrusted": "with-configuration"},
        )
        refused = step(root, None, inputs, event=event)
        assert refused.code == 2, refused.said
        assert "commits that are not trusted" in refused.said
        scheduler.settimeout(0)
        with pytest.raises(BlockingIOError):
            scheduler.accept()
        here = step(root, None, {**inputs, "engine": "local"}, event=event)
        assert here.code == 0, here.said


def test_a_user_for_agents_that_workers_do_not_know_is_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": config(runner())})
    refused = skillgym("run", "--engine", "tcp://127.0.0.1:1", "--agent-user", "nobody", cwd=root)
    assert refused.code == 2, refused.err
    assert "give --agent-user to `skillgym-action worker`" in refused.err


# --- commands that send nothing ---------------------------------------------------------------------


WITHOUT_SESSIONS = [
    ("list",),
    ("check",),
    ("check", "--nop"),
    ("run", "--dry-run"),
    ("report", "results"),
    ("rejudge", "results", "--output", "again"),
]


def test_commands_that_send_no_sessions_need_no_cluster_and_no_certificates(tmp_path: Path) -> None:
    tls = {name: str(tmp_path / name) for name in ("ca", "cert", "key")}
    engine = {"type": "dask", "address": "dask://127.0.0.1:1", "tls": tls}
    settings = {**json.loads(config(runner())), "engine": engine}
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": json.dumps(settings)})
    ran = skillgym("run", "--engine", "local", "--output", "results", cwd=root)
    assert ran.code == 0, ran.err
    for words in WITHOUT_SESSIONS:
        found = skillgym(*words, cwd=root)
        assert found.code == 0, (words, found.err)
    refused = skillgym("run", cwd=root)
    assert (refused.code, "there is no certificate or key" in refused.err) == (2, True)


# --- keys -------------------------------------------------------------------------------------------


def memory_has(pid: int, text: bytes) -> bool:
    """Whether a process has a text anywhere in its memory that can be written to."""
    process = Path(f"/proc/{pid}")
    with (process / "maps").open() as maps, (process / "mem").open("rb", buffering=0) as memory:
        for line in maps:
            area, rights = line.split()[:2]
            if not rights.startswith("rw") or "[v" in line:
                continue
            begin, end = (int(number, 16) for number in area.split("-"))
            with suppress(OSError, OverflowError, ValueError):
                memory.seek(begin)
                if text in memory.read(end - begin):
                    return True
    return False


def test_a_key_is_in_no_ticket_file_or_log_of_the_scheduler(tmp_path: Path) -> None:
    script = (
        f"echo $CANARY_KEY; touch {tmp_path}/begun; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done; echo > out.txt"
    )
    with Cluster(tmp_path / "cluster", CANARY_KEY=CANARY) as cluster:
        cluster.start_worker()
        agent = runner(script, env={"CANARY_KEY": "${{ CANARY_KEY }}"})
        settings = {**json.loads(config(agent)), "engine": engine_settings(cluster)}
        files = {"bench/core.json": suite(case("marked-prompt-77")), "skillgym.config.yaml": json.dumps(settings)}
        root = repository(tmp_path / "repo", files)
        process = started("run", "--output", "results", cwd=root, CANARY_KEY=CANARY)
        until((tmp_path / "begun").exists, "the session runs")
        assert memory_has(cluster.scheduler.pid, b"marked-prompt-77")  # the control: what is sent is found
        assert not memory_has(cluster.scheduler.pid, CANARY.encode())
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=HUNG)
        assert process.returncode == 0, err
        assert not memory_has(cluster.scheduler.pid, CANARY.encode())
        written = [path for path in (*cluster.folder.rglob("*"), *(root / "results").rglob("*")) if path.is_file()]
        assert [path for path in written if CANARY.encode() in path.read_bytes()] == []
        assert CANARY not in out + err
        assert "a key was leaked" in err  # the agent printed it: the worker has taken it out of its answer


def test_a_file_with_a_key_of_the_coordinator_is_not_sent(tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster") as cluster:
        root = scene(tmp_path / "repo", cluster, "one")
        (root / "notes.txt").write_text(f"the key is {CANARY}")
        ran = skillgym("run", cwd=root, CANARY_KEY=CANARY)
        assert ran.code == 2
        assert "notes.txt contains the value of CANARY_KEY" in ran.err
        assert CANARY not in ran.err
        assert not memory_has(cluster.scheduler.pid, CANARY.encode())


def test_a_file_that_git_does_not_know_is_not_sent_with_a_key_in_it(tmp_path: Path) -> None:
    """Such as a key of the cluster, or a ``.env`` that no ``.gitignore`` names."""
    with Cluster(tmp_path / "cluster") as cluster:
        cluster.start_worker()
        root = scene(tmp_path / "repo", cluster, "one")
        git_in(root, "init", "--quiet")
        made = Certificates(root / "tls")
        ran = skillgym("run", "--output", "results", cwd=root)
        assert ran.code == 2, ran.err
        assert "tls/key.pem contains what looks like a key (private-key)" in ran.err
        assert made.key.read_text().splitlines()[1] not in ran.err
        (root / ".gitignore").write_text("/tls/\n")
        ignored = skillgym("run", "--output", "results", cwd=root)
        assert ignored.code == 0, ignored.err


def test_a_coordinator_needs_no_keys(tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster", CANARY_KEY=CANARY) as cluster:
        cluster.start_worker()
        env = {"CANARY_KEY": "${{ CANARY_KEY }}", "EXPECTED": CANARY}
        agent = runner('[ "$CANARY_KEY" = "$EXPECTED" ] && echo > out.txt', env=env)
        settings = {**json.loads(config(agent)), "engine": engine_settings(cluster)}
        root = repository(tmp_path / "repo", {"skillgym.config.yaml": json.dumps(settings)})
        ran = skillgym("run", "--output", "results", cwd=root)
        assert ran.code == 0, ran.err


def test_a_worker_without_the_key_is_named_and_gets_no_sessions(tmp_path: Path) -> None:
    with Cluster(tmp_path / "cluster") as cluster:
        cluster.start_worker()
        agent = runner("echo > out.txt", env={"CANARY_KEY": "${{ CANARY_KEY }}"})
        settings = {**json.loads(config(agent)), "engine": engine_settings(cluster)}
        root = repository(tmp_path / "repo", {"skillgym.config.yaml": json.dumps(settings)})
        ran = skillgym("run", "--output", "results", cwd=root, CANARY_KEY=CANARY)
        assert ran.code == 3
        assert "no worker can run this plan" in ran.err
        assert "CANARY_KEY is not set in the environment" in ran.err
