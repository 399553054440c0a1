"""The decision of a run with ``repeat: auto``: vectors of the specification, and simulated runs."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from bench.adaptive import Design, simulated
from bench.simulate import Cell, chances

from skillgym_action.model.comparison import Samples
from skillgym_action.results.statistics.adaptive import PairSessions, decide

VECTORS = (Path(__file__).parents[3] / "data" / "adaptive-vectors.txt").read_text(encoding="utf-8").splitlines()
MODES = {"auto": "screen", "side": "side-by-side", "stored": "stored"}
OUTCOMES = {"1": True, "0": False, "e": None}
LOOKS = {"s": "screen", "c": "cases", "cf": "cases", "w": "suite", "t": "stored", "tc": "cases"}


def outcomes(text, name):
    """The sessions of each pair that a vector names: ``C 11 - 1e``."""
    found = re.search(rf" {name} ((?:[01e]+|-)(?: (?:[01e]+|-))*)", text)
    return [[OUTCOMES[one] for one in pair if one != "-"] for pair in found.group(1).split()] if found else []


def held(steps, pairs, sessions):
    """The decision, with the sessions of a vector added as they are needed; and how many were held."""
    screen, control, head = sessions
    counts, decision, answer = [0, 0, 0], None, None
    while decision is None:
        try:
            need = steps.send(answer)
        except StopIteration as end:
            decision = end.value
            break
        for index in need.pairs:
            pair = pairs[index]
            sides = ((pair.control, control), (pair.head, head)) if need.beside else ((pair.screen, screen),)
            for own, known in sides:
                own[:] = known[index][: max(need.rounds, len(own))]
                assert len(own) >= need.rounds, f"pair {index} needs more sessions than the vector has: {need}"
        answer = "held"
    for pair in pairs:
        for number, own in enumerate((pair.screen, pair.control, pair.head)):
            counts[number] += len(own)
    return decision, counts


@pytest.mark.parametrize("vector", VECTORS, ids=[line.split(".")[0] for line in VECTORS])
def test_vector(vector):
    given, looks, found = re.sub(r"^\d+\. ", "", vector).split(" → ")
    mode, *rest = given.split()
    stored = [Samples(passed=int(a), judged=int(b)) for a, b in (one.split("/") for one in rest if "/" in one)]
    sessions = [outcomes(given, name) for name in "SCH"]
    number = max(map(len, sessions))
    pairs = [PairSessions(stored=stored[index]) if stored else PairSessions() for index in range(number)]

    decision, counts = held(decide(MODES[mode], pairs), pairs, sessions)

    wanted = [(LOOKS[kind], int(k), p) for kind, k, p in re.findall(r"([a-z]+)(\d) (\d\.\d+)", looks)]
    assert [(look.phase, look.round, f"{look.p:.6f}") for look in decision.looks] == wanted
    check, names, numbers = re.fullmatch(r"([a-z-]+)(?: \[(.*)\])?, ([\d+]+)", found).groups()
    assert (decision.check, "+".join(map(str, counts))) == (check, numbers)
    if names:
        assert sorted(decision.named) == [int(name) for name in names.split(",")]


@pytest.mark.parametrize(
    ("design", "most_red", "least_red", "most_sessions"),
    [
        pytest.param(Design(), 0.02, 0.0, 2.6, id="nothing changed"),
        pytest.param(Design(day=0.1), 0.02, 0.0, 3.6, id="a bad day"),
        pytest.param(Design(mode="side-by-side", day=0.1), 0.02, 0.0, 4.6, id="a bad day, without a store"),
        pytest.param(Design(mode="stored"), 0.02, 0.0, 2.2, id="the store alone"),
        pytest.param(Design(change="a quarter broken"), 1.0, 0.95, 5.0, id="a broken quarter"),
        pytest.param(Design(change="one case 1 to 0"), 1.0, 0.95, 3.0, id="one broken case"),
    ],
)
def test_simulated_runs(design, most_red, least_red, most_sessions):
    random = Random(5)
    cell = Cell(0.8, 0.3, 20, 1)
    found = [simulated(random, chances(random, cell), design) for _ in range(150)]
    red = sum(one.red for one in found) / len(found)
    assert least_red <= red <= most_red
    assert sum(one.sessions for one in found) / len(found) <= most_sessions


@pytest.mark.parametrize("mode", ["screen", "side-by-side", "stored"])
def test_the_order_of_cases_does_not_matter(mode):
    random = Random(3)
    for _ in range(30):
        count = random.randint(1, 6)
        sessions = [[[random.random() < 0.6 for _ in range(30)] for _ in range(count)] for _ in "sch"]
        stored = [Samples(passed=random.randint(6, 10), judged=10) for _ in range(count)]
        order = random.sample(range(count), count)
        first, again = (
            held(decide(mode, pairs), pairs, [[of[i] for i in indexes] for of in sessions])[0]
            for indexes in (range(count), order)
            for pairs in [[PairSessions(stored=stored[i]) for i in indexes]]
        )
        assert again.check == first.check
        assert {order[i] for i in again.named} == set(first.named)


def test_what_cannot_be_finished_side_by_side_is_undecided():
    pairs = [PairSessions()]
    steps = decide("side-by-side", pairs)
    assert next(steps).red_at == 2
    with pytest.raises(StopIteration) as end:
        steps.send("unfinished")
    assert end.value.value.check == "undecided"
