"""Entry points. The only place that catches errors and makes exit codes of them."""

from __future__ import annotations

import gc
import io
import os
import signal
import sys
from contextlib import suppress
from types import MappingProxyType

from skillgym_action.cli import hardening
from skillgym_action.model.exit_codes import ExitCode

TYPE_CHECKING = False  # this module is imported twice at each start, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

NOTHING: Mapping[str, str] = MappingProxyType({})


class _Answers(io.FileIO):
    """Standard output, which remembers what kept it from being written, since buffers do not."""

    trouble: OSError | None = None

    def write(self, content: Any, /) -> int:
        """As any file."""
        try:
            return super().write(content)
        except OSError as error:
            _Answers.trouble = error
            raise


def main() -> None:
    """The command line."""

    def program(environment: Mapping[str, str]) -> int:
        from skillgym_action.cli.arguments import cli

        return int(cli(standalone_mode=False, obj=environment) or 0)

    _leave(exit_code(program))


def action() -> None:
    """The GitHub action: the command line with inputs for options."""

    def program(environment: Mapping[str, str]) -> int:
        from skillgym_action.cli.action_inputs import run_action

        return run_action(environment)

    _leave(exit_code(program))


def exit_code(program: Callable[[Mapping[str, str]], int]) -> int:
    """What ``program`` returns for the environment; an error becomes its message on stderr and its exit code.

    This process is executed again first: ``os.environ`` has no secret from then on, and only ``program`` gets any.
    """
    environment: dict[str, str] = {}  # as soon as it has been read: a log must not have its secrets
    gc.disable()  # imports make a great many objects and no garbage; `composition.opened` enables it again
    try:
        read_environment = hardening.begin()

        def run() -> int:
            environment.update(read_environment())
            return program(MappingProxyType(environment))

        signal.signal(signal.SIGTERM, signal.default_int_handler)  # until `composition.opened` has more to say
        hardening.heed_signals()
        _take_places()
        return _told(run, environment)
    except KeyboardInterrupt:
        _say("cancelled")
        return ExitCode.CANCELLED
    except SystemExit:  # what click and rich do when a reader has gone
        return _unwritten() or ExitCode.BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 -- the last catcher: a bug of ours gets a log and words, not a traceback
        if isinstance(error, OSError) and (code := _unwritten()):
            return code
        _say(f"error: this is a bug in skillgym-action; please report it with {_bug_log(environment)}", environment)
        return ExitCode.INTERNAL_ERROR


def _told(program: Callable[[], int], environment: Mapping[str, str]) -> int:
    import click

    from skillgym_action.model.errors import SkillgymError

    try:
        return program()
    except SkillgymError as error:
        for problem in error.problems:
            _say(f"error: {problem}", environment)
        return error.exit_code
    except click.ClickException as error:
        with suppress(OSError, ValueError):
            error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None


def _take_places() -> None:
    """Where a standard stream was closed, no file of ours takes its place: what is meant for it leads nowhere."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        answers = _Answers(1, "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(answers), "utf-8", "replace", line_buffering=os.isatty(1))
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115 -- as long as we are there


def _unwritten() -> int:
    """The exit code where standard output does not take what was written; said, unless its reader has gone."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    trouble = _Answers.trouble
    if trouble is None or isinstance(trouble, BrokenPipeError):
        return ExitCode.BROKEN_PIPE if trouble else ExitCode.PASSED
    _say(f"error: cannot write standard output: {trouble.strerror}")
    return ExitCode.INCONCLUSIVE


def _leave(code: int) -> NoReturn:
    """Every door has been closed; to take the interpreter apart would only take time."""
    unwritten = _unwritten()
    code = code or unwritten
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _say(message: str, environment: Mapping[str, str] = NOTHING) -> None:
    from skillgym_action.text.escaping import log_line
    from skillgym_action.text.redaction import Redactor, secret_values

    within = Redactor(secret_values(environment)).text
    told = within("\n".join(map(log_line, within(message).splitlines())))
    with suppress(OSError, ValueError):
        print(told, file=sys.stderr, flush=True)  # noqa: T201


def _bug_log(environment: Mapping[str, str]) -> str:
    """Write it beside the run directories, which outlive the action's container; else in the temporary folder."""
    import tempfile
    import traceback
    from pathlib import Path

    from skillgym_action.text.redaction import Redactor, secret_values

    told = Redactor(secret_values(environment)).text(traceback.format_exc())
    for folder in (Path(".skillgym-results"), Path(tempfile.gettempdir())):
        if folder.is_symlink():
            continue
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=folder, prefix="bug-", suffix=".log", delete=False) as file:
                file.write(told.encode(errors="backslashreplace").decode())
        except OSError:
            continue
        return file.name
    return "what it printed"


if __name__ == "__main__":
    main()
