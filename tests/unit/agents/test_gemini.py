from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from captured import FOLDER
from endings import WORDS, killed_after
from sessions import SESSION, capture_of, jsonl, session_with
from skillgym_action.agents import gemini
from skillgym_action.model.session import AgentConfig, Progress
from skillgym_action.model.session_report import (
    Command,
    FileRead,
    FileWrite,
    Message,
    Raw,
    SkillSignal,
    ToolCall,
    ToolResult,
    Trouble,
    Usage,
)
from table_rows import each_row

AT = "2026-01-02T03:04:05.000Z"
INIT = {"type": "init", "timestamp": AT, "session_id": "s-1", "model": "gemini-2.5-flash"}
STATS = {"total_tokens": 2095, "input_tokens": 2001, "output_tokens": 84, "cached": 600}
DONE = {"type": "result", "status": "success", "stats": STATS}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def called(tool: str, call: str = "c1", **args: Any) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": tool, "tool_id": call, "parameters": args}


def answered(output: str = "", call: str = "c1", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_id": call, "status": "success", "output": output} | fields


def failed(message: str | None = None, kind: str = "unknown") -> dict[str, Any]:
    error = {} if message is None else {"error": {"type": kind, "message": message}}
    return {"type": "result", "status": "error", "stats": STATS} | error


def logged(key: str, *outputs: str, at: str = AT, thoughts: tuple[str, ...] = ()) -> dict[str, Any]:
    """A message of the log: calls c1, c2, … and what they answered."""
    responses = [[{"functionResponse": {"response": {"output": output}}}] for output in outputs]
    return {
        "id": key,
        "timestamp": at,
        "type": "gemini",
        "thoughts": [{"subject": "", "description": thought} for thought in thoughts],
        "tokens": {"input": 1000, "output": 42, "cached": 300, "thoughts": 5, "tool": 0, "total": 1047},
        "toolCalls": [{"id": f"c{number}", "result": result} for number, result in enumerate(responses, 1)],
    }


def read(*lines: dict[str, Any], **changes: Any) -> Any:
    return gemini.transcript(capture_of(jsonl(*lines), **changes), SESSION)


# --- starting ---------------------------------------------------------------------------------------


def test_a_session_id_cannot_become_an_option():
    assert gemini.resume(SESSION, "--evil").argv == (
        *("gemini", "--yolo", "--output-format", "stream-json", "--resume=--evil"),
    )


def test_a_session_has_a_config_folder_of_its_own_and_the_runner_s_environment_wins():
    agent = AgentConfig(type="gemini", env={"GEMINI_CLI_TRUST_WORKSPACE": "false", "GEMINI_API_KEY": "k"})
    invocation = gemini.invocation(session_with(agent))
    assert invocation.env == {"HOME": "/agent-home", "GEMINI_CLI_TRUST_WORKSPACE": "false", "GEMINI_API_KEY": "k"}
    ((path, text),) = invocation.files.items()
    assert path == Path("/agent-home/.gemini/settings.json")
    assert json.loads(text) == {
        "general": {"enableAutoUpdate": False, "maxAttempts": 3},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }


def test_vertex_ai_is_chosen_by_the_environment():
    agent = AgentConfig(type="gemini", env={"GOOGLE_GENAI_USE_VERTEXAI": "true"})
    (text,) = gemini.invocation(session_with(agent)).files.values()
    assert json.loads(text)["security"] == {"auth": {"selectedType": "vertex-ai"}}


def test_the_cli_itself_keeps_to_a_limit_of_steps():
    (text,) = gemini.invocation(session_with(max_steps=7)).files.values()
    assert json.loads(text)["model"] == {"maxSessionTurns": 7}


# --- events -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "events"),
    [
        pytest.param(
            [said("Hel"), said("lo."), said(" Bye.")],
            [Message(role="assistant", phase="final", text="Hello. Bye.")],
            id="the pieces of a message are one",
        ),
        pytest.param(
            [said("First"), said("."), called("run_shell_command", command="ls"), answered("a"), said("Done.")],
            [
                Message(role="assistant", phase="commentary", text="First."),
                ToolCall(tool="run_shell_command", args={"command": "ls"}),
                Command(command="ls", exit_code=None),
                ToolResult(tool="run_shell_command", output="a"),
                Message(role="assistant", phase="final", text="Done."),
            ],
            id="a message ends where something else is printed; without a log no exit code is known",
        ),
        pytest.param(
            [called("activate_skill", name="greeter"), answered("Skill **greeter** activated.")],
            [
                ToolCall(tool="activate_skill", args={"name": "greeter"}),
                SkillSignal(skill="greeter", signal="activate_skill tool"),
                ToolResult(tool="activate_skill", output="Skill **greeter** activated."),
            ],
            id="a skill that is activated",
        ),
        pytest.param(
            [
                called("activate_skill", name="gone"),
                answered(status="error", output=None, error={"type": "x", "message": "no such skill"}),
            ],
            [
                ToolCall(tool="activate_skill", args={"name": "gone"}),
                ToolResult(tool="activate_skill", output="no such skill", failed=True),
            ],
            id="a skill that is not there was not used",
        ),
        pytest.param(
            [called("read_file", file_path="a.md"), answered(), called("replace", file_path="b.md"), answered()],
            [
                ToolCall(tool="read_file", args={"file_path": "a.md"}),
                FileRead(path="a.md"),
                ToolResult(tool="read_file", output=""),
                ToolCall(tool="replace", args={"file_path": "b.md"}),
                FileWrite(path="b.md"),
                ToolResult(tool="replace", output=""),
            ],
            id="files read and written",
        ),
        pytest.param(
            [{"type": "error", "severity": "warning", "message": "Loop detected"}],
            [Raw(line='{"type": "error", "severity": "warning", "message": "Loop detected"}')],
            id="a notice is kept",
        ),
    ],
)
def test_lines_become_events(lines, events):
    assert list(read(*lines).events) == events


