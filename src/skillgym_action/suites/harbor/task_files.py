"""The files of a task: its instruction, and the folders that are brought into the container."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.records import record
from skillgym_action.model.resource_limits import format_size
from skillgym_action.suites.harbor.paths import (
    DOCKERFILE,
    ENVIRONMENT,
    INSTRUCTION,
    SOLUTION,
    SOLUTION_SCRIPT,
    TASK,
    TEST_SCRIPT,
    TESTS,
)
from skillgym_action.suites.values import UNUSABLE
from skillgym_action.system.files.contents import content_digest
from skillgym_action.text.documents.user_files import kind_of, read_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.text.documents.user_files import Opener

MAX_HARBOR_FILES = 100_000  # and folders, of the tests, the solution and the environment of a task, each
MAX_HARBOR_BYTES = 2 * 1024**3  # of the files in one of these folders that are copied into a container
MAX_COMPARED_BYTES = 1024**2  # of a file of the environment that is compared with those of tests and solution
COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
HIDDEN_FOLDERS = (TESTS, SOLUTION)
_PARTS = (TASK, INSTRUCTION, ENVIRONMENT, TESTS, SOLUTION)
_CANARY = re.compile(r"<!--.*canary.*-->|#.*canary.*", re.IGNORECASE)


@record(slots=False)
class TaskFolder:
    """A task as a folder. ``root``: of the repository; both are absolute.

    ``refusal``: why a folder must not be read, such as a link on the way to it; None if it may. ``cancelled``: whether
    the run was, so that no more files need to be read.
    """

    folder: Path
    root: Path
    opener: Opener | None
    refusal: Callable[[Path], str | None]
    cancelled: Callable[[], bool]

    def shown(self, name: str = "") -> str:
        """The path of one of its files in messages: relative to the repository, if it is in it."""
        path = self.folder / name
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def hidden(self) -> list[str]:
        """The paths that agents must not read: the folder, or what a repository has of the task that it is."""
        return [self.shown(name) for name in _PARTS] if self.folder == self.root else [self.shown()]

    def text(self, name: str) -> str:
        """The text of one of its files. Raises SuiteError."""
        return read_text(self.folder / name, path=self.shown(name), error=SuiteError, opener=self.opener)

    def has(self, name: str) -> bool:
        """Whether there is a regular file with this path in it."""
        return kind_of(self.folder / name) == "file"

    @property
    def build_context(self) -> Path | None:
        """The folder that the image is built from; None: there is no Dockerfile."""
        return self.folder / ENVIRONMENT if self.has(DOCKERFILE) else None

    @property
    def solution(self) -> Path | None:
        """The folder of the reference solution; None: there is none."""
        return self.folder / SOLUTION if self.has(SOLUTION_SCRIPT) else None

    def problem(self, name: str, message: str, remedy: str | None = None) -> Problem:
        """A problem of one of its files."""
        return Problem(message=message, location=Location(path=self.shown(name)), remedy=remedy)

    def problems(self) -> Iterator[Problem]:
        """What is missing, and which folders cannot be used. Raises SuiteError."""
        if not self.has(INSTRUCTION):
            yield self.problem(INSTRUCTION, "is missing: the task has no prompt", "write it; it is the agent's prompt")
        if not self.has(TEST_SCRIPT):
            yield self.problem(TEST_SCRIPT, "is missing: nothing decides the task", "write it; it writes the reward")
        for name in (TESTS, SOLUTION, ENVIRONMENT):
            if kind_of(self.folder / name) and (refused := self.refusal(self.folder / name)):
                yield self.problem(name, refused, "keep the files of a task in its folder")
        for name in COMPOSE:
            if self.has(f"{ENVIRONMENT}/{name}"):
                message = "tasks with several containers (compose) are not supported"
                yield self.problem(f"{ENVIRONMENT}/{name}", message, "run this task with Harbor")
        if self.has("trajectory.json"):
            yield self.problem("trajectory.json", "an earlier conversation is not supported", "run it with Harbor")

    def warnings(self) -> Iterator[Problem]:
        """Files that the agent could read although they are part of the answer, and files without effect."""
        if self.has(".harborignore") or self.has(f"{TESTS}/.harborignore") or self.has(f"{SOLUTION}/.harborignore"):
            yield self.problem(".harborignore", "has no effect: all files of tests and solution are copied")
        if kind_of(self.folder / SOLUTION) and not self.has(SOLUTION_SCRIPT):
            yield self.problem(
                SOLUTION, "has no solve.sh, so it is not a reference solution", "write solution/solve.sh"
            )
        secret = {digest: name for part in HIDDEN_FOLDERS for digest, name in self._digests(part)}
        for digest, name in self._digests(ENVIRONMENT) if secret else ():
            if other := secret.get(digest):
                message = f"is the same file as {other}: the image has it, and the agent can read it"
                yield self.problem(name, message, "remove it from the environment")

    def _digests(self, part: str) -> Iterator[tuple[str, str]]:
        """SHA-256 and path of each file in one of the folders, that is neither empty nor large; links are left out.

        Raises SuiteError.
        """
        for file in self._regular_files(part):
            if 0 < file.stat().st_size <= MAX_COMPARED_BYTES:
                yield self._digest(file), file.relative_to(self.folder).as_posix()

    def _digest(self, file: Path) -> str:
        """SHA-256 of the content of a file. Raises SuiteError once the run is cancelled."""
        with file.open("rb") as opened:
            return content_digest(opened, self._raise_if_cancelled)

    def _raise_if_cancelled(self) -> None:
        if self.cancelled():
            raise SuiteError("the run was cancelled")

    def _regular_files(self, part: str) -> list[Path]:
        """The regular files below one of the folders, sorted; neither links nor what is behind them. Raises SuiteError.

        They are not opened as files of the suite, whose digests leave out data that only the suite reads.
        """
        found = list(islice((self.folder / part).rglob("*"), MAX_HARBOR_FILES + 1))
        if len(found) > MAX_HARBOR_FILES:
            message = f"has more than {MAX_HARBOR_FILES:,} files and folders"
            raise SuiteError.of(self.problem(part, message, "put them into an archive that the Dockerfile unpacks"))
        return [file for file in sorted(found) if not file.is_symlink() and file.is_file()]

    def digest(self, part: str) -> str:
        """SHA-256 over the paths and contents of the files in one of the folders; those of links are left out.

        Raises SuiteError, also for files that are too large together.
        """
        whole, files = sha256(), self._regular_files(part)
        if sum(file.stat().st_size for file in files) > MAX_HARBOR_BYTES:
            message = f"its files have more than {format_size(MAX_HARBOR_BYTES)} together"
            raise SuiteError.of(
                self.problem(part, message, "put large files into the image, or let a script download them")
            )
        for file in files:
            content = self._digest(file)
            whole.update(f"{file.relative_to(self.folder).as_posix()}\0{content}\n".encode(errors="surrogateescape"))
        return whole.hexdigest()

    def instruction(self) -> str:
        """The prompt: the instruction without the marks at its beginning that keep it out of training data.

        Raises SuiteError.
        """
        lines = self.text(INSTRUCTION).split("\n")
        at = 0
        while at < len(lines) and _CANARY.fullmatch(lines[at].strip()):
            at += 1
        while at < len(lines) and not lines[at].strip():
            at += 1
        prompt = "\n".join(lines[at:])
        if not prompt.strip():
            raise SuiteError.of(self.problem(INSTRUCTION, "is empty", "write what the agent has to do"))
        if UNUSABLE.search(prompt):
            raise SuiteError.of(self.problem(INSTRUCTION, "contains a NUL character", "remove it"))
        return prompt
