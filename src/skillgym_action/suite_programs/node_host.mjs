// The Node suite host: a child process in which one suite file runs. It speaks the protocol of python_host.py, on
// descriptors of its own: requests come on 3, replies go to 4, and what the suite prints goes to stderr. One call more,
// and one value more in it and in `load`: the sources of TypeScript files whose types eraser.mjs has erased.
//     {"call": "config", "file": …, "root": …} -> {"ok": true, "config": {… what a configuration file holds …}}
//     {"sources": {file: JavaScript}}
// `apart`, where it is given, is a folder above `root` whose packages are not found by their names.

import { readSync, writeSync } from "node:fs";

import { configOf } from "./node/config.mjs";
import { failureOf, joined, loadError } from "./node/failures.mjs";
import { Imports } from "./node/imports.mjs";
import { Places } from "./node/places.mjs";
import { SuiteProgram, SuiteProgramError } from "./node/program.mjs";
import { failureClass } from "./skillgym/classes.mjs";
import { collecting } from "./skillgym/soft.mjs";

const [REQUESTS, REPLIES] = [3, 4];
const CHUNK = 64 * 1024;
const LINE_FEED = 10;
const FRAMES = 50;

/** The suite waits for something that cannot come. */
class Deadlock extends Error {
  name = "Deadlock";
  message = "it awaits a promise that nothing can resolve any more";
}

/** The session report as suites know it: it says which tokens the provider counted. */
function reportOf({ usage, ...report }) {
  const source = (tokens) => (tokens === undefined ? "chars" : "provider");
  const { inputTokens, outputTokens, reasoningTokens } = usage;
  const sources = { input: source(inputTokens), output: source(outputTokens), reasoning: source(reasoningTokens) };
  return { ...report, usage: { ...usage, source: sources } };
}

/** The second argument of a check: shortcuts into the session report, which is the first. */
const contextOf = (report) => ({
  getCommands: () => report.events.filter(({ type }) => type === "command").map(({ command }) => command),
  getToolCalls: (tool) => report.events.filter((event) => event.type === "toolCall" && (!tool || event.tool === tool)),
  getFileReads: () => [...report.files.observedReads],
  detectedSkills: () => [...report.detectedSkills],
  finalOutput: () => report.finalOutput,
});

/** Answers calls about one suite file. */
class NodeHost {
  #places = new Places("");
  #program;
  #stray; // what a call is told of errors nobody waits for; undefined between calls

  constructor() {
    const stray = (error) => (this.#stray ? this.#stray(error) : console.error(error));
    process.on("unhandledRejection", stray);
    process.on("uncaughtException", stray);
    // Nothing is left to do, and there is no answer. In a turn of its own, so that this can happen again.
    process.on("beforeExit", () => this.#stray && setImmediate(this.#stray, new Deadlock()));
  }

  /** The reply to one request; whatever the suite does short of ending the process, there is one. */
  async answer(request) {
    const calls = { load: this.#load, judge: this.#judge, classify: this.#classify, config: this.#config };
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
    return this.#program.told();
  }

  async #config(request) {
    return { config: configOf(await this.#exports(request), request.file, this.#places) };
  }

  #exports({ file, root, sources, apart }) {
    this.#places = new Places(root);
    const imports = new Imports(this.#places, sources, apart && { root, apart });
    return this.#finished(() => imports.exportsOf(file));
  }

  async #judge({ case: id, report: told }) {
    const found = this.#case(id);
    const report = reportOf(told);
    const soft = [];
    const hard = [];
    try {
      await this.#finished(() => collecting(soft, () => found.assert(report, contextOf(report))));
    } catch (error) {
      hard.push(error);
    }
    const failures = [...soft, ...hard].map((error) => failureOf(error, this.#places));
    return { failures: failures.length ? [joined(failures)] : [] };
  }

  async #classify({ case: id, result }) {
    const found = this.#case(id);
    const told = Object.fromEntries(Object.entries(result).filter(([, value]) => value !== null));
    const known = { ...told, runner: result.report.runner, report: reportOf(result.report) };
    const answer = await this.#finished(() => found.classifyFailure?.(known));
    return { failureClass: answer === undefined || answer === null ? null : failureClass(answer) };
  }

  #case(id) {
    const found = this.#program?.cases.get(id);
    if (!found) throw new Error(`the suite has no case ${JSON.stringify(id)}`);
    return found;
  }

  /** What the suite's code comes to. Errors that it lets go astray in the meantime are its errors, too. */
  async #finished(code) {
    const astray = new Promise((_, reject) => (this.#stray = reject));
    try {
      const value = await Promise.race([code(), astray]);
      await Promise.race([new Promise(setImmediate), astray]);
      return value;
    } finally {
      this.#stray = undefined;
      astray.catch(() => {});
    }
  }
}

/** Lines of a descriptor, read without letting the suite's timers run in between. */
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
  process.reallyExit(0); // what a suite left running does not keep us
}

main();
