"""Executions and sessions in the HTML report with their timelines, as JSON that fits into the space there is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from skillgym_action.model.limits import MAX_SKILL_EVIDENCE
from skillgym_action.model.result import SCORE_DIGITS
from skillgym_action.reports.wording.results import finding_sentence
from skillgym_action.reports.wording.unfinished_calls import UnfinishedCalls
from skillgym_action.text.escaping import LONE_SURROGATE, html_data, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from skillgym_action.model.errors import Location
    from skillgym_action.model.judgement import Outcome
    from skillgym_action.model.report import Links
    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.session import SessionArtifacts, StoredText

MAX_HTML_TEXT_CHARACTERS = 200_000  # of one text of a session, before it is cut to the space there is
MAX_HTML_STEPS = 2_000  # of a session's timeline; the middle of a longer one is left out
MAX_HTML_PATHS = 500  # of files that a session created, and modified, and deleted

# Characters of a text and steps of a timeline: the first pair with which a session fits is used.
_CUTS = (
    (MAX_HTML_TEXT_CHARACTERS, MAX_HTML_STEPS),
    (50_000, MAX_HTML_STEPS),
    (16_000, 1_000),
    (6_000, 500),
    (3_000, 250),
    (1_500, 120),
    (800, 60),
    (400, 30),
    (200, 12),
    (80, 6),
)
_CONTAINERS = frozenset({dict, list, tuple})


class LongText(str):
    """A text that may be cut, so that a session fits into the space that it has in the report."""

    __slots__ = ()


_CUT = _CONTAINERS | {LongText}
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NUMBERS = {
    "usage": ("inputTokens", "outputTokens", "reasoningTokens", "cacheTokens", "totalTokens"),
    "session": ("durationMs", "turns", "exitCode"),
    "changes": ("created", "modified", "deleted"),
}


def session_id(index: int, attempt: Attempt) -> str:
    """The id of the element with the data of a session; ``index``: of its execution."""
    return f"session-{index}-{attempt.repetition}-{attempt.session}"


def address(result: Result, *, other: bool = False) -> str:
    """The fragment that leads to the page of an execution; the same in all runs.

    ``other``: it is one of an arm that does not decide, and its arm is part of the fragment.
    """
    parts = {"suite": result.suite.path, "case": result.case_id, "runner": result.runner.id if result.runner else ""}
    if other:
        parts["arm"] = result.arm or ""
    return "#" + "&".join([f"{name}={_quoted(text)}" for name, text in parts.items()])


@lru_cache(maxsize=256)  # executions that follow each other have the same suite, case or runner
def _quoted(text: str) -> str:
    return quote_plus(LONE_SURROGATE.sub("\ufffd", text))


class Arms:
    """The executions of a run by case and runner, in which arm ever."""

    def __init__(self, results: Iterable[Result], others: Iterable[Result]) -> None:
        """``others``: those of arms that do not decide."""
        self._others: set[int] = set()
        self._found: dict[tuple[str, str, str], list[Result]] = {}
        for result in results:
            if result.arm:
                self._found.setdefault(_place_of(result), []).append(result)
        for result in others:
            self._others.add(id(result))
            self._found.setdefault(_place_of(result), []).append(result)

    def is_other(self, result: Result) -> bool:
        """Whether the result is of an arm that does not decide."""
        return id(result) in self._others

    def links_beside(self, result: Result) -> list[Json]:
        """The same case on the same runner in the other arms: their names, addresses and statuses."""
        found = [one for one in self._found.get(_place_of(result), ()) if one is not result]
        return [
            {
                "name": visible(one.arm or ""),
                "address": address(one, other=self.is_other(one)),
                "status": str(one.status),
            }
            for one in found
        ]


NO_ARMS = Arms((), ())


def _place_of(result: Result) -> tuple[str, str, str]:
    return result.suite.path, result.case_id, result.runner.id if result.runner else ""


def fitted(data: Json, most: int) -> tuple[str, bool]:
    """The data as JSON for a script element in at most ``most`` bytes, texts cut where need be; whether it fits.

    A cut text is a list: its beginning, the number of characters left out, its end.
    """
    text, longest, count = "", _longest_text(data), len(data.get("steps") or ())
    different = dict.fromkeys((min(characters, longest), min(steps, count)) for characters, steps in _CUTS)
    for characters, steps in different:
        kept = _with_steps(data, steps)
        text = html_data(_encoded(_cut(kept, characters) if characters < longest else kept))
        if len(text) <= most and (text.isascii() or len(text.encode()) <= most):
            return text, True
    return text, False


def _longest_text(value: Any) -> int:
    """The length of the longest text in a container that may be cut.

    Texts and containers are recognised by their exact type here and in ``_cut``: a large report has a million values.
    """
    longest = 0
    for item in value.values() if type(value) is dict else value:
        kind = type(item)
        if kind is LongText:
            length = len(item)
        elif kind in _CONTAINERS:
            length = _longest_text(item)
        else:
            continue
        longest = max(longest, length)
    return longest


def _with_steps(data: Json, most: int) -> Json:
    steps = data.get("steps")
    if not steps or len(steps) <= most:
        return data
    first = most * 2 // 3
    gap = {"kind": "gap", "steps": len(steps) - most}
    return data | {"steps": [*steps[:first], gap, *steps[len(steps) - (most - first) :]]}


def _cut(value: Any, most: int) -> Any:
    """A container with its texts cut."""
    if type(value) is dict:
        return {
            key: item
            if (kind := type(item)) not in _CUT
            else _cut_text(item, most)
            if kind is LongText
            else _cut(item, most)
            for key, item in value.items()
        }
    return [
        item if (kind := type(item)) not in _CUT else _cut_text(item, most) if kind is LongText else _cut(item, most)
        for item in value
    ]


def _cut_text(text: LongText, most: int) -> Any:
    if len(text) <= most:
        return text
    first = most * 2 // 3
    return [text[:first], len(text) - most, text[len(text) - (most - first) :]]


# --- an execution -------------------------------------------------------------------------------------


def execution_data(result: Result, links: Links | None, arms: Arms = NO_ARMS) -> Json:
    """What the results have about an execution, with the ids of its sessions, and the same case in other arms."""
    judgement = result.judgement
    failure = judgement.failure
    location = (failure.location if failure else None) or result.location
    return {
        "address": address(result, other=arms.is_other(result)),
        "suite": visible(result.suite.path),
        "case": visible(result.case_id),
        "title": visible(result.title or ""),
        "runner": visible(result.runner.id) if result.runner else "",
        "arm": visible(result.arm or ""),
        "arms": arms.links_beside(result),
        "status": str(result.status),
        "expectedFail": result.expected_fail,
        "tags": [visible(tag) for tag in result.tags],
        "score": _score(judgement.score),
        "threshold": judgement.threshold,
        "class": visible(judgement.failure_class.label) if judgement.failure_class else "",
        "origin": visible(judgement.origin or ""),
        "failure": {"name": visible(failure.name), "message": long_text(failure.message)} if failure else None,
        "reason": long_text(judgement.reason),
        "place": _place(location, links),
        "outcomes": [_outcome(outcome, links) for outcome in judgement.outcomes],
        "findings": [visible(finding_sentence(finding)) for finding in result.findings],
        "usage": _usage(result),
        "costUsd": result.cost.usd,
        "costSource": result.cost.source,
        "durationMs": result.duration_ms,
        "agent": visible(result.runner.agent.type) if result.runner else "",
        "model": visible(result.model or ""),
        "version": visible(result.version or ""),
        "prompt": long_text(result.prompt),
        "finalOutput": long_text(result.final_output),
        "sessions": [_attempt(result.index, attempt) for attempt in result.attempts],
        "decidedBy": next(
            (session_id(result.index, one) for one in result.attempts if one.directory == result.directory), None
        ),
    }


def _place(location: Location | None, links: Links | None) -> Json | None:
    if location is None:
        return None
    address = links.line_address(location) if links else None
    return {"text": visible(str(location)), "address": address}


def _outcome(outcome: Outcome, links: Links | None) -> Json:
    return {
        "assertion": long_text(outcome.assertion),
        "type": visible(outcome.type),
        "passed": outcome.passed,
        "score": _score(outcome.score),
        "weight": outcome.weight,
        "explanation": long_text(outcome.explanation),
        "evidence": long_text(outcome.evidence),
        "place": _place(outcome.location, links),
        "class": visible(outcome.failure_class.label) if outcome.failure_class else "",
        "vacuous": outcome.vacuous,
        "judge": visible(f"{outcome.judge.model} ({outcome.judge.api})") if outcome.judge else "",
        "votes": list(outcome.votes),
    }


def _score(score: float | None) -> float | None:
    """As the results file has it; None for one that is no number."""
    return round(score, SCORE_DIGITS) if score is not None and isfinite(score) else None


def _usage(result: Result) -> Json:
    usage = result.usage
    return {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "reasoning": usage.reasoning_tokens,
        "cache": usage.cache_tokens,
        "total": usage.total_tokens,
    }


def _attempt(index: int, attempt: Attempt) -> Json:
    return {
        "id": session_id(index, attempt),
        "repetition": attempt.repetition,
        "session": attempt.session,
        "status": str(attempt.status),
        "durationMs": attempt.duration_ms,
        "class": visible(attempt.failure_class.label) if attempt.failure_class else "",
        "message": long_text(attempt.message),
        "directory": visible(attempt.directory),
    }


# --- a session ----------------------------------------------------------------------------------------


def session_data(artifacts: SessionArtifacts, baseline: SessionArtifacts | None) -> Json:
    """What the artifacts of a session show. ``baseline``: those of the session it is compared with."""
    if not artifacts.found:
        return {"found": False}
    report = artifacts.report or {}
    data: Json = {
        "found": True,
        "report": artifacts.report is not None,
        "problems": [visible(problem) for problem in artifacts.problems],
        "steps": steps_of(report),
        "cwd": text_of(report.get("cwd")),
        "prompt": long_text(report.get("prompt")),
        "finalOutput": long_text(report.get("finalOutput")),
        "startedAt": text_of(report.get("startedAt")),
        "sessionId": text_of(report.get("sessionId")),
        "model": text_of(report.get("model")),
        "version": text_of(report.get("version")),
        "skills": _skills(report),
        "trouble": _trouble(report),
        "changes": _changes(artifacts.workspace or {}),
        "diff": _stored(artifacts.diff) if artifacts.diff else None,
        "files": [_stored(file) for file in artifacts.changed],
        "questions": [_question(question) for question in artifacts.questions],
        "logs": [_stored(log) for log in artifacts.logs],
        **_numbers(report, "session"),
        "usage": _numbers(_object(report, "usage"), "usage"),
        "costUsd": _number(_object(report, "cost").get("usd")),
    }
    if baseline and baseline.report:
        data["baseline"] = {"difference": first_difference(baseline.report, report)}
    return data


def _stored(text: StoredText) -> Json:
    left_out = {"leftOut": text.left_out, "tail": long_text(text.tail)} if text.left_out else {}
    return {"name": visible(text.name), "text": long_text(text.head), **left_out}


def _skills(report: Mapping[str, Any]) -> list[Json]:
    return [
        {
            "skill": text_of(skill.get("skill")),
            "confidence": text_of(skill.get("confidence")),
            "evidence": _texts(skill, "evidence")[:MAX_SKILL_EVIDENCE],
        }
        for skill in _list(report, "detectedSkills")
        if isinstance(skill, dict)
    ]


def _trouble(report: Mapping[str, Any]) -> Json | None:
    trouble = _object(report, "trouble")
    if not trouble:
        return None
    return {"kind": text_of(trouble.get("kind")), "message": long_text(trouble.get("message"))}


def _changes(workspace: Mapping[str, Any]) -> Json:
    more = _numbers(_object(workspace, "leftOut"), "changes")
    kinds: Json = {kind: _paths(_texts(workspace, kind), more.get(kind, 0)) for kind in _NUMBERS["changes"]}
    complete = workspace.get("complete")
    return kinds | {"complete": complete if isinstance(complete, bool) else None}


def _paths(paths: Sequence[str], more: float) -> Json:
    """``more``: paths that the artifacts do not list."""
    return {"paths": paths[:MAX_HTML_PATHS], "total": len(paths) + more}


def _question(question: Mapping[str, Any]) -> Json:
    judge = _object(question, "judge")
    return {
        "judge": " ".join(filter(None, (text_of(judge.get("model")), text_of(judge.get("api"))))),
        "instructions": long_text(question.get("instructions")),
        "prompt": long_text("".join(map(_part, _list(question, "prompt")))),
        "votes": [_vote(vote) for vote in _list(question, "votes") if isinstance(vote, dict)],
        "costUsd": _number(question.get("costUsd")),
    }


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    values = part.values() if isinstance(part, dict) else ()
    return "\n".join(value for value in values if isinstance(value, str)) + "\n"


def _vote(vote: Mapping[str, Any]) -> Json:
    answer, trouble = vote.get("answer"), _object(vote, "trouble")
    shown = "" if answer is None else json.dumps(answer, indent=1, ensure_ascii=False)
    return {
        "answer": long_text(shown),
        "trouble": long_text(trouble.get("message")),
        "version": text_of(vote.get("version")),
    }


def _numbers(value: Mapping[str, Any], kind: str) -> Json:
    return {key: number for key in _NUMBERS[kind] if (number := _number(value.get(key))) is not None}


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None  # noqa: PLR2004


def _object(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _list(value: Mapping[str, Any], key: str) -> Sequence[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else ()


def _texts(value: Mapping[str, Any], key: str) -> list[str]:
    return [visible(item) for item in _list(value, key) if isinstance(item, str)]


# --- timelines ----------------------------------------------------------------------------------------

Json = dict[str, Any]
_MOST_TOKENS = 10**15  # a number that a browser can count with
_TOKENS = ("inputTokens", "outputTokens", "reasoningTokens", "cacheTokens")
_EFFECTS = frozenset({"command", "fileRead", "fileWrite", "skillSignal"})


def steps_of(report: Mapping[str, Any]) -> list[Json]:
    """The steps of a session, in their order, as the script of the report shows them.

    ``kind`` is ``message`` (``role``, ``phase``, ``text``), ``tool`` (``tool``, ``args``, ``result``, ``effects``),
    ``command``, ``read``, ``write``, ``skill`` or ``raw``. ``after`` and ``ms``, if known: milliseconds since the first
    event, and how long the step took. ``size``: the characters of its texts. ``usage``, at one step of each model round
    whose tokens are known: numbers of a ``RoundUsage``.

    A stored report may be anybody's: whatever does not have the expected type is left out.
    """
    steps: list[Json] = []
    waiting: UnfinishedCalls[Json] = UnfinishedCalls()
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


def _call_of(event: Mapping[str, Any], waiting: UnfinishedCalls[Json]) -> Json | None:
    """The call that a result belongs to: the first one that waits, of that tool if the result names one."""
    tool = event.get("tool")
    return waiting.take_first() if tool is None else waiting.take(text_of(tool))


def _step(event: Mapping[str, Any]) -> Json | None:
    kind = event.get("type")
    if kind == "message":
        step: Json = {"kind": "message", "role": text_of(event.get("role")), "text": long_text(event.get("text"))}
        return step | ({"phase": phase} if (phase := text_of(event.get("phase"))) else {}) | _usage_of_round(event)
    if kind == "toolCall":
        args = event.get("args")
        step = {"kind": "tool", "tool": text_of(event.get("tool")), "args": _arguments(args), "effects": []}
        ms = event.get("durationMs")
        return step | ({"ms": ms} if _is_int(ms) else {}) | _usage_of_round(event)
    if kind == "toolResult":
        return {"kind": "tool", "tool": text_of(event.get("tool")), "result": long_text(event.get("output"))}
    if kind in _EFFECTS:
        return _effect(event)
    return {"kind": "raw", "text": long_text(event.get("line"))} if kind == "raw" else None


def _usage_of_round(event: Mapping[str, Any]) -> Json:
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
