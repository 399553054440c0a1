"""Descriptions and examples of the keys of suites and of other files, for their JSON Schemas and the reference."""

from __future__ import annotations

from skillgym_action.model.limits import (
    MAX_ARM_BYTES,
    MAX_ARM_FILES,
    MAX_ARM_PATTERNS,
    MAX_ARMS,
    MAX_PATTERN_FOLDERS,
    MAX_QUARANTINE_DAYS,
)
from skillgym_action.model.resource_limits import format_size

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "SuiteDefaultsSection": {
        "budget": "Maximum cost of a session, for cases that set no `budget`.",
        "timeout": "Time limit of the agent, for cases that set no `timeout`.",
    },
    "SuiteBootstrapSection": {
        "timeout": "Time limit of the program.",
    },
    "SuiteLimitsSection": {
        "pids": "Another name for `processes`.",
    },
    "SuiteWorkspaceSection": {
        "templateDir": (
            "Folder inside the repository; workspaces are copies of this folder instead of copies of the repository. "
            "The path must contain [no symbolic link and no `.git`](configuration.md#paths)."
        ),
        "bootstrap": (
            "Command that runs in the workspace before the agent: a command line for `sh`, or a mapping that contains "
            "the program and its arguments."
        ),
        "limits": (
            "Limits on the resources of a [session](limits.md#sessions). These limits can only lower the limits of the "
            "run."
        ),
    },
    "CaseSection": {
        "id": "Id of the case, which must be unique in the suite.",
        "prompt": "The prompt, which the tool passes to agents unchanged.",
        "expect": "The expectations of the case; at least one is required.",
        "budget": (
            "Maximum cost of a session. If the agent [reports the tokens of each model round](agents.md), and the "
            "price of the model is known, the tool ends a session that costs more. A session whose cost is known only "
            "at its end fails if it cost more. If the cost is unknown, the report contains a warning that the budget "
            "could not be checked, unless it is the default one. "
            "[`--on-limit`](command-line.md#limits) sets the status of a session that exceeds its budget."
        ),
        "timeout": "Time limit of the agent; `--timeout` takes precedence.",
        "model": "Model that the agent uses for this case.",
        "tags": "Tags of this case, in addition to the tags of the suite.",
        "expectedFail": (
            "Whether the case is expected to fail. If so, a case with a failed expectation has the status "
            "`expected-failed`, which counts as a success. A case that passes has the status `unexpected-passed`, "
            "which counts as a failure. A case that exceeds its time, steps or budget, or that the model refuses, is "
            "`failed` all the same."
        ),
        "runners": (
            "Ids of the runners with which this case runs, or [glob patterns](patterns.md) that match such ids. This "
            "list replaces `runners` of the suite."
        ),
    },
    "SuiteSection": {
        "name": "Name of the suite in reports.",
        "description": "Description for readers; it has no effect on the run.",
        "model": "Model that the agent uses for cases that set no `model`.",
        "defaults": "Values for cases that do not set their own.",
        "cases": "The cases of the suite; at least one is required.",
        "tags": "Tags of all cases of the suite.",
        "workspace": "Settings of the workspace, which is the directory in which an agent works.",
        "runners": (
            "Ids of runners, or [glob patterns](patterns.md) that match such ids. Cases that set no `runners` run only "
            "with these runners."
        ),
        "arms": (
            f"The 2 to {MAX_ARMS} variants ([arms](../how-to/arms.md#in-a-suite)) in which each case runs; the keys "
            "are the names of the arms. These arms replace the arms of the configuration."
        ),
    },
    "ExpectationSection": {
        "file": (
            "Path of a file, relative to the workspace. This key requires exactly one of `exists`, `contains` and "
            "`matches`."
        ),
        "test": "Command that runs with `sh -c` in the workspace after the agent has ended.",
        "diff": "Path of a file or folder that the agent must create or change, relative to the workspace.",
        "no-file": "Path that must not exist, relative to the workspace.",
    },
    "ExpectationOptions": {
        "exists": "With `file`: the file must exist.",
        "contains": "With `file`: text that the file must contain; the comparison is case-sensitive.",
        "matches": (
            "With `file`: regular expression in the syntax of JavaScript that must match a part of the file. The "
            "slashes around the expression are optional."
        ),
        "glob": (
            "With `file`, `diff` or `no-file`: the path is a [glob pattern](patterns.md). For `file` and `diff`, at "
            "least one matching file must satisfy the expectation. For `no-file`, there must be no matching file."
        ),
        "timeout": "With `test`: time limit of the command.",
        "exits": "With `test`: the command must exit with this code. `exits` cannot be combined with `fails: true`.",
        "fails": (
            "With `test`: the command must exit with a code other than 0. The value `true` cannot be combined with "
            "`exits`."
        ),
        "failFast": "If the expectation fails or cannot be evaluated, the expectations after it are not evaluated.",
    },
    "ArmSection": {
        "files": (
            "Folder whose files are copied into the workspaces of this arm and replace existing files. The folder may "
            f"contain at most {MAX_ARM_FILES:,} files of {format_size(MAX_ARM_BYTES)} in total, and no symbolic links."
        ),
        "remove": (
            f"At most {MAX_ARM_PATTERNS} patterns of paths in the workspace; each pattern may contain `**` at most "
            f"{MAX_PATTERN_FOLDERS} times. Matching files are removed before `files` are copied, and again after the "
            "bootstrap and the hooks. The second removal does not remove files that are in `files`."
        ),
        "home": (
            "Folder whose files are copied into the agent's home directory, which is otherwise empty. The limits are "
            "the same as for `files`. If the tool itself also writes a JSON or TOML file at the path of one of these "
            "files, such as `.codex/config.toml`, the tool merges the two files. If the two files contain different "
            "values for a setting, the sessions of the arm are `errored`."
        ),
        "env": (
            "Variables that are added to the environment of the agent; null removes a variable that the runner sets. "
            "`${{ NAME }}` and `${NAME}` are replaced with the value of `NAME` in the environment of the run. A list "
            "contains names of variables, which are passed to the agent unchanged."
        ),
        "commandArgs": (
            "Arguments that are appended to the arguments of the agent. An argument that begins with `./` or `../` is "
            "relative to the folder of the file that defines the arm."
        ),
        "skill": (
            "Version of the [skill under test](../how-to/arms.md#skills) that is installed. `head`: the version in "
            "the checked-out commit. `base`: the version in the base commit. `none`: no skill is installed."
        ),
        "decides": (
            "Whether this arm is the [deciding arm](../how-to/arms.md#the-deciding-arm), which determines the "
            "statuses and the verdict. If no arm has the value true, the first arm decides."
        ),
    },
    "SuiteArmSection": {
        "env": (
            "Variables that are added to the environment of the agent; null removes a variable that the runner sets. "
            "A value that contains `${` causes an error: only [arms of the configuration](configuration.md#arms) can "
            "use variables of the tool's environment."
        ),
    },
    "ContainerBuildSection": {
        "context": "Folder of the build context, [inside the repository](configuration.md#paths).",
        "dockerfile": "Path of the Dockerfile, relative to the build context.",
    },
    "NetworkSection": {
        "mode": (
            "Network policy: no connections (`none`), only connections to the model's service (`model-only`), only "
            "connections to `hosts` (`allow-list`), or all connections (`open`)."
        ),
        "hosts": (
            "Hosts that the container may connect to if `mode` is `allow-list`: `NAME` or `NAME:PORT`, without "
            "wildcards."
        ),
    },
    "ContainerKeys": {
        "image": (
            "Image of the [container](../how-to/container-per-case.md) in which each session runs. Only one of "
            "`image`, `build` and `dockerfile` can be set; `workdir`, `user`, `network` and `limits.cpus` require one "
            "of these three keys."
        ),
        "build": "Settings with which the image of the container is built, as an alternative to `image`.",
        "dockerfile": "Short form of `build`: the path of a Dockerfile, whose folder is the build context.",
        "workdir": "Path of the workspace in the container.",
        "user": "User that runs programs in the container: a name or a uid, optionally with `:GROUP`.",
        "network": (
            "Network policy: what the container may [connect to](../how-to/container-per-case.md#network). The value "
            "is a mode, or a mapping with `mode` and `hosts`."
        ),
    },
    "EntrySection": {
        "case": "Ids of the cases that are in quarantine.",
        "suite": "Paths of the suites to which the entry applies.",
        "runner": "Ids of the runners to which the entry applies.",
        "reason": "Reason why the case is in quarantine.",
        "owner": "Person or team that has to fix the case.",
        "issue": "URL of the issue about the problem.",
        "expires": f"Last day of the quarantine, in UTC; at most {MAX_QUARANTINE_DAYS} days in the future.",
    },
    "QuarantineSections": {
        "quarantine": "List of entries. If several entries match an execution, the first of them applies.",
    },
    "PlannedExecutionEntry": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "arm": "Name of the arm. This key is absent if there are no arms.",
        "digest": "SHA-256 of what the sessions depend on, in hexadecimal digits.",
        "seconds": "Expected time of all sessions of the execution, in seconds.",
    },
    "PlannedShardEntry": {
        "shard": "Number of the shard and number of shards.",
        "seconds": "Expected time of all sessions of the shard, in seconds.",
        "costShare": "Share of the shard in the budget of the run, from 0 to 1.",
        "executions": "Executions that the shard runs.",
    },
    "PlanFile": {
        "schema": "Version of the schema of this file.",
        "version": "Version of the tool that wrote the file.",
        "commit": "Commit of the checkout that was planned, in hexadecimal digits.",
        "jobs": "Number of sessions that run in parallel in each shard.",
        "target": "Target for the maximum time of a shard, in seconds.",
        "source": "Source of the recorded times of executions.",
        "known": "Number of executions with a recorded time.",
        "shards": "The shards, in the order of their numbers.",
    },
}
"""Definition of the schema -> key -> what it means, in Markdown; links are relative to docs/reference."""

