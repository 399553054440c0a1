"""Variables with which the CLIs of agents get an account at a model's service: one table of families, and the choice.

A family is the variables of one way to get an account. A session gets the variables of its own family and no others.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.model.session import Account

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from skillgym_action.model.session import Billing, FamilyWay, Way

OFF = frozenset({"", "0", "false"})
_OF_CLOUDS = ("AWS_", "AZURE_", "GOOGLE_")


@record
class Family:
    """Variables that together give an agent an account.

    ``switch``: the variable that turns the family on in the CLI. Without one, the family is used if one of ``marks`` is
    set, by default a secret or the address. ``secrets`` and ``plain``: what is passed on; a name that ends in ``*``
    stands for all that begin so. ``first_of``: of these, only the first that is set is passed on. ``files``: variables
    of ``plain`` that name a file, of which sessions get a copy. ``address``: the variable with the address of another
    service, which replaces ``hosts``; a host may have the value of a variable in braces. ``needs``: of each group, one
    alternative must be set; an alternative is one or more names. ``advice``: where its key is from, or what to do
    if something is missing.
    ``provider``: of the table of prices.
    """

    name: str
    way: FamilyWay = "key"
    billing: Billing = "key"
    provider: str | None = None
    switch: str | None = None
    marks: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    first_of: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    address: str | None = None
    hosts: tuple[str, ...] = ()
    needs: tuple[tuple[str, ...], ...] = ()
    advice: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The secrets that alone give an account, whatever else is set."""
        if self.switch or self.needs or self.first_of:
            return ()
        return tuple(name for name in self.secrets if not self.marks or name in self.marks)

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that are passed on, the switch first."""
        return tuple(name for name in (self.switch, *self.secrets, self.address, *self.plain) if name)

    def is_used(self, environment: Mapping[str, str]) -> bool:
        """Whether the variables say that this family is used."""
        if self.switch:
            return self.switch in environment and environment[self.switch].lower() not in OFF
        marks = self.marks or (*self.secrets, *filter(None, [self.address]))
        return any(_is_set(name, environment) for name in marks)

    def missing(self, environment: Mapping[str, str]) -> str | None:
        """What is missing, as a sentence; None: nothing."""
        for group in self.needs:
            if not any(all(_is_set(name, environment) for name in one.split()) for one in group):
                first = self.switch or next(name for name in self.marks if _is_set(name, environment))
                lacking = [one.replace(" ", " with ") for one in group]
                none = f"neither {' nor '.join(lacking)}" if len(lacking) > 1 else f"not {lacking[0]}"
                return f"{first} is set, but {none}" + (f"; {self.advice}" if self.advice else "")
        return None

    def passed(self, environment: Mapping[str, str], own: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The variables of ``environment`` that sessions get beside ``own``, those of the runner."""
        rivals = [name for name in self.first_of if own.get(name)] or [
            name for name in self.first_of if _is_set(name, environment)
        ]
        for pattern in self.variables:
            names = [pattern] if pattern[-1] != "*" else [name for name in environment if name.startswith(pattern[:-1])]
            for name in names:
                if name not in own and _is_set(name, environment) and (name not in self.first_of or name in rivals[:1]):
                    yield name, environment[name]

    def hosts_for(self, environment: Mapping[str, str]) -> tuple[str, ...]:
        """The hosts of the service, without those whose variable is not set."""
        found = (re.sub(r"{(\w+)}", lambda match: environment.get(match[1], "{"), host) for host in self.hosts)
        return tuple(host for host in found if "{" not in host)


