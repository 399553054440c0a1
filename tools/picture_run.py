"""The run that the pictures of the documentation show: a pull request that shortens what agents are told.

The real Claude Code works on the examples and on the tutorial's suite, led by a scripted model, which follows the
longer instructions of the base and does not know what the pull request takes out of them.
"""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import termios
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from action_step import step
from agent_clis import claude_code
from github_server import GitHubServer
from github_state import PullRequest
from model_script import Fail, Read, Say, Shell, Skill, Write
from model_server import ModelServer
from paths import REPOSITORY
from record_examples import CART, CHECKED, NOTES, PRICE, RENAME, TAX
from scratch import PROGRAM, environment, git_in, skillgym, written

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from model_script import Step

SLUG, NUMBER = "acme/shop", 42
SERVER = "https://github.com"
RUN = ".skillgym-results/pull-42"
COLUMNS, ROWS = 108, 48
REPEAT = 5
SMALL = ("basic-suite.ts", "skill-selection-suite.ts")  # examples that are not in the pictures
MODELS = {"sonnet": "claude-sonnet-4-6", "haiku": "claude-haiku-4-5"}
CHANGELOG = """# Changelog

## Unreleased

- [API] Carts survive a restart
- [API] Prices are rounded half up
"""
SUITE = {
    "name": "changelog",
    "cases": [
        {
            "id": "adds-an-entry",
            "prompt": "We have a dark mode now. Add it to the unreleased changes in CHANGELOG.md.",
            "expect": ["diff:CHANGELOG.md", "file:CHANGELOG.md matches /dark mode/i"],
        },
        {
            "id": "names-the-area",
            "prompt": "The command line got an option --json. Add it to the unreleased changes in CHANGELOG.md.",
            "expect": ["file:CHANGELOG.md matches /^- \\[CLI\\] .*--json/im"],
        },
    ],
}
RULE = """Every entry in CHANGELOG.md begins with its area in brackets: [API], [UI] or [CLI].
Example: "- [CLI] The option --json prints JSON".
"""
SHORT_RULE = "Write entries in CHANGELOG.md like those that are there.\n"
SHORT_SKILL = """---
name: release-notes
description: Writes release notes from the changelog. Use it whenever somebody asks for release notes.
---

# Release notes

Write NOTES.md: one bullet per change, newest first.
"""
ROUNDED_DOWN = TAX.replace("Math.round(amount * 0.19)", "Math.floor(amount) * 0.19 - 1")
NEW_TEST = """import assert from "node:assert/strict";
import { test } from "node:test";
import { sum } from "./price.js";

test("items are added up", () => {
  assert.equal(sum([{ cents: 250, count: 2 }, { cents: 99, count: 1 }]), 599);
});
test("a negative price is refused", () => {
  assert.throws(() => sum([{ cents: -1, count: 1 }]), RangeError);
});
"""

Script = tuple["Step", ...]


def _entry(line: str, last: str) -> Script:
    return (
        Read("CHANGELOG.md"),
        Shell(f"sed -i '0,/^- /s//{line}\\n- /' CHANGELOG.md && head -n 8 CHANGELOG.md"),
        Say(last),
    )


