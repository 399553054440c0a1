"""What happens to a repository whose baseline is kept on a branch, from before the first push to the comments.

``python tools/baseline_scenarios.py FILE`` plays all and writes the comments as Markdown.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import modules_of_tests
from hosted_repository import BAD, EIGHT, hosted
from scratch import case, suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from action_step import Step
    from hosted_repository import HostedRepository

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


def push_to_main(repository: HostedRepository) -> Played:
    """What the job of a push comes to."""
    step = repository.on_push(inputs=WITH_STATUS)
    status = repository.status(repository.tip("main"))
    return Played(step=step, shown=step.summary, status=status, stored=len(repository.stored()))


def pull_request(repository: HostedRepository, number: int, files: dict[str, str]) -> Played:
    """What a job of a pull request with those files comes to."""
    repository.commit(files, f"topic-{number}", start="main")
    pull = repository.open(f"topic-{number}", number=number)
    step = repository.on_pull_request(pull, WITH_STATUS)
    shown, status = repository.comment(number), repository.status(pull.head)
    return Played(step=step, shown=shown, status=status, stored=len(repository.stored()))


WITHOUT_A_PUSH = "a pull request before the first push"
FIRST_PUSH = "a push to main, the first one"
PULL_REQUESTS = {
    "a pull request with a planted regression": {"AGENTS.md": BAD},
    "a pull request without a regression": {"README.md": "more"},
    "a pull request with a changed suite": {
        "bench/core.json": suite(case("a", prompt="Do it otherwise"), *EIGHT[1:], case("new"))
    },
}
"""After the first push: the files of the commit."""


def history(repository: HostedRepository) -> Iterator[tuple[str, Played]]:
    """All of it, in one repository."""
    yield WITHOUT_A_PUSH, pull_request(repository, 7, {"AGENTS.md": BAD})
    yield FIRST_PUSH, push_to_main(repository)
    for number, (title, files) in enumerate(PULL_REQUESTS.items(), 8):
        yield title, pull_request(repository, number, files)


def as_markdown() -> str:
    """A section for each scenario: what the job came to, and the comment."""
    sections = []
    with tempfile.TemporaryDirectory() as folder, hosted(Path(folder)) as repository:
        for title, played in history(repository):
            facts = f"Exit code {played.step.code}; commit status: {played.status}; runs in the store: {played.stored}."
            sections.append(f"# {title.capitalize()}\n\n{facts}\n\n{played.shown.strip()}\n")
    return "\n\n".join(sections)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(as_markdown(), encoding="utf-8")
