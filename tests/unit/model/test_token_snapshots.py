"""Token snapshots: creating them, and comparing the usage of executions with them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from scratch import case, config, repository, runner, skillgym, suite
from skillgym_action.model.errors import ConfigError, OutputError
from skillgym_action.model.token_snapshots import Snapshot, Tolerance, snapshot_trouble
from skillgym_action.results.snapshot_file import SnapshotFile

if TYPE_CHECKING:
    from pathlib import Path

FILE = "skillgym.snapshots.json"
TAKEN = Snapshot(
    case_id="one", runner_id="sh", metric="totalTokens", value=100, agent_type="command", updated_at="2026-01-01"
)


# --- the check --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actual", "tolerance", "message"),
    [
        pytest.param(100, Tolerance(absolute=0), None, id="the same"),
        pytest.param(1, Tolerance(absolute=0), None, id="less is always fine"),
        pytest.param(110, Tolerance(absolute=10), None, id="as much as is allowed"),
        pytest.param(
            111,
            Tolerance(absolute=10),
            "totalTokens: actual 111 > allowed 110; baseline 100, delta +11 (+11.0%)",
            id="one too many",
        ),
        pytest.param(
            1300,
            Tolerance(percent=12.5),
            "totalTokens: actual 1,300 > allowed 112.5; baseline 100, delta +1,200 (+1200.0%)",
            id="percent",
        ),
        pytest.param(
            106,
            Tolerance(absolute=10, percent=5),
            "totalTokens: actual 106 > allowed 105; baseline 100, delta +6 (+6.0%)",
            id="the smaller one of both, percent",
        ),
        pytest.param(
            106,
            Tolerance(absolute=5, percent=10),
            "totalTokens: actual 106 > allowed 105; baseline 100, delta +6 (+6.0%)",
            id="the smaller one of both, absolute",
        ),
    ],
)
def test_the_allowed_usage(actual, tolerance, message):
    trouble = snapshot_trouble(TAKEN, actual, "totalTokens", tolerance)
    assert (trouble and (trouble.kind, trouble.message)) == (message and ("snapshot", message))


def test_a_snapshot_of_another_metric_is_trouble():
    trouble = snapshot_trouble(TAKEN, 1, "inputTokens", Tolerance(absolute=1))
    assert trouble is not None
    assert trouble.message.startswith("the snapshot is of totalTokens, the configuration of inputTokens")


# --- the file ---------------------------------------------------------------------------------------


def entry(**changes: Any) -> dict[str, Any]:
    fields = {"caseId": "one", "runnerId": "sh", "metric": "totalTokens", "value": 100, "agentType": "command"}
    return fields | {"updatedAt": "2026-01-01T00:00:00.000Z"} | changes


def stored(**entries: Any) -> str:
    return json.dumps({"version": 1, "entries": {key.replace("__", "::"): fields for key, fields in entries.items()}})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param("{", "1:2: not JSON: ", id="cut"),
        pytest.param("[]", "1:1: must be a mapping", id="a list"),
        pytest.param('{"version": 2, "entries": {}}', "1:2: version: must be 1, not 2", id="another version"),
        pytest.param('{"version": 1}', "1:1: entries: is missing", id="no entries"),
        pytest.param(stored(a=entry(value="100")), ": must be a number", id="a number as text"),
        pytest.param(
            stored(a=entry(value=-1)), "value: must be greater than or equal to 0, not -1", id="less than none"
        ),
        pytest.param(stored(a=entry(metrik="x")), "unknown key 'metrik'; did you mean 'metric'?", id="unknown key"),
        pytest.param(stored(a=entry(metric="usd")), "metric: must be 'totalTokens'", id="unknown metric"),
    ],
)
def test_an_invalid_snapshot_file_is_refused_with_its_location(tmp_path, text, problem):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError) as caught:
        SnapshotFile(tmp_path / FILE, FILE)
    assert str(caught.value).startswith(f"{FILE}:1:")
    assert problem in str(caught.value)


def test_entries_written_meanwhile_by_others_are_preserved(tmp_path):
    first, second = (SnapshotFile(tmp_path / "a" / FILE, FILE) for _ in range(2))
    first.take(TAKEN)
    first.save()
    second.take(Snapshot(case_id="b", runner_id="sh", metric="inputTokens", value=5, agent_type="pi", updated_at="x"))
    second.save()
    assert list(json.loads((tmp_path / "a" / FILE).read_text())["entries"]) == ["b::sh", "one::sh"]
    assert [path.name for path in (tmp_path / "a").iterdir()] == [FILE]


def test_a_snapshot_file_that_cannot_be_written_is_reported(tmp_path):
    (tmp_path / "a").write_text("in the way")
    with pytest.raises(ConfigError, match="cannot be read"):
        SnapshotFile(tmp_path / "a" / FILE, f"a/{FILE}")
    file = SnapshotFile(tmp_path / "b" / FILE, f"b/{FILE}")
    (tmp_path / "b").symlink_to("nowhere")
    file.take(TAKEN)
    with pytest.raises(OutputError, match=f"cannot write b/{FILE}"):
        file.save()


# --- a run ------------------------------------------------------------------------------------------


class Bench:
    """A repository whose agent uses as many tokens as the file ``tokens`` says."""

    def __init__(self, folder: Path) -> None:
        self.root, self.tokens = folder / "repo", folder / "tokens"
        self.file = self.root / FILE

    def run(self, *tokens: object, snapshots: Any = None, args: tuple[str, ...] = (), red: bool = False, **env: str):
        """A run whose sessions use so many tokens, one after the other; ``red``: the first case fails."""
        self.tokens.write_text("\n".join(str(number) for number in tokens) + "\n")
        take = f"n=$(head -n 1 {self.tokens}); sed -i 1d {self.tokens}"
        said = '{"type": "session", "usage": {"inputTokens": %s, "outputTokens": 0, "totalTokens": %s}}'
        script = f"echo done > out.txt; {take}; [ $n = none ] || printf '{said}\\n' $n $n"
        document = json.loads(config(runner(script, output="events")))
        document["snapshots"] = snapshots or {"tolerance": {"percent": 10}}
        first = case(expect=("no-file:out.txt",)) if red else case()
        files = {"skillgym.config.yaml": json.dumps(document), "bench/core.json": suite(first, case("two"))}
        repository(self.root, files)
        return skillgym("run", "--output", "results", *args, cwd=self.root, **env)

    def values(self) -> dict[str, float]:
        return {key: document["value"] for key, document in json.loads(self.file.read_text())["entries"].items()}

    def results(self) -> dict[str, Any]:
        return json.loads((self.root / "results" / "results.json").read_text())


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


@pytest.mark.slow
def test_the_first_run_takes_snapshots_and_the_next_one_keeps_to_them(bench):
    assert bench.run(100, 200).code == 0
    assert bench.values() == {"one::sh": 100, "two::sh": 200}
    before = bench.file.read_text()
    ran = bench.run(110, 221)
    assert ran.code == 3, ran.out
    one, two = bench.results()["suites"][0]["results"]
    assert (one["status"], two["status"], two["failureOrigin"]) == ("passed", "errored", "snapshot")
    assert two["failureClass"] == {"id": "snapshot", "label": "Snapshot verification"}
    assert two["error"]["message"] == "totalTokens: actual 221 > allowed 220; baseline 200, delta +21 (+10.5%)"
    assert [attempt["status"] for attempt in two["attempts"]] == ["passed"]
    assert bench.file.read_text() == before


def test_an_entry_has_what_skillgym_writes(bench):
    bench.run(100, 200)
    document = json.loads(bench.file.read_text())
    taken = document["entries"]["one::sh"]
    assert taken == entry(updatedAt=taken["updatedAt"])
    assert (document["version"], taken["updatedAt"][-1]) == (1, "Z")


@pytest.mark.slow
def test_entries_that_the_run_does_not_mention_stay(bench):
    bench.run(100, 200)
    bench.run(300, args=("--case", "two", "--update-snapshots"))
    assert bench.values() == {"one::sh": 100, "two::sh": 300}


def test_executions_that_are_not_green_create_no_snapshot(bench):
    assert bench.run(100, 200, red=True).code == 1
    assert bench.values() == {"two::sh": 200}


@pytest.mark.slow
def test_averages_over_repetitions_are_compared(bench):
    bench.run(100, args=("--case", "one"))
    assert bench.run(90, 120, args=("--case", "one", "--repeat", "2")).code == 0
    assert bench.run(110, 120, args=("--case", "one", "--repeat", "2")).code == 3


def test_an_agent_that_reports_no_tokens_cannot_be_compared(bench):
    assert bench.run("none", args=("--case", "one")).code == 3
    (result,) = bench.results()["suites"][0]["results"]
    assert (result["failureOrigin"], result["error"]["message"]) == (
        "snapshot",
        "the agent does not report totalTokens, which the snapshot is of",
    )


@pytest.mark.slow
def test_in_ci_a_missing_snapshot_is_a_warning_and_nothing_is_written(bench):
    ran = bench.run(100, 200, CI="true")
    assert ran.code == 0
    assert not bench.file.exists()
    (warning,) = bench.results()["warnings"]
    assert warning["message"].startswith(f"{FILE}: no snapshot of one::sh, two::sh: nothing was compared; ")
    assert bench.run(100, 200, args=("--fail-on", "warnings"), CI="true").code == 1
    bench.run(100, 200, args=("--update-snapshots",), CI="true")
    assert bench.values() == {"one::sh": 100, "two::sh": 200}


def test_the_configured_path_of_the_snapshot_file(bench):
    bench.run(100, 200, snapshots={"path": "bench/tokens.json", "metric": "inputTokens", "tolerance": {"absolute": 1}})
    document = json.loads((bench.root / "bench" / "tokens.json").read_text())["entries"]["one::sh"]
    assert (document["metric"], document["value"]) == ("inputTokens", 100)


def test_an_invalid_snapshot_file_is_reported_before_any_session(bench):
    bench.root.mkdir()
    bench.file.write_text("{}")
    ran = bench.run(100, 200)
    assert (ran.code, f"error: {FILE}:1:1: version: is missing" in ran.err) == (2, True)
    assert bench.tokens.read_text() == "100\n200\n"


def test_two_suites_with_one_case_are_a_warning(bench):
    bench.root.mkdir()
    (bench.root / "bench").mkdir()
    (bench.root / "bench" / "other.json").write_text(suite(case()))
    bench.run(100, 200, 100)
    (warning,) = bench.results()["warnings"]
    assert warning["message"].startswith(f"{FILE}: cases of several suites have the one snapshot of one::sh; ")


def test_update_without_configured_snapshots_is_an_error(tmp_path):
    ran = skillgym("run", "--update-snapshots", cwd=repository(tmp_path))
    assert (ran.code, "--update-snapshots without snapshots in the configuration" in ran.err) == (2, True)


@pytest.mark.slow
def test_rejudge_compares_snapshots_and_writes_none(bench):
    bench.run(100, 200)
    bench.file.write_text(stored(one__sh=entry(value=50)))
    before = bench.file.read_text()
    ran = skillgym("rejudge", "results", "--output", "again", cwd=bench.root)
    assert (ran.code, bench.file.read_text()) == (3, before)
