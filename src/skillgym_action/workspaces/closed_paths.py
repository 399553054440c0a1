"""Paths that are closed to agents for the time of a run, also where several runs close them: the last one opens them.

Mode and group of each path as they were, and the runs that close it, are recorded in a folder of root's. A run that was
killed no longer counts; the next one, or the process that ``guardian`` starts, restores what it left closed.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import UsageError
from skillgym_action.workspaces import closed_path_records
from skillgym_action.workspaces.closed_path_records import PLACES, Holder, Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@contextmanager
def closed_to_others(paths: Iterable[Path], root: Path, places: Iterable[str] = PLACES) -> Iterator[None]:
    """Only their owners and root reach ``paths``, as long as the context lasts; what is not there is passed over.

    ``root`` is the checkout: no link in it is followed to the outside. ``places``: folders of root, in one of which
    runs are counted. Raises UsageError.
    """
    with _closed(paths, root, places, closes=True):
        yield


@contextmanager
def closed_but_to(group: int, paths: Iterable[Path], root: Path) -> Iterator[None]:
    """Only their owners, root and ``group`` reach ``paths``, as long as the context lasts; else the same."""
    with _closed(paths, root, PLACES, group=group, opens=True):
        yield


@contextmanager
def group_of_suites(root: Path, group: int) -> Iterator[int]:
    """The group that programs of suites have in the checkout ``root``: that of runs under way there, or ``group``.

    Later runs use the same as long as the context lasts. Raises UsageError.
    """
    with _closed([root], root, PLACES, group=group) as (record,):
        yield group if record.group is None else record.group


@contextmanager
def _closed(paths: Iterable[Path], root: Path, places: Iterable[str], **wish: Any) -> Iterator[list[Record]]:
    """``paths`` as the wish is, with their records. Each is opened once: what takes its name later is not touched."""
    holder = Holder(**closed_path_records.asked(), **wish)
    with ExitStack() as stack:
        files = [(path, file) for path in paths if (file := _opened(path, root, stack)) is not None]
        if not files:
            yield []
            return
        try:
            with _locked(places) as folder:
                closed_path_records.repair(folder)
                taken = [_taken(folder, file, path, holder) for path, file in files]
            yield taken
        finally:
            with suppress(OSError, UsageError), _locked(places) as folder:  # else the next run restores it
                for _, file in files:
                    with suppress(OSError):
                        _released(folder, file, holder.token)


@contextmanager
def _locked(places: Iterable[str]) -> Iterator[int]:
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(closed_path_records.locked(places))
        except OSError as error:
            raise UsageError(
                f"--agent-user: runs that use one checkout cannot be counted: {error.filename}: {error.strerror}",
                remedy=f"let root alone write to {' or '.join(places)}",
            ) from error
        yield folder


def _opened(path: Path, root: Path, stack: ExitStack) -> int | None:
    """A descriptor, which ``stack`` closes; None where nothing is there. Raises UsageError."""
    place, inside = Path(os.path.realpath(path)), Path(os.path.realpath(root))
    if path.is_relative_to(root) and not place.is_relative_to(inside):
        raise UsageError(
            f"{path} cannot be closed to agents: it is a link that leads out of the checkout, to {place}",
            remedy="replace it by what it leads to",
        )
    try:
        file = closed_path_records.opened(str(place))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refusal(path, error) from error
    stack.callback(os.close, file)
    return file


def _taken(folder: int, file: int, path: Path, holder: Holder) -> Record:
    """The record with ``holder`` in it, and what ``file`` is a descriptor of as all holders want it."""
    found = os.fstat(file)
    name, place = closed_path_records.name_of(found), os.path.realpath(path)
    mode = stat.S_IMODE(found.st_mode)
    record = closed_path_records.read(folder, name) or Record(path=place, mode=mode, gid=found.st_gid)
    if record.group not in {None, holder.group} and holder.group is not None:
        if holder.opens:
            raise UsageError(
                f"{path} is closed to agents by another run, and open to group {record.group} instead of "
                f"{holder.group}",
                remedy="wait until that run has ended",
            )
        holder = replace(holder, group=record.group)
    record.holders.append(holder)
    try:
        closed_path_records.write(folder, name, record)
        closed_path_records.make(file, *record.wanted())
    except OSError as error:
        raise _refusal(path, error) from error
    return record


def _released(folder: int, file: int, token: str) -> None:
    """The record without the holder of that token; the path as the others want it, or as it was. Raises OSError."""
    name = closed_path_records.name_of(os.fstat(file))
    record = closed_path_records.read(folder, name)
    if record is None or all(holder.token != token for holder in record.holders):
        return
    record.holders = [holder for holder in record.holders if holder.token != token]
    closed_path_records.make(file, *record.wanted())
    closed_path_records.write(folder, name, record)


def _refusal(path: Path, error: OSError) -> UsageError:
    what = f"{path} cannot be closed to agents: {error.strerror}"
    return UsageError(what, remedy="mount it so that root can change modes and groups there")
