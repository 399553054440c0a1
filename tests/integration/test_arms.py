"""Arms: the same cases with and without something, run as a job starts them, and what is said about the difference."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from scratch import case, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

# The agent does what AGENTS.md says, if there is one. Every session lists what it sees, home included.
AGENT = """
find . "$HOME" -type f -o -type l | sort > seen.txt; echo "VARIANT=$VARIANT" >> seen.txt
read -r _ task; [ -e AGENTS.md ] && [ "$(cat AGENTS.md)" = "finish $task" ] && echo done > out.txt
[ -e AGENTS.md ] && grep -q all AGENTS.md && echo done > out.txt
exit 0
"""
ARMS = {"with": {"files": "arms/with"}, "without": {"remove": ["AGENTS.md"]}}
EXPECT = ("file:out.txt exists", "file:seen.txt exists")


def scene(
    folder: Path, arms: dict[str, Any] | None = None, text: str = "all", cases: str = "abcde", **more: Any
) -> Path:
    chosen = ARMS if arms is None else arms
    document = {"runners": {"sh": runner(AGENT)}} | ({"arms": chosen} if chosen else {}) | more
    files = {
        "bench/core.json": suite(*(case(name, EXPECT) for name in cases)),
        "skillgym.config.yaml": json.dumps(document),
        "arms/with/AGENTS.md": text,
        "AGENTS.md": "of the repository",
        "README.md": "x",
    }
    return repository(folder, files, git=True)


def run(folder: Path, *args: str, output: str = "out") -> Ran:
    return skillgym("run", "--output", output, "--keep", "all", *args, cwd=folder)


def stored(folder: Path, output: str = "out") -> dict[str, Any]:
    return json.loads((folder / output / "results.json").read_text(encoding="utf-8"))


def uplift(folder: Path, output: str = "out") -> dict[str, Any]:
    (found,) = stored(folder, output)["run"]["uplifts"]
    return found


def rows(folder: Path, key: str, output: str = "out") -> list[dict[str, Any]]:
    return [row for one in stored(folder, output)["suites"] for row in one.get(key, [])]


def test_only_the_deciding_arm_decides_and_the_difference_is_reported(tmp_path):
    scene(tmp_path)
    ran = run(tmp_path)
    assert ran.code == 0, ran.err
    assert [(row["caseId"], row["arm"], row["status"]) for row in rows(tmp_path, "results")] == [
        (name, "with", "passed") for name in "abcde"
    ]
    assert [(row["caseId"], row["arm"], row["status"]) for row in rows(tmp_path, "otherArms")] == [
        (name, "without", "failed") for name in "abcde"
    ]
    assert stored(tmp_path)["totals"]["executions"] == 5
    found = uplift(tmp_path)
    assert (found["arm"], found["other"], found["runnerId"]) == ("with", "without", "sh")
    assert (found["share"], found["otherShare"], found["points"]) == (1.0, 0.5, 50.0)
    assert (found["verdict"], found["interval"], found["complete"]) == ("helps", {"low": 50.0, "high": 50.0}, True)
    assert found["fixed"] == list("abcde")
    assert [one["assertion"] for one in found["inBoth"]] == ["file:seen.txt exists"] * 5
    assert found["costUsd"] == {"deciding": None, "other": None, "ratio": None}
    assert "arms core [sh]: with against without" in ran.err
    assert "uplift +50 points, 95% interval [+50, +50] over 5 cases: helps" in ran.err
    assert "cost unknown, tokens unknown, time" in ran.err
    for name in ("summary.md", "comment.md", "report.html"):
        text = unescape((tmp_path / "out" / name).read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
        assert "Each case ran in each arm" in text, name
        found = [text.index(words) for words in ("100% against 50%", "+50 points [+50, +50]")]
        assert found == sorted(found), name
        assert "5 assertions pass in both arms and show nothing about the difference" in text, name


def test_the_order_is_case_by_case_and_each_session_has_a_folder_of_its_own(tmp_path):
    scene(tmp_path, cases="ab")
    assert run(tmp_path).code == 0
    order = sorted([*rows(tmp_path, "results"), *rows(tmp_path, "otherArms")], key=lambda row: row["index"])
    assert [(row["caseId"], row["arm"]) for row in order] == [
        ("a", "with"), ("a", "without"), ("b", "with"), ("b", "without"),
    ]  # fmt: skip
    folders = [row["artifactDir"] for row in order]
    assert len(set(folders)) == 4
    assert all("with" in folder for folder in folders)


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_the_repetitions_of_all_arms_take_turns(tmp_path, jobs):
    scene(tmp_path, cases="ab")
    document = json.loads((tmp_path / "skillgym.config.yaml").read_text(encoding="utf-8"))
    log = tmp_path.parent / f"{tmp_path.name}.log"
    script = f"read -r _ task; [ -e AGENTS.md ] && a=A b=B || a=B b=A; echo $task$a >> {log}; echo > seen.txt; "
    if jobs == "4":  # both arms run at once: none gets ahead of the other
        script += f"n=$(grep -c $task$a {log}); until [ $(grep -c $task$b {log}) -ge $n ]; do sleep 0.02; done"
    document["runners"]["sh"] = runner(script)
    written(tmp_path, {"skillgym.config.yaml": json.dumps(document)})
    assert run(tmp_path, "--repeat", "3", "--jobs", jobs, "--fail-on", "none").code == 0
    lines = log.read_text(encoding="utf-8").split()
    assert len(lines) == 12
    for task in "ab":
        own = "".join(line[1] for line in lines if line[0] == task)
        assert own == "ABABAB" if jobs != "4" else sorted(own[:2]) == sorted(own[2:4]) == ["A", "B"]
    assert jobs != "1" or lines[:6] == ["aA", "aB"] * 3


def test_what_an_arm_removes_is_nowhere_in_its_workspace_or_home(tmp_path):
    scene(tmp_path, {"without": {"remove": ["AGENTS.md", "docs"]}, "with": {"files": "arms/with"}}, cases="a")
    written(tmp_path, {"docs/deep/AGENTS.md": "x"})
    assert run(tmp_path).code == 1
    seen = {
        arm: (tmp_path / "out" / row["artifactDir"] / "changes/seen.txt").read_text(encoding="utf-8").splitlines()
        for key in ("results", "otherArms")
        for row in rows(tmp_path, key)
        for arm in [row["arm"]]
    }
    assert "./AGENTS.md" in seen["with"]
    assert not [line for line in seen["without"] if "AGENTS.md" in line or "/docs" in line]
    assert not [line for lines in seen.values() for line in lines if "arms/" in line]
    assert "./README.md" in seen["without"]


def test_the_arm_is_no_change_of_the_agents(tmp_path):
    scene(tmp_path, cases="a")
    assert run(tmp_path).code == 0
    for key in ("results", "otherArms"):
        (row,) = rows(tmp_path, key)
        changes = json.loads((tmp_path / "out" / row["artifactDir"] / "workspace.json").read_text(encoding="utf-8"))
        assert (changes["modified"], changes["deleted"]) == ([], [])
        assert {"seen.txt"} <= set(changes["created"]) <= {"seen.txt", "out.txt"}


# Searches all that it can read of the session: names, contents, links and variables.
SEARCH = """
{ find . "$HOME" "$TMPDIR" | grep -i canary
  grep -rli canary . "$HOME" "$TMPDIR"; env | grep -i canary; printf '%s\\n' "$@" | grep -i canary; } > /tmp/$$.found
