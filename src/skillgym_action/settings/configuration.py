"""The sections of a configuration file, as pydantic models."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args

import pydantic
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    WithJsonSchema,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticKnownError

from skillgym_action.agents import AGENTS, EXACT_VERSION
from skillgym_action.model.errors import did_you_mean
from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.limits import MAX_JUDGE_VOTES, MAX_PATTERN_CHARACTERS
from skillgym_action.model.token_snapshots import Metric
from skillgym_action.settings.option_types import (
    CLUSTER_ADDRESS,
    OF_TLS,
    SKILLGYM_REPORTERS,
    Auth,
    Reuse,
    SandboxType,
    StoreName,
    reporter_of_skillgym,
)
from skillgym_action.settings.provider_limits import ProviderName, ProviderSection
from skillgym_action.settings.settings import Settings, all_declared, is_set, keys_of
from skillgym_action.suites.arm_section import ArmsByName, VariableText, references
from skillgym_action.suites.container_section import CONTAINER_RULES, ISOLATED, MAX_CPUS, ContainerKeys
from skillgym_action.system.files.globs import matches_nothing
from skillgym_action.text.documents.json_schemas import TEXTS, AlsoAccepts, MadeSchema, has, matching, words
from skillgym_action.text.documents.option_values import (
    WHOLE,
    WRITTEN_DURATION,
    Count,
    Duration,
    Milliseconds,
    NamedPath,
    NonNegativeFloat,
    NonNegativeInt,
    PathText,
    Points,
    PositiveFloat,
    PositiveInt,
    Rate,
    Size,
    Switch,
    Words,
    WrittenPoints,
    WrittenRate,
)

_M = TypeVar("_M", bound=BaseModel)


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        alias_generator=camel_case,
        defer_build=True,
    )


_IN_FILES = (
    *((pydantic.PositiveInt, PositiveInt), (pydantic.PositiveFloat, PositiveFloat), (bool, Switch)),
    *((Rate, WrittenRate), (Points, WrittenPoints)),
)
"""Types of settings, and what they are in files, where no number is in quotes."""


def _with_declared_keys(model: type[_M]) -> type[_M]:
    """The section with a key for each setting that names it: only ``with_configured`` reads these."""
    keys: dict[str, Any] = {}
    for name in keys_of(model.__name__).values():
        field = Settings.model_fields[name]
        kinds = get_args(field.annotation) or (field.annotation,)
        kind = next((written for given, written in _IN_FILES if given == kinds[0]), kinds[0])
        keys[name] = (kind | None if NoneType in kinds else kind, field.default)
    return create_model(model.__name__, __base__=model, __module__=__name__, **keys)


AGENT_TYPES = tuple(name for name, listing in AGENTS.own.items() if listing.format is None and not listing.internal)


def _agent_types() -> tuple[str, ...]:
    return (*AGENT_TYPES, *(name for name in AGENTS if name not in AGENTS.own))


def _agent_type(value: str) -> str:
    if value not in AGENT_TYPES and (value in AGENTS.own or value not in AGENTS):
        raise ValueError(f"unknown agent {value!r}; {did_you_mean(value, _agent_types())}")
    return value


def _exact_version(value: object) -> object:
    if isinstance(value, dict | list | bool):
        raise PydanticKnownError("string_type")
    if not isinstance(value, str) or not EXACT_VERSION.fullmatch(value):
        raise ValueError(f"{value!r} is not an exact version, such as 1.2.3")
    return value


def _odd(votes: int) -> int:
    if votes % 2 == 0:
        raise ValueError("must be an odd number, since an even one may have no majority")
    return votes


_ODD = {"type": "integer", "enum": list(range(1, MAX_JUDGE_VOTES + 1, 2))}


def _reporter(value: object) -> object:
    return reporter_of_skillgym(value) if isinstance(value, str) else reporter_of_skillgym("")


Environment = Annotated[dict[str, VariableText], BeforeValidator(references), AlsoAccepts(TEXTS)]
"""Variables with their values, or a list of variables whose values are passed on."""


def _with(key: str, value: str) -> dict[str, JsonValue]:
    """The schema of a mapping in which a key has this value."""
    return {"required": [key], "properties": {key: {"const": value}}}


def _filled(key: str) -> dict[str, JsonValue]:
    """The schema of a mapping in which a key is set, and not empty."""
    return {"required": [key], "properties": {key: {"not": {"enum": _NOTHING}}}}


_NOTHING: list[JsonValue] = [None, "", []]
_FROM_NPM: list[JsonValue] = [name for name in AGENT_TYPES if AGENTS[name].package]
_AGENT_RULES: list[JsonValue] = [
    {
        "description": "An agent of type command needs command.",
        "if": _with("type", "command"),
        "then": _filled("command"),
    },
    {
        "description": "An agent of type replay needs sessions.",
        "if": _with("type", "replay"),
        "then": _filled("sessions"),
    },
    {
        "description": "A version is for agents that are installed from npm, without a command that names the program.",
        "if": has("version"),
        "then": {"properties": {"type": {"enum": _FROM_NPM}, "command": {"enum": _NOTHING}}},
    },
]
"""What JSON Schemas say of the keys of an agent together; ``runners`` refuses the rest when it is selected."""


class AgentSection(_Model):
    """``runners.<id>.agent``."""

    model_config = ConfigDict(json_schema_extra={"allOf": _AGENT_RULES})

    type: Annotated[str, AfterValidator(_agent_type), MadeSchema(lambda: words(_agent_types()))]
    model: str | None = None
    version: (
        Annotated[str, BeforeValidator(_exact_version), WithJsonSchema(matching(f"^(?:{EXACT_VERSION.pattern})$"))]
        | None
    ) = None
    command: str | tuple[str, ...] | None = None
    command_args: tuple[str, ...] = ()
    env: Environment = {}
    auth: Auth | None = None
    budget: PositiveFloat | None = None
    output: Literal["text", "events"] = "text"
    sessions: PathText | None = None


class RunnerSection(_Model):
    """``runners.<id>``."""

    agent: AgentSection


class BootstrapSection(_Model):
    """``run.workspace.bootstrap``; milliseconds."""

    command: str
    args: tuple[str, ...] = ()
    timeout_ms: Milliseconds = 300_000
    env: dict[str, str] = {}


class WorkspaceLimitsSection(_Model):
    """``run.workspace.limits``: of the containers; other limits are ``run.limits``."""

    cpus: Annotated[PositiveFloat, Field(le=MAX_CPUS)] | None = None


class WorkspaceSection(_Model, ContainerKeys):
    """``run.workspace``: the default for suites without a workspace of their own."""

    model_config = ConfigDict(json_schema_extra={"allOf": [*CONTAINER_RULES, ISOLATED]})

    mode: Literal["none", "shared", "isolated"]
    cwd: PathText | None = None
    template_dir: PathText | None = None
    bootstrap: BootstrapSection | None = None
    limits: WorkspaceLimitsSection | None = None


class JudgeSection(_Model):
    """``run.judge``: the model that grades. ``votes``: answers to each question, of which the majority decides."""

    api: Literal["anthropic", "openai"]
    model: Annotated[str, Field(min_length=1)]
    env: Environment = {}
    votes: Annotated[
        int, Field(ge=1, le=MAX_JUDGE_VOTES, strict=True), WHOLE, AfterValidator(_odd), WithJsonSchema(_ODD)
    ] = 1


class LimitsSection(_Model):
    """``run.limits``: resource limits of each session."""

    memory: Size = None
    disk: Size = None
    processes: Count = None
    file_size: Size = None


@_with_declared_keys
class RunSection(_Model):
    """``run``."""

    cwd: PathText | None = None
    output_dir: PathText | None = None
    reporter: Annotated[str | None, BeforeValidator(_reporter), WithJsonSchema(words(SKILLGYM_REPORTERS))] = None
    repeat_failure: NonNegativeInt | None = None
    retry_failed: NonNegativeInt | None = None
    workspace: WorkspaceSection | None = None
    tags: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    baseline: PathText | None = None
    judge: JudgeSection | None = None
    limits: LimitsSection | None = None
    public_variables: tuple[Annotated[str, Field(min_length=1)], ...] = ()

    @property
    def retries(self) -> int:
        """``repeatFailure``; ``retryFailed``, its older name, counts only where that is not set, as in skillgym."""
        return (self.retry_failed if self.repeat_failure is None else self.repeat_failure) or 0


class DefaultsSection(_Model):
    """``defaults``; milliseconds."""

    timeout_ms: Milliseconds | None = None


class ToleranceSection(_Model):
    """``snapshots.tolerance``: the increase that is allowed, in tokens and in percent; with both, both apply."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [key], "properties": {key: {"type": "number"}}} for key in ("absolute", "percent")]
        }
    )

    absolute: NonNegativeFloat | None = None
    percent: NonNegativeFloat | None = None


