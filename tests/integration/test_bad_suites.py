"""Bad suites: a clear error that names the file, within 5 s and 300 MB, never a traceback; the others are unharmed."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentv_context import real_processes
from bad_suites import (
    AGENTV,
    BROKEN,
    FINE,
    NAMES,
    PYTHON,
    X_BENCH,
    Small,
    notations,
    places,
    programs,
)
from documentation import TABLE
from heavy_suites import CONFIGURATIONS, HEAVY, LIGHT, RESULTS, WORKING
from measured import LONGEST_LINE, is_bounded, measured
from paths import REPOSITORY
from scratch import case, config, repository, runner, skillgym, suite, written
from skillgym_action.agents.replay import PLAYER
from skillgym_action.model import limits
from skillgym_action.model.errors import ConfigError
from skillgym_action.pipeline.stages.discover import discover
from skillgym_action.pipeline.stages.load import load
from skillgym_action.results.snapshot_file import SnapshotFile
from skillgym_action.settings.suite_options import DiscoverOptions, LoadOptions
from skillgym_action.suites.programs.hosts.suite_host import SuiteHosts
from skillgym_action.suites.programs.runtime import suite_program as program
from skillgym_action.workspaces.repository.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from heavy_suites import Pieces, Table
    from proofs import Proved

SECONDS, MEGABYTES = 5, 300
DOCUMENT = REPOSITORY / "docs/reference/limits.md"


@pytest.fixture(autouse=True)
def removed_afterwards(tmp_path: Path) -> Iterator[None]:
    """Remove the files of each test: together, they would take 1.3 GB until the end of the run."""
    yield
    shutil.rmtree(tmp_path)


def rows(table: Table) -> list[Any]:
    """The entries of a table as parameters of a test."""
    return [
        pytest.param(file, pieces, says, id=f"{file}: {name}")
        for file, entries in table.items()
        for name, (pieces, says) in entries.items()
    ]


def made(folder: Path, file: str, pieces: Pieces) -> str:
    """The name of the file, which is in the folder now."""
    with (folder / file).open("w", encoding="utf-8") as opened:
        opened.writelines(pieces())
    return file


# --- each by itself ---------------------------------------------------------------------------------


@pytest.mark.timed
@pytest.mark.parametrize(
    ("file", "pieces", "says"),
    rows({file: {name: row for name, row in rows.items() if name not in LIGHT[file]} for file, rows in HEAVY.items()}),
)
def test_a_suite_that_costs_what_it_can_is_refused_in_time(tmp_path, file, pieces, says, proved: Proved):
    ran = measured("check", made(tmp_path, file, pieces), cwd=tmp_path)
    assert re.search(says, ran.err)
    assert file in ran.err
    assert ran.code == 2
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "suites made to cost time and memory, refused within 5 s and 300 MB")


@pytest.mark.timed
def test_suites_that_cost_little_are_refused_in_time_all_together(tmp_path, proved: Proved):
    said = {}
    for file, names in LIGHT.items():
        for name in names:
            pieces, says = HEAVY[file][name]
            said[made(tmp_path, f"{len(said)}{file}", pieces)] = says
    ran = measured("check", *said, cwd=tmp_path)
    lines = ran.err.splitlines()
    found = {file: "\n".join(line for line in lines if line.startswith(f"error: {file}:")) for file in said}
    assert [(file, says) for file, says in said.items() if not re.search(says, found[file])] == []
    assert ran.code == 2
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "suites made to cost time and memory, refused within 5 s and 300 MB", len(said))


@pytest.mark.timed
@pytest.mark.parametrize(("file", "pieces", "says"), rows(WORKING))
def test_ten_thousand_cases_are_fine(tmp_path, file, pieces, says, proved: Proved):
    written(tmp_path, {"SKILL.md": "---\nname: pdf\n---\n", "skillgym.config.json": json.dumps({"run": JUDGE})})
    ran = measured("check", made(tmp_path, file, pieces), cwd=tmp_path)
    *found, summary = ran.out.splitlines()
    assert [line.endswith(", 10,000 cases") for line in found] == [True]
    assert (ran.code, summary, ran.err) == (
        0,
        "OK: 1 suite, 10,000 cases. No runner is configured: add one, or pass --runner",
        says,
    )
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "suites of 10,000 cases loaded within 5 s and 300 MB")


@pytest.mark.timed
def test_ten_thousand_files_are_fine(tmp_path, proved: Proved):
    written(tmp_path, {f"bench/{number // 100}/{number}.json": suite(case("a")) for number in range(10_000)})
    ran = measured("check", cwd=tmp_path)
    *found, summary = ran.out.splitlines()
    assert (ran.code, len(found), summary) == (
        0,
        10_000,
        "OK: 10,000 suites, 10,000 cases. No runner is configured: add one, or pass --runner",
    )
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "files with suites loaded within 5 s and 300 MB", 10_000)


@pytest.mark.timed
@pytest.mark.parametrize(("file", "pieces", "says"), rows(CONFIGURATIONS))
def test_a_configuration_that_costs_what_it_can_is_read_in_time(tmp_path, file, pieces, says, proved: Proved):
    written(tmp_path, {"a.bench.json": suite(case("a"))})
    made(tmp_path, file, pieces)
    ran = measured("check", cwd=tmp_path)
    assert re.search(says, ran.err + ran.out)
    assert ran.code == (0 if says.startswith("OK: ") else 2)
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "configurations made to cost time and memory, read within 5 s and 300 MB")


@pytest.mark.timed
@pytest.mark.parametrize(("file", "pieces", "says"), rows(RESULTS))
def test_results_that_cost_what_they_can_are_refused_in_time(tmp_path, file, pieces, says, proved: Proved):
    ran = measured("report", made(tmp_path, file, pieces), "--output", "out", cwd=tmp_path)
    assert re.search(says, ran.err)
    assert ran.err.startswith("error: results.json: ")
    assert ran.code == 2
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "results made to cost time and memory, refused within 5 s and 300 MB")


@pytest.mark.timed
def test_a_baseline_that_costs_what_it_can_is_refused_in_time(tmp_path, proved: Proved):
    repository(tmp_path)
    pieces, says = RESULTS["results.json"]["lists"]
    made(tmp_path, "results.json", pieces)
    ran = measured("run", "--baseline", "results.json", cwd=tmp_path)
    assert re.search(says, ran.err)
    assert ran.code == 2
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "results made to cost time and memory, refused within 5 s and 300 MB")


# --- many in one folder -----------------------------------------------------------------------------


def told(entry: Small, lines: list[str]) -> str:
    """What the tool's lines say of a file; every one has the file, and its place unless nobody can know it."""
    place = re.compile(re.escape(f"error: {entry.file}") + (r":\d+:\d+: " if entry.line else r"(:\d+){0,2}: "))
    said = [line for line in lines if line.startswith(f"error: {entry.file}")]
    assert all(place.match(line) for line in said), said
    return "\n".join(line.removeprefix(f"error: {entry.file}") for line in said)


