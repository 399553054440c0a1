"""What the JSON Schema of x-bench suites says beside the types: the grammar of expectations, limits, free keys."""

from __future__ import annotations

from typing import Any

from skillgym_action.documents.json_schemas import FREE_KEYS, any_of, has, matching
from skillgym_action.limits import MAX_CASE_ID_CHARACTERS, MAX_EXPECTATION_CHARACTERS, MAX_SUITE_CASES

_ARMS = "SuiteArmSection"  # its keys are those of configurations, where no key is free
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
_VARIABLE = {"type": "string", "not": {"pattern": r"\$\{"}}  # suites must not read variables of the tool
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
    _text_option(case["model"]).update(text)
    variables = {"type": "object", "additionalProperties": any_of(_VARIABLE, _ABSENT)}
    parts[_ARMS]["properties"]["env"] = any_of(variables, {"type": "array", "maxItems": 0}) | {"default": {}}
    parts["SuiteLimitsSection"]["not"] = {"allOf": [has("processes"), has("pids")]}
    schema["properties"]["cases"].update(minItems=1, maxItems=MAX_SUITE_CASES)
    _text_option(schema["properties"]["name"])["maxLength"] = MAX_CASE_ID_CHARACTERS
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
        _text_option(section["properties"][key])["minLength"] = 1
    _text_option(section["properties"]["test"])["pattern"] = f"^{_PLAIN}*$"
    for key in ("file", "diff", "no-file"):
        _text_option(section["properties"][key])["pattern"] = rf"^(?!{_OUTSIDE}){_PLAIN}*$"


def _text_option(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of the text that a value may be."""
    option: dict[str, Any]
    (option,) = [option for option in value["anyOf"] if option["type"] == "string"]
    return option
