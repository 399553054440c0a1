"""Whole runs whose graders are programs that ask the judge's model through the tool."""

from __future__ import annotations

import json

import pytest

from judged_runs import JUDGED, MODEL, SPENT, results, run, scratch
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Say
from scripted_http import Reply, ScriptedServer
from skillgym_package import new_node

COST = 0.00126  # of one answer
# The client has no proxy of its own: what the environment says must suffice to reach the server on loopback.
GRADER = """
import json, os, sys, urllib.error, urllib.request

url, token = (os.environ.get(f"AGENTV_TARGET_PROXY_{name}") for name in ("URL", "TOKEN"))
if not url:
    print(json.dumps({"score": 0.25, "assertions": [{"text": "no model", "passed": False}]}))
    sys.exit()
answer = json.load(sys.stdin)["output"]
scores = []
for number in range(int(sys.argv[1])):
    body = json.dumps({"question": f"{number}: how good is {answer!r}?", "systemPrompt": "Say a number."}).encode()
    request = urllib.request.Request(f"{url}/invoke", body, {"Authorization": f"Bearer {token}"})
    try:
        scores.append(float(json.load(urllib.request.urlopen(request))["rawText"]))
    except urllib.error.HTTPError as error:
        scores.append(0)
        print(error.code, error.read().decode(), file=sys.stderr)
keys = [name for name, value in os.environ.items() if "judge-" in value]
checks = [{"text": f"scores {scores}", "passed": True}, {"text": f"keys {keys}", "passed": not keys}]
print(json.dumps({"score": sum(scores) / len(scores), "assertions": checks}))
"""


def said(text: str) -> Reply:
    return Reply(body=Anthropic().whole(Ask(position=0, tools={}, model=MODEL, stream=False), [Say(text)]))


def asking(folder, target="true", questions=1, **judge):
    """A repository with a case whose grader asks the model."""
    suite = (
        "tests:\n- id: one\n  input: Greet.\n  assertions:\n"
        f"  - {{type: code-grader, command: [python3, ./grader.py, '{questions}'], target: {target}}}\n"
    )
    made = scratch(folder, SPENT, suite, **judge)
    (folder / "bench" / "grader.py").write_text(GRADER)
    return made


def test_a_grader_asks_the_model_without_the_key_and_its_cost_is_the_judges(tmp_path):
    with ScriptedServer(said("1"), said("0.6")) as server:
        ran = run(asking(tmp_path, questions=2, **JUDGED), server)
    (result,) = results(tmp_path)
    assert (ran.code, result["status"]) == (0, "passed"), ran.err
    outcome = result["outcomes"][0]
    assert outcome["score"] == pytest.approx(0.8)
    assert "scores [1.0, 0.6]" in outcome["evidence"]
    assert "keys []" in outcome["evidence"]
    assert outcome["judge"]["model"] == MODEL
    assert result["costUsd"] == pytest.approx(0.5 + 2 * COST)
    assert [request.body["system"] for request in server.requests] == ["Say a number."] * 2


FETCHING = """
const { AGENTV_TARGET_PROXY_URL: url, AGENTV_TARGET_PROXY_TOKEN: token } = process.env;
const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token}` };
const post = async (path, body) =>
  (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).json();
const one = await post("/invoke", { question: "One?", systemPrompt: undefined, evalCaseId: undefined });
const { responses } = await post("/invokeBatch", { requests: [{ question: "Two?" }, { question: "Three?" }] });
const info = await (await fetch(`${url}/info`, { headers })).json();
const texts = [one, ...responses].map(({ rawText }) => rawText);
const text = `${texts.join(" ")}; ${info.callCount} of ${info.maxCalls} on ${info.targetName}`;
console.log(JSON.stringify({ score: 1, assertions: [{ text, passed: one.output[0].content === one.rawText }] }));
"""


def test_a_client_in_javascript_asks_as_agentvs_does(tmp_path):
    suite = (
        "tests:\n- id: one\n  input: Greet.\n  assertions:\n"
        f"  - {{type: code-grader, command: ['{new_node()}', ./grader.mjs], target: {{maxCalls: 3}}}}\n"
    )
    folder = scratch(tmp_path, SPENT, suite, **JUDGED)
    (folder / "bench" / "grader.mjs").write_text(FETCHING)
    with ScriptedServer(said("a"), said("b"), said("c")) as server:
        ran = run(folder, server)
    assert ran.code == 0, ran.err
    (result,) = results(tmp_path)
    assert result["outcomes"][0]["explanation"] == f"a b c; 3 of 3 on {MODEL}"


def test_questions_and_answers_are_kept_with_the_session(tmp_path):
    with ScriptedServer(said("1"), said("0.6")) as server:
        run(asking(tmp_path, questions=2, **JUDGED), server)
    first, second = (json.loads(path.read_text()) for path in sorted((tmp_path / "out").rglob("judge-*.json")))
    assert (first["instructions"], first["answer"]) == ("Say a number.", {"text": "1"})
    assert first["prompt"][0].startswith("0: how good is 'Hello")
    assert (second["answer"], second["costUsd"]) == ({"text": "0.6"}, pytest.approx(COST))


def test_the_server_is_reached_although_programs_use_a_proxy(tmp_path):
    with ScriptedServer(said("1")) as proxy:
        environment = {"http_proxy": proxy.url, "ANTHROPIC_BASE_URL": "http://judge.invalid"}
        ran = run(asking(tmp_path, **JUDGED), proxy, **environment)
    assert ran.code == 0, ran.err
    assert proxy.lines == ["POST http://judge.invalid/v1/messages"]


def test_without_an_answer_the_case_is_errored_whatever_the_grader_says(tmp_path):
    with ScriptedServer(said("1"), Reply(401)) as server:
        run(asking(tmp_path, questions=2, **JUDGED), server)
    (result,) = results(tmp_path)
    assert result["status"] == "errored"
    assert "the grader asked the judge's model, which gave no answer" in result["outcomes"][0]["explanation"]


def test_a_grader_that_does_not_name_a_target_has_no_model(tmp_path):
    with ScriptedServer() as server:
        run(asking(tmp_path, target="false", **JUDGED), server)
    (result,) = results(tmp_path)
    assert (result["status"], result["outcomes"][0]["score"]) == ("failed", 0.25)
    assert "judge" not in result["outcomes"][0]
