"""The five steps of README.md, with the commands that it shows: from a repository without a suite to red and green."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

from agent_clis import CACHE, claude_code
from agent_desk import KEY
from model_script import Say, Shell, Write
from model_server import ModelServer
from paths import REPOSITORY
from scratch import committed, git_in, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

pytestmark = pytest.mark.agents
FILES = {
    "package.json": json.dumps({"name": "shop", "private": True, "scripts": {"test": "node --test"}}),
    "shop.test.js": "require('node:test')('adds', () => {});\n",
    "README.md": "# Shop\n",
}
WORK = {
    "finds-the-test-command": (Write("ANSWER.txt", "npm test\n"), Say("The answer is in ANSWER.txt.")),
    "documents-the-tests": (Shell("printf '\\n## Testing\\n\\n    npm test\\n' >> README.md"), Say("Documented.")),
}


def shown_steps() -> list[list[str]]:
    """The commands of each step of README.md."""
    section = (REPOSITORY / "README.md").read_text(encoding="utf-8").partition("## Start in five minutes")[2]
    steps = re.findall(r"^\d\. (.*)$", section.partition("\n## ")[0], re.MULTILINE)
    return [re.findall(r"`((?:skillgym-action|export) [^`]+)`", step) for step in steps]


class Newcomer:
    """Somebody who types the commands of a step after each other in one shell."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"SKILLGYM_AGENTS_DIR": str(CACHE)}

    def step(self, commands: list[str]) -> list[Ran]:
        ran = []
        for command in commands:
            program, *arguments = shlex.split(command)
            if program == "export":
                name, _, value = arguments[0].partition("=")
                assert value == "…"
                self.environment[name] = KEY
            else:
                ran.append(skillgym(*arguments, cwd=self.folder, limit=180, **self.environment))
        return ran


def test_the_five_steps_of_the_readme_lead_to_a_red_and_a_green_run(tmp_path):
    claude_code()  # downloads it, if it is not there
    folder = written(tmp_path / "shop", FILES)
    git_in(folder, "init", "--quiet", "--initial-branch=main")
    committed(folder)
    steps = shown_steps()
    assert len(steps) == 5
    newcomer = Newcomer(folder)

    (begun,) = newcomer.step(steps[0])
    assert (begun.code, begun.err) == (0, "")
    printed = re.findall(r"^  (skillgym-action .*?)   #", begun.out, re.MULTILINE)
    shown = [command for step in steps[1:4] for command in step if command.startswith("skillgym-action")]
    assert [command for command in shown if "view" not in command] == printed

    (red,) = newcomer.step(steps[1])
    assert (red.code, "✗ 0 of 2 results pass, 2 fail for " in red.err) == (1, True), red.err
    assert "ANSWER.txt does not exist" in red.err

    cases = json.loads((folder / "bench/starter.bench.json").read_text())["cases"]
    with ModelServer() as model:
        url = model.prompted({case["prompt"]: (WORK[case["id"]],) for case in cases})
        newcomer.environment["ANTHROPIC_BASE_URL"] = url
        (checked,) = newcomer.step(steps[2])
        assert checked.code == 0, checked.out
        assert "\n✓ claude-code " in checked.out
        green, viewed = newcomer.step([steps[3][0], f"{steps[3][1]} --no-open"])
    assert (green.code, "✓ All 2 results pass" in green.err) == (0, True), green.err
    assert (viewed.code, "report.html" in viewed.out) == (0, True), viewed.err

    assert steps[4] == []
    committed(folder)
    added = git_in(folder, "show", "--name-only", "--format=", "HEAD").split()
    assert added == [".github/workflows/skillgym.yml", "bench/starter.bench.json", "skillgym.config.yaml"]
