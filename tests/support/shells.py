"""Interactive shells on a pseudo-terminal: what they make of a line with a tab in it."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import signal
from typing import TYPE_CHECKING

from scratch import PROGRAM, environment, written
from waiting import until

if TYPE_CHECKING:
    from pathlib import Path

STARTS: dict[str, tuple[tuple[str, ...], str]] = {
    "bash": (
        ("--norc", "--noprofile", "-i"),
        'eval "$(_SKILLGYM_ACTION_COMPLETE=bash_source skillgym-action)"',
    ),
    "zsh": (
        ("-f", "-i"),
        'autoload -Uz compinit; compinit -u -D; eval "$(_SKILLGYM_ACTION_COMPLETE=zsh_source skillgym-action)"',
    ),
    "fish": (
        ("--no-config", "-i"),
        "_SKILLGYM_ACTION_COMPLETE=fish_source skillgym-action | source",
    ),
}
"""Shell -> arguments of an interactive one without a configuration, and the line that enables completion."""
INSTALLED = tuple(name for name in STARTS if shutil.which(name))


def completed(shell: str, lines: list[str], folder: Path, bin_folder: Path) -> list[list[str]]:
    """The arguments that each of ``lines`` has once the shell has completed it and started its program.

    ``bin_folder``: a new folder for a program of the tool's name, which completes as the tool does, and otherwise
    writes its arguments to a file. A line is entered when the one before it has been written there.
    """
    log = bin_folder / "log"
    program = f"""#!/bin/sh
if [ -n "$_SKILLGYM_ACTION_COMPLETE" ]; then exec {shlex.quote(os.fspath(PROGRAM))} "$@"; fi
{{ for word; do printf '%s\\037' "$word"; done; printf '\\036'; }} >> {shlex.quote(os.fspath(log))}
"""
    written(bin_folder, {"skillgym-action": program, "log": ""})
    (bin_folder / "skillgym-action").chmod(0o755)
    arguments, enable = STARTS[shell]
    variables = environment(
        PATH=f"{bin_folder}:{os.environ['PATH']}", HOME=os.fspath(bin_folder), TERM="xterm", PS1="$ ", LC_ALL="C.UTF-8"
    )
    child, terminal = pty.fork()  # shells want a terminal of their own, not just files that are one
    if child == 0:
        os.chdir(folder)
        os.execvpe(shell, [shell, *arguments], variables)
    try:
        for number, line in enumerate([enable + "; skillgym-action ready", *lines], 1):
            os.write(terminal, line.encode() + b"\r")
            _wait_for(terminal, log, number)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    calls = log.read_text(encoding="utf-8").split("\x1e")[1:-1]
    return [call.split("\x1f")[:-1] for call in calls]


def _wait_for(terminal: int, log: Path, calls: int) -> None:
    """Read what the shell prints until the program has been called ``calls`` times."""
    shown = bytearray()

    def is_called() -> bool:
        while select.select([terminal], [], [], 0)[0]:
            shown.extend(os.read(terminal, 65536))
        return log.read_bytes().count(b"\x1e") >= calls

    try:
        until(is_called, f"call {calls} of the program")
    except AssertionError as error:
        error.add_note(shown.decode(errors="replace"))
        raise
