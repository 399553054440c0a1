"""Tables of results.json: what is in which table, and how keys, links and defaults are written."""

from __future__ import annotations

from key_tables import keys_of
from result_tables import HEADINGS, of_results


def table(definition: str) -> dict[str, tuple[str, str]]:
    """Key -> its type and its meaning."""
    head, *rows = of_results(definition)
    assert head == ("Key", "Type", "Meaning")
    return {name: (kind, meaning) for name, kind, meaning in rows}


def test_a_key_that_may_be_absent_is_optional():
    rows = table("OutcomeEntry")
    assert rows["`passed`"][0] == "`true`, `false` or null"
    assert rows["`vacuous` (optional)"][0] == "`true`, `false`"
    assert "`vacuous`" not in rows


def test_a_mapping_with_a_table_of_its_own_is_a_link_and_its_keys_are_not_in_the_table():
    rows = table("SuiteEntry")
    assert rows["`results`"][0] == "list of [mappings](#fields-of-a-result)"
    assert not [name for name in rows if name.startswith("`results[]")]
    assert "`status`" in table("ResultEntry")


def test_the_keys_of_other_mappings_are_in_the_table():
    rows = table("RunEntry")
    assert rows["`decision`"][0] == "mapping or null"
    assert "`decision.passed`" in rows


def test_mappings_with_equal_keys_are_described_once():
    rows = table("RunEntry")
    assert "`triggers[].recall.low`" in rows
    assert rows["`triggers[].precision`"][0] == "mapping or null; keys as in `triggers[].recall`"
    assert not [name for name in rows if name.startswith("`triggers[].precision.")]


def test_inherited_keys_are_in_the_table_of_the_class_that_has_them():
    assert "`passRate`" in table("TotalsEntry")
    assert "`passRate`" not in table("RunnerEntry")


def test_a_default_is_only_shown_if_it_is_not_nothing():
    kinds = [kind for definition in HEADINGS for kind, _ in table(definition).values()]
    assert [kind for kind in kinds if kind.endswith(("default `false`", "default 0", "default ``"))] == []
    assert table("JudgeEntry")["`votes` (optional)"][0] == "whole number; default 1"


def test_every_table_is_of_a_definition_of_the_schema():
    assert HEADINGS.keys() - {key.definition for key in keys_of("results")} == set()
