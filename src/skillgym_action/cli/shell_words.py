"""Completion by a shell, as click does it, also of an option and its value that are written as one word.

bash splits words at ``=`` and ``:``, while zsh and fish replace the whole word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
)

from skillgym_action.cli.arguments import cli
from skillgym_action.cli.help.layout import PROGRAM
from skillgym_action.cli.process_protection import COMPLETION
from skillgym_action.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping


class _SplitOptions(BashComplete):
    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        words: list[str] = []
        joins = False
        for arg in args:
            is_break = bool(arg) and not arg.strip("=:")
            if words and (is_break or joins):
                words[-1] += arg
            else:
                words.append(arg)
            joins = is_break
        if words and words[-1].startswith("--"):
            words[-1] = words[-1].removesuffix("=")
        return words, incomplete


class _WholeOptions(ShellComplete):
    _option = ""  # "--NAME=" of the word to complete

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()
        name, equals, _ = incomplete.partition("=")
        self._option = name + equals if equals and name.startswith("--") else ""
        return args, incomplete

    def format_completion(self, item: CompletionItem[str]) -> str:
        if item.type == "plain":
            item.value = self._option + item.value
        return super().format_completion(item)


class _Zsh(_WholeOptions, ZshComplete):
    pass


class _Fish(_WholeOptions, FishComplete):
    pass


def complete(instruction: str, environment: Mapping[str, str]) -> int:
    """Print what a shell asks for, such as ``bash_source`` or ``bash_complete``; the exit code."""
    for extended in (_SplitOptions, _Zsh, _Fish):
        add_completion_class(extended)
    failed = shell_complete(cli, {"obj": environment}, PROGRAM, COMPLETION, instruction)
    return ExitCode.INVALID_INPUT if failed else ExitCode.PASSED
