"""The layout and the groups of ``--help``: options, commands, whole sentences, examples. Needs no ``Settings``."""

from __future__ import annotations

import re
import textwrap
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

import click

from skillgym_action.model.exit_codes import EXIT_CODES
from skillgym_action.settings.declarations import HelpGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PROGRAM = "skillgym-action"
OTHER_OPTIONS = "Options"
OTHER_COMMANDS = "Commands"
MIN_GROUPED_OPTIONS = 8
"""Commands with fewer options show them as one list."""
_NO_BREAK_HYPHEN = "\u2011"
_Item = TypeVar("_Item")


class HelpText(click.HelpFormatter):
    """A formatter that does not break lines at hyphens, so that options and words of values stay whole."""

    def write_text(self, text: str) -> None:
        """Write a paragraph."""
        super().write_text(text.replace("-", _NO_BREAK_HYPHEN))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write a list of terms with their descriptions."""
        whole = [(term, text.replace("-", _NO_BREAK_HYPHEN)) for term, text in rows]
        super().write_dl(whole, col_max, col_spacing)

    def write(self, string: str) -> None:
        """Write a piece of the help as it is shown."""
        super().write(string.replace(_NO_BREAK_HYPHEN, "-"))


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command: in groups if there are many, in the order of ``HelpGroup``."""
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
    for title, grouped in _in_groups(options):
        records = [record for option in grouped if (record := option.get_help_record(ctx))]
        with formatter.section(title):
            formatter.write_dl(records)


