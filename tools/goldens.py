"""What each reporter makes of the same run: a golden file in ``tests/goldens``, in a form that people can review.

Summary, comment and the printed log have golden files of their own, of more runs.

``python tools/goldens.py`` writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import modules_of_tests
from paths import GOLDENS
from showcase import showcase
from skillgym_action.model.session_artifacts import NOT_STORED, SessionArtifacts, StoredText
from skillgym_action.reporters import html, otlp, reporter_named, terminal

if TYPE_CHECKING:
    from collections.abc import Callable

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


if __name__ == "__main__":
    for name, made in FILES.items():
        (GOLDENS / f"reports-{name}").write_text(made(), encoding="utf-8")
