"""Records an agent's captures: the real CLI, a scripted model. ``python tools/record_captures.py AGENT``.

It writes tests/captures/AGENT/SCENARIO, for those scenarios that are named, or all of them, and with the scenario
``shell`` also first-request.json: what the agent asks of the model first. The CLI needs a row in
``MODELS`` and ``SERVICES`` of agent_desk.py, which lead it to the model. Read what was recorded: paths and the key of
the session are replaced, and long texts cut; other ids and names are not. Then ``captured.py`` writes the reports.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import modules_of_tests
from agent_desk import KEY, Desk
from model_script import Fail, Forever, Say, Shell, Skill, Step, Together, Use
from model_server import PROTOCOLS, ModelServer, Request
from paths import CAPTURES, REPOSITORY
from sessions import SESSION
from skillgym_action.agents import agent_named
from skillgym_action.agents.defaults import StreamParser
from skillgym_action.model.session import CaseAgentSettings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A string of JSON with more than 3000 characters, of which 300 are kept.
LONG_TEXT = re.compile(r'("(?:[^"\\]|\\.){300})(?:[^"\\]|\\.){2700,}"')
MODEL = re.compile(r"127\.0\.0\.1:\d+/script-\d+")
FIRST_REQUEST = "first-request.json"
DONE = Say("skillgym ready")


def spoken(call: Shell | Skill | Use) -> Together:
    """A call with words before it, as models make it."""
    return Together((Say("Working on it."), call))


@dataclass(frozen=True)
class Played:
    """``steps``: what the scripted model says; ``session``: changes of the session; ``path``: of what it can start.

    ``arguments``: more of them, for the CLI; ``files``: of the workspace.
    """

    steps: tuple[Step, ...]
    session: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    path: str | None = None
    files: Mapping[str, str] = field(default_factory=dict)


# An MCP server with one tool.
SERVER = """\
import json, sys

GREET = {"name": "greet", "description": "Greets.", "inputSchema": {"type": "object", "properties": {}}}
SERVER = {"capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}
for line in sys.stdin:
    asked = json.loads(line)
    answers = {
        "initialize": {"protocolVersion": asked.get("params", {}).get("protocolVersion"), **SERVER},
        "tools/list": {"tools": [GREET]},
        "tools/call": {"content": [{"type": "text", "text": "Hello."}]},
    }
    if "id" in asked:
        known = asked["method"] in answers
        answer = {"result": answers[asked["method"]]} if known else {"error": {"code": -32601, "message": "unknown"}}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""
DESK = {"desk": {"command": sys.executable, "args": ["server.py"]}}
SERVED = json.dumps({"mcpServers": DESK})
SERVED_AND_ABSENT = json.dumps({"mcpServers": DESK | {"absent": {"command": "/no/such/server"}}})
BRIDGED = Use("tool_call", {"name": "mcp__desk__greet", "arguments": {}})
NO_SHELL = CaseAgentSettings(allowed_tools=("Read",))
LOOP = (Forever(spoken(Shell("echo loop"))),)
# The folder of a capture -> what happens in it.
PLAYED = {
    "shell": Played((spoken(Shell("echo hello > out.txt && cat out.txt")), DONE)),
    "fail": Played((spoken(Shell("ls /no/such/dir; exit 3")), DONE)),
    "skill": Played((spoken(Skill("greeter")), spoken(Shell("echo greeted > greeted.txt")), DONE)),
    "err401": Played((Fail(401),)),
}
# What only some agents have.
MORE = {
    "claude-code": {
        "maxturns": Played(LOOP, arguments=("--max-turns", "2")),
        "denied": Played((spoken(Shell("touch made.txt")), DONE), session={"settings": NO_SHELL}),
        "mcp": Played((DONE,), files={".mcp.json": SERVED_AND_ABSENT, "server.py": SERVER}),
    },
    "codex": {"err500": Played((Fail(500),))},
    "gemini": {"maxturns": Played(LOOP, session={"max_steps": 2})},
    "opencode": {
        "err500": Played((Fail(500),)),
        "no-ripgrep": Played((spoken(Skill("greeter")), DONE), path="/usr/bin:/bin"),
    },
    "qwen": {
        "maxturns": Played(LOOP, arguments=("--max-session-turns", "2")),
        "deferred": Played((spoken(BRIDGED), DONE), arguments=("--mcp-config", SERVED), files={"server.py": SERVER}),
    },
}


def scenarios(agent: str) -> dict[str, Played]:
    """All scenarios of an agent."""
    return PLAYED | MORE.get(agent, {})


def first_request(requests: Sequence[Request]) -> dict[str, Any]:
    """The model that an agent asks for by default, or is told to; the size of its first question; its tools."""
    for request in requests:
        protocol = next((PROTOCOLS[end] for end in PROTOCOLS if request.path.endswith(end)), None)
        if protocol and (ask := protocol.ask(request.path, request.body)).tools:
            return {"model": ask.model, "characters": len(json.dumps(request.body)), "tools": sorted(ask.tools)}
    return {}


def shortened_line(line: str) -> str:
    """The line as it is; with the beginnings only of texts that are longer than ``LONG_TEXT``."""
    return LONG_TEXT.sub(r'\1…"', line.rstrip())


def reads_records(agent: str) -> bool:
    """Whether an adapter reads the CLI's own record of a session."""
    reading = agent_named(agent).event_reader(SESSION)
    return isinstance(reading, StreamParser) and type(reading).take_collected is not StreamParser.take_collected


def record(agent: str, scenario: str, models: ModelServer, folder: Path, target: Path) -> None:
    """Play a scenario with an agent's CLI, in a new ``folder``, and write what it left into ``target``."""
    played, desk = scenarios(agent)[scenario], Desk(agent, folder, models)
    for name, text in played.files.items():
        (desk.workspace / name).write_text(text)
    session = desk.session(models.script(*played.steps), **played.session)
    session = replace(session, agent=replace(session.agent, command_args=played.arguments))
    invocation = desk.adapter.invocation(session)
    if played.path:
        proxy = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), models.proxy)
        invocation = replace(invocation, env={**invocation.env, "PATH": played.path, **proxy, "NO_PROXY": "127.0.0.1"})
    asked = len(models.requests)
    capture = desk.capture(invocation)
    if scenario == "shell":
        target.parent.mkdir(parents=True, exist_ok=True)
        (target.parent / FIRST_REQUEST).write_text(json.dumps(first_request(models.requests[asked:]), indent=1) + "\n")
    stand_ins = {
        str(desk.workspace): "/workspace",
        str(desk.home): "/agent-home",
        str(folder): "/session",
        str(REPOSITORY): "/repository",
        KEY: "KEY",
    }
    found = {"stdout.jsonl": capture.stdout.lines(), "stderr.txt": capture.stderr.lines()}
    if reads_records(agent):
        found["session.jsonl"] = (line for file in capture.collected for line in file.lines())
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    (target / "exit.json").write_text(json.dumps({"exit": capture.exit_code}) + "\n")
    for name, lines in found.items():
        text = "".join(f"{shortened_line(line)}\n" for line in lines if line.strip())
        for real, stand_in in stand_ins.items():
            text = text.replace(real, stand_in)
        text = MODEL.sub("127.0.0.1:1/script", text)
        if text:
            (target / name).write_text(text)


if __name__ == "__main__":
    agent, *named = sys.argv[1:]
    with ModelServer() as server:
        for scenario in named or scenarios(agent):
            with TemporaryDirectory() as place:
                record(agent, scenario, server, Path(place).resolve(), CAPTURES / agent / scenario)
