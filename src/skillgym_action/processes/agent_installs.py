"""The door to agents' CLIs: found where they are, or put into a folder of ours by npm.

npm runs no package's scripts but the CLI's own, and sees no secret of ours. An installation is there when its marker
is, which is written last and holds what ``--version`` said; until then other processes wait for it, or begin anew.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS, EXACT_VERSION
from skillgym_action.model.errors import InstallError
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.model.session import Capture, Identity
    from skillgym_action.processes.processes import Processes

LIMIT = 600.0  # seconds; the largest CLI has 400 MB
ANSWER = 60.0  # seconds a CLI may take to say its version: the first start after a download is slow
PAUSE = 0.2
ROOTS_FOLDER = "/var/cache/skillgym-action/agents"  # root's home is closed to the user that agents run as
MARKER = "installed"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?")
CODE = re.compile(r"^npm (?:error|ERR!) code ([A-Z]\w+)", re.MULTILINE)
TELLING = re.compile(r"^npm (?:error|ERR!) (?!code |errno |syscall |path |A complete|\s+at )(.*\w.*)$", re.MULTILINE)
UNREACHABLE = re.compile(r"ENOTFOUND|ECONN|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|SOCKET_TIMEOUT|CERT|SSL|TLS")
BY_HAND = "or install the agent yourself and name its program in agent.command"


@dataclass(frozen=True, kw_only=True, slots=True)
class Installed:
    """An agent's CLI in our folder. ``seconds`` is what it took just now; None: it was there."""

    agent: str
    version: str
    program: Path
    seconds: float | None = None


class AgentInstalls:
    """Finds and installs. ``folder`` holds an installation of each agent and version."""

    def __init__(self, processes: Processes, environment: Mapping[str, str], limit: float = LIMIT) -> None:
        """``environment`` is ours: it says where the folder is and how npm is set up. ``limit``: seconds npm may take.

        The folder is ``SKILLGYM_AGENTS_DIR``, else one for all users where we are root, else the user's cache.
        """
        home = environment.get("HOME") or "/"
        cache = environment.get("XDG_CACHE_HOME") or ""
        if not os.path.isabs(cache):  # the specification has such a path ignored; here a commit would choose programs
            cache = os.path.join(home, ".cache")
        default = ROOTS_FOLDER if os.geteuid() == 0 else os.path.join(cache, "skillgym-action", "agents")
        self.folder = Path(os.path.abspath(environment.get("SKILLGYM_AGENTS_DIR") or default))
        self._processes = processes
        self._path = environment.get("PATH")
        self._limit = limit
        self._npm = {name: value for name, value in environment.items() if name.lower().startswith("npm_config_")}
        if "npm_config_userconfig" not in map(str.lower, self._npm):
            self._npm["npm_config_userconfig"] = os.path.join(home, ".npmrc")

    def on_path(self, program: str, path: str | None = None) -> str | None:
        """The path of a program on ``path``, or else on our ``PATH``."""
        return shutil.which(program, path=path or self._path)

    def there(self, agent: str, version: str | None = None) -> Path | None:
        """The program of an agent that is installed here; without ``version`` the one its adapter was verified with."""
        wanted = version or AGENTS[agent].version
        folder = self.folder / f"{agent}-{wanted}"
        return _program(agent, folder) if (folder / MARKER).is_file() else None

    def install(self, agent: str, version: str | None = None) -> Installed:
        """The agent in that version, or the verified one; complete, or not there at all. Raises InstallError."""
        listing = AGENTS[agent]
        if listing.package is None:
            raise InstallError(f"{agent} does not come from npm", remedy="install it yourself, where PATH finds it")
        wanted = version or listing.version or ""
        if not EXACT_VERSION.fullmatch(wanted):
            raise InstallError(f"{agent}: {wanted!r} is no exact version", remedy=f"such as {listing.version}")
        folder = self.folder / f"{agent}-{wanted}"
        began = time.monotonic()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._alone(folder, began):
                if self.there(agent, wanted):
                    return Installed(agent=agent, version=wanted, program=_program(agent, folder))
                self._installed(agent, wanted, folder)
        except OSError as error:
            message = f"cannot install into {self.folder}: {error.strerror or error}"
            raise InstallError(message, remedy="name another folder in SKILLGYM_AGENTS_DIR") from error
        took = time.monotonic() - began
        return Installed(agent=agent, version=wanted, program=_program(agent, folder), seconds=took)

    def version(self, *argv: str) -> str | None:
        """The version that a program says it is; None when it does not say."""
        prefix = "skillgym-version-"
        # What it prints goes to a folder of ours: in its own it could put a link in a log's place.
        with TemporaryDirectory(prefix=prefix) as scratch, TemporaryDirectory(prefix=prefix) as logs:
            identity = self._processes.user.session() if self._processes.user else None
            if identity:
                os.chown(scratch, identity.uid, identity.gid)
            said = _said(self._run((*argv, "--version"), Path(scratch), ANSWER, logs=Path(logs), identity=identity))
        found = VERSION.search(said)
        return found[0] if found else None

    @contextmanager
    def _alone(self, folder: Path, began: float) -> Iterator[None]:
        """Wait until no other process installs the same. Raises InstallError, OSError."""
        with open(f"{folder}.lock", "w", encoding="utf-8") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if self._processes.cancelled or time.monotonic() - began > self._limit:
                        what = f"another process has been installing {folder.name} for too long"
                        raise InstallError(what, remedy="end it, and try again") from None
                    time.sleep(PAUSE)
            yield

    def _installed(self, agent: str, version: str, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)  # what a killed process left
        folder.mkdir()
        try:
            with TemporaryDirectory(prefix="skillgym-npm-") as scratch:
                said = self._made(agent, version, folder, Path(scratch))
            (folder / MARKER).write_text(said, encoding="utf-8")
        # Also a cancellation: half an installation must not pass for a whole one.
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _made(self, agent: str, version: str, folder: Path, scratch: Path) -> str:
        """What the CLI says its version is, once npm has put it into ``folder``. Raises InstallError."""
        package = f"{AGENTS[agent].package}@{version}"
        npm = ("npm", "--prefix", os.fspath(folder), "--loglevel=error", "--no-fund", "--no-audit")
        for arguments in (("install", "--ignore-scripts", package), ("rebuild", str(AGENTS[agent].package))):
            capture = self._run((*npm, *arguments), scratch, self._limit)
            if capture.ending is not Ending.EXITED or capture.exit_code:
                raise _npm_error(package, capture, self._limit)
        said = _said(self._run((os.fspath(_program(agent, folder)), "--version"), scratch, ANSWER))
        found = VERSION.search(said)
        if not found or found[0] != version:
            told = clipped(said.strip(), 500) or "nothing"
            raise InstallError(f"{package} was installed, but its --version says: {told}", remedy=BY_HAND)
        return said

    def _run(
        self,
        argv: tuple[str, ...],
        scratch: Path,
        limit: float,
        *,
        logs: Path | None = None,
        identity: Identity | None = None,
    ) -> Capture:
        """With a home that holds nothing of ours. What is not trusted has ``logs`` elsewhere, and may be a user's.

        Trusted is what runs as ourselves, since nobody else may change what is there.
        """
        env = {**({} if logs else self._npm), "HOME": os.fspath(scratch)}
        invocation = Invocation(argv=argv, cwd=scratch, timeout=limit, env=env, identity=identity)
        told = logs or scratch
        stdout, stderr = told / "stdout.log", told / "stderr.log"
        return self._processes.run(invocation, stdout=stdout, stderr=stderr)


