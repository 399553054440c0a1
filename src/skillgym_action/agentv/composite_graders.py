"""AgentV's grader of graders: members, and how one score comes of theirs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Protocol

from skillgym_action.agentv.judge_prompts import asked
from skillgym_action.assertions.grades import GOOD, Check, cannot_tell, checks_of, clamped, graded
from skillgym_action.javascript.values import number, parsed, stringified, trimmed
from skillgym_action.model.judge_question import Quoted
from skillgym_action.model.scores import weighted_mean
from skillgym_action.model.session import Ending, Invocation

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.agentv.judge_forms import FreeForm
    from skillgym_action.assertions.grades import Grade
    from skillgym_action.documents.entries import Entry
    from skillgym_action.model.assertion import AssertionContext

AGGREGATORS = ("weighted_average", "threshold", "code-grader", "llm-grader")
RESULTS = "{{EVALUATOR_RESULTS_JSON}}"
DECIDE = f"These are the results of several graders:\n{RESULTS}\n\nWhich score follows from them?"
SHORTEST_LIMIT = 300.0
LARGEST = 8 * 1024 * 1024
TAIL = 2000


class Member(Protocol):
    """A grader with a name."""

    @property
    def name(self) -> str:
        """As the aggregator calls it."""
        ...

    @property
    def diagnostic(self) -> bool:
        """As a grader's."""
        ...

    def grade(self, context: AssertionContext) -> Grade:
        """As a grader's."""
        ...


Graded = tuple[tuple[str, "Grade"], ...]


class Aggregator(Protocol):
    """Makes one grade of the members', all of which could tell."""

    @property
    def diagnostic(self) -> bool:
        """As a grader's."""
        ...

    def aggregate(self, grades: Graded, context: AssertionContext) -> Grade:
        """The one grade."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Composite:
    """Several graders as one."""

    members: tuple[Member, ...]
    aggregator: Aggregator

    @property
    def diagnostic(self) -> bool:
        """Whether all of them are."""
        return self.aggregator.diagnostic and all(member.diagnostic for member in self.members)

    def grade(self, context: AssertionContext) -> Grade:
        """Cannot tell as soon as a member cannot."""
        grades = tuple((member.name, member.grade(context)) for member in self.members)
        for name, grade in grades:
            if grade.passed is None:
                return cannot_tell(f"{name}: {grade.explanation}", score=grade.score, evidence=grade.shown)
        return self.aggregator.aggregate(grades, context)


@dataclass(frozen=True, slots=True)
class WeightedAverage:
    """The mean of the members' scores; a member that has no weight here has 1."""

    weights: dict[str, float]
    diagnostic: ClassVar[bool] = True

    def aggregate(self, grades: Graded, _: AssertionContext) -> Grade:
        """A check for each of the members'."""
        score = weighted_mean((grade.score or 0.0, self.weights.get(name, 1.0)) for name, grade in grades)
        return graded(*_checks(grades), score=clamped(score))


@dataclass(frozen=True, slots=True)
class Share:
    """The share of members that passed; it has to be at least ``needed``."""

    needed: float
    diagnostic: ClassVar[bool] = True

    def aggregate(self, grades: Graded, _: AssertionContext) -> Grade:
        """The share is the score, whether it is enough or not."""
        passed = sum(grade.passed is True for _, grade in grades)
        score = passed / len(grades)
        enough = score >= self.needed
        told = Check(f"{passed} of {len(grades)} graders passed, {self.needed:g} of them are needed", enough)
        return graded(told, *_checks(grades), score=score, passed=enough)


@dataclass(frozen=True, kw_only=True, slots=True)
class ByProgram:
    """A line for sh that reads the results on stdin and prints the score."""

    command: str
    folder: Path
    diagnostic: ClassVar[bool] = False

    def aggregate(self, grades: Graded, context: AssertionContext) -> Grade:
        """Cannot tell, with a score of 0, when the program fails or prints no JSON object."""
        limit = max(SHORTEST_LIMIT, context.timeout)
        stdin = stringified({"results": _results(grades)}, indent=2)
        argv = ("sh", "-c", self.command)
        capture = context.execute(Invocation(argv=argv, cwd=self.folder, timeout=limit, stdin=stdin))
        complaint = trimmed(capture.stderr.tail(TAIL)) or None
        if capture.ending is not Ending.EXITED or capture.exit_code:
            why = capture.error or f"{capture.ending}, exit code {capture.exit_code}"
            return cannot_tell(f"the aggregator failed: {why}", score=0.0, evidence=complaint)
        try:
            said = parsed(trimmed(capture.stdout.tail(LARGEST)))
        except ValueError as error:
            return cannot_tell(f"the aggregator printed no JSON: {error}", score=0.0, evidence=complaint)
        if not isinstance(said, dict):
            return cannot_tell("the aggregator printed no JSON object", score=0.0, evidence=complaint)
        score = clamped(number(said.get("score")) or 0.0)
        verdict = {"pass": True, "fail": False}.get(str(said.get("verdict")))
        checks = checks_of(said.get("assertions")) or (Check(f"the aggregator says {score:g}", bool(verdict)),)
        return graded(*checks, score=score, passed=verdict)


@dataclass(frozen=True, slots=True)
class ByJudge:
    """The judge is shown the results and gives the score."""

    prompt: str
    diagnostic: ClassVar[bool] = False

    def aggregate(self, grades: Graded, context: AssertionContext) -> Grade:
        """What the judge says; cannot tell without one."""
        from skillgym_action.agentv.judge_forms import FreeForm

        before, found, after = self.prompt.partition(RESULTS)
        results = (Quoted("the graders' results", stringified(_results(grades), indent=2)),) if found else ()
        parts = (before.strip(), *results, after.replace(RESULTS, "").strip())
        return asked(context, tuple(part for part in parts if part), FreeForm, _decided)


def _decided(said: FreeForm) -> Grade:
    checks = [Check(one.text, one.passed, one.evidence) for one in said.assertions]
    return graded(*checks or [Check(f"the judge gives {said.score:g}", said.score >= GOOD)], score=said.score)


def _results(grades: Graded) -> dict[str, object]:
    """The members' grades as AgentV tells them."""
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


def _checks(grades: Graded) -> tuple[Check, ...]:
    return tuple(replace(check, text=f"[{name}] {check.text}") for name, grade in grades for check in grade.checks)


# --- what is written --------------------------------------------------------------------------------


def weighted_average(aggregator: Entry) -> WeightedAverage:
    """Raises SuiteError."""
    weights = aggregator.value.get("weights", {})
    if not isinstance(weights, dict):
        raise aggregator.wrong("weights", "a mapping of names to numbers")
    for name, weight in weights.items():
        if number(weight) is None or weight < 0:
            raise aggregator.error(f"must be a number, 0 or more, not {weight!r}", f"weights.{name}")
    return WeightedAverage({str(name): float(weight) for name, weight in weights.items()})


def share(aggregator: Entry) -> Share:
    """Raises SuiteError."""
    needed = aggregator.number("threshold", most=1)
    if needed is None:
        raise aggregator.wrong("threshold", "a number from 0 to 1")
    return Share(needed)


def by_program(aggregator: Entry, folder: Path) -> ByProgram:
    """Raises SuiteError."""
    return ByProgram(command=aggregator.needed_text("path"), folder=folder)
