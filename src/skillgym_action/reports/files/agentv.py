"""Reporter: results in the form of AgentV's ``index.jsonl``, without the paths of AgentV's own artifacts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skillgym_action.model.json_codec import as_json
from skillgym_action.model.result import SCORE_DIGITS
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, GREEN, Status
from skillgym_action.reports.wording.results import cause
from skillgym_action.text.escaping import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.judgement import Outcome
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.model.session_report import Usage

_QUALITY = (Status.FAILED, Status.UNEXPECTED_PASSED)
_VERDICTS = {True: "pass", False: "fail", None: "skip"}
_AGENT = ("agent", "provider_error")
_CAUSES = {
    "suite": ("setup", "setup_error"),
    "workspace": ("setup", "setup_error"),
    "workspace-bootstrap": ("setup", "script_error"),
    "grader": ("evaluator", "evaluator_error"),
    "assert-hook": ("evaluator", "evaluator_error"),
    "snapshot": ("evaluator", "evaluator_error"),
    "budget": ("setup", "budget_exceeded"),
    "dependency": ("setup", "dependency_failed"),
    "fail-on-error": ("setup", "error_threshold_exceeded"),
}
"""AgentV's ``failure_stage`` and ``failure_reason_code`` of an origin; the default is the agent's."""


def render(report: RunReport) -> Iterator[str]:
    """JSON Lines. A case without a score has 1 or 0; one that could not be judged has 0, as with AgentV."""
    for result in report.results:
        yield json.dumps(_row(result, report)) + "\n"


def _row(result: Result, report: RunReport) -> dict[str, object]:
    suite = result.suite
    return {
        "timestamp": report.ended_at,
        "test_id": visible(result.case_id),
        "suite": visible(suite.name),
        "category": visible(_category(suite.path)),
        "score": _score(result),
        **({"target": visible(result.runner.id)} if result.runner else {}),
        "duration_ms": result.duration_ms,
        **_spent(result),
        "scores": [_grader(outcome) for outcome in result.judgement.outcomes],
        **_status(result),
        "status": result.status,
        **({"artifact_dir": result.directory} if result.directory else {}),
        "eval_path": visible(suite.path),
        "experiment": "default",
        **({"metadata": as_json(result.metadata)} if result.metadata else {}),
    }


def _category(path: str) -> str:
    """The suite's folders, except those named ``evals``."""
    folders = [part for part in path.split("/")[:-1] if part not in ("", "evals")]
    return "/".join(folders) or "Uncategorized"


def _score(result: Result) -> float:
    if result.score is not None:
        return round(result.score, SCORE_DIGITS)
    return float(result.status in ASSERTIONS_PASSED)


def _spent(result: Result) -> dict[str, object]:
    """Tokens and cost, as far as they are known."""
    spent: dict[str, object] = {"token_usage": usage} if (usage := _tokens(result.usage)) else {}
    return spent if result.cost.usd is None else {**spent, "cost_usd": result.cost.usd}


def _tokens(usage: Usage) -> dict[str, int]:
    counts = {"input": usage.input_tokens, "output": usage.output_tokens}
    counts |= {"cached": usage.cache_tokens, "reasoning": usage.reasoning_tokens}
    return {name: count for name, count in counts.items() if count is not None}


def _grader(outcome: Outcome) -> dict[str, object]:
    score = float(outcome.passed is True) if outcome.score is None else outcome.score
    check = {"text": visible(outcome.explanation), "passed": outcome.passed is True}
    evidence = {"evidence": visible(outcome.evidence)} if outcome.evidence else {}
    return {
        "name": visible(outcome.assertion),
        "type": visible(outcome.type),
        "score": round(score, SCORE_DIGITS),
        "weight": outcome.weight,
        "verdict": _VERDICTS[outcome.passed],
        "assertions": [{**check, **evidence}],
    }


def _status(result: Result) -> dict[str, object]:
    """AgentV's status; unless it is green, also the error and its stage."""
    if result.status in GREEN:
        return {"execution_status": "ok"}
    error = visible(cause(result).message)
    if result.status in _QUALITY:
        return {"execution_status": "quality_failure", "error": error}
    stage, reason = _CAUSES.get(result.judgement.origin or "", _AGENT)
    failed = {"failure_stage": stage, "failure_reason_code": reason}
    return {"execution_status": "execution_error", "error": error, **failed}
