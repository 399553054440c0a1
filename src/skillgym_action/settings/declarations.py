"""How a field of ``Settings`` is declared as an option of commands and as an input of the action."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Option:
    """The command-line option ``--field-name`` of a field of ``Settings``, and its environment variable.

    ``commands``: those that take it. Without a ``metavar`` it is a flag. ``--help`` shows options in field order.
    ``short``: a letter that stands for it, such as ``j`` for ``-j``. ``aliases``: other names, without the dashes.
    ``variable``: whether it has an environment variable.
    """

    commands: tuple[str, ...]
    metavar: str | None
    help: str
    repeatable: bool = False
    short: str | None = None
    aliases: tuple[str, ...] = ()
    variable: bool = True


@dataclass(frozen=True, slots=True)
class Input:
    """The input of the action that sets a field of ``Settings``; action.yml describes it."""

    name: str


# The commands that share options.
RUN = ("run",)
PLANNED = (*RUN, "list")
SELECT = ("run", "list", "check")
REPORT = ("report",)
SUGGEST = "quarantine suggest"
DECIDE = ("run", "rejudge", "report")
STORED = (*DECIDE, "list", "trend", SUGGEST)
GATE = (*DECIDE, "compare")
