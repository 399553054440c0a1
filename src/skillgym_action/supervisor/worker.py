"""A process with the rights of one session, and no more, that works on what the session can write.

It begins by killing whatever else its user runs, and waits until all of that is gone: then nobody can change names
under it, and a mistake in it costs what the session could do anyway. It answers one request at a time, and may at last
become the session's next program. Everything is imported before the user changes: Python may lie where the session
cannot read.

Messages: ``call`` {calls: [[place, name, arguments]…]} -> the values, or the first error; ``reach`` {place, path} ->
see ``reached``; ``pack`` -> a bundle; ``unpack``, which comes with a bundle's descriptor; ``folder`` {place}, which
comes with the descriptor of a folder to work on from now on and is not answered; ``become`` -> nothing once the program
runs, or the error.
"""

from __future__ import annotations

import _thread
import errno
import os
import resource
import signal
import time
from contextlib import suppress

from skillgym_action.filesystem.bundle import BundleError, BundleLimits, read_bundle, write_bundle
from skillgym_action.filesystem.folder import Folder
from skillgym_action.filesystem.packing import folder_entries
from skillgym_action.filesystem.unpacking import unpack
from skillgym_action.supervisor.messages import ConnectionLostError, receive, send
from skillgym_action.supervisor.program import FAILED, become, told
from skillgym_action.supervisor.stray_files import left_behind

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

CALLS = frozenset(
    {
        *(
            "snapshot",
            "entry",
            "digest",
            "read",
            "readlink",
            "mode",
            "kind",
            "text",
            "target",
            "place",
            "glob",
            "files",
        ),
        *("write", "begin", "remove", "empty", "open_up"),
    }
)
ANY_SIZE = BundleLimits(
    levels=10_000, path_bytes=4096, entries=10**9, file_bytes=2**62, total_bytes=2**62
)  # the tool packed it
GONE = 10.0  # seconds in which killed processes have to disappear
PAUSE = 0.0005


def end_all_others(grace: float) -> bool:
    """End all other processes of this user: asked first, killed after ``grace`` seconds. Whether all are gone."""
    if grace and not _is_alone():
        os.kill(-1, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while not _is_alone() and time.monotonic() < deadline:
            time.sleep(PAUSE)
    deadline = time.monotonic() + GONE
    # One call reaches everything, however fast it forks: the kernel holds the lock that a fork needs. It is made in any
    # case: not every system limits a user's processes, and there the user always seems to be alone.
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
    """Whether the user has no other process, and none whose end has not been noticed by its parent.

    ``kill`` does not tell: it succeeds where there is any process of any user. So the user is limited to two threads
    for a moment: where another process has one, the second one cannot be started here.
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


def serve(link: socket.socket, folders: dict[str, Folder], grace: float | None) -> None:
    """Answer until the other end of ``link`` is closed. ``grace`` None: the user runs other things, which go on."""
    if grace is not None and not end_all_others(grace):
        send(link, {"errno": errno.EBUSY, "error": "processes of the session cannot be ended"})
        return
    os.umask(0)  # modes are those of the template, and what the folder's group may do is inherited
    send(link, {"value": os.getpid()})
    while received := receive(link):
        request, descriptors = received
        if request["op"] == "become":
            _become(link, request, descriptors)
            return
        try:
            _answer(link, folders, request, descriptors)
        except (OSError, BundleError, ValueError) as error:
            send(link, told(error))
        finally:
            for descriptor in descriptors:
                os.close(descriptor)


def _answer(link: socket.socket, folders: dict[str, Folder], request: dict[str, Any], descriptors: list[int]) -> None:
    """Do what is asked. Raises OSError, BundleError, ConnectionLostError."""
    folder = folders.get(request.get("place", ""))
    match request["op"], folder:
        case "unpack", Folder():
            with open(descriptors[0], "rb", buffering=1024 * 1024, closefd=False) as bundle:
                unpack(folder, read_bundle(bundle, ANY_SIZE))
            send(link, {"value": None})
        case "folder", _:
            if folder:
                os.close(folder.fd)
            folders[request["place"]] = Folder(descriptors.pop())
        case "pack", Folder():
            send(link, {"value": None})
            paths = request["paths"]
            without = () if paths is not None else (".git",)
            packed = folder_entries(folder, paths, without=without, limits=BundleLimits(), open_up=request["own"])
            with open(os.dup(link.fileno()), "wb", buffering=256 * 1024) as stream:
                write_bundle(stream, packed)
        case "reach", Folder():
            send(link, {"value": reached(folder, request["path"])})
        case "call", _:
            send(link, {"value": [_called(folders, *call) for call in request["calls"]]})
        case _:
            raise ConnectionLostError(f"no such request: {request}")


def reached(folder: Folder, path: str) -> list[bool]:
    """Whether this user can work in the folder at ``path``, and change it; ``folder`` is what the tool opened there."""
    try:
        found, opened = os.stat(path), os.fstat(folder.fd)
    except OSError:
        return [False, False]
    is_it = (found.st_dev, found.st_ino) == (opened.st_dev, opened.st_ino)
    return [is_it and os.access(path, os.R_OK | os.X_OK), is_it and os.access(path, os.W_OK | os.X_OK)]


def _called(folders: dict[str, Folder], place: str, name: str, arguments: list[Any]) -> Any:
    """The value of one call; no place: of what is outside of all folders. Raises OSError, ConnectionLostError."""
    if not place and name == "left_behind":
        return left_behind(os.getuid())
    if place not in folders or name not in CALLS:
        raise ConnectionLostError(f"no such call: {place} {name}")
    if name == "write":
        arguments[1] = arguments[1].encode("latin-1")
    value = getattr(folders[place], name)(*arguments)
    return value.hex() if isinstance(value, bytes) else value


def _become(link: socket.socket, request: dict[str, Any], descriptors: list[int]) -> None:
    try:
        become(request, descriptors)
    except (OSError, ValueError) as error:
        send(link, told(error))
        os._exit(FAILED)
