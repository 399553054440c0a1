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
    """Type of the [agent](agents.md), which determines the program that the runner starts."""
    model: str | None = None
    """Model that the agent uses. The model of a case or suite and `--model` take precedence."""
    version: (
        Annotated[str, BeforeValidator(_exact_version), WithJsonSchema(matching(f"^(?:{EXACT_VERSION.pattern})$"))]
        | None
    ) = None
    """Exact version of the agent's CLI, such as `2.1.332`. This version is
    [installed](agents.md#where-the-cli-comes-from) and used, even if another version is on `PATH`."""
    command: str | tuple[str, ...] | None = None
    """Command that starts the agent. The type `command` requires this key. A list is a program with its arguments. Text
    is a command line for `sh` for the type `command`, and the path of the agent's program for other types."""
    command_args: tuple[str, ...] = ()
    """Arguments that are added to the agent's command line, after the options that the tool sets."""
    env: Environment = {}
    """Variables that are added to the environment of the agent. `${{ NAME }}` and `${NAME}` are replaced with the value
    of `NAME` in the environment of the run. A list contains names of variables, which are passed to the agent
    unchanged."""
    auth: Auth | None = None
    """Kind of [account](../how-to/log-in.md) that the agent uses: `key` or `cloud`, variables; `login`, the login of
    its CLI on your machine; `auto`, the first that there is."""
    budget: PositiveFloat | None = None
    """Budget of each session whose case does not set a budget. This key does not apply to x-bench suites, which have
    their own default. If the agent [reports the tokens of each model round](agents.md) while it runs, and the price of
    the model is known, the tool ends a session that exceeds its budget."""
    output: Literal["text", "events"] = "text"
    """Format of the output of an agent of type `command`: plain text (`text`), or one JSON object per line
    (`events`)."""
    sessions: PathText | None = None
    """Folder of the recorded sessions to replay. The type `replay` requires this key."""


class RunnerSection(_Model):
    """``runners.<id>``."""

    agent: AgentSection
    """Settings of the agent of this runner."""


class BootstrapSection(_Model):
    """``run.workspace.bootstrap``; milliseconds."""

    command: str
    """Program to start. If its path begins with `./` or `../`, the path is relative to the folder of the file that
    contains this key."""
    args: tuple[str, ...] = ()
    """Arguments of the program. Arguments that begin with `./` or `../` are relative to the same folder as the path in
    `command`."""
    timeout_ms: Milliseconds = 300_000
    """Time limit of the program."""
    env: dict[str, str] = {}
    """Variables that are added to the environment of the program."""


class WorkspaceLimitsSection(_Model):
    """``run.workspace.limits``: of the containers; other limits are ``run.limits``."""

    cpus: Annotated[PositiveFloat, Field(le=MAX_CPUS)] | None = None
    """Number of processors that a container may use, such as 1 or 0.5."""


class WorkspaceSection(_Model, ContainerKeys):
    """``run.workspace``: the default for suites without a workspace of their own."""

    model_config = ConfigDict(json_schema_extra={"allOf": [*CONTAINER_RULES, ISOLATED]})

    mode: Literal["none", "shared", "isolated"]
    """`isolated`: a new directory for each session. `shared`: one directory for each suite. `none`: the existing
    directory that `cwd` or `run.cwd` specifies, or the root of the repository if neither is set."""
    cwd: PathText | None = None
    """An existing directory [of the repository](configuration.md#paths) in which agents work. If this key is set,
    `mode` has no effect."""
    template_dir: PathText | None = None
    """Folder [inside the repository](configuration.md#paths) whose content is copied into each new workspace. If this
    key is not set, workspaces are empty at the start."""
    bootstrap: BootstrapSection | None = None
    """Command that prepares a workspace before the agent starts."""
    limits: WorkspaceLimitsSection | None = None
    """Limits that apply only to containers. All other limits are set in `run.limits`."""


