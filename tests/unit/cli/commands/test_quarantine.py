"""Entries that are proposed for the quarantine file."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile import FRAGMENTS
from skillgym_action.cli.commands.quarantine import (
    SuggestOptions,
    _patterns,
    as_yaml,
    check_entries,
    entry_of,
    reason_of,
)
from skillgym_action.history.flaky_cases import ExecutionHistory
from skillgym_action.history.stored_lines import ExecutionName
from skillgym_action.model.comparison import Samples
from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.pipeline.stages.quarantine import quarantine_of
from skillgym_action.results.statistics.exact_tests import Flakiness
from skillgym_action.settings.configuration_file import entries_of
from skillgym_action.text.documents.documents import read_document

TODAY = date(2026, 11, 23)


def history(suite: str = "bench/core.json", case: str = "a", runner: str = "sh") -> ExecutionHistory:
    return ExecutionHistory(
        name=ExecutionName(suite, case, runner),
        samples=Samples(passed=17, judged=20),
        runs=7,
        first="2026-11-01",
        last="2026-11-20",
        verdict=Flakiness.FLAKY,
    )


def file_of(text: str):
    return entries_of(read_document(text, path="skillgym.quarantine.yaml", kind="yaml", error=ConfigError))


def test_an_entry_says_in_numbers_why():
    assert reason_of(history()) == "failed 3 of 20 sessions in 7 runs between 2026-11-01 and 2026-11-20"
    entry = entry_of(history(), SuggestOptions(owner="@ada", issue="https://github.com/o/r/issues/7", days=14), TODAY)
    assert entry == {
        "suite": "bench/core.json",
        "case": "a",
        "runner": "sh",
        "reason": "failed 3 of 20 sessions in 7 runs between 2026-11-01 and 2026-11-20",
        "owner": "@ada",
        "issue": "https://github.com/o/r/issues/7",
        "expires": date(2026, 12, 7),
    }


def test_an_entry_without_an_owner_is_refused_until_there_is_one():
    text = as_yaml([entry_of(history(), SuggestOptions(), TODAY)])
    found = file_of(text)
    assert found.entries == ()
    assert ["owner" in str(problem) for problem in found.problems] == [True]
    assert text.startswith("# owner: write who repairs it; an entry without an owner has no effect\n")
    assert len(file_of(text.replace("owner: null", "owner: ada")).entries) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (SuggestOptions(owner=""), "--owner: "),
        (SuggestOptions(owner="a" * 501), "--owner: "),
        (SuggestOptions(issue="javascript:alert(1)"), "--issue: must be an address that begins with https://"),
    ],
)
def test_what_the_file_would_refuse_is_an_error_of_the_option(options, message):
    with pytest.raises(UsageError) as caught:
        check_entries(options, TODAY)
    assert message in str(caught.value)


NAMES = st.text(max_size=30) | st.sampled_from(
    [*FRAGMENTS, "a*b?[c]", "./a", "a/./b", "null", "012", "0o17", "- x", "**"]
)


@settings(max_examples=300, deadline=None)
@given(NAMES, NAMES, NAMES)
def test_an_entry_stands_for_one_execution_whatever_its_names_are(suite, case, runner):
    found = history(suite, case, runner)
    if _patterns(found.name) is None:
        return
    text = as_yaml([entry_of(found, SuggestOptions(owner="ada"), TODAY)])
    assert text.isascii()
    assert "##[" not in text
    assert len(text.splitlines()) == 7, "each value is on one line"
    file = file_of(text)
    assert (len(file.entries), file.problems) == (1, ())
    assert quarantine_of((suite, case, runner), file, today=TODAY)
    for other in ("a", "axb", f"{case}x", f"x{case}", case[:-1], case.swapcase()):
        assert (quarantine_of((suite, other, runner), file, today=TODAY) is not None) == (other == case)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("a*b?[c]", "a[*]b[?][[]c]"),
        ("**", "[*][*]"),
        ("./a", "[.]/a"),
        ("a//b", None),
        ("a/", None),
        ("a\ud800", None),
        ("", None),
        ("a" * 1_001, None),
    ],
)
def test_patterns_stand_for_names_alone(name, pattern):
    found = _patterns(ExecutionName("s", name, "r"))
    assert (found and found[1]) == pattern
