// How an assertion of ours fails: the author's message, what was expected, what was observed, and a question.

import { AssertionError } from "node:assert";

import { shown } from "./matching.mjs";

const questions = new WeakMap();

/** What the agent is to be asked about the failure, or undefined. */
export const questionOf = (error) => questions.get(error);

/**
 * Throws an AssertionError. `options` are the assertion's `message` and `explain`; a function as `explain.question`
 * is given the context `{report, expected?, actual?, observed}`.
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
