"""Which files are evals of skills: by their name and what is in them; what looks like them and is a result."""

from __future__ import annotations

import json
import re

from skillgym_action.model.errors import closest_match
from skillgym_action.model.suite import NotASuite
from skillgym_action.suites import vendored_folder
from skillgym_action.suites.skill_evals import keys
from skillgym_action.suites.skill_evals.trigger_shapes import LISTS, trigger_shape
from skillgym_action.text.documents.skill_files import IN_RESULTS

EVALS_NAME = re.compile(r"(^|/)([^/]*\.)?evals\.json$", re.IGNORECASE)
TRIGGERS_NAME = re.compile(r"(^|/)trigger[^/]*(eval|quer)[^/]*\.json$", re.IGNORECASE)
IGNORED = re.compile(r"(^|/)(node_modules|\.git)/")
_KEYS = re.compile(r'"(evals?|skill_name|prompt|query|should_trigger)"')
_BLANK = " \t\r\n\0\ufeff\ufffd"
_LIKENESS = 0.8
_NOT_JSON = object()
_LEAVE_OUT = "correct it, or exclude it with !PATH"
_NO_CASES = NotASuite(
    reason="has the name of evals of a skill, but no list of cases with prompts, so it is not run",
    remedy="write the cases as a list `evals`, each with a prompt; or exclude the file with !PATH",
    near_miss=True,
)
_NO_QUERIES = NotASuite(
    reason="has the name of a list of trigger queries, but no queries, so it is not run",
    remedy='write the queries as [{"query": …, "should_trigger": true}]; or exclude the file with !PATH',
    near_miss=True,
)


def named(path: str) -> bool:
    """Whether the path is ``evals.json``, ``*.evals.json`` or ``trigger-evals.json``, and not among results."""
    return bool(_has_a_name(path) and not IGNORED.search(path) and not IN_RESULTS.search(path))


def accepts(path: str, head: str) -> bool:
    """Whether the file has cases with prompts, or queries. Keys may be misspelt: then the suite is reported."""
    if not named(path):
        return False
    head = head.replace("\0", "").lstrip("\ufeff\ufffd")
    if not head.strip(_BLANK):
        return bool(EVALS_NAME.search(path)) and not vendored_folder(path)
    value = _value(head)
    if value is _NOT_JSON:
        return _KEYS.search(head) is not None
    if TRIGGERS_NAME.search(path):
        return trigger_shape(value, certain=True) is not None
    return _has_cases(value) or trigger_shape(value) is not None


def rejection(path: str, head: str) -> NotASuite | None:
    """Why a file is not run that is called like evals of a skill."""
    if not _has_a_name(path):
        return None
    if ignored := IGNORED.search(path):
        return NotASuite(reason=f"is in the folder {ignored[2]}, where no suites are looked for")
    if found := IN_RESULTS.search(path):
        return NotASuite(reason=f"is in the folder {found[2]}, which has results of evals")
    if folder := vendored_folder(path):
        return NotASuite(reason=f"is in the folder {folder}, and no evals of a skill")
    return _why_not(
        head.replace("\0", "").lstrip("\ufeff\ufffd"), _NO_QUERIES if TRIGGERS_NAME.search(path) else _NO_CASES
    )


def _why_not(head: str, other_shape: NotASuite) -> NotASuite:
    if not head.strip(_BLANK):
        return NotASuite(reason="has the name of a suite, but is empty", remedy="remove or rename it", near_miss=True)
    value = _value(head)
    if value is _NOT_JSON:
        return NotASuite(reason="is not JSON", remedy=_LEAVE_OUT, near_miss=True)
    if isinstance(value, dict) and _has_trigger_rates(value.get("results")):
        return NotASuite(reason="has the results of trigger evals")
    return other_shape


def _has_a_name(path: str) -> bool:
    return bool(EVALS_NAME.search(path) or TRIGGERS_NAME.search(path))


def _value(head: str) -> object:
    try:
        return json.loads(head.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return _NOT_JSON


def _has_cases(value: object) -> bool:
    """Whether there is a list of cases: under ``evals``, also misspelt; under other names with prompts in it."""
    if isinstance(value, list):
        return _has_prompts(value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get(closest_match("evals", value, _LIKENESS)), list):
        return True
    return any(keys.canonical(key) in LISTS and _has_prompts(item) for key, item in value.items())


def _has_prompts(cases: object) -> bool:
    wanted = {*keys.PROMPT, *keys.CONVERSATION}
    entries = cases if isinstance(cases, list) else []
    return any(isinstance(case, dict) and any(keys.canonical(key) in wanted for key in case) for case in entries)


def _has_trigger_rates(results: object) -> bool:
    entries = results if isinstance(results, list) else []
    return any(isinstance(one, dict) and "trigger_rate" in one for one in entries)