_CLAUDE_MODELS = (
    "ANTHROPIC_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
)
_OAUTH = "oauth2.googleapis.com"
_FOUNDRY = "ANTHROPIC_FOUNDRY"
_AWS_KEY = "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY"
_GOOGLE_FILE = "GOOGLE_APPLICATION_CREDENTIALS"
_NO_GCLOUD = f"the login of gcloud is not passed on: name the file with credentials in {_GOOGLE_FILE}"
_ANTHROPIC = Family(
    name="anthropic-key",
    provider="anthropic",
    secrets=("ANTHROPIC_API_KEY",),
    address="ANTHROPIC_BASE_URL",
    hosts=("api.anthropic.com",),
)
_OPENAI = Family(
    name="openai", provider="openai", secrets=("OPENAI_API_KEY",), address="OPENAI_BASE_URL", hosts=("api.openai.com",)
)
_GOOGLE = Family(
    name="google",
    provider="google",
    secrets=("GEMINI_API_KEY",),
    address="GOOGLE_GEMINI_BASE_URL",
    hosts=("generativelanguage.googleapis.com",),
)
_OPENROUTER = Family(
    name="openrouter", provider="openrouter", secrets=("OPENROUTER_API_KEY",), hosts=("openrouter.ai",)
)
_AZURE = Family(
    name="azure-openai",
    way="cloud",
    billing="cloud",
    marks=("AZURE_OPENAI_API_KEY",),
    secrets=("AZURE_OPENAI_API_KEY",),
    plain=("AZURE_OPENAI_API_VERSION",),
    address="AZURE_OPENAI_BASE_URL",
    needs=(("AZURE_OPENAI_BASE_URL",),),
    advice="the address ends in /openai/v1",
)
FAMILIES: Mapping[str, tuple[Family, ...]] = {
    "claude-code": (
        Family(
            name="bedrock",
            way="cloud",
            billing="cloud",
            switch="CLAUDE_CODE_USE_BEDROCK",
            secrets=("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
            plain=(
                "AWS_REGION",
                "AWS_DEFAULT_REGION",
                "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
                "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION",
                *_CLAUDE_MODELS,
            ),
            address="ANTHROPIC_BEDROCK_BASE_URL",
            hosts=tuple(
                f"{service}.{{{region}}}.amazonaws.com"
                for region in ("AWS_REGION", "AWS_DEFAULT_REGION")
                for service in ("bedrock", "bedrock-runtime")
            ),
            needs=(
                ("AWS_BEARER_TOKEN_BEDROCK", _AWS_KEY, "CLAUDE_CODE_SKIP_BEDROCK_AUTH"),
                ("AWS_REGION", "AWS_DEFAULT_REGION", "ANTHROPIC_BEDROCK_BASE_URL"),
            ),
            advice="profiles are not passed on: see `aws configure export-credentials --format env`",
        ),
        Family(
            name="vertex",
            way="cloud",
            billing="cloud",
            switch="CLAUDE_CODE_USE_VERTEX",
            plain=(
                _GOOGLE_FILE,
                "CLOUD_ML_REGION",
                "ANTHROPIC_VERTEX_PROJECT_ID",
                "GOOGLE_CLOUD_PROJECT",
                "VERTEX_REGION_*",
                "CLAUDE_CODE_SKIP_VERTEX_AUTH",
                *_CLAUDE_MODELS,
            ),
            files=(_GOOGLE_FILE,),
            address="ANTHROPIC_VERTEX_BASE_URL",
            hosts=("{CLOUD_ML_REGION}-aiplatform.googleapis.com", "aiplatform.googleapis.com", _OAUTH),
            needs=(
                (_GOOGLE_FILE, "CLAUDE_CODE_SKIP_VERTEX_AUTH"),
                ("ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"),
                ("CLOUD_ML_REGION",),
            ),
            advice=_NO_GCLOUD,
        ),
        Family(
            name="foundry",
            way="cloud",
            billing="cloud",
            switch="CLAUDE_CODE_USE_FOUNDRY",
            secrets=(f"{_FOUNDRY}_API_KEY", f"{_FOUNDRY}_AUTH_TOKEN"),
            plain=(f"{_FOUNDRY}_RESOURCE", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", *_CLAUDE_MODELS),
            address=f"{_FOUNDRY}_BASE_URL",
            hosts=(f"{{{_FOUNDRY}_RESOURCE}}.services.ai.azure.com",),
            needs=(
                (f"{_FOUNDRY}_API_KEY", f"{_FOUNDRY}_AUTH_TOKEN", "CLAUDE_CODE_SKIP_FOUNDRY_AUTH"),
                (f"{_FOUNDRY}_RESOURCE", f"{_FOUNDRY}_BASE_URL"),
            ),
            advice="the login of az is not passed on",
        ),
        Family(
            name="anthropic-gateway",
            provider="anthropic",
            marks=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
            secrets=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_CUSTOM_HEADERS"),
            plain=_CLAUDE_MODELS,
            first_of=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY"),  # the CLI sends both, if it has both
            address="ANTHROPIC_BASE_URL",
            hosts=("api.anthropic.com",),
        ),
        _ANTHROPIC,
        Family(
            name="anthropic-token",
            provider="anthropic",
            billing="plan",
            advice="for a plan, from `claude setup-token`",
            marks=("CLAUDE_CODE_OAUTH_TOKEN",),
            secrets=("CLAUDE_CODE_OAUTH_TOKEN",),  # for no other address than the vendor's
            hosts=("api.anthropic.com",),
        ),
    ),
    "codex": (
        _AZURE,
        replace(_OPENAI, secrets=("OPENAI_API_KEY", "CODEX_API_KEY")),
    ),
    "pi": (_ANTHROPIC, _OPENAI, _GOOGLE, _OPENROUTER, _AZURE),
    "opencode": (
        _ANTHROPIC,
        _OPENAI,
        _GOOGLE,
        _OPENROUTER,
        Family(name="opencode", secrets=("OPENCODE_API_KEY",), hosts=("opencode.ai",)),
        Family(
            name="azure-openai",
            way="cloud",
            billing="cloud",
            secrets=("AZURE_API_KEY",),
            plain=("AZURE_RESOURCE_NAME",),
            marks=("AZURE_API_KEY",),
            hosts=("{AZURE_RESOURCE_NAME}.openai.azure.com",),
            needs=(("AZURE_RESOURCE_NAME",),),
        ),
    ),
    "copilot": (
        Family(
            name="copilot-provider",
            provider="github-copilot",
            marks=("COPILOT_PROVIDER_BASE_URL", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN"),
            secrets=("COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_HEADERS"),
            plain=(
                "COPILOT_PROVIDER_TYPE",
                "COPILOT_PROVIDER_WIRE_API",
                "COPILOT_PROVIDER_AZURE_API_VERSION",
                "COPILOT_PROVIDER_MODEL_ID",
                "COPILOT_PROVIDER_WIRE_MODEL",
            ),
            address="COPILOT_PROVIDER_BASE_URL",
            needs=(("COPILOT_PROVIDER_BASE_URL",),),
        ),
        Family(
            name="copilot",
            provider="github-copilot",
            billing="plan",
            secrets=("COPILOT_GITHUB_TOKEN",),
            plain=("COPILOT_GH_HOST",),
            hosts=("api.github.com", "api.githubcopilot.com", "api.individual.githubcopilot.com"),
        ),
    ),
    "gemini": (
        Family(
            name="google-vertex",
            way="cloud",
            billing="cloud",
            switch="GOOGLE_GENAI_USE_VERTEXAI",
            secrets=("GOOGLE_API_KEY",),
            plain=(_GOOGLE_FILE, "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION"),
            files=(_GOOGLE_FILE,),
            hosts=("{GOOGLE_CLOUD_LOCATION}-aiplatform.googleapis.com", "aiplatform.googleapis.com", _OAUTH),
            needs=(("GOOGLE_API_KEY", f"{_GOOGLE_FILE} GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION"),),
            advice=_NO_GCLOUD,
        ),
        _GOOGLE,
    ),
    "qwen": (replace(_OPENAI, plain=("OPENAI_MODEL",)),),
    "cursor-agent": (Family(name="cursor", secrets=("CURSOR_API_KEY",), hosts=("api2.cursor.sh", "api5.cursor.sh")),),
}
"""Agent -> its families; the first that is used wins, so that clouds come before keys."""


def account(
    families: Iterable[Family],
    own: Mapping[str, str],
    environment: Mapping[str, str],
    asked: Way | None = None,
    *,
    several: bool = False,
) -> tuple[Account, dict[str, str]]:
    """The account of an agent, and the variables of its sessions: of ``own``, the runner's, and of ``environment``.

    The families that ``own`` names are the only ones; else a switch decides, then a key. ``asked``: the only way that
    may be used; variables of other ways are then left out of ``own``, too. ``several``: the agent uses several
    services, so that it gets all families of a way. Of a family that ``own`` turns on, nothing is missing if ``own``
    has other variables of the cloud, such as the name of a profile.
    """
    families, merged = tuple(families), {name: environment[name] for name in environment} | dict(own)
    ways = {asked} if asked else {one.way for one in families if one.is_used(own)} or {"key", "cloud"}
    allowed = [one for one in families if one.way in ways]
    if asked:
        others = {name for one in families if one not in allowed for name in one.variables}
        own = {name: own[name] for name in own if name not in others.difference(*(one.variables for one in allowed))}
    if not several:
        allowed = [one for one in allowed if one.is_used(own)] or allowed
    chosen: list[Family] = []
    problem = None
    for family in allowed:
        if not family.is_used(merged) or (chosen and not several):
            continue
        elsewhere = any(name.startswith(_OF_CLOUDS) and name not in family.variables for name in own)
        lacking = None if family.is_used(own) and elsewhere else family.missing(merged)
        if lacking and family.switch:
            return Account(asked=asked, problem=lacking), dict(own)
        problem = problem or lacking
        chosen += [] if lacking else [family]
    env = {name: value for family in chosen for name, value in family.passed(environment, own)} | dict(own)
    if not chosen:
        return Account(asked=asked, problem=problem), env
    left_out = {name for one in families if one.is_used(merged) for name in one.secrets if _is_set(name, merged)}
    return Account(
        asked=asked,
        way=chosen[0].way,
        family="+".join(family.name for family in chosen),
        billing=chosen[0].billing,
        left_out=tuple(sorted(left_out - env.keys())),
        files=tuple(name for family in chosen for name in family.files if env.get(name)),
    ), env


def _is_set(name: str, environment: Mapping[str, str]) -> bool:
    return name in environment and bool(environment[name])
