"""Which service a model belongs to, by the table in the package genai-prices. Nothing is downloaded."""

from __future__ import annotations

from functools import cache


@cache
def provider_ids() -> tuple[str, ...]:
    """The names of all providers of the table, such as ``anthropic``; sorted."""
    from genai_prices.data import providers

    return tuple(sorted(provider.id for provider in providers))


@cache
def provider_of_model(model: str) -> str | None:
    """The provider of a model, which may be named with it (``openai/gpt-5``); None: the table does not know it."""
    named, separator, _ = model.partition("/")
    if separator and named in provider_ids():
        return named
    return _provider(model_ref=model.rpartition("/")[2])


@cache
def provider_of_url(url: str) -> str | None:
    """The provider whose service has this address; None: the table does not know it, such as that of a gateway."""
    return _provider(provider_api_url=url)


def _provider(model_ref: str | None = None, provider_api_url: str | None = None) -> str | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        return str(get_snapshot().find_provider(model_ref, None, provider_api_url).id)
    except LookupError:
        return None
