"""A repository with suites of all formats, and which cases a change of each of its files touches.

What is touched is written as words: ``SUITE`` or ``SUITE:CASE``, ``@RUNNER`` for all executions on a runner, ``*`` for
all executions.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scratch import Watched, case, config, environment, git_in, repository, runner, suite
from skillgym_action.pipeline import pipeline, wiring
from skillgym_action.settings import resolve
from skillgym_action.settings.context import current_context
from skillgym_action.settings.settings import validated_settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from skillgym_action.model.execution import Plan

__all__ = ["INPUTS", "KINDS", "Input", "mono_repository", "planned", "touched", "words_of"]

ALL = ("*",)
NOTHING: tuple[str, ...] = ()
CORE, COPY = "bench/core.json", "bench/copy.json"
FOLDER, LISTED = "agentv/EVAL.yaml", "agentv/listed.eval.yaml"
PYTHON, SCRIPT = "py/notes_suite.py", "ts/price-suite.ts"
SKILL_A = ("skills/a/evals/evals.json", "skills/a/evals/trigger-evals.json")
SKILL_B = ("skills/b/evals/evals.json",)
PLUGIN = "plugin/.claude-plugin/plugin.json"


def _skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\nDo {name}.\n"


def _evals(name: str, *cases: dict[str, Any]) -> str:
    made = {"assertions": [{"type": "file_exists", "path": "out.txt"}]}
    return json.dumps({"skill_name": name, "evals": [{"prompt": "Do it."} | made | one for one in cases]})


CONFIG = json.loads(config(runner(), second={"agent": {"type": "command", "command": ["sh", "agents/second.sh"]}})) | {
    "report": {"templates": "reports"},
    "inputs": [
        {"files": ["docs", "*.rst"], "suites": []},
        {"files": ["shared/**"], "suites": [CORE, "py"]},
    ],
}
CONFIG["runners"]["played"] = {"agent": {"type": "replay", "sessions": "recordings"}}
AGENTV = """
name: folder
workspace: {template: ./shared, hooks: {before_each: {command: [sh, ./hooks/prepare.sh]}}}
assertions:
  - {name: checked, type: code-grader, command: [python3, graders/check.py]}