# --- what only the log tells ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "code"),
    [
        pytest.param("Output: a\nProcess Group PGID: 12", 0, id="a code of 0 is left out"),
        pytest.param("<untrusted_context>\nOutput: a\nExit Code: 3\nProcess Group PGID: 12\n</untrusted_context>", 3),
        pytest.param("Output: (empty)\nSignal: 9\nProcess Group PGID: 12", None, id="ended by a signal"),
        pytest.param("Output: x\nExit Code: 2\nBackground PIDs: 13, 14\nProcess Group PGID: 12", 2),
        pytest.param(
            "Output: \nExit Code: 7\nProcess Group PGID: 1\nok\nProcess Group PGID: 12", 0, id="its own words"
        ),
        pytest.param("Command moved to background (PID: 12). Output hidden.", None, id="in the background"),
        pytest.param("Command was cancelled by user before it could complete.", None, id="cancelled"),
    ],
)
def test_the_log_has_exit_codes(call, code):
    log = jsonl(logged("m1"), logged("m1", call))
    transcript = read(INIT, called("run_shell_command", command="x"), answered("…"), DONE, collected=[log])
    assert [event.exit_code for event in transcript.events if isinstance(event, Command)] == [code]


def test_thoughts_come_before_the_round_they_belong_to():
    log = jsonl(logged("m1", "", thoughts=("Which?",)), logged("m2"), logged("m3", thoughts=("Well.", "Done.")))
    lines = [said("Hm."), called("a"), called("b", "c2"), answered(), answered(call="c2"), called("c", "c3")]
    transcript = read(INIT, *lines, answered(call="c3"), said("x"), said("y"), DONE, collected=[log])
    seen = [event.text if isinstance(event, Message) else event.type for event in transcript.events]
    calls = ["Hm.", "toolCall", "toolCall", "toolResult", "toolResult", "toolCall", "toolResult"]
    assert seen == ["Which?", *calls, "Well.", "Done.", "xy"]
    assert transcript.turns == 3


def test_calls_of_one_round_that_look_like_two_rounds_have_no_tokens_of_another():
    log = [jsonl(logged("m1", "", ""), logged("m2"))]
    one_by_one = (called("a"), answered(), called("b", "c2"), answered(call="c2"), said("x"), DONE)
    assert [event for event in read(INIT, *one_by_one, collected=log).events if getattr(event, "usage", None)] == []
    together = (called("a"), called("b", "c2"), answered(), answered(call="c2"), said("x"), DONE)
    counted = [event.type for event in read(INIT, *together, collected=log).events if getattr(event, "usage", None)]
    assert counted == ["toolCall", "message"]


def test_of_a_continued_log_only_this_session_counts():
    before = logged("old", at="2026-01-01T00:00:00.000Z", thoughts=("long ago",))
    transcript = read(INIT, said("x"), collected=[jsonl(before, {"$set": {"messages": [logged("new")]}})])
    assert [event.text for event in transcript.events] == ["x"]
    assert transcript.usage == Usage(input_tokens=1000, output_tokens=42, reasoning_tokens=5, cache_tokens=300)


