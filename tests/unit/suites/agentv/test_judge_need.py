"""Which cases need a judge is known before a session starts, in every place where a grader may ask it."""

from __future__ import annotations

import json

from agentv_files import read
from scratch import config, repository, runner, skillgym
from table_rows import each_row_holds

COMPOSITE = (
    "assertions: [{type: composite, aggregator: {type: %s}, assertions: [{name: a, type: contains, value: x}%s]}]"
)
NEEDS = {
    "criteria alone": ("criteria: Be nice.", 1),
    "a text": ("assertions: [Be nice.]", 1),
    "several texts are one question": ("assertions: [Be nice., Be quick.]", 1),
    "rubrics": ("assertions: [{type: rubrics, criteria: [Be nice.]}]", 1),
    "a grader with a prompt": ("assertions: [{type: llm-grader, prompt: 'Is it nice?'}]", 1),
    "a part of a composite": (
        COMPOSITE % ("weighted_average", ", {name: b, type: llm-grader, prompt: Is it nice?}"),
        1,
    ),
    "the aggregator of a composite": (COMPOSITE % ("llm-grader", ""), 1),
    "a program that asks a model": (
        "assertions: [{type: code-grader, command: [sh, g.sh], target: {max_calls: 2}}]",
        1,
    ),
    "two graders": ("assertions: [Be nice., {type: llm-grader, prompt: 'Is it nice?'}]", 2),
    "a program that asks nobody": ("assertions: [{type: code-grader, command: [sh, g.sh]}]", 0),
    "a text that is compared": ("assertions: [{type: contains, value: x}]", 0),
}


def test_what_asks_the_judge_is_known_before_the_run(tmp_path):
    def check(row):
        keys, questions = row
        text = f"tests:\n- id: one\n  input: Hi.\n  {keys}\n"
        (one,) = read(tmp_path, {"evals/EVAL.yaml": text, "evals/g.sh": "echo 1"}).cases
        assert one.questions == questions

    each_row_holds(NEEDS.items(), check)


def test_the_warnings_of_the_suites_and_the_runners_come_before_a_missing_judge(tmp_path):
    text = "tests:\n- {id: asks, input: Hi., criteria: Nice., assertons: []}\n"
    files = {"bench/core.json": None, "bench/EVAL.yaml": text, "skillgym.config.yaml": config(runner("echo {prmpt}"))}
    root = repository(tmp_path, files)
    for arguments in ((), ("--dry-run",)):
        ran = skillgym("run", "--output", "out", *arguments, cwd=root)
        *warnings, error = ran.err.splitlines()
        assert ran.code == 2
        assert [line.partition(": ")[0] for line in (*warnings, error)] == ["warning", "warning", "error"], ran.err
        assert "{prmpt}" in warnings[0]
        assert "assertons" in warnings[1]
        assert "1 question needs a judge" in error


def test_a_run_of_a_case_that_needs_a_judge_ends_before_it_begins(tmp_path):
    text = "tests:\n- {id: asks, input: Hi., criteria: Nice.}\n"
    text += "- {id: compares, input: Hi., assertions: [{type: contains, value: hi}]}\n"
    files = {"bench/core.json": None, "bench/EVAL.yaml": text}
    root = repository(tmp_path, files | {"skillgym.config.yaml": config(runner("echo hi; touch ../started"))})
    ran = skillgym("run", "--output", "out", cwd=root)
    assert (ran.code, (tmp_path.parent / "started").exists()) == (2, False)
    assert ran.err.splitlines()[-1] == (
        "error: bench/EVAL.yaml:2:3: 1 question needs a judge: set run.judge; write `run: {judge: {api: anthropic, "
        "model: MODEL}}` into skillgym.config.yaml"
    )
    assert "warning:" not in ran.err
    checked = skillgym("check", cwd=root)
    assert (checked.code, "error: bench/EVAL.yaml:2:3: 1 question needs a judge" in checked.err) == (2, True)
    ran = skillgym("run", "--output", "out", "--case", "compares", cwd=root)
    assert ran.code == 0, ran.err
    (stored,) = json.loads((root / "out/results.json").read_text())["suites"]
    assert [one["status"] for one in stored["results"]] == ["passed"]
