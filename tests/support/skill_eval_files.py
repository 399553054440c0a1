"""Evals of skills in scratch folders, as the format sees them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from scratch import written
from skillgym_action.suites.skill_evals import suite as skill_evals
from skillgym_action.suites.skill_evals.judging import JudgedQuestions
from suite_sources import ScratchSuite

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite
    from skillgym_action.suites.skill_evals.assertion_texts import JudgedQuestion

SKILL = {"skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Works on PDF files.\n---\n"}
EVALS = "skills/pdf/evals/evals.json"


def read_evals(root: Path, value: Any, files: Mapping[str, str] = SKILL, path: str = EVALS) -> BenchmarkSuite:
    """The suite of a value, beside the skill ``pdf``."""
    written(root, {**files, path: value if isinstance(value, str) else json.dumps(value)})
    return skill_evals.suite(ScratchSuite(root, path))


def read_cases(root: Path, *cases: dict[str, Any], **top: Any) -> BenchmarkSuite:
    """A suite of those cases; each gets a prompt."""
    return read_evals(root, {"skill_name": "pdf", "evals": [{"prompt": "p"} | one for one in cases], **top})


def questions_of(case: BenchmarkCase) -> tuple[JudgedQuestion, ...]:
    """What the judge is asked."""
    return next((one.questions for one in case.assertions if isinstance(one, JudgedQuestions)), ())


def texts(case: BenchmarkCase) -> list[str]:
    """The texts of the questions, with ``label = `` before those that have one and ``?`` after advisory ones."""
    return [
        (f"{label} = " if (label := one.label or one.topic) else "") + one.text + (" ?" if one.advisory else "")
        for one in questions_of(case)
    ]


def decided(case: BenchmarkCase) -> list[str]:
    """The names of the assertions that need no judge."""
    return [one.name for one in case.assertions if not isinstance(one, JudgedQuestions)]


def problems(suite: BenchmarkSuite) -> list[str]:
    """The problems of its invalid cases, as users read them."""
    return [str(invalid.problem) for invalid in suite.invalid]


def warnings(suite: BenchmarkSuite) -> list[str]:
    """The warnings, as users read them."""
    return [str(problem) for problem in suite.warnings]
