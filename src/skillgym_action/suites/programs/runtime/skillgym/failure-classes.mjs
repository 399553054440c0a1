// Failure classes of errors. They are kept in a map, since an error may be frozen, and the suite may inspect it.

import { shown } from "./matching.mjs";
import { failuresOfThisCheck } from "./soft.mjs";

const classes = new WeakMap();

/** `{id, label}`; the label defaults to the id. Throws a TypeError for a value that is not a failure class. */
export function failureClass(value) {
  const id = typeof value === "string" ? value : value?.id;
  if (typeof id !== "string" || !id.trim()) {
    throw new TypeError(`a failure class is an id, or { id, label }, not ${shown(value)}`);
  }
  return { id, label: String(value.label || id) };
}

/** The failure class of the error, or undefined. */
export const classOf = (error) => classes.get(error);

/** Runs the callback and attaches the class to failures in it. If calls are nested, the outermost class counts. */
export function classify(value, callback) {
  const classified = failureClass(value);
  const collected = failuresOfThisCheck() ?? [];
  const before = collected.length;
  const mark = (...errors) => {
    for (const error of [...errors, ...collected.slice(before)]) if (Object(error) === error) classes.set(error, classified);
  };
  try {
    const result = callback();
    if (typeof result?.then !== "function") {
      mark();
      return result;
    }
    return settled(result, mark);
  } catch (error) {
    mark(error);
    throw error;
  }
}

async function settled(promise, mark) {
  try {
    const result = await promise;
    mark();
    return result;
  } catch (error) {
    mark(error);
    throw error;
  }
}
