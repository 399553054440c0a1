"""``workspace.repos`` of AgentV suites: git repositories that are cloned into new workspaces.

They are cloned by a hook, as the user and with the rights that hooks have: without secrets, and never by the tool.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillgym_action.model.hooks import Hook, RepositoryFetch
from skillgym_action.text.documents.user_files import kind_of, resolved

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.values import SuiteValue

MAX_WORKSPACE_REPOS = 20
REPO_CLONE_SECONDS = 300.0  # for cloning a repository of a workspace

KNOWN_KEYS = frozenset({"path", "repo", "commit", "base_commit", "ancestor", "sparse"})
REMOVED_KEYS = {"source": "repo", "checkout": "commit and ancestor", "clone": "sparse"}
PROTOCOLS = ("https", "http", "ssh", "file")

_GIT = ("env", "GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=true", "GIT_CONFIG_NOSYSTEM=1", "GIT_LFS_SKIP_SMUDGE=1")
_ALLOWED = f"GIT_ALLOW_PROTOCOL={':'.join(PROTOCOLS)}"
# Objects are copied: a hard link to one of a repository on this machine could be changed by the agent. No link in the
# workspace, also at the target itself, leads the clone or a folder that is made for it out of the workspace. The home,
# and with it the global configuration, is the hook's own. A log of references would have the path of what is cloned.
_CLONE = """set -eu
target=$1 url=$2 ref=$3 back=$4; shift 4
root=$(pwd -P)
above=$target
while [ ! -e "$above" ] && [ ! -L "$above" ]; do above=$(dirname -- "$above"); done
real=$(cd -P -- "$above" && pwd -P) || real=
case "$real/" in "$root"/*) ;; *) echo "$target is outside of the workspace" >&2; exit 1;; esac
mkdir -p -- "$(dirname -- "$target")"
git config --global --add safe.directory '*'
git -c core.hooksPath=/dev/null -c core.logAllRefUpdates=false clone --quiet --no-checkout --no-hardlinks -- \
  "${SKILLGYM_REPO_BUNDLE:-$url}" "$target"
cd -P -- "$target"
git remote set-url origin "$url"
if [ $# -gt 0 ]; then git sparse-checkout init --cone; git sparse-checkout set "$@"; fi
sha=$(git rev-parse --quiet --verify "$ref^{commit}" || git rev-parse --quiet --verify "origin/$ref^{commit}") ||
  { echo "$url has no commit $ref" >&2; exit 1; }
if [ "$back" != 0 ]; then
  sha=$(git rev-parse --quiet --verify "$sha~$back") || { echo "$ref has no $back ancestors" >&2; exit 1; }
fi
git -c core.hooksPath=/dev/null checkout --quiet --detach "$sha"
"""
_FETCH = """set -eu
fetched=$(mktemp -d)
git config --global --add safe.directory '*'
git -c core.hooksPath=/dev/null clone --quiet --bare -- "$1" "$fetched/git"
git -C "$fetched/git" bundle create --quiet "$SKILLGYM_REPO_BUNDLE" --all
rm -rf -- "$fetched"
"""
_SHORT = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")
_HELPER = re.compile(r"[A-Za-z0-9+.-]*::")
_SCP = re.compile(r"(?!-)[A-Za-z0-9_.-]+@(?!-)[A-Za-z0-9_.-]+:(?!-)\S+")
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_BAD = re.compile(r"[\0-\x20\x7f]")
_REF = re.compile(r"(?!-)[A-Za-z0-9_./+-]+")


def repos_of(value: SuiteValue | None, folder: Path) -> tuple[tuple[Hook, ...], tuple[Problem, ...]] | None:
    """A hook for each repository, and warnings; None: no ``repos``. Local ones are relative to ``folder``.

    Raises SuiteError.
    """
    if value is None:
        return None
    repos = value.items()
    if len(repos) > MAX_WORKSPACE_REPOS:
        raise value.error(f"more than {MAX_WORKSPACE_REPOS} repositories", "prepare a template")
    hooks = tuple(_hook(repo, folder) for repo in repos)
    return hooks, tuple(problem for repo in repos for problem in repo.unknown_keys(KNOWN_KEYS))


def _hook(repo: SuiteValue, folder: Path) -> Hook:
    repo.mapping()
    for old, new in REMOVED_KEYS.items():
        if member := repo.get(old):
            raise member.error(f"{old} was removed from AgentV", f"write {new}")
    if (source := repo.get("repo")) is None:
        raise repo.missing("repo", "repo: https://github.com/org/name, or a path", "the repository has no repo")
    git = (*_GIT, _ALLOWED, "sh", "-c")
    sparse = tuple(_sparse(item) for item in sparse.items()) if (sparse := repo.get("sparse")) else ()
    target, url = _target(repo), clone_source(source, folder)
    fetch = None if url.startswith("/") else RepositoryFetch(url=url, argv=(*git, _FETCH, "fetch", url))
    argv = (*git, _CLONE, "clone", target, url, _ref(repo), _ancestor(repo), *sparse)
    return Hook(argv=argv, timeout=REPO_CLONE_SECONDS, fetch=fetch)


def clone_source(value: SuiteValue, folder: Path) -> str:
    """What git clones: a URL, or the absolute path of a repository on this machine. Raises SuiteError."""
    text = value.as_text().strip()
    if not text or text.startswith("-") or _BAD.search(text):
        raise value.error("is neither a URL nor a path of a repository", "repo: https://github.com/org/name")
    if _HELPER.match(text):
        raise value.error("names a program to clone with, which is refused", f"use {', '.join(PROTOCOLS)}, or a path")
    if url := _URL.match(text):
        parts = urlsplit(text)
        if url[1].lower() not in PROTOCOLS:
            raise value.error(f"the protocol {url[1]} is not supported", f"use {', '.join(PROTOCOLS)}, or a path")
        if parts.password or (parts.username and parts.scheme != "ssh") or (parts.hostname or "").startswith("-"):
            raise value.error("the URL has a user or a password in it, or is none", "use a URL without credentials")
        return text
    if _SCP.fullmatch(text):
        return text
    if _SHORT.fullmatch(text) and not text.startswith("."):
        return f"https://github.com/{text}.git"
    path = folder / text
    if kind_of(path) != "folder":
        raise value.error(f"there is no repository {text}", "paths are relative to the suite file")
    return str(resolved(path))


def _target(repo: SuiteValue) -> str:
    """The folder in the workspace. Raises SuiteError."""
    if (value := repo.get("path")) is None:
        raise repo.missing("path", "path: ./name, a folder in the workspace", "the repository has no path")
    path = PurePosixPath(value.as_text())
    parts = path.parts
    if path.is_absolute() or ".." in parts or any(part.lower() == ".git" for part in parts):
        raise value.error("must be a folder in the workspace, such as ./name")
    if _BAD.search(str(path)) or str(path).startswith("-"):
        raise value.error("must be a folder in the workspace, without blanks, such as ./name")
    return str(path)


def _ref(repo: SuiteValue) -> str:
    commit, base = repo.get("commit"), repo.get("base_commit")
    if commit and base and commit.value != base.value:
        raise base.error("commit and base_commit differ", "leave one of them out")
    value = commit or base
    if value is None:
        return "HEAD"
    text = value.as_text()
    if not _REF.fullmatch(text) or ".." in text:
        raise value.error("must be a commit, a branch or a tag")
    return text


def _ancestor(repo: SuiteValue) -> str:
    number = repo.number("ancestor", whole=True)
    return str(int(number or 0))


def _sparse(item: SuiteValue) -> str:
    text = item.as_text()
    if text.startswith("-") or ".." in PurePosixPath(text).parts or "\n" in text:
        raise item.error("must be a folder of the repository")
    return text
