"""Stage: suite files -> suites. An invalid file becomes an invalid suite: reported, never dropped."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.model.errors import ConfigError, Location, Problem, SuiteError, UsageError
from skillgym_action.model.hooks import NO_HOOKS
from skillgym_action.model.limits import MAX_SCRIPT_SUITE_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkSuite, Invalid, SkillSettings, WorkspaceSpec
from skillgym_action.settings.arm_options import overlay_files
from skillgym_action.settings.runners import usable
from skillgym_action.suites import format_named
from skillgym_action.suites.programs.hosts.suite_host import TYPESCRIPT
from skillgym_action.text.documents.user_files import PLAIN_DIRECTORY, decoded, kind_of, read_bytes, resolved
from skillgym_action.text.words import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.arm import OverlayFile
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.suite import BenchmarkCase, FoundSuite
    from skillgym_action.settings.suite_options import LoadOptions
    from skillgym_action.suites.programs.hosts.suite_host import SuiteHosts
    from skillgym_action.system.files.checkout import Checkout
    from skillgym_action.text.documents.skill_files import SkillFiles
    from skillgym_action.text.documents.user_files import Opener

MAX_SUITE_PROGRAMS_AT_ONCE = 4  # suite programs that are loaded in parallel
MAX_PYTHON_SUITE_BYTES = 192 * 1024  # compiling a suite takes a kilobyte of memory for each byte
GRANT_TOOLS = "add the tools to plugins.allowTools of the configuration, or remove them from the case"
PROGRAM_FORMATS = frozenset({"python", "typescript"})  # all suites of these are programs, run by suite hosts


@record(slots=False)
class HeadCheckout:
    """The checkout that agents work on. ``path_of``: maps a path of the folder that suites are read from to its own.

    ``skills``: how skills under test are found; ``found``: which ones were, by folder.
    """

    checkout: Checkout | None = None
    path_of: Callable[[Path], Path] = lambda path: path
    skills: SkillSettings = field(default_factory=SkillSettings)
    found: dict[Path, tuple[Path, ...]] = field(default_factory=dict)


@record(kw_only=False, slots=False)
class SuiteFileAccess:
    """A suite file as formats get it; implements ``suites.SuiteFile``.

    ``checkout`` None: paths are not checked. ``environment``: variables that suites may refer to. ``head``: the
    checkout that agents work on; None: the same. ``read``: paths of the files that were read so far, or looked for.
    """

    path: str
    file: Path
    hosts: SuiteHosts
    environment: Mapping[str, str]
    agentv_compat: bool = False
    checkout: Checkout | None = None
    head: HeadCheckout | None = None
    parts: tuple[str, ...] = ()
    read: dict[str, None] = field(default_factory=dict)

    @cached_property
    def skills(self) -> SkillFiles:
        """Where the skills are looked for that the suite is about: in the checkout, whose skills are tested."""
        from skillgym_action.text.documents.skill_files import SkillFiles

        head = self.head or HeadCheckout(checkout=self.checkout)
        file, checkout = head.path_of(self.file), head.checkout
        if checkout is None or not checkout.contains(file):
            return SkillFiles(root=file.parent.parent, file=file, settings=head.skills, found=head.found)
        return SkillFiles(
            root=checkout.root,
            file=file,
            settings=head.skills,
            opener=checkout.opener(file),
            refusal=checkout.refusal,
            found=head.found,
        )

    @cached_property
    def opener(self) -> Opener | None:
        """The opener for files that the suite refers to; None: the default one."""
        if self.checkout is None:
            return None
        checkout, opened = self.checkout, self.checkout.opener(self.file)

        def noted(path: str | Path, flags: int) -> int:
            place = checkout.under_root(path)
            if place.is_relative_to(checkout.root):
                self.read[place.relative_to(checkout.root).as_posix()] = None
            return opened(path, flags)

        return noted

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled; then the suite is not used."""
        return self.hosts.cancelled

    def overlay(self, folder: Path, where: str) -> tuple[OverlayFile, ...]:
        """The files of a folder that an arm adds; ``where``: the key path in messages. Raises SuiteError.

        A suite of the checkout may only name folders of the checkout.
        """
        checkout = self._checkout_of(folder)
        if checkout and (refused := checkout.refusal(folder)):
            raise SuiteError(f"{where}: {refused}", remedy=PLAIN_DIRECTORY)
        try:
            return tuple(overlay_files(folder, where, self.checkout))
        except ConfigError as error:
            raise SuiteError.of(*error.problems) from error

    def refusal(self, folder: Path) -> str | None:
        """Why no workspace may be a copy of the folder; None: it may. Only checked in or for the checkout."""
        checkout = self._checkout_of(folder)
        return checkout.template_refusal(folder) if checkout else None

    def refusal_to_read(self, folder: Path) -> str | None:
        """Why the files of the folder must not be read; None: they may. Only checked in or for the checkout."""
        checkout = self._checkout_of(folder)
        return checkout.refusal(folder) if checkout else None

    def refusal_in_place(self, folder: Path) -> str | None:
        """Why no agent may work in the folder itself; None: it may. Links within the checkout are followed."""
        checkout = self._checkout_of(folder)
        return checkout.refusal(folder, follow=True) if checkout else None

    def _checkout_of(self, folder: Path) -> Checkout | None:
        """The checkout, if it contains the folder or the suite."""
        checkout = self.checkout
        return checkout if checkout and (checkout.contains(self.file) or checkout.contains(folder)) else None

    @cached_property
    def _content(self) -> bytes:
        return read_bytes(self.file, path=self.path, error=SuiteError, opener=self.opener)

    def text(self) -> str:
        """The content, with LF line ends. Raises SuiteError."""
        return decoded(self._content, path=self.path, error=SuiteError)

    def digest(self) -> str | None:
        """SHA-256 of the content; None if it cannot be read."""
        try:
            return sha256(self._content).hexdigest()
        except SuiteError:
            return None

    def program(self) -> dict[str, object]:
        """The cases of a suite program, as its host sends them. Raises SuiteError."""
        self._refuse_large_program()
        return self.hosts.load(self.file)

    def exported(self) -> dict[str, object]:
        """What a suite of AgentV in TypeScript exports, as its host sends it. Raises SuiteError."""
        self._refuse_large_program()
        return self.hosts.agentv_suite(self.file)

    def _refuse_large_program(self) -> None:
        largest = MAX_PYTHON_SUITE_BYTES if self.file.suffix.lower() == ".py" else MAX_SCRIPT_SUITE_BYTES
        read_bytes(self.file, path=self.path, error=SuiteError, largest=largest, opener=self.opener)


