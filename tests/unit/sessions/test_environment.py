"""What a session had instead of what was asked for, and when that makes it errored."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from builders import runner_named, suite_at
from scratch import written
from sessions import capture_of, session_with
from skillgym_action.model.arm import Arm, OverlayFile
from skillgym_action.model.errors import Location
from skillgym_action.model.execution import Execution
from skillgym_action.model.result import Finding
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig, Ending
from skillgym_action.model.session_report import AgentRef, McpServer, RunnerRef, Transcript
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.sessions.environment import environment_findings, server_trouble
from skillgym_action.sessions.session_reports import normalise
from table_rows import each_row, each_row_holds

ASKED = "claude-opus-4-5"


def execution(prompt: str = "p", model: str | None = ASKED, **changes: Any) -> Execution:
    case = BenchmarkCase(id="one", prompt=prompt, location=Location(path="bench/core.json"), assertions=())
    made = Execution(
        index=0,
        suite=suite_at(),
        case=case,
        runner=runner_named(),
        directory="s/one/r",
        timeout=60,
        budget=None,
        model=model,
    )
    return replace(made, **changes)


def agent(**changes: Any) -> Runner:
    return Runner(id="r", path_key="r", agent=AgentConfig(type="claude-code", **changes))


def failed(*names: str) -> tuple[McpServer, ...]:
    return tuple(McpServer(name=name, status="failed") for name in names)


def findings(
    transcript: Transcript, one: Execution | None = None, ending: Ending = Ending.EXITED
) -> list[tuple[str, str]]:
    found = environment_findings(one or execution(), transcript, ending, "stdout.log")
    return [(finding.id, finding.kind) for finding in found]


@each_row(
    [
        ("the same", (Transcript(model="claude-opus-4-5-20251101"), [])),
        ("another", (Transcript(model="claude-haiku-4-5"), ["claude-haiku-4-5 instead of claude-opus-4-5"])),
        (
            "another later",
            (
                Transcript(model=ASKED, models=(ASKED, "claude-haiku-4-5")),
                ["claude-haiku-4-5 instead of claude-opus-4-5"],
            ),
        ),
        ("unknown", (Transcript(), [])),
    ]
)
def test_another_model_is_a_finding(row):
    transcript, kinds = row
    assert findings(transcript) == [("other-model", kind) for kind in kinds]
    assert findings(transcript, execution(model=None)) == []


def test_a_recording_had_the_model_of_its_own_time():
    replay = Runner(id="r", path_key="r", agent=AgentConfig(type="replay", sessions="x"))
    transcript = Transcript(model="claude-haiku-4-5", mcp_servers=failed("db"))
    assert findings(transcript, execution(runner=replay)) == []


def test_servers_and_work_in_the_background_are_findings():
    transcript = Transcript(mcp_servers=failed("db", "docs"), background=("npm run\n dev",))
    assert list(environment_findings(execution(), transcript, Ending.EXITED, "turn-2.stdout.log")) == [
        Finding(id="mcp-server", kind="db", where="turn-2.stdout.log"),
        Finding(id="mcp-server", kind="docs", where="turn-2.stdout.log"),
        Finding(id="background", kind="npm run dev", where="turn-2.stdout.log"),
    ]


def test_the_report_has_the_model_that_answered_instead():
    transcript = Transcript(model=ASKED, models=(ASKED, "claude-haiku-4-5"))
    runner = RunnerRef(id="r", path_key="r", agent=AgentRef(type="claude-code"))

    def model(asked: str | None) -> str | None:
        session = session_with(AgentConfig(type="claude-code", model=asked))
        return normalise(transcript, capture_of(), session, runner, started_at=None, ended_at=None).model

    assert model(ASKED) == "claude-haiku-4-5"
    assert model(None) == ASKED


# --- servers that are named ---------------------------------------------------------------------------

SERVERS = json.dumps({"mcpServers": {"db": {"command": "db-mcp"}}})


def arm(**changes: Any) -> Arm:
    return Arm(name="a", **changes)


NAMED = (
    ("the prompt", {"prompt": "Ask the MCP server db for it."}, ""),
    ("the name of a tool", {"prompt": "p"}, '{"cases": [{"expect": ["tool:mcp__db__query called"]}]}'),
    ("a tool as Gemini calls it", {"prompt": "p"}, '{"expect": ["tool:mcp_db_query called"]}'),
    ("the suite", {"prompt": "p"}, 'mcp: {server: "db"}'),
    ("the suite in YAML", {"prompt": "p"}, "agent:\n  mcpServers:\n    docs2: {}\n\n    db:\n      command: x\n"),
    ("the suite's list in YAML", {"prompt": "p"}, "mcp:\n  - db\ncases: []\n"),
    ("a list that is not indented", {"prompt": "p"}, "a:\n  mcp:\n  - db\n"),
    ("the suite's list", {"prompt": "p"}, "mcp_servers: [other, db]"),
    ("the suite in TypeScript", {"prompt": "p"}, "const mcpServers = { other: { args: [] }, db: { command: 'x' } };"),
    ("an argument in the suite", {"prompt": "p"}, '{"commandArgs": ["-c", "mcp_servers.db.command=x"]}'),
    ("JSON in a text", {"prompt": "p"}, json.dumps({"args": [SERVERS]})),
    ("an argument about servers", {"runner": agent(command_args=("--allowed-mcp-server-names", "db"))}, ""),
    ("the prompt, in another order", {"prompt": "Use the `db` MCP server."}, ""),
    ("the prompt, in quotes", {"prompt": "Ask the MCP server named 'db'."}, ""),
    ("a file of the arm", {"arm": arm(files=(OverlayFile(path=".mcp.json", content=SERVERS.encode()),))}, ""),
    (
        "the arm's home",
        {"arm": arm(home=(OverlayFile(path=".codex/config.toml", content=b"[mcp_servers.db]\ncommand = 'x'\n"),))},
        "",
    ),
    ("an argument of the arm", {"arm": arm(command_args=("--mcp-config", SERVERS))}, ""),
    ("an argument of the runner", {"runner": agent(command_args=(f"--mcp-config={SERVERS}",))}, ""),
    ("a file of the runner's", {"runner": agent(command_args=("--mcp-config=servers.json",))}, ""),
    ("a file of the runner's in a word", {"runner": agent(command_args=("--mcp-config", "servers.json"))}, ""),
)
NOT_NAMED = (
    ("nothing", {}, ""),
    ("another server", {"prompt": "Ask the MCP server my-db or db2."}, ""),
    ("another tool", {"prompt": "p"}, "tool:mcp__my_db__query called"),
    ("a word of another subject", {"prompt": "Write the file db."}, ""),
    ("a word of a sentence about MCP", {"prompt": "Explain MCP servers, and how a db differs from them."}, ""),
    ("a word beside a tool", {"prompt": "Call mcp__search__find. Then migrate the db."}, ""),
    ("a word in another key", {"prompt": "p"}, '{"mcpServers": {"search": {"command": "x db"}}, "db": {"a": 1}}'),
    ("a key that is indented as much", {"prompt": "p"}, "mcp:\n  search:\n    command: x\ndb:\n  url: y\n"),
    ("a path in an argument of a server", {"prompt": "p"}, '{"mcp": {"search": {"args": ["./db", "/srv/db=1"]}}}'),
    ("tags", {"prompt": "p"}, '{"tags": ["mcp", "db"]}'),
    ("a title", {"prompt": "p"}, "title: 'MCP: write docs, then db'"),
    ("servers of another kind", {"prompt": "Start the db servers for the MCP test."}, ""),
    ("a missing file", {"runner": agent(command_args=("--mcp-config=other.json",))}, ""),
    ("a folder", {"runner": agent(command_args=("--mcp-config=bench",))}, ""),
)


def trouble(tmp_path, changes, suite, servers=("docs", "db")):
    written(tmp_path, {"bench/core.json": suite, "servers.json": SERVERS})
    suites: Any = SimpleNamespace(root=tmp_path)
    return server_trouble(execution(**changes), Transcript(mcp_servers=failed(*servers)), suites)


def test_a_server_that_the_suite_the_arm_or_the_configuration_names_makes_the_session_errored(tmp_path):
    def check(row):
        found = trouble(tmp_path, *row)
        assert (found.kind, found.message) == ("mcp-server", "the MCP server db could not be used by the agent")

    each_row_holds(((name, row) for name, *row in NAMED), check)


def test_other_servers_do_not(tmp_path):
    def check(row):
        assert trouble(tmp_path, *row) is None

    each_row_holds(((name, row) for name, *row in NOT_NAMED), check)
    assert trouble(tmp_path, NAMED[0][1], NAMED[0][2], servers=()) is None


@each_row(
    {
        "an exit code": (Transcript(exit_note="exited with code 1"), Ending.EXITED, "exited with code 1"),
        "ended by the tool": (Transcript(), Ending.LINGERED, "the tool ended it, because it did not exit"),
    }.items()
)
def test_how_a_process_ended_after_its_result_is_a_finding(row):
    transcript, ending, kind = row
    assert findings(transcript, ending=ending) == [("exit", kind)]


def test_an_end_as_it_should_be_is_no_finding():
    assert findings(Transcript()) == []
