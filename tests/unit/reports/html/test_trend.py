"""The trend page: what it says, that names of others are only text in it, and how large it is."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from html_runs import ATTACK
from skillgym_action.history.trend import MAX_TREND_EXECUTIONS, TrendQuery, read_trend
from skillgym_action.model.result import Quarantine
from skillgym_action.reports.html.trend import MAX_TREND_NAME_CHARACTERS, render
from skillgym_action.reports.wording.trend import trend_summary
from skillgym_action.results.statistics.trends import MAX_TREND_LINE_POINTS, trend_of
from stored_runs import GivenLines
from trend_stores import FIRST, StoredRun, project_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from skillgym_action.model.trend import Trend

LATER = FIRST + timedelta(days=10_000)
BIDI = "\u202eevil\u2066"


def trend(*runs: StoredRun) -> Trend:
    return trend_of(read_trend(GivenLines(*(run.line for run in reversed(runs))), TrendQuery(now=LATER)))


def page(*runs: StoredRun) -> str:
    return render(trend(*runs), made="Made today.")


def run(number: int, sessions: str = "ppp", case: str = "a", **head: Any) -> StoredRun:
    """A run with one case; ``head``: fields of the run."""
    found = StoredRun(number=number, at=FIRST + timedelta(days=number), suites={"s.json": "1"}, head=head)
    found.add("s.json", case, sessions, usd=0.1, model="sonnet")
    return found


class Elements(HTMLParser):
    """All elements with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def links(self) -> list[str]:
        return [address for tag, own in self.found if tag == "a" and (address := own.get("href"))]


def words(elements: Elements) -> str:
    return " ".join(elements.text.split())


# --- what it says -------------------------------------------------------------------------------------


def test_a_page_has_overview_suites_cases_and_runs():
    elements = Elements(page(*project_runs()))
    text = words(elements)
    for part in (
        "77 runs of main, 2026-01-05 to 2026-03-29. Made today.",
        "links-the-pull-request codex",
        "CLI version: 2.1.197 → 2.1.202; model: claude-sonnet-4-6 → claude-sonnet-5",
        "suite file: ",
        "prompt of 1 case changed",
        "expected to fail",
        "This is no test",
        "27 older runs left out.",
    ):
        assert part in text, part
    assert sum(tag == "svg" for tag, _ in elements.found) == 1 + 2 + 4 + 16, "cost, runners, suites, cases"


def test_few_sessions_are_an_interval_and_not_100_percent():
    text = words(Elements(page(run(1))))
    assert "3 of 3 [44, 100]" in text
    assert "100% [" not in text


def test_a_mark_has_a_line_in_the_chart_and_a_sentence_below_it():
    after = run(2)
    after.rows[0]["model"] = "opus"
    text = page(run(1), after)
    assert text.count('class="change"') == 3, "cost, all cases, the case"
    assert "model: sonnet → opus" in words(Elements(text))
    assert 'class="change"' not in page(run(1), run(2))


def test_nothing_is_drawn_between_points_and_what_was_not_run_is_a_gap():
    text = page(run(1), run(5), run(20))
    (chart,) = re.findall(r'<svg[^>]*aria-label="a on claude, s.json.*?</svg>', text)
    places = [float(x) for x in re.findall(r'<circle class="point" cx="([\d.]+)"', chart)]
    assert len(places) == 3
    assert (places[1] - places[0]) / (places[2] - places[0]) == pytest.approx(4 / 19, abs=0.01)
    (interval,) = re.findall(r'class="interval" d="([^"]+)"', chart)
    assert re.fullmatch(r"(?:M[\d.]+ [\d.]+V[\d.]+){3}", interval), "vertical lines alone"


def test_cases_in_quarantine_are_marked():
    found = trend(run(1))
    until = Quarantine(reason=f"slow {ATTACK}", owner="@ada", expires="2026-12-15")
    execution = replace(found.executions[0], series=replace(found.executions[0].series, quarantine=until))
    elements = Elements(render(replace(found, executions=(execution,)), made=""))
    assert "in quarantine until 2026-12-15: slow </script>" in words(elements)


def test_what_is_left_out_is_said():
    found = trend(run(1))
    cut = replace(found.history, older=True, executions_left_out=7, other_branches=2)
    text = words(Elements(render(replace(found, history=cut), made="")))
    assert "The newest run is shown; the store has older ones." in text
    assert "Left out: 7 more executions (a case on a runner) of older runs." in text
    assert "Left out: 2 runs of other branches." in text


