"""Stage: paths -> suite files. In folders they are recognised by name and content; a named file is always one."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.filesystem.globs import is_pattern, matches_path_or_folder
from skillgym_action.formats import format_named
from skillgym_action.limits import SUITE_HEAD_BYTES
from skillgym_action.model.errors import UsageError
from skillgym_action.model.suite import FoundSuite
from skillgym_action.repository.reference_solutions import is_in_solutions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.repository.repository import Repository
    from skillgym_action.settings.options import DiscoverOptions

EXTENSIONS = {
    ".json": ("x-bench", "agentv"),
    ".py": ("python",),
    **dict.fromkeys((".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"), ("typescript",)),
    **dict.fromkeys((".yaml", ".yml", ".jsonl"), ("agentv",)),
}


def discover(repository: Repository, cwd: Path, options: DiscoverOptions) -> tuple[FoundSuite, ...]:
    """The suite files at and below ``options.paths``, sorted, without duplicates.

    Raises UsageError for a path that does not exist. If the run is cancelled, the files found so far.
    """
    included = [path for path in options.paths if not path.startswith("!")]
    unresolved = (path.removeprefix("!") for path in options.paths if path.startswith("!"))
    excluded = [_relative(repository, repository.checkout.under_root(cwd / path)) for path in unresolved]
    found: dict[str, FoundSuite] = {}
    for path in included or [os.fspath(repository.root if not options.paths else cwd)]:
        try:
            for suite in _suites_at(repository, cwd, path, options):
                found.setdefault(suite.path, suite)
        except InterruptedError:  # cancelled
            break
        except OSError as error:
            raise UsageError(
                f"the files of {repository.root} cannot be listed: {error}",
                remedy="install git, and run `git status` there",
            ) from error
    if options.without:
        found = {path: suite for path, suite in found.items() if not suite.file.is_relative_to(options.without)}
    left_out = {
        path for path in found if any(path == pattern or matches_path_or_folder(path, pattern) for pattern in excluded)
    }
    return tuple(found[path] for path in sorted(found.keys() - left_out))


def _suites_at(repository: Repository, cwd: Path, path: str, options: DiscoverOptions) -> Iterator[FoundSuite]:
    """The suites that one path, a file, a folder or a glob, stands for."""
    target = repository.checkout.under_root(cwd / path)
    if target.is_dir():
        yield from _recognised(repository, repository.files(_folder(repository, path, target)), options)
    elif os.path.lexists(target):
        yield _named_suite(repository, target, options)
    elif is_pattern(path):
        pattern = _relative(repository, target)
        yield from _recognised(
            repository, (p for p in repository.files(repository.root) if matches_path_or_folder(p, pattern)), options
        )
    else:
        raise UsageError(
            f"no such file or folder{options.where}: {path}",
            remedy="name a suite file, a folder or a glob; !PATH excludes",
        )


def _folder(repository: Repository, path: str, target: Path) -> Path:
    """The folder to search, with symbolic links resolved: git lists no files behind a link."""
    if not target.is_relative_to(repository.root):
        return target
    if refused := repository.checkout.refusal(target, follow=True):
        raise UsageError(f"{path} is not searched: {refused}", remedy="name a folder of the repository")
    return repository.root / target.resolve().relative_to(repository.root.resolve())


def _named_suite(repository: Repository, file: Path, options: DiscoverOptions) -> FoundSuite:
    path = _relative(repository, file)
    formats = options.formats or EXTENSIONS.get(file.suffix.lower(), ())
    if not formats:
        raise UsageError(
            f"{path}: no suite format has files ending in {file.suffix or file.name!r}",
            remedy=f"suites end in {', '.join(EXTENSIONS)}",
        )
    if len(formats) > 1:
        try:
            head = _head(repository, file)
            likely = (name for name in formats if format_named(name).accepts(path, head))
        except OSError:  # reported by `load`
            likely = (name for name in formats if format_named(name).named(path))
        formats = (*likely, *formats)
    return FoundSuite(path=path, file=file, format=formats[0])


def _recognised(repository: Repository, paths: Iterable[str], options: DiscoverOptions) -> Iterator[FoundSuite]:
    """The paths that are suites, also unreadable ones that are named like a suite: `load` reports them."""
    for path in paths:
        names = EXTENSIONS.get(PurePosixPath(path).suffix.lower(), ())
        likely = [name for name in names if not options.formats or name in options.formats]
        likely = [name for name in likely if format_named(name).named(path)]
        if not likely or is_in_solutions(path):
            continue
        file = repository.root / path
        try:
            head = _head(repository, file)
            likely = [name for name in likely if format_named(name).accepts(path, head)]
        except (FileNotFoundError, NotADirectoryError):  # tracked by git, but deleted
            continue
        except OSError:
            pass
        for name in likely[:1]:
            yield FoundSuite(path=path, file=file, format=name)


def _head(repository: Repository, file: Path) -> str:
    """The beginning of a file. Raises OSError, also for non-regular files and for links out of the checkout."""
    with open(file, "rb", opener=repository.checkout.opener(file)) as opened:
        return opened.read(SUITE_HEAD_BYTES).decode("utf-8", "replace")


def _relative(repository: Repository, target: Path) -> str:
    return (
        target.relative_to(repository.root).as_posix() if target.is_relative_to(repository.root) else target.as_posix()
    )
