"""Which provider an agent uses, and how many slots a provider has after rate limits and quiet minutes."""

from __future__ import annotations

import threading
from contextlib import closing, nullcontext

import pytest

from builders import runner_named, suite_at
from fakes_clock import FakeClock
from skillgym_action.agents import AGENTS
from skillgym_action.agents.output.providers import provider_ids
from skillgym_action.model.errors import Location
from skillgym_action.model.execution import Execution
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Trouble
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.sessions.run_limits import ProviderLimits, ProviderSlots, provider_of
from skillgym_action.system.cancellation import Cancellation
from waiting import until

ROUTER = "https://openrouter.ai/api/v1"
PLACE = Location(path="bench/core.json")

# --- which provider ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "model", "env", "provider"),
    [
        pytest.param("claude-code", None, {}, "anthropic", id="the agent's own"),
        pytest.param("codex", "gpt-5", {}, "openai", id="the agent's own, with a model"),
        pytest.param("copilot", "claude-sonnet-4-5", {}, "github-copilot", id="the agent's own, not the model's"),
        pytest.param("claude-code", None, {"ANTHROPIC_BASE_URL": ROUTER}, "openrouter", id="an address"),
        pytest.param(
            "claude-code", None, {"ANTHROPIC_BASE_URL": "http://gateway.example:8080"}, "anthropic", id="a gateway"
        ),
        pytest.param(
            "claude-code", None, {"ANTHROPIC_BASE_URL": "-"}, "anthropic", id="an address that only workers know"
        ),
        pytest.param("codex", None, {"ANTHROPIC_BASE_URL": ROUTER}, "openai", id="an address of another protocol"),
        pytest.param(
            "opencode", "openrouter/anthropic/claude-sonnet-4.5", {}, "openrouter", id="before the model's name"
        ),
        pytest.param("pi", "claude-sonnet-4-5", {}, "anthropic", id="the model's"),
        pytest.param("pi", None, {"GEMINI_API_KEY": "k"}, "google", id="the only key's"),
        pytest.param("pi", None, {"GEMINI_API_KEY": "k", "OPENAI_API_KEY": "k"}, None, id="one of two keys"),
        pytest.param("command", "gemini-2.5-pro", {}, "google", id="a program with a model"),
        pytest.param("command", None, {"ANTHROPIC_API_KEY": "k"}, "anthropic", id="a program with a key"),
        pytest.param("command", None, {}, None, id="a program"),
        pytest.param("command", "our-own", {"OPENAI_API_KEY": "k"}, "openai", id="a model of one's own"),
        pytest.param("replay", "claude-sonnet-4-5", {}, None, id="a recording"),
    ],
)
def test_the_provider_of_an_agent(agent, model, env, provider):
    assert provider_of(AgentConfig(type=agent, model=model, env=env), model) == provider


@pytest.mark.parametrize("agent", [name for name, info in AGENTS.items() if info.provider])
def test_agents_use_providers_that_limits_can_name(agent):
    assert AGENTS[agent].provider in provider_ids()


# --- how many slots --------------------------------------------------------------------------------


def started(slots: ProviderSlots, now: float) -> int:
    """How many more sessions may start."""
    before = slots.running
    while slots.is_free(now):
        slots.running += 1
    return slots.running - before


def test_so_many_sessions_start_as_there_are_slots():
    slots = ProviderSlots("anthropic", 3)
    assert started(slots, 0) == 3
    slots.running -= 2
    assert started(slots, 0) == 2


def test_a_rate_limit_halves_the_number():
    slots = ProviderSlots("anthropic", 16, running=16)
    assert slots.rate_limited(began=0, now=10, retry_after=None)
    assert (slots.number, slots.lowest, slots.rate_limits) == (8, 8, 1)
    slots.running = 0
    assert started(slots, 10) == 8


def test_sessions_that_ran_at_the_same_time_halve_it_once_together():
    slots = ProviderSlots("anthropic", 16, running=16)
    assert [slots.rate_limited(began=0, now=10 + n, retry_after=None) for n in range(3)] == [True, False, False]
    assert (slots.number, slots.rate_limits) == (8, 3)
    slots.running = 8
    assert slots.rate_limited(began=20, now=30, retry_after=None)
    assert slots.number == 4


def test_what_is_halved_is_what_runs():
    slots = ProviderSlots("anthropic", 64, running=6)
    slots.rate_limited(began=0, now=1, retry_after=None)
    assert slots.number == 3


def test_one_place_always_stays():
    slots = ProviderSlots("anthropic", 2, running=1)
    for n in range(5):
        slots.rate_limited(began=10 * n, now=10 * n + 5, retry_after=None)
    slots.running = 0
    assert (slots.number, started(slots, 50)) == (1, 1)


