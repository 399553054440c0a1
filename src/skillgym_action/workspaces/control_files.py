"""The files of the base commit in place of those of the checkout, for sessions beside those of the head.

The suite is that of the head: cases, prompts, assertions, hooks and limits. From the base commit are what is copied
into workspaces, and the runners.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.adaptive import CONTROL_ARM
from skillgym_action.model.arm import Arm
from skillgym_action.text.escaping import path_key
from skillgym_action.workspaces.repository.changed_files import CommittedTree, changed_files
from skillgym_action.workspaces.repository.earlier_skills import skill_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.arm import SkillUnderTest
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.suite import WorkspaceSpec
    from skillgym_action.system.processes.launcher import ProcessLauncher
    from skillgym_action.workspaces.workspaces import Workspaces


class ControlFiles:
    """What stands at the paths of the checkout in the base commit, whose files are in a folder."""

    def __init__(self, workspaces: Workspaces, processes: ProcessLauncher, root: Path, commit: str) -> None:
        """Write the files of ``commit`` to the new folder ``root``. Raises OSError."""
        self._workspaces, self._root, self._commit = workspaces, root, commit
        self._checkout = workspaces.repository.root
        root.parent.mkdir(mode=0o700, exist_ok=True)
        CommittedTree(self._checkout, processes, commit).write(root)
        workspaces.repository.commit_all(root)
        self._changed = changed_files(self._checkout, processes, commit)

    def _path(self, path: Path) -> Path:
        """The path in the base commit; that of a file that is not in the checkout itself."""
        return self._root / path.relative_to(self._checkout) if path.is_relative_to(self._checkout) else path

    def execution(self, head: Execution, runner: Runner, index: int) -> Execution | None:
        """The execution with the files of the base; None if the base lacks what it is given."""
        spec = head.case.workspace or head.suite.workspace
        skills = tuple(map(self._skill, head.arm.skills(spec.skills) if head.arm else spec.skills))
        program = next(iter(runner.agent.command), "")
        given = [self._path(path) for path in self._given(head)]
        if program.startswith(f"{self._root}/"):
            given.append(Path(program))
        if None in skills or not all(map(os.path.lexists, given)):
            return None
        arm = head.arm or Arm(name=CONTROL_ARM)
        suite, _, agent = head.directory.rsplit("/", 2)
        of_case = path_key(f"{head.case.id}\0{CONTROL_ARM}")
        workspace = self._workspace(spec, tuple(skill for skill in skills if skill))
        files = tuple(map(self._path, head.case.files))
        return replace(
            head,
            index=index,
            runner=runner,
            model=head.model if head.model != head.runner.agent.model else runner.agent.model,
            case=replace(head.case, workspace=workspace, files=files, depends_on=()),
            directory=f"{suite}/{of_case}/{agent}",
            arm=replace(arm, name=CONTROL_ARM, skill="head", decides=False, control=self._commit),
        )

    def _given(self, head: Execution) -> list[Path]:
        """The files and folders that an execution names, besides skills."""
        spec = head.case.workspace or head.suite.workspace
        build = spec.container.build if spec.container else None
        sources = [file.source for file in spec.files if file.source]
        folders = [path for path in (spec.template, build and build.context) if path]
        return [*sources, *head.case.files, *folders, *(skill.folder for skill in spec.skills)]

    def _workspace(self, spec: WorkspaceSpec, skills: tuple[SkillUnderTest, ...]) -> WorkspaceSpec:
        container, build = spec.container, spec.container.build if spec.container else None
        if container and build:
            container = replace(container, build=replace(build, context=self._path(build.context)))
        return replace(
            spec,
            root=self._root,
            template=spec.template and self._path(spec.template),
            cwd=spec.cwd and self._path(spec.cwd),
            files=tuple(replace(one, source=one.source and self._path(one.source)) for one in spec.files),
            skills=skills,
            container=container,
        )

    def _skill(self, skill: SkillUnderTest) -> SkillUnderTest | None:
        """The skill at the base; None if there is none. One of another commit stays as it is."""
        folder = self._path(skill.folder)
        if skill.packaging == "plugin":
            return replace(skill, folder=folder) if folder.is_dir() else None
        return skill_in(folder, skill)

    def differs(self, path: Path) -> bool:
        """Whether a file or folder of the checkout differs from the base."""
        name = os.path.relpath(path, self._checkout)
        return any(changed == name or changed.startswith(f"{name}/") for changed in self._changed)

    def is_seen(self, pairs: list[tuple[Execution, Execution]]) -> bool:
        """Whether the agents of a pair may find anything else than in the head; any visible file counts."""
        hidden = self._workspaces.hidden
        if not all(_is_below(name, hidden) for name in self._changed):
            return True
        of_head, of_base = self._workspaces.input_digests(), self._workspaces.input_digests(self._root)
        return any(
            of_head.of(head) != of_base.of(control) or not self._is_same_agent(head, control) for head, control in pairs
        )

    def obstacle(self, pairs: list[tuple[Execution, Execution]], *, other_user: bool) -> str:
        """Why sessions with the files of the commit are not what they were at the base; empty: they are.

        ``other_user``: agents run as a user who cannot read the folder of the commit. Raises OSError.
        """
        hidden = self._workspaces.hidden
        repository, of_base = self._workspaces.repository, self._workspaces.repository_in(self._root)
        copied = {*repository.files(self._checkout), *repository.committed_files(), *of_base.committed_files()}
        copied |= {parent.as_posix() for path in copied for parent in PurePosixPath(path).parents}
        unknown = {path for one in (repository, of_base) for path in one.not_from_git_alone()}
        for head, control in pairs:
            spec = head.case.workspace or head.suite.workspace
            programs = self._of_agent(control)
            if programs is None:
                return f"the agent of {head.runner.id} uses files of this checkout"
            if other_user and (programs or any(one.packaging == "plugin" for one in spec.skills)):
                return f"the agent of {head.runner.id} runs as another user, who cannot read files of the base commit"
            given = [os.path.relpath(path, self._checkout) for path in self._given(head)]
            for path in sorted(unknown):
                is_given = any(_is_below(path, (one,)) or _is_below(one, (path,)) for one in (*given, *programs))
                is_copied = spec.source == "repository" and path in copied
                if not _is_below(path, hidden) and (is_given or is_copied):
                    return f"{path} is not in git as agents get it"
        if any(_is_below(".gitmodules", (path,)) for path in self._changed):
            return "the submodules differ from the base commit"
        return ""

    def _of_agent(self, control: Execution) -> list[str] | None:
        """The folders of the commit that the control's agent is started from; None: it may use the checkout itself."""
        agent = control.runner.agent
        parts = [*agent.command, *agent.command_args, *agent.env.values(), agent.sessions or "", str(agent.cwd or "")]
        if any(str(self._checkout) in part or "GITHUB_WORKSPACE" in part for part in parts):
            return None
        return [
            os.path.relpath(os.path.dirname(part), self._root) if part.startswith(f"{self._root}/") else "."
            for part in parts
            if str(self._root) in part
        ]

    def _is_same_agent(self, head: Execution, control: Execution) -> bool:
        """Whether both have the same agent; programs of the checkout that it names are its only if unchanged."""
        before, now = (
            repr(one.agent).replace(f"{self._root}/", "").replace(f"{self._checkout}/", "") for one in (control, head)
        )
        same = before == now and head.agent.env == control.agent.env and head.model == control.model
        return same and not _names_files(now, self._changed)


def _is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a relative path is one of the folders or in one of them."""
    return any(one in (".", path) or path.startswith(f"{one}/") for one in folders)


def _names_files(agent: str, paths: Iterable[str]) -> bool:
    """Whether an agent's command names one of the files; its last component is enough."""
    return any(PurePosixPath(path).name in agent for path in paths)
