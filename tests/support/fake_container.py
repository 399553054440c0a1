"""A container of a session without an engine: files by path, and what the tests of a task write."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from skillgym_action.suites.harbor.paths import REWARD_JSON, REWARD_TEXT, TEST_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.model.containers import ContainerCommand


@dataclass(frozen=True)
class Done:
    """A program that has ended."""

    exit_code: int | None = 0
    timed_out: bool = False
    seconds: float = 0.1
    tail: str = ""
    logs: tuple[str, ...] = ()


@dataclass
class FakeContainer:
    """``tests``: the files that ``test.sh`` writes. ``removes``: whether programs of the image remove files.

    ``tries``: exit codes of other programs, one after the other, then 0. ``steps``: what was done.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    tests: Mapping[str, bytes] = field(default_factory=dict)
    removes: bool = True
    ended: Done = Done()
    tries: list[int] = field(default_factory=list)
    patience: float = 1e9
    image_user: str = "root"
    workdir: str = "/app"
    steps: list[str] = field(default_factory=list)
    commands: list[ContainerCommand] = field(default_factory=list)

    def put(self, folder: Path, path: str) -> None:
        self.steps.append(f"put {folder.name} at {path}")

    def read(self, path: str, size: int) -> bytes | None:
        content = self.files.get(path)
        return content if content is not None and len(content) <= size else None

    def pause(self, seconds: float) -> None:
        """Noted, without waiting; the run is cancelled during one that is longer than ``patience``."""
        self.steps.append(f"pause {seconds:g}")
        if seconds > self.patience:
            raise InterruptedError

    def run(self, command: ContainerCommand) -> Done:
        """Tests write their files; a script that removes the reward removes it."""
        self.commands.append(command)
        if command.argv[-1] == TEST_PATH:
            self.steps.append("tests")
            self.files.update(self.tests)
            return self.ended
        script = command.argv[2]
        self.steps.append(script.split(maxsplit=1)[0])
        if self.removes and REWARD_TEXT in script:
            self.files.pop(REWARD_TEXT, None)
            self.files.pop(REWARD_JSON, None)
        return Done(exit_code=self.tries.pop(0) if self.tries else 0, tail="output\n")