def test_the_summary_has_two_lines():
    assert trend_summary(trend(*project_runs())) == (
        "77 runs of main, 2026-01-05 to 2026-03-29: 8 cases on 2 runners",
        (
            "largest difference: links-the-pull-request on claude, 75 of 114 [57, 74] → 105 of 117 [83, 94];"
            " 2 changes of model, CLI, suite or judge"
        ),
    )
    assert trend_summary(trend(run(1), run(2)))[1].startswith("no case differs between the earlier and the later half")


# --- links --------------------------------------------------------------------------------------------


def test_points_link_to_their_run_and_commit():
    links = Elements(page(run(7))).links()
    assert "https://github.com/octo/skills/actions/runs/7" in links
    assert any(re.fullmatch(r"https://github\.com/octo/skills/commit/[0-9a-f]{40}", link) for link in links)


@pytest.mark.parametrize(
    ("link", "leads"),
    [
        pytest.param("https://ci.example/job/7", ["https://ci.example/job/7"], id="another service has no commit"),
        pytest.param(f"https://ci.example/{'x' * 500}", [], id="too long"),
        pytest.param(None, [], id="none"),
    ],
)
def test_other_links_lead_to_the_web_or_nowhere(link, leads):
    given = run(1) if link is None else run(1, link=link)
    text = page(
        StoredRun(number=1, at=FIRST, suites=given.suites, rows=given.rows, head={"link": link})
        if link is None
        else given
    )
    assert sorted({address for address in Elements(text).links() if not address.startswith("#")}) == leads


# --- hostile names ------------------------------------------------------------------------------------


def hostile_runs() -> Iterable[StoredRun]:
    names = (ATTACK, BIDI, "\x1b[31mred\x07", "x" * 4_000, "", "'\"><!-- policy -->", "<b>&amp;</b>")
    for number in (1, 2):
        found = StoredRun(
            number=number,
            at=FIRST + timedelta(days=number),
            suites={f"dir/{ATTACK}.json".replace("/", "_"): str(number)},
            runners=(f"runner {ATTACK}",),
            agents=("claude-code",),
            head={"judge": f"judge {number} {ATTACK}", "branch": f"main {ATTACK}"},
        )
        for name in names:
            suite, runner = next(iter(found.suites)), found.runners[0]
            model, version = f"model {number} {name}", f"{number} {ATTACK}"
            found.add(suite, name, "p" * number, runner=runner, model=model, version=version)
        yield found


def test_names_of_others_are_only_text():
    plain, text = page(run(1), run(2)), page(*hostile_runs())
    elements = Elements(text)
    known = {tag for tag, _ in Elements(plain).found} | {"li", "ol"}
    assert {tag for tag, _ in elements.found} - known == set()
    allowed = {name for _, own in Elements(plain).found for name in own} | {"value"}
    assert {name for _, own in elements.found for name in own} - allowed == set()
    assert not any(name.startswith("on") for _, own in elements.found for name in own)
    assert all(link.startswith(("#", "https://github.com/octo/")) for link in elements.links())
    assert not set(text) & {"\u202e", "\u2066", "\x1b", "\x07"}
    assert "x" * (MAX_TREND_NAME_CHARACTERS + 1) not in text
    assert "(no name)" in words(elements)


def test_the_page_has_no_script_and_a_policy_that_allows_its_style_alone():
    text = page(*hostile_runs())
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    expected = b64encode(sha256(style.encode()).digest()).decode()
    (rules,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert f"style-src 'sha256-{expected}'" in rules
    assert "default-src 'none'" in rules
    assert "script-src 'none'" in rules
    assert "<script" not in text
    assert " style=" not in text


# --- size ---------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cases", "runs"),
    [
        pytest.param(100, MAX_TREND_LINE_POINTS, id="long charts"),
        pytest.param(MAX_TREND_EXECUTIONS, 40, id="many cases"),
    ],
)
def test_a_page_of_any_store_stays_below_5_mb(cases, runs):
    every = []
    for number in range(runs):
        found = StoredRun(
            number=10_000_000_000 + number, at=FIRST + timedelta(days=number), suites={"bench/core.json": "1"}
        )
        for case in range(cases):
            model = f"claude-sonnet-4-6-2026{number // 3:04}"  # 20 marks
            found.add("bench/core.json", f"a-case-with-a-name-{case}", "ppf", usd=0.1234, model=model)
        every.append(found)
    text = page(*every)
    assert len(text.encode()) < 5_000_000
    assert text.count('<circle class="point"') > 5_000
