// Types of what suites in TypeScript import from "skillgym". They need @types/node.

type Strict = typeof import("node:assert/strict");

// --- suites -------------------------------------------------------------------------------------

/** The default export of a suite: its cases, or cases by name. */
export type Suite = Case[] | Record<string, Case>;

/** A prompt, and what is to be true of the session that comes of it. */
export interface Case {
  /** Unique in the suite. */
  id: string;
  /** What the agent is given, to the letter. */
  prompt: string;
  /** For `--tag`. */
  tags?: string[];
  /** The agent's time in milliseconds. */
  timeoutMs?: number;
  /** Failing is what is expected: then it is green, and passing is not. */
  expectedFail?: boolean;
  /** The failure class of a session that did not pass; it has the last word on the class, never on the status. */
  classifyFailure?(result: RunnerResult): Classified | Promise<Classified>;
  /** Returns if the session was right, and throws an AssertionError if it was not. */
  assert(report: SessionReport, ctx: AssertionContext): void | Promise<void>;
}

type Classified = FailureClass | string | null | undefined;

/** What failures with one cause have in common; the label defaults to the id. */
export interface FailureClass {
  id: string;
  label?: string;
}

/** `export const workspace`: where agents work. Relative paths belong to the suite file. */
export type SuiteWorkspaceConfig = { bootstrap?: WorkspaceBootstrapConfig; limits?: WorkspaceLimits } & (
  | { mode: "none" | "shared"; cwd?: string; templateDir?: never }
  | { mode: "isolated" | "shared"; templateDir?: string; cwd?: never }
);

/**
 * What a session may use of the machine, which can only lower the limits of the run. Sizes in bytes, or as text such
 * as `512MiB`; `processes` counts threads, too.
 */
export interface WorkspaceLimits {
  memory?: number | string;
  disk?: number | string;
  processes?: number;
  fileSize?: number | string;
}

/** A command that prepares the workspace. Words that begin with `./` or `../` belong to the suite file. */
export interface WorkspaceBootstrapConfig {
  command: string;
  args?: string[];
  timeoutMs?: number;
  env?: Record<string, string>;
}

/** What `classifyFailure` is told of a session that did not pass. */
export interface RunnerResult {
  caseId: string;
  runnerId: string;
  runner: RunnerInfo;
  /** Always `failed`; `failureOrigin` tells what did not pass from what could not be judged. */
  status: RunnerResultStatus;
  passed: boolean;
  failureOrigin?: RunnerFailureOrigin;
  failureClass?: FailureClass;
  error?: SerializedError;
  report: SessionReport;
}

export type RunnerResultStatus = "passed" | "failed" | "expected-failed" | "unexpected-passed";
export type RunnerFailureOrigin =
  | ("assertion" | "assert-hook" | "max-steps" | "timeout" | "model-rejected" | "runner")
  | ("workspace" | "workspace-bootstrap" | "collection" | "normalization" | "snapshot" | "limit");

export interface SerializedError {
  name: string;
  message: string;
}

/** Shortcuts into the session report. */
export interface AssertionContext {
  /** The shell commands the agent ran, in order. */
  getCommands(): string[];
  /** The tools it called, in order; those of one name. */
  getToolCalls(tool?: string): ToolCallEvent[];
  /** Absolute paths of the files it read. */
  getFileReads(): string[];
  detectedSkills(): SkillDetection[];
  /** Its last word. */
  finalOutput(): string;
}

// --- the session report -------------------------------------------------------------------------

/** What the agent did, in one form for all agents. What is not known is not there. */
export interface SessionReport {
  runner: RunnerInfo;
  prompt: string;
  /** The workspace, which is still there. */
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
  /** Of the agent's CLI. */
  version?: string;
  exitCode?: number;
  /** Why the session cannot be judged; checks see no such session, classifiers do. */
  trouble?: Trouble;
}

export interface RunnerInfo {
  id: string;
  /** Its folder in the artifacts. */
  pathKey: string;
  agent: { type: AgentType; model?: string };
}

export type AgentType =
  | ("claude-code" | "codex" | "pi" | "opencode" | "copilot" | "gemini" | "qwen" | "cursor-agent")
  | ("command" | "replay");

