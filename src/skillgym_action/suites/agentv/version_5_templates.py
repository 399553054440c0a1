"""Expressions in the texts of AgentV 5: ``{{ name }}``, ``{{ env.NAME }}`` and a few of Nunjucks' filters."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.suites.agentv.variables import MISSING, SizeBudget, coerced, value_at
from skillgym_action.suites.agentv.version_5_assertions import plain_type
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from skillgym_action.model.errors import Problem, SuiteError
    from skillgym_action.suites.values import SuiteValue
    from skillgym_action.text.documents.located_values import KeyPath

EXPRESSION = re.compile(r"(?<!\$)\{\{-?([^{}]{0,500}?)-?\}\}")
TAG = re.compile(r"\{%[^%{}]{0,500}%\}")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)*)\s*((?:\|[^|]*)*)")
_FILTER = re.compile(r"\|\s*(\w+)\s*(?:\(\s*(?:\"([^\"]*)\"|'([^']*)'|([\w.-]*))\s*\)\s*)?")
_ENVIRONMENT = "env."


def _text(value: object) -> str:
    return "" if value is None or value is MISSING else value if isinstance(value, str) else stringified(value)


FILTERS: Mapping[str, Callable[[object, str], object]] = {
    "default": lambda value, other: other if value is MISSING or value in (None, "") else value,
    "dump": lambda value, _: stringified(None if value is MISSING else value),
    "join": lambda value, sign: sign.join(map(_text, value)) if isinstance(value, list) else _text(value),
    "lower": lambda value, _: _text(value).lower(),
    "trim": lambda value, _: _text(value).strip(),
    "upper": lambda value, _: _text(value).upper(),
}
"""The filters that are known, with the text of their argument."""


class UnsupportedExpressionError(Exception):
    """An expression that is not a name with known filters."""

    def at(self, place: SuiteValue) -> SuiteError:
        """The error to raise for an expression at this place."""
        message = f"the expression {self} is not supported"
        return place.error(message, "use names of variables, with default, join, lower, trim, upper or dump")


@record(frozen=False, kw_only=False)
class Renderer:
    """Replaces expressions. ``missing``: the names without a value that were found so far.

    A name without a value becomes the empty text, and an expression that is not supported raises
    UnsupportedExpressionError. ``lenient``: both stay as they are.
    """

    variables: Mapping[str, object]
    budget: SizeBudget = field(default_factory=SizeBudget)
    lenient: bool = False
    missing: set[str] = field(default_factory=set)

    def rendered(self, value: object) -> object:
        """``value`` with all expressions replaced; a text that consists of one name becomes its value."""
        if isinstance(value, str):
            return self._rendered_text(value)
        if isinstance(value, list):
            return [self.rendered(item) for item in value]
        if isinstance(value, dict):
            return {key: self.rendered(member) for key, member in value.items()}
        return value

    def _rendered_text(self, text: str) -> object:
        if not self.lenient and (tag := TAG.search(text)):
            raise UnsupportedExpressionError(tag[0])
        if (whole := EXPRESSION.fullmatch(text.strip())) and (value := self.value_of(whole)) is not MISSING:
            return self.budget.spend(value)
        return EXPRESSION.sub(lambda found: self.budget.spend(self._text(found)), text)

    def _text(self, found: re.Match[str]) -> str:
        value = self.value_of(found)
        if value is not MISSING:
            return _text(value)
        return found[0] if self.lenient else ""

    def value_of(self, found: re.Match[str]) -> object:
        """The value of an expression; MISSING: it has none, or not yet."""
        named = _NAMED.fullmatch(found[1])
        filters = list(_FILTER.finditer(named[2])) if named else []
        known = named and "".join(one[0] for one in filters) == named[2] and all(one[1] in FILTERS for one in filters)
        if not named or not known:
            if self.lenient:
                return MISSING
            raise UnsupportedExpressionError(found[0])
        name = named[1].removeprefix("vars.") if named[1] not in self.variables else named[1]
        value = value_at(self.variables, name)
        if value is MISSING and self.lenient:
            return MISSING
        for one in filters:
            made = FILTERS[one[1]](value, next(filter(None, (one[2], one[3], one[4])), ""))
            value = self.budget.spend(made)  # each, since dump can double a text
        if value is MISSING:
            self.missing.add(name)
        return value

    def warnings(self, test: SuiteValue) -> list[Problem]:
        """A warning for each missing name, at the test that does not define it."""
        return [
            test.problem(f"{{{{ {name} }}}} has no value: it is empty", f"add it to vars: {{{name}: ...}}")
            for name in sorted(self.missing)
        ]


# --- the environment --------------------------------------------------------------------------------


def with_environment(value: object, environment: Mapping[str, str], budget: SizeBudget) -> object:
    """``value`` with ``{{ env.NAME }}`` replaced, except in keys; a variable that is not set is the empty text.

    A text that consists of one variable becomes a boolean or a number if the variable looks like one.
    """
    if isinstance(value, str):
        if "env." not in value:
            return value
        if (whole := EXPRESSION.fullmatch(value)) and (text := _of_environment(whole, environment)) is not None:
            return coerced(budget.spend(text))
        return EXPRESSION.sub(lambda found: _kept_or(found, _of_environment(found, environment), budget), value)
    if isinstance(value, list):
        return [with_environment(item, environment, budget) for item in value]
    if isinstance(value, dict):
        return {key: with_environment(member, environment, budget) for key, member in value.items()}
    return value


def _kept_or(found: re.Match[str], text: str | None, budget: SizeBudget) -> str:
    return found[0] if text is None else budget.spend(text)


def _of_environment(found: re.Match[str], environment: Mapping[str, str]) -> str | None:
    """The text of an expression about the environment; None if it is another one."""
    if not found[1].strip().startswith(_ENVIRONMENT):
        return None
    try:
        return _text(Renderer({"env": environment}).value_of(found))
    except UnsupportedExpressionError:
        return None


def environment_names(value: object, at: KeyPath = ()) -> Iterator[tuple[KeyPath, str]]:
    """The key path and the name of every variable of the environment in ``value``."""
    if isinstance(value, str):
        for found in EXPRESSION.finditer(value):
            if (named := _NAMED.match(found[1])) and named[1].startswith(_ENVIRONMENT):
                yield at, named[1].removeprefix(_ENVIRONMENT)
    elif isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from environment_names(part, (*at, key))


# --- assertions -------------------------------------------------------------------------------------

_TEMPLATED = ("value", "metric", "name")
_PROGRAMS = frozenset({"javascript", "python"})


def assertions_with(entries: object, variables: Mapping[str, object], budget: SizeBudget) -> object:
    """A list of assertions with a test's variables in texts, values and names. Unknown names stay as they are."""
    renderer = Renderer(variables, budget=budget, lenient=True)
    return [_assertion_with(entry, renderer) for entry in entries] if isinstance(entries, list) else entries


def _assertion_with(entry: object, renderer: Renderer) -> object:
    if isinstance(entry, str):
        return _text(renderer.rendered(entry))
    if not isinstance(entry, dict):
        return entry
    filled = {key: renderer.rendered(entry[key]) for key in _TEMPLATED if key in entry}
    filled |= {
        key: [_assertion_with(member, renderer) for member in entry[key]]
        for key in ("assert", "assertions")
        if isinstance(entry.get(key), list)
    }
    if plain_type(entry.get("type")) in _PROGRAMS:
        own = entry.get("config")
        variables = renderer.budget.spend(dict(renderer.variables))
        filled["config"] = {"vars": variables, **(own if isinstance(own, dict) else {})}
    return {**entry, **filled}
