"""Judging: outcomes and trouble -> status, origin, class."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from skillgym_action.model.errors import Location
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.session_report import AgentRef, Raw, RunnerRef, SessionReport, Trouble
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.model.verdicts import TROUBLES, FailureClass
from skillgym_action.sessions.judge import judge, trouble_judgement

HERE = Location(path="bench/core.json", line=3)
THERE = Location(path="bench/suite.py", line=9)
OWN = FailureClass(id="wrong-alias", label="Wrong alias")
TIMEOUT = Trouble(kind="timeout", message="timed out after 5 s")
CRASH = Trouble(kind="runner-crash", message="exit code 1")
STEPS = Trouble(kind="max-steps", message="exceeded the limit of 2 model rounds")
BUDGET = Trouble(kind="budget-exceeded", message="$9.50 of $0.10")
REFUSED = Trouble(kind="refused", message="no")
DISK = Trouble(kind="resource-limit", message="used 5 GiB of disk")
ANSWERS = {"yes": True, "no": False, "cannot tell": None}


@dataclass
class Says:
    """An assertion that has its answer ready; fulfils ``model.assertion.Assertion``."""

    answer: str
    name: str = "rule"
    trouble: str | None = None
    diagnostic: bool = True
    fail_fast: bool = False
    failure_class: FailureClass | None = None
    location: Location | None = None
    type: str = "says"

    def judge(self, context: Asked) -> tuple[Outcome, ...]:
        context.judged.append(self.name)
        return (
            Outcome(
                assertion=self.name,
                type=self.type,
                passed=ANSWERS[self.answer],
                explanation=f"{self.name} says {self.answer}",
                trouble=self.trouble,
                failure_class=self.failure_class,
                location=self.location,
            ),
        )


@dataclass
class Asked:
    """A subject that notes what it was asked."""

    own_class: FailureClass | None = None
    judged: list[str] = field(default_factory=list)
    classified: list[str] = field(default_factory=list)

    def decided(self, assertion):
        return assertion.judge(self)

    def classify(self, case_id, judgement):
        self.classified.append(f"{case_id} {judgement.status}")
        return self.own_class


PASSES, FAILS = Says("yes"), Says("no")
GRADER = Says("cannot tell", trouble="grader")
CRASHED = Says("cannot tell", trouble="assert-hook", location=THERE)
RAISED = Says("no", trouble="assert-hook", location=THERE)


def judged(*assertions: Says, trouble: Trouble | None = None, context: Asked | None = None, **settings):
    case = BenchmarkCase(id="a", prompt="p", location=HERE, assertions=assertions, **settings)
    return judge(case, context or Asked(), trouble)


@pytest.mark.parametrize(
    ("assertions", "expected_fail", "trouble", "expected"),
    [
        pytest.param([PASSES], False, None, ("passed", None, None), id="all pass"),
        pytest.param([PASSES, FAILS], False, None, ("failed", "assertion", "assertion"), id="one does not"),
        pytest.param([FAILS], True, None, ("expected-failed", "assertion", "assertion"), id="a known failure"),
        pytest.param([PASSES], True, None, ("unexpected-passed", None, "unexpected-passed"), id="a stale expectation"),
        pytest.param([PASSES], False, TIMEOUT, ("failed", "limit", "timeout"), id="a limit though all pass"),
        pytest.param([CRASHED], False, TIMEOUT, ("failed", "limit", "timeout"), id="a limit though none can tell"),
        pytest.param([FAILS], True, TIMEOUT, ("failed", "limit", "timeout"), id="a limit is never an expected failure"),
        pytest.param([FAILS], True, STEPS, ("failed", "limit", "max-steps"), id="... nor is one of steps"),
        pytest.param([FAILS], True, BUDGET, ("failed", "limit", "budget-exceeded"), id="... nor is one of money"),
        pytest.param([FAILS], True, REFUSED, ("failed", "model", "refused"), id="nor is a model that refuses"),
        pytest.param([PASSES], False, CRASH, ("errored", "runner", "runner-crash"), id="trouble though all pass"),
        pytest.param(
            [FAILS], True, CRASH, ("errored", "runner", "runner-crash"), id="trouble is never an expected failure"
        ),
        pytest.param(
            [FAILS], True, DISK, ("failed", "limit", "resource-limit"), id="nor is a limit of the machine's resources"
        ),
        pytest.param([PASSES, GRADER], False, None, ("errored", "grader", "grader"), id="a grader that cannot tell"),
        pytest.param([GRADER, FAILS], False, None, ("failed", "assertion", "assertion"), id="... but another says no"),
        pytest.param(
            [FAILS, CRASHED], False, None, ("errored", "assert-hook", "assert-hook"), id="a check that could not be run"
        ),
        pytest.param([RAISED], False, None, ("failed", "assert-hook", "assert-hook"), id="a check that raised"),
        pytest.param([RAISED], True, None, ("failed", "assert-hook", "assert-hook"), id="... is no expected failure"),
        pytest.param([CRASHED], True, None, ("errored", "assert-hook", "assert-hook"), id="... is no expected failure"),
        pytest.param(
            [Says("cannot tell")], False, None, ("errored", "grader", "grader"), id="no answer without a reason"
        ),
    ],
)
def test_the_status(assertions, expected_fail, trouble, expected):
    judgement = judged(*assertions, expected_fail=expected_fail, trouble=trouble)
    failure_class = judgement.failure_class and judgement.failure_class.id
    assert (judgement.status, judgement.origin, failure_class) == expected


OWN_FAILURES = {
    "timeout",
    "max-steps",
    "budget-exceeded",
    "resource-limit",
    "out-of-memory",
    "context-exceeded",
    "output-limit",
    "refused",
}


@pytest.mark.parametrize("kind", TROUBLES)
def test_every_class_of_trouble_has_its_origin_and_label(kind):
    judgement = trouble_judgement(Trouble(kind=kind, message="why"))
    assert judgement.status == ("failed" if kind in OWN_FAILURES else "errored")
    assert judgement.origin == TROUBLES[kind].origin
    assert (judgement.failure_class.id, judgement.failure_class.label) == (kind, TROUBLES[kind].label)
    assert (judgement.failure.name, judgement.failure.message) == (TROUBLES[kind].label, "why")


LIMITS = {"timeout": "timeout", "max-steps": "max-steps", "budget-exceeded": "runner"}


@pytest.mark.parametrize(("kind", "origin"), LIMITS.items())
def test_a_limit_is_errored_if_wanted_and_then_only_diagnosed(kind, origin):
    case = BenchmarkCase(
        id="a", prompt="p", location=HERE, assertions=(Says("yes", "a", diagnostic=False), Says("no", "b"))
    )
    context = Asked()
    judgement = judge(case, context, Trouble(kind=kind, message="why"), "errored")
    assert (judgement.status, judgement.origin, judgement.failure_class.id) == ("errored", origin, kind)
    assert context.judged == ["b"]


# --- what is evaluated ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("assertions", "trouble", "names"),
    [
        pytest.param([Says("no", "a"), Says("yes", "b")], None, ["a", "b"], id="a failure hides nothing"),
        pytest.param(
            [Says("no", "a", fail_fast=True), Says("yes", "b")], None, ["a"], id="unless it says that it should"
        ),
        pytest.param(
            [Says("cannot tell", "a", fail_fast=True), Says("yes", "b")],
            None,
            ["a"],
            id="what cannot tell stops as well",
        ),
        pytest.param(
            [Says("yes", "a", fail_fast=True), Says("yes", "b")], None, ["a", "b"], id="success stops nothing"
        ),
        pytest.param(
            [Says("yes", "a", diagnostic=False), Says("yes", "b")], CRASH, ["b"], id="after trouble only diagnosis"
        ),
        pytest.param(
            [Says("yes", "a", diagnostic=False), Says("no", "b")], TIMEOUT, ["a", "b"], id="after a limit all of them"
        ),
        pytest.param(
            [Says("yes", "a", diagnostic=False), Says("no", "b")], STEPS, ["b"], id="except of steps: no check runs"
        ),
        pytest.param(
            [Says("yes", "a", diagnostic=False), Says("yes", "b")],
            REFUSED,
            ["a", "b"],
            id="after the model's own ending all of them, for the record",
        ),
    ],
)
def test_assertions_are_evaluated_in_order(assertions, trouble, names):
    context = Asked()
    judgement = judged(*assertions, trouble=trouble, context=context)
    assert context.judged == names
    assert [outcome.assertion for outcome in judgement.outcomes] == names


@pytest.mark.parametrize("kind", ["context-exceeded", "output-limit", "refused"])
@pytest.mark.parametrize("says", ["yes", "no", "cannot tell"])
def test_how_the_model_ended_decides_whatever_assertions_say(kind, says):
    judgement = judged(Says(says, "a"), trouble=Trouble(kind=kind, message="why"))
    assert (judgement.status, judgement.origin, judgement.failure_class.id) == ("failed", "model", kind)
    assert judgement.failure.message == "why"
    assert [outcome.assertion for outcome in judgement.outcomes] == ["a"]


# --- reasons ----------------------------------------------------------------------------------------


def test_the_first_failed_assertion_gives_the_reason_and_the_case_the_location():
    failure = judged(PASSES, Says("no", "b"), Says("no", "c")).failure
    assert (failure.name, failure.message, failure.location) == ("AssertionError", "b says no", HERE)


def test_the_location_of_an_outcome_wins():
    assert judged(Says("no", location=THERE)).failure.location == THERE
    assert judged(CRASHED).failure.location == THERE


def test_the_message_of_trouble_is_the_reason():
    assert judged(FAILS, trouble=TIMEOUT).failure.message == "timed out after 5 s"


# --- classes ----------------------------------------------------------------------------------------


def test_a_class_attached_by_an_assertion_is_the_failure_s():
    assert judged(Says("no"), Says("no", failure_class=OWN)).failure_class == OWN


@pytest.mark.parametrize(
    ("assertions", "settings", "asked"),
    [
        pytest.param([PASSES], {}, [], id="a pass is not classified"),
        pytest.param([FAILS], {}, ["a failed"], id="a failure is"),
        pytest.param([FAILS], {"expected_fail": True}, ["a failed"], id="also an expected one, which it is not yet"),
        pytest.param([PASSES], {"expected_fail": True}, [], id="not an unexpected pass: it did pass"),
        pytest.param([PASSES], {"trouble": CRASH}, ["a errored"], id="and trouble"),
        pytest.param([PASSES], {"trouble": TIMEOUT}, ["a failed"], id="and a limit"),
    ],
)
def test_the_suite_s_classifier_sees_what_did_not_pass(assertions, settings, asked):
    context = Asked(own_class=OWN)
    before = judged(*assertions, **settings)
    judgement = judged(*assertions, context=context, classify=True, **settings)
    assert context.classified == asked
    assert judgement.status == before.status
    assert judgement.failure_class == (OWN if asked else before.failure_class)


def test_a_class_attached_to_what_crashed_is_the_crash_s():
    judgement = judged(Says("cannot tell", trouble="assert-hook", failure_class=OWN))
    assert (judgement.origin, judgement.failure_class) == ("assert-hook", OWN)


def test_a_classifier_that_returns_nothing_changes_nothing():
    assert judged(FAILS, context=Asked(), classify=True) == judged(FAILS)


def test_a_case_without_a_classifier_asks_none():
    context = Asked(own_class=OWN)
    judged(FAILS, context=context)
    assert context.classified == []


# --- events that are not all there ------------------------------------------------------------------


@dataclass
class Reads(Says):
    """An assertion that looks at the events of the session."""

    look: str = "iterate"

    def judge(self, context: Asked) -> tuple[Outcome, ...]:
        events = GUARDED.events
        looks = {
            "iterate": lambda: list(events),
            "count": lambda: len(events),
            "index": lambda: events[0],
            "truth": lambda: bool(events),
            "skills": lambda: list(GUARDED.detected_skills),
            "files": lambda: list(GUARDED.files.observed_reads),
            "as JSON": lambda: to_json(GUARDED),
        }
        looks[self.look]()
        return super().judge(context)


REPORT = SessionReport(
    runner=RunnerRef(id="a", path_key="a", agent=AgentRef(type="command")),
    prompt="p",
    cwd="/w",
    events=(Raw(line="first"),),
    final_output="done",
    dropped_events=3,
)
GUARDED = REPORT.guarded()


@pytest.mark.parametrize("look", ["iterate", "count", "index", "truth", "skills", "files", "as JSON"])
def test_what_needs_events_that_are_not_there_is_errored(look):
    judgement = judged(Reads("yes", look=look))
    assert (judgement.status, judgement.origin) == ("errored", "collection")
    assert "more events than are kept" in judgement.failure.message


def test_other_assertions_are_judged_without_them():
    assert judged(Says("yes")).status == "passed"
    assert GUARDED.final_output == "done"
    assert replace(REPORT, dropped_events=None).guarded().events == REPORT.events
