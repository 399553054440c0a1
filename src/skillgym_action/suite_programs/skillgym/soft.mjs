// Soft assertions: a failure is kept until the check has ended, and the check goes on.

import { AssertionError } from "node:assert";
import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage();

/** Runs a check; its soft failures are pushed to the list. */
export const collecting = (failures, check) => storage.run(failures, check);

/** The list of the check that is running, or undefined outside of one: there, soft failures are hard. */
export const failuresOfThisCheck = () => storage.getStore();

/** The assertion, with failures that are kept. What is no failure of an assertion is thrown. */
export function softened(assertion) {
  return function softly(...given) {
    try {
      return assertion(...given);
    } catch (error) {
      const failures = storage.getStore();
      if (!failures || !(error instanceof AssertionError)) throw error;
      // Node quotes the line that called the assertion, which is ours.
      if (error.generatedMessage && error.operator === "==") error.message = "expected a true value";
      failures.push(error);
    }
  };
}
