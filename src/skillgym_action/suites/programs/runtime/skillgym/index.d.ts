// Types of the module "skillgym" that suites in TypeScript import. They need @types/node.

type Strict = typeof import("node:assert/strict");

// --- suites -------------------------------------------------------------------------------------

/** The default export of a suite: its cases, or cases by name. */
export type Suite = Case[] | Record<string, Case>;

/** A prompt, and a check of the session. */
export interface Case {
  /** Unique in the suite. */
  id: string;
  /** The exact text that the agent gets. */
  prompt: string;
  /** For `--tag`. */
  tags?: string[];
  /** Limit of the agent's time in milliseconds. */
  timeoutMs?: number;
  /** The check is expected to fail; passing is reported as unexpected. */
  expectedFail?: boolean;
  /** Returns the failure class of a session that did not pass. It decides the class, never the status. */
  classifyFailure?(result: RunnerResult): Classified | Promise<Classified>;
  /** Returns if the session passes; throws an AssertionError if it fails. */
  assert(report: SessionReport, ctx: AssertionContext): void | Promise<void>;
}

type Classified = FailureClass | string | null | undefined;

/** A class of failures with the same cause; the label defaults to the id. */
export interface FailureClass {
  id: string;
  label?: string;
}

/** `export const workspace`: where agents work. Paths are relative to the suite file. */
export type SuiteWorkspaceConfig = { bootstrap?: WorkspaceBootstrapConfig; limits?: WorkspaceLimits } & ContainerConfig & (
  | { mode: "none" | "shared"; cwd?: string; templateDir?: never }
  | { mode: "isolated" | "shared"; templateDir?: string; cwd?: never }
);

/**
 * What a session may use of the machine, which can only lower the limits of the run. Sizes in bytes, or as text such
 * as `512MiB`; `processes` counts threads, too.
 */
export interface WorkspaceLimits {
  /** Of a container: processors. */
  cpus?: number;
  /** Another name of `processes`. */
  pids?: number;
  memory?: number | string;
  disk?: number | string;
  processes?: number;
  fileSize?: number | string;
}

/**
 * What each session runs in; mode `isolated` only. One of `image`, `build` and `dockerfile`, else there is no container.
 * `workdir` and `user`: those of the image, if they are not set. `network`: the default is `model-only`, the services of
 * the agent's model.
 */
export interface ContainerConfig {
  image?: string;
  build?: { context?: string; dockerfile?: string };
  /** A build whose context is the folder of that file. */
  dockerfile?: string;
  workdir?: string;
  user?: string;
  network?: "none" | "model-only" | "open" | { mode: "allow-list"; hosts: string[] };
}

/** A command that prepares the workspace. Words that begin with `./` or `../` are relative to the suite file. */
export interface WorkspaceBootstrapConfig {
  command: string;
  args?: string[];
  timeoutMs?: number;
  env?: Record<string, string>;
}

/** The argument of `classifyFailure`: a session that did not pass. */
export interface RunnerResult {
  caseId: string;
  runnerId: string;
  runner: RunnerInfo;
  /** Always `failed`; `failureOrigin` distinguishes failed sessions from those that could not be judged. */
  status: RunnerResultStatus;
  passed: boolean;
  /** Of the agent, in milliseconds. */
  durationMs: number;
  /** Absolute path of the folder with the artifacts of all sessions of the execution. */
  executionArtifactDir: string;
  /** Absolute path of the folder with the artifacts of this session. */
  artifactDir: string;
  failureOrigin?: RunnerFailureOrigin;
  failureClass?: FailureClass;
  /** Absolute path of the log with the errors of the agent, or of the bootstrap if that has failed. */
  failureLogPath?: string;
  error?: SerializedError;
  report: SessionReport;
}

export type RunnerResultStatus = "passed" | "failed" | "expected-failed" | "unexpected-passed";
export type RunnerFailureOrigin =
  | ("assertion" | "assert-hook" | "max-steps" | "timeout" | "model-rejected" | "runner")
  | ("workspace" | "workspace-bootstrap" | "collection" | "normalization" | "snapshot" | "limit" | "model" | "worker");

export interface SerializedError {
  name: string;
  /** As it was thrown. */
  message: string;
  /** Where the check threw it. */
  stack?: string;
}