def test_nothing_starts_before_the_time_that_the_provider_asks_for():
    slots = ProviderSlots("anthropic", 4, running=1)
    slots.rate_limited(began=0, now=100, retry_after=30)
    slots.running = 0
    assert [started(slots, now) for now in (100, 129.9)] == [0, 0]
    assert started(slots, 130) == 1


def test_the_longest_wait_that_was_asked_for_counts_up_to_a_minute():
    slots = ProviderSlots("anthropic", 4, running=4)
    for after in (40, 5, 3600):
        slots.rate_limited(began=0, now=100, retry_after=after)
    slots.running = 0
    assert not slots.is_free(159)
    assert slots.is_free(160)


def test_each_quiet_minute_adds_one_place_up_to_the_number_of_before():
    slots = ProviderSlots("anthropic", 4, running=4)
    slots.rate_limited(began=0, now=100, retry_after=None)
    numbers = []
    for now in (159, 160, 219, 220, 1000):
        slots.is_free(now)
        numbers.append(slots.number)
    assert (numbers, slots.lowest) == ([2, 3, 3, 4, 4], 2)


def test_a_minute_with_a_rate_limit_is_not_quiet():
    slots = ProviderSlots("anthropic", 8, running=8)
    slots.rate_limited(began=0, now=100, retry_after=None)
    slots.rate_limited(began=0, now=150, retry_after=None)
    slots.is_free(200)
    assert slots.number == 4
    slots.is_free(210)
    assert slots.number == 5


# --- waiting ----------------------------------------------------------------------------------------


class CountingClock(FakeClock):
    """Counts how often it is read."""

    reads = 0

    def seconds(self) -> float:
        self.reads += 1
        return super().seconds()


class Limits:
    """Limits of a run with a clock of tests."""

    def __init__(self, cancelled: Cancellation, **limits: int) -> None:
        self.clock, self.lines = CountingClock(), []
        self.cancelled = cancelled
        self.limits = ProviderLimits(limits, 16, self.clock, cancelled, self.lines.append)

    def session(self, trouble: Trouble | None = None, *, waits_for: threading.Event | None = None) -> bool:
        """Run a session of Claude Code; whether it had to wait for its slot."""
        suite = suite_at()
        session = Execution(
            index=0,
            suite=suite,
            case=BenchmarkCase(id="one", prompt="do it", location=PLACE, assertions=()),
            runner=runner_named("claude"),
            directory="one",
            timeout=10,
            budget=None,
            model=None,
        )
        with self.limits.slot(session, nullcontext) as slot:
            if waits_for:
                assert waits_for.wait(20)
            slot.trouble = trouble
            return slot.waited

    def waited_for(self, session: threading.Thread) -> None:
        """Start a session, which then looks at the clock again and again; one that has a slot does so twice."""
        before = self.clock.reads
        session.start()
        until(lambda: self.clock.reads >= before + 4 or not session.is_alive(), "a session that waits")
        assert session.is_alive()


@pytest.fixture
def cancelled():
    with closing(Cancellation()) as found:
        yield found


def test_a_session_waits_for_the_end_of_another_one(cancelled):
    limits, end, waited = Limits(cancelled, anthropic=1), threading.Event(), []
    first = threading.Thread(target=limits.session, kwargs={"waits_for": end})
    first.start()
    second = threading.Thread(target=lambda: waited.append(limits.session()))
    until(lambda: limits.clock.reads == 2, "a session that has its slot")
    limits.waited_for(second)
    end.set()
    second.join(20)
    first.join(20)
    assert (waited, limits.lines) == ([True], ["anthropic: at most 1 session at once"])


def test_a_session_waits_until_the_time_that_was_asked_for_has_passed(cancelled):
    limits, waited = Limits(cancelled), []
    limits.session(Trouble(kind="rate-limit", message="too many", retry_after=30))
    second = threading.Thread(target=lambda: waited.append(limits.session()))
    limits.waited_for(second)
    limits.clock.pause(30, None)
    second.join(20)
    assert waited == [True]
    assert limits.lines == [
        "anthropic: rate limit, at most 1 session at once from now on, none before 30 s have passed"
    ]
    assert limits.limits.slowed() == ("anthropic: 1 rate limit; 16 sessions at once became 1",)


def test_a_cancelled_run_does_not_wait(cancelled):
    limits, waited = Limits(cancelled), []
    limits.session(Trouble(kind="rate-limit", message="too many", retry_after=30))
    threads = [threading.Thread(target=lambda: waited.append(limits.session())) for _ in range(5)]
    for thread in threads:
        thread.start()
    cancelled.set()
    for thread in threads:
        thread.join(20)
    assert waited == [True] * 5


@pytest.mark.parametrize("kind", ["network", "timeout", "quota"])
def test_other_trouble_slows_nothing(cancelled, kind):
    limits = Limits(cancelled)
    limits.session(Trouble(kind=kind, message="no", retry_after=30))
    assert (limits.session(), limits.limits.slowed(), limits.lines) == (False, (), [])
