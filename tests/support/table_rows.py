"""Tests of a whole table in one loop: every row is checked, and the message names each row that is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = TypeVar("Row")


def each_row_holds(rows: Iterable[tuple[str, Row]], check: Callable[[Row], object]) -> None:
    """Call ``check`` with every row; ``rows`` are pairs of a name and a row.

    Raises AssertionError after the last row, with name and message of each row whose check raised, and for a table
    without rows.
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
    """Turn a function that checks one row into a test of all rows."""
    table = tuple(rows)

    def made(check: Callable[[Row], object]) -> Callable[[], None]:
        def test() -> None:
            each_row_holds(table, check)

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return made
