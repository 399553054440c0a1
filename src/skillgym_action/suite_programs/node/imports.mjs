// How Node finds and reads the modules of a suite: `skillgym` is ours, and TypeScript is what it looks like.

import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { types } from "node:util";
import { compileFunction } from "node:vm";

const SKILLGYM = new URL("../skillgym/index.mjs", import.meta.url).href;
// What the closest package.json makes of a file that does not say itself what it is.
const FORMATS = { commonjs: "module", "commonjs-typescript": "module-typescript" };
// Before 24.14 an imported CommonJS module requires past all hooks, unless it has the format that Node itself gives to one
// that is required. Node 26 needs no such help.
const REQUIRES_UNHOOKED = Number.parseInt(process.versions.node) < 26;

/** The imports of a suite. `places` learns which files are read, and where an import is written that fails. */
export class Imports {
  #places;
  #sources;
  #folders;

  /**
   * `sources`: JavaScript by file, of TypeScript whose types are erased already. `folders`: packages are not taken from
   * its `apart`, where that is around its `root`. It is used from now on.
   */
  constructor(places, sources = {}, folders = undefined) {
    this.#places = places;
    this.#folders = folders;
    this.#sources = new Map(Object.entries(sources));
    registerHooks({ resolve: this.#resolve.bind(this), load: this.#load.bind(this) });
  }

  /** The exports of a suite file. What can be a CommonJS module is required: Node 22 hooks no require of one it imports. */
  async exportsOf(file) {
    if (/\.m[jt]s$/i.test(file) || !this.#isScript(file)) return import(pathToFileURL(file));
    const exports = createRequire(file)(file);
    if (types.isModuleNamespaceObject(exports)) return exports;
    if (exports?.__esModule) return exports; // written by a compiler
    return { default: exports, workspace: Array.isArray(exports) ? exports.workspace : undefined };
  }

  #resolve(specifier, context, next) {
    if (specifier === "skillgym") return { url: SKILLGYM, format: "module", shortCircuit: true };
    try {
      const found = next(specifier, context);
      this.#refuseForeign(specifier, found.url);
      return found;
    } catch (error) {
      if (isFile(context.parentURL)) this.#places.blameImport(error, fileURLToPath(context.parentURL), specifier);
      throw error;
    }
  }

  /** Throws for a package that Node found in a folder around the one with the suites, which another commit filled. */
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

  /** A module as it looks. */
  #loaded(url, context, next) {
    if (!isFile(url) || url.includes("/node_modules/")) return next(url, context);
    const file = fileURLToPath(url);
    this.#places.read(file);
    const format = this.#format(file, context.format);
    const source = this.#sources.get(file);
    if (source === undefined) return next(url, { ...context, format });
    return { format: format.replace("-typescript", ""), source, shortCircuit: true };
  }

  /** `told` is what Node makes of the name and the closest package.json; null where it would look into the file. */
  #format(file, told) {
    if (told === null && this.#sources.has(file)) return this.#isScript(file) ? "commonjs" : "module";
    return FORMATS[told] && !file.endsWith(".cjs") && !this.#isScript(file) ? FORMATS[told] : told;
  }

  /** Whether the source can be a CommonJS module: import and export statements cannot be in one. */
  #isScript(file) {
    try {
      compileFunction(this.#sources.get(file) ?? javascript(file, this.#places.text(file)));
      return true;
    } catch {
      return false;
    }
  }
}

/** The module; what it requires, although it is a CommonJS module that was imported, is resolved as above. */
function requiring(module, { conditions }) {
  const imported = [...conditions].includes("import");
  if (!REQUIRES_UNHOOKED || !imported || !/^commonjs/.test(module.format)) return module;
  const source = module.format === "commonjs" ? module.source : stripTypeScriptTypes(String(module.source));
  return { ...module, format: "commonjs-sync", source };
}

const isPackage = (specifier) => !/^(\.\.?(\/|$)|\/|[a-z][a-z+.-]*:)/i.test(specifier);

const isBelow = (file, folder) => file.startsWith(`${folder.replace(/\/$/, "")}/`);

const isFile = (url) => Boolean(url?.startsWith("file:"));

const javascript = (file, source) => (/\.c?ts$/i.test(file) ? stripTypeScriptTypes(source) : source);
