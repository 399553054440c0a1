"""Which folder suites and the configuration are read from; the digests of suites.

Usually it is the checkout that agents work on. With ``suites-from`` it is another folder that has the base commit: then
a pull request cannot change the suites that judge it. In this module ``head`` is the root of the checkout.
"""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.limits import MAX_TEMPLATE_DIGEST_FILES
from skillgym_action.model.records import record
from skillgym_action.system.files.checked_paths import REGULAR_FILE
from skillgym_action.system.files.checkout import Checkout
from skillgym_action.system.files.contents import content_digest
from skillgym_action.text.documents.user_files import resolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.workspaces.repository.repository import Repository

MAX_SUITE_DIGEST_FILE_BYTES = 2 * 1024**3  # of each file of a suite; the suite has no digest above it
SUITES_FROM = "suites-from"  # the option's name
BASE = "base"  # its value for "the base commit of the pull request"
CHECK_OUT = "check out the base commit there: actions/checkout with path, and ref: its commit"


def normalized(path: Path) -> Path:
    """The path with ``..`` resolved as text, without looking at the file system."""
    return Path(os.path.normpath(path))


@record
class SuiteSource:
    """A folder that suites are read from, with the layout of the checkout ``head``.

    ``cwd``: the counterpart of the working directory in it; ``named``: how the user wrote it; ``commit``: which commit
    it has, if that is known.
    """

    root: Path
    cwd: Path
    checkout: Checkout
    head: Path
    named: str = ""
    commit: str | None = None

    @property
    def is_separate(self) -> bool:
        """Whether it is another folder than the checkout."""
        return self.root != self.head

    @property
    def separate_checkout(self) -> Path | None:
        """The root of the checkout, if that is another folder; else None."""
        return self.head if self.is_separate else None

    def source_path(self, path: Path) -> Path:
        """The file to read for a path that the user or the workflow gave relative to the checkout.

        Paths in this folder, and paths outside of both, are returned as they are.
        """
        # One of the two folders may be inside the other one: the inner one decides.
        nested = self.root.is_relative_to(self.head) and path.is_relative_to(self.root)
        if nested or not path.is_relative_to(self.head):
            return path
        return self.root / path.relative_to(self.head)

    def in_head(self, path: Path) -> Path:
        """The path in the checkout for one that suites or the configuration name: agents work and write there."""
        enclosing = self.head.is_relative_to(self.root) and path.is_relative_to(self.head)
        return self.head / path.relative_to(self.root) if path.is_relative_to(self.root) and not enclosing else path

    def agent_directory(self, path: Path, checkout: Checkout) -> Path:
        """The directory in the checkout where agents work for a ``path`` that suites name, links resolved.

        If suites are of the checkout itself, the links were checked when suites were read. Otherwise the links on the
        way are those of another commit: a path that they lead out of the checkout is returned unresolved, and the
        session is refused when its directory is opened.
        """
        place = self.in_head(path)
        return place if self.is_separate and checkout.refusal(place, follow=True) else resolved(place)

    def refuse_inside(self, path: Path) -> None:
        """Raise OSError if a path leads into this folder, through any links, and not into the checkout."""
        place = Path(os.path.realpath(path))
        enclosing = self.head.is_relative_to(self.root) and place.is_relative_to(self.head)
        if self.is_separate and place.is_relative_to(self.root) and not enclosing:
            raise OSError(f"{path} leads into {self.named}, the folder that suites are read from")

    def message_suffix(self) -> str:
        """Text for the end of messages: `` in FOLDER``, or empty if suites are read from the checkout."""
        return f" in {self.named}" if self.is_separate else ""


def checkout_as_source(cwd: Path, checkout: Checkout) -> SuiteSource:
    """Suites are read from the checkout itself."""
    return SuiteSource(root=checkout.root, cwd=cwd, checkout=checkout, head=checkout.root)


def folder_as_source(folder: Path, cwd: Path, head: Path, *, named: str, commit: str | None = None) -> SuiteSource:
    """Suites are read from ``folder``, whose content is not checked here. Raises OSError."""
    root = Path(os.path.realpath(folder))
    inner = root / cwd.relative_to(head)
    return SuiteSource(root=root, cwd=inner, checkout=Checkout(root), head=head, named=named, commit=commit)


