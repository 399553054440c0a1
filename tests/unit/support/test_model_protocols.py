"""The services a scripted model stands in for, asked the way agents ask them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from model_anthropic import Anthropic
from model_gemini import Gemini
from model_openai import Chat, Responses
from model_script import Call, Read, Say, Shell, Skill, Think, Write, call_for
from model_server import PROTOCOLS

if TYPE_CHECKING:
    from model_protocols import ModelProtocol

SCHEMA = {"properties": {"command": {}}}
TOOL = {"name": "bash", "parameters": SCHEMA}
ANSWERED = [Think("hm"), Say("I look."), Call("bash", {"command": "ls"})]


@dataclass(frozen=True)
class Service:
    """A protocol, where it is asked, and how: with nothing said so far, and after one turn of two parts."""

    protocol: ModelProtocol
    path: str
    new: dict[str, Any]
    after_a_turn: dict[str, Any]
    last: Any


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


SERVICES = {
    "anthropic": Service(
        protocol=Anthropic(),
        path="v1/messages",
        new={"messages": [user("go")], "tools": [{"name": "bash", "input_schema": SCHEMA}]},
        after_a_turn={"messages": [user("go"), {"role": "assistant"}, user("result")]},
        last={"type": "message_stop"},
    ),
    "responses": Service(
        protocol=Responses(),
        path="v1/responses",
        new={"input": [user("go")], "tools": [{"type": "function", **TOOL}, {"type": "web_search"}]},
        after_a_turn={
            "input": [
                user("go"),
                {"type": "reasoning"},
                {"type": "function_call"},
                {"type": "function_call_output"},
            ]
        },
        last=None,
    ),
    "chat": Service(
        protocol=Chat(),
        path="v1/chat/completions",
        new={"messages": [user("go")], "tools": [{"type": "function", "function": TOOL}]},
        after_a_turn={"messages": [user("go"), {"role": "assistant"}, {"role": "tool"}, {"role": "tool"}]},
        last="[DONE]",
    ),
    "gemini": Service(
        protocol=Gemini(),
        path="v1beta/models/gemini-x:streamGenerateContent",
        new={"contents": [{"role": "user"}], "tools": [{"functionDeclarations": [TOOL]}]},
        after_a_turn={"contents": [{"role": "user"}, {"role": "model"}, {"role": "model"}, {"role": "user"}]},
        last=None,
    ),
}
by_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


@by_service
def test_a_service_is_found_by_its_path(service):
    (protocol,) = [protocol for end, protocol in PROTOCOLS.items() if service.path.endswith(end)]
    assert type(protocol) is type(service.protocol)


@by_service
def test_the_turns_of_the_model_are_counted_and_its_tools_have_arguments(service):
    new = service.protocol.ask(service.path, service.new)
    assert (new.position, new.tools) == (0, {"bash": frozenset({"command"})})
    assert service.protocol.ask(service.path, service.after_a_turn).position == 1


@by_service
def test_whole_and_streamed_answers_say_the_same(service):
    ask = service.protocol.ask(service.path, service.new)
    whole = json.dumps(service.protocol.whole(ask, ANSWERED))
    stream = list(service.protocol.stream(ask, ANSWERED))
    streamed = json.dumps(stream)
    for said in ("hm", "I look.", "bash", "ls"):
        assert said in whole
        assert said in streamed
    assert service.last in (None, stream[-1])


@by_service
def test_the_first_event_alone_is_no_answer(service):
    first = next(service.protocol.stream(service.protocol.ask(service.path, service.new), [Say("I look.")]))
    assert not {"STOP", "stop", "end_turn", "completed"} & set(json.dumps(first).split('"'))


@pytest.mark.parametrize(
    ("service", "usage"),
    [
        pytest.param(
            "anthropic",
            {
                "input_tokens": 1000,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 300,
                "output_tokens": 42,
            },
            id="Anthropic: three kinds of input that exclude one another",
        ),
        pytest.param(
            "responses",
            {
                "input_tokens": 1000,
                "input_tokens_details": {"cached_tokens": 300},
                "output_tokens": 42,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 1042,
            },
            id="Responses: cached in input, reasoning in output",
        ),
        pytest.param(
            "chat",
            {
                "prompt_tokens": 1000,
                "completion_tokens": 42,
                "total_tokens": 1042,
                "prompt_tokens_details": {"cached_tokens": 300},
                "completion_tokens_details": {"reasoning_tokens": 5},
            },
            id="chat: cached in input, reasoning in output",
        ),
        pytest.param(
            "gemini",
            {
                "promptTokenCount": 1000,
                "cachedContentTokenCount": 300,
                "candidatesTokenCount": 42,
                "thoughtsTokenCount": 5,
                "totalTokenCount": 1047,
            },
            id="Gemini: cached in input, thoughts beside output",
        ),
    ],
)
def test_tokens_are_told_in_the_way_of_the_service(service, usage):
    asked = SERVICES[service]
    whole = asked.protocol.whole(asked.protocol.ask(asked.path, asked.new), [Say("x")])
    assert usage in (whole.get("usage"), whole.get("usageMetadata"))


@by_service
@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
def test_an_error_names_its_status(service, status):
    assert str(status) in service.protocol.error(status)["error"]["message"]


def test_tools_in_groups_and_tools_that_take_a_text_are_on_offer():
    group = {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]}
    ask = Responses().ask("v1/responses", {"input": [{"type": "additional_tools", "tools": [group]}]})
    assert ask.tools == {"exec": frozenset({"input"})}
    (item,) = Responses().whole(ask, [call_for(Shell("ls"), ask.tools)])["output"]
    assert (item["type"], item["input"]) == (
        "custom_tool_call",
        'text(await tools.exec_command({"cmd": "ls"}));',
    )


# --- steps in the words of an agent's tools ---------------------------------------------------------


def offers(**tools: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(arguments.split()) for name, arguments in tools.items()}


@pytest.mark.parametrize(
    ("step", "offered", "call"),
    [
        pytest.param(
            Shell("ls"), offers(bash="command timeout"), Call("bash", {"command": "ls"}), id="without a description"
        ),
        pytest.param(
            Shell("ls"),
            offers(bash="command description"),
            Call("bash", {"command": "ls", "description": "run it"}),
            id="with a description",
        ),
        pytest.param(Shell("ls"), offers(exec_command="cmd"), Call("exec_command", {"cmd": "ls"}), id="codex"),
        pytest.param(
            Shell("ls"),
            offers(run_shell_command="command is_background"),
            Call("run_shell_command", {"command": "ls", "is_background": False}),
            id="gemini and qwen",
        ),
        pytest.param(Read("a"), offers(read="path offset"), Call("read", {"path": "a"}), id="pi reads a path"),
        pytest.param(Read("a"), offers(read="filePath"), Call("read", {"filePath": "a"}), id="opencode, a filePath"),
        pytest.param(Read("a"), offers(view="path"), Call("view", {"path": "a"}), id="copilot views"),
        pytest.param(
            Write("a", "b"), offers(write="path content"), Call("write", {"path": "a", "content": "b"}), id="pi writes"
        ),
        pytest.param(Skill("s"), offers(skill="name"), Call("skill", {"name": "s"}), id="opencode loads by name"),
        pytest.param(Skill("s"), offers(skill="skill"), Call("skill", {"skill": "s"}), id="copilot and qwen by skill"),
        pytest.param(
            Skill("s"), offers(activate_skill="name"), Call("activate_skill", {"name": "s"}), id="gemini activates"
        ),
        pytest.param(
            Skill("s"),
            offers(read="path", bash="command"),
            Call("read", {"path": ".agents/skills/s/SKILL.md"}),
            id="without a tool for skills they are read",
        ),
        pytest.param(
            Skill("s"),
            offers(exec_command="cmd"),
            Call("exec_command", {"cmd": "cat '.agents/skills/s/SKILL.md'"}),
            id="without a tool for files, too, by a command",
        ),
    ],
)
def test_a_step_is_put_into_the_words_of_the_offered_tools(step, offered, call):
    assert call_for(step, offered) == call
