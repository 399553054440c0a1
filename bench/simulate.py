"""Simulates runs and compares them with the product's own functions: ``make simulate``.

    python -m bench.simulate [RUNS] [--jobs N]

RUNS: simulated comparisons per cell, 200 by default. A case's chance to pass is drawn from a beta distribution with the
given mean and intraclass correlation (ICC): with ICC 0 all cases are alike, with 1 each always passes or always fails.
Ends with exit code 1 if a promise is broken beyond what so many simulations can show by chance.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from math import exp, fsum, lgamma, log
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from bench.adaptive import CHANGES, Decided, Design, simulated

from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.comparison import has_dropped, named, rate_change
from skillgym_action.results.statistics.exact_tests import SampledPair
from skillgym_action.results.statistics.rates import population_rate, same_cases_rate
from skillgym_action.results.statistics.uplift import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MEANS = (0.5, 0.8, 0.95)
CORRELATIONS = (0.0, 0.3, 0.7, 1.0)
CASES = (5, 20, 50)
REPETITIONS = (1, 3, 5, 10)
MOST_RED = 0.02
LEAST_POWER = 0.8
DOUBT = 1e-4  # a promise is called broken if the simulated share would be as bad with at most this probability
BAD_DAYS = (0.0, 0.05, 0.1, 0.2)
LEAST_QUARTER, MOST_SESSIONS = 0.95, 2.6  # with ``repeat: auto``, 20 cases: seen, and sessions of a case if unchanged
DEFAULT_RUNS = 200
ASSERTIONS = 4  # of a case whose arms are compared
ROUNDING = 1e-9
SCREEN, ALONE = "screen, then side by side", "store alone"
MODES = {
    SCREEN: Design(),
    "from the start": Design(mode="side-by-side"),
    ALONE: Design(mode="stored"),
    "screen, store of one run of 5": Design(stored_runs=1),
}
SHIFTS = {
    "day and another shift of 10 points in every round": Design(day=0.1, of_round=0.1),
    "model 15 points worse since the store": Design(drift=-0.15),
    "model 10 points better since the store": Design(drift=0.1),
    "5 % of sessions errored": Design(errored=0.05),
    "20 % of sessions errored": Design(errored=0.2),
    "from the start, 20 % errored": Design(mode="side-by-side", errored=0.2),
}
RESAMPLES = 1_000  # of an uplift's interval: a tenth of the product's, which take too long here


class Cell(NamedTuple):
    """What is simulated: cases with this mean and correlation, and so many repetitions on each side."""

    mean: float
    icc: float
    cases: int
    repetitions: int


def chances(random: Random, cell: Cell) -> list[float]:
    """The cases' chances to pass."""
    if cell.icc == 0:
        return [cell.mean] * cell.cases
    if cell.icc == 1:
        return [float(random.random() < cell.mean) for _ in range(cell.cases)]
    size = (1 - cell.icc) / cell.icc
    return [random.betavariate(cell.mean * size, (1 - cell.mean) * size) for _ in range(cell.cases)]


def sessions(random: Random, chance: float, number: int) -> Samples:
    """So many sessions of a case."""
    return Samples(passed=sum(random.random() < chance for _ in range(number)), judged=number)


def run(random: Random, rates: Sequence[float], number: int) -> list[Samples]:
    """A run over all cases."""
    return [sessions(random, chance, number) for chance in rates]


def pairs(random: Random, before: Sequence[float], after: Sequence[float], cell: Cell) -> list[SampledPair]:
    """A baseline and a run."""
    base, head = (run(random, rates, cell.repetitions) for rates in (before, after))
    return [SampledPair(*both) for both in zip(base, head, strict=True)]


# --- what is counted ----------------------------------------------------------------------------------


def unchanged(random: Random, cell: Cell) -> bool:
    """Whether two runs of the same agent are called a regression."""
    rates = chances(random, cell)
    return has_dropped(pairs(random, rates, rates, cell))


