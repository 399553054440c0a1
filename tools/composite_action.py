"""``composite/action.yml``, made of ``action.yml``. ``python tools/composite_action.py`` writes it anew.

Inputs and outputs are the same. All inputs reach the tool as JSON in one variable: the runner sets ``INPUT_*`` for
actions in containers alone, and shells drop variables with a dash in their name.
"""

from __future__ import annotations

import re

import yaml

import modules_of_tests
from paths import REPOSITORY

COMPOSITE = REPOSITORY / "composite" / "action.yml"
HEAD = """\
# Made of ../action.yml by tools/composite_action.py: change that file.
#
# The same action without a container, for macOS and for Linux without Docker. What isolation it lacks is described in
# docs/how-to/runners-without-docker.md.
"""
STEPS = """\
runs:
  using: composite
  steps:
    - if: runner.os == 'Windows'
      shell: powershell
      run: |
        Write-Output "::error title=skillgym-action::it runs on Linux and macOS, not on Windows"
        exit 2
    - id: run
      shell: bash
      working-directory: ${{ github.workspace }}
      env:
        SKILLGYM_ACTION_ROOT: ${{ github.action_path }}/..
        SKILLGYM_INPUTS: ${{ toJSON(inputs) }}
      run: exec bash "$SKILLGYM_ACTION_ROOT/composite/run.sh"
"""


def composite_action() -> str:
    """What ``composite/action.yml`` has to be."""
    text = (REPOSITORY / "action.yml").read_text(encoding="utf-8")
    head, runs = text.split("\nruns:\n")
    assert "\n" in runs
    before, outputs = head.split("\noutputs:\n")
    names = list(yaml.safe_load(text)["outputs"])
    with_values = re.sub(
        r"^  ([a-z-]+):\n(    description: .*)$",
        r"  \1:\n\2\n    value: ${{ steps.run.outputs.\1 }}",
        outputs,
        flags=re.MULTILINE,
    )
    assert with_values.count("value: ${{") == len(names), "an output has more than a description"
    return f"{HEAD}{before}\noutputs:\n{with_values}\n{STEPS}"


if __name__ == "__main__":
    COMPOSITE.write_text(composite_action(), encoding="utf-8")
