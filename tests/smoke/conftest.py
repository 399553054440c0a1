"""Counts the whole runs of the tool in this layer, which `make test` includes: they have a budget."""

from __future__ import annotations

import pytest

from warm_start import RUNS

BUDGET = 180


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Count from here the runs of this test and of the fixtures that it sets up first."""
    RUNS.clear()


@pytest.fixture(autouse=True)
def budget_of_runs(request, tmp_path_factory):
    """Fail the test with which this layer exceeds ``BUDGET`` runs, in all processes of pytest together."""
    yield
    folder = tmp_path_factory.getbasetemp()
    counted = (folder.parent if hasattr(request.config, "workerinput") else folder) / "whole-runs"
    with counted.open("a") as file:
        file.write("".join(f"{request.node.name}: {run}\n" for run in RUNS))
    assert len(counted.read_text().splitlines()) <= BUDGET
