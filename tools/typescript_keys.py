"""Keys of the configuration in the types of TypeScript suites. This script adds those of settings that they lack."""

from __future__ import annotations

import json
import re
from typing import get_args

import modules_of_tests
from paths import REPOSITORY
from skillgym_action.settings.settings import Settings, keys_of, words_of

TYPES = REPOSITORY / "src/skillgym_action/suites/programs/runtime/skillgym/index.d.ts"
INTERFACES = {"RunSection": "RunConfig", "ReportSection": "ReportConfig"}


def with_all_keys(text: str) -> str:
    """``text`` of the types with a line for each key that a setting names; its own lines stay as they are."""
    for section, interface in INTERFACES.items():
        before, head, rest = text.partition(f"export interface {interface} {{\n")
        inner, end, after = rest.partition("\n}\n")
        missing = {key: name for key, name in keys_of(section).items() if not re.search(rf"\b{key}\?:", inner)}
        lines = [inner, *(f"  {key}?: {_type(name)};" for key, name in missing.items())]
        text = before + head + "\n".join(lines) + end + after
    return text


def _type(name: str) -> str:
    if words := words_of(name):
        return " | ".join(map(json.dumps, words))
    kind = next(iter(get_args(Settings.model_fields[name].annotation)), bool)
    kind = next(iter(get_args(kind)), kind)
    return {int: "number", float: "number", bool: "boolean"}.get(kind, "string")


if __name__ == "__main__":
    TYPES.write_text(with_all_keys(TYPES.read_text(encoding="utf-8")), encoding="utf-8")
