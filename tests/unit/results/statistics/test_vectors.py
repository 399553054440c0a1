"""Reference values of all statistics, to six digits: computed with scipy, or by going through all outcomes.

``tests/data/statistics.json``: a case is [passed, judged]; a pair is such a base and head, ``times`` equal ones.
"""

from __future__ import annotations

import json

import pytest

from paths import DATA
from skillgym_action.model.comparison import Coverage, Samples
from skillgym_action.results.statistics.comparison import has_dropped, named, rate_change, verdict_on
from skillgym_action.results.statistics.exact_tests import SampledPair, adjusted_p
from skillgym_action.results.statistics.rates import pass_at_k, pass_hat_k, population_rate, same_cases_rate

VECTORS = json.loads((DATA / "statistics.json").read_text(encoding="utf-8"))
RATES = {"population": population_rate, "same_cases": same_cases_rate}


def six_digits(value):
    return pytest.approx(value, abs=5.1e-7)


def samples(case):
    return Samples(passed=case[0], judged=case[1])


def test_all_thirty_are_there():
    assert [len(VECTORS[kind]) for kind in ("rates", "ofK", "comparisons")] == [11, 4, 15]


@pytest.mark.parametrize("vector", VECTORS["rates"])
def test_a_rate_and_its_interval(vector):
    found = RATES[vector["kind"]]([samples(case) for case in vector["cases"]])
    assert found.rate == six_digits(vector["rate"])
    assert found.n == six_digits(vector["n"])
    assert found.interval == six_digits(tuple(vector["interval"]))


@pytest.mark.parametrize("vector", VECTORS["ofK"])
def test_of_k_samples(vector):
    numbers = vector["passed"], vector["judged"], vector["k"]
    assert pass_at_k(*numbers) == six_digits(vector["passAtK"])
    assert pass_hat_k(*numbers) == six_digits(vector["passHatK"])


@pytest.mark.parametrize("vector", VECTORS["comparisons"])
def test_a_comparison(vector):
    groups = vector["pairs"]
    pairs = [SampledPair(samples(one["base"]), samples(one["head"])) for one in groups for _ in range(one["times"])]
    planned = sum(pair.head.judged for pair in pairs)
    judged, planned = vector.get("coverage", (planned, planned))
    coverage = Coverage(judged=judged, planned=planned, compared=len(pairs), base_pairs=len(pairs))
    assert verdict_on(pairs, coverage)[0] == vector["verdict"]
    if not pairs:
        return
    change = rate_change(pairs)
    assert change.p == six_digits(vector["suiteP"])
    assert change.drop == six_digits(vector["drop"])
    assert change.drop_at_most == six_digits(vector["dropAtMost"])
    expected = [p for one, p in zip(groups, vector["adjustedP"], strict=True) for _ in range(one["times"])]
    assert adjusted_p(pairs) == six_digits(expected)
    assert sorted(named(pairs) if has_dropped(pairs) else ()) == vector["named"]
