"""What each reporter makes of the same run: a golden file in ``tests/goldens``, in a form that people can review.

Summary, comment and the printed log have golden files of their own, of more runs.

``python tools/goldens.py`` writes them anew; read the difference before you commit it. ``python tools/goldens.py
digests`` writes the stored digests, and only that: see ``tests/unit/history/test_stored_digests.py``. So does
``python tools/goldens.py plug-ins`` with the interface of plug-ins, see ``tests/unit/test_plugins.py``.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import modules_of_tests
from paths import GOLDENS
from showcase import showcase
from skillgym_action import plugins
from skillgym_action.model.session import NOT_STORED, SessionArtifacts, StoredText
from skillgym_action.reports import reporter_named
from skillgym_action.reports.files import otlp
from skillgym_action.reports.html import report as html
from skillgym_action.reports.terminal import terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AT = "2025-01-02T03:04:{:02}Z"
SESSION_REPORT: dict[str, Any] = {
    "cwd": "/workspace",
    "prompt": "Do extract-auth",
    "startedAt": AT.format(5),
    "endedAt": AT.format(20),
    "model": "claude-sonnet-4-6",
    "version": "1.2.3",
    "durationMs": 15_000,
    "usage": {"inputTokens": 2400, "outputTokens": 80, "cacheTokens": 300},
    "events": [
        {"type": "message", "role": "user", "text": "Do extract-auth"},
        {
            "type": "message",
            "role": "assistant",
            "phase": "commentary",
            "text": "I look at <it> first.",
            "at": AT.format(6),
            "usage": {"inputTokens": 1200, "outputTokens": 40, "cacheTokens": 300},
        },
        {"type": "toolCall", "tool": "Bash", "args": {"command": "make test"}, "at": AT.format(7)},
        {"type": "command", "command": "make test", "exitCode": 2, "at": AT.format(7)},
        {"type": "toolResult", "tool": "Bash", "output": "make: *** [test] Error 1", "at": AT.format(12)},
        {"type": "message", "role": "assistant", "phase": "final", "text": "It fails.", "at": AT.format(13)},
    ],
    "finalOutput": "It fails.",
}
ARTIFACTS = SessionArtifacts(
    report=SESSION_REPORT,
    workspace={"created": [], "modified": ["a.py"], "deleted": [], "complete": True},
    diff=StoredText(name="changes.diff", head="diff --git a/a.py b/a.py\n@@ -1 +1 @@\n-old\n+new\n"),
    questions=(
        {
            "judge": {"model": "judge-1", "api": "anthropic"},
            "instructions": "Judge the answer.",
            "prompt": ["Is it right?"],
            "votes": [{"answer": {"score": 0.2, "reasoning": "no"}, "version": "judge-1-20250101"}],
            "costUsd": 0.01,
        },
    ),
    logs=(StoredText(name="stdout.log", head="what the agent printed\n"),),
)


@dataclass(frozen=True)
class OneSession:
    """Artifacts of the first session of one case; fulfils ``ArtifactSource``."""

    directory: str

    def session(self, directory: str, _most: int) -> SessionArtifacts:
        return ARTIFACTS if directory == self.directory else NOT_STORED

    def baseline_session(self, _directory: str, _most: int) -> SessionArtifacts:
        return NOT_STORED


def rendered(name: str) -> str:
    """What the reporter writes."""
    return "".join(reporter_named(name)(showcase()))


def stored() -> OneSession:
    return OneSession(showcase().results[0].attempts[0].directory)


def page() -> str:
    return plain_page("".join(html.render(showcase(), artifacts=stored())))


def plain_page(text: str) -> str:
    """The HTML report without script, style and their hashes; data of executions as lines of JSON."""
    text = re.sub(r"<(style|script)>.*?</\1>", r"<\1>…</\1>", text, flags=re.DOTALL)
    text = re.sub(r"'sha256-[^']+'", "'sha256-…'", text)
    data = re.compile(r'(<script type="application/json"[^>]*>)(.*?)(</script>)')
    return data.sub(lambda found: found[1] + json.dumps(json.loads(found[2]), indent=1) + found[3], text)


def spans() -> str:
    return plain_spans("".join(otlp.render(showcase(), artifacts=stored(), content=True)))


def plain_spans(text: str) -> str:
    """One line each, attributes as an object; the resource first."""
    (found,) = json.loads(text)["resourceSpans"]
    (scope,) = found["scopeSpans"]
    lines = [found["resource"], {"scope": scope["scope"]}, *scope["spans"]]
    plain = [
        line | {"attributes": {one["key"]: one["value"] for one in line["attributes"]}}
        if "attributes" in line
        else line
        for line in lines
    ]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in plain)


def lines_of_xml(text: str) -> str:
    return text.replace("><", ">\n<")


def document(text: str) -> str:
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False) + "\n"


FILES: dict[str, Callable[[], str]] = {
    "agentv.jsonl": lambda: rendered("agentv"),
    "annotations.txt": lambda: rendered("annotations"),
    "ctrf.json": lambda: document(rendered("ctrf")),
    "html.html": page,
    "junit.xml": lambda: lines_of_xml(rendered("junit")),
    "otlp.jsonl": spans,
    "results.json": lambda: document(rendered("results")),
    "terminal.txt": lambda: "".join(terminal.render(showcase())),
    "x-bench.json": lambda: document(rendered("x-bench")),
}


def write_digests() -> None:
    from every_format import stored_digests

    with TemporaryDirectory() as folder:
        found = json.dumps(stored_digests(Path(folder)), indent=1)
    (GOLDENS / "digests.json").write_text(f"{found}\n", encoding="utf-8")


def write_reports() -> None:
    for name, made in FILES.items():
        (GOLDENS / f"reports-{name}").write_text(made(), encoding="utf-8")


def interface_of_plug_ins() -> str:
    """A line for each name, field and function of the interface, with types and defaults."""
    lines = (line for name in plugins.__all__ for line in _described(name, getattr(plugins, name)))
    return "".join(re.sub(" at 0x[0-9a-f]+", "", f"{line}\n") for line in lines)


def _described(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value):
        yield f"{name}{inspect.signature(value)}"
    elif not inspect.isclass(value):
        yield f"{name} = {value!r}".replace("skillgym_action.model.session_report.", "")
    elif issubclass(value, Enum):
        yield f"{name}: {', '.join(value)}"
    else:
        yield f"{name}({', '.join(base.__name__ for base in value.__bases__ if base is not object)})"
        for field in fields(value) if is_dataclass(value) else ():
            default = "" if field.default is MISSING else f" = {field.default!r}"
            yield f"  {field.name}: {field.type}{default or ' = …' * (field.default_factory is not MISSING)}"
        own = [base for base in reversed(value.__mro__) if base.__module__.startswith("skillgym_action.")]
        for method, found in sorted({name: found for base in own for name, found in vars(base).items()}.items()):
            function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
            if inspect.isfunction(function) and not method.startswith("_"):
                yield f"  {method}{inspect.signature(function)}"


def write_interface() -> None:
    (GOLDENS / "plug-ins.txt").write_text(interface_of_plug_ins(), encoding="utf-8")


WRITERS = {"digests": write_digests, "plug-ins": write_interface}


if __name__ == "__main__":
    WRITERS.get("".join(sys.argv[1:]), write_reports)()
