"""The suites of the checkout, where others are run or were run: of another folder, or by another job."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from skillgym_action.model.errors import Problem, UsageError
from skillgym_action.model.quarantine import QuarantineFile
from skillgym_action.repository.suite_digests import suite_digest
from skillgym_action.settings.written_files import refuse_overwriting
from skillgym_action.stages.discover import discover
from skillgym_action.stages.load import load_digests
from skillgym_action.stages.quarantine import quarantined_again

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillgym_action.model.run_report import RunReport, SuitesFrom
    from skillgym_action.model.suite import BenchmarkSuite, FoundSuite
    from skillgym_action.services import Services
    from skillgym_action.settings.options import Options
    from skillgym_action.storage.merge import StoredReports


def suites_of_checkout(services: Services, options: Options) -> tuple[BenchmarkSuite, ...]:
    """The suites in the checkout, if those of another folder are run: found and hashed, never executed."""
    wanted = options.discover
    without = (
        services.suite_source.root if services.suite_source.root.is_relative_to(services.repository.root) else None
    )
    selecting = [path for path in wanted.paths if not path.startswith("!")]
    excluding = tuple(path for path in wanted.paths if path.startswith("!"))
    found: dict[str, FoundSuite] = {}
    for paths in [(path, *excluding) for path in selecting] or [excluding]:
        with suppress(UsageError):  # the checkout has no such path: the suite was removed there
            suites_at_path = discover(services.repository, services.cwd, replace(wanted, paths=paths, without=without))
            found |= {suite.path: suite for suite in suites_at_path.suites}
    inside = (suite for suite in found.values() if not suite.path.startswith("/"))
    suites = load_digests(inside, services.hosts, options.load, services.repository.checkout)
    return tuple(replace(suite, digest=suite_digest(suite, services.repository)) for suite in suites)


def suites_from_folder(
    services: Services, suites: Sequence[BenchmarkSuite], of_checkout: Sequence[BenchmarkSuite], options: Options
) -> SuitesFrom:
    """Where ``suites`` were read from, and how the suites of the checkout differ from them."""
    from skillgym_action.model.run_report import SuitesFrom

    base = {suite.path: suite.digest for suite in suites if not suite.path.startswith("/")}
    head = {suite.path: suite.digest for suite in of_checkout}
    return SuitesFrom(
        folder=services.suite_source.named,
        commit=services.suite_source.commit,
        added=tuple(sorted(head.keys() - base.keys())),
        changed=tuple(sorted(path for path in head.keys() & base.keys() if head[path] != base[path])),
        removed=tuple(sorted(base.keys() - head.keys())),
        configuration_differs=options.report.configuration_differs,
    )


def compared_with_checkout(services: Services, runs: StoredReports, options: Options) -> RunReport:
    """The merged runs, in which suites that differ from those of the checkout are marked, if the options say so.

    Each run is compared before they are merged: two shards may have different versions of a suite. Raises UsageError if
    a report would replace a suite.
    """
    from skillgym_action.storage.merge import merged

    name, wanted = services.directory.path.name, options.report.suites
    if wanted is None or (not services.repository.has_git and wanted.without_checkout == "nothing"):
        return merged(runs, name)
    from skillgym_action.reporters.wording import CHECK_OUT_BASE
    from skillgym_action.storage.changed_suites import completed, marked

    if not services.repository.has_git:
        if wanted.without_checkout == "changed":
            report = merged([(file, marked(run, None)) for file, run in runs], name)
            return quarantined_again(report, QuarantineFile(), today=services.clock.now().date())
        report = merged(runs, name)
        problem = Problem(message="the suites were compared with nothing", remedy=CHECK_OUT_BASE)
        return replace(report, warnings=(*report.warnings, problem))
    found = discover(services.repository, services.cwd, options.discover).suites
    refuse_overwriting(options.publish.reports, (("the suite", suite.file) for suite in found), services.cwd)
    tracked = services.repository.committed_files()
    known = (suite for suite in found if suite.path in tracked or any(part in tracked for part in suite.parts))
    suites = load_digests(known, services.hosts, options.load)
    base = {suite.path: suite_digest(suite, services.repository) for suite in suites}
    report = merged([(file, marked(run, base)) for file, run in runs], name)
    report = quarantined_again(report, options.plan.quarantine, today=services.clock.now().date())
    return completed(report, base if wanted.all_expected else ())
