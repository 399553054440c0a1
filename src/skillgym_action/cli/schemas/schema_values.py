"""Units, types and defaults of keys that their models do not know, for JSON Schemas and the reference."""

from __future__ import annotations

from skillgym_action.github.options import PublisherOptions
from skillgym_action.judging.assertions import commands
from skillgym_action.model.limits import (
    DEFAULT_DISK_BYTES,
    DEFAULT_FILE_BYTES,
    DEFAULT_LOST_AFTER_SECONDS,
    DEFAULT_LOST_RETRIES,
    DEFAULT_MEMORY_PERCENT,
    DEFAULT_PROCESSES,
    DEFAULT_WORKER_WAIT_SECONDS,
    MAX_ENGINE_SESSIONS,
)
from skillgym_action.model.resource_limits import format_size
from skillgym_action.settings.configuration_file import SNAPSHOTS
from skillgym_action.settings.option_types import DEFAULT_STORE, FAIL_ON
from skillgym_action.settings.sandbox_options import SandboxOptions
from skillgym_action.settings.settings import Settings, declared, keys_of
from skillgym_action.settings.slices import DEFAULT_FAIL_ON, DEFAULT_TIMEOUT, ExecuteOptions
from skillgym_action.suites.xbench import suite as xbench
from skillgym_action.workspaces.session_containers import DEFAULT_WORKDIR

Words = dict[str, dict[str, str]]

_DOLLARS = "US dollars"
_SECONDS = "seconds"
UNITS: Words = {
    "AgentSection": {"budget": _DOLLARS},
    "RunSection": {"maxCost": _DOLLARS, "minUplift": "percentage points"},
    "ToleranceSection": {"absolute": "tokens"},
    "PriceSection": dict.fromkeys(("input", "output", "cached"), "US dollars per million tokens"),
    "SuiteDefaultsSection": {"budget": _DOLLARS, "timeout": _SECONDS},
    "SuiteBootstrapSection": {"timeout": _SECONDS},
    "CaseSection": {"budget": _DOLLARS, "timeout": _SECONDS},
    "ExpectationSection": {"timeout": _SECONDS},
}
"""Definition of the schema -> key -> unit of the number."""

PATH = "path"
PATH_OR_AUTO = f"{PATH} or `auto`"
PATHS = frozenset({PATH, PATH_OR_AUTO})
"""The types in ``TYPES`` that are paths."""
_SIZE = "number of bytes, text such as `512MiB`, or `none`"
_COUNT = "whole number, or `none`"
_MILLISECONDS = "milliseconds, or text such as `5m`"
_DURATION = "seconds, or text such as `30s` or `5m`"
_PATTERN = "[pattern](patterns.md)"
_PATTERNS = "list of [patterns](patterns.md)"
TYPES: Words = {
    "AgentSection": {"sessions": PATH},
    "BootstrapSection": {"timeoutMs": _MILLISECONDS},
    "WorkspaceSection": {"cwd": PATH, "templateDir": PATH},
    "LimitsSection": {"memory": _SIZE, "disk": _SIZE, "processes": _COUNT, "fileSize": _SIZE},
    "RunSection": {
        "cwd": PATH,
        "outputDir": PATH,
        "failOn": "list of [conditions](command-line.md#conditions-that-fail-a-run), or text with commas",
        "baseline": PATH_OR_AUTO,
    },
    "DefaultsSection": {"timeoutMs": _MILLISECONDS},
    "SnapshotsSection": {"path": PATH},
    "ReportSection": {"templates": PATH},
    "SkillsSection": {"path": PATH, "arms": "list of text, or text with commas"},
    "InputSection": {"files": _PATTERNS, "suites": _PATTERNS},
    "TlsSection": {"ca": PATH, "cert": PATH, "key": PATH},
    "EngineSection": {"lostAfter": _DURATION, "wait": _DURATION},
    "ConfigFile": {
        "store": "`branch`, `artifact`, `artifact=FILE`, `path=PATH`, `none`",
        "reuse": "`never`, `unchanged`, `unchanged,max-age=AGE`",
    },
    "SuiteWorkspaceSection": {"templateDir": PATH},
    "SuiteLimitsSection": {"pids": _COUNT},
    "CaseSection": {"expect": "list of [expectations](x-bench.md#expectations)"},
    "ArmSection": {"files": PATH, "remove": _PATTERNS, "home": PATH},
    "ContainerBuildSection": {"context": PATH, "dockerfile": "path of a file in the build context"},
    "ContainerKeys": {"dockerfile": PATH, "workdir": "absolute path"},
    "EntrySection": {
        "case": _PATTERN,
        "suite": _PATTERN,
        "runner": _PATTERN,
        "issue": "URL that begins with `https://` or `http://`",
        "expires": "date, such as `2026-12-15`",
    },
}
"""Definition of the schema -> key -> its type, if the schema does not say all of it. Markdown."""


