"""What a run shows while it runs: progress and problems on stderr, output for machines on stdout.

The run continues if progress can no longer be written, for example because the reader has exited: results and exit code
are still wanted.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from skillgym_action.text.escaping import terminal_line, terminal_text
from skillgym_action.text.words import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TextIO

    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import Result
    from skillgym_action.model.suite import BenchmarkSuite
    from skillgym_action.reports.terminal.job_log import JobLog
    from skillgym_action.reports.terminal.live import LiveTable
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.text.redaction import Redactor


class Terminal:
    """Shows a run: a live table on a terminal, else one line per finished execution; nothing if ``quiet``.

    ``log``: in a job, where each finished execution is a group.
    """

    def __init__(self, *, redactor: Redactor, color: bool, quiet: bool, live: bool, log: JobLog | None = None) -> None:
        self.color, self.quiet, self.live, self.log = color, quiet, live, log
        self._redactor = redactor
        self._lock = threading.Lock()
        self._done = self._total = 0
        self._table: LiveTable | None = None
        self._warned: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._table:
            with suppress(OSError):
                self._table.__exit__(*error)
            self._table = None

    def planned(self, total: int) -> None:
        self.__exit__(None, None, None)
        self._done, self._total = 0, total
        if self.live and not self.quiet and total:
            from skillgym_action.reports.terminal.live import LiveTable

            with suppress(OSError):
                self._table = LiveTable(total, color=self.color).__enter__()

    def started(self, execution: Execution) -> None:
        if self._table:
            self._table.started(execution)

    def finished(self, result: Result) -> None:
        if result.findings and not self.quiet:
            self._warn_of_environment(result)
        if self._table:
            self._table.finished(result)
            return
        from skillgym_action.reports.terminal.terminal import finished_line

        with self._lock:
            self._done += 1
            if self.quiet:
                return
            if self.log:
                self._write(self.log.finished(result, self._done, self._total))
            else:
                self.progress(finished_line(result, self._done, self._total, color=self.color))

    def _warn_of_environment(self, result: Result) -> None:
        """Show each warning about the environment of a runner's sessions once, when it is first known."""
        from skillgym_action.reports.wording.results import environment_warnings

        with self._lock:
            lines = [line for line in environment_warnings(result) if line not in self._warned]
            self._warned.update(lines)
            for line in lines:
                if self._table:
                    self._table.note(line)
                else:
                    self.progress(line)

    def detail(self, line: str) -> None:
        if self.log and (text := self.log.detail(self._redactor.text(line))):
            self._write(text)

    @property
    def has_finished(self) -> bool:
        """Whether an execution has been shown."""
        return self._done > 0

    def progress(self, line: str) -> None:
        """Write a line to stderr."""
        self._write(line + "\n")

    def show(self, pieces: Iterable[str]) -> None:
        """Close the live table and write the result of the run to stderr."""
        self.__exit__(None, None, None)
        self._write("".join(pieces))

    def write_line(self, line: str) -> None:
        """Write a line to stdout; the caller has escaped it. Raises OSError."""
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def print_text(self, text: str) -> None:
        """Write lines to stdout, redacted; the caller has escaped them. Raises OSError."""
        sys.stdout.write(self._redactor.text(text))
        sys.stdout.flush()

    def _write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(self._redactor.text(text))
            sys.stderr.flush()

    def untrusted(self, text: str) -> None:
        """Write text of an agent to stderr, escaped so that no line of it is a workflow command."""
        for line in text.splitlines():
            self.progress("    " + terminal_text(line))


class QuietTerminal:
    """Passes on what people should read; statuses of sessions would mislead, since most are meant to fail."""

    def __init__(self, terminal: Terminal) -> None:
        self.progress, self.detail, self.write_line = terminal.progress, terminal.detail, terminal.write_line

    def planned(self, total: int) -> None:
        """Show nothing."""

    def started(self, execution: Execution) -> None:
        """Show nothing."""

    def finished(self, result: Result) -> None:
        """Show nothing."""


def is_colored(stream: TextIO, environment: Mapping[str, str]) -> bool:
    """Whether a stream gets colors: not with NO_COLOR; with FORCE_COLOR, unless it is 0, also if it is no terminal."""
    if environment.get("NO_COLOR"):
        return False
    return environment.get("FORCE_COLOR", "") not in ("", "0") or stream.isatty()


def terminal_for(settings: Settings, context: LaunchContext) -> Terminal:
    """The terminal of this process, as settings want it."""
    return Terminal(
        redactor=context.redactor,
        color=not settings.no_color,
        quiet=settings.quiet,
        live=sys.stderr.isatty(),
        log=_job_log(settings) if context.job else None,
    )


def show_configuration(terminal: Terminal, settings: Settings, context: LaunchContext, config: Config) -> None:
    """Name the configuration file if users may not expect that it was found."""
    from skillgym_action.settings.configuration_file import configuration_elsewhere  # imported late: it is slow

    shown = configuration_elsewhere(settings, context, config)
    if shown and not settings.quiet:
        terminal.progress(f"configuration: {terminal_line(shown)}")


def _job_log(settings: Settings) -> JobLog:
    from skillgym_action.reports.terminal.job_log import JobLog  # imported late: only jobs need it

    return JobLog(verbose=settings.verbose)


Found = tuple[str, "Problem"]
"""The path of a suite, and a problem of it."""


def suite_errors(suites: Iterable[BenchmarkSuite]) -> Iterator[Found]:
    """What keeps suites, cases and runners of suites from being used."""
    for suite in suites:
        yield from ((suite.path, invalid.problem) for invalid in suite.invalid)
        yield from ((suite.path, runner.problem) for runner in suite.runners if runner.problem)


def suite_warnings(suites: Iterable[BenchmarkSuite]) -> Iterator[Found]:
    """What is dubious in suites."""
    return ((suite.path, warning) for suite in suites for warning in suite.warnings)


def once(found: Iterable[Found]) -> tuple[Problem, ...]:
    """Each problem once: many suites may have it from the same file."""
    return tuple(dict.fromkeys(problem for _, problem in found))


def gathered(found: Iterable[Found]) -> Iterator[Problem]:
    """Each problem once, in order. One in a file that suites share, such as ``targets.yaml``, names the suites."""
    groups: dict[Problem, list[str]] = {}
    for suite, problem in found:
        groups.setdefault(problem, []).append(suite)
    for problem, paths in groups.items():
        in_own_file = problem.location is None or problem.location.path in paths
        suites = [] if in_own_file else list(dict.fromkeys(path for path in paths if path))
        words = f" (suite{'s' if len(suites) > 1 else ''} {listed(suites)})" if suites else ""
        yield replace(problem, message=problem.message + words)