/** Shortcuts to parts of the session report. */
export interface AssertionContext {
  /** The shell commands the agent ran, in order. */
  getCommands(): string[];
  /** The tools it called, in order; only those named `tool`, if it is given. */
  getToolCalls(tool?: string): ToolCallEvent[];
  /** Absolute paths of the files it read. */
  getFileReads(): string[];
  detectedSkills(): SkillDetection[];
  /** Its final output. */
  finalOutput(): string;
}

// --- the session report -------------------------------------------------------------------------

/** What the agent did, in the same form for all agents. Unknown values are missing. */
export interface SessionReport {
  runner: RunnerInfo;
  prompt: string;
  /** The workspace, which still exists. */
  cwd: string;
  sessionId?: string;
  usage: UsageReport;
  files: SessionFiles;
  detectedSkills: SkillDetection[];
  /** In the order they happened. */
  events: SessionEvent[];
  finalOutput: string;
  /** Times are ISO 8601 in UTC. */
  startedAt?: string;
  endedAt?: string;
  durationMs?: number;
  rawArtifacts: RawArtifactPaths;
  cost: Cost;
  model?: string;
  turns?: number;
  /** The version of the agent's CLI. */
  version?: string;
  exitCode?: number;
  /** The MCP servers that the agent found when the session began, with the agent's own word for their status. */
  mcpServers?: { name: string; status: string }[];
  /** Why the session could not be judged. Checks are not called for such sessions, classifiers are. */
  trouble?: Trouble;
  /** In suites about a skill: the skills that were installed, and whose load would be among the events. */
  watchedSkills?: string[];
  /** Why the session of a trigger query was ended: a skill was loaded, or none in the model rounds that it has. */
  answered?: "loaded" | "rounds";
  /** Of a conversation: a report for each turn. */
  exchanges?: SessionReport[];
  /** How many events are not in `events`, because there were too many; missing: all are there. */
  droppedEvents?: number;
}

export interface RunnerInfo {
  id: string;
  /** The name of its folder in the artifacts. */
  pathKey: string;
  agent: { type: AgentType; model?: string };
}

export type AgentType =
  | ("claude-code" | "codex" | "pi" | "opencode" | "copilot" | "gemini" | "qwen" | "cursor-agent")
  | ("command" | "nop" | "replay");

/** Input includes cached tokens; output excludes reasoning; total = input + output + reasoning - cache. */
export interface UsageReport {
  inputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
  /** Input tokens that came from a cache. */
  cacheTokens?: number;
  totalTokens?: number;
  inputChars: number;
  outputChars: number;
  reasoningChars: number;
  /** Whether the provider counted tokens, or only characters are known. */
  source: { input: UsageSource; output: UsageSource; reasoning: UsageSource };
}

export type UsageSource = "provider" | "derived" | "chars";

/** Absolute paths of the files read, by a tool or by a shell command. */
export interface SessionFiles {
  observedReads: string[];
  observedSkillReads: string[];
}

/** A skill that the session used, with the confidence and evidence of its detection. */
export interface SkillDetection {
  skill: string;
  confidence: SkillConfidence;
  evidence: string[];
}

/** In this order: a skill tool named it; its SKILL.md was read; another of its files was read; it was mentioned. */
export type SkillConfidence = "explicit" | "strong" | "medium" | "weak";

/** Names of files in the session's artifacts. */
export interface RawArtifactPaths {
  stdoutPath?: string;
  stderrPath?: string;
  sessionPath?: string;
  exportPath?: string;
}

/** US dollars: reported by the agent, or computed from its tokens. */
export interface Cost {
  usd?: number;
  source: "reported" | "computed" | "unknown";
}

export interface Trouble {
  kind: string;
  message: string;
  /** Seconds. */
  retryAfter?: number;
}

export type SessionEvent =
  | (MessageEvent | ToolCallEvent | ToolResultEvent | CommandEvent | FileReadEvent | FileWriteEvent)
  | (SkillSignalEvent | RawEvent);

export interface MessageEvent {
  type: "message";
  role: "user" | "assistant";
  phase?: "thinking" | "commentary" | "final";
  text: string;
  at?: string;
  usage?: RoundUsage;
}

/** Tokens of a model round. One message or tool call of each round has them, if the agent tells them. */
export interface RoundUsage {
  inputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
  /** Input tokens that came from a cache. */
  cacheTokens?: number;
}