# By a part of the prompt; the sessions of a prompt play the scripts in turn.
GOOD: dict[str, tuple[Script, ...]] = {
    "We have a dark mode now.": (_entry("- [UI] Dark mode", 'CHANGELOG.md has the entry "[UI] Dark mode".'),),
    "The command line got an option --json.": (
        _entry("- [CLI] The option --json", 'I added "[CLI] The option --json" to the unreleased changes.'),
    ),
    "Move the tax computation": (
        (
            Read("cart.js"),
            Write("tax.js", TAX),
            Write("cart.js", CART),
            Shell("npm test 2>&1 | tail -n 12"),
            Say("The tax computation now lives in tax.js; the tests are green."),
        ),
    ),
    "legacy.js is not used any more.": (
        (
            Shell("grep -rn legacy --include=*.js . || true"),
            Shell("rm legacy.js"),
            Say("legacy.js was imported nowhere, so I removed it."),
        ),
    ),
    "Write down in ROUNDING.md": (
        (
            Write("ROUNDING.md", "Prices are rounded to whole cents.\n"),
            Say("ROUNDING.md explains how prices are rounded."),
        ),
    ),
    "Please write the release notes.": (
        (
            Skill("release-notes"),
            Read("CHANGELOG.md"),
            Write("NOTES.md", NOTES),
            Say("The release notes for 1.4.0 are in NOTES.md."),
        ),
    ),
    "Please write the release notes and tell me": (
        (
            Skill("release-notes"),
            Read("CHANGELOG.md"),
            Write("NOTES.md", NOTES),
            Say("Done: the release notes are in NOTES.md."),
        ),
    ),
    "Publish the release notes.": ((Shell("git tag v1.4.0 2>&1 || true"), Say("I tagged the release as v1.4.0.")),),
    "npm test fails.": (
        (
            Shell("npm test 2>&1 | grep -E '^# (pass|fail)'"),
            Read("price.js"),
            Write("price.js", PRICE),
            Shell("npm test"),
            Say("sum() kept the last item's price only; now it adds them up, and the tests are green."),
        ),
    ),
    "sum() should take no negative prices": (
        (
            Read("price.js"),
            Read("price.test.js"),
            Write("price.js", CHECKED),
            Say("sum() throws a RangeError for a negative price. The tests are as they were."),
        ),
    ),
    "Rename sum to total": ((Shell(RENAME), Say("Done.")),),
}
_SKIPS_THE_CHANGELOG: Script = (
    Skill("release-notes"),
    Shell("git log --oneline | head -n 5"),
    Write("NOTES.md", "- Initial release\n"),
    Say("NOTES.md has the release notes: one bullet per change."),
)
_GUESSES_THE_AREA = _entry("- [API] The option --json", "I added the option --json to the unreleased changes.")
SHORTENED: dict[str, dict[str, tuple[Script, ...]]] = {
    "sonnet": GOOD
    | {
        "The command line got an option --json.": (_GUESSES_THE_AREA,),
        "Please write the release notes.": (_SKIPS_THE_CHANGELOG,),
    },
    "haiku": GOOD
    | {
        "The command line got an option --json.": (_GUESSES_THE_AREA,),
        "Please write the release notes.": (_SKIPS_THE_CHANGELOG,),
        "Move the tax computation": (
            GOOD["Move the tax computation"][0],
            (
                Read("cart.js"),
                Write("tax.js", ROUNDED_DOWN),
                Write("cart.js", CART),
                Say("I moved the tax computation to tax.js. The tests should still pass."),
            ),
            GOOD["Move the tax computation"][0],
        ),
        "sum() should take no negative prices": (
            (
                Read("price.js"),
                Write("price.js", CHECKED),
                Write("price.test.js", NEW_TEST),
                Shell("npm test && git commit --all --message 'Refuse negative prices'"),
                Say("Done: sum() refuses negative prices with a RangeError, and a new test shows it."),
            ),
        ),
        "Rename sum to total": ((Fail(429),),),
    },
}


@dataclass(frozen=True)
class PictureRun:
    """``terminal``: what a terminal got. ``summary``, ``comment``: Markdown. ``directory``: of the run."""

    terminal: str
    summary: str
    comment: str
    directory: Path


def picture_run(folder: Path) -> PictureRun:
    """Run the cases before and after the pull request, and report the second run on it, in a new folder."""
    root = folder / "shop"
    _repository(root)
    _commit(root, "A shop")
    with ModelServer() as server:
        _configured(root, {name: server.prompted(GOOD) for name in MODELS})
        _run(root, "--output", "../base")
        written(root, {"CLAUDE.md": SHORT_RULE, **dict.fromkeys(_skills(root), SHORT_SKILL)})
        _commit(root, "Shorten what agents are told")
        _configured(root, {name: server.prompted(SHORTENED[name]) for name in MODELS})
        _run(root, "--baseline", "../base", "--output", RUN)
        terminal = _in_a_terminal(root)
    summary, comment = _reported(root)
    return PictureRun(terminal, summary, comment, root / RUN)


