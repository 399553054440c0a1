"""The timeline of a session in the HTML report: the events of a stored session report as steps.

A stored report may be anybody's: whatever does not have the expected type is left out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from skillgym_action.reporters.waiting_calls import WaitingCalls
from skillgym_action.text.escaping import visible

Json = dict[str, Any]
_MOST_TOKENS = 10**15  # a number that a browser can count with
_TOKENS = ("inputTokens", "outputTokens", "reasoningTokens", "cacheTokens")
_EFFECTS = frozenset({"command", "fileRead", "fileWrite", "skillSignal"})


class LongText(str):
    """A text that may be cut, so that a session fits into the space that it has in the report."""

    __slots__ = ()


def steps_of(report: Mapping[str, Any]) -> list[Json]:
    """The steps of a session, in their order, as the script of the report shows them.

    ``kind`` is ``message`` (``role``, ``phase``, ``text``), ``tool`` (``tool``, ``args``, ``result``, ``effects``),
    ``command``, ``read``, ``write``, ``skill`` or ``raw``. ``after`` and ``ms``, if known: milliseconds since the first
    event, and how long the step took. ``size``: the characters of its texts. ``usage``, at one step of each model round
    whose tokens are known: numbers of a ``RoundUsage``.
    """
    steps: list[Json] = []
    waiting: WaitingCalls[Json] = WaitingCalls()
    began: datetime | None = None
    for event in _objects(report.get("events")):
        at = _moment(event.get("at"))
        began = began or at
        if event.get("type") == "toolResult" and (call := _call_of(event, waiting)):
            call["result"] = long_text(event.get("output"))
            if at and "ms" not in call and (called := call.get("called")):
                call["ms"] = max(0, _milliseconds(called, at))
            continue
        if event.get("type") in _EFFECTS and steps and steps[-1] is waiting.latest():
            steps[-1]["effects"].append(_effect(event))
            continue
        if step := _step(event):
            if at and began:
                step["after"], step["called"] = max(0, _milliseconds(began, at)), at
            steps.append(step)
            if "effects" in step:  # a call, not a result without one
                waiting.add(step["tool"], step)
    for step in steps:
        step.pop("called", None)
        step["size"] = sum(len(value) for value in step.values() if isinstance(value, LongText))
    return steps


def first_difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> Json | None:
    """Where the actions of two sessions part: how many are the same, and the first that differs in each.

    Actions are tool calls, commands, files and skills; the wording of messages is always different. None: there is no
    difference, or one of the two reports has no action. ``before`` and ``after`` of the result are None past the end.
    """
    actions_before, actions_after = _actions(before), _actions(after)
    if not actions_before or not actions_after:
        return None
    pairs = zip(actions_before, actions_after, strict=False)
    shortest = min(len(actions_before), len(actions_after))
    same = next((number for number, (old, new) in enumerate(pairs) if old[0] != new[0]), shortest)
    if same == len(actions_before) == len(actions_after):
        return None
    old, new = (actions[same][1] if same < len(actions) else None for actions in (actions_before, actions_after))
    return {"same": same, "before": old, "after": new, "total": [len(actions_before), len(actions_after)]}


def _actions(report: Mapping[str, Any]) -> list[tuple[str, Json]]:
    """Each action with a text that is the same for the same action; the path of the workspace is left out of it."""
    cwd = text_of(report.get("cwd"))
    found = []
    for number, step in enumerate(steps_of(report)):
        if step["kind"] in ("message", "raw"):
            continue
        shown = {key: step[key] for key in ("kind", "tool", "args", "text", "path", "skill") if step.get(key)}
        signature = json.dumps(shown, sort_keys=True)
        found.append((signature.replace(cwd, ".") if cwd else signature, step | {"step": number + 1}))
    return found


def _call_of(event: Mapping[str, Any], waiting: WaitingCalls[Json]) -> Json | None:
    """The call that a result belongs to: the first one that waits, of that tool if the result names one."""
    tool = event.get("tool")
    return waiting.take_first() if tool is None else waiting.take(text_of(tool))


def _step(event: Mapping[str, Any]) -> Json | None:
    kind = event.get("type")
    if kind == "message":
        step: Json = {"kind": "message", "role": text_of(event.get("role")), "text": long_text(event.get("text"))}
        return step | ({"phase": phase} if (phase := text_of(event.get("phase"))) else {}) | _usage(event)
    if kind == "toolCall":
        args = event.get("args")
        step = {"kind": "tool", "tool": text_of(event.get("tool")), "args": _arguments(args), "effects": []}
        ms = event.get("durationMs")
        return step | ({"ms": ms} if _is_int(ms) else {}) | _usage(event)
    if kind == "toolResult":
        return {"kind": "tool", "tool": text_of(event.get("tool")), "result": long_text(event.get("output"))}
    if kind in _EFFECTS:
        return _effect(event)
    return {"kind": "raw", "text": long_text(event.get("line"))} if kind == "raw" else None


def _usage(event: Mapping[str, Any]) -> Json:
    """The known tokens of the model round that begins with the event; nothing if there are none."""
    usage = event.get("usage")
    found = {key: usage[key] for key in _TOKENS if _is_count(usage.get(key))} if isinstance(usage, Mapping) else {}
    return {"usage": found} if found else {}


def _effect(event: Mapping[str, Any]) -> Json:
    kind = event.get("type")
    if kind == "command":
        code = event.get("exitCode")
        return {"kind": "command", "text": long_text(event.get("command")), "exit": code if _is_int(code) else None}
    if kind == "skillSignal":
        return {"kind": "skill", "skill": text_of(event.get("skill")), "signal": text_of(event.get("signal"))}
    return {"kind": "read" if kind == "fileRead" else "write", "path": text_of(event.get("path"))}


def _arguments(args: Any) -> LongText:
    if args is None:
        return LongText()
    return long_text(args if isinstance(args, str) else json.dumps(args, indent=1, ensure_ascii=False))


def text_of(value: Any) -> str:
    """A short text; empty if ``value`` is none."""
    return visible(value) if isinstance(value, str) else ""


def long_text(value: Any) -> LongText:
    """A text that may be cut; empty if ``value`` is none."""
    return LongText(text_of(value))


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return _is_int(value) and 0 <= value < _MOST_TOKENS


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


def _milliseconds(began: datetime, ended: datetime) -> int:
    return round((ended - began).total_seconds() * 1000)