class JudgeSection(_Model):
    """``run.judge``: the model that grades."""

    api: Literal["anthropic", "openai"]
    """The API of the model's service: the Messages API of Anthropic, or the chat completions API of OpenAI, which many
    other services also offer."""
    model: Annotated[str, Field(min_length=1)]
    """Name of the model, as the service expects it."""
    env: Environment = {}
    """Values of the variables that contain the API key and the base URL of the service: `ANTHROPIC_API_KEY` and
    `ANTHROPIC_BASE_URL`, or `OPENAI_API_KEY` and `OPENAI_BASE_URL`. By default, [the judge](configuration.md#the-judge)
    uses the values in the environment of the run. A list contains names of variables whose values are taken from this
    environment unchanged."""
    votes: Annotated[
        int, Field(ge=1, le=MAX_JUDGE_VOTES, strict=True), WHOLE, AfterValidator(_odd), WithJsonSchema(_ODD)
    ] = 1
    """Number of independent answers that the judge gives to each question. The
    [majority](configuration.md#votes-of-the-judge) of the answers decides."""


class LimitsSection(_Model):
    """``run.limits``: resource limits of each session."""

    memory: Size = None
    """Maximum resident memory of all processes of a session together."""
    disk: Size = None
    """Maximum disk space of the folders of a session."""
    processes: Count = None
    """Maximum number of processes and threads of a session at the same time."""
    file_size: Size = None
    """Maximum size of each file that a session writes."""


@_with_declared_keys
class RunSection(_Model):
    """``run``."""

    cwd: PathText | None = None
    """Directory [of the repository](configuration.md#paths) in which agents work if the workspace settings (of a suite
    or in `run.workspace`) contain `mode: none` and no `cwd`. If `run.workspace` is not set, this directory is also used
    for suites without workspace settings."""
    output_dir: PathText | None = None
    """Folder in which each run creates its run directory."""
    reporter: Annotated[str | None, BeforeValidator(_reporter), WithJsonSchema(words(SKILLGYM_REPORTERS))] = None
    """This key has no effect. The tool accepts it for compatibility with configurations of skillgym. Every run writes
    `results.json` and, unless `report.html` is `false`, the HTML report. [`--report`](command-line.md#output) writes
    additional reports. Reporter modules are not supported."""
    repeat_failure: NonNegativeInt | None = None
    """Maximum number of retries of a repetition that failed (but not of one that is `errored`); same as `--retry`."""
    retry_failed: NonNegativeInt | None = None
    """Older name of `run.repeatFailure`; ignored if `run.repeatFailure` is set."""
    workspace: WorkspaceSection | None = None
    """Workspace settings for suites that have none of their own."""
    tags: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Only cases with at least one of these tags run; same as `--tag`."""
    baseline: PathText | None = None
    """What the run is compared with: a run directory, a results file, with `auto` the results of the base branch in the
    store or, with `base`, sessions with the files of the base commit; same as
    [`--baseline`](command-line.md#baselines)."""
    judge: JudgeSection | None = None
    """Settings of the [judge](configuration.md#the-judge), which is the model that graders ask."""
    limits: LimitsSection | None = None
    """Limits on the resources of the machine that each [session](limits.md#sessions) may use; suites can only lower
    these limits."""
    public_variables: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Names of variables whose values are not [secret](configuration.md#secrets), although an `env` refers to them,
    such as the name of a model. Variables that are secret because of their name stay secret."""

    @property
    def retries(self) -> int:
        """``repeatFailure``; ``retryFailed``, its older name, counts only where that is not set, as in skillgym."""
        return (self.retry_failed if self.repeat_failure is None else self.repeat_failure) or 0


class DefaultsSection(_Model):
    """``defaults``; milliseconds."""

    timeout_ms: Milliseconds | None = None
    """Time limit of cases whose suite sets no time limit. This key does not apply to x-bench suites and Claude plugins,
    which have their own defaults."""


class ToleranceSection(_Model):
    """``snapshots.tolerance``: the increase that is allowed, in tokens and in percent; with both, both apply."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [key], "properties": {key: {"type": "number"}}} for key in ("absolute", "percent")]
        }
    )

    absolute: NonNegativeFloat | None = None
    """Number of tokens by which an execution may exceed its snapshot."""
    percent: NonNegativeFloat | None = None
    """Percentage by which an execution may exceed its snapshot."""


