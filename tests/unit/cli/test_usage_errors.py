"""Errors of click have the words of all other messages."""

from __future__ import annotations

import click
import pytest

from skillgym_action.cli.arguments import cli
from skillgym_action.cli.usage_errors import usage_message


def message(*args: str) -> str:
    with pytest.raises(click.UsageError) as caught:
        cli.main(list(args), prog_name="skillgym-action", standalone_mode=False, obj={})
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
        (("compare", "base"), "missing argument 'HEAD'; see `skillgym-action compare --help`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_of_click_has_our_words(args, expected):
    assert message(*args) == expected
