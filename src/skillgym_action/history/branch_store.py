"""A store on a branch without common history with the others, which runs push one commit each to.

A commit has a file for each run. Two jobs that push at once never change the same file: the one that comes second
makes its commit anew on top of the other's. After some commits the history begins anew, with one commit of all files.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import TYPE_CHECKING
from urllib.parse import unquote

from skillgym_action.history import StoreAccessError, StoreError, StoreText
from skillgym_action.history.path_store import lines_of_file, newest_first, run_file, too_old
from skillgym_action.model.limits import MAX_STORE_FILES, MAX_STORE_READ_BYTES, STORE_TRANSFER_SECONDS
from skillgym_action.model.records import record
from skillgym_action.system.processes.launcher import CalledProcessError
from skillgym_action.workspaces.repository.repository import IDENTITY, SAFE_GIT_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from skillgym_action.system.clock import Clock
    from skillgym_action.system.processes.launcher import ProcessLauncher

FILES_READ_AT_ONCE = 32  # of the store's branch
MAX_PUSH_TRIES = 20  # of the store's branch, while other jobs push to it
COMMITS_UNTIL_SQUASH = 200  # on the store's branch, after which its history begins anew
STORE_GIT_SECONDS = 30  # that a transfer of git may stay below 1,000 bytes a second
STORE_BRANCH = "skillgym-data"
REF = f"refs/heads/{STORE_BRANCH}"
README = "README.md"
README_TEXT = b"""Results of benchmark runs, written by skillgym-action: a file for each run, one line of JSON each.

