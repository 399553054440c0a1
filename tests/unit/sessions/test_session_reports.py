from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions import SESSION, capture_of, session_with
from skillgym_action.agents.output.file_reads import files_read
from skillgym_action.agents.output.prices import cost_usd
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import (
    AgentRef,
    Command,
    Cost,
    FileRead,
    FileWrite,
    Message,
    RunnerRef,
    SessionReport,
    SkillDetection,
    SkillSignal,
    Transcript,
    Trouble,
    Usage,
)
from skillgym_action.sessions.session_reports import normalise

RUNNER = RunnerRef(id="claude", path_key="claude", agent=AgentRef(type="claude-code"))
SKILL_FILE = ".claude/skills/greeter/SKILL.md"


def report(*events: Any, agent: AgentConfig | None = None, **transcript: Any) -> SessionReport:
    return normalise(
        Transcript(events=events, **transcript),
        capture_of(exit_code=3),
        session_with(agent),
        RUNNER,
        started_at="2025-01-02T03:04:05Z",
        ended_at="2025-01-02T03:04:07Z",
    )


def says(text: str, phase: Any = "commentary") -> Message:
    return Message(role="assistant", phase=phase, text=text)


# --- what is reused ---------------------------------------------------------------------------


def test_the_report_has_values_of_session_capture_and_transcript():
    made = report(session_id="s1", turns=2, version="2.1", trouble=Trouble(kind="auth", message="no"))
    assert (made.runner, made.prompt, made.cwd) == (RUNNER, "Please do the task.", "/workspace")
    assert (made.session_id, made.turns, made.version, made.exit_code) == ("s1", 2, "2.1", 3)
    assert (made.started_at, made.ended_at, made.duration_ms) == ("2025-01-02T03:04:05Z", "2025-01-02T03:04:07Z", 1500)
    assert made.trouble == Trouble(kind="auth", message="no")


def test_the_prompt_is_the_first_event():
    assert report(says("Hi.")).events == (Message(role="user", text="Please do the task."), says("Hi."))


def test_a_prompt_that_the_agent_printed_is_not_repeated():
    printed = Message(role="user", text="Please do the task.")
    assert report(printed, says("Hi.")).events == (printed, says("Hi."))


@pytest.mark.parametrize(
    ("reported", "output"),
    [
        pytest.param("Result.", "Result.", id="what the agent calls its result"),
        pytest.param("", "Last.", id="else its last words, thinking left out"),
    ],
)
def test_final_output(reported, output):
    assert report(says("First."), says("Last."), says("hm", "thinking"), final_output=reported).final_output == output


# --- paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        pytest.param("notes.md", "/workspace/notes.md", id="relative"),
        pytest.param("./a/../notes.md", "/workspace/notes.md", id="with detours"),
        pytest.param("/etc/hosts", "/etc/hosts", id="absolute"),
        pytest.param("../out", "/out", id="above the workspace"),
        pytest.param("~/.claude/x", "/agent-home/.claude/x", id="below the session's home"),
    ],
)
def test_paths_are_absolute_and_normalised(path, absolute):
    _, read, written = report(FileRead(path=path), FileWrite(path=path)).events
    assert (read, written) == (FileRead(path=absolute), FileWrite(path=absolute))


def test_reads_are_observed_once_each_by_tool_and_by_command():
    made = report(
        FileRead(path="a.md"),
        Command(command="cat a.md b.md", exit_code=0),
        Command(command="cat gone.md", exit_code=1),
    )
    assert made.files.observed_reads == ("/workspace/a.md", "/workspace/b.md")