/** A tool the agent called, under the agent's own name for it. */
export interface ToolCallEvent {
  type: "toolCall";
  tool: string;
  args?: any;
  at?: string;
  durationMs?: number;
  usage?: RoundUsage;
}

export interface ToolResultEvent {
  type: "toolResult";
  tool?: string;
  output: string;
  failed?: boolean;
  at?: string;
}

export interface CommandEvent {
  type: "command";
  command: string;
  exitCode?: number;
  at?: string;
}

export interface FileReadEvent {
  type: "fileRead";
  path: string;
  at?: string;
}

export interface FileWriteEvent {
  type: "fileWrite";
  path: string;
  at?: string;
}

/** A skill the agent loaded explicitly; `signal` says how. */
export interface SkillSignalEvent {
  type: "skillSignal";
  skill: string;
  signal: string;
  at?: string;
}

/** A line of the agent's output that was not understood. */
export interface RawEvent {
  type: "raw";
  line: string;
}

// --- assertions ---------------------------------------------------------------------------------

/** Node's strict `assert`, and assertions about a session. */
export declare const assert: SkillGymAssert;

export interface SkillGymAssert extends Strict, SessionAssertions {
  /** The same assertions; a failure does not end the check, and all failures are reported when it ends. */
  soft: SkillGymSoftAssert;
  strict: SkillGymAssert;
}

/** Plain assertions do not narrow types here, since the check continues after a failure. */
export interface SkillGymSoftAssert extends Omit<Strict, Proving>, SessionAssertions {
  (value: unknown, message?: string | Error): void;
  ok(value: unknown, message?: string | Error): void;
  fail(message?: string | Error): void;
  ifError(value: unknown): void;
  equal(actual: unknown, expected: unknown, message?: string | Error): void;
  strictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
  deepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
  deepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
  strict: SkillGymSoftAssert;
}

type Proving = "ok" | "fail" | "ifError" | "equal" | "strictEqual" | "deepEqual" | "deepStrictEqual" | "strict";

/** The assertions about sessions, which Node's `assert` does not have. */
export interface SessionAssertions {
  skills: SkillAssertions;
  commands: CommandAssertions;
  fileReads: FileReadAssertions;
  toolCalls: ToolCallAssertions;
  output: OutputAssertions;
  /** Attaches the class to failures in the callback, and returns the callback's value. */
  classify<T>(failureClass: FailureClass | string, callback: () => T): T;
}

/** Text that must be contained, or a regular expression that must match somewhere. */
export type Matcher = string | RegExp;

export interface AssertionOptions {
  /** Comes first in the failure's message. */
  message?: string;
  explain?: ExplainOptions;
}

/** The question that the agent can be asked about the failure: text, or a function that returns text or nothing. */
export interface ExplainOptions {
  question: string | ((context: ExplainQuestionContext) => string | null | undefined);
}

export interface ExplainQuestionContext {
  report: SessionReport;
  expected?: any;
  actual?: any;
  observed?: any;
}

export interface SkillAssertionOptions extends AssertionOptions {
  /** Skills detected with less confidence do not count. */
  minConfidence?: SkillConfidence;
}

export interface SkillAssertions {
  has(report: SessionReport, skill: string, options?: SkillAssertionOptions): void;
  notHas(report: SessionReport, skill: string, options?: SkillAssertionOptions): void;
  includes(report: SessionReport, skills: readonly string[], options?: SkillAssertionOptions): void;
  count(report: SessionReport, skill: string, expected: number, options?: SkillAssertionOptions): void;
  exactlyOne(report: SessionReport, skill: string, options?: SkillAssertionOptions): void;
  /** No other skill was used. */
  only(report: SessionReport, skills: readonly string[], options?: SkillAssertionOptions): void;
}

interface Occurrences<M> {
  count(report: SessionReport, matcher: M, expected: number, options?: AssertionOptions): void;
  atLeast(report: SessionReport, matcher: M, expected: number, options?: AssertionOptions): void;
  atMost(report: SessionReport, matcher: M, expected: number, options?: AssertionOptions): void;
  /** The first match of `earlier` comes before the first match of `later`. */
  before(report: SessionReport, earlier: M, later: M, options?: AssertionOptions): void;
  /** Each occurrence matches one of these. */
  only(report: SessionReport, matchers: readonly M[], options?: AssertionOptions): void;
}

