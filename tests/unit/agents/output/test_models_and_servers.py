"""What agents say of their environment: names of models, MCP servers that failed, work in the background."""

from __future__ import annotations

from captured import FOLDER, RECORDED, capture_in
from sessions import capture_of, jsonl, session_with
from skillgym_action.agents import agent_named
from skillgym_action.agents.output.mcp_servers import MOST_SERVERS, failed_servers, has_failed, servers_complained_of
from skillgym_action.agents.output.models import asked_model, is_same_model
from skillgym_action.model.session import AgentConfig
from table_rows import each_row

# --- models -----------------------------------------------------------------------------------------

SAME = (
    ("claude-opus-4-5", "claude-opus-4-5-20251101"),
    ("claude-opus-4-5-20251101", "claude-opus-4-5"),
    ("anthropic/claude-opus-4-5", "claude-opus-4-5"),
    ("claude-opus-4-8", "claude-opus-4-8[1m]"),
    ("claude-opus-4.5", "claude-opus-4-5"),
    ("claude-opus-4-0", "claude-opus-4-20250514"),
    ("claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
    ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5-20250929"),
    ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
    ("sonnet", "claude-sonnet-4-6"),
    ("opusplan", "claude-sonnet-4-6"),
    ("sonnet-4", "Claude 4 Sonnet"),
    ("gpt-5", "gpt-5-2025-08-07"),
    ("gpt-4-0613", "gpt-4"),
    ("gpt-5.1:high", "gpt-5.1"),
    ("gemini-2.5-flash", "gemini-2.5-flash-preview-09-2025"),
    ("gemini-2.5-flash", "gemini-2.5-flash-001"),
    ("models/gemini-3-pro-preview", "gemini-3-pro"),
    ("deepseek/deepseek-r1:free", "deepseek-r1"),
    ("auto", "gpt-5"),
    ("openrouter/auto", "anthropic/claude-opus-4"),
    ("our-deployment", "gpt-5-mini"),
    (None, "claude-opus-4-5"),
)
OTHER = (
    ("claude-opus-4-5", "claude-haiku-4-5"),
    ("claude-opus-4-5", "claude-opus-4-1"),
    ("claude-opus-4", "claude-opus-4-5"),
    ("opus", "claude-haiku-4-5"),
    ("claude-sonnet-4-6", "gpt-5"),
    ("gpt-5", "gpt-5-mini"),
    ("gpt-5-codex", "gpt-5"),
    ("gpt-5.1", "gpt-5.2"),
    ("gpt-4o", "gpt-4"),
    ("o3", "o4-mini"),
    ("llama-3.1-70b", "llama-3.1-8b"),
    ("gemini-2.5-pro", "gemini-2.5-flash"),
    ("gemini-2.5-flash", "gemini-2.5-flash-lite"),
)


@each_row((f"{asked} and {found}", (asked, found)) for asked, found in SAME)
def test_names_that_stand_for_the_same_model(row):
    assert is_same_model(*row)


@each_row((f"{asked} and {found}", (asked, found)) for asked, found in OTHER)
def test_names_that_stand_for_other_models(row):
    assert not is_same_model(*row)


@each_row(
    [
        ("none", ((), None, None)),
        ("of the runner", ((), "a-1", "a-1")),
        ("of the arguments", (("--model", "b-2"), "a-1", "b-2")),
        ("of the arguments, in one word", (("--x", "--model=b-2"), None, "b-2")),
        ("without its value", (("--model",), "a-1", "a-1")),
    ]
)
def test_the_model_that_was_asked_for(row):
    args, model, asked = row
    assert asked_model(AgentConfig(type="claude-code", command_args=args), model) == asked


# --- MCP servers ------------------------------------------------------------------------------------

COMPLAINTS = (  # as Gemini CLI, Qwen Code, Codex, OpenCode and Claude Code print them; then shapes of none of them
    ("[MCP error] Error during discovery for MCP server 'docs': MCP error -32000: Connection closed", "docs"),
    ("Error during discovery for MCP server 'context7': fetch failed", "context7"),
    ("mcp: memory failed: MCP client for `memory` failed to start: MCP startup failed: handshaking failed", "memory"),
    ("2026-01-01 ERROR codex_core::mcp: MCP client for `db` timed out after 10 seconds", "db"),
    ("The tracker MCP server is not logged in. Run `codex mcp login tracker`.", "tracker"),
    ('ERROR 2026-10-07T09:17:42 +10ms service=mcp key=broken command=["false"] error=Connection closed', "broken"),
    ('MCP server "db": Connection failed: spawn ENOENT', "db"),
    ("MCP server db failed to connect", "db"),
    ("Failed to connect to MCP server: db", "db"),
    ("could not start mcp server [my.server]", "my.server"),
    ("'files' MCP server exited with code 1", "files"),
)
OTHER_LINES = (
    "mcp: memory ready",
    "INFO service=mcp key=files toolCount=7 successfully created client",
    "Error calling MCP tool 'query' on server 'db': no such table",
    "ERROR service=mcp clientName=docs error=MCP error -32601: Method not found failed to get resources",
    "MCP issues detected. Run /mcp list for status.",
    "error: the model is overloaded",
    "the MCP server failed",
    "",
)


@each_row((line[:40], (line, name)) for line, name in COMPLAINTS)
def test_a_complaint_names_the_server_that_failed(row):
    line, name = row
    assert list(servers_complained_of([line])) == [name]


@each_row((line[:40] or "empty", line) for line in OTHER_LINES)
def test_other_lines_name_none(line):
    assert list(servers_complained_of([line])) == []


def test_a_status_says_whether_a_server_can_be_used():
    statuses = (
        "failed",
        "needs-auth",
        "error",
        "disconnected",
        "timed out",
        "connected",
        "pending",
        "disabled",
        "ready",
    )
    assert [status for status in statuses if has_failed(status)] == list(statuses[:5])


# --- all agents -------------------------------------------------------------------------------------


def read(agent, *lines, **changes):
    return agent_named(agent).transcript(capture_of(jsonl(*lines), **changes), session_with())


CLAUDE_INIT = {"type": "system", "subtype": "init", "model": "claude-x-1"}
CLAUDE_RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "ready", "num_turns": 2}
FAILED, FINE = {"name": "db", "status": "failed"}, {"name": "docs", "status": "connected"}
COPILOT_LOADED = {"type": "session.mcp_servers_loaded", "ephemeral": True, "data": {"servers": [FAILED, FINE]}}
COPILOT_CHANGED = {"type": "session.mcp_server_status_changed", "ephemeral": True}
ON_STDERR = "x\nError during discovery for MCP server 'db': fetch failed\n"
SERVERS = (
    ("claude-code", [{**CLAUDE_INIT, "mcp_servers": [FAILED, FINE]}, CLAUDE_RESULT], ""),
    ("claude-code", [{**CLAUDE_INIT, "mcp_servers": [{"name": "db", "status": "needs-auth"}]}], ""),
    ("qwen", [{"type": "system", "subtype": "init", "mcp_servers": [{"name": "db", "status": "disconnected"}]}], ""),
    ("copilot", [COPILOT_LOADED], ""),
    ("copilot", [COPILOT_CHANGED | {"data": {"serverName": "db", "status": "failed"}}], ""),
    (
        "codex",
        [{"type": "item.completed", "item": {"type": "error", "message": "MCP client for `db` failed to start: no"}}],
        "",
    ),
    *((agent, [], ON_STDERR) for agent in ("gemini", "qwen", "codex", "copilot", "cursor-agent", "opencode", "pi")),
    ("claude-code", [], ON_STDERR),
)


