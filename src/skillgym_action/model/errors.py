"""Errors that users can meet, with their exit codes.

    SkillgymError                 INTERNAL_ERROR, unless a subclass says otherwise
    ├── UsageError                INVALID_INPUT: an option, an action input or an environment variable
    ├── ConfigError               INVALID_INPUT: the configuration file
    ├── SuiteError                INVALID_INPUT: a suite file or a case in it
    ├── PlugInError               INVALID_INPUT: a package that adds an agent, a format, a reporter or a sandbox
    ├── InstallError              INCONCLUSIVE: an agent's CLI cannot be installed; in a run it is trouble of a session
    ├── SandboxError              INCONCLUSIVE: containers cannot be made; in a session it is trouble of the session
    ├── EngineError               INCONCLUSIVE: the cluster that runs sessions is lost or has no workers
    ├── UnusableStoreError        INCONCLUSIVE: a store of results cannot be read
    ├── OutputError               INCONCLUSIVE: the run directory or a report cannot be written
    │   └── PublishError          the same of some reports; the others have been written
    └── GitHubError               becomes a warning: no verdict depends on GitHub's API

Trouble of an agent or of the infrastructure is not raised: it is a value, ``session_report.Trouble``.
"""

from __future__ import annotations

import errno
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.limits import MAX_CORRECTION_CANDIDATES
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_PROBLEM_CHARACTERS = 5_000  # of a problem: texts from users' files may be of any length
MAX_REMEDY_CHARACTERS = 1_000  # also of a key path
MAX_CORRECTED_WORD_CHARACTERS = 100  # longer words are not taken for typing errors: comparing takes quadratic time


@record
class Location:
    """A position in a file. ``path`` is relative to the repository root; ``line`` and ``column`` count from 1."""

    path: str
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """``path:line:column``, as far as known."""
        return ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)


@record
class Problem:
    """A mistake in a file or an option: what, where, and what to do about it.

    ``key_path``: such as ``cases[0].expect``. Texts that are too long are cut, since they may quote users' files.
    """

    message: str
    location: Location | None = None
    key_path: str | None = None
    remedy: str | None = None

    def __post_init__(self) -> None:
        for name, longest in (
            ("message", MAX_PROBLEM_CHARACTERS),
            ("remedy", MAX_REMEDY_CHARACTERS),
            ("key_path", MAX_REMEDY_CHARACTERS),
        ):
            text: str | None = getattr(self, name)
            if text is not None and len(text) > longest:
                object.__setattr__(self, name, f"{text[:longest]}…")

    def __str__(self) -> str:
        """One line: ``path:line:column: cases[0].expect: message; remedy``."""
        places = [str(place) for place in (self.location, self.key_path) if place]
        return "; ".join(part for part in (": ".join([*places, self.message]), self.remedy) if part)


class SkillgymError(Exception):
    """The base of all errors, with one or more problems."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL_ERROR
    reported = False
    """Whether the run had written its report when it was raised."""
    warnings: tuple[Problem, ...] = ()
    """What is printed before the problems, since nothing else will show it."""

    def __init__(self, message: str, *, remedy: str | None = None, problems: tuple[Problem, ...] = ()) -> None:
        """``problems``: instead of the single one that ``message`` and ``remedy`` make."""
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

    exit_code = ExitCode.INVALID_INPUT


class ConfigError(SkillgymError):
    """The configuration file is wrong."""

    exit_code = ExitCode.INVALID_INPUT


class SuiteError(SkillgymError):
    """A suite file is wrong."""

    exit_code = ExitCode.INVALID_INPUT


class PlugInError(SkillgymError):
    """A plug-in, which was named, cannot be loaded, or has another interface."""

    exit_code = ExitCode.INVALID_INPUT


class InstallError(SkillgymError):
    """An agent's CLI cannot be installed."""

    exit_code = ExitCode.INCONCLUSIVE


class SandboxError(SkillgymError):
    """A container or an image cannot be made or used."""

    exit_code = ExitCode.INCONCLUSIVE


class EngineError(SkillgymError):
    """The cluster that runs the sessions cannot be reached any more, or has no workers."""

    exit_code = ExitCode.INCONCLUSIVE


class UnusableStoreError(SkillgymError):
    """A store of results cannot be read, or has a line that no run wrote."""

    exit_code = ExitCode.INCONCLUSIVE


class OutputError(SkillgymError):
    """A result cannot be written to its destination."""

    exit_code = ExitCode.INCONCLUSIVE


class PublishError(OutputError):
    """A report cannot be written; all that can be have been."""

    reported = True


def path_remedy(error: OSError, otherwise: str = "name another path") -> str:
    """What to do about a path that cannot be written, or else ``otherwise``."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return f"free space there, or {otherwise}"
        case errno.EACCES | errno.EPERM:
            return f"allow writing there, or {otherwise}"
        case errno.EFBIG:
            return f"raise the limit of file sizes (ulimit -f), or {otherwise}"
        case _:
            return otherwise


def closest_match(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known word that is most similar to ``word``; None: no similarity reaches ``likeness`` (0 to 1)."""
    from difflib import get_close_matches

    if len(word) > MAX_CORRECTED_WORD_CHARACTERS:
        return None
    candidates = sorted(
        candidate
        for candidate in islice(known, MAX_CORRECTION_CANDIDATES)
        if len(candidate) <= MAX_CORRECTED_WORD_CHARACTERS
    )
    return next(iter(get_close_matches(word, candidates, n=1, cutoff=likeness)), None)


def meant_word(meant: str, written: str | None = None) -> str:
    """The remedy that names the word that is probably meant; with ``written``, what stands in its place."""
    instead = f" instead of {written!r}" if written is not None else ""
    return f"did you mean {meant!r}{instead}?"


def suggestion(word: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """A remedy that names the closest known word; None: no similarity reaches ``likeness`` (0 to 1)."""
    meant = closest_match(word, known, likeness)
    return meant_word(meant) if meant else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A remedy that names the closest known word, or all known words."""
    choices = sorted(known)
    return suggestion(word, choices) or f"known: {', '.join(choices)}"
