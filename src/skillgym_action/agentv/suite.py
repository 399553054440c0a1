"""AgentV's suites, ``EVAL.yaml`` and ``*.eval.yaml`` (also as JSONL, and skills' ``evals.json``): their 4.x dialect."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.agentv.source_values import Files
from skillgym_action.agentv.variables import dotenv, merged, references
from skillgym_action.limits import MAX_CASE_ID_CHARS
from skillgym_action.model.suite import Invalid, Suite, WorkspaceSpec
from skillgym_action.text.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.agentv.case_sources import Tests
    from skillgym_action.agentv.cases import Shared
    from skillgym_action.agentv.loaded import Cases
    from skillgym_action.agentv.source_values import Part
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.suite import Case

NAME = re.compile(r"(^|/)(eval\.ya?ml|[^/]*\.eval\.ya?ml)$", re.IGNORECASE)
SKILL = re.compile(r"(^|/)([^/]*\.)?evals\.json$", re.IGNORECASE)
ENDING = re.compile(r"(\.evals?)?\.(ya?ml|jsonl?)$", re.IGNORECASE)
NOT_OURS = re.compile(r"(^|/)(node_modules|dist|\.git|\.agentv/results)/")
CUT = 60_000  # characters; a head that long may end in the middle

KNOWN = frozenset(
    {
        *("name", "description", "category", "version", "author", "license", "tags", "requires", "metadata"),
        *("governance", "input", "input_files", "tests", "eval_cases", "evalcases", "target", "execution"),
        *("assertions", "assert", "evaluator", "preprocessors", "workspace"),
    }
)
EXECUTION = frozenset(
    {
        *("target", "targets", "workers", "cache", "cache_path", "trials", "budget_usd", "budgetUsd"),
        *("fail_on_error", "failOnError", "threshold", "skip_defaults", "assertions", "assert", "evaluators"),
    }
)
NEXT = frozenset({"providers", "environment", "prompts", "evaluate_options", "default_test", "extensions", "scenarios"})
ALIASES = {"eval_cases": "tests", "evalcases": "tests", "assert": "assertions"}


# --- is it one? -------------------------------------------------------------------------------------


def named(path: str) -> bool:
    """``EVAL.yaml`` and ``*.eval.yaml``, in any case; ``evals.json`` and ``*.evals.json``."""
    return not NOT_OURS.search(path) and bool(NAME.search(path) or SKILL.search(path))


def accepts(path: str, head: str) -> bool:
    """Whether it is called like a suite; JSON also has to have a list of evals."""
    if not named(path):
        return False
    if not SKILL.search(path):
        return True
    try:
        value = json.loads(head.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return '"evals"' in head
    return isinstance(value, dict) and isinstance(value.get("evals"), list)


# --- the suite --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Read:
    """A suite file: what it says for all tests, and the tests."""

    top: Part
    tests: Tests
    name: str


def suite(source: SuiteFile) -> Suite:
    """The suite. Raises SuiteError for what concerns the whole file; a test that cannot be used becomes an Invalid."""
    from skillgym_action.agentv.cases import cases_of
    from skillgym_action.agentv.loaded import MOST_WARNINGS
    from skillgym_action.agentv.targets import STAND_INS, runners_of

    files = _files(source)
    read = _read(source, files)
    shared = _shared(read.top, files)
    cases = cases_of(read.tests, shared)
    runners, dubious = runners_of(read.top, files, read.name)
    stand_ins = bool(runners) and all(runner.agent.type in STAND_INS for runner in runners)
    warnings = [*_warnings(read.top, files), *dubious, *cases.warnings][:MOST_WARNINGS]
    if shared.place is None and stand_ins:
        warnings.extend(_hooks_without_workspace(read.top, runners))
        runners = tuple(replace(runner, hooks=type(runner.hooks)()) for runner in runners)
    execution = read.top.get("execution")
    made, workspace = tuple(cases.cases), shared.workspace
    if files.compat:
        made, workspace = _in_one(made, workspace)
    return Suite(
        path=source.path,
        file=source.file,
        name=read.name,
        format="agentv",
        cases=made,
        invalid=(*_nothing(read, cases), *cases.invalid),
        workspace=workspace or WorkspaceSpec(),
        warnings=tuple(warnings),
        runners=runners,
        budget=(execution.number("budget_usd", "budgetUsd") if execution else None) or None,
        hidden=tuple(path for file in read.tests.hidden if not (path := files.shown(file)).startswith("/")),
    )


def _in_one(cases: tuple[Case, ...], shared: WorkspaceSpec | None) -> tuple[tuple[Case, ...], WorkspaceSpec | None]:
    """As AgentV does it: all work where the first one does. Where that has no workspace, each has its own."""
    first = (cases[0].workspace if cases else None) or shared
    if first is None:
        return tuple(replace(case, workspace=_of_its_own(case.workspace)) for case in cases), None
    if first.mode == "isolated":
        return cases, shared
    return tuple(replace(case, workspace=None) for case in cases), first


def _of_its_own(spec: WorkspaceSpec | None) -> WorkspaceSpec | None:
    return replace(spec, mode="isolated") if spec and spec.mode == "shared" else spec


def _files(source: SuiteFile) -> Files:
    """Targets see the whole environment; what suites see of it has no secrets, as no grader and no hook gets any."""
    path = PurePosixPath(source.path)
    folder = source.file.parent
    root = folder if path.is_absolute() else source.file.parents[len(path.parts) - 1]
    everything = {**dotenv(folder, root, source.opener), **source.environment}
    public = {name: value for name, value in everything.items() if not is_secret_name(name)}
    return Files(
        folder=folder,
        root=root,
        environment=public,
        secrets=everything,
        opener=source.opener,
        refusal=source.refusal,
        refusal_in_place=source.refusal_in_place,
        compat=source.agentv_compat,
    )


def _read(source: SuiteFile, files: Files) -> _Read:
    from skillgym_action.agentv.case_sources import Tests, lines, tests_of

    suffix = source.file.suffix.lower()
    if suffix == ".jsonl":
        beside = next((file for end in (".yaml", ".yml") if (file := source.file.with_suffix(end)).is_file()), None)
        top = files.interpolated(files.read(beside) if beside else files.read(source.file, ""))
        top = top.mapping() if beside else replace(top, value={})
        tests = Tests()
        lines(files.lines(source.file, source.text()), files, tests)
        return _Read(top=top, tests=tests, name=_name(top, source))
    top = files.interpolated(files.read(source.file, source.text())).mapping()
    if suffix == ".json":
        from skillgym_action.agentv.skill_evals import skill_tests

        name = _name(top, source, "skill_name")
        return _Read(top=replace(top, value={}), tests=skill_tests(top, files), name=name)
    keys = set(top.value)  # type: ignore[call-overload]
    if keys & NEXT and not keys & (KNOWN - {"tests", "name", "description", "tags", "metadata"}):
        raise top.error("suites of AgentV 5 are not supported yet", f"leave it out with !{source.path}")
    told = top.get("tests", "eval_cases", "evalcases")
    if told is None:
        raise top.error("has no tests", "tests: ./cases/, a folder with a case.yaml for each; or a list")
    return _Read(top=top, tests=tests_of(told, files), name=_name(top, source))


def _name(top: Part, source: SuiteFile, *keys: str) -> str:
    """What the first of those keys says that is there, or ``name``; else the file's without its ending."""
    named = top.text(*keys, "name")
    if named and len(named) > MAX_CASE_ID_CHARS:
        raise top.error(f"the name is longer than {MAX_CASE_ID_CHARS:,} characters")
    return named.strip() if named else ENDING.sub("", source.file.name)