EXAMPLES: dict[str, dict[str, list[object]]] = {
    "SuiteDefaultsSection": {
        "budget": [1.5],
        "timeout": [300],
    },
    "SuiteBootstrapSection": {
        "command": ["npm"],
        "args": [["ci"]],
        "env": [{"CI": "1"}],
    },
    "SuiteLimitsSection": {
        "memory": ["2GiB"],
        "disk": ["4GiB"],
        "processes": [500],
        "fileSize": ["1GiB"],
        "cpus": [0.5],
        "pids": [500],
    },
    "SuiteWorkspaceSection": {
        "templateDir": ["./template"],
        "bootstrap": ["npm ci", {"command": "./prepare.sh", "timeout": 60}],
        "limits": [{"memory": "2GiB"}],
    },
    "CaseSection": {
        "id": ["add-tests"],
        "prompt": ["Add tests for src/cart.js."],
        "expect": [["file:out.txt exists", "test:npm test passes"]],
        "budget": [1.5],
        "timeout": [300],
        "model": ["claude-sonnet-4-6"],
        "tags": [["smoke"]],
        "runners": [["claude*"]],
    },
    "SuiteSection": {
        "name": ["web"],
        "description": ["Tasks of the web team."],
        "model": ["claude-sonnet-4-6"],
        "defaults": [{"budget": 1.5, "timeout": 300}],
        "cases": [[{"id": "add-tests", "prompt": "Add tests.", "expect": ["diff:test"]}]],
        "tags": [["smoke"]],
        "workspace": [{"templateDir": "./template", "bootstrap": "npm ci"}],
        "runners": [["claude*"]],
        "arms": [{"with": {"home": "./rules"}, "without": {}}],
    },
    "ExpectationSection": {
        "file": ["src/cart.js"],
        "test": ["npm test"],
        "diff": ["src"],
        "no-file": ["debug.log"],
        "exists": [True],
        "contains": ["export function total"],
        "matches": ["/export function \\w+/"],
        "timeout": [60],
        "exits": [1],
    },
    "ArmSection": {
        "files": ["./variants/with"],
        "remove": [["CLAUDE.md"]],
        "home": ["./rules"],
        "env": [{"LEVEL": "high", "DEBUG": None}],
    },
    "NetworkSection": {
        "mode": ["model-only"],
        "hosts": [["example.com:443"]],
    },
    "ContainerKeys": {
        "image": ["python:3.12-slim"],
        "build": [{"context": "./docker"}],
        "dockerfile": ["./Dockerfile"],
        "workdir": ["/app"],
        "user": ["1000:1000"],
        "network": ["none", {"mode": "allow-list", "hosts": ["example.com"]}],
    },
    "EntrySection": {
        "case": ["release-*"],
        "suite": ["bench/core.bench.json"],
        "runner": ["claude*"],
        "reason": ["slow at night"],
        "owner": ["@ada"],
        "issue": ["https://github.com/org/skills/issues/7"],
        "expires": ["2026-12-15"],
    },
    "QuarantineSections": {
        "quarantine": [[{"case": "release-*", "reason": "slow at night", "owner": "@ada", "expires": "2026-12-15"}]],
    },
    "PlannedExecutionEntry": {
        "suite": ["bench/core.bench.json"],
        "case": ["add-tests"],
        "runner": ["claude"],
        "arm": ["with"],
        "digest": ["0" * 64],
        "seconds": [42.5],
    },
    "PlannedShardEntry": {
        "shard": ["1/4"],
        "seconds": [420.5],
        "costShare": [0.25],
    },
    "PlanFile": {
        "schema": [1],
        "version": ["1.0.0"],
        "commit": ["3f2c9d0e6b7a4c5d8e9f0a1b2c3d4e5f6a7b8c9d"],
        "jobs": [4],
        "target": [900],
        "source": ["store branch"],
        "known": [12],
        "shards": [
            [
                {
                    "shard": "1/1",
                    "seconds": 42.5,
                    "costShare": 1,
                    "executions": [
                        {
                            "suite": "bench/core.bench.json",
                            "case": "add-tests",
                            "runner": "claude",
                            "digest": "0" * 64,
                            "seconds": 42.5,
                        }
                    ],
                }
            ]
        ],
    },
}
"""Definition of the schema -> key -> values that it may have."""
