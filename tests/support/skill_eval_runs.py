"""Whole runs of evals of skills: a skill with an ``evals.json``, an agent that is a line of shell, a scripted judge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from judged_runs import KEY, MODEL
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Call
from scratch import config, repository, runner, skillgym
from scripted_http import Reply, ScriptedServer

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

SKILL = "---\nname: pdf\ndescription: Works on PDF files.\n---\nCount the pages.\n"
SUITE = "skills/pdf/evals/evals.json"
ANSWER = {"type": "session", "finalOutput": "There are 3 pages. Done."}
AGENT = f"echo made > out.txt; printf '%s\\n' '{json.dumps(ANSWER)}'"
VERDICTS: dict[str, Any] = {
    "yes": {"passed": True, "evidence": "the message says: There are 3 pages"},
    "no": {"passed": False, "evidence": "nothing of the kind is there"},
    "bare": {"passed": True, "evidence": ""},
    "null": {"passed": None, "evidence": "the file was cut"},
}


def says(words: str, first: int = 1) -> Reply:
    """The judge's reply: a word for each question from ``first`` on, such as ``yes no bare left-out``."""
    answers = [
        {"id": f"q{number}", **VERDICTS[word]}
        for number, word in enumerate(words.split(), start=first)
        if word != "left-out"
    ]
    ask = Ask(position=0, tools={}, model=MODEL, stream=False)
    return Reply(body=Anthropic().whole(ask, [Call("answer", {"answers": answers})]))


def evals(*cases: dict[str, Any], **top: Any) -> str:
    """An ``evals.json`` of cases; each gets a prompt."""
    return json.dumps({"skill_name": "pdf", "evals": [{"prompt": "Count the pages"} | case for case in cases], **top})


def skill_repository(
    folder: Path, suite: str, *, judge: bool = True, agent: str = AGENT, **files: str | bytes | None
) -> Path:
    """A repository with the skill, its evals and an agent. ``files``: others, by their paths."""
    settings = {"judge": {"api": "anthropic", "model": MODEL}} if judge else {}
    own = {
        "bench/core.json": None,
        "skills/pdf/SKILL.md": SKILL,
        SUITE: suite,
        "skillgym.config.yaml": config(runner(agent, output="events"), run=settings),
    }
    return repository(folder, own | files, git=True)  # type: ignore[arg-type]


def run_evals(folder: Path, server: ScriptedServer, *args: str) -> Ran:
    """``run`` with the skill into ``out``, without a traceback."""
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
    ran = skillgym(*(args or ("run", "--output", "out", "--arms", "with")), cwd=folder, **env)
    assert "Traceback" not in ran.err
    return ran


def asked(server: ScriptedServer) -> list[str]:
    """What the judge was asked: the user's part of each request."""
    return [request.body["messages"][0]["content"] for request in server.requests]
