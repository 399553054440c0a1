"""An imported suite file in the Python suite host: checked, and as data for the protocol."""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import suggestion
from skillgym_action.model.limits import MAX_SUITE_CASES
from skillgym_action.suites.programs.runtime.matching import value_text
from skillgym_action.suites.programs.runtime.suite import SETTINGS, Case, Suite, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from skillgym_action.suites.programs.runtime.failures import Json, Places

MISSING = object()


class SuiteProgramError(Exception):
    """The file was imported, but is not a suite. ``remedy``: what to write. Neither text ends with a full stop."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class SuiteProgram:
    """The cases and the workspace of an imported suite file. ``problems``: one per case that cannot be used."""

    def __init__(self, module: ModuleType, places: Places) -> None:
        """Raises SuiteProgramError."""
        self.file = str(module.__file__)
        self.places = places
        self.cases: dict[str, Case] = {}
        self.problems: list[Json] = []
        suite = getattr(module, "suite", MISSING)
        self.name = str(suite.name) if isinstance(suite, Suite) else ""
        self.workspace = _workspace(module)
        self.arms = _arms(module, places)
        items = _items(suite)
        if len(items) > MAX_SUITE_CASES:
            raise SuiteProgramError(f"the suite has more than {MAX_SUITE_CASES:,} cases", "split it into several files")
        for number, (key, case) in enumerate(items, start=1):
            self._add(case, key, number)
        for name, other in vars(module).items():
            if isinstance(other, Suite) and other is not suite:
                self._refuse(name, other)

    def _refuse(self, name: str, other: Suite) -> None:
        """Report a second suite of the file; one that was imported belongs to another file."""
        own = [case for _, case in _items(other) if isinstance(case, Case) and case.written_at[0] == self.file]
        if own:
            message = f"the suite {name!r} is not run: a file has one suite, the variable suite"
            self._report(name, [(message, "move its cases to a file of their own")], self._place(own[0]))

    def as_data(self) -> Json:
        """The reply to ``load``."""
        return {
            "name": self.name,
            "cases": [self._case(case) for case in self.cases.values()],
            "problems": self.problems,
            "workspace": self.workspace,
            "arms": self.arms,
        }

    def _add(self, case: object, key: str, number: int) -> None:
        if not isinstance(case, Case):
            problem = (f"this is a {type(case).__name__}, not a Case", "write Case(id=…, prompt=…, check=…)")
            self._report(key or f"case {number}", [problem], self.places.at(self.file))
            return
        case.id = case.id or key
        problems = list(_problems(case))
        if twin := self.cases.get(case.id) if isinstance(case.id, str) else None:
            first, second = (":".join(map(str, self._place(each).values())) for each in (twin, case))
            message = f"the id {case.id!r} is used twice: {first} and {second}"
            problems.append((message, "give each case a different id"))
        if problems:
            self._report(str(case.id or f"case {number}"), problems, self._place(case))
        else:
            self.cases[case.id] = case

    def _report(self, name: str, problems: list[tuple[str, str]], location: Json) -> None:
        message, remedy = ("; ".join(words) for words in zip(*problems, strict=True))
        self.problems.append({"case": name, "message": message, "remedy": remedy, "location": location})

    def _place(self, case: Case) -> Json:
        return self.places.at(*case.written_at)

    def _case(self, case: Case) -> Json:
        return {
            "id": case.id,
            "prompt": case.prompt,
            "tags": list(dict.fromkeys(case.tags)),
            "timeoutMs": case.timeout_ms,
            "expectedFail": case.expected_fail,
            "classify": case.classify_failure is not None,
            "location": self._place(case),
        }


def arguments_taken(check: Any) -> int | None:
    """How many of the arguments (report, ctx) a check accepts: 2, 1 or 0; None if it needs others."""
    try:
        signature = inspect.signature(check)
    except ValueError:
        return 2
    for count in (2, 1, 0):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count
    return None


def _items(suite: Any) -> list[tuple[str, object]]:
    """Keys and cases; the key is empty if the suite is not a mapping."""
    match suite:
        case Suite():
            return [("", case) for case in suite.cases]
        case Mapping():
            return [(str(key), case) for key, case in suite.items()]
        case list() | tuple():
            return [("", case) for case in suite]
    what = "no variable `suite`" if suite is MISSING else f"a variable `suite` that is a {type(suite).__name__}"
    raise SuiteProgramError(f"the file has {what}", "write `suite = [Case(…)]`, a dict of cases, or a Suite()")


def _problems(case: Any) -> Iterator[tuple[str, str]]:
    """Problems of a case and their remedies. The fields may have values of any type."""
    if not isinstance(case.id, str) or not case.id.strip():
        yield "the case has no id", 'write Case(id="…")'
    if not isinstance(case.prompt, str) or not case.prompt.strip():
        yield "the case has no prompt", "write prompt=, the exact text given to the agent"
    elif "\0" in case.prompt:
        yield "the prompt contains a NUL character", "programs cannot receive it; remove it"
    if problem := _check_problem(case.check):
        yield problem, "write `def check(report, ctx): …`, sync or async"
    tags = case.tags
    if isinstance(tags, str) or not isinstance(tags, Sequence) or not all(map(_is_tag, tags)):
        yield f"tags are {value_text(tags)}", 'write tags=["smoke", "auth"]'
    if case.timeout_ms is not None and not _is_positive(case.timeout_ms):
        yield f"timeout_ms is {value_text(case.timeout_ms)}", "write a positive number of milliseconds"
    if not isinstance(case.expected_fail, bool):
        yield f"expected_fail is {value_text(case.expected_fail)}", "write True or False"
    if case.classify_failure is not None and not callable(case.classify_failure):
        yield "classify_failure is not a function", "write `def classify_failure(result): …`"
    for name in case.unknown:
        remedy = suggestion(name, ("id", "prompt", "check", *SETTINGS))
        yield f"unknown field {name!r}", remedy or f"known: {', '.join(SETTINGS)}"


def _check_problem(check: object) -> str | None:
    if not callable(check):
        return "the case has no check"
    if inspect.isgeneratorfunction(check) or inspect.isasyncgenfunction(check):
        return "the check yields, so calling it would judge nothing"
    return None if arguments_taken(check) is not None else "the check does not take (report, ctx)"


def _is_tag(tag: object) -> bool:
    return isinstance(tag, str) and bool(tag.strip())


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < float("inf")


def _arms(module: ModuleType, places: Places) -> Json | None:
    """The value of ``arms``, in the shape of the configuration, and where it is."""
    arms = getattr(module, "arms", None)
    if arms is None:
        return None
    try:
        value = json.loads(json.dumps(arms, default=os.fspath))
        return {"value": value, "location": places.at(str(module.__file__), _line_of(module, "arms"))}
    except (TypeError, ValueError) as error:
        raise SuiteProgramError(f"`arms`: {error}", "write a dict of dicts, as in the configuration") from error


def _line_of(module: ModuleType, name: str) -> int | None:
    """The line at which a module assigns a name first."""
    try:
        lines = inspect.getsource(module).splitlines()
    except (OSError, TypeError):
        return None
    return next((number for number, line in enumerate(lines, 1) if re.match(rf"{name}\s*[:=]", line)), None)


def _workspace(module: ModuleType) -> Json | None:
    workspace = getattr(module, "workspace", None)
    if workspace is None:
        other = next((name for name, value in vars(module).items() if isinstance(value, Workspace)), None)
        if other:
            raise SuiteProgramError(f"the workspace is called `{other}`, so it is not used", "call it `workspace`")
        return None
    if not isinstance(workspace, Workspace):
        raise SuiteProgramError(f"`workspace` is a {type(workspace).__name__}", "write `workspace = Workspace(mode=…)`")
    bootstrap = workspace.bootstrap
    return {
        "mode": workspace.mode,
        "templateDir": None if workspace.template_dir is None else os.fspath(workspace.template_dir),
        "cwd": None if workspace.cwd is None else os.fspath(workspace.cwd),
        "bootstrap": bootstrap
        and {
            "command": bootstrap["command"],
            "args": [str(argument) for argument in bootstrap.get("args", ())],
            "timeoutMs": bootstrap.get("timeout_ms"),
            "env": {str(name): str(value) for name, value in bootstrap.get("env", {}).items()},
        },
        "limits": workspace.limits,
        "container": workspace.container,
    }
