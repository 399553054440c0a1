"""The examples of the pages for people who come from other tools: they load as the pages say, run, and are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
import yaml

from documentation import files_in
from judged_runs import KEY, MODEL, results
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Call
from paths import REPOSITORY
from scratch import committed, git_in, skillgym, written
from scripted_http import Reply, ScriptedServer
from skill_eval_runs import says

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scratch import Ran

# Does what the prompts ask for, and uses the skill where the page says that it has to.
STAND_IN = r"""\
case $1 in
  *pages*|*long*)
    printf '%s\n' '{"type": "skillSignal", "skill": "pages", "signal": "tool"}'
    echo 1 >pages.txt; answer="The report has 1 page." ;;
  *mode*) sed 's/.*"\(.*\)".*/- \1/' <<END >>CHANGELOG.md
$1
END
    answer="The entry Dark mode is in the section Unreleased." ;;
  *newest*) answer=2.4.0 ;;
  *Greet*) echo "Hello Bob" >greeting.txt; answer="Hello, Bob!" ;;
  *) answer=4 ;;
esac
printf '{"type": "session", "finalOutput": "%s"}\n' "$answer"
"""
CONFIGURATION = {
    "runners": {
        "stand-in": {"agent": {"type": "command", "command": ["sh", "./stand-in.sh", "{prompt}"], "output": "events"}}
    },
    "run": {"judge": {"api": "anthropic", "model": MODEL}},
}
AGENT_OF_AGENTV = """\
#!/bin/sh
sh ./stand-in.sh "$(cat "$1")" | sed -n 's/.*finalOutput": "\\(.*\\)".*/\\1/p' >"$2"
"""


def satisfied() -> Reply:
    """The judge's reply to one rubric."""
    answer = {"checks": [{"id": "rubric-1", "satisfied": True, "reasoning": "it does"}], "overall_reasoning": "good"}
    ask = Ask(position=0, tools={}, model=MODEL, stream=False)
    return Reply(body=Anthropic().whole(ask, [Call("answer", answer)]))


@dataclass(frozen=True)
class Page:
    """A page, what ``check`` prints of its files, how its example is run, and how many executions then pass."""

    name: str
    listed: tuple[str, ...]
    passed: int
    judge: tuple[Reply, ...] = ()
    arguments: tuple[str, ...] = ("--arms", "with")
    runner: str = "stand-in"
    beside: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return (REPOSITORY / "docs/how-to" / f"{self.name}.md").read_text(encoding="utf-8")

    def example(self, folder: Path) -> Path:
        """A repository with the files of the page, and an agent that does what they ask for."""
        files = {"stand-in.sh": STAND_IN, "stand-in.yaml": yaml.safe_dump(CONFIGURATION), **self.beside}
        written(folder, files_in(self.text) | files)
        git_in(folder, "init", "--quiet", "--initial-branch=main")
        committed(folder)
        return folder

    def run(self, folder: Path, server: ScriptedServer) -> Ran:
        env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": server.url}
        options = ("--config", "stand-in.yaml", "--runner", self.runner, "--output", "out", *self.arguments)
        return skillgym("run", *options, cwd=folder, **env)


PAGES = [
    Page(
        name="from-skill-creator",
        listed=(
            "skills/pages/evals/evals.json: skill-evals of the skill pages, 2 cases",
            "skills/pages/evals/trigger-evals.json: skill-evals of the skill pages, 2 cases",
        ),
        judge=(says("yes yes"),),
        passed=4,
    ),
    Page(name="from-claude-plugin-eval", listed=(".claude-plugin/plugin.json: plugin-evals, 2 cases",), passed=2),
    Page(
        name="from-agentv",
        listed=("bench/changelog.eval.yaml: agentv, 2 cases",),
        arguments=(),
        passed=2,
    ),
    Page(
        name="from-promptfoo",
        listed=(
            "bench/changelog.eval.yaml: agentv, 1 case",
            "bench/entries.json: x-bench, 1 case",
            "skipped: promptfooconfig.yaml: is a configuration of promptfoo, which this tool does not run",
        ),
        judge=(satisfied(),),
        arguments=(),
        passed=2,
    ),
]
HARBOR = Page(name="from-harbor", listed=("tasks: harbor, 1 case",), arguments=(), passed=1)
"""Its tasks run in containers: its example is run by the tests of containers."""
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.mark.parametrize("page", [*PAGES, HARBOR], ids=lambda page: page.name)
def test_the_files_of_a_page_are_sound(page, tmp_path):
    ran = skillgym("check", cwd=page.example(tmp_path))
    assert (ran.code, ran.err) == (0, "")
    assert set(page.listed) <= set(ran.out.splitlines())


