"""The documentation site in Chromium: axe-core, small screens, the search; nothing is requested of other servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import Browser, chromium
from built_site import built, served

if TYPE_CHECKING:
    from collections.abc import Iterator

# One page of each kind: those with wide tables, code blocks, pictures, and the one for addresses that are wrong.
PAGES = (
    "index.html", "tutorial.html", "how-to/own-agent.html", "reference/agents.html", "reference/mistakes.html",
    "explanation/statistics.html", "adr/0001-the-action-is-the-command-line.html", "404.html",
)  # fmt: skip
SCREENS = {
    "light": {"colorScheme": "light"},
    "dark": {"colorScheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}
# The search shows ten sections: each page here has several with its words, or is the only one that has them all.
SEARCHES = {
    "max-cost": "how-to/control-costs.html",
    "quarantine": "how-to/flaky-cases.html",
    "expectedFail": "reference/typescript-suites.html",
    "x-bench expectedFail": "reference/x-bench.html",
    "reference solution": "reference/harbor.html",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[str]:
    with served(built(tmp_path_factory.mktemp("site"))) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_and_the_page_fits_the_screen(browser, site, page, screen):
    browser.visit(site, page, **SCREENS[screen])
    assert browser.axe() == []
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert browser.seen() == {"requests": [], "blocked": [], "errors": [], "dialogs": []}


@pytest.mark.parametrize("words", SEARCHES)
def test_the_search_finds_pages_without_another_server(browser, site, words):
    browser.visit(site, "index.html")
    browser.wait("[role=combobox]", "attached")  # by the script that also knows the key
    browser.press("Control+k")
    browser.wait("[role=combobox]")
    browser.call("fill", "[role=combobox]", words)
    browser.wait(f"a[role=option][href*='{SEARCHES[words]}']")
    assert browser.seen()["requests"] == []
