"""The server through which a program asks the judge's model: real requests to it, and a scripted model service."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from fakes_clock import FakeClock
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Say
from scripted_http import Reply, ScriptedServer, Silence
from skillgym_action.judging.judge.client import Judge
from skillgym_action.judging.judge.model_proxy import ModelProxy
from skillgym_action.model.judge_question import JudgeConfig, JudgeInfo
from skillgym_action.system.cancellation import Cancellation
from waiting import until, until_returned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = "judge-Zm9vYmFyYmF6cXV4"
MODEL = "claude-haiku-4-5"
COST = 0.00126  # of one answer


def said(text: str) -> Reply:
    return Reply(body=Anthropic().whole(Ask(position=0, tools={}, model=MODEL, stream=False), [Say(text)]))


@pytest.fixture
def judge() -> Iterator[Callable[[str], Judge]]:
    with closing(Cancellation()) as cancelled:

        def opened(url: str) -> Judge:
            env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": url}
            config = JudgeConfig(api="anthropic", model=MODEL, env=env)
            return Judge(config, clock=FakeClock(), cancelled=cancelled)

        yield opened


def sent(proxy: ModelProxy, method: str, path: str, content: Any = None, token: str | None = None) -> tuple[int, Any]:
    """Status and JSON of the reply; ``content`` may be JSON, or the bytes of the body."""
    host, _, port = proxy.url.removeprefix("http://").partition(":")
    with closing(http.client.HTTPConnection(host, int(port), timeout=10)) as connection:
        body = content if isinstance(content, bytes | None) else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {proxy.token if token is None else token}"}
        connection.request(method, path, body=body, headers=headers)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())


def invoked(proxy: ModelProxy, question: str = "Is it right?", **more: Any) -> tuple[int, Any]:
    return sent(proxy, "POST", "/invoke", {"question": question, **more})


def test_a_question_is_answered_with_text_messages_and_tokens(judge):
    with ScriptedServer(said("Yes.")) as service, ModelProxy(judge(service.url), 5) as proxy:
        status, reply = invoked(proxy, systemPrompt="Be brief.", evalCaseId="one", attempt=2)
    assert (status, reply) == (
        200,
        {
            "output": [{"role": "assistant", "content": "Yes."}],
            "rawText": "Yes.",
            "tokenUsage": {"input": 1320, "output": 42, "cached": 300},
        },
    )
    (request,) = service.requests
    assert (request.body["system"], request.body["messages"]) == (
        "Be brief.",
        [{"role": "user", "content": "Is it right?"}],
    )
    assert "tools" not in request.body


def test_without_a_system_prompt_none_is_sent(judge):
    with ScriptedServer(said("Yes.")) as service, ModelProxy(judge(service.url), 5) as proxy:
        invoked(proxy)
    assert "system" not in service.requests[0].body


def test_what_was_asked_is_known_with_its_cost_and_the_judge(judge):
    with ScriptedServer(said("Yes."), said("No.")) as service, ModelProxy(judge(service.url), 5) as proxy:
        invoked(proxy, "One?")
        invoked(proxy, "Two?")
    assert [(call.prompt, call.reply.text) for call in proxy.calls] == [("One?", "Yes."), ("Two?", "No.")]
    assert proxy.cost_usd == pytest.approx(2 * COST)
    assert proxy.judge == JudgeInfo(api="anthropic", model=MODEL, versions=(MODEL,))
    assert proxy.unanswered is None


def test_the_key_is_in_no_reply(judge):
    echoed = Reply(400, {"error": {"type": "invalid_request_error", "message": f"bad key {KEY}"}})
    with ScriptedServer(echoed) as service, ModelProxy(judge(service.url), 5) as proxy:
        replies = [invoked(proxy), sent(proxy, "GET", "/info")]
    assert replies[0][0] == 502
    assert KEY not in json.dumps(replies)


def test_info_names_the_model_and_counts_questions(judge):
    with ScriptedServer(said("Yes.")) as service, ModelProxy(judge(service.url), 5) as proxy:
        invoked(proxy)
        status, reply = sent(proxy, "GET", "/info")
    assert (status, reply) == (
        200,
        {"targetName": MODEL, "maxCalls": 5, "callCount": 1, "availableTargets": [MODEL]},
    )


@pytest.mark.parametrize("token", ["", "wrong", "é"])
def test_nothing_is_asked_without_the_token(judge, token):
    with ScriptedServer() as service, ModelProxy(judge(service.url), 5) as proxy:
        replies = [
            sent(proxy, "POST", "/invoke", {"question": "?"}, token=token.encode().decode("latin-1")),
            sent(proxy, "GET", "/info", token=token.encode().decode("latin-1")),
        ]
    assert replies == [(401, {"error": "Unauthorized"})] * 2
    assert service.requests == []


def test_tokens_differ(judge):
    one, other = (ModelProxy(judge("http://127.0.0.1:1"), 5) for _ in range(2))
    with one, other:
        assert one.token != other.token
        assert len(one.token) == 64


def test_it_listens_on_loopback_alone(judge):
    with ModelProxy(judge("http://127.0.0.1:1"), 5) as proxy:
        assert proxy.url.startswith("http://127.0.0.1:")
        assert proxy.variables == {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    with ModelProxy(judge("http://127.0.0.1:1"), 5, no_proxy="localhost,.corp") as proxy:
        assert proxy.variables["NO_PROXY"] == "localhost,.corp,127.0.0.1"


def test_more_questions_than_allowed_are_refused_and_not_asked(judge):
    with ScriptedServer(said("Yes."), said("Yes.")) as service, ModelProxy(judge(service.url), 1) as proxy:
        replies = [invoked(proxy), invoked(proxy)]
        batch = sent(proxy, "POST", "/invokeBatch", {"requests": [{"question": "?"}]})
    assert [status for status, _ in (*replies, batch)] == [200, 429, 429]
    assert replies[1][1] == {"error": "Max calls exceeded (limit: 1)"}
    assert len(service.requests) == 1


def test_questions_of_a_batch_are_answered_one_by_one(judge):
    questions = [{"question": "One?"}, {}, {"question": "Two?", "target": "gpt"}, {"question": "Three?"}]
    with ScriptedServer(said("Yes."), said("No.")) as service, ModelProxy(judge(service.url), 4) as proxy:
        status, reply = sent(proxy, "POST", "/invokeBatch", {"requests": questions})
        _, info = sent(proxy, "GET", "/info")
    assert status == 200
    assert [one["rawText"] for one in reply["responses"]] == [
        "Yes.",
        "Error: Missing required field: question",
        f"Error: Unknown target 'gpt'. Available: {MODEL}",
        "No.",
    ]
    assert info["callCount"] == 2


WRONG = [
    pytest.param("POST", "/invoke", b"{", 400, "The body is not JSON", id="no JSON"),
    pytest.param("POST", "/invoke", b"[" * 100_000, 400, "The body is not JSON", id="nested without end"),
    pytest.param("POST", "/invoke", {"question": 7}, 400, "Missing required field: question", id="no text"),
    pytest.param("POST", "/invoke", ["?"], 400, "Missing required field: question", id="a list"),
    pytest.param("POST", "/invokeBatch", {}, 400, "Missing required field: requests (array)", id="no requests"),
    pytest.param("POST", "/other", {}, 404, "Not found", id="another path"),
    pytest.param("GET", "/invoke", None, 404, "Not found", id="another method"),
]


@pytest.mark.parametrize(("method", "path", "content", "status", "message"), WRONG)
def test_a_bad_request_is_refused_and_not_asked(judge, method, path, content, status, message):
    with ScriptedServer() as service, ModelProxy(judge(service.url), 5) as proxy:
        assert sent(proxy, method, path, content) == (status, {"error": message})
    assert service.requests == []


def test_a_large_request_is_refused_before_it_is_read(judge):
    with ModelProxy(judge("http://127.0.0.1:1"), 5) as proxy:
        host, _, port = proxy.url.removeprefix("http://").partition(":")
        with closing(http.client.HTTPConnection(host, int(port), timeout=10)) as connection:
            headers = {"Authorization": f"Bearer {proxy.token}", "Content-Length": "9" * 20}
            connection.request("POST", "/invoke", headers=headers)
            assert connection.getresponse().status == 413


def test_a_question_without_an_answer_is_known_until_it_is_asked_again(judge):
    with ScriptedServer(Reply(400, {}), said("Yes.")) as service, ModelProxy(judge(service.url), 5) as proxy:
        status, reply = invoked(proxy)
        assert (status, reply["error"]) == (502, proxy.unanswered)
        assert "answered 400" in reply["error"]
        assert invoked(proxy)[0] == 200
        assert proxy.unanswered is None


def test_a_question_that_is_still_open_at_the_end_has_an_unknown_cost_and_is_not_waited_for(judge):
    with ScriptedServer(Silence()) as service:
        proxy = ModelProxy(judge(service.url), 5)

        def asked_and_left() -> ModelProxy:
            with proxy:
                threading.Thread(target=lambda: _ignored(proxy), daemon=True).start()
                return until(lambda: service.requests and proxy, "the question")

        until_returned(asked_and_left, "the end of the proxy")
        assert proxy.cost_usd is None


def _ignored(proxy: ModelProxy) -> None:
    try:
        invoked(proxy)
    except OSError:
        return


def test_after_its_end_nobody_listens(judge):
    with ScriptedServer(said("Yes.")) as service:
        with ModelProxy(judge(service.url), 5) as proxy:
            pass
        with pytest.raises(ConnectionRefusedError):
            invoked(proxy)
    assert service.requests == []
