"""One good and one red run of each format, with an agent that does the work and one that does nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from harbor_tasks import task
from scratch import case, config, repository, runner, skillgym, suite

SKILL = "---\nname: pages\ndescription: Counts pages.\n---\nCount them.\n"
PYTHON = """\
from skillgym_action import Suite, expect

suite = Suite()


@suite.case("it", prompt="Say ready")
def it(report, ctx):
    expect.output.includes(report, "ready")
"""
TYPESCRIPT = """\
import { assert, type Case } from "skillgym";

const suite: Case[] = [{ id: "it", prompt: "Say ready", assert: (report) => assert.output.includes(report, "ready") }];
export default suite;
"""
AGENTV = "tests:\n- {id: it, input: Say ready, assertions: [{type: contains, value: ready}]}\n"
CASE = "input: Say ready\nassertions: [{type: contains, value: ready}]\n"
SAYS_READY = {"assertions": [{"type": "contains", "value": "ready"}]}
EVALS = {"skill_name": "pages", "evals": [{"id": "it", "prompt": "Say ready"} | SAYS_READY]}
PLUGIN = {
    ".claude-plugin/plugin.json": '{"name": "greeter"}',
    "skills/pages/SKILL.md": SKILL,
    "evals/it/prompt.md": "Say ready.\n",
    "evals/it/graders/ready.md": "---\ntype: regex\n---\nready\n",
}
LOADS = {"type": "skillSignal", "skill": "pages", "signal": "Skill tool"}
AGENTS = {
    "good": [LOADS, {"type": "session", "finalOutput": "ready"}],
    "red": [{"type": "session", "finalOutput": "no"}],
}


@dataclass(frozen=True)
class Format:
    """``files``: a suite with one case. ``loads``: what ``check`` prints about it."""

    files: dict[str, str]
    loads: str
    arguments: tuple[str, ...] = ()


FORMATS = {
    "x-bench": Format({"bench/it.json": suite(case("it"))}, "bench/it.json: x-bench, 1 case"),
    "python": Format({"bench/it_suite.py": PYTHON}, "bench/it_suite.py: python, 1 case"),
    "typescript": Format({"bench/it-suite.ts": TYPESCRIPT}, "bench/it-suite.ts: typescript, 1 case"),
    "agentv": Format(
        {"bench/EVAL.yaml": "tests: ./cases/\n", "bench/cases/it/case.yaml": CASE},
        "bench/EVAL.yaml: agentv, 1 case",
    ),
    "agentv, a list": Format({"bench/EVAL.yaml": AGENTV}, "bench/EVAL.yaml: agentv, 1 case"),
    "evals of a skill": Format(
        {"skills/pages/SKILL.md": SKILL, "skills/pages/evals/evals.json": json.dumps(EVALS)},
        "skills/pages/evals/evals.json: skill-evals of the skill pages, 1 case",
        ("--arms", "with"),
    ),
    "trigger queries": Format(
        {
            "skills/pages/SKILL.md": SKILL,
            "skills/pages/evals/trigger-evals.json": '[{"query": "it", "should_trigger": true}]',
        },
        "skills/pages/evals/trigger-evals.json: skill-evals of the skill pages, 1 case",
    ),
    "evals of a plugin": Format(
        PLUGIN, ".claude-plugin/plugin.json: plugin-evals, 1 case", ("--arms", "with", "--repeat", "1")
    ),
}


def project(folder, files, agent):
    """A repository with these suites only, and an agent that prints events; the good one also writes a file."""
    printed = "\n".join(json.dumps(event) for event in AGENTS[agent])
    script = f"cat <<'END'\n{printed}\nEND\n{'echo done > out.txt' if agent == 'good' else ''}"
    standard = {"bench/core.json": None, "skillgym.config.yaml": config(runner(script, output="events"))}
    return repository(folder, standard | files, git=True)


@pytest.mark.parametrize("name", FORMATS)
def test_a_suite_of_each_format_passes_with_a_good_agent_and_fails_with_one_that_does_nothing(tmp_path, name):
    chosen = FORMATS[name]
    found = {}
    for agent in AGENTS:
        root = project(tmp_path / agent, chosen.files, agent)
        ran = skillgym("run", "--output", "out", *chosen.arguments, cwd=root)
        stored = json.loads((root / "out/results.json").read_text())
        found[agent] = ran.code, [one["status"] for part in stored["suites"] for one in part["results"]]
    assert found == {"good": (0, ["passed"]), "red": (1, ["failed"])}
    assert chosen.loads in skillgym("check", cwd=root).out


@pytest.mark.slow  # it needs the package docker
def test_a_harbor_task_is_loaded_listed_and_refused_where_no_engine_runs_its_container(tmp_path):
    root = project(tmp_path, task(), "good")
    assert "tasks: harbor, 1 case" in skillgym("check", cwd=root).out
    (row,) = json.loads(skillgym("list", "--json", cwd=root).out)["executions"]
    assert (row["format"], row["case"]) == ("harbor", "one")
    ran = skillgym("run", "--output", "out", cwd=root, DOCKER_HOST=f"unix://{tmp_path}/no-engine.sock")
    assert (ran.code, "error: tasks: workspace asks for a container: " in ran.err) == (2, True), ran.err


def test_suites_of_all_formats_are_one_run(tmp_path):
    names = ("x-bench", "python", "typescript", "agentv", "evals of a skill")
    files = {path: text for name in names for path, text in FORMATS[name].files.items()}
    ran = skillgym("run", "--arms", "with", "--jobs", "2", "--output", "out", cwd=project(tmp_path, files, "good"))
    assert (ran.code, "✓ All 5 results pass\n" in ran.err) == (0, True), ran.err


def test_files_that_cannot_be_read_do_not_stop_suites_of_another_format(tmp_path):
    bad = {
        "bench/bad_suite.py": "import skillgym_action\ndef (:\n",
        "bench/bad.json": '{"cases": [{"prompt": 1, "expect": []}, nope]}',
    }
    ran = skillgym("run", "--output", "out", cwd=project(tmp_path, FORMATS["x-bench"].files | bad, "good"))
    assert (ran.code, "! Not sure: " in ran.err) == (2, True), ran.err
    assert "bench/bad_suite.py:2:5: SyntaxError: invalid syntax" in ran.err
    assert "bench/bad.json:1:41: not JSON" in ran.err
    assert json.loads((tmp_path / "out/results.json").read_text())["totals"]["passed"] == 1
