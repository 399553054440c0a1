"""Each reporter writes of the same run what it wrote before; the markdown reporters have goldens of their own."""

from __future__ import annotations

import pytest

from goldens import FILES
from paths import GOLDENS
from skillgym_action.reports import REPORTERS


@pytest.mark.parametrize("name", FILES)
def test_a_report_is_as_it_was(name):
    assert FILES[name]() == (GOLDENS / f"reports-{name}").read_text(encoding="utf-8")


def test_every_reporter_has_a_golden():
    own = {name.rpartition(".")[0] for name in FILES}
    assert own | {"summary", "comment"} == {*REPORTERS, "terminal"}
    assert [name for name in ("summary", "comment") if not (GOLDENS / f"{name}-everything.md").exists()] == []
