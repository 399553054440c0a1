"""The end and the outcome of a session, read from the whole stream: several results, none, and what comes after."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from captured import FOLDER, capture_in
from sessions import SESSION, capture_of, jsonl
from skillgym_action.agents import agent_named
from skillgym_action.sessions.session_limits import SessionLimits
from skillgym_action.system.processes.outputs import MAX_OUTPUT_LINE_BYTES, OutputFile
from table_rows import each_row

# Agents whose stream has a line for the result, with turns.
INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}


def said(text: str, step: str = "m1", tokens: int = 100, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 10}
    message = {
        "id": step,
        "model": "m",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "usage": usage,
    }
    return {"type": "assistant", "parent_tool_use_id": None, "message": message, **more}


def result(text: str, turns: int | None = 1, usd: float | None = 0.01, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 100, "output_tokens": 10}
    numbers = {} if turns is None else {"num_turns": turns}
    money = {} if usd is None else {"total_cost_usd": usd}
    line = {"type": "result", "subtype": "success", "is_error": False, "result": text, "usage": usage}
    return line | numbers | money | more


ERROR = {
    "subtype": "error_during_execution",
    "is_error": True,
    "errors": ["Internal server error"],  # as Claude Code has it
    "error": {"message": "Internal server error"},  # as Qwen Code has it
}
UNUSED = {"input_tokens": 0, "output_tokens": 0}
# Lines, and what becomes of them: the kind of trouble (None: judged), the final output.
STREAMS = {
    "a helper's result, then the main agent's": (
        [said("Waiting."), result("Helper."), said("All done.", "m2"), result("All done.", 2, 0.03)],
        (None, "All done."),
    ),
    "a helper's error, then the main agent's success": (
        [said("Waiting."), result("", 1, **ERROR), said("All done.", "m2"), result("All done.", 2)],
        (None, "All done."),
    ),
    "a success, then an error without turns": (
        [said("done"), result("done"), result("", 0, 0.0, **ERROR)],
        (None, "done"),
    ),
    "a success, then an error with turns": (
        [said("done"), result("done"), said("more", "m2"), result("", 2, **ERROR)],
        ("provider", ""),
    ),
    "an error, then a success without turns": (
        [said("hm"), result("", 1, **ERROR), result("fine", 0, 0.0)],
        ("provider", ""),
    ),
    "a result, and the agent goes on and is cut off": (
        [said("Waiting."), result("Waiting."), said("and", "m2")],
        "cut",
    ),
    "a success without turns and messages": ([result("", 0, 0.0)], ("no-model-call", "")),
    "a success without turns that has words of the CLI": (
        [result("Unknown command: /x", 0, 0.0)],
        ("no-model-call", "Unknown command: /x"),
    ),
    "a success without turns after an answer of the model": ([said("done"), result("done", 0)], (None, "done")),
    "an error by its subtype alone": (
        [said("x"), result("", 5, **ERROR | {"is_error": False})],
        ("provider", ""),
    ),
    "no call of the model, but a turn": (
        [result("Unknown skill: foo", 1, 0.0, usage=UNUSED)],
        ("no-model-call", "Unknown skill: foo"),
    ),
    "no call of the model, and no number of turns": (
        [result("Unknown skill: foo", None, 0.0, usage=UNUSED)],
        ("no-model-call", "Unknown skill: foo"),
    ),
    "a helper's message after the end": (
        [said("done"), result("done"), said("by the way", "m9", parent_tool_use_id="t1")],
        (None, "done"),
    ),
    "an error called a success": ([said("x"), result("success", 1, is_error=True)], ("runner-crash", "success")),
    "a result that has only the beginning of the answer": (
        [said("The whole answer."), result("The whole")],
        (None, "The whole answer."),
    ),
}


@each_row([(f"{agent}, {what}", (agent, what)) for agent in ("claude-code", "qwen") for what in STREAMS])
def test_the_last_result_with_turns_decides(row):
    agent, what = row
    lines, expected = STREAMS[what]
    capture = capture_of(jsonl(INIT, *lines))
    transcript = agent_named(agent).transcript(capture, SESSION)
    trouble = agent_named(agent).trouble(capture, transcript)
    if expected == "cut":
        assert trouble is not None
        assert trouble.message == "ended without a result"
        return
    kind, text = expected
    assert (trouble and trouble.kind, transcript.final_output) == (kind, text)
    assert trouble is None or trouble.message.lower() not in {"", "success"}


CLEARED = {"role": "assistant", "content": [{"type": "text", "text": "Cleared."}], "usage": UNUSED}
# What a CLI says itself, as a message.
OWN = {
    "claude-code": {"type": "assistant", "message": CLEARED | {"id": "m1", "model": "<synthetic>"}},
    "qwen": {"type": "assistant", "message": CLEARED | {"id": "m1", "model": "m"}},
}
REFUSAL, NO_PROGRAM = 'The command "/help" is not supported in this mode.', "cannot run the command /bin/sh"


def refusal(words: str, turns: int = 0) -> dict[str, Any]:
    return result("", turns, 0.0, is_error=True, errors=[words], error={"message": words}, usage=UNUSED)


CALL = "the agent ended without asking its model"
# Lines, how the process ended, and the trouble: the CLI took the prompt for a command of its own, or crashed.
OWN_COMMANDS = {
    "its words are those of a message": (
        [OWN, result("Cleared.", 0, 0.0, usage=UNUSED)],
        {},
        ("no-model-call", f"{CALL}: Cleared."),
    ),
    "an error that names the command": (
        [refusal(REFUSAL)],
        {"exit_code": 1},
        ("no-model-call", f"{CALL}: {REFUSAL}"),
    ),
    "an error that names a program": (
        [refusal(NO_PROGRAM)],
        {"exit_code": 1},
        ("runner-crash", NO_PROGRAM),
    ),
    "an error with a turn": (
        [said("It says:"), refusal(REFUSAL, turns=1)],
        {"exit_code": 1},
        ("runner-crash", REFUSAL),
    ),
    "the process crashed after it": (
        [result("", 0, 0.0, usage=UNUSED)],
        {"exit_code": 3, "stderr": "TypeError: x is undefined"},
        ("runner-crash", f"{CALL}: TypeError: x is undefined"),
    ),
}


@each_row([(f"{agent}, {what}", (agent, what)) for agent in OWN for what in OWN_COMMANDS])
def test_a_session_that_never_asked_its_model_is_no_crash_unless_the_record_shows_one(row):
    agent, what = row
    lines, ending, expected = OWN_COMMANDS[what]
    capture = capture_of(jsonl(INIT, *(OWN[agent] if line is OWN else line for line in lines)), **ending)
    trouble = agent_named(agent).transcript(capture, SESSION).trouble
    assert (trouble.kind, trouble.message) == expected


def test_a_message_names_the_command_of_the_cli_that_ran():
    lines = [result("", 0, 0.0, usage=UNUSED, local_command="clear")]
    trouble = agent_named("claude-code").transcript(capture_of(jsonl(INIT, *lines)), SESSION).trouble
    assert (trouble.kind, trouble.message) == ("no-model-call", f"{CALL}: it ran its own command /clear")


@pytest.mark.parametrize("agent", ["claude-code", "qwen"])
def test_what_was_spent_is_never_less_later(agent):
    more = {"modelUsage": {"m": {"inputTokens": 900, "outputTokens": 90}}, "usage": {"input_tokens": 900}}
    lines = (said("done", tokens=900), result("done", 2, 0.5, **more), result("", 0, 0.0, **ERROR))
    found = agent_named(agent).transcript(capture_of(jsonl(INIT, *lines)), SESSION)
    assert found.usage.input_tokens == 900
    assert found.turns == 2
    assert found.cost.usd == (0.5 if agent == "claude-code" else None)


def test_a_cost_of_0_for_tokens_is_unknown():
    found = agent_named("claude-code").transcript(
        capture_of(jsonl(INIT, said("done"), result("done", 1, 0.0))), SESSION
    )
    assert found.cost.usd is None


@pytest.mark.parametrize("agent", sorted({path.parent.parent.name for path in FOLDER.glob("*/shell/stdout.jsonl")}))
def test_an_agent_that_goes_on_after_its_result_is_not_done(agent):
    """Its own recorded output twice, the second time without its end."""
    lines = capture_in(FOLDER / agent / "shell").stdout.text.splitlines()
    lines += ['{"type":"idle"}'] if agent == "opencode" else []  # what the tool's plugin prints
    half = lines[: len(lines) * 2 // 3]
    limits = SessionLimits(agent_named(agent), SESSION)
    for line in lines:
        limits(line)
    assert limits.finished
    assert limits.has_result
    for line in half[:-1]:
        limits(line)
    assert not limits.finished
    assert not limits.has_result
    for line in lines[len(half) - 1 :]:
        limits(line)
    assert limits.finished


@each_row(
    {
        "the result repeats the last message": ([said("All done."), result("All done.")], True),
        "the result has the beginning of a long message": ([said("x" * 5000), result("x" * 3000)], True),
        "a helper's result is other than the last message": ([said("Waiting."), result("Helper finished.")], False),
        "the result of an error": ([said("Waiting."), result("", 1, **ERROR)], True),
        "a helper still works in the background": (
            [{"type": "system", "subtype": "task_started", "task_id": "t"}, said("Later."), result("Later.")],
            False,
        ),
        "the helper has ended": (
            [
                {"type": "system", "subtype": "task_started", "task_id": "t"},
                {"type": "system", "subtype": "task_notification", "task_id": "t"},
                said("Done."),
                result("Done."),
            ],
            True,
        ),
        "a server in the background does not count": (
            [
                {"type": "system", "subtype": "task_started", "task_id": "t", "task_type": "local_bash"},
                said("Done."),
                result("Done."),
            ],
            True,
        ),
        "any event after the result": ([said("Done."), result("Done."), {"type": "system", "subtype": "x"}], False),
        "a line of text after the result": ([said("Done."), result("Done."), None], True),
    }.items()
)
def test_when_the_agent_is_expected_to_exit(row):
    lines, finished = row
    limits = SessionLimits(agent_named("claude-code"), SESSION)
    for line in lines:
        limits("warning: something" if line is None else json.dumps(line))
    assert bool(limits.finished) == finished


@pytest.mark.parametrize("agent", ["claude-code", "qwen"])
def test_of_a_result_that_is_too_long_the_beginning_is_read(agent, tmp_path):
    (tmp_path / "out").write_text(jsonl(INIT, said("done"), result("x" * MAX_OUTPUT_LINE_BYTES)))
    capture = replace(capture_of(), stdout=OutputFile(tmp_path / "out"))
    transcript = agent_named(agent).transcript(capture, SESSION)
    assert agent_named(agent).trouble(capture, transcript) is None
    assert (transcript.final_output[:3], transcript.dropped_events, transcript.background) == ("xxx", 1, ())


def test_a_result_of_a_tool_that_is_too_long_is_no_work_in_the_background(tmp_path):
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "cat big"}}
    asked = {"type": "assistant", "parent_tool_use_id": None, "message": {"id": "m1", "model": "m", "content": [call]}}
    answer = {"type": "tool_result", "tool_use_id": "c", "content": "x" * MAX_OUTPUT_LINE_BYTES}
    lines = (INIT, asked, {"type": "user", "message": {"content": [answer]}}, said("done", "m2"), result("done"))
    (tmp_path / "out").write_text(jsonl(*lines))
    transcript = agent_named("claude-code").transcript(
        replace(capture_of(), stdout=OutputFile(tmp_path / "out")), SESSION
    )
    assert (transcript.trouble, transcript.dropped_events, transcript.background) == (None, 1, ())
