"""Closes paths to agents during a run. If several runs close a path, it stays closed until the last of them has ended.

The mode and group that each path had, and the runs that close it, are recorded in a folder that only root can write
(see ``closed_path_records``). A run that was killed no longer counts: a process that ``restored_after_kill`` starts, or
the next run, restores what it left closed.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import UsageError
from skillgym_action.workspaces import closed_path_records
from skillgym_action.workspaces.closed_path_records import PARENTS, ClosingRun, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# The shell ends at once, so the program it leaves is no child of the tool, and is not ended with the tool's children.
IN_BACKGROUND = 'exec 3<&0; "$@" <&3 3<&- &'


@contextmanager
def closed_to_others(paths: Iterable[Path], root: Path, parents: Iterable[str] = PARENTS) -> Iterator[None]:
    """Only the owners and root have access to ``paths`` while the context lasts; missing paths are ignored.

    ``root`` is the checkout: links in it are not followed out of it. ``parents``: root's folders, in one of which the
    records are kept. Raises UsageError.
    """
    with _closed(paths, root, parents, closes=True):
        yield


@contextmanager
def closed_but_to(group: int, paths: Iterable[Path], root: Path) -> Iterator[None]:
    """Like ``closed_to_others``, but ``group`` keeps access, too."""
    with _closed(paths, root, PARENTS, group=group, opens=True):
        yield


@contextmanager
def suite_group(root: Path, group: int) -> Iterator[int]:
    """The group that programs of suites have in the checkout ``root``: that of other runs in it, or ``group``.

    Runs that begin while the context lasts use the same group. Raises UsageError.
    """
    with _closed([root], root, PARENTS, group=group) as (record,):
        yield group if record.group is None else record.group


@contextmanager
def restored_after_kill() -> Iterator[None]:
    """If the tool is killed while the context lasts, paths that it closed are restored about a second later.

    A small program waits for the end of a pipe, which closes with the tool. Paths that other runs close stay closed.
    Raises UsageError.
    """
    start = closed_path_records.process_start(os.getpid()) or ""
    program = (sys.executable, "-I", "-S", closed_path_records.__file__, str(os.getpid()), start)
    argv = ("/bin/sh", "-c", IN_BACKGROUND, "guardian", *program)
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    try:
        shell = subprocess.Popen(
            argv, cwd="/", env={}, stdin=pipe, stdout=nothing, stderr=nothing, start_new_session=True
        )
    except OSError as error:
        raise UsageError(
            f"--agent-user: /bin/sh cannot be started: {error.strerror}", remedy="run where there is a shell"
        ) from error
    shell.wait()
    try:
        yield
    finally:
        if shell.stdin:
            with suppress(OSError):
                shell.stdin.write(closed_path_records.FINISHED)
            with suppress(OSError):
                shell.stdin.close()


@contextmanager
def _closed(paths: Iterable[Path], root: Path, parents: Iterable[str], **wish: Any) -> Iterator[list[Record]]:
    """Close ``paths`` as the fields ``wish`` of a ``ClosingRun`` specify; yield their records.

    Each path is opened once, and only its descriptor is used: what takes its name later is not touched.
    """
    run = ClosingRun(**closed_path_records.this_process(), **wish)
    with ExitStack() as stack:
        files = [(path, file) for path in paths if (file := _open(path, root, stack)) is not None]
        if not files:
            yield []
            return
        try:
            with _locked(parents) as folder:
                closed_path_records.repair(folder)
                records = [_close(folder, file, path, run) for path, file in files]
            yield records
        finally:
            with suppress(OSError, UsageError), _locked(parents) as folder:  # if this fails, the next run restores it
                for _, file in files:
                    with suppress(OSError):
                        _reopen(folder, file, run.token)


@contextmanager
def _locked(parents: Iterable[str]) -> Iterator[int]:
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(closed_path_records.locked(parents))
        except OSError as error:
            raise UsageError(
                f"--agent-user: runs that use one checkout cannot be counted: {error.filename}: {error.strerror}",
                remedy=f"let only root write to {' or '.join(parents)}",
            ) from error
        yield folder


def _open(path: Path, root: Path, stack: ExitStack) -> int | None:
    """A descriptor, which ``stack`` closes; None if the path does not exist. Raises UsageError."""
    place, inside = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    if path.is_relative_to(root) and not place.is_relative_to(inside):
        raise UsageError(
            f"{path} cannot be closed to agents: it is a link that leads out of the checkout, to {place}",
            remedy="replace it by its target",
        )
    try:
        file = closed_path_records.open_without_links(str(place))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(path, error) from error
    stack.callback(os.close, file)
    return file


def _close(folder: int, file: int, path: Path, run: ClosingRun) -> Record:
    """Add the run to the path's record, and give the path the mode and group that all its runs need."""
    found = os.fstat(file)
    name, place = closed_path_records.name_of(found), os.path.realpath(path)
    mode = stat.S_IMODE(found.st_mode)
    record = closed_path_records.read(folder, name) or Record(path=place, mode=mode, gid=found.st_gid)
    if record.group not in {None, run.group} and run.group is not None:
        if run.opens:
            raise UsageError(
                f"{path} is closed to agents by another run, and open to group {record.group} instead of {run.group}",
                remedy="wait until that run has ended",
            )
        run = replace(run, group=record.group)
    record.holders.append(run)
    try:
        # The record first: if the tool is killed in between, there is a record to restore the path from.
        closed_path_records.write(folder, name, record)
        closed_path_records.set_mode_and_group(file, *record.wanted())
    except OSError as error:
        raise _refusal(path, error) from error
    return record


def _reopen(folder: int, file: int, token: str) -> None:
    """Remove the run with that token from the path's record, and set what the others need, or restore the path.

    Raises OSError.
    """
    name = closed_path_records.name_of(os.fstat(file))
    record = closed_path_records.read(folder, name)
    if record is None or all(run.token != token for run in record.holders):
        return
    record.holders = [run for run in record.holders if run.token != token]
    closed_path_records.set_mode_and_group(file, *record.wanted())
    closed_path_records.write(folder, name, record)


def _refusal(path: Path, error: OSError) -> UsageError:
    what = f"{path} cannot be closed to agents: {error.strerror}"
    return UsageError(what, remedy="mount it so that root can change modes and groups there")
