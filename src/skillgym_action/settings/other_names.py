"""Names of the action's inputs that options of the command line accept as well."""

from __future__ import annotations

from skillgym_action.settings.options import inputs_of_settings

INPUTS_OF_SEVERAL = {"runner": "runners", "report": "reports"}
"""Field of ``Settings`` -> the input that the action reads itself, since it sets more than this field."""


def other_names() -> dict[str, str]:
    """Field of ``Settings`` -> the name of its input, if it differs; ``--help`` leaves it out."""
    named = {field: name for name, field in inputs_of_settings().items() if name != field.replace("_", "-")}
    return {field: name for field, name in named.items() if field != "paths"} | INPUTS_OF_SEVERAL
