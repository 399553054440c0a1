"""Variables in AgentV's files: the environment's as ``${{ NAME }}``, a test's own as ``{{ name }}``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.model.errors import SuiteError
from skillgym_action.model.limits import MAX_CONFIGURATION_BYTES, MAX_NUMBER_DIGITS, MAX_VARIABLE_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.text.documents.user_files import kind_of, read_text
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.text.documents.located_values import KeyPath
    from skillgym_action.text.documents.user_files import Opener

T = TypeVar("T")

REFERENCE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}")
MISSING = object()
_CHARACTERS_PER_VALUE = 10
"""Characters that a value counts as, in addition to its own: short values need memory, too."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"(['\"`])(.*?)\1\s*(?:#.*)?", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#.*")


@record(frozen=False, kw_only=False)
class SizeBudget:
    """Counts the characters that variables bring into a suite."""

    characters: int = 0

    def spend(self, value: T) -> T:
        """Return ``value``, after counting it. Raises SuiteError above the limit."""
        self._count(value)
        return value

    def _count(self, value: object) -> None:
        self.characters += _CHARACTERS_PER_VALUE + (len(value) if isinstance(value, str) else 0)
        if self.characters > MAX_VARIABLE_CHARACTERS:
            raise SuiteError(
                f"variables bring in more than {MAX_VARIABLE_CHARACTERS:,} characters", remedy="split the suite"
            )
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self._count(part)


# --- the environment --------------------------------------------------------------------------------


def interpolated(value: object, environment: Mapping[str, str], budget: SizeBudget | None = None) -> object:
    """``value`` with its variables replaced, except in keys. A variable that is not set becomes the empty text.

    A text that consists of one variable becomes a boolean or a number if the variable looks like one. Raises
    SuiteError.
    """
    budget = budget or SizeBudget()
    if isinstance(value, str):
        if whole := REFERENCE.fullmatch(value):
            return coerced(budget.spend(environment.get(whole[1], "")))
        return REFERENCE.sub(lambda found: budget.spend(environment.get(found[1], "")), value)
    if isinstance(value, list):
        return [interpolated(item, environment, budget) for item in value]
    if isinstance(value, dict):
        return {key: interpolated(member, environment, budget) for key, member in value.items()}
    return value


def coerced(text: str) -> object:
    """The boolean or the number that the text looks like; else the text."""
    if text in {"true", "false"}:
        return text == "true"
    if len(text) <= MAX_NUMBER_DIGITS and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def references(value: object, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """The key path and the name of every variable in ``value``."""
    if isinstance(value, str):
        yield from ((at, found[1]) for found in REFERENCE.finditer(value))
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from references(part, (*at, key))


def dotenv(folder: Path, root: Path, opener: Opener | None = None) -> dict[str, str]:
    """The variables of ``.env`` files from ``folder`` up to ``root``; the nearest wins, unreadable ones are skipped."""
    variables: dict[str, str] = {}
    for parent in folders_up(folder, root):
        if kind_of(parent / ".env") != "file":
            continue
        try:
            text = read_text(
                parent / ".env", path=".env", error=SuiteError, largest=MAX_CONFIGURATION_BYTES, opener=opener
            )
        except SuiteError:
            continue
        variables = {**dict(_assignments(text)), **variables}
    return variables


def folders_up(folder: Path, root: Path) -> tuple[Path, ...]:
    """``folder`` and its parents, up to ``root``; only ``folder`` if it is not inside of ``root``."""
    if not folder.is_relative_to(root):
        return (folder,)
    return (folder, *(parent for parent in folder.parents if parent.is_relative_to(root)))


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        if not line.lstrip().startswith("#") and (found := _ASSIGNMENT.fullmatch(line)):
            yield found[1], _unquoted(found[2].strip())


def _unquoted(text: str) -> str:
    r"""The value without quotes and comments; in double quotes, ``\n`` and ``\r`` are line ends."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2].replace("\\n", "\n").replace("\\r", "\r") if quoted[1] == '"' else quoted[2]
    return _COMMENT.sub("", text).strip()


# --- variables of a case ----------------------------------------------------------------------------


def templated(value: object, variables: Mapping[str, object], budget: SizeBudget | None = None) -> object:
    """``value`` with the test's variables replaced; a text that consists of one variable becomes its value.

    Unknown variables stay as they are. Inside longer text, values that are not text are written as JSON. Raises
    SuiteError.
    """
    budget = budget or SizeBudget()
    if isinstance(value, str):
        if (whole := VARIABLE.fullmatch(value)) and (found := value_at(variables, whole[1])) is not MISSING:
            return budget.spend(found)
        return VARIABLE.sub(lambda name: budget.spend(_as_text(value_at(variables, name[1]), name[0])), value)
    if isinstance(value, list):
        return [templated(item, variables, budget) for item in value]
    if isinstance(value, dict):
        return {key: templated(member, variables, budget) for key, member in value.items()}
    return value


def value_at(variables: Mapping[str, object], name: str) -> object:
    """The value at a dotted path; ``MISSING`` if there is none."""
    value: object = variables
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return value


def _as_text(value: object, unknown: str) -> str:
    if value is MISSING:
        return unknown
    return value if isinstance(value, str) else stringified(value)


def merged(
    suite: Mapping[str, object], case: Mapping[str, object], budget: SizeBudget | None = None
) -> dict[str, object]:
    """Metadata of suite and case: lists are joined without duplicates, mappings merged; else the case's value wins.

    ``budget``: for the suite's lists, each of which is joined with one of every case. Raises SuiteError.
    """
    result = dict(suite)
    for key, value in case.items():
        before = result.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            result[key] = merged(before, value, budget)
        elif isinstance(before, list) and isinstance(value, list):
            known = set(map(_comparable, budget.spend(before) if budget else before))
            result[key] = [*before, *(item for item in value if _comparable(item) not in known)]
        else:
            result[key] = value
    return result


def _comparable(item: object) -> object:
    return stringified(item) if isinstance(item, dict | list) else item