@pytest.mark.parametrize(
    ("command", "files"),
    [
        pytest.param("ls -la", [], id="no reader"),
        pytest.param("echo cat a.md", [], id="a reader's name as an argument"),
        pytest.param("cat a.md b.md", ["a.md", "b.md"], id="cat"),
        pytest.param("cat -n -- -odd", ["-odd"], id="end of options"),
        pytest.param("/bin/cat a.md | head -5", ["a.md"], id="pipe"),
        pytest.param("head -n 20 a.md; tail -5 b.md", ["a.md", "b.md"], id="head and tail"),
        pytest.param("sed -n '1,20p' a.md", ["a.md"], id="sed script first"),
        pytest.param("sed -n -e 1p a.md", ["a.md"], id="sed script by option"),
        pytest.param("awk -F: '{print $1}' a.md", ["a.md"], id="awk"),
        pytest.param("grep -A 3 -i name a.md", ["a.md"], id="grep pattern first"),
        pytest.param("grep -e name a.md b.md", ["a.md", "b.md"], id="grep pattern by option"),
        pytest.param("grep -rn name src", [], id="a folder that is searched"),
        pytest.param("grep ';' a.md", ["a.md"], id="an operator in quotes"),
        pytest.param("less 'a b.md'", ["a b.md"], id="quoted"),
        pytest.param(r"cat a\ b.md \"c.md", ["a b.md", '"c.md'], id="escaped"),
        pytest.param("bat -l md a.md", ["a.md"], id="bat"),
        pytest.param("bash -lc 'cat a.md && cat b.md'", ["a.md", "b.md"], id="a wrapper"),
        pytest.param('/usr/bin/env bash -c "cat \\"a b.md\\""', ["a b.md"], id="a wrapper behind env"),
        pytest.param("cd docs && cat a.md", ["docs/a.md"], id="another folder"),
        pytest.param("LANG=C cat a.md 2>/dev/null", ["a.md"], id="assignment and redirection"),
        pytest.param("cat a.md > b.md", ["a.md"], id="a target is not read"),
        pytest.param("wc -l < a.md", ["a.md"], id="redirected input"),
        pytest.param("cat <<'EOF' > x\ncat secret.md\nEOF\ncat a.md", ["a.md"], id="a here document is text"),
        pytest.param("cat $FILE *.md `ls` a.md", ["a.md"], id="what the shell would fill in"),
        pytest.param("cat - a.md", ["a.md"], id="stdin"),
        pytest.param("cat 'unclosed a.md", ["unclosed", "a.md"], id="an unclosed quote"),
    ],
)
def test_files_a_command_reads(command, files):
    assert list(files_read(command)) == files


@given(st.text(alphabet="cat sedbh-\\'\"$`|&;<>()\n\t#/.=", max_size=80))
def test_no_command_makes_it_raise(command):
    files_read(command)


@pytest.mark.parametrize(
    ("piece", "files"),
    [("'", ()), ('"', ()), ('\\"', ()), ("<<A\n", ()), ("cat a;", ("a",)), ("(", ()), ("bash -c '", ())],
)
def test_only_the_beginning_of_a_long_command_is_parsed(piece, files):
    assert files_read(piece * (300_000 // len(piece)) + "\nA\ncat late.md") == files


# --- skills -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "confidence", "evidence"),
    [
        pytest.param(SkillSignal(skill="greeter", signal="Skill tool"), "explicit", "loaded: Skill tool", id="tool"),
        pytest.param(FileRead(path=SKILL_FILE), "strong", f"read: {SKILL_FILE}", id="SKILL.md by a tool"),
        pytest.param(
            Command(command=f"bash -lc 'cat {SKILL_FILE}'"),
            "strong",
            f"command: bash -lc 'cat {SKILL_FILE}'",
            id="SKILL.md by a command",
        ),
        pytest.param(
            says("I'll use the `greeter` skill."), "strong", "said: I'll use the `greeter` skill", id="says it uses it"
        ),
        pytest.param(
            FileRead(path=".agents/skills/greeter/ref/a.md"),
            "medium",
            "read: .agents/skills/greeter/ref/a.md",
            id="another file of the folder",
        ),
        pytest.param(says("There is a greeter skill."), "weak", "mentioned: greeter skill", id="mentioned"),
        pytest.param(
            says("I am not using the greeter skill."), "weak", "mentioned: greeter skill", id="says it does not use it"
        ),
        pytest.param(
            says("I could be using the greeter skill.", "thinking"), "weak", "mentioned: greeter skill", id="thought of"
        ),
    ],
)
def test_a_skill_is_detected(event, confidence, evidence):
    detected = SkillDetection(skill="greeter", confidence=confidence, evidence=(evidence,))
    assert report(event, skills=("greeter",)).detected_skills == (detected,)


@pytest.mark.parametrize(
    "event",
    [
        pytest.param(says("Let me run the tests."), id="a word that is a skill's name too"),
        pytest.param(FileRead(path="src/skills/greeter/main.py"), id="a source folder called skills"),
        pytest.param(FileRead(path="SKILL.md"), id="a SKILL.md in no folder"),
        pytest.param(Command(command=f"cat {SKILL_FILE}", exit_code=1), id="a read that failed"),
        pytest.param(Message(role="user", text="Use the greeter skill."), id="the user's own words"),
    ],
)
def test_no_skill_is_detected(event):
    assert report(event, skills=("greeter", "run")).detected_skills == ()


def test_the_strongest_sign_decides_and_all_are_evidence():
    made = report(
        says("The greeter skill fits."), FileRead(path=SKILL_FILE), SkillSignal(skill="greeter", signal="tool")
    )
    assert made.detected_skills == (
        SkillDetection(
            skill="greeter",
            confidence="explicit",
            evidence=("loaded: tool", f"read: {SKILL_FILE}", "mentioned: greeter skill"),
        ),
    )
    assert made.files.observed_skill_reads == (f"/workspace/{SKILL_FILE}",)


def test_names_above_the_workspace_do_not_indicate_skills():
    session = session_with(workspace=SESSION.workspace.parent / "x" / ".data" / "skills" / "neutral")
    made = normalise(
        Transcript(events=(FileRead(path="a.md"),)), capture_of(), session, RUNNER, started_at=None, ended_at=None
    )
    assert made.detected_skills == ()


# --- usage and cost ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "total"),
    [
        pytest.param(
            Usage(input_tokens=100, output_tokens=10, reasoning_tokens=5, cache_tokens=40), 75, id="all four are known"
        ),
        pytest.param(Usage(input_tokens=100, output_tokens=10), 110, id="no reasoning, no cache"),
        pytest.param(Usage(input_tokens=100), None, id="half known is unknown"),
        pytest.param(Usage(total_tokens=7), 7, id="only a total is reported"),
    ],
)
def test_total_tokens(usage, total):
    assert report(usage=usage).usage.total_tokens == total


