"""Draws the pictures of the documentation: ``make pictures``.

A run (``picture_run.py``) is shown as its readers see it: in a terminal (xterm.js), as a job's summary and as a comment
(Markdown as GitHub shows it), and as the HTML report; all of them by Chromium, light and dark. So is a run of a skill's
evals (``skill_picture_run.py``), all but the terminal; and the trend page of a store of three months, which
no agent made (``trend_stores.py``). ``make pictures ONLY=skill`` draws those of one run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import modules_of_tests
from browser import Browser, chromium
from npm_packages import node_modules
from paths import REPOSITORY, SUPPORT
from picture_run import COLUMNS, ROWS, picture_run
from skill_picture_run import reported, skill_run
from trend_stores import project_runs, stored

if TYPE_CHECKING:
    from collections.abc import Callable

    from picture_run import PictureRun

FOLDER = REPOSITORY / "docs/images"
NAMES = ("terminal", "summary", "comment", "report", "session")
SKILL_NAMES = ("skill-comment", "skill-summary", "skill-report")
TREND_NAMES = ("trend",)
SCHEMES = ("light", "dark")
SESSION = {"suite": "bench/changelog.json", "case": "names-the-area", "runner": "haiku"}  # that is shown
XTERM, UPNG = "6.0.0", "2.1.0"
COLORS = 128
MARKDOWN = (
    "unified@11.0.5",
    "remark-parse@11.0.0",
    "remark-gfm@4.0.1",
    "remark-gemoji@8.0.0",
    "remark-rehype@11.1.2",
    "rehype-raw@7.0.0",
    "rehype-sanitize@6.0.0",
    "rehype-stringify@10.0.1",
    "github-markdown-css@5.9.0",
)
THEMES: dict[str, dict[str, str]] = {
    "light": {
        "background": "#ffffff",
        "foreground": "#1f2328",
        "red": "#cf222e",
        "green": "#116329",
        "yellow": "#7d4e00",
        "blue": "#0969da",
        "magenta": "#8250df",
        "cyan": "#1b7c83",
        "brightBlack": "#57606a",
    },
    "dark": {
        "background": "#0d1117",
        "foreground": "#e6edf3",
        "red": "#ff7b72",
        "green": "#3fb950",
        "yellow": "#d29922",
        "blue": "#58a6ff",
        "magenta": "#bc8cff",
        "cyan": "#39c5cf",
        "brightBlack": "#8b949e",
    },
}
TERMINAL = """<!doctype html><meta charset="utf-8"><style>{style}
body {{ margin: 0; padding: 16px; background: {background}; }} .xterm-viewport {{ overflow: hidden !important; }}
</style><div id="terminal"></div><script>{script}</script><script>
const terminal = new Terminal({{
  cols: {columns}, rows: {rows}, theme: {theme}, convertEol: true, fontSize: 13, cursorInactiveStyle: "none",
  fontFamily: "DejaVu Sans Mono, monospace", scrollback: 0,
}});
terminal.open(document.getElementById("terminal"));
terminal.write({text}, () => {{
  const screen = terminal.buffer.active;
  const lines = Array.from({{ length: {rows} }}, (_, row) => screen.getLine(row).translateToString(true));
  terminal.resize({columns}, lines.findLastIndex(line => line) + 2);
}});
</script>"""


OPEN = "document.querySelectorAll('details').forEach((one, at) => { one.open = at < %d; })"
# Folded: a command is as long as the text that it writes.
COMMANDS = (
    "document.querySelectorAll('details').forEach("
    "one => { one.open &&= !/ commands$/m.test(one.firstElementChild.innerText); })"
)
FAILURES = (
    "[...document.querySelectorAll('h3')].find(one => one.innerText.includes('failures')).scrollIntoView();"
    "scrollBy(0, -24);"
)


@dataclass(frozen=True)
class Picture:
    """``height``: where it is cut, in CSS pixels, or where the page ends. ``prepare``: a script that is run before."""

    page: Path
    width: int
    height: int
    fragment: str = ""
    prepare: str = ""


def pictures(ran: PictureRun, folder: Path, scheme: str) -> dict[str, Picture]:
    """All of a run by name; pages are made in ``folder``."""
    report = ran.directory / "report.html"
    return {
        "terminal": Picture(_terminal(ran.terminal, folder / f"terminal-{scheme}.html", scheme), 880, 900),
        "summary": Picture(
            _markdown(ran.summary, folder / f"summary-{scheme}", scheme), 900, 935, prepare=f"{OPEN % 4};{FAILURES}"
        ),
        "comment": Picture(_markdown(ran.comment, folder / f"comment-{scheme}", scheme), 900, 880, prepare=OPEN % 1),
        "report": Picture(report, 1000, 1080, prepare="document.getElementById('cases').scrollIntoView()"),
        "session": Picture(report, 1000, 1375, f"#{urlencode(SESSION)}"),
    }


def skill_pictures(comment: str, summary: str, report: Path, folder: Path, scheme: str) -> dict[str, Picture]:
    """Of a run of a skill's evals; pages are made in ``folder``."""
    return {
        "skill-comment": Picture(_markdown(comment, folder / f"skill-comment-{scheme}", scheme), 900, 1235),
        "skill-summary": Picture(
            _markdown(summary, folder / f"skill-summary-{scheme}", scheme),
            900,
            728,
            prepare=f"{OPEN % 7};{COMMANDS};{FAILURES}",
        ),
        "skill-report": Picture(report, 1000, 975, prepare="document.getElementById('arms').scrollIntoView()"),
    }


