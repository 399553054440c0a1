// The module that suites in TypeScript or JavaScript import: `import { assert, commandMatcher } from "skillgym"`.
// `expect` of Python suites has the same assertions; tests/data/assertion-vectors.json is the specification of both.

import strict from "node:assert/strict";

import { classify } from "./failure-classes.mjs";
import { CommandMatcherBuilder, commandMatcher } from "./command-line.mjs";
import { commands, fileReads, output, toolCalls } from "./events.mjs";
import { skills } from "./skills.mjs";
import { softened } from "./soft.mjs";

export { CommandMatcherBuilder, commandMatcher };

const groups = { skills, commands, fileReads, toolCalls, output };
// These cannot be soft: classes, and assertions that return promises.
const HARD = new Set(["Assert", "AssertionError", "CallTracker", "doesNotReject", "rejects", "strict"]);

const softGroup = (group) => Object.fromEntries(Object.entries(group).map(([name, check]) => [name, softened(check)]));
const softGroups = Object.fromEntries(Object.entries(groups).map(([name, group]) => [name, softGroup(group)]));
const softPlain = Object.fromEntries(
  Object.entries(strict).map(([name, value]) => [name, HARD.has(name) ? value : softened(value)]),
);
const soft = Object.assign(softened(strict), softPlain, softGroups, { classify });
soft.strict = soft;

// A proxy: Node's function itself must stay unchanged, but be callable, since its messages quote the suite's source.
const additions = { ...groups, soft, classify };
export const assert = new Proxy(strict, {
  get: (target, name) => (name === "strict" ? assert : Object.hasOwn(additions, name) ? additions[name] : target[name]),
  has: (target, name) => name in additions || name in target,
});
