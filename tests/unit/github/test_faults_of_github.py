"""Faults of GitHub, one table: what is written all the same, what the reader sees, how long it takes."""

from __future__ import annotations

import re
import socket
import ssl
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import pytest
import trustme

from builders import run_report
from fakes_clock import FakeClock
from github_faults import BOUNDS, FAULTS, PARTS, READS, WRITES
from github_server import JOB_TOKEN
from github_state import ChangedFile
from on_github import NUMBER, SHA, event_of, github_with
from scratch import Watched, written
from scripted_http import ScriptedServer
from skillgym_action.github.api import GitHubApi
from skillgym_action.github.options import PublisherOptions
from skillgym_action.github.publisher import Publisher
from skillgym_action.model.limits import GITHUB_RETRY_SECONDS
from skillgym_action.pipeline.stages.publish import publish
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.settings.slices import PublishOptions
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from skillgym_action.text.redaction import Redactor

NEW_FILE = ChangedFile("bench/core.json", "@@ -0,0 +1,40 @@\n" + "\n".join(["+line"] * 40), status="added")
REPORT = run_report("fix failed: no file", commit=SHA)
SHORT = 1.0  # seconds of the budget in tests that really wait
SLACK = 2.5  # seconds, on a machine that is not shared with others
TIMED = {name: row for name, row in FAULTS.items() if row.seconds is None}


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a run left: the parts that are on GitHub, the notes by part, and the seconds that passed on the clock."""

    parts: frozenset[str]
    seconds: float
    summary: str
    outputs: str
    said: list[str] = field(default_factory=list)

    def note(self, part: str) -> str:
        return next((line for line in self.said if line.startswith(f"note: the {part}: ")), "")


@pytest.fixture
def play(tmp_path):
    """Publishes a red run with all three parts; the verdict is never another one."""

    def published(github, clock, deadline=GITHUB_RETRY_SECONDS, url=None) -> Published:
        written(tmp_path, {"outputs": "", "summary": ""})
        options = PublisherOptions(review_comments=True, status="on")
        watched = Watched()
        with closing(Cancellation()) as cancelled, RunDirectory(tmp_path / "out", Redactor([])) as directory:
            where = {"url": url or github.url, "graphql_url": github.graphql_url, "token": JOB_TOKEN}
            with closing(GitHubApi(**where, clock=clock, cancelled=cancelled, deadline=deadline)) as api:
                publishing = Publisher(api, event_of(github), options, Redactor([]), watched.progress)
                files = PublishOptions(step_outputs=tmp_path / "outputs", step_summary=tmp_path / "summary")
                began = clock.seconds()
                final = publish(directory, REPORT, files, watched, publishing)
                seconds = clock.seconds() - began
        outputs = (tmp_path / "outputs").read_text()
        assert final == REPORT
        assert re.search(r"^verdict<<(\S+)\nfailed\n\1$", outputs, re.MULTILINE)
        github.violations = ()  # some replies are such as GitHub would never send
        there = {
            "comment": [one.body for one in github.comments(NUMBER)],
            "review": github.review_comments(NUMBER),
            "status": [one for one in github.statuses(SHA)[:1] if one.state == "failure"],
        }
        assert all(len(there[part]) <= 1 for part in ("comment", "review")), "nothing is there twice"
        parts = frozenset(part for part in PARTS if there[part])
        summary = (tmp_path / "summary").read_text()
        return Published(parts=parts, seconds=seconds, summary=summary, outputs=outputs, said=watched.lines)

    return published


def orders(row):
    """The parts that the fault can hit, each with the requests."""
    return (READS if row.where == "reads" else WRITES).items()


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in FAULTS.items() if row.seconds])
def test_a_fault_that_happens_once(row, play):
    for part, where in orders(row):
        with github_with(NEW_FILE) as github:
            github.fail(row.fault, where=where)
            found = play(github, FakeClock())
            assert bool(found.note(part)) == (part not in row.once), found.said
            assert (part in found.parts) >= (part in row.once)
            assert found.parts >= set(PARTS) - {part}, "the other parts do not depend on it"


@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in FAULTS.items() if row.seconds])
def test_a_fault_that_always_happens(row, play, proved):
    for part, where in orders(row):
        with github_with(NEW_FILE) as github:
            github.fail(row.fault, times=1000, where=where)
            found = play(github, FakeClock())
            assert round(found.seconds) == row.seconds[PARTS.index(part)]
            assert found.seconds <= GITHUB_RETRY_SECONDS
            assert found.parts >= set(PARTS) - {part}
            if part in row.always:
                assert (found.note(part), part in found.parts) == ("", True)
            else:
                assert row.words in found.note(part)
                assert "⚠️" in found.summary
        proved(
            "faults", "faults of GitHub on comment, review or status that left the verdict and the other parts alone"
        )


@pytest.mark.timed
@pytest.mark.parametrize("row", [pytest.param(row, id=name) for name, row in TIMED.items()])
@pytest.mark.parametrize("part", PARTS)
def test_a_github_that_is_too_slow_takes_no_longer_than_the_budget(row, part, play):
    """In real time, with a smaller budget."""
    with github_with(NEW_FILE) as github:
        github.fail(row.fault, times=1000, where=WRITES[part])
        found = play(github, Clock(), deadline=SHORT)
        assert found.seconds < SHORT * BOUNDS[PARTS.index(part)] / GITHUB_RETRY_SECONDS + SLACK
        assert row.words in found.note(part)


# --- no connection at all: nothing is written, and everything shares the time -------------------------


@contextmanager
def never_accepting():
    """An address whose queue of connections is full."""
    with socket.socket() as listening, socket.socket() as first, socket.socket() as second:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for waiting in (first, second):
            waiting.settimeout(0)
            waiting.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def accepting_silently():
    """An address that accepts connections and never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(50)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@contextmanager
def refusing():
    with ScriptedServer() as server:
        url = server.url
    yield url


@contextmanager
def with_an_unknown_certificate():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    with ScriptedServer(tls=context) as server:
        yield server.url


@pytest.mark.timed
@pytest.mark.parametrize(
    ("there", "words"),
    [
        pytest.param(never_accepting, "timed out", id="never accepts"),
        pytest.param(accepting_silently, "timed out", id="accepts and never answers"),
        pytest.param(refusing, "Connection refused", id="refuses"),
        pytest.param(with_an_unknown_certificate, "certificate verify failed", id="certificate"),
    ],
)
def test_without_a_connection_all_parts_together_take_no_longer_than_the_budget(there, words, play):
    with github_with(NEW_FILE) as github, there() as url:
        found = play(github, Clock(), deadline=SHORT, url=url)
    assert found.seconds < SHORT + SLACK
    assert found.parts == frozenset()
    assert words in found.note("comment")
    assert all(found.note(part) for part in PARTS)


def test_what_is_refused_costs_the_same_time_for_all_parts(play):
    """120 s are not reached: each request is tried five times."""
    with github_with(NEW_FILE) as github, refusing() as url:
        assert play(github, FakeClock(), url=url).seconds == 45
