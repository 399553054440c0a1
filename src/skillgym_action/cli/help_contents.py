"""What ``--help`` shows besides the texts of options: groups of options, groups of commands, and examples."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

OPTION_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "What to run": (
            *("config", "format", "suite", "case", "match", "tag", "last-failed", "changed-only", "base"),
            *("changed-skills", "suites", "suites-from", "resume", "dry-run", "nop", "oracle", "cost", "cwd"),
        ),
        "Agents and runners": (
            *("runner", "agent", "model", "arms", "skill", "threshold", "agentv-compat"),
            *("install-agents", "install", "probe"),
        ),
        "The new case": ("to", "id", "commit", "worktree", "expect", "no-check", "force"),
        "Limits of time, steps and cost": (
            *("timeout", "max-steps", "on-limit", "limits", "max-cost", "allow-partial", "maxfail", "exitfirst"),
        ),
        "Repetitions and statistics": ("repeat", "require", "retry", "stop-early", "stop", "reuse", "retry-failed"),
        "Parallel sessions, machines and containers": (
            *("jobs", "schedule", "limit", "slots", "engine", "lost-retries", "tls-ca", "tls-cert", "tls-key"),
            *("sandbox", "agent-user", "sweep", "max-parallel"),
        ),
        "Shards": ("shard", "plan", "matrix", "target", "durations", "missing"),
        "Verdict and comparison": (
            *("fail-on", "min-pass-rate", "max-error-rate", "min-uplift", "baseline", "baseline-optional"),
            *("compare-suites", "allow-changed-suites", "snapshots", "update-snapshots"),
        ),
        "Reports and stored results": (
            *("output", "output-dir", "report", "no-html", "no-open", "template-dir", "otlp-content", "keep", "record"),
            *("store", "store-write", "since", "branch", "owner", "issue", "days", "rerun", "json", "reporter"),
        ),
        "General": ("verbose", "quiet", "no-color", "version", "help"),
    }
)
"""The options of all commands. One option has the same group in every command."""

COMMAND_GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Commands to start with": ("init", "doctor", "check"),
        "Commands that run cases": ("list", "run", "bench", "worker"),
        "Commands for stored runs": (
            "view",
            "report",
            "compare",
            "trend",
            "rejudge",
            "explain",
            "promote",
            "quarantine",
        ),
        "Other commands": ("schema",),
    }
)

EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "": (
            ("Write a first suite, a configuration and a workflow", "init"),
            ("Show what would run", "list"),
            ("Run all suites", "run"),
            ("Show the options of a command", "run --help"),
        ),
        "init": (
            ("Write a suite that fits the repository: x-bench, or skill-evals for a skill", "init"),
            ("Write a suite in Python, for Codex", "init --format python --agent codex"),
        ),
        "run": (
            ("Run all suites on all configured runners", "run"),
            ("Find cases that pass although the agent does nothing", "run --runner nop"),
            ("Run some cases of one suite", "run bench/api.bench.json -k 'parser and not slow'"),
            ("Run each case 5 times, 4 sessions in parallel, for at most $2", "run --repeat 5 -j 4 --max-cost 2"),
            ("Run the executions again that were not green", "run --last-failed --verbose"),
            ("Compare with the results of the base branch", "run --store branch --baseline auto --fail-on regression"),
        ),
        "bench": (
            ("Run a suite, 4 sessions in parallel", "bench bench/core.json --concurrent 4"),
            ("Write the results to a file, and show the answers of agents", "bench --output results.json --verbose"),
        ),
        "list": (
            ("List all executions", "list"),
            ("Show the expected cost and time", "list --cost --store branch"),
            ("Divide the run into shards of about 20 minutes", "list --matrix auto --target 20m --plan plan.json"),
        ),
        "check": (
            ("Validate the configuration and all suites", "check"),
            ("Find cases that pass although the agent does nothing", "check --nop"),
            ("Find cases that fail with their reference solution", "check --oracle"),
        ),
        "rejudge": (
            ("Judge a run again with the current assertions", "rejudge .skillgym-results/RUN"),
            ("Count timeouts as infrastructure failures", "rejudge .skillgym-results/RUN --on-limit errored"),
        ),
        "report": (
            ("Merge shards and print a summary in Markdown", "report 'shards/*' --report summary=-"),
            ("Print a workflow matrix of the shards to run again", "report --missing 'shards/*'"),
            ("Decide the verdict again with another rule", "report .skillgym-results/RUN --min-pass-rate 0.8"),
        ),
        "compare": (
            ("Compare two runs", "compare main-results.json .skillgym-results/RUN"),
            ("End with exit code 1 for a regression", "compare base.json head.json --fail-on regression"),
        ),
        "view": (
            ("Open the report of the last run", "view"),
            ("Only write the report of a run", "view .skillgym-results/RUN --no-open"),
        ),
        "doctor": (
            ("Check what is installed and which API keys are set", "doctor"),
            ("Install an agent and check it", "doctor --install claude-code"),
            ("Run one short session on each runner", "doctor --probe"),
        ),
        "explain": (
            ("Ask why a session failed", "explain .skillgym-results/RUN/core/parser/claude/repeat-1"),
            ("Ask again", "explain .skillgym-results/RUN/core/parser/claude/repeat-1 --rerun"),
        ),
        "trend": (
            ("Show all results in the repository's store", "trend --store branch"),
            ("Show the last 90 days of one runner", "trend --store branch --since 90d --runner 'claude*'"),
        ),
        "promote": (
            ("Make a case from a session of a run", "promote .skillgym-results/RUN --case parser --runner claude"),
            ("Make a case from a transcript, with an expectation", "promote session.jsonl --expect file:src/parser.py"),
        ),
        "quarantine": (
            ("Print entries for the flaky cases of the store", "quarantine suggest --store branch"),
            ("Show the options", "quarantine suggest --help"),
        ),
        "quarantine suggest": (
            ("Print entries for all flaky cases", "quarantine suggest --store branch --owner @ada"),
            (
                "Print entries for some cases, which expire after two weeks",
                "quarantine suggest --case 'release-*' --owner @ada --days 14",
            ),
        ),
        "schema": (
            ("Print the names of all schemas", "schema"),
            ("Write the schema of configuration files to a file", "schema config > config.schema.json"),
        ),
        "worker": (
            ("Run 8 sessions in parallel", "worker dask://scheduler:8786 --slots 8"),
            (
                "Use certificates",
                "worker dask://scheduler:8786 --tls-ca ca.pem --tls-cert worker.pem --tls-key worker.key",
            ),
        ),
    }
)
"""Command -> examples: what each does, and its arguments. Of a group: its name and the command's."""
