"""What is read of recorded output, and that no output makes an adapter raise."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from captured import AGENTS, FOLDER, RECORDED, lines_of, recorded_report, report_of
from sessions import Printed, capture_of, session_with
from skillgym_action import agents
from skillgym_action.agents import agent_named
from skillgym_action.agents.output.agent_output import MAX_TRANSCRIPT_EVENTS
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.session import AgentConfig, Capture, Ending
from skillgym_action.model.session_report import Message, Raw, RoundUsage, ToolCall
from skillgym_action.system.processes.outputs import OutputFile
from table_rows import each_row

by_agent = pytest.mark.parametrize("agent", AGENTS)
each_agent = each_row([(agent, agent) for agent in AGENTS])


@each_row([("/".join(recorded), recorded) for recorded in RECORDED])
def test_a_recorded_session_becomes_the_expected_report(recorded):
    agent, scenario = recorded
    expected = json.loads((FOLDER / agent / scenario / "report.json").read_text())
    assert to_json(recorded_report(agent, scenario)) == expected


@each_row([(agent, agent) for agent in AGENTS if agents.AGENTS[agent].version])
def test_the_same_session_costs_each_agent_the_same_tokens(agent):
    """Each model call had 1000 tokens of input or more, 300 of them from the cache, and 42 of output."""
    usage = recorded_report(agent, "shell").usage
    written_to_cache = 40 if agent == "claude-code" else 0
    read_beside_input = 600 if agent == "claude-code" else 0
    assert usage.input_tokens == 2001 + written_to_cache + read_beside_input
    reasoning_beside_output = 10 if agent == "gemini" else 0
    output = 84 + reasoning_beside_output
    assert usage.output_tokens + (usage.reasoning_tokens or 0) == output
    assert usage.total_tokens == usage.input_tokens + output - 600


# Input, output, reasoning and cached tokens of a round that each agent tells of the same two rounds.
ROUND = {
    "claude-code": (1320, None, None, 300),
    "copilot": (1000, 37, 5, 300),
    "gemini": (1000, 42, 5, 300),
    "opencode": (1000, 37, 5, 300),
    "pi": (1000, 37, 5, 300),
    "qwen": (1000, 42, None, 300),
}


@each_agent
def test_a_model_round_has_its_tokens_at_one_event_and_none_where_the_agent_does_not_tell(agent):
    said = [event for event in recorded_report(agent, "shell").events if isinstance(event, Message | ToolCall)]
    numbers = [(one.input_tokens, *rest_of(one)) for event in said if (one := event.usage)]
    if agent not in ROUND:
        assert numbers == []
    else:
        first, *rest = ROUND[agent]
        assert numbers == [(first, *rest), (first + 1, *rest)]


def rest_of(usage: RoundUsage) -> tuple[int | None, ...]:
    return usage.output_tokens, usage.reasoning_tokens, usage.cache_tokens


@each_agent
def test_every_recorded_session_says_when_it_has_ended(agent):
    lines = (FOLDER / agent / "shell" / "stdout.jsonl").read_text().splitlines()
    seen = [progress for line in lines if (progress := agent_named(agent).progress(line))]
    assert sorted(progress.finished for progress in seen) == [False] * (len(seen) - 1) + [True]


@each_agent
def test_a_session_that_was_cut_at_any_place_is_a_crash_not_a_success(agent):
    lines = (FOLDER / agent / "shell" / "stdout.jsonl").read_text().splitlines(keepends=True)
    for size in range(len(lines) - 1):
        cut = "".join(lines[:size]) + lines[size][: len(lines[size]) // 2]
        report = report_of(agent, capture_of(cut, ending=Ending.SIGNALLED, exit_code=-9))
        assert (report.trouble.kind, report.trouble.message) == ("runner-crash", "ended by SIGKILL")


# --- hostile output ---------------------------------------------------------------------------------


def survives(agent: str, stdout: str, collected: tuple[str, ...] = ()) -> None:
    json.dumps(to_json(report_of(agent, capture_of(stdout, exit_code=1, collected=collected))), ensure_ascii=False)
    for line in Printed(stdout).lines():
        agent_named(agent).progress(line)


def words_in(value: Any) -> set[str]:
    """Keys, and the short texts that may decide what a line means."""
    if isinstance(value, list):
        return {word for item in value for word in words_in(item)}
    if isinstance(value, dict):
        return {*value, *words_in(list(value.values()))}
    return {value} if isinstance(value, str) and len(value) < 30 and value.isidentifier() else set()


def values_of(agent: str) -> tuple[st.SearchStrategy[str], st.SearchStrategy[Any]]:
    """Keys and values an agent's output might hold, mixed at will."""
    known = sorted({word for line in lines_of(agent) for word in words_in(json.loads(line))})
    keys = st.sampled_from(known)
    plain = st.none() | st.booleans() | st.integers() | st.floats() | keys | st.text(max_size=5)
    return keys, st.recursive(
        plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=6), max_leaves=20
    )


