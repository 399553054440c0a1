"""Expectations drafted from what a session did: few, short, and about what is likely to stay.

They are proposals: a session that failed did something wrong, and only people know what it should have done.
"""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.formats.xbench_expectations import GrammarError, parse_text
from skillgym_action.limits import MAX_DRAFTED_COMMAND_CHARACTERS, MAX_DRAFTED_COMMANDS, MAX_DRAFTED_FILES
from skillgym_action.model.session_report import Command

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.session_report import Event
    from skillgym_action.promotion.session_facts import SessionFacts

# Made by programs, or rewritten by each change: an expectation about them says nothing about the task.
_MADE_FOLDERS = frozenset({"node_modules", "dist", "build", "target", "coverage", "__pycache__", ".venv", ".cache"})
_MADE_FILES = re.compile(r".*(?:\.lock|\.log|\.pyc|\.tmp|\.map|-lock\.(?:json|yaml)|\.min\.\w+)|go\.sum|\.DS_Store")
# The beginnings of commands that run tests; nothing else of a session is ever run for a draft.
_TEST_COMMANDS = (
    ("npm", "test"), ("npm", "run", "test"), ("pnpm", "test"), ("yarn", "test"), ("bun", "test"), ("deno", "test"),
    ("node", "--test"), ("npx", "vitest"), ("npx", "jest"), ("pytest",), ("python", "-m", "pytest"),
    ("python3", "-m", "pytest"), ("python", "-m", "unittest"), ("python3", "-m", "unittest"), ("uv", "run", "pytest"),
    ("cargo", "test"), ("go", "test"), ("make", "test"), ("make", "check"), ("mvn", "test"), ("gradle", "test"),
    ("./gradlew", "test"), ("bundle", "exec", "rspec"), ("rake", "test"), ("dotnet", "test"), ("mix", "test"),
    ("swift", "test"), ("phpunit",), ("vendor/bin/phpunit",), ("ctest",),
)  # fmt: skip
# No character that a shell gives a meaning: the command is one program with plain words.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9_./:=@%+,-]+")
_CD = re.compile(r"cd [^\s;&|]+ && ")


def drafted_expectations(facts: SessionFacts, known: Iterable[object]) -> list[str]:
    """The expectations, as x-bench writes them, without those in ``known`` and about files that ``known`` names."""
    texts = [str(one) for one in known]
    drafts = [
        text
        for text, path in _about_files(facts)
        if not any(path in other for other in texts) and text not in texts and _is_valid(text)
    ][:MAX_DRAFTED_FILES]
    commands = (f"test:{command} passes" for command in plain_test_commands(facts.report.events))
    drafts += [text for text in commands if not any(text.removesuffix(" passes") in other for other in texts)]
    return drafts


def _about_files(facts: SessionFacts) -> Iterator[tuple[str, str]]:
    for path in sorted(facts.changed):
        if not _is_made(path):
            yield (f"diff:{_quoted(path)}" if path in facts.template else f"file:{_quoted(path)} exists"), path
    for path in facts.deleted:
        if not _is_made(path) and path in facts.template:
            yield f"no-file:{_quoted(path)}", path


def _is_made(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return not _MADE_FOLDERS.isdisjoint(parts[:-1]) or bool(_MADE_FILES.fullmatch(parts[-1]))


def _quoted(path: str) -> str:
    """The path, in quotes if it has a space, after which a rule could begin."""
    return path if " " not in path else f'"{path}"' if "'" in path else f"'{path}'"


def _is_valid(text: str) -> bool:
    """Whether x-bench reads the text as it was meant; not so with some characters in file names."""
    try:
        return text.isprintable() and parse_text(text).warning is None
    except GrammarError:
        return False


def plain_test_commands(events: Iterable[Event]) -> list[str]:
    """The calls of test runners in a session, each once, in the order of their last calls; the last few."""
    found: dict[str, None] = {}
    for event in events:
        if isinstance(event, Command) and (command := plain_test_command(event.command)):
            found.pop(command, None)
            found[command] = None
    return list(found)[-MAX_DRAFTED_COMMANDS:]


def plain_test_command(command: str) -> str | None:
    """The command, if it only calls a test runner; without a ``cd`` before it. None for any other command."""
    text = _CD.sub("", command.strip(), count=1)
    if len(text) > MAX_DRAFTED_COMMAND_CHARACTERS or "\n" in text:
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    is_test = any(tuple(words[: len(start)]) == start for start in _TEST_COMMANDS)
    is_plain = all(_PLAIN_WORD.fullmatch(word) and ".." not in word for word in words)
    absolute = any(word.startswith("/") or "=/" in word for word in words)
    return shlex.join(words) if is_test and is_plain and not absolute else None
