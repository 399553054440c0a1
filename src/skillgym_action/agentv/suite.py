"""Format: suites of AgentV 4 and 5: ``EVAL.yaml``, ``*.eval.yaml``, ``*.eval.ts``, JSONL, ``evals.json`` of skills.

Which files these are is in ``suite_names``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.agentv.suite_files import SuiteFiles
from skillgym_action.agentv.suite_names import (
    OF_PROMPTFOO,
    PROMPTFOO_NAME,
    REWRITE,
    TEST_KEYS,
    accepts,
    named,
    rejection,
)
from skillgym_action.agentv.variables import dotenv, merged, references
from skillgym_action.documents.arm_sections import FOREIGN_KEY, suite_arms
from skillgym_action.limits import MAX_AGENTV_WARNINGS, MAX_CASE_ID_CHARACTERS
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.suite import BenchmarkSuite, Invalid, WorkspaceSpec
from skillgym_action.text.redaction import is_secret_variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from skillgym_action.agentv.case_sources import Tests
    from skillgym_action.agentv.cases import LoadedCases, SharedSettings
    from skillgym_action.agentv.version_5 import Version5Suite
    from skillgym_action.documents.suite_values import SuiteValue
    from skillgym_action.formats import SuiteFile
    from skillgym_action.model.execution import Runner
    from skillgym_action.model.suite import BenchmarkCase

__all__ = ["accepts", "named", "rejection", "suite"]

SUFFIX = re.compile(r"(\.evals?)?\.(ya?ml|jsonl?|[cm]?ts)$", re.IGNORECASE)

KNOWN_KEYS = frozenset(
    {
        *("name", "description", "category", "version", "author", "license", "tags", "requires", "metadata"),
        *("governance", "input", "input_files", "tests", "eval_cases", "evalcases", "target", "execution"),
        *("assertions", "assert", "evaluator", "preprocessors", "workspace", FOREIGN_KEY),
    }
)
EXECUTION_KEYS = frozenset(
    {
        *("target", "targets", "workers", "cache", "cache_path", "trials", "budget_usd", "budgetUsd"),
        *("fail_on_error", "failOnError", "threshold", "skip_defaults", "assertions", "assert", "evaluators"),
    }
)
ALIASES = {"eval_cases": "tests", "evalcases": "tests", "assert": "assertions"}


# --- the suite --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class _Content:
    """The content of a suite file: what it defines for all tests, and the tests.

    ``newer``: what else a suite of AgentV 5 defines.
    """

    top: SuiteValue
    tests: Tests
    name: str
    newer: Version5Suite | None = None


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. A test that cannot be used becomes an Invalid. Raises SuiteError for problems of the whole file."""
    from skillgym_action.agentv.cases import cases_of
    from skillgym_action.agentv.known_keys import each_once
    from skillgym_action.agentv.targets import STAND_INS, runners_of
    from skillgym_action.agentv.transcript_agent import in_order

    if PROMPTFOO_NAME.search(source.path):
        location = Location(path=source.path)
        raise SuiteError.of(Problem(message=OF_PROMPTFOO, location=location, remedy=REWRITE))
    files = _files(source)
    read = _read(source, files)
    newer = read.newer
    shared = _shared(read.top, files, newer)
    loaded = cases_of(read.tests, shared)
    found = runners_of(read.top, files, read.name, newer.targets if newer else None)
    case_ids = [case.id for case in loaded.cases]
    runners = in_order(_with_variables(found.own, newer.variables if newer else {}), case_ids)
    stand_ins = bool(runners) and all(runner.agent.type in STAND_INS for runner in runners)
    of_workspace = shared.workspace_settings.warnings if shared.workspace_settings else ()
    own = newer.warnings if newer else ()
    every = (*own, *_warnings(read.top, files), *of_workspace, *found.warnings, *loaded.warnings, *files.state.warnings)
    warnings = each_once(every, MAX_AGENTV_WARNINGS)
    if shared.workspace_settings is None and stand_ins:
        warnings.extend(_hooks_without_workspace(read.top, runners))
        runners = tuple(replace(runner, hooks=type(runner.hooks)()) for runner in runners)
    execution = read.top.get("execution")
    cases, workspace = tuple(loaded.cases), shared.workspace
    if files.compat:
        cases, workspace = _in_one_workspace(cases, workspace)
    arms = suite_arms(source, _arms_value(read.top), FOREIGN_KEY, read.top.source.locate)
    hidden = tuple(path for file in read.tests.hidden if not (path := files.shown(file)).startswith("/"))
    return BenchmarkSuite(
        path=source.path,
        file=source.file,
        name=read.name,
        format="agentv",
        cases=cases,
        invalid=(*_without_tests(read, loaded), *loaded.invalid),
        workspace=workspace or WorkspaceSpec(),
        warnings=tuple(warnings),
        default_timeout=newer.timeout if newer else None,
        runners=runners,
        other_runners=in_order(found.others, case_ids),
        budget=_budget(execution),
        hidden=(*hidden, *arms.hidden),
        arms=arms.arms,
        stops_on_error=_stops_on_error(execution),
    )


def _arms_value(top: SuiteValue) -> object:
    """The arms as they are written: names of variables, paths and arguments stay as they are."""
    value = top.source.value
    return value.get(FOREIGN_KEY) if isinstance(value, dict) else None


