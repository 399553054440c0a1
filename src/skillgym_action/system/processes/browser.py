"""The user's browser. It is not started by the supervisor, since it stays open when the tool has ended."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

BROWSER_FAILS_WITHIN_SECONDS = 1.0  # one that still runs then is open


_started: list[subprocess.Popen[bytes]] = []  # else Python warns that nobody waits for them


def open_in_browser(path: Path, environment: Mapping[str, str]) -> bool:
    """Open a file; whether a program for that was started and has not failed at once.

    ``BROWSER`` names one, or several separated by colons. Without it the desktop decides; nothing is started on a
    machine without a display.
    """
    for command in _commands(environment):
        program = shutil.which(command[0], path=environment.get("PATH"))
        if program is None:
            continue
        arguments = [part.replace("%s", os.fspath(path)) for part in command[1:]]
        arguments += [] if any("%s" in part for part in command) else [os.fspath(path)]
        try:
            browser = subprocess.Popen(
                (program, *arguments),
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            continue
        _started.append(browser)
        if not _has_failed(browser):
            return True
    return False


def _has_failed(browser: subprocess.Popen[bytes]) -> bool:
    """Whether it ended with an error at once, as ``xdg-open`` does where there is no browser."""
    try:
        return browser.wait(BROWSER_FAILS_WITHIN_SECONDS) != 0
    except subprocess.TimeoutExpired:
        return False


def _commands(environment: Mapping[str, str]) -> list[list[str]]:
    if named := environment.get("BROWSER"):
        try:
            return [command for part in named.split(os.pathsep) if (command := shlex.split(part))]
        except ValueError:
            return []
    if sys.platform == "darwin":
        return [["open"]]
    has_display = environment.get("DISPLAY") or environment.get("WAYLAND_DISPLAY")
    return [["xdg-open"], ["wslview"]] if has_display else []
