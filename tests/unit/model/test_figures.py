"""Numbers that are compared look as different as they are."""

from __future__ import annotations

from itertools import pairwise

from skillgym_action.model.figures import dollars, percentages
from skillgym_action.model.result import format_scores
from table_rows import each_row

ROWS = [
    (percentages, 2 / 3, 0.6667, ("66.667%", "66.670%")),
    (percentages, 2 / 3, 0.667, ("66.67%", "66.70%")),
    (percentages, 2 / 3, 0.7, ("66.7%", "70.0%")),
    (percentages, 0.0, 0.9, ("0.0%", "90.0%")),
    (percentages, 0.9996, 1.0, ("99.96%", "100.00%")),
    (percentages, 0.99999, 1.0, ("99.999%", "100.000%")),
    (percentages, 0.5, 0.6667, ("50.00%", "66.67%")),
    (percentages, 2 / 3, 2 / 3, ("66.6667%", "66.6667%")),
    (dollars, 9.5, 0.1, ("$9.50", "$0.10")),
    (dollars, 0.104, 0.1, ("$0.104", "$0.100")),
    (dollars, 0.002, 0.001, ("$0.002", "$0.001")),
    (dollars, 0.001, 0.001, ("$0.001", "$0.001")),
    (dollars, 0.0, 1.0, ("$0.00", "$1.00")),
    (format_scores, 0.79999, 0.8, ("0.79999", "0.8")),
    (format_scores, 0.5, 0.8, ("0.5", "0.8")),
    (format_scores, 2 / 3, 0.8, ("0.6667", "0.8")),
    (format_scores, 0.80001, 0.8, ("0.8", "0.8")),
]


@each_row((f"{shown.__name__}({value}, {limit})", row) for row in ROWS for shown, value, limit, _ in [row])
def test_a_number_and_its_limit_are_shown_with_the_digits_that_tell_them_apart(row):
    shown, value, limit, texts = row
    assert shown(value, limit) == texts


def test_unequal_numbers_never_look_equal():
    limits = [number / 997 for number in range(1, 997, 83)]
    near = [limit + difference for limit in limits for difference in (-1e-3, -1e-6, -1e-9, -1e-12)]
    for value, limit in ((one, two) for one in sorted(near) for two in limits if one != two):
        for shown in (percentages, dollars):
            texts = [float(text.strip("$%")) for text in shown(value, limit)]
            assert (texts[0] < texts[1]) == (value < limit), (value, limit, texts)
    assert all(one < two for one, two in pairwise(limits))
