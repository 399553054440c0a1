"""What makes the containers of sessions whose suites ask for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.errors import ConfigError
from skillgym_action.model.records import record
from skillgym_action.suites.container_section import ContainerKeyError, container_spec

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.settings.configuration import WorkspaceSection
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.option_types import SandboxType
    from skillgym_action.settings.settings import Settings


@record
class SandboxOptions:
    """``type``: what makes containers; ``none``: suites that ask for one are refused.

    ``proxy_image``: an image with the proxy of their network. ``bundles``: agents that an image lacks are brought in.
    """

    type: SandboxType = "docker"
    proxy_image: str | None = None
    bundles: bool = True


def sandbox_options(settings: Settings, config: Config) -> SandboxOptions:
    """The setting, else what the configuration says, else Docker: only suites that ask for a container need it."""
    section = config.file.sandbox
    return SandboxOptions(
        type=settings.sandbox or section.type or "docker",
        proxy_image=section.proxy_image,
        bundles=section.agents == "bundle",
    )


def configured_container(section: WorkspaceSection, folder: Path, context: LaunchContext) -> ContainerSpec | None:
    """What suites without a workspace run in; ``folder``: of the configuration file. Raises ConfigError."""
    checkout = context.suite_source.checkout
    is_inside = checkout.contains(folder)

    def refusal(path: Path) -> str | None:
        return checkout.refusal(path) if is_inside or checkout.contains(path) else None

    try:
        cpus = section.limits.cpus if section.limits else None
        isolated = section.mode == "isolated" and not section.cwd
        return container_spec(section, cpus, folder, refusal, isolated=isolated)
    except ContainerKeyError as error:
        raise ConfigError(f"run.workspace.{error.key}: {error.message}") from error