def _program(agent: str, folder: Path) -> Path:
    return folder / "node_modules" / ".bin" / str(AGENTS[agent].executable)


def _said(capture: Capture) -> str:
    """What was printed; stderr, too, where stdout holds no version."""
    out = capture.stdout.tail(4096)
    return out if VERSION.search(out) else out + (capture.error or "") + capture.stderr.tail(4096)


def _npm_error(package: str, capture: Capture, limit: float) -> InstallError:
    """Why npm did not do it, in words, with the last of its own."""
    told = capture.stderr.tail(8192)
    found = CODE.search(told)
    code = found[1] if found else ""
    if capture.ending is Ending.NOT_STARTED:
        why, remedy = "npm was not found", f"install Node.js, which brings npm, {BY_HAND}"
    elif capture.ending is Ending.TIMED_OUT:
        why, remedy = f"npm did not end within {limit:g} s", f"try again, {BY_HAND}"
    elif capture.ending is Ending.CANCELLED:
        why, remedy = "cancelled", ""
    elif code in {"E404", "ETARGET"}:
        why, remedy = "npm's registry does not have it", "check the version, and which registry npm asks"
    elif UNREACHABLE.search(code):
        why, remedy = "npm's registry cannot be reached", f"check network, proxy and npm_config_registry, {BY_HAND}"
    else:
        why, remedy = f"npm ended with {code or f'exit code {capture.exit_code}'}", BY_HAND.removeprefix("or ")
    lines = TELLING.findall(told) or told.strip().splitlines()
    # Of its own errors npm tells the cause first; after a script's it repeats the output, whose end tells most.
    lines = lines[:1] if code else lines[-4:]
    message = "\n".join([f"cannot install {package}: {why}", *(clipped(line.strip(), 300) for line in lines)])
    return InstallError(message, remedy=remedy or None)
