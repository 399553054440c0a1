"""What is read of a journal, whoever wrote it, and however it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import runner_named, suite_at
from skillgym_action.model.errors import Location, UsageError
from skillgym_action.model.execution import Execution
from skillgym_action.model.suite import BenchmarkCase
from skillgym_action.results.journal_lines import read
from skillgym_action.results.stored_sessions import session_result

if TYPE_CHECKING:
    from proofs import Proved

BEGAN: dict[str, Any] = {
    "schema": 1,
    "tool": {"name": "skillgym-action", "version": "0.1.0"},
    "startedAt": "2025-01-02T03:04:05.678Z",
    "command": "run",
    "commit": None,
    "settings": {"repeat": 1, "retry": 0, "max-steps": None, "timeout": 0.5},
}
USAGE = {
    **dict.fromkeys(("inputTokens", "outputTokens", "reasoningTokens", "cacheTokens", "totalTokens")),
    **dict.fromkeys(("inputChars", "outputChars", "reasoningChars"), 3),
}
ONE, OTHER = "1" * 64, "2" * 64


def held(place: str = "1.1", status: str = "passed", *, case: str = "a", digest: str = ONE, **more: Any) -> str:
    """The line of a session; ``more`` is of the line, or of its result."""
    repetition, session = map(int, place.split("."))
    attempt = {
        "repetition": repetition,
        "session": session,
        "status": status,
        "durationMs": 12,
        "artifactDir": f"core/{case}/sh/repeat-{repetition}",
    }
    line = {"digest": digest, "suite": "bench/core.json", "agentUsd": 0.25, "judgeUsd": 0.0}
    result = {
        "caseId": case,
        "runnerId": "sh",
        "tags": [],
        "location": {"path": "bench/core.json"},
        "status": status,
        "passed": status in {"passed", "expected-failed"},
        "outcomes": [],
        "durationMs": 12,
        "usage": USAGE,
        "costUsd": 0.25,
        "model": None,
        "attempts": [attempt],
        "artifactDir": attempt["artifactDir"],
    }
    known = {**line, "trouble": None}.keys()
    line |= {key: value for key, value in more.items() if key in known}
    result |= {key: value for key, value in more.items() if key not in known}
    return json.dumps({**line, "result": result})


def journal(*lines: str | bytes | dict[str, Any]) -> list[bytes]:
    """Lines with their ends, after the beginning of a run."""
    texts = [json.dumps(line) if isinstance(line, dict) else line for line in (BEGAN, *lines)]
    return [text + b"\n" if isinstance(text, bytes) else f"{text}\n".encode() for text in texts]


def told(lines: list[bytes]) -> tuple[list[str], list[str]]:
    """The sessions that count, as ``case repetition.session status``, and the warnings."""
    found = read(lines)
    sessions = [one for own in found.sessions.values() for one in own]
    shown = [f"{one.result.case_id} {one.position[0]}.{one.position[1]} {one.result.status}" for one in sessions]
    return shown, [str(problem) for problem in found.warnings]


# --- sessions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "counting"),
    [
        pytest.param([], [], id="none yet"),
        pytest.param([held(), held(case="b")], ["a 1.1 passed", "b 1.1 passed"], id="one each"),
        pytest.param(
            [held("1.1", "failed"), held("1.2"), held("2.1")],
            ["a 1.1 failed", "a 1.2 passed", "a 2.1 passed"],
            id="retries and repetitions",
        ),
        pytest.param([held("1.1", "failed"), held()], ["a 1.1 passed"], id="the same again: the later one counts"),
        pytest.param(
            [held("1.1", "failed"), held("1.2", "failed"), held("1.3"), held("1.2")],
            ["a 1.1 failed", "a 1.2 passed"],
            id="what was held again makes void what came after it",
        ),
        pytest.param(
            [held("1.1", "errored"), held("1.2", "errored"), held("2.1"), held("3.1"), held("1.1")],
            ["a 1.1 passed", "a 2.1 passed", "a 3.1 passed"],
            id="a repetition that ran again leaves the others",
        ),
        pytest.param(
            [held(), held("2.1"), held(digest=OTHER, status="failed")],
            ["a 1.1 failed"],
            id="begun anew, since the suite was another",
        ),
        pytest.param(
            [held(), held(digest=OTHER), held("2.1")],
            ["a 2.1 passed"],
            id="what the suite was before it was another does not come back",
        ),
    ],
)
def test_the_sessions_that_count(lines, counting):
    assert told(journal(*lines)) == (counting, [])


# In a process of its own: pydantic shares short strings as long as its cache, which all tests fill, has room for them.
MEMORY_OF_SESSIONS = """
import sys, tracemalloc
from skillgym_action.results.journal_lines import read
lines = sys.stdin.buffer.read().splitlines(keepends=True)
read(lines[:3])
tracemalloc.start()
found = read(lines)
print(len(found.sessions), tracemalloc.get_traced_memory()[0])
"""


@pytest.mark.slow
def test_a_session_of_a_journal_takes_less_memory_than_five_kilobytes():
    outcomes = [
        {"assertion": f"{number} " * 20, "type": "rule", "passed": True, "explanation": "it holds"}
        for number in range(3)
    ]
    lines = journal(
        *(held(case=f"case-{number}", digest=f"{number:064x}", outcomes=outcomes) for number in range(1_000))
    )
    argv = (sys.executable, "-c", MEMORY_OF_SESSIONS)
    printed = subprocess.run(argv, input=b"".join(lines), capture_output=True, check=True).stdout
    sessions, taken = map(int, printed.split())
    assert sessions == 1_000
    assert taken / sessions < 5_000


def test_all_sessions_were_paid_for():
    found = read(journal(held(), held("1.1", "failed"), held(digest=OTHER, agentUsd=None, costUsd=None)))
    assert [(one.agent_usd, one.judge_usd) for one in found.all] == [(0.25, 0.0), (0.25, 0.0), (None, 0.0)]


@pytest.mark.parametrize(
    ("line", "finished"),
    [
        pytest.param(held(), True, id="it passed"),
        pytest.param(held(status="failed"), True, id="it failed"),
        pytest.param(held(status="errored", trouble={"kind": "timeout", "message": "x"}), True, id="trouble"),
        pytest.param(held(status="skipped"), False, id="it was cancelled"),
        *(
            pytest.param(held(status="errored", trouble={"kind": kind, "message": "x"}), False, id=kind)
            for kind in ("auth", "model-rejected", "agent-missing")
        ),
    ],
)
def test_which_sessions_are_finished(line, finished):
    (one,) = read(journal(line)).all
    assert one.is_finished is finished


# --- lines that are none ----------------------------------------------------------------------------

AGAIN = "its session is run again"
NO_SESSIONS = [
    pytest.param("", "not JSON: EOF while parsing a value at column 0", id="an empty line"),
    pytest.param(b"\0" * 512, "not JSON: expected value at column 1", id="what a lost block leaves"),
    pytest.param(held()[:200], "not JSON: EOF while parsing", id="half of a line"),
    pytest.param(held()[:200] + held(), "not JSON: ", id="half of a line, and a whole one"),
    pytest.param(b"\xff" + held().encode(), "not JSON: ", id="no text"),
    pytest.param("[" * 100_000, "not JSON: recursion limit exceeded", id="deeper than can be read"),
    pytest.param("[]", "must be an object", id="a list"),
    pytest.param("1e999", "must be an object", id="a number"),
    pytest.param(BEGAN, "digest: is missing", id="another beginning"),
    pytest.param({"index": 0, "case": "a", "status": "passed"}, "digest: is missing", id="of another program"),
    pytest.param(held(more=1), "result.more: is not a key of a results file of this version", id="a key of no meaning"),
    pytest.param(held(digest="1"), "digest: must be 64 hexadecimal digits", id="no digest"),
    pytest.param(held(suite="../core.json"), "suite: must be a path without steps upwards", id="a path upwards"),
    pytest.param(
        held(artifactDir="a/../../b"), "result.artifactDir: must be a path below the run directory", id="artifacts"
    ),
    pytest.param(held(agentUsd=-1), "agentUsd: must be greater than or equal to 0", id="money back"),
    pytest.param(held(agentUsd="1"), "agentUsd: must be a valid number", id="money in words"),
    pytest.param(held(status="fine"), "result.status: must be", id="no status"),
    pytest.param(held(attempts=[]), "result.attempts: must be one", id="no session"),
    pytest.param(held(threshold=0.5, score=1.5), "result.score: must be from 0 to 1, not 1.5", id="a score above 1"),
    pytest.param(held("0.1"), "repetitions and sessions count from 1", id="repetition 0"),
    pytest.param(
        held(trouble={"kind": "x" * 99, "message": ""}), "trouble.kind: is not a kind of trouble", id="trouble"
    ),
]


@pytest.mark.parametrize(("line", "mistake"), NO_SESSIONS)
def test_what_is_no_line_of_a_journal_costs_its_own_session_only(line, mistake):
    sessions, (warning,) = told(journal(held(), line, held(case="b")))
    assert sessions == ["a 1.1 passed", "b 1.1 passed"]
    assert warning.startswith("journal.jsonl:3: ")
    assert mistake in warning
    assert warning.endswith(AGAIN)
    assert len(warning) < 300


def test_of_many_lines_that_are_none_a_few_are_told():
    sessions, warnings = told(journal(*["x"] * 5_000, held()))
    assert (sessions, len(warnings)) == (["a 1.1 passed"], 6)
    assert warnings[-1] == "journal.jsonl: 4,995 more lines like that"


def test_a_line_that_is_torn_off_anywhere_costs_its_own_session_only(proved: Proved):
    whole, last = journal(held()), journal(held(case="b"))[-1]
    for size in range(1, len(last)):
        sessions, warnings = told([*whole, last[:size]])
        assert (sessions, warnings) == (["a 1.1 passed"], [f"journal.jsonl:3: is torn off; {AGAIN}"])
    assert told([*whole, last]) == (["a 1.1 passed", "b 1.1 passed"], [])
    proved("faults", "places at which a journal was torn off, read without loss", len(last) - 1)


EVENT = {"event": "judging", "digest": ONE, "repetition": 1, "session": 1}


@pytest.mark.parametrize(
    ("line", "mistake"),
    [
        pytest.param(EVENT | {"event": "ended"}, "event: must be", id="no event"),
        pytest.param(EVENT | {"digest": "1"}, "digest: must be 64 hexadecimal digits", id="no digest"),
        pytest.param(EVENT | {"repetition": 0}, "repetition: must be greater than or equal to 1", id="repetition 0"),
        pytest.param(EVENT | {"session": "1"}, "session: must be a valid integer", id="a number in words"),
        pytest.param(EVENT | {"more": 1}, "more: is not a key", id="a key of no meaning"),
        pytest.param('{"event": ', "not JSON: EOF", id="half of a line"),
    ],
)
def test_an_event_that_is_none_is_ignored(line, mistake):
    text = line if isinstance(line, str) else json.dumps(line)
    found = read(journal(text.replace('"event": ', '"event":', 1), held()))
    (warning,) = map(str, found.warnings)
    assert (found.judging.total(), len(found.all)) == (0, 1)
    assert warning.startswith("journal.jsonl:2: ")
    assert mistake in warning
    assert warning.endswith("; the line is ignored")


def test_events_are_counted_by_session():
    lines = [EVENT, EVENT | {"event": "started"}, EVENT | {"event": "started", "session": 2}, held()]
    found = read(journal(*(json.dumps(one, separators=(",", ":")) if isinstance(one, dict) else one for one in lines)))
    assert found.judging == {(ONE, (1, 1)): 1}
    assert (found.started, found.interrupted) == ({(ONE, (1, 1)): 1, (ONE, (1, 2)): 1}, 1)


def test_the_last_attempt_that_stored_results_is_known():
    lines = [f'{{"event":"stored","attempt":{number}}}' for number in (1, 2)]
    found = read(journal(held(), *lines))
    assert (found.stored_attempt, found.warnings) == (2, [])
    found = read(journal(held(), '{"event":"stored","attempt":0}'))
    (warning,) = map(str, found.warnings)
    assert (found.stored_attempt, warning.endswith("; the line is ignored")) == (0, True)


# --- the first line ---------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [pytest.param([], id="nothing"), pytest.param([b'{"schema": 1, "to'], id="torn off")])
def test_a_run_that_had_not_begun_has_no_beginning(lines):
    found = read(lines)
    assert (found.began, found.sessions) == (None, {})
    assert [str(one) for one in found.warnings] == ["journal.jsonl:1: is torn off; a new run starts"] * len(lines)


REMEDY = "only a run of this version of skillgym-action can be resumed; --output begins a new one"


@pytest.mark.parametrize(
    ("first", "mistake"),
    [
        pytest.param({**BEGAN, "schema": 2}, "schema: must be 1, not 2", id="another schema"),
        pytest.param({**BEGAN, "tool": {"name": "x", "version": "1"}}, "tool.name: must be", id="another tool's"),
        pytest.param({**BEGAN, "startedAt": "yesterday"}, "startedAt: must be a time in UTC", id="no time"),
        pytest.param({**BEGAN, "startedAt": "2025-13-02T03:04:05Z"}, "startedAt: ", id="a month there is not"),
        pytest.param(json.loads(held()), "schema: is missing", id="a session"),
        pytest.param("# a journal", "not JSON: ", id="no JSON"),
    ],
)
def test_a_file_that_does_not_begin_like_a_journal_is_refused(first, mistake):
    text = first if isinstance(first, str) else json.dumps(first)
    with pytest.raises(UsageError) as caught:
        read([f"{text}\n".encode(), f"{held()}\n".encode()])
    assert str(caught.value).startswith("journal.jsonl:1: ")
    assert mistake in str(caught.value)
    assert str(caught.value).endswith(REMEDY)


def test_nothing_in_a_journal_is_our_bug(proved: Proved):
    values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )
    keys = st.sampled_from(["digest", "suite", "agentUsd", "trouble", "caseId", "attempts", "usage", "outcomes"])
    changed = st.builds(lambda key, value: held(**{key: value}).encode(), keys, values)
    tried = 0

    @given(st.lists(st.binary(max_size=60) | changed, max_size=4), st.booleans())
    def check(lines: list[bytes], begins: bool) -> None:  # noqa: FBT001 -- hypothesis gives it
        nonlocal tried
        tried += 1
        try:
            found = read([*journal()[:begins], *(line.replace(b"\n", b"") + b"\n" for line in lines)])
        except UsageError:
            assert not begins
        else:
            assert len(found.all) <= len(lines)

    check()
    assert tried >= 50
    proved("faults", "journals of random content read without a bug", tried)


def test_the_threshold_of_a_result_is_that_of_its_case_whatever_the_line_says():
    case = BenchmarkCase(id="a", prompt="p", location=Location(path="bench/core.json"), threshold=0.9, assertions=())
    execution = Execution(
        index=0,
        suite=suite_at(),
        case=case,
        runner=runner_named("sh"),
        directory="core/a/sh",
        timeout=60,
        budget=None,
        model=None,
    )
    ((stored,),) = read(journal(held(threshold=0.1, score=0.5))).sessions.values()
    assert session_result(execution, stored).judgement.threshold == 0.9