def _with_variables(runners: tuple[Runner, ...], variables: Mapping[str, str]) -> tuple[Runner, ...]:
    """The runners with variables of the suite in the environment of their agents, unless they have their own."""
    return tuple(
        replace(runner, agent=replace(runner.agent, env={**variables, **runner.agent.env})) for runner in runners
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
    public = {name: value for name, value in everything.items() if not is_secret_variable(name, value)}
    return SuiteFiles(
        folder=folder,
        root=root,
        environment=public,
        secrets=everything,
        opener=source.opener,
        refusal=source.refusal,
        refusal_in_place=source.refusal_in_place,
        compat=source.agentv_compat,
        in_repository=not path.is_absolute(),
    )


def _read(source: SuiteFile, files: SuiteFiles) -> _Content:
    from skillgym_action.agentv.case_sources import Tests, add_lines, skill_tests, tests_of
    from skillgym_action.agentv.program_suites import is_program, named_suites, program_suite
    from skillgym_action.agentv.version_5 import is_version_5, version_5_suite

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
    raw = program_suite(source, files) if is_program(source) else files.read(source.file, source.text())
    if suffix != ".json" and is_version_5(raw, files):
        newer = version_5_suite(raw, files)
        return _Content(top=newer.top, tests=newer.tests, name=_name(newer.top, source), newer=newer)
    top = files.interpolated(raw)
    top.mapping()
    if suffix == ".json":
        name = _name(top, source, "skill_name")
        return _Content(top=replace(top, value={}), tests=skill_tests(top, files), name=name)
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
    value = (read.top.get(*TEST_KEYS) if read.newer is None else None) or read.top
    return (Invalid(problem=value.problem("has no tests", "a suite without tests checks nothing")),)


# --- defined for all tests --------------------------------------------------------------------------


def _shared(top: SuiteValue, files: SuiteFiles, newer: Version5Suite | None = None) -> SharedSettings:
    from skillgym_action.agentv.assertions import assertions_of
    from skillgym_action.agentv.cases import DEFAULT_THRESHOLD, SharedSettings, entry_context
    from skillgym_action.agentv.grader_context import Task
    from skillgym_action.agentv.trials import trials_of
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
        workspace_settings=newer.workspace if newer else workspace_settings(top.get("workspace"), files),
        assertions=assertions,
        more_assertions=newer.defaults if newer else None,
        tags=top.texts("tags"),
        metadata=metadata,
        threshold=DEFAULT_THRESHOLD if threshold is None else float(threshold),
        trials=trials_of(execution),
    )
    for entries in (assertions, shared.more_assertions):
        if entries and entries.value != []:
            # Problems of the suite's own assertions are reported once, not for each test.
            assertions_of(entries.value, entry_context(entries, None, shared, Task()))
    return shared


def _budget(execution: SuiteValue | None) -> float | None:
    """The most that a run may cost, in US dollars; None and 0: no limit."""
    budget = execution.number("budget_usd", "budgetUsd") if execution else None
    return float(budget) if budget else None


def _stops_on_error(execution: SuiteValue | None) -> bool:
    """``fail_on_error``: after the first test that could not be judged, no other one begins on the same target."""
    return execution is not None and (execution.flag("fail_on_error") or execution.flag("failOnError"))


# --- warnings ---------------------------------------------------------------------------------------


def _warnings(top: SuiteValue, files: SuiteFiles) -> Iterator[Problem]:
    from skillgym_action.agentv.known_keys import WORKSPACE, unknown_in, unknown_in_assertions
    from skillgym_action.agentv.messages import dropped_messages
    from skillgym_action.agentv.program_suites import keys_of_programs, program_warnings

    yield from program_warnings(top)
    yield from top.unknown_keys(KNOWN_KEYS | keys_of_programs(top))
    yield from unknown_in(top.get("workspace"), WORKSPACE)
    yield from unknown_in_assertions(top.get("assertions", "assert"))
    yield from dropped_messages(top.get("input"))
    for alias, name in ALIASES.items():
        if value := top.get(alias):
            yield value.problem(f"{alias} is an old name", f"write {name}")
    for key_path, name in references(top.source.value):
        if name in files.secrets and name not in files.environment:
            value = replace(top, key_path=key_path)
            yield value.problem(f"{name} is left empty: suites cannot use secrets", "targets.yaml may name it")
    yield from _without_effect(top)


def _without_effect(top: SuiteValue) -> Iterator[Problem]:
    """Warnings about keys that are known, and have no effect or not that of AgentV."""
    from skillgym_action.agentv.cases import zero_threshold
    from skillgym_action.agentv.known_keys import TARGET_OF_SUITE, TRIALS, unknown_in

    if top.get("preprocessors"):
        yield top.problem(
            "preprocessors are not supported: graders see files as they are", "convert them with a hook before_each"
        )
    if (value := top.get("evaluator")) and value.value not in ("llm-grader", "llm_grader"):
        yield value.problem(
            "evaluator has no effect: without assertions, the judge goes by criteria and expected_output",
            "write assertions",
        )
    execution = top.get("execution")
    if execution is None:
        return
    yield from execution.unknown_keys(EXECUTION_KEYS)
    yield from zero_threshold(execution)
    yield from unknown_in(execution.get("trials"), TRIALS)
    yield from unknown_in(execution.get("targets"), TARGET_OF_SUITE)
    if value := execution.get("workers"):
        yield value.problem("workers is ignored: a suite does not set the number of parallel sessions", "use --jobs")
    if (trials := execution.get("trials")) and trials.get("count") is None:
        yield trials.problem("trials has no count: each test is run once", "count: 3")


def _hooks_without_workspace(top: SuiteValue, runners: tuple[Runner, ...]) -> Iterator[Problem]:
    if any(runner.hooks != type(runner.hooks)() for runner in runners):
        yield top.problem("hooks of targets need a workspace, and are not run", "set one: workspace: ./template/")
