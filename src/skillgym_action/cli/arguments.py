"""The command line: arguments -> settings, and one function per command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillgym_action import __version__
from skillgym_action.reporters import REPORTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX = "SKILLGYM_"


class Option(click.Option):
    """An option whose environment twin is one value, however many words it holds.

    The environment is the command's object where the tool was started by its entry point, which empties its own one.
    """

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """The twin's value."""
        value = self.resolve_envvar_value(ctx)
        return (value,) if value and self.multiple else value

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """As click does, which knows no environment but its own."""
        return _environment(ctx).get(str(self.envvar)) or None


def option(name: str, metavar: str, text: str, *, multiple: bool = False) -> Callable[[Any], Any]:
    """An option with a value, and its environment twin."""
    twin = PREFIX + name.upper().replace("-", "_")
    return click.option(f"--{name}", cls=Option, metavar=metavar, multiple=multiple, help=text, envvar=twin)


def flag(name: str, text: str) -> Callable[[Any], Any]:
    """An option without a value."""
    return click.option(
        f"--{name}", cls=Option, is_flag=True, help=text, envvar=PREFIX + name.upper().replace("-", "_")
    )


def together(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several decorators as one, in reading order."""

    def decorate(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


CONFIG = option("config", "FILE", "Configuration file; default: skillgym.config.* found upward.")
RUNNER = option("runner", "ID|AGENT[:MODEL]", "A configured runner, or an agent by name.", multiple=True)
AGENTV_COMPAT = flag("agentv-compat", "Score AgentV suites as AgentV does, where we differ on purpose.")
AGENT_USER = option(
    "agent-user", "NAME", "Who agents, and all else that suites start, run as; only root can ask for it."
)
SELECTION = together(
    click.argument("paths", nargs=-1, metavar="[PATH]..."),
    option("suites-from", "DIR", "Read suites and configuration from DIR, a checkout of the base commit."),
    CONFIG,
    option("format", "F", "Only suites of this format.", multiple=True),
    option("case", "GLOB", "Only cases whose id matches.", multiple=True),
    option("tag", "T[,T]", "Only cases with one of these tags.", multiple=True),
    RUNNER,
    option("model", "M", "The model of every execution."),
    option("shard", "I/N", "Only the I-th of N parts."),
    AGENTV_COMPAT,
)
RUNNING = together(
    option("jobs", "N", "Executions at once; more than one implies --schedule parallel."),
    option("schedule", "S", "serial, parallel or isolated-by-runner."),
    option("repeat", "N", "Successful repetitions an execution needs."),
    option("retry", "N", "Extra sessions for a repetition that failed."),
    option("timeout", "SECONDS", "Time limit of every session."),
    option("max-steps", "N", "Model rounds a session may have."),
    option("max-cost", "USD", "Money the run may spend; then nothing more is started."),
    option("limits", "KEY=SIZE,...", "Limits of a session: memory, disk, processes, fileSize; memory=4GiB,disk=2GiB."),
    option("keep", "WHAT", "What to archive of a workspace that is not green: changed (files), all, or none."),
    AGENT_USER,
    flag("install-agents", "Install the CLIs of agents that are not there, through npm."),
    flag("update-snapshots", "Take a new snapshot of every execution, and compare with none."),
    option("record", "DIR", "Store the sessions there, to be played by the replay agent."),
)
DECIDING = together(
    option(
        "fail-on",
        "LIST",
        "Words of: failed, unexpected-passed, errored, skipped, no-cases, regression, budget, leaks, warnings; none.",
    ),
    option("min-pass-rate", "R", "Red below this share of green among the judged, 0 to 1."),
    option("max-error-rate", "R", "Share of errored executions that is tolerated, 0 to 1."),
    option("baseline", "PATH", "A run directory or results file to compare with."),
)
COMPARING = together(
    flag("compare-suites", "Compare the suites of the runs with those of the checkout, by digest."),
    click.option(
        "--suites", "paths", metavar="PATH", multiple=True, help="Suites that the runs must have; !PATH excludes."
    ),
    flag("allow-changed-suites", "Let results of suites that differ from the checkout's decide."),
)
OUTPUT = together(
    option("output", "DIR", "The run directory; default: .skillgym-results/<UTC time>-<random>."),
    option(
        "report",
        "KIND=PATH",
        f"One more report: {', '.join(REPORTERS)}.",
        multiple=True,
    ),
    option("template-dir", "DIR", "A folder with report templates that come before ours."),
    flag("verbose", "Show final outputs of what is not green."),
    flag("quiet", "Show nothing but errors and the verdict."),
    flag("no-color", "No colours."),
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="skillgym-action")
def cli() -> None:
    """Benchmark suites for coding agents: run them, judge them, and say honestly what happened.

    Exit codes: 0 green; 1 judged and red; 2 usage, configuration or suite error; 3 some could not be judged;
    130 interrupted; 70 a bug of ours.
    """


@cli.command()
@SELECTION
@RUNNING
@DECIDING
@OUTPUT
@option("resume", "DIR", "Go on with the run of that run directory: hold the sessions that are missing, and no other.")
@flag("dry-run", "Show what would run, start nothing.")
def run(**given: Any) -> int:
    """Discover suites, run them on agents, judge, report, gate."""
    from skillgym_action.cli import commands

    return commands.run(_settings(given), _here())


@cli.command(name="list")
@SELECTION
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.option("--matrix", type=click.IntRange(1, 256), metavar="N", help="A workflow matrix of N shards, as JSON.")
def list_(*, as_json: bool, matrix: int | None, **given: Any) -> int:
    """What would run, as a table."""
    from skillgym_action.cli import commands

    return commands.list_(_settings(given), _here(), as_json=as_json, matrix=matrix)


@cli.command()
@SELECTION
def check(**given: Any) -> int:
    """Load and validate everything, start nothing."""
    from skillgym_action.cli import commands

    return commands.check(_settings(given), _here())


@cli.command()
@click.argument("run_directory", metavar="RUN", type=click.Path(exists=True, path_type=Path))
@AGENTV_COMPAT
@DECIDING
@OUTPUT
def rejudge(run_directory: Path, **given: Any) -> int:
    """Judge the stored sessions of RUN again with today's assertions; no agent is started, nothing is spent."""
    from skillgym_action.cli import commands

    return commands.rejudge(run_directory, _settings(given), _here())


@cli.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@CONFIG
@COMPARING
@DECIDING
@OUTPUT
def report(runs: tuple[str, ...], **given: Any) -> int:
    """Merge stored runs, report them again and decide anew; no agent is started.

    RUN is a run directory, a results file, or a pattern that matches some.
    """
    from skillgym_action.cli import commands

    return commands.report(runs, _settings(given), _here())


@cli.command()
@CONFIG
@RUNNER
@AGENT_USER
@click.option("--install", metavar="AGENT[@VERSION]", multiple=True, help="Install an agent's CLI through npm first.")
@click.option("--probe", is_flag=True, help="Hold one short session on each runner; this costs a little.")
@flag("no-color", "No colours.")
def doctor(*, install: tuple[str, ...], probe: bool, **given: Any) -> int:
    """What is installed, configured, reachable, permitted: one line each, with the remedy."""
    from skillgym_action.cli import commands

    return commands.doctor(_settings(given), _here(), install=install, probe=probe)


@cli.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@CONFIG
@click.option("--rerun", is_flag=True, help="Ask again, although there are answers.")
def explain(directory: Path, *, rerun: bool, **given: Any) -> int:
    """Ask the agent of a failed session the questions of the assertions that failed; this costs a little.

    DIR is the folder of the session's artifacts, with an explain.json in it.
    """
    from skillgym_action.cli import commands

    return commands.explain(directory, _settings(given), _here(), rerun=rerun)


@cli.command()
@click.argument("name", required=False, metavar="[NAME]")
def schema(name: str | None) -> int:
    """JSON Schema of config, x-bench, results; types for suites in TypeScript."""
    from skillgym_action.cli import commands

    return commands.schema(name)


def _settings(given: dict[str, Any]) -> Any:
    from skillgym_action.settings.options import settings

    colorless = _environment(click.get_current_context()).get("NO_COLOR") or not sys.stderr.isatty()
    given["no_color"] = given.get("no_color") or bool(colorless)
    return settings(given, lambda name: "PATH" if name == "paths" else "--" + name.replace("_", "-"))


def _here() -> Any:
    from skillgym_action.settings.context import current_context

    return current_context(Path.cwd(), _environment(click.get_current_context()))


def _environment(ctx: click.Context) -> Mapping[str, str]:
    """The one that the entry point was started with; a program that calls ``cli`` has its own."""
    given: Mapping[str, str] | None = ctx.find_root().obj
    return dict(os.environ) if given is None else given
