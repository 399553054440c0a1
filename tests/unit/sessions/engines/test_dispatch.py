"""Runs on an engine of the test: slots of workers, and places of providers."""

from __future__ import annotations

import json
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from bench_runs import statuses
from fakes_clock import FakeClock
from scratch import Watched, case, config, repository, run_in, runner, suite
from skillgym_action.model.judgement import Judgement
from skillgym_action.model.result import SessionResult
from skillgym_action.model.session_report import Cost, Trouble, Usage
from skillgym_action.model.verdicts import Status
from skillgym_action.sessions.engines import RefusedTicketError, SessionLine, Ticket, WorkerLostError
from skillgym_action.sessions.engines.answers import NOTHING_SPENT, troubled_session
from skillgym_action.sessions.engines.dispatch import Dispatcher
from skillgym_action.settings.slices import EngineOptions
from skillgym_action.system.clock import Clock
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.report import RunReport
    from skillgym_action.results.run_directory import RunDirectory
    from skillgym_action.services import Services

OPTIONS = EngineOptions(address="tcp://127.0.0.1:1")
HANGS_AFTER = 30.0  # seconds; then the run is cancelled, or what a test waits for is missed
PASSED = b"passed"
PROVIDER = b'{"kind": "provider", "message": "overloaded", "retry_after": 0.3}'


def rate_limit(seconds: float) -> bytes:
    return json.dumps({"kind": "rate-limit", "message": "slow down", "retry_after": seconds}).encode()


class Slots:
    """An engine with one worker. ``answers``: what its sessions say, by the number of the execution's session, from 1.

    The first sessions end once all slots are used, and those that pass once ``may_pass()`` is true.
    """

    def __init__(
        self, slots: int, answers: Callable[[Ticket, int], bytes], may_pass: Callable[[], object] = lambda: True
    ) -> None:
        self.number, self.answers, self.may_pass = slots, answers, may_pass
        self.begun: list[Ticket] = []
        self.at_once = self.looks = 0
        self._sessions: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._full = threading.Event()

    def slots(self) -> list[tuple[str, int]]:
        self.looks += 1
        return [("worker", self.number)]

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:  # noqa: ARG002
        with self._lock:
            self._sessions[ticket.case, ticket.runner] += 1
            number = self._sessions[ticket.case, ticket.runner]
            self.begun.append(ticket)
            self.at_once += 1
            if self.at_once == self.number:
                self._full.set()
        answer = self.answers(ticket, number)
        self._full.wait(HANGS_AFTER)
        if answer == PASSED:
            until(self.may_pass, "what sessions that pass wait for", limit=HANGS_AFTER)
        with self._lock:
            self.at_once -= 1
        return SessionLine(line=answer, archive=b"")


def result_of(answer: SessionLine, ticket: Ticket, execution: Execution, directory: RunDirectory) -> SessionResult:
    """In place of ``answers.accepted``: a line is a trouble as JSON, or ``PASSED``."""
    position = ticket.repetition, ticket.session
    fields = {"kind": "provider", "message": ""} if answer.line == PASSED else json.loads(answer.line)
    session = troubled_session(execution, position, Trouble(**fields), NOTHING_SPENT)
    directory.folder(session.result.directory or "")
    if answer.line != PASSED:
        return session
    attempt = replace(session.result.attempts[0], status=Status.PASSED, failure_class=None, message=None)
    judgement = Judgement(status=Status.PASSED)
    return SessionResult(
        result=replace(session.result, judgement=judgement, attempts=(attempt,)), agent_cost=NOTHING_SPENT
    )


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., RunReport]:
    """Runs cases on an engine."""

    def run(
        engine: Any,
        number: int = 8,
        models: tuple[str, ...] = ("claude-sonnet-4-5",),
        of_run: dict[str, Any] | None = None,
        *,
        observer: Watched | None = None,
        dispatched: Any = Dispatcher,
        **given: Any,
    ) -> RunReport:
        """``of_run``: the section ``run`` of the configuration. ``dispatched``: makes a dispatcher."""

        @contextmanager
        def workers(services: Services) -> Iterator[Dispatcher]:
            timer = threading.Timer(HANGS_AFTER, services.cancelled.set)
            timer.start()
            yield dispatched(engine, services, OPTIONS, result_of)
            timer.cancel()

        agents = {model: runner("true", output="events", model=model) for model in models}
        cases = [case(f"c{index}") for index in range(number)]
        root = repository(
            tmp_path / "repo",
            {"bench/core.json": suite(*cases), "skillgym.config.yaml": config(**agents, run=of_run or {})},
        )
        return run_in(root, observer, workers, jobs=16, **given)

    return run


