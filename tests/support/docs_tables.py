"""Tables of the documentation that are made of the code. ``python tests/support/docs_tables.py`` writes them anew.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end of table -->``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click
import yaml

from agent_events import of_events
from agent_tables import of_agreement, of_faults
from format_agents import of_formats, of_skill_folders
from github_events import of_github_events
from github_faults import of_github_faults
from paths import REPOSITORY
from positions import of_attempts, of_containers, of_positions
from skillgym_action.agents import AGENTS
from skillgym_action.cli.arguments import cli
from skillgym_action.model.exit_codes import EXIT_CODES
from skillgym_action.model.verdicts import TROUBLES
from ways_of_writing import of_ways

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

COMMANDS = (
    *("run", "list", "check", "rejudge", "report", "compare", "doctor", "explain", "promote", "view", "trend"),
    "quarantine suggest",
)
TABLE = re.compile(r"(<!-- table: ([a-z-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)

FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def of_action(section: str) -> Iterator[tuple[str, str]]:
    """Inputs or outputs of action.yml."""
    yield "Input" if section == "inputs" else "Output", "Meaning"
    for name, entry in yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))[section].items():
        yield f"`{name}`", entry["description"]


def _command(name: str) -> click.Command:
    """A command, or one of a group: ``quarantine suggest``."""
    first, _, second = name.partition(" ")
    found = cli.commands[first]
    return found.commands[second] if second and isinstance(found, click.Group) else found


def of_options() -> Iterator[tuple[str, str, str, str]]:
    """Every option of every command."""
    takers: dict[str, list[str]] = {}
    options: dict[str, click.Option] = {}
    for command in COMMANDS:
        found = _command(command)
        for option in found.get_params(click.Context(found)):
            if isinstance(option, click.Option) and option.opts[0] != "--help":
                means = f"{option.opts[0]}: {option.help}"  # two commands may have options of one name
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
        yield f"`{name}`", kind.label, f"`{kind.status}`", kind.origin, again, kind.remedy


def of_configuration() -> Iterator[tuple[str, str]]:
    """What agents read in a repository."""
    yield "Agent", "Files and folders"
    for agent, listing in AGENTS.items():
        if listing.configuration:
            yield f"`{agent}`", ", ".join(f"`{name}`" for name in listing.configuration)


TABLES = {
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
    "attempts": of_attempts,
    "positions": of_positions,
    "attempts-in-containers": of_containers,
    "ways-of-writing": of_ways,
    "formats": of_formats,
    "skill-folders": of_skill_folders,
}


def markdown(rows: Iterable[tuple[str, ...]]) -> str:
    """A table; the first row is its head."""
    head, *body = [" | ".join(cell.replace("|", r"\|") for cell in row) for row in rows]
    rule = "|".join("---" for _ in head.split(" | "))
    return "\n".join([f"| {head} |", f"|{rule}|", *(f"| {row} |" for row in body)]) + "\n"


def renewed(text: str) -> str:
    """``text`` with its tables made anew."""
    return TABLE.sub(lambda found: f"{found[1]}{markdown(TABLES[found[2]]())}{found[4]}", text)


def files_in(text: str) -> dict[str, str]:
    """The files that a document has its readers write."""
    return dict(FILE.findall(text))


def documents() -> list[Path]:
    """Every Markdown file that people read."""
    return [*sorted(REPOSITORY.glob("*.md")), *sorted((REPOSITORY / "docs").rglob("*.md"))]


if __name__ == "__main__":
    for document in documents():
        before = document.read_text(encoding="utf-8")
        if (after := renewed(before)) != before:
            document.write_text(after, encoding="utf-8")
            print(document.relative_to(REPOSITORY))
