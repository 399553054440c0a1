"""The keys of a workspace that ask for a container: what they become, and the message of each mistake."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from skillgym_action.model.containers import ContainerBuild, ContainerLimits, ContainerSpec, NetworkMode, NetworkPolicy
from skillgym_action.suites.container_section import ContainerKeyError, container_keys, container_limits, container_spec

if TYPE_CHECKING:
    from pathlib import Path

    from _pytest.mark.structures import ParameterSet

MODEL_ONLY = NetworkPolicy(mode=NetworkMode.MODEL_ONLY)


def spec_of(folder: Path, keys: dict[str, Any], cpus: float | None = None, **settings: Any) -> ContainerSpec | None:
    return container_spec(container_keys(keys), cpus, folder, settings.pop("refusal", lambda _: None), **settings)


def test_without_an_image_there_is_no_container(tmp_path):
    assert spec_of(tmp_path, {}) is None


def test_a_container_reaches_the_service_of_the_model_alone_unless_the_suite_says_otherwise(tmp_path):
    assert spec_of(tmp_path, {"image": "python:3.12-slim"}) == ContainerSpec(
        image="python:3.12-slim", network=MODEL_ONLY
    )


def test_all_keys(tmp_path):
    keys = {
        "image": "registry.example.com:5000/a/b@sha256:0123",
        "workdir": "/app/",
        "user": "agent:users",
        "network": {"mode": "allow-list", "hosts": ["PyPI.org", "files.example.com:8443"]},
    }
    assert spec_of(tmp_path, keys, 1.5) == ContainerSpec(
        image="registry.example.com:5000/a/b@sha256:0123",
        workdir="/app",
        user="agent:users",
        limits=ContainerLimits(cpus=1.5),
        network=NetworkPolicy(mode=NetworkMode.ALLOW_LIST, hosts=("pypi.org", "files.example.com:8443")),
    )


def test_a_dockerfile_is_short_for_a_build_in_its_folder(tmp_path):
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "Dockerfile").touch()
    built = spec_of(tmp_path, {"dockerfile": "box/Dockerfile"})
    assert built == spec_of(tmp_path, {"build": {"context": "box"}})
    assert built == ContainerSpec(build=ContainerBuild(context=tmp_path / "box"), network=MODEL_ONLY)


def wrong(key: str, message: str, keys: dict[str, Any], **settings: Any) -> ParameterSet:
    return pytest.param(key, message, keys, settings, id=f"{key}: {message}"[:60])


@pytest.mark.parametrize(
    ("key", "message", "keys", "settings"),
    [
        wrong("build", "there is image, too", {"image": "a", "build": {}}),
        wrong("user", "needs image, build or dockerfile", {"user": "agent"}),
        wrong("network", "needs image, build or dockerfile", {"network": "none"}),
        wrong("limits.cpus", "needs image, build or dockerfile", {}, cpus=1.0),
        wrong("image", "is not the name of an image", {"image": "--privileged"}),
        wrong("user", "is not a user", {"image": "a", "user": "a b"}),
        wrong("workdir", "is not an absolute path", {"image": "a", "workdir": "app"}),
        wrong("workdir", "is not an absolute path", {"image": "a", "workdir": "/"}),
        wrong("workdir", "is not an absolute path", {"image": "a", "workdir": "/app/../etc"}),
        wrong("network", "allow-list needs hosts", {"image": "a", "network": "allow-list"}),
        wrong("network", "hosts have no effect", {"image": "a", "network": {"mode": "none", "hosts": ["b"]}}),
        wrong("network.hosts.0", "is not a host", {"image": "a", "network": {"mode": "allow-list", "hosts": ["*.b"]}}),
        wrong("build.dockerfile", "is not a path below", {"build": {"dockerfile": "../Dockerfile"}}),
        wrong("build.context", "there is no Dockerfile in .", {"build": {}}),
        wrong("build.context", "it is a link", {"build": {"context": "box"}}, refusal=lambda _: "it is a link"),
        wrong("dockerfile", "it is a link", {"dockerfile": "box/Dockerfile"}, refusal=lambda _: "it is a link"),
        wrong("mode", "write isolated", {"image": "a"}, isolated=False),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path, key, message, keys, settings):
    with pytest.raises(ContainerKeyError) as caught:
        spec_of(tmp_path, keys, **settings)
    assert (caught.value.key, message in caught.value.message) == (key, True), caught.value


def test_limits_of_containers_are_taken_out_of_the_others():
    assert container_limits({"cpus": 2, "pids": 64, "memory": "1GiB"}) == ({"processes": 64, "memory": "1GiB"}, 2.0)
    assert container_limits(None) == (None, None)


@pytest.mark.parametrize("limits", [{"cpus": 0}, {"cpus": "two"}, {"cpus": True}, {"pids": 1, "processes": 2}])
def test_a_limit_that_is_none_is_refused(limits):
    with pytest.raises(ContainerKeyError):
        container_limits(limits)
