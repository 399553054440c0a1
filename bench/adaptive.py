"""Simulated runs with ``repeat: auto``, decided by the product's own functions; see ``bench.simulate``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from skillgym_action.model.adaptive import RED
from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.adaptive import PairSessions, decide

if TYPE_CHECKING:
    from random import Random

    from skillgym_action.model.adaptive import Mode

Change = Literal["nothing", "a quarter broken", "all 20 points lower", "all 10 points lower", "one case 1 to 0"]
CHANGES: tuple[Change, ...] = (
    "nothing",
    "a quarter broken",
    "all 20 points lower",
    "all 10 points lower",
    "one case 1 to 0",
)


@dataclass(frozen=True, kw_only=True)
class Design:
    """What is simulated: the mode, runs in the store and sessions of each, what changed, and how much days differ.

    ``day``: standard deviation of a shift of all chances, one for each stored run and one for the pull request;
    ``of_round``: of another one for each round; ``drift``: how much better the model is than in the store.
    ``errored``: share of the sessions that cannot be judged.
    """

    mode: Mode = "screen"
    stored_runs: int = 4
    stored_sessions: int = 5
    change: Change = "nothing"
    day: float = 0.0
    of_round: float = 0.0
    drift: float = 0.0
    errored: float = 0.0


class Decided(NamedTuple):
    """What became of a run: whether it is red or undecided, and its sessions of each case."""

    red: bool
    undecided: bool
    sessions: float


def changed(rates: list[float], change: Change) -> tuple[list[float], list[float]]:
    """The chances of the base and of the head."""
    if change == "one case 1 to 0":
        return [1.0, *rates[1:]], [0.0, *rates[1:]]
    if change == "a quarter broken":
        return rates, [0.0] * (len(rates) // 4) + rates[len(rates) // 4 :]
    drop = {"nothing": 0.0, "all 20 points lower": 0.2, "all 10 points lower": 0.1}[change]
    return rates, [max(0.0, rate - drop) for rate in rates]


def simulated(random: Random, rates: list[float], design: Design) -> Decided:
    """One run of cases with these chances."""
    base, head = changed(rates, design.change)
    days = [random.gauss(0, design.day) for _ in range(design.stored_runs)]
    pairs = [
        PairSessions(stored=sum((_stored(random, rate + day, design) for day in days), Samples(passed=0, judged=0)))
        if design.mode != "side-by-side"
        else PairSessions()
        for rate in base
    ]
    today, of_rounds = random.gauss(0, design.day) + design.drift, dict[tuple[bool, int], float]()

    def session(rate: float, *, beside: bool, number: int) -> bool | None:
        if design.of_round and (beside, number) not in of_rounds:
            of_rounds[beside, number] = random.gauss(0, design.of_round)
        passed = random.random() < rate + today + of_rounds.get((beside, number), 0.0)
        return None if design.errored and random.random() < design.errored else passed

    steps = decide(design.mode, pairs)
    try:
        need = next(steps)
        while True:
            for i in need.pairs:
                pair = pairs[i]
                for own, rate in ((pair.control, base[i]), (pair.head, head[i])) if need.beside else ():
                    own += [session(rate, beside=True, number=k) for k in range(len(own), need.rounds)]
                while not need.beside and len(pair.screen) < need.rounds:
                    pair.screen.append(session(head[i], beside=False, number=len(pair.screen)))
            need = steps.send("held")
    except StopIteration as end:
        check = end.value.check
    held = sum(len(pair.screen) + len(pair.control) + len(pair.head) for pair in pairs)
    return Decided(check in RED, check == "undecided", held / len(pairs))


def _stored(random: Random, rate: float, design: Design) -> Samples:
    number = design.stored_sessions
    return Samples(passed=sum(random.random() < rate for _ in range(number)), judged=number)
