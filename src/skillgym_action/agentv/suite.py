"""Format: suites of AgentV 4: ``EVAL.yaml``, ``*.eval.yaml``, ``*.eval.ts``, JSONL, and ``evals.json`` of skills.

Which files these are is in ``suite_names``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.agentv.suite_files import SuiteFiles
from skillgym_action.agentv.suite_names import TEST_KEYS, accepts, named, rejection
from skillgym_action.agentv.variables import dotenv, merged, references
from skillgym_action.limits import MAX_AGENTV_WARNINGS, MAX_CASE_ID_CHARACTERS
from skillgym_action.model.suite import BenchmarkSuite, Invalid, WorkspaceSpec
from skillgym_action.text.redaction import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.agentv.case_sources import Tests
    from skillgym_action.agentv.cases import LoadedCases, SharedSettings
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.errors import Problem
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.suite import BenchmarkCase

__all__ = ["accepts", "named", "rejection", "suite"]

SUFFIX = re.compile(r"(\.evals?)?\.(ya?ml|jsonl?|[cm]?ts)$", re.IGNORECASE)

KNOWN_KEYS = frozenset(
    {
        *("name", "description", "category", "version", "author", "license", "tags", "requires", "metadata"),
        *("governance", "input", "input_files", "tests", "eval_cases", "evalcases", "target", "execution"),
        *("assertions", "assert", "evaluator", "preprocessors", "workspace"),
    }
)
EXECUTION_KEYS = frozenset(
    {
        *("target", "targets", "workers", "cache", "cache_path", "trials", "budget_usd", "budgetUsd"),
        *("fail_on_error", "failOnError", "threshold", "skip_defaults", "assertions", "assert", "evaluators"),
    }
)
VERSION_5_KEYS = frozenset(
    {"providers", "environment", "prompts", "evaluate_options", "default_test", "extensions", "scenarios"}
)
ALIASES = {"eval_cases": "tests", "evalcases": "tests", "assert": "assertions"}


# --- the suite --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Content:
    """The content of a suite file: what it defines for all tests, and the tests."""

    top: SuiteValue
    tests: Tests
    name: str


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. A test that cannot be used becomes an Invalid. Raises SuiteError for problems of the whole file."""
    from skillgym_action.agentv.cases import cases_of
    from skillgym_action.agentv.known_keys import each_once
    from skillgym_action.agentv.targets import STAND_INS, runners_of
    from skillgym_action.agentv.transcript_agent import in_order

    files = _files(source)
    read = _read(source, files)
    shared = _shared(read.top, files)
    loaded = cases_of(read.tests, shared)
    found = runners_of(read.top, files, read.name)
    case_ids = [case.id for case in loaded.cases]
    runners = in_order(found.own, case_ids)
    stand_ins = bool(runners) and all(runner.agent.type in STAND_INS for runner in runners)
    of_workspace = shared.workspace_settings.warnings if shared.workspace_settings else ()
    told = (*_warnings(read.top, files), *of_workspace, *found.warnings, *loaded.warnings)
    warnings = each_once(told, MAX_AGENTV_WARNINGS)
    if shared.workspace_settings is None and stand_ins:
        warnings.extend(_hooks_without_workspace(read.top, runners))
        runners = tuple(replace(runner, hooks=type(runner.hooks)()) for runner in runners)
    execution = read.top.get("execution")
    cases, workspace = tuple(loaded.cases), shared.workspace
    if files.compat:
        cases, workspace = _in_one_workspace(cases, workspace)
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=read.name,
        format="agentv",
        cases=cases,
        invalid=(*_without_tests(read, loaded), *loaded.invalid),
        workspace=workspace or WorkspaceSpec(),
        warnings=tuple(warnings),
        runners=runners,
        other_runners=in_order(found.others, case_ids),
        budget=_budget(execution),
        hidden=tuple(path for file in read.tests.hidden if not (path := files.shown(file)).startswith("/")),
    )