tests: ./cases/
"""
CASE = "input: Do it\ncriteria: It is done\nassertions: [{type: contains, value: done}]\n"
LINE = '{"id": "%s", "input": "Do it", "criteria": "done", "assertions": [{"type": "contains", "value": "done"}]}\n'

CORE_WORKSPACE = {"templateDir": "template/core", "bootstrap": {"command": "./prepare.sh"}}

FILES: dict[str, str] = {
    "skillgym.config.yaml": json.dumps(CONFIG),
    "skillgym.quarantine.yaml": "quarantine: []\n",
    "skillgym.snapshots.json": "{}\n",
    ".gitignore": "build/\n",
    "README.md": "Read me.\n",
    "CHANGES.rst": "Nothing yet.\n",
    "docs/guide.md": "A guide.\n",
    "shared/deep/protocol.md": "A protocol.\n",
    "reports/summary.md.j2": "",
    "reports/comment.md.j2": "",
    "agents/second.sh": "echo done > out.txt\n",
    "recordings/core/one/report.json": "{}\n",
    CORE: suite(case("one"), case("two"), workspace=CORE_WORKSPACE),
    "bench/template/core/src/app.txt": "app\n",
    "bench/prepare.sh": "true\n",
    "bench/core.json.oracle/one.patch": "--- /dev/null\n+++ b/out.txt\n@@ -0,0 +1 @@\n+done\n",
    COPY: suite(case("whole")),
    FOLDER: AGENTV,
    "agentv/cases/alpha/case.yaml": CASE,
    "agentv/cases/alpha/workspace/app.txt": "alpha\n",
    "agentv/cases/beta/case.yaml": CASE,
    "agentv/cases/beta/notes.txt": "beta\n",
    "agentv/shared/app.txt": "shared\n",
    "agentv/hooks/prepare.sh": "true\n",
    "agentv/graders/check.py": "print(1)\n",
    "agentv/.env": "WORD=done\n",
    LISTED: "name: listed\nworkspace: ./listed\ntests: [file://more.jsonl, file://lone.yaml]\n",
    "agentv/listed/app.txt": "listed\n",
    "agentv/more.jsonl": LINE % "first" + LINE % "second",
    "agentv/lone.yaml": "id: lone\n" + CASE,
    PYTHON: (
        "import helper\nfrom tools import inner\nfrom skillgym_action import Suite, Workspace\n"
        "workspace = Workspace(mode='isolated', template_dir='template')\nsuite = Suite('notes')\n"
        "@suite.case('one', prompt='Do it')\ndef one(report, ctx):\n    assert inner.fine(helper.WORD)\n"
    ),
    "py/helper.py": "WORD = 'done'\n",
    "py/tools/__init__.py": "",
    "py/tools/inner.py": "def fine(word):\n    return bool(word)\n",
    "py/template/app.txt": "py\n",
    SCRIPT: (
        'import { word } from "./helper.ts";\nimport type { Case } from "skillgym";\n'
        'export const workspace = { mode: "isolated", templateDir: "./template" };\n'
        'const suite: Case[] = [{ id: "one", prompt: word, assert() {} }];\nexport default suite;\n'
    ),
    "ts/helper.ts": 'export const word: string = "Do it";\n',
    "ts/template/app.txt": "ts\n",
    "skills/a/SKILL.md": _skill("a"),
    "skills/a/scripts/run.py": "print('a')\n",
    SKILL_A[0]: _evals("a", {"id": 1, "files": ["evals/files/data.csv"]}, {"id": 2}),
    "skills/a/evals/files/data.csv": "1,2\n",
    SKILL_A[1]: json.dumps([{"query": "Do a.", "should_trigger": True}, {"query": "No.", "should_trigger": False}]),
    "skills/b/SKILL.md": _skill("b"),
    SKILL_B[0]: _evals("b", {"id": 1}),
    PLUGIN: '{"name": "greeter"}\n',
    "plugin/skills/greeting/SKILL.md": _skill("greeting"),
    "plugin/evals/one/prompt.md": "Say hello.\n",
    "plugin/evals/one/graders/hello.md": "---\ntype: regex\n---\nhello\n",
    "plugin/evals/two/prompt.md": "Say hello, too.\n",
    "plugin/evals/two/graders/hello.md": "---\ntype: regex\n---\nhello\n",
}


@dataclass(frozen=True)
class Input:
    """A file, and what it touches if a byte of it changes, if it is deleted, or if a file beside it is added.

    ``deleted`` None: the same as if it changes.
    """

    kind: str
    path: str
    changed: tuple[str, ...]
    deleted: tuple[str, ...] | None = None
    added: tuple[str, ...] = ALL


def _row(kind: str, path: str, changed: Iterable[str], **others: tuple[str, ...]) -> Input:
    return Input(kind, path, tuple(changed), **others)


_ALPHA, _BETA = (f"{FOLDER}:alpha",), (f"{FOLDER}:beta",)
_OF_A, _OF_B = (*SKILL_A, COPY), (*SKILL_B, COPY)
_OF_ONE, _OF_PLUGIN = (f"{PLUGIN}:one",), (PLUGIN, COPY)
INPUTS = (
    _row("suite file", CORE, (CORE,), deleted=ALL),
    _row("suite file", COPY, (COPY,), deleted=ALL),
    _row("suite file", FOLDER, (FOLDER,), deleted=ALL),
    _row("suite file", LISTED, (LISTED,), deleted=ALL),
    _row("suite file", PYTHON, (PYTHON,), deleted=ALL),
    _row("suite file", SCRIPT, (SCRIPT,), deleted=ALL),
    _row("suite file", SKILL_A[0], SKILL_A[:1], deleted=ALL, added=_OF_A),
    _row("suite file", SKILL_A[1], SKILL_A[1:], deleted=ALL, added=_OF_A),
    _row("suite file", SKILL_B[0], SKILL_B, deleted=ALL, added=_OF_B),
    _row("suite file", PLUGIN, (PLUGIN,), deleted=ALL, added=_OF_PLUGIN),
    _row("case file", "agentv/cases/alpha/case.yaml", _ALPHA, deleted=ALL, added=_ALPHA),
    _row("case file", "plugin/evals/one/prompt.md", _OF_ONE, deleted=ALL, added=_OF_ONE),
    _row("file with tests", "agentv/more.jsonl", (f"{LISTED}:first", f"{LISTED}:second"), deleted=ALL),
    _row("file with tests", "agentv/lone.yaml", (f"{LISTED}:lone",), deleted=ALL),
    _row("variables", "agentv/.env", (FOLDER, LISTED, COPY), deleted=ALL),
    _row("template", "bench/template/core/src/app.txt", (CORE, COPY), added=(CORE, COPY)),
    _row("template", "agentv/shared/app.txt", (*_BETA, COPY), added=(*_BETA, COPY)),
    _row("template", "agentv/cases/alpha/workspace/app.txt", _ALPHA, added=_ALPHA),
    _row("template", "agentv/listed/app.txt", (LISTED, COPY), added=(LISTED, COPY)),
    _row("template", "py/template/app.txt", (PYTHON, COPY), added=(PYTHON, COPY)),
    _row("template", "ts/template/app.txt", (SCRIPT, COPY), added=(SCRIPT, COPY)),
    _row("input file", "skills/a/evals/files/data.csv", (f"{SKILL_A[0]}:1", COPY), deleted=_OF_A, added=_OF_A),
    _row("file beside a case", "agentv/cases/beta/notes.txt", _BETA, added=_BETA),
    _row("skill", "skills/a/SKILL.md", _OF_A, deleted=ALL, added=_OF_A),
    _row("skill", "skills/a/scripts/run.py", _OF_A, added=_OF_A),
    _row("skill", "skills/b/SKILL.md", _OF_B, deleted=ALL, added=_OF_B),
    _row("plugin", "plugin/skills/greeting/SKILL.md", _OF_PLUGIN, added=_OF_PLUGIN),
    _row("grader", "agentv/graders/check.py", (FOLDER, COPY), deleted=ALL),
    _row("grader", "plugin/evals/one/graders/hello.md", _OF_ONE, deleted=(PLUGIN,), added=_OF_ONE),
    _row("hook", "agentv/hooks/prepare.sh", (FOLDER, COPY), deleted=ALL),
    _row("bootstrap", "bench/prepare.sh", (CORE, COPY), deleted=ALL),
    _row("imported module", "py/helper.py", (PYTHON, COPY), deleted=ALL),
    _row("imported module", "py/tools/inner.py", (PYTHON, COPY), deleted=ALL),
    _row("imported module", "ts/helper.ts", (SCRIPT, COPY), deleted=ALL),
    _row("reference solution", "bench/core.json.oracle/one.patch", (f"{CORE}:one",), deleted=(CORE,), added=(CORE,)),
    _row("runner's program", "agents/second.sh", ("@second", COPY), deleted=ALL),
    _row("runner's recordings", "recordings/core/one/report.json", ("@played", COPY), added=("@played", COPY)),
    _row("configuration", "skillgym.config.yaml", ALL),
    _row("declared input", "shared/deep/protocol.md", (CORE, PYTHON), added=(CORE, PYTHON)),
    _row("declared to be none", "docs/guide.md", NOTHING, added=NOTHING),
    _row("declared to be none", "CHANGES.rst", NOTHING),
    _row("quarantine file", "skillgym.quarantine.yaml", NOTHING),
    _row("report template", "reports/summary.md.j2", NOTHING, added=NOTHING),
    _row("snapshots", "skillgym.snapshots.json", ALL),
    _row("not mapped", "README.md", ALL),
    _row("not mapped", ".gitignore", ALL),
)
KINDS = tuple(dict.fromkeys(one.kind for one in INPUTS))


def mono_repository(folder: Path) -> Path:
    """The repository, on a branch of its own, with one commit, which is also that of ``main``."""
    repository(folder, FILES, git=True)  # type: ignore[arg-type]
    git_in(folder, "checkout", "--quiet", "-b", "change")
    return folder


def planned(root: Path, observer: Watched | None = None, **given: Any) -> Plan:
    """The plan of ``run --changed-only``, with its selection and all executions."""
    settings = validated_settings({"changed_only": True, "base": "main"} | given, str)
    context = current_context(root, environment())
    configured = wiring.configuration(settings, context)
    runners, options = resolve.runners_and_options(settings, configured, context)
    with wiring.services_without_run(context, observer or Watched(), None) as services:
        return pipeline.plan_run(services, runners, options)


def touched(plan: Plan, path: str | None = None) -> set[tuple[str, str, str]]:
    """Suite, case and runner of the selected executions; with ``path`` of those that this file selects."""
    assert plan.selection is not None
    by_path = {file.path: file.executions for file in plan.selection.files}
    selected = by_path[path] if path else plan.selection.selected
    return {_name(one) for one in plan.executions if one.index in selected}


def words_of(plan: Plan, words: Iterable[str]) -> set[tuple[str, str, str]]:
    """The executions of a plan that words stand for."""
    return {name for word in words for name in map(_name, plan.executions) if _stands_for(word, name)}


def _name(execution: Any) -> tuple[str, str, str]:
    return execution.suite.path, execution.case.id, execution.runner.id


def _stands_for(word: str, name: tuple[str, str, str]) -> bool:
    suite_path, case_id, runner_id = name
    return word in ("*", suite_path, f"{suite_path}:{case_id}", f"@{runner_id}")
