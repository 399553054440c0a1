"""Suites of AgentV 5: told apart by their keys, and the cases, runners and workspaces that they become."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentv_files import problems, read, warnings
from skillgym_action.model.errors import SuiteError
from skillgym_action.suites.agentv import suite as agentv

SUITE = "evals/suite.yaml"
CATALOG = ".agentv/providers.yaml"
GREETS = [{"type": "icontains", "value": "{{ word }}", "metric": "greets"}]


def suite_of(root, *tests, files=None, variables=None, **keys):
    top = {"prompts": ["{{ input }}"], "providers": ["main"], "tests": list(tests)} | keys
    catalog = [{"id": "mock", "label": "main", "config": {"response": "Hello"}}]
    top = {key: value for key, value in top.items() if value is not None}
    return read(root, {SUITE: top, CATALOG: catalog} | (files or {}), path=SUITE, **(variables or {}))


def only_case(suite):
    assert problems(suite) == []
    (case,) = suite.cases
    return case


# --- is it one? -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "accepted"),
    [
        pytest.param("prompts: [a]\ntests:\n- vars: {a: b}", True, id="prompts and tests"),
        pytest.param("tests:\n- vars: {a: b}\n  assert: [x]", True, id="tests with vars and assert"),
        pytest.param("scenarios: []\nprompts: [a]", True, id="scenarios"),
        pytest.param("target: llm\ntests: ./cases.jsonl\n", True, id="tests in a file"),
        pytest.param("tests: ./cases/\n", True, id="tests in a folder"),
        pytest.param("tests:\n- name: a\n  vars: {}\n", False, id="another program's tests"),
        pytest.param("prompts: [a]\n", False, id="no tests"),
        pytest.param("suites: [a]\n", False, id="something else"),
    ],
)
def test_suite_yaml_is_a_suite_by_its_content(head, accepted):
    assert agentv.accepts("a/suite.yaml", head) is accepted


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"prompts": ["{{ x }}"]}, id="prompts"),
        pytest.param({"default_test": {"vars": {"x": "Do it"}}}, id="default_test"),
        pytest.param({"tags": {"experiment": "a"}}, id="tags as a mapping"),
        pytest.param({"assert": [{"type": "not-llm-rubric", "value": "rude"}]}, id="a type of assertion"),
        pytest.param({"assert": [{"type": "not_llm_rubric", "value": "rude"}]}, id="the type with underscores"),
    ],
)
def test_the_dialect_is_told_by_keys(tmp_path, keys):
    test = {"id": "a", "vars": {"x": "Do {{ env.WHAT }}"}, "assert": ["done"], "threshold": 0.5}
    if "prompts" not in keys:
        test["input"] = "{{ x }}"
    del test["threshold"]
    suite = read(tmp_path, {SUITE: {"tests": [test], **keys}, CATALOG: []}, path=SUITE, WHAT="it")
    assert only_case(suite).prompt == "Do it"


def test_a_suite_of_neither_version_follows_the_file_of_its_providers(tmp_path):
    files = {
        SUITE: {"target": "main", "tests": [{"id": "a", "input": "{{ env.A }}", "assert": ["x"]}]},
        CATALOG: [{"id": "mock", "label": "main"}],
    }
    assert only_case(read(tmp_path, files, path=SUITE, A="1 2")).prompt == "1 2"
    older = files | {"targets.yaml": {"targets": [{"name": "main", "provider": "mock"}]}}
    assert only_case(read(tmp_path, older, path=SUITE, A="1 2")).prompt == "{{ env.A }}"


@pytest.mark.parametrize(
    ("head", "near_miss"),
    [
        pytest.param("prompts: [a]\ntests: []\ndefault_test: {}\n", True, id="keys of AgentV"),
        pytest.param("prompts: [a]\ntests: []\ndefaultTest: {}\n", False, id="keys of promptfoo"),
    ],
)
def test_a_suite_under_another_name_is_a_near_miss(head, near_miss):
    assert (agentv.rejection("evals/refunds.yaml", head) is not None) is near_miss


# --- prompts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompts", "variables", "prompt"),
    [
        pytest.param(["Say {{ a }} and {{ vars.a }}"], {"a": "hi"}, "Say hi and hi", id="a text"),
        pytest.param(["{{ a.b.c }}"], {"a": {"b": {"c": "deep"}}}, "deep", id="a dotted name"),
        pytest.param(["{{ a | default('x') | upper }}"], {}, "X", id="filters"),
        pytest.param(["{{ a | join(', ') }}"], {"a": ["x", "y"]}, "x, y", id="a joined list"),
        pytest.param(["n: {{ a }}"], {"a": {"b": 1}}, 'n: {"b":1}', id="a mapping in a text"),
        pytest.param(["{{ a }}"], {"a": [{"role": "user", "content": "x"}]}, "x", id="messages as a variable"),
        pytest.param([{"label": "l", "prompt": "{{ a }}!"}], {"a": "x"}, "x!", id="a prompt with a label"),
        pytest.param([[{"role": "user", "content": "{{ a }}"}]], {"a": "x"}, "x", id="messages"),
        pytest.param(["file://p.md"], {"a": "x"}, "# x\n".strip(), id="a file"),
        pytest.param("{{ a }}", {"a": "x"}, "x", id="one prompt"),
    ],
)
def test_prompts_are_filled_with_variables(tmp_path, prompts, variables, prompt):
    test = {"id": "t", "vars": variables, "assert": ["x"]}
    suite = suite_of(tmp_path, test, prompts=prompts, files={"evals/p.md": "# {{ a }}\n"})
    assert only_case(suite).prompt == prompt


def test_each_test_is_run_with_each_prompt(tmp_path):
    prompts = [{"label": "long", "prompt": "Explain {{ a }}"}, {"label": "a b", "prompt": "{{ a }}?"}]
    tests = [
        {"id": "x", "vars": {"a": "x"}, "assert": ["ok"]},
        {"id": "y", "vars": {"a": "y"}, "assert": ["ok"], "depends_on": ["x"], "prompts": ["a b"]},
    ]
    suite = suite_of(tmp_path, *tests, prompts=prompts)
    assert [(case.id, case.prompt, case.depends_on) for case in suite.cases] == [
        ("x:long", "Explain x", ()),
        ("x:a-b", "x?", ()),
        ("y:a-b", "y?", ("x:a-b",)),
    ]


def test_a_name_without_a_value_is_empty_and_a_warning(tmp_path):
    suite = suite_of(tmp_path, {"id": "t", "vars": {}, "assert": ["x"]}, prompts=["Say {{ word }}!"])
    assert only_case(suite).prompt == "Say !"
    assert "{{ word }} has no value: it is empty; add it to vars: {word: ...}" in warnings(suite)[0]


ANA = {"id": "t", "vars": {"who": "Ana"}, "assert": ["x"]}
TALK = {"mode": "conversation", "turns": [{"input": "Hi"}]}


@pytest.mark.parametrize(
    ("test", "of_suite", "prompt"),
    [
        pytest.param(ANA, "For {{ who }}", "@[User]:\nFor Ana\n\n@[User]:\nSay hi", id="before a prompt"),
        pytest.param({**ANA, **TALK}, "For {{ vars.who }}", "@[User]:\nFor Ana\n\n@[User]:\nHi", id="before turns"),
        pytest.param(ANA, "{{ who | upper }}", "@[User]:\nANA\n\n@[User]:\nSay hi", id="a filter"),
        pytest.param(ANA, "{{ tone }}", "@[User]:\nwarm\n\n@[User]:\nSay hi", id="a variable of all tests"),
        pytest.param(
            {**ANA, "execution": {"skip_defaults": True}}, "For {{ no }} {{ a + b }}", "Say hi", id="skip_defaults"
        ),
    ],
)
def test_the_suite_s_input_has_the_variables_of_each_test(tmp_path, test, of_suite, prompt):
    suite = suite_of(tmp_path, test, prompts=["Say hi"], input=of_suite, default_test={"vars": {"tone": "warm"}})
    assert only_case(suite).prompt == prompt
    assert warnings(suite) == []


def test_a_name_without_a_value_in_the_suite_s_input_is_empty_and_a_warning(tmp_path):
    suite = suite_of(tmp_path, ANA, prompts=["Say hi"], input="For {{ no }}!")
    assert only_case(suite).prompt == "@[User]:\nFor !\n\n@[User]:\nSay hi"
    (warning,) = warnings(suite)
    assert "tests[0]: {{ no }} has no value: it is empty; add it to vars: {no: ...}" in warning


def test_an_expression_in_the_suite_s_input_that_is_not_supported_makes_the_test_invalid(tmp_path):
    (problem,) = problems(suite_of(tmp_path, ANA, prompts=["Say hi"], input="For {{ who + 1 }}"))
    assert "input: the expression {{ who + 1 }} is not supported; use names of variables" in problem


def test_a_prompt_beside_the_suite(tmp_path):
    suite = suite_of(tmp_path, {"id": "t", "assert": ["x"]}, prompts=None, files={"evals/PROMPT.md": "Fix it"})
    assert only_case(suite).prompt == "Fix it"


# --- tests ------------------------------------------------------------------------------------------


def test_what_all_tests_share(tmp_path):
    default = {
        "vars": {"word": "hello", "input": "Greet"},
        "assert": GREETS,
        "threshold": 0.4,
        "metadata": {"team": "a"},
    }
    tests = [
        {"id": "a", "assert": [{"type": "contains", "value": "x"}]},
        {"id": "b", "vars": {"word": "bye"}, "threshold": 0.9, "execution": {"skip_defaults": True}, "assert": ["x"]},
    ]
    suite = suite_of(tmp_path, *tests, default_test=default, **{"assert": [{"type": "is-json"}]})
    one, other = suite.cases
    assert [assertion.name for assertion in one.assertions] == ["contains-x", "greets", "is-json"]
    assert (one.threshold, other.threshold, one.metadata) == (0.4, 0.9, {"team": "a"})
    assert [assertion.name for assertion in other.assertions] == ["x"]
    assert one.assertions[1].grader.texts == ("hello",)


def test_scenarios_are_each_row_with_each_test(tmp_path):
    rows = [
        {"id": "es", "vars": {"to": "Spanish", "hi": "hola"}},
        {"id": "fr", "vars": {"to": "French", "hi": "salut"}},
    ]
    tests = [{"description": "greets", "vars": {"text": "hi"}, "assert": [{"type": "equals", "value": "{{ hi }}"}]}]
    suite = suite_of(
        tmp_path,
        tests=None,
        prompts=["{{ text }} in {{ to }}"],
        scenarios=["file://more/*.yaml", {"config": rows, "tests": tests}],
        files={"evals/more/a.yaml": [{"config": [{"vars": {"to": "Latin"}}], "tests": [{"vars": {"text": "x"}}]}]},
        **{"assert": ["good"]},
    )
    assert [(case.id, case.prompt) for case in suite.cases] == [
        ("1:1", "x in Latin"),
        ("es:greets", "hi in Spanish"),
        ("fr:greets", "hi in French"),
    ]
    assert suite.cases[2].assertions[0].grader.text == "salut"


def test_many_scenarios_are_refused_before_they_need_memory(tmp_path):
    rows, tests = [{"id": f"r{number}"} for number in range(400)], [{"assert": ["x"]}] * 400
    with pytest.raises(SuiteError, match="the suite has more than 20,000 tests"):
        suite_of(tmp_path, tests=None, scenarios=[{"config": rows, "tests": tests}])


def test_files_with_expectations_are_hidden_from_agents(tmp_path):
    files = {
        "evals/d.yaml": {"assert": ["secret"], "vars": {"input": "x"}},
        "evals/s.yaml": [{"config": [{}], "tests": [{"id": "t"}]}],
    }
    keys = {"default_test": "file://d.yaml", "scenarios": ["file://s.yaml"]}
    suite = suite_of(tmp_path, {"id": "a", "assert": ["x"]}, files=files, **keys)
    assert set(suite.hidden) == {"evals/d.yaml", "evals/s.yaml"}


def test_tests_of_other_files(tmp_path):
    columns = "id,input,__expected,__expected2,__metric,__threshold,vars.a.b,__metadata:k[]\n"
    table = columns + ',"a, b",contains:x,latency(9),m,0.5,c,"p,q"\n'
    files = {
        "evals/a.csv": table,
        "evals/b.json": [{"id": "json", "vars": {"input": "j"}, "assert": ["x"]}],
        "evals/c/one/case.yaml": {"input": "Own", "assert": ["x"]},
        "evals/d.cases.yaml": [{"id": "yaml", "vars": {"input": "y"}, "assert": ["x"]}],
    }
    written = ["file://a.csv", "b.json", "./c", "*.cases.yaml", {"id": "own", "vars": {"input": "o"}, "assert": ["x"]}]
    suite = suite_of(tmp_path, tests=written, files=files)
    assert problems(suite) == []
    found = [(case.id, case.prompt) for case in suite.cases]
    assert found == [("row-1", "a, b"), ("json", "j"), ("one", "Own"), ("yaml", "y"), ("own", "o")]
    row = suite.cases[0]
    assert [assertion.name for assertion in row.assertions] == ["m-1", "m-2"]
    assert (row.threshold, row.metadata, row.location.line) == (0.5, {"k": ["p", "q"]}, 2)


def test_options_of_the_run(tmp_path):
    options = {"max_concurrency": 4, "budget_usd": 2, "repeat": {"count": 3, "strategy": "pass_any"}}
    test = {"id": "t", "vars": {"input": "x"}, "assert": ["x"]}
    keys = {"tags": {"experiment": "e", "n": 1}, "suite": "named", "timeout_seconds": 7, "threshold": 0.3}
    suite = suite_of(tmp_path, test, evaluate_options=options, env={"A": 1}, **keys)
    case = only_case(suite)
    assert (suite.name, suite.budget, suite.default_timeout, case.retries) == ("named", 2, 7, 2)
    assert (case.tags, case.threshold) == (("experiment=e", "n=1"), 0.3)
    assert suite.runners[0].agent.env == {"A": "1"}
    (warning,) = warnings(suite)
    assert warning.startswith(
        "evals/suite.yaml:1:139: evaluate_options.max_concurrency: max_concurrency is ignored: a su"
    )


def test_a_conversation(tmp_path):
    turns = [{"input": "What is {{ sum }}?", "assert": [{"type": "contains", "value": "{{ result }}"}, "exact"]}]
    test = {"id": "t", "mode": "conversation", "vars": {"sum": "1+1", "result": "2"}, "turns": turns}
    suite = suite_of(tmp_path, test)
    case = only_case(suite)
    assert case.conversation.turns == ("What is 1+1?",)
    assert [one.name for one in case.assertions[0].grader.turns[0]] == ["turn-rubrics", "contains-2"]
    assert warnings(suite) == []


# --- providers --------------------------------------------------------------------------------------

TEST = {"id": "t", "vars": {"input": "x"}, "assert": ["x"]}


@pytest.mark.parametrize(
    ("entry", "agent", "command"),
    [
        pytest.param({"id": "claude-cli"}, "claude-code", (), id="an agent"),
        pytest.param({"id": "agentv:codex-cli", "command": ["{{ env.EXE }}"]}, "codex", ("/bin/c",), id="a command"),
        pytest.param(
            {"id": "codex-app-server", "config": {"command": ["codex", "app-server"]}}, "codex", ("codex",), id="argv"
        ),
        pytest.param({"id": "openai:codex-sdk"}, "codex", (), id="a backend after a prefix"),
        pytest.param({"id": "x", "provider": "pi-rpc"}, "pi", (), id="a provider of its own"),
        pytest.param(
            {"id": "cli", "config": {"command": ["run it", "{PROMPT}"]}}, "agentv-cli", ("'run it' {PROMPT}",), id="cli"
        ),
    ],
)
def test_a_provider_is_a_runner(tmp_path, entry, agent, command):
    named = entry if "provider" in entry else {**entry, "label": "x"}
    suite = suite_of(tmp_path, TEST, providers=["x"], files={CATALOG: [named]}, variables={"EXE": "/bin/c"})
    (runner,) = suite.runners
    assert (runner.id, runner.problem, runner.agent.type, runner.agent.command) == ("x", None, agent, command)


def test_arguments_in_the_command_of_an_agent_precede_those_in_args(tmp_path):
    entry = {"id": "claude-cli", "label": "x", "command": ["claude", "--verbose"], "args": ["--debug"]}
    (runner,) = suite_of(tmp_path, TEST, providers=["x"], files={CATALOG: [entry]}).runners
    assert (runner.agent.command, runner.agent.command_args) == (("claude",), ("--verbose", "--debug"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        pytest.param(
            {"id": "openai:gpt-5"}, "provider x: openai is a model, not an agent; name an agent", id="a model"
        ),
        pytest.param(
            {"id": "package:@a/b:C"}, "providers that are programs are not supported: package:@a/b:C", id="code"
        ),
        pytest.param(
            {"id": "cli", "runtime": {"mode": "sandbox"}},
            "[0].runtime: provider x: the runtime sandbox is not",
            id="sandbox",
        ),
        pytest.param({"id": "vscode"}, "the provider vscode is not supported yet", id="another agent"),
        pytest.param({"id": "cli", "config": {}}, "a cli target needs a command", id="no command"),
    ],
)
def test_a_provider_that_cannot_be_used(tmp_path, entry, message):
    suite = suite_of(tmp_path, TEST, providers=["x"], files={CATALOG: [{**entry, "label": "x"}]})
    assert message in str(suite.runners[0].problem)


def test_which_providers_a_suite_runs_on(tmp_path):
    inline = {"id": "mock", "label": "own", "config": {"response": "{{ env.A }}"}, "hooks": {}}
    providers = [
        "main",
        inline,
        {"claude-cli": {"label": "mapped"}},
        {"label": "variant", "extends": "main"},
        "codex-cli",
    ]
    suite = suite_of(tmp_path, TEST, providers=providers, variables={"A": "1"})
    assert [(one.id, one.agent.type) for one in suite.runners] == [
        ("main", "agentv-mock"),
        ("own", "agentv-mock"),
        ("mapped", "claude-code"),
        ("variant", "agentv-mock"),
        ("codex-cli", "codex"),
    ]
    assert [runner.problem for runner in suite.runners] == [None] * 5


def test_catalogs_of_several_folders(tmp_path):
    files = {
        "evals/.agentv/providers.yaml": {"providers": [{"id": "claude-cli", "label": "near"}]},
        ".agentv/config.yaml": {"defaults": {"provider": "far"}, "providers": [{"id": "codex-cli", "label": "far"}]},
        "targets.yaml": {"targets": [{"name": "old", "provider": "mock"}]},
    }
    suite = suite_of(tmp_path, TEST, providers=None, files=files)
    assert [runner.id for runner in suite.runners] == ["far"]
    assert sorted(runner.id for runner in suite.other_runners) == ["main", "near", "old"]


def test_a_provider_that_is_not_defined(tmp_path):
    suite = suite_of(tmp_path, TEST, providers=["mian"])
    assert "no provider is called 'mian' in .agentv/providers.yaml; did you mean 'main'?" in str(
        suite.runners[0].problem
    )


# --- environments and hooks -------------------------------------------------------------------------


def test_an_environment_is_a_template(tmp_path):
    files = {SUITE: {"prompts": ["x"], "environment": {"type": "host", "workdir": "../start"}, "tests": [TEST]}}
    suite = read(tmp_path, files | {"start/a": "1"}, path=SUITE)
    assert (suite.workspace.mode, suite.workspace.template) == ("isolated", (tmp_path / "start").resolve())


def test_a_setup_that_names_its_folder_prepares_each_workspace(tmp_path):
    setup = {"command": ["sh", "./make.sh", "./repo"], "cwd": ".", "timeout_ms": 5000}
    recipe = {"type": "host", "workdir": "./repo", "setup": setup, "env": {"A": "1"}}
    top = {"prompts": ["x"], "environment": "file://env/r.yaml", "tests": [TEST]}
    suite = read(tmp_path, {SUITE: top, "evals/env/r.yaml": recipe}, path=SUITE)
    (hook,) = suite.workspace.hooks.before_all
    path = "{{workspace_path}}"
    assert hook.argv == ("env", "A=1", f"AGENTV_ENVIRONMENT_WORKDIR={path}", "sh", "./make.sh", path)
    assert (hook.timeout, hook.cwd, suite.workspace.source) == (5, tmp_path / "evals" / "env", "empty")


def test_a_setup_that_does_not_name_its_folder_prepares_the_folder_itself(tmp_path):
    environment = {"workdir": "./repo", "setup": {"command": ["sh", "-c", "npm i"]}}
    top = {"prompts": ["x"], "environment": environment, "tests": [TEST]}
    suite = read(tmp_path, {SUITE: top, "evals/repo/a": "1"}, path=SUITE)
    assert (suite.workspace.mode, suite.workspace.cwd) == ("none", (tmp_path / "evals" / "repo").resolve())
    assert "agents work in the folder itself" in warnings(suite)[0]


def test_extensions_are_hooks(tmp_path):
    extensions = ["file://h.mjs:beforeAll", "file://h.py:afterEach", "agentv:agent-rules"]
    top = {"prompts": ["x"], "extensions": extensions, "tests": [{**TEST, "environment": {"workdir": "w"}}]}
    suite = read(tmp_path, {SUITE: top, "evals/h.mjs": "", "evals/h.py": "", "evals/w/a": ""}, path=SUITE)
    for hooks in (suite.workspace.hooks, suite.cases[0].workspace.hooks):
        (before,), (after,) = hooks.before_all, hooks.after_each
        assert [Path(word).name for word in before.argv[:2]] == ["node", "javascript_hook.mjs"]
        assert before.argv[2:] == (str(tmp_path / "evals" / "h.mjs"), "beforeAll")
        assert [Path(word).name for word in after.argv[:2]] == ["python3", "python_hook.py"]
    assert "agentv:agent-rules has no effect" in warnings(suite)[0]


# --- what is not supported --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param(
            {"environment": {"type": "docker", "image": "x"}},
            "environment.type: environments of the type docker are not supported; run the whole job in a container",
            id="docker",
        ),
        pytest.param(
            {"environment": {"type": "hst"}}, "environment.type: must be host, not 'hst'; did you mean", id="a type"
        ),
        pytest.param(
            {"environment": "recipe.yaml"}, "environment: must be a mapping with type and workdir", id="a path"
        ),
        pytest.param({"environment": {"workdir": "no"}}, "environment.workdir: there is no folder no", id="no folder"),
        pytest.param(
            {"environment": {"setup": {"command": "make"}}}, "setup.command: must be a list of a program", id="a line"
        ),
        pytest.param(
            {"default_test": {"options": {"transform": "x"}}},
            "default_test.options.transform: transform is not supported: outputs are judged as they are",
            id="transform",
        ),
        pytest.param({"default_test": "ref://x"}, "default_test: ref://x is not supported; write the keys", id="ref"),
        pytest.param({"prompts": ["file://p.js"]}, "prompts[0]: prompts that a program writes are not", id="a program"),
        pytest.param({"prompts": ["file://p.md"]}, "prompts[0]: there is no p.md", id="no prompt"),
        pytest.param({"prompts": [{"text": "x"}]}, "prompts[0].text: unknown key 'text'", id="a key of a prompt"),
        pytest.param({"prompts": [7]}, "prompts[0]: must be a text, a list of messages", id="a number"),
        pytest.param(
            {"prompts": [{"label": "a", "prompt": "x"}] * 2},
            "two prompts are called 'a'; give each",
            id="one label twice",
        ),
        pytest.param({"imports": {}}, "imports is not supported; write the paths into tests", id="imports"),
        pytest.param(
            {"extensions": ["file://h.js:before"]}, "extensions[0]: must be file://PATH and one of", id="a hook"
        ),
        pytest.param({"extensions": ["file://h.js:beforeAll"]}, "extensions[0]: there is no h.js", id="no module"),
        pytest.param(
            {"extensions": [{"id": "agentv:agent-rules", "rules": "A.md"}]},
            "extensions[0].rules: agentv:agent-rules does not copy files; put these files into",
            id="rules",
        ),
        pytest.param({"scenarios": [{"configs": []}]}, "scenarios[0].configs: unknown key 'configs'", id="a scenario"),
        pytest.param({"tests": "cases.py:make"}, "tests: tests that a program makes are not supported", id="a program"),
        pytest.param({"tests": None}, "has no tests", id="no tests"),
        pytest.param({"threshold": 2}, "threshold: must be a number, from 0 to 1, not 2", id="a threshold"),
        pytest.param(
            {"evaluate_options": {"repeat": 0}},
            "evaluate_options.repeat: must be a whole number, 1 or more",
            id="repeat",
        ),
        pytest.param(
            {"assert": [{"type": "similar", "value": "x"}]},
            "assert[0].type: assertions of the type similar",
            id="similar",
        ),
    ],
)
def test_what_is_not_supported_is_told_with_its_place(tmp_path, keys, message):
    with pytest.raises(SuiteError) as caught:
        suite_of(tmp_path, **({"tests": [TEST]} | keys))
    (problem,) = caught.value.problems
    assert message in str(caught.value)
    assert problem.location.path == SUITE
    assert problem.location.column


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"vars": [1]}, "tests[0].vars: must be a mapping of names to values, not a list", id="vars"),
        pytest.param({"prompts": ["x"]}, "tests[0].prompts[0]: no prompt is called 'x'", id="a prompt"),
        pytest.param({"threshold": "high"}, "tests[0].threshold: must be a number", id="a threshold"),
        pytest.param(
            {"options": {"transform": "x"}}, "tests[0].options.transform: transform is not supp", id="transform"
        ),
        pytest.param({"environment": {"type": "docker"}}, "tests[0].environment.type: environments of", id="docker"),
        pytest.param(
            {"input": "{{ a + 1 }}"}, "the expression {{ a + 1 }} is not supported; use names", id="an expression"
        ),
        pytest.param({"input": "{% if a %}x{% endif %}"}, "the expression {% if a %} is not supported", id="a tag"),
        pytest.param({"input": "{{ a | nosuch }}"}, "the expression {{ a | nosuch }} is not supported", id="a filter"),
        pytest.param(
            {"assert": [{"type": "webhook", "value": "http://x"}]},
            "tests[0].assert[0].type: assertions of the type webhook are not supported; write type: script",
            id="webhook",
        ),
        pytest.param(
            {"assert": [{"type": "llm-rubric", "value": "x", "transform": "y"}]},
            "tests[0].assert[0].transform: transform is not supported",
            id="transform of an assertion",
        ),
    ],
)
def test_a_test_that_cannot_be_used(tmp_path, keys, message):
    suite = suite_of(tmp_path, {**TEST, **keys}, {**TEST, "id": "other"})
    (problem,) = suite.invalid
    assert problem.case_id == "t"
    assert message in str(problem.problem)
    assert problem.problem.location.column
    assert [case.id for case in suite.cases] == ["other"]


def test_a_test_without_a_prompt(tmp_path):
    (problem,) = problems(suite_of(tmp_path, {"id": "t", "assert": ["x"]}, prompts=None))
    assert 'the test has no prompt; write prompts: ["{{ input }}"] in the suite, and vars' in problem


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"promts": []}, "promts: unknown key 'promts'; did you mean 'prompts'?", id="the top"),
        pytest.param(
            {"evaluate_options": {"max_concurency": 2}},
            "unknown key 'max_concurency'; did you mean 'max_concurrency'?",
            id="options",
        ),
        pytest.param(
            {"evaluate_options": {"repeat": {"cuont": 2}}},
            "repeat.cuont: unknown key 'cuont'; did you mean 'count'?",
            id="repeat",
        ),
        pytest.param(
            {"default_test": {"var": {}}}, "default_test.var: unknown key 'var'; did you mean 'vars'?", id="default"
        ),
        pytest.param(
            {"default_test": {"options": {"x": 1}}}, "default_test.options.x: unknown key 'x'", id="its options"
        ),
        pytest.param(
            {"environment": {"typ": "host"}}, "environment.typ: unknown key 'typ'; did you mean", id="environment"
        ),
        pytest.param(
            {"derived_metrics": [1]}, "derived_metrics are not computed; compute them from results", id="metrics"
        ),
        pytest.param(
            {"defaults": {"grader": "g"}},
            "defaults.grader: grader is ignored: a suite does not choose the judge",
            id="grader",
        ),
        pytest.param(
            {"execution": {"targets": ["a"]}},
            "execution.targets is ignored: a suite of AgentV 5 runs on providers; write providers: [NAME]",
            id="targets",
        ),
        pytest.param({"execution": {"target": "a"}}, "execution.target is ignored", id="target"),
        pytest.param({"nunjucks_filters": {"a": "b"}}, "filters in JavaScript are not loaded", id="filters"),
    ],
)
def test_nothing_is_dropped_silently(tmp_path, keys, message):
    assert any(message in warning for warning in warnings(suite_of(tmp_path, TEST, **keys)))


def test_a_misspelt_key_of_a_test(tmp_path):
    assert (
        "tests[0].treshold: unknown key 'treshold'; did you mean 'threshold'?"
        in warnings(suite_of(tmp_path, {**TEST, "treshold": 1}))[0]
    )


def test_a_variable_that_is_left_empty_does_not_hide_the_agent_s_own(tmp_path):
    env = {"API_KEY": "{{ env.API_KEY }}", "MODE": "{{ env.MODE }}"}
    suite = suite_of(tmp_path, TEST, env=env, variables={"API_KEY": "k", "MODE": "fast"})
    assert suite.runners[0].agent.env == {"MODE": "fast"}


def test_secrets_are_left_empty(tmp_path):
    suite = suite_of(tmp_path, {**TEST, "vars": {"input": "a{{ env.API_KEY }}"}}, variables={"API_KEY": "k"})
    assert only_case(suite).prompt == "a"
    assert "API_KEY is left empty: suites cannot use secrets; providers.yaml may name it" in warnings(suite)[0]


# --- what multiplies --------------------------------------------------------------------------------

MUCH = r"variables bring in more than"


def test_filters_that_double_a_text_are_bounded(tmp_path):
    suite = suite_of(tmp_path, {"vars": {"input": '{"'}, "assert": ["ok"]}, prompts=["{{ input" + "|dump" * 90 + " }}"])
    assert [MUCH in problem for problem in problems(suite)] == [True]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("default", "assertion"),
    [
        pytest.param({"vars": {"text": "a" * 1_000_000}}, {"type": "javascript", "value": "true"}, id="programs"),
        pytest.param({"vars": {f"v{number}": "" for number in range(50_000)}}, "ok", id="variables of all tests"),
    ],
)
def test_variables_of_all_tests_are_bounded(tmp_path, default, assertion):
    tests = ({"id": f"t{number}", "vars": {"input": "x"}, "assert": [assertion]} for number in range(40))
    suite = suite_of(tmp_path, *tests, default_test=default)
    assert any(MUCH in problem for problem in problems(suite))
    assert len(suite.cases) < 40


@pytest.mark.parametrize("place", ["default_test", "suite"])
def test_lists_of_metadata_are_joined_up_to_a_limit(tmp_path, place):
    metadata = {"seen": ["a" * 1_000_000]}
    keys = {"default_test": {"metadata": metadata}} if place == "default_test" else {"metadata": metadata}
    tests = ({"id": f"t{number}", "vars": {"input": "x"}, "metadata": {"seen": ["y"]}} for number in range(40))
    suite = suite_of(tmp_path, *tests, **{"assert": ["ok"]}, **keys)
    assert any(MUCH in problem for problem in problems(suite))


# --- tables and patterns of an author who is not trusted ---------------------------------------------


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        pytest.param("a,a", "2 columns are called a; give each a different name", id="the same name"),
        pytest.param("a,a.b", "the column a.b and another one give the same variable", id="a text and a mapping"),
        pytest.param("a.b,a", "the column a and another one give the same variable", id="a mapping and a text"),
        pytest.param(f"{'a.' * 5_000}a,b", "the name of a column has more than 100 dots", id="deep"),
    ],
)
def test_columns_that_cannot_all_be_used(tmp_path, columns, why):
    table = f"input,__expected,{columns}\nx,contains:x,y,z\n"
    try:
        told = " ".join(problems(suite_of(tmp_path, tests="t.csv", files={"evals/t.csv": table})))
    except SuiteError as error:
        told = str(error)
    assert why in told
    assert "evals/t.csv:" in told


@pytest.mark.parametrize("keys", [{"tests": "../../*.csv"}, {"tests": None, "scenarios": ["file://../../*.csv"]}])
def test_no_pattern_leads_out_of_the_checkout(tmp_path, keys):
    (tmp_path / "x.csv").write_text("input,__expected\nx,contains:x\n", encoding="utf-8")
    try:
        told = " ".join(problems(suite_of(tmp_path / "repository", **keys)))
    except SuiteError as error:
        told = str(error)
    assert "the pattern leads out of the checkout" in told
