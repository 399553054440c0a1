"""What is true of all agents, and where they differ: tests of the real CLIs expect it, the documentation tells it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS as KNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

# What happens to a session -> the class it is told as; an agent's own line wins.
FAULTS = {
    "the model's service says 401": "auth",
    "the model's service says 404": "model-rejected",
    "the model's service says 429, and goes on": "rate-limit",
    "the model's service says 500, and goes on": "provider",
    "an answer breaks off": "provider",
    "nothing listens at the address": "network",
    "there is no key": "auth",
    "an argument the CLI does not know": "runner-crash",
    "more model rounds than `--max-steps`": "max-steps",
    "no end within the time limit": "timeout",
    "the CLI is killed": "runner-crash",
    "there is no such program": "agent-missing",
}
OWN_CLASSES = {
    ("claude-code", "an answer breaks off"): "network",
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


def expected(agent: str, fault: str) -> str:
    return OWN_CLASSES.get((agent, fault), FAULTS[fault])


def of_faults() -> Iterator[tuple[str, ...]]:
    """A row for each fault, a column for each agent."""
    yield "What happens", *(f"`{agent}`" for agent in AGENTS)
    for fault in FAULTS:
        yield fault, *(expected(agent, fault) for agent in AGENTS)


def of_agreement() -> Iterator[tuple[str, ...]]:
    """A row for each agent."""
    yield "Agent", *(name.capitalize() for name in AGREED)
    for agent in AGENTS:
        yield f"`{agent}`", *(f"`{value}`" for value in AGREED.values())
