"""Classes of click with a help in groups, and with arguments that completion can parse."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from skillgym_action.model.errors import Problem, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class WholeNumber(click.IntRange):
    """A whole number in a range; ``accepted``: what messages call it."""

    accepted = "a whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises click.BadParameter."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{str(value)!r} is not {self.accepted} from {self.min} to {self.max}", param, ctx)


class ShardCount(WholeNumber):
    """A number of shards; ``auto`` is 0."""

    accepted = "`auto` or a whole number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises click.BadParameter."""
        return 0 if value == "auto" else super().convert(value, param, ctx)


_EMPTY = f"{__name__}.empty"  # in the context's ``meta``: the options that have an empty value


class CheckedOption(click.Option):
    """An option of which an empty value on the command line is an error.

    Most often it is a variable of a shell that is not set. As "not set", it would turn off gates and filters.
    """

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """The value and its source. An empty value is noted: ``HelpfulCommand.invoke`` reports all of them."""
        value, source = super().consume_value(ctx, opts)
        values = value if isinstance(value, list | tuple) else (value,)
        if source is ParameterSource.COMMANDLINE and any(isinstance(one, str) and _is_empty(one) for one in values):
            ctx.meta.setdefault(_EMPTY, []).append(self)
        return value, source


def _is_empty(value: str) -> bool:
    """Whether a value has no word; commas and line breaks separate words."""
    return not value.strip(", \t\r\n")


class HelpfulContext(click.Context):
    """A context whose help breaks no line within a word."""

    def make_formatter(self) -> click.HelpFormatter:
        """The formatter of ``--help``."""
        from skillgym_action.cli.help.layout import HelpText

        return HelpText(width=self.terminal_width, max_width=self.max_content_width)


@contextmanager
def _errors_of(ctx: click.Context) -> Iterator[None]:
    """Let errors of click's parser name the command, whose help they point to."""
    try:
        yield
    except click.UsageError as error:
        error.ctx = error.ctx or ctx
        raise


class HelpfulCommand(click.Command):
    """A command whose help has its options in groups, and examples."""

    context_class = HelpfulContext

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; for a completion without the last option, whose value is still missing."""
        incomplete = ctx.resilient_parsing and bool(args) and args[-1].startswith("-")
        with _errors_of(ctx):
            return super().parse_args(ctx, args[:-1] if incomplete else args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Raises UsageError for options with an empty value."""
        if empty := ctx.meta.get(_EMPTY):
            messages = (f"{option.opts[0]}: the value is empty" for option in empty)
            raise UsageError.of(*(Problem(message=message, remedy="leave the option out") for message in messages))
        return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, and examples."""
        from skillgym_action.cli.help.layout import write_examples, write_options

        write_options(self, ctx, formatter)
        write_examples(ctx, formatter)


class HelpfulGroup(click.Group):
    """A group of commands, whose help has the first sentence of each, and examples."""

    command_class = HelpfulCommand
    context_class = HelpfulContext

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write commands, options, and examples; of the whole tool the exit codes, too."""
        from skillgym_action.cli.help.layout import write_commands, write_examples, write_exit_codes, write_options

        write_commands([(name, self.commands[name]) for name in self.list_commands(ctx)], formatter)
        write_options(self, ctx, formatter)
        if ctx.parent is None:
            write_exit_codes(formatter)
        write_examples(ctx, formatter)
