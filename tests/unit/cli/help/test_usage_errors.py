"""Errors of click have the words of all other messages."""

from __future__ import annotations

import click
import pytest

from skillgym_action.cli.arguments import cli
from skillgym_action.cli.help.usage_errors import usage_message


def message(*args: str, **env: str) -> str:
    with pytest.raises(click.UsageError) as caught:
        cli.main(list(args), prog_name="skillgym-action", standalone_mode=False, obj=env)
    return usage_message(caught.value)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("chek",), "unknown command 'chek'; did you mean 'check'?"),
        (("nonsense",), "unknown command 'nonsense'; `skillgym-action --help` lists them"),
        (("run", "--reapet"), "unknown option '--reapet'; did you mean '--repeat'?"),
        (("run", "--repeat"), "option '--repeat' requires an argument; see `skillgym-action run --help`"),
        (
            ("view", "nowhere"),
            "invalid value for 'RUN': path 'nowhere' does not exist; see `skillgym-action view --help`",
        ),
        (
            ("list", "--matrix", "abc"),
            "--matrix: 'abc' is not `auto` or a whole number from 1 to 256; see `skillgym-action list --help`",
        ),
        (
            ("list", "--matrix", "257"),
            "--matrix: '257' is not `auto` or a whole number from 1 to 256; see `skillgym-action list --help`",
        ),
        (
            ("worker", "dask://host:1", "--slots", "0"),
            "--slots: '0' is not a whole number from 1 to 1024; see `skillgym-action worker --help`",
        ),
        (("compare", "base"), "missing argument 'HEAD'; see `skillgym-action compare --help`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_of_click_has_our_words(args, expected):
    assert message(*args) == expected


def test_an_option_from_the_environment_is_named_by_its_variable():
    said = message("run", SKILLGYM_VERBOSE="maybe")
    assert said.startswith("SKILLGYM_VERBOSE (--verbose): 'maybe' is not a valid boolean")
