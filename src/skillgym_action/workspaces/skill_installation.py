"""Copies of skills under test in workspaces, without the evals that agents must not read.

A pull request may choose the folder's content. What cannot be copied as it is, is refused with a message.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.limits import MAX_SKILL_BYTES, MAX_SKILL_FILE_BYTES, MAX_SUITE_FILE_BYTES
from skillgym_action.model.records import record
from skillgym_action.system.files.checked_paths import GIT, PathRefusedError, open_regular
from skillgym_action.system.files.folder import SKILLS as SKILL_FOLDERS
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.removal import remove_path
from skillgym_action.text.documents.skill_files import (
    EVAL_FOLDERS,
    PLUGIN_MANIFESTS,
    PLUGIN_SERVERS_FILE,
    PLUGIN_SERVERS_KEY,
    RESULTS_ENDING,
    SKILL_FILE,
    frontmatter,
    name_refusal,
)
from skillgym_action.workspaces.repository.suite_source import kind_and_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from skillgym_action.model.arm import SkillUnderTest
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.suite import InputFile
    from skillgym_action.workspaces.repository.repository import Repository

MAX_SKILL_FILES = 5_000  # of the folder of a skill
SKILLS = "skills"  # the name of folders that have skills
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
PLUGINS = ".plugins-under-test"  # the folder of a workspace that plugins are copied into
_MANIFEST_PLACES = frozenset({PLUGIN_MANIFESTS[0], posixpath.dirname(PLUGIN_MANIFESTS[0])})
"""Where Claude Code looks for the manifest of a plugin, also through links."""
_SUITE_NAME = re.compile(
    r"([^/]*\.)?evals\.json|trigger[^/]*(eval|quer)[^/]*\.json|[^/]*\.bench\.json|eval\.ya?ml|[^/]*\.eval\.(ya?ml|jsonl)",
    re.IGNORECASE,
)


@record
class InstalledSkills:
    """The skills in a workspace. ``names``: as agents know them; ``paths``: their folders, relative to the workspace.

    ``made``: folders above them that were made for them. ``plugins``: those of the paths that are plugins.
    """

    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    made: tuple[str, ...] = ()
    plugins: tuple[str, ...] = ()


NOTHING_INSTALLED = InstalledSkills()


class SkillRefusedError(OSError):
    """A skill cannot be installed; the message has the reason."""

    def __init__(self, message: str) -> None:
        super().__init__(None, message)

    def __str__(self) -> str:
        return str(self.strerror)


def files_of_skill(skill: SkillUnderTest, repository: Repository, hidden: Iterable[str]) -> tuple[str, ...]:
    """The files of a skill that are installed, relative to its folder: those that git does not ignore.

    Left out are evals and their results, suites, the skills below it, and ``hidden`` paths of the repository. Of a
    plugin its MCP servers are left out, too, but not its manifest, which is hidden if it is a suite file. Raises
    SkillRefusedError for too many files, OSError.
    """
    names = [_relative(repository, path, skill.folder) for path in repository.files(skill.folder)]
    nested: set[str] = set()
    if skill.packaging != "plugin":
        if SKILL_FILE not in names:
            raise SkillRefusedError(f"the skill {skill.name}: there is no {SKILL_FILE} in {skill.folder}")
        nested = {posixpath.dirname(name) for name in names if posixpath.basename(name) == SKILL_FILE} - {""}
    own = {os.path.relpath(repository.root / path, skill.origin or skill.folder) for path in hidden}
    manifest = _manifest_of(skill, names)
    if skill.packaging == "plugin":
        own.add(PLUGIN_SERVERS_FILE)
    installed = tuple(name for name in names if name == manifest or not _is_left_out(name, nested | own))
    if len(installed) > MAX_SKILL_FILES:
        raise SkillRefusedError(
            f"the skill {skill.name} has {len(installed):,} files, more than {MAX_SKILL_FILES:,}: "
            "keep in its folder only what agents need"
        )
    return installed


def _manifest_of(skill: SkillUnderTest, names: Collection[str]) -> str | None:
    """Which of the files is the manifest of a plugin. git lists files that were deleted, too."""
    if skill.packaging != "plugin":
        return None
    found = (name for name in PLUGIN_MANIFESTS if name in names and os.path.lexists(skill.folder / name))
    return next(found, None)


def _relative(repository: Repository, path: str, folder: Path) -> str:
    return os.path.relpath(repository.root / path, folder).replace(os.sep, "/")


def _is_left_out(name: str, paths: Collection[str]) -> bool:
    *folders, last = name.split("/")
    if GIT in folders or _SUITE_NAME.fullmatch(last):
        return True
    if any(folder.lower() in EVAL_FOLDERS or folder.endswith(RESULTS_ENDING) for folder in folders):
        return True
    return name in paths or any(str(parent) in paths for parent in PurePosixPath(name).parents)


def install_skill(skill: SkillUnderTest, repository: Repository, hidden: Iterable[str], target: Path) -> None:
    """Copy a skill to ``target``, which must not exist. Raises SkillRefusedError, OSError."""
    if refused := name_refusal(skill.name):
        raise SkillRefusedError(f"the name {skill.name!r} of the skill {refused}")
    copied = 0
    names = files_of_skill(skill, repository, hidden)
    manifest = _manifest_of(skill, names)
    for name in names:
        fd = _opened(skill, repository, name, names)
        if fd is None:
            continue
        if isinstance(fd, str):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).symlink_to(fd)
            continue
        try:
            copied += os.fstat(fd).st_size
            if copied > MAX_SKILL_BYTES:
                raise SkillRefusedError(
                    f"the skill {skill.name} has more than {MAX_SKILL_BYTES // 1024**2} MiB, with {name}: "
                    "keep in its folder only what agents need"
                )
            if name == manifest:
                _copy_manifest(skill, name, fd, target / name)
            else:
                _copy(fd, target / name)
        finally:
            os.close(fd)


def _copy_manifest(skill: SkillUnderTest, name: str, source: int, target: Path) -> None:
    """Copy the manifest of a plugin without its MCP servers. Raises SkillRefusedError, OSError."""
    with open(source, "rb", closefd=False) as file:
        content = file.read(MAX_SUITE_FILE_BYTES)
    try:
        manifest = json.loads(content.decode("utf-8-sig"))
        manifest.pop(PLUGIN_SERVERS_KEY, None)
        written = json.dumps(manifest, indent=2).encode()
    except (AttributeError, TypeError, ValueError, RecursionError) as error:
        raise SkillRefusedError(f"the plugin {skill.name}: {name} is not a JSON object") from error
    _write(target, [written], os.fstat(source).st_mode)


def _opened(skill: SkillUnderTest, repository: Repository, name: str, names: Collection[str]) -> int | str | None:
    """A descriptor of a file of the skill, or the target of a link that stays in the skill; None if there is none.

    git lists files that were deleted, too. Raises SkillRefusedError.
    """
    path, checkout = skill.folder / name, repository.checkout
    try:
        target = os.readlink(path)
    except OSError:
        target = None
    if target is not None:
        inside = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
        among = inside in names or any(other.startswith(f"{inside}/") for other in names)
        if target.startswith("/") or not among:
            raise SkillRefusedError(
                f"the skill {skill.name}: {name} is a symbolic link to {target}, which is not installed; "
                "put the file itself there"
            )
        if skill.packaging == "plugin" and name in {*_MANIFEST_PLACES, _manifest_of(skill, names)}:
            raise SkillRefusedError(
                f"the plugin {skill.name}: {name} is a symbolic link to {target}; put the manifest itself there"
            )
        return target
    try:
        if checkout.contains(path):
            return checkout.open_file(path, follow=False)
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except PathRefusedError as error:
        raise SkillRefusedError(f"the skill {skill.name}: {error}") from error
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SkillRefusedError(f"the skill {skill.name}: {name} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise SkillRefusedError(f"the skill {skill.name}: {name} is not a regular file")
    return fd


def _copy(source: int, target: Path) -> None:
    """Copy an open file with its mode. Raises OSError."""
    _write(target, iter(lambda: os.read(source, 1024 * 1024), b""), os.fstat(source).st_mode)


def _write(target: Path, chunks: Iterable[bytes], mode: int) -> None:
    """Write a new file with a mode, in which its owner can read and change it. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "xb") as copy:
        copy.writelines(chunks)
        os.fchmod(copy.fileno(), stat.S_IMODE(mode) | stat.S_IRUSR | stat.S_IWUSR)


