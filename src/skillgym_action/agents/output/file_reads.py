"""Which files a shell command reads, as far as its text shows. Many agents read files only with commands."""

from __future__ import annotations

import posixpath
import re
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PARSED_COMMAND_CHARACTERS = 16 * 1024  # of a shell command that is searched for files it reads
MAX_SHELL_NESTING = 3  # ``bash -c`` within ``bash -c``
TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n)
      | (?P<redirect>\d*(?:<<<|<<-?|<>|<|>>|>\||>|&>>?)&?)
      | (?P<end>\n|&&|\|\||;;|[;|&()])
      | (?P<word>(?:[^\s'"\\;|&<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+)
      | (?P<stray>.)""",
    re.VERBOSE | re.DOTALL,
)
QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)""", re.DOTALL)
HERE_DOCUMENT = re.compile(r"(?<!<)<<-?\s*['\"]?(\w+)")
ASSIGNMENT = re.compile(r"\w+=")
SHELLS = frozenset({"bash", "sh", "zsh", "dash", "fish"})
PREFIXES = frozenset({"env", "command", "exec", "sudo", "time", "nohup"})

# Programs that read files: how many leading arguments are not files but a script or a pattern, which options give
# that argument instead, and which other options take the next word as their value.
READERS: dict[str, tuple[int, frozenset[str], frozenset[str]]] = {
    **dict.fromkeys(("cat", "less", "more", "nl", "tac"), (0, frozenset(), frozenset())),
    **dict.fromkeys(("bat", "batcat"), (0, frozenset(), frozenset({"-l", "-r", "--language", "--line-range"}))),
    **dict.fromkeys(("head", "tail"), (0, frozenset(), frozenset({"-n", "-c", "--lines", "--bytes"}))),
    "sed": (1, frozenset({"-e", "-f", "--expression", "--file"}), frozenset()),
    **dict.fromkeys(("awk", "gawk", "mawk"), (1, frozenset({"-f", "--file"}), frozenset({"-F", "-v"}))),
    **dict.fromkeys(
        ("grep", "egrep", "fgrep"),
        (1, frozenset({"-e", "-f", "--regexp", "--file"}), frozenset({"-A", "-B", "-C", "-m"})),
    ),
}


def files_read(command: str) -> tuple[str, ...]:
    """Return paths as the command writes them, joined to a ``cd`` before them, without patterns and variables."""
    return tuple(dict.fromkeys(_files(command[:MAX_PARSED_COMMAND_CHARACTERS], MAX_SHELL_NESTING)))


def _files(command: str, nesting: int) -> Iterator[str]:
    folder = ""
    for words, inputs in _simple_commands(_without_here_documents(command)):
        name, arguments = _program(words)
        if name in SHELLS and nesting and (script := _script(arguments)) is not None:
            yield from (posixpath.join(folder, path) for path in _files(script, nesting - 1))
        elif name == "cd":
            folder = posixpath.join(folder, arguments[0] if arguments else "")
        else:
            found = [*_arguments_read(name, arguments), *inputs]
            yield from (posixpath.join(folder, path) for path in found if path and not re.search(r"[$`*?]", path))


def _simple_commands(command: str) -> Iterator[tuple[list[str], list[str]]]:
    """Each simple command's words, and the files redirected into it."""
    words: list[str] = []
    inputs: list[str] = []
    redirect = ""
    for token in TOKEN.finditer(command + "\n"):
        if token["redirect"]:
            redirect = token["redirect"]
        elif token["word"]:
            word = _unquoted(token["word"])
            if not redirect:
                words.append(word)
            elif redirect.endswith("<") and not redirect.endswith("<<"):
                inputs.append(word)
            redirect = ""
        elif token["end"]:
            yield words, inputs
            words, inputs, redirect = [], [], ""


def _program(words: list[str]) -> tuple[str, list[str]]:
    """The program's name without its folder, and its arguments, without assignments and prefixes such as ``env``."""
    for index, word in enumerate(words):
        if not ASSIGNMENT.match(word) and posixpath.basename(word) not in PREFIXES:
            return posixpath.basename(word), words[index + 1 :]
    return "", []


def _script(arguments: list[str]) -> str | None:
    """What ``bash -lc SCRIPT`` runs."""
    for option, script in pairwise(arguments):
        if re.fullmatch(r"-\w*c", option):
            return script
    return None


def _arguments_read(name: str, arguments: list[str]) -> list[str]:
    if name not in READERS:
        return []
    leading, instead, valued = READERS[name]
    files, skip, options = [], False, True
    for argument in arguments:
        if skip:
            skip = False
        elif options and argument == "--":
            options = False
        elif options and argument.startswith("-") and argument != "-":
            if name.endswith("grep") and re.fullmatch(r"-\w*[rR]\w*|--(?:dereference-)?recursive", argument):
                return []  # its arguments are folders
            skip = argument in instead or argument in valued
            leading -= any(argument.startswith(option) for option in instead)
        elif argument != "-":
            files.append(argument)
    return files[max(leading, 0) :]


def _without_here_documents(command: str) -> str:
    kept, end = [], None
    for line in command.split("\n"):
        if end is not None:
            end = None if line.strip() == end else end
            continue
        kept.append(line)
        started = HERE_DOCUMENT.search(line)
        end = started[1] if started else None
    return "\n".join(kept)


def _unquoted(word: str) -> str:
    parts = []
    for piece in QUOTED.finditer(word):
        single, double, escaped, plain = piece.groups()
        parts.append(re.sub(r'\\([$`"\\])', r"\1", double) if double is not None else single or escaped or plain or "")
    return "".join(parts)
