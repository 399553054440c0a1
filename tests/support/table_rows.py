"""Tests of a whole table in one loop: every row is checked, and the message names each that does not hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = TypeVar("Row")


def each_row_holds(rows: Iterable[tuple[str, Row]], check: Callable[[Row], object]) -> None:
    """Call ``check`` with every row; ``rows`` are pairs of a name and a row.

    Raises AssertionError, after the last row, with name and message of each one whose check raised; and where there is
    no row at all.
    """
    names, wrong = [], []
    for name, row in rows:
        names.append(name)
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the other rows are checked anyway
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    assert names, "the table has no rows"
    if wrong:
        raise AssertionError(f"{len(wrong)} of {len(names)} rows do not hold:\n" + "\n".join(wrong))


def each_row(rows: Iterable[tuple[str, Row]]) -> Callable[[Callable[[Row], object]], Callable[[], None]]:
    """Makes a test of all rows of a function that asserts what holds for one of them."""
    table = tuple(rows)

    def made(check: Callable[[Row], object]) -> Callable[[], None]:
        def test() -> None:
            each_row_holds(table, check)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return made
