"""Eval folders of a plugin in a scratch repository, and runs of them with an agent that is a line of shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from judged_runs import KEY, MODEL, results
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Call
from scratch import config, repository, runner, skillgym, world_in
from scripted_http import Reply, ScriptedServer
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.pipeline.stages.load import load
from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran
    from skillgym_action.model.suite import BenchmarkSuite

__all__ = ["MANIFEST", "loaded", "only_case", "plugin", "problems", "results", "run_plugin", "verdict"]

MANIFEST = ".claude-plugin/plugin.json"
REGEX = "---\ntype: regex\n---\nhello\n"
CASE = {"evals/one/prompt.md": "Say hello.\n", "evals/one/graders/hello.md": REGEX}
SKILL = "---\nname: greeting\ndescription: Greets.\n---\nSay hello.\n"


def plugin(folder: Path, files: dict[str, str | bytes | None] | None = None, *, git: bool = False) -> Path:
    """A repository that is a plugin with one skill and one case; ``files`` replace and add, None leaves out."""
    own = {"bench/core.json": None, MANIFEST: '{"name": "greeter"}', "skills/greeting/SKILL.md": SKILL, **CASE}
    return repository(folder, own | (files or {}), git=git)  # type: ignore[arg-type]


def loaded(root: Path, *paths: str, **options: Any) -> BenchmarkSuite:
    """The only suite, as it is loaded; ``paths`` are arguments of the command line."""
    with world_in(root) as services:
        found = discover(services.repository, root, DiscoverOptions(paths=paths)).suites
        (suite,) = load(found, services.hosts, LoadOptions(**options), services.suites.checkout)
    return suite


def only_case(root: Path) -> Any:
    """The only case of the suite, which has no problem."""
    suite = loaded(root)
    assert [str(one.problem) for one in suite.invalid] == []
    (case,) = suite.cases
    return case


def problems(root: Path) -> list[str]:
    """What is wrong with cases, as users read it."""
    return [str(one.problem) for one in loaded(root).invalid]


def run_plugin(
    root: Path, *args: str, answer: str = "hello", script: str = "", server: ScriptedServer | None = None
) -> Ran:
    """``run`` into ``out``, with an agent that runs ``script`` and then prints one answer."""
    printed = json.dumps({"type": "session", "finalOutput": answer})
    judge = {"judge": {"api": "anthropic", "model": MODEL}} if server else {}
    agent = runner(f"{script}\nprintf '%s\\n' '{printed}'", output="events")
    (root / "skillgym.config.yaml").write_text(config(agent, run=judge))
    env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url} if server else {}
    ran = skillgym("run", "--output", "out", *args, cwd=root, **env)
    assert "Traceback" not in ran.err
    return ran


def verdict(word: str, reason: str = "it says so") -> Reply:
    """The judge's reply: ``PASS`` or ``FAIL``, or anything else, which is no verdict."""
    ask = Ask(position=0, tools={}, model=MODEL, stream=False)
    return Reply(body=Anthropic().whole(ask, [Call("answer", {"verdict": word, "reason": reason})]))
