"""What a scripted model does: steps, named scenarios, and a step in the words of the tools an agent offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Say:
    text: str


@dataclass(frozen=True)
class Think:
    text: str


@dataclass(frozen=True)
class Shell:
    command: str


@dataclass(frozen=True)
class Read:
    path: str


@dataclass(frozen=True)
class Write:
    path: str
    text: str


@dataclass(frozen=True)
class Skill:
    name: str


@dataclass(frozen=True)
class Together:
    """Several steps in one model round."""

    steps: tuple[Say | Think | Shell | Read | Write | Skill, ...]


@dataclass(frozen=True)
class Fail:
    """An HTTP error, ``times`` times; None: for ever."""

    status: int
    times: int | None = None


@dataclass(frozen=True)
class Hang:
    """No answer until the server closes."""


@dataclass(frozen=True)
class Cut:
    """An answer that ends in the middle."""


@dataclass(frozen=True)
class Forever:
    """The same step, however often it is asked for."""

    step: Shell


Part = Say | Think | Shell | Read | Write | Skill
Step = Part | Together | Fail | Hang | Cut | Forever
SKILL_FILE = ".claude/skills/greeter/SKILL.md"
SCENARIOS: dict[str, tuple[Step, ...]] = {
    "shell": (Shell("echo hello > out.txt && cat out.txt"), Say("skillgym ready")),
    "read": (Read("notes.md"), Say("skillgym ready")),
    "write": (Write("made.txt", "made\n"), Say("skillgym ready")),
    "skill": (Skill("greeter"), Shell("echo greeted > greeted.txt"), Say("skillgym ready")),
    "skill-read": (Shell(f"cat {SKILL_FILE}"), Shell("echo greeted > greeted.txt"), Say("skillgym ready")),
    "failing-command": (Shell("ls /no/such/dir; exit 3"), Say("skillgym ready")),
    "thinking": (Together((Think("Which folder?"), Say("Let me look."), Shell("pwd"))), Say("skillgym ready")),
    "plain": (Say("skillgym ready"),),
    "401": (Fail(401),),
    "404": (Fail(404),),
    "500": (Fail(500),),
    "429-twice": (Fail(429, times=2), Say("skillgym ready")),
    "loop": (Forever(Shell("echo loop")),),
    "hang": (Hang(),),
    "cut": (Cut(),),
}


@dataclass(frozen=True)
class Call:
    """A tool call in the words of the agent that offered the tool."""

    tool: str
    args: dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool that plays a kind of step: its name and arguments, and the shell command that does the same."""

    name: str
    args: Callable[[Any], dict[str, Any]]
    shell: Callable[[Any], str]


TOOLS: dict[type[Part], Tool] = {
    Read: Tool("Read", lambda step: {"file_path": step.path}, lambda step: f"cat '{step.path}'"),
    Write: Tool(
        "Write",
        lambda step: {"file_path": step.path, "content": step.text},
        lambda step: f"printf %s '{step.text}' > '{step.path}'",
    ),
    Skill: Tool("Skill", lambda step: {"skill": step.name}, lambda step: f"cat '.agents/skills/{step.name}/SKILL.md'"),
}
SHELL_TOOLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "Bash": lambda command: {"command": command, "description": "run it"},
    "bash": lambda command: {"command": command, "description": "run it"},
    "exec_command": lambda command: {"cmd": command},
}


def call_for(step: Part, tools: frozenset[str]) -> Call | Say | Think:
    """The step in the words of the offered tools; what no tool can do is done by a shell command."""
    if isinstance(step, Say | Think):
        return step
    if not isinstance(step, Shell) and (tool := TOOLS[type(step)]).name in tools:
        return Call(tool.name, tool.args(step))
    shell = next(name for name in SHELL_TOOLS if name in tools)
    return Call(shell, SHELL_TOOLS[shell](step.command if isinstance(step, Shell) else TOOLS[type(step)].shell(step)))
