"""From a TypeScript or JavaScript suite file to a suite."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import pytest

from npm_packages import node_modules
from scratch import repository, skillgym, written
from skillgym_action.judging.assertions.commands import SuiteCheck
from skillgym_action.model.errors import Location
from skillgym_action.model.suite import BenchmarkCase, Bootstrap
from skillgym_action.pipeline.stages.load import SuiteFileAccess
from skillgym_action.suites.programs import typescript as typescript_suite
from skillgym_action.suites.programs.hosts.node import MIN_VERSION
from suite_programs import suite_hosts

NAME = "bench/demo-suite.ts"
A_CASE = '{ id: "a", prompt: "p", assert() {} }'
ESM = f'import {{ assert }} from "skillgym";\nassert.ok(1);\nexport default [{A_CASE}];\n'
CJS = f'const {{ assert }} = require("skillgym");\nassert.ok(1);\nmodule.exports = [{A_CASE}];\n'
TYPED = "const one: number = 1;\n"
OLDEST = ".".join(map(str, (*MIN_VERSION, 0)))


def loaded(folder, body, name=NAME, package=None, **settings):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(body, encoding="utf-8")
    if package:
        (file.parent / "package.json").write_text(json.dumps({"type": package}))
    with suite_hosts(folder, **settings) as hosts:
        return typescript_suite.suite(SuiteFileAccess(path=name, file=file, hosts=hosts, environment={}))


def at(line, column):
    return Location(path=NAME, line=line, column=column)


# --- modules -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", [None, "commonjs", "module"])
@pytest.mark.parametrize(
    ("name", "body"),
    [
        pytest.param("suite.ts", TYPED + ESM, id="ts"),
        pytest.param("suite.mts", TYPED + ESM, id="mts"),
        pytest.param("suite.cts", TYPED + ESM, id="cts with import"),
        pytest.param("suite.cts", TYPED + CJS, id="cts with require"),
        pytest.param("suite.js", ESM, id="js"),
        pytest.param("suite.mjs", ESM, id="mjs"),
        pytest.param("suite.cjs", CJS, id="cjs"),
    ],
)
def test_every_kind_of_module_is_a_suite_whatever_the_package_says(tmp_path, package, name, body):
    suite = loaded(tmp_path, body, f"bench/{name}", package)
    assert ([case.id for case in suite.cases], suite.invalid) == (["a"], ())


@pytest.mark.parametrize("name", ["suite.ts", "suite.js"])
def test_require_is_understood_where_the_package_does_not_forbid_it(tmp_path, name):
    assert [case.id for case in loaded(tmp_path, CJS, f"bench/{name}", "commonjs").cases] == ["a"]


def test_what_a_compiler_makes_of_a_default_export_is_understood(tmp_path):
    body = f'Object.defineProperty(exports, "__esModule", {{ value: true }});\nexports.default = [{A_CASE}];\n'
    suite = loaded(tmp_path, body + 'exports.workspace = { mode: "shared" };\n', "bench/suite.cjs")
    assert ([case.id for case in suite.cases], suite.workspace.mode) == (["a"], "shared")


def test_a_common_js_suite_has_a_workspace_beside_its_list_and_a_case_of_any_name_in_its_map(tmp_path):
    body = f'module.exports = [{A_CASE}];\nmodule.exports.workspace = {{ mode: "shared" }};\n'
    assert loaded(tmp_path, body, "bench/suite.cjs").workspace.mode == "shared"
    suite = loaded(tmp_path, f"module.exports = {{ workspace: {A_CASE} }};\n", "bench/suite.cjs")
    assert ([case.id for case in suite.cases], suite.workspace.source) == (["a"], "repository")


HELPERS = {
    "rules.cjs": "exports.assert = require('skillgym').assert; exports.data = require('./data.json');",
    "more.cts": "const number: number = 1; exports.more = require('./rules.cjs').assert;",
    "again.js": "exports.again = require('skillgym').assert;",
    "data.json": '{"key": 1}',
    "node_modules/package/index.js": "exports.value = require('./value.mjs').value;",
    "node_modules/package/value.mjs": "export const value = 5;",
}
IMPORTING = f"""\
import * as skillgym from "skillgym";
import {{ assert, data }} from "./rules.cjs";
import {{ more }} from "./more.cts";
import {{ again }} from "./again.js";
import {{ value }} from "package";
assert.deepEqual([data.key, value], [1, 5]);
for (const one of [assert, more, again]) assert.equal(one, skillgym.assert);
export default [{A_CASE}];
"""


def test_what_a_suite_imports_may_require_it_and_is_given_the_same(tmp_path):
    written(tmp_path / "bench", HELPERS)
    assert loaded(tmp_path, IMPORTING).invalid == ()


@pytest.mark.more_agents
@pytest.mark.slow  # npm installs what it needs
@pytest.mark.parametrize(("name", "body"), [("suite.ts", IMPORTING), ("suite.cts", TYPED + CJS), ("suite.mjs", ESM)])
def test_the_oldest_node_will_do(tmp_path, name, body):
    package = f"node-{sys.platform}-{'arm64' if platform.machine() in {'arm64', 'aarch64'} else 'x64'}"
    program = node_modules(f"node-{OLDEST}", f"{package}@{OLDEST}") / package / "bin" / "node"
    written(tmp_path / "bench", HELPERS)
    assert [case.id for case in loaded(tmp_path, body, f"bench/{name}", node=str(program)).cases] == ["a"]


# --- cases ---------------------------------------------------------------------------------------------


def test_a_list_of_cases(tmp_path):
    suite = loaded(
        tmp_path,
        """\
