"""An environment of Harbor over the ``docker`` CLI alone, for ``compare_harbor.py``: Harbor's own needs Compose.

Harbor imports it (``--environment-import-path harbor_environment:PlainDocker``); nothing else does. Harbor's oracle and
nop agents, its verifier and its trials are its own. An allow-list becomes no network at all.
"""

# mypy: ignore-errors

from __future__ import annotations

import asyncio
import shlex
from typing import TYPE_CHECKING

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities, EnvironmentResourceCapabilities
from harbor.models.task.config import NetworkMode

if TYPE_CHECKING:
    from pathlib import Path


class PlainDocker(BaseEnvironment):
    """A container per trial, kept alive by ``sleep``."""

    _container = ""

    @staticmethod
    def type() -> str:
        return "plain-docker"

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(cpu_limit=True, memory_limit=True)

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True, network_allowlist=True, network_allowlist_hostnames=True)

    def _validate_definition(self) -> None:
        """Any definition may be tried."""

    async def _docker(self, *argv: str, check: bool = True, limit: float | None = None) -> ExecResult:
        process = await asyncio.create_subprocess_exec(
            "docker", *argv, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), limit)
        except TimeoutError:
            process.kill()
            raise
        if check and process.returncode:
            raise RuntimeError(f"docker {argv[0]}: {err.decode(errors='replace')}")
        return ExecResult(
            stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"), return_code=process.returncode
        )

    async def start(self, force_build: bool) -> None:  # noqa: ARG002, FBT001 - Harbor's signature
        image = self.task_env_config.docker_image
        if not image:
            built = await self._docker("build", "--quiet", str(self.environment_dir))
            image = built.stdout.strip()
        network = () if self.network_policy.network_mode == NetworkMode.PUBLIC else ("--network", "none")
        run = await self._docker("run", "--detach", *network, image, "sh", "-c", "sleep infinity")
        self._container = run.stdout.strip()
        await self.exec("mkdir -p /logs/agent /logs/verifier /logs/artifacts && chmod 777 /logs/*", user="root")
        await self._upload_environment_dir_after_start()

    async def stop(self, delete: bool) -> None:  # noqa: ARG002, FBT001 - Harbor's signature
        if self._container:
            await self._docker("rm", "--force", "--volumes", self._container, check=False)
            self._container = ""

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        await self._docker("cp", str(source_path), f"{self._container}:{target_path}")

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        await self.exec(f"mkdir -p {shlex.quote(target_dir)}", user="root")
        await self._docker("cp", f"{source_dir}/.", f"{self._container}:{target_dir}")

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        await self._docker("cp", f"{self._container}:{source_path}", str(target_path))

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self._docker("cp", f"{self._container}:{source_dir}/.", str(target_dir))

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        options: list[str] = []
        workdir = cwd or self.task_env_config.workdir
        options += ["--workdir", workdir] if workdir else []
        user = self._resolve_user(user)
        options += ["--user", str(user)] if user is not None else []
        for name, value in (self._merge_env(env) or {}).items():
            options += ["--env", f"{name}={value}"]
        return await self._docker(
            "exec", *options, self._container, "bash", "-c", command, check=False, limit=timeout_sec
        )
