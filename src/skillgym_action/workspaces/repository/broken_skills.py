"""Skills that agents leave out without a word, since the frontmatter of their SKILL.md is not YAML."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillgym_action.agents import AGENTS
from skillgym_action.model.limits import MAX_SKILL_FILE_BYTES
from skillgym_action.text.documents.skill_files import SKILL_FILE, frontmatter_problem
from skillgym_action.workspaces.repository.missing_files import is_at_or_below

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from skillgym_action.model.errors import Problem
    from skillgym_action.workspaces.repository.repository import Repository

_SKILLS = "skills"


def broken_skills(repository: Repository, folders: Collection[str]) -> Iterator[Problem]:
    """A problem for each skill whose frontmatter is not YAML.

    ``folders``: what workspaces are made of, relative to the root; "": all of it. Only skills where agents look for
    them count, in the checkout and in such a folder, and those that the folder is, or that it has as a plugin.
    """
    places = {place for agent in AGENTS.own.values() for place in _skill_folders(agent.configuration)}
    within = [place for place in sorted(places) if is_at_or_below(place, folders)]
    of_folders = (f"{folder}/{place}" for folder in sorted(folders) if folder for place in sorted(places))
    for place in (*within, *of_folders, *(f"{folder}/{_SKILLS}" for folder in sorted(folders) if folder)):
        for name in _names(repository, place):
            yield from _broken_skill(repository, f"{place}/{name}/{SKILL_FILE}")
    for folder in sorted(folders):
        yield from _broken_skill(repository, f"{folder}/{SKILL_FILE}".lstrip("/"))


def _skill_folders(configuration: tuple[str, ...]) -> Iterator[str]:
    """The folders of skills among what an agent reads: ``.claude/skills`` of ``.claude``."""
    for path in configuration:
        last = path.rpartition("/")[2]
        if last == _SKILLS:
            yield path
        elif path.startswith(".") and "/" not in path and "." not in last[1:]:
            yield f"{path}/{_SKILLS}"


def _names(repository: Repository, path: str) -> list[str]:
    try:
        folder = repository.checkout.open_folder(path)
    except OSError:
        return []
    try:
        return sorted(os.listdir(folder))
    finally:
        os.close(folder)


def _broken_skill(repository: Repository, path: str) -> Iterator[Problem]:
    try:
        with open(repository.checkout.open_file(path, follow=True), "rb") as file:
            text = file.read(MAX_SKILL_FILE_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return
    if problem := frontmatter_problem(text, path):
        yield problem
