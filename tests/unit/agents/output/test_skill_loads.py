"""What loads a skill: a tool that names it, its installed SKILL.md read by a tool or a command; nothing else does."""

from __future__ import annotations

import pytest

from skillgym_action.agents.output.skill_loads import LoadWatch, loaded_skill
from skillgym_action.model.session_report import Command, FileRead, Message, SkillSignal, ToolCall, ToolResult

CWD = "/tmp/w"
SIGNAL = SkillSignal(skill="pdf", signal="Skill tool")
CALL, RESULT = ToolCall(tool="Skill"), ToolResult(output="# Steps")


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(SIGNAL, id="tool"),
        pytest.param(SkillSignal(skill="tools:pdf", signal="Skill tool"), id="tool, of a plugin"),
        pytest.param(FileRead(path=f"{CWD}/.claude/skills/pdf/SKILL.md"), id="absolute path"),
        pytest.param(FileRead(path=".agents/skills/pdf/SKILL.md"), id="relative path"),
        pytest.param(Command(command="cat .agents/skills/pdf/SKILL.md", exit_code=0), id="command"),
        pytest.param(Command(command=f"sed -n 1,80p {CWD}/.agents/skills/pdf/SKILL.md", exit_code=0), id="sed"),
        pytest.param(Command(command="bash -lc 'cd .agents/skills/pdf && cat SKILL.md'", exit_code=0), id="in a shell"),
    ],
)
def test_a_load(event):
    assert loaded_skill(event, ("pdf", "other"), CWD) == "pdf"


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(SkillSignal(skill="docx", signal="Skill tool"), id="another skill"),
        pytest.param(SkillSignal(skill="pdf:docx", signal="Skill tool"), id="another skill of a plugin called so"),
        pytest.param(Message(role="assistant", text="I use the pdf skill"), id="a mention"),
        pytest.param(Command(command="ls .agents/skills/pdf", exit_code=0), id="a listing"),
        pytest.param(Command(command="ls .agents/skills/pdf/SKILL.md", exit_code=0), id="a listing of the file"),
        pytest.param(Command(command="cat .agents/skills/pdf/SKILL.md", exit_code=1), id="a command that failed"),
        pytest.param(FileRead(path=".agents/skills/pdf/reference.md"), id="another file of the skill"),
        pytest.param(FileRead(path="docs/pdf/SKILL.md"), id="a file of that name that is not installed"),
        pytest.param(FileRead(path="/elsewhere/.agents/skills/pdf/SKILL.md"), id="the skill of another workspace"),
        pytest.param(ToolCall(tool="Skill", args={"skill": "pdf"}), id="a call of which nothing came"),
    ],
)
def test_no_load(event):
    assert loaded_skill(event, ("pdf",), CWD) is None


def test_another_skill_that_loads_first_changes_nothing():
    events = (SkillSignal(skill="docx", signal="Skill tool"), RESULT, SIGNAL)
    assert [loaded_skill(event, ("pdf",), CWD) for event in events] == [None, None, "pdf"]


# --- while the session runs -------------------------------------------------------------------------


def watched(*events):
    """What the watch says after each of the events."""
    watch, kept, said = LoadWatch(("pdf",), CWD), [], []
    for event in events:
        kept.append(event)
        said.append(watch.loaded(kept))
    return said


def test_a_load_counts_once_its_call_has_a_result():
    assert watched(CALL, SIGNAL, RESULT) == [None, None, "pdf"]


def test_a_load_without_a_call_counts_at_once():
    assert watched(Message(role="user", text="Go."), SIGNAL) == [None, "pdf"]


def test_calls_that_were_made_together_all_have_to_end():
    assert watched(ToolCall(tool="Bash"), CALL, SIGNAL, RESULT, RESULT) == [None, None, None, None, "pdf"]


def test_a_call_that_fails_loads_nothing():
    watch, kept = LoadWatch(("pdf",), CWD), [CALL, SIGNAL]
    assert watch.loaded(kept) is None
    kept[1] = None  # as logs of events do with the effects of failed calls
    kept.append(RESULT)
    assert watch.loaded(kept) is None


def test_a_command_that_turns_out_to_have_failed_loads_nothing():
    read = "cat .agents/skills/pdf/SKILL.md"
    watch, kept = LoadWatch(("pdf",), CWD), [CALL, Command(command=read)]
    assert watch.loaded(kept) is None
    kept[1] = Command(command=read, exit_code=1)
    kept.append(RESULT)
    assert watch.loaded(kept) is None
