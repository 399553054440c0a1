"""What a scripted model does: steps, named scenarios, and a step in the words of the tools an agent offers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal


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
class Use:
    """A call of a tool by name, offered or not, with arguments as they are."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Together:
    """Several steps in one model round."""

    steps: tuple[Say | Think | Shell | Read | Write | Skill | Use, ...]


@dataclass(frozen=True)
class Fail:
    """An HTTP error, ``times`` times; None: for ever. ``retry_after``: seconds, of 429 only."""

    status: int
    times: int | None = None
    retry_after: int | None = 1


@dataclass(frozen=True)
class Reject:
    """A request that the service rejects, with its own status and words. ``why``: a key of ``REJECTIONS``."""

    why: str


@dataclass(frozen=True)
class End:
    """An answer that ends for another reason than that it is complete. ``reason``: a key of ``ENDINGS``."""

    reason: str
    text: str


@dataclass(frozen=True)
class Hang:
    """No answer until the server closes."""


@dataclass(frozen=True)
class Cut:
    """An answer that ends in the middle.

    ``after``: what was sent before: nothing but the head, the beginning, words, or a whole tool call without an end of
    the answer. ``reset``: the connection is reset, not closed.
    """

    after: Literal["head", "beginning", "words", "call"] = "beginning"
    reset: bool = False


@dataclass(frozen=True)
class Garble:
    """An answer that is not JSON."""


@dataclass(frozen=True)
class Page:
    """A page in HTML where an answer is expected, as of a web server or a login; ``title``: what it says."""

    title: str
    status: int = 200


@dataclass(frozen=True)
class Disguised:
    """A service's error with HTTP status 200, as gateways send it: as the whole body, or as an event of the stream."""

    place: Literal["body", "event"]
    status: int = 500


@dataclass(frozen=True)
class Forever:
    """The same step, however often it is asked for."""

    step: Shell | Together


Part = Say | Think | Shell | Read | Write | Skill | Use
Step = Part | Together | Fail | Reject | End | Hang | Cut | Garble | Page | Disguised | Forever
# Why a service rejects a request, and how an answer may end early.
REJECTIONS = (
    *("context", "policy", "quota", "credit", "forbidden", "overloaded"),
    *("usage-limit", "expired", "payment", "too-large"),
)
ENDINGS = ("length", "refusal", "filter")
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
    "loop": (Forever(Together((Say("Once more."), Shell("echo loop")))),),
    "hang": (Hang(),),
    "cut": (Cut(),),
}


@dataclass(frozen=True)
class Call:
    """A tool call in the words of the agent that offered the tool."""

    tool: str
    args: dict[str, Any]


Spoken = Call | Say | Think
Tools = Mapping[str, frozenset[str]]


# Tools that play a kind of step, with their arguments; the first argument tells tools of one name apart.
TOOLS: dict[type[Part], tuple[tuple[str, Callable[[Any], dict[str, Any]]], ...]] = {
    Shell: (
        ("Bash", lambda step: {"command": step.command, "description": "run it"}),
        ("bash", lambda step: {"command": step.command, "description": "run it"}),
        ("exec_command", lambda step: {"cmd": step.command}),
        ("exec", lambda step: {"input": f"text(await tools.exec_command({json.dumps({'cmd': step.command})}));"}),
        (
            "run_shell_command",
            lambda step: {"command": step.command, "description": "run it", "is_background": False},
        ),
    ),
    Read: (
        ("Read", lambda step: {"file_path": step.path}),
        ("read", lambda step: {"path": step.path}),
        ("read", lambda step: {"filePath": step.path}),
        ("read_file", lambda step: {"file_path": step.path}),
        ("read_file", lambda step: {"absolute_path": step.path}),
        ("view", lambda step: {"path": step.path}),
    ),
    Write: (
        ("Write", lambda step: {"file_path": step.path, "content": step.text}),
        ("write", lambda step: {"path": step.path, "content": step.text}),
        ("write", lambda step: {"filePath": step.path, "content": step.text}),
        ("write_file", lambda step: {"file_path": step.path, "content": step.text}),
        ("create", lambda step: {"path": step.path, "file_text": step.text}),
    ),
    Skill: (
        ("Skill", lambda step: {"skill": step.name}),
        ("skill", lambda step: {"skill": step.name}),
        ("skill", lambda step: {"name": step.name}),
        ("activate_skill", lambda step: {"name": step.name}),
    ),
}
# What is done instead where no tool for a step is offered.
INSTEAD: dict[type[Part], Callable[[Any], Part]] = {
    Read: lambda step: Shell(f"cat '{step.path}'"),
    Write: lambda step: Shell(f"printf %s '{step.text}' > '{step.path}'"),
    Skill: lambda step: Read(f".agents/skills/{step.name}/SKILL.md"),
}


def call_for(step: Part, offered: Tools) -> Spoken:
    """The step in the words of the offered tools (name -> arguments); what no tool can do is done in another way."""
    if isinstance(step, Say | Think):
        return step
    if isinstance(step, Use):
        return Call(step.tool, dict(step.args))
    for name, arguments in TOOLS[type(step)]:
        args = arguments(step)
        if next(iter(args)) in offered.get(name, ()):
            return Call(name, {key: value for key, value in args.items() if key in offered[name]})
    return call_for(INSTEAD[type(step)](step), offered)