def load(
    found: Iterable[FoundSuite],
    hosts: SuiteHosts,
    options: LoadOptions,
    checkout: Checkout | None = None,
    *,
    directory: Callable[[Path], Path] = resolved,
    head: HeadCheckout | None = None,
) -> tuple[BenchmarkSuite, ...]:
    """One suite per file, in the same order. Suites with the same name are renamed to their paths.

    ``checkout`` None: paths are not checked. ``directory``: maps a configured working directory to the one to use.
    ``head``: the checkout that agents work on; None: ``checkout``.
    Once the run is cancelled nothing is loaded: a suite whose host was ended would look invalid.
    """
    environment, compat = options.environment, options.agentv_compat
    head = head or HeadCheckout(checkout=checkout, skills=options.skills)

    def loaded(found_suite: FoundSuite) -> BenchmarkSuite | None:
        if hosts.cancelled:
            return None
        path, file, parts = found_suite.path, found_suite.file, found_suite.parts
        source = SuiteFileAccess(path, file, hosts, environment, compat, checkout, head, parts)
        suite = _suite(found_suite, source)
        return None if hosts.cancelled else suite

    read = [_with_granted_tools(suite, options.allow_tools) for suite in _load_each(loaded, tuple(found)) if suite]
    suites = [_with_directories(suite, options, directory) for suite in read]
    if options.cwd_option:
        _refuse_other_workspaces(suites, options.cwd_option)
    names = Counter(suite.name for suite in suites)
    return tuple(replace(suite, name=suite.path) if names[suite.name] > 1 else suite for suite in suites)