def broken_quarter(random: Random, cell: Cell) -> bool:
    """Whether it is seen that a quarter of the cases never pass any more."""
    rates = chances(random, cell)
    return has_dropped(pairs(random, rates, [0.0] * (cell.cases // 4) + rates[cell.cases // 4 :], cell))


def lower(random: Random, cell: Cell, drop: float = 0.2) -> bool:
    """Whether it is seen that all rates are 20 points lower, or zero."""
    rates = chances(random, cell)
    return has_dropped(pairs(random, rates, [max(0.0, rate - drop) for rate in rates], cell))


def one_collapsed(random: Random, cell: Cell) -> bool:
    """Whether it is seen that one case which always passed never passes any more."""
    rates = [1.0, *chances(random, cell)[1:]]
    return has_dropped(pairs(random, rates, [0.0, *rates[1:]], cell))


def wrongly_named(random: Random, cell: Cell) -> bool:
    """Whether an unchanged case is named when a quarter is broken."""
    rates, quarter = chances(random, cell), cell.cases // 4
    found = pairs(random, rates, [0.0] * quarter + rates[quarter:], cell)
    return has_dropped(found) and any(index >= quarter for index in named(found))


def covers_population(random: Random, cell: Cell) -> bool:
    """Whether the interval for cases like these has their mean."""
    low, high = population_rate(run(random, chances(random, cell), cell.repetitions)).interval
    return low <= cell.mean <= high


def covers_same_cases(random: Random, cell: Cell) -> bool:
    """Whether the interval for the same cases has their mean chance."""
    rates = chances(random, cell)
    low, high = same_cases_rate(run(random, rates, cell.repetitions)).interval
    return low <= sum(rates) / len(rates) <= high


def bounds_drop(random: Random, cell: Cell) -> bool:
    """Whether the drop that is not excluded is at least the true one."""
    rates = chances(random, cell)
    after = [max(0.0, rate - 0.1) for rate in rates]
    drop = (sum(rates) - sum(after)) / len(rates)
    return rate_change(pairs(random, rates, after, cell)).drop_at_most >= drop


def bad_day(random: Random, cell: Cell, spread: float) -> bool:
    """Whether unchanged agents are called a regression if each run has a day of its own.

    All chances of a run are higher or lower by the same amount, normally distributed with this standard deviation.
    """
    rates = chances(random, cell)
    before, after = (
        [min(1.0, max(0.0, rate + shift)) for rate in rates]
        for shift in (random.gauss(0, spread), random.gauss(0, spread))
    )
    return has_dropped(pairs(random, before, after, cell))


def uplift_interval(random: Random, cell: Cell, other_mean: float) -> tuple[float, float]:
    """The interval of the uplift of an arm with the cell's mean over one with ``other_mean``, in shares."""
    of_arms = (chances(random, cell), chances(random, cell._replace(mean=other_mean)))
    number = ASSERTIONS * cell.repetitions
    shares = [[sum(random.random() < chance for _ in range(number)) / number for chance in arm] for arm in of_arms]
    found = interval([one - other for one, other in zip(*shares, strict=True)], RESAMPLES)
    if found is None:
        raise ValueError(f"{cell}: too few cases")
    return found


def covers_uplift(random: Random, cell: Cell, other_mean: float) -> bool:
    """Whether the interval of the uplift has the true one."""
    low, high = uplift_interval(random, cell, other_mean)
    return low - ROUNDING <= cell.mean - other_mean <= high + ROUNDING


def shows_difference(random: Random, cell: Cell, other_mean: float) -> bool:
    """Whether one arm is said to help or to hurt."""
    low, high = uplift_interval(random, cell, other_mean)
    return low > ROUNDING or high < -ROUNDING


# --- how often ----------------------------------------------------------------------------------------


def share(measured: Callable[[Random, Cell], bool], runs: int, cell: Cell) -> float:
    """How often something is so; always the same for the same cell."""
    random = Random(f"{cell}")
    return sum(measured(random, cell) for _ in range(runs)) / runs


def is_beyond_chance(found: float, promised: float, runs: int, *, above: bool) -> bool:
    """Whether so large a share (or so small a one, unless ``above``) has at most the probability ``DOUBT``."""
    count = round(found * runs)
    ways = range(count, runs + 1) if above else range(count + 1)
    return fsum(exp(_log_chance(way, runs, promised)) for way in ways) <= DOUBT


def _log_chance(count: int, runs: int, share: float) -> float:
    """The logarithm of a binomial probability."""
    ways = lgamma(runs + 1) - lgamma(count + 1) - lgamma(runs - count + 1)
    return ways + count * log(share) + (runs - count) * log(1 - share)


def adaptive(runs: int, cell: Cell, design: Design) -> Decided:
    """Shares of red and of undecided runs with ``repeat: auto``, and mean sessions of a case."""
    random = Random(f"{cell}")
    found = [simulated(random, chances(random, cell), design) for _ in range(runs)]
    return Decided(*(sum(column) / runs for column in zip(*found, strict=True)))


# --- the tables ---------------------------------------------------------------------------------------


class Simulation:
    """Runs cells in parallel and prints tables; ``broken`` collects the promises that do not hold."""

    def __init__(self, pool: ProcessPoolExecutor, runs: int) -> None:
        """``runs``: comparisons per cell."""
        self.pool, self.runs = pool, runs
        self.broken: list[str] = []

    def shares(self, measured: Callable[[Random, Cell], bool], cells: Sequence[Cell]) -> dict[Cell, float]:
        """How often something is so, by cell."""
        return dict(zip(cells, self.pool.map(partial(share, measured, self.runs), cells), strict=True))

    def unchanged(self) -> None:
        """A/A: the share called a regression, each cell at most 2%."""
        found = self.shares(unchanged, [Cell(*cell) for cell in product(MEANS, CORRELATIONS, CASES, REPETITIONS)])
        for cell, red in found.items():
            if is_beyond_chance(red, MOST_RED, self.runs, above=True):
                self.broken.append(f"{cell}: {red:.1%} of unchanged runs are called a regression")
        rows = []
        for cases in CASES:
            row = [f"{cases}"]
            for repetitions in REPETITIONS:
                own = [red for cell, red in found.items() if cell[2:] == (cases, repetitions)]
                row.append(f"{max(own):.1%} ({sum(own) / len(own):.1%})")
            rows.append(row)
        head = ["cases", *(f"R {number}" for number in REPETITIONS)]
        table("Nothing changed: called a regression, at most in a cell (mean over cells)", head, rows)

    def power(self) -> None:
        """How often true changes are seen, with 20 cases."""
        changes = {"a quarter broken": broken_quarter, "all 20 points lower": lower, "one case 1 to 0": one_collapsed}
        rows = []
        for mean, icc in ((0.8, 0.3), (0.8, 0.0), (0.5, 0.3), (0.95, 0.3)):
            for name, change in changes.items():
                cells = [Cell(mean, icc, 20, repetitions) for repetitions in (3, 5, 10)]
                found = self.shares(change, cells)
                rows.append([f"{mean}", f"{icc}", name, *(f"{value:.0%}" for value in found.values())])
                power = found[cells[1]]
                promised = (mean, name) == (0.8, "a quarter broken")
                if promised and is_beyond_chance(power, LEAST_POWER, self.runs, above=False):
                    self.broken.append(f"{cells[1]}: a broken quarter is seen in {power:.0%}")
        table("20 cases: true changes seen", ["mean", "ICC", "change", "R 3", "R 5", "R 10"], rows)
        cells = [Cell(0.8, 0.3, 20, repetitions) for repetitions in (3, 5, 10)]
        wrong = self.shares(wrongly_named, cells)
        row = ["an unchanged case is named beside a broken quarter", *(f"{value:.1%}" for value in wrong.values())]
        table("Names", ["", "R 3", "R 5", "R 10"], [row])

    def coverage(self) -> None:
        """How often intervals have the true value."""
        rows = []
        measures = {
            "cases like these": covers_population,
            "the same cases": covers_same_cases,
            "drop not excluded": bounds_drop,
        }
        for name, measured in measures.items():
            for cases in CASES:
                found = self.shares(
                    measured, [Cell(*c, cases, r) for c in product(MEANS, CORRELATIONS) for r in (1, 5)]
                )
                values = list(found.values())
                rows.append([name, f"{cases}", f"{min(values):.0%}", f"{sum(values) / len(values):.0%}"])
        table("Intervals: the true value is inside", ["interval", "cases", "least", "mean"], rows)

    def uplift(self) -> None:
        """How often the interval of an uplift has the true one, and how often a difference is shown."""
        rows = []
        for cases in (5, 10, 20, 50):
            cells = [Cell(mean, icc, cases, r) for mean, icc, r in product((0.5, 0.9), (0.3, 0.7), (1, 3))]
            row = [f"{cases}"]
            for measured, drop in ((covers_uplift, 0.0), (covers_uplift, 0.2), (shows_difference, 0.0)):
                found = [self.shares(partial(measured, other_mean=cell.mean - drop), [cell])[cell] for cell in cells]
                least = max(found) if measured is shows_difference else min(found)
                row.append(f"{least:.1%} ({sum(found) / len(found):.1%})")
            seen = self.shares(partial(shows_difference, other_mean=0.5), [Cell(0.9, 0.3, cases, 1)])
            rows.append([*row, f"{next(iter(seen.values())):.0%}"])
        head = ["cases", "true value inside, no uplift", "20 points", "shown without any", "40 points shown"]
        table("Uplift: worst cell (mean)", head, rows)

    def adaptive(self) -> None:
        """With ``repeat: auto``: what is red although nothing changed, what is seen, and with how many sessions."""
        self._adaptive_unchanged()
        rows, cell = [], Cell(0.8, 0.3, 20, 1)
        for name, design in MODES.items():
            row = [name]
            for change in CHANGES:
                found = self._of_cell(cell, replace(design, change=change))
                row.append(f"{found.sessions:.2f} / {found.red:.1%}")
                if name == SCREEN:
                    self._check_adaptive(change, found)
            rows.append(row)
        table("repeat: auto, 20 cases: sessions of a case / called a regression", ["", *CHANGES], rows)
        rows = []
        for title, shifted in SHIFTS.items():
            changes = (replace(shifted, change=change) for change in CHANGES[:3])
            found_of = [self._of_cell(cell, design) for design in changes]
            rows.append([title, *(f"{one.sessions:.1f} / {one.red:.1%} / {one.undecided:.1%}" for one in found_of)])
        table("The same with shifts: sessions / regression / undecided", ["", *CHANGES[:3]], rows)

    def _check_adaptive(self, change: str, found: Decided) -> None:
        if change == "a quarter broken" and is_beyond_chance(found.red, LEAST_QUARTER, self.runs, above=False):
            self.broken.append(f"repeat: auto: a broken quarter is seen in {found.red:.1%}")
        if change == "nothing" and found.sessions > MOST_SESSIONS:
            self.broken.append(f"repeat: auto: {found.sessions:.2f} sessions of each case though nothing changed")

    def _of_cell(self, cell: Cell, design: Design) -> Decided:
        return self.pool.submit(adaptive, self.runs, cell, design).result()

    def _adaptive_unchanged(self) -> None:
        rows = []
        for (name, design), spread in product(MODES.items(), BAD_DAYS):
            if name == ALONE and spread:
                continue  # is not promised
            row = [name, f"{100 * spread:.0f}"]
            for cases in CASES:
                cells = [Cell(mean, icc, cases, 1) for mean, icc in product(MEANS, CORRELATIONS)]
                of_day = replace(design, day=spread)
                reds = [one.red for one in self.pool.map(partial(adaptive, self.runs, design=of_day), cells)]
                for cell, red in zip(cells, reds, strict=True):
                    if is_beyond_chance(red, MOST_RED, self.runs, above=True):
                        self.broken.append(f"{name}, {cell}, day {spread}: {red:.1%} of unchanged runs are red")
                row.append(f"{max(reds):.1%} ({sum(reds) / len(reds):.1%})")
            rows.append(row)
        head = ["repeat: auto, nothing changed: red", "day", *(f"{cases} cases" for cases in CASES)]
        table("At most in a cell (mean over cells)", head, rows)

    def bad_days(self) -> None:
        """What sessions that are not independent do to the share of false regressions."""
        rows = []
        for cases, repetitions in ((20, 1), (20, 5), (50, 5)):
            cell = Cell(0.8, 0.3, cases, repetitions)
            red = (self.shares(partial(bad_day, spread=spread), [cell])[cell] for spread in BAD_DAYS)
            rows.append([f"{cases} x {repetitions}", *(f"{share:.1%}" for share in red)])
        head = ["cases x R", *(f"±{100 * spread:.0f} points" for spread in BAD_DAYS)]
        table("Nothing changed, but each run has a good or a bad day: called a regression", head, rows)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in Markdown."""
    lines = [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
    print(f"\n{title}\n", *lines, sep="\n", flush=True)


def main() -> int:
    """Print all tables; 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description="Simulates comparisons of runs.")
    parser.add_argument("runs", nargs="?", type=int, default=DEFAULT_RUNS, help="comparisons per cell")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    began = time.perf_counter()
    with ProcessPoolExecutor(options.jobs) as pool:
        simulation = Simulation(pool, options.runs)
        simulation.unchanged()
        simulation.power()
        simulation.coverage()
        simulation.uplift()
        simulation.adaptive()
        simulation.bad_days()
    seconds = time.perf_counter() - began
    print(f"\n{options.runs:,} comparisons in each cell, {seconds:.0f} s")
    for promise in simulation.broken:
        print(f"BROKEN {promise}")
    return 1 if simulation.broken else 0


if __name__ == "__main__":
    sys.exit(main())
