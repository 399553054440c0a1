"""What workers are sent once per run: settings without values of variables, and the files of the checkout."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.version import __version__
from skillgym_action.sessions.engines import Announcement, Versions
from skillgym_action.settings.declarations import WORKERS
from skillgym_action.settings.option_types import LOCAL
from skillgym_action.settings.settings import settings_for
from skillgym_action.system.files.bundle import BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import folder_entries
from skillgym_action.text.secret_forms import SHORTEST_SECRET, key_kinds, secret_values
from skillgym_action.workspaces.workspace import extract_bundle

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from skillgym_action.services import Services
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.system.files.bundle import BundleEntry

MAX_ANNOUNCED_BYTES = 256 * 1024**2  # of the checkout's files, which all workers get
MAX_KEY_FILE_BYTES = 1024**2  # of a file that git does not have and that is searched for keys before it is sent


def own_versions() -> Versions:
    """The versions of this process."""
    major, minor, _ = platform.python_version_tuple()
    return Versions(tool=__version__, python=f"{major}.{minor}")


def announcement(
    services: Services, settings: Settings, context: LaunchContext, exclude: Iterable[str] = ()
) -> Announcement:
    """What workers need to plan and to run the sessions of this run. Raises UsageError.

    The files are those that a copy of the checkout would have: uncommitted ones, too, and none that git ignores.
    ``exclude``: paths in the checkout that are not sent.
    """
    root = context.root
    files = _bundled(services, tuple(exclude), context.environment)
    return Announcement(
        run=os.urandom(8).hex(),
        settings=json.dumps(shipped_settings(settings, context)),
        cwd=os.path.relpath(context.cwd, root),
        files=files,
        digest=hashlib.sha256(files).hexdigest(),
        has_git=services.repository.has_git,
        versions=own_versions(),
    )


def shipped_settings(settings: Settings, context: LaunchContext) -> dict[str, object]:
    """The settings that are sent. Paths are relative to the working directory. Raises UsageError for one outside."""
    found = settings.model_dump(mode="json", include=set(settings_for(WORKERS)), exclude_defaults=True)
    if "limits" in found:
        found["limits"] = dict(found["limits"])
    if settings.paths:
        found["paths"] = [_relative(path, context) for path in settings.paths]
    for name in ("config", "skill"):
        if value := getattr(settings, name):
            found[name] = _relative(value, context)
    return {**found, "engine": LOCAL}


def _relative(path: str, context: LaunchContext) -> str:
    """A path argument, as ``!PATH`` too, relative to the working directory."""
    prefix, path = ("!", path[1:]) if path.startswith("!") else ("", path)
    if not Path(path).is_absolute() and not os.path.normpath(path).startswith(".."):
        return prefix + path
    absolute = Path(os.path.normpath(context.cwd / path))
    if not absolute.is_relative_to(context.root):
        raise UsageError(
            f"{path} is outside of {context.root}, and workers get only the files of the checkout",
            remedy="move it into the checkout, or run with --engine local",
        )
    return prefix + os.path.relpath(absolute, context.cwd)


def _bundled(services: Services, exclude: tuple[str, ...], environment: Mapping[str, str]) -> bytes:
    """The files of the checkout as a bundle. Raises UsageError."""
    with tempfile.TemporaryDirectory(prefix="skillgym-") as temporary:
        copy = Path(temporary) / "files"
        repository = services.repository
        repository.copy_files_to(copy, exclude)
        for empty in repository.empty_folders():  # such as a template without files
            if not _is_below(empty, exclude):
                (copy / empty).mkdir(parents=True, exist_ok=True)
        known = repository.committed_files()
        folder = os.open(copy, FOLDER_FLAGS)
        try:
            content = io.BytesIO()
            entries = _checked(folder_entries(Folder(folder)), _secrets(environment), known)
            write_bundle(content, entries)
        except BundleError as error:
            raise UsageError(f"the files of the checkout cannot be sent to workers: {error}") from error
        finally:
            os.close(folder)
    return content.getvalue()


def _secrets(environment: Mapping[str, str]) -> dict[bytes, str]:
    """Values of variables that are secret -> the name of a variable."""
    found = {}
    for name, value in environment.items():
        for secret in secret_values({name: value}):
            if len(secret.strip()) >= SHORTEST_SECRET:
                found[secret.strip().encode(errors="surrogateescape")] = name
    return found


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def _checked(
    entries: Iterator[BundleEntry], secrets: Mapping[bytes, str], known: Collection[str]
) -> Iterator[BundleEntry]:
    """The same entries. Raises UsageError for a file with a secret of the environment in it, or for too many bytes.

    Also for a file that git does not have, which is not in ``known``, with something that is shaped like a key.
    """
    total = 0
    for entry in entries:
        if entry.kind == "file":
            total += entry.size
            if total > MAX_ANNOUNCED_BYTES:
                raise UsageError(
                    f"the files of the checkout have more than {MAX_ANNOUNCED_BYTES // 1024**2} MiB, at {entry.path}",
                    remedy="let git ignore what sessions do not need",
                )
            content = b"".join(entry.chunks())
            if name := next((name for secret, name in secrets.items() if secret in content), None):
                raise UsageError(
                    f"{entry.path} contains the value of {name}, and would be sent to all workers",
                    remedy="let git ignore the file; workers take keys from their own environment",
                )
            may_be_key = entry.path not in known and len(content) <= MAX_KEY_FILE_BYTES
            if may_be_key and (kinds := key_kinds(content.decode(errors="replace"))):
                raise UsageError(
                    f"{entry.path} contains what looks like a key ({kinds[0]}), and would be sent to all workers",
                    remedy="let git ignore the file; if it is not a key, add the file to git",
                )
            entry.with_content(len(content), content)
        yield entry


def unpack_files(announcement: Announcement, target: Path) -> None:
    """Create the folder ``target`` with the files. Raises BundleError, also for another digest, and OSError."""
    if hashlib.sha256(announcement.files).hexdigest() != announcement.digest:
        raise BundleError("the files of the announcement do not have its digest")
    limits = BundleLimits(total_bytes=2 * MAX_ANNOUNCED_BYTES, file_bytes=MAX_ANNOUNCED_BYTES)
    extract_bundle(read_bundle(io.BytesIO(announcement.files), limits), target)
