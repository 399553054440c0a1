"""A process with the rights of one session, and no more, that works on what the session can write.

It begins by killing all other processes of its user, and waits until they are gone: then no other process can change
names meanwhile, and a mistake here allows nothing that the session could not do anyway. It answers one request at a
time, and may finally become the session's next program. Everything is imported before the user changes, since the
session may not be able to read Python's files.

Messages: ``call`` {calls: [[place, name, arguments]…]} -> the values, or the first error; ``reach`` {place, path} ->
see ``access_to``; ``pack`` -> a bundle; ``unpack``, with a bundle's descriptor; ``folder`` {place}, with the descriptor
of a folder to work on from now on, not answered; ``become`` -> nothing once the program runs, or the error. ``place``
is the name of one of the worker's folders.
"""

from __future__ import annotations

import _thread
import errno
import os
import resource
import shutil
import signal
import time
from contextlib import suppress

from skillgym_action.model.limits import KILL_SECONDS
from skillgym_action.system.files.bundle import BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.packing import folder_entries, unpack
from skillgym_action.system.supervisor.child import EXEC_FAILED, error_message, exec_program
from skillgym_action.system.supervisor.messages import ConnectionLostError, receive, send

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

# The methods of ``Folder`` that the tool can call.
CALLS = frozenset(
    [
        "snapshot",
        "entry",
        "digest",
        "read",
        "readlink",
        "mode",
        "kind",
        "text",
        "target",
        "snapshot_path",
        "glob",
        "files",
        "write",
        "begin",
        "remove",
        "empty",
        "open_up",
    ]
)
TRUSTED = BundleLimits(
    levels=10_000, path_bytes=4096, entries=10**9, file_bytes=2**62, total_bytes=2**62
)  # the tool packed it
PAUSE = 0.0005  # seconds between two checks


def end_all_others(grace: float) -> bool:
    """Terminate all other processes of this user, kill them after ``grace`` seconds; return whether all are gone."""
    if grace and not _is_alone():
        os.kill(-1, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while not _is_alone() and time.monotonic() < deadline:
            time.sleep(PAUSE)
    deadline = time.monotonic() + KILL_SECONDS
    # One call reaches all processes, however fast they fork: the kernel takes the lock that a fork needs. It is made in
    # any case: not every system limits the processes of a user, and there the user always seems to have no other.
    _kill_all_others()
    while not _is_alone():
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
        _kill_all_others()
    return True


def _kill_all_others() -> None:
    with suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)


def _is_alone() -> bool:
    """Whether the user has no other process, nor one that has ended and was not reaped.

    The result of ``kill`` does not say so: it succeeds if there is any process of any user. So the user is limited to
    two threads for a moment: if another process has one, no second thread can be started here.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (2, most))
    done = _thread.allocate_lock()
    done.acquire()
    try:
        _thread.start_new_thread(done.release, ())
        done.acquire()
    except RuntimeError:
        return False
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
    return True


def serve(connection: socket.socket, folders: dict[str, Folder], grace: float | None) -> None:
    """Answer until the other end of ``connection`` is closed. ``grace`` None: other processes of the user go on."""
    if grace is not None and not end_all_others(grace):
        send(connection, {"errno": errno.EBUSY, "error": "processes of the session cannot be ended"})
        return
    os.umask(0)  # modes are those of the template, and what the folder's group may do is inherited
    send(connection, {"value": os.getpid()})
    while received := receive(connection):
        request, descriptors = received
        if request["op"] == "become":
            _become(connection, request, descriptors)
            return
        try:
            _answer(connection, folders, request, descriptors)
        except (OSError, BundleError, ValueError) as error:
            send(connection, error_message(error))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _answer(
    connection: socket.socket, folders: dict[str, Folder], request: dict[str, Any], descriptors: list[int]
) -> None:
    """Serve a request. Raises OSError, BundleError, ConnectionLostError."""
    folder = folders.get(request.get("place", ""))
    match request["op"], folder:
        case "unpack", Folder():
            with open(descriptors[0], "rb", buffering=1024 * 1024, closefd=False) as bundle:
                unpack(folder, read_bundle(bundle, TRUSTED))
            send(connection, {"value": None})
        case "folder", _:
            if folder:
                os.close(folder.fd)
            folders[request["place"]] = Folder(descriptors.pop())
        case "pack", Folder():
            send(connection, {"value": None})
            paths, whole = request["paths"], request.get("whole", False)
            without = () if paths is not None or whole else (".git",)
            limits = None if whole else BundleLimits()
            bundle_entries = folder_entries(folder, paths, without=without, limits=limits, open_up=request["own"])
            with open(os.dup(connection.fileno()), "wb", buffering=256 * 1024) as stream:
                write_bundle(stream, bundle_entries)
        case "reach", Folder():
            send(connection, {"value": access_to(folder, request["path"])})
        case "call", _:
            send(connection, {"value": [_call(folders, *call) for call in request["calls"]]})
        case _:
            raise ConnectionLostError(f"no such request: {request}")


def access_to(folder: Folder, path: str) -> list[bool]:
    """Whether this user can list the folder at ``path``, and whether it can change it; both False if it is another one.

    ``folder`` is what the tool opened at ``path``.
    """
    try:
        found, opened = os.stat(path), os.fstat(folder.fd)
    except OSError:
        return [False, False]
    is_same = (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)
    return [is_same and os.access(path, os.R_OK | os.X_OK), is_same and os.access(path, os.W_OK | os.X_OK)]


def _call(folders: dict[str, Folder], place: str, name: str, arguments: list[Any]) -> Any:
    """The value of one call; ``left_behind`` is not about one of the folders. Raises OSError, ConnectionLostError."""
    if not place and name == "left_behind":
        return remove_stray_files(os.getuid())
    if place not in folders or name not in CALLS:
        raise ConnectionLostError(f"no such call: {place} {name}")
    if name == "write":
        arguments[1] = arguments[1].encode("latin-1")
    value = getattr(folders[place], name)(*arguments)
    return value.hex() if isinstance(value, bytes) else value


def _become(connection: socket.socket, request: dict[str, Any], descriptors: list[int]) -> None:
    try:
        exec_program(request, descriptors)
    except (OSError, ValueError) as error:
        send(connection, error_message(error))
        os._exit(EXEC_FAILED)


OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock")  # noqa: S108 -- searched
SYSTEM_V_KINDS = ("shm", "sem", "msg")
UID_COLUMNS = ("uid", "cuid")


def remove_stray_files(uid: int) -> bool:
    """Remove the user's files from folders open to all; return whether it had left any, or owns System V objects.

    Shared memory, semaphores and message queues are not removed: the user is not used again if it left something.
    Called as that user, which can remove nothing but its own files.
    """
    found = False
    for folder in OPEN_TO_ALL:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.stat(follow_symlinks=False).st_uid != uid:
                    continue
                found = True
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
            except OSError:
                continue
    return found or any(_owns_system_v(kind, uid) for kind in SYSTEM_V_KINDS)


def _owns_system_v(kind: str, uid: int) -> bool:
    """Whether the user owns or created System V objects of that kind."""
    try:
        with open(f"/proc/sysvipc/{kind}", "rb") as file:  # as text it needs a codec, which can no longer be imported
            names, *rows = (line.decode("utf-8", "replace").split() for line in file)
    except (OSError, ValueError):
        return False
    columns = [names.index(name) for name in UID_COLUMNS if name in names]
    return any(row[column] == str(uid) for row in rows for column in columns if column < len(row))
