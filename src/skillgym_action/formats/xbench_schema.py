"""What the JSON Schema of x-bench suites says beside the types: the grammar of expectations, limits, free keys."""

from __future__ import annotations

from typing import Any

from skillgym_action.documents.json_schemas import FREE_KEYS, any_of, has, matching
from skillgym_action.limits import MAX_CASE_ID_CHARACTERS, MAX_EXPECTATION_CHARACTERS, MAX_SUITE_CASES

_ARMS = "ArmSection"  # its keys are those of configurations, where no key is free
_PLAIN = r"[^\u0000\ud800-\udfff]"
_OUTSIDE = r"['\"]?([/\\]|[A-Za-z]:[\\/]|(\./)*\.\.(/|['\"\s]|$))"
_FOUND = r"exists\s*$|contains\s+(?!(''|\"\")\s*$)\S|matches\s+/(?!/)[\s\S]+/[A-Za-z]*\s*$"
_FORMS = (
    rf"^file:\s*(?!{_OUTSIDE})\S[\s\S]*\s({_FOUND})",
    r"^test:\s*(?!passes\s*$|''|\"\")\S",
    rf"^(diff|no-file):\s*(?!{_OUTSIDE})\S",
)
WRITTEN_EXPECTATION = {
    **any_of(*map(matching, _FORMS)),
    **matching(f"^{_PLAIN}*$"),
    "maxLength": MAX_EXPECTATION_CHARACTERS,
    "description": "An expectation, such as file:PATH exists, test:COMMAND passes, diff:PATH or no-file:PATH.",
    "examples": ["file:out.txt exists", "file:src/a.js matches /export/", "test:npm test passes", "diff:src"],
}
_KINDS = {
    "file": ("exists", "contains", "matches", "glob"),
    "test": ("timeout", "exits", "fails"),
    "diff": ("glob",),
    "no-file": ("glob",),
}
_SHARED = "failFast"
_ABSENT = {"type": "null"}  # a key that is null counts as left out


def completed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that pydantic makes of a suite, with what its models cannot say."""
    parts = schema["$defs"]
    for name, part in (("", schema), *parts.items()):
        if name != _ARMS and part.get("type") == "object":
            part.update(FREE_KEYS)
    text = {"pattern": f"^{_PLAIN}*$"}
    case = parts["CaseSection"]["properties"]
    case["id"].update(text, maxLength=MAX_CASE_ID_CHARACTERS)
    case["prompt"].update(text)
    schema["properties"]["cases"].update(minItems=1, maxItems=MAX_SUITE_CASES)
    for option in schema["properties"]["name"]["anyOf"]:
        if option["type"] == "string":
            option["maxLength"] = MAX_CASE_ID_CHARACTERS
    _one_kind(parts["ExpectationSection"])
    return schema


def _one_kind(section: dict[str, Any]) -> None:
    """Exactly one kind, and only what goes with it."""
    known = [key for key in section["properties"] if key != _SHARED]
    section["oneOf"] = [
        {
            "required": [kind],
            "properties": {kind: {"type": "string"}, **{key: _ABSENT for key in known if key not in (kind, *options)}},
        }
        for kind, options in _KINDS.items()
    ]
    rules = _KINDS["file"][:3]
    given = {rule: has(rule) for rule in rules}
    section["allOf"] = [
        {"if": has("file"), "then": {"oneOf": list(given.values())}},
        {"not": {"required": ["fails", "exits"], "properties": {"fails": {"const": True}, "exits": {"not": _ABSENT}}}},
    ]
    for key in ("contains", "matches"):
        for option in section["properties"][key]["anyOf"]:
            if option["type"] == "string":
                option["minLength"] = 1
    for key in ("file", "diff", "no-file"):
        for option in section["properties"][key]["anyOf"]:
            if option["type"] == "string":
                option["pattern"] = rf"^(?!{_OUTSIDE})"
