"""A first suite in each format, as the text of its file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from skillgym_action.starter.starter_cases import FileCheck, StarterCase


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteFormat:
    """A format that ``init`` can write. ``file``: the path of the suite; "": beside the skill."""

    file: str
    text: Callable[[Sequence[StarterCase], str], str]


def _x_bench(cases: Sequence[StarterCase], schema: str) -> str:
    suite = {
        "$schema": schema,
        "name": "starter",
        "defaults": {"budget": 0.5, "timeout": 300},
        "cases": [
            {"id": case.id, "prompt": case.prompt, "expect": [*map(_expectation, case.checks), *_run(case)]}
            for case in cases
        ],
    }
    return _json(suite)


def _expectation(check: FileCheck) -> str:
    if check.heading:
        return f"file:{check.path} matches /{_heading(check).replace('/', chr(92) + '/')}/im"
    plain = "'" not in check.text
    text = f"'{check.text}'" if plain else json.dumps(check.text, ensure_ascii=False)
    return f"file:{check.path} contains {text}"


def _run(case: StarterCase) -> list[str]:
    return [f"test:{case.run} passes"] if case.run else []


def _heading(check: FileCheck) -> str:
    """A regular expression that JavaScript and Python have in common."""
    return rf"^#+ +{re.escape(check.text)}".replace(r"\ ", " ").replace(r"\-", "-")


def _python(cases: Sequence[StarterCase], _schema: str) -> str:
    lines = [
        "from pathlib import Path",
        "",
        "from skillgym_action import Suite, expect",
        "",
        'suite = Suite("starter")',
    ]
    lines += ["", "", "def text_of(report, name):", "    path = Path(report.cwd, name)"]
    lines += ['    assert path.is_file(), f"the agent did not write {name}"', "    return path.read_text()"]
    for case in cases:
        lines += ["", "", "@suite.case(", f"    {_quoted(case.id)},", f"    prompt={_quoted(case.prompt)},", ")"]
        lines.append(f"def {case.id.replace('-', '_')}(report):")
        for check in case.checks:
            text = f"text_of(report, {_quoted(check.path)})"
            if check.heading:
                lines.append(f"    expect.match({text}, {_quoted('(?im)' + _heading(check))})")
            else:
                lines.append(f"    assert {_quoted(check.text)} in {text}")
    return "\n".join(lines) + "\n"


def _typescript(cases: Sequence[StarterCase], _schema: str) -> str:
    lines = ['import { existsSync, readFileSync } from "node:fs";', 'import { join } from "node:path";']
    lines += ['import { assert, type Case, type SessionReport } from "skillgym";', ""]
    lines += [
        "function textOf(report: SessionReport, name: string): string {",
        "  const path = join(report.cwd, name);",
    ]
    lines += [
        "  assert.ok(existsSync(path), `the agent did not write ${name}`);",
        '  return readFileSync(path, "utf8");',
    ]
    lines += ["}", "", "const suite: Case[] = ["]
    for case in cases:
        lines += ["  {", f"    id: {_quoted(case.id)},", f"    prompt: {_quoted(case.prompt)},", "    assert(report) {"]
        for check in case.checks:
            pattern = f"/{_heading(check)}/im" if check.heading else f"/{_literal(check.text)}/"
            lines.append(f"      assert.match(textOf(report, {_quoted(check.path)}), {pattern});")
        lines += ["    },", "  },"]
    return "\n".join([*lines, "];", "export default suite;", ""])


def _literal(text: str) -> str:
    """A regular expression of JavaScript for a text."""
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)


def _agentv(cases: Sequence[StarterCase], _schema: str) -> str:
    lines = ["name: starter", "tests:"]
    for case in cases:
        lines += [f"  - id: {case.id}", f"    input: {_quoted(case.prompt)}", "    assertions:"]
        for check in case.checks:
            option, text = ("-iqE", _heading(check)) if check.heading else ("-qF", check.text)
            line = f'grep {option} -- {_shell(text)} "$AGENTV_WORKSPACE_PATH/{check.path}"'
            lines += ["      - type: code-grader", f"        name: {_quoted(f'{check.path} has {check.text}')}"]
            lines.append(f"        command: [sh, -c, {_quoted(line)}]")
    return "\n".join(lines) + "\n"


def _evals(cases: Sequence[StarterCase], _schema: str) -> str:
    evals = [
        {
            "id": case.id,
            "prompt": case.prompt,
            "assertions": [{"type": "file_contains", "path": one.path, "value": one.text} for one in case.checks],
        }
        for case in cases
    ]
    return _json({"evals": evals})


def _json(value: object) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def _quoted(text: str) -> str:
    """A text in double quotes, as JSON, Python, JavaScript and YAML read it alike."""
    return json.dumps(text)


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SUITE_FORMATS = {
    "x-bench": SuiteFormat(file="bench/starter.bench.json", text=_x_bench),
    "python": SuiteFormat(file="bench/starter_suite.py", text=_python),
    "typescript": SuiteFormat(file="bench/starter-suite.ts", text=_typescript),
    "agentv": SuiteFormat(file="bench/starter.eval.yaml", text=_agentv),
    "evals": SuiteFormat(file="", text=_evals),
}
