// Failures of assertions about a session: message, expectation, what was observed, and a question to the agent.

import { AssertionError } from "node:assert";

import { shown } from "./matching.mjs";

const questions = new WeakMap();

/** The question that the agent can be asked about the failure, or undefined. */
export const questionOf = (error) => questions.get(error);

/**
 * Throws an AssertionError. `options` are the assertion's `message` and `explain`; a function in `explain.question`
 * is called with the context `{report, expected?, actual?, observed}`.
 */
export function fail(expectation, observed, options, context) {
  const { message, explain } = options ?? {};
  const lines = [...(message ? [String(message)] : []), expectation, observed];
  const error = new AssertionError({ message: lines.join("\n"), actual: context.actual, expected: context.expected });
  const question = explain === undefined ? "" : questionIn(explain, context);
  if (question) questions.set(error, question);
  throw error;
}

function questionIn({ question }, context) {
  const text = (typeof question === "function" ? question(context) : question) ?? "";
  if (typeof text !== "string") throw new TypeError(`explain.question gives text, not ${shown(text)}`);
  return text.trim();
}
