"""Every error a user can meet, and the exit code it becomes.

    SkillgymError                 70  a bug of ours, unless a subclass says otherwise
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
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


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

    def __str__(self) -> str:
        """One line: ``path:line:column: cases[0].expect: message; remedy``."""
        places = [str(place) for place in (self.location, self.key_path) if place]
        return "; ".join(part for part in (": ".join([*places, self.message]), self.remedy) if part)


class SkillgymError(Exception):
    """The base of all errors; carries one or more problems."""

    exit_code: ClassVar[int] = 70

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

    exit_code = 2


class ConfigError(SkillgymError):
    """The configuration file is wrong."""

    exit_code = 2


class SuiteError(SkillgymError):
    """A suite file is wrong."""

    exit_code = 2


class InstallError(SkillgymError):
    """An agent's CLI cannot be installed."""

    exit_code = 3


class OutputError(SkillgymError):
    """A result cannot be written where it should go."""

    exit_code = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names the closest known word, or all of them."""
    from difflib import get_close_matches

    choices = sorted(known)
    close = get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(choices)}"