def _in_groups(options: list[click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    if len(options) < MIN_GROUPED_OPTIONS:
        yield OTHER_OPTIONS, options
        return
    yield from _grouped({long_name(option): option for option in options}, option_groups(), OTHER_OPTIONS)


def _grouped(
    items: dict[str, _Item], groups: Mapping[str, tuple[str, ...]], other: str
) -> Iterator[tuple[str, list[_Item]]]:
    """The groups that are not empty, in their order; then what is in none of them."""
    for title, names in groups.items():
        if found := [items.pop(name) for name in names if name in items]:
            yield title, found
    if items:
        yield other, list(items.values())


def long_name(option: click.Option) -> str:
    """The option's name without dashes; of several names the first long one."""
    return next((name for name in option.opts if name.startswith("--")), option.opts[0]).lstrip("-")


def write_commands(commands: Iterable[tuple[str, click.Command]], formatter: click.HelpFormatter) -> None:
    """Write the commands, in groups, each with the first sentence of its help, which is never cut."""
    records = {name: (name, first_sentence(command.help or "")) for name, command in commands if not command.hidden}
    width = max(map(len, records))
    for title, rows in _grouped(records, COMMAND_GROUPS, OTHER_COMMANDS):
        with formatter.section(title):
            formatter.write_dl([(name.ljust(width), text) for name, text in rows])


def write_exit_codes(formatter: click.HelpFormatter) -> None:
    """Write what the exit codes mean."""
    with formatter.section("Exit codes"):
        formatter.write_dl([(f"{code:d}", meaning) for code, meaning in EXIT_CODES.items()])


def write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the examples of the command that ``ctx`` is of."""
    examples = EXAMPLES.get(ctx.command_path.partition(" ")[2], ())
    if not examples:
        return
    indent = " " * 2
    with formatter.section("Examples"):
        for meaning, arguments in examples:
            formatter.write(f"{indent}{meaning}:\n")
            formatter.write("".join(f"{line}\n" for line in _call(arguments, indent * 2, formatter.width)))


def _call(arguments: str, indent: str, width: int) -> list[str]:
    """The lines of a call; a long one is continued with a backslash, at a space between two options."""
    parts = re.split(r" (?=-)", f"{PROGRAM} {arguments}".rstrip())
    text = " ".join(part.replace(" ", "\0") for part in parts)
    lines = textwrap.wrap(
        text,
        width - len(" \\"),
        initial_indent=indent,
        subsequent_indent=indent * 2,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace("\0", " ") + (" \\" if number < len(lines) else "") for number, line in enumerate(lines, 1)]


def first_sentence(text: str) -> str:
    """The first sentence of a help text, on one line."""
    return re.split(r"(?<=\.)\s", " ".join(text.partition("\n\n")[0].split()), maxsplit=1)[0]


OWN_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        HelpGroup.SELECTION: ("suite", "suites", "nop", "oracle", "cost"),
        HelpGroup.AGENTS: ("agent", "install", "probe"),
        HelpGroup.NEW_CASE: ("to", "id", "commit", "worktree", "expect", "no-check", "force"),
        HelpGroup.MACHINES: ("slots", "tls-ca", "tls-cert", "tls-key", "sweep"),
        HelpGroup.SHARDS: ("matrix", "missing"),
        HelpGroup.REPORTS: ("no-open", "owner", "issue", "days", "rerun", "json"),
        HelpGroup.GENERAL: ("version", "help"),
    }
)
"""Group -> options that commands have besides those of ``Settings``, and after them, but for ``_BEFORE``."""
_BEFORE = {"suite": "case", "matrix": "target", **dict.fromkeys(OWN_OPTIONS[HelpGroup.REPORTS], "reporter")}


def option_groups() -> dict[str, tuple[str, ...]]:
    """The groups of the options of all commands, in order. One option has the same group in every command."""
    from skillgym_action.settings.settings import all_declared

    groups: dict[str, list[str]] = {group: [] for group in HelpGroup}
    for name, setting, option in all_declared():
        if option:
            groups[str(setting.group)].append(name.replace("_", "-"))
    for group, own in OWN_OPTIONS.items():
        names = groups[group]
        for name in own:
            names.insert(names.index(_BEFORE[name]) if name in _BEFORE else len(names), name)
    return {title: tuple(names) for title, names in groups.items()}


COMMAND_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Commands to start with": ("init", "doctor", "check"),
        "Commands that run cases": ("list", "run", "bench", "worker"),
        "Commands for stored runs": (
            "view",
            "report",
            "compare",
            "trend",
            "rejudge",
            "explain",
            "promote",
            "quarantine",
        ),
        "Other commands": ("schema",),
    }
)

EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "": (
            ("Write a first suite, a configuration and a workflow", "init"),
            ("Show what would run", "list"),
            ("Run all suites", "run"),
            ("Show the options of a command", "run --help"),
        ),
        "init": (
            ("Write a suite that fits the repository: x-bench, or skill-evals for a skill", "init"),
            ("Write a suite in Python, for Codex", "init --format python --agent codex"),
        ),
        "run": (
            ("Run all suites on all configured runners", "run"),
            ("Find cases that pass although the agent does nothing", "run --runner nop"),
            ("Run some cases of one suite", "run bench/api.bench.json -k 'parser and not slow'"),
            ("Run each case 5 times, 4 sessions in parallel, for at most $2", "run --repeat 5 -j 4 --max-cost 2"),
            ("Run the executions again that were not green", "run --last-failed --verbose"),
            ("Compare with the results of the base branch", "run --store branch --baseline auto --fail-on regression"),
        ),
        "bench": (
            ("Run a suite, 4 sessions in parallel", "bench bench/core.json --concurrent 4"),
            ("Write the results to a file, and show the answers of agents", "bench --output results.json --verbose"),
        ),
        "list": (
            ("List all executions", "list"),
            ("Show the expected cost and time", "list --cost --store branch"),
            ("Divide the run into shards of about 20 minutes", "list --matrix auto --target 20m --plan plan.json"),
        ),
        "check": (
            ("Validate the configuration and all suites", "check"),
            ("Find cases that pass although the agent does nothing", "check --nop"),
            ("Find cases that fail with their reference solution", "check --oracle"),
        ),
        "rejudge": (
            ("Judge a run again with the current assertions", "rejudge .skillgym-results/RUN"),
            ("Count timeouts as infrastructure failures", "rejudge .skillgym-results/RUN --on-limit errored"),
        ),
        "report": (
            ("Merge shards and print a summary in Markdown", "report 'shards/*' --report summary=-"),
            ("Print a workflow matrix of the shards to run again", "report --missing 'shards/*'"),
            ("Decide the verdict again with another rule", "report .skillgym-results/RUN --min-pass-rate 0.8"),
        ),
        "compare": (
            ("Compare two runs", "compare main-results.json .skillgym-results/RUN"),
            ("End with exit code 1 for a regression", "compare base.json head.json --fail-on regression"),
        ),
        "view": (
            ("Open the report of the last run", "view"),
            ("Only write the report of a run", "view .skillgym-results/RUN --no-open"),
        ),
        "doctor": (
            ("Check what is installed and which API keys are set", "doctor"),
            ("Install an agent and check it", "doctor --install claude-code"),
            ("Run one short session on each runner", "doctor --probe"),
        ),
        "explain": (
            ("Ask why a session failed", "explain .skillgym-results/RUN/core/parser/claude/repeat-1"),
            ("Ask again", "explain .skillgym-results/RUN/core/parser/claude/repeat-1 --rerun"),
        ),
        "trend": (
            ("Show all results in the repository's store", "trend --store branch"),
            ("Show the last 90 days of one runner", "trend --store branch --since 90d --runner 'claude*'"),
        ),
        "promote": (
            ("Make a case from a session of a run", "promote .skillgym-results/RUN --case parser --runner claude"),
            ("Make a case from a transcript, with an expectation", "promote session.jsonl --expect file:src/parser.py"),
        ),
        "quarantine": (
            ("Print entries for the flaky cases of the store", "quarantine suggest --store branch"),
            ("Show the options", "quarantine suggest --help"),
        ),
        "quarantine suggest": (
            ("Print entries for all flaky cases", "quarantine suggest --store branch --owner @ada"),
            (
                "Print entries for some cases, which expire after two weeks",
                "quarantine suggest --case 'release-*' --owner @ada --days 14",
            ),
        ),
        "schema": (
            ("Print the names of all schemas", "schema"),
            ("Write the schema of configuration files to a file", "schema config > config.schema.json"),
        ),
        "worker": (
            ("Run 8 sessions in parallel", "worker dask://scheduler:8786 --slots 8"),
            (
                "Use certificates",
                "worker dask://scheduler:8786 --tls-ca ca.pem --tls-cert worker.pem --tls-key worker.key",
            ),
        ),
    }
)
"""Command -> examples: what each does, and its arguments. Of a group: its name and the command's."""