interface Listed<M> extends Occurrences<M> {
  includes(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  notIncludes(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  exactlyOne(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  /** The number of all occurrences. */
  size(report: SessionReport, expected: number, options?: AssertionOptions): void;
  first(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  last(report: SessionReport, matcher: M, options?: AssertionOptions): void;
}

/** Assertions about the command lines that the agent ran. */
export interface CommandAssertions extends Listed<CommandMatcher> {}

/** Assertions about the paths of files that the agent read. */
export interface FileReadAssertions extends Listed<Matcher> {}

/** Assertions about the tools that the agent called. */
export interface ToolCallAssertions extends Occurrences<ToolCallMatcher> {
  has(report: SessionReport, call: ToolCallMatcher, options?: AssertionOptions): void;
  /** Each was called after the one before; other calls may come between. */
  sequence(report: SessionReport, calls: readonly ToolCallMatcher[], options?: AssertionOptions): void;
}

/** A tool's name, or its name and a condition. */
export type ToolCallMatcher = Matcher | { tool?: Matcher; where?(args: any, event: ToolCallEvent): boolean };

/** Assertions about the final output. */
export interface OutputAssertions {
  includes(report: SessionReport, matcher: Matcher, options?: AssertionOptions): void;
  notEmpty(report: SessionReport, options?: AssertionOptions): void;
}

// --- command lines ------------------------------------------------------------------------------

/** A builder for matchers of command lines; without an executable, any matches. */
export declare function commandMatcher(executable?: Matcher): CommandMatcherBuilder;

/** `commandMatcher("npm").arg("test").option("--watch", "false").strict()`; text must be equal to the argument. */
export declare class CommandMatcherBuilder implements CommandMatcherBuilderLike {
  constructor(executable?: Matcher);
  executable(matcher: Matcher): this;
  arg(matcher: Matcher): this;
  /** These positional arguments, in this order; others may come between them. */
  args(...matchers: Matcher[]): this;
  /** With its dashes; without a value it is a flag. */
  option(name: string, value?: CommandValueMatcher): this;
  flag(name: string): this;
  /** There is a `--`. */
  endOfOptions(): this;
  /** No other arguments or options. */
  strict(): this;
  exact(): this;
  build(): StructuredCommandMatcher;
}

export type CommandMatcher = Matcher | StructuredCommandMatcher | CommandMatcherBuilderLike;
export type CommandValueMatcher = Matcher | true;

export interface CommandMatcherBuilderLike {
  build(): StructuredCommandMatcher;
}

/** The plain form of a matcher of command lines. */
export interface StructuredCommandMatcher {
  executable?: Matcher;
  positionals?: readonly Matcher[];
  options?: Readonly<Record<string, CommandValueMatcher | readonly CommandValueMatcher[]>>;
  endOfOptions?: boolean;
  strict?: boolean;
  exact?: boolean;
}

// --- configuration ------------------------------------------------------------------------------

/** The default export of `skillgym.config.ts`. Paths are relative to that file. */
export interface SkillGymConfig {
  /** Address of the JSON Schema of a configuration, for editors. */
  $schema?: string;
  run?: RunConfig;
  defaults?: { timeoutMs?: number };
  report?: ReportConfig;
  snapshots?: SnapshotConfig;
  /** By model; they override the built-in prices. */
  prices?: Record<string, ModelPrice>;
  /** Suites of Claude plugins: the tools that their cases may use, on agents that limit tools. */
  plugins?: { allowTools?: string[] };
  /** By name; the first one decides, unless another is marked. */
  arms?: Record<string, ArmConfig>;
  runners?: Record<string, RunnerConfig>;
  skills?: SkillsConfig;
  /** Where results are kept: `branch`, `artifact`, `artifact=` and a workflow's file, `path=` and a folder or file, or `none`. */
  store?: string;
  /** Which results are taken from the store: `never`, `unchanged`, or `unchanged,max-age=14d`. */
  reuse?: string;
  /** With `changed-only`: the suites that a change of files selects; none: no case depends on them. */
  inputs?: { files: string[]; suites: string[] }[];
  /** Sessions at once, by provider. */
  limits?: Record<string, { sessions: number }>;
  /** What makes the containers that suites ask for. */
  sandbox?: { type?: "docker" | "none"; agents?: "bundle" | "image"; proxyImage?: string };
  /** Where sessions run; `lostAfter` and `wait`: seconds, or such as `30s`. */
  engine?: {
    type: "local" | "dask";
    address?: string;
    tls?: { ca: string; cert: string; key: string };
    slots?: number;
    lostAfter?: number | string;
    lostRetries?: number;
    wait?: number | string;
  };
}

/** Suites of skills. */
export interface SkillsConfig {
  /** The folder of the skill under test; by default it is looked for near each suite. */
  path?: string;
  workspace?: "empty" | "repository";
  /** Model rounds after which a session of a trigger query ends; the default is 5. */
  triggerRounds?: number;
}

export interface RunConfig {
  cwd?: string;
  outputDir?: string;
  reporter?: "standard" | "json" | "json-summary" | "html" | "github-actions";
  schedule?: ScheduleMode;
  maxParallel?: number;
  repeat?: "auto" | number;
  /** How many repetitions have to pass; the default is `all`. */
  require?: "all" | "any" | number;
  /** The status after a limit of time, steps or money; the default is `failed`. */
  onLimit?: "failed" | "errored";
  repeatFailure?: number;
  /** The older name of `repeatFailure`, which wins over it. */
  retryFailed?: number;
  maxSteps?: number;
  workspace?: SuiteWorkspaceConfig;
  tags?: string[];
  failOn?: string[];
  /** A path, `auto` with a `store`, or `base`. */
  baseline?: string;
  baselineOptional?: boolean;
  /** US dollars. */
  maxCost?: number;
  /** Run what `maxCost` pays for, also if stored runs show that it is not the whole plan. */
  allowPartial?: boolean;
  /** 0 to 1. */
  minPassRate?: number;
  maxErrorRate?: number;
  /** Percentage points. */
  minUplift?: number;
  limits?: WorkspaceLimits;
  /** What is archived of the workspace of a session that did not pass; the default is `all`. */
  keep?: "changed" | "all" | "none";
  /** Variables whose values are not secret, although an `env` refers to them. */
  publicVariables?: string[];
  judge?: { api: "anthropic" | "openai"; model: string; votes?: number; env?: Record<string, string> | string[] };
  confirm?: "auto" | "always" | "never";
}

export type ScheduleMode = "serial" | "parallel" | "isolated-by-runner";

export interface ReportConfig {
  comment?: "update" | "new" | "recreate" | "off";
  commentWhen?: "always" | "changes" | "failures";
  commentId?: string;
  reviewComments?: boolean;
  status?: "auto" | "on" | "off";
  templates?: string;
  /** Whether `report.html` is written. */
  html?: boolean;
}

/** A variant of all sessions; `files`: a folder whose files are put into workspaces; `remove`: patterns of paths. */
export interface ArmConfig {
  files?: string;
  remove?: string[];
  /** A folder whose files are put into the agent's home. */
  home?: string;
  /** `null` takes a variable of the runner away. */
  env?: Record<string, string | null> | string[];
  commandArgs?: string[];
  /** Which version of the skill under test is installed; the default is `head`. */
  skill?: "head" | "base" | "none";
  decides?: boolean;
}

/** Snapshots of the tokens that executions use, and how much more they may use. */
export interface SnapshotConfig {
  path?: string;
  metric?: "totalTokens" | "inputTokens" | "outputTokens" | "reasoningTokens" | "cacheTokens";
  /** Tokens and percent more than before; where both are given, both limit. */
  tolerance: { absolute?: number; percent?: number };
}

export interface RunnerConfig {
  agent: AgentConfig;
}

/** US dollars per million tokens; `cached`: of input that comes from a cache. */
export interface ModelPrice {
  input: number;
  output: number;
  cached?: number;
}

/** `env`: values, in which `${NAME}` stands for variables of the tool's environment, or names of variables to pass on. */
export interface AgentConfig {
  type: AgentType;
  model?: string;
  version?: string;
  command?: string | string[];
  commandArgs?: string[];
  env?: Record<string, string> | string[];
  /** US dollars for a case. */
  budget?: number;
  output?: "text" | "events";
  /** Recordings that the agent `replay` plays. */
  sessions?: string;
}
