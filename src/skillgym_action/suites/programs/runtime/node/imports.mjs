// How Node resolves and loads the modules of a suite. `skillgym` is the module of this package, and so is AgentV's SDK
// where it is not installed; whether a file is an
// ES module or CommonJS is decided by its syntax, also if a package.json says otherwise.

import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { types } from "node:util";
import { compileFunction } from "node:vm";

const AGENTV = new URL("../agentv/index.mjs", import.meta.url).href;
// Packages of AgentV with helpers for suites: where they are not installed, they are the module of this package.
const AGENTV_NAMES = new Set(["@agentv/sdk", "@agentv/core", "@agentv/eval", "agentv"]);
const SKILLGYM = new URL("../skillgym/index.mjs", import.meta.url).href;
// The formats that Node takes from the closest package.json, and those used instead for files with ES module syntax.
const ES_FORMATS = { commonjs: "module", "commonjs-typescript": "module-typescript" };
const NOT_FOUND = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);
const ENDING = /\.([cm]?)js(?=$|[?#])/;
// Before Node 24.14, `require` in an imported CommonJS module skips all hooks, unless the module has the format that Node
// gives to required ones. Node 26 does not need this.
const REQUIRES_UNHOOKED = Number.parseInt(process.versions.node) < 26;

/** The imports of a suite. Tells `places` which files are read, and the location of an import that fails. */
export class Imports {
  #places;
  #sources;
  #folders;

  /**
   * Registers the hooks. `sources`: JavaScript by file, for TypeScript whose types are erased already.
   * `folders`: `{root, apart}`; packages found by name in `apart`, but not below `root`, are refused.
   */
  constructor(places, sources = {}, folders = undefined) {
    this.#places = places;
    this.#folders = folders;
    this.#sources = new Map(Object.entries(sources));
    registerHooks({ resolve: this.#resolve.bind(this), load: this.#load.bind(this) });
  }

  /**
   * The exports of a suite file. A file that can be a CommonJS module is loaded with `require`: in Node 22, hooks do not
   * see the `require` calls of imported CommonJS modules.
   */
  async exportsOf(file) {
    if (/\.m[jt]s$/i.test(file) || !this.#isScript(file)) return import(pathToFileURL(file));
    const exports = createRequire(file)(file);
    if (types.isModuleNamespaceObject(exports)) return exports;
    if (exports?.__esModule) return exports; // compiled from an ES module
    return { default: exports, ...(Array.isArray(exports) ? { workspace: exports.workspace, arms: exports.arms } : {}) };
  }

  #resolve(specifier, context, next) {
    if (specifier === "skillgym") return { url: SKILLGYM, format: "module", shortCircuit: true };
    try {
      const found = this.#found(specifier, context, next);
      this.#refuseForeign(specifier, found.url);
      return found;
    } catch (error) {
      if (AGENTV_NAMES.has(specifier) && NOT_FOUND.has(error?.code)) {
        return { url: AGENTV, format: "module", shortCircuit: true };
      }
      if (isFile(context.parentURL)) this.#places.blameImport(error, fileURLToPath(context.parentURL), specifier);
      throw error;
    }
  }

  /**
   * What Node finds, or else the TypeScript file of a relative import with its JavaScript ending: TypeScript projects
   * write `./x.js` for `x.ts`. A JavaScript file that is there wins, as it does in Node.
   */
  #found(specifier, context, next) {
    try {
      return next(specifier, context);
    } catch (error) {
      const typescript = typescriptOf(specifier);
      if (!NOT_FOUND.has(error?.code) || !typescript || isInstalled(context.parentURL)) throw error;
      try {
        return next(typescript, context);
      } catch (other) {
        throw NOT_FOUND.has(other?.code) ? error : other;
      }
    }
  }

  /** Throws for a package that Node found outside of the folder with the suites, in a folder that another commit has. */
  #refuseForeign(specifier, url) {
    if (!this.#folders || !isPackage(specifier) || !isFile(url)) return;
    const { root, apart } = this.#folders;
    const file = fileURLToPath(url);
    if (isBelow(file, apart) && !isBelow(file, root)) {
      const message = `Cannot find package '${specifier}' in ${root}: the one in ${apart} is of the commit that is judged`;
      throw Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });
    }
  }

  #load(url, context, next) {
    return requiring(this.#loaded(url, context, next), context);
  }

  /** The module in the format of its syntax, with erased types. */
  #loaded(url, context, next) {
    if (!isFile(url) || isInstalled(url)) return next(url, context);
    const file = fileURLToPath(url);
    this.#places.read(file);
    const format = this.#format(file, context.format);
    const source = this.#sources.get(file);
    if (source === undefined) return next(url, { ...context, format });
    return { format: format.replace("-typescript", ""), source, shortCircuit: true };
  }

  /** `format`: what Node takes from the file's name and the closest package.json; null if the syntax decides. */
  #format(file, format) {
    if (format === null && this.#sources.has(file)) return this.#isScript(file) ? "commonjs" : "module";
    return ES_FORMATS[format] && !file.endsWith(".cjs") && !this.#isScript(file) ? ES_FORMATS[format] : format;
  }

  /** Whether the source can be a CommonJS module: it has no import and export statements. */
  #isScript(file) {
    try {
      compileFunction(this.#sources.get(file) ?? javascript(file, this.#places.text(file)));
      return true;
    } catch {
      return false;
    }
  }
}

/** The module; for an imported CommonJS module, in a format whose `require` calls the hooks (REQUIRES_UNHOOKED). */
function requiring(module, { conditions }) {
  const imported = [...conditions].includes("import");
  if (!REQUIRES_UNHOOKED || !imported || !/^commonjs/.test(module.format)) return module;
  const source = module.format === "commonjs" ? module.source : stripTypeScriptTypes(String(module.source));
  return { ...module, format: "commonjs-sync", source };
}

/** The name of the TypeScript file that a relative import with a JavaScript ending stands for; undefined if it has none. */
const typescriptOf = (specifier) =>
  /^\.\.?\//.test(specifier) && ENDING.test(specifier) ? specifier.replace(ENDING, ".$1ts") : undefined;

const isInstalled = (url) => Boolean(url?.includes("/node_modules/"));

const isPackage = (specifier) => !/^(\.\.?(\/|$)|\/|[a-z][a-z+.-]*:)/i.test(specifier);

const isBelow = (file, folder) => file.startsWith(`${folder.replace(/\/$/, "")}/`);

const isFile = (url) => Boolean(url?.startsWith("file:"));

const javascript = (file, source) => (/\.c?ts$/i.test(file) ? stripTypeScriptTypes(source) : source);
