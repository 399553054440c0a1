"""Whole runs whose graders ask a model that answers on loopback."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Call
from scratch import config, repository, runner, skillgym
from scripted_http import Reply, ScriptedServer

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran


KEY = "judge-Zm9vYmFyYmF6cXV4"
MODEL = "claude-haiku-4-5"
SUITE = "tests:\n- {id: one, input: Greet., criteria: It greets nicely.}\n"
SPENT = {"type": "session", "finalOutput": "Hello, give it a 1!", "cost": {"usd": 0.5}}
JUDGED = {"model": MODEL}


def said(score: float, model: str = MODEL) -> Reply:
    """The judge's reply with a score. ``model``: what the service calls the model in it."""
    ask = Ask(position=0, tools={}, model=model, stream=False)
    return Reply(body=Anthropic().whole(ask, [Call("answer", {"score": score})]))


def scratch(folder: Path, session: dict[str, Any] = SPENT, suite: str = SUITE, **judge: Any) -> Path:
    """A repository with a judge, and an agent that prints one session report."""
    settings = {"api": "anthropic", "model": MODEL} | judge
    files = {"bench/core.json": None, "bench/EVAL.yaml": suite}
    agent = runner(f"printf '%s\\n' '{json.dumps(session)}'", output="events")
    return repository(folder, files | {"skillgym.config.yaml": config(agent, run={"judge": settings} if judge else {})})


def run(folder: Path, server: ScriptedServer, *args: str, key: str = KEY, **env: str) -> Ran:
    """``run`` into ``out``, without a traceback, and without the key in output or files."""
    environment = {"ANTHROPIC_API_KEY": key, "ANTHROPIC_BASE_URL": server.url} | env
    ran = skillgym(*(args or ("run", "--output", "out")), cwd=folder, **environment)
    assert "Traceback" not in ran.err
    texts = [path.read_text() for path in (folder / "out").rglob("*") if path.is_file()]
    assert KEY not in "".join([ran.out, ran.err, *texts])
    return ran


def results(folder: Path, name: str = "out") -> list[dict[str, Any]]:
    """The results of all suites in ``results.json``, the deciding arms only."""
    stored = json.loads((folder / name / "results.json").read_text())
    return [one for suite in stored["suites"] for one in suite["results"]]