def are_said(entries: list[Small], folder: Path, proved: Proved, *commands: str) -> None:
    """Every file has its say, and in a listing those that are fine have their case."""
    written(folder, {"SKILL.md": "---\nname: s\n---\n"} | {entry.file: entry.content for entry in entries})
    (folder / "skillgym.config.json").write_text(config(runner(), run=JUDGE))
    names = [entry.file for entry in entries]
    first, *more = (measured(*command.split(), *names, cwd=folder) for command in commands)
    assert all((one.code, one.err) == (2, first.err) for one in (first, *more))
    lines = first.err.split("\n")
    assert "Traceback" not in first.err
    assert max(map(len, lines)) < LONGEST_LINE
    wrong = [entry for entry in entries if entry.says is not None]
    assert [entry.file for entry in wrong if not re.search(entry.says or ".", told(entry, lines))] == []
    fine = [entry.file for entry in entries if entry.says is None]
    assert [file for file in fine if f"error: {file}" in first.err] == []
    assert {row["suite"] for row in json.loads(first.out)["executions"]} >= set(fine)
    proved("suites", "broken suites told by file, the others unharmed", len(wrong))


def test_every_broken_text_is_told_and_the_others_are_listed(tmp_path, proved: Proved):
    places(tmp_path)
    entries = list(notations())
    are_said(entries, tmp_path, proved, "list --json", "check")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("ending", ["_suite.py", "-suite.ts"])
def test_every_broken_program_is_told_and_the_others_are_listed(tmp_path, ending, proved: Proved):
    are_said([entry for entry in programs() if entry.file.endswith(ending)], tmp_path, proved, "list --json")


def test_a_broken_line_costs_its_own_test(tmp_path, proved: Proved):
    good = '{"id": "%s", "input": "a", "criteria": "b"}'
    lines = [good % "first", "{", good % "second", "[]", '{"id": "x", "id": "y"}', "\0", '"\u2028"', good % "last"]
    written(tmp_path, {"a.jsonl": "\n".join(lines), "skillgym.config.json": config(runner(), run=JUDGE)})
    ran = skillgym("list", "--json", "a.jsonl", cwd=tmp_path)
    assert [row["case"] for row in json.loads(ran.out)["executions"]] == ["first", "second", "last"]
    places = [line.split(": ")[1] for line in ran.err.split("\n") if line]
    assert places == ["a.jsonl:2:2", "a.jsonl:4:1", "a.jsonl:5:13", "a.jsonl:6:1", "a.jsonl:7:1"]
    proved("suites", "broken suites told by file, the others unharmed", 5)


