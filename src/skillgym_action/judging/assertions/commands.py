"""Assertions that run a command in the workspace after the agent; and the check of a suite program."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.model.errors import Problem
from skillgym_action.model.judgement import Outcome
from skillgym_action.model.limits import DEFAULT_COMMAND_SECONDS, MAX_COMMAND_EVIDENCE_BYTES, MAX_COMMAND_EVIDENCE_LINES
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.assertion import AssertionContext, CommandResult
    from skillgym_action.model.errors import Location

NOT_FOUND = 127
FOUND_SECONDS = 30.0
_SEPARATORS = frozenset({";", "&", "&&", "|", "||", "(", ")", "\n", "|&", ";;"})
_BEFORE_PROGRAMS = frozenset(
    {"!", "{", "if", "then", "elif", "else", "while", "until", "do", "time", "exec", "env", "command", "nohup"}
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_BARE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_NOT_FOUND_BY_A_SHELL = re.compile(r"(?<![\w./+-])([\w+-][\w.+-]*): (?:command )?not found\s*$", re.MULTILINE)


@record
class CommandPasses:
    """A command exits with 0, or as ``exits`` says; None: with anything but 0. ``timeout`` is in seconds."""

    name: str
    command: str
    timeout: float | None = None
    exits: int | None = 0
    fail_fast: bool = False

    type: ClassVar[str] = "command-passes"
    diagnostic: ClassVar[bool] = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """Failed also if the command times out, or is a file that is not there; not judged if a program is missing."""
        limit = self.timeout or max(DEFAULT_COMMAND_SECONDS, context.timeout)
        result = context.run(self.command, limit)
        missing = self._missing(context, result) if result.exit_code == NOT_FOUND != self.exits else []
        explanation = _explanation(result, limit) + ("" if self.exits == 0 else f"; wanted: {self._wanted()}")
        if missing:
            what = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed where commands run"
            explanation = f"exited 127: {what}; install it, or correct the command"
        outcome = Outcome(
            assertion=self.name,
            type=self.type,
            passed=None if missing else self._is_met(result),
            explanation=explanation,
            evidence=_output(result),
            trouble="grader" if missing else None,
        )
        return (outcome,)

    def _missing(self, context: AssertionContext, result: CommandResult) -> list[str]:
        """The programs that the command names without a path, and that are nowhere on the machine.

        A file that the agent should have written has a path, and what a program starts is not named by the command.
        """
        words = set(_BARE.findall(self.command))
        printed = [name for name in _NOT_FOUND_BY_A_SHELL.findall(result.tail) if name in words]
        names = list(dict.fromkeys((*_programs(self.command), *printed)))
        if not names:
            return []
        search = f'for name in {" ".join(names)}; do command -v "$name" > /dev/null || echo "$name"; done'
        found = context.run(search, FOUND_SECONDS).tail.split()
        return [name for name in names if name in found]

    def _is_met(self, result: CommandResult) -> bool:
        if result.timed_out:
            return False
        return result.exit_code != 0 if self.exits is None else result.exit_code == self.exits

    def _wanted(self) -> str:
        return "anything but 0" if self.exits is None else f"exit {self.exits}"


def _programs(command: str) -> Iterator[str]:
    """The names of programs, without a path, with which the simple commands of a command line begin."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace, words.whitespace_split, words.commenters = " \t", True, ""
    begins = True
    with suppress(ValueError):  # a quote that is not closed
        for word in words:
            if word in _SEPARATORS:
                begins = True
            elif begins and word not in _BEFORE_PROGRAMS and not _ASSIGNMENT.match(word):
                begins = False
                if _BARE.fullmatch(word):
                    yield word


def _explanation(result: CommandResult, limit: float) -> str:
    if result.timed_out:
        return f"did not end within {limit:g} s"
    ended = "was ended by a signal" if result.exit_code is None else f"exited {result.exit_code}"
    return f"{ended} after {result.seconds:.1f} s"


def _output(result: CommandResult) -> str | None:
    """The last lines of the output, and the logs with all of it if something is missing."""
    text = result.tail.strip("\n")
    encoded, cut = text.encode("utf-8", "replace"), ""
    if len(encoded) > MAX_COMMAND_EVIDENCE_BYTES:
        text, cut = encoded[-MAX_COMMAND_EVIDENCE_BYTES:].decode("utf-8", "ignore"), "…"
    lines = text.split("\n")
    if len(lines) > MAX_COMMAND_EVIDENCE_LINES:
        lines, cut = lines[-MAX_COMMAND_EVIDENCE_LINES:], "…\n"
    shown = cut + "\n".join(lines)
    return (f"{shown}\n(all of it: {', '.join(result.logs)})" if cut and result.logs else shown) or None


CHECK_RETURNED = "the check returned"
"""The explanation of a check that passed."""

WITHOUT_EFFECT = ", which has no effect; use `assert`"
"""Follows the value, if the check returned one."""


@record(kw_only=False)
class SuiteCheck:
    """Calls the check of a case in the suite host, which has the function; the tool only knows the case's id."""

    case_id: str
    name: str = "check"
    type: str = "check"
    diagnostic: bool = False
    fail_fast: bool = False

    def judge(self, context: AssertionContext) -> tuple[Outcome, ...]:
        """One outcome that passed, or one per collected failure."""
        return context.check(self.case_id)


def ignored_value_problem(case_id: str, outcome: Outcome, location: Location | None) -> Problem | None:
    """The warning about a check that passed and returned a value without effect; None for other outcomes."""
    if outcome.type != "check" or not outcome.passed or not outcome.explanation.endswith(WITHOUT_EFFECT):
        return None
    message, _, remedy = outcome.explanation.rpartition("; ")
    return Problem(message=f"{case_id}: {message}", location=location, remedy=remedy)
