"""Stage: suite files -> suites. A file that cannot be used becomes an invalid suite: reported, never dropped."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.documents.user_files import decoded, read_bytes, resolved
from skillgym_action.formats import format_named
from skillgym_action.limits import MAX_PYTHON_SUITE_BYTES, MAX_SCRIPT_SUITE_BYTES, MAX_SUITE_PROGRAMS_AT_ONCE
from skillgym_action.model.errors import Location, SuiteError
from skillgym_action.model.suite import Invalid, Suite, WorkspaceSpec
from skillgym_action.settings.runners import usable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.documents.user_files import Opener
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.suite import FoundSuite
    from skillgym_action.repository.checkout import Checkout
    from skillgym_action.settings.options import LoadOptions
    from skillgym_action.suite_hosts.suite_host import SuiteHosts

PROGRAM_FORMATS = frozenset({"python", "typescript"})  # formats whose suites run in processes of their own


@dataclass(frozen=True)
class SuiteFileAccess:
    """A suite file as formats see it; fulfils ``formats.SuiteFile``."""

    path: str
    file: Path
    hosts: SuiteHosts
    environment: Mapping[str, str]
    agentv_compat: bool = False
    checkout: Checkout | None = None

    @cached_property
    def opener(self) -> Opener | None:
        """What opens the suite's files; None: no checkout is known, and every path is trusted."""
        return self.checkout.opener(self.file) if self.checkout else None

    def refusal(self, folder: Path) -> str | None:
        """Why no workspace may be a copy of that folder, where it is the checkout's or a suite of the checkout's."""
        checkout = self._concerned(folder)
        return checkout.template_refusal(folder) if checkout else None

    def refusal_in_place(self, folder: Path) -> str | None:
        """Why no agent may work in that folder itself, in the same cases. Links that stay in the checkout may."""
        checkout = self._concerned(folder)
        return checkout.refusal(folder, follow=True) if checkout else None

    def _concerned(self, folder: Path) -> Checkout | None:
        """The checkout, where the folder or the suite is its."""
        checkout = self.checkout
        return checkout if checkout and (checkout.contains(self.file) or checkout.contains(folder)) else None

    @cached_property
    def _content(self) -> bytes:
        return read_bytes(self.file, path=self.path, error=SuiteError, opener=self.opener)

    def text(self) -> str:
        """The content, with a line feed as the only line end."""
        return decoded(self._content, path=self.path, error=SuiteError)

    def digest(self) -> str | None:
        """SHA-256 of the content; None for what cannot be read."""
        try:
            return sha256(self._content).hexdigest()
        except SuiteError:
            return None

    def program(self) -> dict[str, object]:
        """The cases of a suite program, as data."""
        largest = MAX_PYTHON_SUITE_BYTES if self.file.suffix.lower() == ".py" else MAX_SCRIPT_SUITE_BYTES
        read_bytes(self.file, path=self.path, error=SuiteError, largest=largest, opener=self.opener)
        return self.hosts.load(self.file)


def load(
    found: Iterable[FoundSuite],
    hosts: SuiteHosts,
    options: LoadOptions,
    checkout: Checkout | None = None,
    *,
    directory: Callable[[Path], Path] = resolved,
) -> tuple[Suite, ...]:
    """One suite per file, in the same order; names are made unique by their paths.

    Without ``checkout`` every path is trusted. ``directory``: where agents work that are to work at a path.

    Once cancelled, nothing is loaded any more: a suite that was cut off would look invalid.
    """
    environment, compat = options.environment, options.agentv_compat

    def loaded(one: FoundSuite) -> Suite | None:
        if hosts.cancelled:
            return None
        source = SuiteFileAccess(one.path, one.file, hosts, environment, compat, checkout)
        suite = _suite(one, source)
        return None if hosts.cancelled else suite

    suites = [_with_places(suite, options, directory) for suite in _each(loaded, tuple(found)) if suite]
    names = Counter(suite.name for suite in suites)
    return tuple(replace(suite, name=suite.path) if names[suite.name] > 1 else suite for suite in suites)


def load_digests(
    found: Iterable[FoundSuite], hosts: SuiteHosts, options: LoadOptions, checkout: Checkout | None = None
) -> tuple[Suite, ...]:
    """Suites to compute digests of; no suite program is loaded, hence those that are programs have no cases."""
    found = tuple(found)
    read = (one for one in found if one.format not in PROGRAM_FORMATS)
    loaded = {suite.path: suite for suite in load(read, hosts, options, checkout)}
    sources = (
        SuiteFileAccess(path=one.path, file=one.file, hosts=hosts, environment={}, checkout=checkout) for one in found
    )
    return tuple(
        loaded.get(source.path)
        or Suite(path=source.path, file=source.file, name=source.path, format="", digest=source.digest())
        for source in sources
    )


def _each(loaded: Callable[[FoundSuite], Suite | None], found: tuple[FoundSuite, ...]) -> Iterator[Suite | None]:
    """What becomes of each, in order. Programs are waited for together: one that hangs holds up few others."""
    if sum(one.format in PROGRAM_FORMATS for one in found) <= 1:
        yield from map(loaded, found)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MAX_SUITE_PROGRAMS_AT_ONCE, thread_name_prefix="load") as pool:
        yield from pool.map(loaded, found)


def _suite(found: FoundSuite, source: SuiteFileAccess) -> Suite:
    try:
        suite = format_named(found.format).suite(source)
        invalid = tuple(replace(one, problem=_placed(one.problem, found)) for one in suite.invalid)
        return replace(suite, invalid=invalid, digest=source.digest())
    except SuiteError as error:
        invalid = tuple(Invalid(problem=_placed(problem, found)) for problem in error.problems)
        return Suite(
            path=found.path,
            file=found.file,
            name=found.path,
            format=found.format,
            invalid=invalid,
            digest=source.digest(),
        )


def _placed(problem: Problem, found: FoundSuite) -> Problem:
    return problem if problem.location else replace(problem, location=Location(path=found.path))


def _with_places(suite: Suite, options: LoadOptions, directory: Callable[[Path], Path]) -> Suite:
    """The suite, with the directories that agents work in. Links on the way are followed here, and never again."""

    def in_place(said: WorkspaceSpec) -> WorkspaceSpec:
        return replace(said, cwd=directory(said.cwd)) if said.cwd else said

    def at_its_place(runner: Runner) -> Runner:
        cwd = runner.agent.cwd
        return replace(runner, agent=replace(runner.agent, cwd=directory(cwd))) if cwd else runner

    return replace(
        suite,
        workspace=in_place(_workspace(suite.workspace, options)),
        cases=tuple(
            replace(case, workspace=in_place(case.workspace)) if case.workspace else case for case in suite.cases
        ),
        runners=tuple(usable(at_its_place(runner), suite.path, options.environment) for runner in suite.runners),
    )


def _workspace(said: WorkspaceSpec, options: LoadOptions) -> WorkspaceSpec:
    """Limits alone say nothing of the place."""
    silent = said == WorkspaceSpec(limits=said.limits)
    wanted = replace(options.workspace, limits=said.limits) if silent else said
    return replace(wanted, cwd=options.cwd) if wanted.mode == "none" and wanted.cwd is None else wanted