@each_row((f"{number} {row[0]}", row) for number, row in enumerate(SERVERS))
def test_a_server_that_failed_is_known_of_every_agent(row):
    agent, lines, stderr = row
    assert failed_servers(read(agent, *lines, stderr=stderr)) == ("db",)


def test_the_last_status_of_a_server_counts():
    connected = COPILOT_CHANGED | {"data": {"serverName": "db", "status": "connected"}}
    read_last = read("copilot", COPILOT_LOADED, connected)
    assert failed_servers(read_last) == ()
    assert {server.name: server.status for server in read_last.mcp_servers} == {"db": "connected", "docs": "connected"}


def test_a_list_of_any_length_becomes_so_many_servers():
    servers = [{"name": f"s{number}", "status": "failed"} for number in range(2 * MOST_SERVERS)]
    later = COPILOT_CHANGED | {"data": {"serverName": "s0", "status": "connected"}}
    report = read("copilot", {**COPILOT_LOADED, "data": {"servers": servers}}, later)
    assert len(report.mcp_servers) == MOST_SERVERS
    assert failed_servers(report)[0] == "s1"


def test_a_server_of_which_an_agent_complains_is_in_the_report_as_failed():
    servers = [{"name": "db", "status": "needs-auth"}, FINE]
    stderr = f"{ON_STDERR}Error during discovery for MCP server 'docs': fetch failed\n"
    report = read("claude-code", {**CLAUDE_INIT, "mcp_servers": servers}, CLAUDE_RESULT, stderr=stderr)
    assert [(one.name, one.status) for one in report.mcp_servers] == [("db", "needs-auth"), ("docs", "failed")]


