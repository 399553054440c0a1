"""Assertions of AgentV 5 as those of AgentV 4: other names for types and keys, and what has no equivalent."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.suites.agentv.grader_context import EntryContext
    from skillgym_action.suites.values import SuiteValue

PROGRAMS = Path(__file__).parent
"""Where the programs are that evaluate expressions of suites, and call their hooks."""

TRAJECTORY = "trajectory:"
TRAJECTORY_KINDS = ("tool-used", "tool-sequence", "tool-args-match", "step-count", "goal-success")
RENAMED = {"script": "code-grader", "llm-rubric": "llm-grader", "javascript": "code-grader", "python": "code-grader"}
"""Types that are those of AgentV 4 under other names."""
OWN_TYPES = frozenset({"assert-set", "skill-used", *(f"{TRAJECTORY}{kind}" for kind in TRAJECTORY_KINDS)})
"""Types that AgentV 4 does not have."""
REFUSED = {
    "webhook": "write type: script with a command that asks the server, such as curl",
    "similar": "write type: llm-rubric, which asks the judge, or type: icontains",
    "agent-rubric": "write type: llm-rubric: the judge sees the answer, the tool calls and the changed files",
}
"""Types that are not supported, and the nearest thing that works."""
TYPES = frozenset({*RENAMED, *OWN_TYPES, *REFUSED})

_PROMPT_FILE = re.compile(r"[^\s{}]+\.(?:md|txt|markdown|jinja|njk)")
_PROMPT_PROGRAM = re.compile(r"(?:file://)?[^\s{}]+\.(?:[cm]?[jt]s|py)")
WITH_CONFIG = frozenset({"script", "llm-rubric", "javascript", "python", "assert-set"})
"""Types that a set gives its own ``config``."""
_WITH_PASSING_SCORE = frozenset({"script", "llm-rubric", "javascript", "python"})


def translated(entry: SuiteValue, at: EntryContext) -> SuiteValue:
    """The entry with the types and keys of AgentV 4; one of AgentV 4 as it is. Raises SuiteError."""
    members = dict(entry.mapping())
    moved = dict(entry.moved)
    if "metric" in members and "name" not in members:
        members["name"] = members.pop("metric")
        moved[(*entry.key_path, "name")] = (*entry.key_path, "metric")
    if isinstance(members.get("type"), str):
        members |= _type_and_negation(entry)
    type_ = members.get("type")
    named = replace(entry, value=members, moved=moved)
    if not isinstance(type_, str) or type_ not in TYPES or _is_of_suite(type_, at):
        return _cost_of(named) if type_ == "cost" else named
    if type_ in REFUSED:
        raise entry.member("type").error(f"assertions of the type {type_} are not supported", REFUSED[type_])
    if named.has("transform"):
        raise no_transform(named.member("transform"))
    if named.has("provider") and not named.has("target"):
        named = _renamed(named, "provider", "target")
    if type_ in _WITH_PASSING_SCORE and named.has("threshold") and not named.has("min_score"):
        named = _renamed(named, "threshold", "min_score")
    if type_ == "llm-rubric":
        return _judged(named, at)
    if type_ in {"javascript", "python"}:
        return _evaluated(named, at, type_)
    return _with(named, type=RENAMED.get(type_, type_))


def plain_type(written: object) -> str:
    """The type of an assertion with hyphens, and without the prefix ``not-``."""
    return str(written).replace("_", "-").removeprefix("not-")


def _type_and_negation(entry: SuiteValue) -> dict[str, object]:
    """The plain type; the key ``negate`` replaces its prefix ``not-``."""
    written = entry.required_text("type")
    if written.startswith(("not-", "not_")):
        return {"type": plain_type(written), "negate": not entry.flag("negate")}
    return {"type": plain_type(written)}


def no_transform(value: SuiteValue) -> Exception:
    """The error for an output that is to be converted before it is judged."""
    remedy = "write type: script, whose program reads the file itself"
    return value.error("transform is not supported: outputs are judged as they are", remedy)


def _is_of_suite(type_: str, at: EntryContext) -> bool:
    """Whether the suite has an assertion of its own with this name."""
    if type_ in OWN_TYPES or ":" in type_:
        return False
    folders, suffixes = ("assertions", "graders", "judges"), ("ts", "js", "mts", "mjs")
    return at.find(*(f".agentv/{folder}/{type_}.{suffix}" for folder in folders for suffix in suffixes)) is not None


def _with(entry: SuiteValue, **members: object) -> SuiteValue:
    return replace(entry, value={**entry.mapping(), **members})


def _renamed(entry: SuiteValue, old: str, new: str) -> SuiteValue:
    members = {(new if key == old else key): value for key, value in entry.mapping().items()}
    moved: Mapping[tuple[str | int, ...], tuple[str | int, ...]] = {
        **entry.moved,
        (*entry.key_path, new): (*entry.key_path, old),
    }
    return replace(entry, value=members, moved=moved)


def _cost_of(entry: SuiteValue) -> SuiteValue:
    """``cost``, whose limit may be called ``threshold``."""
    return _renamed(entry, "threshold", "budget") if entry.has("threshold") and not entry.has("budget") else entry


# --- the judge --------------------------------------------------------------------------------------


def _judged(entry: SuiteValue, at: EntryContext) -> SuiteValue:
    """``llm-rubric``: ``value`` is one criterion, or a list; ``prompt`` as in AgentV 4, or the path of its file."""
    value = entry.member("value")
    members = {key: item for key, item in entry.mapping().items() if key not in {"value", "type"}}
    moved = dict(entry.moved)
    prompt = members.get("prompt")
    if isinstance(prompt, str):
        members["prompt"] = _prompt(entry.member("prompt"), prompt, at)
    if value.value is None:
        return replace(entry, value={**members, "type": "llm-grader"})
    key, rubrics = "rubrics", value.value
    if not isinstance(rubrics, list):
        rubrics = [{"id": "rubric", "outcome": entry.required_text("value").strip()}]
    moved[(*entry.key_path, key)] = (*entry.key_path, "value")
    return replace(entry, value={**members, "type": "llm-grader", key: rubrics}, moved=moved)


def _prompt(value: SuiteValue, prompt: str, at: EntryContext) -> str:
    if _PROMPT_PROGRAM.fullmatch(prompt.strip()):
        name = prompt.strip().removeprefix("file://")
        raise value.error(f"{name} is a program, not a prompt", f"prompt: {{command: [bun, run, {name}]}}")
    if _PROMPT_FILE.fullmatch(prompt.strip()) and at.find(prompt.strip()):
        return f"file://{prompt.strip()}"
    return prompt


# --- expressions ------------------------------------------------------------------------------------


def _evaluated(entry: SuiteValue, at: EntryContext, type_: str) -> SuiteValue:
    """``javascript`` and ``python``: an expression, the body of a function, or ``file://PATH[:FUNCTION]``."""
    code = entry.required_text("value")
    file, function = "", ""
    if code.startswith("file://"):
        name, _, function = code.removeprefix("file://").partition(":")
        found = at.find(name)
        if found is None:
            raise entry.member("value").error(f"there is no file {name!r}")
        code, file = "", str(found)
    program = {"javascript": ["node", str(PROGRAMS / "javascript_assertion.mjs")]}.get(
        type_, ["python3", str(PROGRAMS / "python_assertion.py")]
    )
    config = dict(entry.member("config").mapping()) if entry.has("config") else {}
    evaluated = {"code": code, "file": file, "function": function, "vars": config.pop("vars", {}), "config": config}
    members = {key: item for key, item in entry.mapping().items() if key not in {"value", "config"}}
    # as one text, since graders get the keys of their configuration in snake_case
    return replace(
        entry,
        value={**members, "type": "code-grader", "command": program, "config": {"evaluated": stringified(evaluated)}},
        moved={**entry.moved, (*entry.key_path, "command"): (*entry.key_path, "value")},
    )
