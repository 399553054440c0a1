"""Errors of click on command lines, in the words of all other messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "skillgym-action"


def usage_message(error: click.ClickException) -> str:
    """What is wrong with a command line, and what to do."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    help_of_command = f"`{ctx.command_path if ctx else PROGRAM} --help` lists them"
    if isinstance(error, click.NoSuchOption):
        return f"unknown option {error.option_name}; {_meant(error.possibilities, help_of_command)}"
    if (unknown := getattr(error, "command_name", None)) is not None:
        known = getattr(error, "possibilities", None)
        return f"unknown command {unknown!r}; {_meant(known, help_of_command)}"
    message = error.format_message().removesuffix(".")
    return f"{message[:1].lower()}{message[1:]}; see `{ctx.command_path if ctx else PROGRAM} --help`"


def _meant(known: Sequence[str] | None, otherwise: str) -> str:
    return f"did you mean {known[0]}?" if known else otherwise
