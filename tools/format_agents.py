"""Each suite format on each real agent: the table in formats.md.

``python tools/format_agents.py 'FORMAT/FORMAT:AGENT/AGENT'`` runs the real CLIs (all, if none is named) against
a scripted model and writes what came of it to tests/data/format-agents.json; ``docs_tables.py`` writes the table then.
A new format is an entry in ``SUITES``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import modules_of_tests
from agent_clis import agent_cli, search_path
from agent_desk import MODELS, wiring
from model_script import Say, Shell, Skill
from model_server import ModelServer
from paths import REPOSITORY
from scratch import repository, skillgym
from skillgym_action.agents import AGENTS
from skillgym_action.model.verdicts import TROUBLES

if TYPE_CHECKING:
    from collections.abc import Iterator

CELLS = REPOSITORY / "tests" / "data" / "format-agents.json"
NAME, DESCRIPTION = "polite-greeter", "Greets people politely. Use when somebody is to be greeted."
SKILL = f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n\n# Steps\n\nSay good day.\n"
PROMPT = "Greet Ada, please."
SCRIPT = (Skill(NAME), Shell("echo made > out.txt"), Say("skillgym ready"))
NOT_THE_AGENTS_OWN = {kind for kind, trouble in TROUBLES.items() if trouble.status != "failed"}


@dataclass(frozen=True)
class FormatSuite:
    """A suite with a case that the script passes and one that it fails. ``files``: with the skill, by their paths."""

    files: dict[str, str]
    options: tuple[str, ...] = field(default=())


def _xbench() -> dict[str, str]:
    cases = [
        {"id": name, "prompt": PROMPT, "expect": [f"file:{file} exists"]}
        for name, file in (("right", "out.txt"), ("wrong", "nothing.txt"))
    ]
    return {"bench/core.json": json.dumps({"cases": cases}), f".claude/skills/{NAME}/SKILL.md": SKILL}


def _python() -> dict[str, str]:
    head = "from skillgym_action import Suite, expect\n\nsuite = Suite('s')\n"
    case = "\n\n@suite.case({id!r}, prompt={prompt!r})\ndef {id}(report, ctx):\n    "
    case += "expect.commands.includes(report, {word!r})\n"
    cases = (case.format(id=name, prompt=PROMPT, word=word) for name, word in (("right", "made"), ("wrong", "never")))
    return {"bench/greet_suite.py": head + "".join(cases), f".claude/skills/{NAME}/SKILL.md": SKILL}


def _typescript() -> dict[str, str]:
    head = 'import { assert } from "skillgym";\nexport default [\n'
    case = '  {{ id: "{id}", prompt: "{prompt}", assert: (report) => assert.output.includes(report, "{word}") }},\n'
    cases = (case.format(id=name, prompt=PROMPT, word=word) for name, word in (("right", "ready"), ("wrong", "never")))
    return {"suites/greet-suite.ts": head + "".join(cases) + "];\n", f".claude/skills/{NAME}/SKILL.md": SKILL}


def _agentv() -> dict[str, str]:
    tests = [
        {"id": name, "input": PROMPT, "assertions": [{"type": "contains", "value": word}]}
        for name, word in (("right", "ready"), ("wrong", "never"))
    ]
    suite = json.dumps({"workspace": {"template": "template"}, "tests": tests})
    return {"bench/EVAL.yaml": suite, f"bench/template/.claude/skills/{NAME}/SKILL.md": SKILL}


def _evals() -> dict[str, str]:
    evals = [
        {"id": name, "prompt": PROMPT, "assertions": [{"type": "file_exists", "path": file}]}
        for name, file in (("right", "out.txt"), ("wrong", "nothing.txt"))
    ]
    suite = json.dumps({"skill_name": NAME, "evals": evals})
    return {"skills/greeter/SKILL.md": SKILL, "skills/greeter/evals/evals.json": suite}


def _triggers() -> dict[str, str]:
    queries = [
        {"id": "right", "query": PROMPT, "should_trigger": True},
        {"id": "wrong", "query": PROMPT, "should_trigger": False},
    ]
    return {"skills/greeter/SKILL.md": SKILL, "skills/greeter/evals/trigger-evals.json": json.dumps(queries)}


def _plugin_evals() -> dict[str, str]:
    cases = {}
    for name, word in (("right", "ready"), ("wrong", "never")):
        cases[f"evals/{name}/prompt.md"] = f"---\nruns: 1\n---\n{PROMPT}\n"
        cases[f"evals/{name}/graders/answer.md"] = f"---\ntype: regex\n---\n{word}\n"
    return {".claude-plugin/plugin.json": '{"name": "greeting"}', f"skills/{NAME}/SKILL.md": SKILL, **cases}


SUITES = {
    "`x-bench`": FormatSuite(_xbench()),
    "`python`": FormatSuite(_python()),
    "`typescript`": FormatSuite(_typescript()),
    "`agentv`": FormatSuite(_agentv()),
    "`skill-evals`, `evals.json`": FormatSuite(_evals()),
    "`skill-evals`, trigger queries": FormatSuite(_triggers()),
    "`plugin-evals`": FormatSuite(_plugin_evals()),
}
MEASURED = tuple(sorted(MODELS))
QUALITIES = {
    "loads": "`check` accepts the suite",
    "runs": "its sessions end without an infrastructure failure",
    "judges": "the case that the agent solves is passed, the other one failed",
    "skill found": "name and description of the skill are in what the CLI sends to the model",
}


def measured(suite: str, agent: str, folder: Path, models: ModelServer) -> dict[str, bool]:
    """What comes of a suite on a real agent: each of ``QUALITIES``."""
    chosen = SUITES[suite]
    none = {"bench/core.json": None, "skillgym.config.yaml": None}
    root = repository(folder, none | chosen.files, git=True)  # type: ignore[arg-type]
    runner = agent + (f":{MODELS[agent]}" if MODELS[agent] else "")
    env = wiring(agent, models.script(*SCRIPT)) | {"PATH": search_path(agent_cli(agent).parent)}
    before = len(models.requests)
    options = ("--runner", runner, *chosen.options)
    checked = skillgym("check", *options, cwd=root, limit=120, **env)
    skillgym("run", *options, "--arms", "with", "--output", "out", "--timeout", "110", cwd=root, limit=550, **env)
    asked = [text for request in models.requests[before:] if PROMPT in (text := json.dumps(request.body))]
    stored = json.loads((root / "out" / "results.json").read_text())
    results = [result for one in stored["suites"] for result in one["results"]]
    classes = {result.get("failureClass", {}).get("id") for result in results}
    return {
        "loads": checked.code == 0 and len(results) == 2,
        "runs": bool(asked) and not classes & NOT_THE_AGENTS_OWN,
        "judges": [_outcome(result) for result in results] == [("right", "passed"), ("wrong", "failed")],
        "skill found": bool(asked) and all(NAME in text and DESCRIPTION in text for text in asked),
    }


def _outcome(result: dict[str, Any]) -> tuple[str, str]:
    return result["caseId"], result["status"]


# --- the table --------------------------------------------------------------------------------------


def cells() -> dict[str, dict[str, dict[str, bool]]]:
    """Format -> agent -> qualities, as measured last."""
    found: dict[str, dict[str, dict[str, bool]]] = json.loads(CELLS.read_text(encoding="utf-8"))
    return found


def of_formats() -> Iterator[tuple[str, ...]]:
    """A row for each format, a column for each agent that runs in a workspace."""
    agents = [name for name, info in AGENTS.items() if info.streams]
    known = cells()
    yield "Format", *(f"`{agent}`" for agent in agents)
    for suite in SUITES:
        yield suite, *(_cell(known.get(suite, {}).get(agent)) for agent in agents)


def _cell(found: dict[str, bool] | None) -> str:
    if found is None:
        return "not measured"
    missing = [quality for quality in QUALITIES if not found[quality]]
    return f"all but: {', '.join(missing)}" if missing else "all four"


def of_skill_folders() -> Iterator[tuple[str, str]]:
    """Where skills under test are installed for each agent."""
    yield "Agent", "Folder in the workspace"
    for agent, info in AGENTS.items():
        if info.skills:
            path = f"; `{info.skills_variable}` contains the absolute path of the first folder"
            variable = path if info.skills_variable else ""
            yield f"`{agent}`", " and ".join(f"`{folder}/NAME`" for folder in info.skills) + variable


def write(suites: list[str], agents: list[str]) -> None:
    """Measure cells and keep them with those that are known."""
    known = cells() if CELLS.exists() else {}
    with ModelServer() as models:
        for suite in suites:
            for agent in agents:
                with TemporaryDirectory() as place:
                    found = measured(suite, agent, Path(place).resolve() / "r", models)
                print(f"{suite}: {agent}: {found}", flush=True)
                known.setdefault(suite, {})[agent] = found
                ordered = {name: dict(sorted(known[name].items())) for name in SUITES if name in known}
                CELLS.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    wanted, _, on = sys.argv[1].partition(":") if len(sys.argv) > 1 else ("", "", "")
    write(wanted.split("/") if wanted else list(SUITES), on.split("/") if on else list(MEASURED))
