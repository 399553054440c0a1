"""The cost of tokens, by the user's prices or the table in the package genai-prices. Nothing is downloaded."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.model.session_report import Price, Usage

MILLION = 1_000_000
NO_PRICES: Mapping[str, Price] = MappingProxyType({})


def cost_usd(model: str, usage: Usage, user_prices: Mapping[str, Price] = NO_PRICES) -> float | None:
    """Return US dollars; None when the model or the tokens are not known.

    ``model`` may name its provider (``openai/gpt-5``); ``user_prices``: by model. Input written to a cache
    is priced as plain input, which is slightly too low.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    if price := price_of(model, user_prices):
        cached = min(usage.cache_tokens or 0, usage.input_tokens)
        fresh, written = usage.input_tokens - cached, usage.output_tokens + (usage.reasoning_tokens or 0)
        of_cached = price.input if price.cached is None else price.cached
        return (fresh * price.input + cached * of_cached + written * price.output) / MILLION
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    tokens = Tokens(
        input_tokens=usage.input_tokens,
        cache_read_tokens=min(usage.cache_tokens or 0, usage.input_tokens),
        output_tokens=usage.output_tokens + (usage.reasoning_tokens or 0),
    )
    provider, _, name = model.rpartition("/")
    for reference in ({"model_ref": model}, {"model_ref": name, "provider_id": provider or None}):
        try:
            return float(calc_price(tokens, **reference).total_price)
        except (LookupError, ValueError):
            continue
    return None


def price_of(model: str, user_prices: Mapping[str, Price]) -> Price | None:
    """Return the user's price for the model, named with its provider or without."""
    return user_prices.get(model) or user_prices.get(model.rpartition("/")[2])
