"""Symbolic links in archived workspaces: artifacts are packed and unpacked by programs that follow links."""

from __future__ import annotations

from skillgym_action.model.limits import MAX_LINKS_FOLLOWED
from skillgym_action.system.files.bundle import BundleEntry, BundleError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Tree = dict[str, "Tree | str | None"]

READABLE_FILE, READABLE_FOLDER = 0o600, 0o700


def with_safe_links(entries: Iterable[BundleEntry], left_out: dict[str, str] | None = None) -> Iterator[BundleEntry]:
    """The same entries, links last, and of links only those that end at a regular file of the bundle.

    Folders on the way must be real ones, so that a link stays right when others are removed. Other links are replaced
    by text files with their targets; if ``left_out`` is given, they are left out and added to it, path to target. The
    owner may read and change all files and folders.
    """
    tree: Tree = {}
    links: list[BundleEntry] = []
    parent, siblings = "", tree
    for entry in entries:
        above, _, name = entry.path.rpartition("/")
        if above != parent:
            parent, siblings = above, _folder(tree, above)
        if entry.kind == "folder":
            siblings[name] = {}
            entry.mode |= READABLE_FOLDER
            yield entry
        elif entry.kind == "file":
            siblings[name] = None
            entry.mode |= READABLE_FILE
            yield entry
        else:
            siblings[name] = entry.target
            links.append(entry)
    for link in links:
        if _ends_at_file(tree, link):
            yield link
        elif left_out is None:
            yield _as_text(link)
        else:
            left_out[link.path] = link.target


def _folder(tree: Tree, path: str) -> Tree:
    for name in path.split("/") if path else ():
        tree = _subfolder(tree, name)
    return tree


def _subfolder(tree: Tree, name: str) -> Tree:
    below = tree.get(name)
    if not isinstance(below, dict):
        raise BundleError(f"{name} is not a folder that precedes its content")
    return below


def _ends_at_file(tree: Tree, link: BundleEntry) -> bool:
    folders = link.path.split("/")[:-1]
    target = link.target
    for _ in range(MAX_LINKS_FOLLOWED):
        *parts, name = target.split("/")
        if target.startswith("/") or (above := _resolved(tree, folders, parts)) is None:
            return False
        folders, found = above
        if name not in found or isinstance(ended := found[name], dict):
            return False
        if ended is None:
            return True
        target = ended
    return False


def _resolved(tree: Tree, folders: list[str], parts: list[str]) -> tuple[list[str], Tree] | None:
    """The folder that ``parts`` lead to from ``folders``: its path and content; None by way of a link, or outside."""
    chain = [tree]
    for name in folders:
        chain.append(_subfolder(chain[-1], name))
    names = list(folders)
    for part in parts:
        if part in {"", "."}:
            continue
        if part == "..":
            if not names:
                return None
            names.pop()
            chain.pop()
            continue
        reached = chain[-1].get(part)
        if not isinstance(reached, dict):
            return None
        names.append(part)
        chain.append(reached)
    return names, chain[-1]


def _as_text(link: BundleEntry) -> BundleEntry:
    text = b"a symbolic link to " + link.target.encode("utf-8", "surrogateescape") + b"\n"
    return BundleEntry("file", link.path, READABLE_FILE, link.mtime).with_content(len(text), text)
