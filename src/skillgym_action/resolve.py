"""Settings and configuration -> the options of each stage.

A setting wins over the configuration, which wins over the default.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillgym_action.config import resolved_env
from skillgym_action.domain import Bootstrap, WorkspaceSpec
from skillgym_action.errors import ConfigError, UsageError
from skillgym_action.options import (
    DEFAULT_FAIL_ON,
    DEFAULT_TIMEOUT,
    ConversationOptions,
    DeliverOptions,
    DiscoverOptions,
    EquipOptions,
    ExecuteOptions,
    GateOptions,
    LoadOptions,
    Options,
    PlanOptions,
    ReportOptions,
    Settings,
)
from skillgym_action.session_report import Price
from skillgym_action.snapshots import SnapshotConfig, Tolerance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from skillgym_action.composition import Place
    from skillgym_action.config import Config
    from skillgym_action.judges.questions import JudgeConfig


def options(given: Settings, config: Config, here: Place, *, runners: int) -> Options:
    """The options of a run in that place on that many runners."""
    run = config.file.run
    milliseconds = config.file.defaults.timeout_ms
    return Options(
        discover=DiscoverOptions(paths=given.paths, formats=given.format),
        load=LoadOptions(
            workspace=_workspace(config),
            cwd=config.folder / run.cwd if config.folder and run.cwd else None,
            environment=_told_to_suites(here),
            agentv_compat=given.agentv_compat,
        ),
        plan=PlanOptions(
            cases=given.case,
            tags=given.tag or run.tags,
            runners=given.runner,
            configured=tuple(config.file.runners or ()),
            model=given.model,
            timeout=given.timeout,
            default_timeout=milliseconds / 1000 if milliseconds else DEFAULT_TIMEOUT,
            shard=given.shard or (1, 1),
        ),
        equip=EquipOptions(install_agents=given.install_agents),
        execute=_execute_options(given, config, here, runners),
        report=_report_options(given, config, here.cwd),
        gate=GateOptions(
            fail_on=_fail_on(given.fail_on or run.fail_on),
            min_pass_rate=given.min_pass_rate if given.min_pass_rate is not None else run.min_pass_rate,
            max_error_rate=given.max_error_rate,
        ),
        deliver=_deliver_options(given, config, here),
        conversation=_conversation_options(given, config, here.cwd),
        judge=_judge(config, here.environment),
    )


def _told_to_suites(here: Place) -> dict[str, str]:
    """The environment without what the job gives to us alone."""
    ours = ("ACTIONS_", "INPUT_", "GITHUB_TOKEN", "GH_TOKEN")
    return {name: value for name, value in here.environment.items() if not name.startswith(ours)}


def _execute_options(given: Settings, config: Config, here: Place, runners: int) -> ExecuteOptions:
    """More than one job means parallel, unless a schedule is named."""
    run = config.file.run
    schedule = given.schedule or run.schedule or ("parallel" if (given.jobs or 1) > 1 else "serial")
    default = {"serial": 1, "parallel": run.max_parallel or os.cpu_count() or 2, "isolated-by-runner": max(runners, 1)}
    return ExecuteOptions(
        jobs=1 if schedule == "serial" else given.jobs or default[schedule],
        schedule=schedule,
        repeat=given.repeat or run.repeat or 1,
        retry=given.retry if given.retry is not None else run.repeat_failure or 0,
        max_steps=given.max_steps or run.max_steps,
        max_cost=given.max_cost or run.max_cost,
        record=here.cwd / given.record if given.record else None,
        agent_user=given.agent_user,
        snapshots=_snapshot_options(given, config, here),
        prices=_prices(config),
        resume=given.resume is not None,
    )


def _prices(config: Config) -> dict[str, Price]:
    told = config.file.prices
    return {model: Price(input=one.input, output=one.output, cached=one.cached) for model, one in told.items()}


def _snapshot_options(given: Settings, config: Config, here: Place) -> SnapshotConfig | None:
    """In CI a snapshot would be gone with the job, hence none is created unless somebody asks."""
    told = config.file.snapshots
    if told is None:
        if given.update_snapshots:
            raise UsageError("--update-snapshots without snapshots in the configuration", remedy="configure snapshots")
        return None
    path = (config.folder or here.cwd) / (told.path or "skillgym.snapshots.json")
    return SnapshotConfig(
        path=path,
        named=os.path.relpath(path, here.cwd),
        metric=told.metric,
        tolerance=Tolerance(absolute=told.tolerance.absolute, percent=told.tolerance.percent),
        update=given.update_snapshots,
        create=here.environment.get("CI", "").lower() not in {"true", "1"},
    )


def _report_options(given: Settings, config: Config, cwd: Path) -> ReportOptions:
    named = given.baseline or config.file.run.baseline
    if not named:
        return ReportOptions()
    folder = cwd if given.baseline else config.folder or cwd
    return ReportOptions(baseline=folder / named, named=named)


def _deliver_options(given: Settings, config: Config, here: Place) -> DeliverOptions:
    job = here.job
    return DeliverOptions(
        reports=tuple((kind, here.cwd / path) for kind, path in given.report),
        annotations=job.annotations if job else False,
        step_summary=job.summary if job else None,
        step_outputs=job.outputs if job else None,
        cwd=here.cwd,
        comment_id=given.comment_id or config.file.report.comment_id or "default",
        templates=_templates(given, config, here.cwd),
    )


def _conversation_options(given: Settings, config: Config, cwd: Path) -> ConversationOptions:
    told = config.file.report
    review = given.review_comments if given.review_comments is not None else told.review_comments
    return ConversationOptions(
        comment=given.comment or told.comment or "update",
        comment_when=given.comment_when or told.comment_when or "always",
        comment_id=given.comment_id or told.comment_id or "default",
        review_comments=bool(review),
        status=given.status or told.status or "auto",
        budget=given.max_cost or config.file.run.max_cost,
        templates=_templates(given, config, cwd),
    )


def _judge(config: Config, environment: Mapping[str, str]) -> JudgeConfig | None:
    """Names that are not set are a problem only once the judge is asked: many suites have no use for it."""
    told = config.file.run.judge
    if told is None:
        return None
    from skillgym_action.judges.protocols import PROTOCOLS
    from skillgym_action.judges.questions import JudgeConfig

    protocol = PROTOCOLS[told.api]
    known = {name: environment[name] for name in (protocol.key, protocol.base_url) if environment.get(name)}
    try:
        env = {**known, **resolved_env(told.env, environment, "run.judge.env")}
        return JudgeConfig(api=told.api, model=told.model, env=env, prices=_prices(config))
    except ConfigError as error:
        return JudgeConfig(api=told.api, model=told.model, problem=str(error))


def _templates(given: Settings, config: Config, cwd: Path) -> Path | None:
    if given.template_dir:
        return cwd / given.template_dir
    told = config.file.report.templates
    return config.folder / told if config.folder and told else None


def _fail_on(words: tuple[str, ...] | None) -> frozenset[str]:
    if words is None:
        return DEFAULT_FAIL_ON
    return frozenset() if words == ("none",) else frozenset(words)


def _workspace(config: Config) -> WorkspaceSpec:
    """Relative paths belong to the configuration file. A ``run.cwd`` alone says: no workspace, but there."""
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
        cwd=folder / cwd if cwd else None,
        bootstrap=Bootstrap(
            argv=tuple(str(folder / word) if word.startswith(("./", "../")) else word for word in words),
            timeout=bootstrap.timeout_ms / 1000,
            env=tuple(bootstrap.env.items()),
        )
        if bootstrap
        else None,
    )
