"""The data of executions and sessions in the HTML report, as JSON that fits into the space there is for it."""

from __future__ import annotations

import json
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from skillgym_action.limits import MAX_HTML_PATHS, MAX_HTML_STEPS, MAX_HTML_TEXT_CHARACTERS, MAX_SKILL_EVIDENCE
from skillgym_action.model.scores import SCORE_DIGITS
from skillgym_action.reporters.html_timeline import Json, LongText, first_difference, long_text, steps_of, text_of
from skillgym_action.text.escaping import LONE_SURROGATE, html_data, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillgym_action.model.errors import Location
    from skillgym_action.model.links import Links
    from skillgym_action.model.result import Attempt, Outcome, Result
    from skillgym_action.model.session_artifacts import SessionArtifacts, StoredText

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
_CUT = _CONTAINERS | {LongText}
_encoded = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NUMBERS = {
    "usage": ("inputTokens", "outputTokens", "reasoningTokens", "cacheTokens", "totalTokens"),
    "session": ("durationMs", "turns", "exitCode"),
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


# --- an execution -----------------------------------------------------------------------------------


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
        "findings": [
            {"id": finding.id, "kind": visible(finding.kind), "where": visible(finding.where)}
            for finding in result.findings
        ],
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


# --- a session --------------------------------------------------------------------------------------


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
    kinds: Json = {kind: _paths(_texts(workspace, kind)) for kind in ("created", "modified", "deleted")}
    complete = workspace.get("complete")
    return kinds | {"complete": complete if isinstance(complete, bool) else None}


def _paths(paths: Sequence[str]) -> Json:
    return {"paths": paths[:MAX_HTML_PATHS], "total": len(paths)}


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
