"""The content of an x-bench suite file, as models: types, limits, names of keys; and their JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from skillgym_action.model.limits import MAX_CASE_ID_CHARACTERS, MAX_EXPECTATION_CHARACTERS, MAX_SUITE_CASES
from skillgym_action.suites.arm_section import NAMED_ARMS, ArmSection
from skillgym_action.suites.container_section import MAX_CPUS, ContainerKeys
from skillgym_action.suites.xbench.expectations import ExpectationSection, Seconds, Text, XbenchSection
from skillgym_action.text.documents.json_schemas import FREE_KEYS, any_of, has, matching
from skillgym_action.text.documents.option_values import Count, NamedPath, Size  # noqa: TC001 - pydantic reads annotations

Dollars = Annotated[float, Field(gt=0)]


def _shape(value: object) -> str:
    return "object" if isinstance(value, dict) else "text"


class SuiteDefaultsSection(XbenchSection):
    """``defaults``: for cases that do not set these values."""

    budget: Dollars | None = None
    timeout: Seconds | None = None


class SuiteBootstrapSection(XbenchSection):
    """``workspace.bootstrap`` as an object; words that start with ``./`` or ``../`` are relative to the suite file."""

    command: Text
    args: list[str] = Field(default_factory=list)
    timeout: Seconds = 300.0
    env: dict[str, str] = Field(default_factory=dict)


class SuiteLimitsSection(XbenchSection):
    """``workspace.limits``: what a session may use; they can only lower the limits of the run.

    ``cpus`` is for containers; ``pids`` is another name of ``processes``.
    """

    memory: Size = None
    disk: Size = None
    processes: Count = None
    file_size: Size = Field(default=None, alias="fileSize")
    cpus: float | None = Field(default=None, gt=0, le=MAX_CPUS)
    pids: Count = None


class SuiteWorkspaceSection(XbenchSection, ContainerKeys):
    """``workspace``. Without ``templateDir`` it is a copy of the repository; ``bootstrap`` may be one shell line."""

    template_dir: Annotated[NamedPath, WithJsonSchema(matching(r"^(?!/)[^\0]+$"))] | None = Field(
        default=None, alias="templateDir"
    )
    bootstrap: (
        Annotated[Annotated[Text, Tag("text")] | Annotated[SuiteBootstrapSection, Tag("object")], Discriminator(_shape)]
        | None
    ) = None
    limits: SuiteLimitsSection | None = None


_FOUND = r"exists\s*$|contains\s+(?!(''|\"\")\s*$)\S|matches\s+/(?!/)[\s\S]+/[A-Za-z]*\s*$"
_OUTSIDE = r"['\"]?([/\\]|[A-Za-z]:[\\/]|(\./)*\.\.(/|['\"\s]|$))"
_FORMS = (
    rf"^file:\s*(?!{_OUTSIDE})\S[\s\S]*\s({_FOUND})",
    r"^test:\s*(?!passes\s*$|''|\"\")\S",
    rf"^(diff|no-file):\s*(?!{_OUTSIDE})\S",
)
_PLAIN = r"[^\u0000\ud800-\udfff]"
WRITTEN_EXPECTATION = {
    **any_of(*map(matching, _FORMS)),
    **matching(f"^{_PLAIN}*$"),
    "maxLength": MAX_EXPECTATION_CHARACTERS,
    "description": "An expectation, such as file:PATH exists, test:COMMAND passes, diff:PATH or no-file:PATH.",
    "examples": ["file:out.txt exists", "file:src/a.js matches /export/", "test:npm test passes", "diff:src"],
}
Expectation = Annotated[
    Annotated[Text, Tag("text"), WithJsonSchema(WRITTEN_EXPECTATION)] | Annotated[ExpectationSection, Tag("object")],
    Discriminator(_shape),
]


class CaseSection(XbenchSection):
    """``cases[]``. ``budget`` is in US dollars, ``timeout`` in seconds."""

    id: Text
    prompt: Text
    expect: Annotated[list[Expectation], Field(min_length=1)]
    budget: Dollars | None = None
    timeout: Seconds | None = None
    model: Text | None = None
    tags: list[Text] = Field(default_factory=list)
    expected_fail: bool = Field(default=False, alias="expectedFail")
    runners: list[Text] = Field(default_factory=list)


class SuiteArmSection(ArmSection):
    """``arms.<id>`` of a suite: variables have plain values, so schema and texts differ from the configuration's."""


class SuiteSection(XbenchSection):
    """A whole suite file."""

    name: Text | None = None
    description: str | None = None
    model: Text | None = None
    defaults: SuiteDefaultsSection = SuiteDefaultsSection()
    cases: list[CaseSection]
    tags: list[Text] = Field(default_factory=list)
    workspace: SuiteWorkspaceSection = SuiteWorkspaceSection()
    runners: list[Text] = Field(default_factory=list)
    arms: Annotated[dict[str, SuiteArmSection], Field(json_schema_extra=NAMED_ARMS)] | None = None


_ARMS = "SuiteArmSection"  # its keys are those of configurations, where no key is free
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
