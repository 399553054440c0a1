"""Format: suites of AgentV 4 and 5: ``EVAL.yaml``, ``*.eval.yaml``, ``*.eval.ts``, JSONL, ``evals.json`` of skills.

Which files these are is in ``suite_names``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_AGENTV_WARNINGS, MAX_CASE_ID_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.suite import BenchmarkSuite, Invalid, WorkspaceSpec
from skillgym_action.suites.agentv.program_graders import FunctionReference
from skillgym_action.suites.agentv.suite_files import SuiteFiles
from skillgym_action.suites.agentv.suite_names import (
    OF_PROMPTFOO,
    PROMPTFOO_NAME,
    REWRITE,
    TEST_KEYS,
    accepts,
    named,
    rejection,
)
from skillgym_action.suites.agentv.variables import dotenv, merged, references
from skillgym_action.suites.arm_section import FOREIGN_KEY, suite_arms
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.secret_forms import is_secret_variable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.model.runner import Runner
    from skillgym_action.model.suite import BenchmarkCase
    from skillgym_action.suites import SuiteFile
    from skillgym_action.suites.agentv.case_sources import Tests
    from skillgym_action.suites.agentv.cases import LoadedCases, SharedSettings
    from skillgym_action.suites.agentv.version_5 import Version5Suite
    from skillgym_action.text.documents.located_values import KeyPath

__all__ = ["accepts", "named", "rejection", "suite"]


def suite(source: SuiteFile) -> BenchmarkSuite:
    """The suite. A test that cannot be used becomes an Invalid. Raises SuiteError for problems of the whole file."""
    from skillgym_action.suites.agentv.cases import cases_of
    from skillgym_action.suites.agentv.known_keys import each_once
    from skillgym_action.suites.agentv.targets import STAND_INS, runners_of
    from skillgym_action.suites.agentv.transcript_agent import in_order

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
    arms = suite_arms(source, _arms_value(read.top), FOREIGN_KEY, read.top.source)
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


@record
class _Content:
    """The content of a suite file: what it defines for all tests, and the tests.

    ``newer``: what else a suite of AgentV 5 defines.
    """

    top: SuiteValue
    tests: Tests
    name: str
    newer: Version5Suite | None = None


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
    from skillgym_action.suites.agentv.case_sources import Tests, add_lines, skill_tests, tests_of
    from skillgym_action.suites.agentv.version_5 import is_version_5, version_5_suite

    suffix = source.file.suffix.lower()
    if suffix == ".jsonl":
        shared_file = files.first_of(source.file.parent, [f"{source.file.stem}{end}" for end in (".yaml", ".yml")])
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


# --- defined for all tests ----------------------------------------------------------------------------


def _shared(top: SuiteValue, files: SuiteFiles, newer: Version5Suite | None = None) -> SharedSettings:
    from skillgym_action.suites.agentv.assertions import assertions_of
    from skillgym_action.suites.agentv.cases import DEFAULT_THRESHOLD, SharedSettings, entry_context
    from skillgym_action.suites.agentv.grader_context import Task
    from skillgym_action.suites.agentv.trials import trials_of
    from skillgym_action.suites.agentv.workspaces import workspace_settings

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


# --- warnings -----------------------------------------------------------------------------------------


def _warnings(top: SuiteValue, files: SuiteFiles) -> Iterator[Problem]:
    from skillgym_action.suites.agentv.known_keys import WORKSPACE, unknown_in, unknown_in_assertions
    from skillgym_action.suites.agentv.messages import dropped_messages

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
    from skillgym_action.suites.agentv.cases import zero_threshold
    from skillgym_action.suites.agentv.known_keys import TARGET_OF_SUITE, TRIALS, unknown_in

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


# --- suites that are programs -------------------------------------------------------------------------

SUFFIXES = frozenset({".ts", ".mts", ".cts"})

DESCRIPTIVE = ("name", "description", "category", "version", "author", "license", "tags", "requires", "governance")
"""Keys that are at the top of a suite, and below ``metadata`` of a configuration."""

IGNORED = {
    "filter": "use --case",
    "maxRetries": "use --retry",
    "agentTimeoutMs": "use --timeout, or timeout_seconds of the target",
    "outputDir": "use --output-dir",
    "experiment": "name the run with --output",
    "onResult": "read results.json after the run",
}
"""Keys of a configuration that have no effect, and what has it."""

_SILENT = ("cache", "cachePath", "verbose")
_FUNCTION = "$function"


@record
class ProgramSource:
    """A suite that a program exports: its tests have a location, other keys that of the export."""

    value: object
    location: Location
    tests: tuple[Location, ...] = ()

    def locate(self, key_path: KeyPath = ()) -> Location:
        """The location of the test that a key is in, else that of the export."""
        if len(key_path) > 1 and key_path[0] == "tests" and isinstance(key_path[1], int):
            return self.tests[key_path[1]] if key_path[1] < len(self.tests) else self.location
        return self.location

    def scalar(self, key_path: KeyPath) -> str | None:  # noqa: ARG002 - a program has no text of it
        """None: values are those of the program."""
        return None


def is_program(source: SuiteFile) -> bool:
    """Whether a suite host reads the file."""
    return source.file.suffix.lower() in SUFFIXES


def program_suite(source: SuiteFile, files: SuiteFiles) -> SuiteValue:
    """What the file exports, with the keys of a suite in YAML. Raises SuiteError."""
    reply = source.exported()
    exported = reply.get("suite")
    location = _location(reply.get("location")) or Location(path=source.path)
    places = reply.get("tests")
    tests = tuple(_location(place) or location for place in places) if isinstance(places, list) else ()
    if not isinstance(exported, dict):
        raise SuiteError.of(Problem(message="the suite host's answer is not understood", location=location))
    value = _with_functions(exported)
    made = ProgramSource(value=value, location=location, tests=tests)
    top = SuiteValue(source=made, value=value)
    return top if reply.get("defined") is True else _of_configuration(top, files)


def keys_of_programs(top: SuiteValue) -> frozenset[str]:
    """Keys that only suites in TypeScript have."""
    return frozenset({"task"}) if isinstance(top.source, ProgramSource) else frozenset()


def named_suites(top: SuiteValue, files: SuiteFiles) -> tuple[Path, ...]:
    """The suite in YAML that a configuration names: like the configuration, agents do not see it."""
    written = top.source.value if isinstance(top.source, ProgramSource) else None
    name = written.get("specFile") if isinstance(written, dict) else None
    return (files.folder / name,) if isinstance(name, str) else ()


def program_warnings(top: SuiteValue) -> Iterator[Problem]:
    """Warnings about keys of a configuration that have no effect."""
    written = top.source.value if isinstance(top.source, ProgramSource) else {}
    for key, remedy in IGNORED.items():
        if isinstance(written, dict) and key in written:
            yield replace(top, key_path=(key,)).problem(f"{key} of a suite in TypeScript has no effect", remedy)


def _of_configuration(top: SuiteValue, files: SuiteFiles) -> SuiteValue:
    """An ``EvalConfig``, which names some keys otherwise than a suite in YAML. Raises SuiteError."""
    written = dict(top.mapping())
    suite = _of_file(top, files) if "specFile" in written else {}
    suite |= _description(written.pop("metadata", None))
    own = {key: written.pop(key) for key in ("threshold", "budget_usd", "workers") if written.get(key) is not None}
    if execution := _joined(suite.get("execution"), written.pop("execution", None), own):
        suite["execution"] = execution
    if before := written.pop("before_all", None):
        suite["workspace"] = _with_hook(suite.get("workspace") or written.pop("workspace", None), before)
    if (assertions := written.pop("assert", None)) is not None:
        suite["assertions"] = [*_listed(suite.get("assertions") or suite.get("assert")), *_listed(assertions)]
    tests = written.pop("tests", None)
    if tests is not None:
        suite["tests"] = list(map(_test, tests)) if isinstance(tests, list) else tests
    others = {key: value for key, value in written.items() if key not in {*IGNORED, *_SILENT, "specFile"}}
    return replace(top, value={**suite, **others})


def _description(metadata: object) -> dict[str, object]:
    """Name, tags and the like of a configuration, at the top as in a suite; and the other metadata."""
    if not isinstance(metadata, dict):
        return {} if metadata is None else {"metadata": metadata}
    others = {key: value for key, value in metadata.items() if key not in DESCRIPTIVE}
    described = {key: metadata[key] for key in DESCRIPTIVE if key in metadata}
    return {**described, **({"metadata": others} if others else {})}


def _of_file(top: SuiteValue, files: SuiteFiles) -> dict[str, object]:
    """The suite in YAML that a configuration names, which has to be beside it."""
    named = top.member("specFile")
    file = files.folder / named.as_text()
    if top.has("tests"):
        raise named.error("a suite has tests or specFile, not both", "leave one of them out")
    if file.parent.resolve() != files.folder.resolve() or file.suffix.lower() not in {".yaml", ".yml"}:
        raise named.error("specFile has to be a YAML file in the same folder", "run that file itself, without this one")
    if not file.is_file():
        raise named.error(f"there is no {files.shown(file)}")
    return dict(files.interpolated(files.read(file)).mapping())


def _test(test: object) -> object:
    """A test with ``assertions`` for ``assert``; one with turns is a conversation."""
    if not isinstance(test, dict):
        return test
    made = _with_assertions(test)
    if isinstance(turns := made.get("turns"), list) and turns:
        made["turns"] = [_with_assertions(turn) if isinstance(turn, dict) else turn for turn in turns]
        made.setdefault("mode", "conversation")
    return made


def _with_assertions(written: Mapping[str, object]) -> dict[str, object]:
    made = dict(written)
    if "assert" in made and "assertions" not in made:
        made["assertions"] = made.pop("assert")
    return made


def _with_hook(workspace: object, command: object) -> dict[str, object]:
    """The settings of a workspace with a hook ``before_all``, unless they have one. Text is a line for the shell."""
    settings = dict(workspace) if isinstance(workspace, dict) else {}
    if isinstance(workspace, str):
        settings["template"] = workspace
    hook = {"command": ["sh", "-c", command] if isinstance(command, str) else command}
    hooks = settings.get("hooks")
    return {**settings, "hooks": {"before_all": hook, **(hooks if isinstance(hooks, dict) else {})}}


def _joined(*parts: object) -> dict[str, object]:
    mappings = (part for part in parts if isinstance(part, dict))
    return {str(key): value for part in mappings for key, value in part.items()}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _with_functions(value: object) -> Any:
    """The value with a ``FunctionReference`` for each function."""
    if isinstance(value, dict):
        number = value.get(_FUNCTION)
        if value.keys() == {_FUNCTION} and isinstance(number, int):
            return FunctionReference(number)
        return {key: _with_functions(part) for key, part in value.items()}
    return list(map(_with_functions, value)) if isinstance(value, list) else value


def _location(found: object) -> Location | None:
    """A location in the author's files; None for anything that is none."""
    if not isinstance(found, Mapping) or not isinstance(path := found.get("path"), str):
        return None
    line, column = (number if isinstance(number := found.get(key), int) else None for key in ("line", "column"))
    return Location(path=path, line=line, column=column)
