from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
import warnings
from typing import Any

import pytest

from model_script import Fail, Forever, Hang, Say, Shell, Think, Together
from model_server import ModelServer
from waiting import until

ARGUMENTS = {
    "Bash": ("command", "description"),
    "Read": ("file_path",),
    "Write": ("file_path", "content"),
    "Skill": ("skill",),
}
TOOLS = [
    {"name": name, "input_schema": {"properties": {argument: {} for argument in arguments}}}
    for name, arguments in ARGUMENTS.items()
]
CALL = {"role": "assistant", "content": [{"type": "tool_use"}]}
RESULT = {"role": "user", "content": [{"type": "tool_result"}]}


def post(url: str, body: dict[str, Any], timeout: float = 10) -> tuple[int, str]:
    request = urllib.request.Request(url, json.dumps(body).encode())
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(base_url: str, turns: int = 0, **changes: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "go"}, *[CALL, RESULT] * turns]
    body = {"model": "m", "messages": messages, "tools": TOOLS} | changes
    return json.loads(post(f"{base_url}/v1/messages?beta=true", body)[1])


def test_the_step_follows_from_the_turns_in_the_request():
    with ModelServer() as server:
        base_url = server.script(Shell("one"), Shell("two"), Say("end"))
        stops = [ask(base_url, turns)["stop_reason"] for turns in range(4)]
    assert stops == ["tool_use", "tool_use", "end_turn", "end_turn"]


def test_a_stream_has_the_events_of_the_protocol_in_order():
    with ModelServer() as server:
        base_url = server.script(Together((Think("hm"), Shell("ls"))))
        _, stream = post(f"{base_url}/v1/messages", {"messages": [], "tools": TOOLS, "stream": True})
    assert [line.removeprefix("event: ") for line in stream.splitlines() if line.startswith("event: ")] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


def test_a_failure_is_played_as_often_as_written_and_then_the_script_goes_on():
    with ModelServer() as server:
        base_url = server.script(Fail(429, times=2), Say("fine"))
        body = {"messages": [], "tools": TOOLS}
        answers = [post(f"{base_url}/v1/messages", body)[0] for _ in range(3)]
    assert answers == [429, 429, 200]


def test_a_cut_stream_ends_after_its_first_event():
    with ModelServer() as server:
        base_url = server.scenario("cut")
        _, stream = post(f"{base_url}/v1/messages", {"messages": [], "tools": TOOLS, "stream": True})
    assert stream.count("event: ") == 1


def test_a_request_without_tools_never_plays_a_step():
    with ModelServer() as server:
        answer = ask(server.scenario("401"), tools=[])
    assert answer["content"] == [{"type": "text", "text": "side call"}]


def test_the_loop_never_ends():
    with ModelServer() as server:
        base_url = server.script(Forever(Shell("echo")))
        assert ask(base_url, turns=200)["stop_reason"] == "tool_use"


def test_what_is_not_scripted_is_not_found():
    with ModelServer() as server:
        assert post(f"{server.scenario('plain')}/v1/other", {})[0] == 404


def test_a_proxy_that_refuses_and_remembers():
    with ModelServer() as server:
        proxied = urllib.request.build_opener(urllib.request.ProxyHandler({"https": server.proxy}))
        with pytest.raises(urllib.error.URLError, match="403"):
            proxied.open("https://telemetry.example.com/", timeout=10)
    assert server.refused == ["telemetry.example.com:443"]


def test_closing_ends_a_call_that_hangs():
    with warnings.catch_warnings(), ModelServer() as server:
        body = {"messages": [], "tools": TOOLS}
        url = f"{server.script(Hang())}/v1/messages"
        hanging = threading.Thread(target=_ignore_hang_up, args=(url, body))
        hanging.start()
        until(lambda: server.requests, "the call")
        assert ask(server.script(Say("hello")))["content"]
        assert hanging.is_alive()
    hanging.join(10)
    assert not hanging.is_alive()


def _ignore_hang_up(url: str, body: dict[str, Any]) -> None:
    with pytest.raises((OSError, ConnectionError)):
        post(url, body, timeout=60)


def test_each_prompt_has_scripts_of_its_own_and_each_session_of_it_the_next_one():
    def first(base_url: str, prompt: str, session: str, turns: int = 0) -> str:
        messages = [{"role": "user", "content": [{"type": "text", "text": prompt}]}, *[CALL, RESULT] * turns]
        return ask(base_url, messages=messages, metadata={"user_id": session})["content"][0]["text"]

    with ModelServer() as server:
        url = server.prompted({'Say "one"': [(Say("1"),), (Say("one"), Say("uno"))], "Say two": [(Say("2"),)]})
        assert [first(url, 'Please. Say "one".', session) for session in "abac"] == ["1", "one", "1", "one"]
        assert first(url, 'Please. Say "one".', "b", turns=1) == "uno"
        assert first(url, "Say two", "a") == "2"
        status, words = post(f"{url}/v1/messages", {"messages": [{"role": "user", "content": "Say three"}]})
        assert (status, "nothing is scripted" in words) == (404, True)


def test_a_model_that_is_told_words_plays_other_scripts():
    def first(base_url: str, **body: Any) -> str:
        return ask(base_url, metadata={"user_id": "a"}, **body)["content"][0]["text"]

    with ModelServer() as server:
        url = server.told("writes reports", {"Greet": [(Say("told"),)]}, {"Greet": [(Say("untold"),)]})
        greeting = [{"role": "user", "content": "Greet."}]
        assert first(url, messages=greeting) == "untold"
        assert first(url, messages=greeting, system="reports: writes reports") == "told"
