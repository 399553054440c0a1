"""``--help``: options in named groups, examples that the parser accepts, no line too long and no word broken."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from contextlib import chdir

import click
import pytest
from click.testing import CliRunner

from skillgym_action.cli.arguments import cli, quarantine
from skillgym_action.cli.help.layout import (
    COMMAND_GROUPS,
    EXAMPLES,
    MIN_GROUPED_OPTIONS,
    first_sentence,
    long_name,
    option_groups,
)
from skillgym_action.settings.settings import Settings, validated_settings

SHOWN = {name: command for name, command in cli.commands.items() if not command.hidden}
COMMANDS = {"": cli, **SHOWN, **{f"quarantine {name}": command for name, command in quarantine.commands.items()}}
NAMED = [pytest.param(name, id=name or "tool") for name in COMMANDS]
TITLE = re.compile(r"^(\w.*):$", re.MULTILINE)
ENTRY = re.compile(r"^  (-.*?)(?:  |$)", re.MULTILINE)


def helped(name: str, width: int = 80) -> str:
    return CliRunner().invoke(cli, [*name.split(), "--help"], prog_name="skillgym-action", terminal_width=width).output


def options(command: click.Command) -> list[click.Option]:
    params = command.get_params(click.Context(command))
    return [param for param in params if isinstance(param, click.Option) and not param.hidden]


def sections(text: str) -> dict[str, str]:
    """The sections of a help text by their titles."""
    parts = TITLE.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


# --- groups -------------------------------------------------------------------------------------------


def test_each_option_of_a_command_is_in_exactly_one_group():
    groups = Counter(name for names in option_groups().values() for name in names)
    taken = {long_name(option) for command in COMMANDS.values() for option in options(command)}
    assert groups == Counter(list(taken))


def test_each_command_is_in_exactly_one_group():
    assert Counter(name for names in COMMAND_GROUPS.values() for name in names) == Counter(list(SHOWN))


@pytest.mark.parametrize("name", NAMED)
def test_help_shows_each_option_once_and_many_options_in_named_groups(name):
    shown = options(COMMANDS[name])
    found = sections(helped(name))
    of_options = {title: ENTRY.findall(text) for title, text in found.items() if ENTRY.search(text)}
    written = [word for entries in of_options.values() for entry in entries for word in re.findall(r"--[a-z-]+", entry)]
    assert Counter(written) == Counter(
        word for option in shown for word in (*option.opts, *option.secondary_opts) if word.startswith("--")
    )
    if len(shown) < MIN_GROUPED_OPTIONS:
        assert list(of_options) == ["Options"]
    else:
        assert len(of_options) >= 4
        assert of_options.keys() <= option_groups().keys()


def test_help_of_the_tool_has_the_commands_in_groups_with_whole_sentences():
    found = sections(helped(""))
    assert list(found) == [*COMMAND_GROUPS, "Options", "Exit codes", "Examples"]
    text = " ".join(" ".join(found[title] for title in COMMAND_GROUPS).split())
    assert [name for name, command in SHOWN.items() if f"{name} {first_sentence(command.help or '')}" not in text] == []


# --- layout -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [80, 110])
@pytest.mark.parametrize("name", NAMED)
def test_no_line_is_too_long_and_no_text_is_cut(name, width):
    text = helped(name, width)
    assert [line for line in text.splitlines() if len(line) > width] == []
    whole = " ".join(text.split())
    assert [option.opts for option in options(COMMANDS[name]) if " ".join(str(option.help).split()) not in whole] == []


def test_a_word_with_a_hyphen_is_not_broken():
    text = helped("run", 60)
    assert "unexpected-passed" in text
    assert "isolated-by-runner" in text
    assert not re.search(r"[a-z]-$", text, re.MULTILINE)
    assert text.isascii()


# --- wording ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
def test_help_texts_are_fragments_with_a_full_stop_at_the_end(name):
    texts = {option.opts[0]: str(option.help) for option in options(COMMANDS[name])}
    assert {option: text for option, text in texts.items() if not re.match(r"[A-Z].*[.)]$", text)} == {}


# --- examples -----------------------------------------------------------------------------------------


def calls(name: str) -> list[list[str]]:
    """The arguments of the examples as help shows them, read as a shell reads them."""
    text = sections(helped(name))["Examples"]
    joined = re.sub(r" \\\n +", " ", text)
    lines = re.findall(r"^    (skillgym-action.*)$", joined, re.MULTILINE)
    return [shlex.split(line.partition(" > ")[0])[1:] for line in lines]


def test_every_command_has_at_least_two_examples():
    assert EXAMPLES.keys() == COMMANDS.keys()
    assert {name: len(examples) for name, examples in EXAMPLES.items() if len(examples) < 2} == {}
    assert {name: len(calls(name)) for name in COMMANDS} == {name: len(found) for name, found in EXAMPLES.items()}


@pytest.mark.parametrize("name", NAMED)
def test_the_parser_accepts_the_examples(name, tmp_path):
    for arguments in calls(name):
        command: click.Command = cli
        ctx = click.Context(cli, info_name="skillgym-action")
        rest = arguments
        while isinstance(command, click.Group) and rest and rest[0] in command.commands:
            command, rest = command.commands[rest[0]], rest[1:]
            ctx = click.Context(command, info_name=command.name, parent=ctx)
        if rest[-1:] == ["--help"]:
            assert command is not cli
            continue
        for argument in rest:
            if argument.startswith(".skillgym-results") or argument.endswith(".jsonl"):
                (tmp_path / argument).mkdir(parents=True, exist_ok=True)
        with chdir(tmp_path):
            fields = command.make_context(str(command.name), list(rest), parent=ctx).params
        validated_settings({key: value for key, value in fields.items() if key in Settings.model_fields}, str)
