// `assert.commands`, `assert.fileReads`, `assert.toolCalls` and `assert.output`.

import { commandRule } from "./command-line.mjs";
import { fail } from "./failure-messages.mjs";
import { assertionsAbout } from "./occurrences.mjs";
import { wantedBy } from "./likeness.mjs";
import { VALUE_CHARACTERS, cut, isMatcher, matcherOf, matches, nearestLine, quoted, shown } from "./matching.mjs";

const eventsOf = (report, type) => report.events.filter((event) => event.type === type);

const textRule = (value) => {
  const matcher = matcherOf(value);
  return { text: quoted(matcher), wanted: wantedBy(matcher), accepts: (text) => matches(text, matcher) };
};

export const commands = group("includes notIncludes count atLeast atMost before only size exactlyOne first last", {
  one: "command",
  many: "commands",
  of: (report) => eventsOf(report, "command").map(({ command }) => command),
  shown: (command) => command,
  rule: (matcher) => commandRule(matcher) ?? textRule(matcher),
});

export const fileReads = group("includes notIncludes count atLeast atMost before only size exactlyOne first last", {
  one: "file read",
  many: "file reads",
  of: (report) => {
    const reads = eventsOf(report, "fileRead").map(({ path }) => path);
    return reads.length ? reads : report.files.observedReads;
  },
  shown: (path) => path,
  rule: textRule,
});

const { includes: has, ...others } = group("includes count atLeast atMost before sequence only", {
  one: "tool call",
  many: "tool calls",
  of: (report) => eventsOf(report, "toolCall"),
  shown: ({ tool, args }) => (args === undefined || args === null ? tool : `${tool} ${JSON.stringify(args)}`),
  rule: toolRule,
  compared: ({ tool }) => tool,
});
export const toolCalls = { has, ...others };

export const output = {
  includes(report, matcher, options) {
    if (matches(report.finalOutput, matcherOf(matcher))) return;
    failOutput(`expected the final output to match ${quoted(matcher)}`, report, options, { expected: matcher });
  },
  notEmpty(report, options) {
    if (!report.finalOutput) failOutput("expected a final output", report, options, {});
  },
};

function failOutput(expectation, report, options, context) {
  const finalOutput = report.finalOutput;
  const observed = `  final output: ${finalOutput ? JSON.stringify(cut(finalOutput, VALUE_CHARACTERS)) : "none"}`;
  const near = context.expected === undefined ? "" : nearestLine(finalOutput, wantedBy(context.expected));
  fail(expectation, near ? `${observed}\n  nearest line: ${near}` : observed, options, { report, ...context, observed: finalOutput });
}

function group(names, kind) {
  const all = assertionsAbout(kind);
  return Object.fromEntries(names.split(" ").map((name) => [name, all[name]]));
}

/** Text or a regular expression matches the tool's name. */
function toolRule(value) {
  if (isMatcher(value)) return toolRule({ tool: value });
  const { tool, where, ...unknown } = Object(value);
  if (value !== Object(value) || Object.keys(unknown).length || (where !== undefined && typeof where !== "function")) {
    throw new TypeError(`a tool call matcher is { tool, where }, not ${shown(value)}`);
  }
  const name = tool === undefined ? undefined : matcherOf(tool);
  const parts = [...(name === undefined ? [] : [`tool ${quoted(name)}`]), ...(where ? ["a condition"] : [])];
  const accepts = (event) =>
    (name === undefined || matches(event.tool, name)) && (where === undefined || Boolean(where(event.args, event)));
  return { text: parts.join(" and ") || "anything", wanted: name === undefined ? "" : wantedBy(name), accepts };
}