def claude_said(*content, model="claude-x-1", **line):
    message = {"id": "m1", "model": model, "content": list(content), "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None} | line


def pi_said(model):
    message = {"role": "assistant", "model": model, "content": [{"type": "text", "text": "a"}], "stopReason": "stop"}
    return {"type": "message_end", "message": message | {"usage": {"input": 1, "output": 1, "totalTokens": 2}}}


def qwen_said(model):
    message = {"id": "m", "model": model, "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None}


def copilot_said(model, **data):
    return {"type": "assistant.message", "data": {"messageId": "m", "model": model, "content": "a"} | data}


MODELS = (
    ("claude-code", [CLAUDE_INIT, claude_said(model="a-1"), claude_said(model="b-2")], ("a-1", "b-2")),
    ("claude-code", [CLAUDE_INIT, claude_said(model="b-2", parent_tool_use_id="call_1")], ()),
    ("claude-code", [CLAUDE_INIT, claude_said(model="<synthetic>")], ()),
    ("pi", [pi_said("a-1"), pi_said("b-2")], ("a-1", "b-2")),
    ("qwen", [qwen_said("a-1"), qwen_said("b-2")], ("a-1", "b-2")),
    ("copilot", [copilot_said("a-1"), copilot_said("b-2", parentToolCallId="c")], ("a-1",)),
)


@each_row((f"{number} {row[0]}", row) for number, row in enumerate(MODELS))
def test_the_models_that_answered_the_main_agent_are_known(row):
    agent, lines, models = row
    assert read(agent, *lines).models == models


@each_row([("/".join(recorded), recorded) for recorded in RECORDED])
def test_recorded_sessions_had_what_they_were_to_have(recorded):
    agent, scenario = recorded
    transcript = agent_named(agent).transcript(capture_in(FOLDER / agent / scenario), session_with())
    failed = ("absent",) if scenario == "mcp" else ()  # a server whose program does not exist
    assert (failed_servers(transcript), transcript.background) == (failed, ())
    assert len(transcript.models) <= 1


# --- work in the background -------------------------------------------------------------------------


def claude_call(tool, call="call_1", **given):
    return claude_said({"type": "tool_use", "id": call, "name": tool, "input": given})


def claude_answer(call="call_1", **line):
    block = {"type": "tool_result", "tool_use_id": call, "content": "Command running in background with ID: b1"}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None} | line


def task(subtype, **given):
    return {"type": "system", "subtype": subtype, "task_id": "b1"} | given


SERVER = claude_call("Bash", command="npm run dev", run_in_background=True)
STARTED = task("task_started", tool_use_id="call_1", is_backgrounded=True)
ENDED = task("task_notification", status="completed")
STOPPED = task("task_notification", status="stopped")
CLAUDE_WORK = (
    ("by its argument", [SERVER, claude_answer(), CLAUDE_RESULT], ("npm run dev",)),
    ("ended before", [SERVER, STARTED, claude_answer(), ENDED, CLAUDE_RESULT], ()),
    (
        "ended before, as an update",
        [SERVER, STARTED, claude_answer(), task("task_updated", patch={"status": "completed"}), CLAUDE_RESULT],
        (),
    ),
    (
        "an update that it runs",
        [SERVER, STARTED, task("task_updated", patch={"status": "running"}), CLAUDE_RESULT],
        ("npm run dev",),
    ),
    (
        "stopped by the CLI after its result",
        [SERVER, STARTED, claude_answer(), CLAUDE_RESULT, STOPPED],
        ("npm run dev",),
    ),
    ("stopped by the agent", [SERVER, STARTED, claude_answer(), STOPPED, CLAUDE_RESULT], ()),
    (
        "stopped by a tool",
        [SERVER, claude_answer(), claude_call("KillShell", "call_2", shell_id="b1"), CLAUDE_RESULT],
        (),
    ),
    (
        "moved there later",
        [claude_call("Bash", command="make"), claude_answer(tool_use_result={"backgroundTaskId": "b1"}), CLAUDE_RESULT],
        ("make",),
    ),
    (
        "an agent",
        [claude_call("Agent", prompt="Look", description="look", run_in_background=True), CLAUDE_RESULT],
        ("look",),
    ),
    ("in the foreground", [claude_call("Bash", command="make"), claude_answer(), CLAUDE_RESULT], ()),
    ("without an end of the session", [SERVER, claude_answer()], ()),
)


@each_row((name, row) for name, *row in CLAUDE_WORK)
def test_work_that_claude_code_leaves_in_the_background(row):
    lines, work = row
    assert read("claude-code", CLAUDE_INIT, *lines).background == work


def codex_item(moment, **item):
    return {"type": f"item.{moment}", "item": {"id": "i1", "type": "command_execution", "command": "make"} | item}


CODEX_END = {"type": "turn.completed", "usage": {}}
GEMINI_CALL = {"type": "tool_use", "tool_id": "c", "tool_name": "run_shell_command"}
GEMINI_ANSWER = {"type": "tool_result", "tool_id": "c", "status": "success", "output": "Background PIDs: 7"}
GEMINI_END = {"type": "result", "status": "success", "stats": {}}
QWEN_CALL = {"type": "tool_use", "id": "c", "name": "run_shell_command"}
COPILOT_CALL = {"type": "tool.execution_start", "data": {"toolCallId": "c", "toolName": "bash"}}
COPILOT_END = {"type": "result", "exitCode": 0}
OTHER_WORK = (
    ("codex, a command without an end", "codex", [codex_item("started", status="in_progress"), CODEX_END], ("make",)),
    ("codex", "codex", [codex_item("started"), codex_item("completed", exit_code=0), CODEX_END], ()),
    (
        "gemini",
        "gemini",
        [GEMINI_CALL | {"parameters": {"command": "make", "is_background": True}}, GEMINI_ANSWER, GEMINI_END],
        ("make",),
    ),
    ("gemini, not so", "gemini", [GEMINI_CALL | {"parameters": {"command": "make"}}, GEMINI_ANSWER, GEMINI_END], ()),
    (
        "qwen",
        "qwen",
        [
            qwen_said("q")
            | {"message": {"id": "m", "content": [QWEN_CALL | {"input": {"command": "make", "is_background": True}}]}},
            CLAUDE_RESULT,
        ],
        ("make",),
    ),
    (
        "copilot",
        "copilot",
        [
            COPILOT_CALL | {"data": COPILOT_CALL["data"] | {"arguments": {"command": "make", "mode": "async"}}},
            COPILOT_END,
        ],
        ("make",),
    ),
)


@each_row((name, row) for name, *row in OTHER_WORK)
def test_work_that_other_agents_leave_in_the_background(row):
    agent, lines, work = row
    assert read(agent, *lines).background == work
