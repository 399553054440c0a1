"""Tables of agents, formats, reporters and sandboxes: those of the tool, then those of installed packages (plug-ins).

An entry point of a group ``skillgym_action.KIND`` names a module with ``API``. Nothing is looked up for the tool's own
names, so that no package can take them over and a start that uses only them is not slower.
"""

from __future__ import annotations

import re
import site
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from skillgym_action.model.errors import PlugInError, SkillgymError
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from types import ModuleType

API = 1  # of the interface ``skillgym_action.plugins``; it rises when a plug-in that worked may fail
USABLE_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")  # options fold the case of words, and names become parts of paths
V = TypeVar("V")


@record
class PlugIn:
    """An entry point of an installed package. ``kind``: that of its table, such as ``agents``.

    Texts are cut, and have no control characters, but those of stored results. ``module``: as the package has it; empty
    in stored results.
    """

    kind: str
    name: str
    package: str
    version: str
    module: str = ""

    def __str__(self) -> str:
        return f"{self.name} of {self.package} {self.version}"


@cache
def installed_plug_ins(kind: str) -> tuple[PlugIn, ...]:
    """The entry points of a kind, sorted by name. Looked up once: that takes up to 0.1 s.

    Those in the checkout are left out, which ``PYTHONPATH`` or ``python -m`` can search: a commit could add one there.
    Raises PlugInError if a package is damaged.
    """
    from importlib.metadata import entry_points

    try:
        entries = entry_points(group=f"skillgym_action.{kind}")
    # A damaged package can make importlib.metadata raise anything.
    except Exception as error:
        what = f"the packages of this Python cannot be searched for plug-ins: {type(error).__name__}: {error}"
        raise PlugInError(what, remedy="install the package again whose entry_points.txt is damaged") from error
    found = []
    for entry in entries:
        if entry.dist and not _is_of_checkout(Path(str(entry.dist.locate_file(""))).resolve()):
            name, package, version = map(_printable, (entry.name, entry.dist.name, entry.dist.version))
            found.append(PlugIn(kind=kind, name=name, package=package, version=version, module=entry.value))
    return tuple(sorted(found, key=lambda one: (one.name, one.package)))


def _is_of_checkout(folder: Path) -> bool:
    """Whether a commit may have written the folder: it is in the repository, and in no environment there."""
    cwd, own = Path.cwd(), (Path(one).resolve() for one in (sys.prefix, site.getuserbase()))
    root = next((one for one in (cwd, *cwd.parents) if (one / ".git").exists()), None)
    if root is None:
        return folder == cwd
    return folder.is_relative_to(root) and not any(map(folder.is_relative_to, own))


def _printable(text: object) -> str:
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in str(text)[:200])


class PluginTable(Mapping[str, V], Generic[V]):
    """Name -> what ``own`` has, else what ``made`` returns for the module of a plug-in.

    Iteration has the names of plug-ins, too, and imports none of them. Looking up the name of a plug-in imports its
    module once; raises PlugInError if that fails, if it is for another interface, or if it lacks a name in ``needs``.
    ``reserved``: words of the tool that mean something else where names of this table are used.
    """

    def __init__(
        self,
        kind: str,
        own: Mapping[str, V],
        needs: tuple[str, ...],
        made: Callable[[ModuleType], V],
        reserved: Collection[str] = (),
    ) -> None:
        self.kind, self.own, self.needs, self._made = kind, own, needs, made
        self.taken = frozenset((*own, *reserved))
        self._loaded: dict[str, V] = {}

    def plug_ins(self, name: str) -> tuple[PlugIn, ...]:
        """The plug-ins with this name; () for a name of the tool, and for one that no plug-in can have."""
        if name in self.taken or not USABLE_NAME.fullmatch(name):
            return ()
        return tuple(one for one in installed_plug_ins(self.kind) if one.name == name)

    def __getitem__(self, name: str) -> V:
        if name in self.own:
            return self.own[name]
        if name not in self._loaded:
            self._loaded[name] = self._load(self.plug_ins(name), name)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        return name in self.own or (isinstance(name, str) and bool(self.plug_ins(name)))

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from filter(self.plug_ins, dict.fromkeys(one.name for one in installed_plug_ins(self.kind)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @contextmanager
    def blamed(self, name: str, kind: type[SkillgymError]) -> Iterator[None]:
        """What the plug-in raises becomes an error of ``kind`` that names it. For a name of the tool: nothing."""
        try:
            yield
        except Exception as error:
            if name in self.own or isinstance(error, SkillgymError):
                raise
            what = f"the plug-in {self.plug_ins(name)[0]} failed: {type(error).__name__}: {error}"
            raise kind(what, remedy="update its package, or uninstall it") from error

    def _load(self, found: tuple[PlugIn, ...], name: str) -> V:
        if not found:
            raise KeyError(name)
        packages = " and ".join(f"{one.package} {one.version}" for one in found)
        if len(found) > 1:
            raise PlugInError(f"the plug-in {name} is in {packages}", remedy="uninstall all but one of them")
        place = found[0].module
        try:
            module = import_module(place)
            if (api := module.API) == API:
                for need in self.needs:
                    getattr(module, need)
                return self._made(module)
        except (Exception, SystemExit) as error:
            where = f"entry point {name} = {place} in skillgym_action.{self.kind} of the package {packages}"
            how = f"{where}: {type(error).__name__}: {error}"
            remedy = "update the package, or uninstall it"
            raise PlugInError(f"the plug-in {name} cannot be loaded: {how}", remedy=remedy) from error
        remedy = f"use versions of skillgym-action and {packages} with the same interface: update the older one"
        raise PlugInError(f"the plug-in {name} is for interface {api}, and this is interface {API}", remedy=remedy)
