"""Images of a Docker engine, pulled or built of a folder with the engine's cache; and volumes with agents' programs."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, cast
from uuid import uuid4

from docker.errors import APIError, ImageNotFound, NotFound
from docker.types import Mount
from docker.utils.build import PatternMatcher

from skillgym_action.model.containers import BuiltImage, ContainerBuild
from skillgym_action.model.errors import SandboxError
from skillgym_action.model.limits import MAX_SERVICE_MESSAGE_CHARACTERS
from skillgym_action.model.resource_limits import format_size
from skillgym_action.system.containers.docker_engine import ENGINE_ERRORS, LABEL, VOLUME_PREFIX
from skillgym_action.system.containers.docker_sweep import CONTENT, labels
from skillgym_action.system.containers.keeper import keeper
from skillgym_action.system.containers.tar_entries import END, write_tar
from skillgym_action.system.files.bundle import BundleEntry
from skillgym_action.system.files.folder import Folder
from skillgym_action.system.files.packing import folder_entries
from skillgym_action.text.escaping import one_line, tail

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from skillgym_action.model.containers import ContainerSpec
    from skillgym_action.system.cancellation import Cancellation
    from skillgym_action.system.containers.docker_engine import DockerEngine

MAX_BUILD_CONTEXT_BYTES = 512 * 1024**2
MAX_BUILD_CONTEXT_ENTRIES = 100_000
IMAGE_ATTEMPTS = 2  # in a run, to build or pull an image
IMAGE_SECONDS = 1800.0  # for an image to be built or pulled
MAX_BUILD_LOG_LINES = 20  # the last ones, in the message about a failed build
POLL_SECONDS = 0.1
IGNORED = ".dockerignore"
BUILD_REPOSITORY = "skillgym-action/built"
BUILD_MEMORY_BYTES = 8 * 1024**3
MAX_PATTERNS_BYTES = 64 * 1024


class DockerImages:
    """The images of one run; each is pulled or built once, also if several threads ask for it.

    After two failures, the last error is raised again: each attempt may take minutes.
    """

    def __init__(self, engine: DockerEngine, cancelled: Cancellation) -> None:
        self._engine, self._cancelled = engine, cancelled
        self._locks: dict[Any, threading.Lock] = {}
        self._found: dict[Any, BuiltImage] = {}
        self._errors: dict[Any, list[SandboxError]] = {}
        self._lock = threading.Lock()

    def image(self, spec: ContainerSpec) -> BuiltImage:
        """See ``Sandbox.image``."""
        if bool(spec.build) == bool(spec.image):
            raise SandboxError("a container needs either an image or a folder to build one from")
        build = spec.build
        return self._once(build, lambda: self._of_folder(build)) if build else self.named(str(spec.image))

    def _once(self, key: Any, make: Callable[[], BuiltImage]) -> BuiltImage:
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key in self._found:
                return self._found[key]
            errors = self._errors.setdefault(key, [])
            if len(errors) >= IMAGE_ATTEMPTS:
                raise errors[-1]
            try:
                return self._found.setdefault(key, make())
            except SandboxError as error:
                errors.append(error)
                raise

    def _pulled(self, name: str) -> BuiltImage:
        what = f"image {self._engine.shown(name)}"
        with self._engine.errors(f"{what} cannot be used", "check its name"), suppress(ImageNotFound):
            return self._described(name, name)
        remedy = "check its name, log in to its registry with `docker login`, or pull it yourself"
        with self._engine.errors(f"{what} cannot be pulled", remedy):
            self._follow(self._engine.api.pull(name, stream=True, decode=True), f"{what} cannot be pulled", remedy)
            return self._described(name, name)

    def _described(self, name: str, shown: str) -> BuiltImage:
        """The image as the engine has it. Raises ImageNotFound; SandboxError for another architecture."""
        found: dict[str, Any] = self._engine.api.inspect_image(name)  # type: ignore[no-untyped-call]
        config = found.get("Config") or {}
        architecture, wanted = found["Architecture"], self._engine.architecture
        if architecture != wanted or found.get("Os", "linux") != "linux":
            raise SandboxError(
                f"image {self._engine.shown(shown)} is made for {self._engine.shown(found.get('Os'))}/"
                f"{self._engine.shown(architecture)}, and the engine runs linux/{wanted}",
                remedy=f"name an image for linux/{wanted}",
            )
        return BuiltImage(
            digest=found["Id"],
            name=shown,
            architecture=architecture,
            user=config.get("User") or "",
            workdir=config.get("WorkingDir") or "/",
            environment=tuple(_pair(each) for each in config.get("Env") or ()),
            volumes=tuple(sorted(config.get("Volumes") or ())),
        )

    def named(self, name: str) -> BuiltImage:
        """The image of this name. Raises SandboxError."""
        return self._once(name, lambda: self._pulled(name))

    def of_files(self, shown: str, files: Mapping[str, bytes], args: tuple[tuple[str, str], ...]) -> BuiltImage:
        """The image that is built of these files, one of which is ``Dockerfile``. Raises SandboxError."""
        entries = [BundleEntry("file", name, 0o644).with_content(len(text), text) for name, text in files.items()]
        build = ContainerBuild(context=Path(shown), args=args)
        tag = _tag(build, entries)
        return self._once(tag, lambda: self._built(shown, tag, build, lambda: nullcontext(iter(entries))))

    def _of_folder(self, build: ContainerBuild) -> BuiltImage:
        """The image of a folder; the content of the folder decides whether it is there already."""
        shown = self._engine.shown(f"{build.context.name}/{build.dockerfile}")
        with _context(build) as entries:
            tag = _tag(build, entries)
        return self._built(shown, tag, build, lambda: _context(build))

    def _built(
        self,
        shown: str,
        tag: str,
        build: ContainerBuild,
        entries: Callable[[], AbstractContextManager[Iterator[BundleEntry]]],
    ) -> BuiltImage:
        failed = f"the image of {shown} cannot be built"
        with self._engine.errors(failed):
            with suppress(ImageNotFound):
                return self._described(tag, shown)
            with entries() as context:
                lines = self._engine.api.build(
                    fileobj=cast("IO[bytes]", _Pieces(chain(write_tar(context), (END,)))),  # it is only iterated
                    custom_context=True,
                    dockerfile=build.dockerfile,
                    tag=tag,
                    buildargs=dict(build.args),
                    labels={LABEL: "image"},
                    rm=True,
                    forcerm=True,
                    decode=True,
                    container_limits={"memory": BUILD_MEMORY_BYTES, "memswap": BUILD_MEMORY_BYTES},
                )
                self._follow(lines, failed, "correct the Dockerfile, or try it with `docker build`")
            return self._described(tag, shown)

    def _follow(self, lines: Generator[dict[str, Any]], failed: str, remedy: str) -> None:
        """Read what the engine reports until it is done. Raises SandboxError, also once cancelled or after a time."""
        log = list[str]()
        for line in self._until_deadline(lines, failed, remedy):
            if text := str(line.get("stream") or "").rstrip():
                log = [*log, text][-MAX_BUILD_LOG_LINES:]
            if "error" in line:
                said = "\n".join([*log, str(line["error"])])
                quoted = tail(self._engine.redact(said), MAX_SERVICE_MESSAGE_CHARACTERS * 4)
                raise SandboxError(
                    f"{failed}: {' | '.join(map(self._engine.shown, quoted.splitlines()))}", remedy=remedy
                )

    def _until_deadline(self, lines: Generator[dict[str, Any]], failed: str, remedy: str) -> Iterator[dict[str, Any]]:
        """Yield what the engine reports. Raises SandboxError once cancelled or after a time, also while it reports."""
        queue: SimpleQueue[dict[str, Any] | BaseException | None] = SimpleQueue()
        ended, deadline = threading.Event(), time.monotonic() + IMAGE_SECONDS
        threading.Thread(target=_read_all, args=(lines, queue.put, ended), daemon=True).start()
        try:
            while True:
                if self._cancelled:
                    raise SandboxError(f"{failed}: the run was cancelled")
                if time.monotonic() > deadline:
                    raise SandboxError(f"{failed}: it took more than {IMAGE_SECONDS:g} s", remedy=remedy)
                with suppress(Empty):
                    line = queue.get(timeout=POLL_SECONDS)
                    if line is None:
                        return
                    if isinstance(line, BaseException):
                        raise line
                    yield line
        finally:
            ended.set()


def _read_all(
    lines: Generator[dict[str, Any]],
    report: Callable[[dict[str, Any] | BaseException | None], None],
    ended: threading.Event,
) -> None:
    """Report each line, until no thread waits for more: the engine ends a build whose connection is closed."""
    try:
        with closing(lines):
            for line in lines:
                if ended.is_set():
                    break
                report(line)
    except (*ENGINE_ERRORS, ValueError) as error:
        report(error)
    else:
        report(None)


class _Pieces:
    """The pieces of an archive as a request's body."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


