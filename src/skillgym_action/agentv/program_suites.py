"""Suites of AgentV in TypeScript: what a suite host has read of them, with the keys and the places of other suites."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from skillgym_action.agentv.function_graders import FunctionReference
from skillgym_action.documents.suite_values import SuiteValue
from skillgym_action.model.errors import Location, Problem, SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.agentv.suite_files import SuiteFiles
    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.formats import SuiteFile

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


@dataclass(frozen=True, kw_only=True, slots=True)
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


# --- AgentV's configuration -------------------------------------------------------------------------


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


# --- the reply of the host --------------------------------------------------------------------------


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
