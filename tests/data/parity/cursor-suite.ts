import { assert } from "skillgym";

export default [
  {
    id: "cursor",
    prompt: "greets",
    assert(report) {
      assert.commands.only(report, ["echo hello"]);
      assert.fileReads.only(report, [/SKILL\.md$/]);
      assert.skills.has(report, "greeter", { minConfidence: "strong" });
      assert.equal(report.usage.totalTokens, 11);
    },
  },
  { id: "cursor is wrong", prompt: "greets", assert: (report) => assert.output.includes(report, "bye") },
  { id: "cursor has an odd clock", prompt: "has-an-odd-clock", assert() {} },
];
