"""Descriptions and examples of the keys of configurations, for the JSON Schema."""

from __future__ import annotations

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "AgentSection": {
        "type": "Type of the agent: which program runs the sessions of this runner.",
        "model": (
            "Model of the agent. A case, a suite and --model take precedence over it. Default: that of the agent's CLI."
        ),
        "version": ("Exact version of the agent's CLI, which is installed and used instead of the one on PATH."),
        "command": (
            "Program that starts the agent. Type command requires it: text is a line for sh, a list is a program "
            "and its arguments."
        ),
        "commandArgs": "Arguments that are added after those of the agent's adapter.",
        "env": (
            "Variables that are added to the agent's environment. ${{ NAME }} stands for the value of NAME in the "
            "environment of the run; a list of names passes those variables on."
        ),
        "budget": "Budget in US dollars of a session whose case has none.",
        "output": (
            "How the output of an agent of type command is read: as text, or as events, one JSON object per line."
        ),
        "sessions": "Folder with recorded sessions, relative to this file. Type replay requires it.",
    },
    "RunnerSection": {
        "agent": "The agent of this runner.",
    },
    "BootstrapSection": {
        "command": "Program to run. A path that begins with ./ or ../ is relative to this file.",
        "args": "Arguments of the program. Words that begin with ./ or ../ are relative to this file.",
        "timeoutMs": "Time limit, in milliseconds or as text such as 5m.",
        "env": "Variables that are added to the environment of the program.",
    },
    "WorkspaceLimitsSection": {
        "cpus": "Number of processors of a container, such as 1 or 0.5.",
    },
    "WorkspaceSection": {
        "mode": (
            "isolated: a fresh directory for each session. shared: one directory for each suite. none: sessions "
            "run in cwd."
        ),
        "cwd": "Directory of the repository that agents work in directly, relative to this file.",
        "templateDir": ("Folder of which workspaces are copies, relative to this file. Without it they start empty."),
        "bootstrap": "Command that prepares a workspace before the agent starts.",
        "limits": "Limits of containers. Limits of all sessions are in run.limits.",
    },
    "JudgeSection": {
        "api": "Protocol of the model service: anthropic for the Messages API, openai for chat completions.",
        "model": "Name of the model at the service.",
        "env": (
            "Key and address of the service, where they are not in ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL, or "
            "OPENAI_API_KEY and OPENAI_BASE_URL."
        ),
        "votes": "Number of independent answers to each question; the majority decides.",
    },
    "LimitsSection": {
        "memory": ("Resident memory of all processes of a session together: bytes, text such as 512MiB, or none."),
        "disk": "Disk space that the folders of a session occupy: bytes, text such as 512MiB, or none.",
        "processes": "Number of processes and threads of a session at one time, or none. Default: 2048.",
        "fileSize": "Size of a single file: bytes, text such as 512MiB, or none. Default: 4 GiB.",
    },
    "RunSection": {
        "cwd": (
            "Directory of the repository that agents work in, for suites without a workspace, relative to this file."
        ),
        "outputDir": ("Folder in which run directories are made, relative to this file. Default: .skillgym-results."),
        "reporter": "Accepted for configurations of skillgym, and without effect: --report chooses reports.",
        "schedule": (
            "Order of sessions: serial (one at a time), parallel, or isolated-by-runner (one at a time for each "
            "runner)."
        ),
        "maxParallel": (
            "Number of sessions at once with schedule parallel, or of runners at once with isolated-by-runner. "
            "Default: the number of processors."
        ),
        "repeat": "Number of times that each case runs. Default: 1.",
        "require": "How many repetitions of a case must pass: all, any, or a number. Default: all.",
        "stopEarly": "End the repetitions of a case as soon as they decide its result.",
        "stop": "futility: end the run once a regression against the baseline has become unlikely.",
        "onLimit": "Status of a session that exceeded its time, steps or budget. Default: failed.",
        "repeatFailure": "Number of retries after a failed session. Default: 0.",
        "retryFailed": "Older name of repeatFailure; it counts where that is not set.",
        "maxSteps": "Number of model rounds after which a session ends. Default: no limit.",
        "workspace": ("Where agents work, for suites that do not set it. Default: an isolated copy of the repository."),
        "tags": "Run only cases with one of these tags.",
        "failOn": ("Conditions that make the run fail, as a list or as text with commas; none: the run never fails."),
        "baseline": (
            "Results to compare with: a path relative to this file, or auto for those in the store. Default: auto "
            "with a store."
        ),
        "baselineOptional": "Continue without a comparison if there is no baseline.",
        "maxCost": ("Budget of the whole run in US dollars; no session starts after it is spent. Default: no limit."),
        "allowPartial": "Do not fail a run that ended before all planned sessions had run.",
        "minPassRate": "Lowest pass rate of a passing run, from 0 to 1: 0.8, not 80.",
        "maxErrorRate": "Highest share of errored executions of a passing run, from 0 to 1: 0.1, not 10.",
        "minUplift": "Lowest difference between the deciding arm and the other one, in percentage points.",
        "judge": "Model that graders ask.",
        "limits": "Resources of the machine that each session may use. Suites can only lower them.",
        "keep": ("Workspaces to keep in the run directory: those with changes, all, or none. Default: changed."),
    },
    "DefaultsSection": {
        "timeoutMs": (
            "Time limit of cases of Python suites without one, in milliseconds or as text such as 5m. Default: 120 s."
        ),
    },
    "ToleranceSection": {
        "absolute": "Number of tokens by which an execution may exceed its snapshot.",
        "percent": "Percentage by which an execution may exceed its snapshot.",
    },
    "SnapshotsSection": {
        "path": ("File with the snapshots, relative to this file. Default: skillgym.snapshots.json beside this file."),
        "metric": "Which tokens are compared.",
        "tolerance": "Increase that is allowed: absolute, percent, or both.",
    },
    "PriceSection": {
        "input": "US dollars per million input tokens.",
        "output": "US dollars per million output tokens, including reasoning.",
        "cached": "US dollars per million cached input tokens. Default: the price of input.",
    },
    "ReportSection": {
        "comment": (
            "How the comment on the pull request is written: update it, write a new one, delete and recreate it, "
            "or off. Default: update."
        ),
        "commentWhen": "When a comment is written for the first time. Default: always.",
        "commentId": "Name that distinguishes the comments of several jobs. Default: default.",
        "reviewComments": "Write comments at the lines of cases, too. Default: false.",
        "status": "Write a commit status with the verdict. Default: auto.",
        "html": "Write the HTML report, report.html. Default: true.",
        "templates": "Folder with report templates that replace the built-in ones, relative to this file.",
    },
    "SkillsSection": {
        "path": ("Folder of the skill under test, relative to this file. Default: looked for near each suite."),
        "workspace": (
            "Content of workspaces beside the skill and the input files: empty, or a copy of the repository."
        ),
        "triggerRounds": "Number of model rounds after which a session of a trigger query ends.",
        "arms": "Arms of suites of skills. Default: auto.",
    },
    "SandboxSection": {
        "type": ("What makes the containers of sessions; none refuses suites that need containers. Default: docker."),
        "agents": (
            "Where the CLI of an agent is taken from if the image does not have it. bundle: the one that the tool "
            "installed. image: such sessions are errored."
        ),
        "proxyImage": ("Image with squid, for the network modes model-only and allow-list, where none can be built."),
    },
    "PluginsSection": {
        "allowTools": ("Tools that cases of Claude plugins may use, on agents that limit tools. Default: all."),
    },
    "InputSection": {
        "files": "Patterns of files or folders, relative to the root of the repository.",
        "suites": ("Patterns of the suites that a change of these files selects. Empty: no case depends on them."),
    },
    "TlsSection": {
        "ca": ("Certificate of the authority that signed all certificates of the cluster, relative to this file."),
        "cert": "Certificate of the coordinator, relative to this file.",
        "key": "Private key of the coordinator, relative to this file and outside of the checkout.",
    },
    "EngineSection": {
        "type": "Where sessions run: local in this process, dask on the workers of a cluster.",
        "address": "Address of the scheduler.",
        "tls": "Certificates for connections to the cluster, files in PEM format.",
        "slots": "Number of sessions at once over all workers; --jobs takes precedence. Default: 256.",
        "lostAfter": ("Silence after which a worker counts as lost, in seconds or as text such as 30s. Default: 30s."),
        "lostRetries": "Number of times that the session of a lost worker runs again. Default: 2.",
        "wait": ("How long a run without any worker waits for one, in seconds or as text such as 5m. Default: 5m."),
    },
    "ConfigFile": {
        "$schema": "Address of this JSON Schema, for editors.",
        "run": "What runs, how often, and when the run fails.",
        "defaults": "Values for cases that do not set their own.",
        "report": "What is published on the pull request, and with which templates.",
        "snapshots": "Stored token counts that executions are compared with.",
        "prices": ("Prices of models that the price table does not know, by model, in US dollars per million tokens."),
        "skills": "Settings of suites of skills.",
        "plugins": "Settings of suites of Claude plugins.",
        "sandbox": "What makes the containers that suites ask for.",
        "arms": "Variants of all sessions that are compared, by name: two to eight.",
        "store": (
            "Where results are kept for comparisons of later runs: branch, artifact, artifact=WORKFLOW.yml, "
            "path=PATH, or none. Default: branch in the action, otherwise none."
        ),
        "reuse": (
            "Which results are taken from the store instead of running unchanged executions. max-age: in days or "
            "hours, at most 90 days. Default: never."
        ),
        "inputs": "Files that suites depend on without naming them, for changed-only.",
        "limits": "Number of sessions that may use a provider of models at once, by provider.",
        "engine": "Where sessions run: in this process, or on the workers of a cluster.",
        "runners": "The runners that cases run on, by id. Reports show the id, and --runner selects by it.",
    },
    "ProviderSection": {
        "sessions": ("Number of sessions that may use the provider at once. Default: as many as run in parallel."),
    },
}
"""Definition of the schema -> key -> what it does."""

