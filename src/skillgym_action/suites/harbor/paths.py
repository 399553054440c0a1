"""Files of Harbor tasks: which ones are tasks, where they are in containers, and the commands that run their scripts.

A task is a folder with ``task.toml`` beside ``instruction.md``; a suite is the folder with the tasks.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.suite import NotASuite
from skillgym_action.suites import vendored_folder

if TYPE_CHECKING:
    from collections.abc import Callable


TASK, INSTRUCTION, ENVIRONMENT, TESTS, SOLUTION = "task.toml", "instruction.md", "environment", "tests", "solution"
TEST_SCRIPT, SOLUTION_SCRIPT, DOCKERFILE = "tests/test.sh", "solution/solve.sh", "environment/Dockerfile"
MIGRATE = "turn it into a task of Harbor with `harbor task migrate`"

_BESIDE = (INSTRUCTION, TEST_SCRIPT, DOCKERFILE)
"""A task has at least one of these, also if it was forgotten to write the others."""

_SECTION = re.compile(r"^[ \t]*\[\[?[ \t]*(environment|verifier|agent|solution|steps)[ \t]*[\].]", re.MULTILINE)
_OLD_KEY = re.compile(r"^(parser_name|max_(?:agent|test)_timeout_sec|run_tests_in_same_shell)[ \t]*:", re.MULTILINE)
_MEANT = re.compile(r"(tasks?|taks|tsak|tas|tak)\.toml", re.IGNORECASE)


def named(path: str) -> bool:
    """Whether a file is called like the settings of a task. Only ``part_of`` knows whether it is one."""
    return PurePosixPath(path).name == TASK


def accepts(path: str, head: str) -> bool:  # noqa: ARG001 - a task may have no key at all
    """Whether a file may be the settings of a task."""
    return named(path)


def rejection(path: str, head: str) -> NotASuite | None:
    """A near miss: settings of a task under another name, and tasks of Terminal-Bench before Harbor."""
    if vendored_folder(path):
        return None
    name = PurePosixPath(path).name
    if name.lower().endswith(".toml") and not named(path):
        sections = set(_SECTION.findall(head))
        if len(sections) > 1 or (sections and _MEANT.fullmatch(name)):
            return NotASuite(
                reason=f"looks like the settings of a Harbor task, which must be named {TASK}",
                remedy=f"rename it to {TASK}",
                near_miss=True,
            )
    if name.lower() in {"task.yaml", "task.yml"} and len(set(_OLD_KEY.findall(head))) > 1:
        return NotASuite(reason="is a task of Terminal-Bench in its old form", remedy=MIGRATE, near_miss=True)
    return None


def part_of(path: str, read: Callable[[str], str | None]) -> str | None:
    """The folder with the tasks, for the ``task.toml`` of one of them; None: it is none.

    ``path`` is relative to the repository; ``read`` gives the beginning of a file there, None if there is none. A task
    in the top folder of the repository is a suite of its own. What is inside of a task is no other task.
    """
    folder = PurePosixPath(path).parent
    if not named(path) or not _is_task(folder, read):
        return None
    if any(_is_task(above, read) for above in folder.parents):
        return None
    return path if folder == folder.parent else str(folder.parent)


def _is_task(folder: PurePosixPath, read: Callable[[str], str | None]) -> bool:
    text = read(str(folder / TASK))
    if text is None:
        return False
    return any(read(str(folder / name)) is not None for name in _BESIDE) or len(set(_SECTION.findall(text))) > 1


# --- in containers -----------------------------------------------------------------------------------

TESTS_PATH, SOLUTION_PATH, LOGS_PATH = "/tests", "/solution", "/logs"
VERIFIER_LOGS = f"{LOGS_PATH}/verifier"
REWARD_TEXT, REWARD_JSON = f"{VERIFIER_LOGS}/reward.txt", f"{VERIFIER_LOGS}/reward.json"
TEST_PATH, SOLVE_PATH = f"{TESTS_PATH}/test.sh", f"{SOLUTION_PATH}/solve.sh"
ROOT = "root"


def as_shell(script: str, *words: str) -> tuple[str, ...]:
    """The command that runs a script of the shell, with words as ``$1``, ``$2`` and so on."""
    return ("sh", "-c", script, "sh", *words)


def program(path: str) -> tuple[str, ...]:
    """The command that runs a script of a task: as it says in its first line, else by bash, else by sh."""
    run = 'shell=$(command -v bash || command -v sh); exec "$shell" -c "$1"'
    return as_shell(run, path)


def solution() -> tuple[str, ...]:
    """The command that runs the reference solution in the home of its user. As in Harbor, the tests decide alone."""
    home = 'HOME=$(awk -F: -v id="$(id -u)" \'$3 == id {print $6}\' /etc/passwd); export HOME="${HOME:-/}"'
    run = 'shell=$(command -v bash || command -v sh); "$shell" -c "$1"; exit 0'
    return as_shell(f"{home}; {run}", SOLVE_PATH)
