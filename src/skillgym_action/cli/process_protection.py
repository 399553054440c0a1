"""The start of the tool's process: keeps secrets out of ``/proc/PID/environ`` and other processes out of its memory.

Linux shows the environment that a program was started with for as long as it runs, even if the program changes it.
Hence the environment is written to a memory file, and the program executes itself with a few harmless variables.
Imported before anything else, in a process that ends a moment later, so this module imports little.
"""

from __future__ import annotations

import errno
import os
import sys

from skillgym_action.system.supervisor.prctl import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PASSED_ON = "SKILLGYM_BARE_START"  # "DESCRIPTOR:MARK"; the file behind the descriptor begins with the mark
NO_ROOM = frozenset({errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC})

COMPLETION = "_SKILLGYM_ACTION_COMPLETE"  # set by shells that ask for a completion

# Variables that libraries read from os.environ at any time.
LASTING = frozenset(
    {
        "PATH",
        *("LANG", "LANGUAGE", "TZ", "TZDIR"),
        *("TMPDIR", "TEMP", "TMP"),
        *("TERM", "COLORTERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"),
        *(COMPLETION, "COMP_WORDS", "COMP_CWORD"),
        *("OPENSSL_CONF", "OPENSSL_MODULES"),
    }
)
LOCALE = "LC_"
# Variables that the dynamic loader and Python read once, at their start; HOME is needed to find user packages.
STARTING = frozenset(
    {
        *("LD_LIBRARY_PATH", "LD_PRELOAD", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "HOME"),
        *("PYTHONHOME", "PYTHONPATH", "PYTHONPLATLIBDIR", "PYTHONSAFEPATH", "PYTHONNOUSERSITE", "PYTHONUSERBASE"),
        *("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONIOENCODING"),
        *("PYTHONCOERCECLOCALE", "PYTHONWARNINGS", "PYTHONDEVMODE", "PYTHONHASHSEED", "PYTHONFAULTHANDLER"),
        *("PYTHONMALLOC", "PYTHONTRACEMALLOC", "PYTHONPROFILEIMPORTTIME", "PYTHONOPTIMIZE", "PYTHONBREAKPOINT"),
    }
)
# Set unless the user sets it: installed plug-ins of pydantic must not run in the tool.
DEFAULTS = {"PYDANTIC_DISABLE_PLUGINS": "__all__"}


def begin() -> Callable[[], dict[str, str]]:
    """Execute this program again with a bare environment; in the second start, protect the process from others.

    Returns a function that reads the environment of the first start, to be called once; it raises UsageError, or
    OutputError if there was no space for it. Until then no secret is in the memory of this process, or of one that it
    forks. SIGINT and SIGTERM are blocked until ``heed_signals``.

    Under a debugger, or where Python is embedded in another program, the program is not executed again: then
    ``os.environ`` is emptied, and nothing else is done.
    """
    passed_on = os.environ.pop(PASSED_ON, None)
    prevented = _execute_again() if passed_on is None and sys.executable and sys.gettrace() is None else None
    _close_to_others()
    settings = dict(os.environ)
    for name in settings:
        if not _is_lasting(name):
            del os.environ[name]
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    os.environ.update(_absolute_path(os.environ))
    return lambda: _environment(settings, passed_on, prevented)


def bare_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of the second start; one of them names a file with the whole ``environment``. Raises OSError."""
    starting = frozenset[str]() if sys.flags.isolated else STARTING
    bare = {name: value for name, value in environment.items() if name in starting or _is_lasting(name)}
    mark = os.urandom(8).hex()
    content = b"\0".join([mark.encode(), *(os.fsencode(f"{name}={value}") for name, value in environment.items())])
    return {**bare, PASSED_ON: f"{_stored(content)}:{mark}"}


def heed_signals() -> None:
    """Unblock SIGINT and SIGTERM; one that came in the meantime is handled now."""
    from signal import SIG_UNBLOCK, SIGINT, SIGTERM, pthread_sigmask

    pthread_sigmask(SIG_UNBLOCK, {SIGINT, SIGTERM})


def _is_lasting(name: str) -> bool:
    return name in LASTING or name in DEFAULTS or name.startswith(LOCALE)


def _execute_again() -> OSError:
    """Returns only if it fails: the error."""
    from signal import SIG_BLOCK, SIGINT, SIGTERM, pthread_sigmask

    pthread_sigmask(SIG_BLOCK, {SIGINT, SIGTERM})  # else they could end the new program before it has handlers
    try:
        bare = bare_environment(os.environ)
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], bare)  # noqa: S606 -- it is this program again
    except OSError as error:
        return error


def _stored(content: bytes) -> int:
    """Store ``content``; a descriptor above 2 of the file, which the next program inherits. Raises OSError."""
    from fcntl import F_DUPFD, fcntl

    with open(_memory_file(), "wb", buffering=0) as file:
        left = memoryview(content)
        while left:
            left = left[file.write(left) :]
        return fcntl(file, F_DUPFD, 3)


def _memory_file() -> int:
    """A descriptor of a new file without a name, in memory if the system can do that. Raises OSError."""
    if sys.platform == "linux":
        try:
            return os.memfd_create("environment")
        except (AttributeError, OSError):
            pass
    from tempfile import TemporaryFile

    with TemporaryFile() as file:
        return os.dup(file.fileno())


def _environment(settings: dict[str, str], passed_on: str | None, prevented: OSError | None) -> dict[str, str]:
    """The environment of the first start. Raises UsageError, OutputError."""
    if passed_on is not None:
        received = _received(passed_on)
        return {**received, **_absolute_path(received)}
    if prevented:
        from skillgym_action.model.errors import OutputError, UsageError

        what = f"cannot start without secrets in the environment: {prevented}"
        kind = OutputError if prevented.errno in NO_ROOM else UsageError
        raise kind(what, remedy="check the Python installation and the space in the temporary folder")
    return {**settings, **_absolute_path(settings)}


def _absolute_path(environment: Mapping[str, str]) -> dict[str, str]:
    """PATH without relative folders: in a checkout, a commit could put programs there."""
    if "PATH" not in environment:
        return {}
    absolute = [folder for folder in environment["PATH"].split(os.pathsep) if os.path.isabs(folder)]
    return {"PATH": os.pathsep.join(absolute) or os.defpath}


def _received(passed_on: str) -> dict[str, str]:
    """The environment that the first start stored. Raises UsageError if the descriptor is another file's."""
    descriptor, _, mark = passed_on.partition(":")
    try:
        content = _content(int(descriptor))
    except (OSError, ValueError, OverflowError):
        content = b""
    first, *variables = content.split(b"\0")
    if not mark or first != mark.encode():
        from skillgym_action.model.errors import UsageError

        raise UsageError(f"{PASSED_ON} is set, and not by this program", remedy="unset it")
    os.close(int(descriptor))
    pairs = (os.fsdecode(variable).partition("=") for variable in variables)
    return {name: value for name, _, value in pairs}


def _content(descriptor: int) -> bytes:
    """The content of a regular file without a name that this user owns; b"" of any other file. Raises OSError."""
    import stat

    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink or found.st_uid != os.geteuid():
        return b""
    return os.pread(descriptor, found.st_size, 0)


def _close_to_others() -> None:
    """On Linux: forbid other processes to read this one, and what it starts to gain rights through setuid files."""
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
