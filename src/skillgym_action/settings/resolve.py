"""Settings and configuration -> the runners, the options of each stage, and the run directory.

A setting wins over the configuration, which wins over the default.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillgym_action.model.errors import ConfigError, UsageError
from skillgym_action.model.limits import (
    DEFAULT_DISK_BYTES,
    DEFAULT_FILE_BYTES,
    DEFAULT_MEMORY_PERCENT,
    DEFAULT_PROCESSES,
)
from skillgym_action.model.resource_limits import ResourceLimits, parse_limits
from skillgym_action.model.suite import Bootstrap, SkillSettings, WorkspaceSpec
from skillgym_action.results.journal_file import JOURNAL
from skillgym_action.settings.arm_options import arm_options
from skillgym_action.settings.attempt_options import RESUME_AUTO, attempt_options, directory_name
from skillgym_action.settings.baseline_options import (
    ReportOptions,
    reuse_options,
    store_name,
    store_options,
    suite_comparison,
    unverified_commit,
)
from skillgym_action.settings.configuration import with_configured
from skillgym_action.settings.configuration_file import SNAPSHOTS, configuration_differs, read_quarantine, resolved_env
from skillgym_action.settings.context import refuse_outside, refuse_written
from skillgym_action.settings.engine_options import WithoutKeys, engine_options, with_placeholders
from skillgym_action.settings.option_types import BASE_BASELINE, PRINTED, STORED_BASELINE
from skillgym_action.settings.provider_limits import provider_limits
from skillgym_action.settings.runners import configured_runners, runners_at
from skillgym_action.settings.sandbox_options import configured_container, sandbox_options
from skillgym_action.settings.settings import ExecuteOptions, all_declared, is_set, settings_for
from skillgym_action.settings.shard_options import with_shard
from skillgym_action.settings.slices import (
    DEFAULT_FAIL_ON,
    DEFAULT_TIMEOUT,
    EngineOptions,
    GateOptions,
    InstallAgentsOptions,
    Options,
    PlanOptions,
    PublishOptions,
    output_directory,
)
from skillgym_action.settings.suite_options import LoadOptions, discover_options
from skillgym_action.settings.written_files import absolute_files, refuse_files
from skillgym_action.system.clock import Clock
from skillgym_action.text.documents.user_files import PLAIN_DIRECTORY, PLAIN_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.github.options import PublisherOptions
    from skillgym_action.model.judge_question import JudgeConfig
    from skillgym_action.model.runner import Runner
    from skillgym_action.model.session_report import Price
    from skillgym_action.model.token_snapshots import SnapshotConfig
    from skillgym_action.reports.user_templates.renderer import TemplateSources
    from skillgym_action.settings.configuration_file import Config
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings


def runners_and_options(
    settings: Settings, config: Config, context: LaunchContext
) -> tuple[tuple[Runner, ...], Options]:
    """The configured runners that ``settings`` select, and the options of a run on them.

    Raises UsageError, ConfigError.
    """
    _check_require(with_configured(settings, config.file))
    _check_contradictions(settings)
    runners = configured_runners(settings, config, with_placeholders(settings, config, context))
    of_run = replace(
        options(settings, config, context, runners=len(runners)), runners_at=runners_at(settings, config, context)
    )
    return runners, with_shard(of_run, settings, context)


def of_stage(stage: str, settings: Settings) -> dict[str, Any]:
    """What the slice ``stage`` gets of the settings that are set; its own defaults apply to the others."""
    names = [name for name, setting, _ in all_declared() if setting.stage == stage]
    return {name: getattr(settings, name) for name in names if is_set(settings, name)}


def values_for(use: str, options: Options) -> dict[str, tuple[Any, Any]]:
    """The fields of ``Settings`` whose ``uses`` have ``use`` -> the value in their stage's slice, and its default."""
    slices = {name: getattr(options, str(setting.stage)) for name, setting in settings_for(use).items()}
    return {name: (getattr(stage, name), getattr(type(stage)(), name)) for name, stage in slices.items()}


def _gate_options(settings: Settings, context: LaunchContext, report: ReportOptions) -> GateOptions:
    return GateOptions(
        **of_stage("gate", settings),
        fail_on=_fail_on(settings.fail_on),
        is_default=settings.fail_on is None,
        complete=report.suites is not None and report.suites.complete,
        unverified=unverified_commit(settings, context),
    )


