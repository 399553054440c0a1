"""Two first cases for a repository, and a suite with them in each format, as the text of its file."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.text.documents.json_schemas import schema_address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from skillgym_action.authoring.starter.facts import FoundSkill, RepositoryFacts


@record
class FileCheck:
    """A file that has to have a text in it; or, with ``heading``, a Markdown heading that is that text."""

    path: str
    text: str
    heading: bool = False


@record
class StarterCase:
    """A case. ``run``: a command that has to pass afterwards; None: none."""

    id: str
    prompt: str
    checks: tuple[FileCheck, ...]
    run: str | None = None


@record
class SuiteFormat:
    """A format that ``init`` can write. ``file``: the path of the suite; None: beside the skill."""

    file: str | None
    text: Callable[[Sequence[StarterCase]], str]


def _x_bench(cases: Sequence[StarterCase]) -> str:
    suite = {
        "$schema": schema_address("x-bench"),
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


def _python(cases: Sequence[StarterCase]) -> str:
    runs = any(case.run for case in cases)
    parts = [_PYTHON_RUN_IMPORT if runs else "", _PYTHON_HEAD, _PYTHON_RUN if runs else ""]
    for case in cases:
        lines = ["", "", "@suite.case(", f"    {quoted(case.id)},", f"    prompt={quoted(case.prompt)},", ")"]
        lines.append(f"def {case.id.replace('-', '_')}(report):")
        for check in case.checks:
            text = f"text_of(report, {quoted(check.path)})"
            if check.heading:
                lines.append(f"    expect.match({text}, {quoted('(?im)' + _heading(check))})")
            else:
                lines.append(f"    assert {quoted(check.text)} in {text}")
        lines += [f"    run(report, {quoted(case.run)})"] if case.run else []
        parts.append("\n".join([*lines, ""]))
    return "".join(parts)


_PYTHON_RUN_IMPORT = "import subprocess\n"
_PYTHON_HEAD = """\
from pathlib import Path

from skillgym_action import Suite, expect

suite = Suite("starter")


def text_of(report, name):
    path = Path(report.cwd, name)
    assert path.is_file(), f"the agent did not write {name}"
    return path.read_text()
"""
_PYTHON_RUN = """

def run(report, command):
    ended = subprocess.run(command, shell=True, cwd=report.cwd, input=b"", capture_output=True)
    output = (ended.stdout + ended.stderr).decode(errors="replace")
    assert ended.returncode == 0, f"{command} ended with exit code {ended.returncode}: {output}"
"""


def _typescript(cases: Sequence[StarterCase]) -> str:
    runs = any(case.run for case in cases)
    parts = [_TYPESCRIPT_RUN_IMPORT if runs else "", _TYPESCRIPT_HEAD, _TYPESCRIPT_RUN if runs else ""]
    lines = ["", "const suite: Case[] = ["]
    for case in cases:
        lines += ["  {", f"    id: {quoted(case.id)},", f"    prompt: {quoted(case.prompt)},", "    assert(report) {"]
        for check in case.checks:
            pattern = f"/{_heading(check)}/im" if check.heading else f"/{_literal(check.text)}/"
            lines.append(f"      assert.match(textOf(report, {quoted(check.path)}), {pattern});")
        lines += [f"      run(report, {quoted(case.run)});"] if case.run else []
        lines += ["    },", "  },"]
    return "".join([*parts, "\n".join([*lines, "];", "export default suite;", ""])])


_TYPESCRIPT_RUN_IMPORT = 'import { spawnSync } from "node:child_process";\n'
_TYPESCRIPT_HEAD = """\
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assert, type Case, type SessionReport } from "skillgym";