@every_page
def test_the_example_of_a_page_runs_and_passes(page, tmp_path):
    with ScriptedServer(*page.judge) as server:
        ran = page.run(page.example(tmp_path), server)
    assert [one["status"] for one in results(tmp_path)] == ["passed"] * page.passed, ran.err
    assert (ran.code, len(server.requests)) == (0, len(page.judge))


@every_page
def test_an_agent_that_does_nothing_fails_the_example_of_a_page(page, tmp_path):
    idle = 'printf \'{"type": "session", "finalOutput": "I cannot."}\\n\'\n'
    replies = {"from-skill-creator": (says("no no"),)}.get(page.name, page.judge)
    root = page.example(tmp_path)
    (root / "stand-in.sh").write_text(idle)
    with ScriptedServer(*replies) as server:
        ran = page.run(root, server)
    assert ran.code == 1, ran.err
    assert "failed" in {one["status"] for one in results(tmp_path)}


@every_page
def test_the_workflow_of_a_page_is_one_that_github_takes(page, tmp_path):
    name = ".github/workflows/bench.yml"
    file = written(tmp_path, {name: files_in(page.text)[name]}) / name
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    finished = subprocess.run([*checker, file], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout
    steps = [step for job in yaml.safe_load(file.read_text())["jobs"].values() for step in job["steps"]]
    inputs = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))["inputs"]
    assert steps[-1]["uses"] == "org/skillgym-action@v1"
    assert steps[-1].get("with", {}).keys() - inputs.keys() == set()


TRIED_ELSEWHERE = {"from-harbor", "from-skillgym"}
"""Pages with an example that needs a Docker engine, and one whose suites are those of test_skillgym_parity."""


def test_the_readme_leads_to_every_page():
    readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES if f"docs/how-to/{page.name}.md" not in readme] == []
    pages = {path.stem for path in (REPOSITORY / "docs/how-to").glob("from-*.md")}
    assert pages - TRIED_ELSEWHERE == {page.name for page in PAGES}


def test_a_configuration_of_promptfoo_that_is_named_is_an_error_that_names_the_page(tmp_path):
    written(tmp_path, files_in(PAGES[3].text))
    ran = skillgym("check", "promptfooconfig.yaml", cwd=tmp_path)
    assert ran.code == 2
    assert "is a configuration of promptfoo, which this tool does not run" in ran.err
    assert "docs/how-to/from-promptfoo.md" in ran.err


def test_the_targets_of_the_agentv_page_are_runners(tmp_path):
    root = PAGES[2].example(tmp_path)
    written(root, {"bench/template/agent.sh": AGENT_OF_AGENTV, "bench/template/stand-in.sh": STAND_IN})
    (root / "bench/template/agent.sh").chmod(0o755)
    ran = skillgym("run", "--runner", "script", "--output", "out", cwd=root)
    assert [one["status"] for one in results(root)] == ["passed", "passed"], ran.err
    report = skillgym("run", "--runner", "script", "--output", "two", "--report", "agentv=index.jsonl", cwd=root)
    rows = [json.loads(line) for line in (root / "index.jsonl").read_text().splitlines()]
    assert (report.code, [row["test_id"] for row in rows]) == (0, ["add-entry", "names-the-version"])
