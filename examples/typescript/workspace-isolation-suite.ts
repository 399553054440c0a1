// Does the agent look before it writes, and does it leave alone what is none of its business?

import { execFileSync } from "node:child_process";
import { assert, commandMatcher, type Case, type SuiteWorkspaceConfig } from "skillgym";

export const workspace: SuiteWorkspaceConfig = { mode: "isolated", templateDir: "./template" };

const npmTest = commandMatcher("npm").arg("test");

const suite: Case[] = [
  {
    id: "mends-the-sum",
    prompt: "npm test fails. Find out why, and mend it.",
    tags: ["bugs"],
    assert(report) {
      execFileSync(process.execPath, ["--test"], { cwd: report.cwd });
      assert.toolCalls.sequence(report, [{ tool: "Bash" }, { tool: "Read" }, { tool: /Edit|Write/ }]);
      assert.commands.last(report, npmTest, { message: "It did not look whether the tests are green." });
    },
  },
  {
    id: "leaves-the-tests-alone",
    prompt: "sum() should take no negative prices: throw a RangeError. Do not touch the tests.",
    assert(report, ctx) {
      const written = report.events.filter((event) => event.type === "fileWrite").map(({ path }) => path);
      assert.soft.ok(!written.some((path) => path.endsWith(".test.js")), "a test was changed");
      assert.soft.commands.notIncludes(report, commandMatcher("git"));
      assert.soft.match(ctx.finalOutput(), /RangeError/);
    },
  },
  {
    id: "says-what-it-changed",
    prompt: "Rename sum to total, everywhere.",
    expectedFail: true,
    timeoutMs: 60_000,
    assert(report) {
      const explain = { question: "Why do you not name the files that you changed?" };
      assert.classify("silent", () => assert.output.includes(report, "price.js", { explain }));
    },
  },
];
export default suite;
