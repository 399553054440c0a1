"""``evals.json`` of a skill: a prompt with what is expected of the answer, and files for the workspace."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.agentv.case_sources import Tests
from skillgym_action.model.errors import SuiteError

if TYPE_CHECKING:
    from skillgym_action.agentv.source_values import Files, Part

_COPY = 'while [ $# -gt 0 ]; do mkdir -p "$(dirname "$2")" && cp -R "$1" "$2" || exit 1; shift 2; done'


def skill_tests(top: Part, files: Files) -> Tests:
    """The tests of ``evals``. Raises SuiteError when there is no list of them."""
    tests = Tests()
    told = top.get("evals")
    if told is None:
        raise top.error("has no evals", "write evals: a list with id, prompt and expected_output")
    for item in told.items():
        try:
            tests.add(replace(item, value=_test(item, top, files)) if isinstance(item.value, dict) else item)
        except SuiteError as error:
            tests.unread(error.problems[0], item.name)
    return tests


def _test(item: Part, top: Part, files: Files) -> dict[str, object]:
    """The eval in the words of a test. Its number is its id."""
    told: dict[str, object] = item.value  # type: ignore[assignment]
    given: dict[str, object] = {
        key: told[key] for key in ("expected_output", "assertions", "expected_fail", "tags") if key in told
    }
    case_id = told.get("id")
    test: dict[str, object] = {
        "id": str(case_id) if isinstance(case_id, int) else case_id,
        "input": told.get("prompt"),
        "criteria": expected if isinstance(expected := told.get("expected_output"), str) else None,
        "metadata": {"skill_name": top.text("skill_name")},
        **given,
    }
    names = item.texts("files")
    if not names:
        return test
    words: list[str] = []
    for name in names:
        file = files.found(name)
        if file is None:
            raise item.error(f"there is no file {name}", "files are relative to the skill's folder")
        words += [str(file), f"{{{{workspace_path}}}}/{name}"]
    command = ["sh", "-c", _COPY, "sh", *words]
    return test | {"workspace": {"hooks": {"before_each": {"command": command}}}}
