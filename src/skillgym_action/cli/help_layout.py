"""The layout of ``--help``: options in groups, examples, and the list of commands with whole sentences."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

OTHER = "Options"
MIN_GROUPED_OPTIONS = 12
"""Commands with fewer options show them as one list."""
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Suites, cases and agents": (
            *("config", "format", "case", "match", "tag", "last-failed", "changed-only", "base", "changed-skills"),
            *("suites-from", "runner", "model", "arms", "skill", "agentv-compat", "suites"),
        ),
        "Sessions": (
            *("repeat", "require", "stop-early", "stop", "retry", "maxfail", "exitfirst", "timeout", "max-steps"),
            *("on-limit", "limits", "keep", "cwd", "update-snapshots", "snapshots", "record", "retry-failed"),
        ),
        "Cost": ("max-cost", "allow-partial", "reuse"),
        "Parallel sessions, machines and containers": (
            *("jobs", "schedule", "limit", "engine", "lost-retries", "sandbox", "agent-user", "install-agents"),
            "max-parallel",
        ),
        "Shards": ("shard", "plan", "matrix", "target", "durations", "missing"),
        "Verdict and comparison": (
            *("fail-on", "min-pass-rate", "max-error-rate", "min-uplift", "threshold", "baseline"),
            *("baseline-optional", "compare-suites", "allow-changed-suites"),
        ),
        "Reports and stored results": (
            *("output", "output-dir", "report", "no-html", "template-dir", "otlp-content", "store", "store-write"),
            *("json", "reporter"),
        ),
        "Terminal": ("verbose", "quiet", "no-color"),
        "This command": ("resume", "dry-run", "nop", "oracle", "cost", "help"),
    }
)
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "init": (
            ("", "x-bench, or evals if there is a skill without evals"),
            ("--format python --agent codex", "a suite in Python, for Codex"),
        ),
        "run": (
            ("", "all suites, on all configured runners"),
            ("--runner nop", "an agent that does nothing: which cases pass anyway?"),
            ("bench/api.bench.json -k parser", "some cases of one suite"),
            ("--repeat 5 -j 4 --max-cost 2", "5 times, 4 sessions in parallel, for at most $2"),
            ("--last-failed --verbose", "what was not green in the last run"),
            ("--dry-run", "show what would run, and its cost"),
        ),
        "list": (
            ("", "all executions"),
            ("--cost --store branch", "expected cost and time"),
            ("--matrix auto --target 20m --plan plan.json", "shards of about 20 minutes"),
        ),
        "check": (
            ("", "are configuration and suites valid?"),
            ("--nop", "which cases pass although the agent does nothing?"),
            ("--oracle", "which cases fail with their reference solution?"),
        ),
        "rejudge": ((".skillgym-results/RUN", "with assertions as they are now"),),
        "report": (
            ("'shards/*' --report summary=-", "merge shards, print a summary in Markdown"),
            ("--missing 'shards/*'", "shards to run again, as a workflow matrix"),
        ),
        "compare": (("main-results.json .skillgym-results/RUN --fail-on regression", "exit code 1 for a regression"),),
        "doctor": (
            ("--install claude-code", "install the agent, check its key"),
            ("--probe", "run one short session on each runner"),
        ),
        "worker": (("dask://scheduler:8786 --slots 8 --tls-ca ca.pem --tls-cert worker.pem --tls-key worker.key", ""),),
    }
)


def write_options(command: click.Command, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the options of a command: in groups if there are many, in the order of ``GROUPS``."""
    options = [param for param in command.get_params(ctx) if isinstance(param, click.Option) and not param.hidden]
    for title, grouped in _in_groups(options):
        records = [record for option in grouped if (record := option.get_help_record(ctx))]
        with formatter.section(title):
            formatter.write_dl(records)


def _in_groups(options: list[click.Option]) -> Iterator[tuple[str, list[click.Option]]]:
    if len(options) < MIN_GROUPED_OPTIONS:
        yield OTHER, options
        return
    by_name = {_long_name(option): option for option in options}
    for title, names in GROUPS.items():
        if grouped := [by_name.pop(name) for name in names if name in by_name]:
            yield title, grouped
    if by_name:
        yield OTHER, list(by_name.values())


def _long_name(option: click.Option) -> str:
    """The option's name without dashes; of several names the first long one."""
    return next((name for name in option.opts if name.startswith("--")), option.opts[0]).lstrip("-")


def write_examples(path: str, name: str, formatter: click.HelpFormatter) -> None:
    """Write the examples of the command ``name``; ``path`` is how it is called, such as ``skillgym-action run``."""
    if examples := EXAMPLES.get(name):
        calls = [f"{path} {arguments}".rstrip() for arguments, _ in examples]
        width = max(len(call) for call in calls)
        with formatter.section("Examples"):
            for call, (_, meaning) in zip(calls, examples, strict=True):
                comment = f"  # {meaning}" if meaning else ""
                formatter.write(f"{' ' * formatter.current_indent}{call:{width if comment else 0}}{comment}\n")


def write_commands(commands: Iterable[tuple[str, click.Command]], formatter: click.HelpFormatter) -> None:
    """Write the list of commands, each with the first sentence of its help, which is never cut."""
    records = [(name, first_sentence(command.help or "")) for name, command in commands if not command.hidden]
    with formatter.section("Commands"):
        formatter.write_dl(records)


def first_sentence(text: str) -> str:
    """The first sentence of a help text, on one line."""
    return re.split(r"(?<=\.)\s", " ".join(text.partition("\n\n")[0].split()), maxsplit=1)[0]
