"""The files that `init` writes, as texts."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from skillgym_action.authoring.starter.facts import RepositoryFacts, StarterAgents, TestCommand
from skillgym_action.authoring.starter.files import WORKFLOW, starter_files
from skillgym_action.authoring.starter.suites import SUITE_FORMATS, starter_cases

if TYPE_CHECKING:
    from collections.abc import Mapping

NPM = RepositoryFacts(files=frozenset({"package.json"}), test=TestCommand(named="npm test", run="npm test"))
TITLE = "\N{ROCKET} Caf\u00e9 \x85 \u2028 \ufeff end"


def workflow_text(keys: Mapping[str, str], branch: str = "main") -> str:
    files = starter_files(NPM, suite_format="x-bench", agents=StarterAgents.of_keys(keys), branch=branch)
    return {file.path: file.text for file in files}[WORKFLOW]


def workflow(**keys: str) -> dict[str, Any]:
    return yaml.load(workflow_text(keys or {"claude-code": "ANTHROPIC_API_KEY"}), yaml.BaseLoader)


def step(found: dict[str, Any], uses: str) -> dict[str, Any]:
    (one,) = (one for one in found["jobs"]["agents"]["steps"] if one["uses"].startswith(f"{uses}@"))
    return one


def test_the_workflow_has_one_secret_for_each_key():
    ours = step(
        workflow(**{"claude-code": "CLAUDE_CODE_OAUTH_TOKEN", "pi": "KEY", "codex": "KEY"}), "org/skillgym-action"
    )
    assert ours["env"] == {
        "CLAUDE_CODE_OAUTH_TOKEN": "${{ secrets.CLAUDE_CODE_OAUTH_TOKEN }}",
        "KEY": "${{ secrets.KEY }}",
    }


def test_names_of_branches_and_keys_are_no_placeholders():
    words = ("SECRETS", "BRANCH", "CONFIGURATION", "CONDITION", "WORKFLOW")
    text = workflow_text({word: f"{word}_KEY" for word in words}, branch="CONFIGURATION-SECRETS-CONDITION")
    found = yaml.load(text, yaml.BaseLoader)
    assert found["on"]["push"]["branches"] == ["CONFIGURATION-SECRETS-CONDITION"]
    env = {f"{word}_KEY": f"${{{{ secrets.{word}_KEY }}}}" for word in words}
    assert step(found, "org/skillgym-action")["env"] == env


@pytest.mark.parametrize("branch", ["main", "releases/2.x", "null", "true", "on", "1.0", "it's", 'a"b', "caf\u00e9"])
def test_the_branch_is_a_text(branch):
    text = workflow_text({"claude-code": "KEY"}, branch)
    assert yaml.safe_load(text)[True]["push"]["branches"] == [branch]  # "on" is a boolean in YAML 1.1


def test_agents_are_cached_in_the_folder_that_the_action_uses():
    found = workflow()
    cache, ours = step(found, "actions/cache"), step(found, "org/skillgym-action")
    assert cache["with"]["path"] == "${{ runner.temp }}/" + ours["with"]["agents-cache"]
    assert "'skillgym.config.yaml'" in cache["with"]["key"]
    assert f"'{WORKFLOW}'" in cache["with"]["key"]


@pytest.mark.parametrize(
    ("suite_format", "line"),
    [
        ("x-bench", "test:npm test passes"),
        ("python", 'run(report, "npm test")'),
        ("typescript", 'run(report, "npm test");'),
        ("agentv", r"cd \"$AGENTV_WORKSPACE_PATH\" && npm test"),
    ],
)
def test_a_test_command_is_run_in_each_format_that_can_start_programs(suite_format, line):
    assert line in SUITE_FORMATS[suite_format].text(starter_cases(NPM))
    without = RepositoryFacts(files=frozenset({"package.json"}), test=TestCommand(named="npm test"))
    text = SUITE_FORMATS[suite_format].text(starter_cases(without))
    assert [word for word in (line, "spawn", "subprocess") if word in text] == []


def test_a_text_is_the_same_in_each_format():
    """Also with characters that JSON writes as two escapes, and those that are not printed."""
    cases = starter_cases(RepositoryFacts(files=frozenset({"README.md"}), readme=f"# {TITLE}\n"))
    assert cases[0].checks[0].text == TITLE
    python = ast.parse(SUITE_FORMATS["python"].text(cases))
    assert TITLE in [node.value for node in ast.walk(python) if isinstance(node, ast.Constant)]
    agentv = yaml.safe_load(SUITE_FORMATS["agentv"].text(cases))
    assert agentv["tests"][0]["assertions"][0]["name"] == f"ANSWER.txt has {TITLE}"
    assert TITLE in json.loads(SUITE_FORMATS["x-bench"].text(cases))["cases"][0]["expect"][0]
