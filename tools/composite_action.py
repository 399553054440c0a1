"""The inputs of ``action.yml``, and ``composite/action.yml``, made of it. This script writes both anew.

A declared setting gets an input with the words of its option; where an input needs other words, ``action.yml`` has
them. Inputs and outputs of both files are the same. All inputs of the composite action reach the tool as JSON in one
variable: the runner sets ``INPUT_*`` for actions in containers alone, and shells drop variables with a dash in their
name.
"""

from __future__ import annotations

import json
import re

import yaml

import modules_of_tests
from paths import REPOSITORY
from skillgym_action.cli.action.inputs import known_inputs
from skillgym_action.settings.settings import declared, inputs_of_settings

ACTION = REPOSITORY / "action.yml"
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


def action(text: str) -> str:
    """``action.yml`` with an entry for each input, a new one behind that of the setting declared before, and no other.

    ``text``: what it is now; its entries stay as they are.
    """
    head, rest = text.split("\ninputs:\n")
    inputs, outputs = rest.split("\noutputs:\n")
    blocks = re.split(r"^(?=  [a-z-]+:\n)", inputs, flags=re.MULTILINE)[1:]
    entries = {block.partition(":")[0].strip(): block.rstrip("\n") for block in blocks}
    names = [name for name in entries if name in known_inputs()]
    before = None
    for name, field in inputs_of_settings().items():
        if name not in names:
            names.insert(names.index(before) + 1 if before else 0, name)
            entries[name] = f"  {name}:\n    description: {json.dumps(description(field), ensure_ascii=False)}"
        before = name
    shown = "\n".join(entries[name] for name in names)
    return f"{head}\ninputs:\n{shown}\n\noutputs:\n{outputs}"


def description(field: str) -> str:
    """What the option of a field means, in the words of inputs."""
    _, option = declared(field)
    assert option, f"the setting {field} has no option: write the entry of its input by hand"
    text = re.sub(r"--([a-z-]+)", r"`\1`", option.help)
    flag = f"`true` or `false`: {text[0].lower()}{text[1:]} Default: `false`."
    return flag if option.metavar is None else re.sub(r" \(default: (.+)\)\.$", r". Default: \1.", text)


def composite_action() -> str:
    """What ``composite/action.yml`` has to be."""
    text = ACTION.read_text(encoding="utf-8")
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
    ACTION.write_text(action(ACTION.read_text(encoding="utf-8")), encoding="utf-8")
    COMPOSITE.write_text(composite_action(), encoding="utf-8")
