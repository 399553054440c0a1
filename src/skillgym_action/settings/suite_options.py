"""Which suites are found, and how they are loaded: the options of these two stages."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.model.suite import SkillSettings, WorkspaceSpec
from skillgym_action.settings.configuration_file import quarantine_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.option_types import Auth
    from skillgym_action.settings.settings import Settings


@record
class DiscoverOptions:
    """``paths`` are relative to the working directory; ``!PATH`` excludes. ``without``: a folder not to search.

    ``where``: the folder that is searched, for messages, with a leading space. ``configuration``: the file that
    configures the run; None: none. ``named_configuration``: whether the user chose it, so that it need not be the
    closest one of each suite. ``quarantine``: the only quarantine file that is read; None: warn of no other one.
    """

    paths: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    without: Path | None = None
    where: str = ""
    configuration: Path | None = None
    named_configuration: bool = True
    quarantine: Path | None = None

    @property
    def every_suite(self) -> bool:
        """Whether all suites are found, not only those of some paths or formats."""
        return not self.paths and not self.formats


def discover_options(settings: Settings, config: Config, context: LaunchContext) -> DiscoverOptions:
    """Which suites are found, and which files beside them have no effect."""
    return DiscoverOptions(
        paths=settings.paths,
        formats=settings.format,
        configuration=config.path,
        named_configuration=settings.config is not None,
        quarantine=quarantine_path(config, context),
    )


@record
class LoadOptions:
    """``workspace``: for suites without one of their own; ``cwd``: for those whose workspace is just ``none``.

    ``cwd_option``: the directory as ``--cwd`` names it; then suites with another workspace are refused.
    ``environment``: the variables that suites may refer to. ``agentv_compat``: score as AgentV does. ``skills``: how
    skills under test are found, and what their suites work in. ``threshold``: of cases with a mean score.
    ``allow_tools``: the tools that cases of plugins may use; None: all. ``auth``: how agents get an account.
    """

    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    cwd: Path | None = None
    cwd_option: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    agentv_compat: bool = False
    skills: SkillSettings = field(default_factory=SkillSettings)
    threshold: float | None = None
    allow_tools: tuple[str, ...] | None = None
    auth: Auth | None = None