def fails_first(answer: bytes) -> Callable[[Ticket, int], bytes]:
    return lambda _, number: answer if number == 1 else PASSED


def test_sessions_that_wait_for_a_retry_keep_no_slot(run: Callable[..., RunReport]) -> None:
    """Else they wait for places that others keep, which wait for their slots."""
    engine = Slots(2, fails_first(PROVIDER))
    report = run(engine, limit=["anthropic=2"])
    assert (statuses(report), len(engine.begun)) == (["passed"] * 8, 16)


def test_while_one_waits_for_a_retry_another_uses_its_slot(run: Callable[..., RunReport]) -> None:
    engine, clock = Slots(1, fails_first(PROVIDER)), FakeClock()
    clock.during_a_wait = lambda: until(lambda: len(engine.begun) > 1, "another session in the slot", limit=HANGS_AFTER)
    report = run(engine, number=2, clock=clock)
    assert statuses(report) == ["passed"] * 2
    assert {ticket.case for ticket in engine.begun[:2]} == {"c0", "c1"}


def test_sessions_that_wait_for_a_slot_keep_no_place(run: Callable[..., RunReport]) -> None:
    """Else a rate limit halves the number of those that wait, and the next ones start at once all the same."""
    observer, clock, begun = Watched(), FakeClock(), []
    engine = Slots(
        4,
        lambda ticket, number: rate_limit(1.5) if (ticket.case, number) == ("c0", 1) else PASSED,
        may_pass=lambda: any("rate limit" in line for line in observer.details),
    )

    def while_none_may_start() -> None:
        until(lambda: len(observer.ended) == 3, "the end of the three other sessions", limit=HANGS_AFTER)
        seen = engine.looks
        until(lambda: engine.looks > seen + 3, "looks for a free slot", limit=HANGS_AFTER)
        begun.append(len(engine.begun))

    clock.during_a_wait = while_none_may_start
    report = run(engine, number=12, observer=observer, clock=clock)
    assert (statuses(report), begun) == (["passed"] * 12, [4])
    assert report.slowed == ("anthropic: 1 rate limit; 4 sessions at once became 2",)


def test_a_provider_that_is_slowed_does_not_slow_others(run: Callable[..., RunReport]) -> None:
    engine = Slots(2, lambda ticket, number: rate_limit(2) if ticket.runner != "gpt-5" and number == 1 else PASSED)
    clock = FakeClock()

    def of_gpt() -> int:
        return [ticket.runner for ticket in engine.begun].count("gpt-5")

    clock.during_a_wait = lambda: until(lambda: of_gpt() == 3, "all sessions of the other provider", limit=HANGS_AFTER)
    report = run(engine, number=3, models=("claude-sonnet-4-5", "gpt-5"), limit=["anthropic=1"], clock=clock)
    assert statuses(report) == ["passed"] * 6
    assert [ticket.runner for ticket in engine.begun][:4].count("gpt-5") == 3


def test_a_session_is_shown_as_running_once_it_has_a_slot(run: Callable[..., RunReport]) -> None:
    observer, shown = Watched(), []
    engine = Slots(1, lambda *_: shown.append(len(observer.begun)) or PASSED)
    run(engine, number=4, observer=observer)
    assert shown == [1, 2, 3, 4]


class LosesFirst(Slots):
    """The first ticket of each case is lost with its worker."""

    def __init__(self, *, sent: bool) -> None:
        super().__init__(1, lambda *_: PASSED)
        self.sent = sent
        self.lost: set[str] = set()

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        if ticket.case not in self.lost:
            self.lost.add(ticket.case)
            raise WorkerLostError(worker, Clock().seconds(), sent=self.sent)
        return super().run(ticket, worker, judging)


