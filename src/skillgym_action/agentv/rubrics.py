"""Rubrics: what a judge decides one by one."""

from __future__ import annotations

from dataclasses import dataclass

OPERATORS = {
    "correctness": "satisfied only if the answer says or does it; leaving it out does not satisfy it",
    "contradiction": "satisfied unless the answer contradicts it; the answer need not mention it",
}
BEST = 10
"""Points that a rubric with ranges can earn."""


@dataclass(frozen=True, slots=True)
class Range:
    """Points from ``least`` to ``most``, and what earns them."""

    least: int
    most: int
    outcome: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Rubric:
    """One thing to decide. ``needed``: the least share of the points that is enough; None: none is needed."""

    id: str
    outcome: str = ""
    weight: float = 1.0
    required: bool = True
    needed: float | None = None
    operator: str | None = None
    ranges: tuple[Range, ...] = ()

    def __str__(self) -> str:
        """The rubric as a judge reads it."""
        lines = [f"- [{self.id}] {self.outcome}".rstrip()]
        if self.operator:
            lines.append(f"  {self.operator}: {OPERATORS[self.operator]}")
        lines += [f"  {span.least}-{span.most} points: {span.outcome}" for span in self.ranges]
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """The rubric in the keys of a suite file."""
        ranges = [{"score_range": [span.least, span.most], "outcome": span.outcome} for span in self.ranges]
        given = {"operator": self.operator, "min_score": self.needed, "score_ranges": ranges or None}
        told = {"id": self.id, "outcome": self.outcome, "weight": self.weight, "required": self.required}
        return {**told, **{key: value for key, value in given.items() if value is not None}}
