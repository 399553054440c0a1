"""Typical mistakes: each has the message that the documentation shows."""

from __future__ import annotations

import pytest

from mistakes import DOCUMENT, MISTAKES, Mistake, message, written_messages


def test_the_documentation_has_all_of_them_and_no_others():
    documented = written_messages(DOCUMENT.read_text(encoding="utf-8"))
    assert list(documented) == [mistake.name.lower() for mistake in MISTAKES], "run: make docs"
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_has_the_documented_message(mistake: Mistake, tmp_path):
    documented = written_messages(DOCUMENT.read_text(encoding="utf-8"))
    assert message(mistake, tmp_path.resolve()) == documented[mistake.name.lower()]


@pytest.mark.parametrize("mistake", [one for one in MISTAKES if one.files], ids=lambda mistake: mistake.name)
def test_a_mistake_in_a_file_is_shown(mistake: Mistake):
    entry = DOCUMENT.read_text(encoding="utf-8").partition(f"\n### {mistake.name[0].upper()}{mistake.name[1:]}\n")[2]
    assert mistake.shown_files in entry.partition("\n### ")[0]
    assert mistake.shown_files.strip()
