"""Digests of what executions depend on: of each input, and of everything that sessions and judgement depend on.

Two executions with equal digests are the same experiment: the result of one can be reused for the other. What is
not known before the sessions, or may differ without being seen, has no digest, so that such an execution always runs.
"""

from __future__ import annotations

import os
import stat
from dataclasses import field, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location
from skillgym_action.model.records import record
from skillgym_action.model.result import CaseInputs
from skillgym_action.system.files.checked_paths import GIT
from skillgym_action.text.secret_forms import is_secret_name
from skillgym_action.workspaces.case_paths import is_program
from skillgym_action.workspaces.repository.repository import RESULT_FOLDERS
from skillgym_action.workspaces.repository.suite_source import kind_and_digest
from skillgym_action.workspaces.skill_installation import SkillDigests

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.hooks import Hooks
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.model.resource_limits import ResourceLimits
    from skillgym_action.model.session import AgentConfig
    from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, InputFile, WorkspaceSpec
    from skillgym_action.workspaces.repository.repository import Repository

NOT_COPIED = frozenset({GIT, *RESULT_FOLDERS})  # of folders, to workspaces
_TOOL = __name__.partition(".")[0]
READERS = frozenset(
    {
        *("ScoredAssertion", "FileAbsent", "FileChanged", "FileContains", "FileExists", "FileMatches"),
        *("Compares", "Contains", "IsJson", "Matches", "Field", "FieldAccuracy"),
        *("ExpectedCall", "Trajectory", "EverySkill", "NoSkill", "SkillTrigger", "SkillUse"),
        *("CreatedFile", "JudgedCriteria", "RegexGrader", "Target", "ToolMatcher", "ToolOrder", "ToolUsed"),
        *("DecidedEvalAssertion", "FileThere", "SkillUsed", "TextFound", "ValidJson", "SkillTriggerAssertion"),
        *("JudgedQuestion", "JudgedQuestions"),
    }
)
"""Names of classes of the tool that assertions are made of. They only read the session report and the workspace, or
ask the judge; all others may start programs, which may read any file of the checkout."""


@record
class WholeInputs:
    """What the digest of an execution is made of besides the execution.

    ``spec``: the workspace of its sessions. ``agent``: what identifies the program of its agent, such as the version of
    its CLI; ``reads_checkout``: it may read any file there. ``inputs``: the other digests. ``settings``: of the run:
    limits, repetitions, the judge and so on. ``version``: of this tool.
    """

    spec: WorkspaceSpec
    agent: str
    reads_checkout: bool
    inputs: CaseInputs
    settings: tuple[object, ...]
    version: str


