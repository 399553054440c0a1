"""Entry points. The only module that turns exceptions into messages and exit codes."""

from __future__ import annotations

import sys

try:  # all imports: the program may be cancelled as soon as it starts
    import gc
    import io
    import os
    import signal
    from contextlib import suppress
    from types import MappingProxyType

    from skillgym_action.cli import process_protection
    from skillgym_action.model.exit_codes import ExitCode
    from skillgym_action.model.version import __version__
except KeyboardInterrupt:
    sys.stderr.write("cancelled\n")
    raise SystemExit(130) from None  # `ExitCode.CANCELLED`

TYPE_CHECKING = False  # this module is imported twice at each start, and typing is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

    from skillgym_action.model.report import RunWithoutReport
    from skillgym_action.settings.configuration import ReportSection

    Publish = Callable[[RunWithoutReport, Mapping[str, str]], None]

NOT_ON_WINDOWS = "error: skillgym-action runs on Linux and macOS, not on Windows; use WSL, or another runs-on"
NOTHING: Mapping[str, str] = MappingProxyType({})


class _StandardOutput(io.FileIO):
    """Standard output; it remembers the error of a write, which buffers above it would lose at exit."""

    error: OSError | None = None

    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            _StandardOutput.error = error
            raise


class _Interrupt:
    """Raises KeyboardInterrupt, and remembers it: while pydantic builds a model, it raises its own error instead."""

    came = False

    @staticmethod
    def handle(_number: int, _frame: object) -> None:
        _Interrupt.came = True
        raise KeyboardInterrupt


def main() -> None:
    """Entry point of the command line."""
    if sys.argv[1:] == ["--version"]:  # answered at once: nothing is read, not even the environment
        _open_standard_streams()
        with suppress(OSError):  # `_leave` reports it
            print(f"skillgym-action, version {__version__}")  # noqa: T201
        _leave(ExitCode.PASSED)

    def program(environment: Mapping[str, str]) -> int:
        if instruction := environment.get(process_protection.COMPLETION):
            from skillgym_action.cli.shell_words import complete

            return complete(instruction, environment)
        from skillgym_action.cli.arguments import cli

        return int(cli(standalone_mode=False, obj=environment) or 0)

    def publish(end: RunWithoutReport, environment: Mapping[str, str]) -> None:
        if sys.argv[1:2] == ["check"]:
            from skillgym_action.cli.job_annotations import annotate_check

            annotate_check(end, environment)

    _leave(exit_code(program, publish))


def action() -> None:
    """Entry point of the GitHub action, which takes inputs in place of options."""
    sections: list[ReportSection] = []

    def program(environment: Mapping[str, str]) -> int:
        from skillgym_action.cli.action.inputs import run_action

        return run_action(environment, sections.append)

    def with_inputs(environment: Mapping[str, str]) -> Mapping[str, str]:
        from skillgym_action.cli.action import inputs as action_inputs

        return action_inputs.with_inputs(environment)

    def publish(end: RunWithoutReport, environment: Mapping[str, str]) -> None:
        from skillgym_action.cli.action.run_without_report import publish_run_without_report

        publish_run_without_report(end, environment, sections)

    _leave(exit_code(program, publish, with_inputs))


def exit_code(
    program: Callable[[Mapping[str, str]], int],
    publish: Publish = lambda _end, _environment: None,
    with_inputs: Callable[[Mapping[str, str]], Mapping[str, str]] = dict,
) -> int:
    """What ``program`` returns for the environment; an error becomes its message on stderr and its exit code.

    ``publish`` gets every such end, to write it where it is read besides the log. ``with_inputs`` is applied to the
    environment first, and again if it is interrupted.

    This process is executed again first: ``os.environ`` has no secret from then on, and only ``program`` gets any.
    """
    if sys.platform == "win32":
        print(NOT_ON_WINDOWS, file=sys.stderr)  # noqa: T201
        return ExitCode.INVALID_INPUT
    environment: dict[str, str] = {}  # set as soon as it is read, so that its secrets are redacted in messages
    gc.disable()  # imports create many objects and hardly any garbage; `wiring.open_services` enables it
    try:
        read_environment = process_protection.begin()
        try:
            signal.signal(signal.SIGTERM, _Interrupt.handle)  # until `wiring.open_services` sets its own
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it was ignored before
                signal.signal(signal.SIGINT, _Interrupt.handle)
            _open_standard_streams()
            environment = read_environment()  # it can be read once, so no signal is heeded before
            process_protection.heed_signals()
            environment = dict(with_inputs(environment))
            return program(MappingProxyType(environment))
        except KeyboardInterrupt:
            _ignore_signals()
            with suppress(Exception):  # cancelled while inputs were added
                environment = dict(with_inputs(environment))
            raise
    except (Exception, KeyboardInterrupt, SystemExit) as error:  # noqa: BLE001 -- whatever ends the tool has a message
        _ignore_signals()
        if cancelled := isinstance(error, KeyboardInterrupt):
            _print_line("cancelled")  # before anything is imported, since it may be an import that was interrupted
        if cancelled or _Interrupt.came:
            _forget_interrupted_imports()
        printed = None if cancelled else _printed_end(error, environment)
        try:
            end = printed or _cancelled_end()
            publish(end, MappingProxyType(environment))
        except Exception as trouble:  # noqa: BLE001 -- the exit code does not depend on what is published
            with suppress(Exception):  # what prints it was not imported either
                _print_error(f"note: this end could not be published: {trouble!r}", environment)
        return printed.exit_code if printed else ExitCode.CANCELLED