def vacuous_warnings(suites: Iterable[BenchmarkSuite], checkout: Checkout) -> Iterator[Problem]:
    """A warning for each expectation that a file is absent that is not in the workspace before the agent, either.

    Only where that can be known without making the workspace. ``checkout``: the folder that agents work on.
    """
    from skillgym_action.judging.assertions.files import FileAbsent, vacuous_problem

    for suite in suites:
        for case in suite.cases:
            spec = case.workspace or suite.workspace
            folder = {"template": spec.template, "repository": checkout.root}.get(spec.source)
            if spec.mode == "none" or folder is None or spec.bootstrap or spec.hooks != NO_HOOKS:
                continue
            for assertion in case.assertions:
                if not isinstance(assertion, FileAbsent) or assertion.glob or assertion.is_named_in(case.prompt):
                    continue
                path = folder / assertion.path.rstrip("/")
                if checkout.refusal(path) is None and kind_of(path) is None:
                    yield vacuous_problem(case.id, assertion.name, case.location)


def load_digests(
    found: Iterable[FoundSuite], hosts: SuiteHosts, options: LoadOptions, checkout: Checkout | None = None
) -> tuple[BenchmarkSuite, ...]:
    """Suites for computing digests. Suite programs are not run, so their suites have no cases."""
    found = tuple(found)
    read = (file for file in found if not is_program(file))
    loaded = {suite.path: suite for suite in load(read, hosts, options, checkout)}
    sources = (
        SuiteFileAccess(path=file.path, file=file.file, hosts=hosts, environment={}, checkout=checkout)
        for file in found
    )
    return tuple(
        loaded.get(source.path)
        or BenchmarkSuite(path=source.path, file=source.file, name=source.path, format="", digest=source.digest())
        for source in sources
    )


def is_program(suite: FoundSuite | BenchmarkSuite) -> bool:
    """Whether the suite is a program, which a suite host runs to load it."""
    return suite.format in PROGRAM_FORMATS or suite.file.suffix.lower() in TYPESCRIPT


def _load_each(
    loaded: Callable[[FoundSuite], BenchmarkSuite | None], found: tuple[FoundSuite, ...]
) -> Iterator[BenchmarkSuite | None]:
    """Load each file; the suites in order. Suite programs run in parallel, since one may hang until its timeout."""
    if sum(map(is_program, found)) <= 1:
        yield from map(loaded, found)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(MAX_SUITE_PROGRAMS_AT_ONCE, thread_name_prefix="load") as pool:
        yield from pool.map(loaded, found)


def _suite(found: FoundSuite, source: SuiteFileAccess) -> BenchmarkSuite:
    try:
        suite = format_named(found.format).suite(source)
        invalid = tuple(replace(entry, problem=_located(entry.problem, found)) for entry in suite.invalid)
        digest = suite.digest or source.digest()
        return replace(suite, invalid=invalid, digest=digest, files=tuple(source.read))
    except SuiteError as error:
        invalid = tuple(Invalid(problem=_located(problem, found)) for problem in error.problems)
        return BenchmarkSuite(
            path=found.path,
            file=found.file,
            name=found.path,
            format=found.format,
            invalid=invalid,
            digest=source.digest(),
            files=tuple(source.read),
        )


def _located(problem: Problem, found: FoundSuite) -> Problem:
    return problem if problem.location else replace(problem, location=Location(path=found.path))


