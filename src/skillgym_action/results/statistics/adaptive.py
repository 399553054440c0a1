"""When a run with ``repeat: auto`` has seen enough: a screen, the base commit beside the head, or the store alone.

Everything is decided from counts of complete rounds. A phase asks for sessions with a ``Need`` and looks at them once
they are held, so that the order in which sessions end, the number of jobs, and resuming cannot matter.

Levels of the looks that can be red sum to 1 % for single pairs and 1 % for all pairs together: with a control, at most
2 % of runs without any change are red, whatever shifts both sides of a round.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from skillgym_action.model.adaptive import RegressionLook
from skillgym_action.model.comparison import Samples
from skillgym_action.model.records import record
from skillgym_action.results.statistics.comparison import FALSE_DISCOVERIES, MIN_RELEVANT_DROP
from skillgym_action.results.statistics.exact_tests import SampledPair, adjusted_p, case_p, discoveries, suite_p
from skillgym_action.results.statistics.rates import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
    from typing import Literal

    from skillgym_action.model.adaptive import LookOutcome, LookPhase, Mode, RegressionCheck

    Outcome = bool | None
    """Of a repetition: whether it passed; None: it could not be judged."""

_EQUAL = 1 + 1e-9
_ROUNDING = 1e-12

SCREEN_ROUNDS, STORED_ROUNDS, CANDIDATE_ROUNDS = 4, 5, 4
MOST_SESSIONS: Mapping[str, int] = {"screen": 18, "side-by-side": 26, "stored": STORED_ROUNDS}  # of a pair
EXPECTED_SESSIONS: Mapping[str, float] = {"screen": 2.05, "side-by-side": 3.95, "stored": 1.8}  # if nothing changed
USUAL_SESSIONS: Mapping[str, float] = {"screen": 6.0, "side-by-side": 12.0, "stored": 5.0}  # in 19 of 20 such runs

_CLEARED_AT_ONCE, _SUSPECT, _EXPLAINED = 0.5, 0.1, 0.2  # suite test of the screen
_NOTICED, _SUSPECT_CASE = 0.02, 0.1  # case test of the screen
_CASE_LEVELS = {3: None, 5: 0.004, 7: 0.006}
_CASE_FUTILE = {3: 0.15, 5: 0.05}
_SUITE_LEVELS = {2: 0.002, 4: 0.003, 6: 0.005}
_SUITE_FUTILE = {2: 0.5, 4: 0.2}
_START_LEVELS = {1: None, **_SUITE_LEVELS}
_START_CLEARED = {1: 0.5, 2: 0.3, 4: 0.15}
_CANDIDATE = {1: 0.5, 2: 0.2, 3: 0.05}
_LEFT_CANDIDATE = 0.03
_STORED_LEVELS = {2: 0.003, 3: 0.003, 5: 0.004}
_STORED_CASE_LEVELS = {3: 0.004, 5: 0.006}
_STORED_FUTILE = {1: 0.5, 2: 0.2, 3: 0.1}


def _reaches(p: float, level: float) -> bool:
    return p <= level * _EQUAL


def _remains(p: float, *, first: bool) -> bool:
    """Whether a pair that failed once stays active; after the ``first`` round less is asked."""
    return _reaches(p, 0.25 if first else 0.1)


@record(frozen=False, kw_only=False)
class PairSessions:
    """A pair: its samples in the store, and what was held of it, by repetition."""

    stored: Samples = field(default_factory=lambda: Samples(passed=0, judged=0))
    screen: list[Outcome] = field(default_factory=list)
    control: list[Outcome] = field(default_factory=list)
    head: list[Outcome] = field(default_factory=list)


class Need(NamedTuple):
    """These pairs have to have so many rounds: of the screen, or of both sides (``beside``).

    ``red_at``: with how many rounds the phase can be red for the first time.
    """

    beside: bool
    pairs: tuple[int, ...]
    rounds: int
    red_at: int


class AdaptiveDecision(NamedTuple):
    """What was found. ``named``: pairs that are worse; ``suspects``: those that were in question alone.

    ``suite``: whether all pairs were in question. ``side``: the pairs of the last look side by side, with control and
    head; None: there was none.
    """

    check: RegressionCheck
    looks: tuple[RegressionLook, ...]
    named: frozenset[int] = frozenset()
    suspects: frozenset[int] = frozenset()
    suite: bool = False
    side: Mapping[int, SampledPair] | None = None


if TYPE_CHECKING:
    Answer = Literal["held", "unfinished"]
    Steps = Generator[Need, Answer, AdaptiveDecision]
    """What is needed next; the caller sends whether all of it was held, and gets the decision."""
    Part = Generator[Need, Answer, Literal["red", "closed", "unfinished"]]


def decide(mode: Mode, pairs: Sequence[PairSessions], *, first_clears: bool = True) -> Steps:
    """The decision on pairs, whose sessions the caller adds as they are needed.

    ``first_clears``: whether the screen may end after one round.
    """
    one = _Decision(pairs)
    if mode == "stored":
        return one.stored_alone()
    return one.screened(first_clears=first_clears) if mode == "screen" else one.from_start()


def _samples(outcomes: Iterable[Outcome]) -> Samples:
    judged = [outcome for outcome in outcomes if outcome is not None]
    return Samples(passed=sum(judged), judged=len(judged))


def _p(pair: SampledPair) -> float:
    """The case test; 1 for a pair of which a side has no judged session."""
    return case_p(pair) if pair.base.judged and pair.head.judged else 1.0


def _tested(pairs: Iterable[SampledPair]) -> list[SampledPair]:
    return [pair for pair in pairs if pair.base.judged and pair.head.judged]


def _suite_p(pairs: Iterable[SampledPair]) -> float:
    return suite_p(_tested(pairs))


def _drop(pairs: Iterable[SampledPair]) -> float:
    return mean([pair.drop for pair in tested]) if (tested := _tested(pairs)) else 0.0


def _is_relevant(pairs: Iterable[SampledPair]) -> bool:
    return _drop(pairs) >= MIN_RELEVANT_DROP - _ROUNDING


def _adjusted(pairs: Mapping[int, SampledPair]) -> dict[int, float]:
    """The adjusted p-values of the pairs that can be tested, by index."""
    tested = {index: pair for index, pair in pairs.items() if pair.base.judged and pair.head.judged}
    return dict(zip(tested, adjusted_p(list(tested.values())), strict=True))


def _least_adjusted(pairs: Mapping[int, SampledPair]) -> float:
    return min(_adjusted(pairs).values(), default=1.0)


@record(frozen=False, kw_only=False)
class _Decision:
    """The looks at the pairs so far, and what they have shown. ``doubt``: a phase ended that missing sessions open."""

    pairs: Sequence[PairSessions]
    looks: list[RegressionLook] = field(default_factory=list)
    suspects: frozenset[int] = frozenset()
    suite: bool = False
    named: frozenset[int] = frozenset()
    side: Mapping[int, SampledPair] | None = None
    doubt: bool = False

    def _look(self, phase: LookPhase, k: int, found: tuple[int, float, float | None, LookOutcome]) -> None:
        number, p, level, outcome = found
        self.looks.append(RegressionLook(phase=phase, round=k, pairs=number, p=p, level=level, outcome=outcome))

    def _decision(self, check: RegressionCheck) -> AdaptiveDecision:
        return AdaptiveDecision(check, tuple(self.looks), self.named, self.suspects, self.suite, self.side)

    def _screen(self, k: int) -> dict[int, SampledPair]:
        """The pairs, the store against the first ``k`` rounds of the screen."""
        return {i: SampledPair(pair.stored, _samples(pair.screen[:k])) for i, pair in enumerate(self.pairs)}

    def _beside(self, members: Iterable[int], rounds: slice) -> dict[int, SampledPair]:
        """Members, the control against the head."""
        both = {i: (self.pairs[i].control[rounds], self.pairs[i].head[rounds]) for i in sorted(members)}
        return {i: SampledPair(_samples(control), _samples(head)) for i, (control, head) in both.items()}

    def _could_be_red(
        self,
        members: Iterable[int],
        rounds: slice,
        level: float | None,
        p_of: Callable[[Mapping[int, SampledPair]], float],
    ) -> bool:
        """Whether it would be red if missing sessions of the control had passed, and those of the head failed."""
        if level is None:
            return False
        filled = {}
        for i in members:
            control, head = (side[rounds] for side in (self.pairs[i].control, self.pairs[i].head))
            passed = sum(outcome is not False for outcome in control)
            filled[i] = SampledPair(
                Samples(passed=passed, judged=len(control)), Samples(passed=sum(map(bool, head)), judged=len(head))
            )
        return _reaches(p_of(filled), level)

    # --- the screen, and what it leads to -----------------------------------------------------------------

    def screened(self, *, first_clears: bool) -> Steps:
        """The head against the store; what is suspicious, against the control."""
        yield from self._screening(first_clears=first_clears)
        if not self.suspects and not self.suite:
            return self._decision("cleared")
        factor = 1 if self.suspects and self.suite else 2
        ended: str = "closed"
        if self.suspects:
            ended = yield from self._cases(0, factor)
        if ended == "closed" and self.suite:
            ended = yield from self._suite(factor)
        return self._ended(ended, "confirmed", "not-confirmed")

    def _ended(self, ended: str, red: RegressionCheck, otherwise: RegressionCheck) -> AdaptiveDecision:
        if ended == "red":
            return self._decision(red)
        return self._decision("undecided" if self.doubt or ended == "unfinished" else otherwise)

    def _screening(self, *, first_clears: bool) -> Generator[Need, Answer, None]:
        active, cleared = frozenset(range(len(self.pairs))), False
        for k in range(1, SCREEN_ROUNDS + 1):
            yield Need(beside=False, pairs=tuple(sorted(active)), rounds=k, red_at=k)
            sampled = self._screen(k)
            u = {i: _p(sampled[i]) for i in active}
            if k > 1:
                self.suspects |= {i for i in active if _reaches(u[i], _NOTICED)}
            if not cleared and k <= 2:  # noqa: PLR2004 - the second look ends it
                cleared = self._suite_of_screen(k, sampled, u, first_clears=first_clears)
            if self.suite:
                return
            if k == SCREEN_ROUNDS:
                self.suspects |= {i for i in active if _none_passed(sampled[i]) and _reaches(u[i], _SUSPECT_CASE)}
            if cleared:
                active = frozenset(
                    i
                    for i in active - self.suspects
                    if sampled[i].head.passed < sampled[i].head.judged and _remains(u[i], first=k == 1)
                )
            if not active:
                return

    def _suite_of_screen(
        self, k: int, sampled: Mapping[int, SampledPair], u: Mapping[int, float], *, first_clears: bool
    ) -> bool:
        """Look at all pairs together; whether they are cleared. If not after the second round, they are suspect."""
        p, number = _suite_p(sampled.values()), len(sampled)
        if k == 1:
            cleared = first_clears and not _reaches(p, _CLEARED_AT_ONCE)
            self._look("screen", k, (number, p, None, "clear" if cleared else "go-on"))
            return cleared
        if _reaches(p, _SUSPECT) and _drop(sampled.values()) > 0:
            few = self.suspects | {
                i
                for i, pair in sampled.items()
                if _none_passed(pair) and pair.base.passed == pair.base.judged and _reaches(u[i], _SUSPECT_CASE)
            }
            others = [pair for i, pair in sampled.items() if i not in few]
            if few and (not others or not _reaches(_suite_p(others), _EXPLAINED)):
                self.suspects = frozenset(few)
            else:
                self.suite = True
        self._look("screen", k, (number, p, None, "suspect" if self.suite or self.suspects else "clear"))
        return not self.suite

    # --- side by side -------------------------------------------------------------------------------------

    def _cases(self, before: int, factor: int) -> Part:
        """The suspicious pairs alone, on rounds after the first ``before``."""
        members, levels = self.suspects, {k: level and level * factor for k, level in _CASE_LEVELS.items()}
        first_red = next(k for k, level in levels.items() if level)
        for k, level in levels.items():
            need = Need(beside=True, pairs=tuple(sorted(members)), rounds=before + k, red_at=before + first_red)
            if (yield need) == "unfinished":
                return "unfinished"
            rounds = slice(before, before + k)
            sampled = self._beside(members, rounds)
            self.side = sampled
            if level is not None:
                adjusted = _adjusted(sampled)
                self.named = frozenset(i for i, p in adjusted.items() if _reaches(p, level))
                outcome: LookOutcome = "red" if self.named else "not-confirmed" if k == max(levels) else "go-on"
                self._look("cases", k, (len(members), min(adjusted.values(), default=1.0), level, outcome))
                if self.named:
                    return "red"
            least = min(map(_p, sampled.values()))
            is_futile = k in _CASE_FUTILE and not _reaches(least, _CASE_FUTILE[k])
            if is_futile:
                self._look("cases", k, (len(members), least, None, "not-confirmed"))
            if is_futile or k == max(levels):
                self.doubt |= self._could_be_red(members, rounds, level or levels[first_red], _least_adjusted)
                return "closed"
        raise AssertionError("the last round ends the phase")

    def _suite(self, factor: int) -> Part:
        """All pairs together."""
        for k, level in _SUITE_LEVELS.items():
            if (yield self._need_all(k)) == "unfinished":
                return "unfinished"
            if ended := self._look_at_suite(k, level * factor, _SUITE_FUTILE.get(k)):
                return ended
        raise AssertionError("the last round ends the phase")

    def _need_all(self, k: int) -> Need:
        return Need(beside=True, pairs=tuple(range(len(self.pairs))), rounds=k, red_at=min(_SUITE_LEVELS))

    def _look_at_suite(
        self, k: int, level: float | None, futile: float | None, *, explained: bool | None = None
    ) -> Literal["red", "closed"] | None:
        """Look at all pairs after ``k`` rounds.

        ``explained``: from the start, whether few pairs may explain the drop, which closes, too; None: after a screen.
        """
        members, rounds = range(len(self.pairs)), slice(k)
        sampled = self._beside(members, rounds)
        self.side, of_pairs = sampled, list(sampled.values())
        p = _suite_p(of_pairs)
        is_red = level is not None and _reaches(p, level) and _is_relevant(of_pairs)
        is_closed = futile is None or not _reaches(p, futile)
        if explained and not is_closed and futile is not None:
            others = [pair for pair in of_pairs if not _reaches(_p(pair), _LEFT_CANDIDATE)]
            is_closed = len(others) < len(of_pairs) and (not others or not _reaches(_suite_p(others), futile))
        closed: LookOutcome = "not-confirmed" if explained is None else "clear"
        outcome: LookOutcome = "red" if is_red else closed if is_closed else "go-on"
        self._look("suite", k, (len(of_pairs), p, level, outcome))
        if is_red:
            self.named = self._named_of_suite(sampled)
            return "red"
        if is_closed:
            next_level = next((one for number, one in _SUITE_LEVELS.items() if number >= k), None)
            self.doubt |= self._could_be_red(
                members, rounds, level or next_level, lambda filled: _suite_p(filled.values())
            )
        return "closed" if is_closed else None

    def _named_of_suite(self, beside: Mapping[int, SampledPair]) -> frozenset[int]:
        """Pairs that fell side by side, and that all sessions together show."""
        whole = [
            _p(SampledPair(pair.stored + _samples(pair.control), _samples((*pair.screen, *pair.head))))
            for pair in self.pairs
        ]
        fallen = {i for i, pair in beside.items() if pair.base.judged and pair.head.judged and pair.drop > 0}
        return discoveries(whole, FALSE_DISCOVERIES) & fallen

    def from_start(self) -> Steps:
        """Without a screen: all pairs side by side, then those that look worse alone, on fresh rounds."""
        self.suite, closed = True, 0
        for k, level in _START_LEVELS.items():
            if (yield self._need_all(k)) == "unfinished":
                return self._decision("undecided")
            ended = self._look_at_suite(k, level, _START_CLEARED.get(k), explained=k == CANDIDATE_ROUNDS)
            if ended == "red":
                return self._decision("side-by-side")
            if ended:
                closed = k
                break
        candidates = self._candidates(range(len(self.pairs)), closed)
        while candidates and closed < CANDIDATE_ROUNDS:
            closed += 1
            need = Need(beside=True, pairs=tuple(sorted(candidates)), rounds=closed, red_at=CANDIDATE_ROUNDS)
            if (yield need) == "unfinished":
                return self._decision("undecided")
            candidates = self._candidates(candidates, closed)
        self.suspects = candidates
        if not candidates:
            return self._ended("closed", "confirmed", "cleared")
        of_cases = yield from self._cases(closed, 1)
        return self._ended(of_cases, "confirmed", "not-confirmed")

    def _candidates(self, members: Iterable[int], k: int) -> frozenset[int]:
        limit = _CANDIDATE.get(k, _LEFT_CANDIDATE)
        return frozenset(i for i, pair in self._beside(members, slice(k)).items() if _reaches(_p(pair), limit))

    # --- the store alone ----------------------------------------------------------------------------------

    def stored_alone(self) -> Steps:
        """The head against the store; days that differ are not seen."""
        active, whole = frozenset(range(len(self.pairs))), True
        for k in range(1, STORED_ROUNDS + 1):
            yield Need(beside=False, pairs=tuple(sorted(active)), rounds=k, red_at=k)
            sampled = self._screen(k)
            red = whole and self._stored_suite(k, sampled)
            red = red or self._stored_cases(k, sampled, active, whole=whole)
            if red:
                return self._decision("not-checked")
            if whole and k in _STORED_FUTILE:
                whole = _reaches(self.looks[-1 if self.looks[-1].phase == "stored" else -2].p, _STORED_FUTILE[k])
            if not whole:
                active = frozenset(i for i in active if self._may_be_red(sampled[i], k))
            if not active:
                break
        return self._decision("cleared")

    def _stored_suite(self, k: int, sampled: Mapping[int, SampledPair]) -> bool:
        p, level = _suite_p(sampled.values()), _STORED_LEVELS.get(k)
        is_red = level is not None and _reaches(p, level) and _is_relevant(sampled.values())
        self._look("stored", k, (len(sampled), p, level, "red" if is_red else "go-on"))
        if is_red:
            p_values = [_p(pair) for pair in sampled.values()]
            self.named = discoveries(p_values, FALSE_DISCOVERIES)
        return is_red

    def _stored_cases(self, k: int, sampled: Mapping[int, SampledPair], active: frozenset[int], *, whole: bool) -> bool:
        level = _STORED_CASE_LEVELS.get(k)
        if level is None:
            return False
        p_values = _adjusted(sampled) if whole else {i: min(1.0, len(sampled) * _p(sampled[i])) for i in active}
        self.named = frozenset(i for i, p in p_values.items() if _reaches(p, level))
        least = min(p_values.values(), default=1.0)
        self._look("cases", k, (len(p_values), least, level, "red" if self.named else "go-on"))
        return bool(self.named)

    def _may_be_red(self, pair: SampledPair, k: int) -> bool:
        """Whether the pair has failed, and would be red if all its further sessions failed."""
        if pair.head.passed == pair.head.judged or not _remains(_p(pair), first=k == 1):
            return False
        worst = Samples(passed=pair.head.passed, judged=pair.head.judged + STORED_ROUNDS - k)
        return _reaches(len(self.pairs) * _p(SampledPair(pair.base, worst)), _STORED_CASE_LEVELS[STORED_ROUNDS])


def _none_passed(pair: SampledPair) -> bool:
    return pair.head.judged > 0 and pair.head.passed == 0