def _tag(build: ContainerBuild, entries: Iterable[BundleEntry]) -> str:
    """The name of what is built of these files with these arguments: it has a digest of them."""
    digest = hashlib.sha256(repr((build.dockerfile, build.args)).encode())
    for entry in sorted_digests(entries):
        digest.update(entry)
    return f"{BUILD_REPOSITORY}:{digest.hexdigest()[:32]}"


def sorted_digests(entries: Iterable[BundleEntry]) -> list[bytes]:
    """A digest of each entry, sorted, since folders are listed in any order."""
    found = []
    for entry in entries:
        digest = hashlib.sha256(repr((entry.kind, entry.path, entry.mode, entry.target, entry.size)).encode())
        for chunk in entry.chunks():
            digest.update(chunk)
        found.append(digest.digest())
    return sorted(found)


@contextmanager
def _context(build: ContainerBuild) -> Iterator[Iterator[BundleEntry]]:
    """The entries of the folder that an image is built of; no link is followed. Raises SandboxError."""
    try:
        fd = os.open(build.context, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise SandboxError(f"the build folder {build.context} cannot be read: {error.strerror}") from error
    try:
        folder = Folder(fd)
        yield _limited(_not_ignored(folder_entries(folder), _patterns(folder), build.dockerfile), build.context)
    finally:
        os.close(fd)


def _patterns(folder: Folder) -> list[str]:
    text = folder.read(IGNORED, MAX_PATTERNS_BYTES) or b""
    lines = text.decode("utf-8", "replace").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _not_ignored(entries: Iterable[BundleEntry], patterns: list[str], dockerfile: str) -> Iterator[BundleEntry]:
    matcher = PatternMatcher(patterns) if patterns else None
    for entry in entries:
        if not matcher or entry.path == dockerfile or not matcher.matches(cast("os.PathLike[str]", entry.path)):
            yield entry


def _limited(entries: Iterable[BundleEntry], context: Path) -> Iterator[BundleEntry]:
    size = 0
    for count, entry in enumerate(entries, start=1):
        size += entry.size
        if size > MAX_BUILD_CONTEXT_BYTES or count > MAX_BUILD_CONTEXT_ENTRIES:
            raise SandboxError(
                f"the build folder {one_line(str(context))} has more than {format_size(MAX_BUILD_CONTEXT_BYTES)} "
                f"or {MAX_BUILD_CONTEXT_ENTRIES:,} files",
                remedy=f"list what the image does not need in its {IGNORED}",
            )
        yield entry


def _pair(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name, value


EMPTY_IMAGE = ("skillgym-action/empty", "1")
FILLED = "/content"
KEEPER_FOLDER = "/.skillgym-action"
KEEPER_PATH = f"{KEEPER_FOLDER}/keeper"


class DockerVolumes:
    """The volumes that a run uses; they stay when it ends.

    Their content is known by a key: they are filled once, then only read.
    """

    def __init__(self, engine: DockerEngine, run: str) -> None:
        self._engine, self._run = engine, run
        self._lock = threading.Lock()
        self._keeper: str | None = None

    def volume(self, key: str, entries: Callable[[], Iterable[BundleEntry]]) -> str:
        """See ``Sandbox.volume``; raises ENGINE_ERRORS instead.

        The content is in a volume with a name of its own. Once it is complete, an empty volume named after the key gets
        a label that names it: creating a volume returns the one that exists, so the first to be complete is used.
        """
        name = f"{VOLUME_PREFIX}{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        with suppress(NotFound):
            return str(self._engine.api.inspect_volume(name)["Labels"][CONTENT])
        content, found = f"{name}-{uuid4().hex[:8]}", ""
        self._engine.api.create_volume(content, labels=labels(self._run, "content"))
        try:
            self._fill(content, entries())
            named = {**labels(self._run, "volume"), CONTENT: content}
            found = str(self._engine.api.create_volume(name, labels=named)["Labels"][CONTENT])
        finally:
            if found != content:
                with suppress(*ENGINE_ERRORS):
                    self._engine.api.remove_volume(content)
        return found

    def _fill(self, volume: str, entries: Iterable[BundleEntry]) -> None:
        """Write into a volume, by way of a container that never runs."""
        api, (repository, tag) = self._engine.api, EMPTY_IMAGE
        try:
            api.inspect_image(f"{repository}:{tag}")  # type: ignore[no-untyped-call]
        except APIError:
            folder = BundleEntry("folder", FILLED[1:], 0o755)
            api.import_image_from_data(b"".join((*write_tar([folder]), END)), repository=repository, tag=tag)
        config = api.create_host_config(mounts=[Mount(FILLED, volume)], network_mode="none")
        made = api.create_container(
            f"{repository}:{tag}", command=["/"], labels=labels(self._run, "filler"), host_config=config
        )
        try:
            api.put_archive(made["Id"], FILLED, chain(write_tar(entries), (END,)))
        finally:
            api.remove_container(made["Id"], force=True)

    def keeper(self) -> Mount:
        """Where the program is that a container's first process executes. Raises ENGINE_ERRORS."""
        with self._lock:
            if self._keeper is None:
                program = keeper(self._engine.architecture)
                entry = BundleEntry("file", KEEPER_PATH.rpartition("/")[2], 0o555).with_content(len(program), program)
                self._keeper = self.volume(f"keeper {hashlib.sha256(program).hexdigest()}", lambda: [entry])
            return Mount(KEEPER_FOLDER, self._keeper, read_only=True)
