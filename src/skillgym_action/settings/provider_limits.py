"""How many sessions use one provider at the same time: ``limits`` of the configuration, and ``--limit``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from skillgym_action.agents.output.providers import provider_ids
from skillgym_action.model.errors import did_you_mean
from skillgym_action.text.documents.json_schemas import MadeSchema, words
from skillgym_action.text.documents.option_values import PositiveInt  # noqa: TC001 - pydantic reads annotations

if TYPE_CHECKING:
    from collections.abc import Mapping

_LIMIT = re.compile(r"([^=]+)=([1-9]\d{0,5})")


class ProviderSection(BaseModel):
    """``limits.<provider>``."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    sessions: PositiveInt
    """Maximum number of sessions that use the provider at the same time."""


def _known_provider(name: str) -> str:
    if name not in provider_ids():
        raise ValueError(f"unknown provider {name!r}; {did_you_mean(name, provider_ids())}")
    return name


def _provider_limits(value: object) -> object:
    """``PROVIDER=N`` items as (provider, sessions) pairs."""
    pairs = []
    for item in value if isinstance(value, list | tuple) else str(value).split():
        match = _LIMIT.fullmatch(str(item).strip())
        if match is None:
            raise ValueError(f"{item!r} is not PROVIDER=N, such as anthropic=40")
        pairs.append((_known_provider(match[1].strip().lower()), int(match[2])))
    return tuple(pairs)


ProviderName = Annotated[str, AfterValidator(_known_provider), MadeSchema(lambda: words(sorted(provider_ids())))]
ProviderLimitPairs = Annotated[
    tuple[tuple[str, int], ...], BeforeValidator(_provider_limits), WithJsonSchema({"type": "array"})
]
"""Providers with the number of sessions that may use each of them at the same time."""


def provider_limits(pairs: ProviderLimitPairs, sections: Mapping[str, ProviderSection]) -> dict[str, int]:
    """Sessions at once by provider: the option, provider by provider, else the configuration."""
    return {name: section.sessions for name, section in sections.items()} | dict(pairs)
