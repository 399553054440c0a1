"""Environment variables whose names are those of options, but for a typing error."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.errors import closest_match, meant_word
from skillgym_action.settings.declarations import Option
from skillgym_action.settings.options import Settings
from skillgym_action.settings.other_names import other_names
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LIKENESS = 0.85  # 0 to 1; SKILLGYM_RUNNER_ID, which hooks get, is less like SKILLGYM_RUNNER
_MAX_WARNINGS = 20


def print_misspelt_variables(environment: Mapping[str, str], prefix: str) -> None:
    """Print the warnings on standard error."""
    for line in misspelt_variables(environment, prefix):
        print(f"warning: {terminal_line(line)}", file=sys.stderr)  # noqa: T201


def misspelt_variables(environment: Mapping[str, str], prefix: str) -> Iterator[str]:
    """Yield a warning for each variable that sets no option, but whose name is close to that of an option.

    Also for one named after another name of an option: the variable has the name that help texts list first.
    ``prefix``: that of the variables of options. Other variables with it are ignored: they may belong to the user.
    """
    options = {
        name.upper(): declared
        for name, field in Settings.model_fields.items()
        for declared in field.metadata
        if isinstance(declared, Option) and declared.variable
    }
    known = sorted(options)
    also = {name.upper(): other for name, other in other_names().items()}
    aliases = ((name, alias) for name in known for alias in (*options[name].aliases, also.get(name, name)))
    of_alias = {alias.replace("-", "_").upper(): name for name, alias in aliases}
    names = sorted({name.removeprefix(prefix) for name in environment if name.startswith(prefix)}.difference(known))
    found = ((name, meant) for name in names if (meant := of_alias.get(name) or closest_match(name, known, _LIKENESS)))
    for name, meant in islice(found, _MAX_WARNINGS):
        yield f"the environment variable {prefix}{name} sets no option; {meant_word(prefix + meant)}"