def _with_directories(suite: BenchmarkSuite, options: LoadOptions, directory: Callable[[Path], Path]) -> BenchmarkSuite:
    """The suite with resolved working directories. Links are followed now only, not when agents start."""

    def resolved_spec(spec: WorkspaceSpec) -> WorkspaceSpec:
        return replace(spec, cwd=directory(spec.cwd)) if spec.cwd else spec

    def resolved_case(case: BenchmarkCase) -> BenchmarkCase:
        return replace(case, workspace=_contained(resolved_spec(case.workspace), options)) if case.workspace else case

    def resolved_runner(runner: Runner) -> Runner:
        cwd = runner.agent.cwd
        return replace(runner, agent=replace(runner.agent, cwd=directory(cwd))) if cwd else runner

    def with_account(runner: Runner) -> Runner:
        return usable(resolved_runner(runner), suite.path, options.environment, options.auth)

    return replace(
        suite,
        workspace=resolved_spec(_workspace(suite.workspace, options)),
        cases=tuple(_with_threshold(resolved_case(case), options.threshold) for case in suite.cases),
        runners=tuple(map(with_account, suite.runners)),
        other_runners=tuple(map(with_account, suite.other_runners)),
    )


def _with_granted_tools(suite: BenchmarkSuite, tools: tuple[str, ...] | None) -> BenchmarkSuite:
    """The suite; cases of a plugin may use no other tools. A case that wants none of them cannot be used."""
    if tools is None or suite.format != "plugin-evals" or all(case.agent is None for case in suite.cases):
        return suite
    cases, invalid, warnings = [], list(suite.invalid), list(suite.warnings)
    for case in suite.cases:
        wanted = case.agent.allowed_tools if case.agent else ()
        refused = [tool for tool in wanted if tool not in tools]
        if refused:
            message = f"{listed(refused)} not granted to {case.id}: plugins.allowTools has {listed(tools)}"
            problem = Problem(message=message, location=case.location, key_path="allowed_tools", remedy=GRANT_TOOLS)
            if len(refused) == len(wanted):
                invalid.append(Invalid(problem=problem, case_id=case.id))
                continue
            warnings.append(problem)
        granted = tuple(tool for tool in wanted if tool in tools) or tools
        cases.append(replace(case, agent=replace(case.agent, allowed_tools=granted)) if case.agent else case)
    return replace(suite, cases=tuple(cases), invalid=tuple(invalid), warnings=tuple(warnings))


def _with_threshold(case: BenchmarkCase, threshold: float | None) -> BenchmarkCase:
    if threshold is None or not case.averaged or case.trials:  # trials are AgentV's, whose tests have their own
        return case
    return replace(case, threshold=threshold)


def _refuse_other_workspaces(suites: Iterable[BenchmarkSuite], option: str) -> None:
    """Raises UsageError for suites whose sessions get a directory of their own: ``--cwd`` would change nothing."""
    own = [
        suite.path
        for suite in suites
        if any((case.workspace or suite.workspace).mode != "none" for case in suite.cases)
    ]
    if own:
        raise UsageError(
            f"--cwd {option}: sessions of {listed(own)} get a workspace of their own",
            remedy="leave --cwd out, or name only suites that work in a directory that is there",
        )


def _contained(spec: WorkspaceSpec, options: LoadOptions) -> WorkspaceSpec:
    """The workspace, in the container of the configuration unless it names one.

    A suite that says something else of its workspace must not leave the container by that.
    """
    container = options.workspace.container
    return replace(spec, container=container) if container and spec.container is None else spec


def _workspace(spec: WorkspaceSpec, options: LoadOptions) -> WorkspaceSpec:
    """The workspace of a suite; that of the options if the suite sets nothing but limits."""
    unset = spec == WorkspaceSpec(limits=spec.limits)
    spec = replace(options.workspace, limits=spec.limits) if unset else spec
    if options.cwd_option and spec == WorkspaceSpec(mode="shared", source="empty", limits=spec.limits):
        spec = replace(spec, mode="none")  # in skillgym, a shared workspace without a directory is that of --cwd
    spec = replace(spec, cwd=options.cwd) if spec.mode == "none" and spec.cwd is None else spec
    return _contained(spec, options)
