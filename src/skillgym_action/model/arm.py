"""Arms: variants of the sessions of a suite that are compared, such as with a skill and without it."""

from __future__ import annotations

from dataclasses import field
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from pathlib import Path


SkillVersion = Literal["head", "base", "none"]
"""Which version of the skills under test an arm has: that of the checkout, that of the merge base, or none."""

WITH_SKILL, WITHOUT_SKILL, OLD_SKILL = "with_skill", "without_skill", "old_skill"

SKILL_LOADS = frozenset({"skill-trigger", "skill-used"})
"""Types of the assertions that a skill is loaded, or is not: they would only compare what the arms were made of."""

SKILL_ARMS: dict[str, SkillVersion] = {WITH_SKILL: "head", WITHOUT_SKILL: "none", OLD_SKILL: "base"}


@record
class OverlayFile:
    """A file that an arm adds to workspaces, or to homes of agents.

    ``path``: relative, without ``..``; ``mode``: permissions.
    """

    path: str
    content: bytes = field(repr=False)
    mode: int = 0o644


@record
class SkillUnderTest:
    """A skill that is installed into the workspace of each session, where the runner's agent looks for skills.

    ``name``: from the frontmatter of its SKILL.md, also the name of the installed folder. ``folder``: the absolute path
    of the folder of its SKILL.md. ``packaging`` ``plugin``: it is a whole plugin, for agents that load plugins;
    ``in-plugin``: a skill of such a plugin, for agents that do not. ``origin``: of a version of another commit, the
    folder that it has in the checkout.
    """

    name: str
    folder: Path
    packaging: Literal["skill", "plugin", "in-plugin"] = "skill"
    origin: Path | None = None


@record
class Arm:
    """One variant. Exactly one arm of a suite ``decides`` about status and exit code.

    ``remove``: globs of paths that are removed from workspaces; then ``files`` are written to them, and ``home`` to the
    agent's home, which is empty before. ``env`` and ``command_args`` are added to those of the runner's agent, and
    ``without_env`` are variables taken from it. ``base_skills``: for ``skill`` ``base``, pairs of the folder of a skill
    under test and its version at the merge base; a skill without such a pair is not installed. ``of_suite``: a suite
    defines it, not the configuration. ``control``: the commit of which its sessions have the files; None: the head.
    """

    name: str
    files: tuple[OverlayFile, ...] = ()
    remove: tuple[str, ...] = ()
    home: tuple[OverlayFile, ...] = ()
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    without_env: tuple[str, ...] = ()
    command_args: tuple[str, ...] = ()
    skill: SkillVersion = "head"
    of_suite: bool = False
    base_skills: tuple[tuple[Path, SkillUnderTest], ...] = ()
    decides: bool = False
    control: str | None = None

    @property
    def changes_files(self) -> bool:
        """Whether it adds or removes files of workspaces."""
        return bool(self.files or self.remove)

    @property
    def changes_agent(self) -> bool:
        """Whether it changes what the runner's agent is started with."""
        return bool(self.home or self.env or self.without_env or self.command_args)

    def skills(self, of_checkout: tuple[SkillUnderTest, ...]) -> tuple[SkillUnderTest, ...]:
        """The skills that its sessions have, for those of the checkout."""
        if self.skill == "head":
            return of_checkout
        at_base = dict(self.base_skills)
        return tuple(at_base[skill.folder] for skill in of_checkout if skill.folder in at_base)

    def identity(self) -> tuple[object, ...]:
        """What its sessions depend on, without values of variables: equal for arms with equal sessions."""
        files, home = (
            tuple((file.path, file.mode, sha256(file.content).hexdigest()) for file in several)
            for several in (self.files, self.home)
        )
        names = tuple(name for name, _ in self.env)
        identity = self.name, files, self.remove, home, names, self.without_env, self.command_args, self.skill
        return (*identity, self.control) if self.control else identity