@pytest.mark.timed
def test_what_is_called_like_a_suite_and_is_none_is_not_waited_for(tmp_path, proved: Proved):
    places(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    written(tmp_path, {"a.bench.json": suite(case("a")), "b.eval.yaml": AGENTV, "c_suite.py": PYTHON})
    written(tmp_path, {"skillgym.config.json": json.dumps({"run": JUDGE})})
    listed = measured("list", "--json", "--runner", "claude-code", cwd=tmp_path)
    assert sorted(row["suite"] for row in json.loads(listed.out)["executions"]) == [
        "a.bench.json",
        "b.eval.yaml",
        "c_suite.py",
    ]
    refused = [line.split(": ")[1] for line in listed.err.split("\n") if line]
    fifos, links = ["fifo.bench.json"], ["loop-too.eval.yaml", "loop.bench.json", "loop.eval.yaml"]
    links.append("nowhere.eval.yaml")
    zeros = ["zero-suite.ts", "zero.bench.json", "zero.eval.yaml", "zero_suite.py"]
    assert refused == [*fifos, *links, *zeros]
    is_bounded(listed, SECONDS, MEGABYTES)
    named = measured("check", *fifos, *links, *zeros, cwd=tmp_path)
    assert named.code == 2
    for name in (*fifos, *links, *zeros):
        assert f"error: {name}: cannot be read: " in named.err
    is_bounded(named, SECONDS, MEGABYTES)
    for name in ("fifo.yaml", "endless.yaml", "a-folder.yaml"):
        written(tmp_path, {f"x-{name}.eval.yaml": f"tests: ['file://{name}']", "targets.yml": "targets: []"})
    naming = measured("check", *(path.name for path in sorted(tmp_path.glob("x-*.eval.yaml"))), cwd=tmp_path)
    lines = naming.err.splitlines()
    assert (naming.code, len(lines)) == (2, 3)
    for name, line in zip(("a-folder.yaml", "endless.yaml", "fifo.yaml"), lines, strict=True):
        assert line.startswith(f"error: {name}: cannot be read: {name} is a ")
    is_bounded(naming, SECONDS, MEGABYTES)
    proved("suites", "FIFOs, devices, folders and endless links called like suites, refused at once", len(before))


def test_hostile_names_of_files_are_shown_and_do_nothing(tmp_path, proved: Proved):
    written(tmp_path, dict.fromkeys(NAMES, b"{"))
    written(tmp_path, {f"bench/{name}": suite(case("a")).encode() for name in NAMES if name.endswith(".json")})
    ran = skillgym("check", cwd=tmp_path)
    assert ran.code == 2
    assert not (tmp_path / "pwned").exists()
    assert not any(line.startswith(("::", "##[")) for line in ran.err.split("\n"))
    assert "\x1b" not in ran.err
    proved("suites", "hostile names of suites shown in one line", len(NAMES))


# --- programs that do not end -----------------------------------------------------------------------

JUDGE = {"judge": {"api": "anthropic", "model": "claude-haiku-4-5"}}
ENDLESS = {
    "loop_suite.py": "from skillgym_action import Case\nwhile True: pass",
    "sleep_suite.py": "from skillgym_action import Case\nimport time\ntime.sleep(1000)",
    "pattern_suite.py": "from skillgym_action import Case\nimport re\nre.match('(a+)+$', 'a' * 99 + '!')",
    "deaf_suite.py": "import skillgym_action, signal\nsignal.signal(15, signal.SIG_IGN)\nwhile True: pass",
    "loop-suite.ts": "// skillgym\nwhile (true);",
    "wait-suite.ts": "// skillgym\nsetInterval(() => {}, 1);\nawait new Promise(() => {});",
    "pattern-suite.ts": "// skillgym\n/(a+)+$/.test('a'.repeat(99) + '!');",
}


@pytest.mark.timed
def test_a_program_that_does_not_end_is_ended_and_the_others_are_loaded(tmp_path, proved: Proved):
    written(tmp_path, ENDLESS | {"fine.bench.json": X_BENCH})
    with (
        real_processes() as processes,
        SuiteHosts(processes, root=tmp_path, logs=tmp_path / "logs", call_limit=0.7) as hosts,
    ):
        found = discover(Repository(tmp_path, processes), tmp_path, DiscoverOptions()).suites
        suites = load(found, hosts, LoadOptions())
    wrong = {one.path: str(one.invalid[0].problem) for one in suites if one.invalid}
    assert wrong.keys() == ENDLESS.keys()
    for path, problem in wrong.items():
        assert problem.startswith(f"{path}: the suite did not answer within 0.7 s while it was imported; a suite file")
    assert [one.path for one in suites if one.cases] == ["fine.bench.json"]
    proved("suites", "programs that never end, ended", len(ENDLESS))


# --- snapshots and recordings -----------------------------------------------------------------------


@pytest.mark.parametrize("name", [*BROKEN, "list", "deep"])
def test_snapshots_that_are_broken_are_told(tmp_path, name, proved: Proved):
    file = tmp_path / "snapshots.json"
    more = {"list": b"[]", "deep": b"[" * 100_000}
    file.write_bytes(more[name] if name in more else BROKEN[name]('{"version": 1, "entries": {"do it": 7}}'))
    with pytest.raises(ConfigError, match=r"^s\.json[: ]"):
        SnapshotFile(file, "s.json")
    proved("suites", "broken snapshots and recordings, told")


@pytest.mark.parametrize("name", FINE)
def test_snapshots_are_taken_as_any_text_is(tmp_path, name):
    file = tmp_path / "snapshots.json"
    file.write_bytes(FINE[name]('{"version": 1,\n"entries": {}}\n'))
    assert SnapshotFile(file, "s.json").snapshot("a", "b") is None


@pytest.mark.timed
@pytest.mark.parametrize(
    ("files", "says"),
    [
        pytest.param({"report.json": b""}, "Expecting value", id="empty"),
        pytest.param({"report.json": b"[]"}, "report.json is not a session report", id="a list"),
        pytest.param({"report.json": b"\xff"}, "codec can't decode", id="no UTF-8"),
        pytest.param({"report.json": b"[" * 100_000}, "it is nested too deeply", id="depth"),
        pytest.param({"report.json": b'{"cwd":"/a","b":' * 900 + b"1" + b"}" * 900}, "nested too deeply", id="some"),
        pytest.param({"report.json": b"[" + b"[]," * 999_999 + b"[]]"}, "is too large", id="lists"),
        pytest.param({"report.json": b"{" + b" " * 17_000_000 + b"}"}, "is too large", id="blanks"),
        pytest.param({"report.json": b"{}", "workspace.json": b"[]"}, "workspace.json is not an object", id="changes"),
        pytest.param(
            {"report.json": b"{}", "workspace.json": b'{"deleted": 7}'}, "is not a list of paths", id="deleted"
        ),
        pytest.param(
            {"report.json": b"{}", "workspace.json": b'{"deleted": [7]}'}, "is not a list of paths", id="number"
        ),
        pytest.param({"report.json": b"{}", "workspace.json": b'{"deleted": ["../x"]}'}, "leads out", id="upwards"),
        pytest.param(
            {"report.json": b"{}", "workspace.json": b'{"links": []}'}, "is not an object with paths", id="links"
        ),
    ],
)
def test_a_recording_that_is_broken_is_not_played(tmp_path, files, says, proved: Proved):
    folder = tmp_path / "sessions/case/runner/repeat-1"
    written(folder, {"report.json": b'{"cwd": "/before", "finalOutput": "x"}'} | files)
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    key = (tmp_path / "sessions", workspace, "case", "runner", "repeat-1")
    case = {"prompt": "Do it", "turns": [], "root": ""}
    ran = measured(PLAYER, *key, cwd=tmp_path, program=sys.executable, stdin=json.dumps(case))
    assert says in ran.err
    assert (ran.code, ran.out) == (65, "")
    is_bounded(ran, SECONDS, MEGABYTES)
    proved("suites", "broken snapshots and recordings, told")


# --- what is promised -------------------------------------------------------------------------------


def test_every_number_of_the_limits_is_made_of_a_constant():
    prose = re.sub(r"`[^`\n]+`", "", TABLE.sub("", DOCUMENT.read_text(encoding="utf-8")))
    assert f"needs at most {SECONDS} s and {MEGABYTES} MB of memory" in prose
    units_of_sizes = {"1024", "1000"}
    assert set(re.findall(r"\d+", prose)) == {f"{SECONDS}", f"{MEGABYTES}", *units_of_sizes}


def test_the_node_suite_host_has_the_same_limit():
    source = Path(program.__file__).with_name("node") / "program.mjs"
    assert f"const MAX_SUITE_CASES = {limits.MAX_SUITE_CASES:_};" in source.read_text(encoding="utf-8")