@pytest.mark.parametrize(
    ("sent", "journal", "expected"),
    [
        pytest.param(True, 1, {"skipped": 2}, id="sent: its budget of 5 dollars is spent"),
        pytest.param(False, 0, {"passed": 2}, id="not sent: nothing is"),
    ],
)
def test_a_ticket_that_was_not_sent_is_not_lost(run, tmp_path, sent, journal, expected) -> None:
    report = run(LosesFirst(sent=sent), number=2, max_cost=5.0)
    lines = (tmp_path / "repo/results/journal.jsonl").read_text().splitlines()
    assert Counter(statuses(report)) == expected
    assert sum('"event":"lost"' in line for line in lines) == journal


class SlowToUnpack(Slots):
    """Two workers: one cannot unpack the files, and says so before the other one is ready."""

    def __init__(self) -> None:
        super().__init__(1, lambda *_: PASSED)

    def slots(self) -> list[tuple[str, int]]:
        self.looks += 1
        return [("bad", 1), ("good", int(self.looks > 3))]

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        if worker == "bad":
            raise RefusedTicketError("its disk is full", of_worker=True)
        return super().run(ticket, worker, judging)


def test_a_run_waits_for_workers_that_still_unpack_the_files(run: Callable[..., RunReport]) -> None:
    assert statuses(run(SlowToUnpack(), number=2)) == ["passed"] * 2