@pytest.mark.slow
@by_agent
@given(data=st.data())
def test_no_json_makes_it_raise(agent, data):
    keys, values = values_of(agent)
    lines = data.draw(st.lists(st.dictionaries(keys, values, max_size=8), max_size=4))
    printed = "\n".join(json.dumps(line) for line in lines)
    survives(agent, printed, (printed,))


@pytest.mark.slow
@by_agent
@given(data=st.data())
def test_no_field_of_the_wrong_type_makes_it_raise(agent, data):
    keys, values = values_of(agent)
    line = data.draw(st.sampled_from(lines_of(agent)))
    survives(agent, json.dumps(with_everywhere(json.loads(line), data.draw(keys), data.draw(values))))


@by_agent
@given(data=st.data())
def test_no_torn_or_mixed_line_makes_it_raise(agent, data):
    line = data.draw(st.sampled_from(lines_of(agent)))
    survives(agent, line[: data.draw(st.integers(0, 6000))] + data.draw(st.text(max_size=20)))


HOSTILE_LINES = {
    "nested without end": '{"type":"assistant","message":{"content":' + "[" * 100_000,
    "nested deeply": '{"type":' + '{"a":' * 900 + "1" + "}" * 900 + "}",
    "a number with 5000 digits": '{"type":"result","num_turns":' + "9" * 5000 + "}",
    "no numbers": '{"type":"result","total_cost_usd":NaN,"num_turns":Infinity}',
    "of a later version": '{"type":"surely_nobody_prints_this","message":{}}',
    "control characters": "\x00\x1b[31m",
}


@each_row([(f"{agent}, {what}", (agent, line)) for agent in AGENTS for what, line in HOSTILE_LINES.items()])
def test_a_hostile_line_is_kept_and_no_more(row):
    agent, line = row
    whole = (FOLDER / agent / "shell" / "stdout.jsonl").read_text()
    mixed = report_of(agent, capture_of(f"{line}\n{whole}"))
    kept = [event for event in mixed.events if not isinstance(event, Raw)]
    plain = [event for event in report_of(agent, capture_of(whole)).events if not isinstance(event, Raw)]
    assert kept == plain


@by_agent
def test_bytes_that_are_no_text_and_much_output_are_read_line_by_line(agent, tmp_path):
    """Some megabytes of lines, each too long to be kept, none of them known."""
    printed = tmp_path / "stdout.log"
    printed.write_bytes(b'{"type":"\xff\xfe' + b"x" * 3_000_000 + b'"}\n' + b"\xc3\x28 noise\n" * 1000)
    empty = Printed()
    report = report_of(
        agent, Capture(ending=Ending.EXITED, exit_code=0, stdout=OutputFile(printed), stderr=empty, seconds=1.0)
    )
    raw = [event for event in report.events if isinstance(event, Raw)]
    assert len(raw) == 1001
    assert all(len(event.line) < 300_000 for event in raw)


def with_everywhere(value: Any, key: str, replacement: Any) -> Any:
    if isinstance(value, list):
        return [with_everywhere(item, key, replacement) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: replacement if name == key else with_everywhere(item, key, replacement) for name, item in value.items()
    }


@pytest.mark.parametrize("agent", ["claude-code", "command"])
def test_events_beyond_the_limit_are_counted(tmp_path, agent):
    """They do not fill our memory."""
    words = {
        "claude-code": {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "again"}]}},
        "command": {"type": "message", "role": "assistant", "text": "again"},
    }
    ends = {"claude-code": {"type": "result", "subtype": "success", "is_error": False, "result": "done"},
            "command": {"type": "session", "finalOutput": "done"}}  # fmt: skip
    lines = [json.dumps(words[agent])] * (MAX_TRANSCRIPT_EVENTS + 1) + [json.dumps(ends[agent])]
    (tmp_path / "out").write_text("\n".join(lines))
    (tmp_path / "err").touch()
    capture = Capture(
        ending=Ending.EXITED,
        exit_code=0,
        stdout=OutputFile(tmp_path / "out"),
        stderr=OutputFile(tmp_path / "err"),
        seconds=1.0,
    )
    adapter = agent_named(agent)
    session = session_with(AgentConfig(type=agent, output="events"))
    transcript = adapter.transcript(capture, session)
    assert len(transcript.events) == MAX_TRANSCRIPT_EVENTS
    assert transcript.final_output == "done"
    assert (adapter.trouble(capture, transcript), transcript.dropped_events) == (None, 1)
