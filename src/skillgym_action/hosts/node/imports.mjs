// How Node finds and reads the modules of a suite: `skillgym` is ours, and TypeScript is what it looks like.

import { createRequire, registerHooks, stripTypeScriptTypes } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { types } from "node:util";
import { compileFunction } from "node:vm";

const SKILLGYM = new URL("../skillgym/index.mjs", import.meta.url).href;
// What the closest package.json makes of a file that does not say itself what it is.
const FORMATS = { commonjs: "module", "commonjs-typescript": "module-typescript" };

/** Watches imports from now on: `places` learns which files are read, and where an import is written that fails. */
export function watchImports(places) {
  registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "skillgym") return { url: SKILLGYM, format: "module", shortCircuit: true };
      try {
        return next(specifier, context);
      } catch (error) {
        if (isFile(context.parentURL)) places.blameImport(error, fileURLToPath(context.parentURL), specifier);
        throw error;
      }
    },
    load(url, context, next) {
      if (!isFile(url) || url.includes("/node_modules/")) return next(url, context);
      const file = fileURLToPath(url);
      places.read(file);
      const format = FORMATS[context.format];
      if (!format || file.endsWith(".cjs") || isScript(file, places.text(file))) return next(url, context);
      return next(url, { ...context, format });
    },
  });
}

/** The exports of a suite file. What can be a CommonJS module is required: Node 22 hooks no require of one it imports. */
export async function exportsOf(file, places) {
  if (/\.m[jt]s$/i.test(file) || !isScript(file, places.text(file))) return import(pathToFileURL(file));
  const exports = createRequire(file)(file);
  if (types.isModuleNamespaceObject(exports)) return exports;
  if (exports?.__esModule) return exports; // written by a compiler
  return { default: exports, workspace: Array.isArray(exports) ? exports.workspace : undefined };
}

const isFile = (url) => Boolean(url?.startsWith("file:"));

/** Whether the source can be a CommonJS module: import and export statements cannot be in one. */
function isScript(file, source) {
  try {
    compileFunction(/\.c?ts$/i.test(file) ? stripTypeScriptTypes(source) : source);
    return true;
  } catch {
    return false;
  }
}