def _nothing(read: _Read, cases: Cases) -> tuple[Invalid, ...]:
    """A suite without tests judges nothing, which must not pass for green."""
    if cases.cases or cases.invalid:
        return ()
    told = read.top.get("tests", "eval_cases", "evalcases") or read.top
    return (Invalid(problem=told.problem("holds no tests", "a suite without tests judges nothing")),)


# --- what it says for all tests ---------------------------------------------------------------------


def _shared(top: Part, files: Files) -> Shared:
    from skillgym_action.agentv.assertions import Task, assertions_of
    from skillgym_action.agentv.cases import THRESHOLD, Shared, where
    from skillgym_action.agentv.workspaces import place

    execution = top.get("execution")
    if execution:
        execution.mapping()
    assertions = top.get("assertions", "assert") or (execution and execution.get("assertions", "assert", "evaluators"))
    threshold = execution.number("threshold", most=1) if execution else None
    told, governance = top.get("metadata"), top.get("governance")
    metadata: dict[str, object] = dict(told.mapping().value) if told else {}  # type: ignore[call-overload]
    if governance:
        metadata["governance"] = merged(metadata.get("governance") or {}, governance.mapping().value)  # type: ignore[arg-type]
    shared = Shared(
        top=top,
        files=files,
        place=place(top.get("workspace"), files),
        assertions=assertions,
        tags=top.texts("tags"),
        metadata=metadata,
        threshold=THRESHOLD if threshold is None else threshold,
        retries=_retries(execution),
    )
    if assertions and assertions.value != []:
        assertions_of(assertions.value, where(assertions, None, shared, Task()))  # what is wrong with them, once
    return shared


def _retries(execution: Part | None) -> int:
    """``pass_at_k`` is content with one of its trials."""
    trials = execution.get("trials") if execution else None
    if trials is None or trials.text("strategy") not in {None, "pass_at_k"}:
        return 0
    return max(0, int(trials.number("count", most=1000, whole=True) or 1) - 1)


# --- what is dubious about it -----------------------------------------------------------------------


def _warnings(top: Part, files: Files) -> Iterator[Problem]:
    yield from top.unknown(KNOWN)
    for alias, name in ALIASES.items():
        if part := top.get(alias):
            yield part.problem(f"{alias} is an old name", f"write {name}")
    for key_path, name in references(top.document.value):
        if name in files.secrets and name not in files.environment:
            told = replace(top, key_path=key_path)
            yield told.problem(f"{name} is left empty: suites are given no secrets", "targets.yaml may name it")
    if top.get("preprocessors"):
        yield top.problem("preprocessors are not supported: graders see files as they are")
    execution = top.get("execution")
    if execution is None:
        return
    yield from execution.unknown(EXECUTION)
    if part := execution.get("workers"):
        yield part.problem("a suite does not say how much of a run is done at once", "use --jobs")
    if part := execution.get("fail_on_error", "failOnError"):
        yield from [part.problem("fail_on_error is not supported: all tests are run")] if part.value else []
    if (trials := execution.get("trials")) and trials.text("strategy") not in {None, "pass_at_k"}:
        yield trials.problem("only the strategy pass_at_k is supported: each test is run once", "use --repeat")


def _hooks_without_workspace(top: Part, runners: tuple[Runner, ...]) -> Iterator[Problem]:
    if any(runner.hooks != type(runner.hooks)() for runner in runners):
        yield top.problem("hooks of targets need a workspace, and are not run", "name one: workspace: ./template/")