Pull requests are compared with them. Delete this branch to begin anew.
"""
_PROTOCOLS = "https:http:ssh:git:file"
_SPEED = ("-c", "http.lowSpeedLimit=1000", "-c", f"http.lowSpeedTime={STORE_GIT_SECONDS}")
_COMMITS = re.compile(r"^Commits since the history began: ([0-9]{1,6})$", re.MULTILINE)
_REFUSED = re.compile(
    r"\[rejected\]|\[remote rejected\].*(?:lock|failed to update ref|fetch first|non-fast-forward|stale)|stale info"
)
_CREDENTIALS = re.compile(r"://[^/@\s]+@")  # in the address of a remote that the user has
_HTTP_CREDENTIALS = re.compile(r"(https?://)([^/]*)@([^/@]+(?:/.*)?)\Z", re.DOTALL)
_DENIED = re.compile(r"\bdenied\b|returned error: 40[13]\b|Authentication failed")
NO_REMOTE = "git knows no remote origin here; add it, or keep results in a folder: --store path=DIR"
_NO_BRANCH = re.compile(r"couldn't find remote ref")


@record
class Remote:
    """A repository on another machine, or elsewhere on this one. ``url``: empty if there is none.

    ``token``: for HTTP; empty: none.
    ``environment``: variables that git needs besides those of all programs, such as those of ssh.
    """

    url: str = field(repr=False)
    token: str = field(default="", repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def address(self) -> str:
        """The address for arguments of git, which other processes can read: one for HTTP is without its credentials."""
        return f"{found[1]}{found[3]}" if (found := _HTTP_CREDENTIALS.match(self.url)) else self.url

    def _credentials(self) -> str:
        """``USER:PASSWORD`` for HTTP; empty if there are none."""
        if found := _HTTP_CREDENTIALS.match(self.url):
            user, _, password = found[2].partition(":")
            return f"{unquote(user)}:{unquote(password)}"
        return f"x-access-token:{self.token}" if self.token and self.url.startswith(("https://", "http://")) else ""

    def variables(self) -> dict[str, str]:
        """The environment of git, with the credentials."""
        found = {
            **self.environment,
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_TERMINAL_PROMPT": "0",
            "LC_ALL": "C",
            "GIT_ALLOW_PROTOCOL": _PROTOCOLS,
        }
        if credentials := self._credentials():
            value = b64encode(credentials.encode()).decode()
            found |= {
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": f"http.{self.address}.extraheader",
                "GIT_CONFIG_VALUE_0": f"Authorization: Basic {value}",
            }
        return found


@record(kw_only=False)
class _Tip:
    """The last commit of the branch, and how many there are since its history began."""

    commit: str
    commits: int


class BranchStore:
    """The branch ``skillgym-data`` of a repository. See ``Store``.

    What git says about the other repository is a StoreAccessError.
    """

    title = f"the branch {STORE_BRANCH}"
    looked_at = next_step = ""

    def __init__(
        self, remote: Remote, processes: ProcessLauncher, clock: Clock, seconds: float = STORE_TRANSFER_SECONDS
    ) -> None:
        self._remote, self._processes, self._clock, self._seconds = remote, processes, clock, seconds

    def newest_first(self) -> Iterator[StoreText]:
        """See ``Store``. The files of the last commit; no history is fetched."""
        with self._clone() as clone:
            if clone.fetch() is None:
                return
            files = clone.files()
            names = newest_first(files)
            if len(names) > MAX_STORE_FILES or sum(files.values()) > MAX_STORE_READ_BYTES:
                raise StoreError(f"{self.title} has more than any version of this tool keeps; delete the branch")
            for start in range(0, len(names), FILES_READ_AT_ONCE):
                some = names[start : start + FILES_READ_AT_ONCE]
                for name, content in zip(some, clone.contents(some), strict=True):
                    yield from lines_of_file(name, content)

    def add(self, content: bytes, name: str, at: datetime) -> None:
        """See ``Store``. Raises StoreError when the branch cannot be pushed, such as without the permission."""
        file, refused = run_file(name, at), ""
        for number in range(MAX_PUSH_TRIES):
            if number:
                self._clock.pause(min(5.0, 0.1 * 1.5**number), self._processes.cancelled)
                self._processes.cancelled.raise_if_cancelled()
            with self._clone() as clone:
                refused = clone.push(clone.fetch(), file, content)
                if not refused:
                    return
        raise StoreError(f"{self.title}: other jobs pushed {MAX_PUSH_TRIES} times in between: {refused}")

    @contextmanager
    def _clone(self) -> Iterator[_Clone]:
        if not self._remote.url:
            raise StoreError(f"{self.title}: {NO_REMOTE}")
        try:
            with TemporaryDirectory(prefix="skillgym-", ignore_cleanup_errors=True) as folder:
                clone = _Clone(Path(folder), self._remote, self._processes, self._seconds)
                clone.git("init", "--quiet", "--bare", "--template=", ".")
                yield clone
        except InterruptedError:
            raise
        except OSError as error:
            raise StoreError(f"{self.title}: {error.strerror or error}") from error


class _Clone:
    """A repository of its own in a temporary folder, in which no configuration of the checkout counts."""

    def __init__(self, folder: Path, remote: Remote, processes: ProcessLauncher, seconds: float) -> None:
        self._folder, self._remote, self._processes, self._seconds = folder, remote, processes, seconds

    def fetch(self) -> _Tip | None:
        """Fetch the last commit of the branch; None if there is no such branch. Raises StoreError."""
        try:
            self.git(*_SPEED, "fetch", "--quiet", "--depth=1", "--no-tags", self._remote.address, f"+{REF}:{REF}")
        except StoreError as error:
            if _NO_BRANCH.search(str(error)):
                return None
            raise StoreAccessError(str(error)) from error
        commit = self.git("rev-parse", REF).decode().strip()
        message = self.git("log", "-1", "--format=%B", commit).decode(errors="replace")
        found = _COMMITS.search(message)
        return _Tip(commit, int(found[1]) if found else COMMITS_UNTIL_SQUASH)

    def files(self) -> dict[str, int]:
        """The sizes of the regular files of the branch, by path."""
        listed = self.git("ls-tree", "-r", "-l", "-z", REF)
        found = {}
        for row in filter(None, listed.split(b"\0")):
            head, _, name = row.partition(b"\t")
            mode, _, _, size = head.split()
            if mode == b"100644":
                found[name.decode(errors="replace")] = int(size)
        return found

    def contents(self, names: list[str]) -> Iterator[bytes]:
        """The contents of files of the branch, one process for all."""
        with TemporaryFile() as asked, TemporaryFile() as printed:
            asked.write("".join(f"{REF}:{name}\n" for name in names).encode())
            asked.seek(0)
            self.git("cat-file", "--batch", stdin=asked, stdout=printed)
            printed.seek(0)
            for name in names:
                words = printed.readline().split()
                if len(words) != 3 or words[1] != b"blob":  # noqa: PLR2004 - id, kind, size
                    raise StoreError(f"the branch {STORE_BRANCH}: {name} cannot be read")
                yield printed.read(int(words[2]))
                printed.read(1)

    def push(self, tip: _Tip | None, file: str, content: bytes) -> str:
        """Push a commit with one more file; empty, or why another job came first. Raises StoreError."""
        if tip:
            self.git("read-tree", tip.commit)
            self._drop(too_old({**self.files(), file: len(content)}))
        else:
            self._put(README, README_TEXT)
        self._put(file, content)
        tree = self.git("write-tree").decode().strip()
        if tip and tip.commits >= COMMITS_UNTIL_SQUASH:
            with suppress(StoreError):  # a rule for branches may forbid it: then the history grows
                if not self._push_tree(tree, tip, anew=True):
                    return ""
        return self._push_tree(tree, tip, anew=tip is None)

    def _push_tree(self, tree: str, tip: _Tip | None, *, anew: bool) -> str:
        """Push a commit with those files; empty, or why it was refused. ``anew``: the history begins with it."""
        number = tip.commits + 1 if tip and not anew else 1
        parent = ("-p", tip.commit) if tip and not anew else ()
        message = f"Results of a run\n\nCommits since the history began: {number}\n"
        commit = self.git(*IDENTITY, "commit-tree", tree, *parent, "-m", message).decode().strip()
        lease = f"--force-with-lease={REF}:{tip.commit if tip else ''}"
        try:
            self.git(*_SPEED, "push", "--quiet", "--no-verify", lease, self._remote.address, f"{commit}:{REF}")
        except StoreError as error:
            if _REFUSED.search(str(error)):
                return str(error)
            remedy = "; give the job `permissions: contents: write`" if _DENIED.search(str(error)) else ""
            raise StoreAccessError(f"{error}{remedy}") from error
        return ""

    def _drop(self, names: list[str]) -> None:
        """Take files out of the next commit."""
        with TemporaryFile() as rows:
            rows.write("".join(f"0 {'0' * 40}\t{name}\n" for name in names).encode())
            rows.seek(0)
            self.git("update-index", "--index-info", stdin=rows)

    def _put(self, name: str, content: bytes) -> None:
        with TemporaryFile() as file:
            file.write(content)
            file.seek(0)
            blob = self.git("hash-object", "-w", "--stdin", stdin=file).decode().strip()
        self.git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}")

    def git(self, *arguments: str, **streams: object) -> bytes:
        """What a git command prints. Raises StoreError with its last words, without the token."""
        argv, env = ("git", *SAFE_GIT_OPTIONS, *arguments), self._remote.variables()
        try:
            return self._processes.output(argv, cwd=self._folder, env=env, seconds=self._seconds, **streams)  # type: ignore[arg-type]
        except TimeoutError as error:
            said = f"git {error.strerror}; see whether the remote answers"
            raise StoreError(f"the branch {STORE_BRANCH}: {said}") from error
        except CalledProcessError as error:
            said = _CREDENTIALS.sub("://", " ".join(error.stderr.decode(errors="replace").split()[-60:]))
            raise StoreError(f"the branch {STORE_BRANCH}: {said or 'git failed'}") from error