class SkillDigests:
    """SHA-256 over what is installed of skills: names, modes and contents. Each skill is read once."""

    def __init__(self, repository: Repository, hidden: Iterable[str]) -> None:
        """``hidden``: paths of the repository that agents do not see."""
        self._repository, self._hidden = repository, tuple(hidden)
        self._known: dict[SkillUnderTest, str] = {}

    def of(self, execution: Execution) -> tuple[str, ...]:
        """A digest for each skill that the sessions have; of one that cannot be installed, over the reason."""
        skills = (execution.case.workspace or execution.suite.workspace).skills
        skills = execution.arm.skills(skills) if execution.arm else skills
        return tuple(self._known.get(skill) or self._known.setdefault(skill, self._made(skill)) for skill in skills)

    def _made(self, skill: SkillUnderTest) -> str:
        lines = [f"{skill.name}\0{skill.packaging}\n"]
        try:
            for name in files_of_skill(skill, self._repository, self._hidden):
                with suppress(FileNotFoundError):  # git lists files that were deleted, too
                    mode = stat.S_IMODE(os.lstat(skill.folder / name).st_mode)
                    lines.append(f"{name}\0{mode:o} {kind_and_digest(skill.folder / name)}\n")
        except OSError as error:
            lines.append(str(error.strerror))
        return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


