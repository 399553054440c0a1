"""Exit codes, and every error a user can meet with the exit code it becomes.

    SkillgymError                 70  an internal error, unless a subclass says otherwise
    ├── UsageError                 2  a flag, an input or an environment variable
    ├── ConfigError                2  a configuration file
    ├── SuiteError                 2  a suite file or a case in it
    ├── InstallError               3  an agent's CLI cannot be installed; in a run it is trouble of that agent's runners
    ├── OutputError                3  the run directory or a report cannot be written
    └── GitHubError               70  GitHub did not do what it was asked for; becomes a note, no verdict depends on it

SIGINT and SIGTERM are no error: a cancelled run ends with a decision, whose exit code is 130.
Trouble of an agent is never raised: it travels as a value (``session.Trouble``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


LONGEST_MESSAGE, LONGEST_PLACE = 5_000, 1_000
"""Characters; what is longer came out of a file that means no good, and is cut."""
LONGEST_ID = 1_000
"""Characters of a case's id."""
LONGEST_WORD = 100
"""Characters of what can be a typing error."""
MOST_KNOWN = 1_000
"""Words that a typing error is compared with."""


class ExitCode(IntEnum):
    """What the process ends with; ``EXIT_CODES`` says what each means. An action's step is green only with 0."""

    PASSED = 0
    FAILED = 1
    USAGE = 2
    INCONCLUSIVE = 3
    INTERNAL_ERROR = 70
    CANCELLED = 130
    NO_READER = 141


EXIT_CODES = {
    ExitCode.PASSED: "passed",
    ExitCode.FAILED: "tests failed",
    ExitCode.USAGE: "usage, configuration or suite error, or nothing to run",
    ExitCode.INCONCLUSIVE: "inconclusive: something could not be judged, or a result could not be written",
    ExitCode.CANCELLED: "cancelled by SIGINT or SIGTERM; what is there by then is reported",
    ExitCode.INTERNAL_ERROR: "internal error, please report it; the message names a file with what is needed",
    ExitCode.NO_READER: "the reader of standard output has gone; a run is still finished and reported",
}
"""In the order of the documentation, whose tables are made of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Location:
    """A place in a file. ``path`` is relative to the repository root; ``line`` and ``column`` count from 1."""

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """``path:line:column``, as far as known."""
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """Something wrong in a file a user wrote: what, where, and what to do about it."""

    message: str
    location: Location | None = None
    key_path: str | None = None
    remedy: str | None = None

    def __post_init__(self) -> None:
        """Nothing in it is endless, wherever it came from."""
        for name, longest in (("message", LONGEST_MESSAGE), ("remedy", LONGEST_PLACE), ("key_path", LONGEST_PLACE)):
            text: str | None = getattr(self, name)
            if text is not None and len(text) > longest:
                object.__setattr__(self, name, f"{text[:longest]}…")

    def __str__(self) -> str:
        """One line: ``path:line:column: cases[0].expect: message; remedy``."""
        places = [str(place) for place in (self.location, self.key_path) if place]
        return "; ".join(part for part in (": ".join([*places, self.message]), self.remedy) if part)


class SkillgymError(Exception):
    """The base of all errors; carries one or more problems."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL_ERROR

    def __init__(self, message: str, *, remedy: str | None = None, problems: tuple[Problem, ...] = ()) -> None:
        """``problems`` replaces the single problem made of ``message`` and ``remedy``."""
        self.problems = problems or (Problem(message=message, remedy=remedy),)
        super().__init__(message)

    @classmethod
    def of(cls, *problems: Problem) -> SkillgymError:
        """The error that reports all of ``problems`` at once."""
        return cls(problems[0].message, problems=problems)

    def __str__(self) -> str:
        """One line per problem."""
        return "\n".join(str(problem) for problem in self.problems)


class UsageError(SkillgymError):
    """A flag, an action input or an environment variable is wrong."""

    exit_code = ExitCode.USAGE


class ConfigError(SkillgymError):
    """The configuration file is wrong."""

    exit_code = ExitCode.USAGE


class SuiteError(SkillgymError):
    """A suite file is wrong."""

    exit_code = ExitCode.USAGE


class InstallError(SkillgymError):
    """An agent's CLI cannot be installed."""

    exit_code = ExitCode.INCONCLUSIVE


class OutputError(SkillgymError):
    """A result cannot be written where it should go."""

    exit_code = ExitCode.INCONCLUSIVE


def closest(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that is meant, if ``word`` looks like a typing error; ``likeness`` is from 0 to 1."""
    from difflib import get_close_matches

    if len(word) > LONGEST_WORD:
        return None
    likely = sorted(one for one in islice(known, MOST_KNOWN) if len(one) <= LONGEST_WORD)
    return next(iter(get_close_matches(word, likely, n=1, cutoff=likeness)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names the closest known word, or all of them."""
    choices = sorted(known)
    meant = closest(word, choices)
    return f"did you mean {meant!r}?" if meant else f"known: {', '.join(choices)}"
