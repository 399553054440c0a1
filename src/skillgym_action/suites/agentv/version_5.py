"""Suites of AgentV 5, recognised by their keys, and translated into what suites of AgentV 4 define."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.suites.agentv.case_sources import Tests, tests_of
from skillgym_action.suites.agentv.targets import TARGET_FILES
from skillgym_action.suites.agentv.version_5_assertions import TRAJECTORY, plain_type
from skillgym_action.suites.agentv.version_5_assertions import TYPES as ASSERTION_TYPES
from skillgym_action.suites.agentv.version_5_environment import (
    CATALOGS,
    catalog_of,
    environment_of,
    extension_hooks,
    is_file_up,
    named_providers,
    text_mapping,
)
from skillgym_action.suites.agentv.version_5_templates import environment_names
from skillgym_action.suites.agentv.version_5_tests import (
    DEFAULT_KEYS,
    TestDefaults,
    default_test,
    prompts_of,
    scenario_tests,
    translated_tests,
)
from skillgym_action.suites.agentv.workspaces import WorkspaceSettings, workspace_settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.agentv.suite_files import SuiteFiles
    from skillgym_action.suites.agentv.targets import Targets
    from skillgym_action.suites.values import SuiteValue
    from skillgym_action.text.documents.located_values import KeyPath


TOP_KEYS = frozenset(
    {"providers", "environment", "prompts", "evaluate_options", "default_test", "extensions", "scenarios"}
)
"""Keys at the top that suites of AgentV 4 do not have."""
TEST_KEYS = frozenset({"environment", "threshold", "options"})
"""The same of tests."""
OLDER_KEYS = frozenset({"execution", "assertions", "evaluator", "eval_cases", "evalcases", "preprocessors"})
"""Keys at the top that suites of AgentV 5 do not have."""
KEPT_KEYS = frozenset(
    {
        *("name", "description", "category", "version", "author", "license", "requires", "metadata", "governance"),
        *("input", "input_files", "workspace", "evaluator", "execution", "preprocessors"),
    }
)
"""Keys that mean the same in AgentV 4."""
OWN_KEYS = frozenset(
    {
        *TOP_KEYS,
        *("suite", "tags", "tests", "eval_cases", "evalcases", "assert", "assertions", "target", "targets", "provider"),
        *("env", "threshold", "timeout_seconds", "defaults", "derived_metrics", "nunjucks_filters"),
    }
)
OPTION_KEYS = frozenset({"max_concurrency", "repeat", "budget_usd"})
REPEAT_KEYS = frozenset({"count", "strategy", "early_exit", "cost_limit_usd"})
REFUSED = {"imports": "write the paths into tests: [./cases.yaml]"}
"""Keys that AgentV itself has given up, and what works."""
WITHOUT_EFFECT = {
    "derived_metrics": ("derived_metrics are not computed", "compute them from results.json"),
    "nunjucks_filters": (
        "filters in JavaScript are not loaded",
        "use default, join, lower, trim, upper or dump",
    ),
}
"""Keys that do nothing: why, and what works."""
STRATEGIES = {"pass_any": "pass_at_k"}
"""Strategies of repetitions that AgentV 4 has under other names."""


def is_version_5(top: SuiteValue, files: SuiteFiles) -> bool:
    """Whether a suite has keys, or assertions of types, that only AgentV 5 has.

    One with keys of neither version is of version 5 if there are providers, and no targets.
    """
    if not isinstance(top.value, dict):
        return False
    if not top.value.keys() & OLDER_KEYS and not is_file_up(TARGET_FILES, files) and is_file_up(CATALOGS, files):
        return True
    return _has_own_keys(top.value)


def _has_own_keys(top: Mapping[str, object]) -> bool:
    if top.keys() & TOP_KEYS or isinstance(top.get("tags"), dict):
        return True
    written = top.get("tests")
    tests = [test for test in written if isinstance(test, dict)] if isinstance(written, list) else []
    if any(_has_own_assertions(holder) for holder in (top, *tests)):
        return True
    return any(test.keys() & TEST_KEYS or _has_own_turns(test) for test in tests)


def _has_own_turns(test: Mapping[str, object]) -> bool:
    turns = test.get("turns")
    return isinstance(turns, list) and any(isinstance(turn, dict) and "assert" in turn for turn in turns)


def _has_own_assertions(holder: Mapping[str, object]) -> bool:
    entries = holder.get("assert")
    mappings = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    types = [plain_type(entry.get("type")) for entry in mappings]
    return any(kind in ASSERTION_TYPES or TRAJECTORY in kind for kind in types)


@record
class Version5Suite:
    """A suite of AgentV 5. ``top`` has the keys of AgentV 4, and so have the tests.

    ``defaults``: assertions for all tests, beside those of ``top``. ``variables``: the environment of all agents.
    ``timeout``: seconds per session.
    """

    top: SuiteValue
    tests: Tests
    targets: Targets
    workspace: WorkspaceSettings | None = None
    defaults: SuiteValue | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    warnings: tuple[Problem, ...] = ()


def version_5_suite(raw: SuiteValue, files: SuiteFiles) -> Version5Suite:
    """The suite in ``raw``, whose variables are not yet replaced. Raises SuiteError."""
    files.state.version_5 = True
    top = files.interpolated(raw)
    for key, remedy in REFUSED.items():
        if member := top.get(key):
            raise member.error(f"{key} is not supported", remedy)
    hooks, warnings = extension_hooks(top.get("extensions"), files)
    hidden: list[Path] = []
    default = default_test(top.get("default_test"), files, hidden)
    environment = environment_of(top.get("environment") or (default and default.get("environment")), files)
    workspace = environment.settings or workspace_settings(top.get("workspace"), files)
    if workspace or hooks != type(hooks)():
        workspace = workspace or WorkspaceSettings()
        workspace = replace(workspace, hooks=workspace.hooks.enclosing(hooks))
    defaults = TestDefaults(
        files=files,
        prompts=prompts_of(top.get("prompts"), files),
        default=default,
        hooks=hooks,
        judged=any(place and place.get("assert", "assertions") for place in (top, default)),
    )
    written = top.get("tests", "eval_cases", "evalcases")
    tests = tests_of(written, files) if written else Tests()
    for test in scenario_tests(top.get("scenarios"), files, hidden):
        tests.add_test(test)
    tests.hidden.extend(hidden)
    if written is None and not top.has("scenarios"):
        raise top.missing("tests", "tests: ./cases/, a folder with a case.yaml for each; or a list")
    catalog = catalog_of(files)
    named = named_providers(top, catalog, files)
    translated = translated_tests(tests, defaults)
    seconds = top.number("timeout_seconds")
    given = {**text_mapping(top.get("env")), **(environment.variables or {})}
    return Version5Suite(
        top=_in_version_4(top, default),
        tests=translated,
        targets=catalog.targets(named, files),
        workspace=workspace,
        defaults=default.get("assert", "assertions") if default else None,
        variables={name: text for name, text in given.items() if text},  # a secret that is left empty hides none
        timeout=float(seconds) if seconds else None,
        warnings=(*warnings, *_warnings(top, default, files), *defaults.warnings),
    )


# --- the top of the suite ---------------------------------------------------------------------------


def _in_version_4(top: SuiteValue, default: SuiteValue | None) -> SuiteValue:
    """The top of the suite with the keys of AgentV 4. Raises SuiteError."""
    members = {key: value for key, value in top.mapping().items() if key in KEPT_KEYS}
    moved: dict[KeyPath, KeyPath] = {}
    execution: dict[str, object] = dict(top.member("execution").mapping()) if top.has("execution") else {}
    if not top.has("name") and (suite := top.get("suite")):
        members["name"], moved[("name",)] = suite.value, ("suite",)
    if written := top.get("assert", "assertions"):
        members["assertions"], moved[("assertions",)] = written.value, written.key_path
    if tags := top.get("tags"):
        members["tags"] = _tags(tags)
        moved[("tags",)] = ("tags",)
    if top.has("threshold"):
        execution["threshold"], moved[("execution", "threshold")] = top.member("threshold").value, ("threshold",)
    if default and default.has("threshold"):
        default.number("threshold", most=1)
        execution["threshold"] = default.member("threshold").value
        moved[("execution", "threshold")] = ("default_test", "threshold")
    if options := top.get("evaluate_options"):
        options.mapping()
        _move_options(options, execution, moved)
    if execution:
        members["execution"] = execution
    return replace(top, value=members, moved=moved)


def _tags(tags: SuiteValue) -> object:
    """Tags as a list; those of a mapping as ``name=value``. Raises SuiteError."""
    if not isinstance(tags.value, dict):
        return tags.value
    return [f"{name}={tags.scalar_text(str(name))}" for name, value in tags.value.items() if value is not None]


def _move_options(options: SuiteValue, execution: dict[str, object], moved: dict[KeyPath, KeyPath]) -> None:
    if options.has("budget_usd"):
        execution["budget_usd"] = options.member("budget_usd").value
        moved[("execution", "budget_usd")] = ("evaluate_options", "budget_usd")
    repeat = options.get("repeat")
    if repeat is None:
        return
    moved[("execution", "trials")] = ("evaluate_options", "repeat")
    if not isinstance(repeat.value, dict):
        options.number("repeat", least=1, whole=True)
        execution["trials"] = {"count": repeat.value}
        moved[("execution", "trials", "count")] = ("evaluate_options", "repeat")
        return
    strategy = repeat.text("strategy")
    trials = {key: value for key, value in repeat.value.items() if key in REPEAT_KEYS - {"early_exit"}}
    execution["trials"] = trials | ({"strategy": STRATEGIES.get(strategy, strategy)} if strategy else {})


# --- warnings ---------------------------------------------------------------------------------------


def _warnings(top: SuiteValue, default: SuiteValue | None, files: SuiteFiles) -> Iterator[Problem]:
    yield from top.unknown_keys(KEPT_KEYS | OWN_KEYS)
    if default:
        yield from default.unknown_keys(DEFAULT_KEYS)
        if of_tests := default.get("options"):
            yield from of_tests.unknown_keys(())
    for key_path, name in environment_names(top.source.value):
        if name in files.secrets and name not in files.environment and key_path[:1] != ("providers",):
            value = replace(top, key_path=key_path)
            yield value.problem(f"{name} is left empty: suites cannot use secrets", "providers.yaml may name it")
    if options := top.get("evaluate_options"):
        yield from _about_options(options)
    for key, (message, remedy) in WITHOUT_EFFECT.items():
        if member := top.get(key):
            yield member.problem(message, remedy)
    if (defaults := top.get("defaults")) and isinstance(defaults.value, dict) and (grader := defaults.get("grader")):
        yield grader.problem("grader is ignored: a suite does not choose the judge", "configure run.judge")
    yield from _about_targets(top.get("execution"))


def _about_targets(execution: SuiteValue | None) -> Iterator[Problem]:
    if execution and isinstance(execution.value, dict):
        for key in ("target", "targets"):
            if value := execution.get(key):
                message = f"execution.{key} is ignored: a suite of AgentV 5 runs on providers"
                yield value.problem(message, "write providers: [NAME]")


def _about_options(options: SuiteValue) -> Iterator[Problem]:
    yield from options.unknown_keys(OPTION_KEYS)
    if jobs := options.get("max_concurrency"):
        message = "max_concurrency is ignored: a suite does not set the number of parallel sessions"
        yield jobs.problem(message, "use --jobs")
    if (repeat := options.get("repeat")) and isinstance(repeat.value, dict):
        yield from repeat.unknown_keys(REPEAT_KEYS)
        if early := repeat.get("early_exit"):
            yield early.problem("early_exit is ignored: after a pass, a test is not repeated anyway", "leave it out")