class SnapshotsSection(_Model):
    """``snapshots``: stored token counts that executions are compared with."""

    path: NamedPath | None = None
    metric: Metric = "totalTokens"
    tolerance: ToleranceSection

    @field_validator("tolerance")
    @classmethod
    def _limits(cls, value: ToleranceSection) -> ToleranceSection:
        if value.absolute is None and value.percent is None:
            raise ValueError("needs absolute, percent, or both")
        return value


class PriceSection(_Model):
    """``prices.<model>``: US dollars per million tokens."""

    input: NonNegativeFloat
    output: NonNegativeFloat
    cached: NonNegativeFloat | None = None


@_with_declared_keys
class ReportSection(_Model):
    """``report``: what is published on the pull request, and with which templates."""

    html: Switch | None = None
    templates: PathText | None = None


def _texts(value: object) -> object:
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise ValueError("must be text, or a list of texts")
    return value


class SkillsSection(_Model):
    """``skills``: suites of skills. ``path``: the folder of the skill under test, relative to the file."""

    path: NamedPath | None = None
    workspace: Literal["empty", "repository"] = "empty"
    trigger_rounds: PositiveInt = 5
    arms: Annotated[Words, BeforeValidator(_texts), AlsoAccepts({"type": "string"})] = ()


class SandboxSection(_Model):
    """``sandbox``: what makes the containers of sessions. ``proxyImage``: an image with squid, for their network."""

    type: SandboxType | None = None
    agents: Literal["bundle", "image"] = "bundle"
    proxy_image: Annotated[str | None, Field(min_length=1)] = None


