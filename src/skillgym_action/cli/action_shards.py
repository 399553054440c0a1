"""The modes ``plan`` and ``missing`` of the action: matrices of shards for the jobs of a workflow."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from skillgym_action.cli.report import missing_shards
from skillgym_action.cli.run import relative_path
from skillgym_action.cli.shard_matrix import AUTO, print_json, write_plan
from skillgym_action.cli.terminal import terminal_for
from skillgym_action.github.step_files import append_outputs, give_to_owner
from skillgym_action.limits import MAX_SHARDS
from skillgym_action.model.errors import UsageError
from skillgym_action.model.exit_codes import ExitCode
from skillgym_action.model.shard_plan import matrix_of
from skillgym_action.text.escaping import terminal_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.options import Settings

PLAN = "skillgym-plan.json"
"""The file of ``mode: plan`` if the input ``plan`` is not set: not hidden, since artifacts have no hidden files."""


def plan_in_job(context: LaunchContext, settings: Settings, inputs: Mapping[str, str]) -> int:
    """Write the stored plan; its path, the matrix and the number of shards are outputs. Returns the exit code."""
    settings = settings.model_copy(update={"plan": settings.plan or PLAN})
    plan, code = write_plan(settings, context, _shards(inputs.get("shards", "auto")))
    file = Path(os.path.normpath(context.cwd / str(settings.plan)))
    if plan is None:
        _append(context, {"exit-code": str(code)})
        return code
    give_to_owner([file], context.root)
    print_json(plan.matrix())
    workspace = context.job.workspace if context.job else None
    shown = relative_path(file, workspace or context.cwd)
    _append(context, _outputs([shard.shard for shard in plan.shards]) | {"plan-path": shown, "exit-code": str(code)})
    return code


def missing_in_job(context: LaunchContext, settings: Settings, results: Iterable[str]) -> int:
    """The matrix of the shards that have to run again, and their number, are outputs. Returns the exit code."""
    found = missing_shards(results, settings, context)
    terminal = terminal_for(settings, context)
    for shard, reason in found.items():
        terminal.progress(context.redactor.text(terminal_line(f"shard {shard}: {reason}")))
    print_json(matrix_of(found))
    _append(context, _outputs(list(found)) | {"exit-code": str(int(ExitCode.PASSED))})
    return ExitCode.PASSED


def _outputs(shards: list[str]) -> dict[str, str]:
    return {"matrix": json.dumps(matrix_of(shards)), "shard-count": str(len(shards))}


def _append(context: LaunchContext, outputs: dict[str, str]) -> None:
    if context.job and context.job.outputs:
        append_outputs(context.job.outputs, outputs)


def _shards(value: str) -> int:
    """The number of the input ``shards``. Raises UsageError."""
    if value.lower() == "auto":
        return AUTO
    if not (value.isascii() and value.isdigit() and 1 <= int(value[:9]) <= MAX_SHARDS):
        raise UsageError(f"input shards: {value!r} is neither auto nor a number from 1 to {MAX_SHARDS}")
    return int(value)
