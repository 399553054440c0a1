"""What docs/how-to/many-machines.md shows is complete: scripts, manifests, certificates with which a run works."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from dask_cluster import Certificates, Cluster, engine_settings
from documentation import files_in
from paths import REPOSITORY
from scratch import PASSING, case, config, repository, runner, skillgym, suite, written

FILES = files_in((REPOSITORY / "docs/how-to/many-machines.md").read_text(encoding="utf-8"))
SCRIPTS = [name for name in FILES if name.endswith((".sh", ".sbatch"))]
BIN = Path(sys.executable).parent
KUBERNETES = "1.34"


def test_each_way_to_start_workers_has_its_file():
    assert set(FILES) == {
        "Dockerfile",
        "certificates.sh",
        "cluster.sbatch",
        "cluster.yaml",
        "containers.sh",
        "dask-cluster.yaml",
        "secrets.sh",
        "skillgym.config.yaml",
        "workers.sh",
    }


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_have_no_mistakes_that_shellcheck_knows(tmp_path, name):
    file = written(tmp_path, {name: FILES[name]}) / name
    done = subprocess.run([BIN / "shellcheck", "--severity=info", file], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_manifests_fit_the_schemas_of_kubernetes():
    kinds = []
    for document in yaml.safe_load_all(FILES["cluster.yaml"]):
        kubernetes_validate.validate(document, KUBERNETES, strict=True)
        kinds.append(document["kind"])
    assert kinds == ["Deployment", "Service", "Deployment", "NetworkPolicy"]


@pytest.mark.parametrize("part", ["scheduler", "worker"])
def test_the_pods_of_the_operators_resource_fit_the_schemas_too(part):
    spec = yaml.safe_load(FILES["dask-cluster.yaml"])["spec"][part]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": part}, "spec": spec["spec"]}
    kubernetes_validate.validate(pod, KUBERNETES, strict=True)
    if part == "scheduler":
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": part}, "spec": spec["service"]}
        kubernetes_validate.validate(service, KUBERNETES, strict=True)


def commands() -> dict[str, list[str]]:
    """The command of each container in the manifests."""
    found = {}
    for document in yaml.safe_load_all(FILES["cluster.yaml"]):
        if document["kind"] == "Deployment":
            (container,) = document["spec"]["template"]["spec"]["containers"]
            found[f"cluster {container['name']}"] = [*container["command"], *container["args"]]
    spec = yaml.safe_load(FILES["dask-cluster.yaml"])["spec"]
    for part in ("scheduler", "worker"):
        (container,) = spec[part]["spec"]["containers"]
        found[f"operator {part}"] = [*container["command"], *container["args"]]
    return found


@pytest.mark.parametrize("name", ["cluster scheduler", "cluster worker", "operator scheduler", "operator worker"])
def test_containers_start_programs_with_options_that_they_have(name):
    """``--help`` at the end: all options before it are looked at, and nothing is started."""
    command = [str(BIN / commands()[name][0]), *commands()[name][1:], "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for option in (word for word in command if word.startswith("--")):
        assert option in shown


def test_secrets_are_in_no_manifest():
    for name in ("cluster.yaml", "dask-cluster.yaml"):
        assert "kind: Secret" not in FILES[name]
        assert "API_KEY" not in FILES[name]


@pytest.fixture
def certificates(tmp_path) -> Path:
    folder = tmp_path / "tls"
    script = written(tmp_path, {"certificates.sh": FILES["certificates.sh"]}) / "certificates.sh"
    subprocess.run(["sh", script, folder, "2"], check=True, capture_output=True)
    return folder


class Documented(Certificates):
    """The certificates of the page's script in place of those that tests make."""

    def __init__(self, folder: Path, who: str) -> None:
        self.ca, self.cert, self.key = folder / "ca.pem", folder / f"{who}.pem", folder / f"{who}.key"


def test_the_authority_signs_the_certificates_and_keys_are_private(certificates):
    for who in ("scheduler", "worker", "coordinator"):
        for purpose in ("sslserver", "sslclient"):
            verify = ["openssl", "verify", "-purpose", purpose, "-CAfile", "ca.pem", f"{who}.pem"]
            subprocess.run(verify, cwd=certificates, check=True, capture_output=True)
    assert {path.stat().st_mode & 0o077 for path in certificates.iterdir()} == {0}
    assert {path.suffix for path in certificates.iterdir()} <= {".pem", ".key", ".srl"}


def test_a_run_works_with_these_certificates(tmp_path, certificates):
    with Cluster(tmp_path / "cluster", Documented(certificates, "scheduler")) as cluster:
        cluster.certificates = Documented(certificates, "worker")
        cluster.start_worker(slots=2)
        cluster.certificates = Documented(certificates, "coordinator")
        files = {
            "bench/core.json": suite(case("one"), case("two")),
            "skillgym.config.yaml": json.dumps(
                json.loads(config(runner(PASSING))) | {"engine": engine_settings(cluster)}
            ),
        }
        ran = skillgym("run", "--output", "results", cwd=repository(tmp_path / "repo", files), limit=120)
    assert (ran.code, "2 passed" in ran.err) == (0, True), ran.err