class PluginsSection(_Model):
    """``plugins``: suites of plugins. ``allow_tools``: what their cases may use, on agents that limit tools."""

    allow_tools: Annotated[tuple[Annotated[str, Field(min_length=1)], ...] | None, Field(min_length=1)] = None


def _pattern(text: str) -> str:
    if matches_nothing(text):
        raise ValueError("is not a pattern that can match a path")
    return text


PathPattern = Annotated[
    str, AfterValidator(_pattern), WithJsonSchema(matching("[^/.]") | {"maxLength": MAX_PATTERN_CHARACTERS})
]


class InputSection(_Model):
    """An entry of ``inputs``: with ``--changed-only`` a change of the ``files`` selects the ``suites``."""

    files: Annotated[tuple[PathPattern, ...], Field(min_length=1)]
    suites: tuple[PathPattern, ...]


class TlsSection(_Model):
    """``engine.tls``: files in PEM format, relative to the configuration file."""

    ca: NamedPath
    cert: NamedPath
    key: NamedPath


_RETRIES: dict[str, JsonValue] = {"type": "integer", "minimum": 0}
_HYPHENATED = {"lost-after": "lostAfter", "lost-retries": "lostRetries"}
_ENGINE_RULES: list[JsonValue] = [
    {
        "description": "An engine of type dask needs the address of its scheduler. Only loopback needs no TLS.",
        "if": _with("type", "dask"),
        "then": {"required": ["address"], "properties": {"address": matching(CLUSTER_ADDRESS)}},
    },
    {
        "description": "A scheduler with TLS needs certificates.",
        "if": {
            "required": ["type", "address"],
            "properties": {"type": {"const": "dask"}, "address": matching(OF_TLS)},
        },
        "then": has("tls"),
    },
    {"description": "lost-after is another name of lostAfter.", "not": {"required": ["lost-after", "lostAfter"]}},
    {
        "description": "lost-retries is another name of lostRetries.",
        "not": {"required": ["lost-retries", "lostRetries"]},
    },
]
"""What JSON Schemas say of the keys of an engine together."""


class EngineSection(_Model):
    """``engine``: where sessions run. ``slots``: sessions at once; ``wait``: for a worker, as long as there is none."""

    model_config = ConfigDict(
        json_schema_extra={
            "patternProperties": {"^lost-after$": WRITTEN_DURATION, "^lost-retries$": _RETRIES},
            "allOf": _ENGINE_RULES,
        }
    )

    type: Literal["local", "dask"]
    address: str | None = None
    tls: TlsSection | None = None
    slots: PositiveInt | None = None
    lost_after: Duration | None = None
    lost_retries: NonNegativeInt | None = None
    wait: Duration | None = None

    @model_validator(mode="before")
    @classmethod
    def _with_hyphens(cls, value: object) -> object:
        """``lost-after`` and ``lost-retries``, as options are written, are accepted as well."""
        if not isinstance(value, dict):
            return value
        for written, name in _HYPHENATED.items():
            if written in value and name in value:
                raise ValueError(f"{written} is another name of {name}, which is there, too")
        return {_HYPHENATED.get(key, key): each for key, each in value.items()}


class ConfigFile(_Model):
    """A whole configuration file. ``$schema``: the address of its JSON Schema, for editors."""

    schema_: Annotated[str | None, Field(alias="$schema")] = None
    run: RunSection = RunSection()
    defaults: DefaultsSection = DefaultsSection()
    report: ReportSection = ReportSection()
    snapshots: SnapshotsSection | None = None
    prices: dict[str, PriceSection] = {}
    skills: SkillsSection = SkillsSection()
    plugins: PluginsSection = PluginsSection()
    sandbox: SandboxSection = SandboxSection()
    arms: ArmsByName | None = None
    store: StoreName | None = None
    reuse: Reuse | None = None
    inputs: tuple[InputSection, ...] = ()
    limits: dict[ProviderName, ProviderSection] = {}
    engine: EngineSection | None = None
    runners: Annotated[dict[str, RunnerSection] | None, Field(min_length=1)] = None


def with_configured(settings: Settings, file: ConfigFile) -> Settings:
    """The settings, with the configuration's values of those that neither option, input nor variable sets."""
    keys = {name: setting.key.partition(".") for name, setting, _ in all_declared() if setting.key}
    found = {name: getattr(getattr(file, section), key or name) for name, (section, _, key) in keys.items()}
    update = {name: value for name, value in found.items() if value not in (None, "") and not is_set(settings, name)}
    return settings.model_copy(update=update)
