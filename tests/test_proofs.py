"""The table of what was tried and held."""

from __future__ import annotations

from proofs import table


def test_figures_of_one_kind_are_added_up_and_stand_by_area() -> None:
    rows = [("text", "inputs that became no command", 1000), ("agents", "attempts, refused", 3)]
    assert table([*rows, ("agents", "attempts, refused", 4)]) == [
        "agents              7  attempts, refused",
        "text            1,000  inputs that became no command",
    ]
