"""Descriptions and examples of the keys of configurations, for the JSON Schema and the reference."""

from __future__ import annotations

from skillgym_action.model.limits import DEFAULT_REUSE_DAYS, MAX_ARMS, MAX_REUSE_DAYS

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "AgentSection": {
        "type": "Type of the [agent](agents.md), which determines the program that the runner starts.",
        "model": "Model that the agent uses. The model of a case or suite and `--model` take precedence.",
        "version": (
            "Exact version of the agent's CLI, such as `2.1.332`. This version is "
            "[installed](agents.md#where-the-cli-comes-from) and used, even if another version is on `PATH`."
        ),
        "command": (
            "Command that starts the agent. The type `command` requires this key. A list is a program with its "
            "arguments. Text is a command line for `sh` for the type `command`, and the path of the agent's program "
            "for other types."
        ),
        "commandArgs": "Arguments that are added to the agent's command line, after the options that the tool sets.",
        "env": (
            "Variables that are added to the environment of the agent. `${{ NAME }}` and `${NAME}` are replaced with "
            "the value of `NAME` in the environment of the run. A list contains names of variables, which are passed "
            "to the agent unchanged."
        ),
        "budget": (
            "Budget of each session whose case does not set a budget. This key does not apply to x-bench suites, which "
            "have their own default. If the agent [reports the tokens of each model round](agents.md) while it runs, "
            "and the price of the model is known, the tool ends a session that exceeds its budget."
        ),
        "output": (
            "Format of the output of an agent of type `command`: plain text (`text`), or one JSON object per line "
            "(`events`)."
        ),
        "sessions": "Folder of the recorded sessions to replay. The type `replay` requires this key.",
    },
    "RunnerSection": {
        "agent": "Settings of the agent of this runner.",
    },
    "BootstrapSection": {
        "command": (
            "Program to start. If its path begins with `./` or `../`, the path is relative to the folder of the file "
            "that contains this key."
        ),
        "args": (
            "Arguments of the program. Arguments that begin with `./` or `../` are relative to the same folder as the "
            "path in `command`."
        ),
        "timeoutMs": "Time limit of the program.",
        "env": "Variables that are added to the environment of the program.",
    },
    "WorkspaceLimitsSection": {
        "cpus": "Number of processors that a container may use, such as 1 or 0.5.",
    },
    "WorkspaceSection": {
        "mode": (
            "`isolated`: a new directory for each session. `shared`: one directory for each suite. `none`: the "
            "existing directory that `cwd` or `run.cwd` specifies, or the root of the repository if neither is set."
        ),
        "cwd": (
            "An existing directory [of the repository](configuration.md#paths) in which agents work. If this key is "
            "set, `mode` has no effect."
        ),
        "templateDir": (
            "Folder [inside the repository](configuration.md#paths) whose content is copied into each new workspace. "
            "If this key is not set, workspaces are empty at the start."
        ),
        "bootstrap": "Command that prepares a workspace before the agent starts.",
        "limits": "Limits that apply only to containers. All other limits are set in `run.limits`.",
    },
    "JudgeSection": {
        "api": (
            "The API of the model's service: the Messages API of Anthropic, or the chat completions API of OpenAI, "
            "which many other services also offer."
        ),
        "model": "Name of the model, as the service expects it.",
        "env": (
            "Values of the variables that contain the API key and the base URL of the service: `ANTHROPIC_API_KEY` "
            "and `ANTHROPIC_BASE_URL`, or `OPENAI_API_KEY` and `OPENAI_BASE_URL`. By default, [the "
            "judge](configuration.md#the-judge) uses the values in the environment of the run. A list contains names "
            "of variables whose values are taken from this environment unchanged."
        ),
        "votes": (
            "Number of independent answers that the judge gives to each question. The "
            "[majority](configuration.md#votes-of-the-judge) of the answers decides."
        ),
    },
    "LimitsSection": {
        "memory": "Maximum resident memory of all processes of a session together.",
        "disk": "Maximum disk space of the folders of a session.",
        "processes": "Maximum number of processes and threads of a session at the same time.",
        "fileSize": "Maximum size of each file that a session writes.",
    },
    "RunSection": {
        "cwd": (
            "Directory [of the repository](configuration.md#paths) in which agents work if the workspace settings (of "
            "a suite or in `run.workspace`) contain `mode: none` and no `cwd`. If `run.workspace` is not set, this "
            "directory is also used for suites without workspace settings."
        ),
        "outputDir": "Folder in which each run creates its run directory.",
        "reporter": (
            "This key has no effect. The tool accepts it for compatibility with configurations of skillgym. Every run "
            "writes `results.json` and, unless `report.html` is `false`, the HTML report. "
            "[`--report`](command-line.md#output) writes additional reports. Reporter modules are not supported."
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
        "repeat": (
            "Number of times that each case runs on each runner; `auto`: [until a regression is "
            "decided](../explanation/statistics.md#repeat-auto). The number that a suite sets takes precedence over "
            "this key, but [`--repeat`](command-line.md#repetitions-and-retries) takes precedence over both. Trigger "
            "queries have their own number."
        ),
        "require": (
            "How many repetitions of a case must pass: all of them (`all`), at least one (`any`), or at least the "
            "given number; same as [`--require`](command-line.md#repetitions-and-retries)."
        ),
        "confirm": (
            "With `repeat: auto`: whether a regression is checked beside the base commit (`auto`: if that is possible; "
            "`always`: the run is refused if it is not; `never`: stored results alone decide); same as "
            "[`--confirm`](command-line.md#repetitions-and-retries)."
        ),
        "onLimit": (
            "Status of a session that exceeds its time limit, its maximum number of model rounds or its budget; same "
            "as [`--on-limit`](command-line.md#limits)."
        ),
        "repeatFailure": (
            "Maximum number of retries of a repetition that failed (but not of one that is `errored`); same as "
            "`--retry`."
        ),
        "retryFailed": "Older name of `run.repeatFailure`; ignored if `run.repeatFailure` is set.",
        "workspace": "Workspace settings for suites that have none of their own.",
        "tags": "Only cases with at least one of these tags run; same as `--tag`.",
        "failOn": (
            "Conditions that make a run fail; same as [`--fail-on`](command-line.md#conditions-that-fail-a-run). With "
            "`none`, none of these conditions applies. Even then, `run.minPassRate`, `run.maxErrorRate` and "
            "`run.minUplift` apply, and a run in which no execution could be judged is inconclusive."
        ),
        "baseline": (
            "What the run is compared with: a run directory, a results file, with `auto` the results of the base "
            "branch in the store or, with `base`, sessions with the files of the base commit; same as "
            "[`--baseline`](command-line.md#baselines)."
        ),
        "baselineOptional": (
            "Whether the run continues without a comparison if there is no baseline yet; same as `--baseline-optional`."
        ),
        "maxCost": "Maximum cost of the run. Once this amount is spent, no more sessions start. Same as `--max-cost`.",
        "allowPartial": (
            "Whether the run starts even if the forecast of its cost is higher than `run.maxCost`; same as "
            "`--allow-partial`."
        ),
        "minPassRate": (
            "Minimum pass rate, such as 0.8 for 80 %. If the pass rate is lower, the run fails. Same as "
            "`--min-pass-rate`."
        ),
        "maxErrorRate": (
            "Maximum share of errored executions, such as 0.1 for 10 %. If the share is higher, the run is "
            "inconclusive. Same as `--max-error-rate`."
        ),
        "minUplift": (
            "Minimum uplift, which is the difference between two arms in the share of passed assertions. If the uplift "
            "is lower, the run fails. Same as [`--min-uplift`](../how-to/arms.md#a-gate)."
        ),
        "judge": "Settings of the [judge](configuration.md#the-judge), which is the model that graders ask.",
        "limits": (
            "Limits on the resources of the machine that each [session](limits.md#sessions) may use; suites can only "
            "lower these limits."
        ),
        "keep": (
            "Which files of workspaces the tool stores. `changed`: the changed files of each session. `all`: also the "
            "whole workspaces of sessions that are not green, up to a [size](limits.md#agents-and-artifacts). `none`: "
            "no files. Same as [`--keep`](command-line.md#output)."
        ),
        "publicVariables": (
            "Names of variables whose values are not [secret](configuration.md#secrets), although an `env` refers to "
            "them, such as the name of a model. Variables that are secret because of their name stay secret."
        ),
    },
    "DefaultsSection": {
        "timeoutMs": (
            "Time limit of cases whose suite sets no time limit. This key does not apply to x-bench suites and Claude "
            "plugins, which have their own defaults."
        ),
    },
    "ToleranceSection": {
        "absolute": "Number of tokens by which an execution may exceed its snapshot.",
        "percent": "Percentage by which an execution may exceed its snapshot.",
    },
    "SnapshotsSection": {
        "path": "File that contains the snapshots.",
        "metric": "Which tokens the tool compares.",
        "tolerance": (
            "How far the tokens of an execution may exceed its snapshot: a mapping with `absolute`, `percent`, or both."
        ),
    },
    "PriceSection": {
        "input": "Price of input tokens.",
        "output": "Price of output tokens, including reasoning tokens.",
        "cached": "Price of input tokens that are read from a cache.",
    },
    "ReportSection": {
        "comment": (
            "What the tool does with the comment of an earlier run. `update`: it updates this comment. `new`: it keeps "
            "this comment and writes a new one. `recreate`: it deletes this comment and writes a new one. `off`: the "
            "tool writes no comments."
        ),
        "commentWhen": (
            "When the tool creates a comment. `always`: in every run. `changes`: if results differ from the baseline "
            "or, without a baseline, under the same conditions as with `failures`. `failures`: if an execution is "
            "`failed`, `unexpected-passed` or `errored`, or the run does not pass. If the condition is not met, "
            "`comment: update` and `comment: recreate` still update an existing comment."
        ),
        "commentId": "Id that distinguishes the comments of several jobs on the same pull request.",
        "reviewComments": (
            "Whether the tool writes review comments on the definitions of cases that are not green, in addition to "
            "the comment on the pull request."
        ),
        "status": (
            "Whether the tool writes a commit status with the verdict. With `auto`, the tool writes the status only in "
            "workflows that are triggered by `workflow_run`, because the check of their jobs does not belong to the "
            "commit of the pull request."
        ),
        "html": "Whether the tool writes the [HTML report](reports.md#the-html-report), `report.html`.",
        "templates": (
            "Folder with [report templates](reports.md#your-own-templates) that replace the built-in ones. If the "
            "configuration is inside the repository, the folder must be inside the repository, too."
        ),
    },
    "SkillsSection": {
        "path": "Folder of the skill under test, [inside the repository](configuration.md#paths); same as `--skill`.",
        "workspace": (
            "Content of workspaces. `empty`: only the skill and the input files. `repository`: also a copy of the "
            "repository without the skill and the suites."
        ),
        "triggerRounds": "Maximum number of model rounds in a session of a trigger query.",
        "arms": "Arms in which [suites of skills](../how-to/arms.md#skills) run; same as `--arms`.",
    },
    "SandboxSection": {
        "type": (
            "Sandbox that runs the containers of sessions; same as [`--sandbox`](command-line.md#containers). With "
            "`none`, the tool reports an error for each suite that requires containers."
        ),
        "agents": (
            "What happens if an image does not contain the CLI of an agent. `bundle`: the tool adds the CLI that it "
            "installed. `image`: the sessions are `errored`."
        ),
        "proxyImage": (
            "Image that contains Squid, the proxy for the network modes `model-only` and `allow-list`. Set this key on "
            "machines on which the tool cannot [build such an image](sandboxes.md#network) itself."
        ),
    },
    "PluginsSection": {
        "allowTools": (
            "Tools that cases of [Claude plugins](plugin-evals.md#workspace-plugin-and-tools) may use. The "
            "list has no effect on agents that cannot restrict their tools. However, a case whose `allowed_tools` "
            "contains no tool of the list is errored, regardless of the agent."
        ),
    },
    "InputSection": {
        "files": (
            "Patterns that match files, or folders with all of their files. The patterns are relative to the root of "
            "the repository."
        ),
        "suites": (
            "Patterns that match suites, or folders with suites. If a file that matches `files` changes, the cases of "
            "these suites are selected. An empty list means that no case depends on these files."
        ),
    },
    "TlsSection": {
        "ca": "Certificate of the certificate authority that signed all certificates of the cluster.",
        "cert": "The coordinator's certificate.",
        "key": (
            "The coordinator's private key. The file must not be in the checkout, because agents and workers get the "
            "files of the checkout."
        ),
    },
    "EngineSection": {
        "type": "Where sessions run: on this machine (`local`), or on the workers of a Dask cluster (`dask`).",
        "address": "Address of the scheduler, in the same format as in `--engine`. The type `dask` requires this key.",
        "tls": "Certificates and key for connections to the cluster, as files in PEM format.",
        "slots": "Maximum number of parallel sessions on all workers together; `--jobs` takes precedence.",
        "lostAfter": "Time after which a worker that has sent no message is considered lost.",
        "lostRetries": (
            "Maximum number of times that a session runs again because its worker was lost; same as `--lost-retries`."
        ),
        "wait": "How long a run waits for a worker if none is available. After this time, the run ends.",
    },
    "ConfigFile": {
        "$schema": "URL of this JSON Schema, for editors.",
        "run": "What runs, how often, and when the run fails.",
        "defaults": "Values for cases that do not set their own.",
        "report": "What the tool writes on the pull request, and which templates it uses.",
        "snapshots": "Limits for the number of tokens of executions, based on stored snapshots.",
        "prices": "Token prices of models that are not in the price table, or for which you pay other prices.",
        "skills": "Settings for suites of skills.",
        "plugins": "Settings for suites of Claude plugins.",
        "sandbox": "Settings for the containers that suites require.",
        "arms": f"The 2 to {MAX_ARMS} variants (arms) in which each case runs, by name.",
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
        "inputs": "For `changed-only`: files on which suites depend without referring to them.",
        "limits": "Maximum number of sessions that use a model provider at the same time, by provider.",
        "engine": "Where sessions run: on this machine, or on the workers of a cluster.",
        "runners": "The runners that cases run on, by id. Reports show this id, and `--runner` selects runners by it.",
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
        "version": ["2.1.332"],
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
        "require": ["any", 2],
        "repeatFailure": [1],
        "retryFailed": [1],
        "workspace": [{"mode": "isolated", "templateDir": "./template"}],
        "tags": [["smoke"]],
        "baseline": ["auto"],
        "judge": [{"api": "anthropic", "model": "claude-haiku-4-5"}],
        "limits": [{"memory": "2GiB", "processes": 500}],
        "publicVariables": [["MODEL"]],
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
        "address": ["dask://scheduler.example.com:8786"],
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