def _of_settings(section: str, options: object) -> dict[str, str]:
    """The defaults of keys that are settings, as declared, or as in the options of a stage."""
    defaults: dict[str, str] = {}
    for key, name in keys_of(section).items():
        setting, value = declared(name)[0], getattr(options, name, None)
        is_known = value is not None and value != Settings.model_fields[name].default
        if setting.default or is_known:
            defaults[key] = setting.default or (f"{value}" if type(value) is int else f"`{value}`".lower())
    return defaults


_OF_THE_RUN = "limit of the run"
DEFAULTS: Words = {
    "AgentSection": {
        "model": "default model of the agent's CLI",
        "command": "the agent's program on `PATH`, such as `claude` or `codex`",
    },
    "LimitsSection": {
        "memory": (
            f"in the action {DEFAULT_MEMORY_PERCENT}% of the memory of the machine, or of the memory limit of the "
            "job's container if this is less; elsewhere `none`"
        ),
        "disk": f"in the action {format_size(DEFAULT_DISK_BYTES)}, elsewhere `none`",
        "processes": f"{DEFAULT_PROCESSES}",
        "fileSize": format_size(DEFAULT_FILE_BYTES),
    },
    "RunSection": {
        **_of_settings("RunSection", ExecuteOptions()),
        "outputDir": "`.skillgym-results` in the working directory",
        "schedule": "`serial`; `parallel` on a cluster or if `--jobs` is more than 1",
        "maxParallel": "number of processors; with `isolated-by-runner`, number of runners",
        "repeatFailure": "0",
        "retryFailed": "0",
        "workspace": "isolated copy of the repository",
        "tags": "all cases",
        "failOn": ", ".join(f"`{word}`" for word in FAIL_ON if word in DEFAULT_FAIL_ON),
        "baseline": "`auto` if a `store` is set",
    },
    "DefaultsSection": {"timeoutMs": f"{DEFAULT_TIMEOUT * 1000:.0f}"},
    "SnapshotsSection": {"path": f"`{SNAPSHOTS}` in the folder of the configuration file"},
    "PriceSection": {"cached": "same as `input`"},
    "ReportSection": {
        **_of_settings("ReportSection", PublisherOptions()),
        "html": "`true`",
    },
    "SkillsSection": {"path": "folder of the skill that the tool finds near the suite", "arms": "`auto`"},
    "SandboxSection": {
        "type": f"`{SandboxOptions().type}`",
        "proxyImage": "an image that the tool builds",
    },
    "PluginsSection": {"allowTools": "all tools"},
    "EngineSection": {
        "slots": f"{MAX_ENGINE_SESSIONS}",
        "lostAfter": f"`{DEFAULT_LOST_AFTER_SECONDS:.0f}s`",
        "lostRetries": f"{DEFAULT_LOST_RETRIES}",
        "wait": f"`{DEFAULT_WORKER_WAIT_SECONDS / 60:.0f}m`",
    },
    "ConfigFile": {
        "store": (
            f"in the action [`{DEFAULT_STORE}`](github.md#comment-review-status-and-store), unless the baseline is a "
            "path; elsewhere `none`"
        ),
        "reuse": "`never`",
        "engine": "this machine",
    },
    "SuiteDefaultsSection": {"budget": f"{xbench.DEFAULT_BUDGET:g}", "timeout": f"{xbench.DEFAULT_TIMEOUT:g}"},
    "SuiteWorkspaceSection": {"templateDir": "copy of the repository"},
    "SuiteLimitsSection": dict.fromkeys(("memory", "disk", "processes", "fileSize", "pids"), _OF_THE_RUN),
    "CaseSection": {
        "budget": "`defaults.budget`",
        "timeout": "`defaults.timeout`",
        "model": "`model` of the suite",
        "runners": "`runners` of the suite",
    },
    "SuiteSection": {
        "name": "file name without `.bench.json` or `.json`",
        "model": "model of the runner",
        "workspace": "copy of the repository for each session",
        "runners": "all runners of the run",
    },
    "ExpectationSection": {
        "timeout": f"{commands.DEFAULT_TIMEOUT:g}, or the time limit of the case if that is longer",
        "exits": "0, unless `fails` is true",
    },
    "ContainerKeys": {
        "workdir": f"working directory of the image; `{DEFAULT_WORKDIR}` if the image sets none or `/`",
        "user": "user of the image",
        "network": "`model-only`",
    },
    "EntrySection": {"suite": "all suites", "runner": "all runners"},
}
"""Definition of the schema -> key -> what applies if it is not set, if the model has no default. Markdown."""
