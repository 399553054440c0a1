// The Node suite host: a child process that runs one suite file. It has the protocol of python_host.py, but on other
// descriptors: requests come on 3, replies go to 4, and what the suite prints goes to stderr. There is one more call:
//     {"call": "config", "file": …, "root": …} -> {"ok": true, "config": {… what a configuration file exports …}}
//     {"call": "agentv", "file": …, "root": …} -> {"ok": true, … what a suite of AgentV exports: see node/agentv.mjs …}
//     {"call": "score", "function": …, "answer": {…}} -> {"ok": true, "score": …, "name": …}, or {"ok": true, "failure": …}
// `load`, `config` and `agentv` have two more fields: `sources`, `{file: JavaScript}` for TypeScript files whose types eraser.mjs
// has erased; and optionally `apart`, a folder around `root` in which packages are not found by name.
// After a check has returned, the host waits up to LATE_ERRORS_MS for timers and operations that the check has started,
// since an assertion in them may still fail.

import { readSync, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { AgentvSuite } from "./node/agentv.mjs";
import { configOf } from "./node/config.mjs";
import { Deadlock, failureOf, joined, loadError } from "./node/failures.mjs";
import { Imports } from "./node/imports.mjs";
import { Places } from "./node/places.mjs";
import { SuiteProgram, SuiteProgramError } from "./node/program.mjs";
import { failureClass } from "./skillgym/failure-classes.mjs";
import { collecting, failuresOfThisCheck } from "./skillgym/soft.mjs";

const [REQUESTS, REPLIES] = [3, 4];
const CHUNK = 64 * 1024;
const LINE_FEED = 10;
const FRAMES = 50;
const LATE_ERRORS_MS = 500;
const POLL_MS = 10;

/** The session report for suites, with `usage.source`: which tokens the provider counted. */
function reportOf({ usage, ...report }) {
  const source = (tokens) => (tokens === undefined ? "chars" : "provider");
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  const sources = { input: source(inputTokens), output: source(outputTokens), reasoning: source(reasoningTokens) };
  return { ...report, usage: { ...usage, source: sources } };
}

/** The second argument of a check: shortcuts to parts of the session report, which is the first argument. */
const contextOf = (report) => ({
  getCommands: () => report.events.filter(({ type }) => type === "command").map(({ command }) => command),
  getToolCalls: (tool) => report.events.filter((event) => event.type === "toolCall" && (!tool || event.tool === tool)),
  getFileReads: () => [...report.files.observedReads],
  detectedSkills: () => [...report.detectedSkills],
  finalOutput: () => report.finalOutput,
});

/** Waits until only as many resources as before, such as timers, keep the event loop alive. */
async function settled(before) {
  await new Promise(setImmediate); // what a promise starts next is active only then
  const deadline = performance.now() + LATE_ERRORS_MS;
  while (process.getActiveResourcesInfo().length > before && performance.now() < deadline) await delay(POLL_MS);
}

/** Answers requests about one suite file. */
class NodeHost {
  #places = new Places("");
  #program;
  #suite;
  #soft; // the soft failures of the current check, by which errors of earlier checks are told apart
  #rejectCall; // rejects the current call, for errors that no code of the suite catches; undefined between calls

  constructor() {
    const uncaught = (error) => {
      const soft = failuresOfThisCheck();
      const isLate = soft !== undefined && soft !== this.#soft;
      if (this.#rejectCall && !isLate) this.#rejectCall(error);
      else console.error("an error after its check had ended:", error);
    };
    process.on("unhandledRejection", uncaught);
    process.on("uncaughtException", uncaught);
    // The event loop is empty, and the call has no result. setImmediate keeps the loop alive, so this can happen again.
    process.on("beforeExit", () => this.#rejectCall && setImmediate(this.#rejectCall, new Deadlock()));
  }

  /** The reply to a request. There always is one, unless the suite ends the process. */
  async answer(request) {
    const calls = { load: this.#load, judge: this.#judge, classify: this.#classify, config: this.#config, agentv: this.#agentv, score: this.#score };
    try {
      return { ok: true, ...(await calls[request.call].call(this, request)) };
    } catch (error) {
      if (error instanceof SuiteProgramError) {
        const { message, remedy, location } = error;
        return { ok: false, error: { message, remedy, location } };
      }
      console.error(error);
      return { ok: false, error: loadError(error, this.#places) };
    }
  }

  async #load(request) {
    this.#program = new SuiteProgram(await this.#exports(request), request.file, this.#places);
    return this.#program.asData();
  }

  async #config(request) {
    return { config: configOf(await this.#exports(request), request.file, this.#places) };
  }

  async #agentv(request) {
    this.#suite = new AgentvSuite(await this.#exports(request), request.file, this.#places);
    return this.#suite.asData();
  }

  async #score({ function: number, answer }) {
    if (!this.#suite) throw new Error("no suite of AgentV is loaded");
    return this.#suite.score(number, answer, (code) => this.#finished(code));
  }

  #exports({ file, root, sources, apart }) {
    this.#places = new Places(root);
    const imports = new Imports(this.#places, sources, apart && { root, apart });
    return this.#finished(() => imports.exportsOf(file));
  }

  async #judge({ case: id, report: received }) {
    const found = this.#case(id);
    const report = reportOf(received);
    this.#places.workspace = received.cwd;
    const soft = [];
    const hard = [];
    const before = process.getActiveResourcesInfo().length;
    let returned;
    this.#soft = soft;
    try {
      await this.#finished(async () => {
        returned = await collecting(soft, () => found.assert(report, contextOf(report)));
        await settled(before);
      });
    } catch (error) {
      hard.push(error);
    } finally {
      this.#soft = undefined;
    }
    const failures = [...soft, ...hard].map((error) => failureOf(error, this.#places));
    // skillgym ignores what a check returns.
    const ignored = typeof returned === "boolean" ? String(returned) : null;
    return { failures: failures.length ? [joined(failures)] : [], ignored };
  }

  async #classify({ case: id, result }) {
    const found = this.#case(id);
    const fields = Object.fromEntries(Object.entries(result).filter(([, value]) => value !== null));
    const known = { ...fields, runner: result.report.runner, report: reportOf(result.report) };
    const answer = await this.#finished(() => found.classifyFailure?.(known));
    return { failureClass: answer === undefined || answer === null ? null : failureClass(answer) };
  }

  #case(id) {
    const found = this.#program?.cases.get(id);
    if (!found) throw new Error(`the suite has no case ${JSON.stringify(id)}`);
    return found;
  }

  /** The result of the suite's code. Uncaught errors and rejections in the meantime are errors of the call, too. */
  async #finished(code) {
    const uncaught = new Promise((_, reject) => (this.#rejectCall = reject));
    try {
      const value = await Promise.race([code(), uncaught]);
      // Rejections that nothing handles are reported after the current turn of the event loop.
      await Promise.race([new Promise(setImmediate), uncaught]);
      return value;
    } finally {
      this.#rejectCall = undefined;
      uncaught.catch(() => {});
    }
  }
}

/** The lines of a descriptor, read synchronously: the suite's timers do not run between calls. */
function* lines(descriptor) {
  const chunk = Buffer.alloc(CHUNK);
  let parts = [];
  for (let size; (size = readSync(descriptor, chunk)) > 0; ) {
    let rest = Buffer.from(chunk.subarray(0, size));
    for (let end; (end = rest.indexOf(LINE_FEED)) >= 0; rest = rest.subarray(end + 1)) {
      yield Buffer.concat([...parts, rest.subarray(0, end)]).toString();
      parts = [];
    }
    parts.push(rest);
  }
}

function write(descriptor, text) {
  for (let rest = Buffer.from(text); rest.length; rest = rest.subarray(writeSync(descriptor, rest)));
}

async function main() {
  Error.stackTraceLimit = FRAMES;
  const host = new NodeHost();
  for (const line of lines(REQUESTS)) {
    const request = JSON.parse(line);
    write(REPLIES, `${JSON.stringify({ ...(await host.answer(request)), number: request.number })}\n`);
  }
  process.reallyExit(0); // without waiting for timers and handles that the suite left open
}

main();
