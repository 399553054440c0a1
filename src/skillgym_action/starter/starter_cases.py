"""The two cases of a first suite, before they are written in a format: what an agent is asked, and what has to follow.

They fit any repository: one question about it, and one small change of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.starter.repository_facts import FoundSkill, RepositoryFacts

ANSWER = "ANSWER.txt"
README = "README.md"
SCRIPT, GREETING = "hello.sh", "Hello, world"
SECTIONS = ("Testing", "How to run the tests", "Run the tests")


@dataclass(frozen=True, kw_only=True, slots=True)
class FileCheck:
    """A file that has to have a text in it; or, with ``heading``, a Markdown heading that is that text."""

    path: str
    text: str
    heading: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class StarterCase:
    """A case. ``run``: a command that has to pass afterwards; None: none."""

    id: str
    prompt: str
    checks: tuple[FileCheck, ...]
    run: str | None = None


def starter_cases(facts: RepositoryFacts) -> tuple[StarterCase, StarterCase]:
    """Two cases about a repository."""
    return _question(facts), _change(facts)


def skill_cases(skill: FoundSkill) -> tuple[StarterCase, StarterCase]:
    """Two cases about a skill, which every skill can pass if the agent loads it."""
    steps = StarterCase(
        id="lists-the-steps",
        prompt=f"Use the skill {skill.name}. Write its instructions as a numbered list to STEPS.md.",
        checks=(FileCheck(path="STEPS.md", text="1."),),
    )
    name = StarterCase(
        id="names-the-purpose",
        prompt=f"What is the skill {skill.name} for? Write one sentence that names the skill to PURPOSE.txt.",
        checks=(FileCheck(path="PURPOSE.txt", text=skill.name),),
    )
    return steps, name


def _question(facts: RepositoryFacts) -> StarterCase:
    only = f"and nothing else, to {ANSWER}."
    if facts.test:
        return StarterCase(
            id="finds-the-test-command",
            prompt=f"Which command runs the tests of this project? Write the command, {only}",
            checks=(FileCheck(path=ANSWER, text=facts.test.named),),
        )
    if facts.title:
        return StarterCase(
            id="finds-the-title",
            prompt=f"Write the title of {README}, without the #, {only}",
            checks=(FileCheck(path=ANSWER, text=facts.title),),
        )
    if not facts.files:
        return StarterCase(
            id="writes-a-script",
            prompt=f'Write {SCRIPT}, a shell script that prints "{GREETING}".',
            checks=(FileCheck(path=SCRIPT, text=GREETING),),
            run=f"sh {SCRIPT}",
        )
    return StarterCase(
        id="lists-the-files",
        prompt=f"Write the path of each file of this repository on a line of its own, {only}",
        checks=(FileCheck(path=ANSWER, text=min(facts.files)),),
    )


def _change(facts: RepositoryFacts) -> StarterCase:
    if facts.test and (section := next(_unused_sections(facts), None)):
        return StarterCase(
            id="documents-the-tests",
            prompt=f'Add a section "{section}" to {README} with the command that runs the tests. Change nothing else.',
            checks=(
                FileCheck(path=README, text=section, heading=True),
                FileCheck(path=README, text=facts.test.named),
            ),
            run=facts.test.run,
        )
    source = "taken from the files of this project" if facts.files else "for a new project"
    return StarterCase(
        id="writes-a-guide",
        prompt=f'Write STYLE.md with the title "Style" and three rules for code, {source}.',
        checks=(FileCheck(path="STYLE.md", text="Style", heading=True),),
        run=facts.test.run if facts.test else None,
    )


def _unused_sections(facts: RepositoryFacts) -> Iterator[str]:
    """Headings that README.md does not have yet: a case that passes before the agent measures nothing."""
    for section in SECTIONS:
        if not re.search(rf"^#+ +{re.escape(section)}", facts.readme or "", re.MULTILINE | re.IGNORECASE):
            yield section
