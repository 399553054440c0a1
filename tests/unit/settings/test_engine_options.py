from __future__ import annotations

import json

import pytest

from scratch import repository, runner, skillgym
from skillgym_action.model.errors import UsageError
from skillgym_action.sessions.run_limits import provider_of
from skillgym_action.settings.configuration import ConfigFile
from skillgym_action.settings.configuration_file import Config
from skillgym_action.settings.engine_options import WithoutKeys
from skillgym_action.settings.option_types import cluster_address
from skillgym_action.settings.resolve import on_engine
from skillgym_action.settings.runners import selected_runners
from skillgym_action.settings.settings import ExecuteOptions
from skillgym_action.settings.slices import EngineOptions


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("dask://scheduler.example:8786", "tls://scheduler.example:8786"),
        ("tls://10.0.0.1:8786", "tls://10.0.0.1:8786"),
        ("dask://[2001:db8::1]:8786", "tls://[2001:db8::1]:8786"),
        ("dask://127.0.0.1:8786", "tls://127.0.0.1:8786"),
        ("tcp://127.0.0.1:8786", "tcp://127.0.0.1:8786"),
        ("tcp://[::1]:8786", "tcp://[::1]:8786"),
        ("tcp://localhost:8786", "tcp://localhost:8786"),
    ],
)
def test_an_address_is_with_tls_unless_it_is_tcp_on_loopback(written: str, address: str) -> None:
    assert cluster_address(written) == address


@pytest.mark.parametrize(
    "written",
    [
        "tcp://10.0.0.1:8786",
        "tcp://0.0.0.0:8786",
        "tcp://localhost.example:8786",
        "tcp://[2001:db8::1]:8786",
        "dask://scheduler",
        "dask://scheduler:0",
        "dask://scheduler:65536",
        "dask://user@scheduler:8786",
        "scheduler:8786",
        "",
    ],
)
def test_another_address_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        cluster_address(written)


def test_an_engine_without_an_address_is_told_the_form_that_the_help_has(tmp_path) -> None:
    engine = json.dumps({"runners": {"sh": runner()}, "engine": {"type": "dask"}})
    ran = skillgym("run", cwd=repository(tmp_path, {"skillgym.config.yaml": engine}))
    remedy = "error: engine: an engine of type dask needs an address; add address: dask://HOST:PORT\n"
    assert (ran.code, ran.err) == (2, remedy)
    for command in ("run", "worker"):
        assert "dask://HOST:PORT" in skillgym(command, "--help", cwd=tmp_path).out


def test_a_coordinator_has_a_placeholder_for_variables_of_workers() -> None:
    environment = WithoutKeys({"HOME": "/root", "EMPTY": ""})
    assert (environment["HOME"], environment["EMPTY"], environment.get("KEY")) == ("/root", "-", "-")
    assert (dict(environment), "EMPTY" in environment, "KEY" in environment) == ({"HOME": "/root"}, False, False)


@pytest.mark.parametrize(
    ("env", "environment", "provider"),
    [
        pytest.param({}, {"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": ""}, "anthropic", id="the only key of both"),
        pytest.param({"OPENAI_API_KEY": "${{ OF_WORKERS }}"}, {}, "openai", id="one that only workers have"),
        pytest.param({}, {}, None, id="none"),
    ],
)
def test_a_coordinator_knows_the_provider_by_the_keys_that_are_set(env, environment, provider) -> None:
    agent = {"type": "pi", "env": env}
    config = Config(file=ConfigFile.model_validate({"runners": {"pi": {"agent": agent}}}), folder=None)
    (one,) = selected_runners(config, (), WithoutKeys(environment))
    assert provider_of(one.agent, None) == provider


@pytest.mark.parametrize(
    ("schedule", "found"), [(None, (64, "parallel")), ("parallel", (64, "parallel")), ("serial", (1, "serial"))]
)
def test_the_slots_of_a_cluster_are_used_unless_a_schedule_is_set(schedule: str | None, found: tuple[int, str]) -> None:
    options = ExecuteOptions(schedule="serial", jobs=1)
    engine = EngineOptions(address="tcp://127.0.0.1:1", slots=64)
    ran = on_engine(options, engine, schedule)
    assert (ran.jobs, ran.schedule) == found
