from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sessions import capture_of, session_with
from skillgym_action.agents import replay
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.session import AgentConfig, Capture, Ending
from skillgym_action.model.session_report import (
    AgentRef,
    Cost,
    FileRead,
    Message,
    RunnerRef,
    SessionReport,
    SkillDetection,
    Transcript,
    Trouble,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNNER = RunnerRef(id="claude", path_key="claude", agent=AgentRef(type="claude-code"))
FINAL = Message(role="assistant", phase="final", text="Done in /recorded/ws, not in /recorded/ws-2.")


def record(sessions: Path, key: str = "core/greets/claude/repeat-1", **changes: Any) -> Path:
    """A recorded session whose workspace was /recorded/ws."""
    report = SessionReport(
        **{
            "runner": RUNNER,
            "prompt": "Please do the task.",
            "cwd": "/recorded/ws",
            "session_id": "s-1",
            "events": (FINAL, FileRead(path="/recorded/ws/a.md")),
            "final_output": "Done.",
            "usage": Usage(input_tokens=10, output_tokens=2),
            "cost": Cost(usd=0.25, source="reported"),
            "detected_skills": (SkillDetection(skill="greeter", confidence="strong"),),
            "model": "m-1",
            "turns": 3,
            "version": "2.1",
        }
        | changes
    )
    folder = sessions / key
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "report.json").write_text(json.dumps(to_json(report)))
    return folder


@pytest.fixture
def sessions(tmp_path):
    return tmp_path / "sessions"


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def play(sessions: Path | str, workspace: Path, key: str = "core/greets/claude/repeat-1", **case: Any) -> Capture:
    agent = AgentConfig(type="replay", sessions=str(sessions))
    session = session_with(agent, workspace=workspace, key=tuple(key.split("/")), **case)
    started = replay.invocation(session)
    ran = subprocess.run(started.argv, input=started.stdin, cwd=workspace, capture_output=True, text=True, check=False)
    return capture_of(ran.stdout, exit_code=ran.returncode, stderr=ran.stderr)


def transcript_of(capture: Capture) -> Transcript:
    return replay.transcript(capture, session_with())


def trouble_of(capture: Capture) -> Trouble | None:
    return replay.trouble(capture, transcript_of(capture))


def test_the_recorded_report_is_printed_for_the_present_workspace(sessions, workspace):
    record(sessions)
    assert transcript_of(play(sessions, workspace)) == Transcript(
        events=(
            Message(role="assistant", phase="final", text=f"Done in {workspace}, not in /recorded/ws-2."),
            FileRead(path=f"{workspace}/a.md"),
        ),
        final_output="Done.",
        session_id="s-1",
        usage=Usage(input_tokens=10, output_tokens=2),
        cost=Cost(usd=0.25, source="reported"),
        skills=("greeter",),
        model="m-1",
        turns=3,
        version="2.1",
    )


def test_recorded_changes_are_made_again(sessions, workspace):
    changes = record(sessions) / "changes"
    (changes / "bin").mkdir(parents=True)
    (changes / "bin" / "run").write_text("new")
    (changes / "bin" / "run").chmod(0o755)
    (changes / "link").symlink_to("/nowhere")
    (changes / "bin" / "all").symlink_to("..", target_is_directory=True)
    (changes.parent / "workspace.json").write_text('{"deleted": ["old.txt", "old", "never-was"], "complete": true}')
    (workspace / "old").mkdir()
    (workspace / "old" / "x").touch()
    (workspace / "old.txt").touch()
    (workspace / "kept.txt").write_text("kept")
    capture = play(sessions, workspace)
    assert (capture.exit_code, capture.stderr.tail(99)) == (0, "")
    assert sorted(str(path.relative_to(workspace)) for path in workspace.rglob("*")) == [
        *("bin", "bin/all", "bin/run", "kept.txt", "link"),
    ]
    assert (workspace / "bin" / "run").read_text() == "new"
    assert (workspace / "bin" / "run").stat().st_mode & 0o777 == 0o755
    assert os.readlink(workspace / "link") == "/nowhere"  # noqa: PTH115
    assert os.readlink(workspace / "bin" / "all") == ".."  # noqa: PTH115


def test_a_symbolic_link_in_the_way_is_replaced_and_not_followed(sessions, workspace, tmp_path):
    files = record(sessions) / "changes"
    files.mkdir(parents=True)
    (files / "a.txt").write_text("new")
    outside = tmp_path / "outside.txt"
    outside.write_text("outside")
    (workspace / "a.txt").symlink_to(outside)
    play(sessions, workspace)
    assert (outside.read_text(), (workspace / "a.txt").read_text()) == ("outside", "new")