@record(frozen=False, kw_only=False)
class WholeDigests:
    """Makes the digests of the executions of a plan. Each file is read once.

    ``checkout``: the repository that agents work on; ``source``: the one that suites are read from. ``hidden``: paths
    of the checkout that are no part of it for sessions. ``suites``: of the plan.

    They cover everything that the sessions of an execution and their judgement depend on.
    """

    checkout: Repository
    source: Repository
    hidden: tuple[str, ...]
    suites: tuple[BenchmarkSuite, ...]
    _files: dict[Path, str] = field(default_factory=dict)
    _folders: dict[Path, str] = field(default_factory=dict)
    _checkouts: dict[tuple[Path, tuple[str, ...]], str] = field(default_factory=dict)
    _listed: dict[Path, list[str]] = field(default_factory=dict)
    _templates: tuple[str, ...] | None = None
    _data: tuple[str, ...] | None = None

    def of(self, execution: Execution, whole: WholeInputs) -> str | None:
        """The digest; None if not everything is known that matters, or a file cannot be read."""
        spec = whole.spec
        if execution.arm or spec.mode != "isolated" or spec.source == "directory" or _fetches(execution, spec):
            return None
        try:
            made_of = list(self._parts(execution, whole))
        except OSError:
            return None
        return sha256("\n".join(made_of).encode(errors="surrogateescape")).hexdigest()[:DIGITS]

    def of_path(self, path: Path) -> str | None:
        """The digest of a file, or of everything in a folder; None if it cannot be read."""
        try:
            return self._content(path)
        except OSError:
            return None

    def _files_of(self, repository: Repository) -> list[str]:
        if repository.root not in self._listed:
            self._listed[repository.root] = list(repository.files(repository.root))
        return self._listed[repository.root]

    def _parts(self, execution: Execution, whole: WholeInputs) -> Iterator[str]:
        case, suite, runner, spec = execution.case, execution.suite, execution.runner, whole.spec
        agent = replace(runner.agent, env={}, budget=None, timeout=None)
        described = (
            (whole.version, suite.format, suite.path, runner.id, execution.model, execution.timeout, execution.budget),
            (_rounded(execution.limits), suite.budget, suite.stops_on_error, spec, runner.hooks),
            (agent, environment(runner.agent), whole.agent, whole.inputs, whole.settings, case),
        )
        text = [
            one.replace(f"{self.source.root}/", "").replace(f"{self.checkout.root}/", "")
            for one in canonical(described)
        ]
        yield from text
        if any(one.startswith(OPAQUE) for one in text):  # what it is made of is in the suite's file alone
            yield f"suite {suite.digest}"
        yield from SkillDigests(self.checkout, self.hidden).of(execution)
        sources = (file.source for file in spec.files if file.source)
        template = [spec.template] if spec.source == "template" and spec.template else []
        for path in (*template, *sources, *case.files, *_paths(case.assertions)):
            yield self._content(path)
        if spec.source == "repository":
            yield self._checkout(self.hidden)
        if whole.reads_checkout or self._starts_programs(execution, spec):
            mentioned = "\n".join(text)
            unmentioned = tuple(path for path in self._templates_of_plan() if path not in mentioned)
            without = (*self.data_of_suites(), *unmentioned)
            # They are started in the folder that suites are read from, and may read the other one.
            yield from dict.fromkeys(self._checkout(without, one) for one in (self.checkout, self.source))

    def data_of_suites(self) -> tuple[str, ...]:
        """What programs do not depend on: the files of suites that are data, such as other cases.

        A suite program may be imported; what else is in a folder of cases, such as the program of a grader, may be
        started or read.
        """
        if self._data is None:
            suites = [suite for suite in self.suites if suite.format not in {"python", "typescript"}]
            read = {path for suite in suites for path in suite.files if _is_in(path, frozenset(suite.hidden))}
            self._data = tuple(sorted({*(suite.path for suite in suites), *(p for p in read if not is_program(p))}))
        return self._data

    def _starts_programs(self, execution: Execution, spec: WorkspaceSpec) -> bool:
        """Whether programs of the suite run before the agent or judge, which may read files of the checkout."""
        hooks = spec.hooks.enclosing(execution.runner.hooks)
        case = execution.case
        if spec.bootstrap or case.classify or any(_all_of(hooks)):
            return True
        judges = (*case.assertions, case.conversation.judge if case.conversation else None)
        return not all(map(_only_reads, judges))

    def _templates_of_plan(self) -> tuple[str, ...]:
        """The templates of the plan, relative to the folder that suites are read from, else to the checkout."""
        if self._templates is None:
            specs = (spec for suite in self.suites for spec in (suite.workspace, *(c.workspace for c in suite.cases)))
            folders = {spec.template for spec in specs if spec and spec.source == "template" and spec.template}
            found = ((folder, root) for folder in folders for root in (self.source.root, self.checkout.root))
            inside = {folder: root for folder, root in reversed(list(found)) if folder.is_relative_to(root)}
            self._templates = tuple(sorted(folder.relative_to(root).as_posix() for folder, root in inside.items()))
        return self._templates

    def _checkout(self, without: tuple[str, ...], repository: Repository | None = None) -> str:
        """A digest of the files of the checkout that git does not ignore, and of those of repositories in it.

        git lists these, submodules for example, as one path; copies of the checkout have their files. ``repository``:
        in place of the checkout.
        """
        root = (repository or self.checkout).root
        if (root, without) not in self._checkouts:
            among = frozenset(without)
            lines = (
                f"{name}\0{self._content(root / name)}"
                for name in self._files_of(repository or self.checkout)
                if not _is_in(name.rstrip("/"), among)
            )
            self._checkouts[root, without] = _digest(lines)
        return self._checkouts[root, without]

    def _content(self, path: Path) -> str:
        """The content of a file, or of everything in a folder: git may ignore what sessions get. Raises OSError."""
        if not path.is_dir() or path.is_symlink():
            return self._file(path)
        if path not in self._folders:
            found: list[str] = []
            for folder, folders, names in os.walk(path, onerror=_raised):
                folders[:] = [name for name in folders if name not in NOT_COPIED]
                links = (name for name in folders if os.path.islink(os.path.join(folder, name)))
                found += (os.path.join(folder, name) for name in (*names, *links) if name != GIT)
            self._folders[path] = _digest(
                f"{os.path.relpath(name, path)}\0{self._file(Path(name))}" for name in sorted(found)
            )
        return self._folders[path]

    def _file(self, path: Path) -> str:
        """Kind, content, and whether it can be executed; ``missing`` if git lists a file that was deleted."""
        if path not in self._files:
            self._files[path] = file_digest(path)
        return self._files[path]


