"""Settings and configuration -> the options of each stage.

A setting wins over the configuration, which wins over the default.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skillgym_action.github.event import EVENTS_WITH_SECRETS
from skillgym_action.github.publish_options import PublisherOptions
from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.model.resource_limits import ResourceLimits, parse_limits
from skillgym_action.model.session_report import Price
from skillgym_action.model.suite import Bootstrap, WorkspaceSpec
from skillgym_action.model.token_snapshots import SnapshotConfig, Tolerance
from skillgym_action.processes.resource_usage import memory_size
from skillgym_action.settings.configuration_file import SNAPSHOTS, resolved_env
from skillgym_action.settings.options import (
    DEFAULT_FAIL_ON,
    DEFAULT_TIMEOUT,
    DiscoverOptions,
    ExecuteOptions,
    GateOptions,
    InstallAgentsOptions,
    LoadOptions,
    Options,
    PlanOptions,
    PublishOptions,
    ReportOptions,
    Settings,
)
from skillgym_action.storage.changed_suites import SuiteComparison
from skillgym_action.storage.journal_file import JOURNAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from skillgym_action.clock import Clock
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import Context
    from skillgym_action.user_templates.template_folder import TemplateSources


def options(settings: Settings, config: Config, context: Context, *, runners: int) -> Options:
    """The options of a run in that place on that many runners."""
    run = config.file.run
    milliseconds = config.file.defaults.timeout_ms
    _refuse_paths(settings, context)
    return Options(
        discover=DiscoverOptions(paths=settings.paths, formats=settings.format),
        load=LoadOptions(
            workspace=_workspace(config, context),
            cwd=context.suite_source.in_head(config.folder / run.cwd) if config.folder and run.cwd else None,
            environment=_told_to_suites(context),
            agentv_compat=settings.agentv_compat,
        ),
        plan=PlanOptions(
            cases=settings.case,
            tags=settings.tag or run.tags,
            runners=settings.runner,
            configured=tuple(config.file.runners or ()),
            model=settings.model,
            timeout=settings.timeout,
            default_timeout=milliseconds / 1000 if milliseconds else DEFAULT_TIMEOUT,
            shard=settings.shard or (1, 1),
            limits=_limits(settings, config, in_action=context.job is not None),
        ),
        install_agents=InstallAgentsOptions(install_agents=settings.install_agents),
        execute=_execute_options(settings, config, context, runners),
        report=_report_options(settings, config, context),
        gate=GateOptions(
            fail_on=_fail_on(settings.fail_on or run.fail_on),
            min_pass_rate=settings.min_pass_rate if settings.min_pass_rate is not None else run.min_pass_rate,
            max_error_rate=settings.max_error_rate,
            allow_changed_suites=settings.allow_changed_suites,
        ),
        publish=_publish_options(settings, config, context),
        publisher=_publisher_options(settings, config),
        templates=_templates(settings, config, context),
        judge=_judge(config, context.environment),
    )


def _refuse_paths(settings: Settings, context: Context) -> None:
    """Raises UsageError for what would be read or written through a link of the checkout."""
    for kind, path in settings.report:
        context.checkout.refuse(context.cwd / path, f"the {kind} report {path}")
    if settings.record:
        context.checkout.refuse(context.cwd / settings.record, f"--record {settings.record}")
    if settings.template_dir:
        context.checkout.refuse(context.cwd / settings.template_dir, f"--template-dir {settings.template_dir}")


def _told_to_suites(context: Context) -> dict[str, str]:
    """The environment without what the job gives to us alone."""
    ours = ("ACTIONS_", "INPUT_", "GITHUB_TOKEN", "GH_TOKEN")
    return {name: value for name, value in context.environment.items() if not name.startswith(ours)}


def _execute_options(settings: Settings, config: Config, context: Context, runners: int) -> ExecuteOptions:
    """More than one job means parallel, unless a schedule is named."""
    run = config.file.run
    schedule = settings.schedule or run.schedule or ("parallel" if (settings.jobs or 1) > 1 else "serial")
    default = {"serial": 1, "parallel": run.max_parallel or os.cpu_count() or 2, "isolated-by-runner": max(runners, 1)}
    return ExecuteOptions(
        jobs=1 if schedule == "serial" else settings.jobs or default[schedule],
        schedule=schedule,
        repeat=settings.repeat or run.repeat or 1,
        retry=settings.retry if settings.retry is not None else run.repeat_failure or 0,
        max_steps=settings.max_steps or run.max_steps,
        max_cost=settings.max_cost or run.max_cost,
        record=Path(os.path.normpath(context.cwd / settings.record)) if settings.record else None,
        agent_user=settings.agent_user,
        snapshots=_snapshot_options(settings, config, context),
        prices=_prices(config),
        resume=settings.resume is not None,
        keep=settings.keep or run.keep or "changed",
    )


def _limits(settings: Settings, config: Config, *, in_action: bool) -> ResourceLimits:
    """Key by key: what is given, else what the configuration says, else the default."""
    told = config.file.run.limits
    configured = parse_limits(told.model_dump(by_alias=True)) if told else {}
    return replace(default_limits(in_action=in_action), **{**configured, **dict(settings.limits)})


def default_limits(*, in_action: bool) -> ResourceLimits:
    """What neither settings nor the configuration say. In the action nothing else shares the machine.

    On a machine of somebody's own, memory and disk are limited on request only.
    """
    memory = memory_size() if in_action else None
    return ResourceLimits(
        memory=memory * 9 // 10 if memory else None,
        disk=10 * 1024**3 if in_action else None,
        processes=2048,
        file_size=4 * 1024**3,
    )


def _prices(config: Config) -> dict[str, Price]:
    told = config.file.prices
    return {model: Price(input=one.input, output=one.output, cached=one.cached) for model, one in told.items()}


def _snapshot_options(settings: Settings, config: Config, context: Context) -> SnapshotConfig | None:
    """In CI a snapshot would be gone with the job, hence none is created unless somebody asks."""
    told = config.file.snapshots
    if told is None:
        if settings.update_snapshots:
            raise UsageError("--update-snapshots without snapshots in the configuration", remedy="configure snapshots")
        return None
    suite_source = context.suite_source
    if suite_source.is_separate and settings.update_snapshots:
        remedy = "update them without it, and commit them"
        raise UsageError(
            f"--update-snapshots would write to {suite_source.named}, the folder of suites-from", remedy=remedy
        )
    path = (config.folder or context.cwd) / (told.path or SNAPSHOTS)
    return SnapshotConfig(
        path=path,
        display_path=os.path.relpath(path, suite_source.cwd),
        metric=told.metric,
        tolerance=Tolerance(absolute=told.tolerance.absolute, percent=told.tolerance.percent),
        update=settings.update_snapshots,
        create=context.environment.get("CI", "").lower() not in {"true", "1"} and not suite_source.is_separate,
    )


def _report_options(settings: Settings, config: Config, context: Context) -> ReportOptions:
    named = settings.baseline or config.file.run.baseline
    folder = context.cwd if settings.baseline else config.folder or context.cwd
    return ReportOptions(
        baseline=folder / named if named else None,
        named=named or "",
        suites=_suite_comparison(settings, context) if settings.compare_suites else None,
    )


def _suite_comparison(settings: Settings, context: Context) -> SuiteComparison:
    """In a workflow that belongs to the commit itself there is no base to compare with, and nothing to protect."""
    event = context.job.event if context.job else None
    untrusted = event is not None and event.untrusted
    without: Literal["changed", "warning", "nothing"] = "changed"
    if context.job and not untrusted:
        without = "warning" if event and event.name in EVENTS_WITH_SECRETS else "nothing"
    return SuiteComparison(all_expected=untrusted or bool(settings.paths), without_checkout=without)


def _publish_options(settings: Settings, config: Config, context: Context) -> PublishOptions:
    job = context.job
    return PublishOptions(
        reports=tuple((kind, Path(os.path.normpath(context.cwd / path))) for kind, path in settings.report),
        annotations=job.annotations if job else False,
        step_summary=job.summary if job else None,
        step_outputs=job.outputs if job else None,
        cwd=context.cwd,
        comment_id=settings.comment_id or config.file.report.comment_id or "default",
    )


def _publisher_options(settings: Settings, config: Config) -> PublisherOptions:
    told = config.file.report
    review = settings.review_comments if settings.review_comments is not None else told.review_comments
    return PublisherOptions(
        comment=settings.comment or told.comment or "update",
        comment_when=settings.comment_when or told.comment_when or "always",
        comment_id=settings.comment_id or told.comment_id or "default",
        review_comments=bool(review),
        status=settings.status or told.status or "auto",
        budget=settings.max_cost or config.file.run.max_cost,
    )


def _judge(config: Config, environment: Mapping[str, str]) -> JudgeConfig | None:
    """Names that are not set are a problem only once the judge is asked: many suites have no use for it."""
    told = config.file.run.judge
    if told is None:
        return None
    from skillgym_action.judge.protocols import PROTOCOLS
    from skillgym_action.model.judge_question import JudgeConfig

    protocol = PROTOCOLS[told.api]
    known = {
        name: environment[name] for name in (protocol.key_variable, protocol.base_url_variable) if environment.get(name)
    }
    try:
        env = {**known, **resolved_env(told.env, environment, "run.judge.env")}
        return JudgeConfig(api=told.api, model=told.model, env=env, prices=_prices(config))
    except ConfigError as error:
        return JudgeConfig(api=told.api, model=told.model, problem=str(error))


def _templates(settings: Settings, config: Config, context: Context) -> TemplateSources | None:
    """Read now: what is wrong with the folder is said before anything is spent. Raises ConfigError."""
    named = config.file.report.templates
    if settings.template_dir:
        folder, root, committed = context.cwd / settings.template_dir, context.root, False
    elif config.folder and named:
        folder, root = config.folder / named, context.suite_source.root
        committed = config.folder.is_relative_to(root)
    else:
        return None
    from skillgym_action.user_templates.template_folder import template_sources

    return template_sources(folder, root, committed=committed)


def _fail_on(words: tuple[str, ...] | None) -> frozenset[str]:
    if words is None:
        return DEFAULT_FAIL_ON
    return frozenset() if words == ("none",) else frozenset(words)


def _workspace(config: Config, context: Context) -> WorkspaceSpec:
    """Relative paths belong to the configuration file, but ``cwd`` is in the checkout that agents work on.

    A ``run.cwd`` alone says: no workspace, but there.
    """
    told, folder = config.file.run.workspace, config.folder
    if told is None or folder is None:
        return WorkspaceSpec(mode="none", source="empty") if config.file.run.cwd else WorkspaceSpec()
    cwd = told.cwd
    bootstrap = told.bootstrap
    words = (bootstrap.command, *bootstrap.args) if bootstrap else ()
    return WorkspaceSpec(
        mode="none" if cwd else told.mode,
        source="template" if told.template_dir else "empty",
        template=folder / told.template_dir if told.template_dir else None,
        cwd=context.suite_source.in_head(folder / cwd) if cwd else None,
        bootstrap=Bootstrap(
            argv=tuple(str(folder / word) if word.startswith(("./", "../")) else word for word in words),
            timeout=bootstrap.timeout_ms / 1000,
            env=tuple(bootstrap.env.items()),
        )
        if bootstrap
        else None,
    )


def run_directory(settings: Settings, config: Config, context: Context, clock: Clock) -> Path:
    """``--output``, the run that is resumed, or a new folder below ``.skillgym-results``.

    Raises UsageError, also for one in the checkout that a symbolic link leads to.
    """
    if settings.resume:
        directory = _resumed(settings, context.cwd / settings.resume)
    elif settings.output:
        directory = Path(os.path.normpath(context.cwd / settings.output))
    else:
        told = config.file.run.output_dir
        parent = Path(config.folder, told) if config.folder and told else context.cwd / ".skillgym-results"
        parent = context.suite_source.in_head(parent)
        directory = parent / f"{clock.now():%Y%m%dT%H%M%SZ}-{os.urandom(3).hex()}"
    context.checkout.refuse(directory, "the run directory")
    return directory


def _resumed(settings: Settings, directory: Path) -> Path:
    if settings.output:
        raise UsageError("--resume and --output: a run goes on where it began", remedy="leave one of them out")
    if settings.dry_run:
        raise UsageError("--resume and --dry-run: nothing would start", remedy="leave one of them out")
    if not (directory / JOURNAL).is_file():
        raise UsageError(
            f"--resume: there is no {JOURNAL} in {settings.resume}",
            remedy="name the run directory of a run that was not finished; --output begins a new one",
        )
    return Path(os.path.normpath(directory))
