"""The command line: commands with their options and help. Options that set a field are declared in ``Settings``."""

from __future__ import annotations

import os
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from skillgym_action.cli.help.click_classes import CheckedOption, HelpfulCommand, HelpfulGroup, ShardCount, WholeNumber
from skillgym_action.model.errors import Problem, PublishError, SkillgymError, UsageError
from skillgym_action.model.version import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from click.shell_completion import CompletionItem

    from skillgym_action.settings.context import LaunchContext
    from skillgym_action.settings.declarations import Option
    from skillgym_action.settings.settings import Settings

PREFIX = "SKILLGYM_"


def _completed(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
    """The values of a parameter that a shell offers."""
    from skillgym_action.cli.help.completion import values

    return values(ctx, param, incomplete, _environment(ctx))


option = partial(click.option, cls=CheckedOption, shell_complete=_completed)
argument = partial(click.argument, shell_complete=_completed)
PATHS = argument("paths", nargs=-1, metavar="[PATH]...")
JSON = option("--json", "as_json", is_flag=True, help="Print one JSON document to standard output.")


class EnvironmentOption(CheckedOption):
    """An option whose environment variable is one value, even if it has several words.

    The environment is the context's object if the tool was started by its entry point, which empties ``os.environ``.
    """

    hidden_names: tuple[str, ...] = ()
    """Names that the parser accepts as well, and ``--help`` does not show."""

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        """Register all names."""
        shown = self.opts
        self.opts = [*shown, *self.hidden_names]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown

    def value_from_envvar(self, ctx: click.Context) -> Any:
        """The value of the variable; each line is a value if the option can be repeated."""
        value = self.resolve_envvar_value(ctx)
        if value is None or not self.multiple:
            return value
        return tuple(line.strip() for line in value.splitlines() if line.strip()) or None

    def resolve_envvar_value(self, ctx: click.Context) -> str | None:
        """The variable's text, or None; click itself would look in ``os.environ``."""
        if self.envvar is None:
            return None
        return _environment(ctx).get(str(self.envvar)) or None


class SettingsCommand(HelpfulCommand):
    """A command with the options that ``Settings`` declares for it, between its arguments and its own options.

    They are added when the command is parsed or shown: ``--version`` and ``--help`` of the tool do not need
    ``Settings``, and pydantic is slow to import.
    """

    settings_name: str | None = None
    """What ``Settings`` calls the command; None: by its own name."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Arguments, options of ``Settings``, the command's own options, and ``--help``."""
        arguments = [param for param in self.params if isinstance(param, click.Argument)]
        own = [param for param in super().get_params(ctx) if not isinstance(param, click.Argument)]
        return [*arguments, *_settings_options(self.settings_name or str(self.name)), *own]

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Parse the arguments; with ``--json`` among them, an error is a document on stdout, too."""
        as_json = "--json" in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError as error:
            if as_json:
                from skillgym_action.cli.help.usage_errors import print_errors, usage_message

                print_errors((Problem(message=usage_message(error)),), error.exit_code, _environment(parent))
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; with ``--json``, an error that keeps it from its own document is a document on stdout."""
        try:
            return super().invoke(ctx)
        except PublishError:
            raise  # the command's own document has been printed
        except SkillgymError as error:
            if ctx.params.get("as_json"):
                from skillgym_action.cli.help.usage_errors import print_errors

                print_errors(error.problems, error.exit_code, _environment(ctx))
            raise


@cache
def _settings_options(command: str) -> tuple[click.Option, ...]:
    """The options of a command that set a field of ``Settings``."""
    from skillgym_action.settings.settings import options_of

    return tuple(_option_of(name, declared) for name, declared in options_of(command).items())


def _option_of(name: str, declared: Option) -> click.Option:
    """The option that sets the field ``name`` of ``Settings``."""
    from skillgym_action.settings.settings import other_names

    names = ["--" + name.replace("_", "-"), *(f"--{alias}" for alias in declared.aliases)]
    option = EnvironmentOption(
        [*names, *([f"-{declared.short}"] if declared.short else [])],
        metavar=declared.metavar,
        is_flag=True if declared.metavar is None else None,  # with False, click lets the value be omitted
        multiple=declared.repeatable,
        help=declared.help,
        envvar=PREFIX + name.upper() if declared.variable else None,
        shell_complete=_completed,
    )
    if also := other_names().get(name):
        option.hidden_names = (f"--{also}",)
    return option


@click.group(
    cls=HelpfulGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="skillgym-action")
def cli() -> None:
    """Run benchmark suites for coding agents, judge the results and report them."""


@cli.command()
@option(
    "--format",
    "suite_format",
    metavar="FORMAT",
    help="Format of the new suite: x-bench, python, typescript, agentv or skill-evals.",
)
@option("--agent", "agents", metavar="AGENT", multiple=True, help="Add this agent to the new configuration.")
@option(
    "--branch",
    metavar="NAME",
    help="Branch whose results are the baseline (default: the default branch of the repository).",
)
@option("--force", is_flag=True, help="Replace an existing suite, skillgym.config.yaml and workflow of init.")
def init(*, suite_format: str | None, agents: tuple[str, ...], branch: str | None, force: bool) -> int:
    """Write a first suite, a configuration and a workflow for this repository; start no agent.

    Existing files are kept. Without --format: skill-evals if there is a skill without evals, else x-bench. Without
    --agent: the agents of the existing configuration, those that have an API key here, or one that is installed.
    """
    from skillgym_action.cli.commands.init import write_starter

    return write_starter(_context(), suite_format=suite_format, agents=agents, branch=branch, force=force)


@cli.command(cls=SettingsCommand)
@PATHS
@JSON
def run(*, as_json: bool, **fields: Any) -> int:
    """Find suites, run their cases on agents, judge the sessions and report the results."""
    from skillgym_action.cli.commands.run import run_suites

    return run_suites(_settings_to_print(fields, as_json=as_json), _context())


class _BenchCommand(SettingsCommand):
    settings_name = "run"


BENCH = "Same as run; the name of this command in x bench."
cli.add_command(_BenchCommand("bench", callback=run.callback, params=run.params, help=BENCH))


@cli.command(name="list", cls=SettingsCommand)
@PATHS
@JSON
@option("--matrix", type=ShardCount(1, 256), metavar="auto|N", help="Print a workflow matrix of N shards as JSON.")
@option("--cost", is_flag=True, help="Show expected cost and time, based on the runs in the store.")
def list_(*, as_json: bool, matrix: int | None, cost: bool, **fields: Any) -> int:
    """Show what would run, as a table."""
    from skillgym_action.cli.commands.list import list_executions

    return list_executions(_settings(fields), _context(), as_json=as_json, matrix=matrix, cost=cost)


@cli.command(cls=SettingsCommand)
@PATHS
@option("--nop", is_flag=True, help="Run all cases with an agent that does nothing, and list those that pass.")
@option(
    "--oracle",
    is_flag=True,
    help="Run cases with their reference solution instead of an agent, and list those that fail.",
)
@JSON
def check(*, nop: bool, oracle: bool, as_json: bool, **fields: Any) -> int:
    """Load and validate configuration and suites; start no agent.

    With --nop or --oracle, also check whether the cases measure anything, at no cost.
    """
    settings, context = _settings(fields), _context()
    if nop or oracle:
        from skillgym_action.cli.commands.case_check import check_with_stand_in

        return check_with_stand_in(settings, context, nop=nop, oracle=oracle, as_json=as_json)
    from skillgym_action.cli.commands.check import check_suites

    return check_suites(settings, context, as_json=as_json)


@cli.command(cls=SettingsCommand)
@argument("run_directory", metavar="RUN", type=click.Path(exists=True, path_type=Path))
@JSON
def rejudge(run_directory: Path, *, as_json: bool, **fields: Any) -> int:
    """Judge the stored sessions of RUN again with the current assertions; start no agent."""
    from skillgym_action.cli.commands.rejudge import rejudge_run

    return rejudge_run(run_directory, _settings_to_print(fields, as_json=as_json), _context())


@cli.command(cls=SettingsCommand)
@argument("runs", nargs=-1, required=True, metavar="RUN...")
@option(
    "--suites",
    "paths",
    metavar="PATH",
    multiple=True,
    help="Suites that the results must contain; !PATH excludes suites.",
)
@option("--missing", is_flag=True, help="Only print a workflow matrix of the shards that are missing or unfinished.")
@JSON
def report(runs: tuple[str, ...], *, missing: bool, as_json: bool, **fields: Any) -> int:
    """Merge stored runs, write their reports and decide the verdict again; start no agent.

    RUN is a run directory, a results file, or a glob pattern that matches such paths.
    """
    from skillgym_action.cli.commands.report import print_missing, report_runs

    if missing:
        return print_missing(runs, _settings(fields), _context())
    return report_runs(runs, _settings_to_print(fields, as_json=as_json), _context())


@cli.command(cls=SettingsCommand)
@argument("base", metavar="BASE")
@argument("head", metavar="HEAD")
@JSON
def compare(base: str, head: str, *, as_json: bool, **fields: Any) -> int:
    """Compare two stored runs; start no agent. The exit code is 0 unless an option such as --fail-on decides.

    BASE and HEAD are run directories, results files, or glob patterns that match the parts of a run.
    """
    from skillgym_action.cli.commands.compare import compare_runs

    return compare_runs(base, head, _settings(fields), _context(), as_json=as_json)


@cli.command(cls=SettingsCommand)
@argument("run_directory", metavar="[RUN]", required=False, type=click.Path(exists=True, path_type=Path))
@option("--no-open", is_flag=True, help="Write the report and print its path, without opening it.")
def view(run_directory: Path | None, *, no_open: bool, **fields: Any) -> int:
    """Write the HTML report of a stored run, and open it in the browser.

    RUN is a run directory; by default the last one in .skillgym-results. The report is written to RUN/report.html.
    """
    from skillgym_action.cli.commands.view import view_run

    return view_run(run_directory, _settings(fields), _context(), opened=not no_open)


@cli.command(cls=SettingsCommand)
@option(
    "--install",
    metavar="AGENT[@VERSION]",
    multiple=True,
    help="Install the CLI of AGENT through npm before the checks.",
)
@option("--probe", is_flag=True, help="Run one short session on each runner, at a small cost.")
@option("--sweep", is_flag=True, help="Remove containers, networks and partly filled volumes of killed runs.")
@JSON
def doctor(*, install: tuple[str, ...], probe: bool, sweep: bool, as_json: bool, **fields: Any) -> int:
    """Check what is installed, configured, reachable and permitted; print one line per check, with what to do."""
    from skillgym_action.cli.commands.doctor import diagnose

    return diagnose(_settings(fields), _context(), install=install, probe=probe, as_json=as_json, sweep=sweep)


@cli.command(cls=SettingsCommand)
@argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@option("--rerun", is_flag=True, help="Ask again, even if answers are already stored.")
def explain(directory: Path, *, rerun: bool, **fields: Any) -> int:
    """Ask the agent of a failed session the questions of its failed assertions, at a small cost.

    DIR is the artifact folder of the session, which contains explain.json.
    """
    from skillgym_action.cli.commands.explain import explain_failures

    return explain_failures(directory, _settings(fields), _context(), rerun=rerun)


@cli.command(cls=SettingsCommand)
@PATHS
@option("--output", metavar="FILE", help="HTML file to write (default: .skillgym-results/trend/index.html).")
@option("--runner", "only_on", metavar="GLOB", multiple=True, help="Show only runners whose id matches GLOB.")
@JSON
def trend(*, output: str | None, only_on: tuple[str, ...], as_json: bool, **fields: Any) -> int:
    """Write an HTML page with the results of the store over time; start no agent.

    PATH is the path of a suite in the store, a folder of suites or a glob pattern; !PATH excludes.
    """
    from skillgym_action.cli.commands.trend import show_trend

    return show_trend(_settings(fields), _context(), page=output, only_on=only_on, as_json=as_json)


@cli.command(cls=SettingsCommand)
@argument("session", metavar="SESSION", type=click.Path(exists=True, path_type=Path))
@option("--to", metavar="FILE", help="Suite file to create, or to add the case to (default: promoted/ID.bench.json).")
@option("--id", "case_id", metavar="ID", help="Id of the new case.")
@option("--case", metavar="ID", help="If SESSION is a run directory: id of the case to select.")
@option("--runner", metavar="ID", help="If SESSION is a run directory: id of the runner to select.")
@option(
    "--commit", metavar="COMMIT", help="If SESSION is a transcript: commit that was checked out when the session began."
)
@option(
    "--worktree",
    is_flag=True,
    help="If SESSION is a transcript: use the current files of the checkout as the result of the session.",
)
@option("--expect", metavar="EXPECTATION", multiple=True, help="Add an expectation in x-bench syntax.")
@option("--no-check", is_flag=True, help="Write the case without checking it against the recorded session.")
@option("--force", is_flag=True, help="Overwrite existing files.")
def promote(session: Path, **fields: Any) -> int:
    """Make a case from a session (prompt, template, draft expectations) and check it with the recorded session.

    SESSION is the folder of a session in a run directory, a run directory, or a transcript of Claude Code
    (~/.claude/projects/*/*.jsonl) or Codex (~/.codex/sessions/*/*/*/rollout-*.jsonl) on this machine.
    """
    from skillgym_action.cli.commands.promote import PromoteRequest, promote_session

    names = ("to", "case_id", "case", "runner", "commit", "expect", "worktree", "force")
    own = {name: fields.pop(name) for name in names}
    request = PromoteRequest(session=session, check=not fields.pop("no_check"), **own)
    return promote_session(request, _settings(fields), _context())


@cli.group(cls=HelpfulGroup)
def quarantine() -> None:
    """Find flaky cases to put in quarantine: they run and are reported, but do not affect the verdict."""


class _SuggestCommand(SettingsCommand):
    settings_name = "quarantine suggest"


@quarantine.command(cls=_SuggestCommand)
@option("--suite", "suites", metavar="GLOB", multiple=True, help="Consider only suites whose path matches GLOB.")
@option("--case", "cases", metavar="GLOB", multiple=True, help="Consider only cases whose id matches GLOB.")
@option("--runner", "runners", metavar="GLOB", multiple=True, help="Consider only runners whose id matches GLOB.")
@option("--owner", metavar="NAME", help="Owner of the entries; entries without an owner have no effect.")
@option("--issue", metavar="URL", help="URL of an issue about the cases, to write to the entries.")
@option("--days", type=WholeNumber(1, 90), default=30, metavar="N", help="Days until entries expire (default: 30).")
@JSON
def suggest(*, as_json: bool, owner: str | None, issue: str | None, days: int, **fields: Any) -> int:
    """Print entries of skillgym.quarantine.yaml for the flaky cases of the store; change nothing."""
    from skillgym_action.cli.commands.quarantine import SuggestOptions, suggest_quarantine

    patterns = {name: fields.pop(name) for name in ("suites", "cases", "runners")}
    options = SuggestOptions(**patterns, owner=owner, issue=issue, days=days)
    return suggest_quarantine(_settings(fields), _context(), options, as_json=as_json)


@cli.command()
@argument("name", required=False, metavar="[NAME]")
def schema(name: str | None) -> int:
    """Print a JSON Schema, or the types for suites in TypeScript. Without NAME, print all names."""
    from skillgym_action.cli.commands.schema import print_schema

    return print_schema(name)


@cli.command(cls=SettingsCommand)
@argument("address", metavar="ADDRESS")
@option(
    "--slots",
    type=WholeNumber(1, 1024),
    default=1,
    metavar="N",
    help="Number of sessions to run in parallel (default: 1).",
)
@option(
    "--tls-ca",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Certificate of the CA that signed the certificates of the cluster.",
)
@option("--tls-cert", type=click.Path(path_type=Path), metavar="FILE", help="Certificate of this worker.")
@option(
    "--tls-key", type=click.Path(path_type=Path), metavar="FILE", help="Private key of the certificate in --tls-cert."
)
def worker(**fields: Any) -> int:
    """Run sessions for runs with --engine, until SIGINT or SIGTERM.

    ADDRESS is the address of the scheduler of a Dask cluster: dask://HOST:PORT.
    """
    from skillgym_action.cli.commands.worker import WorkerRequest, run_worker

    return run_worker(WorkerRequest(**fields), _environment(click.get_current_context()))


@cli.command(hidden=True)
def slot() -> int:
    """Run sessions for a worker, which starts it."""
    from skillgym_action.cli.commands.worker import run_slot

    return run_slot(_environment(click.get_current_context()))


def _settings(fields: dict[str, Any]) -> Settings:
    """Validated settings; without colors unless stderr gets them. Warns of misspelt variables. Raises UsageError."""
    from skillgym_action.cli.help.usage_errors import print_misspelt_variables
    from skillgym_action.cli.terminal import is_colored
    from skillgym_action.settings.settings import validated_settings

    ctx = click.get_current_context()
    environment = _environment(ctx)
    print_misspelt_variables(environment, PREFIX)
    colored = is_colored(sys.stderr, environment)
    fields["no_color"] = fields.get("no_color") or not colored
    return validated_settings(fields, lambda name: _written(name, ctx))


def _written(name: str, ctx: click.Context) -> str:
    """What the user wrote to set a field: an argument, an option, or the environment variable of an option."""
    from skillgym_action.cli.help.usage_errors import option_as_written

    if name == "paths":
        return "PATH"
    param = next((one for one in ctx.command.get_params(ctx) if one.name == name), None)
    return option_as_written(param, ctx) if isinstance(param, click.Option) else "--" + name.replace("_", "-")


def _settings_to_print(fields: dict[str, Any], *, as_json: bool) -> Settings:
    """The settings; ``--json``, and skillgym's JSON reporters, are a results file on stdout. Raises UsageError."""
    if as_json and fields.get("dry_run"):
        raise UsageError("--json with --dry-run: nothing is run", remedy="use `list --json`, or `list --cost --json`")
    from skillgym_action.settings.option_types import PRINTED, PRINTED_AS_JSON

    settings = _settings(fields)
    if settings.reporter == "html" and settings.no_html:
        raise UsageError("--reporter html with --no-html: nothing would be written", remedy="leave one of them out")
    by_reporter = settings.reporter in PRINTED_AS_JSON and not settings.dry_run
    if not (as_json or by_reporter):
        return settings
    if any(path == PRINTED for _, path in settings.report):
        option = "--json" if as_json else f"--reporter {settings.reporter}"
        raise UsageError(f"{option} and --report with - both write to standard output", remedy="leave one of them out")
    return settings.model_copy(update={"report": (*settings.report, ("results", PRINTED))})


def _context() -> LaunchContext:
    from skillgym_action.settings.context import current_context

    return current_context(Path.cwd(), _environment(click.get_current_context()))


def _environment(ctx: click.Context | None) -> Mapping[str, str]:
    """The environment that the entry point was started with; ``os.environ`` for a program that calls ``cli`` itself."""
    passed: Mapping[str, str] | None = ctx.find_root().obj if ctx else None
    return dict(os.environ) if passed is None else passed
