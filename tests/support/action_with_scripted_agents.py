"""The action as its composite variant starts it, but with agents that are a line of shell: no key, no model.

A workflow that is shown to users names real agents in the input ``runners``. Each of them becomes AGENT here; all other
inputs are passed on as they are.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import yaml

SESSION = '{"type": "session", "finalOutput": "done", "cost": {"usd": 0.01}}'
AGENT = {"type": "command", "command": f"echo done > out.txt; echo '{SESSION}'", "output": "events"}
"""It has a cost, since workflows limit it."""
START = "from skillgym_action.__main__ import action; action()"


def with_scripted_agents(runners: str) -> str:
    """The input ``runners``, whose agents do what the cases ask for; ids of configured runners stay. In YAML."""
    named: Any = yaml.safe_load(runners) if runners else None
    if not isinstance(named, dict):
        return runners
    return json.dumps({id_: {**runner, "agent": AGENT} for id_, runner in named.items()})


if __name__ == "__main__":
    inputs = json.loads(os.environ["SKILLGYM_INPUTS"])
    inputs["runners"] = with_scripted_agents(inputs.get("runners", ""))
    environment = os.environ | {"SKILLGYM_INPUTS": json.dumps(inputs)}
    os.execve(sys.executable, [sys.executable, "-I", "-u", "-c", START], environment)
