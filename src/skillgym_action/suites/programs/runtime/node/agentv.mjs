// Suites of AgentV in TypeScript: their export as plain data, and the functions in it that grade answers.

import { AssertionError } from "node:assert";

import { definedData, isDefined, toEvalYamlObject } from "../agentv/index.mjs";
import { shown } from "../skillgym/matching.mjs";
import { shownPath } from "./config.mjs";
import { failureOf } from "./failures.mjs";
import { SuiteProgramError } from "./program.mjs";

const NAMES = ["default", "config", "evalConfig"];
const KEYS = ["tests", "specFile", "spec_file", "target", "task"];
const LISTS = ["assert", "assertions", "evaluators"];
const MAX_DEPTH = 50;
const MAX_SUITE_CASES = 20_000;

/** The suite that a file exports; `functions` are those that stand for graders, by their number. */
export class AgentvSuite {
  #functions = [];
  #places;
  #location;
  #reply;

  /** Throws a SuiteProgramError that names the key. */
  constructor(module, file, places) {
    this.#places = places;
    const name = NAMES.find((each) => isSuite(module[each]));
    if (!name) throw this.#noSuite(module, file);
    this.#location = places.ofExport(file, name);
    const defined = isDefined(module[name]);
    const written = this.#plain(module[name], []); // refuses what contains itself, on which the next line would not end
    const suite = defined ? this.#read(definedData(module[name])) : toEvalYamlObject(written);
    this.#reply = { suite, defined, location: this.#location, tests: this.#locations(suite.tests, file) };
  }

  /**
   * The reply to `agentv`: `suite`, in which `{"$function": number}` stands for a function; `defined`, whether it is that
   * of `defineEval`; and the locations of the suite and of its tests.
   */
  asData() {
    return this.#reply;
  }

  /** What a function says about an answer: `{score, name}`, or the failure. */
  async score(number, answer, finished) {
    const grade = this.#functions[number];
    if (!grade) throw new Error(`the suite has no function ${number}`);
    try {
      const found = await finished(() => grade(answer));
      const score = found?.score;
      if (Number.isFinite(score)) return { score, name: String(found.name ?? "") };
      return { problem: `it returned ${shown(found)}, and not { name, score }` };
    } catch (error) {
      const failure = failureOf(error, this.#places);
      return { failure: { ...failure, failed: error instanceof AssertionError } };
    }
  }

  /** Plain data, with numbers of functions that begin anew. */
  #read(value) {
    this.#functions = [];
    return this.#plain(value, []);
  }

  #noSuite(module, file) {
    const wanted = "write `export default defineEval({ … })`, or export an object with tests as default or evalConfig";
    const exported = NAMES.filter((each) => module[each] !== undefined);
    const found = exported.map((each) => `${each} is ${shown(module[each])}`).join(", ");
    const message = `the file exports no suite of AgentV${found && `: ${found}`}`;
    return new SuiteProgramError(message, wanted, exported.length ? this.#places.ofExport(file, exported[0]) : this.#places.at(file));
  }

  #locations(tests, file) {
    if (!Array.isArray(tests)) return [];
    const numbers = new Map();
    return tests.slice(0, MAX_SUITE_CASES).map((test) => {
      if (typeof test?.id !== "string") return this.#location;
      numbers.set(test.id, (numbers.get(test.id) ?? 0) + 1);
      return this.#places.ofCase(file, test.id, numbers.get(test.id));
    });
  }

  #plain(value, path) {
    const refuse = (message, remedy) => {
      throw new SuiteProgramError([shownPath(path), message].filter(Boolean).join(": "), remedy, this.#location);
    };
    if (path.length > MAX_DEPTH) refuse("is nested too deeply, or contains itself", "write plain data");
    if (typeof value === "function") return this.#function(value, path, refuse);
    if (value === undefined || value === null || ["boolean", "string"].includes(typeof value)) return value;
    if (Number.isFinite(value)) return value;
    if (Array.isArray(value)) return value.map((part, index) => this.#plain(part, [...path, index]));
    if (value instanceof RegExp) refuse(`is ${shown(value)}`, "write graders.regex(/…/), or the pattern as text");
    if (Object(value) === value && [Object.prototype, null].includes(Object.getPrototypeOf(value))) {
      return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, this.#plain(part, [...path, key])]));
    }
    return refuse(`is ${shown(value)}, which is no data`, "write text, numbers, lists and plain objects");
  }

  #function(value, path, refuse) {
    const isGrader = Number.isInteger(path.at(-1)) && LISTS.includes(path.at(-2));
    if (!isGrader && !["task", "onResult"].includes(path.join("."))) {
      refuse("is a function, which is no data", "functions may stand in lists of assertions alone");
    }
    this.#functions.push(value);
    return { $function: this.#functions.length - 1 };
  }
}

const isSuite = (value) =>
  isDefined(value) || (Object(value) === value && typeof value !== "function" && KEYS.some((key) => key in value));