def _in_one_workspace(
    cases: tuple[BenchmarkCase, ...], shared: WorkspaceSpec | None
) -> tuple[tuple[BenchmarkCase, ...], WorkspaceSpec | None]:
    """As AgentV: all cases work in the workspace of the first one; if it has none, each has its own."""
    first = (cases[0].workspace if cases else None) or shared
    if first is None:
        return tuple(replace(case, workspace=_isolated(case.workspace)) for case in cases), None
    if first.mode == "isolated":
        return cases, shared
    return tuple(replace(case, workspace=None) for case in cases), first


def _isolated(spec: WorkspaceSpec | None) -> WorkspaceSpec | None:
    return replace(spec, mode="isolated") if spec and spec.mode == "shared" else spec


def _files(source: SuiteFile) -> SuiteFiles:
    """What may be read for the suite. Only targets see secrets of the environment: graders and hooks must not."""
    path = PurePosixPath(source.path)
    folder = source.file.parent
    root = folder if path.is_absolute() else source.file.parents[len(path.parts) - 1]
    everything = {**dotenv(folder, root, source.opener), **source.environment}
    public = {name: value for name, value in everything.items() if not is_secret_name(name)}
    return SuiteFiles(
        folder=folder,
        root=root,
        environment=public,
        secrets=everything,
        opener=source.opener,
        refusal=source.refusal,
        refusal_in_place=source.refusal_in_place,
        compat=source.agentv_compat,
    )


def _read(source: SuiteFile, files: SuiteFiles) -> _Content:
    from skillgym_action.agentv.case_sources import Tests, add_lines, skill_tests, tests_of
    from skillgym_action.agentv.program_suites import is_program, named_suites, program_suite

    suffix = source.file.suffix.lower()
    if suffix == ".jsonl":
        shared_file = next(
            (file for end in (".yaml", ".yml") if (file := source.file.with_suffix(end)).is_file()), None
        )
        top = files.interpolated(files.read(shared_file) if shared_file else files.read(source.file, ""))
        top = top if shared_file else replace(top, value={})
        top.mapping()
        tests = Tests()
        add_lines(files.lines(source.file, source.text()), files, tests)
        return _Content(top=top, tests=tests, name=_name(top, source))
    written = program_suite(source, files) if is_program(source) else files.read(source.file, source.text())
    top = files.interpolated(written)
    keys = set(top.mapping())
    if suffix == ".json":
        name = _name(top, source, "skill_name")
        return _Content(top=replace(top, value={}), tests=skill_tests(top, files), name=name)
    if keys & VERSION_5_KEYS and not keys & (KNOWN_KEYS - {"tests", "name", "description", "tags", "metadata"}):
        raise top.error("suites of AgentV 5 are not supported yet", f"leave it out with !{source.path}")
    tests_value = top.get(*TEST_KEYS)
    if tests_value is None:
        raise top.missing("tests", "tests: ./cases/, a folder with a case.yaml for each; or a list")
    tests = tests_of(tests_value, files)
    tests.hidden.extend(named_suites(top, files))
    return _Content(top=top, tests=tests, name=_name(top, source))


def _name(top: SuiteValue, source: SuiteFile, *keys: str) -> str:
    """The value of the first of ``keys`` or of ``name``; else the file name without its suffix."""
    name = top.text(*keys, "name")
    if name and len(name) > MAX_CASE_ID_CHARACTERS:
        raise top.error(f"the name is longer than {MAX_CASE_ID_CHARACTERS:,} characters")
    return name.strip() if name else SUFFIX.sub("", source.file.name)


def _without_tests(read: _Content, loaded: LoadedCases) -> tuple[Invalid, ...]:
    """The problem of a suite without tests: it checks nothing, so a run of it must not succeed."""
    if loaded.cases or loaded.invalid:
        return ()
    value = read.top.get(*TEST_KEYS) or read.top
    return (Invalid(problem=value.problem("has no tests", "a suite without tests checks nothing")),)


# --- defined for all tests --------------------------------------------------------------------------


