"""AgentV's ``composite``: several graders, and the aggregators that make one grade of theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from skillgym_action.judging.assertions.graders import (
    PASSING_SCORE,
    CheckResult,
    checks_in,
    clamped,
    grade_of,
    not_gradable,
    with_minimum,
)
from skillgym_action.judging.assertions.printed_scores import UnusableScoreError, answer_in, score_of
from skillgym_action.model.judge_question import QuotedText, united_judges
from skillgym_action.model.limits import MAX_GRADER_EVIDENCE_BYTES, MAX_GRADER_OUTPUT_BYTES, MIN_GRADER_SECONDS
from skillgym_action.model.records import record
from skillgym_action.model.result import weighted_mean
from skillgym_action.model.session import Ending, Invocation
from skillgym_action.suites.agentv.judge_graders import ScoreAnswer, grade_by_judge
from skillgym_action.text.javascript.values import number, parsed, stringified, trimmed

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.judging.assertions.graders import Grade
    from skillgym_action.model.assertion import AssertionContext
    from skillgym_action.suites.values import SuiteValue

AGGREGATORS = ("weighted_average", "threshold", "code-grader", "llm-grader")
RESULTS = "{{EVALUATOR_RESULTS_JSON}}"
JUDGE_PROMPT = f"These are the results of several graders:\n{RESULTS}\n\nWhich score follows from them?"


class Member(Protocol):
    """A grader with a name, by which aggregators refer to it."""

    @property
    def name(self) -> str: ...

    @property
    def diagnostic(self) -> bool: ...

    def grade(self, context: AssertionContext) -> Grade: ...


NamedGrades = tuple[tuple[str, "Grade"], ...]


class WeightedMember(Member, Protocol):
    """A member with the weight of its score."""

    @property
    def weight(self) -> float: ...

    @property
    def min_score(self) -> float | None: ...


class Aggregator(Protocol):
    """Makes one grade of the members' grades, none of which lacks a score."""

    @property
    def diagnostic(self) -> bool: ...

    def aggregate(self, grades: NamedGrades, context: AssertionContext) -> Grade: ...


@record
class Composite:
    """Several graders as one."""

    members: tuple[Member, ...]
    aggregator: Aggregator

    @property
    def diagnostic(self) -> bool:
        """Whether all of them are."""
        return self.aggregator.diagnostic and all(member.diagnostic for member in self.members)

    def grade(self, context: AssertionContext) -> Grade:
        """The aggregator's grade; not gradable if that is so for a member."""
        grades = tuple((member.name, member.grade(context)) for member in self.members)
        aggregated = self._aggregated(grades, context)
        judges = (*(grade.judge for _, grade in grades), aggregated.judge)
        return replace(aggregated, judge=united_judges(judges))

    def _aggregated(self, grades: NamedGrades, context: AssertionContext) -> Grade:
        for name, grade in grades:
            if grade.passed is None:
                return not_gradable(f"{name}: {grade.explanation}", score=grade.score, evidence=grade.all_evidence)
        return self.aggregator.aggregate(grades, context)


@record
class AssertSet:
    """Several assertions as one, with the weighted mean of their scores. AgentV 5's ``assert-set``.

    ``threshold``: the score from which it passes; None: every member whose weight is not 0 has to pass.
    """

    members: tuple[WeightedMember, ...]
    threshold: float | None = None

    @property
    def diagnostic(self) -> bool:
        """Whether all members are."""
        return all(member.diagnostic for member in self.members)

    def grade(self, context: AssertionContext) -> Grade:
        """The grade of all members; not gradable if that is so for one of them."""
        graded = [(member, _with_own_minimum(member, member.grade(context))) for member in self.members]
        judge = united_judges([grade.judge for _, grade in graded])
        for member, grade in graded:
            if grade.passed is None:
                trouble = not_gradable(
                    f"{member.name}: {grade.explanation}", score=grade.score, evidence=grade.all_evidence
                )
                return replace(trouble, judge=judge)
        score = clamped(weighted_mean((grade.score or 0.0, member.weight) for member, grade in graded))
        every = all(grade.passed for member, grade in graded if member.weight)
        passed = every if self.threshold is None else score >= self.threshold
        named = tuple((member.name, grade) for member, grade in graded)
        return replace(grade_of(*_checks(named), score=score, passed=passed), judge=judge)


def _with_own_minimum(member: WeightedMember, grade: Grade) -> Grade:
    return grade if member.min_score is None else with_minimum(grade, member.min_score)


@record(kw_only=False)
class WeightedAverage:
    """The weighted mean of the members' scores. ``weights`` are by name; the default is 1."""

    weights: dict[str, float]
    diagnostic: ClassVar[bool] = True

    def aggregate(self, grades: NamedGrades, _: AssertionContext) -> Grade:
        score = weighted_mean((grade.score or 0.0, self.weights.get(name, 1.0)) for name, grade in grades)
        return grade_of(*_checks(grades), score=clamped(score))


@record(kw_only=False)
class PassingShare:
    """The share of members that passed; it has to be at least ``minimum``."""

    minimum: float
    diagnostic: ClassVar[bool] = True

    def aggregate(self, grades: NamedGrades, _: AssertionContext) -> Grade:
        """The share is the score, also below the minimum."""
        passed = sum(grade.passed is True for _, grade in grades)
        score = passed / len(grades)
        enough = score >= self.minimum
        check = CheckResult(f"{passed} of {len(grades)} graders passed, {self.minimum:g} of them are needed", enough)
        return grade_of(check, *_checks(grades), score=score, passed=enough)