@pytest.mark.parametrize(
    "deleted",
    [
        pytest.param("../outside/kept", id="above"),
        pytest.param("link/kept", id="through a link"),
        pytest.param("/etc/hosts", id="absolute"),
        pytest.param(".", id="the workspace itself"),
    ],
)
def test_no_path_leads_out_of_the_workspace(sessions, workspace, tmp_path, deleted):
    (record(sessions) / "workspace.json").write_text(json.dumps({"deleted": [deleted]}))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "kept").touch()
    (workspace / "link").symlink_to(tmp_path / "outside")
    assert trouble_of(play(sessions, workspace)) == Trouble(
        kind="runner-crash",
        message=f"exited with code 65: the recording cannot be played: {deleted} leads out of the workspace",
    )
    assert (tmp_path / "outside" / "kept").exists()


def test_a_session_that_was_not_kept_whole_is_not_played(sessions, workspace):
    (record(sessions) / "workspace.json").write_text('{"complete": false}')
    trouble = trouble_of(play(sessions, workspace))
    assert trouble is not None
    assert trouble.message.endswith("the recording lacks files that the session changed")


@pytest.mark.parametrize(
    ("recorded", "asked"),
    [
        pytest.param("core/greets/claude/repeat-2", "core/greets/claude/repeat-2", id="the very one"),
        pytest.param("core/greets/codex/repeat-1", "core/greets/claude/repeat-1", id="the only runner's"),
        pytest.param("core/greets/claude/repeat-1", "core/greets/claude/repeat-7", id="the first repetition's"),
    ],
)
def test_the_recording_that_fits_is_played(sessions, workspace, recorded, asked):
    record(sessions, recorded)
    assert transcript_of(play(sessions, workspace, asked)).session_id == "s-1"


def test_of_several_sessions_the_last_is_played_since_it_decided(sessions, workspace):
    for session in ("", "/session-9", "/session-10"):
        record(sessions, f"core/greets/claude/repeat-1{session}", session_id=f"recorded{session}")
    assert transcript_of(play(sessions, workspace)).session_id == "recorded/session-10"


def test_without_a_recording_the_folder_looked_for_is_named(sessions, workspace):
    record(sessions, "core/greets/codex/repeat-1")
    record(sessions, "core/greets/gemini/repeat-1")
    assert trouble_of(play(sessions, workspace)) == Trouble(
        kind="collection", message=f"no recorded session in {sessions}/core/greets/claude/repeat-1"
    )


def test_a_runner_without_a_folder_of_recordings_is_an_error(workspace):
    assert trouble_of(play("", workspace)) == Trouble(
        kind="collection", message="no folder of recorded sessions is set (agent.sessions)"
    )


OTHER_PROMPT = "recorded with another prompt than the case has now; run the case again, or record it again"


def test_a_recording_of_another_prompt_is_not_played(sessions, workspace):
    folder = record(sessions, prompt="Do something else.")
    (folder / "changes").mkdir()
    (folder / "changes" / "a.txt").write_text("done")
    capture = play(sessions, workspace)
    assert trouble_of(capture) == Trouble(
        kind="collection", message=f"{OTHER_PROMPT}: the recording is core/greets/claude/repeat-1"
    )
    assert (transcript_of(capture), list(workspace.iterdir())) == (Transcript(), [])


@pytest.mark.parametrize(
    ("recorded", "now", "plays"),
    [
        pytest.param("write f", "delete f", False, id="another prompt"),
        pytest.param("write f", "write f\n", False, id="a line end more"),
        pytest.param("écrire\u2028\ud800", "écrire\u2028\ud800", True, id="any characters"),
        pytest.param("", "write f", True, id="the recording has no prompt"),
        pytest.param("log in with ***", "log in with hunter22", True, id="a secret"),
        pytest.param("*** and *** again", "hunter22 and hunter\n22 again", True, id="a secret at the beginning, twice"),
        pytest.param("log in with *** now", "log out with hunter22 now", False, id="a secret, other words before it"),
        pytest.param("log in with *** now", "log in with hunter22 then", False, id="a secret, other words after it"),
        pytest.param("a *** b *** c", "a x c", False, id="a secret, words missing"),
        pytest.param("do ***it***", "do ***it***", True, id="bold text"),
        pytest.param("read /recorded/ws/a, /recorded/ws/b", "read /my/ws/a, /my/ws/b", True, id="the directory"),
        pytest.param(
            "read /recorded/ws/a, /recorded/ws/b", "read /my/ws/a, /my/ws/c", False, id="the directory, not b"
        ),
        pytest.param("read /recorded/ws/a, /recorded/ws/b", "read /my/ws/a, /your/ws/b", False, id="two directories"),
        pytest.param("read /recorded/ws/a", "read nothing /a", False, id="no directory"),
        pytest.param("read /recorded/ws/a", "read /my\nws/a", False, id="a directory on two lines"),
        pytest.param("see /home/a b/r/x, /home/a b/r/y", "see /repo/x, /repo/y", True, id="the repository"),
        pytest.param("see /home/a b/r/x, /home/a b/r/y", "see /repo/x, /repo/z", False, id="the repository, not y"),
        pytest.param("see x", "see /repo/x and delete it", False, id="the repository, more words"),
    ],
)
def test_only_a_recording_of_the_case_s_prompt_is_played(sessions, workspace, recorded, now, plays):
    record(sessions, prompt=recorded)
    capture = play(sessions, workspace, prompt=now, root=Path("/repo"))
    assert (capture.exit_code, OTHER_PROMPT in capture.stderr.tail(999)) == ((0, False) if plays else (66, True))


