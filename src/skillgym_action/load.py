"""Stage: suite files -> suites. A file that cannot be used becomes an invalid suite: reported, never dropped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.domain import Invalid, Suite, WorkspaceSpec
from skillgym_action.errors import Location, Problem, SkillgymError, SuiteError
from skillgym_action.formats import format_named
from skillgym_action.runners import usable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.discover import Found
    from skillgym_action.effects.suite_host import SuiteHosts
    from skillgym_action.options import LoadOptions

LARGEST = 32 * 1024 * 1024


@dataclass(frozen=True)
class Source:
    """A suite file as formats see it; fulfils ``formats.SuiteFile``."""

    path: str
    file: Path
    hosts: SuiteHosts
    environment: Mapping[str, str]
    agentv_compat: bool = False

    @cached_property
    def _content(self) -> bytes:
        try:
            if (size := self.file.stat().st_size) > LARGEST:
                raise self._error(f"the file has {size:,} bytes; suites have at most {LARGEST:,}")
            return self.file.read_bytes()
        except OSError as error:
            raise self._error(f"cannot be read: {error.strerror}") from error

    def text(self) -> str:
        """The content, with a line feed as the only line end."""
        try:
            text = self._content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._error(f"not UTF-8 at byte {error.start}", remedy="save the file as UTF-8") from error
        return text.replace("\r\n", "\n").replace("\r", "\n")

    def digest(self) -> str | None:
        """SHA-256 of the content; None for what cannot be read."""
        try:
            return sha256(self._content).hexdigest()
        except SuiteError:
            return None

    def program(self) -> dict[str, object]:
        """The cases of a suite program, as data."""
        return self.hosts.load(self.file)

    def _error(self, message: str, remedy: str | None = None) -> SkillgymError:
        return SuiteError.of(Problem(message=message, location=Location(path=self.path), remedy=remedy))


def load(found: Iterable[Found], hosts: SuiteHosts, options: LoadOptions) -> tuple[Suite, ...]:
    """One suite per file, in the same order; names are made unique by their paths."""
    environment, compat = options.environment, options.agentv_compat
    suites = [
        _suite(one, Source(path=one.path, file=one.file, hosts=hosts, environment=environment, agentv_compat=compat))
        for one in found
    ]
    suites = [
        replace(
            suite,
            workspace=_workspace(suite.workspace, options),
            runners=tuple(usable(runner, suite.path, environment) for runner in suite.runners),
        )
        for suite in suites
    ]
    names = Counter(suite.name for suite in suites)
    return tuple(replace(suite, name=suite.path) if names[suite.name] > 1 else suite for suite in suites)


def _suite(found: Found, source: Source) -> Suite:
    try:
        return replace(format_named(found.format).suite(source), digest=source.digest())
    except SuiteError as error:
        invalid = tuple(Invalid(problem=problem) for problem in error.problems)
        return Suite(
            path=found.path,
            file=found.file,
            name=found.path,
            format=found.format,
            invalid=invalid,
            digest=source.digest(),
        )


def _workspace(said: WorkspaceSpec, options: LoadOptions) -> WorkspaceSpec:
    wanted = options.workspace if said == WorkspaceSpec() else said
    return replace(wanted, cwd=options.cwd) if wanted.mode == "none" and wanted.cwd is None else wanted
