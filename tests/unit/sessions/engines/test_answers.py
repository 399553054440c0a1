"""Answers of a worker that lies about a session: what it may decide, and what the plan and the suite decide."""

from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hostile_worker import LIES, with_outcomes, with_result, with_status
from scratch import case, config, repository, run_in, runner, suite
from skillgym_action.model.verdicts import Status
from skillgym_action.sessions.engines import SessionLine
from skillgym_action.sessions.engines.dispatch import Dispatcher
from skillgym_action.settings.slices import EngineOptions
from skillgym_action.system.files.bundle import write_bundle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result
    from skillgym_action.services import Services
    from skillgym_action.sessions.engines import Ticket

OPTIONS = EngineOptions(address="tcp://127.0.0.1:1")
HANGS_AFTER = 20.0  # seconds; then the run is cancelled
UNKNOWN_USAGE = {
    **dict.fromkeys(("inputTokens", "outputTokens", "reasoningTokens", "cacheTokens", "totalTokens")),
    **dict.fromkeys(("inputChars", "outputChars", "reasoningChars"), 0),
}


def honest(ticket: Ticket) -> bytes:
    """The line of a session that passed, as a worker sends it."""
    folder = f"core/{ticket.case}/sh/repeat-{ticket.repetition}"
    folder += f"/session-{ticket.session}" if ticket.session > 1 else ""
    position = {"repetition": ticket.repetition, "session": ticket.session}
    outcome = {"assertion": "file:out.txt exists", "type": "file-exists", "passed": True, "explanation": "it exists"}
    result = {
        "caseId": ticket.case,
        "runnerId": ticket.runner,
        "tags": [],
        "location": {"path": ticket.suite},
        "status": "passed",
        "passed": True,
        "outcomes": [outcome],
        "durationMs": 23,
        "usage": UNKNOWN_USAGE,
        "costUsd": 0.25,
        "costSource": "reported",
        "model": None,
        "attempts": [{**position, "status": "passed", "durationMs": 23, "artifactDir": folder}],
        "artifactDir": folder,
    }
    line = {"digest": ticket.digest, "suite": ticket.suite, "agentUsd": 0.25, "judgeUsd": 0.0, "result": result}
    return json.dumps(line).encode()


class Liar:
    """An engine with one worker, whose lines ``lie`` makes of honest ones."""

    def __init__(self, lie: Callable[[bytes], bytes]) -> None:
        self.lie = lie

    def slots(self) -> list[tuple[str, int]]:
        return [("worker", 1)]

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:  # noqa: ARG002
        archive = io.BytesIO()
        write_bundle(archive, ())
        return SessionLine(line=self.lie(honest(ticket)), archive=archive.getvalue())


@pytest.fixture
def answered(tmp_path: Path) -> Callable[..., RunReport]:
    """Runs one case on a worker that lies."""

    def run(lie: Callable[[bytes], bytes], *, files: dict[str, str] | None = None, **more: Any) -> RunReport:
        @contextmanager
        def workers(services: Services) -> Iterator[Dispatcher]:
            timer = threading.Timer(HANGS_AFTER, services.cancelled.set)
            timer.start()
            yield Dispatcher(Liar(lie), services, OPTIONS)  # type: ignore[arg-type]
            timer.cancel()

        told = {"bench/core.json": suite(case(**more)), "skillgym.config.yaml": config(runner("true"))}
        return run_in(repository(tmp_path / "repo", told | (files or {})), None, workers, retry=0)

    return run


def only(report: RunReport) -> Result:
    (result,) = (*report.results, *report.quarantined)
    return result


def test_an_honest_answer_is_accepted(answered):
    result = only(answered(lambda line: line))
    assert (result.status, result.cost.usd) == (Status.PASSED, 0.25)


@pytest.mark.parametrize("name", LIES)
def test_an_answer_that_no_session_gives_is_refused(answered, name):
    lie, reason = LIES[name]
    report = answered(lie)
    result = only(report)
    assert (result.status, report.quarantined) == (Status.ERRORED, ())
    assert result.judgement.failure_class.id == "worker-answer"
    assert reason in result.judgement.failure.message


@pytest.mark.parametrize(
    ("lie", "reason"),
    [
        (lambda line: with_result(line, expectedFail=True), "its status is passed, but the case is expected to fail"),
        (lambda line: line, "its status is passed, but the case is expected to fail"),
    ],
    ids=["passed", "says that it must pass"],
)
def test_a_case_that_is_expected_to_fail_has_no_other_status(answered, lie, reason):
    result = only(answered(lie, expectedFail=True))
    assert (result.status, result.judgement.failure_class.id) == (Status.ERRORED, "worker-answer")
    assert reason in result.judgement.failure.message


def test_an_expected_failure_is_accepted(answered):
    def fails(line: bytes) -> bytes:
        return with_outcomes(with_status(line, "expected-failed", expectedFail=True), passed=False)

    assert only(answered(fails, expectedFail=True)).status is Status.EXPECTED_FAILED


def test_what_the_suite_and_the_plan_define_is_theirs(answered):
    claims: dict[str, Any] = {
        "index": 7,
        "title": "another",
        "tags": ["forged"],
        "location": {"path": "another.json"},
        "prompt": "another",
        "quarantine": {"reason": "flaky", "owner": "me", "expires": "2099-01-01"},
        "reused": {"commit": "abc", "at": "2025-01-01T00:00:00Z", "samples": [True] * 5},
        "trigger": {"shouldTrigger": True, "loaded": 5, "judged": 5},
    }
    report = answered(lambda line: with_result(line, **claims), tags=["own"])
    result = only(report)
    assert (report.quarantined, result.quarantine, result.reused, result.trigger) == ((), None, None, None)
    assert (result.index, result.title, result.tags, result.prompt) == (0, None, ("own",), "Do one")
    assert result.location is not None
    assert result.location.path == "bench/core.json"


def test_what_an_attempt_says_of_its_session_is_what_the_session_says(answered):
    claims = {"held": [True] * 5, "durationMs": 1, "message": "forged", "score": 0.5}

    def claim(line: bytes) -> bytes:
        return with_result(line, attempts=[{**json.loads(line)["result"]["attempts"][0], **claims}])

    (attempt,) = only(answered(claim)).attempts
    assert (attempt.held, attempt.duration_ms, attempt.message, attempt.score) == ((), 23, None, None)
