"""AgentV suites in TypeScript, run: found and judged; functions run in the suite host, where suites may run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import committed, config, repository, runner, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path

MOCK = "targets: [{name: default, provider: mock, response: Hello Ada}]\n"


def scratch(folder: Path, suite: str, name: str = "evals/shop.eval.ts", **files: str | None) -> Path:
    standard = {"bench/core.json": None, "evals/targets.yaml": MOCK, name: suite}
    return repository(folder, standard | files, git=True)


def results(folder: Path, name: str = "out") -> dict[str, dict[str, Any]]:
    """The results by the ids of their cases."""
    told = json.loads((folder / name / "results.json").read_text())
    return {one["caseId"]: one for suite in told["suites"] for one in suite["results"]}


def grading(*bodies: str) -> str:
    """A suite with a case for each function that grades."""
    cases = ",\n".join(
        f"{{ id: 'case-{number}', input: 'Greet Ada', criteria: 'politely', expectedOutput: 'Hi', "
        f"metadata: {{ level: 3 }}, assert: [{body}] }}"
        for number, body in enumerate(bodies, start=1)
    )
    return f"import assert from 'node:assert';\nexport default {{ tests: [\n{cases}\n] }};\n// agentv\n"


def test_a_suite_with_helpers_of_the_sdk_runs_without_the_package(tmp_path):
    suite = (
        "import { defineEval, graders } from '@agentv/sdk';\n"
        "import { name } from './names.js';\n"
        "export default defineEval({ name: 'greetings', tests: [\n"
        "  { id: 'one', input: 'Greet', assertions: [graders.contains(name), graders.regex(/^hello/i)] },\n"
        "  { id: 'two', input: 'Greet', assertions: [graders.equals('Hello')] },\n"
        "] });\n"
    )
    folder = scratch(tmp_path, suite, **{"evals/names.ts": "export const name: string = 'Ada';\n"})
    listed = skillgym("list", cwd=folder)
    assert "evals/shop.eval.ts  one" in listed.out
    ran = skillgym("run", "--output", "out", cwd=folder)
    assert ran.code == 1, ran.err
    assert {case: one["status"] for case, one in results(folder).items()} == {"one": "passed", "two": "failed"}


def test_a_function_gets_question_answer_and_what_the_case_says(tmp_path):
    seen = "(seen) => ({ name: JSON.stringify(seen), score: 1 })"
    folder = scratch(tmp_path, grading(seen))
    assert skillgym("run", "--output", "out", cwd=folder).code == 0
    (outcome,) = results(folder)["case-1"]["outcomes"]
    assert json.loads(outcome["explanation"]) == {
        "input": "Greet Ada", "output": "Hello Ada", "criteria": "politely", "expectedOutput": "Hi",
        "metadata": {"level": 3},
    }  # fmt: skip


SAYS = [
    pytest.param("() => ({ name: 'half', score: 0.5 })", "failed", 0.5, "half", id="a score"),
    pytest.param("async () => ({ name: 'all', score: 1 })", "passed", 1.0, "all", id="a score, later"),
    pytest.param("async () => ({ name: 'more', score: 7 })", "errored", None,
                 "the function failed: score is 7, and must be a number from 0 to 1", id="a score above 1, later"),
    pytest.param("() => ({ score: NaN })", "errored", None, "the function failed: it returned { score: NaN }, and not",
                 id="a score that is no number"),
    pytest.param("({ output }) => { assert.match(output, /Bob/); return { score: 1 }; }", "failed", 0.0,
                 "The input did not match the regular expression /Bob/", id="an assertion"),
    pytest.param("() => { throw new Error('boom'); }", "errored", None, "the function failed: it raised Error: boom",
                 id="an error"),
    pytest.param("() => true", "errored", None, "the function failed: it returned true, and not { name, score }",
                 id="no score"),
    pytest.param("() => process.exit(1)", "errored", None,
                 "the function failed: it ended its process with exit code 1", id="the end of the process"),
]  # fmt: skip


def test_what_functions_say_and_what_becomes_of_bad_ones(tmp_path):
    folder = scratch(tmp_path, grading(*(param.values[0] for param in SAYS)))
    ran = skillgym("run", "--output", "out", cwd=folder)
    assert "Traceback" not in ran.err
    found = results(folder)
    for number, param in enumerate(SAYS, start=1):
        _, status, score, explanation = param.values
        result = found[f"case-{number}"]
        assert (result["status"], result["outcomes"][0].get("score")) == (status, score), param.id
        assert explanation in result["outcomes"][0]["explanation"], param.id


def test_functions_are_called_again_by_rejudge(tmp_path):
    folder = scratch(tmp_path, grading("({ output }) => ({ name: output, score: 1 })"))
    assert skillgym("run", "--output", "out", cwd=folder).code == 0
    ran = skillgym("rejudge", "out", "--output", "again", cwd=folder)
    assert ran.code == 0, ran.err
    assert results(folder, "again")["case-1"]["outcomes"][0]["explanation"] == "Hello Ada"


def test_a_suite_sees_no_secret_and_its_file_no_agent(tmp_path):
    suite = (
        "const key = process.env.MY_KEY ?? 'no key';\n"
        "export default { tests: [{ id: 'one', input: 'x', assert: [{ type: 'contains', value: 'shop' }] },\n"
        "{ id: key, input: 'x', assert: [{ type: 'contains', value: 'README' }] }] };\n// agentv\n"
    )
    agent = runner("ls evals README.md; true", output="text")
    files = {"evals/targets.yaml": None, "README.md": "Read me.\n", "skillgym.config.yaml": config(agent)}
    folder = scratch(tmp_path, suite, **files)
    skillgym("run", "--output", "out", cwd=folder, MY_KEY="s3cr3t-s3cr3t")
    statuses = {case: one["status"] for case, one in results(folder).items()}
    assert statuses == {"one": "failed", "no key": "passed"}


def test_a_suite_is_not_executed_where_suites_are_only_compared(tmp_path):
    suite = "import { writeFileSync } from 'node:fs';\n{code}" + grading("() => ({ name: 'a', score: 1 })")
    folder = scratch(tmp_path, suite.replace("{code}", ""))
    assert skillgym("run", "--output", "out", cwd=folder).code == 0
    marker = tmp_path / "executed"
    written(folder, {"evals/shop.eval.ts": suite.replace("{code}", f"writeFileSync({str(marker)!r}, '');\n")})
    committed(folder)
    ran = skillgym("report", "out", "--compare-suites", "--output", "again", cwd=folder)
    assert (ran.code, "evals/shop.eval.ts" in ran.out + ran.err) == (3, True), ran.err
    assert not marker.exists()
    skillgym("list", cwd=folder)
    assert marker.exists()


def test_a_function_in_place_of_a_target_needs_another_runner(tmp_path):
    suite = (
        "export default { task: async (i) => i, tests: [{ id: 'one', input: 'x', "
        "assert: [{ type: 'contains', value: 'done' }] }] };\n// agentv\n"
    )
    agent = runner("echo done", output="text")
    folder = scratch(tmp_path, suite, **{"skillgym.config.yaml": config(agent)})
    ran = skillgym("run", "--output", "out", cwd=folder)
    assert ran.code == 2, ran.err
    assert "a function cannot be the agent here" in ran.out + ran.err
    (name,) = json.loads((folder / "skillgym.config.yaml").read_text())["runners"]
    assert skillgym("run", "--output", "other", "--runner", name, cwd=folder).code == 0
