"""The trend page in Chromium: nothing runs or is requested, axe-core is content, and it fits small screens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from browser import Browser, chromium
from html_runs import ATTACK
from skillgym_action.history.path_store import path_store
from skillgym_action.history.trend import TrendQuery, read_trend
from skillgym_action.reports.html.trend import render
from skillgym_action.results.statistics.trends import trend_of
from trend_stores import FIRST, StoredRun, project_runs, stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def page_of(folder: Path, *runs: StoredRun) -> Path:
    store = path_store(stored(folder / "store", *runs), "results")
    trend = trend_of(read_trend(store, TrendQuery(now=FIRST + timedelta(days=1_000))))
    file = folder / "index.html"
    file.write_text(render(trend, made="Made today."))
    return file


@pytest.fixture(scope="session")
def page(tmp_path_factory) -> Path:
    return page_of(tmp_path_factory.mktemp("trend"), *project_runs())


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Path:
    runs = []
    for number in range(20):
        run = StoredRun(
            number=number,
            at=FIRST + timedelta(days=number),
            suites={f"suite {ATTACK}".replace("/", "_"): str(number // 5)},
            runners=(f"runner {ATTACK}",),
            agents=(f"agent {ATTACK}",),
            head={"branch": ATTACK, "judge": f"{number // 7} {ATTACK}"},
        )
        for name in (ATTACK, "\u202edrawkcab", "long " * 800, "\x1b[2J"):
            suite, model = next(iter(run.suites)), f"{number // 4} {ATTACK}"
            run.add(suite, name, "pf", runner=run.runners[0], model=model, version=ATTACK, usd=0.1)
        runs.append(run)
    return page_of(tmp_path_factory.mktemp("hostile"), *runs)


def nothing_happened(browser: Browser) -> None:
    assert browser.evaluate("window.hurt") is None
    assert browser.seen() == {"requests": [], "blocked": [], "errors": [], "dialogs": []}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["page", "hostile"])
def test_axe_finds_nothing_and_nothing_is_requested(browser, request, name, scheme):
    browser.open(request.getfixturevalue(name), colorScheme=scheme)
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.axe() == []
    nothing_happened(browser)


def test_all_numbers_are_there_without_a_script(browser, page):
    browser.open(page, javaScriptEnabled=False)
    text = browser.text()
    for part in ("Benchmark trend", "79%", "CLI version: 2.1.197 → 2.1.202", "Largest differences between the halves"):
        assert part in text
    assert len(browser.texts("svg")) == 1 + 2 + 4 + 16
    browser.click("#case-1 summary")
    assert len(browser.texts("#case-1 tbody tr")) > 10
    nothing_happened(browser)


def test_keys_alone_reach_a_case_and_its_table(browser, page):
    browser.open(page)
    browser.press("Tab")
    assert browser.evaluate("document.activeElement.innerText") == "Skip to the content"
    browser.click(".differences a")
    target = browser.evaluate("location.hash")
    assert browser.texts(f"{target} .case") == ["links-the-pull-request"]
    browser.evaluate(f"document.querySelector('{target} summary').focus()")
    browser.press("Enter")
    assert browser.texts(f"{target} tbody tr")
    nothing_happened(browser)


@pytest.mark.parametrize("name", ["page", "hostile"])
def test_a_small_screen_shows_all_of_the_page_in_its_width(browser, request, name):
    browser.open(request.getfixturevalue(name), viewport={"width": 360, "height": 740})
    browser.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") == 360
    assert browser.evaluate("Math.min(...[...document.querySelectorAll('svg')].map(one => one.clientWidth))") > 250


def test_texts_of_a_chart_are_inside_of_it(browser, page):
    browser.open(page)
    outside = """[...document.querySelectorAll("svg text")].filter(one => {
      const own = one.getBoundingClientRect(), chart = one.closest("svg").getBoundingClientRect();
      const fits = own.left > chart.left - 1 && own.right < chart.right + 1;
      return !(fits && own.top > chart.top - 1 && own.bottom < chart.bottom + 1);
    }).map(one => one.textContent)"""
    assert browser.evaluate(outside) == []
