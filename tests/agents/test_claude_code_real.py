"""What only Claude Code has, of the pinned CLI against a scripted model; the rest is in ``test_agents_real.py``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent_desk import Desk
from model_script import Fail, Read, Say, Write
from model_server import ModelServer
from skillgym_action.model.session_report import Trouble, Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def desk(tmp_path: Path, models: ModelServer) -> Desk:
    return Desk("claude-code", tmp_path, models)


def test_tokens_and_cost(desk):
    report, _ = desk.scenario("shell")
    assert report.usage == Usage(
        input_tokens=2641,
        output_tokens=84,
        cache_tokens=600,
        total_tokens=2125,
        input_chars=19,
        output_chars=14,
    )
    assert report.cost.source == "reported"
    assert report.cost.usd == pytest.approx(0.010004)


def test_a_file_that_is_not_there_was_not_read(desk):
    base_url = desk.models.script(Read("notes.md"), Read("gone.md"), Write("a/made.txt", "made\n"), Say("ok"))
    report, _ = desk.report(desk.session(base_url))
    files = [(event.type, event.path) for event in report.events if event.type in {"fileRead", "fileWrite"}]
    assert files == [("fileRead", f"{desk.workspace}/notes.md"), ("fileWrite", f"{desk.workspace}/a/made.txt")]
    assert (desk.workspace / "a" / "made.txt").read_text() == "made\n"


def test_a_skill_that_was_only_read_is_less_sure(desk):
    report, _ = desk.scenario("skill-read")
    assert [(found.skill, found.confidence) for found in report.detected_skills] == [("greeter", "strong")]


@pytest.mark.parametrize(("scenario", "words"), [("404", "selected model"), ("500", "500"), ("cut", "ECONNRESET")])
def test_the_cli_s_own_words_are_told(desk, scenario, words):
    report, trouble = desk.scenario(scenario)
    assert trouble is not None
    assert words in trouble.message
    assert report.exit_code == 1


def test_a_rate_limit_that_stays_tells_when_to_come_back(desk):
    _, trouble = desk.report(desk.session(desk.models.script(Fail(429))))
    assert trouble is not None
    assert trouble.kind == "rate-limit"
    assert trouble.retry_after is not None
    assert trouble.retry_after >= 1.0


def test_the_cli_keeps_the_budget(desk):
    _, trouble = desk.scenario("loop", budget=0.02)
    assert trouble == Trouble(kind="budget-exceeded", message="Reached maximum budget ($0.02)")
