"""A start that is interrupted during any import ends as a cancelled run."""

from __future__ import annotations

import pytest

from action_step import step
from scratch import repository, skillgym, written

# Raises KeyboardInterrupt once, where Python begins to look for a module.
FINDER = """
import sys

class Finder:
    name = {name!r}

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            self.name = None
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
"""
# The first that Python has not imported itself, our first one, and those that only the command line has.
OF_COMMAND_LINE = (
    "signal",
    "skillgym_action.model.exit_codes",
    "click",
    "click.core",
    "skillgym_action.cli.help.click_classes",
)
OF_BOTH = (
    "skillgym_action.model.errors",
    "pydantic",
    "pydantic_core",
    "pydantic.fields",
    "pydantic._internal._model_construction",
    "skillgym_action.settings.slices",
    "skillgym_action.text.redaction",
)


@pytest.mark.parametrize(
    "name", ["click.formatting", *(pytest.param(name, marks=pytest.mark.slow) for name in (*OF_COMMAND_LINE, *OF_BOTH))]
)
def test_an_import_that_is_interrupted_cancels_the_command_line(tmp_path, name):
    written(tmp_path, {"modules/sitecustomize.py": FINDER.format(name=name)})
    ran = skillgym("run", cwd=repository(tmp_path / "repo"), PYTHONPATH=str(tmp_path / "modules"))
    assert (ran.code, ran.out, ran.err.strip()) == (130, "", "cancelled")


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_BOTH)
def test_an_import_that_is_interrupted_cancels_the_action_which_publishes_the_end(tmp_path, name):
    written(tmp_path, {"modules/sitecustomize.py": FINDER.format(name=name)})
    found = step(
        repository(tmp_path / "repo", git=True), None, {}, event=("push", {}), PYTHONPATH=str(tmp_path / "modules")
    )
    assert (found.code, found.said.strip()) == (130, "cancelled")
    assert found.outputs == {"exit-code": "130", "verdict": "error"}
    assert "cancelled" in found.summary