/** Input is gross, cached included; output excludes reasoning; total = input + output + reasoning - cache. */
export interface UsageReport {
  inputTokens?: number;
  outputTokens?: number;
  reasoningTokens?: number;
  /** Input that came from a cache. */
  cacheTokens?: number;
  totalTokens?: number;
  inputChars: number;
  outputChars: number;
  reasoningChars: number;
  /** Whether the provider counted tokens, or there are characters alone. */
  source: { input: UsageSource; output: UsageSource; reasoning: UsageSource };
}

export type UsageSource = "provider" | "derived" | "chars";

/** Absolute paths of the files read, by a tool or by a shell command. */
export interface SessionFiles {
  observedReads: string[];
  observedSkillReads: string[];
}

/** A skill the session used, how sure that is, and what shows it. */
export interface SkillDetection {
  skill: string;
  confidence: SkillConfidence;
  evidence: string[];
}

/** A skill tool named it; its SKILL.md was read; another of its files was; it was mentioned. */
export type SkillConfidence = "explicit" | "strong" | "medium" | "weak";

/** Names of files in the session's artifacts. */
export interface RawArtifactPaths {
  stdoutPath?: string;
  stderrPath?: string;
  sessionPath?: string;
  exportPath?: string;
}

/** US dollars: told by the agent, or computed of its tokens. */
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
}

/** A tool the agent called, under the agent's own name for it. */
export interface ToolCallEvent {
  type: "toolCall";
  tool: string;
  args?: any;
  at?: string;
  durationMs?: number;
}

export interface ToolResultEvent {
  type: "toolResult";
  tool?: string;
  output: string;
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

/** A line of the agent's whose meaning is not known. */
export interface RawEvent {
  type: "raw";
  line: string;
}

// --- assertions ---------------------------------------------------------------------------------

/** Node's strict `assert`, and assertions about a session. */
export declare const assert: SkillGymAssert;

export interface SkillGymAssert extends Strict, SessionAssertions {
  /** The same assertions; a failure does not end the check, and all are told when it ends. */
  soft: SkillGymSoftAssert;
  strict: SkillGymAssert;
}

/** Plain assertions prove nothing to the compiler here, since the check goes on. */
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

/** What `assert` has beside Node's own. */
export interface SessionAssertions {
  skills: SkillAssertions;
  commands: CommandAssertions;
  fileReads: FileReadAssertions;
  toolCalls: ToolCallAssertions;
  output: OutputAssertions;
  /** Gives the class to what fails in the callback, and gives back what that returns. */
  classify<T>(failureClass: FailureClass | string, callback: () => T): T;
}

/** Text that has to be contained, or a regular expression that is searched. */
export type Matcher = string | RegExp;

export interface AssertionOptions {
  /** Comes first in the failure's message. */
  message?: string;
  explain?: ExplainOptions;
}

/** What the agent can be asked about the failure: text, or a function that makes one, or none. */
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
  /** Skills detected with less do not count. */
  minConfidence?: SkillConfidence;
}

export interface SkillAssertions {
  has(report: SessionReport, skill: string, options?: SkillAssertionOptions): void;
  notHas(report: SessionReport, skill: string, options?: SkillAssertionOptions): void;
  includes(report: SessionReport, skills: readonly string[], options?: SkillAssertionOptions): void;
  count(report: SessionReport, skill: string, expected: number, options?: SkillAssertionOptions): void;
  exactlyOne(report: SessionReport, skill: string, options?: SkillAssertionOptions): void;
  /** No other was used. */
  only(report: SessionReport, skills: readonly string[], options?: SkillAssertionOptions): void;
}

interface Occurrences<M> {
  count(report: SessionReport, matcher: M, expected: number, options?: AssertionOptions): void;
  atLeast(report: SessionReport, matcher: M, expected: number, options?: AssertionOptions): void;
  atMost(report: SessionReport, matcher: M, expected: number, options?: AssertionOptions): void;
  /** The first match of the one comes before the first of the other. */
  before(report: SessionReport, earlier: M, later: M, options?: AssertionOptions): void;
  /** Each matches one of them. */
  only(report: SessionReport, matchers: readonly M[], options?: AssertionOptions): void;
}

