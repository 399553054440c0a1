// Configuration files that are programs: their default export as plain data.

import { shown } from "../skillgym/matching.mjs";
import { SuiteProgramError } from "./program.mjs";

const MAX_DEPTH = 50;

/** The configuration that a module exports. Throws a SuiteProgramError that names the key. */
export function configOf({ default: exported }, file, places) {
  if (exported === undefined) {
    throw new SuiteProgramError("the file has no default export", "write `export default { … }`", places.at(file));
  }
  const location = places.ofExport(file, "default");
  if (!isPlain(exported)) {
    throw new SuiteProgramError(`the default export is ${shown(exported)}`, "export an object", location);
  }
  return plain(exported, [], location);
}

function plain(value, path, location) {
  const refuse = (message, remedy) => {
    throw new SuiteProgramError([shownPath(path), message].filter(Boolean).join(": "), remedy, location);
  };
  const inside = ([key, part]) => [key, plain(part, [...path, key], location)];
  if (path.length > MAX_DEPTH) refuse("is nested too deeply, or contains itself", "write plain data");
  if (path.join(".") === "run.reporter" && Object(value) === value) {
    refuse("reporter modules are not supported", "remove it, and use --report");
  }
  if (value === undefined || value === null || ["boolean", "string"].includes(typeof value)) return value;
  if (Number.isFinite(value)) return value;
  if (Array.isArray(value)) return value.map((part, index) => inside([index, part])[1]);
  if (isPlain(value)) return Object.fromEntries(Object.entries(value).map(inside));
  return refuse(`is ${shown(value)}, which is no data`, "write text, numbers, lists and plain objects");
}

const isPlain = (value) =>
  Object(value) === value && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** A key path as messages show it. */
export const shownPath = (path) =>
  path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("").replace(/^\./, "");
