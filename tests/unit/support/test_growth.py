"""Growth with the square is distinguished from growth in proportion."""

from __future__ import annotations

import pytest

from growth import exponent, grows_in_proportion, processor_seconds


def in_proportion(size: int) -> int:
    return sum(1 for _ in range(50 * size))


def with_the_square(size: int) -> int:
    return sum(1 for _ in range(size) for _ in range(size))


@pytest.mark.parametrize(("call", "size", "expected"), [(in_proportion, 8_000, True), (with_the_square, 1_600, False)])
def test_growth_in_proportion_is_distinguished_from_growth_with_the_square(call, size, expected):
    assert grows_in_proportion(call, size) is expected
    assert (exponent(call, size // 8, size) < 1.5) is expected


def test_the_least_of_several_tries_counts():
    sizes = iter([40_000, 1, 40_000])
    assert processor_seconds(lambda: in_proportion(next(sizes))) < processor_seconds(lambda: in_proportion(40_000))
