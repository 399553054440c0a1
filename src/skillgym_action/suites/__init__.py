"""Suite formats: the modules named in ``FORMATS``, most of them in a folder of their own.

A format recognises its suite files, and reads them. It raises ``SuiteError`` for a file that cannot be
used at all; a case that cannot be used becomes an ``Invalid``, and its siblings still run. To add one: a module or
folder here, a line in ``FORMATS``, tests.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Protocol, cast

from skillgym_action.model.errors import SuiteError
from skillgym_action.model.plugin_table import PluginTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from skillgym_action.model.arm import OverlayFile
    from skillgym_action.model.suite import BenchmarkSuite, NotASuite
    from skillgym_action.text.documents.skill_files import SkillFiles
    from skillgym_action.text.documents.user_files import Opener

_OWN = {
    "x-bench": "skillgym_action.suites.xbench.suite",
    "python": "skillgym_action.suites.programs.python",
    "typescript": "skillgym_action.suites.programs.typescript",
    "agentv": "skillgym_action.suites.agentv.suite",
    "plugin-evals": "skillgym_action.suites.plugin_evals.suite",
    "skill-evals": "skillgym_action.suites.skill_evals.suite",
    "harbor": "skillgym_action.suites.harbor.suite",
}
FORMAT_ALIASES = {"evals": "skill-evals"}
"""Other words for a format that options accept."""
_NEEDS = ("named", "accepts", "rejection", "suite")
FORMATS = PluginTable("formats", _OWN, _NEEDS, lambda module: module.__name__, reserved=FORMAT_ALIASES)
"""Files are compared with the formats of plug-ins only where an option names these formats."""

# Words of which a file's name has one in a format: without them its module is not imported to look at the file.
WORDS_IN_NAMES = {"skill-evals": ("eval", "quer")}

# Endings of names that the suites of a format would have in languages that it does not read: the name alone is judged.
ENDINGS_NOT_READ = {"x-bench": (".bench.yaml", ".bench.yml", ".bench.jsonc", ".bench.json5")}

# What is in these folders was written elsewhere, or made by a program: names alone say nothing about it.
VENDORED_FOLDERS = frozenset(
    {"vendor", "vendored", "third_party", "third-party", "bower_components", "site-packages", "dist"}
)


class SuiteFile(Protocol):
    """A file that may be a suite. ``path`` is relative to the repository root, ``file`` absolute."""

    @property
    def path(self) -> str: ...
    @property
    def file(self) -> Path: ...
    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of the tool, for formats that name its variables; it has secrets."""
        ...

    @property
    def agentv_compat(self) -> bool:
        """Whether AgentV's suites are scored as AgentV does where this tool differs on purpose."""
        ...

    @property
    def text(self) -> Callable[[], str]:
        """The content. Raises SuiteError when it is not UTF-8 or too large."""
        ...

    @property
    def program(self) -> Callable[[], dict[str, object]]:
        """The reply of the suite host that runs the file, as data. Raises SuiteError when it cannot be loaded."""
        ...

    @property
    def exported(self) -> Callable[[], dict[str, object]]:
        """What the suite host says that a suite of AgentV in TypeScript exports. Raises SuiteError."""
        ...

    @property
    def opener(self) -> Opener | None:
        """What opens the other files of the suite. A suite of the checkout may only have files of the checkout."""
        ...

    @property
    def refusal(self) -> Callable[[Path], str | None]:
        """Why a folder cannot be the template of a workspace, such as a link on the way to it; None if it can."""
        ...

    @property
    def refusal_to_read(self) -> Callable[[Path], str | None]:
        """Why the files of a folder must not be read, such as a link on the way to it; None if they may."""
        ...

    @property
    def overlay(self) -> Callable[[Path, str], tuple[OverlayFile, ...]]:
        """The files of a folder that an arm adds; the text is the key path in messages. Raises SuiteError."""
        ...

    @property
    def refusal_in_place(self) -> Callable[[Path], str | None]:
        """Why agents cannot work in a folder itself, such as that it is not in the repository; None if they can."""
        ...

    @property
    def cancelled(self) -> bool:
        """Whether the run was cancelled. Then the suite is not used, so that a format may stop reading it."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """The files of the suite that were selected, relative to the repository root; (): all."""
        ...

    @property
    def skills(self) -> SkillFiles:
        """Where the skills are looked for that the suite is about."""
        ...


class PartedFormat(Protocol):
    """What a format has, too, whose suites have cases in files of their own."""

    def part_of(self, path: str, read: Callable[[str], str | None]) -> str | None:
        """The suite file that a file belongs to; None: none. ``read``: the beginning of a file of the repository."""
        ...


class Format(Protocol):
    """The functions of each module that is named in ``FORMATS``."""

    def named(self, path: str) -> bool:
        """Whether a file is called like a suite of this format. Then it counts as one if it cannot be read."""
        ...

    def accepts(self, path: str, head: str) -> bool:
        """Whether the file is loaded as a suite of this format. ``path`` is relative, ``head`` its first 64 KiB.

        A file that cannot be loaded is reported as errored: accept what was meant as a suite, also a misspelt one.
        """
        ...

    def rejection(self, path: str, head: str) -> NotASuite | None:
        """Why a file that is not accepted is not run; None if it has nothing to do with this format.

        ``head``: the first 16 KiB of a file that is not ``named``.
        """
        ...

    def suite(self, source: SuiteFile) -> BenchmarkSuite:
        """The suite. Raises SuiteError."""
        ...


def vendored_folder(path: str) -> str | None:
    """The first folder of the path that holds what was written elsewhere."""
    return next((part for part in path.split("/")[:-1] if part.lower() in VENDORED_FOLDERS), None)


def format_with_ending_not_read(path: str) -> str | None:
    """The format of which a file has the name, in a language that the format does not read; None if there is none."""
    lower = path.lower()
    return next((name for name, endings in ENDINGS_NOT_READ.items() if lower.endswith(endings)), None)


def format_named(name: str) -> Format:
    """The module of a format; imported on first use. What that of a plug-in raises becomes a SuiteError."""
    module = import_module(FORMATS[name])
    if name in FORMATS.own:
        return cast("Format", module)
    blamed = FORMATS.blamed(name, SuiteError)
    return cast("Format", SimpleNamespace(**{need: blamed(getattr(module, need)) for need in FORMATS.needs}))


def could_be_named(name: str, path: str) -> bool:
    """Whether a format has files that are called like this one; if not, it neither accepts the file nor says why."""
    if name not in FORMATS.own:
        return format_named(name).named(path)
    words = WORDS_IN_NAMES.get(name)
    return words is None or any(word in path.rpartition("/")[2].lower() for word in words)


def part_of(name: str, path: str, read: Callable[[str], str | None]) -> str | None:
    """The suite file that a file belongs to, in a format whose suites have cases in files of their own; None: none."""
    return cast("PartedFormat", import_module(FORMATS[name])).part_of(path, read)
