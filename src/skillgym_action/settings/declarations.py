"""How a field of ``Settings`` is declared: once, with everything that other places derive from it."""

from __future__ import annotations

from enum import StrEnum

from skillgym_action.model.records import record


class HelpGroup(StrEnum):
    """The groups of options in ``--help``, in their order."""

    SELECTION = "What to run"
    AGENTS = "Agents and runners"
    NEW_CASE = "The new case"
    LIMITS = "Limits of time, steps and cost"
    REPETITIONS = "Repetitions and statistics"
    MACHINES = "Parallel sessions, machines and containers"
    SHARDS = "Shards"
    VERDICT = "Verdict and comparison"
    REPORTS = "Reports and stored results"
    GENERAL = "General"


@record(kw_only=False)
class Setting:
    """What each field of ``Settings`` declares.

    ``commands``: those that take its option; ``group``: where ``--help`` shows it. () and None: it has no option.
    ``uses``: who needs it. ``WORKERS`` get it; it is part of the digest for ``REUSE``; the journal has it, since it
    should stay the same with ``RESUME``. ``SESSIONS``: all three. (): neither a session nor a result depends on it.
    ``stage``: the slice of ``Options`` with a field of this name that gets the value; ``REUSE`` and ``RESUME`` need it.
    ``key``: the section of the configuration whose key of the same name sets it where nothing else does.
    ``example``: of its value in the configuration. ``default``: of the key, in words, if the slice has none.
    ``input``: whether an input of the action sets it; a text is the name of the input if it is not the field's.
    """

    commands: tuple[str, ...]
    group: HelpGroup | None
    uses: tuple[str, ...]
    stage: str | None = None
    key: str | None = None
    example: object = None
    default: str = ""
    input: str | bool = False


@record(kw_only=False)
class Option:
    """The command-line option ``--field-name`` of a field of ``Settings``, and its environment variable.

    Without a ``metavar`` it is a flag; shells complete FILE and DIR.
    ``short``: a letter that stands for it, such as ``j`` for ``-j``. ``aliases``: other names, without the dashes.
    ``variable``: whether it has an environment variable.
    """

    help: str
    metavar: str | None = None
    repeatable: bool = False
    short: str | None = None
    aliases: tuple[str, ...] = ()
    variable: bool = True


WORKERS, REUSE, RESUME = "workers", "reuse", "resume"
SESSIONS = (WORKERS, REUSE, RESUME)
PLAN = (WORKERS,)  # what the plan is made of; digests of executions have what of it results depend on
RESULTS = (REUSE, RESUME)  # how the results of sessions make the result of an execution, which no worker does

# The commands that share options.
RUN = ("run",)
PLANNED = (*RUN, "list")
SELECT = ("run", "list", "check")
REPORT = ("report",)
TREND = ("trend",)
SUGGEST = "quarantine suggest"
DECIDE = ("run", "rejudge", "report")
STORED = (*DECIDE, "list", "trend", SUGGEST)
GATE = (*DECIDE, "compare")
CONFIGURED = (*SELECT, *REPORT, *TREND, SUGGEST, "compare", "doctor", "explain", "promote", "view")
