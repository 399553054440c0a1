from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions import capture_of, jsonl, session_with
from skillgym_action.agents import command
from skillgym_action.model.errors import ConfigError
from skillgym_action.model.session import AgentConfig, Ending, Progress
from skillgym_action.model.session_report import (
    Command,
    Cost,
    FileRead,
    FileWrite,
    Message,
    Raw,
    RoundUsage,
    SkillSignal,
    ToolCall,
    ToolResult,
    Transcript,
    Trouble,
    Usage,
)

HOSTILE = 'it\'s "$(touch evil)"; `x`\n-rf {model}'


def stand_in(*argv: str, **changes: Any) -> AgentConfig:
    return AgentConfig(type="command", command=argv, **{"model": "m-1"} | changes)


def started(agent: AgentConfig, **changes: Any) -> Any:
    return command.invocation(session_with(agent, **changes))


def read(stdout: str, output: Any = "events", **changes: Any) -> Transcript:
    return command.transcript(capture_of(stdout, **changes), session_with(stand_in("x", output=output)))


# --- starting ---------------------------------------------------------------------------------------


def test_placeholders_are_filled_in_and_other_braces_left_alone():
    agent = stand_in(
        "run", "{prompt}", "--in={workspace}", "{model}/{case_id}", '{"a": 1}', "{nothing}", command_args=("{model}",)
    )
    assert started(agent).argv == (
        *("run", "Please do the task.", "--in=/workspace", "m-1/greets", '{"a": 1}', "{nothing}", "m-1"),
    )


@pytest.mark.parametrize(
    ("part", "found"),
    [
        pytest.param("{promt}", [("promt", "prompt")], id="a letter is missing"),
        pytest.param("{PROMPT}", [("PROMPT", "prompt")], id="upper case"),
        pytest.param("--in={workdspace}/a", [("workdspace", "workspace")], id="inside of an argument"),
        pytest.param(
            "run {caseid} {promptfile} {caseid}",
            [("caseid", "case_id"), ("promptfile", "prompt_file")],
            id="several in a line for sh, each once",
        ),
        pytest.param("{prompt} {prompt_file} {output_file} {model}", [], id="placeholders"),
        pytest.param("awk '{print} {next}' | { cat; }; echo {a,b}", [], id="braces of awk and of the shell"),
        pytest.param('echo "${promt}" "${PROMPT}"', [], id="variables of the shell"),
    ],
)
def test_a_word_in_braces_that_is_similar_to_a_placeholder_is_a_misspelt_one(part, found):
    assert list(command.misspelt_placeholders(part)) == found


def test_a_prompt_that_looks_like_a_placeholder_stays_as_it_is():
    assert started(stand_in("run", "{prompt}"), prompt="say {model}").argv == ("run", "say {model}")


def test_the_prompt_file_is_written_before_the_start():
    invocation = started(stand_in("run", "{prompt_file}"))
    assert invocation.argv == ("run", "/scratch/prompt.txt")
    assert {str(path): text for path, text in invocation.files.items()} == {
        "/scratch/prompt.txt": "Please do the task."
    }


def test_the_output_file_is_fetched_from_the_private_home():
    invocation = started(stand_in("run", "{output_file}"))
    assert (invocation.argv, invocation.collect) == (("run", "/agent-home/output.txt"), ("output.txt",))


@pytest.mark.parametrize(
    ("argument", "stdin"),
    [
        pytest.param("--quiet", "Please do the task.", id="no placeholder takes the prompt"),
        pytest.param("{prompt}", None, id="an argument takes it"),
        pytest.param("{prompt_file}", None, id="a file takes it"),
    ],
)
def test_the_prompt_is_on_stdin_when_nothing_else_takes_it(argument, stdin):
    assert started(stand_in("run", argument)).stdin == stdin


def test_a_prompt_cannot_become_a_command_of_the_shell_line(tmp_path):
    agent = stand_in("printf '%s|' {prompt} {model}", shell=True, command_args=("$HOME {case_id}",))
    argv = started(agent, prompt=HOSTILE).argv
    ran = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{HOSTILE}|m-1|$HOME greets|"
    assert list(tmp_path.iterdir()) == []


def test_the_home_is_private_and_the_runner_s_environment_wins():
    assert started(stand_in("run", env={"A": "1"})).env == {"HOME": "/agent-home", "A": "1"}


def test_a_runner_without_a_command_is_an_error_with_a_remedy():
    with pytest.raises(ConfigError, match=r"needs a command; set agent\.command"):
        started(stand_in())


# --- text -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stdout", "collected", "final"),
    [
        pytest.param("  All done.\n\n", (), "All done.", id="stdout"),
        pytest.param("log\nlog\n", ("The answer.\n",), "The answer.", id="the output file when it was written"),
        pytest.param("said\n", ("\n",), "said", id="stdout when the output file is blank"),
        pytest.param("", (), "", id="nothing"),
    ],
)
def test_text_is_the_final_output(stdout, collected, final):
    transcript = read(stdout, output="text", collected=collected)
    assert transcript.final_output == final
    assert [event.text for event in transcript.events] == ([final] if final else [])


def test_text_that_looks_like_an_event_stays_text():
    line = json.dumps({"type": "error", "class": "auth"})
    assert read(line, output="text").trouble is None


def test_long_text_loses_its_middle():
    text = read("begin\n" + "x\n" * 300_000 + "end", output="text").final_output
    assert (text[:6], text[-6:], "[the middle of the output is left out here]" in text) == ("begin\n", "\nx\nend", True)


