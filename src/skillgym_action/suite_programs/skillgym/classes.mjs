// Failure classes, kept beside the errors they belong to: an error may be frozen, or be looked at by the suite.

import { shown } from "./matching.mjs";
import { failuresOfThisCheck } from "./soft.mjs";

const classes = new WeakMap();

/** `{id, label}`; the label defaults to the id. Throws a TypeError for anything that is no failure class. */
export function failureClass(value) {
  const id = typeof value === "string" ? value : value?.id;
  if (typeof id !== "string" || !id.trim()) {
    throw new TypeError(`a failure class is an id, or { id, label }, not ${shown(value)}`);
  }
  return { id, label: String(value.label || id) };
}

/** What the error was classified as, or undefined. */
export const classOf = (error) => classes.get(error);

/** Runs the callback and gives the class to whatever fails in it. The outermost call counts. */
export function classify(value, callback) {
  const given = failureClass(value);
  const collected = failuresOfThisCheck() ?? [];
  const before = collected.length;
  const mark = (...errors) => {
    for (const error of [...errors, ...collected.slice(before)]) if (Object(error) === error) classes.set(error, given);
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
