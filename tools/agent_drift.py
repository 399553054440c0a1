"""What the newest CLIs of agents do otherwise than the verified ones, which npm may have replaced yesterday.

``python tools/agent_drift.py [AGENT...]`` asks npm for the newest version of each agent's package, records its captures
and runs the tests of tests/agents with it. ``build/agent-drift/drift.json`` then has the facts, and the issue that
``drift_issue.py`` makes of them is printed. Ends with 1 if there is a difference.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from junitparser import Error, Failure, JUnitXml, TestCase

import modules_of_tests
from agent_clis import search_path
from agent_desk import MODELS
from captured import capture_in, report_of
from drift_issue import issue_of
from model_server import ModelServer
from paths import CAPTURES, REPOSITORY
from record_captures import FIRST_REQUEST, record, scenarios
from skillgym_action.agents import AGENTS
from skillgym_action.model.errors import InstallError
from skillgym_action.model.json_codec import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.session_report import SessionReport

FOLDER = REPOSITORY / "build" / "agent-drift"
SECONDS = 60  # for npm to answer
MESSAGE_CHARACTERS = 500
MOST_CHANGE = 0.02  # of the size of a request, which has paths and dates in it
# Of an event: what differs from session to session, or with the text of a model's service.
VOLATILE = {"at", "durationMs", "line", "output", "args", "usage"}


def published(agent: str) -> dict[str, str]:
    """What npm says of the newest version of an agent's package; ``problem``: why it does not."""
    package = str(AGENTS[agent].package)
    fields = ("version", "deprecated", "engines.node")
    command = ("npm", "view", f"{package}@latest", *fields, "--json")
    env = {**os.environ, "PATH": search_path()}
    said = {"package": package, "verified": str(AGENTS[agent].version)}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return said | {"problem": f"npm does not answer within {SECONDS} s"}
    if done.returncode:
        return said | {"problem": done.stderr.strip()[:MESSAGE_CHARACTERS]}
    answer = json.loads(done.stdout)
    if isinstance(answer, str):  # where npm has one of the fields
        answer = {fields[0]: answer}
    return said | {field: str(answer[field]) for field in fields if answer.get(field)}


# --- captures ---------------------------------------------------------------------------------------


def record_all(agent: str, folder: Path, models: ModelServer) -> None:
    """Record all scenarios of an agent into ``folder``."""
    for scenario in scenarios(agent):
        with TemporaryDirectory() as place:
            record(agent, scenario, models, Path(place).resolve(), folder / scenario)


def differences(agent: str, recorded: Path, verified: Path) -> list[str]:
    """Lines that say how recorded captures differ from those of the verified version, as a diff has them."""
    found = [*_of_requests(recorded / FIRST_REQUEST, verified / FIRST_REQUEST)]
    for scenario in sorted(path.parent.name for path in verified.glob("*/stdout.jsonl")):
        if not (recorded / scenario / "stdout.jsonl").exists():
            found.append(f"- {scenario}: nothing was recorded")
            continue
        before, after = (_essence(report_of(agent, capture_in(of / scenario))) for of in (verified, recorded))
        found += [f"{line[0]} {scenario}: {line[1:]}" for line in unified_diff(before, after, lineterm="", n=0)][2:]
    return [line for line in found if not line.startswith("@")]


def _of_requests(recorded: Path, verified: Path) -> Iterator[str]:
    before, after = (json.loads(file.read_text()) if file.exists() else {} for file in (verified, recorded))
    was, has_now = (int(request.get("characters", 0)) for request in (before, after))
    changed = {"model": before.get("model") != after.get("model"), "characters": abs(was - has_now) > was * MOST_CHANGE}
    for name in (name for name, is_other in changed.items() if is_other):
        yield f"- first request: {name} {before.get(name)}"
        yield f"+ first request: {name} {after.get(name)}"
    old, new = (set(request.get("tools", ())) for request in (before, after))
    yield from (f"- first request: tool {tool}" for tool in sorted(old - new))
    yield from (f"+ first request: tool {tool}" for tool in sorted(new - old))


def _essence(report: SessionReport) -> list[str]:
    """What a session is, as lines, without what differs in each session."""
    events = [_kind(event) for event in to_json(report)["events"]]
    usage = report.usage
    tokens = (usage.input_tokens, usage.cache_tokens, usage.output_tokens, usage.reasoning_tokens)
    return [
        *events,
        f"tokens {tokens}, turns {report.turns}, exit code {report.exit_code}",
        f"trouble {report.trouble.kind if report.trouble else None}",
        f"final output {report.final_output.splitlines()[-1:]}",
    ]


def _kind(event: dict[str, Any]) -> str:
    if event["type"] == "raw":
        try:
            line = json.loads(event["line"])
            names = (line.get("type"), line.get("subtype"), (line.get("item") or {}).get("type"))
        except (ValueError, AttributeError):
            names = ("not JSON",)
        return f"line that the adapter does not know: {', '.join(str(name) for name in names if name)}"
    return json.dumps({name: value for name, value in event.items() if name not in VOLATILE}, ensure_ascii=False)


# --- tests ------------------------------------------------------------------------------------------


def failed_tests(agents: Sequence[str], report: Path, newest: Path) -> list[dict[str, str]]:
    """Run the tests of agents, and return those that failed: ``name`` and ``message``."""
    named = () if set(agents) == set(MODELS) else ("-k", " or ".join(agents))
    command = (
        sys.executable,
        "-m",
        "pytest",
        "tests/agents",
        "-m",
        "agents",
        "-n",
        "logical",
        f"--junitxml={report}",
        *named,
    )
    subprocess.run(command, cwd=REPOSITORY, env={**os.environ, "NEWEST_AGENTS": str(newest)}, check=False)
    return [*failures(report)]


def failures(report: Path) -> Iterator[dict[str, str]]:
    for suite in JUnitXml.fromfile(str(report)):
        for test in suite:
            why = [one for one in test.result if isinstance(one, Failure | Error)] if isinstance(test, TestCase) else []
            if why:
                yield {"name": str(test.name), "message": str(why[0].message)[:MESSAGE_CHARACTERS]}


def look(agents: Sequence[str], folder: Path) -> dict[str, Any]:
    """The facts, which are also written to ``folder``."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    facts: dict[str, Any] = {"agents": {agent: published(agent) for agent in agents}, "failed": []}
    newest = {agent: said["version"] for agent, said in facts["agents"].items() if "version" in said}
    versions = folder / "newest.json"
    versions.write_text(json.dumps(newest))
    os.environ["NEWEST_AGENTS"] = str(versions)
    with ModelServer() as models:
        for agent in newest:
            try:
                record_all(agent, folder / "captures" / agent, models)
                found = differences(agent, folder / "captures" / agent, CAPTURES / agent)
                facts["agents"][agent]["differences"] = found
            except InstallError as error:
                facts["agents"][agent]["problem"] = str(error)
    facts["failed"] = failed_tests(agents, folder / "tests.xml", versions)
    (folder / "drift.json").write_text(json.dumps(facts, indent=1))
    return facts


if __name__ == "__main__":
    issue = issue_of(look(sys.argv[1:] or list(MODELS), FOLDER))
    print(issue or "The newest agents are the verified ones.")
    sys.exit(1 if issue else 0)