def options(
    settings: Settings, config: Config, context: LaunchContext, *, runners: int, stored: Iterable[Path] = ()
) -> Options:
    """The options of each stage; ``runners``: the number of runners. Raises UsageError, ConfigError.

    ``stored``: results files that the command reads, which no report may replace.
    """
    from skillgym_action.settings.changed_options import changed_options

    given, milliseconds = settings, config.file.defaults.timeout_ms
    settings = with_configured(settings, config.file)
    if given.confirm is None and isinstance(given.repeat, int):
        settings = settings.model_copy(update={"confirm": None})  # that of the file belongs to repeat: auto
    _refuse_paths(settings, config, context, stored)
    engine = engine_options(settings, config, context)
    report = replace(_report_options(given, config, context), baseline_optional=settings.baseline_optional)
    return Options(
        discover=discover_options(settings, config, context),
        load=_load_options(settings, config, context),
        arms=arm_options(settings, config, context),
        plan=PlanOptions(
            **of_stage("plan", settings),
            cases=settings.case,
            tags=settings.tag or config.file.run.tags,
            runners=settings.runner,
            configured=tuple(config.file.runners or ()),
            default_timeout=milliseconds / 1000 if milliseconds else DEFAULT_TIMEOUT,
            repeated=given.repeat is not None,
            limits=_limits(settings, config, in_action=context.job is not None),
            quarantine=read_quarantine(config, context),
        ),
        install_agents=InstallAgentsOptions(**of_stage("install_agents", settings)),
        execute=on_engine(_execute_options(settings, config, context, runners), engine, settings.schedule),
        report=report,
        gate=_gate_options(settings, context, report),
        publish=_publish_options(settings, config, context),
        publisher=_publisher_options(settings),
        store=store_options(settings, config, context),
        reuse=reuse_options(settings, config, context),
        changed=changed_options(settings, config, context),
        attempt=attempt_options(settings, context),
        templates=_templates(settings, config, context),
        judge=_judge(config, WithoutKeys(context.environment) if engine else context.environment),
        sandbox=sandbox_options(settings, config),
        engine=engine,
    )


def _load_options(settings: Settings, config: Config, context: LaunchContext) -> LoadOptions:
    return LoadOptions(
        **of_stage("load", settings),
        workspace=_workspace(settings, config, context),
        cwd=_working_directory(settings, config, context),
        cwd_option=settings.cwd,
        environment=_environment_for_suites(context),
        skills=_skills(settings, config, context),
        allow_tools=config.file.plugins.allow_tools,
    )


def _refuse_paths(settings: Settings, config: Config, context: LaunchContext, stored: Iterable[Path]) -> None:
    """Raises UsageError for a path that leads through a symbolic link of the checkout, or out of a job's workspace.

    Also for a report in place of a file that the command reads.
    """
    refuse_files(settings, config, context, stored)
    if settings.record:
        refuse_written(context.cwd / settings.record, f"--record {settings.record}", context)
    if settings.template_dir:
        context.checkout.refuse(context.cwd / settings.template_dir, f"--template-dir {settings.template_dir}")


def _environment_for_suites(context: LaunchContext) -> dict[str, str]:
    """The environment without the job's tokens and inputs: suites may name any variable in it."""
    of_the_job = ("ACTIONS_", "INPUT_", "GITHUB_TOKEN", "GH_TOKEN")
    return {name: value for name, value in context.environment.items() if not name.startswith(of_the_job)}


def _execute_options(settings: Settings, config: Config, context: LaunchContext, runners: int) -> ExecuteOptions:
    """Options of ``execute``. More than one job implies the schedule parallel, unless another one is set."""
    schedule = settings.schedule or ("parallel" if (settings.jobs or 1) > 1 else "serial")
    serial_groups = max(runners, 1)
    default = {
        "serial": 1,
        "parallel": settings.max_parallel or os.cpu_count() or 2,
        "isolated-by-runner": min(serial_groups, settings.max_parallel or serial_groups),
    }
    return replace(
        ExecuteOptions(**of_stage("execute", settings)),
        jobs=1 if schedule == "serial" else settings.jobs or default[schedule],
        schedule=schedule,
        retry=next(n for n in (settings.retry, settings.retry_failed, config.file.run.retries) if n is not None),
        maxfail=1 if settings.exitfirst else settings.maxfail,
        record=Path(os.path.normpath(context.cwd / settings.record)) if settings.record else None,
        snapshots=_snapshot_options(settings, config, context),
        prices=_prices(config),
        resume=settings.resume is not None,
        provider_limits=provider_limits(settings.limit, config.file.limits),
    )


