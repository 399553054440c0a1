"""The tables of what was tried and held."""

from __future__ import annotations

from proofs import attacks, table


def test_figures_of_one_kind_are_added_up_and_stand_by_area() -> None:
    rows = [("text", "inputs that became no command", 1000), ("agents", "attempts, refused", 3)]
    assert table([*rows, ("agents", "attempts, refused", 4)]) == [
        "agents              7  attempts, refused",
        "text            1,000  inputs that became no command",
    ]


def test_attacks_are_counted_by_attempt_and_position() -> None:
    cells = [
        ("root", "agent", "read it", "refused"),
        ("root", "hook", "read it", "possible"),
        ("ordinary user", "agent", "read it", "possible"),
        ("root", "agent", "change it", "refused"),
    ]
    assert attacks(cells, ["agent", "template", "hook"]) == [
        "2 attempts, 2 positions; root, ordinary user",
        "a agent; b hook",
        "",
        "    a    b",
        "  1+1   +1  read it",
        "    1    –  change it",  # noqa: RUF001
        "",
        "2 cells refused, 2 possible by design (after a plus)",
    ]