interface Listed<M> extends Occurrences<M> {
  includes(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  notIncludes(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  exactlyOne(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  /** There were so many altogether. */
  size(report: SessionReport, expected: number, options?: AssertionOptions): void;
  first(report: SessionReport, matcher: M, options?: AssertionOptions): void;
  last(report: SessionReport, matcher: M, options?: AssertionOptions): void;
}

/** About the command lines the agent ran. */
export interface CommandAssertions extends Listed<CommandMatcher> {}

/** About the paths of files it read. */
export interface FileReadAssertions extends Listed<Matcher> {}

/** About the tools it called. */
export interface ToolCallAssertions extends Occurrences<ToolCallMatcher> {
  has(report: SessionReport, call: ToolCallMatcher, options?: AssertionOptions): void;
  /** Each was called after the one before; others may come between. */
  sequence(report: SessionReport, calls: readonly ToolCallMatcher[], options?: AssertionOptions): void;
}

/** A tool's name, or its name and a condition. */
export type ToolCallMatcher = Matcher | { tool?: Matcher; where?(args: any, event: ToolCallEvent): boolean };

/** About its last word. */
export interface OutputAssertions {
  includes(report: SessionReport, matcher: Matcher, options?: AssertionOptions): void;
  notEmpty(report: SessionReport, options?: AssertionOptions): void;
}

// --- command lines ------------------------------------------------------------------------------

/** Begins a matcher of command lines; without an executable, any will do. */
export declare function commandMatcher(executable?: Matcher): CommandMatcherBuilder;

/** `commandMatcher("npm").arg("test").option("--watch", "false").strict()`; text has to be equal to what it matches. */
export declare class CommandMatcherBuilder implements CommandMatcherBuilderLike {
  constructor(executable?: Matcher);
  executable(matcher: Matcher): this;
  arg(matcher: Matcher): this;
  /** These positional arguments, in that order; others may come between. */
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

/** The default export of `skillgym.config.ts`. Relative paths belong to that file. */
export interface SkillGymConfig {
  run?: RunConfig;
  defaults?: { timeoutMs?: number };
  report?: ReportConfig;
  snapshots?: SnapshotConfig;
  /** By model; they come before the price table. */
  prices?: Record<string, ModelPrice>;
  runners?: Record<string, RunnerConfig>;
}

export interface RunConfig {
  cwd?: string;
  outputDir?: string;
  reporter?: "standard" | "json" | "github-actions";
  schedule?: ScheduleMode;
  maxParallel?: number;
  repeat?: number;
  repeatFailure?: number;
  /** Another name for `repeatFailure`. */
  retryFailed?: number;
  maxSteps?: number;
  workspace?: SuiteWorkspaceConfig;
  tags?: string[];
  failOn?: string[];
  baseline?: string;
  /** US dollars. */
  maxCost?: number;
  /** 0 to 1. */
  minPassRate?: number;
  limits?: WorkspaceLimits;
  /** What is archived of the workspace of a session that is not green; the default is `changed`. */
  keep?: "changed" | "all" | "none";
  judge?: { api: "anthropic" | "openai"; model: string; env?: Record<string, string> | string[] };
}

export type ScheduleMode = "serial" | "parallel" | "isolated-by-runner";

export interface ReportConfig {
  comment?: "update" | "new" | "recreate" | "off";
  commentWhen?: "always" | "changes" | "failures";
  commentId?: string;
  reviewComments?: boolean;
  status?: "auto" | "on" | "off";
  templates?: string;
}

/** The tokens that executions may use. */
export interface SnapshotConfig {
  path?: string;
  metric?: "totalTokens" | "inputTokens" | "outputTokens" | "reasoningTokens" | "cacheTokens";
  /** Tokens and percent more than before; where both are given, both limit. */
  tolerance: { absolute?: number; percent?: number };
}

export interface RunnerConfig {
  agent: AgentConfig;
}

/** US dollars for a million tokens; `cached`: of input that comes from a cache. */
export interface ModelPrice {
  input: number;
  output: number;
  cached?: number;
}

/** `env` holds values, with `${NAME}` for those of our environment, or names of variables to pass on. */
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
  /** Recordings that `replay` plays. */
  sessions?: string;
}