export default [
  { id: "a", prompt: "Say ä", assert() {} },
  {
    prompt: "p", tags: ["x", "y", "x"], timeoutMs: 1500, expectedFail: true,
    classifyFailure: () => undefined,
    id: 'b', async assert(report, ctx) {},
  },
];
""",
    )
    assert (suite.path, suite.name, suite.format, suite.invalid) == (NAME, "demo", "typescript", ())
    assert suite.cases == (
        BenchmarkCase(id="a", prompt="Say ä", location=at(2, 5), assertions=(SuiteCheck("a"),)),
        BenchmarkCase(
            id="b",
            prompt="p",
            location=at(6, 5),
            assertions=(SuiteCheck("b"),),
            tags=("x", "y"),
            timeout=1.5,
            expected_fail=True,
            classify=True,
        ),
    )


def test_a_map_of_cases_gives_ids_to_those_without(tmp_path):
    body = (
        'export default {\n  first: { prompt: "p", assert() {} },\n'
        '  "the second": { prompt: "p", assert() {} },\n  third: { id: "own", prompt: "p", assert() {} },\n};\n'
    )
    assert [(case.id, case.location) for case in loaded(tmp_path, body).cases] == [
        ("first", at(2, 3)),
        ("the second", at(3, 3)),
        ("own", at(4, 12)),
    ]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        pytest.param(f'// {{ id: "a" }}\n/* id: "a" */\nexport default [{A_CASE}];', (3, 19), id="not in a comment"),
        pytest.param('export default [{ "id": `a`, prompt: "p", assert() {} }];', (1, 20), id="quoted key"),
        pytest.param(
            'const id = "a";\nexport default [{ id, prompt: "p", assert() {} }];', (None, None), id="computed"
        ),
    ],
)
def test_a_case_is_where_its_id_is_written(tmp_path, body, place):
    (case,) = loaded(tmp_path, body).cases
    assert case.location == at(*place)


def test_a_case_of_another_module_is_where_that_module_writes_it(tmp_path):
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench/login.ts").write_text(f"export const login = [\n  {A_CASE}];\n")
    (case,) = loaded(tmp_path, 'import { login } from "./login.ts";\nexport default login;\n').cases
    assert case.location == Location(path="bench/login.ts", line=2, column=5)


@pytest.mark.parametrize(
    ("case", "problem", "remedy"),
    [
        pytest.param('prompt: "p", assert() {}', "the case has no id", 'write id: "…"', id="id"),
        pytest.param('id: "b", assert() {}', "the case has no prompt", "write prompt, the exact text", id="prompt"),
        pytest.param('id: "b", prompt: " ", assert() {}', "the case has no prompt", "write prompt", id="blank prompt"),
        pytest.param('id: "b", prompt: "p"', "the case has no assert", "write `assert(report, ctx)", id="assert"),
        pytest.param(
            'id: "b", prompt: "p", *assert() {}',
            "assert yields, so calling it would judge nothing",
            "take",
            id="generator",
        ),
        pytest.param('id: "b", prompt: "p", assert() {}, tags: "x"', "tags are 'x'", "write tags: [", id="tags"),
        pytest.param(
            'id: "b", prompt: "p", assert() {}, timeoutMs: 0', "timeoutMs is 0", "write a positive", id="0 ms"
        ),
        pytest.param(
            'id: "b", prompt: "p", assert() {}, timeoutMs: "5"', "timeoutMs is '5'", "write a", id="ms as text"
        ),
        pytest.param('id: "b", prompt: "p", assert() {}, expectedFail: 1', "expectedFail is 1", "write true", id="1"),
        pytest.param(
            'id: "b", prompt: "p", assert() {}, classifyFailure: "x"',
            "classifyFailure is not a function",
            "write",
            id="classifier",
        ),
        pytest.param(
            'id: "b", prompt: "p", assert() {}, timeoutMS: 5',
            "unknown field 'timeoutMS'",
            "did you mean 'timeoutMs'?",
            id="misspelt",
        ),
        pytest.param(
            'id: "b", prompt: "p", assert() {}, runner: "x"',
            "unknown field 'runner'",
            "known: id, prompt, tags",
            id="unknown",
        ),
        pytest.param('id: "b", tags: 5', "the case has no prompt; the case has no assert; tags are 5", "", id="all"),
    ],
)
def test_a_case_that_cannot_be_used_is_reported_and_its_sibling_stays(tmp_path, case, problem, remedy):
    suite = loaded(tmp_path, f"export default [{A_CASE},\n{{ {case} }}];")
    assert [good.id for good in suite.cases] == ["a"]
    (invalid,) = suite.invalid
    assert (invalid.problem.message, invalid.case_id) == (problem, "b" if "id:" in case else "case 2")
    assert invalid.problem.remedy.startswith(remedy)
    assert invalid.problem.location == (at(2, 3) if "id:" in case else at(None, None))


@pytest.mark.parametrize("value", ["5", "null", '"text"'])
def test_what_is_no_case_is_reported(tmp_path, value):
    suite = loaded(tmp_path, f"export default [{A_CASE}, {value}];")
    assert suite.invalid[0].problem.message == f"this is {value.replace(chr(34), chr(39))}, not a case"


def test_an_id_used_twice_names_both_places(tmp_path):
    suite = loaded(tmp_path, f"export default [{A_CASE},\n  {A_CASE}];")
    assert [case.location for case in suite.cases] == [at(1, 19)]
    assert [str(invalid.problem) for invalid in suite.invalid] == [
        f"{NAME}:2:5: the id 'a' is used twice: {NAME}:1:19 and {NAME}:2:5; give each case a different id"
    ]


# --- workspaces ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("workspace", "expected"),
    [
        pytest.param('{ mode: "isolated" }', {"mode": "isolated", "source": "empty"}, id="isolated"),
        pytest.param(
            '{ mode: "isolated", templateDir: "./app" }',
            {"source": "template", "template": Path("bench/app")},
            id="template",
        ),
        pytest.param('{ mode: "shared" }', {"mode": "shared"}, id="shared"),
        pytest.param(
            '{ mode: "shared", cwd: "../src" }', {"mode": "none", "cwd": Path("bench/../src")}, id="the older form"
        ),
        pytest.param(
            '{ mode: "isolated", bootstrap: { command: "sh", args: ["./a.sh", "-x"], env: { N: "1" } } }',
            {"bootstrap": Bootstrap(argv=("sh", "bench/a.sh", "-x"), env=(("N", "1"),))},
            id="bootstrap",
        ),
    ],
)
def test_a_workspace_is_what_the_suite_says(tmp_path, workspace, expected):
    spec = loaded(tmp_path, f"export default [];\nexport const workspace = {workspace};").workspace
    found = {name: getattr(spec, name) for name in expected}
    assert eval(repr(found).replace(f"{tmp_path}/", ""), {"PosixPath": Path, "Bootstrap": Bootstrap}) == expected


@pytest.mark.parametrize(
    ("workspace", "problem"),
    [
        pytest.param("5", "workspace is 5; write", id="number"),
        pytest.param('{ mode: "alone" }', "unknown workspace mode 'alone'; known: none, shared, isolated", id="mode"),
        pytest.param("{}", "unknown workspace mode undefined", id="no mode"),
        pytest.param('{ mode: "isolated", cwd: "." }', "an isolated workspace has no cwd", id="isolated with cwd"),
        pytest.param('{ mode: "none", templateDir: "x" }', "a template is copied into a new workspace", id="none"),
        pytest.param('{ mode: "shared", cwd: ".", templateDir: "x" }', "a template is copied", id="cwd and template"),
        pytest.param('{ mode: "isolated", templateDir: 5 }', "workspace.templateDir is 5; write a path", id="no path"),
        pytest.param(
            '{ mode: "isolated", template: "x" }',
            "unknown workspace setting 'template'; did you mean 'templateDir'?",
            id="misspelt",
        ),
        pytest.param(
            '{ mode: "isolated", bootstrap: "make" }', "unknown bootstrap setting '0'", id="bootstrap as text"
        ),
        pytest.param('{ mode: "isolated", bootstrap: {} }', "bootstrap has no command", id="no command"),
        pytest.param(
            '{ mode: "isolated", bootstrap: { command: "sh", args: "-c" } }', "bootstrap args are '-c'", id="args"
        ),
        pytest.param(
            '{ mode: "isolated", bootstrap: { command: "sh", env: { N: 1 } } }', "bootstrap env is { N: 1 }", id="env"
        ),
    ],
)
def test_a_workspace_that_cannot_be_is_refused_where_it_is_written(tmp_path, workspace, problem):
    with pytest.raises(Exception, match=r"bench/demo-suite\.ts:2:1: ") as caught:
        loaded(tmp_path, f"export default [];\nexport const workspace = {workspace};")
    assert problem in str(caught.value)


# --- the whole line --------------------------------------------------------------------------------------


def test_a_named_file_is_taken_whatever_it_is_called(tmp_path):
    root = repository(tmp_path, {"bench/core.json": None, "checks/login.mts": ESM})
    listed = skillgym("list", "checks/login.mts", cwd=root)
    assert (listed.code, "login" in listed.out, "checks/login.mts" in listed.out) == (0, True, True), listed.err


def test_without_a_node_that_can_the_suite_is_refused_and_the_others_run(tmp_path):
    old = tmp_path / "old-node"
    old.write_text("#!/bin/sh\necho v20.1.0\n")
    old.chmod(0o755)
    root = repository(tmp_path / "repository", {"bench/a-suite.ts": ESM})
    ran = skillgym("run", "--output", "out", cwd=root, SKILLGYM_NODE=str(old))
    assert ran.code == 2
    assert (
        ran.err.count(f"bench/a-suite.ts: suites in TypeScript need Node.js 22.18 or newer: SKILLGYM_NODE={old}") == 1
    )
    assert json.loads((root / "out/results.json").read_text())["totals"]["passed"] == 1
