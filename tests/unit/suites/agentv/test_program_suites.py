"""AgentV suites in TypeScript: what they export, read by a real suite host, as cases; every mistake with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import written
from skillgym_action.model.errors import SuiteError
from skillgym_action.pipeline.stages.load import SuiteFileAccess
from skillgym_action.suites import format_named
from skillgym_action.suites.agentv import suite as agentv
from skillgym_action.suites.agentv.program_graders import FunctionGrader, FunctionReference
from suite_programs import suite_hosts

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkSuite

NAME = "evals/shop.eval.ts"
SDK = 'import { defineEval, graders } from "@agentv/sdk";\n'
TARGET = {"evals/targets.yaml": "targets: [{name: default, provider: mock, response: ok}]"}


def read(root: Path, text: str, files: dict[str, Any] | None = None, name: str = NAME, **environment: str):
    """The suite in that file."""
    texts = {path: body if isinstance(body, str) else json.dumps(body) for path, body in (files or {}).items()}
    written(root, TARGET | texts | {name: text})
    with suite_hosts(root) as hosts:
        return agentv.suite(SuiteFileAccess(path=name, file=root / name, hosts=hosts, environment=environment))


def refused(root: Path, text: str, files: dict[str, Any] | None = None) -> str:
    with pytest.raises(SuiteError) as raised:
        read(root, text, files)
    return str(raised.value.problems[0])


def told(suite: BenchmarkSuite) -> tuple[list[str], list[str]]:
    """What is wrong with its cases, and its warnings."""
    return [str(one.problem) for one in suite.invalid], list(map(str, suite.warnings))


# --- is it one? -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "head", "accepted"),
    [
        pytest.param("a/shop.eval.ts", SDK, True, id="defineEval"),
        pytest.param("shop.eval.mts", SDK, True, id="mts"),
        pytest.param("Shop.EVAL.cts", SDK, True, id="cts, in any case"),
        pytest.param("shop.eval.ts", "export default { tests: [] }", True, id="an object with tests"),
        pytest.param("shop.eval.ts", "export const evalConfig = { specFile: 'a' }", True, id="a name"),
        pytest.param("shop.eval.ts", "import { evalite } from 'evalite'", False, id="of another tool"),
        pytest.param("shop.eval.ts", "export default [1]", False, id="an export of another kind"),
        pytest.param("shop.eval.js", SDK, False, id="JavaScript, which AgentV does not look for"),
        pytest.param("shop.ts", SDK, False, id="another name"),
        pytest.param("vendor/shop.eval.ts", SDK, False, id="vendored"),
        pytest.param("node_modules/x/shop.eval.ts", SDK, False, id="a package's"),
    ],
)
def test_what_looks_like_a_suite(path, head, accepted):
    assert format_named("agentv").accepts(path, head) is accepted


def test_why_a_program_of_another_tool_is_not_run():
    why = agentv.rejection("shop.eval.ts", "import { evalite } from 'evalite'")
    assert why is not None
    assert (why.reason, why.near_miss) == ("neither mentions AgentV nor exports tests", False)


# --- defineEval -------------------------------------------------------------------------------------


def test_a_suite_of_define_eval_is_read_as_its_yaml_would_be(tmp_path):
    text = (
        SDK
        + """
export default defineEval({
  name: "shop",
  inputFiles: ["./notes.md"],
  execution: { targets: ["default"], budgetUsd: 2, threshold: 0.6 },
  tests: [{
    id: "one",
    input: "Do it",
    expectedOutput: "done",
    dependsOn: [],
    assertions: [
      graders.contains("ok", { name: "says-ok", weight: 2 }),
      graders.regex(/o./i),
      graders.codeGrader(["true"], { target: { maxCalls: 3 } }),
    ],
    workspace: { hooks: { beforeEach: { command: ["true"], timeoutMs: 1500 } } },
  }],
});
"""
    )
    suite = read(tmp_path, text, {"evals/notes.md": "notes"})
    (case,) = suite.cases
    assert (suite.name, suite.format, suite.budget, told(suite)) == ("shop", "agentv", 2.0, ([], []))
    assert [one.name for one in case.assertions] == ["says-ok", "regex-o.", "code-grader"]
    assert (case.assertions[0].weight, case.threshold) == (2.0, 0.6)
    assert case.assertions[1].grader.written == "/o./i"
    assert case.assertions[2].grader.model_calls == 3
    assert case.workspace.hooks.before_each[0].timeout == 1.5
    assert case.files == (tmp_path / "evals/notes.md",)
    assert [runner.id for runner in suite.runners] == ["default"]
    assert (case.location.path, case.location.line) == (NAME, 8)


def test_modules_beside_it_and_variables_are_read(tmp_path):
    text = (
        'import { word } from "./words.js";\n'
        'export default { tests: [{ id: "one", input: "${{ WHO }}", assert: [{ type: "contains", value: word }] }] };\n'
    )
    suite = read(tmp_path, text, {"evals/words.ts": "export const word: string = 'hey';"}, WHO="Ada")
    assert suite.cases[0].prompt == "Ada"
    assert suite.cases[0].assertions[0].name == "contains-hey"


def test_the_package_of_agentv_comes_first_where_it_is_installed(tmp_path):
    package = (
        "export const defineEval = (suite) => Object.defineProperties(suite, {\n"
        "  [Symbol.for('@agentv/sdk/eval-suite')]: { value: true },\n"
        "  [Symbol.for('@agentv/sdk/to-eval-yaml-object')]: { value: () => ({ ...suite, name: 'lowered' }) },\n"
        "});\n"
    )
    files = {
        "node_modules/@agentv/sdk/package.json": {"type": "module", "exports": "./index.js"},
        "node_modules/@agentv/sdk/index.js": package,
    }
    text = (
        'import { defineEval } from "@agentv/sdk";\n'
        'export default defineEval({ tests: [{ id: "one", input: "x", assertions: [{ type: "is-json" }] }] });\n'
    )
    assert read(tmp_path, text, files).name == "lowered"


# --- a configuration --------------------------------------------------------------------------------

CONFIGURATION = """
import type { EvalConfig } from "@agentv/core";

