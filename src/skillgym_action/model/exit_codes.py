"""All exit codes of the program. Apart from ``errors``, since the entry point needs them before anything else."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes, as docs/reference/command-line.md lists them."""

    PASSED = 0
    """The gate passed the run, or the command succeeded."""
    FAILED = 1
    """The gate failed the run."""
    INVALID_INPUT = 2
    """An option, an action input, the configuration or a suite file is invalid, or no suite was found."""
    INCONCLUSIVE = 3
    """The run could not be judged, or a result could not be written."""
    INTERNAL_ERROR = 70
    """A bug in skillgym-action; EX_SOFTWARE in sysexits.h."""
    CANCELLED = 130
    """SIGINT or SIGTERM: 128 + SIGINT, as shells report it."""
    BROKEN_PIPE = 141
    """The reader of standard output has exited: 128 + SIGPIPE, as shells report it."""
