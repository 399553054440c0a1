// What suites written in TypeScript or JavaScript import: `import { assert, commandMatcher } from "skillgym"`.
// tests/data/assertion-vectors.json says how it behaves; `expect` of Python suites is its other implementation.

import strict from "node:assert/strict";

import { classify } from "./classes.mjs";
import { CommandMatcherBuilder, commandMatcher } from "./command-line.mjs";
import { commands, fileReads, output, toolCalls } from "./events.mjs";
import { skills } from "./skills.mjs";
import { softened } from "./soft.mjs";

export { CommandMatcherBuilder, commandMatcher };

const groups = { skills, commands, fileReads, toolCalls, output };
// What a soft assertion cannot put off: classes, and what is awaited.
const HARD = new Set(["Assert", "AssertionError", "CallTracker", "doesNotReject", "rejects", "strict"]);

const softGroup = (group) => Object.fromEntries(Object.entries(group).map(([name, check]) => [name, softened(check)]));
const softGroups = Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, softGroup(group)]));
const softPlain = Object.fromEntries(
  Object.entries(strict).map(([name, value]) => [name, HARD.has(name) ? value : softened(value)]),
);
const soft = Object.assign(softened(strict), softPlain, softGroups, { classify });
soft.strict = soft;

// Node's own function behind a proxy: it can be called, its messages quote the suite's source, and it is not changed.
const ours = { ...groups, soft, classify };
export const assert = new Proxy(strict, {
  get: (target, name) => (name === "strict" ? assert : Object.hasOwn(ours, name) ? ours[name] : target[name]),
  has: (target, name) => name in ours || name in target,
});
