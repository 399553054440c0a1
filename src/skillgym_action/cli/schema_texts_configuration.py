"""Descriptions and examples of the keys of configurations, for the JSON Schema and the reference."""

from __future__ import annotations

from skillgym_action.limits import DEFAULT_REUSE_DAYS, MAX_ARMS, MAX_REUSE_DAYS

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "AgentSection": {
        "type": "The [agent](agents.md): which program runs the sessions of this runner.",
        "model": "Model of the agent. The model of a case or suite and `--model` take precedence.",
        "version": (
            "Exact version of the agent's CLI, such as `2.1.197`. This version is "
            "[installed](agents.md#where-the-cli-comes-from) and used, even if another version is on `PATH`."
        ),
        "command": (
            "Command that starts the agent. The type `command` requires this key. Text is then a command line for "
            "`sh`, and a list is a program with its arguments. For other types, the value is the path of the program."
        ),
        "commandArgs": "Additional arguments, after those of the adapter.",
        "env": (
            "Variables that are added to the environment of the agent. `${{ NAME }}` and `${NAME}` are replaced with "
            "the value of `NAME` in the environment of the run. A list contains names of variables, which are passed "
            "on unchanged."
        ),
        "budget": (
            "Budget of each session whose case does not set a budget. It does not apply to x-bench suites, which have "
            "their own default. If the agent [reports its cost](agents.md) during the session, the tool also checks "
            "the budget during the session."
        ),
        "output": "Format of the output of an agent of type `command`: text, or one JSON object per line (`events`).",
        "sessions": "Folder with recorded sessions. The type `replay` requires this key.",
    },
    "RunnerSection": {
        "agent": "The agent of this runner.",
    },
    "BootstrapSection": {
        "command": (
            "The program. If its path begins with `./` or `../`, it is relative to the folder of the file that "
            "contains this key."
        ),
        "args": "Arguments of the program. The rule for paths is the same as for `command`.",
        "timeoutMs": "Time limit of the program.",
        "env": "Variables that are added to the environment of the program.",
    },
    "WorkspaceLimitsSection": {
        "cpus": "Number of processors of a container, such as 1 or 0.5.",
    },
    "WorkspaceSection": {
        "mode": (
            "`isolated`: a new directory for each session. `shared`: one directory for each suite. `none`: the "
            "existing directory `cwd` or `run.cwd`, or the root of the repository if neither is set."
        ),
        "cwd": (
            "An existing directory [of the repository](configuration.md#paths) in which agents work. If it is set, "
            "`mode` has no effect."
        ),
        "templateDir": (
            "Folder [inside the repository](configuration.md#paths) that is copied into each new workspace. If it is "
            "not set, workspaces are empty at the start."
        ),
        "bootstrap": "Command that prepares a workspace before the agent starts.",
        "limits": "Limits that apply only to containers; all other limits are in `run.limits`.",
    },
    "JudgeSection": {
        "api": (
            "The API of the model's service: the Messages API of Anthropic, or the chat completions API of OpenAI, "
            "which many other services also offer."
        ),
        "model": "Name of the model at the service.",
        "env": (
            "Key and address of the service, if they are not in the [default "
            "variables](configuration.md#the-judge) `ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL`, or "
            "`OPENAI_API_KEY` and `OPENAI_BASE_URL`. A list contains names of variables, which are passed on "
            "unchanged."
        ),
        "votes": (
            "Number of independent answers to each question; the [majority](configuration.md#votes-of-the-judge) "
            "decides."
        ),
    },
    "LimitsSection": {
        "memory": "Maximum resident memory of all processes of a session together.",
        "disk": "Maximum disk space of the folders of a session.",
        "processes": "Maximum number of processes and threads of a session at the same time.",
        "fileSize": "Maximum size of a single file.",
    },
    "RunSection": {
        "cwd": (
            "Directory [of the repository](configuration.md#paths) in which agents work, if a workspace (of a suite "
            "or of `run.workspace`) has `mode: none` and no `cwd`. If `run.workspace` is not set, agents also work in "
            "this directory in suites without workspace settings."
        ),
        "outputDir": "Folder in which run directories are created.",
        "reporter": (
            "No effect; accepted for compatibility with configurations of skillgym. Every run writes `results.json` "
            "and, unless it is turned off, the HTML report; [`--report`](command-line.md#output) writes additional "
            "reports. Reporter modules are not supported."
        ),
        "schedule": (
            "Order of executions: one after another (`serial`), in parallel (`parallel`), or in parallel with one "
            "session at a time for each runner (`isolated-by-runner`); same as "
            "[`--schedule`](command-line.md#schedules)."
        ),
        "maxParallel": (
            "With the schedule `parallel`, the maximum number of parallel sessions; with `isolated-by-runner`, the "
            "maximum number of parallel runners. `--jobs` takes precedence. On a [cluster](engines.md) with the "
            "schedule `parallel`, `engine.slots` applies instead."
        ),
        "repeat": "Number of times that each case runs on each runner; same as `--repeat`.",
        "require": (
            "Number of repetitions of a case that must pass; same as "
            "[`--require`](command-line.md#repetitions-and-retries)."
        ),
        "stopEarly": "Whether an execution ends once its result is decided; same as `--stop-early`.",
        "stop": (
            "With `futility`, a run with a baseline ends early if a regression has become unlikely; same as "
            "[`--stop`](command-line.md#repetitions-and-retries)."
        ),
        "onLimit": (
            "Status of a session that exceeds its time, steps or budget; same as "
            "[`--on-limit`](command-line.md#limits)."
        ),
        "repeatFailure": "Maximum number of retries of a failed (not errored) repetition; same as `--retry`.",
        "retryFailed": "Older name of `run.repeatFailure`; ignored if `run.repeatFailure` is set.",
        "maxSteps": "Maximum number of model rounds in a session; same as `--max-steps`.",
        "workspace": "Workspace settings for suites without workspace settings.",
        "tags": "Only cases with one of these tags run; same as `--tag`.",
        "failOn": (
            "Conditions that make a run fail; same as [`--fail-on`](command-line.md#conditions-that-fail-a-run). "
            "`none` means no condition. `run.minPassRate`, `run.maxErrorRate` and `run.minUplift` still apply, and a "
            "run in which no execution could be judged is inconclusive."
        ),
        "baseline": (
            "Run directory or results file to compare with, or `auto` for the results of the base in the store; same "
            "as [`--baseline`](command-line.md#baselines)."
        ),
        "baselineOptional": (
            "Whether the run continues without a comparison if there is no baseline yet; same as `--baseline-optional`."
        ),
        "maxCost": "Maximum cost of the run; once it is spent, no session starts. Same as `--max-cost`.",
        "allowPartial": (
            "Whether the run starts even if the forecast of its cost is higher than `run.maxCost`; same as "
            "`--allow-partial`."
        ),
        "minPassRate": "Minimum pass rate; below it the run fails. 0.8 is 80 %. Same as `--min-pass-rate`.",
        "maxErrorRate": (
            "Maximum share of errored executions; above it the run is inconclusive. 0.1 is 10 %. Same as "
            "`--max-error-rate`."
        ),
        "minUplift": (
            "Minimum uplift, the difference between two arms in the share of passed assertions; below it the run "
            "fails. Same as [`--min-uplift`](../how-to/arms.md#a-gate)."
        ),
        "judge": "The [judge](configuration.md#the-judge), which is the model that graders ask.",
        "limits": (
            "Resources of the machine that each [session](limits.md#sessions) may use; suites can only lower these "
            "limits."
        ),
        "keep": (
            "Files of workspaces to archive: the changed files of each session (`changed`), also the whole workspaces "
            "of sessions that are not green (`all`), or no files (`none`); same as "
            "[`--keep`](command-line.md#output)."
        ),
    },
    "DefaultsSection": {
        "timeoutMs": (
            "Time limit of cases whose suite sets no time limit. It does not apply to x-bench suites and Claude "
            "plugins, which have their own defaults."
        ),
    },
    "ToleranceSection": {
        "absolute": "Number of additional tokens allowed.",
        "percent": "Percentage of additional tokens allowed.",
    },
    "SnapshotsSection": {
        "path": "File with the snapshots.",
        "metric": "Which tokens are compared.",
        "tolerance": "How many more tokens than in its snapshot an execution may use: `absolute`, `percent`, or both.",
    },
    "PriceSection": {
        "input": "Price of input tokens.",
        "output": "Price of output tokens, including reasoning.",
        "cached": "Price of input tokens from a cache.",
    },
    "ReportSection": {
        "comment": (
            "What to do with the comment of an earlier run. `update`: update it. `new`: keep it and write a new "
            "comment. `recreate`: delete it and write a new comment. With `off`, no comment is written."
        ),
        "commentWhen": (
            "When to create a comment. `changes`: if results differ from the baseline or, without a baseline, if "
            "something is not green. `failures`: if something is not green. With `comment: update`, an existing "
            "comment is always updated."
        ),
        "commentId": "Id that distinguishes the comments of several jobs.",
        "reviewComments": (
            "Whether to write review comments on the definitions of cases that are not green, in addition to the "
            "comment."
        ),
        "status": (
            "Whether to write a commit status with the verdict. With `auto`, the status is written only if the check "
            "of the job does not belong to the commit of the pull request, as with `workflow_run`."
        ),
        "html": "Whether to write the [HTML report](reports.md#the-html-report), `report.html`.",
        "templates": (
            "Folder with [report templates](reports.md#your-own-templates) that replace the built-in ones. If the "
            "configuration is inside the repository, the folder must be inside the repository, too."
        ),
    },
    "SkillsSection": {
        "path": "Folder of the skill under test, [inside the repository](configuration.md#paths); same as `--skill`.",
        "workspace": (
            "Content of workspaces in addition to the skill and the input files: nothing, or a copy of the repository "
            "without the skill and the suites."
        ),
        "triggerRounds": "Number of model rounds after which a session of a trigger query ends.",
        "arms": "Arms of [suites of skills](../how-to/arms.md#skills); same as `--arms`.",
    },
    "SandboxSection": {
        "type": (
            "Sandbox that runs the containers of sessions; same as [`--sandbox`](command-line.md#containers). With "
            "`none`, a suite that requires containers is an error."
        ),
        "agents": (
            "What to do if an image does not contain the CLI of an agent. `bundle`: the tool adds the CLI that it "
            "installed. `image`: the sessions are `errored`."
        ),
        "proxyImage": (
            "Image with Squid, for the proxy of the network modes `model-only` and `allow-list`. Set the key on "
            "machines on which the tool cannot [build this image](sandboxes.md#network)."
        ),
    },
    "PluginsSection": {
        "allowTools": (
            "Tools that cases of [Claude plugins](plugin-evals.md#workspace-plugin-and-tools) may use. The list "
            "applies only to agents that can restrict tools."
        ),
    },
    "InputSection": {
        "files": "Patterns of files, or of folders with all of their files, relative to the root of the repository.",
        "suites": (
            "Patterns of suites, or of folders of suites, whose cases are selected if one of these files changes. An "
            "empty list means that no case depends on the files."
        ),
    },
    "TlsSection": {
        "ca": "Certificate of the certificate authority that signed all certificates of the cluster.",
        "cert": "The coordinator's certificate.",
        "key": (
            "The coordinator's private key. A key in the checkout is an error, because agents and workers get the "
            "files of the checkout."
        ),
    },
    "EngineSection": {
        "type": "Where sessions run: on this machine (`local`), or on the workers of a Dask cluster (`dask`).",
        "address": "Address of the scheduler, in the same format as in `--engine`. The type `dask` requires it.",
        "tls": "Certificates and key for connections to the cluster, as files in PEM format.",
        "slots": "Maximum number of parallel sessions on all workers together; `--jobs` takes precedence.",
        "lostAfter": "Time without a message after which a worker is considered lost.",
        "lostRetries": (
            "Maximum number of times that a session runs again because its worker was lost; same as `--lost-retries`."
        ),
        "wait": "How long a run waits for a worker if none is available.",
    },
    "ConfigFile": {
        "$schema": "Address of this JSON Schema, for editors.",
        "run": "What runs, how often, and when the run fails.",
        "defaults": "Values for cases that do not set their own.",
        "report": "What is published on the pull request, and with which templates.",
        "snapshots": "Limits for the number of tokens of executions, based on stored snapshots.",
        "prices": "Token prices of models that are not in the price table, or that you buy at other prices.",
        "skills": "Settings of suites of skills.",
        "plugins": "Settings of suites of Claude plugins.",
        "sandbox": "Settings of the containers that suites require.",
        "arms": f"Variants (arms) in which each case runs, by name: 2 to {MAX_ARMS}.",
        "store": (
            "Where results are stored for comparisons with later runs: a branch, artifacts of a workflow, or a folder "
            "or `.jsonl` file. A path is relative to the folder of the configuration file. If the configuration is "
            "inside the repository, the path must be [inside the repository](configuration.md#paths), too."
        ),
        "reuse": (
            "Which results of unchanged executions are taken from the store. `max-age` is the maximum age of these "
            f"results, in days (`30d`) or hours (`12h`): by default {DEFAULT_REUSE_DAYS} days, at most "
            f"{MAX_REUSE_DAYS} days."
        ),
        "inputs": "Files on which suites depend although the suites do not name these files, for `changed-only`.",
        "limits": "Maximum number of sessions that use a model provider at the same time, by provider.",
        "engine": "Where sessions run: on this machine, or on the workers of a cluster.",
        "runners": "The runners that cases run on, by id. Reports show the id, and `--runner` selects by it.",
    },
    "ProviderSection": {
        "sessions": "Maximum number of sessions that use the provider at the same time.",
    },
}
"""Definition of the schema -> key -> what it means, in Markdown; links are relative to docs/reference."""

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
