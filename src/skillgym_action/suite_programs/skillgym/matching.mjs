// Matchers, and how messages show them and what was observed. Texts are the same in Python, down to the letter.

import { inspect, types } from "node:util";

export const SHOWN = 400;
const VALUE_SHOWN = 200;
const VALUES_SHOWN = 30;

/** Whether the matcher is found in the text: a string as it is, a regular expression anywhere. */
export const matches = (text, matcher) => (typeof matcher === "string" ? text.includes(matcher) : found(text, matcher));

/** Whether a string is the whole text; a regular expression is found anywhere. */
export const equals = (text, matcher) => (typeof matcher === "string" ? text === matcher : found(text, matcher));

/** Whether it is text or a regular expression. */
export const isMatcher = (value) => typeof value === "string" || types.isRegExp(value);

/** The matcher, if it is one. Throws a TypeError. */
export function matcherOf(value) {
  if (isMatcher(value)) return value;
  throw new TypeError(`a matcher is text or a regular expression, not ${shown(value)}`);
}

/** A matcher as messages show it. */
export const quoted = (matcher) => (typeof matcher === "string" ? JSON.stringify(matcher) : String(matcher));

/** A value as messages show it, cut in the middle. */
export function shown(value) {
  try {
    return cut(inspect(value, { depth: 4 }), SHOWN);
  } catch {
    return `<a ${typeof value} that cannot be shown>`;
  }
}

/** Head and tail of a text that is too long. */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  const half = limit / 2;
  const [head, tail] = [text.slice(0, half), text.slice(-half)];
  return `${head.toWellFormed()}[… ${text.length - limit} characters …]${tail.toWellFormed()}`;
}

/** `1 command`, `2 commands`. */
export const counted = (count, { one, many }) => `${count} ${count === 1 ? one : many}`;

/** What was observed, one value a line, numbered from 1. */
export function listed(label, values) {
  if (!values.length) return `  ${label}: none`;
  const line = (value, index) => `    ${index + 1}. ${cut(value, VALUE_SHOWN).replaceAll("\n", "\n       ")}`;
  const lines = values.slice(0, VALUES_SHOWN).map(line);
  if (values.length > VALUES_SHOWN) lines.push(`    … and ${values.length - VALUES_SHOWN} more`);
  return [`  ${label}:`, ...lines].join("\n");
}

function found(text, pattern) {
  const { lastIndex } = pattern;
  pattern.lastIndex = 0;
  const answer = pattern.test(text);
  pattern.lastIndex = lastIndex;
  return answer;
}