def _ignore_signals() -> None:
    """Ignore further signals, but while the end is published, where they shorten that."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _forget_interrupted_imports() -> None:
    """Forget the modules of packages whose import was interrupted, so that these packages can be imported again.

    Python forgets only the package itself. Imported again, it would not have the remaining modules as attributes.
    Modules in machine code stay: most of them can be initialized only once.
    """
    for name, module in tuple(sys.modules.items()):
        package, dot, _ = name.partition(".")
        if dot and package not in sys.modules and getattr(module, "__file__", "").endswith(".py"):
            del sys.modules[name]


def _cancelled_end() -> RunWithoutReport:
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.report import RunWithoutReport

    return RunWithoutReport(exit_code=ExitCode.CANCELLED, problems=(Problem(message="cancelled"),))


def _printed_end(error: BaseException, environment: Mapping[str, str]) -> RunWithoutReport:
    """The end of the tool by an error, whose message is printed."""
    import click

    from skillgym_action.model.errors import Problem, SkillgymError
    from skillgym_action.model.report import RunWithoutReport

    def printed(code: int, message: str) -> RunWithoutReport:
        _print_error(message, environment)
        return RunWithoutReport(exit_code=code, problems=(Problem(message=message.removeprefix("error: ")),))

    if isinstance(error, SkillgymError):
        for warning in error.warnings:
            _print_error(f"warning: {warning}", environment)
        for problem in error.problems:
            _print_error(f"error: {problem}", environment)
        return RunWithoutReport(exit_code=error.exit_code, problems=error.problems, reported=error.reported)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        with suppress(OSError, ValueError):
            error.show()
        return RunWithoutReport(exit_code=error.exit_code, problems=(Problem(message="no command is named"),))
    if isinstance(error, click.ClickException):
        from skillgym_action.cli.help.usage_errors import usage_message

        return printed(error.exit_code, f"error: {usage_message(error)}")
    if isinstance(error, click.Abort):
        return printed(ExitCode.CANCELLED, "cancelled")
    if isinstance(error, OSError | SystemExit):  # click and rich exit when the reader has closed stdout
        code = _output_error()
        if code or isinstance(error, SystemExit):
            problem = Problem(message="standard output cannot be written")
            return RunWithoutReport(exit_code=code or ExitCode.BROKEN_PIPE, problems=(problem,))
    came = _Interrupt.came
    message = "cancelled" if came else f"internal error: please report it with {_error_log(environment)}"
    return printed(ExitCode.CANCELLED if came else ExitCode.INTERNAL_ERROR, message)


def _open_standard_streams() -> None:
    """Open ``/dev/null`` where a standard stream is closed: the next file opened would get its descriptor otherwise."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None or sys.stdout is sys.__stdout__:
        output = _StandardOutput(1, "w", closefd=False)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(output), "utf-8", "replace", line_buffering=os.isatty(1))
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115 -- open until the process ends


def _output_error() -> int:
    """The exit code if standard output could not be written, else 0; prints why, unless the reader has closed it."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    error = _StandardOutput.error
    if error is None or isinstance(error, BrokenPipeError):
        return ExitCode.BROKEN_PIPE if error else ExitCode.PASSED
    _print_error(f"error: cannot write standard output: {error.strerror}")
    return ExitCode.INCONCLUSIVE


def _leave(code: int) -> NoReturn:
    """End the process at once: all adapters are closed, and the interpreter's own shutdown would only take time."""
    output_error = _output_error()
    code = code or output_error
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code)


def _print_error(message: str, environment: Mapping[str, str] = NOTHING) -> None:
    from skillgym_action.text.escaping import terminal_text
    from skillgym_action.text.redaction import Redactor

    # Redacted before escaping, which may change the characters of a secret, and after it, which may produce one.
    redacted = Redactor.of_environment(environment).text
    _print_line(redacted("\n".join(map(terminal_text, redacted(message).splitlines()))))


def _print_line(text: str) -> None:
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr, flush=True)  # noqa: T201


def _error_log(environment: Mapping[str, str]) -> str:
    """Write the traceback to a file; its path.

    It is beside the run directories, which outlive the action's container, or else in the temporary folder.
    """
    import tempfile
    import traceback
    from pathlib import Path

    from skillgym_action.text.redaction import Redactor

    text = Redactor.of_environment(environment).text(traceback.format_exc())
    for folder in (Path(".skillgym-results"), Path(tempfile.gettempdir())):
        if folder.is_symlink():
            continue
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=folder, prefix="bug-", suffix=".log", delete=False) as file:
                file.write(text.encode(errors="backslashreplace").decode())
        except OSError:
            continue
        return file.name
    return "what it printed"


if __name__ == "__main__":
    main()
