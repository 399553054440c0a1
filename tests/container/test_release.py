"""The release workflow and what its users get, with a registry of this machine. Needs a Docker engine.

Not tried here: GitHub's own services (signing, releases, PyPI), the other platform's machine, the scanner's data.
"""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
import yaml

from container.act import STAND_INS, Place
from container.consumer import committed, consumer_workflow, head, opened
from container.image import buildable, built, copied_sources, docker
from container.registry import manifest, registry
from container.runner import ROOT
from github_server import GitHubServer
from github_state import PullRequest
from release_sources import release, released
from scratch import IDENTITY, case, git_in, suite, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from container.act import Workflow

pytestmark = pytest.mark.container

BASE = re.compile(r"^FROM (\S+) AS base$", re.MULTILINE)
ARM = """\
          - platform: linux/arm64
            machine: ubuntu-24.04-arm
"""
TESTED = "on: workflow_call\njobs: {all: {runs-on: ubuntu-latest, steps: [{run: echo tested}]}}\n"
JOB = """\
FROM {image}
COPY programs docker /usr/local/bin/
RUN git config --system safe.directory '*' \
 && git config --system url.file:///origin.git.insteadOf https://github.com/octo/skillgym-action.git
ENTRYPOINT []
"""


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with registry(tmp_path_factory.mktemp("registry")) as address:
        yield address


