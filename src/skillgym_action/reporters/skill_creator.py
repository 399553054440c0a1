"""Reporter: a folder of files as skill-creator's own evaluations leave them, for its viewer and its scripts.

``eval-ID/CONFIGURATION/run-N/`` with ``grading.json`` and ``timing.json``, ``eval-ID/eval_metadata.json``, and
``benchmark.json``. A configuration is an arm, a run is a repetition. Several suites or runners have a folder each.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from skillgym_action.model.arm import WITH_SKILL
from skillgym_action.model.verdicts import JUDGED
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.run_report import RunReport

OUTPUTS = "outputs"
_MEASURES = ("pass_rate", "time_seconds", "tokens")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportFile:
    """A file of the folder. ``path``: relative to it."""

    path: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionOutputs:
    """Where the files that a session changed belong; ``directory``: the session's folder in the run directory."""

    path: str
    directory: str


def files(report: RunReport) -> Iterator[ReportFile]:
    """Yield the files, without those that sessions left."""
    for prefix, results in _groups(report):
        for result in results:
            yield _file(f"{prefix}{_eval(result)}/eval_metadata.json", _metadata(result))
            for attempt in _runs(result):
                folder = f"{prefix}{_run_folder(result, attempt)}"
                yield _file(f"{folder}/timing.json", _timing(result, attempt))
                if attempt.status in JUDGED:
                    yield _file(f"{folder}/grading.json", _grading(result, attempt))
        yield _file(f"{prefix}benchmark.json", _benchmark(report, results))


def outputs(report: RunReport) -> Iterator[SessionOutputs]:
    """Yield where the changed files of each run belong."""
    for prefix, results in _groups(report):
        for result in results:
            for attempt in _runs(result):
                path = f"{prefix}{_run_folder(result, attempt)}/{OUTPUTS}"
                yield SessionOutputs(path=path, directory=attempt.directory)


def _file(path: str, content: dict[str, Any]) -> ReportFile:
    return ReportFile(path=path, text=json.dumps(content, indent=2, ensure_ascii=True) + "\n")


def _groups(report: RunReport) -> Iterator[tuple[str, list[Result]]]:
    """The results of each suite on each runner, with the folder that they are in, which may be empty."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in report.all_results:
        if result.runner:
            found.setdefault((result.suite.name, result.runner.id), []).append(result)
    for (suite, runner), results in found.items():
        yield (f"{path_key(suite)}/{path_key(runner)}/" if len(found) > 1 else ""), results


def _eval(result: Result) -> str:
    key = path_key(result.case_id)
    return key if key.startswith("eval-") else f"eval-{key}"


def _arm(result: Result) -> str:
    return result.arm or WITH_SKILL


def _run_folder(result: Result, attempt: Attempt) -> str:
    return f"{_eval(result)}/{_arm(result)}/run-{attempt.repetition}"


def _runs(result: Result) -> list[Attempt]:
    """The last session of each repetition."""
    return list({attempt.repetition: attempt for attempt in result.attempts}.values())


def _metadata(result: Result) -> dict[str, Any]:
    assertions = [outcome.assertion for outcome in result.judgement.outcomes]
    return {
        "eval_id": result.case_id,
        "eval_name": result.case_id,
        "prompt": result.prompt or "",
        "assertions": assertions,
    }


def _timing(result: Result, attempt: Attempt) -> dict[str, Any]:
    return {
        "total_tokens": _tokens(result),
        "duration_ms": attempt.duration_ms,
        "total_duration_seconds": round(attempt.duration_ms / 1000, 3),
    }


def _tokens(result: Result) -> int | None:
    """Of the only session; of several ones only the mean is known, which is no run's."""
    return result.usage.total_tokens if len(result.attempts) == 1 else None


def _expectations(result: Result, attempt: Attempt) -> list[dict[str, Any]]:
    """The assertions of a run. Only of one session the answers are stored; of the others whether each held."""
    outcomes = result.judgement.outcomes
    if len(_runs(result)) == 1 or attempt.directory == result.directory:
        return [
            {"text": one.assertion, "passed": one.passed is True, "evidence": one.evidence or one.explanation}
            for one in outcomes
        ]
    names = [one.assertion for one in outcomes]
    held = attempt.held if len(attempt.held) == len(names) else ()
    return [{"text": name, "passed": one is True, "evidence": ""} for name, one in zip(names, held, strict=False)]


def _grading(result: Result, attempt: Attempt) -> dict[str, Any]:
    expectations = _expectations(result, attempt)
    return {"expectations": expectations, "summary": _summary(expectations)}


def _summary(expectations: Sequence[dict[str, Any]]) -> dict[str, Any]:
    passed, total = sum(one["passed"] for one in expectations), len(expectations)
    rate = round(passed / total, 4) if total else 0.0
    return {"passed": passed, "failed": total - passed, "total": total, "pass_rate": rate}


# --- benchmark.json ---------------------------------------------------------------------------------


def _benchmark(report: RunReport, results: Sequence[Result]) -> dict[str, Any]:
    runs = [_run(result, attempt) for result in results for attempt in _runs(result) if attempt.status in JUDGED]
    first = results[0]
    return {
        "metadata": {
            "skill_name": first.suite.name,
            "skill_path": first.suite.path,
            "executor_model": next((result.model for result in results if result.model), None),
            "timestamp": report.started_at,
            "evals_run": list(dict.fromkeys(result.case_id for result in results)),
            "runs_per_configuration": max((len(_runs(result)) for result in results), default=0),
        },
        "runs": runs,
        "run_summary": _run_summary(runs, list(dict.fromkeys(map(_arm, results)))),
        "notes": [],
    }


def _run(result: Result, attempt: Attempt) -> dict[str, Any]:
    grading = _grading(result, attempt)
    return {
        "eval_id": result.case_id,
        "eval_name": result.case_id,
        "configuration": _arm(result),
        "run_number": attempt.repetition,
        "result": {
            **grading["summary"],
            "time_seconds": round(attempt.duration_ms / 1000, 3),
            "tokens": _tokens(result),
            "errors": 0,
        },
        "expectations": grading["expectations"],
        "notes": [],
    }


def _run_summary(runs: Sequence[dict[str, Any]], arms: Sequence[str]) -> dict[str, Any]:
    """Means, sample standard deviations, least and most of each arm; ``delta``: the first arm minus the second."""
    found: dict[str, Any] = {}
    for arm in arms:
        own = [run["result"] for run in runs if run["configuration"] == arm]
        found[arm] = {name: _statistics([one[name] for one in own if one[name] is not None]) for name in _MEASURES}
    if len(arms) > 1:
        one, other = (found[arm] for arm in arms[:2])
        found["delta"] = {name: _delta(one[name]["mean"], other[name]["mean"], name) for name in _MEASURES}
    return found


def _statistics(values: Sequence[float]) -> dict[str, float | None]:
    if not values:
        return {"mean": None, "stddev": None, "min": None, "max": None}
    spread = stdev(values) if len(values) > 1 else 0.0
    return {"mean": round(fmean(values), 4), "stddev": round(spread, 4), "min": min(values), "max": max(values)}


def _delta(deciding: float | None, other: float | None, name: str) -> str | None:
    if deciding is None or other is None:
        return None
    digits = {"pass_rate": 2, "time_seconds": 1}.get(name, 0)
    return f"{deciding - other:+.{digits}f}"
