"""Stage: paths -> suite files. In folders they are recognised by name and content; a named file is always one.

What is called or written like a suite and is none is returned, too, with the reason.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import field, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Location, Problem, UsageError, suggestion
from skillgym_action.model.limits import NEAR_MISS_HEAD_BYTES
from skillgym_action.model.records import record
from skillgym_action.model.suite import Discovery, FoundSuite, NotASuite
from skillgym_action.settings.configuration_file import MISNAMED_QUARANTINE, QUARANTINE, closest_configs
from skillgym_action.suites import (
    FORMATS,
    could_be_named,
    format_named,
    format_with_ending_not_read,
    part_of,
    vendored_folder,
)
from skillgym_action.system.files.globs import is_pattern, matches_path_or_folder
from skillgym_action.text.documents.user_files import skipped_link
from skillgym_action.text.words import counted
from skillgym_action.workspaces.repository.reference_solutions import is_in_companion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from skillgym_action.settings.suite_options import DiscoverOptions
    from skillgym_action.workspaces.repository.repository import Repository

SUITE_HEAD_BYTES = 64 * 1024  # the beginning of a file, by which `discover` recognises suites
MAX_NEAR_MISS_FILES = 2_000  # files that are not called like suites, and looked at in one search
MAX_LINKED_ENTRIES = 1_000  # of a folder that a link beside suites leads to
EXTENSIONS = {
    ".json": ("x-bench", "skill-evals"),
    ".py": ("python",),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("typescript", "agentv")),
    **dict.fromkeys((".js", ".mjs", ".cjs"), ("typescript",)),
    **dict.fromkeys((".yaml", ".yml"), ("agentv", "plugin-evals", "harbor")),
    ".jsonl": ("agentv",),
    ".md": ("plugin-evals",),
    ".toml": ("harbor",),
}
PROGRAMS = frozenset({".py", ".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"})
CHOSEN_EXTENSIONS = {".json": ("agentv",)}
"""Formats that read files with these endings only where ``--format`` names them: another one reads them otherwise."""

PARTED = ("plugin-evals", "harbor")
"""The formats whose suites have cases in files of their own."""


@record(frozen=False, kw_only=False)
class _Search:
    """A search in progress. ``skipped``: files that are no suites, with the reason; the suites are yielded.

    ``quarantine``: by path, warnings about files that were probably meant as the quarantine file.
    """

    repository: Repository
    options: DiscoverOptions
    skipped: dict[str, NotASuite] = field(default_factory=dict)
    quarantine: dict[str, Problem] = field(default_factory=dict)
    others: set[str] = field(default_factory=set)  # files with other names that were looked at
    without_ending: list[str] = field(default_factory=list)  # among them are links to folders
    not_searched: set[str] = field(default_factory=set)


def discover(repository: Repository, cwd: Path, options: DiscoverOptions) -> Discovery:
    """The suite files at and below ``options.paths``, sorted, without duplicates; and what was skipped.

    Raises UsageError for a path that does not exist. If the run is cancelled, the files found so far.
    """
    included = [path for path in options.paths if not path.startswith("!")]
    unresolved = (path.removeprefix("!") for path in options.paths if path.startswith("!"))
    excluded = {path: _relative(repository, repository.checkout.under_root(cwd / path)) for path in unresolved}
    search = _Search(repository, options)
    found: dict[str, FoundSuite] = {}
    warnings: list[Problem] = []
    try:
        for path in included or [os.fspath(repository.root if not options.paths else cwd)]:
            empty = True
            for suite in _suites_at(search, cwd, path):
                found[suite.path] = _united(found.get(suite.path), suite)
                empty = False
            if empty and path in options.paths:
                warnings.append(Problem(message=f"{path}: no suite was found there{options.where}", remedy=_CHECK))
        warnings += _unused_exclusions(search, excluded)
    except InterruptedError:  # cancelled
        pass
    except OSError as error:
        raise UsageError(
            f"the files of {repository.root} cannot be listed: {error}",
            remedy="install git, and run `git status` there",
        ) from error
    if options.without:
        found = {path: suite for path, suite in found.items() if not suite.file.is_relative_to(options.without)}
    warnings += _unused_formats(found, options)
    patterns = tuple(excluded.values())
    left = (_without(found[path], patterns) for path in sorted(found) if not _is_excluded(path, patterns))
    suites = tuple(suite for suite in left if suite)
    warnings += _other_configurations(repository, cwd, suites, options)
    warnings += _skipped_links(search, [suite for suite in suites if not suite.parts])
    warnings += (one for path, one in _misnamed_quarantine(search).items() if not _is_excluded(path, excluded.values()))
    skipped = [path for path in sorted(search.skipped) if path not in found and _is_searched(search, path)]
    search.skipped.update(_imported_by_suites(search, suites))
    return Discovery(
        suites=suites,
        skipped=tuple((path, search.skipped[path]) for path in skipped if not _is_excluded(path, excluded.values())),
        warnings=tuple(warnings),
        not_searched=len(search.not_searched),
    )


def near_miss_warnings(discovery: Discovery) -> tuple[Problem, ...]:
    """A warning for each file that was probably meant as a suite, and the warnings of the search."""
    near = [
        Problem(message=why.reason, location=Location(path=path), remedy=why.remedy)
        for path, why in discovery.skipped
        if why.near_miss
    ]
    return (*discovery.warnings, *near)


CONFIGURATION_BEGINNING = "skillgym.config."
_CHECK = "`check` lists what was found and skipped"
_CHOOSE = "run the suites of each configuration separately, or choose one for all with --config"


def _is_searched(search: _Search, path: str) -> bool:
    without = search.options.without
    return without is None or not (search.repository.root / path).is_relative_to(without)


def _is_excluded(path: str, patterns: Iterable[str]) -> bool:
    return any(path == pattern or matches_path_or_folder(path, pattern) for pattern in patterns)


def _united(known: FoundSuite | None, suite: FoundSuite) -> FoundSuite:
    """A suite that was found twice, with the parts of both; without any, it is selected as a whole."""
    if known is None:
        return suite
    parts = (*known.parts, *suite.parts) if known.parts and suite.parts else ()
    return replace(known, parts=tuple(dict.fromkeys(parts)))


def _without(suite: FoundSuite, patterns: Collection[str]) -> FoundSuite | None:
    """The suite without excluded parts; None if none of its parts is left."""
    parts = tuple(part for part in suite.parts if not _is_excluded(part, patterns))
    return replace(suite, parts=parts) if parts or not suite.parts else None


def _unused_exclusions(search: _Search, excluded: dict[str, str]) -> Iterator[Problem]:
    """Warnings about ``!PATH`` that stands for no file: probably a typing error, and the suite is run."""
    repository = search.repository
    for written, pattern in excluded.items():
        if pattern.startswith("/") or os.path.lexists(repository.root / pattern):
            continue
        if not any(_is_excluded(path, (pattern,)) for path in repository.files(repository.root)):
            yield Problem(message=f"!{written} excludes no file{search.options.where}")


def _unused_formats(found: dict[str, FoundSuite], options: DiscoverOptions) -> Iterator[Problem]:
    there = {suite.format for suite in found.values()}
    for name in options.formats:
        if name not in there:
            yield Problem(message=f"--format {name}: no suite of this format was found", remedy=_CHECK)


def _other_configurations(
    repository: Repository, cwd: Path, suites: Iterable[FoundSuite], options: DiscoverOptions
) -> Iterator[Problem]:
    """A warning for each configuration that is the closest one of some suites, and not that of the run.

    The run may have none, and so may the suites; but the configuration of the working directory is meant for them, too.
    """
    used = options.configuration
    if options.named_configuration:
        return
    known: dict[Path, Path | None] = {}
    affected: dict[Path | None, list[str]] = {}
    for suite in suites:
        folder = suite.file.parent
        if folder not in known:
            known[folder] = _closest_configuration(folder, repository.root, used)
        affected.setdefault(known[folder], []).append(suite.path)
    for closest, paths in affected.items():
        if closest == used or (closest is None and used and used.parent == cwd):
            continue
        which = f"this and {counted(len(paths) - 1, 'other suite')} run" if paths[1:] else "this suite runs"
        how = f"with the configuration {_relative(repository, used)}" if used else "without a configuration"
        instead = f"not with the closest one, {_relative(repository, closest)}" if closest else "which is not above it"
        yield Problem(message=f"{which} {how}, {instead}", location=Location(path=paths[0]), remedy=_CHOOSE)


def _closest_configuration(folder: Path, root: Path, used: Path | None) -> Path | None:
    """The closest configuration of the suites in a folder; ``used`` if that cannot be known."""
    try:
        return next(iter(closest_configs(folder, root)), None)
    except OSError:
        return used


def _imported_by_suites(search: _Search, suites: Iterable[FoundSuite]) -> dict[str, NotASuite]:
    """The programs that define cases for suites which import them: they are no near misses."""
    near = {path: why for path, why in search.skipped.items() if why.near_miss}
    if not any(PurePosixPath(path).suffix.lower() in PROGRAMS for path in near):
        return {}
    from skillgym_action.workspaces.program_imports import imported_modules

    repository = search.repository
    programs = [suite.file for suite in suites if suite.file.suffix.lower() in PROGRAMS]
    modules = (module for file in programs for module in imported_modules(file, repository.checkout))
    imported = {_relative(repository, repository.checkout.under_root(module)) for module in modules}
    return {path: NotASuite(reason="has cases for a suite that imports it") for path in near if path in imported}


def _skipped_links(search: _Search, suites: Collection[FoundSuite]) -> Iterator[Problem]:
    """Warnings about links beside suites that lead to nothing, or to a folder with more suites: git lists none."""
    folders = {suite.path.rpartition("/")[0] for suite in suites}
    found = {suite.path for suite in suites}
    for path in search.without_ending:
        link = search.repository.root / path
        if path in found or path.rpartition("/")[0] not in folders or not link.is_symlink():
            continue
        if problem := skipped_link(link, path, _names_of_suites(search, path)):
            yield problem


def _names_of_suites(search: _Search, path: str) -> list[str]:
    """The names in the folder that a link leads to, if it stays in the repository, that suites have."""
    link, checkout = search.repository.root / path, search.repository.checkout
    names: list[str] = []
    with suppress(OSError):
        if checkout.refusal(link, follow=True) is None:
            names = [entry.name for entry in islice(os.scandir(link), MAX_LINKED_ENTRIES)]
    formats = {name: _formats_of(PurePosixPath(name).suffix.lower(), search.options) for name in names}
    return [name for name in names if any(format_named(one).named(f"{path}/{name}") for one in formats[name])]


def _misnamed_quarantine(search: _Search) -> dict[str, Problem]:
    """By path, warnings about files that were probably meant as the quarantine file, but are not read.

    The folder of the quarantine file is looked at even if it is not searched.
    """
    read, found = search.options.quarantine, dict(search.quarantine)
    for file in (read.with_name(name) for name in MISNAMED_QUARANTINE) if read else ():
        if os.path.lexists(file):
            path = _relative(search.repository, file)
            found[path] = Problem(
                message="is not read", location=Location(path=path), remedy=f"rename it to {QUARANTINE}"
            )
    return dict(sorted(found.items()))


def _is_quarantine(search: _Search, path: str) -> bool:
    """Whether a file has the name of a quarantine file, or a similar one; if it is in another folder, this is noted."""
    name = path.rpartition("/")[2]
    if name != QUARANTINE and name not in MISNAMED_QUARANTINE:
        return False
    read, file = search.options.quarantine, search.repository.root / path
    if read and file.parent != read.parent and os.path.lexists(file) and not vendored_folder(path):
        where = _relative(search.repository, read)
        search.quarantine[path] = Problem(
            message="is not read in this folder",
            location=Location(path=path),
            remedy=f"move its entries to {where}",
        )
    return True


def _suites_at(search: _Search, cwd: Path, path: str) -> Iterator[FoundSuite]:
    """The suites that one path, a file, a folder or a glob, stands for."""
    repository = search.repository
    target = repository.checkout.under_root(cwd / path)
    if target.is_dir():
        yield from _recognised(search, repository.searched_files(_folder(repository, path, target)))
    elif os.path.lexists(target):
        yield _named_suite(repository, target, search.options)
    elif is_pattern(path):
        pattern = _relative(repository, target)
        files = (p for p in repository.searched_files(repository.root) if matches_path_or_folder(p, pattern))
        yield from _recognised(search, files)
    else:
        raise UsageError(
            f"no such file or folder{search.options.where}: {path}",
            remedy=_name_beside(target) or "name a suite file, a folder or a glob; !PATH excludes",
        )


def _name_beside(target: Path) -> str | None:
    """The remedy for a name that is nearly that of another file in its folder."""
    try:
        names = sorted(entry.name for entry in os.scandir(target.parent))
    except OSError:
        return None
    return suggestion(target.name, names)


def _folder(repository: Repository, path: str, target: Path) -> Path:
    """The folder to search, with symbolic links resolved: git lists no files behind a link."""
    if not target.is_relative_to(repository.root):
        return target
    if refused := repository.checkout.refusal(target, follow=True):
        raise UsageError(f"{path} is not searched: {refused}", remedy="name a folder of the repository")
    return repository.root / target.resolve().relative_to(repository.root.resolve())


def _named_suite(repository: Repository, file: Path, options: DiscoverOptions) -> FoundSuite:
    path = _relative(repository, file)
    if PurePosixPath(path).name.startswith(CONFIGURATION_BEGINNING):
        raise UsageError(f"{path} is a configuration, not a suite", remedy=f"name it with --config {path}")
    formats = options.formats or EXTENSIONS.get(file.suffix.lower(), ())
    if part := _as_part(repository, path, [name for name in formats if format_named(name).named(path)]):
        return part
    if not formats or formats == EXTENSIONS[".md"]:  # a suite may have parts in Markdown, but is none
        others = "".join(f", or use --format {name}" for name in FORMATS if name not in FORMATS.own)  # of plug-ins
        raise UsageError(
            f"{path}: no suite format has files ending in {file.suffix or file.name!r}",
            remedy=f"suites end in {', '.join(ending for ending in EXTENSIONS if ending != '.md')}{others}",
        )
    if len(formats) > 1:
        formats = (*_likely_formats(repository, path, file, formats), *formats)
    return FoundSuite(path=path, file=file, format=formats[0])


def _likely_formats(repository: Repository, path: str, file: Path, formats: Sequence[str]) -> Iterator[str]:
    """The formats that accept a file; then those that have files of its name, whose errors say what is wrong with it.

    Among the latter are formats that do not look for suites in its folder.
    """
    try:
        head = _head(repository, file, SUITE_HEAD_BYTES)
    except OSError:  # reported by `load`
        head = ""
    else:
        yield from (name for name in formats if format_named(name).accepts(path, head))
    whole = [name for name in formats if name not in PARTED]
    yield from (name for name in whole if format_named(name).named(path))
    yield from (name for name in whole if format_named(name).rejection(path, head))


def _recognised(search: _Search, paths: Iterable[str]) -> Iterator[FoundSuite]:
    """The paths that are suites, also unreadable ones that are named like a suite: `load` reports them."""
    for path in paths:
        if "." not in path.rpartition("/")[2]:
            search.without_ending.append(path)
        if _is_quarantine(search, path):
            continue
        if _is_rejected_by_name(search, path):
            continue
        formats = _formats_of(PurePosixPath(path).suffix.lower(), search.options)
        likely = [name for name in formats if could_be_named(name, path)]
        if not likely or is_in_companion(path):
            continue
        named = [name for name in likely if format_named(name).named(path)]
        if name := _format_of(search, path, named, likely):
            if name in PARTED:
                if part := _as_part(search.repository, path, named):
                    yield part
                continue
            yield FoundSuite(path=path, file=search.repository.root / path, format=name)


def _is_rejected_by_name(search: _Search, path: str) -> bool:
    """Whether a file is called like a suite in a language that its format does not read: it is noted, but not read."""
    name = format_with_ending_not_read(path)
    if name is None or (search.options.formats and name not in search.options.formats) or is_in_companion(path):
        return False
    why = format_named(name).rejection(path, "")
    if why and os.path.lexists(search.repository.root / path):  # a file that git tracks may be deleted
        search.skipped[path] = why
    return True


def _as_part(repository: Repository, path: str, named: Collection[str]) -> FoundSuite | None:
    """The suite that a file is a part of, with this part selected; None: it is part of none."""

    def read(name: str) -> str | None:
        try:
            return _head(repository, repository.root / name, SUITE_HEAD_BYTES)
        except OSError:
            return None

    for name in PARTED:
        if name in named and (suite := part_of(name, path, read)):
            return FoundSuite(path=suite, file=repository.root / suite, format=name, parts=(path,))
    return None


def _formats_of(suffix: str, options: DiscoverOptions) -> list[str]:
    """The formats that a file with this ending may have."""
    names = EXTENSIONS.get(suffix, ())
    if not options.formats:
        return list(names)
    chosen = [name for name in (*names, *CHOSEN_EXTENSIONS.get(suffix, ())) if name in options.formats]
    return [*chosen, *(name for name in options.formats if name not in FORMATS.own)]


def _format_of(search: _Search, path: str, named: list[str], likely: list[str]) -> str | None:
    """The format of a suite. If the file is none, it is noted why."""
    repository = search.repository
    file = repository.root / path
    if not named and not _may_look_at(search, path):
        return None
    try:
        head = _head(repository, file, SUITE_HEAD_BYTES if named else NEAR_MISS_HEAD_BYTES)
    except OSError as error:
        # A file that git tracks may be deleted. A link that leads nowhere is there, and is reported.
        gone = isinstance(error, FileNotFoundError | NotADirectoryError) and not os.path.lexists(file)
        return named[0] if named and not gone else None
    if accepted := next((name for name in named if format_named(name).accepts(path, head)), None):
        return accepted
    reasons = (format_named(name).rejection(path, head) for name in named or likely)
    if why := next((why for why in reasons if why), None):
        search.skipped[path] = why
    return None


def _may_look_at(search: _Search, path: str) -> bool:
    """Whether a file that is not called like a suite is opened: only so many are."""
    if path not in search.others and len(search.others) >= MAX_NEAR_MISS_FILES:
        search.not_searched.add(path)
        return False
    search.others.add(path)
    return True


def _head(repository: Repository, file: Path, size: int) -> str:
    """The beginning of a file. Raises OSError, also for non-regular files and for links out of the checkout."""
    with open(file, "rb", opener=repository.checkout.opener(file)) as opened:
        return opened.read(size).decode("utf-8", "replace")


def _relative(repository: Repository, target: Path) -> str:
    return (
        target.relative_to(repository.root).as_posix() if target.is_relative_to(repository.root) else target.as_posix()
    )