# --- in a template ----------------------------------------------------------------------------------


def install_skills(
    root: Path, skills: tuple[SkillUnderTest, ...], folders: tuple[str, ...], repository: Repository, hidden: list[str]
) -> InstalledSkills:
    """Install skills into the template at ``root``, in each of the folders. Raises SkillRefusedError, OSError.

    git ignores them there: they are no change of the agent's, and in no commit.
    """
    if any(os.path.lexists(root / folder) for folder in (*folders, *SKILL_FOLDERS)):
        _link_skill_folders(root)
    plugins = [skill for skill in skills if skill.packaging == "plugin"]
    paths = _install_plugins(root, plugins, repository, hidden)
    made = [PLUGINS] if plugins else []
    skills = tuple(skill for skill in skills if skill not in plugins)
    for folder in folders if skills else ():
        place = _skills_folder_in(root, folder)
        above = [place, *map(str, PurePosixPath(place).parents)][:-1]
        made += [path for path in above if not os.path.lexists(root / path)]
        for skill in skills:
            path = f"{place}/{skill.name}"
            if path in paths:  # one of the folders is a link to the other
                continue
            if os.path.lexists(root / path):
                raise SkillRefusedError(
                    f"the skill {skill.name} cannot be installed: {path} is in the workspace already"
                )
            install_skill(skill, repository, hidden, root / path)
            paths.append(path)
    _ignore(root, paths)
    return InstalledSkills(
        names=tuple(skill.name for skill in skills),
        paths=tuple(paths),
        made=tuple(made),
        plugins=tuple(paths[: len(plugins)]),
    )


def _install_plugins(
    root: Path, plugins: Iterable[SkillUnderTest], repository: Repository, hidden: list[str]
) -> list[str]:
    """Copy plugins into the template at ``root``, without their evals; their paths in it.

    Raises SkillRefusedError, OSError.
    """
    paths = [f"{PLUGINS}/{plugin.name}" for plugin in plugins]
    if paths and os.path.lexists(root / PLUGINS):
        raise SkillRefusedError(f"plugins cannot be copied to {PLUGINS}, which is in the workspace already")
    for plugin, path in zip(plugins, paths, strict=True):
        install_skill(plugin, repository, hidden, root / path)
    return paths


def packaged_for(skills: tuple[SkillUnderTest, ...], *, plugins: bool) -> tuple[SkillUnderTest, ...]:
    """The skills for an agent that loads plugins, or that does not and gets the skills in them."""
    left_out = "in-plugin" if plugins else "plugin"
    return tuple(skill for skill in skills if skill.packaging != left_out)


def _ignore(root: Path, paths: Iterable[str]) -> None:
    """Have git ignore paths in the template, if it is a repository. Raises OSError."""
    if not (root / GIT).is_dir():
        return
    exclude = root / GIT / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    with exclude.open("a", encoding="utf-8") as file:
        file.writelines(f"/{_escaped(path)}/\n" for path in paths)


def _escaped(path: str) -> str:
    """A path as a pattern of git that matches nothing else."""
    return re.sub(r"([\\*?\[\] ])", r"\\\1", path)


