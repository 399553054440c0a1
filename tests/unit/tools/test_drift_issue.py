"""The issue about agents that have changed: its text; ``gh`` is a few lines of shell that note what they are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from markdown_it import MarkdownIt

from drift_issue import MOST_CHARACTERS, TITLE, issue_of
from paths import REPOSITORY
from table_rows import each_row

if TYPE_CHECKING:
    from pathlib import Path

SAME = {"package": "@openai/codex", "verified": "0.171.0", "version": "0.171.0", "differences": []}


def facts(*failed: dict[str, str], **agents: dict[str, Any]) -> dict[str, Any]:
    return {"agents": agents, "failed": [*failed]}


def text_of(*failed: dict[str, str], **agents: dict[str, Any]) -> str:
    found = issue_of(facts(*failed, **agents))
    assert found is not None
    return found


def test_no_difference_is_no_issue():
    assert issue_of(facts(codex=SAME, pi=SAME)) is None


def test_the_issue_names_the_versions_what_differs_and_the_tests_that_failed():
    changed = SAME | {
        "version": "0.180.0",
        "engines.node": ">=30",
        "deprecated": "moved to\n@openai/cli",
        "differences": ["- first request: model a", "+ first request: model b"],
    }
    failed = {"name": "test_a_shell_command[codex]", "message": "assert 1 == 2\n  in a line of its own"}
    assert text_of(failed, codex=changed, pi=SAME).partition("\n\n")[2] == (
        "## codex\n"
        "```diff\n"
        "- @openai/codex 0.171.0\n"
        "+ @openai/codex 0.180.0, needs Node.js >=30\n"
        "! deprecated: moved to @openai/cli\n"
        "- first request: model a\n"
        "+ first request: model b\n"
        "```\n"
        "\n"
        "## Tests that failed\n"
        "```\n"
        "test_a_shell_command[codex]\n"
        "  assert 1 == 2 in a line of its own\n"
        "```\n"
    )


@each_row(
    [
        ("another version", SAME | {"version": "0.172.0"}),
        ("other captures", SAME | {"differences": ["+ shell: x"]}),
        ("a package that npm does not have", {**SAME, "problem": "E404", "version": None}),
        ("a deprecated package", SAME | {"deprecated": "renamed"}),
    ]
)
def test_each_of_these_is_a_difference(said):
    assert "## codex\n" in text_of(codex=said)


def test_a_test_that_fails_is_one_although_no_version_is_new():
    assert "test_x" in text_of({"name": "test_x", "message": "no"}, codex=SAME)


HOSTILE = ("```\n@everyone see https://evil.example and #1", "````\n# heading", "<!--", "~~~\n", "a\r```\r@everyone")


@each_row((text, text) for text in HOSTILE)
def test_what_the_programs_of_others_say_stays_code(text):
    said = SAME | {"version": text, "differences": [text, f"+ {text}"], "problem": text, "package": text}
    body = text_of({"name": text, "message": text}, codex=said)
    kinds = {token.type for token in MarkdownIt().parse(body.partition("\n\n")[2])}
    assert kinds == {"heading_open", "inline", "heading_close", "fence"}


def test_the_name_of_an_agent_is_no_markdown():
    assert "## code\n" in text_of(**{"co@*[#de": SAME | {"version": "1"}})


def test_the_text_fits_into_an_issue():
    many = SAME | {"differences": ["x" * 5000] * 500}
    assert "… and 440 more lines" in text_of(codex=SAME | {"differences": ["x"] * 500})
    assert len(text_of(codex=many)) <= MOST_CHARACTERS + 10


# --- on GitHub --------------------------------------------------------------------------------------

GH = """\
#!/bin/sh
echo "$@" >> calls
case "$*" in *list*) cat issues ;; *) cat > body; echo https://github.example/issues/7 ;; esac
"""


def opened(folder: Path, facts: dict[str, Any], *issues: dict[str, Any]) -> list[str]:
    """What ``gh`` was told, where those issues are open; its first two words and the number."""
    (folder / "gh").write_text(GH)
    (folder / "gh").chmod(0o755)
    (folder / "issues").write_text(json.dumps(issues))
    (folder / "drift.json").write_text(json.dumps(facts))
    env = {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}
    command = (sys.executable, str(REPOSITORY / "tools" / "drift_issue.py"), "drift.json")
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    calls = folder / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


CHANGED = facts(codex=SAME | {"version": "0.172.0"})


def issue(number: int, title: str = TITLE, *, is_bot: bool = True) -> dict[str, Any]:
    return {"number": number, "title": title, "author": {"login": "x", "is_bot": is_bot}}


def test_an_issue_is_opened(tmp_path):
    listed, created = opened(tmp_path, CHANGED)
    assert listed.startswith("issue list --state=open")
    assert created == f"issue create --title={TITLE} --body-file=-"
    assert (tmp_path / "body").read_text() == issue_of(CHANGED)


@pytest.mark.parametrize(
    ("issues", "told"),
    [
        pytest.param([issue(9), issue(4)], "issue edit 4 --body-file=-", id="ours, the oldest"),
        pytest.param([issue(3, is_bot=False)], f"issue create --title={TITLE} --body-file=-", id="of a stranger"),
        pytest.param([issue(3, "Another")], f"issue create --title={TITLE} --body-file=-", id="about something else"),
    ],
)
def test_one_that_is_open_gets_the_new_text(tmp_path, issues, told):
    assert opened(tmp_path, CHANGED, *issues)[1:] == [told]


def test_without_a_difference_github_is_not_asked(tmp_path):
    assert opened(tmp_path, facts(codex=SAME)) == []
