"""Tables of the documentation that are made of the code. ``python tools/docs_tables.py`` writes them anew.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click
import yaml

import modules_of_tests
from agent_events import of_events
from agent_tables import of_agreement, of_faults
from documentation import TABLE, documents
from format_agents import of_formats, of_skill_folders
from github_events import of_github_events
from github_faults import of_github_faults
from key_tables import of_keys
from limit_tables import LIMITS
from paths import REPOSITORY
from positions import of_attempts, of_containers, of_positions
from result_tables import RESULT_TABLES
from skillgym_action.agents import AGENTS
from skillgym_action.agents.families import FAMILIES
from skillgym_action.cli.arguments import cli
from skillgym_action.model.exit_codes import EXIT_CODES
from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.settings.configuration import ConfigFile
from ways_of_writing import of_ways

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from limit_tables import Row


def of_action(section: str) -> Iterator[tuple[str, str]]:
    """Inputs or outputs of action.yml."""
    yield "Input" if section == "inputs" else "Output", "Meaning"
    for name, entry in yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))[section].items():
        yield f"`{name}`", entry["description"]


def _commands(group: click.Group, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    """The commands that ``--help`` shows; those of a group in place of it: ``quarantine suggest``."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _commands(command, f"{prefix}{name} ")
        elif not command.hidden:
            yield prefix + name, command


COMMANDS = dict(_commands(cli))


def of_options() -> Iterator[tuple[str, str, str, str]]:
    """Every option of every command."""
    takers: dict[str, list[str]] = {}
    options: dict[str, click.Option] = {}
    for command, found in COMMANDS.items():
        if command == "bench":
            continue  # the reference says that it has the options of `run`
        for option in found.get_params(click.Context(found)):
            if isinstance(option, click.Option) and option.opts[0] != "--help":
                means = f"{option.opts[0]} {option.envvar}: {option.help}"  # two commands may have options of one name
                options.setdefault(means, option)
                takers.setdefault(means, []).append(command)
    yield "Option", "Environment", "Commands", "Meaning"
    for name, option in options.items():
        written = option.opts[0] + (f" {option.metavar}" if option.metavar else "")
        twin = f"`{option.envvar}`" if option.envvar else "—"
        short = "".join(f", `{letter}`" for letter in option.opts[1:])
        yield (
            f"`{written}`{short}",
            twin,
            ", ".join(takers[name]),
            (option.help or "") + (" Repeatable." if option.multiple else ""),
        )


def of_exit_codes() -> Iterator[tuple[str, str]]:
    """What the tool ends with."""
    yield "Exit code", "Meaning"
    for code, meaning in EXIT_CODES.items():
        yield f"{code:d}", meaning


def of_troubles() -> Iterator[tuple[str, ...]]:
    """Every class of trouble of a session."""
    yield "Class", "Label", "Status", "Origin", "Retries", "What to do"
    for name, kind in TROUBLES.items():
        again = "stops the runner" if kind.stops_runner else {0: "none", 1: "one", 2: "two"}[kind.retries]
        again += "; the second case stops the runner" if kind.stops_after > 1 else ""
        yield f"`{name}`", kind.label, f"`{kind.status}`", kind.origin, again, kind.remedy


def of_accounts() -> Iterator[tuple[str, str, str, str]]:
    """The families of variables of every agent."""
    yield "Agent", "Family", "Used if", "Passed on"
    for agent, families in FAMILIES.items():
        for one in families:
            marks = one.marks or (*one.secrets, *filter(None, [one.address]))
            used = f"`{one.switch}` is on" if one.switch else " or ".join(f"`{name}`" for name in marks)
            shown = (f"`{name}`{' (secret)' if name in one.secrets else ''}" for name in one.variables)
            yield f"`{agent}`", f"`{one.name}`", used, ", ".join(shown)


def of_configuration() -> Iterator[tuple[str, str]]:
    """What agents read in a repository."""
    yield "Agent", "Files and folders"
    for agent, listing in AGENTS.items():
        if listing.configuration:
            yield f"`{agent}`", ", ".join(f"`{name}`" for name in listing.configuration)


EXPECTATION = "cases[].expect[]"  # the path of an expectation in an x-bench suite
TABLES: dict[str, Callable[[], Iterator[Row]] | tuple[Row, ...]] = {
    "inputs": lambda: of_action("inputs"),
    "outputs": lambda: of_action("outputs"),
    "options": of_options,
    "exit-codes": of_exit_codes,
    "troubles": of_troubles,
    "agreement": of_agreement,
    "faults": of_faults,
    "events": of_events,
    "github-events": of_github_events,
    "github-faults": of_github_faults,
    "configuration": of_configuration,
    "accounts": of_accounts,
    "attempts": of_attempts,
    "positions": of_positions,
    "attempts-in-containers": of_containers,
    "ways-of-writing": of_ways,
    "formats": of_formats,
    "skill-folders": of_skill_folders,
    **LIMITS,
    **RESULT_TABLES,
    **{f"config-{name}": partial(of_keys, "config", name) for name in ConfigFile.model_fields if name != "schema_"},
    "quarantine": partial(of_keys, "quarantine", "quarantine[]", base="quarantine[]."),
    "x-bench": partial(of_keys, "x-bench", without=EXPECTATION),
    "x-bench-expectations": partial(of_keys, "x-bench", EXPECTATION, base=f"{EXPECTATION}."),
}
"""Name of a table -> its rows, or what makes them; the first is its head."""


def markdown(rows: Iterable[tuple[str, ...]]) -> str:
    """A table; the first row is its head."""
    head, *body = [" | ".join(cell.replace("|", r"\|") for cell in row) for row in rows]
    rule = "|".join("---" for _ in head.split(" | "))
    return "\n".join([f"| {head} |", f"|{rule}|", *(f"| {row} |" for row in body)]) + "\n"


def rows_of(name: str) -> Iterable[Row]:
    """The rows of a table; the first is its head."""
    table = TABLES[name]
    return table() if callable(table) else table


def renewed(text: str) -> str:
    """``text`` with its tables made anew."""
    return TABLE.sub(lambda found: f"{found[1]}{markdown(rows_of(found[2]))}{found[4]}", text)


if __name__ == "__main__":
    for document in documents():
        before = document.read_text(encoding="utf-8")
        if (after := renewed(before)) != before:
            document.write_text(after, encoding="utf-8")
            print(document.relative_to(REPOSITORY))
