"""Values in AgentV's files: variables of the environment in ``${{ NAME }}``, a test's own in ``{{ name }}``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from skillgym_action.documents.user_files import kind_of, read_text
from skillgym_action.javascript.values import stringified
from skillgym_action.limits import MAX_CONFIGURATION_BYTES, MAX_NUMBER_DIGITS
from skillgym_action.model.errors import SuiteError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from skillgym_action.documents.located_values import KeyPath
    from skillgym_action.documents.user_files import Opener

T = TypeVar("T")

REFERENCE = re.compile(r"\$\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
VARIABLE = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}")
MISSING = object()
MOST_CHARACTERS = 16 * 1024 * 1024
"""Characters that references may bring into one suite."""
OF_A_VALUE = 10
"""Characters that a value counts for, beside its own."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(.*)", re.DOTALL)
_QUOTED = re.compile(r"(['\"`])(.*?)\1\s*(?:#.*)?", re.DOTALL)
_COMMENT = re.compile(r"(?:^|\s)#.*")


@dataclass(slots=True)
class Growth:
    """How much references have brought in."""

    characters: int = 0

    def grow(self, value: T) -> T:
        """``value``, if there is room for it. Raises SuiteError."""
        self._count(value)
        return value

    def _count(self, value: object) -> None:
        self.characters += OF_A_VALUE + (len(value) if isinstance(value, str) else 0)
        if self.characters > MOST_CHARACTERS:
            raise SuiteError(f"variables bring in more than {MOST_CHARACTERS:,} characters", remedy="split the suite")
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self._count(part)


# --- the environment --------------------------------------------------------------------------------


def interpolated(value: object, environment: Mapping[str, str], growth: Growth | None = None) -> object:
    """``value`` with its references replaced; keys stay. What is not set is the empty text.

    A text that is one reference and nothing else becomes true, false or a number where it looks like one. Raises
    SuiteError.
    """
    growth = growth or Growth()
    if isinstance(value, str):
        if whole := REFERENCE.fullmatch(value):
            return _coerced(growth.grow(environment.get(whole[1], "")))
        return REFERENCE.sub(lambda found: growth.grow(environment.get(found[1], "")), value)
    if isinstance(value, list):
        return [interpolated(item, environment, growth) for item in value]
    if isinstance(value, dict):
        return {key: interpolated(member, environment, growth) for key, member in value.items()}
    return value


def _coerced(text: str) -> object:
    if text in {"true", "false"}:
        return text == "true"
    if len(text) <= MAX_NUMBER_DIGITS and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def references(value: object, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """Every variable that ``value`` mentions, and where."""
    if isinstance(value, str):
        yield from ((at, found[1]) for found in REFERENCE.finditer(value))
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from references(part, (*at, key))


def dotenv(folder: Path, root: Path, opener: Opener | None = None) -> dict[str, str]:
    """What the ``.env`` files say from ``folder`` up to ``root``; the nearest one wins. None that cannot be read."""
    said: dict[str, str] = {}
    for place in folders_up(folder, root):
        if kind_of(place / ".env") != "file":
            continue
        try:
            text = read_text(
                place / ".env", path=".env", error=SuiteError, largest=MAX_CONFIGURATION_BYTES, opener=opener
            )
        except SuiteError:
            continue
        said = {**dict(_assignments(text)), **said}
    return said


def folders_up(folder: Path, root: Path) -> tuple[Path, ...]:
    """``folder`` and those around it, up to ``root``; only ``folder`` where ``root`` is not around it."""
    if not folder.is_relative_to(root):
        return (folder,)
    return (folder, *(place for place in folder.parents if place.is_relative_to(root)))


def _assignments(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        if not line.lstrip().startswith("#") and (found := _ASSIGNMENT.fullmatch(line)):
            yield found[1], _unquoted(found[2].strip())


def _unquoted(text: str) -> str:
    """A quoted value is what is between the quotes; in double quotes there are escapes for line ends."""
    if quoted := _QUOTED.fullmatch(text):
        return quoted[2].replace("\\n", "\n").replace("\\r", "\r") if quoted[1] == '"' else quoted[2]
    return _COMMENT.sub("", text).strip()


# --- variables of a case ----------------------------------------------------------------------------


def templated(value: object, variables: Mapping[str, object], growth: Growth | None = None) -> object:
    """``value`` with the case's variables in it; a text that is one variable and nothing else becomes its value.

    Unknown ones are left as they are written. In a longer text, what is no text is written as JSON. Raises
    SuiteError.
    """
    growth = growth or Growth()
    if isinstance(value, str):
        if (whole := VARIABLE.fullmatch(value)) and (found := _looked_up(variables, whole[1])) is not MISSING:
            return growth.grow(found)
        return VARIABLE.sub(lambda name: growth.grow(_written(_looked_up(variables, name[1]), name[0])), value)
    if isinstance(value, list):
        return [templated(item, variables, growth) for item in value]
    if isinstance(value, dict):
        return {key: templated(member, variables, growth) for key, member in value.items()}
    return value


def _looked_up(variables: Mapping[str, object], name: str) -> object:
    value: object = variables
    for key in name.split("."):
        if not isinstance(value, dict) or key not in value:
            return MISSING
        value = value[key]
    return value


def _written(value: object, unknown: str) -> str:
    if value is MISSING:
        return unknown
    return value if isinstance(value, str) else stringified(value)


def merged(suite: Mapping[str, object], case: Mapping[str, object]) -> dict[str, object]:
    """Metadata: lists are put together without doubles, mappings key by key; else the case wins."""
    told = dict(suite)
    for key, value in case.items():
        before = told.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            told[key] = merged(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            there = set(map(_comparable, before))
            told[key] = [*before, *(item for item in value if _comparable(item) not in there)]
        else:
            told[key] = value
    return told


def _comparable(item: object) -> object:
    return stringified(item) if isinstance(item, dict | list) else item
