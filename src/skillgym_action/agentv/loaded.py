"""What the tests of an AgentV suite become, and how much that may be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from skillgym_action.agentv.variables import MOST_CHARACTERS
from skillgym_action.limits import MAX_REPORTED_PROBLEMS
from skillgym_action.model.errors import Problem, SuiteError
from skillgym_action.model.suite import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.suite import Case

MOST_ASSERTIONS = 100_000
MOST_PARTS = 200_000
"""Of all tests together, what the suite says for each of them included."""
MOST_WARNINGS = 1_000
SHOWN = 10
TOO_MANY = Problem(message=f"more than {MAX_REPORTED_PROBLEMS:,} tests cannot be used; these are the first")


@dataclass(slots=True)
class Cases:
    """What the tests of a suite became."""

    cases: list[Case] = field(default_factory=list)
    invalid: list[Invalid] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    characters: int = 0
    assertions: int = 0
    parts: int = 0

    def refuse(self, case_id: str, problems: Iterable[Problem]) -> None:
        """A case that cannot be used, with everything that is wrong with it."""
        first, *others = problems
        also = "".join(f"; also {problem.key_path}: {problem.message}" for problem in others)
        self.invalid.append(Invalid(problem=replace(first, message=first.message + also), case_id=case_id))
        if len(self.invalid) > MAX_REPORTED_PROBLEMS:
            raise SuiteError.of(TOO_MANY, *(one.problem for one in self.invalid[:SHOWN]))

    def add(self, case: Case, parts: int) -> None:
        """A case that can be used, and of how many parts its input is.

        Raises SuiteError where what a suite says for all cases is too much for so many.
        """
        self.characters += len(case.prompt)
        self.assertions += len(case.assertions)
        self.parts += parts + len(case.tags) + len(case.metadata if isinstance(case.metadata, dict) else ())
        found = (
            (self.characters, MOST_CHARACTERS, "the prompts have more than {:,} characters"),
            (self.assertions, MOST_ASSERTIONS, "the tests have more than {:,} assertions"),
            (self.parts, MOST_PARTS, "the tests have more than {:,} tags, metadata and parts of their input"),
        )
        for count, most, message in found:
            if count > most:
                raise SuiteError(message.format(most), remedy="split the suite")
        self.cases.append(case)