def draw(of_scheme: Callable[[Path, str], dict[str, Picture]], target: Path) -> None:
    """Write all pictures, as NAME-SCHEME.png. ``of_scheme``: makes them in a folder, light or dark."""
    target.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, chromium() as browser:
        for scheme in SCHEMES:
            for name, picture in of_scheme(Path(folder), scheme).items():
                _shot(browser, picture, scheme, target / f"{name}-{scheme}.png")


def _shot(browser: Browser, picture: Picture, scheme: str, target: Path) -> None:
    size = {"width": picture.width, "height": picture.height}
    browser.open(picture.page, picture.fragment, viewport=size, colorScheme=scheme, deviceScaleFactor=2)
    browser.evaluate("new Promise(done => setTimeout(done, 500))")
    if picture.prepare:
        browser.evaluate(picture.prepare)
    height = browser.evaluate("Math.ceil(document.documentElement.getBoundingClientRect().height)")
    clip = {"x": 0, "y": 0, **size, "height": min(height, picture.height)}
    browser.call("shot", str(target), {"clip": clip, "fullPage": False})
    modules = node_modules(f"upng-{UPNG}", f"upng-js@{UPNG}")
    subprocess.run(("node", SUPPORT / "palette.mjs", modules, target, str(COLORS)), check=True)


def _markdown(text: str, file: Path, scheme: str) -> Path:
    modules = node_modules("markdown-1", *MARKDOWN)
    file.with_suffix(".md").write_text(text)
    page = file.with_suffix(".html")
    argv = ("node", SUPPORT / "markdown.mjs", modules, file.with_suffix(".md"), page, scheme)
    subprocess.run(argv, check=True)
    return page


def _terminal(text: str, page: Path, scheme: str) -> Path:
    package = node_modules(f"xterm-{XTERM}", f"@xterm/xterm@{XTERM}") / "@xterm/xterm"
    script, style = ((package / name).read_text() for name in ("lib/xterm.js", "css/xterm.css"))
    theme = THEMES[scheme]
    fields: dict[str, Any] = {"style": style, "script": script, "columns": COLUMNS, "rows": ROWS}
    quoted = {"theme": json.dumps(theme), "text": json.dumps(text).replace("</", "<\\/")}
    page.write_text(TERMINAL.format(background=theme["background"], **fields, **quoted))
    return page


def draw_tutorial(folder: Path) -> None:
    """The run on the examples and the tutorial's suite, and its pictures."""
    ran = picture_run(folder)
    draw(lambda place, scheme: pictures(ran, place, scheme), FOLDER)


def draw_skill(folder: Path) -> None:
    """The run of a skill's evals, and its pictures."""
    ran = skill_run(folder)
    summary, comment = reported(ran)
    report = ran.directory / "report.html"
    draw(lambda place, scheme: skill_pictures(comment, summary, report, place, scheme), FOLDER)


def draw_trend(folder: Path) -> None:
    """The trend page of a store, and its picture."""
    stored(folder / "results", *project_runs())
    page = folder / "trend.html"
    command = (sys.executable, "-m", "skillgym_action", "trend", "--store", "path=results", "--output", page)
    subprocess.run(command, cwd=folder, check=True)
    draw(lambda _place, _scheme: {"trend": Picture(page, 1200, 1168)}, FOLDER)


RUNS = {"tutorial": draw_tutorial, "skill": draw_skill, "trend": draw_trend}


def main(*names: str) -> int:
    """0 when all were drawn. ``names``: of runs; all, if none is named."""
    for name in names or RUNS:
        with TemporaryDirectory() as folder:
            RUNS[name](Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