# --- events -----------------------------------------------------------------------------------------


def test_every_kind_of_event_is_read():
    lines = jsonl(
        {"type": "message", "role": "assistant", "phase": "final", "text": "hi", "at": "2025-01-02T03:04:05Z"},
        {"type": "toolCall", "tool": "bash", "args": {"camelKey": [1]}},
        {"type": "toolResult", "tool": "bash", "output": "ok"},
        {"type": "command", "command": "ls", "exitCode": 2},
        {"type": "fileRead", "path": "a"},
        {"type": "fileWrite", "path": "b"},
        {"type": "skillSignal", "skill": "greeter", "signal": "loaded"},
    )
    assert read(lines).events == (
        Message(role="assistant", phase="final", text="hi", at="2025-01-02T03:04:05Z"),
        ToolCall(tool="bash", args={"camelKey": [1]}),
        ToolResult(tool="bash", output="ok"),
        Command(command="ls", exit_code=2),
        FileRead(path="a"),
        FileWrite(path="b"),
        SkillSignal(skill="greeter", signal="loaded"),
    )


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Loading…", id="text"),
        pytest.param('{"type": "fileRead"}', id="a missing field"),
        pytest.param('{"type": "fileRead", "path": 5}', id="a field of the wrong type"),
        pytest.param('{"type": "command", "command": "ls", "exitCode": "2"}', id="an exit code in words"),
        pytest.param('{"type": "message", "role": "system", "text": "x"}', id="an unknown role"),
        pytest.param('{"type": "surprise"}', id="an unknown type"),
        pytest.param('{"type": ["message"]}', id="a type that is no text"),
    ],
)
def test_what_is_no_event_is_kept_raw(line):
    assert read(line).events == (Raw(line=line),)


def test_the_session_line_gives_usage_cost_and_result():
    usage = {"inputTokens": 10, "outputTokens": 2, "reasoningTokens": 1, "cacheTokens": 4}
    summary = {"type": "session", "usage": usage, "cost": {"usd": 0.25}, "model": "m-2", "turns": 3}
    transcript = read(jsonl(summary | {"finalOutput": "Done.", "sessionId": "s-1"}))
    assert transcript == Transcript(
        usage=Usage(input_tokens=10, output_tokens=2, reasoning_tokens=1, cache_tokens=4),
        cost=Cost(usd=0.25, source="reported"),
        model="m-2",
        turns=3,
        final_output="Done.",
        session_id="s-1",
    )


def test_a_step_line_is_progress_and_no_event():
    line = json.dumps({"type": "step", "id": "1", "usage": {"inputTokens": 7}, "model": "m-2"})
    assert command.progress(line) == Progress(step="1", usage=Usage(input_tokens=7), model="m-2")
    assert read(line).events == ()


def test_the_session_line_ends_the_progress():
    assert command.progress('{"type": "session"}') == Progress(finished=True)
    assert command.progress("text") is None


# --- trouble ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "ending", "trouble"),
    [
        pytest.param([], {}, None, id="all is well"),
        pytest.param(
            [{"type": "error", "class": "rate-limit", "message": "slow down", "retryAfter": 5}],
            {"exit_code": 1},
            Trouble(kind="rate-limit", message="slow down", retry_after=5.0),
            id="what the program reports",
        ),
        pytest.param(
            [{"type": "error", "class": "weather", "message": "rain"}],
            {},
            Trouble(kind="runner-crash", message="rain"),
            id="an unknown class",
        ),
        pytest.param(
            [],
            {"exit_code": 4, "stderr": "no luck\n"},
            Trouble(kind="runner-crash", message="exited with code 4: no luck"),
            id="an exit code",
        ),
        pytest.param(
            [],
            {"ending": Ending.SIGNALLED, "exit_code": -11},
            Trouble(kind="runner-crash", message="ended by SIGSEGV"),
            id="a signal",
        ),
    ],
)
def test_trouble_is_recognised(lines, ending, trouble):
    capture = capture_of(jsonl(*lines), **ending)
    transcript = command.transcript(capture, session_with(stand_in("x", output="events")))
    assert command.trouble(capture, transcript) == trouble


def test_messages_and_calls_may_have_the_tokens_of_their_model_round():
    lines = (
        {"type": "message", "role": "assistant", "text": "a", "usage": {"inputTokens": 9, "outputTokens": "many"}},
        {"type": "toolCall", "tool": "Bash", "usage": {"outputTokens": -1}},
        {"type": "toolCall", "tool": "Read", "usage": "much"},
    )
    seen = command.transcript(capture_of(jsonl(*lines)), session_with(stand_in("x", output="events"))).events
    assert seen == (
        Message(role="assistant", text="a", usage=RoundUsage(input_tokens=9)),
        ToolCall(tool="Bash"),
        ToolCall(tool="Read"),
    )


KINDS = [*command.EVENTS, "step", "session", "error"]
FIELDS = """
    role phase text tool args output command exitCode path skill signal at id usage cost class turns
"""
VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.just({}) | st.just([])


@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(FIELDS.split()), VALUES))
def test_no_line_makes_it_raise(kind, fields):
    line = json.dumps(fields | {"type": kind})
    read(line)
    command.progress(line)


def test_resuming_starts_the_program_with_the_new_prompt():
    session = session_with(stand_in("run", "{prompt}"))
    assert command.resume(replace(session, prompt="Why?"), "s-1").argv == ("run", "Why?")