UNCOUNTED = {"id": "m2", "timestamp": AT, "type": "gemini", "content": [], "thoughts": [], "tokens": None}
# The last round in the log, and the kind of trouble.
LAST_ROUNDS = {
    "nothing, not even tokens": (UNCOUNTED, "provider"),
    "an empty answer": (UNCOUNTED | {"tokens": {"input": 1000, "output": 1}}, None),
    "words of a service that counts no tokens": (UNCOUNTED | {"content": "done"}, None),
    "a call": (UNCOUNTED | {"toolCalls": [{"id": "c2"}]}, None),
}


@each_row((what, what) for what in LAST_ROUNDS)
def test_an_error_with_http_status_200_is_no_answer(what):
    last, kind = LAST_ROUNDS[what]
    lines = (INIT, called("run_shell_command", command="x"), answered(), DONE)
    trouble = read(*lines, collected=[jsonl(logged("m1", ""), last)]).trouble
    assert (trouble and trouble.kind) == kind
    later = logged("m3")
    assert read(*lines, collected=[jsonl(logged("m1", ""), last, later)]).trouble is None


def test_tokens_of_the_result_count_thoughts_apart():
    log = jsonl(logged("m1"))
    expected = Usage(input_tokens=2001, output_tokens=84, reasoning_tokens=10, cache_tokens=600)
    assert read(INIT, DONE, collected=[log]).usage == expected


def test_unknown_is_not_zero():
    assert read({"type": "result", "status": "success"}).usage == Usage()


def test_the_model_that_a_router_chose_is_the_one_with_the_most_tokens():
    models = {"gemini-2.5-flash-lite": {"total_tokens": 10}, "gemini-2.5-pro": {"total_tokens": 900}}
    done = DONE | {"stats": STATS | {"models": models}}
    assert read(INIT | {"model": "auto"}, done).model == "gemini-2.5-pro"
    assert read(INIT | {"model": "gemini-2.5-flash-lite"}, done).model == "gemini-2.5-flash-lite"


# --- trouble ----------------------------------------------------------------------------------------

REFUSED = '[API Error: {"error":{"code":401,"message":"bad key","status":"UNAUTHENTICATED"}}]'
LIMIT = "Reached max session turns for this session."


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([INIT, said("x"), DONE], {}, None, id="all is well"),
        pytest.param([failed(REFUSED)], {"exit_code": 145}, Trouble(kind="auth", message=REFUSED), id="401"),
        pytest.param(
            [failed("[API Error: no]")],
            {"exit_code": 1, "stderr": "ModelNotFoundError: no\n  code: 404\n}\n"},
            Trouble(kind="model-rejected", message="[API Error: no]"),
            id="an unknown model is shown on stderr",
        ),
        pytest.param(
            [failed("[API Error: no]")],
            {"exit_code": 244},
            Trouble(kind="provider", message="[API Error: no]"),
            id="the exit code is the status modulo 256",
        ),
        pytest.param(
            [failed("[API Error: slow down]\nrequest a quota increase")],
            {"exit_code": 173},
            Trouble(kind="rate-limit", message="[API Error: slow down] request a quota increase"),
            id="429",
        ),
        pytest.param(
            [failed("[API Error: too long]")],
            {"exit_code": 144},
            Trouble(kind="runner-crash", message="[API Error: too long]"),
            id="any other refusal",
        ),
        pytest.param(
            [
                {"type": "error", "severity": "error", "message": "Model stream ended without a finish reason."},
                failed(),
            ],
            {},
            Trouble(kind="provider", message="Model stream ended without a finish reason."),
            id="a cut stream is reported before the result",
        ),
        pytest.param([failed()], {}, Trouble(kind="runner-crash", message="the session failed"), id="no word of why"),
        pytest.param(
            [failed(LIMIT, "FatalTurnLimitedError")],
            {"exit_code": 53},
            Trouble(kind="max-steps", message=LIMIT),
            id="the limit of steps",
        ),
        pytest.param(
            [],
            {"exit_code": 41, "stderr": "Invalid auth method selected.\n"},
            Trouble(kind="auth", message="Invalid auth method selected."),
            id="no key",
        ),
        pytest.param(
            [],
            {"exit_code": 1, "stderr": "Unknown argument: nope\nUsage: gemini\n  --api-key  key" + "\n  more" * 200},
            Trouble(kind="runner-crash", message="exited with code 1: Unknown argument: nope"),
            id="a wrong argument is not drowned by the help",
        ),
        killed_after(INIT, said(WORDS)),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    assert gemini.trouble(capture, gemini.transcript(capture, SESSION)) == trouble


# --- progress ---------------------------------------------------------------------------------------


def test_progress_is_the_end_only():
    lines = (FOLDER / "gemini" / "skill" / "stdout.jsonl").read_text().splitlines()
    assert [gemini.progress(line) for line in lines] == [None] * (len(lines) - 1) + [Progress(finished=True)]
    assert gemini.progress("[]") is None
