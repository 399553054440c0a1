"""AgentV's targets: found, resolved, each kind as a runner; its stand-ins for agents, from command to transcript."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentv_files import case, read, suite_text, warnings
from sessions import capture_of, jsonl, session_with
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.session import AgentConfig, Ending
from skillgym_action.model.session_report import Message, ToolCall, ToolResult, Usage
from skillgym_action.suites.agentv import cli_agent, mock_agent, replay_agent, transcript_agent

CLI = {"name": "default", "provider": "cli", "command": "./agent.sh {PROMPT_FILE} {OUTPUT_FILE}"}
MOCK = {"name": "m", "provider": "mock", "response": "ok"}


def runners(root, *targets, files=None, environment=None, **execution):
    """The runners of a suite with that ``execution``, where ``targets`` are defined."""
    standard = {"evals/EVAL.yaml": suite_text(execution=execution)}
    defined = {"targets.yaml": {"targets": list(targets)}} if targets else {}
    return read(root, standard | defined | (files or {}), **environment or {}).runners


def one_runner(root, target, **more):
    """The runner that a target becomes."""
    (runner,) = runners(root, target, target=target["name"], **more)
    return runner


def problem_text(runner) -> str:
    return str(runner.problem)


# --- which file -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        pytest.param(["targets.yaml"], "targets.yaml", id="at the root"),
        pytest.param(["targets.yaml", "evals/targets.yaml"], "evals/targets.yaml", id="the nearest one"),
        pytest.param(["evals/targets.yml", "evals/targets.yaml"], "evals/targets.yaml", id="yaml before yml"),
        pytest.param(
            ["evals/.agentv/targets.yaml", "evals/targets.yml"], "evals/targets.yml", id="beside the suite first"
        ),
        pytest.param(["evals/.agentv/targets.yml"], "evals/.agentv/targets.yml", id="in .agentv"),
        pytest.param([".agentv/targets.yaml"], ".agentv/targets.yaml", id="in .agentv at the root"),
    ],
)
def test_the_file_of_targets(tmp_path, there, taken):
    files = {name: {"targets": [MOCK | {"response": name}]} for name in there}
    (runner,) = runners(tmp_path, files=files, target="m")
    assert runner.agent.settings["response"] == taken


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param({"target": []}, "target: has no targets; did you mean 'targets' instead of 'target'?", id="none"),
        pytest.param({"targets": {"name": "a"}}, "targets.yaml:1:2: targets: must be a list", id="no list"),
        pytest.param({"targets": [{"provider": "mock"}]}, "targets[0]: the target has no name", id="no name"),
        pytest.param(
            {"targets": [MOCK, MOCK]}, "targets[1]: the name 'm' is already used by the target at", id="twice"
        ),
        pytest.param("a: b: c", "targets.yaml:1:5: not YAML", id="no YAML"),
    ],
)
def test_a_file_of_targets_that_cannot_be_used(tmp_path, content, message):
    with pytest.raises(SuiteError) as caught:
        runners(tmp_path, files={"targets.yaml": content}, target="m")
    assert message in str(caught.value)


# --- which targets ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("execution", "names"),
    [
        pytest.param({}, ["default"], id="none is named: default"),
        pytest.param({"target": "m"}, ["m"], id="one"),
        pytest.param({"targets": ["m", "default"]}, ["m", "default"], id="several, in their order"),
        pytest.param({"targets": ["m"], "target": "default"}, ["m"], id="several win over one"),
        pytest.param(
            {"targets": [{"name": "a", "use_target": "m"}, {"name": "b", "use_target": "m"}]},
            ["a", "b"],
            id="variants keep their own names",
        ),
        pytest.param({"targets": [{"name": "a", "use_target": "m"}]}, ["a"], id="a single variant"),
        pytest.param({"targets": ["m", "m"]}, ["m"], id="none twice"),
    ],
)
def test_the_targets_of_a_suite(tmp_path, execution, names):
    found = runners(tmp_path, CLI, MOCK, **execution)
    assert [(one.id, one.path_key, one.problem) for one in found] == [(name, name, None) for name in names]


def test_the_target_at_the_top_is_an_old_place(tmp_path):
    files = {"evals/EVAL.yaml": suite_text(target="m"), "targets.yaml": {"targets": [MOCK]}}
    assert [one.id for one in read(tmp_path, files).runners] == ["m"]


def test_a_suite_that_names_none_has_none_where_no_default_is_defined(tmp_path):
    assert runners(tmp_path, MOCK) == ()
    assert runners(tmp_path / "x") == ()


def test_use_target_leads_on(tmp_path):
    chain = [{"name": "a", "use_target": "b"}, {"name": "b", "use_target": "${{ LAST }}"}, MOCK]
    (runner,) = runners(tmp_path, *chain, target="a", environment={"LAST": "m"})
    assert (runner.id, runner.agent.type, runner.problem) == ("a", "agentv-mock", None)


@pytest.mark.parametrize(
    ("targets", "execution", "message"),
    [
        pytest.param(
            [MOCK],
            {"target": "n"},
            "execution.target: target n: no target is called 'n' in targets.yaml; known: m",
            id="an unknown name",
        ),
        pytest.param(
            [],
            {"target": "n"},
            "execution.target: target n: no target is called 'n': there is no targets.yaml; known: cc-mirror, claude, ",
            id="no file",
        ),
        pytest.param(
            [MOCK],
            {"targets": [{"name": "v", "use_target": "${{ AGENT_TARGET }}"}]},
            "execution.targets[0].use_target: target v: AGENT_TARGET is not set in the environment; set AGENT_TARGET",
            id="a variable that is not set is named",
        ),
        pytest.param(
            [{"name": "a", "use_target": "${{ X_Y }}"}],
            {"target": "a"},
            "targets.yaml:1:28: targets[0].use_target: target a: X_Y is not set",
            id="one in targets.yaml",
        ),
        pytest.param(
            [{"name": "a", "use_target": "a"}],
            {"target": "a"},
            "more than 5 targets in a chain of use_target",
            id="a circle",
        ),
        pytest.param(
            [{"name": "a"}], {"target": "a"}, "target a: has neither provider nor use_target", id="nothing is said"
        ),
        pytest.param(
            [{"name": "a", "provider": "openai"}], {"target": "a"}, "openai is a model, not an agent", id="a model"
        ),
        pytest.param(
            [{"name": "a", "provider": "vscode"}],
            {"target": "a"},
            "the provider vscode is not supported yet",
            id="another agent",
        ),
        pytest.param(
            [{"name": "a", "provider": "transcript"}],
            {"target": "a"},
            "a transcript target needs transcript",
            id="transcripts",
        ),
        pytest.param(
            [CLI | {"command": "a {NOPE}"}],
            {},
            "command: target default: {NOPE} is not a placeholder",
            id="an unknown placeholder",
        ),
        pytest.param(
            [{"name": "default", "provider": "cli"}], {}, "a cli target needs a command", id="a cli without command"
        ),
        pytest.param(
            [CLI | {"healthcheck": {}}],
            {},
            "healthcheck: target default: the healthcheck has no command",
            id="an empty healthcheck",
        ),
        pytest.param(
            [CLI | {"healthcheck": {"command": "x {URL}"}}],
            {},
            "healthcheck.command: target default: {URL} is not a placeholder",
            id="an unknown placeholder of a healthcheck",
        ),
        pytest.param(
            [MOCK | {"response": "${{ NOT_SET }}"}],
            {"target": "m"},
            "response: target m: NOT_SET is not set in the environment",
            id="another variable that is not set",
        ),
        pytest.param(
            [{"name": "r", "provider": "replay"}],
            {"target": "r"},
            "a replay target needs fixtures",
            id="a replay without fixtures",
        ),
        pytest.param(
            [{"name": "r", "provider": "replay", "fixtures": "x.jsonl"}],
            {"target": "r"},
            "there is no evals/x.jsonl",
            id="fixtures that are not there",
        ),
    ],
)
def test_a_target_that_cannot_be_used_is_a_runner_with_the_reason(tmp_path, targets, execution, message):
    (runner,) = runners(tmp_path, *targets, **execution)
    assert message in problem_text(runner)


@pytest.mark.parametrize(
    ("kind", "agent"),
    [
        *((kind, "claude-code") for kind in ("claude", "claude-cli", "claude-code", "claude-sdk", "cc-mirror")),
        *((kind, "codex") for kind in ("codex", "codex-cli")),
        *((kind, "copilot") for kind in ("copilot", "copilot-cli", "copilot-sdk")),
        *((kind, "pi") for kind in ("pi", "pi-cli", "pi-coding-agent")),
    ],
)
def test_agents_under_agentv_s_names(tmp_path, kind, agent):
    target = {"name": "a", "provider": kind, "model": "m-1", "executable": "bin/x", "args": ["-v"]}
    found = one_runner(tmp_path, target).agent
    assert (found.type, found.model, found.command, found.command_args) == (agent, "m-1", ("bin/x",), ("-v",))
    assert found.cwd is None


def test_an_agent_may_be_named_without_being_defined(tmp_path):
    (runner,) = runners(tmp_path, target="claude")
    assert (runner.id, runner.agent.type) == ("claude", "claude-code")


def test_hooks_of_a_target(tmp_path):
    hooks = {"before_each": {"command": "echo $X | cat"}, "after_all": {"command": ["sh", "./x.sh"]}}
    files = {
        "evals/EVAL.yaml": suite_text(
            workspace={"hooks": {}}, execution={"targets": [{"name": "a", "use_target": "m", "hooks": hooks}]}
        ),
        "targets.yaml": {"targets": [MOCK]},
    }
    (runner,) = read(tmp_path, files).runners
    assert [hook.argv for hook in runner.hooks.before_each] == [("sh", "-c", "echo $X | cat")]
    assert [hook.argv for hook in runner.hooks.after_all] == [("sh", "./x.sh")]


def test_hooks_of_a_target_need_a_workspace(tmp_path):
    hooks = {"before_each": {"command": "true"}}
    files = {
        "evals/EVAL.yaml": suite_text(execution={"targets": [{"name": "a", "use_target": "m", "hooks": hooks}]}),
        "targets.yaml": {"targets": [MOCK]},
    }
    suite = read(tmp_path, files)
    assert (suite.runners[0].hooks.before_each, len(suite.warnings)) == ((), 1)
    assert "hooks of targets need a workspace, and are not run" in warnings(suite)[0]


def test_a_misspelt_key_of_a_target_is_a_warning(tmp_path):
    files = {"evals/EVAL.yaml": suite_text(), "targets.yaml": {"targets": [CLI | {"timeoutSeconds": 3}]}}
    assert "unknown key 'timeoutSeconds'; did you mean 'timeout_seconds'?" in warnings(read(tmp_path, files))[0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(
            {"fallback_targets": ["b"]},
            "fallback_targets: fallback_targets has no effect: what another agent did would count as this one's; "
            "let the suite run on both: --runner default --runner b",
            id="fallback",
        ),
        pytest.param(
            {"provider_batching": True},
            "there are no batches: the command is run for each test, and the line with the test's id counts",
            id="batches",
        ),
        pytest.param(
            {"provider": "mock", "provider_batching": True}, "there are no batches: sessions run one by one", id="mock"
        ),
        pytest.param(
            {"healthcheck": {"url": "http://a/b"}},
            "healthcheck.url: the URL is not requested before sessions; write command: curl --fail http://a/b",
            id="a URL",
        ),
    ],
)
def test_keys_that_do_something_else_than_with_agentv_are_warnings(tmp_path, keys, message):
    files = {"evals/EVAL.yaml": suite_text(), "targets.yaml": {"targets": [CLI | {"name": "default"} | keys]}}
    assert any(message in one for one in warnings(read(tmp_path, files)))


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        pytest.param(None, {}, id="none"),
        pytest.param(["API_KEY"], {"API_KEY": "k"}, id="names"),
        pytest.param({"K": "${{ API_KEY }}", "N": "v-${{ API_KEY }}"}, {"K": "k", "N": "v-k"}, id="values"),
    ],
)
def test_the_environment_of_a_target_is_what_it_names(tmp_path, env, expected):
    runner = one_runner(tmp_path, CLI | ({"env": env} if env else {}), environment={"API_KEY": "k", "OTHER": "o"})
    assert dict(runner.agent.env) == expected
    assert "'k'" not in repr(runner)


# --- cli --------------------------------------------------------------------------------------------


def cli(command: str = "x", **settings: str) -> AgentConfig:
    return AgentConfig(type="agentv-cli", command=(command,), settings=settings)


@pytest.mark.parametrize(
    ("target", "cwd", "timeout"),
    [
        pytest.param(CLI, "evals", None, id="the suite's folder"),
        pytest.param(CLI | {"cwd": "../bin", "timeout_seconds": 2.5}, "evals/../bin", 2.5, id="its own"),
    ],
)
def test_where_and_how_long_a_cli_runs(tmp_path, target, cwd, timeout):
    agent = one_runner(tmp_path, target).agent
    assert (agent.command, agent.cwd, agent.timeout) == ((CLI["command"],), tmp_path / cwd, timeout)


@pytest.mark.parametrize(
    ("command", "line"),
    [
        pytest.param("a {PROMPT}", "a 'it'\"'\"'s; rm -rf $HOME'", id="PROMPT is one quoted word"),
        pytest.param("a {PROMPT_FILE}", "a /scratch/prompt.txt", id="PROMPT_FILE"),
        pytest.param("a {EVAL_ID}", "a 'a/b c'", id="EVAL_ID"),
        pytest.param("a {ATTEMPT}", "a 1", id="ATTEMPT"),
        pytest.param("a > {OUTPUT_FILE}", "a > /agent-home/agentv-output", id="OUTPUT_FILE"),
        pytest.param("a {FILES}", "a /r/x.md '/r/y z.md'", id="FILES"),
        pytest.param("a {prompt} {OTHER}", "a {prompt} {OTHER}", id="nothing else"),
    ],
)
def test_placeholders_of_a_cli(command, line):
    session = session_with(
        cli(command), prompt="it's; rm -rf $HOME", case_id="a/b c", files=(Path("/r/x.md"), Path("/r/y z.md"))
    )
    wanted = cli_agent.invocation(session)
    assert wanted.argv == ("/bin/sh", "-c", line)
    assert wanted.collect == ("agentv-output",)
    assert list(wanted.files) == ([Path("/scratch/prompt.txt")] if "PROMPT_FILE" in command else [])


def test_the_format_of_files():
    session = session_with(cli("a {FILES}", files_format="--f {path}:{basename}"), files=(Path("/r/y z.md"),))
    assert cli_agent.invocation(session).argv[-1] == "a --f '/r/y z.md':'y z.md'"


MESSAGES = [
    {
        "role": "assistant",
        "content": "Looking",
        "tool_calls": [{"tool": "Read", "input": {"path": "a"}, "output": "text", "duration_ms": 12.4}],
    },
    {"role": "assistant", "content": [{"type": "text", "value": "Do"}, "ne"]},
]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param("plain\n", "plain\n", id="text, to the letter"),
        pytest.param("", "", id="nothing"),
        pytest.param('{"text": "hi"}', "hi", id="an object with text"),
        pytest.param('{"answer": "hi"}', '{"answer": "hi"}', id="another object is the answer"),
        pytest.param('["hi"]', '["hi"]', id="a list is the answer"),
        pytest.param('{"output": [{"content": "x"}]}', '{"output": [{"content": "x"}]}', id="messages without role"),
        pytest.param('{"output": []}', '{"output": []}', id="no messages"),
        pytest.param(json.dumps({"output": MESSAGES}), "Do\nne", id="the last assistant's message"),
        pytest.param(json.dumps({"output_messages": MESSAGES}), "Do\nne", id="under the old name"),
        pytest.param('{"output": [{"role": "assistant", "content": {"a": 1.0}}]}', '{"a":1}', id="structured content"),
        pytest.param('{"output": [{"role": "user", "content": "x"}]}', "", id="no assistant"),
    ],
)
def test_what_a_cli_wrote(text, answer):
    read_ = cli_agent.transcript(capture_of("noise", collected=[text]), session_with(cli()))
    assert read_.final_output == answer


def test_messages_tool_calls_tokens_and_cost_of_a_cli():
    told_ = {
        "output": MESSAGES,
        "token_usage": {"input": 5, "output": 2, "cached": 1},
        "cost_usd": 0.5,
        "duration_ms": 7,
    }
    read_ = cli_agent.transcript(capture_of(collected=[json.dumps(told_)]), session_with(cli()))
    assert read_.events == (
        Message(role="assistant", phase="commentary", text="Looking"),
        ToolCall(tool="Read", args={"path": "a"}, duration_ms=12),
        ToolResult(output="text", tool="Read"),
        Message(role="assistant", phase="final", text="Do\nne"),
    )
    assert read_.usage == Usage(input_tokens=5, output_tokens=2, cache_tokens=1)
    assert (read_.cost.usd, read_.cost.source, read_.duration_ms, read_.turns) == (0.5, "reported", 7, 2)


def test_figures_below_nothing_are_not_believed():
    told_ = {"text": "x", "token_usage": {"input": -1}, "cost_usd": -2, "duration_ms": -3}
    read_ = cli_agent.transcript(capture_of(collected=[json.dumps(told_)]), session_with(cli()))
    assert (read_.usage, read_.cost.usd, read_.duration_ms) == (Usage(), None, None)


@pytest.mark.parametrize(
    ("capture", "trouble"),
    [
        pytest.param({"collected": ["x"]}, None, id="fine"),
        pytest.param({}, ("collection", "the command wrote no {OUTPUT_FILE}"), id="no file"),
        pytest.param(
            {"exit_code": 3, "stderr": "boom\n", "collected": ["x"]},
            ("runner-crash", "boom (exit code 3)"),
            id="stderr",
        ),
        pytest.param(
            {"exit_code": 3, "stdout": "said"},
            ("runner-crash", "said (exit code 3)"),
            id="stdout where stderr is empty",
        ),
        pytest.param({"exit_code": 3}, ("runner-crash", "exited with code 3"), id="neither"),
        pytest.param(
            {"exit_code": -9, "ending": Ending.SIGNALLED, "stderr": "x"},
            ("runner-crash", "ended by SIGKILL: x"),
            id="a signal",
        ),
    ],
)
def test_trouble_of_a_cli(capture, trouble):
    ended = capture_of(**capture)
    found = cli_agent.trouble(ended, cli_agent.transcript(ended, session_with(cli())))
    assert (found and (found.kind, found.message)) == trouble


# --- mock -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "argv", "answer"),
    [
        pytest.param(MOCK, (), "ok", id="an answer"),
        pytest.param(MOCK | {"response": '{"text": "x"}'}, (), '{"text": "x"}', id="JSON is the answer itself"),
        pytest.param(MOCK | {"response": "", "delay_ms": 250}, ("sleep", "0.25"), "", id="a delay"),
        pytest.param({"name": "m", "provider": "mock"}, (), '{"answer":"Mock provider response."}', id="default"),
    ],
)
def test_a_mock(tmp_path, target, argv, answer):
    session = session_with(one_runner(tmp_path, target).agent)
    read_ = mock_agent.transcript(capture_of(), session)
    assert mock_agent.invocation(session).argv == argv
    assert (read_.final_output, read_.usage, read_.duration_ms) == (answer, Usage(), None)


# --- replay -----------------------------------------------------------------------------------------


def record(text: str = "recorded", **changes):
    standard = {"schema": "agentv.replay_fixture.v1", "suite": "core", "test_id": "greets", "source_target": "live"}
    return standard | {"output": [{"role": "assistant", "content": text}]} | changes


def replayed(*lines, **settings: str):
    agent = AgentConfig(type="agentv-replay", settings={"fixtures": "f.jsonl", "suite": "core", **settings})
    ended, session = capture_of(jsonl(*lines)), session_with(agent)
    read_ = replay_agent.transcript(ended, session)
    found = replay_agent.trouble(ended, read_)
    return found.message if found else read_.final_output


@pytest.mark.parametrize(
    ("lines", "settings", "answer"),
    [
        pytest.param([record()], {}, "recorded", id="one"),
        pytest.param([record("a", test_id="x"), record("b")], {}, "b", id="by test"),
        pytest.param([record("a", suite="x"), record("b")], {}, "b", id="by suite"),
        pytest.param([record("a"), record("b", source_target="t")], {"source_target": "t"}, "b", id="by target"),
        pytest.param([record("a"), record("b", variant="v")], {"variant": "v"}, "b", id="by variant"),
        pytest.param([record("a"), record("b", variant="v")], {}, "a", id="without variant"),
        pytest.param([record("a"), record("b", attempt=1)], {}, "a", id="the first attempt"),
        pytest.param(
            [record(schema="other")], {}, "f.jsonl has no answer for the test 'greets' on 'claude'", id="another schema"
        ),
        pytest.param([], {"source_target": "t"}, "f.jsonl has no answer for the test 'greets' on 't'", id="nothing"),
        pytest.param([record(), record()], {}, "f.jsonl has 2 answers for the test 'greets' on 'claude'", id="two"),
        pytest.param(
            [record(output=7)],
            {},
            "f.jsonl has an answer without output for the test 'greets' on 'claude'",
            id="no output",
        ),
    ],
)
def test_a_replay(lines, settings, answer):
    assert replayed(*lines, **settings) == answer


def test_a_replay_target(tmp_path):
    target = {"name": "r", "provider": "replay", "fixtures": "./f.jsonl", "source_target": "live"}
    runner = one_runner(tmp_path, target, files={"evals/f.jsonl": jsonl(record())})
    assert runner.agent.settings == {
        "fixtures": str(tmp_path / "evals/f.jsonl"),
        "suite": "EVAL",
        "source_target": "live",
    }
    assert replay_agent.invocation(session_with(runner.agent)).argv == ("cat", str(tmp_path / "evals/f.jsonl"))


def test_cases_may_be_for_some_targets(tmp_path):
    files = {
        "evals/EVAL.yaml": suite_text(case(execution={"targets": ["m"]}), execution={"targets": ["m"]}),
        "targets.yaml": {"targets": [MOCK]},
    }
    assert read(tmp_path, files).cases[0].runners == ("m",)


# --- transcripts ------------------------------------------------------------------------------------


def row(text: str = "imported", test_id: str = "greets", role: str = "assistant", index: int = 1, **more):
    standard = {"schema_version": "agentv.transcript.v1", "test_id": test_id, "target": "claude"}
    return standard | {"message_index": index, "role": role, "content": text, "source": {"provider": "claude"}} | more


def imported(*lines, tests=("greets",)):
    """The transcript, or the message of what is wrong."""
    agent = AgentConfig(type="agentv-transcript", settings={"transcript": "t.jsonl", "tests": json.dumps(tests)})
    ended, session = capture_of(jsonl(*lines)), session_with(agent)
    read_ = transcript_agent.transcript(ended, session)
    found = transcript_agent.trouble(ended, read_)
    return found.message if found else read_


def test_a_transcript_is_the_messages_of_a_session_in_their_order():
    call_ = {"tool": "Bash", "input": {"command": "ls"}, "output": "a", "status": "error"}
    known = {
        "transcript_token_usage": {"input": 10, "output": 4, "cached": 2},
        "transcript_cost_usd": 0.25,
        "transcript_duration_ms": 1500,
    }
    read_ = imported(
        row("last", index=3, **known), row("hi", index=0, role="user"), row("first", tool_calls=[call_]), "noise"
    )
    assert [type(event).__name__ for event in read_.events] == [
        "Message",
        "Message",
        "ToolCall",
        "ToolResult",
        "Message",
    ]
    assert (read_.final_output, read_.events[0].text, read_.events[3].failed) == ("last", "hi", True)
    assert (read_.usage.input_tokens, read_.usage.output_tokens, read_.usage.cache_tokens) == (10, 4, 2)
    assert (read_.cost.usd, read_.duration_ms) == (0.25, 1500)


@pytest.mark.parametrize(
    ("lines", "tests", "answer"),
    [
        pytest.param([row("a", "x"), row("b")], ("greets", "x"), "b", id="by the id of the test"),
        pytest.param([row("a", "s-1"), row("b", "s-2")], ("x", "greets"), "b", id="by position"),
        pytest.param([row("a", "s-1"), row("b", "s-1")], ("greets",), "b", id="the only one"),
        pytest.param(
            [row("a", "s-1")],
            ("x", "greets"),
            "t.jsonl has 1 session(s) with other ids than those of the 2 test(s)",
            id="fewer than tests",
        ),
        pytest.param(
            [row("a", "x")],
            ("x", "greets"),
            "t.jsonl has no session with the id of the test 'greets'",
            id="another one's",
        ),
        pytest.param(
            [], ("greets",), "t.jsonl has 0 session(s) with other ids than those of the 1 test(s)", id="an empty file"
        ),
        pytest.param(
            [row("a", role="user")],
            ("greets",),
            "t.jsonl has no message of an agent for the test 'greets'",
            id="nothing of an agent",
        ),
    ],
)
def test_which_session_is_that_of_a_test(lines, tests, answer):
    found = imported(*lines, tests=tests)
    assert (found if isinstance(found, str) else found.final_output) == answer


def test_a_transcript_target(tmp_path):
    target = {"name": "t", "provider": "transcript", "transcript": "./t.jsonl"}
    runner = one_runner(tmp_path, target, files={"evals/t.jsonl": jsonl(row())})
    assert runner.agent.settings == {"transcript": str(tmp_path / "evals/t.jsonl"), "tests": '["one"]'}
    assert transcript_agent.invocation(session_with(runner.agent)).argv == ("cat", str(tmp_path / "evals/t.jsonl"))
