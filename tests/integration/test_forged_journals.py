"""A journal that somebody has changed: no line of it decides what the plan and the suite decide."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import case, config, repository, runner, skillgym, suite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Row = dict[str, Any]


def status(line: Row, word: str, **fields: object) -> None:
    line["result"] |= {"status": word, "passed": word in ("passed", "expected-failed")} | fields
    line["result"]["attempts"][0]["status"] = word


def result(**fields: object) -> Callable[[Row], object]:
    return lambda line: line["result"].update(fields)


def kept(line: Row) -> list[Row]:
    return [{**outcome, "passed": True} for outcome in line["result"]["outcomes"]]


AGAIN = "its session is run again"
IN_LINE = "journal.jsonl:5: "
OF_CASE = "bench/core.json b-fails [sh] repetition 1: run again, since "
FORGERIES: dict[str, tuple[Callable[[Row], object], str]] = {
    "in quarantine": (
        result(quarantine={"reason": "flaky", "owner": "me", "expires": "2099-01-01"}),
        f"{IN_LINE}result.quarantine: is not a key of a session; {AGAIN}",
    ),
    "carried": (
        result(carried={"commit": "abc", "at": "2025-01-01T00:00:00Z", "samples": [True] * 50}),
        f"{IN_LINE}result.carried: is not a key of a session; {AGAIN}",
    ),
    "an expected failure": (
        lambda line: status(line, "expected-failed"),
        f"{IN_LINE}result.status: is expected-failed, but the case is not expected to fail; {AGAIN}",
    ),
    "an expected failure of another suite": (
        lambda line: status(line, "expected-failed", expectedFail=True),
        f"{OF_CASE}its case is not expected to fail, and it says otherwise",
    ),
    "a pass with a failure": (
        lambda line: status(line, "passed"),
        f"{IN_LINE}result.outcomes: contradict the status passed; {AGAIN}",
    ),
    "a pass without outcomes": (
        lambda line: status(line, "passed", outcomes=[]),
        f"{OF_CASE}it has the status passed with 0 outcomes, and its case has 1 assertion",
    ),
    "a pass with trouble": (
        lambda line: (
            status(line, "passed", outcomes=kept(line)),
            line.update(trouble={"kind": "auth", "message": "no key"}),
        ),
        f"{IN_LINE}trouble.kind: with the trouble auth the status cannot be passed; {AGAIN}",
    ),
    "a cost that reports do not have": (
        lambda line: (line.update(agentUsd=9.0), line["result"].update(costUsd=0.0)),
        f"{IN_LINE}result.costUsd: is 0, but agentUsd and judgeUsd add up to 9; {AGAIN}",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_line_that_no_run_writes_is_told_and_its_session_runs_again(tmp_path: Path, name: str) -> None:
    forge, told = FORGERIES[name]
    files = {
        "bench/core.json": suite(case("a"), case("b-fails", ("file:missing.txt exists",))),
        "skillgym.config.yaml": config(runner()),
    }
    root = repository(tmp_path / "repo", files)
    assert skillgym("run", "--jobs", "1", "--output", "results", cwd=root).code == 1
    journal = root / "results/journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    (forged,) = (line for line in lines if line.get("result", {}).get("caseId") == "b-fails")
    assert lines.index(forged) == 4
    forge(forged)
    journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    resumed = skillgym("run", "--resume", "results", cwd=root)
    assert resumed.code == 1, resumed.err
    assert told in resumed.err
    (found,) = json.loads((root / "results/results.json").read_text())["suites"]
    assert [one["status"] for one in found["results"]] == ["passed", "failed"]
    assert "quarantined" not in found
