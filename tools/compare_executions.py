"""Suites for ``make compare-agentv`` about how tests are run: trials, errors, targets, conversations, repositories.

``compare_suites.py`` writes them beside its tables.
"""

from __future__ import annotations

import json
import os
import subprocess
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

Row = dict[str, Any]

NEXT = 'f=count-{EVAL_ID}; echo x >> "$f"; answer=$(printf %s {PROMPT} | cut -d, -f$(wc -l < "$f")); '
"""Shell: the next of the words of the prompt, each time that the test is run."""
TARGETS: list[Row] = [
    {"name": "next", "command": f'{NEXT} printf %s "$answer" > {{OUTPUT_FILE}}'},
    {"name": "paid", "command": f'{NEXT} printf \'{{"text": "%s", "cost_usd": 0.3}}\' "$answer" > {{OUTPUT_FILE}}'},
    {"name": "fragile", "command": "case {PROMPT} in broken*) exit 3;; esac; printf %s {PROMPT} > {OUTPUT_FILE}"},
    {"name": "healthy", "command": "printf %s {PROMPT} > {OUTPUT_FILE}", "healthcheck": {"command": "test -d ."}},
    {"name": "asleep", "command": "printf %s {PROMPT} > {OUTPUT_FILE}", "healthcheck": {"command": "exit 4"}},
    {"name": "batch", "command": "cat batch.jsonl > {OUTPUT_FILE}", "provider_batching": True},
    {"name": "second-choice", "command": "exit 5", "fallback_targets": ["echo"]},
    {"name": "from-file", "command": "cat {PROMPT_FILE} > {OUTPUT_FILE}"},
    {"name": "names", "command": "echo {EVAL_ID} {FILES} > {OUTPUT_FILE}", "files_format": "[{basename}]"},
    {"name": "first-link", "use_target": "second-link"},
    {"name": "second-link", "use_target": "echo"},
]
BATCH = [
    {"id": "text", "text": "yes"},
    {"id": "messages", "output": [{"role": "assistant", "content": "yes"}]},
    {"id": "empty"},
    {"id": "figures", "text": "yes", "cost_usd": 0.5, "token_usage": {"input": 1, "output": 2}, "duration_ms": 5},
]


