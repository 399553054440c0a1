"""Reporter: a folder of files as skill-creator's own evaluations leave them, for its viewer and its scripts.

``eval-ID/CONFIGURATION/run-N/`` with ``grading.json`` and ``timing.json``, ``eval-ID/eval_metadata.json``, and
``benchmark.json``. A configuration is an arm, a run is a repetition. Several suites or runners have a folder each.
"""

from __future__ import annotations

import json
from collections import Counter
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from skillgym_action.model.arm import WITH_SKILL
from skillgym_action.model.arm_cases import outcomes_compared
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import JUDGED
from skillgym_action.text.escaping import path_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.results.run_directory import RunDirectory


def outputs(report: RunReport) -> Iterator[SessionOutputs]:
    """Yield where the changed files of each run belong."""
    for group in _groups(report):
        for result in group.results:
            for attempt in _runs(result):
                yield SessionOutputs(path=f"{group.run(result, attempt)}/{OUTPUTS}", directory=attempt.directory)


OUTPUTS, GRADING = "outputs", "grading.json"
_MEASURES = ("pass_rate", "time_seconds", "tokens")


@record
class ReportFile:
    """A file of the folder. ``path``: relative to it; ``text`` None: there is none, nor one of an earlier run."""

    path: str
    text: str | None


@record
class SessionOutputs:
    """Where the files that a session changed belong; ``directory``: the session's folder in the run directory."""

    path: str
    directory: str


@record
class _Group:
    """The results of a suite on a runner. ``prefix``: of their paths; ``folders``: of the cases, by their ids."""

    prefix: str
    results: list[Result]
    folders: dict[str, str]

    def case(self, result: Result) -> str:
        return f"{self.prefix}{self.folders[result.case_id]}"

    def run(self, result: Result, attempt: Attempt) -> str:
        return f"{self.case(result)}/{path_key(_arm(result))}/run-{attempt.repetition}"


def files(report: RunReport) -> Iterator[ReportFile]:
    """Yield the files, without those that sessions left."""
    for group in _groups(report):
        for result in group.results:
            yield _file(f"{group.case(result)}/eval_metadata.json", _metadata(result))
            for attempt in _runs(result):
                folder = group.run(result, attempt)
                yield _file(f"{folder}/timing.json", _timing(result, attempt))
                judged = attempt.status in JUDGED
                grading = f"{folder}/{GRADING}"
                yield _file(grading, _grading(result, attempt)) if judged else ReportFile(path=grading, text=None)
        yield _file(f"{group.prefix}benchmark.json", _benchmark(report, group.results))


def _file(path: str, content: dict[str, Any]) -> ReportFile:
    return ReportFile(path=path, text=json.dumps(content, indent=2, ensure_ascii=True) + "\n")


def _groups(report: RunReport) -> Iterator[_Group]:
    """The results of each suite on each runner. Suites of one name are told apart by their paths."""
    found: dict[tuple[str, str], list[Result]] = {}
    for result in report.all_results:
        if result.runner:
            found.setdefault((result.suite.path, result.runner.id), []).append(result)
    names = {results[0].suite.path: results[0].suite.name for results in found.values()}
    repeated = {name for name, number in Counter(map(path_key, names.values())).items() if number > 1}
    for (path, runner), results in found.items():
        name = path_key(names[path])
        suite = path_key(path) if name in repeated else name
        prefix = f"{suite}/{path_key(runner)}/" if len(found) > 1 else ""
        yield _Group(prefix=prefix, results=results, folders=_case_folders(results))


def _case_folders(results: Sequence[Result]) -> dict[str, str]:
    """The folder of each case by its id: ``eval-ID``, once; ``eval-1`` is the folder of the id ``eval-1``, not of 1."""
    ids = list(dict.fromkeys(result.case_id for result in results))
    folders = {one: key for one in ids if (key := path_key(one)).startswith("eval-")}
    taken = set(folders.values())
    for one in ids:
        if one not in folders:
            folder = f"eval-{path_key(one)}"
            folders[one] = f"eval-{path_key(f'id {one}')}" if folder in taken else folder
    return folders


def _arm(result: Result) -> str:
    return result.arm or WITH_SKILL


def _runs(result: Result) -> list[Attempt]:
    """The last session of each repetition."""
    return list({attempt.repetition: attempt for attempt in result.attempts}.values())


def _metadata(result: Result) -> dict[str, Any]:
    assertions = [outcome.assertion for outcome in result.judgement.outcomes]
    return {
        "eval_id": result.case_id,
        "eval_name": result.title or result.case_id,
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


def _expectations(result: Result, attempt: Attempt) -> list[dict[str, Any]] | None:
    """The assertions of a run; None if results do not have their outcomes, such as of a repetition without arms.

    Results have all outcomes of one session; in arms, they also have whether each compared assertion of the others
    passed.
    """
    outcomes = result.judgement.outcomes
    if len(_runs(result)) == 1 or attempt.directory == result.directory:
        return [
            {"text": one.assertion, "passed": one.passed is True, "evidence": one.evidence or one.explanation}
            for one in outcomes
        ]
    names = [one.assertion for one in outcomes_compared(outcomes)]
    if len(attempt.held) != len(names):
        return None
    outcomes_of_run = zip(names, attempt.held, strict=True)
    return [{"text": name, "passed": passed is True, "evidence": ""} for name, passed in outcomes_of_run]


def _grading(result: Result, attempt: Attempt) -> dict[str, Any]:
    expectations = _expectations(result, attempt)
    return {"expectations": expectations or [], "summary": _summary(expectations)}


def _summary(expectations: Sequence[dict[str, Any]] | None) -> dict[str, Any]:
    if expectations is None:
        return {"passed": None, "failed": None, "total": None, "pass_rate": None}
    passed, total = sum(one["passed"] for one in expectations), len(expectations)
    rate = round(passed / total, 4) if total else 0.0
    return {"passed": passed, "failed": total - passed, "total": total, "pass_rate": rate}


# --- benchmark.json -----------------------------------------------------------------------------------


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
        "eval_name": result.title or result.case_id,
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
    """Means, sample standard deviations, least and most of each arm; ``delta``: the first arm minus the second.

    If the pass rate of one run is unknown, so is the mean: the known ones are often those of failed runs.
    """
    found: dict[str, Any] = {}
    for arm in arms:
        own = [run["result"] for run in runs if run["configuration"] == arm]
        known = {name: [one[name] for one in own if one[name] is not None] for name in _MEASURES}
        if len(known["pass_rate"]) < len(own):
            known["pass_rate"] = []
        found[arm] = {name: _statistics(values) for name, values in known.items()}
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


def write_skill_creator(directory: RunDirectory, report: RunReport, folder: Path) -> None:
    """Write the folder that skill-creator's viewer reads. Raises OutputError.

    The files that sessions changed are copied from the run directory; those of other run directories are not there.
    What an earlier report says about the same runs is replaced, also by nothing.
    """
    for file in files(report):
        if file.text is None:
            directory.remove_file(folder / file.path)
        else:
            directory.write_whole(folder / file.path, [file.text])
    for one in outputs(report):
        directory.copy_changes(one.directory, folder / one.path)
