// Makes a case of each vector in assertion-vectors.json; vectors_suite.py is the same in Python.
import { readFileSync } from "node:fs";
import { assert, commandMatcher, type Case } from "skillgym";

type Call = { call: string; with?: unknown[]; options?: Record<string, unknown> };
type Classified = { classify: string; calls: (Call | Classified)[] };

const { vectors } = JSON.parse(readFileSync(new URL("assertion-vectors.json", import.meta.url), "utf8"));

function value(told: any): any {
  if (Array.isArray(told)) return told.map(value);
  if (told === null || typeof told !== "object") return told;
  if ("regex" in told) return new RegExp(told.regex, told.flags);
  if ("matcher" in told) {
    return told.then.reduce(
      (built: any, [name, ...given]: any[]) => built[name](...given.map(value)),
      commandMatcher(value(told.matcher) ?? undefined),
    );
  }
  if ("raises" in told) return { where: () => { throw new Error("raised by where"); } };
  if ("returns" in told) return () => told.returns ?? undefined;
  if ("tells" in told) return tells;
  if ("where" in told) {
    const [[name, wanted]] = Object.entries(told.where);
    return { tool: told.tool && value(told.tool), where: (args: any) => args?.[name] === wanted };
  }
  return Object.fromEntries(Object.entries(told.plain ?? told).map(([name, each]) => [name, value(each)]));
}

function tells({ report, expected, actual, observed }: any): string {
  assert.ok(report.events);
  const [one, other] = [expected, actual].map((each) => JSON.stringify(each ?? null));
  return `expected ${one}, actual ${other}, observed ${observed.length}`;
}

function perform(step: Call | Classified, report: any): void {
  if ("classify" in step) return assert.classify(step.classify, () => step.calls.forEach((each) => perform(each, report)));
  const given = value(step.with ?? []);
  if (step.call === "crash") throw new TypeError(given[0]);
  const names = step.call.split(".");
  const method = names.reduce((found: any, name) => found[name], assert);
  const isGrouped = names.filter((name) => name !== "soft").length > 1;
  method(...(isGrouped ? [report] : []), ...given, ...(step.options ? [value(step.options)] : []));
}

export default vectors.map((vector: any, index: number): Case => ({
  id: String(index),
  prompt: "p",
  assert(report) {
    const reads = { call: "commands.notIncludes", with: [{}] };
    for (const step of vector.calls ?? ["reads" in vector ? reads : vector]) perform(step, report);
  },
}));
