"""The stored plan of a run in shards: where it is, what it is balanced by, and a shard's part of ``max-cost``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.settings.slices import ShardOptions

if TYPE_CHECKING:
    from skillgym_action.model.shard_plan import ShardPlan
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings
    from skillgym_action.settings.slices import Options


def plan_path(settings: Settings, context: LaunchContext) -> Path:
    """The file of the stored plan that ``settings`` name. Raises UsageError for a link, ValueError without a name."""
    if settings.plan is None:
        raise ValueError("there is no plan")
    path = Path(os.path.normpath(context.cwd / settings.plan))
    context.checkout.refuse(path, f"--plan {settings.plan}")
    return path


def stored_plan(settings: Settings, context: LaunchContext) -> ShardPlan | None:
    """The stored plan that ``settings`` name, read; None: they name none. Raises UsageError."""
    if settings.plan is None:
        return None
    from skillgym_action.results.plan_file import read_plan

    return read_plan(plan_path(settings, context), settings.plan)


def with_shard(options: Options, settings: Settings, context: LaunchContext) -> Options:
    """The options of a shard: with the stored plan, if one is named, and with its part of ``max-cost``.

    Raises UsageError for a plan without a shard, and for a shard that the plan does not have.
    """
    if settings.plan is not None and settings.shard is None:
        raise UsageError("--plan without --shard: a plan is for one shard of it", remedy="add --shard I/N")
    if settings.shard is None:
        return options
    plan = stored_plan(settings, context)
    number, total = settings.shard
    share = 1 / total
    if plan is not None and total == len(plan.shards):  # else the pipeline refuses it
        share = plan.shards[number - 1].cost_share
    whole = options.execute.max_cost
    options = replace(options, plan=replace(options.plan, of_shards=ShardOptions(stored=plan, max_cost=whole)))
    if whole is None:
        return options
    return replace(
        options,
        execute=replace(options.execute, max_cost=whole * share),
        publisher=replace(options.publisher, budget=whole * share),
    )
