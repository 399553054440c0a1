// Matchers of text, and how messages show them and observed values. Messages are letter by letter those of matching.py.

import { inspect, types } from "node:util";

import { likenessTo } from "./likeness.mjs";

export const VALUE_CHARACTERS = 400;
const LISTED_VALUE_CHARACTERS = 200;
const LISTED_VALUES = 30;
const COMPARED_LINES = 400;

/** Whether the text contains the string, or the regular expression matches anywhere in it. */
export const matches = (text, matcher) => (typeof matcher === "string" ? text.includes(matcher) : found(text, matcher));

/** Whether the text is the string, or the regular expression matches anywhere in it. */
export const equals = (text, matcher) => (typeof matcher === "string" ? text === matcher : found(text, matcher));

/** Whether it is text or a regular expression. */
export const isMatcher = (value) => typeof value === "string" || types.isRegExp(value);

/** The value, if it is a matcher. Throws a TypeError. */
export function matcherOf(value) {
  if (isMatcher(value)) return value;
  throw new TypeError(`a matcher is text or a regular expression, not ${shown(value)}`);
}

/** A matcher as messages show it. */
export const quoted = (matcher) => (typeof matcher === "string" ? JSON.stringify(matcher) : String(matcher));

/** A value as messages show it, with the middle of a long text left out. */
export function shown(value) {
  try {
    return cut(inspect(value, { depth: 4 }), VALUE_CHARACTERS);
  } catch {
    return `<a ${typeof value} that cannot be shown>`;
  }
}

/** The text, with its middle left out if it is longer than `limit` characters. */
export function cut(text, limit) {
  if (text.length <= limit) return text;
  const half = limit / 2;
  const [head, tail] = [text.slice(0, half), text.slice(-half)];
  return `${head.toWellFormed()}[… ${text.length - limit} characters …]${tail.toWellFormed()}`;
}

/** `1 command`, `2 commands`. */
export const counted = (count, { one, many }) => `${count} ${count === 1 ? one : many}`;

/**
 * The order in which a message lists values, `{note, positions}`: those that are most like the first wanted text that
 * any is like; undefined if none is.
 */
export function nearestFirst(wanted, values) {
  for (const text of wanted) {
    const likeness = likenessTo(text);
    if (values.some(likeness.isNear)) return { note: ", nearest first", positions: likeness.nearestFirst(values) };
  }
  return undefined;
}

/** The order with those that were found before all others; undefined if all values are listed anyway. */
export function foundFirst(found) {
  if (found.length <= LISTED_VALUES) return undefined;
  const positions = found.map((_, at) => at).sort((one, other) => found[other] - found[one] || one - other);
  return { note: ", found ones first", positions };
}

/**
 * Observed values with a label, one value per line, numbered from 1. `readings`: how a matcher parsed each of them, which
 * gets a line of its own where the value is long.
 */
export function listed(label, values, order, readings) {
  if (!values.length) return `  ${label}: none`;
  const whole = (at) => {
    const value = cut(values[at], LISTED_VALUE_CHARACTERS);
    if (!readings) return value;
    const fits = values[at].length + readings[at].length < LISTED_VALUE_CHARACTERS;
    return `${value}${fits ? " " : "\n"}= ${cut(readings[at], LISTED_VALUE_CHARACTERS)}`;
  };
  const line = (at) => `    ${at + 1}. ${whole(at).replaceAll("\n", "\n       ")}`;
  const positions = order?.positions ?? values.map((_, at) => at);
  const lines = positions.slice(0, LISTED_VALUES).map(line);
  if (values.length > LISTED_VALUES) lines.push(`    … and ${values.length - LISTED_VALUES} more`);
  return [`  ${label}${order?.note ?? ""}:`, ...lines].join("\n");
}

/** The line of a text of several lines that is most like `wanted`, with its number; empty if none is like it. */
export function nearestLine(text, wanted) {
  const lines = text.split("\n").slice(0, COMPARED_LINES);
  const likeness = likenessTo(wanted);
  const [at] = likeness.nearestFirst(lines);
  const near = lines.length > 1 && likeness.isNear(lines[at]);
  return near ? `${at + 1}. ${cut(lines[at], LISTED_VALUE_CHARACTERS)}` : "";
}

/** A sticky or global expression keeps a position, which must neither count nor change. */
function found(text, pattern) {
  const { lastIndex } = pattern;
  pattern.lastIndex = 0;
  const answer = pattern.test(text);
  pattern.lastIndex = lastIndex;
  return answer;
}
