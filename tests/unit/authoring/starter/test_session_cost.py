"""What a first session is said to cost, computed again from tokens that were counted and from the price table."""

from __future__ import annotations

import pytest
from genai_prices import Usage, calc_price

from paths import REPOSITORY
from skillgym_action.cli.commands.init import SESSION_COST

FIRST_REQUEST, SHARED = 12_500, 8_000  # tokens of Claude Code 2.1.332: all, and those other sessions have cached


def dollars(rounds: int, added: int, output: int, cached: int) -> float:
    """Each round reads the cache that the rounds before wrote, and writes what was added."""
    total = 0.0
    for number in range(rounds):
        read = cached if number == 0 else FIRST_REQUEST + added * (number - 1)
        written = FIRST_REQUEST + added * number - read
        tokens = Usage(
            input_tokens=read + written, cache_read_tokens=read, cache_write_tokens=written, output_tokens=output
        )
        total += float(calc_price(tokens, model_ref="claude-sonnet-4-6").total_price)
    return total


def test_the_expected_cost_of_a_session_follows_from_the_price_table():
    low, high = dollars(2, 400, 150, SHARED), dollars(5, 1_500, 300, 0)
    assert f"about {low * 100:.0f} to {high * 100:.0f} cents a session" == SESSION_COST
    assert dollars(15, 2_500, 500, 0) == pytest.approx(0.5, abs=0.15)


@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md"])
def test_documents_name_the_same_cost(document):
    assert SESSION_COST in (REPOSITORY / document).read_text()