@record
class ProgramAggregator:
    """A line for sh that reads the members' grades on stdin and prints the score, as a JSON object.

    ``compat``: the score counts as with AgentV: one outside of 0 to 1 is limited to it, and none is 0.
    """

    command: str
    folder: Path
    compat: bool = False
    diagnostic: ClassVar[bool] = False

    def aggregate(self, grades: NamedGrades, context: AssertionContext) -> Grade:
        """Not gradable, with a score of 0, if the program fails or prints no object with a score."""
        limit = max(MIN_GRADER_SECONDS, context.timeout)
        stdin = stringified({"results": _results(grades)}, indent=2)
        argv = ("sh", "-c", self.command)
        capture = context.execute(Invocation(argv=argv, cwd=self.folder, timeout=limit, stdin=stdin))
        stderr = trimmed(capture.stderr.tail(MAX_GRADER_EVIDENCE_BYTES)) or None
        if capture.ending is not Ending.EXITED or capture.exit_code:
            reason = capture.error or f"{capture.ending}, exit code {capture.exit_code}"
            return not_gradable(f"the aggregator failed: {reason}", score=0.0, evidence=stderr)
        printed = trimmed(capture.stdout.tail(MAX_GRADER_OUTPUT_BYTES))
        try:
            answer = parsed(printed) if self.compat else answer_in(printed)
            if not isinstance(answer, dict):
                return not_gradable("the aggregator printed no JSON object", score=0.0, evidence=stderr)
            return _aggregated_grade(answer, compat=self.compat)
        except ValueError as error:
            return not_gradable(f"the aggregator printed no JSON: {error}", score=0.0, evidence=stderr)
        except UnusableScoreError as error:
            return not_gradable(f"the aggregator failed: {error}", score=0.0, evidence=stderr)


def _aggregated_grade(answer: dict[str, object], *, compat: bool) -> Grade:
    """The grade that an aggregator printed. Raises UnusableScoreError."""
    verdict = {"pass": True, "fail": False}.get(str(answer.get("verdict")))
    checks = checks_in(answer.get("assertions"))
    if compat:
        score = clamped(number(answer.get("score")) or 0.0)
    elif answer.get("score") is None and verdict is not None:
        score = float(verdict)
    else:
        score = score_of(answer.get("score"))
    return grade_of(
        *(checks or (CheckResult(f"the aggregator says {score:g}", bool(verdict)),)), score=score, passed=verdict
    )


@record(kw_only=False)
class JudgeAggregator:
    """The judge reads the members' grades and gives the score."""

    prompt: str
    votes: int | None = None
    diagnostic: ClassVar[bool] = False

    def aggregate(self, grades: NamedGrades, context: AssertionContext) -> Grade:
        """The judge's grade; not gradable without a judge."""
        before, found, after = self.prompt.partition(RESULTS)
        results = (QuotedText("the graders' results", stringified(_results(grades), indent=2)),) if found else ()
        parts = (before.strip(), *results, after.replace(RESULTS, "").strip())
        return grade_by_judge(context, tuple(filter(None, parts)), ScoreAnswer, _grade_of_answer, self.votes)


def _grade_of_answer(answer: ScoreAnswer) -> Grade:
    reasons = [CheckResult(one.text, one.passed, one.evidence) for one in answer.assertions]
    checks = reasons or [CheckResult(f"the judge gives {answer.score:g}", answer.score >= PASSING_SCORE)]
    return grade_of(*checks, score=answer.score)


def _results(grades: NamedGrades) -> dict[str, object]:
    """The members' grades in AgentV's form."""
    return {
        name: {
            "score": grade.score,
            "verdict": "pass" if grade.passed else "fail",
            "assertions": [
                {"text": check.text, "passed": check.passed, **({"evidence": check.evidence} if check.evidence else {})}
                for check in grade.checks
            ],
            "expectedAspectCount": len(grade.checks) or 1,
        }
        for name, grade in grades
    }


def _checks(grades: NamedGrades) -> tuple[CheckResult, ...]:
    return tuple(replace(check, text=f"[{name}] {check.text}") for name, grade in grades for check in grade.checks)


# --- in suite files ---------------------------------------------------------------------------------


def weighted_average(aggregator: SuiteValue) -> WeightedAverage:
    """The aggregator ``weighted_average``. Raises SuiteError."""
    weights = aggregator.member("weights").value if aggregator.has("weights") else {}
    if not isinstance(weights, dict):
        raise aggregator.invalid("weights", "a mapping of names to numbers")
    for name, weight in weights.items():
        if number(weight) is None or weight < 0:
            raise aggregator.member("weights").member(name).wrong_type("a number, 0 or more")
    return WeightedAverage({str(name): float(weight) for name, weight in weights.items()})


def passing_share(aggregator: SuiteValue) -> PassingShare:
    """The aggregator ``threshold``. Raises SuiteError."""
    minimum = aggregator.number("threshold", most=1)
    if minimum is None:
        raise aggregator.invalid("threshold", "a number from 0 to 1")
    return PassingShare(minimum)


def program_aggregator(aggregator: SuiteValue, folder: Path, *, compat: bool) -> ProgramAggregator:
    """The aggregator ``code-grader``. Raises SuiteError."""
    return ProgramAggregator(command=aggregator.required_text("path"), folder=folder, compat=compat)