def _check_require(settings: Settings) -> None:
    """Raises UsageError if more repetitions must pass than there are."""
    require, repeat = settings.require, settings.repeat or 1
    if isinstance(require, int) and isinstance(repeat, int) and require > repeat:
        raise UsageError(
            f"--require {require} with --repeat {repeat}: so many can never pass",
            remedy="raise --repeat, or lower --require",
        )


def _check_contradictions(settings: Settings) -> None:
    """Raises UsageError for two options of which each says something else."""
    if settings.exitfirst and settings.maxfail not in (None, 1):
        raise UsageError(f"--exitfirst is --maxfail 1, but there is --maxfail {settings.maxfail}", remedy="give one")
    if settings.quiet and settings.verbose:
        raise UsageError("--quiet and --verbose exclude each other", remedy="give one")


def _limits(settings: Settings, config: Config, *, in_action: bool) -> ResourceLimits:
    """Resource limits of sessions: key by key the setting, else the configuration, else the default."""
    section = config.file.run.limits
    configured = parse_limits(section.model_dump(by_alias=True)) if section else {}
    return replace(default_limits(in_action=in_action), **{**configured, **dict(settings.limits)})


def default_limits(*, in_action: bool) -> ResourceLimits:
    """Resource limits where neither settings nor the configuration have one.

    In the action, memory and disk are limited, too: the machine is there for the run alone. Elsewhere only on request.
    """
    limits = ResourceLimits(processes=DEFAULT_PROCESSES, file_size=DEFAULT_FILE_BYTES)
    if not in_action:
        return limits
    from skillgym_action.system.processes.resource_usage import memory_size

    memory = memory_size()
    memory_limit = memory * DEFAULT_MEMORY_PERCENT // 100 if memory else None
    return replace(limits, memory=memory_limit, disk=DEFAULT_DISK_BYTES)


def _prices(config: Config) -> dict[str, Price]:
    from skillgym_action.model.session_report import Price

    return {
        model: Price(input=price.input, output=price.output, cached=price.cached)
        for model, price in config.file.prices.items()
    }


def _snapshot_options(settings: Settings, config: Config, context: LaunchContext) -> SnapshotConfig | None:
    """Snapshots are not created in CI without ``--update-snapshots``: they would be lost with the job."""
    section = config.file.snapshots
    if section is None:
        if settings.update_snapshots or settings.snapshots:
            option = "--update-snapshots" if settings.update_snapshots else "--snapshots"
            raise UsageError(f"{option} without snapshots in the configuration", remedy="configure snapshots")
        return None
    from skillgym_action.model.token_snapshots import SnapshotConfig, Tolerance

    suite_source = context.suite_source
    if suite_source.is_separate and settings.update_snapshots:
        remedy = "update them without it, and commit them"
        raise UsageError(
            f"--update-snapshots would write to {suite_source.named}, the folder of suites-from", remedy=remedy
        )
    path = (config.folder or context.cwd) / (section.path or SNAPSHOTS)
    if settings.snapshots:
        path = Path(os.path.normpath(context.cwd / settings.snapshots))
        context.checkout.refuse(path, f"--snapshots {settings.snapshots}")
    return SnapshotConfig(
        path=path,
        display_path=os.path.relpath(path, suite_source.cwd),
        metric=section.metric,
        tolerance=Tolerance(absolute=section.tolerance.absolute, percent=section.tolerance.percent),
        update=settings.update_snapshots,
        create=context.environment.get("CI", "").lower() not in {"true", "1"} and not suite_source.is_separate,
    )


