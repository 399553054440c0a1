"""The content of an x-bench suite file, as models: types, limits, names of keys; and their JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from skillgym_action.model.limits import MAX_CASE_ID_CHARACTERS, MAX_EXPECTATION_CHARACTERS, MAX_SUITE_CASES
from skillgym_action.suites.arm_section import NAMED_ARMS, ArmSection, ArmVariables
from skillgym_action.suites.container_section import MAX_CPUS, ContainerKeys
from skillgym_action.suites.xbench.expectations import (
    KINDS,
    RULES,
    ExpectationSection,
    PlainKind,
    Seconds,
    Text,
    XbenchSection,
)
from skillgym_action.text.documents.json_schemas import FREE_KEYS, any_of, has, matching
from skillgym_action.text.documents.option_values import Count, NamedPath, Size  # noqa: TC001 - pydantic reads annotations

Dollars = Annotated[float, Field(gt=0)]


def _shape(value: object) -> str:
    return "object" if isinstance(value, dict) else "text"


class SuiteDefaultsSection(XbenchSection):
    """``defaults``: for cases that do not set these values."""

    budget: Dollars | None = None
    """Maximum cost of a session, for cases that set no `budget`."""
    timeout: Seconds | None = None
    """Time limit of the agent, for cases that set no `timeout`."""


class SuiteBootstrapSection(XbenchSection):
    """``workspace.bootstrap`` as an object; words that start with ``./`` or ``../`` are relative to the suite file."""

    command: Text
    args: list[str] = Field(default_factory=list)
    timeout: Seconds = 300.0
    """Time limit of the program."""
    env: dict[str, str] = Field(default_factory=dict)


class SuiteLimitsSection(XbenchSection):
    """``workspace.limits``: what a session may use; they can only lower the limits of the run."""

    memory: Size = None
    disk: Size = None
    processes: Count = None
    file_size: Size = Field(default=None, alias="fileSize")
    cpus: float | None = Field(default=None, gt=0, le=MAX_CPUS)
    pids: Count = None
    """Another name for `processes`."""


class SuiteWorkspaceSection(XbenchSection, ContainerKeys):
    """``workspace``. Without ``templateDir`` it is a copy of the repository; ``bootstrap`` may be one shell line."""

    template_dir: Annotated[NamedPath, WithJsonSchema(matching(r"^(?!/)[^\0]+$"))] | None = Field(
        default=None, alias="templateDir"
    )
    """Folder inside the repository; workspaces are copies of this folder instead of copies of the repository. The path
    must contain [no symbolic link and no `.git`](configuration.md#paths)."""
    bootstrap: (
        Annotated[Annotated[Text, Tag("text")] | Annotated[SuiteBootstrapSection, Tag("object")], Discriminator(_shape)]
        | None
    ) = None
    """Command that runs in the workspace before the agent: a command line for `sh`, or a mapping that contains the
    program and its arguments."""
    limits: SuiteLimitsSection | None = None
    """Limits on the resources of a [session](limits.md#sessions). These limits can only lower the limits of the run."""


_FOUND = r"exists\s*$|contains\s+(?!(''|\"\")\s*$)\S|matches\s+/(?!/)[\s\S]+/[A-Za-z]*\s*$"
_OUTSIDE = r"['\"]?([/\\]|[A-Za-z]:[\\/]|(\./)*\.\.(/|['\"\s]|$))"
_FORMS = (
    rf"^file:\s*(?!{_OUTSIDE})\S[\s\S]*\s({_FOUND})",
    r"^test:\s*(?!passes\s*$|''|\"\")\S",
    rf"^({'|'.join(kind.prefix for kind in KINDS if isinstance(kind, PlainKind))}):\s*(?!{_OUTSIDE})\S",
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
    """``cases[]``."""

    id: Text
    """Id of the case, which must be unique in the suite."""
    prompt: Text
    """The prompt, which the tool passes to agents unchanged."""
    expect: Annotated[list[Expectation], Field(min_length=1)]
    """The expectations of the case; at least one is required."""
    budget: Dollars | None = None
    """Maximum cost of a session. If the agent [reports the tokens of each model round](agents.md), and the price of the
    model is known, the tool ends a session that costs more. A session whose cost is known only at its end fails if it
    cost more. If the cost is unknown, the report contains a warning that the budget could not be checked, unless it is
    the default one. [`--on-limit`](command-line.md#limits) sets the status of a session that exceeds its budget."""
    timeout: Seconds | None = None
    """Time limit of the agent; `--timeout` takes precedence."""
    model: Text | None = None
    """Model that the agent uses for this case."""
    tags: list[Text] = Field(default_factory=list)
    """Tags of this case, in addition to the tags of the suite."""
    expected_fail: bool = Field(default=False, alias="expectedFail")
    """Whether the case is expected to fail. If so, a case with a failed expectation has the status `expected-failed`,
    which counts as a success. A case that passes has the status `unexpected-passed`, which counts as a failure. A case
    that exceeds its time, steps or budget, or that the model refuses, is `failed` all the same."""
    runners: list[Text] = Field(default_factory=list)
    """Ids of the runners with which this case runs, or [glob patterns](patterns.md) that match such ids. This list
    replaces `runners` of the suite."""


class SuiteArmSection(ArmSection):
    """``arms.<id>`` of a suite: variables have plain values, so schema and texts differ from the configuration's."""

    env: ArmVariables = Field(default_factory=dict)
    """Variables that are added to the environment of the agent; null removes a variable that the runner sets. A value
    that contains `${` causes an error: only [arms of the configuration](configuration.md#arms) can use variables of the
    tool's environment."""


class SuiteSection(XbenchSection):
    """A whole suite file."""

    name: Text | None = None
    """Name of the suite in reports."""
    description: str | None = None
    """Description for readers; it has no effect on the run."""
    model: Text | None = None
    """Model that the agent uses for cases that set no `model`."""
    defaults: SuiteDefaultsSection = SuiteDefaultsSection()
    """Values for cases that do not set their own."""
    cases: list[CaseSection]
    """The cases of the suite; at least one is required."""
    tags: list[Text] = Field(default_factory=list)
    """Tags of all cases of the suite."""
    workspace: SuiteWorkspaceSection = SuiteWorkspaceSection()
    """Settings of the workspace, which is the directory in which an agent works."""
    runners: list[Text] = Field(default_factory=list)
    """Ids of runners, or [glob patterns](patterns.md) that match such ids. Cases that set no `runners` run only with
    these runners."""
    arms: Annotated[dict[str, SuiteArmSection], Field(json_schema_extra=NAMED_ARMS)] | None = None
    """The 2 to {MAX_ARMS} variants ([arms](../how-to/arms.md#in-a-suite)) in which each case runs; the keys are the
    names of the arms. These arms replace the arms of the configuration."""


_ARMS = "SuiteArmSection"  # its keys are those of configurations, where no key is free
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
            "required": [kind.prefix],
            "properties": {kind.prefix: {"type": "string"}}
            | {key: _ABSENT for key in known if key not in {kind.prefix, *kind.options}},
        }
        for kind in KINDS
    ]
    given = {rule: has(rule) for rule in RULES}
    section["allOf"] = [
        {"if": has("file"), "then": {"oneOf": list(given.values())}},
        {"not": {"required": ["fails", "exits"], "properties": {"fails": {"const": True}, "exits": {"not": _ABSENT}}}},
    ]
    for key in ("contains", "matches"):
        _text_option(section["properties"][key])["minLength"] = 1
    _text_option(section["properties"]["test"])["pattern"] = f"^{_PLAIN}*$"
    for kind in KINDS:
        if kind.prefix != "test":
            _text_option(section["properties"][kind.prefix])["pattern"] = rf"^(?!{_OUTSIDE}){_PLAIN}*$"


def _text_option(value: dict[str, Any]) -> dict[str, Any]:
    """The schema of the text that a value may be."""
    option: dict[str, Any]
    (option,) = [option for option in value["anyOf"] if option["type"] == "string"]
    return option
