"""Which files are suites of AgentV: by their name, and where other programs use the same names by their content."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from skillgym_action.model.errors import closest_match
from skillgym_action.model.suite import NotASuite
from skillgym_action.suites import vendored_folder

if TYPE_CHECKING:
    from collections.abc import Iterable

SUITE_NAME = re.compile(r"(^|/)(eval\.ya?ml|[^/]*\.eval\.ya?ml)$", re.IGNORECASE)
PROGRAM_NAME = re.compile(r"\.eval\.[cm]?ts$", re.IGNORECASE)
"""The name of suites in TypeScript; programs for other tools have it, too."""
SHARED_NAME = re.compile(r"(^|/)eval\.ya?ml$")
"""The spelling of ``EVAL.yaml`` that other programs use for their settings, too."""
NEXT_NAME = re.compile(r"(^|/)suite\.ya?ml$", re.IGNORECASE)
SKILL_NAME = re.compile(r"(^|/)([^/]*\.)?evals\.json$", re.IGNORECASE)
PROMPTFOO_NAME = re.compile(r"(^|/)promptfooconfig[^/]*\.(ya?ml|json)$", re.IGNORECASE)
OF_PROMPTFOO = "is a configuration of promptfoo, which this tool does not run"
REWRITE = "rewrite its tests as a suite: docs/how-to/from-promptfoo.md has a table of terms and settings"
YAML_NAME = re.compile(r"\.ya?ml$", re.IGNORECASE)
IGNORED = re.compile(r"(^|/)(node_modules|dist|\.git|\.agentv/results)/")

TEST_KEYS = ("tests", "eval_cases", "evalcases")
_CASE_KEYS = frozenset(
    {"input", "input_files", "criteria", "expected_output", "expected_outcome", "assertions", "rubrics", "evaluators"}
)
"""Keys of a test that hardly any other program has below ``tests``."""
_SUITE_KEYS = frozenset({*TEST_KEYS, "assertions", "assert", "input", "input_files", "evaluator", "execution"})
_NEWER_KEYS = frozenset({"prompts", "default_test", "evaluate_options", "scenarios"})
"""Keys at the top of suites of AgentV 5 that hardly any other program has beside tests."""
_NEWER_PAIR = frozenset({"vars", "assert"})
"""Keys of its tests; together they are of no other program."""
_OTHER_LISTS = ("cases", "test_cases", "tests", "scenarios", "evaluations", "queries")
_PROMPTS = ("prompt", "query", "input", "task", "should_trigger")
_TOP_KEY = re.compile(r"^[\"']?([A-Za-z_$][\w$.-]*)[\"']?[ \t]*:", re.MULTILINE)
_ANY_KEY = re.compile(r"(?:^[ \t]*(?:-[ \t]+)*|[{,][ \t]*)[\"']?([A-Za-z_][\w-]*)[\"']?[ \t]*:(?=\s|$)", re.MULTILINE)
_TESTS_IN_FILE = re.compile(
    r"^tests:[ \t]*[\"']?(?:file://|\.{1,2}/)[^\s\"']+(?:/|\.ya?ml|\.jsonl?|\.csv)[\"']?[ \t]*$", re.MULTILINE
)
"""Tests in a file or a folder beside the suite."""
_MISNAMED = re.compile(r"criteria|default_test|evaluate_options")
"""Words without which a file of another name is not looked at."""
_EVALS = re.compile(r'"(evals?|skill_name)"')
_EXPORT = re.compile(
    r"^[ \t]*(?:export[ \t]+(?:default\b|(?:const|let|var)[ \t]+(?:config|evalConfig)\b)|module\.exports\b)",
    re.MULTILINE,
)
_TESTS = re.compile(r"\b(?:tests|specFile)[ \t]*[:,}]")
_BLANK = " \t\r\n\0\ufeff\ufffd"
_LIKENESS = 0.8
_LEAVE_OUT = "correct it, or exclude it with !PATH"


def named(path: str) -> bool:
    """Whether the path is ``EVAL.yaml``, ``*.eval.yaml``, ``*.eval.ts``, ``suite.yaml`` or ``*evals.json``."""
    return not IGNORED.search(path) and _has_a_name(path)


def accepts(path: str, head: str) -> bool:
    """Whether the file is a suite: by its name, or by its content if other programs use that name, too.

    Keys may be misspelt: then the suite is reported, and does not disappear.
    """
    if not named(path):
        return False
    head = head.replace("\0", "").lstrip("\ufeff\ufffd")
    if PROGRAM_NAME.search(path):
        return not vendored_folder(path) and _exports_suite(head)
    if SKILL_NAME.search(path):
        return _has_evals(head) or not (head.strip(_BLANK) or vendored_folder(path))
    if NEXT_NAME.search(path):
        return _is_suite_yaml(head)
    if SHARED_NAME.search(path) or vendored_folder(path):
        return not _has_other_keys(head) and not (vendored_folder(path) and not head.strip(_BLANK))
    return True


def rejection(path: str, head: str) -> NotASuite | None:
    """Why a file is not run, if it is called like a suite of AgentV, or written like one."""
    head = head.replace("\0", "").lstrip("\ufeff\ufffd")
    if PROMPTFOO_NAME.search(path) and not vendored_folder(path):
        return NotASuite(reason=OF_PROMPTFOO, remedy=REWRITE)
    if not _has_a_name(path):
        return None if vendored_folder(path) or IGNORED.search(path) or not _is_misnamed(path, head) else _misnamed()
    if ignored := IGNORED.search(path):
        return NotASuite(reason=f"is in the folder {ignored[2]}, where AgentV looks for no suites")
    if folder := vendored_folder(path):
        return NotASuite(reason=f"is in the folder {folder}, and not a suite of AgentV")
    if not head.strip(_BLANK):
        return NotASuite(reason="has the name of a suite, but is empty", remedy="remove or rename it", near_miss=True)
    return _unread_evals(head) if SKILL_NAME.search(path) else _of_another_program(path, head)


def _of_another_program(path: str, head: str) -> NotASuite:
    """Why a file with a name that other programs use, too, is not run."""
    if PROGRAM_NAME.search(path):
        return NotASuite(reason="neither mentions AgentV nor exports tests")
    if NEXT_NAME.search(path):
        similar = len(_keys(head) & (_CASE_KEYS | _NEWER_PAIR | {*TEST_KEYS})) > 1
        reason = "has no tests with an input, criteria or assertions, as suites of AgentV have"
        return NotASuite(reason=reason, remedy=_LEAVE_OUT if similar else None, near_miss=similar)
    return NotASuite(
        reason="has the name of an AgentV suite, but none of its keys: probably settings of another program",
        remedy="add tests, or exclude it with !PATH",
        near_miss=True,
    )


def _has_a_name(path: str) -> bool:
    return any(name.search(path) for name in (SUITE_NAME, PROGRAM_NAME, NEXT_NAME, SKILL_NAME))


# --- TypeScript -------------------------------------------------------------------------------------


def _exports_suite(head: str) -> bool:
    """Whether a program mentions AgentV, or exports an object with tests as AgentV reads it."""
    return "agentv" in head.lower() or bool(_EXPORT.search(head) and _TESTS.search(head))


# --- YAML -------------------------------------------------------------------------------------------


def _is_suite_yaml(head: str) -> bool:
    """Whether ``suite.yaml``, as many programs call their files, has tests as suites of AgentV have them."""
    top, keys = _top_keys(head), _keys(head)
    if "scenarios" in top:
        return "prompts" in top or keys >= _NEWER_PAIR
    if not _has_tests(head):
        return False
    return bool(keys & _CASE_KEYS or top & _NEWER_KEYS or keys >= _NEWER_PAIR or _TESTS_IN_FILE.search(head))


def _has_tests(head: str) -> bool:
    return _nearly_has(_top_keys(head), TEST_KEYS)


def _has_other_keys(head: str) -> bool:
    """Whether the file has keys at the top, and none that suites have, also misspelt."""
    keys = _top_keys(head)
    return bool(keys) and not _nearly_has(keys, _SUITE_KEYS) and not keys & _NEWER_KEYS


def _nearly_has(keys: set[str], wanted: Iterable[str]) -> bool:
    """Whether one of the keys is a wanted one, also misspelt."""
    written = sorted({key.lower() for key in keys})
    return any(closest_match(key, written, _LIKENESS) for key in wanted)


def _is_misnamed(path: str, head: str) -> bool:
    """Whether a YAML file has tests as only suites of AgentV have them."""
    if not YAML_NAME.search(path) or not _MISNAMED.search(head) or not _TOP_KEY.search(head):
        return False
    top, keys = _top_keys(head), _keys(head)
    if {"tests", "prompts"} <= top and top & {"default_test", "evaluate_options"}:
        return True
    return not top.isdisjoint(TEST_KEYS) and {"id", "input", "criteria"} <= keys and not {"prompts", "providers"} & top


def _misnamed() -> NotASuite:
    return NotASuite(
        reason="has tests like an AgentV suite, but is named neither EVAL.yaml nor *.eval.yaml, so it is not run",
        remedy="rename it to *.eval.yaml, or exclude it with !PATH",
        near_miss=True,
    )


def _top_keys(head: str) -> set[str]:
    """Keys at the top of a YAML file, without parsing it; of one in braces all keys."""
    if head.lstrip(_BLANK).startswith("{"):
        return _keys(head)
    return {found[1] for found in _TOP_KEY.finditer(head)}


def _keys(head: str) -> set[str]:
    """Keys at any depth."""
    return {found[1] for found in _ANY_KEY.finditer(head)}


# --- evals.json -------------------------------------------------------------------------------------


def _has_evals(head: str) -> bool:
    """Whether a JSON file has a list of evals; one that is broken or longer than its head has the key."""
    try:
        value = json.loads(head.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return _EVALS.search(head) is not None
    if not isinstance(value, dict):
        return False
    return isinstance(value.get(closest_match("evals", value, _LIKENESS)), list)


def _unread_evals(head: str) -> NotASuite:
    """Why ``evals.json`` is not read. Forms of it that this version does not know become warnings."""
    try:
        value = json.loads(head.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return NotASuite(reason="is not JSON", remedy=_LEAVE_OUT, near_miss=True)
    if _looks_like_evals(value):
        return NotASuite(
            reason="is not run: this form of evals.json is not read by this version",
            remedy="write the cases as a list `evals`, or exclude the file with !PATH",
            near_miss=True,
        )
    return NotASuite(reason="is not a skill's evals: it has no list `evals`")


def _looks_like_evals(value: object) -> bool:
    """Whether a JSON value has prompts or queries where other forms of ``evals.json`` have them."""
    if isinstance(value, dict):
        if "evals" in value or "skill_name" in value:
            return True
        return any(_looks_like_evals(value[key]) for key in _OTHER_LISTS if isinstance(value.get(key), list))
    cases = value if isinstance(value, list) else []
    return any(isinstance(case, dict) and any(key in case for key in _PROMPTS) for case in cases)
