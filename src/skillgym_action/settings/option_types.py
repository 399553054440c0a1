"""Types of the values of settings, their errors, and options that are named as other tools name them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, WithJsonSchema

from skillgym_action.model.errors import UsageError, did_you_mean
from skillgym_action.model.limits import DEFAULT_REUSE_DAYS, MAX_REUSE_DAYS
from skillgym_action.reports import FOLDER_REPORTS, REPORTERS
from skillgym_action.text.documents.json_schemas import MadeSchema, any_case, any_of, matching, words
from skillgym_action.text.documents.option_values import Words, all_known
from skillgym_action.text.escaping import clipped
from skillgym_action.text.words import listed

if TYPE_CHECKING:
    from collections.abc import Collection

    from pydantic_core import ErrorDetails

Schedule = Literal["serial", "parallel", "isolated-by-runner"]
Auth = Literal["auto", "key", "cloud", "login"]
Keep = Literal["all", "changed", "none"]
Confirm = Literal["auto", "always", "never"]
OnLimit = Literal["failed", "errored"]
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
        if kind.lower() not in FOLDER_REPORTS and kind.lower() not in REPORTERS:
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


def _sandboxes() -> Collection[str]:
    from skillgym_action.system.containers import SANDBOXES

    return SANDBOXES


def _sandbox(value: str) -> str:
    if value not in _sandboxes():
        raise ValueError(f"unknown sandbox {value!r}; {did_you_mean(value, _sandboxes())}")
    return value


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
Reuse = Annotated[str, BeforeValidator(_reuse), WithJsonSchema(any_of(words(REUSE), matching(_REUSE_TEXT)))]
"""``never``, or ``unchanged`` with an age in days or hours: ``unchanged,max-age=14d``."""

DEFAULT_TARGET = 20 * 60.0

STORED_DURATIONS = "store"
"""The value of ``durations`` that means the store."""

SandboxType = Annotated[str, AfterValidator(_sandbox), MadeSchema(lambda: words(_sandboxes()))]
LOCAL = "local"
DASK_EXTRA = "pip install 'skillgym-action[dask]'"
_HOST = r"(\[[0-9a-fA-F:.]+\]|[^\s/:@?#\[\]]+)"
_ADDRESS = re.compile(rf"(dask|tls|tcp)://{_HOST}:([0-9]{{1,5}})")
_LOOPBACK = r"(localhost|127(\.(0|[1-9][0-9]{0,2})){3}|\[127(\.(0|[1-9][0-9]{0,2})){3}\]|\[[0:]*:0{0,3}1\])"
_PORT = r"(?!0+$)([0-5]?[0-9]{1,4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

CLUSTER_ADDRESS = rf"^((dask|tls)://{_HOST}|tcp://{_LOOPBACK}):{_PORT}$"
"""The pattern of what ``cluster_address`` accepts, for JSON Schemas; a few addresses that are none match it, too."""

OF_TLS = "^(dask|tls)://"


def cluster_address(text: str) -> str:
    """The address of a scheduler as Dask writes it; ``dask://`` means TLS. Raises UsageError.

    Whoever reaches a scheduler without TLS may run programs on it, so ``tcp://`` is for this machine alone.
    """
    match = _ADDRESS.fullmatch(text)
    if not match or not 0 < int(match[3]) < 2**16:
        raise UsageError(
            f"{text[:200]!r} is not the address of a scheduler",
            remedy="write dask://HOST:PORT, or tcp://127.0.0.1:PORT for a scheduler on this machine",
        )
    scheme, host, port = match.groups()
    if scheme == "tcp" and not _is_loopback(host.strip("[]")):
        raise UsageError(
            f"{text}: tcp:// is not encrypted, and anybody who reaches the port can run programs",
            remedy="use dask:// with certificates; tcp:// works only on this machine",
        )
    return f"{'tcp' if scheme == 'tcp' else 'tls'}://{host}:{port}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress  # imported late: a run on this machine does not need it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


STORED_BASELINE = "auto"  # the value of ``baseline`` that means the store
BASE_BASELINE = "base"  # the value that means sessions of the base commit
_AUTO = "use repeat: auto, which ends a run as soon as nothing is wrong"
REMOVED = {"stop": _AUTO, "stop-early": _AUTO}
"""Names of settings that do not exist, though users may have read of them, and what replaces them."""
DEFAULT_STORE: StoreWord = "branch"
NO_STORE: StoreWord = "none"

# Values of run.reporter and --reporter. Every run writes results and the HTML report, and annotates jobs on GitHub.
SKILLGYM_REPORTERS = ("standard", "json", "json-summary", "html", "github-actions")

# Those that print JSON on standard output, where the results file takes their place.
PRINTED_AS_JSON = frozenset({"json", "json-summary"})


def reporter_of_skillgym(value: str) -> str:
    """The name of a reporter. Raises ValueError for anything else: a module of skillgym cannot be used."""
    if value not in SKILLGYM_REPORTERS:
        known = f"{', '.join(SKILLGYM_REPORTERS[:-1])} or {SKILLGYM_REPORTERS[-1]}"
        raise ValueError(f"reporter modules are not supported; use {known}, and --report for other reports")
    return value


_ERROR, _SHOULD = "Value error, ", "Input should"  # how messages of pydantic begin
_NUMBERS = {"int_parsing": "a whole number", "int_from_float": "a whole number", "float_parsing": "a number"}
_BOUNDS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
IN_POINTS = ("min_uplift",)  # options in percentage points; other shares are numbers from 0 to 1
_SHOWN = 60  # characters of a value in a message
_WITH_UNIT = re.compile(r"\s*[$€]?\s*(\d+(?:\.\d+)?)\s*(%|[$€]|usd)?\s*", re.IGNORECASE)


def error_in_words(detail: ErrorDetails) -> str:
    """Pydantic's error on an option, with the value that was given."""
    message, value = detail["msg"].removeprefix(_ERROR).replace(_SHOULD, "must"), clipped(str(detail["input"]), _SHOWN)
    if number := _NUMBERS.get(detail["type"]):
        instead = _without_unit(value, is_points=detail["loc"][-1] in IN_POINTS) if number == "a number" else ""
        return f"{value!r} is not {number}{instead}"
    if detail["type"] == "less_than_equal" and detail["ctx"]["le"] == 1:
        return f"must be from 0 to 1, not {value}{_as_share(value)}"
    return f"{message}, not {value}" if detail["type"] in _BOUNDS else message


def _without_unit(value: str, *, is_points: bool) -> str:
    """What to write in place of a percentage or an amount of money; "" for other values."""
    found = _WITH_UNIT.fullmatch(value)
    if found is None:
        return ""
    number = float(found[1])
    return f"; write {number / 100 if found[2] == '%' and not is_points else number:g}"


def _as_share(value: str) -> str:
    """The share that a percentage above 1 means; "" for other values."""
    with suppress(ValueError):
        number = float(value)
        return f"; write {number / 100:g} for {value}%" if 1 < number <= 100 else ""  # noqa: PLR2004
    return ""
