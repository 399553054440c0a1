"""Errors of click on command lines, in the words of all other messages; environment variables that are misspelt."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from skillgym_action.model.errors import closest_match, meant_word
from skillgym_action.settings.option_types import REMOVED
from skillgym_action.settings.settings import all_declared, other_names
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from skillgym_action.model.errors import Problem

PROGRAM = "skillgym-action"
_LIKENESS = 0.85  # of a variable's name and an option's, 0 to 1; SKILLGYM_RUNNER_ID, which hooks get, is less like it
_MAX_WARNINGS = 20  # about variables


def print_errors(problems: Iterable[Problem], exit_code: int, environment: Mapping[str, str]) -> None:
    """Print the document of a command that ended with errors, redacted."""
    from skillgym_action.cli.schemas.json_documents import ErrorDocument, print_document, problem_parts
    from skillgym_action.text.redaction import Redactor

    document = ErrorDocument(exit_code=exit_code, errors=problem_parts(problems))
    print_document(document, Redactor.of_environment(environment))


def usage_message(error: click.ClickException) -> str:
    """What is wrong with a command line, and what to do."""
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    help_of_command = f"`{ctx.command_path if ctx else PROGRAM} --help` lists them"
    if isinstance(error, click.NoSuchOption):
        if remedy := REMOVED.get(error.option_name.removeprefix("--")):
            return f"unknown option {error.option_name!r}; {remedy}"
        return f"unknown option {error.option_name!r}; {_meant(error.possibilities, help_of_command)}"
    if (unknown := getattr(error, "command_name", None)) is not None:
        known = getattr(error, "possibilities", None)
        return f"unknown command {unknown!r}; {_meant(known, help_of_command)}"
    message = _without_brackets(error).removesuffix(".")
    return f"{message}; see `{ctx.command_path if ctx else PROGRAM} --help`"


def _meant(known: Sequence[str] | None, otherwise: str) -> str:
    return meant_word(known[0]) if known else otherwise


def _without_brackets(error: click.ClickException) -> str:
    """Click's message, in which an argument that may be left out has its plain name.

    A message about the value of an option begins with the option, like those on options of ``Settings``.
    """
    if not isinstance(error, click.BadParameter) or error.param is None:
        return _lower(error.format_message())
    hint = error.param.get_error_hint(error.ctx)
    plain = hint.replace("[", "").replace("]", "")
    if isinstance(error, click.MissingParameter):
        return _lower(error.format_message().replace(hint, plain))
    if isinstance(error.param, click.Option):
        return f"{option_as_written(error.param, error.ctx)}: {_lower(error.message)}"
    return f"invalid value for {plain}: {_lower(error.message)}"


def option_as_written(param: click.Option, ctx: click.Context | None) -> str:
    """The option, with its environment variable if that set it: ``SKILLGYM_REPEAT (--repeat)``."""
    by_variable = ctx is not None and ctx.get_parameter_source(str(param.name)) is ParameterSource.ENVIRONMENT
    return f"{param.envvar} ({param.opts[0]})" if by_variable else param.opts[0]


def _lower(message: str) -> str:
    return f"{message[:1].lower()}{message[1:]}"


def print_misspelt_variables(environment: Mapping[str, str], prefix: str) -> None:
    """Print the warnings on standard error."""
    for line in misspelt_variables(environment, prefix):
        print(f"warning: {terminal_line(line)}", file=sys.stderr)  # noqa: T201


def misspelt_variables(environment: Mapping[str, str], prefix: str) -> Iterator[str]:
    """Yield a warning for each variable that sets no option, but whose name is close to that of an option.

    Also for one named after another name of an option: the variable has the name that help texts list first.
    ``prefix``: that of the variables of options. Other variables with it are ignored: they may belong to the user.
    """
    options = {name.upper(): option for name, _, option in all_declared() if option and option.variable}
    known = sorted(options)
    also = {name.upper(): other for name, other in other_names().items()}
    aliases = ((name, alias) for name in known for alias in (*options[name].aliases, also.get(name, name)))
    of_alias = {alias.replace("-", "_").upper(): name for name, alias in aliases}
    names = sorted({name.removeprefix(prefix) for name in environment if name.startswith(prefix)}.difference(known))
    found = ((name, meant) for name in names if (meant := of_alias.get(name) or closest_match(name, known, _LIKENESS)))
    for name, meant in islice(found, _MAX_WARNINGS):
        yield f"the environment variable {prefix}{name} sets no option; {meant_word(prefix + meant)}"
