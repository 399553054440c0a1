"""Which files are x-bench suites: by their name, or in a folder ``bench`` by their content."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from skillgym_action.model.errors import closest_match
from skillgym_action.model.limits import NEAR_MISS_HEAD_BYTES
from skillgym_action.model.suite import NotASuite
from skillgym_action.suites import ENDINGS_NOT_READ, vendored_folder
from skillgym_action.suites.xbench.keys import SuiteSection

CUT = 60_000  # characters; a head that long may end before the first "expect"
OWN_ENDING = ".bench.json"
_LIKENESS = 0.8
_NOT_JSON = object()
_LEAVE_OUT = "correct it, or exclude it with !PATH"
_IN_ANOTHER_LANGUAGE = NotASuite(
    reason="is not run: x-bench suites are JSON files named *.bench.json",
    remedy="write it as JSON and name it *.bench.json, or exclude it with !PATH",
    near_miss=True,
)
_KEY = re.compile(r'"(\w{1,40})"[ \t]*:')


def named(path: str) -> bool:
    """``*.bench.json``, and JSON in a folder ``bench``."""
    lower = path.lower()
    return lower.endswith(OWN_ENDING) or (lower.endswith(".json") and "bench" in PurePosixPath(path).parts[:-1])


def accepts(path: str, head: str) -> bool:
    """Whether it is called ``*.bench.json``; elsewhere, whether it has cases with prompts and expectations.

    The keys may be misspelt: then the suite is reported, and does not disappear.
    """
    if not named(path):
        return False
    if path.lower().endswith(OWN_ENDING) and not vendored_folder(path):
        return True
    value = _value(head)
    if value is _NOT_JSON:
        wanted = ("cases", "prompt", "expect") if len(head) < CUT else ("cases", "prompt")
        return all(_mentions(head, key) for key in wanted)
    cases = _cases(value)
    if not isinstance(cases, list):
        return False
    if not cases and isinstance(value, dict):
        return set(value) <= {"$schema", *SuiteSection.model_fields}
    return any(isinstance(case, dict) and _has_prompt(case) and _has_expectations(case) for case in cases)


def rejection(path: str, head: str) -> NotASuite | None:
    """Why a file is not run, if it is called like a suite, also in YAML, or is JSON that has cases with prompts."""
    folder = vendored_folder(path)
    if not named(path):
        return None if folder else _misnamed(path, head)
    if folder:
        return NotASuite(reason=f"is in the folder {folder}, and not an x-bench suite")
    if not head.replace("\0", "").strip("\ufeff\ufffd \t\r\n"):
        return NotASuite(
            reason="is empty, but in a folder for suites", remedy="write a suite, or remove it", near_miss=True
        )
    value = _value(head)
    if value is _NOT_JSON:
        reason = _not_json(head) if len(head) < CUT else "is long, and does not begin like an x-bench suite"
        similar = _mentions(head, "cases") or _mentions(head, "prompt")
        return NotASuite(reason=reason, remedy=_LEAVE_OUT, near_miss=similar)
    cases = _cases(value)
    members = cases if isinstance(cases, list) else list(cases.values()) if isinstance(cases, dict) else []
    if any(isinstance(case, dict) and (_has_prompt(case) or _has_expectations(case)) for case in members):
        return NotASuite(
            reason="is not an x-bench suite, though it has cases: none has both a prompt and a list `expect`",
            remedy=_LEAVE_OUT,
            near_miss=True,
        )
    return NotASuite(reason="is not an x-bench suite: it has no cases with prompts")


def _misnamed(path: str, head: str) -> NotASuite | None:
    """The near miss of a file that is written like a suite, or called like one in a language that is not read."""
    if path.lower().endswith(ENDINGS_NOT_READ["x-bench"]):
        return _IN_ANOTHER_LANGUAGE
    if '"cases"' not in head or '"prompt"' not in head:
        return None
    value = _value(head)
    if value is _NOT_JSON:
        found = len(head) >= NEAR_MISS_HEAD_BYTES // 4 and '"expect"' in head
    else:
        cases = value.get("cases") if isinstance(value, dict) else None
        found = isinstance(cases, list) and any(isinstance(case, dict) and "prompt" in case for case in cases)
    if not found:
        return None
    return NotASuite(
        reason="has cases with prompts, but its name does not match *.bench.json, so it is not run",
        remedy="rename it to *.bench.json, or exclude it with !PATH",
        near_miss=True,
    )


def _not_json(text: str) -> str:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"is not JSON: line {error.lineno}, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
    except (ValueError, RecursionError):
        pass
    return "is not JSON"


def _value(head: str) -> object:
    try:
        return json.loads(head.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return _NOT_JSON


def _mentions(head: str, key: str) -> bool:
    """Whether a text that is broken JSON, or the beginning of JSON, has the key, also misspelt.

    In UTF-16 every second character is NUL.
    """
    keys = sorted(set(_KEY.findall(head.replace("\0", ""))))
    return closest_match(key, keys, _LIKENESS) is not None


def _cases(value: object) -> object:
    """The value of ``cases``, also if the key is misspelt."""
    return value.get(closest_match("cases", value, _LIKENESS)) if isinstance(value, dict) else None


def _has_prompt(case: dict[str, object]) -> bool:
    return "prompt" in case or closest_match("prompt", case, _LIKENESS) is not None


def _has_expectations(case: dict[str, object]) -> bool:
    """Whether a case has the key ``expect``, also misspelt; ``expected`` is of other formats."""
    return "expect" in case or closest_match("expect", case.keys() - {"expected"}, _LIKENESS) is not None
