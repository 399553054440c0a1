"""Where suites and the configuration are read from: the checkout that agents work on, or a folder with its base."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.documents.user_files import resolved
from skillgym_action.model.errors import UsageError
from skillgym_action.repository.checkout import Checkout

if TYPE_CHECKING:
    from skillgym_action.repository.repository import Repository

NAMED = "suites-from"
WORD = "base"
CHECK_OUT = "check out the base commit there: actions/checkout with path, and ref: its commit"


def normal(path: Path) -> Path:
    """The path with ``..`` taken out as text."""
    return Path(os.path.normpath(path))


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """A folder that stands for the checkout ``head``; ``cwd`` is the counterpart of the working directory.

    ``named``: how the user calls it; ``commit``: which one it is, where that is known.
    """

    root: Path
    cwd: Path
    checkout: Checkout
    head: Path
    named: str = ""
    commit: str | None = None

    @property
    def is_apart(self) -> bool:
        """Whether it is another folder than the checkout."""
        return self.root != self.head

    @property
    def apart_from(self) -> Path | None:
        """The checkout, where it is another folder."""
        return self.head if self.is_apart else None

    def place(self, path: Path) -> Path:
        """Where a file is read that the user or the workflow named by its place in the checkout.

        What they named in the folder itself, or outside of both, stays where it is.
        """
        nested = self.root.is_relative_to(self.head) and path.is_relative_to(self.root)
        if nested or not path.is_relative_to(self.head):
            return path
        return self.root / path.relative_to(self.head)

    def in_head(self, path: Path) -> Path:
        """The place in the checkout of what suites and the configuration name: where agents work, what is written."""
        around = self.head.is_relative_to(self.root) and path.is_relative_to(self.head)
        return self.head / path.relative_to(self.root) if path.is_relative_to(self.root) and not around else path

    def directory(self, path: Path, checkout: Checkout) -> Path:
        """Where agents work that are to work at ``path``: in the checkout, with the links on the way followed.

        Of the checkout itself they were looked at when suites and configuration were read. Those that another commit
        has, and that lead out of it, are not followed; and no session is run behind one.
        """
        place = self.in_head(path)
        return place if self.is_apart and checkout.refusal(place, follow=True) else resolved(place)

    def refuse_inside(self, path: Path) -> None:
        """Raise OSError where a path leads into the folder, by whatever links, and not into the checkout."""
        place = Path(os.path.realpath(path))
        around = self.head.is_relative_to(self.root) and place.is_relative_to(self.head)
        if self.is_apart and place.is_relative_to(self.root) and not around:
            raise OSError(f"{path} leads into {self.named}, the folder that suites are read from")

    def where(self) -> str:
        """For messages: empty, or `` in FOLDER``."""
        return f" in {self.named}" if self.is_apart else ""


def same(cwd: Path, checkout: Checkout) -> Origin:
    """The checkout itself."""
    return Origin(root=checkout.root, cwd=cwd, checkout=checkout, head=checkout.root)


def counterpart(folder: Path, cwd: Path, head: Path, *, named: str, commit: str | None = None) -> Origin:
    """The folder as the origin of suites, whatever is in it. Raises OSError."""
    root = Path(os.path.realpath(folder))
    inner = root / cwd.relative_to(head)
    return Origin(root=root, cwd=inner, checkout=Checkout(root), head=head, named=named, commit=commit)


def named_folder(named: str, cwd: Path, checkout: Checkout) -> Origin:
    """The folder that the user or the workflow named. A commit must not choose it: no link of the checkout leads there.

    Raises UsageError.
    """
    path = normal(cwd / named)
    checkout.refuse(path, f"{NAMED} {named}")
    try:
        with os.scandir(path) as entries:
            empty = next(entries, None) is None
        origin = counterpart(path, cwd, checkout.root, named=named)
        itself = os.path.samefile(path, checkout.root)
    except FileNotFoundError:
        raise UsageError(f"{NAMED}: there is no folder {named}", remedy=CHECK_OUT) from None
    except OSError as error:
        raise UsageError(f"{NAMED}: {named} cannot be read: {error.strerror}", remedy=CHECK_OUT) from error
    if empty:
        raise UsageError(f"{NAMED}: the folder {named} is empty", remedy=CHECK_OUT)
    if itself:
        message = f"{NAMED}: {named} is the checkout itself, whose suites are those of the commit that is judged"
        raise UsageError(message, remedy=CHECK_OUT)
    return origin


def refuse_committed(origin: Origin, head: Repository) -> None:
    """Raise UsageError for a folder that the commit of the checkout brings along, in whole or in part."""
    if not origin.root.is_relative_to(head.root):
        return
    path = origin.root.relative_to(head.root).as_posix()
    committed = sorted(name for name in head.committed_files() if name == path or name.startswith(f"{path}/"))
    if committed:
        raise UsageError(
            f"{NAMED}: {committed[0]} is a file of the commit that is judged, and could pass for one of the base",
            remedy=f"check out the base commit to another folder than {path}",
        )
