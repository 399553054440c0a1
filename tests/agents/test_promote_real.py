"""``promote`` with the transcripts that the pinned CLIs of Claude Code and Codex write for sessions in a checkout."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from agent_clis import ALWAYS, more_agents
from agent_desk import Desk
from folders import tree
from model_script import Read, Say, Shell, Write
from model_server import ModelServer
from scratch import committed, git_in, skillgym, written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.agents
PATCH = """\
apply_patch <<'EOF'
*** Begin Patch
*** Update File: notes.md
@@
-note
+better note
+second
*** Add File: src/new.js
+export const a = 1;
*** Delete File: old.md
*** End Patch
EOF"""
PROMPT = "Make the notes better."
STEPS = {
    "claude-code": (
        Read("notes.md"),
        Write("notes.md", "better note\nsecond\n"),
        Write("src/new.js", "export const a = 1;\n"),
        Shell("rm old.md; echo x > by-shell.txt; npm test"),
        Shell("npm test"),
        Say("Done."),
    ),
    "codex": (Shell(PATCH), Shell("echo x > by-shell.txt"), Shell("npm test"), Say("Done.")),
}
PACKAGE = '{"name": "shop", "private": true, "scripts": {"test": "test -f tax.js"}}\n'


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(params=[pytest.param(agent, marks=() if agent in ALWAYS else more_agents) for agent in STEPS])
def desk(request: pytest.FixtureRequest, tmp_path: Path, models: ModelServer) -> Desk:
    """The desk of an agent that has had a session in a checkout."""
    made = Desk(request.param, tmp_path, models)
    git_in(written(made.workspace, {"old.md": "old\n", "package.json": PACKAGE}), "init", "-q", "-b", "main")
    committed(made.workspace)
    session = made.session(models.script(*STEPS[request.param]), prompt=PROMPT)
    _, trouble = made.report(session)
    assert trouble is None
    return made


def promoted(desk: Desk, *options: str) -> tuple[int, list[str]]:
    (transcript,) = desk.collected(desk.adapter.invocation(desk.session("http://127.0.0.1")))
    ran = skillgym("promote", transcript, "--id", "notes", *options, cwd=desk.workspace, HOME=str(desk.home))
    assert not ran.err, ran.err
    return ran.code, ran.out.splitlines()


def test_the_edits_of_a_real_session_are_its_recording(desk):
    code, lines = promoted(desk, "--expect", "file:src/new.js contains 'a = 2'")
    assert code == 0
    assert "fails: file:src/new.js contains 'a = 2': src/new.js does not contain 'a = 2'" in lines
    assert "fails (draft): test:npm test passes" in "\n".join(lines)
    assert "passes (draft): diff:notes.md" in lines
    (recording,) = (desk.workspace / "promoted").glob("*.recordings/notes/notes/*/repeat-1")
    assert (recording / "changes/notes.md").read_text() == "better note\nsecond\n"
    assert (recording / "changes/src/new.js").read_text() == "export const a = 1;\n"
    assert not (recording / "changes/by-shell.txt").exists()
    deleted = ["old.md"] if desk.agent == "codex" else []
    assert json.loads((recording / "workspace.json").read_text())["deleted"] == deleted
    assert (desk.workspace / "promoted/notes.bench.json.template/notes.md").read_text() == "note\n"
    made = json.loads((desk.workspace / "promoted/notes.bench.json").read_text())["cases"][0]
    assert made["prompt"] == PROMPT
    assert made["x-promoted"]["commit"] == git_in(desk.workspace, "rev-parse", "HEAD").strip()
    assert str(desk.workspace) not in (recording / "report.json").read_text()
    assert skillgym("check", "promoted", cwd=desk.workspace).code == 0


def test_what_its_commands_wrote_is_taken_from_the_checkout(desk):
    code, lines = promoted(desk, "--worktree")
    assert code == 0, lines
    (recording,) = (desk.workspace / "promoted").glob("*.recordings/notes/notes/*/repeat-1")
    assert sorted(tree(recording / "changes")) == ["by-shell.txt", "notes.md", "src", "src/new.js"]
    assert json.loads((recording / "workspace.json").read_text())["deleted"] == ["old.md"]
