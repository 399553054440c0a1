"""Completion by a shell: the script that a shell evaluates, and the answers to what it asks.

click does both, and is extended here: bash splits words at ``=`` and ``:``, zsh and fish replace a whole
``--NAME=VALUE``, and click's script for fish cuts values with commas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    shell_complete,
    split_arg_string,
)

from skillgym_action.cli.arguments import cli
from skillgym_action.cli.hardening import COMPLETION
from skillgym_action.cli.help_layout import PROGRAM
from skillgym_action.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

BREAKS = "=:"
"""The characters of ``COMP_WORDBREAKS`` that values of options have."""
BASH_SCRIPT = """\
%(complete_func)s() {
    local IFS=$'\\n' line
    local -a lines
    mapfile -t lines < <(
        COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" %(complete_var)s=bash_complete "$1" 2>/dev/null
    )
    COMPREPLY=()
    for line in "${lines[@]}"; do
        case $line in
            file,*) compopt -o default ;;
            dir,*) compopt -o dirnames ;;
            part,*) compopt -o nospace; COMPREPLY+=("${line#part,}") ;;
            plain,*) COMPREPLY+=("${line#plain,}") ;;
        esac
    done
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""
FISH_SCRIPT = """\
function %(complete_func)s
    for line in (COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) %(complete_var)s=fish_complete \
            command %(prog_name)s 2>/dev/null)
        set -l parts (string split --max 1 , -- $line)
        switch $parts[1]
            case file
                __fish_complete_path $parts[2]
            case dir
                __fish_complete_directories $parts[2]
            case plain
                echo $parts[2]
        end
    end
end
complete --no-files --command %(prog_name)s --arguments "(%(complete_func)s)"
"""


class BashWords(BashComplete):
    """Completion for bash, with values such as ``KIND=PATH`` and ``AGENT:MODEL`` as one word."""

    source_template: ClassVar[str] = BASH_SCRIPT
    _shown = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The complete words before the one with the cursor, and that one up to the cursor."""
        environment: Mapping[str, str] = self.ctx_args["obj"]
        words = split_arg_string(environment.get("COMP_WORDS", ""))
        number = int(environment.get("COMP_CWORD", "0"))
        joined = _joined(words[: number + 1] if number < len(words) else [*words, ""])
        self._shown = joined[-1]
        return joined[1:-1], joined[-1]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """A line for the script: the type, and what bash puts in place of its own word."""
        if item.type != "plain":
            return f"{item.type},"
        shown = self._shown.partition("=")[2] if self._shown.startswith("--") else self._shown
        own = max(shown.rfind(mark) for mark in BREAKS) + 1
        value = item.value if self._shown.startswith("--") and "=" not in self._shown else item.value[own:]
        return f"{'part' if value.endswith('=') else 'plain'},{value}"


def _joined(words: Iterable[str]) -> list[str]:
    """The words with those joined that bash has split at ``=`` and ``:``. The last one is the one to complete."""
    joined: list[str] = []
    continues = False
    for word in words:
        is_break = bool(word) and not word.strip(BREAKS)
        if joined and (is_break or (continues and word)):
            joined[-1] += word
        elif not (continues and not word):
            joined.append(word)
        continues = is_break
    return joined


class _WholeOptions(ShellComplete):
    """Completion for a shell that replaces a whole ``--NAME=VALUE``."""

    _shown = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The complete words before the one with the cursor, and that one."""
        args, self._shown = super().get_completion_args()
        return args, self._shown

    def format_completion(self, item: CompletionItem[str]) -> str:
        """What the script reads."""
        return super().format_completion(_whole(item, self._shown))


class ZshWords(_WholeOptions, ZshComplete):
    """Completion for zsh, with options that are written as ``--NAME=VALUE``."""


class FishWords(_WholeOptions, FishComplete):
    """Completion for fish, with options that are written as ``--NAME=VALUE``, and lists with commas."""

    source_template: ClassVar[str] = FISH_SCRIPT


def _whole(item: CompletionItem[str], shown: str) -> CompletionItem[str]:
    """The item with the name of the option that ``shown``, the word to complete, begins with."""
    name, equals, _ = shown.partition("=")
    if item.type != "plain" or not equals or not name.startswith("--"):
        return item
    return CompletionItem(f"{name}={item.value}")


def complete(instruction: str, environment: Mapping[str, str]) -> int:
    """Print what a shell asks for, such as ``bash_source`` or ``bash_complete``; the exit code."""
    for extended in (BashWords, ZshWords, FishWords):
        add_completion_class(extended)
    failed = shell_complete(cli, {"obj": environment}, PROGRAM, COMPLETION, instruction)
    return ExitCode.INVALID_INPUT if failed else ExitCode.PASSED