class SnapshotsSection(_Model):
    """``snapshots``: stored token counts that executions are compared with."""

    path: NamedPath | None = None
    """File that contains the snapshots."""
    metric: Metric = "totalTokens"
    """Which tokens the tool compares."""
    tolerance: ToleranceSection
    """How far the tokens of an execution may exceed its snapshot: a mapping with `absolute`, `percent`, or both."""

    @field_validator("tolerance")
    @classmethod
    def _limits(cls, value: ToleranceSection) -> ToleranceSection:
        if value.absolute is None and value.percent is None:
            raise ValueError("needs absolute, percent, or both")
        return value


class PriceSection(_Model):
    """``prices.<model>``: US dollars per million tokens."""

    input: NonNegativeFloat
    """Price of input tokens."""
    output: NonNegativeFloat
    """Price of output tokens, including reasoning tokens."""
    cached: NonNegativeFloat | None = None
    """Price of input tokens that are read from a cache."""


@_with_declared_keys
class ReportSection(_Model):
    """``report``: what is published on the pull request, and with which templates."""

    html: Switch | None = None
    """Whether the tool writes the [HTML report](reports.md#the-html-report), `report.html`."""
    templates: PathText | None = None
    """Folder with [report templates](reports.md#your-own-templates) that replace the built-in ones. If the
    configuration is inside the repository, the folder must be inside the repository, too."""


def _texts(value: object) -> object:
    if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
        raise ValueError("must be text, or a list of texts")
    return value


class SkillsSection(_Model):
    """``skills``: suites of skills. ``path``: the folder of the skill under test, relative to the file."""

    path: NamedPath | None = None
    """Folder of the skill under test, [inside the repository](configuration.md#paths); same as `--skill`."""
    workspace: Literal["empty", "repository"] = "empty"
    """Content of workspaces. `empty`: only the skill and the input files. `repository`: also a copy of the repository
    without the skill and the suites."""
    trigger_rounds: PositiveInt = 5
    """Maximum number of model rounds in a session of a trigger query."""
    arms: Annotated[Words, BeforeValidator(_texts), AlsoAccepts({"type": "string"})] = ()
    """Arms in which [suites of skills](../how-to/arms.md#skills) run; same as `--arms`."""


class SandboxSection(_Model):
    """``sandbox``: what makes the containers of sessions. ``proxyImage``: an image with squid, for their network."""

    type: SandboxType | None = None
    """Sandbox that runs the containers of sessions; same as [`--sandbox`](command-line.md#containers). With `none`, the
    tool reports an error for each suite that requires containers."""
    agents: Literal["bundle", "image"] = "bundle"
    """What happens if an image does not contain the CLI of an agent. `bundle`: the tool adds the CLI that it installed.
    `image`: the sessions are `errored`."""
    proxy_image: Annotated[str | None, Field(min_length=1)] = None
    """Image that contains Squid, the proxy for the network modes `model-only` and `allow-list`. Set this key on
    machines on which the tool cannot [build such an image](sandboxes.md#network) itself."""


class PluginsSection(_Model):
    """``plugins``: suites of plugins. ``allow_tools``: what their cases may use, on agents that limit tools."""

    allow_tools: Annotated[tuple[Annotated[str, Field(min_length=1)], ...] | None, Field(min_length=1)] = None
    """Tools that cases of [Claude plugins](plugin-evals.md#workspace-plugin-and-tools) may use. The list has no effect
    on agents that cannot restrict their tools. However, a case whose `allowed_tools` contains no tool of the list is
    errored, regardless of the agent."""


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
    """Patterns that match files, or folders with all of their files. The patterns are relative to the root of the
    repository."""
    suites: tuple[PathPattern, ...]
    """Patterns that match suites, or folders with suites. If a file that matches `files` changes, the cases of these
    suites are selected. An empty list means that no case depends on these files."""


