"""The arms that the configuration and the options select."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import ConfigError
from skillgym_action.model.limits import MAX_ARM_BYTES, MAX_ARM_FILES
from skillgym_action.model.records import record
from skillgym_action.settings.configuration_file import resolved_env
from skillgym_action.system.files.checked_paths import PathRefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.model.arm import Arm, OverlayFile
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.suites.arm_section import ArmSection
    from skillgym_action.system.files.checkout import Checkout
    from skillgym_action.system.files.folder import Folder

AUTO = "auto"
SKILL_WORDS = {"with": "with_skill", "without": "without_skill", "old": "old_skill"}
"""Words for the arms of suites of skills, and their names."""


@record
class ArmOptions:
    """In which arms suites run.

    ``configured``: those of the configuration file, for suites without arms of their own. ``selected``: names, and for
    skills the words ``auto``, ``with``, ``without`` and ``old``; (): all configured ones, and ``auto``. ``by_option``:
    whether an option or an input selects them, which is meant for the suites of this run. ``base``: the
    commit of the base branch; None: looked for. ``changed_skills``: only suites whose skill or evals differ from it.
    ``stored``: names of the arms of stored sessions by suite path, the deciding one first; None: a new run.
    ``folders``: files and folders that arms name, and the file that names them, which no workspace contains.
    ``sources``: those without that file.
    """

    configured: tuple[Arm, ...] = ()
    selected: tuple[str, ...] = ()
    by_option: bool = False
    base: str | None = None
    changed_skills: bool = False
    stored: Mapping[str, tuple[str, ...]] | None = None
    folders: tuple[Path, ...] = ()
    sources: tuple[Path, ...] = ()


def arm_options(settings: Settings, config: Config, context: LaunchContext) -> ArmOptions:
    """The configured arms, and which of them are selected. Raises ConfigError."""
    from skillgym_action.suites.arm_section import paths_of

    file, folder = config.file, config.folder or context.cwd
    configured = tuple(_configured(name, section, config, context) for name, section in (file.arms or {}).items())
    selected = settings.arms or file.skills.arms
    named = [folder / path for section in (file.arms or {}).values() for path in paths_of(section)]
    event = context.job.event if context.job else None
    return ArmOptions(
        configured=configured,
        selected=selected,
        by_option=bool(settings.arms),
        base=event.base if event else None,
        changed_skills=settings.changed_skills,
        sources=tuple(Path(os.path.normpath(path)) for path in named),
        folders=tuple(
            Path(os.path.normpath(path)) for path in (*named, *([config.path] if configured else ())) if path
        ),
    )


def _configured(name: str, section: ArmSection, config: Config, context: LaunchContext) -> Arm:
    from skillgym_action.model.arm import Arm
    from skillgym_action.suites.arm_section import is_path

    checkout, where = context.suite_source.checkout, f"arms.{name}"
    folder = config.folder or context.cwd
    wanted = {variable: value for variable, value in section.env.items() if value is not None}
    return Arm(
        name=name,
        files=tuple(overlay_files(folder / section.files, f"{where}.files", checkout)) if section.files else (),
        remove=section.remove,
        home=tuple(overlay_files(folder / section.home, f"{where}.home", checkout)) if section.home else (),
        env=tuple(resolved_env(wanted, context.environment, config, ("arms", name, "env")).items()),
        without_env=tuple(variable for variable in section.env if variable not in wanted),
        command_args=tuple(str(folder / word) if is_path(word) else word for word in section.command_args),
        skill=section.skill,
        decides=section.decides,
    )


def overlay_files(folder: Path, where: str, checkout: Checkout | None) -> Iterator[OverlayFile]:
    """The files in a folder of an arm. No link is followed, and there must be none. Raises ConfigError.

    ``where``: the key path in messages.
    """
    from skillgym_action.system.files.folder import Folder

    normalized = Path(os.path.normpath(folder))
    try:
        if checkout and checkout.contains(normalized):
            fd = checkout.open_folder(normalized)
        else:
            fd = os.open(normalized, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PathRefusedError as error:
        raise ConfigError(f"{where}: {error}", remedy="name a folder without symbolic links on the way") from error
    except OSError as error:
        raise ConfigError(
            f"{where}: {folder} cannot be read: {error.strerror}", remedy="name the folder of the files that it adds"
        ) from error
    try:
        yield from _content(Folder(fd, os.fspath(normalized)), where)
    finally:
        os.close(fd)


def _content(folder: Folder, where: str) -> Iterator[OverlayFile]:
    from skillgym_action.model.arm import OverlayFile

    entries = {path: entry for path, entry in sorted(folder.snapshot().items()) if entry[0] != "directory"}
    if not entries:
        raise ConfigError(f"{where}: the folder has no file", remedy="put the files there, or remove the key")
    if len(entries) > MAX_ARM_FILES:
        raise ConfigError(f"{where}: {len(entries):,} files, more than {MAX_ARM_FILES:,}", remedy="use fewer files")
    left = MAX_ARM_BYTES
    for path, entry in entries.items():
        if entry[0] != "file":
            raise ConfigError(f"{where}: {path} is not a regular file", remedy="put a copy there in place of a link")
        content = folder.read(path, left)
        if content is None:
            limit = f"{MAX_ARM_BYTES // 1024**2} MiB"
            raise ConfigError(f"{where}: {path} cannot be read, or the files have more than {limit}")
        left -= len(content)
        mode = (folder.mode(path) or 0o644) & 0o755
        yield OverlayFile(path=path, content=content, mode=mode | 0o600)
