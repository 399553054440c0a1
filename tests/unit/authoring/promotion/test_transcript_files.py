"""Transcripts that the real CLIs wrote (``tests/data/transcripts``), and lines as other versions write them."""

from __future__ import annotations

import io
import json

import pytest

from paths import CAPTURES, DATA
from sessions import session_with
from skillgym_action.authoring.promotion.claude_code import claude_code_session, is_of_claude_code
from skillgym_action.authoring.promotion.codex import codex_session, is_of_codex
from skillgym_action.authoring.promotion.local_session import FileEdit, Hunk, TranscriptLines
from skillgym_action.model.errors import UsageError
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.session_report import Command


def lines_of(text: str) -> TranscriptLines:
    return TranscriptLines(io.BytesIO(text.encode()), "a.jsonl")


def claude_code(text: str):
    source = lines_of(text)
    return claude_code_session(source, source, session_with(AgentConfig(type="claude-code")))


def codex(text: str):
    source = lines_of(text)
    return codex_session(source, source)


def transcript(name: str) -> str:
    return (DATA / "transcripts" / f"{name}.jsonl").read_text()


def jsonl(*lines: dict) -> str:
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def said(content: object, **more: object) -> dict:
    return {"type": "user", "sessionId": "s", "cwd": "/w", "message": {"role": "user", "content": content}, **more}


def result(**reported: object) -> dict:
    return said([{"type": "tool_result", "tool_use_id": "t", "content": "ok"}], toolUseResult=reported)


def test_a_session_of_claude_code():
    found = claude_code(transcript("claude-code"))
    assert (found.cwd, found.branch, found.commit) == ("/home/dev/shop", "main", None)
    assert (found.version, found.model) == ("2.1.197", "claude-opus-4-8")
    assert found.began == "2026-11-23T04:07:29.681Z"
    assert found.prompts == ("Please make it better.",)
    assert found.edits == (
        FileEdit(path="a/made.txt", content="made\n"),
        FileEdit(path="notes.md", before="note\n", content="better note\nsecond\n"),
    )
    assert [(event.command, event.exit_code) for event in found.events if isinstance(event, Command)] == [
        ("npm test", 254)
    ]
    assert found.skipped == ()


def test_a_session_of_codex():
    found = codex(transcript("codex"))
    assert (found.cwd, found.branch) == ("/home/dev/shop", "main")
    assert found.commit == "f516d7cfb74de10aae543db305e877a71dfa7526"
    assert (found.version, found.model) == ("0.169.0", "gpt-5.1-codex")
    assert found.prompts == ("Please make it better.",)
    assert found.edits == (
        FileEdit(path="/home/dev/shop/src/new.js", content="export const a = 1;\n"),
        FileEdit(path="/home/dev/shop/notes.md", hunks=(Hunk(line=1, lines=("-note", "+better note", "+second")),)),
    )
    commands = [(event.command, event.exit_code) for event in found.events if isinstance(event, Command)]
    assert commands[0] == ("cat 'notes.md'", 0)
    assert commands[-1] == ("npm test", 254)


@pytest.mark.parametrize("scenario", ["shell", "fail", "skill", "err401"])
def test_captures_of_codex_are_read(scenario):
    found = codex((CAPTURES / "codex" / scenario / "session.jsonl").read_text())
    assert found.prompts
    assert found.cwd == "/workspace"
    assert found.skipped == ()


def test_agents_are_told_apart():
    first = {name: list(lines_of(transcript(name))) for name in ("claude-code", "codex")}
    assert is_of_claude_code(first["claude-code"])
    assert not is_of_claude_code(first["codex"])
    assert is_of_codex(first["codex"])
    assert not is_of_codex(first["claude-code"])
    assert not is_of_claude_code(lines_of('{"prompt": "x"}\n'))


@pytest.mark.parametrize(
    "line",
    [
        said("<command-name>/clear</command-name>"),
        said("<local-command-stdout>x</local-command-stdout>"),
        said("Caveat: The messages below were generated"),
        said([{"type": "text", "text": "[Request interrupted by user]"}]),
        said("This session is being continued from a previous conversation that ran out of context."),
        said("Base directory for this skill: /x", isMeta=True),
        said("a summary", isCompactSummary=True),
        said("of a sub-agent", isSidechain=True),
        said([{"type": "tool_result", "content": "x"}]),
    ],
)
def test_what_claude_code_writes_in_the_user_s_name_is_no_prompt(line):
    found = claude_code(jsonl(line, said("Do it."), said([{"type": "text", "text": "And more."}])))
    assert found.prompts == ("Do it.", "And more.")


def test_an_edit_of_claude_code_with_its_original_is_applied_to_it():
    reported = {"filePath": "/w/a.js", "oldString": "b", "newString": "c", "originalFile": "a b b\n"}
    assert claude_code(jsonl(said("x"), result(**reported))).edits == (
        FileEdit(path="/w/a.js", before="a b b\n", content="a c b\n"),
    )
    assert claude_code(jsonl(said("x"), result(**reported, replaceAll=True))).edits == (
        FileEdit(path="/w/a.js", before="a b b\n", content="a c c\n"),
    )


