"""Tables of the keys of results.json, made of its JSON Schema and of the texts that describe its keys."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from key_tables import NO_DEFAULT, default_of, keys_of, type_of
from skillgym_action.cli.schemas.published import inherited_keys, text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from key_tables import Key

HEADINGS = {
    "Results": "results.json",
    "RunEntry": "Fields of the run",
    "RegressionEntry": "Fields of the comparison",
    "UpliftEntry": "Fields of an uplift",
    "TotalsEntry": "Fields of the totals",
    "RunnerEntry": "Fields of a runner",
    "SuiteEntry": "Fields of a suite",
    "ResultEntry": "Fields of a result",
    "OutcomeEntry": "Fields of an outcome",
    "AttemptEntry": "Fields of an attempt",
    "LocationEntry": "Fields of a location",
    "FailureClassEntry": "Fields of a failure class",
    "JudgeEntry": "Fields of the judge",
    "TokensEntry": "Fields of the tokens",
}
"""Definition of the schema with a table of its own -> the heading above the table, in docs/reference/results.md.

The keys of other definitions are in the table of the mapping that contains them.
"""
_PLAIN_DEFAULTS = ("`false`", "0", "``", NO_DEFAULT)


def of_results(definition: str) -> Iterator[tuple[str, str, str]]:
    """The table of a definition."""
    yield "Key", "Type", "Meaning"
    for row in rows_of(definition):
        meaning = text_of(row.key.definition, row.key.name)
        assert meaning, f"{row.key.definition}.{row.key.name}: no text"
        name = f"`{row.name}`"
        yield name if row.key.required else f"{name} (optional)", _type(row), meaning


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of a table. ``name``: path of the key below the mapping that the table is about.

    ``inner``: definition of the mappings that the key contains; ``first``: the row that describes it, if it is another.
    """

    key: Key
    name: str
    inner: str
    first: str


def rows_of(definition: str) -> Iterator[Row]:
    """The keys of a definition, each with the keys of mappings in it that have no table of their own.

    A definition that several keys of the table have is only described at the first of them.
    """
    keys = {key.path: key for key in keys_of("results")}
    base = next(key.path.removesuffix(key.name) for key in keys.values() if key.definition == definition)
    hidden: tuple[str, ...] = tuple(f"{base}{name}" for name in inherited_keys(definition))
    described: dict[str, str] = {}
    for key in keys.values():
        if not key.path.startswith(base) or _is_in(key.path, hidden):
            continue
        inner, first = _definition_in(key, keys), ""
        if inner in HEADINGS or inner in described:
            hidden = (*hidden, *(f"{key.path}{step}" for step in (".", "[].")))
            first = described.get(inner, "")
        elif inner:
            described[inner] = key.path.removeprefix(base)
        yield Row(key=key, name=key.path.removeprefix(base), inner=inner, first=first)


def _is_in(path: str, hidden: tuple[str, ...]) -> bool:
    return any(path == one or path.startswith(one if one.endswith(".") else (f"{one}.", f"{one}[")) for one in hidden)


def _definition_in(key: Key, keys: dict[str, Key]) -> str:
    """The definition of the mappings that a key contains; empty if its values are no mappings."""
    inside = re.compile(rf"{re.escape(key.path)}(?:\[\])?\.[^.]+")
    return next((one.definition for path, one in keys.items() if inside.fullmatch(path)), "")


def _type(row: Row) -> str:
    heading = HEADINGS.get(row.inner, "").lower()
    anchor = "#" + re.sub(r"[^\w -]", "", heading).replace(" ", "-") if heading else ""
    words, default = type_of(row.key, link=anchor, all_bounds=False), default_of(row.key)
    shown = "" if row.key.required or default in _PLAIN_DEFAULTS else f"; default {default}"
    return words + (f"; keys as in `{row.first}`" if row.first else "") + shown


RESULT_TABLES: dict[str, Callable[[], Iterator[tuple[str, ...]]]] = {
    f"results-{definition.removesuffix('Entry').lower()}": partial(of_results, definition) for definition in HEADINGS
}
"""Name of a table -> its rows; the first is its head."""
