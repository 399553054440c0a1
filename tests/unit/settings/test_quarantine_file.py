"""The quarantine file: its entries, and a warning with a place for each mistake in it."""

from __future__ import annotations

import pytest

from skillgym_action.model.errors import ConfigError
from skillgym_action.settings.configuration_file import MAX_QUARANTINE_ENTRIES, WRITTEN_AS, entries_of
from skillgym_action.text.documents.documents import read_document

ENTRY = "  - {case: a, reason: slow service, owner: ada, expires: 2026-12-01"
ADDRESS = "must be an address that begins with https:// or http://"


def read(text: str):
    return entries_of(read_document(text, path="q.yaml", kind="yaml", error=ConfigError))


def mistakes(text: str) -> list[str]:
    return [str(problem) for problem in read(text).problems]


def test_an_entry_has_all_that_reports_show():
    whole = ENTRY + ", suite: 'bench/**', runner: 'claude*', issue: 'https://github.com/o/r/issues/7'}\n"
    (entry,) = read(f"# c\nquarantine:\n{whole}").entries
    assert (entry.suite, entry.case, entry.runner) == ("bench/**", "a", "claude*")
    assert (str(entry.location), entry.key_path) == ("q.yaml:3:5", "quarantine[0]")
    shown = entry.quarantine
    assert (shown.reason, shown.owner, shown.expires) == ("slow service", "ada", "2026-12-01")
    assert shown.issue == "https://github.com/o/r/issues/7"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        pytest.param(", ownr: x}", "q.yaml:2:70: quarantine[0].ownr: unknown key 'ownr'; did", id="key"),
        pytest.param(", issue: 'javascript:alert(1)'}", ADDRESS, id="u"),
        pytest.param(", issue: 'https://a/b c'}", ADDRESS, id="blank"),
        pytest.param(", issue: 'https://a/)](x'}", ADDRESS, id="md"),
        pytest.param(", suite: /}", "quarantine[0].suite: is not a pattern that can match anything", id="suite"),
        pytest.param(", runner: ''}", "quarantine[0].runner: must not be empty", id="runner"),
    ],
)  # fmt: skip
def test_an_entry_with_a_mistake_is_a_warning_and_not_used(more, message):
    text = f"quarantine:\n{ENTRY}{more}\n"
    found = read(text)
    assert found.entries == ()
    assert message in mistakes(text)[0]


@pytest.mark.parametrize("missing", ["case", "reason", "owner", "expires"])
def test_what_every_entry_needs(missing):
    keys = {"case": "a", "reason": "r", "owner": "o", "expires": "2026-12-01"}
    rest = ", ".join(f"{key}: {value}" for key, value in keys.items() if key != missing)
    assert mistakes(f"quarantine:\n  - {{{rest}}}\n") == [f"q.yaml:2:5: quarantine[0].{missing}: is missing"]


@pytest.mark.parametrize("expires", ["soon", "2026-13-01", "01.12.2026", "true"])
def test_a_date_that_is_none(expires):
    text = f"quarantine:\n  - {{case: a, reason: r, owner: o, expires: {expires}}}\n"
    assert "quarantine[0].expires: must be" in mistakes(text)[0]


def test_one_mistake_leaves_the_other_entries():
    found = read(f"quarantine:\n{ENTRY}}}\n  - nonsense\n{ENTRY}, x-note: mine}}\n")
    assert [entry.key_path for entry in found.entries] == ["quarantine[0]", "quarantine[2]"]
    assert [str(problem) for problem in found.problems] == [
        'q.yaml:3:5: quarantine[1]: must be a mapping of keys to values, not "nonsense"'
    ]


@pytest.mark.parametrize("text", ["", "[]", "quarantine: a", "quarantined: []", "x"])
def test_a_file_without_a_list_says_how_it_is_written(text):
    assert read(text).entries == ()
    assert mistakes(text)[0].endswith(WRITTEN_AS)


def test_an_unknown_key_beside_the_list():
    assert mistakes("quarantine: []\nowner: x\n") == [f"q.yaml:2:1: unknown key 'owner'; {WRITTEN_AS}"]


def test_too_many_entries_are_not_used():
    found = read("quarantine:\n" + f"{ENTRY}}}\n" * (MAX_QUARANTINE_ENTRIES + 1))
    assert (len(found.entries), len(found.problems)) == (0, 1)
