"""The judgement on a session: outcomes of assertions, failures, and follow-up questions about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from skillgym_action.model.errors import Location
    from skillgym_action.model.judge_question import JudgeInfo
    from skillgym_action.model.verdicts import FailureClass, Status


@record
class FollowUp:
    """A question that `explain` asks the agent after a failure. ``source``: where the suite defines it."""

    question: str
    source: Location | None = None


@record
class RaisedError:
    """An error that a check raised, as the suite's classifier gets it: ``message`` and ``stack`` as they were.

    ``broken``: it is one that a mistake in the check makes, whatever the agent did.
    """

    name: str
    message: str
    stack: str = ""
    broken: bool = False


@record
class Outcome:
    """One assertion's answer on one session.

    ``passed`` None: it could not be evaluated; ``trouble`` is then a key of ``verdicts.TROUBLES``. ``passed`` False
    with ``trouble``: a check raised an error that is no failed assertion. ``error``: what a check raised, which is not
    stored. ``explanation``: one sentence for people; ``evidence``: quoted output, or None. ``score``: from 0 to 1;
    ``weight``: its weight in the mean of the case. ``required``: the score below which the whole case scores 0; True:
    the case's threshold. ``vacuous``: it passed, and would have passed whatever the agent did, as far as anybody could
    expect. ``advisory``: it is shown, and never decides. ``judge``: the judge, if it answered. ``votes``: if several
    answers were asked for, whether each of them passes the assertion; None: there is no such answer.
    """

    assertion: str
    type: str
    passed: bool | None
    explanation: str
    evidence: str | None = None
    score: float | None = None
    weight: float = 1.0
    required: float | bool = False
    location: Location | None = None
    failure_class: FailureClass | None = None
    trouble: str | None = None
    error: RaisedError | None = None
    vacuous: bool = False
    advisory: bool = False
    follow_ups: tuple[FollowUp, ...] = ()
    judge: JudgeInfo | None = None
    votes: tuple[bool | None, ...] = ()


@record
class FunctionReply:
    """What a grading function of a suite program returned: a ``score`` and a ``name``.

    Otherwise ``failed`` is the message of an assertion in it that does not hold, or ``trouble`` why it gave no score.
    """

    score: float | None = None
    name: str = ""
    failed: str | None = None
    trouble: str | None = None
    evidence: str | None = None


@record
class Failure:
    """Why an execution is not ``passed``. ``name``: type of the error; ``message``: one paragraph for people."""

    name: str
    message: str
    location: Location | None = None


@record
class Judgement:
    """Status of one session or execution, with the reasons.

    ``score`` and ``threshold`` (0 to 1) are set for judged sessions of cases with a threshold. ``origin``: where a
    failure came from. ``reason``: why the execution was skipped. ``cost_usd``: of the judge's answers, in US dollars;
    None: unknown.
    """

    status: Status
    outcomes: tuple[Outcome, ...] = ()
    score: float | None = None
    threshold: float | None = None
    origin: str | None = None
    failure_class: FailureClass | None = None
    failure: Failure | None = None
    reason: str | None = None
    cost_usd: float | None = 0.0