EXAMPLES: dict[str, dict[str, list[object]]] = {
    "AgentSection": {
        "type": ["claude-code"],
        "model": ["claude-sonnet-4-6"],
        "version": ["2.1.197"],
        "command": [["sh", "./bench/stand-in.sh", "{prompt}"]],
        "env": [{"API_KEY": "${{ MY_KEY }}"}, ["MY_KEY"]],
        "budget": [2.5],
        "sessions": ["./recordings"],
    },
    "RunnerSection": {
        "agent": [{"type": "claude-code", "model": "claude-sonnet-4-6"}],
    },
    "BootstrapSection": {
        "command": ["npm", "./prepare.sh"],
    },
    "WorkspaceLimitsSection": {
        "cpus": [0.5],
    },
    "WorkspaceSection": {
        "mode": ["isolated"],
        "cwd": ["./packages/web"],
        "templateDir": ["./template"],
        "bootstrap": [{"command": "npm", "args": ["ci"]}],
        "limits": [{"cpus": 2}],
    },
    "JudgeSection": {
        "api": ["anthropic"],
        "model": ["claude-haiku-4-5"],
        "env": [{"ANTHROPIC_API_KEY": "${{ JUDGE_KEY }}"}],
    },
    "LimitsSection": {
        "memory": ["2GiB"],
        "disk": ["4GiB"],
        "processes": [500],
        "fileSize": ["1GiB"],
    },
    "RunSection": {
        "cwd": ["./packages/web"],
        "outputDir": ["./results"],
        "reporter": ["standard"],
        "schedule": ["parallel"],
        "maxParallel": [4],
        "repeat": [3],
        "require": ["any", 2],
        "stop": ["futility"],
        "onLimit": ["errored"],
        "repeatFailure": [1],
        "retryFailed": [1],
        "maxSteps": [50],
        "workspace": [{"mode": "isolated", "templateDir": "./template"}],
        "tags": [["smoke"]],
        "failOn": [["failed", "errored", "regression"]],
        "baseline": ["auto"],
        "maxCost": [2.5],
        "minPassRate": [0.8],
        "maxErrorRate": [0.1],
        "minUplift": [5],
        "judge": [{"api": "anthropic", "model": "claude-haiku-4-5"}],
        "limits": [{"memory": "2GiB", "processes": 500}],
        "keep": ["all"],
    },
    "DefaultsSection": {
        "timeoutMs": [300000, "5m"],
    },
    "ToleranceSection": {
        "absolute": [500],
        "percent": [10],
    },
    "SnapshotsSection": {
        "path": ["./snapshots.json"],
        "tolerance": [{"percent": 10}],
    },
    "PriceSection": {
        "input": [0.5],
        "output": [2],
        "cached": [0.05],
    },
    "ReportSection": {
        "comment": ["update"],
        "commentWhen": ["changes"],
        "commentId": ["nightly"],
        "reviewComments": [True],
        "status": ["on"],
        "html": [False],
        "templates": ["./report-templates"],
    },
    "SkillsSection": {
        "path": ["./skills/pdf"],
        "arms": [["with", "without"]],
    },
    "SandboxSection": {
        "type": ["docker"],
        "proxyImage": ["registry.example.com/squid:6"],
    },
    "PluginsSection": {
        "allowTools": [["Read", "Bash"]],
    },
    "InputSection": {
        "files": [["package.json"]],
        "suites": [["bench/web*"]],
    },
    "TlsSection": {
        "ca": ["./tls/ca.pem"],
        "cert": ["./tls/cert.pem"],
        "key": ["../keys/key.pem"],
    },
    "EngineSection": {
        "type": ["dask"],
        "address": ["tls://scheduler.example.com:8786"],
        "tls": [{"ca": "./tls/ca.pem", "cert": "./tls/cert.pem", "key": "../keys/key.pem"}],
        "slots": [64],
        "lostAfter": ["30s"],
        "lostRetries": [2],
        "wait": ["5m"],
    },
    "ConfigFile": {
        "$schema": ["https://org.github.io/skillgym-action/schemas/v1/config.json"],
        "run": [{"schedule": "parallel", "maxParallel": 4, "maxCost": 2.5}],
        "defaults": [{"timeoutMs": 300000}],
        "report": [{"comment": "update", "commentWhen": "changes"}],
        "snapshots": [{"metric": "totalTokens", "tolerance": {"percent": 10}}],
        "prices": [{"my-model": {"input": 0.5, "output": 2}}],
        "skills": [{"path": "./skills/pdf", "arms": ["with", "without"]}],
        "plugins": [{"allowTools": ["Read"]}],
        "sandbox": [{"type": "docker", "agents": "bundle"}],
        "arms": [{"with": {"home": "./rules"}, "without": {}}],
        "store": ["branch", "path=../results"],
        "reuse": ["unchanged,max-age=14d"],
        "inputs": [[{"files": ["package.json"], "suites": ["bench/web*"]}]],
        "limits": [{"anthropic": {"sessions": 40}}],
        "engine": [{"type": "dask", "address": "tcp://127.0.0.1:8786", "slots": 16}],
        "runners": [{"claude": {"agent": {"type": "claude-code", "model": "claude-sonnet-4-6"}}}],
    },
    "ProviderSection": {
        "sessions": [40],
    },
}
"""Definition of the schema -> key -> values that it may have."""