class EndsWith(Slots):
    """The slot of the shared workspace ends with the session of the case ``c1``, and this error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(1, lambda *_: PASSED)
        self.error = error
        self.cases: list[str] = []

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        self.cases.append(ticket.case)
        if ticket.case == "c1":
            raise self.error
        return super().run(ticket, worker, judging)


@pytest.mark.parametrize(
    ("error", "journal"),
    [
        pytest.param(RefusedTicketError("its disk is full", began=True), 0, id="it failed"),
        pytest.param(WorkerLostError("worker", 0.0), 1, id="it was lost"),
        pytest.param(WorkerLostError("worker", 0.0, sent=False), 0, id="it had ended before"),
    ],
)
def test_no_session_runs_in_another_workspace_than_those_before_it(run, tmp_path, error, journal) -> None:
    engine = EndsWith(error)
    report = run(engine, number=3, of_run={"workspace": {"mode": "shared"}})
    lines = (tmp_path / "repo/results/journal.jsonl").read_text().splitlines()
    assert (statuses(report), engine.cases) == (["passed", "errored", "errored"], ["c0", "c1"])
    assert report.results[2].judgement.failure_class.id == "worker-lost"
    assert sum('"event":"lost"' in line for line in lines) == journal


class LeavesAfterFirst(Slots):
    """Two workers: one leaves after its first session, the other one does not get ready."""

    def __init__(self) -> None:
        super().__init__(1, lambda *_: PASSED)

    def slots(self) -> list[tuple[str, int]]:
        has_left = self.begun and not self.at_once
        return [("waits", 0)] if has_left else [("leaves", 1), ("waits", 0)]


def test_sessions_of_a_lost_workspace_do_not_wait_for_a_slot(run: Callable[..., RunReport]) -> None:
    engine = LeavesAfterFirst()
    report = run(engine, number=3, of_run={"workspace": {"mode": "shared"}})
    assert (statuses(report), len(engine.begun)) == (["passed", "errored", "errored"], 1)
    assert [result.judgement.failure_class.id for result in report.results[1:]] == ["worker-lost"] * 2


class Workers(Slots):
    """Two workers with a slot each. ``bad``: what the first one does.

    Sessions of the other one end once the first one has had ``tickets``.
    """

    def __init__(self, bad: Callable[[Ticket], SessionLine], tickets: int = 1) -> None:
        super().__init__(1, lambda *_: PASSED, may_pass=lambda: self.tickets["bad"] >= tickets)
        self.bad = bad
        self.tickets: Counter[str] = Counter()

    def slots(self) -> list[tuple[str, int]]:
        return [("bad", 1), ("good", 1)]

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        self.tickets[worker] += 1
        if worker == "bad":
            return self.bad(ticket)
        return super().run(ticket, worker, judging)


def loses(_: Ticket) -> SessionLine:
    raise WorkerLostError("bad", Clock().seconds())


def test_a_worker_that_loses_sessions_again_and_again_gets_no_more_while_there_are_others(run) -> None:
    engine = Workers(loses, tickets=3)
    report = run(engine, number=20)
    assert statuses(report) == ["passed"] * 20
    assert engine.tickets == {"bad": 3, "good": 20}


def test_a_lost_session_runs_again_on_another_worker(run) -> None:
    engine = Workers(loses)
    report = run(engine, number=1)
    assert statuses(report) == ["passed"]
    assert engine.tickets == {"bad": 1, "good": 1}


@pytest.mark.parametrize(
    ("cost", "usage", "expected"),
    [
        pytest.param(NOTHING_SPENT, Usage(), "passed", id="it cost nothing"),
        pytest.param(Cost(), Usage(input_chars=10), "passed", id="costs are not reported, and no model answered"),
        pytest.param(Cost(), Usage(output_chars=10), "errored", id="a model answered"),
        pytest.param(Cost(usd=0.1), Usage(), "errored", id="it cost something"),
    ],
)
def test_a_session_without_a_valid_key_runs_on_another_worker_if_it_cost_nothing(run, cost, usage, expected) -> None:
    def accept(answer: SessionLine, ticket: Ticket, execution: Execution, directory: RunDirectory) -> SessionResult:
        if answer.line == PASSED:
            return result_of(answer, ticket, execution, directory)
        trouble = Trouble(kind="auth", message="401")
        session = troubled_session(execution, (ticket.repetition, ticket.session), trouble, cost)
        directory.folder(session.result.directory or "")
        return replace(session, result=replace(session.result, usage=usage))

    engine = Workers(lambda _: SessionLine(line=b"401", archive=b""))
    report = run(engine, 1, dispatched=lambda *given: Dispatcher(given[0], given[1], given[2], accept))
    assert statuses(report) == [expected]


class Replaced(Slots):
    """The only worker cannot run the plan; it leaves, and another one comes after a while."""

    def __init__(self) -> None:
        super().__init__(1, lambda *_: PASSED)
        self.left: int | None = None  # the number of looks before that

    def slots(self) -> list[tuple[str, int]]:
        self.looks += 1
        if self.left is None:
            return [("bad", 1)]
        return [("good", 1)] if self.looks > self.left + 3 else []

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:
        if worker == "bad":
            self.left = self.looks
            raise RefusedTicketError("a key is missing", of_worker=True)
        return super().run(ticket, worker, judging)


def test_a_run_waits_for_a_worker_in_place_of_one_that_cannot_run_the_plan(run) -> None:
    assert statuses(run(Replaced(), number=2)) == ["passed"] * 2


class Failing(Slots):
    """Its sessions end with an error, while others wait for their slot."""

    def __init__(self, error: Exception) -> None:
        super().__init__(1, lambda *_: PASSED)
        self.error = error

    def run(self, ticket: Ticket, worker: str, judging: Callable[[], None]) -> SessionLine:  # noqa: ARG002
        self.begun.append(ticket)
        seen = self.looks
        until(lambda: self.looks > seen, "a session that waits for the slot", limit=HANGS_AFTER)
        raise self.error


@pytest.mark.parametrize("attempt", range(4))  # without this protection some of them fail
@pytest.mark.parametrize(
    "error",
    [
        pytest.param(RefusedTicketError("its digest differs"), id="refused"),
        pytest.param(RefusedTicketError("its disk is full", began=True), id="failed"),
        pytest.param(WorkerLostError("worker", 0.0), id="lost"),
    ],
)
def test_the_slot_of_a_session_without_an_answer_is_kept_until_its_result_is_counted(run, error, attempt) -> None:
    """Else the next session starts, although no further failure is permitted."""
    engine = Failing(error)
    no_retries = replace(OPTIONS, lost_retries=0)
    report = run(engine, 12, dispatched=lambda *given: Dispatcher(given[0], given[1], no_retries, result_of), maxfail=1)
    assert Counter(statuses(report)) == {"errored": 1, "skipped": 11}
    assert len(engine.begun) == 1
