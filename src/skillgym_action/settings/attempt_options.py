"""Which attempt of a job on GitHub a run belongs to, and whether it continues the run of an earlier one."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from skillgym_action.model.errors import UsageError
from skillgym_action.model.records import record
from skillgym_action.model.report import JobAttempt

if TYPE_CHECKING:
    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.settings import Settings

RESUME_AUTO = "auto"  # the value of ``resume`` that names no run directory
PART_CHARACTERS = 16
_NO_VALUES = ("", "null", "{}")  # what GitHub has as the matrix of a job without one


@record
class AttemptOptions:
    """``auto``: continue the run of an earlier attempt of ``job``. ``job`` is None outside of a job on GitHub."""

    auto: bool = False
    job: JobAttempt | None = None


def attempt_options(settings: Settings, context: LaunchContext) -> AttemptOptions:
    """The options of the run. Raises UsageError for ``--resume auto`` outside of a job."""
    job, auto = _job_attempt(settings, context), settings.resume == RESUME_AUTO
    if auto and job is None:
        raise UsageError(
            "--resume auto outside of a job on GitHub: no earlier attempt can be identified",
            remedy="name the run directory of the run to resume, or leave resume out",
        )
    return AttemptOptions(auto=auto, job=job)


def directory_name(options: AttemptOptions) -> str:
    """The name of the run directory that all attempts of a job have in common. Raises ValueError without a job."""
    job = options.job
    if job is None:
        raise ValueError("there is no job")
    name = "-".join(filter(None, ("run", str(job.run_id), re.sub(r"[^\w-]", "_", job.job), job.part)))
    return name[:255]


def _job_attempt(settings: Settings, context: LaunchContext) -> JobAttempt | None:
    environment = context.environment
    run, attempt = (environment.get(f"GITHUB_RUN_{name}", "") for name in ("ID", "ATTEMPT"))
    repository = environment.get("GITHUB_REPOSITORY", "")
    is_known = all(re.fullmatch(r"[1-9][0-9]{0,17}", number) for number in (run, attempt)) and repository
    if not context.in_job or not is_known:
        return None
    return JobAttempt(
        repository=repository,
        run_id=int(run),
        attempt=int(attempt),
        job=environment.get("GITHUB_JOB", ""),
        part=_part(context.job.matrix if context.job else "", settings.shard),
    )


def _part(matrix: str, shard: object) -> str:
    """A digest of what distinguishes the jobs of a matrix. The order and the space in ``matrix`` do not matter."""
    values = matrix.strip()
    if values in _NO_VALUES:
        values = ""
    with suppress(ValueError):  # what is no JSON is a distinction all the same
        values = json.dumps(json.loads(values), sort_keys=True) if values else ""
    if not values and not shard:
        return ""
    return hashlib.sha256(repr((values, shard)).encode(errors="surrogatepass")).hexdigest()[:PART_CHARACTERS]