def _raised(error: OSError) -> None:
    raise error


def file_digest(path: Path) -> str:
    """Kind and content of a file, and whether it can be executed; ``missing``: there is none. Raises OSError."""
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    return f"{kind_and_digest(path)}{' x' if stat.S_ISREG(mode) and mode & 0o100 else ''}"


def command_digest(files: Iterable[Path]) -> str | None:
    """What identifies an agent that is a command of the user: the contents of the files that it names.

    None: one of them cannot be read.
    """
    try:
        found = dict.fromkeys(Path(os.path.realpath(file)) for file in files if file.is_file())
        return _digest(map(file_digest, found))
    except (OSError, ValueError):
        return None


def _rounded(limits: ResourceLimits | None) -> ResourceLimits | None:
    """The limits, with the memory in GiB: that of the machine may be a few bytes more or less in the next job."""
    if limits is None or not isinstance(limits.memory, int):
        return limits
    return replace(limits, memory=limits.memory // 1024**3)


def environment(agent: AgentConfig | JudgeConfig) -> tuple[tuple[str, str], ...]:
    """The names of the variables configured for an agent or the judge, with the values of those that are no secrets."""
    return tuple(sorted((name, "" if is_secret_name(name) else value) for name, value in agent.env.items()))


def _digest(lines: Iterable[str]) -> str:
    return sha256("\n".join(lines).encode(errors="surrogateescape")).hexdigest()


def _is_in(name: str, paths: frozenset[str]) -> bool:
    """Whether a path, or a folder that it is in, is among the paths."""
    while name:
        if name in paths:
            return True
        name = name.rpartition("/")[0]
    return False


def _all_of(hooks: Hooks) -> Iterator[object]:
    for some in (hooks.before_all, hooks.before_each, hooks.after_each, hooks.after_all):
        yield from some


def _fetches(execution: Execution, spec: WorkspaceSpec) -> bool:
    """Whether something is fetched from another machine, which may have another content each time."""
    hooks = spec.hooks.enclosing(execution.runner.hooks)
    return any(getattr(hook, "fetch", None) for hook in _all_of(hooks))


def _only_reads(value: object) -> bool:
    """Whether an assertion, with all that it is made of, starts no program."""
    of_tool = type(value).__module__.partition(".")[0] == _TOOL
    judges = of_tool or hasattr(value, "judge")  # that of a plug-in may do anything
    if callable(value) or (judges and not (of_tool and type(value).__name__ in READERS)):
        return False
    return all(map(_only_reads, parts_of(value) or ()))


def _paths(value: object) -> Iterator[Path]:
    """The files that assertions name."""
    if isinstance(value, Path):
        if value.is_file():
            yield value
        return
    for part in parts_of(value) or ():
        yield from _paths(part)


# --- the digest of each input -------------------------------------------------------------------------

PROGRAMS = frozenset({"python", "typescript"})  # formats whose checks are in the suite's file alone
PROGRAM_SUFFIXES = frozenset({".ts", ".mts", ".cts"})  # of suites of AgentV, which may have functions as graders
DIGITS = 16
_DEEPEST = 20  # of values in each other; deeper ones are alike
_UNREADABLE = "unreadable"
OPAQUE = "object "


class ExecutionDigests:
    """Makes the digests of the executions of a plan. Those of input files are made once for all cases that share them.

    ``repository``: the one that suites are read from.

    Equal digests mean that results of two runs can be taken together.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._root = repository.root
        self._workspaces: dict[int, str] = {}
        self._kept: list[WorkspaceSpec] = []  # so that no id is used again

    def of(self, execution: Execution) -> CaseInputs:
        """The digests of an execution."""
        case, suite = execution.case, execution.suite
        turns = (case.conversation.turns, case.conversation.opening) if case.conversation else ()
        return CaseInputs(
            prompt=self._digest(case.prompt, turns),
            assertions=self._digest(case.assertions, case.threshold, case.averaged, case.trigger, case.expected_fail),
            workspace=self._digest(self._workspace(case.workspace or suite.workspace), *self._of_case(case)),
            program=suite.digest[:DIGITS] if _is_program(suite) and suite.digest else None,
        )

    def _of_case(self, case: BenchmarkCase) -> Iterator[object]:
        """What sessions of a case have besides their workspace."""
        yield [self._file(path) for path in case.files]
        yield case.agent

    def _workspace(self, spec: WorkspaceSpec) -> str:
        if id(spec) not in self._workspaces:
            self._kept.append(spec)
            made_of = (spec.mode, spec.source, spec.bootstrap, spec.hooks, spec.committed, spec.removed_skills)
            files = [self._input(file) for file in spec.files]
            self._workspaces[id(spec)] = self._digest(made_of, files, *self._container(spec))
        return self._workspaces[id(spec)]

    def _container(self, spec: WorkspaceSpec) -> Iterator[object]:
        """The container, and what its image is built from; nothing without one, so that digests stay as they were."""
        if spec.container:
            yield spec.container
            if build := spec.container.build:
                yield self._file(build.context)
        if spec.preparation:
            yield spec.preparation

    def _input(self, file: InputFile) -> object:
        return file.path, file.read_only, self._file(file.source) if file.source else file.content

    def _file(self, path: Path) -> object:
        """What a file is, or the files below a folder that git does not ignore."""
        try:
            if path.is_dir() and not path.is_symlink():
                return [(name, kind_and_digest(self._root / name)) for name in self._repository.files(path)]
            return kind_and_digest(path)
        except OSError:
            return _UNREADABLE

    def _digest(self, *values: object) -> str:
        text = "\n".join(canonical(values)).replace(f"{self._root}/", "")
        return sha256(text.encode(errors="surrogateescape")).hexdigest()[:DIGITS]


def canonical(value: object, depth: int = 0) -> Iterator[str]:
    """A text for a value, the same in each process.

    Places in files are left out: a case stays the same when another one is written above it. Of objects that are no
    data, such as functions, only the kind counts: their text begins with ``OPAQUE``. Names of classes and of their
    fields are part of the text, but not the modules that they are in: stored digests outlive a move.
    """
    if isinstance(value, Location):
        return
    if depth > _DEEPEST:
        yield f"{OPAQUE}too deep"
    elif isinstance(value, Enum):
        yield f"{type(value).__name__}.{value.name}"
    elif value is None or isinstance(value, str | int | float | bytes):
        yield repr(value)
    elif isinstance(value, Path):
        yield f"path {value.as_posix()}"
    elif (inner := parts_of(value)) is not None:
        yield f"({type(value).__name__}"
        for part in inner:
            yield from canonical(part, depth + 1)
        yield ")"
    elif isinstance(pattern := getattr(value, "pattern", None), str):
        yield f"pattern {pattern!r} {getattr(value, 'flags', 0)}"
    else:
        yield f"{OPAQUE}{type(value).__name__}"


def _is_program(suite: BenchmarkSuite) -> bool:
    """Whether functions of the suite's file judge, whose code is in no other digest."""
    return suite.format in PROGRAMS or suite.file.suffix in PROGRAM_SUFFIXES


def parts_of(value: object) -> list[object] | None:
    """What a value is made of, in an order that does not change; None if it is not made of anything."""
    if is_dataclass(value) and not isinstance(value, type):
        found = ((field.name, getattr(value, field.name)) for field in fields(value))
        kept = ((name, inner) for name, inner in found if not isinstance(inner, Location))
        # Without plug-ins, digests are as they were before there were any.
        return [part for name, inner in kept if (name, inner) != ("plug_ins", None) for part in (name, inner)]
    if isinstance(value, dict):
        return [part for key in sorted(value, key=repr) for part in (key, value[key])]
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    return None