def _report_options(settings: Settings, config: Config, context: LaunchContext) -> ReportOptions:
    named = settings.baseline or config.file.run.baseline
    of_base = named == BASE_BASELINE
    if named in (STORED_BASELINE, BASE_BASELINE) or (not named and store_name(settings, config, context)):
        auto, named = not of_base, None
    else:
        auto = False
    folder = context.cwd if settings.baseline else config.folder or context.cwd
    return ReportOptions(
        baseline=folder / named if named else None,
        named=named or "",
        auto=auto,
        of_base=of_base,
        baseline_optional=settings.baseline_optional,
        suites=suite_comparison(settings, config, context),
        configuration_differs=configuration_differs(settings, context, config),
    )


def _publish_options(settings: Settings, config: Config, context: LaunchContext) -> PublishOptions:
    job = context.job
    return PublishOptions(
        reports=absolute_files(settings, context),
        otlp_content=settings.otlp_content,
        printed=next((kind for kind, path in settings.report if path == PRINTED), None),
        annotations=job.annotations if job else False,
        step_summary=job.summary if job else None,
        step_outputs=job.outputs if job else None,
        workspace=job.workspace if job else context.cwd,
        comment_id=settings.comment_id or "default",
        html=config.file.report.html is not False and not settings.no_html,
    )


def _publisher_options(settings: Settings) -> PublisherOptions:
    from skillgym_action.github.options import PublisherOptions

    return PublisherOptions(**of_stage("publisher", settings), budget=settings.max_cost)


def _judge(config: Config, environment: Mapping[str, str]) -> JudgeConfig | None:
    """The judge's configuration. Unset variables become its ``problem``: many suites never ask the judge."""
    section = config.file.run.judge
    if section is None:
        return None
    from skillgym_action.model.judge_question import JUDGE_VARIABLES, JudgeConfig

    known = {name: environment[name] for name in JUDGE_VARIABLES[section.api] if environment.get(name)}
    try:
        env = {**known, **resolved_env(section.env, environment, config, ("run", "judge", "env"))}
        return JudgeConfig(api=section.api, model=section.model, votes=section.votes, env=env, prices=_prices(config))
    except ConfigError as error:
        return JudgeConfig(api=section.api, model=section.model, votes=section.votes, problem=str(error))


def _templates(settings: Settings, config: Config, context: LaunchContext) -> TemplateSources | None:
    """The user's report templates, read before a session starts. Raises ConfigError for a wrong folder."""
    named = config.file.report.templates
    if settings.template_dir:
        folder, root, committed = context.cwd / settings.template_dir, context.root, False
    elif config.folder and named:
        folder, root = config.folder / named, context.suite_source.root
        committed = config.folder.is_relative_to(root)
    else:
        return None
    from skillgym_action.reports.user_templates.renderer import template_sources

    return template_sources(folder, root, committed=committed)


def _fail_on(words: tuple[str, ...] | None) -> frozenset[str]:
    if words is None:
        return DEFAULT_FAIL_ON
    return frozenset() if words == ("none",) else frozenset(words)


def _working_directory(settings: Settings, config: Config, context: LaunchContext) -> Path | None:
    """The directory of ``--cwd``, or else of ``run.cwd``. Raises UsageError for one that is not there."""
    if settings.cwd:
        directory = Path(os.path.normpath(context.cwd / settings.cwd))
        refused = context.checkout.contains(directory) and context.checkout.refusal(directory, follow=True)
        if refused:
            raise UsageError(f"--cwd {settings.cwd}: {refused}", remedy=PLAIN_DIRECTORY)
        if not directory.is_dir():
            raise UsageError(f"--cwd {settings.cwd}: there is no such directory", remedy="create it, or check --cwd")
        return directory
    cwd = config.file.run.cwd
    return context.suite_source.in_head(config.folder / cwd) if config.folder and cwd else None


def _workspace(settings: Settings, config: Config, context: LaunchContext) -> WorkspaceSpec:
    """The workspace of suites that have none of their own; ``run.cwd`` alone means: agents work in that folder.

    Paths are relative to the configuration file, but ``cwd`` is in the checkout that agents work on.
    """
    section, folder = config.file.run.workspace, config.folder
    if section is None or folder is None:
        in_place = config.file.run.cwd or settings.cwd
        return WorkspaceSpec(mode="none", source="empty") if in_place else WorkspaceSpec()
    cwd = section.cwd
    bootstrap = section.bootstrap
    words = (bootstrap.command, *bootstrap.args) if bootstrap else ()
    return WorkspaceSpec(
        mode="none" if cwd else section.mode,
        source="template" if section.template_dir else "empty",
        template=folder / section.template_dir if section.template_dir else None,
        cwd=context.suite_source.in_head(folder / cwd) if cwd else None,
        bootstrap=Bootstrap(
            argv=tuple(str(folder / word) if word.startswith(("./", "../")) else word for word in words),
            timeout=bootstrap.timeout_ms / 1000,
            env=tuple(bootstrap.env.items()),
        )
        if bootstrap
        else None,
        container=configured_container(section, folder, context),
    )


