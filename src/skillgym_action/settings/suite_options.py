"""Which suites are found, and how they are loaded: the options of these two stages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.model.suite import SkillSettings, WorkspaceSpec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscoverOptions:
    """``paths`` are relative to the working directory; ``!PATH`` excludes. ``without``: a folder not to search.

    ``where``: the folder that is searched, for messages, with a leading space.
    """

    paths: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    without: Path | None = None
    where: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadOptions:
    """``workspace``: for suites without one of their own; ``cwd``: for those whose workspace is just ``none``.

    ``cwd_option``: the directory as ``--cwd`` names it; then suites with another workspace are refused.
    ``environment``: the variables that suites may refer to. ``agentv_compat``: score as AgentV does. ``skills``: how
    skills under test are found, and what their suites work in. ``threshold``: of cases with a mean score.
    ``allow_tools``: the tools that cases of plugins may use; None: all.
    """

    workspace: WorkspaceSpec = field(default_factory=WorkspaceSpec)
    cwd: Path | None = None
    cwd_option: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    agentv_compat: bool = False
    skills: SkillSettings = field(default_factory=SkillSettings)
    threshold: float | None = None
    allow_tools: tuple[str, ...] | None = None
