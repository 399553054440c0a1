"""What is true of all agents, and where they differ: tests of the real CLIs expect it, the documentation tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS as KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

# What happens to a session around the model and its service, on all agents -> the class it is told as.
FAULTS = {
    "no service answers at the base URL": "network",
    "no key is set": "auth",
    "the CLI does not know an argument": "runner-crash",
    "the session needs more model rounds than `--max-steps` allows": "max-steps",
    "the time limit is exceeded": "timeout",
    "the CLI is killed": "runner-crash",
    "the program does not exist": "agent-missing",
}
AGENTS = tuple(sorted(name for name, info in KNOWN.items() if info.package))
# What one scripted session is for every agent, whatever its tools are called.
AGREED = {
    "skill": "greeter",
    "command": "echo greeted > greeted.txt, exit code 0",
    "file": "made.txt written",
    "final output": "skillgym ready",
    "verdict": "passed",
}


def of_faults() -> Iterator[tuple[str, ...]]:
    """A row for each fault, a column for each agent."""
    yield "Event", *(f"`{agent}`" for agent in AGENTS)
    for fault, kind in FAULTS.items():
        yield fault, *(kind for _ in AGENTS)


def of_agreement() -> Iterator[tuple[str, ...]]:
    """A row for each agent."""
    yield "Agent", *(name.capitalize() for name in AGREED)
    for agent in AGENTS:
        yield f"`{agent}`", *(f"`{value}`" for value in AGREED.values())