def test_an_edit_of_claude_code_without_its_original_has_the_changed_lines():
    patch = [{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": ["-b", "+c"]}]
    assert claude_code(jsonl(said("x"), result(filePath="/w/a.js", structuredPatch=patch))).edits == (
        FileEdit(path="/w/a.js", hunks=(Hunk(line=3, lines=("-b", "+c")),)),
    )


def test_a_failed_edit_of_claude_code_is_none():
    failed = said([{"type": "tool_result", "content": "x", "is_error": True}], toolUseResult="Error: no such file")
    assert claude_code(jsonl(said("x"), failed)).edits == ()


def test_an_older_rollout_of_codex_is_read():
    found = codex(
        jsonl(
            {"type": "session_meta", "payload": {"id": "s", "cwd": "/w", "git": {}}},
            {"type": "event_msg", "payload": {"type": "user_message", "message": "Do it."}},
            {
                "type": "response_item",
                "payload": {
                    "type": "function_call",
                    "name": "shell",
                    "arguments": '{"command": ["bash", "-lc", "npm test"]}',
                    "call_id": "c",
                },
            },
            {
                "type": "response_item",
                "payload": {
                    "type": "function_call_output",
                    "call_id": "c",
                    "output": '{"output": "x", "metadata": {"exit_code": 1}}',
                },
            },
            {
                "type": "event_msg",
                "payload": {
                    "type": "patch_apply_end",
                    "call_id": "p",
                    "success": True,
                    "changes": {"/w/a": {"add": {"content": "x\n"}}, "/w/b": {"delete": {"content": "y"}}},
                },
            },
            {
                "type": "event_msg",
                "payload": {
                    "type": "patch_apply_end",
                    "success": False,
                    "changes": {"/w/c": {"add": {"content": "x"}}},
                },
            },
        )
    )
    assert found.prompts == ("Do it.",)
    assert found.edits == (
        FileEdit(path="/w/a", content="x\n"),
        FileEdit(path="/w/b", before="y", deleted=True),
    )
    assert [(event.command, event.exit_code) for event in found.events if isinstance(event, Command)] == [
        ("npm test", 1)
    ]


def test_a_rollout_without_marked_messages_has_those_that_are_not_the_cli_s():
    def message(text: str) -> dict:
        content = [{"type": "input_text", "text": text}]
        return {"type": "response_item", "payload": {"type": "message", "role": "user", "content": content}}

    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}
    found = codex(
        jsonl(meta, message("<environment_context>x"), message("# AGENTS.md instructions"), message("Do it."))
    )
    assert found.prompts == ("Do it.",)


def test_fields_of_any_type_are_survived():
    odd = [None, 1, "x", [], {}, [1], [{}], {"a": 1}]
    for value in odd:
        fields = ("message", "toolUseResult", "cwd", "timestamp", "isSidechain")
        assert claude_code(jsonl(said("x"), {"type": "user", **dict.fromkeys(fields, value)})).prompts == ("x",)
        for kind in ("session_meta", "turn_context", "response_item", "event_msg"):
            codex(jsonl({"type": kind, "payload": value}))
        for kind in ("item_completed", "patch_apply_end", "exec_command_end", "user_message"):
            names = ("item", "changes", "message", "call_id", "success")
            codex(jsonl({"type": "event_msg", "payload": {"type": kind, **dict.fromkeys(names, value)}}))
            codex(jsonl({"type": "event_msg", "payload": {"type": kind, "changes": {"/w/a": value}}}))
        for kind in ("message", "function_call", "function_call_output", "reasoning", "local_shell_call"):
            names = ("content", "arguments", "output", "summary", "name", "action", "role")
            codex(jsonl({"type": "response_item", "payload": {"type": kind, **dict.fromkeys(names, value)}}))


def test_an_edit_that_makes_a_giant_of_a_small_file_is_refused():
    edit = {"filePath": "/w/a", "originalFile": "a" * 100_000, "oldString": "a", "newString": "b" * 100_000}
    assert len(claude_code(jsonl(said("x"), result(**edit))).edits[0].content or "") == 199_999
    with pytest.raises(UsageError, match="an edit makes /w/a larger than 20 MiB; write the case by hand"):
        claude_code(jsonl(said("x"), result(**edit, replaceAll=True)))


def test_many_edits_that_make_large_files_are_refused():
    edit = {"filePath": "/w/a", "originalFile": "a" * 1_000, "oldString": "a", "newString": "b" * 20_000}
    some = [result(**edit, replaceAll=True)] * 20
    with pytest.raises(UsageError, match=r"a\.jsonl: its edits make more than 256 MiB; write the case by hand"):
        claude_code(jsonl(said("x"), *some))
