"""The layout of ``--help``: options and commands in groups, whole sentences, examples. Needs no ``Settings``."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, TypeVar

import click

from skillgym_action.cli.help_contents import COMMAND_GROUPS, EXAMPLES, OPTION_GROUPS
from skillgym_action.model.exit_codes import EXIT_CODES

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
    """Write the options of a command: in groups if there are many, in the order of ``OPTION_GROUPS``."""
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
    for title, grouped in _in_groups(options):
        records = [record for option in grouped if (record := option.get_help_record(ctx))]
        with formatter.section(title):
            formatter.write_dl(records)


def _in_groups(options: list[click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    if len(options) < MIN_GROUPED_OPTIONS:
        yield OTHER_OPTIONS, options
        return
    yield from _grouped({long_name(option): option for option in options}, OPTION_GROUPS, OTHER_OPTIONS)


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
