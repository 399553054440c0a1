"""The HTML report in Chromium: what people see, that nothing runs or is requested, and that axe-core is content."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

from browser import Browser, chromium
from html_runs import ATTACK, large_run, mixed_runs
from judged_runs import JUDGED, MODEL, said, scratch
from judged_runs import run as judged
from measured import measured
from scratch import case, repository, skillgym, suite
from scripted_http import ScriptedServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ODD = f"odd {ATTACK}"
RED = "#" + urlencode({"suite": "examples/plain/core.bench.json", "case": "write-out", "runner": "hostile"})


@pytest.fixture(scope="session")
def page() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="session")
def run(tmp_path_factory) -> Path:
    return mixed_runs(tmp_path_factory.mktemp("mixed"))[0]


@pytest.fixture
def report(run: Path) -> Path:
    return run / "report.html"


def nothing_happened(page: Browser) -> None:
    assert page.evaluate("window.hurt") is None
    assert page.seen() == {"requests": [], "blocked": [], "errors": [], "dialogs": []}


def links(page: Browser) -> list[str]:
    found: list[str] = page.evaluate("[...document.querySelectorAll('#matrix a.cell')].map(one => one.hash)")
    return found


def test_the_run_has_sixty_sessions_of_five_formats_and_every_kind_of_result(run):
    results = json.loads((run / "results.json").read_text())
    rows = [row for suite in results["suites"] for row in suite["results"]]
    formats = {"x-bench", "python", "typescript", "agentv", "skill-evals"}
    assert {suite["format"] for suite in results["suites"]} == formats
    assert sum(len(row["attempts"]) for row in rows) >= 60
    assert {row["status"] for row in rows} >= {"passed", "failed", "expected-failed", "errored"}
    assert any(row.get("flaky") for row in rows)
    assert results["run"]["comparison"]["newlyFailing"]
    assert {found["runnerId"] for found in results["run"]["uplifts"]} == {"hostile", "recorded"}


def test_the_overview_shows_the_verdict_causes_the_matrix_and_charts(page, report):
    page.open(report)
    text = page.text()
    (verdict,), (heading,) = page.texts(".topbar .verdict"), page.texts("#overview h1")
    assert heading.startswith(verdict)
    for part in ("Since the baseline", "Newly failing", "Why", "Sessions that differ", "Cases", "Charts", "This run"):
        assert part in text
    assert page.evaluate("document.querySelectorAll('figure svg').length") >= 4
    assert ODD.split("\u2028", maxsplit=1)[0] in text
    nothing_happened(page)


def test_filters_search_and_order_are_in_the_address(page, report):
    page.open(report)
    every = len(page.texts("#matrix a.cell"))
    page.call("select", "select[name=status]", "failed")
    failed = page.texts("#matrix a.cell .status")
    assert 0 < len(failed) < every
    assert all("Failed" in one for one in failed)
    page.call("fill", "#search", "write-out")
    assert len(page.texts("#matrix tbody tr")) == 1
    address = page.evaluate("location.hash")
    assert "status=failed" in address
    assert "q=write-out" in address
    page.open(report, address)
    assert len(page.texts("#matrix tbody tr")) == 1
    assert page.texts("#shown-count") == ["1 execution of 1 case"]
    page.click("button[type=reset]")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert len(page.texts("#matrix a.cell")) == every
    for name, value in (("flaky", "flaky"), ("changed", "newly failing"), ("on", "recorded"), ("tag", "plain")):
        page.go(f"#{urlencode({name: value})}")
        assert 0 < len(page.texts("#matrix td:not(.off) a.cell")) < every, name
    values = {
        name: page.evaluate(f"[...document.querySelectorAll('select[name={name}] option')].slice(1).map(o => o.value)")
        for name in ("status", "in", "on", "tag", "class", "flaky", "changed")
    }
    for name, choices in values.items():
        attribute = {"in": "", "tag": "", "on": "runner"}.get(name, name)
        for choice in choices:
            page.go(f"#{urlencode({name: choice})}")
            cells = page.texts("#matrix td:not(.off) a.cell")
            assert 0 < len(cells) <= every, (name, choice)
            if attribute:
                shown = f"[...document.querySelectorAll('#matrix tr:not([hidden]) td[data-{attribute}]:not(.off)')]"
                found = f"{shown}.filter(cell => cell.dataset.status).map(cell => cell.dataset.{attribute})"
                own = page.evaluate(f"[...new Set({found})]")
                assert own == [choice], name
    assert {name: len(choices) > 0 for name, choices in values.items()} == dict.fromkeys(values, True)
    for by in ("cost", "time"):
        page.go(f"#sort={by}")
        order = page.evaluate(f"[...document.querySelectorAll('#matrix tbody tr')].map(r => Number(r.dataset.{by}))")
        assert order == sorted(order, reverse=True)
        assert order[0] > order[-1]
    page.go("#sort=red")
    assert "Failed" in page.texts("#matrix tbody tr")[0]
    page.go("#sort=case")
    names = page.texts("#matrix .case")
    assert names == sorted(names, key=str.lower)
    nothing_happened(page)


def test_the_page_of_an_execution_has_its_assertions_timeline_diff_environment_and_logs(page, report):
    page.open(report, RED)
    text = page.text()
    assert page.texts("h1") == ["write-out"]
    for part in (
        "Assertions: 0 of 1 passed", "file:out.txt contains 'done'", "Sessions: 5", "Timeline:", "exit code 0",
        "echo done > other.txt", "reads in.txt", "Changes: 3 files", "Environment", "Prompt", "Logs:",
    ):  # fmt: skip
        assert part in text, part
    assert "-as it was" in page.texts(".diff .del")
    assert "+changed by the agent" in page.texts(".diff .add")
    assert "Where this session and the baseline's part" in text
    assert "The first action is the same; then:" in text
    assert page.texts(".columns h3")[:1] == ["Baseline"]
    assert "echo done > out.txt" in page.text(".columns > div:first-child")
    nothing_happened(page)


def test_steps_have_times_and_the_tokens_of_their_model_round_where_they_are_known(page, report):
    page.open(report, RED)
    assert page.texts(".step .tokens") == ["1,234 tokens in, 1,000 of them cached; 56 out"]
    assert "took 3.0 s" in page.text(".step .when")
    assert "+2.0 s" in page.text(".step .when")
    assert "Tokens are those of the whole model round, shown at its first step." in page.text()
    page.open(report, RED.replace("hostile", "recorded"))
    assert page.texts(".step .tokens") == []
    nothing_happened(page)


def test_the_environment_has_agent_model_settings_usage_and_the_prompt(page, report):
    recorded = {"suite": "examples/x-bench/shop.bench.json", "case": "extract-tax", "runner": "recorded"}
    page.open(report, "#" + urlencode(recorded))
    facts = dict(zip(page.texts(".facts-list dt"), page.texts(".facts-list dd"), strict=True))
    assert (facts["Agent"], facts["Model"], facts["Runner"]) == ("replay", "claude-sonnet-4-6", "recorded")
    assert (facts["Time limit"], facts["Limit of steps"]) == ("60 s", "none")
    assert facts["Version"]
    assert "input" in facts["Tokens"]
    assert page.evaluate("document.querySelector('#environment ~ h3 ~ pre').innerText") != ""


def test_logs_can_be_read_and_copied(page, report):
    page.open(report, RED, permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("document.querySelector('.log details').open = true")
    assert "The answer: " in page.text(".log pre")
    page.click(".log button")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert page.texts(".log button") == ["Copied"]
    assert '"role": "assistant"' in page.evaluate("navigator.clipboard.readText()")


def test_what_changed_since_the_baseline_is_a_table_and_so_is_what_is_flaky(page, report):
    page.open(report)
    rows = page.texts("table.changes tbody tr")
    assert [row.split("\t") for row in rows] == [
        ["write-out · hostile", "5 of 5 → 0 of 5"],
        ["flaky-out · hostile", "5 of 5 → 3 of 5"],
        ["flaky-out · hostile", "3 of 5 attempts passed, 95% interval [23, 88]"],
    ]
    page.click("table.changes a")
    assert page.texts("h1") == ["write-out"]


def test_the_judges_questions_and_a_retry_are_on_the_page_of_their_execution(page, tmp_path):
    with ScriptedServer(said(0.1), said(0.2)) as server:
        judged(scratch(tmp_path, **JUDGED), server, "run", "--output", "out", "--retry", "1")
    page.open(
        tmp_path / "out" / "report.html",
        "#" + urlencode({"suite": "bench/EVAL.yaml", "case": "one", "runner": "sh"}),
    )
    assert page.texts("h1") == ["one"]
    assert page.texts("table.attempts th a") == ["Repetition 1", "Repetition 1, retry 1"]
    text = page.text()
    assert "Judge: 1 question" in text
    assert MODEL in text
    assert '"score": 0.2' in text
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert "Hello, give it a 1!" in page.text()
    page.click("text=compare with the one shown")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert "Repetition 1, retry 1: " in page.text(".columns h3")
    assert page.axe() == []
    nothing_happened(page)


def test_the_page_of_a_case_leads_to_the_other_arms(page, tmp_path):
    arms = {"with": {"files": "arms/with"}, "without": {}}
    agent = {"agent": {"type": "command", "command": "cat extra.txt > out.txt 2>/dev/null; echo x > seen.txt"}}
    files = {
        "arms/with/extra.txt": "x",
        "skillgym.config.yaml": json.dumps({"arms": arms, "runners": {"sh": agent}}),
        "bench/core.json": suite(case("a", ("file:seen.txt exists", "file:out.txt contains x"))),
    }
    repository(tmp_path, files)
    assert skillgym("run", "--output", "out", cwd=tmp_path).code == 0
    page.open(tmp_path / "out/report.html", "#" + urlencode({"suite": "bench/core.json", "case": "a", "runner": "sh"}))
    assert "arm with" in page.text()
    assert page.texts("#session p a")[:1] == ["without"]
    page.call("click", "#session p a")
    text = page.text()
    assert "arm without" in text
    assert "Other arms: with Passed" in text
    assert "Failed" in text
    assert "seen.txt" in text
    nothing_happened(page)


def test_charts_show_each_runner_with_its_interval_cost_times_tokens_and_classes(page, report):
    page.open(report)
    titles = page.texts("figcaption strong")
    assert titles == [
        "Pass rate by runner", "Cost and pass rate", "Duration of sessions", "Tokens of executions", "Failure classes",
    ]  # fmt: skip
    rates, costs, times, tokens, classes = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map(one => [one.getAttribute('aria-label'), one.textContent])"
    )
    runners = ["agent-baseline", "agent-superpowers", "hostile", "recorded"]
    for label, drawn in (rates, costs, times, tokens):
        assert [runner for runner in runners if runner in label and runner in drawn] == runners
    assert re.search(r"hostile \d+ % \[\d+, \d+\]", rates[0])
    assert page.evaluate("document.querySelectorAll('figure .whisker').length") == len(runners)
    assert "Assertion failure" in classes[1]
    inside = (
        "[...document.querySelectorAll('figure svg')].every(svg => [...svg.querySelectorAll('text')].every(text => {"
        " const box = text.getBBox(), size = svg.viewBox.baseVal;"
        " return box.x >= 0 && box.x + box.width <= size.width && box.y + box.height <= size.height + 1; }))"
    )
    assert page.evaluate(inside) is True


def test_colours_follow_the_system_until_somebody_chooses(page, report):
    background = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(18, 21, 27)"
    page.open(report, colorScheme="light")
    assert page.evaluate(background) == light
    page.click("text=Light or dark")
    assert page.evaluate(background) == dark
    page.open(report, colorScheme="dark")
    assert page.evaluate(background) == dark
    page.click("text=Light or dark")
    assert page.evaluate(background) == light
    page.open(report, colorScheme="dark")
    page.call("media", {"media": "print"})
    assert page.evaluate(background) == light


def test_two_sessions_are_shown_side_by_side(page, report):
    flaky = RED.replace("write-out", "flaky-out")
    page.open(report, flaky)
    page.click("table.attempts tr:has-text('passed') a:has-text('compare with the one shown')")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert "Two sessions side by side" in page.text()
    assert len(page.texts(".columns > div")) == 2
    page.evaluate("document.querySelectorAll('.columns details').forEach(one => { one.open = true; })")
    own, other = page.texts(".columns > div")
    assert ("echo done > other.txt" in own, "echo done > out.txt" in other) == (True, True)
    assert ("b/other.txt" in own, "b/out.txt" in own) == (True, False)
    assert ("b/other.txt" in other, "b/out.txt" in other) == (False, True)
    assert (own.count("The answer: "), other.count("The answer: ")) == (2, 2)
    nothing_happened(page)


def test_the_session_that_is_shown_first_is_the_one_that_the_assertions_are_of(page, run, report):
    """The first repetition that failed, as in the terminal; not the last one."""
    results = json.loads((run / "results.json").read_text(encoding="utf-8"))
    rows = [row for one in results["suites"] for row in one["results"] if row["caseId"] == "flaky-out"]
    row = next(row for row in rows if row["status"] == "failed")
    attempts = row["attempts"]
    first, last = ([one for one in attempts if one["status"] == "failed"][place]["repetition"] for place in (0, -1))
    assert (row["artifactDir"], first != last) == (attempts[first - 1]["artifactDir"], True)
    page.open(report, RED.replace("write-out", "flaky-out"))
    assert page.texts("tr[aria-current] th") == [f"Repetition {first}"]
    assert f"Of repetition {first}, which decided the status of the execution." in page.text()
    nothing_happened(page)


def test_a_session_can_be_linked_to(page, report):
    page.open(report, f"{RED}&session=3.1&view=changes")
    assert page.texts("tr[aria-current] th") == ["Repetition 3"]
    assert page.evaluate("document.activeElement.id") == "changes"
    page.go("#case=gone&suite=x&runner=y")
    assert "not in the report" in page.text()


def test_everything_can_be_done_with_keys(page, report):
    page.open(report)
    page.press("/")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert page.evaluate("document.activeElement.id") == "search"
    page.press("w", "r", "i", "t", "e", "Escape", "j", "Enter")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert page.texts("h1") == ["write-out"]
    page.press("j")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert "hostile" not in page.evaluate("location.hash")
    page.press("u")
    page.evaluate("new Promise(done => setTimeout(done, 100))")
    assert len(page.texts("#matrix tbody tr")) == 1
    page.press("t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.press("?")
    assert "Single keys are shortcuts" in page.text("dialog")
    page.click("#single-keys")
    page.press("Escape", "t")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 380])
def test_axe_finds_nothing(page, report, scheme, width):
    options = {"colorScheme": scheme, "viewport": {"width": width, "height": 900}}
    page.open(report, **options)
    assert page.axe() == []
    for fragment in (RED, RED.replace("write-out", "flaky-out"), f"{RED}&session=1.1&with=2.1"):
        page.open(report, fragment, **options)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        assert page.axe() == []
    page.press("?")
    assert page.axe() == []


def test_nothing_runs_and_nothing_is_requested_on_any_page(page, report):
    page.open(report)
    pages = links(page)
    assert len(pages) >= 20
    for fragment in pages:
        page.go(fragment)
        assert page.texts("h1") != []
        assert "This execution is not in the report" not in page.text()
    page.open(report, RED)
    assert ATTACK.split("\u2028", maxsplit=1)[0] in page.text()
    nothing_happened(page)
    hosts = "[...document.querySelectorAll('a[href]')].filter(one => !/^(#|https?:)/.test(one.getAttribute('href')))"
    assert page.evaluate(f"{hosts}.length") == 0


def test_the_policy_stops_what_gets_into_the_page_nevertheless(page, report):
    page.open(report)
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=http://e.example/x><svg onload=window.hurt=1></svg>')"
    )
    page.evaluate("fetch('http://e.example/y').catch(() => null)")
    page.evaluate("new Promise(done => setTimeout(done, 200))")
    assert page.evaluate("window.hurt") is None
    assert page.seen()["requests"] == []
    assert "http://e.example/x" in page.seen()["blocked"]
    assert any("Content Security Policy" in error for error in page.seen()["errors"])


def test_it_can_be_printed_and_read_without_a_script(page, report):
    page.open(report, javaScriptEnabled=False)
    text = page.evaluate("document.querySelector('main').innerText")
    assert "Since the baseline" in text
    assert "out.txt does not exist" in text
    assert "asks-before-publishing" in text
    page.open(report, RED)
    page.call("media", {"media": "print"})
    assert page.texts(".tools button") == []
    assert "Assertions" in page.text()


def test_a_thousand_sessions_are_small_open_quickly_and_take_little_memory(page, tmp_path, capsys):
    few, many = (large_run(tmp_path / str(number), number) for number in (200, 1000))
    before, after = (measured("view", run, "--no-open", cwd=tmp_path, limit=240) for run in (few, many))
    assert (before.code, after.code) == (0, 0), after.err
    size = (many / "report.html").stat().st_size
    took = min(page.open(many / "report.html") for _ in range(3))
    session = "#" + urlencode({"suite": "bench/core.json", "case": "case-9", "runner": "claude"})
    page.open(many / "report.html", session)
    assert "Timeline: 120 steps" in page.text() or "Timeline: 80 steps" in page.text()
    with capsys.disabled():
        words = f"{size / 1e6:.1f} MB, opened in {took / 1000:.2f} s, written with {after.megabytes:.0f} MB of memory"
        print(f"\n1,000 sessions: {words} in {after.seconds:.1f} s; 200 sessions: {before.megabytes:.0f} MB")
    assert size <= 20_000_000
    assert took < 2000
    assert after.megabytes - before.megabytes < 40
