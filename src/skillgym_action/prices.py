"""What tokens cost, by the price table that comes with genai-prices; nothing is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skillgym_action.session_report import Usage


def cost_usd(model: str, usage: Usage) -> float | None:
    """US dollars; None when the model or the tokens are not known.

    ``model`` may name its provider (``openai/gpt-5``). Input written to a cache is priced as plain input: a slight
    underestimate.
    """
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
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
