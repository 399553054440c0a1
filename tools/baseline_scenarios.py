"""What happens to a repository whose baseline is kept on a branch, each from the first push to the comment.

``python tools/baseline_scenarios.py FILE`` plays all and writes the comments as Markdown.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import modules_of_tests
from action_step import finished, started
from hosted_repository import BAD, EIGHT, hosted
from scratch import case, suite

if TYPE_CHECKING:
    from collections.abc import Callable

    from action_step import Step
    from hosted_repository import HostedRepository, Pull

WITH_STATUS = {"status": "on"}


@dataclass(frozen=True, kw_only=True)
class Played:
    """The step that a scenario is about, what it left on GitHub, and how many runs the store has.

    ``shown``: the comment of the pull request; without one, the summary of the job. ``status``: of the commit.
    """

    step: Step
    shown: str
    status: str | None
    stored: int


def of_pull(repository: HostedRepository, pull: Pull) -> Played:
    """What a job of the pull request comes to."""
    step = repository.on_pull_request(pull, WITH_STATUS)
    return Played(
        step=step,
        shown=repository.comment(pull.number),
        status=repository.status(pull.head),
        stored=len(repository.stored()),
    )


def push_to_main(repository: HostedRepository) -> Played:
    step = repository.on_push(inputs=WITH_STATUS)
    status = repository.status(repository.tip("main"))
    return Played(step=step, shown=step.summary, status=status, stored=len(repository.stored()))


def regression(repository: HostedRepository) -> Played:
    repository.on_push()
    return of_pull(repository, repository.propose({"AGENTS.md": BAD}))


def no_regression(repository: HostedRepository) -> Played:
    repository.on_push()
    return of_pull(repository, repository.propose({"README.md": "more"}))


def changed_suite(repository: HostedRepository) -> Played:
    repository.on_push()
    other = suite(case("a", prompt="Do it otherwise"), *EIGHT[1:], case("new"))
    return of_pull(repository, repository.propose({"bench/core.json": other}))


def lost_store(repository: HostedRepository) -> Played:
    repository.on_push()
    repository.lose_the_store()
    return of_pull(repository, repository.propose({"AGENTS.md": BAD}))


def forged_store(repository: HostedRepository) -> Played:
    repository.on_push()
    line = '{"schema": 1, "run": "@octo <img src=x>"}\n'
    repository.forge("2026-01/20260101T000000Z-000000000000.jsonl", line)
    return of_pull(repository, repository.propose({"AGENTS.md": BAD}))


def two_pushes_at_once(repository: HostedRepository) -> Played:
    repository.on_push()
    jobs = [started(**repository.push_job(inputs=WITH_STATUS)) for _ in range(2)]
    for process, files in jobs:
        step = finished(process, files)
        assert (step.code, "results added to the branch" in step.said) == (0, True), step.said
    return of_pull(repository, repository.propose({"README.md": "more"}))


SCENARIOS: dict[str, Callable[[HostedRepository], Played]] = {
    "a push to main, the first one": push_to_main,
    "a pull request with a planted regression": regression,
    "a pull request without a regression": no_regression,
    "a pull request with a changed suite": changed_suite,
    "a pull request after the store was lost": lost_store,
    "a pull request after the store was forged": forged_store,
    "a pull request after two pushes at once": two_pushes_at_once,
}


def as_markdown() -> str:
    """A section for each scenario: what the job came to, and the comment."""
    sections = []
    for title, play in SCENARIOS.items():
        with tempfile.TemporaryDirectory() as folder, hosted(Path(folder)) as repository:
            played = play(repository)
        facts = f"Exit code {played.step.code}; commit status: {played.status}; runs in the store: {played.stored}."
        sections.append(f"# {title.capitalize()}\n\n{facts}\n\n{played.shown.strip()}\n")
    return "\n\n".join(sections)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_markdown(), encoding="utf-8")