def exchange(prompt: str) -> SessionReport:
    return SessionReport(runner=RUNNER, prompt=prompt, cwd="/recorded/ws", final_output="Done.")


@pytest.mark.parametrize(
    ("recorded", "turns", "plays"),
    [
        pytest.param(["Hi", "@[User]:\nHi\n\n@[Assistant]:\nDone.\n\n@[User]:\nBye"], ["Hi", "Bye"], True, id="same"),
        pytest.param(["Hi", "Bye"], ["Hi", " Bye "], True, id="a turn of which the agent got only this turn"),
        pytest.param(["Hi"], ["Hi", "Bye"], True, id="ended early"),
        pytest.param(["Hi", "@[User]:\nHi\n\n@[User]:\nBye"], ["Hi", "Goodbye"], False, id="another second turn"),
        pytest.param(["Hi", "@[User]:\nHi\n\n@[User]:\nGoodbye"], ["Hi", "bye"], False, id="a part of a turn"),
        pytest.param(["Hi", "Bye"], ["Hi"], False, id="a turn less"),
        pytest.param(["Hello"], ["Hi"], False, id="another first turn"),
        pytest.param(["Hi", "@[User]:\nHi\n\n@[Assistant]:\nDone."], ["Hi", " "], True, id="an empty turn"),
        pytest.param(["Hi", "Bye"], [], True, id="a case with one turn made of a conversation"),
    ],
)
def test_a_conversation_is_played_if_all_of_its_turns_are_those_of_the_case(
    sessions, workspace, recorded: Sequence[str], turns: Sequence[str], plays
):
    record(sessions, prompt=recorded[0], exchanges=tuple(map(exchange, recorded)))
    capture = play(sessions, workspace, prompt="Hi", turns=tuple(turns))
    assert (capture.exit_code, OTHER_PROMPT in capture.stderr.tail(999)) == ((0, False) if plays else (66, True))


def test_a_report_without_a_prompt_is_played(sessions, workspace):
    file = record(sessions) / "report.json"
    report = json.loads(file.read_text())
    for prompt in ({}, {"prompt": None}, {"prompt": 7}):
        file.write_text(json.dumps({key: value for key, value in report.items() if key != "prompt"} | prompt))
        assert play(sessions, workspace, prompt="delete f").exit_code == 0


def test_recorded_trouble_is_played_too(sessions, workspace):
    trouble = Trouble(kind="rate-limit", message="429", retry_after=2.0)
    record(sessions, trouble=trouble)
    assert trouble_of(play(sessions, workspace)) == trouble


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("{", "Expecting property name", id="torn"),
        pytest.param("[]", "report.json is not a session report", id="another shape"),
    ],
)
def test_a_report_that_cannot_be_read_is_a_crash_with_its_reason(sessions, workspace, content, message):
    (record(sessions) / "report.json").write_text(content)
    trouble = trouble_of(play(sessions, workspace))
    assert trouble is not None
    assert trouble.kind == "runner-crash"
    assert message in trouble.message


def test_a_long_recording_is_printed_over_many_lines(sessions, workspace):
    record(sessions, events=tuple(FINAL for _ in range(2000)))
    capture = play(sessions, workspace)
    assert max(map(len, capture.stdout.lines())) < 1000
    assert len(transcript_of(capture).events) == 2000


def test_a_killed_player_has_printed_nothing():
    capture = capture_of(ending=Ending.SIGNALLED, exit_code=-9)
    assert transcript_of(capture) == Transcript()
    assert trouble_of(capture) == Trouble(kind="runner-crash", message="ended by SIGKILL")