function textOf(report: SessionReport, name: string): string {
  const path = join(report.cwd, name);
  assert.ok(existsSync(path), `the agent did not write ${name}`);
  return readFileSync(path, "utf8");
}
"""
_TYPESCRIPT_RUN = """
function run(report: SessionReport, command: string): void {
  const ended = spawnSync(command, { shell: true, cwd: report.cwd, encoding: "utf8", maxBuffer: Infinity });
  assert.equal(ended.status, 0, `${command} ended with exit code ${ended.status}: ${ended.stdout}${ended.stderr}`);
}
"""


def _literal(text: str) -> str:
    """A regular expression of JavaScript for a text."""
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)


def _agentv(cases: Sequence[StarterCase]) -> str:
    lines = ["name: starter", "tests:"]
    for case in cases:
        lines += [f"  - id: {case.id}", f"    input: {quoted(case.prompt)}", "    assertions:"]
        graders = [(f"{check.path} has {check.text}", _grep(check)) for check in case.checks]
        if case.run:  # a grader's standard output is for its score
            graders.append((f"{case.run} passes", f'cd "$AGENTV_WORKSPACE_PATH" && {case.run} >&2'))
        for name, command in graders:
            lines += ["      - type: code-grader", f"        name: {quoted(name)}"]
            lines.append(f"        command: [sh, -c, {quoted(command)}]")
    return "\n".join(lines) + "\n"


def _grep(check: FileCheck) -> str:
    option, text = ("-iqE", _heading(check)) if check.heading else ("-qF", check.text)
    return f'grep {option} -- {_shell(text)} "$AGENTV_WORKSPACE_PATH/{check.path}"'


def _skill_evals(cases: Sequence[StarterCase]) -> str:
    """The evals of a skill, which can start no programs; ``skill_cases`` have none to run."""
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


def quoted(text: str) -> str:
    """A text in double quotes, as JSON, Python, JavaScript and YAML read it alike."""
    # Two escapes for one character, as in JSON, are two characters in Python and YAML.
    written = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() or one > "\uffff" else f"\\u{ord(one):04x}" for one in written)


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


SUITE_FORMATS = {
    "x-bench": SuiteFormat(file="bench/starter.bench.json", text=_x_bench),
    "python": SuiteFormat(file="bench/starter_suite.py", text=_python),
    "typescript": SuiteFormat(file="bench/starter-suite.ts", text=_typescript),
    "agentv": SuiteFormat(file="bench/starter.eval.yaml", text=_agentv),
    "skill-evals": SuiteFormat(file=None, text=_skill_evals),
}
ANSWER = "ANSWER.txt"
README = "README.md"
SCRIPT, GREETING = "hello.sh", "Hello, world"
SECTIONS = ("Testing", "How to run the tests", "Run the tests")


def starter_cases(facts: RepositoryFacts) -> tuple[StarterCase, StarterCase]:
    """Two cases about a repository.

    They fit any repository: one question about it, and one small change of it.
    """
    return _question(facts), _change(facts)


def skill_cases(skill: FoundSkill) -> tuple[StarterCase, StarterCase]:
    """Two cases about a skill, which every skill can pass if the agent loads it."""
    steps = StarterCase(
        id="lists-the-steps",
        prompt=f"Use the skill {skill.name}. Write its instructions as a numbered list to STEPS.md.",
        checks=(FileCheck(path="STEPS.md", text="1."),),
    )
    name = StarterCase(
        id="names-the-purpose",
        prompt=f"What is the skill {skill.name} for? Write one sentence that names the skill to PURPOSE.txt.",
        checks=(FileCheck(path="PURPOSE.txt", text=skill.name),),
    )
    return steps, name


def _question(facts: RepositoryFacts) -> StarterCase:
    only = f"and nothing else, to {ANSWER}."
    if facts.test:
        return StarterCase(
            id="finds-the-test-command",
            prompt=f"Which command runs the tests of this project? Write the command, {only}",
            checks=(FileCheck(path=ANSWER, text=facts.test.named),),
        )
    if facts.title:
        return StarterCase(
            id="finds-the-title",
            prompt=f"Write the title of {README}, without the #, {only}",
            checks=(FileCheck(path=ANSWER, text=facts.title),),
        )
    if not facts.files:
        return StarterCase(
            id="writes-a-script",
            prompt=f'Write {SCRIPT}, a shell script that prints "{GREETING}".',
            checks=(FileCheck(path=SCRIPT, text=GREETING),),
            run=f"sh {SCRIPT}",
        )
    return StarterCase(
        id="lists-the-files",
        prompt=f"Write the path of each file of this repository on a line of its own, {only}",
        checks=(FileCheck(path=ANSWER, text=min(facts.files)),),
    )


def _change(facts: RepositoryFacts) -> StarterCase:
    if facts.test and (section := next(_unused_sections(facts), None)):
        return StarterCase(
            id="documents-the-tests",
            prompt=f'Add a section "{section}" to {README} with the command that runs the tests. Change nothing else.',
            checks=(
                FileCheck(path=README, text=section, heading=True),
                FileCheck(path=README, text=facts.test.named),
            ),
            run=facts.test.run,
        )
    source = "taken from the files of this project" if facts.files else "for a new project"
    return StarterCase(
        id="writes-a-guide",
        prompt=f'Write STYLE.md with the title "Style" and three rules for code, {source}.',
        checks=(FileCheck(path="STYLE.md", text="Style", heading=True),),
        run=facts.test.run if facts.test else None,
    )


def _unused_sections(facts: RepositoryFacts) -> Iterator[str]:
    """Headings that README.md does not have yet: a case that passes before the agent measures nothing."""
    for section in SECTIONS:
        if not re.search(rf"^#+ +{re.escape(section)}", facts.readme or "", re.MULTILINE | re.IGNORECASE):
            yield section
