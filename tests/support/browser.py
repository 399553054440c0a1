"""Chromium, driven by Playwright in a Node process: what people see, do and press; axe-core; what is requested."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from npm_packages import node_modules

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAYWRIGHT, AXE = "1.65.1", "4.14.1"
DRIVER = Path(__file__).with_suffix(".mjs")


def browser_modules() -> Path:
    """Playwright without a browser of its own, and axe-core."""
    packages = (f"playwright-core@{PLAYWRIGHT}", f"axe-core@{AXE}")
    return node_modules(f"browser-{PLAYWRIGHT}-{AXE}", *packages)


@dataclass
class Browser:
    """One page at a time. Each method waits; AssertionError for what the page does not have."""

    stdin: IO[str]
    stdout: IO[str]

    def call(self, method: str, *args: Any) -> Any:
        self.stdin.write(json.dumps([method, *args]) + "\n")
        self.stdin.flush()
        answer = json.loads(self.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def open(self, file: Path, fragment: str = "", **options: Any) -> float:
        """Open a file in a new context; the milliseconds until it is loaded."""
        return float(self.call("open", f"{file.as_uri()}{fragment}", options))

    def visit(self, site: str, page: str, **options: Any) -> float:
        """Open a page of a site that a server on this machine has; ``site``: its address, which pages may request."""
        return float(self.call("open", f"{site}{page}", {"served": site, **options}))

    def go(self, fragment: str) -> None:
        self.call("go", fragment)

    def evaluate(self, script: str) -> Any:
        return self.call("evaluate", script)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that are visible."""
        found: list[str] = self.call("texts", selector)
        return found

    def text(self, selector: str = "main") -> str:
        return "\n".join(self.texts(selector))

    def click(self, selector: str) -> None:
        self.call("click", selector)

    def wait(self, selector: str, state: str = "visible") -> None:
        """Wait until an element is ``visible``, or ``attached`` to the page."""
        self.call("wait", selector, state)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.call("press", key)

    def axe(self) -> list[str]:
        """What axe-core finds wrong."""
        found: list[str] = self.call("axe")
        return found

    def seen(self) -> dict[str, list[str]]:
        """What the page requested, its errors, and the dialogs that it opened."""
        found: dict[str, list[str]] = self.call("seen")
        return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser until the context ends."""
    program = shutil.which(os.environ.get("SKILLGYM_CHROMIUM") or "chromium")
    assert program, "no Chromium: run the tests with make test-browser"
    argv = ("node", os.fspath(DRIVER), os.fspath(browser_modules()), program)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        yield Browser(process.stdin, process.stdout)
        process.stdin.close()
