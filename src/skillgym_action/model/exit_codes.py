"""All exit codes of the program. Apart from ``errors``, since the entry point needs them before anything else."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the process ends with."""

    PASSED = 0
    """The gate passed the run, or the command succeeded."""
    FAILED = 1
    """The gate failed the run."""
    INVALID_INPUT = 2
    """An option, an action input, the configuration, a suite file or a plug-in is invalid, or no suite was found."""
    INCONCLUSIVE = 3
    """The run could not be judged, or a result could not be written."""
    INTERNAL_ERROR = 70
    """An internal error; EX_SOFTWARE in sysexits.h."""
    CANCELLED = 130
    """SIGINT or SIGTERM: 128 + SIGINT, as shells report it."""
    BROKEN_PIPE = 141
    """The reader of standard output has exited: 128 + SIGPIPE, as shells report it."""


EXIT_CODES = {
    ExitCode.PASSED: "the run passed or was not gated, or the command succeeded",
    ExitCode.FAILED: "the run failed, or a check found a problem",
    ExitCode.INVALID_INPUT: "usage, configuration, suite or plug-in error, a judge is missing, or nothing to run",
    ExitCode.INCONCLUSIVE: "inconclusive: sessions could not be judged, or results could not be written",
    ExitCode.CANCELLED: "cancelled by SIGINT or SIGTERM; results so far are reported",
    ExitCode.INTERNAL_ERROR: "internal error; please report it, and attach the file that the message names",
    ExitCode.BROKEN_PIPE: "the reader of standard output has exited; a run still finishes and writes its reports",
}
"""The meanings in ``--help`` and in the documentation, in that order."""
