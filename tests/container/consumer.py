"""A repository that uses the action in a workflow of its own, as its owner writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scratch import IDENTITY, git_in

if TYPE_CHECKING:
    from pathlib import Path

_WORKFLOW = """\
name: bench
on: pull_request
permissions: {}
jobs:
  bench:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v6
      - id: bench
        uses: octo/skillgym-action@v1
        with:
          report-dir: run
          fail-on: FAIL_ON
      - id: after
        if: always()
        env:
          VERDICT: ${{ steps.bench.outputs.verdict }}
          CODE: ${{ steps.bench.outputs.exit-code }}
          JUNIT: ${{ steps.bench.outputs.junit-path }}
        run: COMMAND
"""


def consumer_workflow(command: str, fail_on: str = "failed") -> str:
    """Runs the action, then ``command``, which has the outputs VERDICT, CODE and JUNIT in its environment."""
    return _WORKFLOW.replace("FAIL_ON", fail_on).replace("COMMAND", command)


def committed(folder: Path) -> Path:
    """The folder as a clone of octo/skills with one commit."""
    git_in(folder, "init", "--quiet", "--initial-branch=feature")
    git_in(folder, "add", "--all")
    git_in(folder, *IDENTITY, "commit", "--quiet", "--message=x")
    git_in(folder, "remote", "add", "origin", "https://github.com/octo/skills.git")
    return folder


def head(folder: Path) -> str:
    return git_in(folder, "rev-parse", "HEAD").strip()


def opened(folder: Path, number: int = 7, owner: str = "octo") -> dict[str, Any]:
    """The payload of a pull request from the head of a repository."""
    repository = {"full_name": f"{owner}/skills"}
    pull = {
        "number": number,
        "head": {"sha": head(folder), "ref": "feature", "repo": repository},
        "base": {"ref": "main", "sha": "0" * 40, "repo": {"full_name": "octo/skills"}},
    }
    return {"action": "opened", "number": number, "pull_request": pull, "repository": {"full_name": "octo/skills"}}
