"""What runs will cost by the store, before they start; and runs that ``max-cost`` would not pay for."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from action_step import step
from bench_runs import event
from scratch import PASSING, case, config, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

FOUR = tuple(map(case, "abcd"))
PRICES = (0.25, 0.27, 0.23, 0.26)
"""What a session costs in the first run, in the second one, and so on."""


class Priced:
    """A repository whose sessions cost what a file beside it says, with a store and three stored runs."""

    def __init__(self, folder: Path, **run: Any) -> None:
        self.root, self.store = folder / "repo", f"path={folder / 'store'}"
        self.price, self.started = folder / "price", folder / "started"
        self.root.mkdir()
        cost = event(type="session", cost={"usd": 0.125}).replace("0.125", "'$(cat " + str(self.price) + ")'")
        self.script = f"echo x >>{self.started}; {cost}; {PASSING}"
        files = {
            "bench/core.json": suite(*FOUR),
            "skillgym.config.yaml": config(runner(self.script, output="events"), run=run),
            ".gitignore": ".skillgym-results\nout*\n",
        }
        repository(self.root, files, git=True)
        for price in PRICES[:3]:
            self.run("--store-write", price=price)
        self.started.unlink()

    def run(self, *args: str, price: float = PRICES[3]) -> Ran:
        self.price.write_text(str(price))
        return skillgym("run", "--store", self.store, *args, cwd=self.root)

    @property
    def sessions(self) -> int:
        """How many have started since the stored runs."""
        return len(self.started.read_text().splitlines()) if self.started.exists() else 0

    def totals(self, output: str) -> dict[str, Any]:
        file: dict[str, Any] = json.loads((self.root / output / "results.json").read_text(encoding="utf-8"))
        return file["totals"]

    def forecast(self, *args: str) -> dict[str, Any]:
        ran = skillgym("list", "--store", self.store, "--cost", "--json", *args, cwd=self.root)
        assert ran.code == 0, ran.err
        found: dict[str, Any] = json.loads(ran.out)
        return found


@pytest.fixture
def priced(tmp_path):
    return Priced(tmp_path)


def test_the_next_run_costs_what_the_forecast_says(priced):
    found = priced.forecast("--repeat", "2")
    cost = found["forecast"]["costUsd"]
    assert cost["total"] == pytest.approx(8 * 0.25)
    assert (cost["unknown"], cost["interval"]["level"], cost["interval"]["storedRuns"]) == (0, 0.95, 3)
    assert [row["expected"]["costUsd"] for row in found["executions"]] == [pytest.approx(0.5)] * 4
    dry = priced.run("--repeat", "2", "--dry-run")
    assert "cost: about $2.00 (95%: $1.34 to $2.97, from 3 stored runs)" in dry.out
    assert "time of the agents: about " in dry.out
    assert priced.sessions == 0
    assert priced.run("--repeat", "2", "--output", "out").code == 0
    assert priced.totals("out")["costUsd"] == pytest.approx(8 * PRICES[3])
    assert cost["interval"]["low"] < 8 * PRICES[3] < cost["interval"]["high"]


def test_a_run_beyond_max_cost_starts_no_session(priced):
    refused = priced.run("--repeat", "2", "--max-cost", "1", "--output", "out")
    assert refused.code == 2
    assert "cost more than the max-cost of $1.00, according to the runs in the store" in refused.err
    assert (
        "no session was started; raise max-cost, lower repeat, select fewer cases, or set allow-partial" in refused.err
    )
    assert (priced.sessions, (priced.root / "out" / "journal.jsonl").exists()) == (0, False)
    dry = priced.run("--repeat", "2", "--max-cost", "1", "--dry-run")
    assert (dry.code, "cost more than the max-cost of $1.00" in dry.err) == (2, True)
    part = priced.run("--repeat", "2", "--max-cost", "1", "--output", "out", "--allow-partial")
    assert "note: the run will probably reach the max-cost of $1.00 before its plan is done" in part.err
    assert (priced.sessions, priced.totals("out")["skipped"]) == (4, 2)
    half = priced.run("--repeat", "2", "--max-cost", "2.2", "--output", "out-half", "--shard", "1/2")
    assert (half.code, priced.totals("out-half")["skipped"]) == (0, 0), half.err


def test_the_action_refuses_it_and_an_input_allows_it(priced):
    priced.price.write_text("0.25")
    shutil.copytree(priced.root.parent / "store", priced.root / "store")
    inputs = {"mode": "run", "store": "path=store", "max-cost": "0.5", "report-dir": "out"}
    refused = step(priced.root, None, inputs, event=("push", {"ref": "refs/heads/main"}))
    assert (refused.code, refused.outputs["verdict"], priced.sessions) == (2, "error", 0), refused.said
    assert "the run is expected to cost more than the max-cost of $0.50" in refused.said
    assert "the run is expected to cost more than the max-cost of" in refused.summary
    part = step(priced.root, None, inputs | {"allow-partial": "true"}, event=("push", {"ref": "refs/heads/main"}))
    assert (part.outputs["skipped"], priced.sessions) == ("2", 2), part.said


def test_the_configuration_may_allow_partial_runs(tmp_path):
    priced = Priced(tmp_path, allowPartial=True, maxCost=0.5)
    ran = priced.run("--output", "out")
    assert ("will probably reach the max-cost of $0.50" in ran.err, priced.sessions) == (True, 2), ran.err


def test_a_case_that_no_run_has_is_unknown(priced):
    written(priced.root, {"bench/core.json": suite(*FOUR, case("new"))})
    dry = priced.run("--dry-run")
    assert dry.code == 0, dry.err
    assert "cost: at least about $1.00 (95%: " in dry.out
    assert "1 of 5 executions has no stored cost: new [sh]" in dry.out
    table = skillgym("list", "--store", priced.store, "--cost", cwd=priced.root).out.splitlines()
    assert [line.split() for line in (table[0], table[5])] == [
        ["suite", "case", "runner", "model", "tags", "sessions", "cost", "time"],
        ["bench/core.json", "new", "sh", "1", "unknown", "unknown"],
    ]


def test_a_forged_store_says_nothing_about_costs_and_stops_no_run(priced):
    folder = priced.root.parent / "store"
    file = max(folder.rglob("*.jsonl"), key=lambda one: one.stat().st_mtime_ns)
    file.write_text(file.read_text().replace('"usd":0.23', '"usd":1e308'))
    dry = priced.run("--dry-run", "--max-cost", "0.01")
    assert (dry.code, "cost and time: unknown, since the store cannot be used" in dry.out) == (0, True), dry.err
    assert "entries.0.usd" in dry.err
    ran = priced.run("--max-cost", "0.5", "--output", "out")
    assert priced.totals("out")["executions"] == 4, ran.err
    assert priced.sessions == 2, "max-cost itself still ends the run"
    listed = skillgym("list", "--store", priced.store, "--cost", cwd=priced.root)
    assert (listed.code, "cost and time: unknown, since the store cannot be used" in listed.out) == (0, True)


def test_what_a_resumed_run_has_done_costs_nothing_more(priced):
    part = priced.run("--max-cost", "0.5", "--output", "out", "--allow-partial")
    assert priced.sessions == 2, part.err
    refused = priced.run("--max-cost", "0.7", "--resume", "out")
    assert (refused.code, priced.sessions) == (2, 2), refused.err
    assert "the max-cost of $0.70, of which $0.52 is spent, according to the runs in the store" in refused.err
    assert priced.run("--max-cost", "1.2", "--resume", "out").code == 0
    assert (priced.sessions, priced.totals("out")["passed"]) == (4, 4)


def test_a_store_with_a_baseline_that_is_a_path_is_read_for_costs(priced):
    priced.run("--output", "out")
    dry = priced.run("--dry-run", "--baseline", "out")
    assert dry.code == 0, dry.err
    assert "cost: about $1.00 (95%: " in dry.out


def test_without_a_store_it_is_said_how_to_get_one(tmp_path):
    root = repository(tmp_path)
    dry = skillgym("run", "--dry-run", cwd=root)
    assert "cost and time: unknown without a store of earlier runs; name one with --store" in dry.out
    listed = skillgym("list", "--cost", cwd=root)
    assert (listed.code, "--cost without a store: nothing is known of earlier runs" in listed.err) == (2, True)
    both = skillgym("list", "--cost", "--matrix", "2", cwd=root)
    assert (both.code, "--matrix with --cost" in both.err) == (2, True)