def _skills(settings: Settings, config: Config, context: LaunchContext) -> SkillSettings:
    """How skills under test are found. A commit must not choose a folder outside of the checkout. Raises UsageError."""
    section, path = config.file.skills, None
    if settings.skill:
        path = Path(os.path.normpath(context.cwd / settings.skill))
        context.checkout.refuse(path, f"--skill {settings.skill}")
    elif section.path and config.folder:
        path = context.suite_source.in_head(Path(os.path.normpath(config.folder / section.path)))
        if refused := context.checkout.refusal(path):
            raise ConfigError(f"skills.path: {refused}", remedy=PLAIN_PATH)
    return SkillSettings(path=path, workspace=section.workspace, trigger_rounds=section.trigger_rounds)


def run_directory(settings: Settings, config: Config, context: LaunchContext) -> Path:
    """The run directory: ``--output``, the run to resume, or a new name below the folder of run directories.

    With ``--resume auto`` the attempts of a job have the same name. A file in ``--output`` is no run directory.

    Raises UsageError, also for a directory in the checkout that a symbolic link leads to.
    """
    directory_option = output_directory(settings.output)
    output = Path(os.path.normpath(context.cwd / directory_option)) if directory_option else None
    named = directory_option or (settings.resume and settings.resume != RESUME_AUTO)
    if settings.output_dir and named:
        other = "--output" if directory_option else "--resume"
        raise UsageError(
            f"{other} and --output-dir: the one names the run directory, the other the folder of a new one",
            remedy="leave one of them out",
        )
    attempt = attempt_options(settings, context)
    if attempt.auto:
        _refuse_dry_run(settings)
        directory = output or run_directories(settings, config, context) / directory_name(attempt)
    elif settings.resume:
        directory = _resumed(settings, context.cwd / settings.resume, output)
    elif output:
        directory = output
    else:
        directory = run_directories(settings, config, context) / f"{Clock().now():%Y%m%dT%H%M%SZ}-{os.urandom(3).hex()}"
    context.checkout.refuse(directory, "the run directory")
    shown = directory if attempt.auto else settings.resume or directory_option or directory
    refuse_outside(directory, f"the run directory {shown}", context)
    return directory


def run_directories(settings: Settings, config: Config, context: LaunchContext) -> Path:
    """The folder of the run directories that are not named."""
    if settings.output_dir:
        return Path(os.path.normpath(context.cwd / settings.output_dir))
    named = config.file.run.output_dir
    folder = Path(config.folder, named) if config.folder and named else context.cwd / ".skillgym-results"
    return context.suite_source.in_head(folder)


def _refuse_dry_run(settings: Settings) -> None:
    if settings.dry_run:
        raise UsageError("--resume and --dry-run: nothing would start", remedy="leave one of them out")


def _resumed(settings: Settings, named: Path, output: Path | None) -> Path:
    directory = Path(os.path.normpath(named))
    if output and output != directory:
        raise UsageError("--resume and --output: a resumed run stays in its directory", remedy="leave one of them out")
    _refuse_dry_run(settings)
    if not (directory / JOURNAL).is_file():
        raise UsageError(
            f"cannot resume {settings.resume}: there is no {JOURNAL} in it",
            remedy="name the run directory of a run that was not finished, or leave resume out to begin a new run",
        )
    return directory


def on_engine(options: ExecuteOptions, engine: EngineOptions | None, schedule: str | None) -> ExecuteOptions:
    """The options with as many sessions at once as a cluster may run; unless a schedule is set, in parallel.

    ``schedule``: the one that the user set.
    """
    if engine is None or schedule in {"isolated-by-runner", "serial"}:
        return options
    return replace(options, jobs=engine.slots, schedule="parallel")
