"""Runs the sessions that a run with ``repeat: auto`` needs, round by round, until it has decided."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Protocol

from skillgym_action.model.adaptive import NOTHING_DIFFERS, Adaptive, CheckedPair, SessionCounts, SideCounts
from skillgym_action.model.comparison import Samples
from skillgym_action.model.figures import dollars
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import ASSERTIONS_PASSED, JUDGED, Status
from skillgym_action.results.statistics.adaptive import MOST_SESSIONS, PairSessions, decide

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from skillgym_action.model.adaptive import Control, Mode, Phase, RegressionCheck
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.results.statistics.adaptive import AdaptiveDecision, Need
    from skillgym_action.results.statistics.exact_tests import SampledPair


@record
class AdaptiveRule:
    """How a run decides. ``heads``: the executions that are compared, with their samples in the store.

    ``controls``: the same with the files of the base commit; (): there is no control, or nothing ``differs``.
    ``others``: executions that are in no comparison. ``first_clears``: whether the screen may end after one round.
    """

    mode: Mode
    why: str
    heads: tuple[Execution, ...]
    stored: tuple[Samples, ...]
    controls: tuple[Execution, ...] = ()
    control: Control | None = None
    differs: bool = True
    others: tuple[Execution, ...] = ()
    first_clears: bool = True


class Rounds(Protocol):
    """What runs sessions."""

    def hold(self, executions: Sequence[Execution]) -> Mapping[int, Result]:
        """Run what the executions lack of their repetitions; their results with all sessions, by index."""
        ...

    def mean_cost(self, indexes: Iterable[int]) -> float | None:
        """US dollars of a session of these executions so far; None: unknown."""
        ...

    @property
    def left(self) -> float | None:
        """US dollars that may still be spent; None: there is no limit, or it is unknown."""
        ...


def run_adaptively(rule: AdaptiveRule, rounds: Rounds) -> tuple[dict[int, Result], Adaptive]:
    """The results by index, with all sessions; and what was decided."""
    run = _Run(rule, rounds)
    steps, why = decide(rule.mode, run.pairs, first_clears=rule.first_clears), rule.why
    answer: Literal["held", "unfinished"] | None = None
    check: RegressionCheck | None = None
    while True:
        try:
            need = next(steps) if answer is None else steps.send(answer)
        except StopIteration as end:
            decision: AdaptiveDecision = end.value
            break
        if need.beside and not rule.differs:
            why, check = NOTHING_DIFFERS, "not-confirmed"
            if rule.mode == "side-by-side":
                check = "cleared"
                run.hold_once()
        elif need.beside and (short := run.shortage(need)):
            why = short
        else:
            answer = run.hold(need)
            why = run.unfinished if answer == "unfinished" else why
            continue
        answer = "unfinished"
    found = run.adaptive(decision, why)
    return run.results_by_phase(), replace(found, check=check) if check else found


class _Run:
    """The sessions so far."""

    def __init__(self, rule: AdaptiveRule, rounds: Rounds) -> None:
        self._rule, self._rounds = rule, rounds
        self.pairs = [PairSessions(stored=stored) for stored in rule.stored]
        self._results: dict[int, Result] = {}
        self._beside = False
        self.unfinished = "sessions of the check did not run"

    def hold_once(self) -> None:
        """One session of each execution, where nothing is compared."""
        self._run(self._rule.heads)

    def _run(self, executions: Sequence[Execution]) -> None:
        others = () if self._results else self._rule.others
        self._results |= self._rounds.hold((*executions, *others))

    def hold(self, need: Need) -> Literal["held", "unfinished"]:
        """Run what is needed; whether all of it took place."""
        if need.beside:
            return self._hold_beside(need)
        heads = [replace(self._rule.heads[i], repetitions=need.rounds) for i in need.pairs]
        self._run(heads)
        for i in need.pairs:
            self.pairs[i].screen[:] = self._outcomes(self._rule.heads[i], 0, need.rounds)
        return "held"

    def _hold_beside(self, need: Need) -> Literal["held", "unfinished"]:
        """Odd rounds begin with the control, even ones with the head."""
        self._beside = True
        for number in range(1, need.rounds + 1):
            missing = [i for i in need.pairs if len(self.pairs[i].head) < number]
            both = []
            for i in missing:
                control = replace(self._rule.controls[i], repetitions=number)
                head = replace(self._rule.heads[i], repetitions=len(self.pairs[i].screen) + number)
                both += [control, head] if number % 2 else [head, control]
            if both:
                self._run(both)
            for i in missing:
                pair, (control, head) = self.pairs[i], (self._rule.controls[i], self._rule.heads[i])
                if not (self._took_place(control, number) and self._took_place(head, len(pair.screen) + number)):
                    return "unfinished"
                pair.control[:] = self._outcomes(control, 0, number)
                pair.head[:] = self._outcomes(head, len(pair.screen), number)
        return "held"

    def _took_place(self, execution: Execution, repetition: int) -> bool:
        result = self._results[execution.index]
        return any(one.repetition == repetition and one.status is not Status.SKIPPED for one in result.attempts)

    def _outcomes(self, execution: Execution, before: int, rounds: int) -> list[bool | None]:
        """Of so many repetitions after the first ``before``: whether the first judged session passed."""
        first: dict[int, bool] = {}
        for one in self._results[execution.index].attempts:
            if one.status in JUDGED:
                first.setdefault(one.repetition, one.status in ASSERTIONS_PASSED)
        return [first.get(before + number) for number in range(1, rounds + 1)]

    def shortage(self, need: Need) -> str:
        """Why the check is not begun: what is left of the budget is too little for its first deciding look."""
        left = self._rounds.left
        if self._beside or left is None:
            return ""
        mean = self._rounds.mean_cost(self._rule.heads[i].index for i in need.pairs)
        expected = 2 * need.red_at * len(need.pairs) * mean if mean is not None else 0.0
        if expected <= left:
            return ""
        needed, rest = dollars(expected, max(left, 0.0))
        return f"the check side by side needs about {needed}, and {rest} is left"

    # --- what is reported -------------------------------------------------------------------------------

    def results_by_phase(self) -> dict[int, Result]:
        """The results, whose sessions have their phases."""
        found = dict(self._results)
        phases = {one.index: 0 for one in self._rule.controls}
        phases |= {one.index: len(pair.screen) for one, pair in zip(self._rule.heads, self.pairs, strict=True)}
        for index, screened in phases.items():
            if result := found.get(index):
                found[index] = replace(
                    result,
                    attempts=tuple(replace(a, phase=_phase(a.repetition, screened)) for a in result.attempts),
                )
        return found

    def adaptive(self, decision: AdaptiveDecision, why: str) -> Adaptive:
        """The decision, with the names of the pairs."""
        side = decision.side or {}
        return Adaptive(
            mode=self._rule.mode,
            why=why,
            check=decision.check,
            control=self._rule.control,
            suspects=self._checked(decision.suspects, side),
            suite=decision.suite,
            sessions=SessionCounts(
                screen=sum(len(pair.screen) for pair in self.pairs),
                control=sum(len(pair.control) for pair in self.pairs),
                head=sum(len(pair.head) for pair in self.pairs),
                most=MOST_SESSIONS[self._rule.mode] * len(self.pairs),
            ),
            looks=decision.looks,
            named=self._checked(decision.named, side),
            beside=_counts(side.values()) if side else None,
        )

    def _checked(self, indexes: Iterable[int], side: Mapping[int, SampledPair]) -> tuple[CheckedPair, ...]:
        return tuple(
            CheckedPair(
                suite=head.suite.path,
                case_id=head.case.id,
                runner_id=head.runner.id,
                beside=_counts([side[i]]) if i in side else None,
            )
            for i in sorted(indexes)
            for head in [self._rule.heads[i]]
        )


def _phase(repetition: int, screened: int) -> Phase:
    return "screen" if repetition <= screened else "side-by-side"


def _counts(pairs: Iterable[SampledPair]) -> SideCounts:
    pairs = list(pairs)
    control, head = (sum(side, Samples(passed=0, judged=0)) for side in zip(*pairs, strict=True))
    return SideCounts(
        control_passed=control.passed,
        control_judged=control.judged,
        head_passed=head.passed,
        head_judged=head.judged,
    )
