"""What ``list``, ``--dry-run`` and ``explain`` show: text of suites and agents, in a log that is read for commands."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skillgym_action.text.escaping import terminal_line, terminal_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.execution import Plan


def lines(plan: Plan) -> Iterator[str]:
    """A line for each execution, with its limits."""
    for execution in plan.executions:
        budget = f", ${execution.budget:.2f}" if execution.budget is not None else ""
        names = f"{execution.suite.path}  {execution.case.id}  [{execution.runner.id}]"
        yield terminal_line(f"{names}  {execution.timeout:g} s{budget}")


def as_json(plan: Plan) -> str:
    """A list of objects."""
    rows = [
        {
            "suite": one.suite.path,
            "format": one.suite.format,
            "case": one.case.id,
            "runner": one.runner.id,
            "tags": list(one.case.tags),
            "timeout": one.timeout,
            "budget": one.budget,
            "model": one.model,
        }
        for one in plan.executions
    ]
    # A runner obeys this wherever it stands in a line, and in JSON it can only stand in a name.
    return json.dumps(rows, indent=2).replace("##[", "##\\u005b")


def as_table(plan: Plan) -> str:
    """A table as wide as the terminal; what the columns break into lines is no command either."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for name in ("suite", "case", "runner", "model", "tags"):
        table.add_column(name, overflow="fold")
    for one in plan.executions:
        cells = (one.suite.path, one.case.id, one.runner.id, one.model or "", ", ".join(one.case.tags))
        table.add_row(*(Text(terminal_line(cell)) for cell in cells))
    console = Console(no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(table)
    return terminal_text(captured.get().rstrip("\n"))


def question_and_answer(question: str, answer: str) -> str:
    """As in a letter: the question on one line, the answer below it."""
    return "\n".join([f"> {terminal_line(question)}", *map(terminal_text, answer.splitlines()), ""])
