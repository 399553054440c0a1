"""Loading suites: digests, size limits, parallel suite programs."""

from __future__ import annotations

import json
import os
from hashlib import sha256

import pytest

from scratch import case, repository, suite, world_in, written
from skillgym_action.model.limits import MAX_SUITE_FILE_BYTES
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.pipeline.stages.load import load
from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions

PROGRAM = """
from skillgym_action import Suite
suite = Suite("s")
@suite.case("c", prompt="p")
def c(report): pass
"""
# Comes to an end only where the other one is loaded at the same time: each waits for the other end of the FIFO.
MEETING = """
from skillgym_action import Case
open("meeting", "{mode}").close()
suite = [Case(id="{own}", prompt="p", check=lambda report: None)]
"""


@pytest.mark.parametrize(
    ("name", "content", "cases"),
    [
        pytest.param("bench/core.json", suite(case("a")).encode(), 1, id="x-bench"),
        pytest.param("bench/core.json", b"\xef\xbb\xbf" + suite(case("a")).encode(), 1, id="with a byte order mark"),
        pytest.param("bench/core.json", suite(case("a")).replace("{", "{\r\n").encode(), 1, id="other line ends"),
        pytest.param("bench/core.json", b'{"cases": [', 0, id="a broken one"),
        pytest.param("bench/core.json", b'{"cases": "\xff"}', 0, id="not UTF-8"),
        pytest.param("x_suite.py", PROGRAM.encode(), 1, id="a program"),
    ],
)
def test_the_digest_of_a_suite_is_that_of_its_file(tmp_path, name, content, cases):
    written(repository(tmp_path, {"bench/core.json": None}), {name: content})
    with world_in(tmp_path) as services:
        found = discover(services.repository, tmp_path, DiscoverOptions(paths=(name,))).suites
        (loaded,) = load(found, services.hosts, LoadOptions())
    assert (loaded.digest, len(loaded.cases)) == (sha256(content).hexdigest(), cases)
    assert bool(loaded.invalid) == (not cases)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    repository(tmp_path)
    with (tmp_path / "bench/core.json").open("wb") as file:
        file.truncate(MAX_SUITE_FILE_BYTES + 1)
    with world_in(tmp_path) as services:
        found = discover(services.repository, tmp_path, DiscoverOptions(paths=("bench/core.json",))).suites
        (loaded,) = load(found, services.hosts, LoadOptions())
    assert (loaded.digest, loaded.invalid[0].problem.message) == (
        None, "too large: 16,777,217 bytes; the limit is 16,777,216",
    )  # fmt: skip


def test_suite_programs_are_loaded_in_parallel(tmp_path):
    meeting = {f"{own}_suite.py": MEETING.format(own=own, mode=mode) for own, mode in ("ar", "bw")}
    repository(tmp_path, {**meeting, "bench/core.json": None})
    os.mkfifo(tmp_path / "meeting")
    with world_in(tmp_path) as services:
        found = discover(services.repository, tmp_path, DiscoverOptions(paths=tuple(meeting))).suites
        suites = load(found, services.hosts, LoadOptions())
    assert [(one.path, [case.id for case in one.cases]) for one in suites] == [
        ("a_suite.py", ["a"]),
        ("b_suite.py", ["b"]),
    ]


@pytest.mark.parametrize("strategy", ["mean", "confidence_interval", "pass_at_k"])
def test_a_threshold_of_the_user_is_not_that_of_agentv_s_trials(tmp_path, strategy):
    execution = {"threshold": 0.6, "trials": {"count": 3, "strategy": strategy}}
    test = {"id": "a", "input": "x", "assertions": [{"type": "contains", "value": "done"}]}
    repository(tmp_path, {"bench/core.json": None, "EVAL.yaml": json.dumps({"execution": execution, "tests": [test]})})
    with world_in(tmp_path) as services:
        found = discover(services.repository, tmp_path, DiscoverOptions()).suites
        (loaded,) = load(found, services.hosts, LoadOptions(threshold=0.9))
    assert loaded.cases[0].threshold == 0.6
