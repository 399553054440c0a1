"""Stage: paths -> suite files. A named file is always taken; folders are searched for what looks like a suite."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.filesystem.globs import is_pattern, matches_path_or_folder
from skillgym_action.formats import format_named
from skillgym_action.limits import SUITE_HEAD_BYTES
from skillgym_action.model.errors import UsageError
from skillgym_action.model.suite import FoundSuite

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
    """The suite files below ``options.paths``, sorted, without doubles. Raises UsageError for a path not there."""
    wanted = [path for path in options.paths if not path.startswith("!")]
    unwanted = [path.removeprefix("!") for path in options.paths if path.startswith("!")]
    excluded = [_relative(repository, repository.checkout.under_root(cwd / path)) for path in unwanted]
    found: dict[str, FoundSuite] = {}
    for path in wanted or [os.fspath(repository.root if not options.paths else cwd)]:
        try:
            for suite in _below(repository, cwd, path, options):
                found.setdefault(suite.path, suite)
        except InterruptedError:  # cancelled, and what is known by now is reported
            break
        except OSError as error:
            raise UsageError(
                f"the files of {repository.root} cannot be listed: {error}",
                remedy="install git, and see what `git status` says there",
            ) from error
    if options.without:
        found = {path: suite for path, suite in found.items() if not suite.file.is_relative_to(options.without)}
    left_out = {path for path in found if any(path == one or matches_path_or_folder(path, one) for one in excluded)}
    return tuple(found[path] for path in sorted(found.keys() - left_out))


def _below(repository: Repository, cwd: Path, path: str, options: DiscoverOptions) -> Iterator[FoundSuite]:
    target = repository.checkout.under_root(cwd / path)
    if target.is_dir():
        yield from _searched(repository, repository.files(_folder(repository, path, target)), options)
    elif os.path.lexists(target):
        yield _named(repository, target, options)
    elif is_pattern(path):
        pattern = _relative(repository, target)
        yield from _searched(
            repository, (p for p in repository.files(repository.root) if matches_path_or_folder(p, pattern)), options
        )
    else:
        raise UsageError(
            f"no such file or folder{options.where}: {path}",
            remedy="name a suite file, a folder or a glob; !PATH excludes",
        )


def _folder(repository: Repository, path: str, target: Path) -> Path:
    """The folder itself, where links of the checkout lead to it: git lists nothing behind a link."""
    if not target.is_relative_to(repository.root):
        return target
    if refused := repository.checkout.refusal(target, follow=True):
        raise UsageError(f"{path} is not searched: {refused}", remedy="name a folder of the repository")
    return repository.root / target.resolve().relative_to(repository.root.resolve())


def _named(repository: Repository, file: Path, options: DiscoverOptions) -> FoundSuite:
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
        except OSError:  # which `load` reports
            likely = (name for name in formats if format_named(name).named(path))
        formats = (*likely, *formats)
    return FoundSuite(path=path, file=file, format=formats[0])


def _searched(repository: Repository, paths: Iterable[str], options: DiscoverOptions) -> Iterator[FoundSuite]:
    """Files that are suites; what is called like one and cannot be read is taken too, for `load` to report."""
    for path in paths:
        names = EXTENSIONS.get(PurePosixPath(path).suffix.lower(), ())
        likely = [name for name in names if not options.formats or name in options.formats]
        likely = [name for name in likely if format_named(name).named(path)]
        if not likely:
            continue
        file = repository.root / path
        try:
            head = _head(repository, file)
            likely = [name for name in likely if format_named(name).accepts(path, head)]
        except (FileNotFoundError, NotADirectoryError):  # git knows it, but it is gone
            continue
        except OSError:
            pass
        for name in likely[:1]:
            yield FoundSuite(path=path, file=file, format=name)


def _head(repository: Repository, file: Path) -> str:
    """The beginning. Raises OSError, also for what is no regular file and for links that lead out of the checkout."""
    with open(file, "rb", opener=repository.checkout.opener(file)) as opened:
        return opened.read(SUITE_HEAD_BYTES).decode("utf-8", "replace")


def _relative(repository: Repository, target: Path) -> str:
    return (
        target.relative_to(repository.root).as_posix() if target.is_relative_to(repository.root) else target.as_posix()
    )
