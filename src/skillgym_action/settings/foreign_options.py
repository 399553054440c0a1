"""Options of other tools: those that only their suites need, and command lines of skillgym that work unchanged."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from skillgym_action.documents.option_values import Rate
from skillgym_action.settings.declarations import RUN, Input, Option

# Values of run.reporter and --reporter. Every run writes results and the HTML report, and annotates jobs on GitHub.
SKILLGYM_REPORTERS = ("standard", "json", "json-summary", "html", "github-actions")
# Those that print JSON on standard output, where the results file takes their place.
PRINTED_AS_JSON = frozenset({"json", "json-summary"})


def reporter_of_skillgym(value: str) -> str:
    """The name of a reporter. Raises ValueError for anything else: a module of skillgym cannot be used."""
    if value not in SKILLGYM_REPORTERS:
        known = f"{', '.join(SKILLGYM_REPORTERS[:-1])} or {SKILLGYM_REPORTERS[-1]}"
        raise ValueError(f"reporter modules are not supported; use {known}, and --report for other reports")
    return value


class ForeignSettings(BaseModel):
    """The part of ``Settings`` with options of other tools. Skillgym's have no environment variables and no inputs."""

    model_config = ConfigDict(defer_build=True)  # only `Settings`, which inherits it, validates

    threshold: Annotated[
        Rate | None,
        Option((*RUN, "rejudge"), "SCORE", "Minimum mean score of plugin evals and Harbor tasks, 0 to 1 (default: 1)."),
        Input("threshold"),
    ] = None

    output_dir: Annotated[
        str | None,
        Option(RUN, "DIR", "Folder in which to create the run directory; same as run.outputDir.", variable=False),
    ] = None
    retry_failed: Annotated[
        NonNegativeInt | None,
        Option(RUN, "N", "Older name of --retry; ignored if --retry is also set.", variable=False),
    ] = None
    max_parallel: Annotated[
        PositiveInt | None,
        Option(
            RUN,
            "N",
            "Maximum number of parallel sessions, same as run.maxParallel; no effect with --schedule serial.",
            variable=False,
        ),
    ] = None
    reporter: Annotated[
        str | None,
        AfterValidator(reporter_of_skillgym),
        Option(
            RUN,
            "NAME",
            "Reporter of skillgym; only json and json-summary have an effect, the same as --json.",
            variable=False,
        ),
    ] = None
    snapshots: Annotated[
        str | None, Option(RUN, "FILE", "File with token snapshots; same as snapshots.path.", variable=False)
    ] = None
    cwd: Annotated[
        str | None,
        Option(
            RUN, "DIR", "Working directory of agents for suites without a workspace; same as run.cwd.", variable=False
        ),
    ] = None
