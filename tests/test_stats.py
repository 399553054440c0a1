from __future__ import annotations

import pytest

from skillgym_action.stats import pass_at_k, pass_hat_k, wilson


@pytest.mark.parametrize(
    ("passes", "n", "interval"),
    [
        pytest.param(0, 0, None, id="nothing judged"),
        pytest.param(3, 3, (0.4385, 1.0), id="three of three proves little"),
        pytest.param(0, 3, (0.0, 0.5615), id="none of three"),
        pytest.param(37, 40, (0.8014, 0.9742), id="37 of 40"),
        pytest.param(81, 263, (0.2553, 0.3662), id="the example of Newcombe 1998"),
    ],
)
def test_wilson(passes, n, interval):
    assert wilson(passes, n) == (interval if interval is None else pytest.approx(interval, abs=5e-5))


@pytest.mark.parametrize(
    ("passes", "n", "k", "at", "hat"),
    [
        pytest.param(2, 4, 1, 0.5, 0.5, id="one sample: the rate"),
        pytest.param(2, 4, 2, 5 / 6, 1 / 6, id="two of four"),
        pytest.param(4, 4, 3, 1.0, 1.0, id="always"),
        pytest.param(0, 4, 3, 0.0, 0.0, id="never"),
        pytest.param(1, 3, 3, 1.0, 0.0, id="all samples drawn"),
        pytest.param(1, 1, 2, None, None, id="too few samples"),
    ],
)
def test_pass_at_k_and_pass_hat_k(passes, n, k, at, hat):
    assert pass_at_k(passes, n, k) == (None if at is None else pytest.approx(at))
    assert pass_hat_k(passes, n, k) == (None if hat is None else pytest.approx(hat))
