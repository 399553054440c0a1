// An imported suite file in the Node suite host: checked, and as data for the protocol.

import { types } from "node:util";

import { shown } from "../skillgym/matching.mjs";

const FIELDS = ["id", "prompt", "tags", "timeoutMs", "expectedFail", "classifyFailure", "assert"];
const CONTAINER = ["image", "build", "dockerfile", "workdir", "user", "network"];
const WORKSPACE = ["mode", "cwd", "templateDir", "bootstrap", "limits", ...CONTAINER];
const LIMITS = ["cpus", "pids", "memory", "disk", "processes", "fileSize"];
const BOOTSTRAP = ["command", "args", "timeoutMs", "env"];
const MAX_SUITE_CASES = 20_000;
const MODES = ["none", "shared", "isolated"];

/** The file was imported, but is not a suite. `remedy` says what to write. */
export class SuiteProgramError extends Error {
  constructor(message, remedy, location) {
    super(message);
    Object.assign(this, { remedy, location });
  }
}

/** The cases, the workspace and the arms of an imported suite file, and a problem for each case that cannot be used. */
export class SuiteProgram {
  cases = new Map();
  #problems = [];
  #locations = new Map();
  #written = new Map();
  #workspace;
  #arms;
  #file;
  #places;

  /** Throws a SuiteProgramError. */
  constructor(module, file, places) {
    this.#file = file;
    this.#places = places;
    refuseMisspelledWorkspace(module, places.at(file));
    this.#workspace = workspaceOf(module.workspace, places.ofExport(file, "workspace"));
    this.#arms = armsOf(module.arms, places.ofExport(file, "arms"));
    const items = itemsOf(module.default, places.at(file));
    if (items.length > MAX_SUITE_CASES) {
      const many = `the suite has more than ${MAX_SUITE_CASES.toLocaleString("en")} cases`;
      throw new SuiteProgramError(many, "split it into several files", places.at(file));
    }
    items.forEach(([key, found], index) => this.#add(found, key, index + 1));
  }

  /** The reply to `load`. */
  asData() {
    const cases = [...this.cases].map(([id, found]) => ({
      id,
      prompt: found.prompt,
      tags: [...new Set(found.tags)],
      timeoutMs: found.timeoutMs,
      expectedFail: found.expectedFail,
      classify: found.classifyFailure !== undefined,
      location: this.#locations.get(id),
    }));
    return { name: "", cases, problems: this.#problems, workspace: this.#workspace, arms: this.#arms };
  }

  #add(found, key, number) {
    if (found === null || typeof found !== "object") {
      const problem = [`this is ${shown(found)}, not a case`, "write { id, prompt, assert(report, ctx) { … } }"];
      return this.#report(key || `case ${number}`, [problem], this.#places.at(this.#file));
    }
    const id = found.id === undefined && key ? key : found.id;
    const problems = [...problemsOf(found, id)];
    const location = typeof id === "string" && id ? this.#place(id) : this.#places.at(this.#file);
    if (this.cases.has(id)) {
      const places = [this.#locations.get(id), location].map(({ path, line, column }) =>
        [path, line, column].filter(Boolean).join(":"),
      );
      problems.push([`the id ${shown(id)} is used twice: ${places.join(" and ")}`, "give each case a different id"]);
    }
    if (problems.length) return this.#report(typeof id === "string" && id ? id : `case ${number}`, problems, location);
    const { prompt, tags = [], timeoutMs, expectedFail = false, classifyFailure } = found;
    // The methods are called on the case, as they are written.
    this.cases.set(id, {
      prompt,
      tags,
      timeoutMs,
      expectedFail,
      classifyFailure: classifyFailure && ((result) => found.classifyFailure(result)),
      assert: (report, ctx) => found.assert(report, ctx),
    });
    this.#locations.set(id, location);
  }

  #place(id) {
    const number = (this.#written.get(id) ?? 0) + 1;
    this.#written.set(id, number);
    return this.#places.ofCase(this.#file, id, number);
  }

  #report(name, problems, location) {
    const [message, remedy] = [0, 1].map((part) => problems.map((problem) => problem[part]).join("; "));
    this.#problems.push({ case: name, message, remedy, location });
  }
}

/** Keys and cases; the key is empty if the suite is a list. */
function itemsOf(suite, location) {
  if (suite === undefined) {
    throw new SuiteProgramError("the file has no default export", "write `export default [ … cases … ]`", location);
  }
  if (Array.isArray(suite)) return suite.map((found) => ["", found]);
  const isOne = typeof suite?.assert === "function" && "prompt" in suite;
  if (Object(suite) === suite && [Object.prototype, null].includes(Object.getPrototypeOf(suite)) && !isOne) {
    return Object.entries(suite);
  }
  const what = isOne ? "a single case" : typeof suite === "object" ? kindOf(suite) : shown(suite);
  const remedy = "export a list of cases, or an object with a name for each";
  throw new SuiteProgramError(`the default export is ${what}`, remedy, location);
}

const kindOf = (value) => (value === null ? "null" : `a ${value.constructor?.name ?? "strange object"}`);