def _shared(top: SuiteValue, files: SuiteFiles) -> SharedSettings:
    from skillgym_action.agentv.assertions import assertions_of
    from skillgym_action.agentv.cases import DEFAULT_THRESHOLD, SharedSettings, entry_context
    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.agentv.workspaces import workspace_settings

    execution = top.get("execution")
    if execution:
        execution.mapping()
    assertions = top.get("assertions", "assert") or (execution and execution.get("assertions", "assert", "evaluators"))
    threshold = execution.number("threshold", most=1) if execution else None
    own, governance = top.get("metadata"), top.get("governance")
    metadata = dict(own.mapping()) if own else {}
    if governance:
        metadata["governance"] = merged(metadata.get("governance") or {}, governance.mapping())  # type: ignore[arg-type]
    shared = SharedSettings(
        top=top,
        files=files,
        workspace_settings=workspace_settings(top.get("workspace"), files),
        assertions=assertions,
        tags=top.texts("tags"),
        metadata=metadata,
        threshold=DEFAULT_THRESHOLD if threshold is None else float(threshold),
        retries=_retries(execution),
    )
    if assertions and assertions.value != []:
        # Problems of the suite's own assertions are reported once, not for each test.
        assertions_of(assertions.value, entry_context(assertions, None, shared, Task()))
    return shared


def _budget(execution: SuiteValue | None) -> float | None:
    """The most that a run may cost, in US dollars; None and 0: no limit."""
    budget = execution.number("budget_usd", "budgetUsd") if execution else None
    return float(budget) if budget else None


def _retries(execution: SuiteValue | None) -> int:
    """Retries of every test: with ``pass_at_k``, one trial that passes is enough."""
    trials = execution.get("trials") if execution else None
    if trials is None or trials.text("strategy") not in {None, "pass_at_k"}:
        return 0
    return max(0, int(trials.number("count", most=1000, whole=True) or 1) - 1)


# --- warnings ---------------------------------------------------------------------------------------


def _warnings(top: SuiteValue, files: SuiteFiles) -> Iterator[Problem]:
    from skillgym_action.agentv.known_keys import TRIALS, WORKSPACE, unknown_in, unknown_in_assertions
    from skillgym_action.agentv.program_suites import keys_of_programs, program_warnings

    yield from program_warnings(top)
    yield from top.unknown_keys(KNOWN_KEYS | keys_of_programs(top))
    yield from unknown_in(top.get("workspace"), WORKSPACE)
    yield from unknown_in_assertions(top.get("assertions", "assert"))
    for alias, name in ALIASES.items():
        if value := top.get(alias):
            yield value.problem(f"{alias} is an old name", f"write {name}")
    for key_path, name in references(top.source.value):
        if name in files.secrets and name not in files.environment:
            value = replace(top, key_path=key_path)
            yield value.problem(f"{name} is left empty: suites cannot use secrets", "targets.yaml may name it")
    if top.get("preprocessors"):
        yield top.problem(
            "preprocessors are not supported: graders see files as they are", "convert them with a hook before_each"
        )
    execution = top.get("execution")
    if execution is None:
        return
    yield from execution.unknown_keys(EXECUTION_KEYS)
    yield from unknown_in(execution.get("trials"), TRIALS)
    if value := execution.get("workers"):
        yield value.problem("workers is ignored: a suite does not set the number of parallel sessions", "use --jobs")
    if (value := execution.get("fail_on_error", "failOnError")) and value.value:
        yield value.problem("fail_on_error is not supported: all tests are run", "use --maxfail 1")
    if (trials := execution.get("trials")) and trials.text("strategy") not in {None, "pass_at_k"}:
        yield trials.problem("only the strategy pass_at_k is supported: each test is run once", "use --repeat")


def _hooks_without_workspace(top: SuiteValue, runners: tuple[Runner, ...]) -> Iterator[Problem]:
    if any(runner.hooks != type(runner.hooks)() for runner in runners):
        yield top.problem("hooks of targets need a workspace, and are not run", "set one: workspace: ./template/")
