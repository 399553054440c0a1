from __future__ import annotations

from random import Random

import pytest

from skillgym_action.results.statistics.exact_tests import Flakiness, flakiness


def verdict(text: str) -> Flakiness:
    """Of runs as ``ppf p f``: a word each, the oldest first."""
    return flakiness([[sign == "p" for sign in word] for word in text.split()])


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ("", Flakiness.STEADY),
        ("ppp ppp ppp", Flakiness.STEADY),
        ("f f f f f", Flakiness.STEADY),
        ("pfpf", Flakiness.FEW),
        ("pfpfp fpfpf", Flakiness.FEW),
        ("p f p", Flakiness.FEW),
        ("ppf pfp ppp", Flakiness.FLAKY),
        ("p f p f p", Flakiness.FLAKY),
        ("p p f p p f", Flakiness.FLAKY),
        ("ppppf ppppp pfppp", Flakiness.FLAKY),
        ("ppp ppp ppf", Flakiness.CHANGED),
        ("fff fff ppp ppp", Flakiness.CHANGED),
        ("ppp ppp fff fff", Flakiness.CHANGED),
        ("f f p p p p", Flakiness.CHANGED),
        ("p p p p p f", Flakiness.CHANGED),
        ("ppp fff ppp", Flakiness.CHANGED),
        ("p p p f p p p", Flakiness.CHANGED),
        ("ff fp p", Flakiness.CHANGED),
        ("fff fff pfp ppp ppp ppp", Flakiness.CHANGED),
        ("ppp pfp fff fff", Flakiness.CHANGED),
        ("ppppp ppppp pfppp fffff", Flakiness.CHANGED),
    ],
)
def test_what_sessions_of_runs_show(runs, expected):
    assert verdict(runs) is expected


def test_what_broke_or_was_repaired_at_one_time_is_never_flaky():
    for sessions in range(1, 6):
        for before in range(12):
            for after in range(12):
                runs = [[True] * sessions] * before + [[False] * sessions] * after
                assert flakiness(runs) is not Flakiness.FLAKY
                assert flakiness(runs[::-1]) is not Flakiness.FLAKY


def test_a_constant_rate_is_mostly_found_and_a_rate_that_fell_to_none_hardly_ever():
    random = Random(18)

    def share(rates: list[float], sessions: int) -> float:
        cells = [[[random.random() < rate for _ in range(sessions)] for rate in rates] for _ in range(2_000)]
        return sum(flakiness(runs) is Flakiness.FLAKY for runs in cells) / len(cells)

    assert share([0.7] * 8, 3) > 0.8
    assert share([0.9] * 5 + [0.0] * 5, 3) < 0.03