def test_characters_are_counted_by_role():
    usage = report(says("12345"), says("123", "thinking"), says("1", "final")).usage
    assert (usage.input_chars, usage.output_chars, usage.reasoning_chars) == (len("Please do the task."), 6, 3)


KNOWN = Usage(input_tokens=1_000_000, output_tokens=100_000, cache_tokens=400_000)


@pytest.mark.parametrize(
    ("transcript", "cost"),
    [
        pytest.param(
            {"cost": Cost(usd=0.5, source="reported"), "usage": KNOWN, "model": "gpt-4o"},
            Cost(usd=0.5, source="reported"),
            id="reported wins",
        ),
        pytest.param({"usage": KNOWN, "model": "gpt-4o"}, Cost(usd=3.0, source="computed"), id="computed"),
        pytest.param({"usage": KNOWN, "model": "unknown-model"}, Cost(), id="unknown model"),
        pytest.param({"usage": KNOWN}, Cost(), id="no model"),
        pytest.param({"model": "gpt-4o"}, Cost(), id="unknown tokens"),
    ],
)
def test_cost(transcript, cost):
    assert report(**transcript).cost == cost


def test_the_runner_s_model_stands_in_where_the_agent_names_none():
    made = report(usage=KNOWN, agent=AgentConfig(type="claude-code", model="gpt-4o"))
    assert (made.model, made.cost.usd) == ("gpt-4o", 3.0)


@pytest.mark.parametrize("model", ["gpt-4o", "openai/gpt-4o"])
def test_a_model_may_name_its_provider(model):
    assert cost_usd(model, KNOWN) == 3.0


def test_reasoning_is_priced_as_output():
    assert cost_usd("gpt-4o", Usage(input_tokens=0, output_tokens=50_000, reasoning_tokens=50_000)) == 1.0


@given(st.text(max_size=30), *[st.none() | st.integers(0, 10**15)] * 3)
def test_no_model_and_no_number_makes_a_price_raise(model, tokens_in, tokens_out, cached):
    cost_usd(model, Usage(input_tokens=tokens_in, output_tokens=tokens_out, cache_tokens=cached))


@pytest.mark.slow
def test_prices_need_no_network():
    script = """if True:
        import sys
        from skillgym_action.agents.output.prices import cost_usd
        from skillgym_action.model.session_report import Usage
        def refuse(event, args):
            if event.startswith("socket."):
                raise RuntimeError(event)
        sys.addaudithook(refuse)
        print(cost_usd("gpt-4o", Usage(input_tokens=1000000, output_tokens=0)))
    """
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "2.5\n"
