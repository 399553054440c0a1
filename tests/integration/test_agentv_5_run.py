"""Suites of AgentV 5, run from end to end with an offline provider: prompts, scripts, hooks, environments, verdicts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scratch import config, repository, run_in, runner, skillgym

if TYPE_CHECKING:
    from pathlib import Path

CLI = 'printf "%s in %s" "$(cat {PROMPT_FILE})" "$(ls | tr "\\n" " ")" > {OUTPUT_FILE}'
CATALOG = """\
- id: cli
  label: main
  runtime: host
  config:
    command: {command}
"""
SCRIPT = """\
import json, sys
payload = json.load(sys.stdin)
good = payload["config"]["wanted"] in payload["output"]
print(json.dumps({"pass": good, "reason": payload["output"]}))
"""
SUITE = """\
name: newer
tags: {experiment: prompts}
providers: [main]
prompts:
  - {label: polite, prompt: "Please {{ verb }} {{ what | upper }}"}
  - {label: short, prompt: "{{ verb }}"}
environment:
  type: host
  workdir: ./made
  setup: {command: [sh, ./make.sh, ./made], cwd: .}
  env: {CONTENT: from-setup}
extensions:
  - file://hooks.mjs:beforeAll
  - file://hooks.py:beforeEach
default_test:
  vars: {what: tests}
  threshold: 0.6
  assert:
    - {type: not-icontains, value: "{{ forbidden }}"}
assert:
  - {type: script, metric: listed, command: [python3, ./script.py], wanted: made.txt}
tests:
  - id: run
    vars: {verb: run, forbidden: never}
    assert:
      - {type: javascript, value: "output.includes(context.vars.verb)"}
      - {type: python, value: "context['vars']['what'] == 'tests'"}
      - {type: not-trajectory:tool-used, value: "*"}
      - metric: files
        type: assert-set
        assert:
          - {type: contains, value: hook.txt}
          - {type: contains, value: each.txt}
          - {type: contains, value: no-such-file.txt, weight: 0}
  - id: fails
    vars: {verb: stop, forbidden: stop}
    threshold: 0.9
    prompts: [short]
    assert: [{type: contains, value: stop}]
  - id: asks
    vars: {verb: ask, forbidden: x9}
    prompts: [short]
    assert: [The answer is polite]
"""
JUDGE = {"judge": {"api": "anthropic", "model": "claude-haiku-4-5"}}  # without a key, so it fails
FILES = {
    "bench/core.json": None,
    "skillgym.config.yaml": config(runner(), run=JUDGE),
    "evals/suite.yaml": SUITE,
    "evals/script.py": SCRIPT,
    "evals/make.sh": 'mkdir -p "$1" && echo "$CONTENT" > "$1/made.txt"\n',
    "evals/hooks.mjs": (
        "import { writeFileSync } from 'node:fs';\n"
        "export function beforeAll({ workspace_path, hook_name }) {\n"
        "  writeFileSync(`${workspace_path}/hook.txt`, hook_name);\n}\n"
    ),
    "evals/hooks.py": (
        "from pathlib import Path\n"
        "def before_each(context):\n    Path(context['workspace_path'], 'each.txt').write_text(context['test_id'])\n"
    ),
}


def files(**more: Any) -> dict[str, Any]:
    return FILES | {".agentv/providers.yaml": CATALOG.format(command=json.dumps(CLI))} | more


def test_a_suite_of_agentv_5_runs_from_end_to_end(tmp_path):
    report = run_in(repository(tmp_path, files()))
    found = {one.case_id: (str(one.status), one.judgement.score) for one in report.results if one.judgement}
    assert found["run:polite"] == ("passed", 1)
    assert found["run:short"] == ("passed", 1)
    assert found["fails:short"][0] == "failed"
    assert round(found["fails:short"][1], 2) == 0.67
    assert found["asks:short"][0] == "errored"
    (polite,) = [one for one in report.results if one.case_id == "run:polite"]
    assert [(one.assertion, one.passed) for one in polite.judgement.outcomes] == [
        ("javascript", True),
        ("python", True),
        ("trajectory:tool-used", True),
        ("files", True),
        ("icontains-never", True),
        ("listed", True),
    ]
    assert polite.judgement.outcomes[-1].explanation == "Please run TESTS in each.txt hook.txt made.txt "


def test_check_names_suites_of_agentv_5_and_what_has_no_effect(tmp_path):
    text = SUITE.replace("tests:\n", "evaluate_options: {max_concurrency: 3}\ntests:\n", 1)
    root: Path = repository(tmp_path, files(**{"evals/suite.yaml": text}))
    done = skillgym("check", cwd=root)
    assert done.code == 0, done.err
    assert "evals/suite.yaml: agentv, 4 cases" in done.out
    assert "evals/suite.yaml:22:20: evaluate_options.max_concurrency: max_concurrency is ignored" in done.err