/** Problems of a case and their remedies. The fields may have values of any type. */
function* problemsOf(found, id) {
  const { prompt, tags, timeoutMs, expectedFail, classifyFailure, assert } = found;
  if (!isText(id)) yield ["the case has no id", 'write id: "…"'];
  if (!isText(prompt)) yield ["the case has no prompt", "write prompt, the exact text given to the agent"];
  else if (prompt.includes("\0")) yield ["the prompt contains a NUL character", "programs cannot receive it; remove it"];
  if (typeof assert !== "function") yield ["the case has no assert", "write `assert(report, ctx) { … }`, sync or async"];
  else if (types.isGeneratorFunction(assert)) yield ["assert yields, so calling it would judge nothing", "take the * away"];
  if (tags !== undefined && !(Array.isArray(tags) && tags.every(isText))) {
    yield [`tags are ${shown(tags)}`, 'write tags: ["smoke", "auth"]'];
  }
  if (timeoutMs !== undefined && !isPositive(timeoutMs)) {
    yield [`timeoutMs is ${shown(timeoutMs)}`, "write a positive number of milliseconds"];
  }
  if (expectedFail !== undefined && typeof expectedFail !== "boolean") {
    yield [`expectedFail is ${shown(expectedFail)}`, "write true or false"];
  }
  if (classifyFailure !== undefined && typeof classifyFailure !== "function") {
    yield ["classifyFailure is not a function", "write `classifyFailure(result) { … }`"];
  }
  yield* unknownIn(found, FIELDS, "field");
}

/** The arms as data; their keys are checked by the tool, as those of all formats. */
function armsOf(arms, location) {
  if (arms === undefined || arms === null) return null;
  try {
    return { value: JSON.parse(JSON.stringify(arms) ?? "0"), location };
  } catch (error) {
    throw new SuiteProgramError(`arms: ${error.message}`, 'write { with: { files: "arms/with" }, without: {} }', location);
  }
}

function refuseMisspelledWorkspace(module, location) {
  if (module.workspace !== undefined) return;
  const isNear = (name) => name !== "workspace" && distance(name.toLowerCase(), "workspace") <= 2;
  const name = Object.keys(module).find(isNear);
  if (name === undefined) return;
  throw new SuiteProgramError(`the export ${shown(name)} has no effect`, "call it workspace", location);
}

function workspaceOf(workspace, location) {
  if (workspace === undefined || workspace === null) return null;
  const refuse = (message, remedy) => {
    throw new SuiteProgramError(message, remedy, location);
  };
  if (typeof workspace !== "object") refuse(`workspace is ${shown(workspace)}`, 'write { mode: "isolated" }');
  for (const problem of unknownIn(workspace, WORKSPACE, "workspace setting")) refuse(...problem);
  const { mode, cwd, templateDir, bootstrap, limits } = workspace;
  if (!MODES.includes(mode)) refuse(`unknown workspace mode ${shown(mode)}`, `known: ${MODES.join(", ")}`);
  if (mode === "isolated" && cwd !== undefined) refuse("an isolated workspace has no cwd", "use mode shared or none");
  if (templateDir !== undefined && (mode === "none" || cwd !== undefined)) {
    refuse("a template is copied into a new workspace, not into a cwd", "leave out one of the two");
  }
  for (const [name, path] of Object.entries({ cwd, templateDir })) {
    if (path !== undefined && !isText(path)) refuse(`workspace.${name} is ${shown(path)}`, "write a path");
  }
  if (bootstrap !== undefined) for (const problem of bootstrapProblems(bootstrap)) refuse(...problem);
  if (limits !== undefined) for (const problem of limitProblems(limits)) refuse(...problem);
  const container = Object.fromEntries(CONTAINER.map((name) => [name, workspace[name]]));
  return { mode, cwd, templateDir, bootstrap, limits, container };
}

/** Checks keys and types; the sizes are parsed by the tool, as those of all formats. */
function* limitProblems(limits) {
  if (Object(limits) !== limits) yield [`limits are ${shown(limits)}`, 'write { memory: "2GiB", processes: 200 }'];
  yield* unknownIn(Object(limits), LIMITS, "limit");
  for (const [name, value] of Object.entries(Object(limits))) {
    if (name === "cpus" ? !isPositive(value) : !isText(value) && !Number.isSafeInteger(value)) {
      yield [`limits.${name} is ${shown(value)}`, "write a number, or text such as 512MiB"];
    }
  }
}

function* bootstrapProblems(bootstrap) {
  const { command, args = [], timeoutMs, env = {} } = Object(bootstrap);
  yield* unknownIn(Object(bootstrap), BOOTSTRAP, "bootstrap setting");
  if (!isText(command)) yield ["bootstrap has no command", 'write { command: "sh", args: ["./prepare.sh"] }'];
  if (!(Array.isArray(args) && args.every((each) => typeof each === "string"))) {
    yield [`bootstrap args are ${shown(args)}`, "write a list, one text per argument"];
  }
  if (timeoutMs !== undefined && !isPositive(timeoutMs)) {
    yield [`bootstrap timeoutMs is ${shown(timeoutMs)}`, "write a positive number of milliseconds"];
  }
  if (!Object.values(Object(env)).every((each) => typeof each === "string")) {
    yield [`bootstrap env is ${shown(env)}`, "write a text for each name"];
  }
}

function* unknownIn(object, known, what) {
  for (const name of Object.keys(object).filter((key) => !known.includes(key))) {
    const close = known.find((each) => each.startsWith(name) || distance(name.toLowerCase(), each.toLowerCase()) <= 2);
    yield [`unknown ${what} ${shown(name)}`, close ? `did you mean ${shown(close)}?` : `known: ${known.join(", ")}`];
  }
}

/** The edit distance: how many letters must be changed, added or removed. */
function distance(one, other) {
  let row = [...Array(other.length + 1).keys()];
  for (const [index, letter] of [...one].entries()) {
    const next = [index + 1];
    for (const [at, each] of [...other].entries()) {
      next.push(Math.min(row[at] + (letter === each ? 0 : 1), row[at + 1] + 1, next[at] + 1));
    }
    row = next;
  }
  return row.at(-1);
}

const isText = (value) => typeof value === "string" && value.trim() !== "";
const isPositive = (value) => typeof value === "number" && value > 0 && value < Infinity;