export const evalConfig: EvalConfig = {
  metadata: { name: "plain", tags: ["quick"], owner: "me" },
  threshold: 0.5,
  budgetUsd: 3,
  beforeAll: "echo prepared",
  tests: [
    { id: "one", input: "a", expectedOutput: "b", assert: [{ type: "equals", value: "b" }, ({ output }) => output] },
    { id: "two", aggregation: "min", turns: [{ input: "a", expectedOutput: "b" }, { input: "c", assert: [() => 1] }] },
  ],
  assert: [{ type: "icontains", value: "OK" }],
  target: { name: "inline", provider: "mock", response: "ok" },
};
"""


def test_a_configuration_is_read_with_its_own_names_of_keys(tmp_path):
    suite = read(tmp_path, CONFIGURATION)
    one, two = suite.cases
    assert (suite.name, suite.budget, told(suite)) == ("plain", 3.0, ([], []))
    assert [assertion.type for assertion in one.assertions] == ["equals", "function", "icontains"]
    assert (one.threshold, one.tags, one.metadata) == (0.5, ("quick",), {"owner": "me"})
    assert two.conversation.turns == ("a", "c")
    assert two.assertions[0].grader.aggregation == "min"
    assert suite.workspace.hooks.before_all[0].argv == ("sh", "-c", "echo prepared")
    assert [(runner.id, runner.agent.type) for runner in suite.runners] == [("inline", "agentv-mock")]


def test_a_function_is_a_grader_by_its_number(tmp_path):
    grader = read(tmp_path, CONFIGURATION).cases[0].assertions[1].grader
    assert isinstance(grader, FunctionGrader)
    assert grader.function == FunctionReference(0)


def test_a_configuration_may_name_a_yaml_file_and_add_to_it(tmp_path):
    text = 'export default { specFile: "./EVAL.yaml", threshold: 0.4, assert: [{ type: "cost", budget: 1 }] };'
    test = {"id": "one", "input": "x", "assertions": [{"type": "contains", "value": "a"}]}
    base = {"name": "base", "tests": [test], "assertions": [{"type": "is-json"}]}
    suite = read(tmp_path, text, {"evals/EVAL.yaml": base})
    (case,) = suite.cases
    assert (suite.name, case.threshold) == ("base", 0.4)
    assert [assertion.type for assertion in case.assertions] == ["contains", "is-json", "cost"]
    assert suite.hidden == ("evals/EVAL.yaml",)


IGNORED = [
    ('filter: "a*"', "filter", "use --case"),
    ("maxRetries: 3", "maxRetries", "use --retry"),
    ("agentTimeoutMs: 3", "agentTimeoutMs", "use --timeout, or timeout_seconds of the target"),
    ('outputDir: "out"', "outputDir", "use --output-dir"),
    ('experiment: "x"', "experiment", "name the run with --output"),
    ("onResult: () => 1", "onResult", "read results.json after the run"),
]


@pytest.mark.parametrize(("key", "name", "remedy"), IGNORED)
def test_keys_without_effect_are_warnings(tmp_path, key, name, remedy):
    text = (
        f'export default {{\n  {key},\n  tests: [{{ id: "one", input: "x", assert: [{{ type: "is-json" }}] }}],\n}};\n'
    )
    problems, warnings = told(read(tmp_path, text))
    assert problems == []
    assert warnings == [f"{NAME}:1:1: {name}: {name} of a suite in TypeScript has no effect; {remedy}"]


def test_a_key_that_is_not_known_is_a_warning(tmp_path):
    text = 'export default { tets: 1, tests: [{ id: "one", input: "x", assert: [{ type: "is-json" }] }] };'
    assert told(read(tmp_path, text))[1] == [f"{NAME}:1:1: tets: unknown key 'tets'; did you mean 'tests'?"]


def test_a_task_in_yaml_is_a_key_that_is_not_known(tmp_path):
    test = {"id": "one", "input": "x", "assertions": [{"type": "is-json"}]}
    suite = read(tmp_path, json.dumps({"task": "x", "tests": [test]}), name="evals/EVAL.yaml")
    assert [runner.id for runner in suite.runners] == ["default"]
    assert ["unknown key 'task'" in warning for warning in told(suite)[1]] == [True]


def test_a_function_as_the_agent_is_an_error_of_that_target_alone(tmp_path):
    text = (
        'export default { task: (i: string) => i, tests: [{ id: "one", input: "x", assert: [{ type: "is-json" }] }] };'
    )
    suite = read(tmp_path, text)
    (runner,) = suite.runners
    assert [case.id for case in suite.cases] == ["one"]
    assert runner.id == "custom-task"
    assert "a function cannot be the agent here" in runner.problem.message
    assert "choose another agent with --runner" in runner.problem.remedy


# --- mistakes ---------------------------------------------------------------------------------------

MISTAKES = [
    pytest.param(
        "export const suite = 1; // agentv",
        f"{NAME}: the file exports no suite of AgentV; write `export default defineEval({{ … }})`, or export an object "
        "with tests as default or evalConfig",
        id="no export",
    ),
    pytest.param(
        "\nexport default 7;",
        f"{NAME}:2:1: the file exports no suite of AgentV: default is 7; write `export default defineEval({{ … }})`, "
        "or export an object with tests as default or evalConfig",
        id="an export of another kind",
    ),
    pytest.param(
        SDK + "export default defineEval({ tests: [{ id: 'a', input: () => 'x' }] });",
        f"{NAME}:2:1: tests[0].input: is a function, which is no data; functions may stand in lists of assertions "
        "alone",
        id="a function that is no grader",
    ),
    pytest.param(
        SDK + "export default defineEval({ tests: [{ id: 'a', input: 'x', assertions: [{ value: /x/ }] }] });",
        f"{NAME}:2:1: tests[0].assertions[0].value: is /x/; write graders.regex(/…/), or the pattern as text",
        id="a regular expression",
    ),
    pytest.param(
        "export default { tests: [new Date(0)] };",
        f"{NAME}:1:1: tests[0]: is 1970-01-01T00:00:00.000Z, which is no data; write text, numbers, lists and plain "
        "objects",
        id="an object with a class",
    ),
    pytest.param(
        "const tests: any[] = []; tests.push(tests); export default { tests };",
        "is nested too deeply, or contains itself",
        id="itself",
    ),
    pytest.param(
        'import { evaluate } from "@agentv/core";\nevaluate();',
        f"{NAME}:2:1: Error: evaluate() runs tests itself, and cannot be used in a suite: export its configuration as "
        "the default",
        id="evaluate",
    ),
    pytest.param(
        'import { z } from "@agentv/sdk";\nexport default { tests: [] };',
        "without AgentV's package only helpers for suites can be imported: install it beside the suite",
        id="what only the package has",
    ),
    pytest.param(
        "process.exit(3); // agentv", "the suite ended its process with exit code 3 while it was imported", id="exit"
    ),
    pytest.param(
        "export default { workspace: { docker: { image: 'x' } }, tests: [{ id: 'a', input: 'x', criteria: 'c' }] };",
        f"{NAME}:1:1: workspace.docker: docker is not supported; run the whole job in a container of that image, or "
        "prepare a template with hooks.before_all",
        id="docker",
    ),
    pytest.param(
        "export default { specFile: './EVAL.yaml', tests: [] };",
        f"{NAME}:1:1: specFile: a suite has tests or specFile, not both; leave one of them out",
        id="tests twice",
    ),
    pytest.param(
        "export default { specFile: '../EVAL.yaml' };",
        f"{NAME}:1:1: specFile: specFile has to be a YAML file in the same folder; run that file itself, without this "
        "one",
        id="a file elsewhere",
    ),
    pytest.param(
        "export default { specFile: './OTHER.yaml' };",
        f"{NAME}:1:1: specFile: there is no evals/OTHER.yaml",
        id="a file that is not there",
    ),
]


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_suite_that_cannot_be_used_is_an_error_with_its_place(tmp_path, text, message):
    said = refused(tmp_path, text)
    assert said == message if message.startswith(NAME) else message in said


def test_a_test_that_cannot_be_used_has_its_own_place_and_the_others_run(tmp_path):
    text = """
export default { tests: [
  { id: "one", input: "x", assert: [{ type: "is-json" }] },
  { id: "two", input: "x", assert: [{ type: "contans", value: "x" }] },
  { id: "one", input: "x", assert: [{ type: "is-json" }] },
] };
"""
    suite = read(tmp_path, text)
    assert [case.id for case in suite.cases] == ["one"]
    unknown = "unknown assertion type 'contans'"
    assert told(suite)[0] == [
        f"{NAME}:4:5: tests[1].assertions[0].type: {unknown}; did you mean 'contains'?",
        f"{NAME}:5:5: tests[2]: the id 'one' is already used by the test at {NAME}:3:5; rename one of them",
    ]