@pytest.fixture(scope="module")
def job_image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What jobs run in: git and Python of the action's image, the engine's command line, stand-ins for programs."""
    folder = tmp_path_factory.mktemp("job")
    shutil.copytree(STAND_INS / "programs", folder / "programs")
    shutil.copy(shutil.which("docker"), folder / "docker")
    (folder / "Dockerfile").write_text(JOB.format(image=built()))
    docker("build", "--quiet", "--tag", "skillgym-action-job:test", str(folder))
    return "skillgym-action-job:test"


def pushed(host: str, image: str, name: str) -> str:
    """The image in the registry, by its digest."""
    docker("tag", image, f"{host}/{name}")
    docker("push", "--quiet", f"{host}/{name}")
    (told,) = json.loads(docker("image", "inspect", f"{host}/{name}"))
    (digest,) = [one for one in told["RepoDigests"] if one.startswith(f"{host}/{name.partition(':')[0]}@")]
    return digest


def sources(folder: Path, host: str) -> Path:
    """This project as a repository whose version is to be released, on main; with origin.git beside it.

    Its base is taken from the registry, by its digest there.
    """
    copy = copied_sources(folder / "skillgym-action")
    base = pushed(host, BASE.search(buildable((copy / "Dockerfile").read_text()))[1], "python:slim")
    (copy / "Dockerfile").write_text(BASE.sub(f"FROM {base} AS base", (copy / "Dockerfile").read_text()))
    changes = (copy / "CHANGELOG.md").read_text().replace("(unreleased)", "(2026-11-23)", 1)
    (copy / "CHANGELOG.md").write_text(changes)
    workflow = (copy / ".github/workflows/release.yml").read_text()
    assert workflow.count(ARM) == workflow.count(" linux/arm64\n") - 1 == 1
    workflow = workflow.replace(ARM, "").replace("linux/amd64 linux/arm64\n", "linux/amd64\n")
    (copy / ".github/workflows/release.yml").write_text(workflow)
    (copy / ".github/workflows/test.yml").write_text(TESTED)
    return released(copy, folder / "origin.git")


def stand_ins(workflow: str) -> Mapping[str, Path]:
    """For all actions that the workflow uses, but the checkout."""
    steps = [step for job in yaml.safe_load(workflow)["jobs"].values() for step in job.get("steps", ())]
    uses = {step["uses"] for step in steps if "uses" in step} - {""}
    found = {}
    for name in uses:
        own = STAND_INS / name.partition("@")[0].removeprefix("actions/")
        if "/checkout@" not in name:
            found[name] = own if own.is_dir() else STAND_INS / "nothing"
    return found


def place_in(folder: Path, host: str, job_image: str) -> Place:
    repository = sources(folder, host)
    (artifacts := folder / "artifacts").mkdir()
    socket = docker("context", "inspect", "--format", "{{.Endpoints.docker.Host}}").strip().removeprefix("unix://")
    return Place(
        repository=repository,
        artifacts=artifacts,
        actions=stand_ins((repository / ".github/workflows/release.yml").read_text()),
        job_image=job_image,
        volumes={"/var/run/docker.sock": socket, "/origin.git": folder / "origin.git"},
        options=("--var", f"RELEASE_REGISTRY={host}", "--env", "BUILD_OPTIONS=--quiet"),
        seconds=1200,
    )


def run_release(place: Place) -> Workflow:
    with GitHubServer(repository="octo/skillgym-action") as github:
        event = {"inputs": {"version": version()}, "ref": "refs/heads/main"}
        return place.run("release.yml", "workflow_dispatch", event, github)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, host: str, job_image: str) -> Place:
    return place_in(tmp_path_factory.mktemp("release"), host, job_image)


@pytest.fixture(scope="module")
def published(place: Place, host: str) -> str:
    """The release workflow has been run: the image that the tag names."""
    ran = run_release(place)
    assert {name: job.result for name, job in ran.jobs.items() if job.result != "success"} == {}, ran.log
    tagged = git_in(place.artifacts.parent / "origin.git", "show", f"v{version()}:action.yml")
    return yaml.safe_load(tagged)["runs"]["image"].removeprefix("docker://")


def version() -> str:
    from skillgym_action import __version__

    return __version__


def test_a_release_is_run_from_the_sources_to_tags_that_name_the_image(place, host, published):
    origin = place.artifacts.parent / "origin.git"
    told = manifest(published)
    assert [one["platform"]["architecture"] for one in told["manifests"]] == ["amd64"]
    assert published.startswith(f"{host}/octo/skillgym-action@sha256:")
    assert told == manifest(f"{host}/octo/skillgym-action:{version()}")
    assert git_in(origin, "rev-parse", "v1") == git_in(origin, "rev-parse", f"v{version()}")
    assert git_in(origin, "rev-parse", "v1^") == git_in(place.repository, "rev-parse", "HEAD")
    assert git_in(origin, "diff", "--name-only", "v1^", "v1") == "action.yml\n"
    assert yaml.safe_load(git_in(origin, "show", "main:action.yml"))["runs"]["image"] == "Dockerfile"
    (settings,) = json.loads(docker("image", "inspect", published))
    labels = settings["Config"]["Labels"]
    assert labels["org.opencontainers.image.revision"] == git_in(place.repository, "rev-parse", "HEAD").strip()
    assert labels["org.opencontainers.image.version"] == version()


def test_a_release_that_failed_after_its_tag_is_finished_with_the_same_image(tmp_path, host, job_image):
    place, origin = place_in(tmp_path, host, job_image), tmp_path / "origin.git"
    name = pushed(host, built(), "octo/skillgym-action:failed")
    to_origin = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": f"url.{origin}.insteadOf",
                 "GIT_CONFIG_VALUE_0": "https://github.com/octo/skillgym-action.git"}  # fmt: skip
    tagged = release(place.repository, "tag", name, version(), **to_origin)
    assert tagged.code == 0, tagged.log
    before = git_in(origin, "show-ref")
    git_in(origin, "tag", "--delete", "v1")
    ran = run_release(place)
    assert {job: ran.jobs[job].result for job in ("plan", "tag", "github-release", "pypi")} == {
        "plan": "success", "tag": "success", "github-release": "success", "pypi": "success",
    }, ran.log  # fmt: skip
    assert {ran.jobs[job].result for job in ("image", "index") if job in ran.jobs} <= {"skipped"}
    assert git_in(origin, "show-ref") == before


def arm_image(folder: Path) -> str:
    """An image of one file for the other kind of machine."""
    files = written(folder / "arm", {"Dockerfile": "FROM scratch\nCOPY Dockerfile /\n"})
    docker("build", "--quiet", "--platform", "linux/arm64", "--tag", "skillgym-action:arm64", str(files))
    return "skillgym-action:arm64"


def test_the_index_names_an_image_for_each_platform(host, tmp_path):
    image = f"{host}/octo/two"
    for architecture, local in (("amd64", built()), ("arm64", arm_image(tmp_path))):
        digest = pushed(host, local, f"octo/{architecture}:1").partition("@")[2]
        pushed(host, local, f"octo/two:{architecture}")
        noted = {"platform": f"linux/{architecture}", "digest": digest}
        written(tmp_path, {f"{architecture}/{architecture}.json": json.dumps(noted)})
    both = ("linux/amd64", "linux/arm64")
    first = release(tmp_path, "index", image, "1.2.3", tmp_path, *both)
    assert first.code == 0, first.log
    platforms = [one["platform"] for one in manifest(f"{image}@{first.outputs['digest']}")["manifests"]]
    assert {f"{one['os']}/{one['architecture']}" for one in platforms} == set(both)
    assert release(tmp_path, "index", image, "1.2.3", tmp_path, *both).outputs == first.outputs
    shutil.rmtree(tmp_path / "arm64")
    missing = release(tmp_path, "index", image, "1.2.3", tmp_path, *both)
    assert missing.code == 1
    assert "linux/amd64, linux/arm64 are to be released, ['linux/amd64'] are there" in missing.log


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory, host: str) -> Path:
    """The action as its tag has it: an ``action.yml`` with the image of the registry."""
    name = pushed(host, built(), "octo/skillgym-action:pushed")
    action = (ROOT / "action.yml").read_text().replace("\n  image: Dockerfile\n", f"\n  image: docker://{name}\n")
    assert name in action
    folder = written(tmp_path_factory.mktemp("tagged"), {"action.yml": action})
    git_in(folder, "init", "--quiet")
    git_in(folder, "add", "--all")
    git_in(folder, *IDENTITY, "commit", "--quiet", "--message=x")
    return folder


SCRIPT = "case $1 in crash) exit 9 ;; esac; echo hello >hello.txt"


@pytest.mark.parametrize(
    ("written_case", "fail_on", "outputs"),
    [
        pytest.param(case(prompt="work", expect=("file:hello.txt exists",)), "failed", "passed 0\n", id="green"),
        pytest.param(case(prompt="work", expect=("file:other.txt exists",)), "failed", "failed 1\n", id="red"),
        pytest.param(case(prompt="crash"), "errored", "inconclusive 3\n", id="inconclusive"),
        pytest.param(case(prompt="work"), "bogus", None, id="misconfigured"),
    ],
)
def test_a_repository_uses_the_published_image(tagged, tmp_path, written_case, fail_on, outputs):
    result = "success" if outputs == "passed 0\n" else "failure"
    agent = {"type": "command", "command": ["sh", "-c", SCRIPT, "agent", "{prompt}"]}
    files = {
        "bench/core.json": suite(written_case),
        "skillgym.config.yaml": json.dumps({"runners": {"script": {"agent": agent}}}),
        ".github/workflows/bench.yml": consumer_workflow('echo "$VERDICT $CODE"', fail_on),
    }
    repository = committed(written(tmp_path / "skills", files))
    with GitHubServer(repository="octo/skills") as github:
        github.add_pull(PullRequest(number=7, head_sha=head(repository)))
        place = Place(repository=repository, artifacts=tmp_path, actions={"octo/skillgym-action@v1": tagged})
        ran = place.run("bench.yml", "pull_request", opened(repository), github)
    job = ran.jobs["bench"]
    bench = job.steps["bench"]
    assert (job.result, bench.result) == (result, result), ran.log
    if outputs is None:
        assert "bogus" in bench.log
        assert "Traceback" not in bench.log
    else:
        assert job.steps["after"].log == outputs
        assert outputs.split()[0].capitalize() in bench.summary.splitlines()[0]
