"""Bundles as they go into artifacts: others unpack and upload those with programs that follow links."""

from __future__ import annotations

from skillgym_action.filesystem.bundle import BundleEntry, BundleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Tree = dict[str, "Tree | str | None"]

READABLE_FILE, READABLE_FOLDER = 0o600, 0o700
MOST_LINKS = 40


def archived(entries: Iterable[BundleEntry], left_out: dict[str, str] | None = None) -> Iterator[BundleEntry]:
    """The same entries, links last, and of links only those that end at a regular file of the bundle.

    Folders on the way must be real ones, so that a link stays right when others are gone. Instead of other links there
    is a text that says where they led; with ``left_out`` they are missing, and noted there. All can be read and changed
    by their owner.
    """
    tree: Tree = {}
    held: list[BundleEntry] = []
    near: tuple[str, Tree] = ("", tree)
    for entry in entries:
        above, _, name = entry.path.rpartition("/")
        if above != near[0]:
            near = (above, _folder(tree, above))
        if entry.kind == "folder":
            near[1][name] = {}
            entry.mode |= READABLE_FOLDER
            yield entry
        elif entry.kind == "file":
            near[1][name] = None
            entry.mode |= READABLE_FILE
            yield entry
        else:
            near[1][name] = entry.target
            held.append(entry)
    for link in held:
        if _ends_at_file(tree, link):
            yield link
        elif left_out is None:
            yield _as_text(link)
        else:
            left_out[link.path] = link.target


def _folder(tree: Tree, path: str) -> Tree:
    for name in path.split("/") if path else ():
        tree = _known(tree, name)
    return tree


def _known(tree: Tree, name: str) -> Tree:
    below = tree.get(name)
    if not isinstance(below, dict):
        raise BundleError(f"{name} is no folder that came before what is in it")
    return below


def _ends_at_file(tree: Tree, link: BundleEntry) -> bool:
    folders = link.path.split("/")[:-1]
    target = link.target
    for _ in range(MOST_LINKS):
        *parts, name = target.split("/")
        if target.startswith("/") or (above := _entered(tree, folders, parts)) is None:
            return False
        folders, found = above
        if name not in found or isinstance(ended := found[name], dict):
            return False
        if ended is None:
            return True
        target = ended
    return False


def _entered(tree: Tree, folders: list[str], parts: list[str]) -> tuple[list[str], Tree] | None:
    """The folder that ``parts`` lead to from ``folders``; None for a link, for what is not there and for outside."""
    way = [tree]
    for name in folders:
        way.append(_known(way[-1], name))
    names = list(folders)
    for part in parts:
        if part in {"", "."}:
            continue
        if part == "..":
            if not names:
                return None
            names.pop()
            way.pop()
            continue
        reached = way[-1].get(part)
        if not isinstance(reached, dict):
            return None
        names.append(part)
        way.append(reached)
    return names, way[-1]


def _as_text(link: BundleEntry) -> BundleEntry:
    text = b"a symbolic link to " + link.target.encode("utf-8", "surrogateescape") + b"\n"
    return BundleEntry("file", link.path, READABLE_FILE, link.changed).holding(len(text), text)