find "$HOME" -type f | sed "s#$HOME/##" | sort > home.txt
mv /tmp/$$.found found.txt; echo "OFF=$OFF" > off.txt
"""
CANARY = {
    "mcp": {
        "home": {".codex/config.toml": "[mcp_servers.canary]"},
        "files": {".mcp.json": '{"mcpServers": {"canary": {}}}'},
    },
    "plugin": {"files": {".plugins/canary/plugin.json": "{}"}, "commandArgs": ["./plugins/canary", "-p=canary"]},
    "instructions": {"home": {".claude/CLAUDE.md": "canary", "AGENTS.md": "Canary"}, "env": {"CANARY": "1"}},
}


@pytest.mark.parametrize("what", CANARY)
def test_an_arm_without_it_holds_no_trace_of_it_in_workspace_and_home(tmp_path, what):
    given = CANARY[what]
    arm: dict[str, Any] = {key: given[key] for key in ("env", "commandArgs") if key in given}
    files = {f"arms/{key}/{path}": text for key in ("home", "files") for path, text in given.get(key, {}).items()}
    arm |= {key: f"arms/{key}" for key in ("home", "files") if key in given}
    without = {"env": {"OFF": None}} if what == "mcp" else {}
    agent = runner(["sh", "-c", SEARCH, "sh"], env={"OFF": "set"})  # type: ignore[arg-type]
    scene(tmp_path, {"with": arm, "without": without}, cases="a", runners={"sh": agent})
    written(tmp_path, files | ({"plugins/canary/x": "x"} if what == "plugin" else {}))
    assert run(tmp_path, "--fail-on", "none").code == 0
    (row,), (other,) = rows(tmp_path, "results"), rows(tmp_path, "otherArms")

    def left(one: dict[str, Any], name: str) -> str:
        return (tmp_path / "out" / one["artifactDir"] / "changes" / name).read_text(encoding="utf-8")

    assert left(row, "found.txt") != ""  # what is searched for is found where it is
    assert set(given.get("home", {})) <= set(left(row, "home.txt").split())
    assert left(other, "home.txt") == ""
    assert left(other, "found.txt") == ""
    assert left(other, "off.txt") == ("OFF=\n" if what == "mcp" else "OFF=set\n")


def test_the_marked_arm_decides(tmp_path):
    scene(tmp_path, {"with": ARMS["with"], "without": ARMS["without"] | {"decides": True}})
    ran = run(tmp_path)
    assert ran.code == 1
    assert {row["arm"] for row in rows(tmp_path, "results")} == {"without"}
    assert uplift(tmp_path)["verdict"] == "hurts"
    assert uplift(tmp_path)["newlyFailing"] == list("abcde")


def test_without_arms_nothing_is_new(tmp_path):
    scene(tmp_path, {})
    assert run(tmp_path).code == 1
    text = (tmp_path / "out/results.json").read_text(encoding="utf-8")
    assert not [key for key in ('"arm"', "otherArms", "uplifts", "held") if key in text]
    assert "core/a/sh" in text


def test_the_plan_counts_cases_arms_and_sessions(tmp_path):
    scene(tmp_path)
    ran = skillgym("run", "--dry-run", "--repeat", "2", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "bench/core.json [sh]: 5 cases × 2 arms × 2 = 20 sessions (with, without)" in ran.out
    assert "bench/core.json a [sh] without " in ran.out
    listed = json.loads(skillgym("list", "--json", cwd=tmp_path).out)["executions"]
    assert [row["arm"] for row in listed[:3]] == ["with", "without", "with"]


def test_min_uplift(tmp_path):
    reason = "core [sh]: with against without: uplift +50 points, below +51 points"
    scene(tmp_path)
    ran = run(tmp_path, "--min-uplift", "51")
    assert (ran.code, reason in ran.err) == (1, True), ran.err
    for given, code in (("50", 0), ("51", 1)):
        compared = skillgym("compare", "out", "out", "--min-uplift", given, cwd=tmp_path)
        assert (compared.code, reason in compared.out + compared.err) == (code, code == 1), compared.err


def test_min_uplift_is_inconclusive_if_the_comparison_is_incomplete(tmp_path):
    scene(tmp_path, run={"minUplift": 10})
    config = json.loads((tmp_path / "skillgym.config.yaml").read_text(encoding="utf-8"))
    broken = """printf '{"type": "error", "class": "workspace", "message": "oh"}\\n'; """
    script = f"read -r _ task; [ -e AGENTS.md ] || [ $task != c ] || {{ {broken} exit 0; }}; echo > seen.txt"
    config["runners"]["sh"] = runner(script, output="events")
    written(tmp_path, {"skillgym.config.yaml": json.dumps(config)})
    ran = run(tmp_path, "--fail-on", "errored")
    assert uplift(tmp_path)["unjudged"] == ["c"]
    assert uplift(tmp_path)["complete"] is False
    why = "1 of 5 cases could not be judged in both arms"
    assert ran.code == 3, ran.err  # the uplift of the others is 0, which is below 10: it might be more with all of them
    assert why in ran.err
    assert "below" not in ran.err
    decision = stored(tmp_path)["run"]["decision"]
    assert (decision["verdict"], decision["exitCode"]) == ("inconclusive", 3)
    assert decision["reasons"] == [f"core [sh]: with against without: {why}"]
    for name in ("summary.md", "comment.md", "report.html"):
        text = unescape((tmp_path / "out" / name).read_text(encoding="utf-8"))
        assert why in text, name
        assert "Not sure: " in text, name
    again = skillgym("report", "out", "--output", "again", "--fail-on", "errored", cwd=tmp_path)
    assert again.code == 3, again.err
    assert run(tmp_path, "--fail-on", "errored", "--min-uplift", "-1").code == 3
    ran = run(tmp_path, "--fail-on", "errored", "--arms", "with")
    assert ran.code == 3
    assert "no arms were compared, so the uplift is unknown" in ran.err


USAGE = '"usage": {"inputTokens": 60, "outputTokens": 40}'
PAID = f"""printf '{{"type": "session", "finalOutput": "x", "cost": {{"usd": 0.25}}, {USAGE}}}\\n'"""


def test_what_the_other_arms_took_counts_and_is_shown(tmp_path):
    script = f"[ -e AGENTS.md ] && echo > out.txt; echo > seen.txt; {PAID}"
    scene(tmp_path, runners={"sh": runner(script, output="events")})
    ran = run(tmp_path, "--repeat", "2")
    assert ran.code == 0, ran.err
    document = stored(tmp_path)
    assert document["totals"]["costUsd"] == document["runners"][0]["costUsd"] == 5.0
    assert (document["totals"]["executions"], document["totals"]["tokens"]["total"]) == (5, 1000)
    spent = {one["arm"]: (one["executions"], one["sessions"], one["costUsd"]) for one in document["run"]["arms"]}
    assert spent == {"with": (5, 10, 2.5), "without": (5, 10, 2.5)}
    assert "cost $5.00" in ran.err
    for text in (ran.err, *(unescape((tmp_path / "out" / name).read_text()) for name in ("comment.md", "report.html"))):
        words = text.replace("\u00a0", " ").replace("\\$", "$")
        assert "with: $2.50, 500 tokens" in words
        assert "without: $2.50, 500 tokens" in words
    again = skillgym("report", "out", "--output", "again", cwd=tmp_path)
    assert again.code == 0, again.err
    assert stored(tmp_path, "again")["run"]["arms"] == document["run"]["arms"]


def test_a_budget_is_that_of_all_arms(tmp_path):
    scene(tmp_path, runners={"sh": runner(f"echo > out.txt; echo > seen.txt; {PAID}", output="events")}, cases="ab")
    ran = run(tmp_path, "--max-cost", "0.6", "--jobs", "1", "--fail-on", "failed,budget")
    assert ran.code == 3, ran.err
    assert [row["status"] for row in rows(tmp_path, "results")] == ["passed", "passed"]
    assert [row["status"] for row in rows(tmp_path, "otherArms")] == ["passed", "skipped"]
    assert "1 in other arms not started, since the run's budget was spent" in ran.err


def test_the_html_report_has_the_sessions_of_all_arms(tmp_path):
    scene(tmp_path, cases="ab")
    assert run(tmp_path).code == 0
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    found = re.findall(
        r'<script type="application/json" id="execution-(\d+)" data-address="([^"]*)">(.*?)</script>', page
    )
    executions = [json.loads(text) for _, _, text in found]
    assert [(one["case"], one["arm"]) for one in executions] == [
        ("a", "with"), ("b", "with"), ("a", "without"), ("b", "without"),
    ]  # fmt: skip
    assert ["arm=without" in unescape(address) for _, address, _ in found] == [False, False, True, True]
    assert len({number for number, _, _ in found}) == 4
    assert [(one["name"], one["status"]) for one in executions[0]["arms"]] == [("without", "failed")]
    assert executions[0]["arms"][0]["address"] == executions[2]["address"]
    for execution in executions:
        (session,) = execution["sessions"]
        (text,) = re.findall(rf'id="{session["id"]}">(.*?)</script>', page)
        assert json.loads(text)["found"] is True


def test_selected_arms(tmp_path):
    scene(tmp_path, ARMS | {"neither": {}})
    assert run(tmp_path, "--arms", "without,neither").code == 1
    assert [row["arm"] for row in rows(tmp_path, "results")] == ["without"] * 5
    assert [row["arm"] for row in rows(tmp_path, "otherArms")] == ["neither"] * 5
    ran = run(tmp_path, "--arms", "withuot")
    assert ran.code == 2
    assert "unknown arm 'withuot'" in ran.err
    assert "did you mean" in ran.err


def test_arms_for_suites_that_have_none_are_a_warning(tmp_path):
    warned = "--arms {} has no effect: no suite has arms; leave it out, or add arms to the configuration"
    root = repository(tmp_path)
    for command, words in (("run", "with"), ("list", "auto,without")):
        ran = skillgym(command, "--arms", words, cwd=root)
        assert (ran.code, ran.err.count(warned.format(words))) == (0, 1), ran.err
    assert "no effect" not in skillgym("list", "--arms", "auto", cwd=root).err


def test_arms_are_no_warning_where_a_suite_has_some_or_the_configuration_names_them(tmp_path):
    skill = {"skills/s/SKILL.md": "---\nname: s\ndescription: Counts.\n---\nCount.\n"}
    skill["skills/s/evals/evals.json"] = json.dumps({"evals": [{"id": 1, "prompt": "p", "expectations": ["e"]}]})
    root = repository(tmp_path, skill)
    assert "no effect" not in skillgym("list", "--arms", "with", cwd=root).err
    assert "no effect" in skillgym("list", "bench", "--arms", "with", cwd=root).err
    written(root, {"skillgym.config.yaml": json.dumps({"runners": {"sh": runner()}, "skills": {"arms": ["with"]}})})
    assert "no effect" not in skillgym("list", "bench", cwd=root).err


def test_shards_are_merged_with_all_arms(tmp_path):
    scene(tmp_path)
    for part in ("1/2", "2/2"):
        assert run(tmp_path, "--shard", part, output=f"part{part[0]}").code == 0
    arms = [row["arm"] for row in rows(tmp_path, "results", "part1") + rows(tmp_path, "otherArms", "part1")]
    assert arms.count("with") == arms.count("without") > 0
    assert skillgym("report", "part1", "part2", "--output", "all", cwd=tmp_path).code == 0
    assert [case["caseId"] for case in uplift(tmp_path, "all")["cases"]] == list("abcde")
    assert uplift(tmp_path, "all")["verdict"] == "helps"


def test_stored_sessions_are_judged_again_in_their_arms(tmp_path):
    scene(tmp_path)
    assert run(tmp_path).code == 0
    before = uplift(tmp_path)
    again = skillgym("rejudge", "out", "--output", "again", cwd=tmp_path)
    assert again.code == 0, again.err
    after = uplift(tmp_path, "again")
    assert {key: after[key] for key in ("cases", "points", "fixed")} == {
        key: before[key] for key in ("cases", "points", "fixed")
    }


def test_a_recording_of_one_arm_is_not_played_for_another(tmp_path):
    scene(tmp_path, cases="a")
    assert run(tmp_path, "--arms", "with", "--record", "sessions").code == 0
    document = json.loads((tmp_path / "skillgym.config.yaml").read_text(encoding="utf-8"))
    document["runners"] = {"played": {"agent": {"type": "replay", "sessions": "sessions"}}}
    written(tmp_path, {"skillgym.config.yaml": json.dumps(document)})
    ran = run(tmp_path, output="played")
    assert ran.code == 0, ran.err
    assert [row["status"] for row in rows(tmp_path, "otherArms", "played")] == ["errored"]
    assert uplift(tmp_path, "played")["verdict"] == "nothing-compared"


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ({"one": {}}, "arms"),
        ({"a b": {}, "c": {}}, "arms"),
        ({"a": {"decides": True}, "b": {"decides": True}}, "only one arm can decide, not a and b"),
        ({"a": {"remove": ["../x"]}, "b": {}}, "is not a path in the workspace"),
        ({"a": {"remove": [".git/hooks"]}, "b": {}}, "an arm cannot change .git"),
        ({"a": {"remove": ["x"] * 21}, "b": {}}, "21 patterns, at most 20: name a folder, or use * and **"),
        ({"a": {"remove": ["**/" * 4 + "x"]}, "b": {}}, "a pattern with ** 4 times, at most 3: leave some out"),
        ({"a": {"files": "nowhere"}, "b": {}}, "cannot be read"),
        ({"a": {"home": "nowhere"}, "b": {}}, "arms.a.home: "),
        ({"a": {"flies": "arms/with"}, "b": {}}, "files"),
        ({"a": {"env": {"X": "${{ NOT_SET_ANYWHERE }}"}}, "b": {}}, "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_a_wrong_arm_is_refused(tmp_path, arms, message):
    document = {"runners": {"sh": runner()}, "arms": arms}
    ran = skillgym("check", cwd=repository(tmp_path, {"skillgym.config.yaml": json.dumps(document)}))
    assert ran.code == 2, ran.err
    assert message in ran.err


def test_the_files_of_an_arm_cannot_lead_out_of_the_checkout(tmp_path):
    root = scene(tmp_path / "repo")
    (tmp_path / "secret").write_text("canary", encoding="utf-8")
    (root / "arms/with/leak.txt").symlink_to(tmp_path / "secret")
    ran = run(root)
    assert ran.code == 2
    assert "arms.with.files: leak.txt is not a regular file" in ran.err
    (root / "arms/with/leak.txt").unlink()
    (root / "arms/linked").symlink_to(tmp_path)
    document = json.loads((root / "skillgym.config.yaml").read_text(encoding="utf-8"))
    document["arms"]["with"]["files"] = "arms/linked"
    written(root, {"skillgym.config.yaml": json.dumps(document)})
    ran = run(root)
    assert ran.code == 2
    assert "arms.with.files" in ran.err
    assert "symbolic link" in ran.err


def test_an_arm_that_changes_files_needs_a_copy_to_work_in(tmp_path):
    scene(tmp_path, cases="a", run={"workspace": {"mode": "none", "cwd": "."}})
    ran = run(tmp_path)
    assert ran.code == 3
    assert "the arm with adds or removes files" in ran.err
    assert "use a copy as the suite's workspace" in ran.err
    assert (tmp_path / "AGENTS.md").read_text(encoding="utf-8") == "of the repository"


def test_the_bootstrap_cannot_bring_back_what_an_arm_removes(tmp_path):
    workspace = {
        "mode": "isolated",
        "templateDir": "template",
        "bootstrap": {"command": "sh", "args": ["-c", "echo all > AGENTS.md"]},
    }
    arms = {"without": {"remove": ["AGENTS.md"]}, "with": {}}
    scene(tmp_path, arms, cases="a", run={"workspace": workspace})
    written(tmp_path, {"template/x": "x"})
    assert run(tmp_path, "--fail-on", "none").code == 0
    assert [row["status"] for row in rows(tmp_path, "results")] == ["failed"]
    assert [row["status"] for row in rows(tmp_path, "otherArms")] == ["passed"]


def test_an_arm_whose_agent_cannot_start_stops_no_session_of_the_deciding_arm(tmp_path):
    scene(tmp_path, {"with": {"files": "arms/with"}, "other": {"env": {"PATH": "/nowhere"}}}, cases="abc")
    ran = run(tmp_path)
    assert ran.code == 0, ran.err
    assert [row["status"] for row in rows(tmp_path, "results")] == ["passed"] * 3
    assert [row["status"] for row in rows(tmp_path, "otherArms")] == ["errored"] * 3
    assert not uplift(tmp_path)["complete"]


def test_sessions_with_other_variables_of_an_arm_do_not_count_in_a_resumed_run(tmp_path):
    arms = {"with": {"files": "arms/with", "env": {"VARIANT": "one"}}, "without": {"remove": ["AGENTS.md"]}}
    scene(tmp_path, arms, cases="a")
    assert run(tmp_path).code == 0
    configuration = tmp_path / "skillgym.config.yaml"
    configuration.write_text(configuration.read_text(encoding="utf-8").replace('"one"', '"two"'), encoding="utf-8")
    ran = skillgym("run", "--resume", "out", cwd=tmp_path)
    assert ran.code == 0, ran.err
    warning = ran.err.partition("run again")[2].partition("\n")[0]
    assert "a [sh] with" in warning
    assert "without" not in warning
