"""The plugins that a case tests: for Claude Code as a whole, for other agents the skills in them."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from skillgym_action.model.arm import SkillUnderTest
from skillgym_action.model.errors import Location, Problem, SuiteError
from skillgym_action.model.limits import MAX_PLUGIN_FOLDERS
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.suites.plugin_evals.case_files import CasePlaces
from skillgym_action.suites.values import SuiteValue
from skillgym_action.text.documents.documents import read_document
from skillgym_action.text.documents.skill_files import (
    PLUGIN_MANIFESTS,
    PLUGIN_SERVERS_FILE,
    PLUGIN_SERVERS_KEY,
    SKILL_FILE,
    name_refusal,
    read_skill,
)
from skillgym_action.text.documents.user_files import kind_of, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from skillgym_action.suites import SuiteFile
    from skillgym_action.suites.plugin_evals.case_files import PluginFiles

_SKILLS = "skills"
_HIDDEN_MANIFEST_FOLDER = ".claude-plugin"


def plugin_folder(manifest: Path) -> Path:
    """The folder of the plugin with this manifest."""
    return manifest.parent.parent if manifest.parent.name == _HIDDEN_MANIFEST_FOLDER else manifest.parent


class PluginsUnderTest:
    """The plugin of a suite, as it is in the checkout that agents work on, and others that cases name.

    ``warnings``: what of the plugins that were read has no effect.
    """

    def __init__(self, source: SuiteFile, files: PluginFiles, manifest: SuiteValue) -> None:
        """``manifest``: the content of the suite file."""
        self._files, self._skill_files = files, source.skills
        self._own, self._manifest = plugin_folder(source.skills.file), manifest
        self._known: dict[Path, tuple[SkillUnderTest, ...]] = {}
        self.warnings: list[Problem] = []
        workspace = source.skills.settings.workspace
        self.workspace = WorkspaceSpec(source=workspace, committed=workspace == "empty")

    @property
    def own_name(self) -> str:
        """The name of the suite's plugin. Raises SuiteError."""
        return self._manifest.text("name") or self._own.name

    def skills(self, case: Path, named: tuple[SuiteValue, ...] | None) -> tuple[SkillUnderTest, ...]:
        """What is installed for the case in a folder. ``named``: its own plugins; None: the suite's.

        Raises SuiteError.
        """
        if named is None:
            return self._plugin(self._own, self._manifest)
        found: dict[tuple[str, str], SkillUnderTest] = {}
        for value in named:
            folder = self._in_head(CasePlaces(case, self._files).path(value, anywhere=True))
            for entry in self._plugin(folder, value):
                if found.setdefault((entry.name, entry.packaging), entry).folder != entry.folder:
                    raise value.error(f"has {entry.name}, which another plugin has, too", "name one of them")
        return tuple(found.values())

    def _in_head(self, folder: Path) -> Path:
        """The counterpart of a folder in the checkout that agents work on."""
        if folder.is_relative_to(self._files.plugin):
            return self._own / folder.relative_to(self._files.plugin)
        return self._skill_files.root / folder.relative_to(self._files.root)

    def _plugin(self, folder: Path, value: SuiteValue) -> tuple[SkillUnderTest, ...]:
        if folder not in self._known:
            self._known[folder] = self._read(folder, value)
        return self._known[folder]

    def _read(self, folder: Path, value: SuiteValue) -> tuple[SkillUnderTest, ...]:
        """A plugin, followed by its skills. Raises SuiteError."""
        shown = self._skill_files.shown(folder)
        manifest = self._manifest_in(folder)
        if manifest is None:
            raise value.error(f"there is no plugin in {shown}", "name a folder with .claude-plugin/plugin.json")
        name = self.own_name if folder == self._own else manifest.text("name") or folder.name
        if refused := name_refusal(name):
            raise value.error(f"the name {name[:60]!r} of the plugin {refused}", "write one word, such as pdf-tools")
        entries = [SkillUnderTest(name=name, folder=folder, packaging="plugin"), *self._skills_in(folder / _SKILLS)]
        if len({(entry.name, entry.packaging) for entry in entries}) < len(entries):
            raise value.error(f"two skills of {shown} have the same name", "rename one of them")
        self.warnings.extend(self._servers(folder, name, manifest))
        return tuple(entries)

    def _manifest_in(self, folder: Path) -> SuiteValue | None:
        """The manifest of the plugin in a folder; None if there is none. Raises SuiteError."""
        file = next((folder / path for path in PLUGIN_MANIFESTS if kind_of(folder / path) == "file"), None)
        if file is None:
            return None
        path = self._skill_files.shown(file)
        text = read_text(file, path=path, error=SuiteError, opener=self._skill_files.opener)
        document = read_document(text, path=path, kind="json", error=SuiteError)
        manifest = SuiteValue(source=document, value=document.value)
        manifest.mapping()
        return manifest

    def _servers(self, folder: Path, name: str, manifest: SuiteValue) -> Iterator[Problem]:
        """A warning if the plugin has MCP servers: they are left out of the copies of the plugin."""
        message = f"the MCP servers of the plugin {name} are not started"
        remedy = "if a case needs a server, add .mcp.json to the files of an arm"
        if manifest.member(PLUGIN_SERVERS_KEY).value:
            yield manifest.member(PLUGIN_SERVERS_KEY).problem(message, remedy)
        elif kind_of(file := folder / PLUGIN_SERVERS_FILE) == "file":
            yield Problem(message=message, location=Location(path=self._skill_files.shown(file)), remedy=remedy)

    def _skills_in(self, skills: Path) -> Iterator[SkillUnderTest]:
        """The skills of a plugin. Raises SuiteError."""
        if kind_of(skills) != "folder" or self._skill_files.refusal(skills):
            return
        try:
            folders = sorted(islice(skills.iterdir(), MAX_PLUGIN_FOLDERS))
        except OSError as error:
            message = f"cannot be listed: {error.strerror}"
            location = Location(path=self._skill_files.shown(skills))
            raise SuiteError.of(Problem(message=message, location=location)) from error
        for one in folders:
            if kind_of(one / SKILL_FILE) == "file":
                path = self._skill_files.shown(one / SKILL_FILE)
                known = read_skill(one, path=path, opener=self._skill_files.opener)
                yield SkillUnderTest(name=known.installed_name, folder=one, packaging="in-plugin")
