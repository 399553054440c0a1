"""Types of the values of settings that only this tool has: words, reports and their paths."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from skillgym_action.documents.json_schemas import any_case, any_of, matching, words
from skillgym_action.documents.option_values import Words, all_known
from skillgym_action.limits import DEFAULT_REUSE_DAYS, MAX_REUSE_DAYS
from skillgym_action.model.errors import did_you_mean
from skillgym_action.reporters import FOLDER_REPORTS, REPORTERS
from skillgym_action.reporters.wording import listed

Schedule = Literal["serial", "parallel", "isolated-by-runner"]
Keep = Literal["changed", "all", "none"]
OnLimit = Literal["failed", "errored"]
Stop = Literal["futility"]
StoreWord = Literal["artifact", "branch", "none"]
PATH_STORE = "path="  # before the path of a store that is a folder or a file
ARTIFACT_STORE = "artifact="  # before the file name of the workflow whose artifacts are the store
FAIL_ON = (
    "failed",
    "unexpected-passed",
    "errored",
    "skipped",
    "no-cases",
    "regression",
    "budget",
    "leaks",
    "addresses-judge",
    "warnings",
)
REUSE = ("unchanged", "never")
_AGE = re.compile(r"([1-9][0-9]{0,3})([dh])")
_PER_DAY = {"d": 1, "h": 24}
PRINTED = "-"  # the path of a report on standard output


def _reports(value: object) -> object:
    """``KIND=PATH`` items as (kind, path) pairs."""
    pairs = []
    for item in value if isinstance(value, list | tuple) else str(value).splitlines():
        kind, separator, path = str(item).partition("=")
        if kind.lower() not in (*REPORTERS, *FOLDER_REPORTS):
            known = (*REPORTERS, *FOLDER_REPORTS)
            raise ValueError(f"unknown report kind {kind!r}; {did_you_mean(kind.lower(), known)}")
        if not separator or not path:
            raise ValueError(f"{item!r} is not KIND=PATH, such as html=report.html")
        if kind.lower() in FOLDER_REPORTS and path == PRINTED:
            raise ValueError(f"{kind} is a folder of files: name a folder in place of -")
        pairs.append((kind.lower(), path))
    printed = [kind for kind, path in pairs if path == PRINTED]
    if len(printed) > 1:
        raise ValueError(f"standard output takes one report, not {listed(printed)}")
    return tuple(pairs)


def _alone(words: tuple[str, ...]) -> tuple[str, ...]:
    if "none" in words and len(words) > 1:
        raise ValueError("'none' cannot be combined with other values")
    return words


def _store(value: str) -> str:

    if value.startswith(PATH_STORE) and value != PATH_STORE:
        return value
    from skillgym_action.github.event import WORKFLOW_FILE

    if value.startswith(ARTIFACT_STORE):
        if not WORKFLOW_FILE.fullmatch(value.removeprefix(ARTIFACT_STORE)):
            raise ValueError(f"{value!r} does not name a workflow's file, such as {ARTIFACT_STORE}bench.yml")
        return value
    known = (*get_args(StoreWord), f"{PATH_STORE}DIR")
    if value not in get_args(StoreWord):
        raise ValueError(f"unknown store {value!r}; {did_you_mean(value, known)}")
    return value


def _reuse(value: object) -> object:
    """``never``, ``unchanged``, or ``unchanged,max-age=14d``."""
    word, separator, age = str(value).strip().lower().partition(",max-age=")
    if word not in REUSE:
        raise ValueError(f"unknown word {value!r}; {did_you_mean(word, REUSE)}, or unchanged,max-age=14d")
    if not separator:
        return word
    match = _AGE.fullmatch(age)
    days = int(match[1]) / _PER_DAY[match[2]] if match else 0
    if word == "never" or not 0 < days <= MAX_REUSE_DAYS:
        raise ValueError(f"{value!r}: max-age is of unchanged, such as 12h or 14d, at most {MAX_REUSE_DAYS}d")
    return f"{word},max-age={match[1]}{match[2]}" if match else word


def reuse_days(value: str) -> float | None:
    """How many days old a reused result may be; None: nothing is reused. ``value``: as validated."""
    word, _, age = value.partition(",max-age=")
    if word == "never":
        return None
    return int(age[:-1]) / _PER_DAY[age[-1]] if age else DEFAULT_REUSE_DAYS


_CONDITION = f"({'|'.join(map(any_case, FAIL_ON))})"
_SEVERAL = rf"{_CONDITION}(\s*[,\n]\s*{_CONDITION})*"
_NONE = any_case("none")
FailOn = Annotated[
    Words,
    all_known((*FAIL_ON, "none")),
    AfterValidator(_alone),
    WithJsonSchema(
        any_of(
            {"type": "array", "items": any_of(words(FAIL_ON), matching(rf"^[\s,]*({_SEVERAL})?[\s,]*$"))},
            {"type": "array", "items": any_of(words(("none",)), matching(rf"^[\s,]*{_NONE}[\s,]*$")), "maxItems": 1},
            words((*FAIL_ON, "none")),
            matching(rf"^[\s,]*({_NONE}|{_SEVERAL})?[\s,]*$"),
        )
    ),
]
ReportPaths = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_reports)]
"""Reports as (kind, path); ``PRINTED`` is the path of the only one that goes to standard output."""
StoreName = Annotated[
    str,
    AfterValidator(_store),
    WithJsonSchema(
        any_of(words(get_args(StoreWord)), matching(rf"^({PATH_STORE}.+|{ARTIFACT_STORE}[\w.-]{{1,200}}\.ya?ml)$"))
    ),
]
"""``branch``, ``none``, ``artifact``; ``artifact=`` and a workflow's file name; or ``path=`` and a folder or file."""
_REUSE_AGE = rf"{any_case(',max-age=')}([1-9][0-9]?[Dd]|[1-9][0-9]{{0,3}}[Hh])"
_REUSE_TEXT = rf"^\s*({any_case('never')}|{any_case('unchanged')}({_REUSE_AGE})?)\s*$"
Reuse = Annotated[
    str,
    BeforeValidator(_reuse),
    WithJsonSchema(any_of(words(REUSE), matching(_REUSE_TEXT))),
]
"""``never``, or ``unchanged`` with an age in days or hours: ``unchanged,max-age=14d``."""
