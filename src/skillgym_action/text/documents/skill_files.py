"""SKILL.md: the name and description in its frontmatter; the checkout that skills under test are looked for in."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_SKILL_FILE_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.suite import SkillSettings
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.user_files import read_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from skillgym_action.text.documents.user_files import Opener

MAX_SKILL_NAME_CHARACTERS = 100
SKILL_FILE = "SKILL.md"
EVAL_FOLDERS = frozenset({"evals"})
"""Folders of a skill that have its suites, with their input files."""
RESULTS_ENDING = "-workspace"
"""The end of the names of folders that have results of evals."""
PLUGIN_MANIFESTS = (".claude-plugin/plugin.json", "plugin.json")
"""Where the manifest of a Claude plugin is, relative to the plugin. The first that exists is the manifest."""
PLUGIN_SERVERS_FILE, PLUGIN_SERVERS_KEY = ".mcp.json", "mcpServers"
"""The file of a Claude plugin, and the key of its manifest, that have its MCP servers."""
IN_RESULTS = re.compile(r"(^|/)([^/]*-workspace|iteration-\d+|results)/", re.IGNORECASE)
"""Finds in a path that it is below a folder with results of evals; group 2 is its name."""
_FRONTMATTER = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FRONTMATTER_START = re.compile(r"\ufeff?---[ \t]*$", re.MULTILINE)
_LOOSE_KEY = re.compile(r"^(name|description):[ \t]*(\S.*)$", re.MULTILINE)
_UNSAFE_NAME = re.compile(r"[/\\\x00-\x1f\x7f\u0085\u2028\u2029\ud800-\udfff]")


@record(slots=False)
class SkillFiles:
    """The checkout that agents work on, where the skills of a suite are looked for.

    ``root``: its absolute path. ``file``: the suite file, or its counterpart there if suites are read from another
    folder. ``opener`` opens files of the checkout; ``refusal``: why a folder of it must not be read, such as a link on
    the way to it; None if it may. ``found``: what searches for skills have found, by folder.
    """

    root: Path
    file: Path
    settings: SkillSettings = field(default_factory=SkillSettings)
    opener: Opener | None = None
    refusal: Callable[[Path], str | None] = lambda _: None
    found: dict[Path, tuple[Path, ...]] = field(default_factory=dict)

    def shown(self, path: Path) -> str:
        """The path in messages: relative to the checkout, if it is in it."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()


@record
class SkillFrontmatter:
    """Name and description in the SKILL.md of ``folder``; None: it has none."""

    folder: Path
    name: str | None
    description: str | None

    @property
    def installed_name(self) -> str:
        """The name of the folder that it is installed as: the frontmatter's, else that of its own folder."""
        return self.name or self.folder.name


def read_skill(folder: Path, *, path: str, opener: Opener | None) -> SkillFrontmatter:
    """The frontmatter of the SKILL.md in a folder, which messages call ``path``. Raises SuiteError.

    A name that cannot be that of a folder is refused: skills are installed under it.
    """
    text = read_text(folder / SKILL_FILE, path=path, error=SuiteError, largest=MAX_SKILL_FILE_BYTES, opener=opener)
    known = frontmatter(text)
    name = known.get("name")
    if name is not None and (refused := name_refusal(name)):
        message = f"the name {name[:MAX_SKILL_NAME_CHARACTERS]!r} of the skill {refused}"
        location = Location(path=path, line=1)
        raise SuiteError.of(
            Problem(message=message, location=location, key_path="name", remedy="write one word, such as pdf-tools")
        )
    return SkillFrontmatter(folder=folder, name=name, description=known.get("description"))


def frontmatter(text: str) -> dict[str, str]:
    """``name`` and ``description`` of a SKILL.md, as far as they are there.

    Many files are no valid YAML, since a description contains a colon; then the lines that begin with the keys count,
    as with the agents.
    """
    found = _FRONTMATTER.match(text.removeprefix("\ufeff"))
    if found is None:
        return {}
    try:
        value = _document(found[1], SKILL_FILE)
    except SuiteError:
        value = {key: text.rstrip(" \t").strip("'\"") for key, text in reversed(_LOOSE_KEY.findall(found[1]))}
    members = value.items() if isinstance(value, dict) else ()
    wanted = {"name", "description"}
    return {key: str(item).strip() for key, item in members if key in wanted and item is not None and str(item).strip()}


def frontmatter_problem(text: str, path: str) -> Problem | None:
    """What is wrong with the frontmatter of the SKILL.md at ``path``; None: nothing, or it has none.

    Some agents use such a skill anyway, by the lines that begin with the keys; others leave it out without a word.
    """
    opened = _FRONTMATTER_START.match(text)
    if opened is None:
        return None
    found = _FRONTMATTER.match(text.removeprefix("\ufeff"))
    location, key_path, remedy, why = Location(path=path, line=1), None, None, "has no end: a line ---"
    if found is not None:
        try:
            value = _document(found[1], path)
        except SuiteError as error:
            location, key_path = error.problems[0].location or location, error.problems[0].key_path
            remedy = "put texts with a colon in quotes"
            why = f"is not YAML: {error.problems[0].message.removeprefix('not YAML: ')}"
        else:
            if isinstance(value, dict):
                return None
            why = "is no mapping of keys to values"
    message = f"the frontmatter of the skill {why}. Some agents ignore such a skill without a message"
    return Problem(message=message, location=location, key_path=key_path, remedy=remedy)


def _document(yaml: str, path: str) -> object:
    """The value of a frontmatter, which begins in the second line of the file. Raises SuiteError."""
    return read_document(yaml, path=path, kind="yaml", error=SuiteError, line=2).value


def above_evals(folder: Path) -> Path | None:
    """The folder above the nearest ``evals/`` that ``folder`` is, or is in; None: it is in none."""
    return next((one.parent for one in (folder, *folder.parents) if one.name.lower() in EVAL_FOLDERS), None)


def name_refusal(name: str) -> str | None:
    """Why a name cannot be that of an installed skill's folder; None if it can."""
    if len(name) > MAX_SKILL_NAME_CHARACTERS:
        return f"is longer than {MAX_SKILL_NAME_CHARACTERS} characters"
    if _UNSAFE_NAME.search(name) or name.startswith("."):
        return "cannot be the name of a folder"
    return None
