"""Descriptions and examples of the keys of suites and of other files, for their JSON Schemas."""

from __future__ import annotations

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "SuiteDefaultsSection": {
        "budget": "Budget in US dollars of cases without one. Default: 5.",
        "timeout": "Time limit in seconds of cases without one. Default: 600.",
    },
    "SuiteBootstrapSection": {
        "command": "Program to run. A path that begins with ./ or ../ is relative to this file.",
        "args": "Arguments of the program. Words that begin with ./ or ../ are relative to this file.",
        "timeout": "Time limit in seconds.",
        "env": "Variables that are added to the environment of the program.",
    },
    "SuiteLimitsSection": {
        "memory": ("Resident memory of all processes of a session together: bytes, text such as 512MiB, or none."),
        "disk": "Disk space that the folders of a session occupy: bytes, text such as 512MiB, or none.",
        "processes": "Number of processes and threads of a session at one time, or none.",
        "fileSize": "Size of a single file: bytes, text such as 512MiB, or none.",
        "cpus": "Number of processors of a container, such as 1 or 0.5.",
        "pids": "Another name of processes.",
    },
    "SuiteWorkspaceSection": {
        "templateDir": (
            "Folder of which workspaces are copies, relative to this file. Default: a copy of the repository."
        ),
        "bootstrap": ("Command that runs in the workspace before the agent starts: a line for sh, or a mapping."),
        "limits": "Resources that a session may use. They can only lower the limits of the run.",
    },
    "CaseSection": {
        "id": "Id of the case, unique in the suite.",
        "prompt": "What the agent is asked to do, passed on without changes.",
        "expect": "Expectations, at least one. All of them must be met.",
        "budget": "Budget in US dollars; a session that exceeds it ends. Default: defaults.budget.",
        "timeout": "Time limit of the agent in seconds. Default: defaults.timeout.",
        "model": "Model of this case. Default: the model of the suite.",
        "tags": "Tags of this case, added to those of the suite.",
        "expectedFail": "The case is expected to fail: then a failure counts as green, and a pass as red.",
        "runners": "Ids or patterns of the runners of this case. Default: those of the suite.",
    },
    "SuiteSection": {
        "name": "Name of the suite in reports. Default: the name of the file.",
        "description": "Description for readers.",
        "model": "Model of all cases. Default: the model of the runner.",
        "defaults": "Values for cases that do not set their own.",
        "cases": "The cases, at least one.",
        "tags": "Tags of all cases.",
        "workspace": "What agents work in. Default: a copy of the repository for each session.",
        "runners": "Ids or patterns of the runners of all cases. Default: all runners.",
        "arms": (
            "Variants of all sessions that are compared, by name: two to eight. They replace those of the "
            "configuration."
        ),
    },
    "ExpectationSection": {
        "file": "Path of a file, relative to the workspace; with exists, contains or matches.",
        "test": "Command that runs with sh -c in the workspace, after the agent.",
        "diff": "Path of a file or folder that the agent has to change, relative to the workspace.",
        "no-file": "Path that must not exist, relative to the workspace.",
        "exists": "With file: the file exists.",
        "contains": "With file: text that the file contains. Upper and lower case differ.",
        "matches": ("With file: regular expression of JavaScript that is found in the file, with or without slashes."),
        "glob": "With file, diff and no-file: the path is a glob pattern.",
        "timeout": (
            "With test: time limit of the command in seconds. Default: 300, or the limit of the case if that is longer."
        ),
        "exits": "With test: exit code of the command. Default: 0.",
        "fails": "With test: the command ends with any exit code but 0.",
        "failFast": "If this expectation is not met, the expectations after it are not evaluated.",
    },
    "ArmSection": {
        "files": "Folder whose files are added to workspaces, relative to this file.",
        "remove": "Patterns of paths that are removed from workspaces, relative to the workspace.",
        "home": "Folder whose files are added to the agent's home directory, relative to this file.",
        "env": "Variables that are added to the agent's environment; null removes a variable of the runner.",
        "commandArgs": "Arguments that are added to those of the agent.",
        "skill": (
            "Version of the skill under test that is installed: of the checkout (head), of the base commit "
            "(base), or none."
        ),
        "decides": "Whether this arm decides the verdict; at most one may. Default: the first arm decides.",
    },
    "ContainerBuildSection": {
        "context": "Folder that the image is built from, relative to this file and inside the repository.",
        "dockerfile": "Dockerfile, relative to the context.",
    },
    "NetworkSection": {
        "mode": (
            "What the container may connect to: nothing (none), the model's service (model-only), the listed "
            "hosts (allow-list), or everything (open)."
        ),
        "hosts": "Hosts for mode allow-list: NAME or NAME:PORT, without wildcards.",
    },
    "ContainerKeys": {
        "image": "Container image that each session runs in. Use one of image, build and dockerfile.",
        "build": "How to build the container image.",
        "dockerfile": ("Short form of build: the context is the folder of this Dockerfile. Relative to this file."),
        "workdir": ("Absolute path of the workspace in the container. Default: that of the image, or /workspace."),
        "user": (
            "User of the programs in the container: a name or a uid, optionally with :GROUP. Default: that of the "
            "image."
        ),
        "network": (
            "What the container may connect to: a mode, or a mapping with mode and hosts. Default: model-only."
        ),
    },
    "EntrySection": {
        "case": "Pattern of the ids of cases.",
        "suite": "Pattern of the paths of suites. Default: all suites.",
        "runner": "Pattern of the ids of runners. Default: all runners.",
        "reason": "Why the executions do not count.",
        "owner": "Who has to fix the case.",
        "issue": "Address of the issue where this is discussed.",
        "expires": "Last day of the quarantine, in UTC; at most 90 days ahead.",
    },
    "QuarantineSections": {
        "quarantine": "Entries; the first one that fits an execution counts.",
    },
    "PlannedExecutionEntry": {
        "suite": "Path of the suite.",
        "case": "Id of the case.",
        "runner": "Id of the runner.",
        "arm": "Name of the arm; absent without arms.",
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
        "jobs": "Number of sessions that run at once in each shard.",
        "target": "Time that a shard was to take at most, in seconds.",
        "source": "Where the recorded times of executions are from.",
        "known": "Number of executions with a recorded time.",
        "shards": "The shards, in the order of their numbers.",
    },
}
"""Definition of the schema -> key -> what it does."""

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
