"""CLIs of agents: found on the search path, or installed by npm into a folder of the tool.

npm runs no scripts but those of the CLI's own package, and gets no secret of the tool. An installation is complete once
its marker file exists, which is written last and has the output of ``--version``; until then other processes wait for
it, or install anew.
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
from skillgym_action.limits import INSTALL_SECONDS, VERSION_SECONDS
from skillgym_action.model.errors import InstallError
from skillgym_action.processes.executables import permission_remedy
from skillgym_action.text.escaping import clipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.model.session import Capture, Identity
    from skillgym_action.processes.agent_cache import AgentCache
    from skillgym_action.processes.launcher import ProcessLauncher

CACHE_VARIABLE, FOLDER_VARIABLE = "SKILLGYM_AGENTS_CACHE", "SKILLGYM_AGENTS_DIR"
PAUSE = 0.2  # seconds between two attempts to lock an installation
SHARED_FOLDER = "/var/cache/skillgym-action/agents"  # for root, whose home is closed to the user that agents run as
MARKER = "installed"
VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?")
NPM_ERROR_CODE = re.compile(r"^npm (?:error|ERR!) code ([A-Z]\w+)", re.MULTILINE)
NPM_ERROR_LINE = re.compile(
    r"^npm (?:error|ERR!) (?!code |errno |syscall |path |A complete|\s+at )(.*\w.*)$", re.MULTILINE
)
NETWORK_ERROR = re.compile(r"ENOTFOUND|ECONN|EAI_AGAIN|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|SOCKET_TIMEOUT|CERT|SSL|TLS")
MANUAL_INSTALL = "or install the agent yourself and name its program in agent.command"


@dataclass(frozen=True, kw_only=True, slots=True)
class InstalledAgent:
    """An agent's CLI in the folder of the tool. ``seconds``: how long its installation took; None: it was installed.

    ``restored``: it was not installed, but restored from the cache. ``note``: what went wrong with the cache, if so.
    """

    agent: str
    version: str
    program: Path
    seconds: float | None = None
    restored: bool = False
    note: str | None = None


class AgentInstalls:
    """Finds and installs CLIs. ``folder`` has one folder for each agent and version."""

    def __init__(
        self, processes: ProcessLauncher, environment: Mapping[str, str], limit: float = INSTALL_SECONDS
    ) -> None:
        """``environment``: the tool's, with the settings of npm. ``limit``: seconds that npm may take.

        The folder is ``SKILLGYM_AGENTS_DIR``; by default one for all users if the tool is root, else the tool cache of
        the job's runner, if there is one, or the user's cache. ``SKILLGYM_AGENTS_CACHE``: a folder that outlives the
        job; what is installed is kept there, and restored from there.
        """
        from skillgym_action.processes.agent_keys import AgentKeys

        home = environment.get("HOME") or "/"
        cache = environment.get("XDG_CACHE_HOME") or ""
        if not os.path.isabs(cache):  # as its specification wants; in a checkout, a commit would choose the programs
            cache = os.path.join(home, ".cache")
        default = os.path.join(cache, "skillgym-action", "agents")
        tools = environment.get("RUNNER_TOOL_CACHE") or ""
        if os.path.isabs(tools) and os.access(tools, os.W_OK):
            default = os.path.join(tools, "skillgym-agents")
        if os.geteuid() == 0:
            default = SHARED_FOLDER
        kept = environment.get(CACHE_VARIABLE)
        self._cache = _agent_cache(kept) if kept else None
        self.folder = Path(os.path.abspath(environment.get(FOLDER_VARIABLE) or default))
        self.keys = AgentKeys(environment)
        self._processes = processes
        self._path = environment.get("PATH")
        self._limit = limit
        self._npm = {name: value for name, value in environment.items() if name.lower().startswith("npm_config_")}
        if "npm_config_userconfig" not in map(str.lower, self._npm):
            self._npm["npm_config_userconfig"] = os.path.join(home, ".npmrc")

    def find_program(self, program: str, path: str | None = None) -> str | None:
        """The path of a program on the search path ``path``, by default the tool's; None if it is not found."""
        return shutil.which(program, path=path or self._path)

    def permission_remedy(self, program: str, path: str | None = None) -> str | None:
        """The command that makes a program executable; None if it is, or if there is no such file."""
        return permission_remedy(program, path or self._path)

    def installed_program(self, agent: str, version: str | None = None) -> Path | None:
        """The program of an agent that is installed in the folder, else None; by default of the verified version."""
        wanted = version or AGENTS[agent].version
        folder = self.folder / f"{agent}-{wanted}"
        return _program(agent, folder) if (folder / MARKER).is_file() else None

    def install(self, agent: str, version: str | None = None) -> InstalledAgent:
        """Install an agent, by default its verified version: completely or not at all. Raises InstallError."""
        listing = AGENTS[agent]
        if listing.package is None:
            raise InstallError(f"{agent} does not come from npm", remedy="install it yourself, where PATH finds it")
        wanted = version or listing.version or ""
        if not EXACT_VERSION.fullmatch(wanted):
            raise InstallError(f"{agent}: {wanted!r} is not an exact version", remedy=f"such as {listing.version}")
        folder = self.folder / f"{agent}-{wanted}"
        began = time.monotonic()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked(folder, began):
                if self.installed_program(agent, wanted):
                    return InstalledAgent(agent=agent, version=wanted, program=_program(agent, folder))
                restored, note = self._restored(agent, wanted, folder)
                if not restored:
                    self._install_into(agent, wanted, folder)
                    note = self._kept(folder) or note
        except OSError as error:
            message = f"cannot install into {self.folder}: {error.strerror or error}"
            raise InstallError(message, remedy=f"name another folder in {FOLDER_VARIABLE}") from error
        took = time.monotonic() - began
        program = _program(agent, folder)
        return InstalledAgent(agent=agent, version=wanted, program=program, seconds=took, restored=restored, note=note)

    def version(self, *argv: str) -> str | None:
        """The version that a program prints; None if it prints none."""
        prefix = "skillgym-version-"
        # Its output goes to another folder: in its own it could replace a log by a link.
        with TemporaryDirectory(prefix=prefix) as scratch, TemporaryDirectory(prefix=prefix) as logs:
            identity = self._processes.user.session_identity() if self._processes.user else None
            if identity:
                os.chown(scratch, identity.uid, identity.gid)
            command = (*argv, "--version")
            capture = self._run(command, Path(scratch), VERSION_SECONDS, logs=Path(logs), identity=identity)
            output = _version_output(capture)
        found = VERSION.search(output)
        return found[0] if found else None

    @contextmanager
    def _locked(self, folder: Path, began: float) -> Iterator[None]:
        """Wait until no other process installs the same version. Raises InstallError, OSError."""
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

    def _restored(self, agent: str, version: str, folder: Path) -> tuple[bool, str | None]:
        """Restore from the cache, completely or not at all; whether it was, and why not if there is something."""
        if self._cache is None:
            return False, None
        from skillgym_action.filesystem.bundle import BundleError

        new = folder.with_name(f".restored-{folder.name}")
        shutil.rmtree(new, ignore_errors=True)  # what a killed process left
        try:
            if not self._cache.restore(folder.name, new):
                return False, None
            (new / MARKER).unlink()  # written again once it was started
            with TemporaryDirectory(prefix="skillgym-npm-") as scratch:
                output = self._started(agent, version, new, Path(scratch))
            shutil.rmtree(folder, ignore_errors=True)
            os.rename(new, folder)
            (folder / MARKER).write_text(output, encoding="utf-8")
        except (BundleError, InstallError, OSError) as error:
            return False, f"{folder.name} could not be restored from {self._cache.folder}, and was installed: {error}"
        finally:
            shutil.rmtree(new, ignore_errors=True)
        return True, None

    def _kept(self, folder: Path) -> str | None:
        """Write an installation to the cache; why it failed, if so."""
        from skillgym_action.filesystem.bundle import BundleError

        try:
            if self._cache:
                self._cache.keep(folder.name, folder)
        except (BundleError, OSError) as error:
            return f"{folder.name} could not be stored for later jobs: {error}"
        return None

    def _install_into(self, agent: str, version: str, folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)  # what a killed process left
        folder.mkdir()
        try:
            with TemporaryDirectory(prefix="skillgym-npm-") as scratch:
                output = self._run_npm(agent, version, folder, Path(scratch))
            (folder / MARKER).write_text(output, encoding="utf-8")
        # Also a cancellation: no incomplete installation stays.
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    def _run_npm(self, agent: str, version: str, folder: Path, scratch: Path) -> str:
        """Install with npm into ``folder``; what the CLI prints for ``--version``. Raises InstallError."""
        from skillgym_action.model.session import Ending

        package = f"{AGENTS[agent].package}@{version}"
        npm = ("npm", "--prefix", os.fspath(folder), "--loglevel=error", "--no-fund", "--no-audit")
        for arguments in (("install", "--ignore-scripts", package), ("rebuild", str(AGENTS[agent].package))):
            capture = self._run((*npm, *arguments), scratch, self._limit)
            if capture.ending is not Ending.EXITED or capture.exit_code:
                raise _npm_error(package, capture, self._limit)
        return self._started(agent, version, folder, scratch)

    def _started(self, agent: str, version: str, folder: Path, scratch: Path) -> str:
        """What the CLI in ``folder`` prints for ``--version``. Raises InstallError if it is another version."""
        output = _version_output(self._run((os.fspath(_program(agent, folder)), "--version"), scratch, VERSION_SECONDS))
        found = VERSION.search(output)
        if not found or found[0] != version:
            shown, package = clipped(output.strip(), 500) or "nothing", f"{AGENTS[agent].package}@{version}"
            raise InstallError(f"{package} was installed, but its --version says: {shown}", remedy=MANUAL_INSTALL)
        return output

    def _run(
        self,
        argv: tuple[str, ...],
        scratch: Path,
        limit: float,
        *,
        logs: Path | None = None,
        identity: Identity | None = None,
    ) -> Capture:
        """Run a program with an empty home directory.

        npm and what it has just installed are trusted, and get the settings of npm. A program that others may have
        changed runs without them, as ``identity``, and with its output in ``logs``.
        """
        from skillgym_action.model.session import Invocation

        env = {**({} if logs else self._npm), "HOME": os.fspath(scratch)}
        invocation = Invocation(argv=argv, cwd=scratch, timeout=limit, env=env, identity=identity)
        outputs = logs or scratch
        stdout, stderr = outputs / "stdout.log", outputs / "stderr.log"
        return self._processes.run(invocation, stdout=stdout, stderr=stderr)


