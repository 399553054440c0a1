"""Warnings about environment variables that are almost those of options."""

from __future__ import annotations

import re

import pytest

from paths import REPOSITORY
from skillgym_action.cli.help.usage_errors import misspelt_variables

OWN = re.compile(r"\bSKILLGYM_[A-Z_]*[A-Z]\b")


def warnings(*names: str) -> list[str]:
    return list(misspelt_variables(dict.fromkeys(names, "x"), "SKILLGYM_"))


@pytest.mark.parametrize(
    ("name", "meant"),
    [("JOB", "JOBS"), ("RUNNERS", "RUNNER"), ("TIMOUT", "TIMEOUT"), ("MAXCOST", "MAX_COST"), ("CONCURRENT", "JOBS")],
)
def test_a_name_that_is_almost_that_of_an_option(name, meant):
    expected = f"the environment variable SKILLGYM_{name} sets no option; did you mean 'SKILLGYM_{meant}'?"
    assert warnings(f"SKILLGYM_{name}") == [expected]


def test_names_of_options_names_of_others_and_names_without_the_prefix():
    assert warnings("SKILLGYM_JOBS", "SKILLGYM_RUNNER", "SKILLGYM_HOUSE", "SKILLGYM_", "JOB", "MY_SKILLGYM_JOB") == []


def test_variables_that_the_tool_itself_sets_or_reads():
    files = [*(REPOSITORY / "src/skillgym_action").rglob("*.py"), *(REPOSITORY / "composite").iterdir()]
    own = {name for file in files if file.is_file() for name in OWN.findall(file.read_text(encoding="utf-8"))}
    assert {"SKILLGYM_RUNNER_ID", "SKILLGYM_INPUTS", "SKILLGYM_AGENTS_CACHE"} <= own
    assert warnings(*own) == []


def test_no_more_than_20_warnings():
    assert len(warnings(*(f"SKILLGYM_TIMEOUT{number}" for number in range(50)))) == 20


def test_one_after_many_other_variables():
    others = (f"SKILLGYM_AAA{number}" for number in range(50))
    assert len(warnings(*others, "SKILLGYM_TIMOUT")) == 1
