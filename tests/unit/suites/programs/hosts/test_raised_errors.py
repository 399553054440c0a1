"""What an error that a check raises says: the agent has failed, unless the host or the suite lacks something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scratch import repository, run_in
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.verdicts import FailureClass
from suite_programs import session_report, suite_hosts
from table_rows import each_row_holds

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = "import errno, json, os, sys\nfrom skillgym_action import Case, expect\n"
NODE = 'import { join } from "node:path";\nimport { assert } from "skillgym";\n'


@dataclass(frozen=True)
class Raises:
    """The body of a check, the way it is answered, and a part of the message."""

    check: str
    says: str
    message: str


IN_PYTHON = {
    "a command that never ran": Raises("[].pop().strip()", "failed", "the check raised IndexError: "),
    "no key in what it wrote": Raises("json.loads('{}')['name']", "failed", "the check raised KeyError: 'name'"),
    "no file": Raises("open(report.cwd + '/out.txt')", "failed", "the check raised FileNotFoundError: "),
    "a name that is nowhere": Raises(
        "assert nowhere", "broken", "the check itself looks wrong: it raised NameError: name 'nowhere'"
    ),
    "a helper that is none": Raises(
        "expect.skills.hass(report, 'x')", "broken", "the check itself looks wrong: it raised AttributeError: "
    ),
    "a field of the report that is none": Raises(
        "report.final", "broken", "the check itself looks wrong: it raised AttributeError: "
    ),
    "an argument too few": Raises(
        "expect.skills.has(report)", "broken", "the check itself looks wrong: it raised TypeError: "
    ),
    "a module that is not installed": Raises(
        "import no_such_package", "undecided", "the check raised ModuleNotFoundError: No module named"
    ),
    "a name that no module has": Raises(
        "from json import lods", "undecided", "the check raised ImportError: cannot import name 'lods'"
    ),
    "no memory": Raises("raise MemoryError", "undecided", "the check raised MemoryError: "),
    "no space": Raises("raise OSError(errno.ENOSPC, 'full')", "undecided", "the check raised OSError: "),
    "no module, after a failed assertion": Raises(
        "expect.soft.fail('no')\nimport no_such_package", "undecided", "the check raised ModuleNotFoundError: "
    ),
    "a module that it did not write": Raises(
        "sys.path.insert(0, report.cwd)\nimport shop_of_agent",
        "failed",
        "the check raised ModuleNotFoundError: No module named 'shop_of_agent'",
    ),
    "a name that its module lacks": Raises(
        "sys.path.insert(0, report.cwd)\nfrom written import total",
        "failed",
        "the check raised ImportError: cannot import name 'total' from 'written'",
    ),
    "a name that its module itself does not know": Raises(
        "sys.path.insert(0, report.cwd)\nimport odd",
        "failed",
        "the check raised NameError: name 'nowhere' is not defined",
    ),
}
IN_NODE = {
    "a command that never ran": Raises(
        "ctx.getCommands()[7].trim()", "failed", "the check raised TypeError: Cannot read properties of undefined"
    ),
    "no JSON in what it wrote": Raises("JSON.parse('{')", "failed", "the check raised SyntaxError: "),
    "a module that it did not write": Raises(
        "await import(join(report.cwd, 'shop.js'))", "failed", "the check raised Error: Cannot find module"
    ),
    "a name that its module itself does not know": Raises(
        "await import(join(report.cwd, 'odd.mjs'))", "failed", "the check raised ReferenceError: nowhere is not defined"
    ),
    "a function that its module lacks": Raises(
        "(await import(join(report.cwd, 'empty.mjs'))).total()", "failed", "the check raised TypeError: "
    ),
    "a name that is nowhere": Raises(
        "nowhere", "broken", "the check itself looks wrong: it raised ReferenceError: nowhere is not defined"
    ),
    "a helper that is none": Raises(
        "assert.skills.hass(report, 'x')", "broken", "the check itself looks wrong: it raised TypeError: assert.skills"
    ),
    "a function of the context that is none": Raises(
        "ctx.final()", "broken", "the check itself looks wrong: it raised TypeError: ctx.final is not a function"
    ),
    "a package that is not installed": Raises(
        "await import('no-such-package')", "undecided", "the check raised Error: Cannot find package 'no-such-package'"
    ),
    "no space": Raises(
        "throw Object.assign(new Error('full'), { code: 'ENOSPC' })", "undecided", "the check raised Error: full"
    ),
    "a promise that nothing resolves": Raises(
        "await new Promise(() => 0)", "undecided", "the check raised Deadlock: it awaits a promise"
    ),
    "no package, after a failed assertion": Raises(
        "assert.soft.fail('no'); await import('no-such-package')", "undecided", "the check raised Error: Cannot find"
    ),
}


def written(folder: Path, name: str, text: str) -> Path:
    (folder / "bench").mkdir(exist_ok=True)
    (folder / "bench" / name).write_text(text)
    workspace = folder / "workspace"
    workspace.mkdir()
    (workspace / "written.py").write_text("")
    (workspace / "odd.py").write_text("nowhere\n")
    (workspace / "odd.mjs").write_text("nowhere;\n")
    (workspace / "empty.mjs").write_text("")
    return folder / "bench" / name


def in_python(rows: dict[str, Raises]) -> str:
    checks = [
        "\n    ".join([f"async def check_{number}(report, ctx):", *row.check.split("\n")])
        for number, row in enumerate(rows.values())
    ]
    cases = [f"Case({name!r}, prompt='p', check=check_{number})" for number, name in enumerate(rows)]
    return "\n".join([PYTHON, *checks, f"suite = [{', '.join(cases)}]", ""])


def in_node(rows: dict[str, Raises]) -> str:
    cases = [
        f"{{ id: {name!r}, prompt: 'p', async assert(report, ctx) {{ {row.check} }} }}" for name, row in rows.items()
    ]
    return f"{NODE}export default [{', '.join(cases)}];\n"


def check_all(folder: Path, file: Path, rows: dict[str, Raises]) -> None:
    report = session_report(cwd=str(folder / "workspace"))
    with suite_hosts(folder) as hosts:

        def check(named: tuple[str, Raises]) -> None:
            name, row = named
            (outcome,) = hosts.judge(file, name, report)
            passed = None if row.says == "undecided" else False
            assert (outcome.passed, outcome.trouble) == (passed, "assert-hook"), outcome
            assert outcome.explanation.startswith(row.message), outcome.explanation
            assert outcome.error.broken is (row.says == "broken"), outcome

        each_row_holds([(name, (name, row)) for name, row in rows.items()], check)


def test_what_a_python_check_raises(tmp_path):
    check_all(tmp_path, written(tmp_path, "raising_suite.py", in_python(IN_PYTHON)), IN_PYTHON)


def test_what_a_typescript_check_raises(tmp_path):
    check_all(tmp_path, written(tmp_path, "raising-suite.mjs", in_node(IN_NODE)), IN_NODE)


def test_where_the_suite_is_in_the_workspace_a_package_that_is_missing_is_still_the_suite_s(tmp_path):
    body = f"{NODE}export default [{{ id: 'a', prompt: 'p', assert: () => import('no-such-package') }}];\n"
    file = written(tmp_path, "raising-suite.mjs", body)
    with suite_hosts(tmp_path) as hosts:
        (outcome,) = hosts.judge(file, "a", session_report(cwd=str(tmp_path)))
    assert outcome.passed is None, outcome


def test_the_error_is_kept_as_it_was_raised(tmp_path):
    body = f"{NODE}export default [{{ id: 'a', prompt: 'p', assert() {{ throw new TypeError('odd') }} }}];\n"
    file = written(tmp_path, "raising-suite.mjs", body)
    with suite_hosts(tmp_path) as hosts:
        (outcome,) = hosts.judge(file, "a", session_report())
    assert (outcome.explanation, outcome.error.name, outcome.error.message) == (
        "the check raised TypeError: odd", "TypeError", "odd"
    )  # fmt: skip
    assert outcome.error.stack == "bench/raising-suite.mjs:3 in Object.assert\nTypeError: odd"


ALL = "status,passed,durationMs,artifactDir,executionArtifactDir,failureLogPath,error.name,error.message,error.stack"
FIELDS = {"caseId": "a", "runnerId": "claude", "status": "failed", "passed": False, "failureOrigin": "assert-hook"}
FIELDS |= {"durationMs": 7, "executionArtifactDir": "/run/a", "artifactDir": "/run/a/repeat-1"}
FIELDS |= {"failureLogPath": "/run/a/repeat-1/stderr.log"}
ERROR = {"name": "TypeError", "message": "odd", "stack": "a-suite.ts:3 in assert"}
SEEN = "failed|False|7|/run/a/repeat-1|/run/a|/run/a/repeat-1/stderr.log|TypeError|odd|a-suite.ts:3 in assert"


def test_a_classifier_gets_every_field_and_the_message_as_it_was_raised(tmp_path):
    paths = [f"result.{name}" for name in ALL.split(",")]
    in_python = [re.sub(r"(?<!^)(?=[A-Z])", "_", path).lower() for path in paths]
    python = f"{PYTHON}def classes(result): return '|'.join(map(str, [{', '.join(in_python)}]))\n"
    python += "suite = [Case('a', prompt='p', check=print, classify_failure=classes)]\n"
    node = f"{NODE}const classes = (result) => [{', '.join(paths)}].join('|');\n"
    node += "export default [{ id: 'a', prompt: 'p', assert() {}, classifyFailure: classes }];\n"
    result = {**FIELDS, "error": ERROR, "report": to_json(session_report())}
    with suite_hosts(tmp_path) as hosts:
        for name, text, seen in (("a_suite.py", python, SEEN), ("a-suite.mjs", node, SEEN.replace("False", "false"))):
            (tmp_path / name).write_text(text)
            assert hosts.classify(tmp_path / name, "a", result) == FailureClass(id=seen, label=seen)


def test_a_classifier_of_a_whole_run_gets_folders_that_are_there(tmp_path):
    body = NODE.replace("join }", "basename }") + (
        "import { existsSync } from 'node:fs';\n"
        "const there = (path) => `${basename(path)} ${existsSync(path)}`;\n"
        "const classifyFailure = (result) => [\n"
        "  result.error.name, result.error.message, result.error.stack.split('\\n')[0].replace('Object.', ''),\n"
        "  there(result.artifactDir), there(result.executionArtifactDir), there(result.failureLogPath),\n"
        "  result.durationMs > 0].join(', ');\n"
        "export default [{ id: 'a', prompt: 'p', classifyFailure, assert() { throw new TypeError('odd') } }];\n"
    )
    root = repository(tmp_path, {"bench/core.json": None, "a-suite.mjs": body})
    (result,) = run_in(root).results
    assert (result.status, result.judgement.origin) == ("failed", "assert-hook")
    assert result.judgement.failure_class.id == (
        "TypeError, odd, a-suite.mjs:9 in assert, repeat-1 true, sh true, stderr.log true, true"
    )
    assert result.judgement.failure.message == "the check raised TypeError: odd"
