// Soft assertions: failures are collected until the check has ended, and the check continues.

import { AssertionError } from "node:assert";
import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage();

/** Runs a check; its soft failures are pushed to the list. */
export const collecting = (failures, check) => storage.run(failures, check);

/** The list of the running check; undefined if no check runs: soft failures are thrown then. */
export const failuresOfThisCheck = () => storage.getStore();

/** The assertion, with its failures collected. Errors that are no assertion failures are thrown. */
export function softened(assertion) {
  return function softly(...values) {
    try {
      return assertion(...values);
    } catch (error) {
      const failures = storage.getStore();
      if (!failures || !(error instanceof AssertionError)) throw error;
      // Node quotes the line that called the assertion, which is in this file.
      if (error.generatedMessage && error.operator === "==") error.message = "expected a true value";
      failures.push(error);
    }
  };
}
