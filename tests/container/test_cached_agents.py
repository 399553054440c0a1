"""Agents that one job installed and a later one restores, in the image as the runner starts it."""

from __future__ import annotations

from ipaddress import ip_network
from typing import TYPE_CHECKING

import pytest

from container.image import built, docker
from container.runner import run_step
from npm_registry import NpmRegistry, stand_in
from scratch import case, config, repository, suite

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.container

CLAUDE = {"agent": {"type": "claude-code", "version": "9.9.9"}}


def test_a_later_job_restores_what_the_cache_kept_and_agents_cannot_reach_it(tmp_path: Path):
    """The folder below the runner's temporary folder is what actions/cache saves and restores between the jobs."""
    subnet = docker("network", "inspect", "bridge", "--format", "{{(index .IPAM.Config 0).Subnet}}").strip()
    gateway = next(ip_network(subnet).hosts())
    unreachable = case(
        expect=("file:user.txt contains 'agent'", "test:! ls /github/runner_temp/skillgym-agents passes")
    )
    files = {"bench/core.json": suite(unreachable), "skillgym.config.yaml": config(claude=CLAUDE)}
    checkout = repository(tmp_path / "checkout", files)
    kept = tmp_path / "kept"
    kept.mkdir()
    mounted = ("-v", f"{kept}:/github/runner_temp/skillgym-agents")
    job = {"ANTHROPIC_API_KEY": "key-of-the-user"}
    inputs = {"agents-cache": "skillgym-agents"}
    with NpmRegistry(stand_in("claude-code", "9.9.9"), host="0.0.0.0") as registry:
        online = {**job, "npm_config_registry": f"http://{gateway}:{registry.port}"}
        first = run_step(built(), checkout, env=online, inputs=inputs, options=mounted)
    assert first.exit_code == 0, first.log
    assert "installed claude-code 9.9.9 in " in first.log
    (file,) = kept.iterdir()
    assert (file.stat().st_uid, file.stat().st_mode & 0o777) == (kept.stat().st_uid, 0o644)

    second = run_step(built(), checkout, env=job, inputs=inputs, options=mounted)
    assert second.exit_code == 0, second.log
    assert "restored claude-code 9.9.9 in " in second.log