def named_source(named: str, cwd: Path, checkout: Checkout) -> SuiteSource:
    """Suites are read from the folder that the user or the workflow named. Raises UsageError.

    A commit must not choose the folder: a path with a link of the checkout in it is refused.
    """
    path = normalized(cwd / named)
    checkout.refuse(path, f"{SUITES_FROM} {named}")
    try:
        with os.scandir(path) as entries:
            empty = next(entries, None) is None
        source = folder_as_source(path, cwd, checkout.root, named=named)
        itself = os.path.samefile(path, checkout.root)
    except FileNotFoundError:
        raise UsageError(f"{SUITES_FROM}: there is no folder {named}", remedy=CHECK_OUT) from None
    except OSError as error:
        raise UsageError(f"{SUITES_FROM}: {named} cannot be read: {error.strerror}", remedy=CHECK_OUT) from error
    if empty:
        raise UsageError(f"{SUITES_FROM}: the folder {named} is empty", remedy=CHECK_OUT)
    if itself:
        message = f"{SUITES_FROM}: {named} is the checkout itself, which has the suites of the tested commit"
        raise UsageError(message, remedy=CHECK_OUT)
    return source


def refuse_committed(source: SuiteSource, head: Repository) -> None:
    """Raise UsageError if files of the folder are tracked by the checkout's own commit, which must not provide it."""
    if not source.root.is_relative_to(head.root):
        return
    path = source.root.relative_to(head.root).as_posix()
    committed = sorted(name for name in head.committed_files() if name == path or name.startswith(f"{path}/"))
    if committed:
        raise UsageError(
            f"{SUITES_FROM}: {committed[0]} is a file of the commit that is judged, and could pass for one of the base",
            remedy=f"check out the base commit to another folder than {path}",
        )


def suite_digest(suite: BenchmarkSuite, repository: Repository) -> str | None:
    """SHA-256 of the suite's file, or of the list of its files if ``suite.hidden`` names others.

    None: a file is unreadable or too large, or the run is cancelled. A folder in ``suite.hidden`` means the files below
    it that git does not ignore.

    It identifies the text that graded a session. Nothing of a suite is executed for it.
    """
    if suite.digest is None or not suite.hidden:
        return suite.digest
    try:
        paths = {path for hidden in suite.hidden for path in _files_at(repository, hidden)}
        lines = [f"{suite.path}\0file {suite.digest}\n"]
        for path in sorted(paths - {suite.path}):
            file = repository.root / path
            if os.lstat(file).st_size > MAX_SUITE_DIGEST_FILE_BYTES:
                return None
            lines.append(f"{path}\0{kind_and_digest(file, repository.raise_if_cancelled)}\n")
    except OSError:
        return None
    return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def template_digest(suite: BenchmarkSuite, repository: Repository) -> str | None:
    """SHA-256 of the list of files in the workspace templates of a suite and its cases, those that git does not ignore.

    None without a template, if one is unreadable, if there are more than ``MAX_TEMPLATE_DIGEST_FILES``, or if the run
    is cancelled.
    """
    specs = (suite.workspace, *(case.workspace for case in suite.cases if case.workspace))
    templates = sorted({spec.template for spec in specs if spec.source == "template" and spec.template})
    if not templates:
        return None
    try:
        files = [(folder, path) for folder in templates for path in repository.files(folder)]
        if len(files) > MAX_TEMPLATE_DIGEST_FILES:
            return None
        lines = []
        for folder, path in files:
            file = repository.root / path
            content = kind_and_digest(file, repository.raise_if_cancelled)
            lines.append(f"{os.path.relpath(file, folder)}\0{content}\n")
    except OSError:
        return None
    return sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _files_at(repository: Repository, path: str) -> list[str]:
    target = repository.root / path
    return list(repository.files(target)) if target.is_dir() and not target.is_symlink() else [path]


def kind_and_digest(file: Path, checked: Callable[[], None] = lambda: None) -> str:
    """The kind of a file, and the SHA-256 of its content or of the link's target. Raises OSError.

    ``checked`` is called after each part of a file, and may raise.
    """
    mode = os.lstat(file).st_mode
    if stat.S_ISLNK(mode):
        return f"link {sha256(os.fsencode(os.readlink(file))).hexdigest()}"
    if not stat.S_ISREG(mode):
        return "other"
    with open(file, "rb", opener=lambda path, _: os.open(path, REGULAR_FILE)) as opened:
        return f"file {content_digest(opened, checked)}"
