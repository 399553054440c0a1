"""Typical mistakes: each has the message that the documentation shows."""

from __future__ import annotations

import pytest

from mistakes import DOCUMENT, MISTAKES, Mistake, message, written_messages


def test_the_documentation_has_all_of_them_and_no_others():
    documented = written_messages(DOCUMENT.read_text(encoding="utf-8"))
    assert list(documented) == [mistake.name.lower() for mistake in MISTAKES], "run: python tests/support/mistakes.py"
    assert len(MISTAKES) >= 60


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_a_mistake_has_the_documented_message(mistake: Mistake, tmp_path):
    documented = written_messages(DOCUMENT.read_text(encoding="utf-8"))
    assert message(mistake, tmp_path.resolve()) == documented[mistake.name.lower()]