def write_execution_suites(root: Path) -> None:
    """The suites, their targets, and the repository that they clone."""
    lines = [
        f"  - {json.dumps({'provider': 'cli'} | target if 'command' in target else target)}\n" for target in TARGETS
    ]
    with (root / "targets.yaml").open("a", encoding="utf-8") as targets:
        targets.writelines(lines)
    (root / "batch.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in BATCH), encoding="utf-8")
    for name, strategy in STRATEGIES.items():
        trials = {"count": 3, "strategy": strategy}
        written(root, f"trials-{name}", trial_rows(name), {"target": "next", "trials": trials})
        paid = [one(f"paid-{name}-{words}", words.replace("-", ",")) for words in ("a-a-ab", "ab-a-a", "a-ab-ab")]
        written(root, f"paid-{name}", paid, {"target": "paid", "trials": trials | {"cost_limit_usd": 0.5}})
    for halts in (True, False):
        written(root, f"errors-{halts}".lower(), list(error_rows()), {"target": "fragile", "fail_on_error": halts})
    write_target_suites(root)
    write_repository_suites(root)


def written(root: Path, name: str, tests: Iterable[Row], execution: Row, **keys: Any) -> None:
    suite = {"name": name, "execution": execution, "tests": list(tests)} | keys
    (root / f"{name}.eval.yaml").write_text(json.dumps(suite, indent=1), encoding="utf-8")


def one(test_id: str, prompt: str, *words: str, **keys: Any) -> Row:
    """A test that is about whether the answer has these words, or the letters a and b."""
    assertions = [{"type": "contains", "value": word} for word in words or ("a", "b")]
    return {"id": test_id, "input": prompt, "assertions": assertions} | keys


# --- trials -----------------------------------------------------------------------------------------

STRATEGIES = {"pass": "pass_at_k", "mean": "mean", "interval": "confidence_interval"}
WORDS = {
    "all": "ab,ab,ab",
    "first": "ab,a,-",
    "last": "-,a,ab",
    "never": "a,-,a",
    "half": "a,a,a",
    "two": "ab,ab,a",
}


def trial_rows(prefix: str) -> list[Row]:
    """What a session answers, each time another word, and the score that is needed."""
    rows = product(WORDS.items(), (None, 0.5))
    return [
        one(f"{prefix}-{name}-{threshold}".replace(".", "_"), words)
        | ({} if threshold is None else {"execution": {"threshold": threshold}})
        for (name, words), threshold in rows
    ]


# --- errors -----------------------------------------------------------------------------------------


def error_rows() -> Iterable[Row]:
    """The others begin once the second one is done."""
    after = {"depends_on": ["broken"], "on_dependency_failure": "run"}
    yield one("fine", "ab")
    yield one("broken", "broken ab", depends_on=["fine"])
    yield one("next", "ab", **after)
    yield one("wrong", "-", **after)
    yield one("last", "ab", **after)


# --- targets ----------------------------------------------------------------------------------------


def write_target_suites(root: Path) -> None:
    for target in ("healthy", "asleep", "second-choice", "from-file", "first-link"):
        written(
            root,
            f"target-{target}",
            (one("good", "ab"), one("half", "a"), one("quotes", "a 'b' $x")),
            {"target": target},
        )
    batch = [one(line["id"], "x", "yes") for line in BATCH]
    batch += [one("missing", "x", "yes"), one("cheap", "x") | {"assertions": [{"type": "cost", "budget": 1}]}]
    batch[3]["assertions"].append({"type": "cost", "budget": 0.4})
    written(root, "target-batch", batch, {"target": "batch"})
    (root / "with blank.txt").write_text("x", encoding="utf-8")
    files = {"input_files": ["targets.yaml", "with blank.txt"]}
    named = [one("id", "x", "id"), one("files", "x", "[targets.yaml] [with blank.txt]", **files)]
    written(root, "target-names", named, {"target": "names"})
    written(
        root,
        "target-list",
        (one("listed", "ab"), one("own", "ab", execution={"targets": ["echo"]})),
        {"targets": ["echo"]},
    )


# --- repositories -----------------------------------------------------------------------------------


def write_repository_suites(root: Path) -> None:
    """A bare repository with two commits, a branch and a tag, and tests of what is cloned."""
    shas = write_repository(root)
    url = f"file://{root}/origin.git"
    wanted: dict[str, tuple[Row, str]] = {
        "head": ({}, "grep -q 2 code/version.txt"),
        "not-head": ({}, "grep -q 1 code/version.txt"),
        "tag": ({"commit": "v1"}, "grep -q 1 code/version.txt"),
        "branch": ({"commit": "side"}, "test -f code/side.txt"),
        "sha": ({"commit": shas[0]}, "grep -q 1 code/version.txt"),
        "base-commit": ({"base_commit": shas[0]}, "grep -q 1 code/version.txt"),
        "ancestor": ({"ancestor": 1}, "grep -q 1 code/version.txt"),
        "ancestor-of-tag": ({"commit": "v2", "ancestor": 1}, "grep -q 1 code/version.txt"),
        "sparse": ({"sparse": ["docs"]}, "test -f code/docs/a.md && test ! -e code/lib && test -f code/version.txt"),
        "detached": ({}, "! git -C code symbolic-ref -q HEAD"),
        "remote": ({}, f"test $(git -C code remote get-url origin) = {url}"),
        "unknown-commit": ({"commit": "nothing"}, "true"),
        "no-ancestor": ({"ancestor": 7}, "true"),
    }
    tests = []
    for name, (keys, shell) in wanted.items():
        repo = {"path": "./code", "repo": url} | keys
        tests.append(looks(name, shell) | {"workspace": {"isolation": "per_test", "repos": [repo]}})
    written(root, "repos", tests, {"target": "echo"})
    both = {"isolation": "per_test", "repos": [{"path": f"./{name}", "repo": url} for name in ("a", "b")]}
    shared = [looks("both", "test -f a/version.txt && test -f b/version.txt"), looks("neither", "test -f version.txt")]
    written(root, "repos-of-suite", shared, {"target": "echo"}, workspace=both)


def looks(test_id: str, shell: str) -> Row:
    """A test whose grader looks at the workspace. It reads its stdin: else AgentV ends with EPIPE."""
    command = ["sh", "-c", f'cat > /dev/null; cd "$AGENTV_WORKSPACE_PATH" && {shell}']
    return {"id": test_id, "input": "x", "assertions": [{"type": "code-grader", "command": command}]}


def write_repository(root: Path) -> list[str]:
    """The hashes of its two commits on the branch that is checked out."""
    work = root.parent / f"{root.name}-work"
    names = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*arguments: str) -> str:
        command = ("git", "-C", str(work), *arguments)
        return subprocess.run(
            command, check=True, capture_output=True, text=True, env=os.environ | names
        ).stdout.strip()

    work.mkdir()
    git("init", "--quiet", "--initial-branch=main")
    shas = []
    for number in (1, 2):
        for name in ("docs/a.md", "lib/b.py", "version.txt"):
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(f"{number}\n", encoding="utf-8")
        git("add", "--all")
        git("commit", "--quiet", "--message", f"version {number}")
        git("tag", f"v{number}")
        shas.append(git("rev-parse", "HEAD"))
    git("checkout", "--quiet", "-b", "side")
    (work / "side.txt").write_text("side\n", encoding="utf-8")
    git("add", "--all")
    git("commit", "--quiet", "--message", "side")
    git("checkout", "--quiet", "main")
    git("clone", "--quiet", "--bare", str(work), str(root / "origin.git"))
    return shas