def _skills_folder_in(root: Path, folder: str) -> str:
    """Where to install in the template at ``root``: ``folder`` with its links resolved. Raises SkillRefusedError."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        inside = Folder(fd, os.fspath(root))
        existing = folder if inside.kind(folder) is not None else ""
        kind = inside.kind(folder)
        if kind == "directory":
            return inside.target(folder) or folder
        parent = posixpath.dirname(folder)
        if existing or inside.kind(parent) not in {None, "directory"} or inside.readlink(parent) is not None:
            raise SkillRefusedError(
                f"skills cannot be installed into {existing or parent}, which is {kind or 'a link'}"
            )
        return folder
    finally:
        os.close(fd)


def _link_skill_folders(root: Path) -> None:
    """Make the skills of a copy of the repository visible to every agent, as for sessions without installed skills."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        Folder(fd, os.fspath(root)).link_skills()
    finally:
        os.close(fd)


def paths_of_skills(names: Collection[str], repository: Repository) -> Iterator[str]:
    """Paths of the repository that have skills with one of the names: their folders, or SKILL.md alone.

    The whole folder is the skill's if it is called like the skill, or is in a folder ``skills``. What a link in such a
    place leads to does not matter: it is left out, too.
    """
    for path in repository.files(repository.root) if names else ():
        *folders, last = path.split("/")
        if len(folders) >= 1 and folders[-1] == SKILLS and last in names:
            yield path
        elif last == SKILL_FILE and ((folders[-1:] and folders[-1] in names) or _name_at(repository, path) in names):
            whole = folders and (folders[-1] in names or folders[-2:-1] == [SKILLS])
            yield "/".join(folders) if whole else path


def _name_at(repository: Repository, path: str) -> str | None:
    """The name in the frontmatter of a SKILL.md; None if there is none."""
    try:
        fd = repository.checkout.open_file(path, follow=True)
    except OSError:
        return None
    with open(fd, "rb") as file:
        return frontmatter(file.read(MAX_SKILL_FILE_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")).get("name")


def copy_inputs(files: Iterable[InputFile], repository: Repository, root: Path) -> None:
    """Copy the input files of a suite to the template at ``root``, in place of what it has there. Raises OSError.

    What is copied first may contain links, which lead nothing out of the template. Folders are copied before files.
    """
    for file in sorted(files, key=lambda one: (one.source is None or not one.source.is_dir(), one.path.count("/"))):
        target = _place_for(file, root)
        if file.source is None:
            with open(target, "x", encoding="utf-8", errors="backslashreplace") as made:
                made.write(file.content)
            continue
        source, is_folder = _opened_input(file.source, repository)
        try:
            if is_folder:
                repository.copy_folder(source, file.source, target, ())
            else:
                _copy(source, target)
        finally:
            os.close(source)
        if file.read_only:
            _protect(target)


def _place_for(file: InputFile, root: Path) -> Path:
    """Where a file belongs in the template at ``root``, with nothing there. Raises OSError.

    Only the tool changes a template, so that what was no link still is none.
    """
    path = PurePosixPath(posixpath.normpath(file.path))
    if path.is_absolute() or path.parts[:1] == ("..",) or not path.parts:
        raise OSError(None, "leads out of the workspace", file.path)
    for above in reversed(path.parents):
        if (root / above).is_symlink():
            raise PathRefusedError(f"{file.path} is below the symbolic link {above}, which is not followed")
        (root / above).mkdir(exist_ok=True)
    target = root / path
    if os.path.lexists(target):
        remove_path(target)
    return target


def _protect(target: Path) -> None:
    """Make a copied file, or the files below a copied folder, read-only. Raises OSError."""
    for path in target.rglob("*") if target.is_dir() else (target,):
        if path.is_file() and not path.is_symlink():
            path.chmod(stat.S_IMODE(path.stat().st_mode) & ~_WRITABLE)


def _opened_input(path: Path, repository: Repository) -> tuple[int, bool]:
    """A descriptor of a file or folder, and whether it is a folder. Raises OSError."""
    checkout = repository.checkout
    inside = checkout.contains(path)
    try:
        if path.is_dir():
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
            return checkout.open_folder(path, follow=True) if inside else os.open(path, flags), True
        return checkout.open_file(path, follow=True) if inside else open_regular(path), False
    except PathRefusedError:
        raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