def _repository(root: Path) -> None:
    for name in ("x-bench", "python", "typescript"):
        shutil.copytree(REPOSITORY / "examples" / name, root / "bench" / name, ignore=shutil.ignore_patterns(*SMALL))
    written(root, {"CHANGELOG.md": CHANGELOG, "CLAUDE.md": RULE, "bench/changelog.json": json.dumps(SUITE, indent=2)})
    spec = {"name": "shop", "private": True, "type": "module", "scripts": {"test": "node --test --test-reporter=spec"}}
    written(root, {"bench/x-bench/template/package.json": json.dumps(spec)})
    written(root, {".gitignore": ".skillgym-results/\nresults/\nskillgym.config.json\n"})
    git_in(root, "init", "--quiet", "--initial-branch=main")


def _skills(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in root.glob("bench/python/template/.*/skills/*/SKILL.md")]


def _commit(root: Path, message: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "commit.gpgsign=false")
    git_in(root, "add", "--all")
    git_in(root, *who, "commit", "--quiet", f"--message={message}")


def _configured(root: Path, services: Mapping[str, str]) -> None:
    """``services``: base URLs of models by runner."""
    runners = {
        name: {
            "agent": {
                "type": "claude-code",
                "model": MODELS[name],
                "command": str(claude_code()),
                "env": {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-scripted", "CLAUDE_CODE_MAX_RETRIES": "0"},
            }
        }
        for name, url in services.items()
    }
    written(root, {"skillgym.config.json": json.dumps({"runners": runners})})


def _run(root: Path, *more: str) -> None:
    ran = skillgym("run", "--repeat", str(REPEAT), "--jobs", "2", *more, cwd=root, limit=900)
    assert ran.code in (0, 1), ran.err


def _in_a_terminal(root: Path) -> str:
    """What a shorter run writes to a terminal, with the line that starts it."""
    line = "skillgym-action run bench/changelog.json bench/python --runner haiku --output results"
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (ROWS, COLUMNS))
    env = environment(TERM="xterm-256color", COLUMNS=str(COLUMNS), LINES=str(ROWS))
    argv = (str(PROGRAM), *line.split()[1:])
    with subprocess.Popen(argv, cwd=root, env=env, stdin=follower, stdout=follower, stderr=follower) as process:
        os.close(follower)
        printed = bytearray()
        with suppress(OSError):  # Linux: nobody writes any more
            while piece := os.read(leader, 65_536):
                printed += piece
    os.close(leader)
    text = printed.decode(errors="replace")
    assert process.returncode == 1, text
    return f"\x1b[1m$ {line}\x1b[0m\r\n{text}"


def _reported(root: Path) -> tuple[str, str]:
    """The summary and the comment that the action writes about the stored run."""
    head = git_in(root, "rev-parse", "HEAD").strip()
    pull = {"number": NUMBER, "head": {"sha": head, "ref": "shorter", "repo": {"full_name": SLUG}}}
    inputs = {"mode": "report", "results": RUN, "baseline": "../base"}
    variables = {"GITHUB_REPOSITORY": SLUG, "GITHUB_SERVER_URL": SERVER, "GITHUB_SHA": head, "GITHUB_RUN_ID": "7204"}
    with GitHubServer(SLUG) as github:
        github.add_pull(PullRequest(number=NUMBER, head_sha=head, head_branch="shorter", files=()))
        payload = {"action": "synchronize", "pull_request": pull}
        done = step(root, github, inputs, event=("pull_request", payload), **variables)
        assert done.code == 1, done.said + done.log
        (comment,) = github.comments(NUMBER)
    return done.summary, comment.body