def _agent_cache(folder: str) -> AgentCache:
    from skillgym_action.processes.agent_cache import AgentCache  # imported late: only jobs with a cache need it

    return AgentCache(Path(os.path.abspath(folder)))


def _program(agent: str, folder: Path) -> Path:
    return folder / "node_modules" / ".bin" / str(AGENTS[agent].executable)


def _version_output(capture: Capture) -> str:
    """The output; with stderr if no version is in stdout."""
    out = capture.stdout.tail(4096)
    return out if VERSION.search(out) else out + (capture.error or "") + capture.stderr.tail(4096)


def _npm_error(package: str, capture: Capture, limit: float) -> InstallError:
    """The reason why npm failed, with the relevant lines of its output."""
    from skillgym_action.model.session import Ending

    output = capture.stderr.tail(8192)
    found = NPM_ERROR_CODE.search(output)
    code = found[1] if found else ""
    if capture.ending is Ending.NOT_STARTED:
        why, remedy = "npm was not found", f"install Node.js, which includes npm, {MANUAL_INSTALL}"
    elif capture.ending is Ending.TIMED_OUT:
        why, remedy = f"npm did not end within {limit:g} s", f"try again, {MANUAL_INSTALL}"
    elif capture.ending is Ending.CANCELLED:
        why, remedy = "cancelled", ""
    elif code in {"E404", "ETARGET"}:
        why, remedy = "npm's registry does not have it", "check the version, and which registry npm asks"
    elif NETWORK_ERROR.search(code):
        why = "npm's registry cannot be reached"
        remedy = f"check network, proxy and npm_config_registry, {MANUAL_INSTALL}"
    else:
        why, remedy = f"npm ended with {code or f'exit code {capture.exit_code}'}", MANUAL_INSTALL.removeprefix("or ")
    lines = NPM_ERROR_LINE.findall(output) or output.strip().splitlines()
    # Of its own errors npm prints the cause first; of a failed script it repeats the output, whose end matters most.
    lines = lines[:1] if code else lines[-4:]
    message = "\n".join([f"cannot install {package}: {why}", *(clipped(line.strip(), 300) for line in lines)])
    return InstallError(message, remedy=remedy or None)