class TlsSection(_Model):
    """``engine.tls``: files in PEM format, relative to the configuration file."""

    ca: NamedPath
    """Certificate of the certificate authority that signed all certificates of the cluster."""
    cert: NamedPath
    """The coordinator's certificate."""
    key: NamedPath
    """The coordinator's private key. The file must not be in the checkout, because agents and workers get the files of
    the checkout."""


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
    """Where sessions run: on this machine (`local`), or on the workers of a Dask cluster (`dask`)."""
    address: str | None = None
    """Address of the scheduler, in the same format as in `--engine`. The type `dask` requires this key."""
    tls: TlsSection | None = None
    """Certificates and key for connections to the cluster, as files in PEM format."""
    slots: PositiveInt | None = None
    """Maximum number of parallel sessions on all workers together; `--jobs` takes precedence."""
    lost_after: Duration | None = None
    """Time after which a worker that has sent no message is considered lost."""
    lost_retries: NonNegativeInt | None = None
    """Maximum number of times that a session runs again because its worker was lost; same as `--lost-retries`."""
    wait: Duration | None = None
    """How long a run waits for a worker if none is available. After this time, the run ends."""

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
    """URL of this JSON Schema, for editors."""
    run: RunSection = RunSection()
    """What runs, how often, and when the run fails."""
    defaults: DefaultsSection = DefaultsSection()
    """Values for cases that do not set their own."""
    report: ReportSection = ReportSection()
    """What the tool writes on the pull request, and which templates it uses."""
    snapshots: SnapshotsSection | None = None
    """Limits for the number of tokens of executions, based on stored snapshots."""
    prices: dict[str, PriceSection] = {}
    """Token prices of models that are not in the price table, or for which you pay other prices."""
    skills: SkillsSection = SkillsSection()
    """Settings for suites of skills."""
    plugins: PluginsSection = PluginsSection()
    """Settings for suites of Claude plugins."""
    sandbox: SandboxSection = SandboxSection()
    """Settings for the containers that suites require."""
    arms: ArmsByName | None = None
    """The 2 to {MAX_ARMS} variants (arms) in which each case runs, by name."""
    store: StoreName | None = None
    """Where results are stored for comparisons with later runs: a branch, artifacts of a workflow, or a folder or
    `.jsonl` file. A path is relative to the folder of the configuration file. If the configuration is inside the
    repository, the path must be [inside the repository](configuration.md#paths), too."""
    reuse: Reuse | None = None
    """Which results of unchanged executions are taken from the store. `max-age` is the maximum age of these results, in
    days (`30d`) or hours (`12h`): by default {DEFAULT_REUSE_DAYS} days, at most {MAX_REUSE_DAYS} days."""
    inputs: tuple[InputSection, ...] = ()
    """For `changed-only`: files on which suites depend without referring to them."""
    limits: dict[ProviderName, ProviderSection] = {}
    """Maximum number of sessions that use a model provider at the same time, by provider."""
    engine: EngineSection | None = None
    """Where sessions run: on this machine, or on the workers of a cluster."""
    runners: Annotated[dict[str, RunnerSection] | None, Field(min_length=1)] = None
    """The runners that cases run on, by id. Reports show this id, and `--runner` selects runners by it."""


def with_configured(settings: Settings, file: ConfigFile) -> Settings:
    """The settings, with the configuration's values of those that neither option, input nor variable sets."""
    found = {name: getattr(getattr(file, setting.key), name) for name, setting, _ in all_declared() if setting.key}
    update = {name: value for name, value in found.items() if value not in (None, "") and not is_set(settings, name)}
    return settings.model_copy(update=update)
