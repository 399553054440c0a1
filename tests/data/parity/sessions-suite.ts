import { assert, commandMatcher, type Case, type Suite } from "skillgym";

const WORKS = "works";
const seen: Suite = {
  empty: { id: "empty", prompt: WORKS, assert() {} },
  awaited: {
    id: "awaited",
    prompt: WORKS,
    async assert(report) {
      await null;
      assert.equal(report.finalOutput, "I greeted everybody.");
      await assert.rejects(Promise.reject(new Error("no")), /no/);
    },
  },
  skills: {
    id: "skills",
    prompt: WORKS,
    assert(report) {
      assert.skills.has(report, "greeter", { minConfidence: "explicit" });
      assert.skills.only(report, ["greeter"]);
      assert.skills.exactlyOne(report, "greeter");
      assert.skills.notHas(report, "other");
    },
  },
  commands: {
    id: "commands",
    prompt: WORKS,
    assert(report) {
      assert.commands.includes(report, commandMatcher("npm").arg("run").option("-p", "80"));
      assert.commands.includes(report, /--grep=\w+/);
      assert.commands.size(report, 1);
      assert.commands.notIncludes(report, "rm");
    },
  },
  reads: {
    id: "reads",
    prompt: WORKS,
    assert(report) {
      assert.fileReads.includes(report, "notes.md");
      assert.fileReads.count(report, /^\//, 1);
    },
  },
  tools: {
    id: "tools",
    prompt: WORKS,
    assert(report) {
      assert.toolCalls.sequence(report, [{ tool: "Skill" }, { tool: "Read" }, { tool: "Bash" }]);
      assert.toolCalls.has(report, { tool: "Skill", where: (args) => args.skill === "greeter" });
    },
  },
  output: {
    id: "output",
    prompt: WORKS,
    assert(report) {
      assert.output.notEmpty(report);
      assert.output.includes(report, /greeted/);
    },
  },
  context: {
    id: "context",
    prompt: WORKS,
    assert(report, ctx) {
      assert.equal(ctx.getCommands().length, 1);
      assert.equal(ctx.getToolCalls("Bash").length, 1);
      assert.equal(ctx.getToolCalls().length, 3);
      assert.equal(ctx.getFileReads().length, 1);
      assert.equal(ctx.detectedSkills()[0].skill, "greeter");
      assert.equal(ctx.finalOutput(), report.finalOutput);
    },
  },
  usage: {
    id: "usage",
    prompt: WORKS,
    assert({ usage, sessionId, runner }) {
      const { inputTokens, outputTokens, cacheTokens, totalTokens, reasoningTokens } = usage;
      assert.deepEqual([inputTokens, outputTokens, cacheTokens, totalTokens], [140, 7, 40, 107]);
      assert.equal(reasoningTokens, undefined);
      assert.deepEqual(usage.source, { input: "provider", output: "provider", reasoning: "chars" });
      assert.equal(usage.inputChars, WORKS.length);
      assert.deepEqual([sessionId, runner.id, runner.agent], ["s-1", "claude", { type: "claude-code", model: "m" }]);
    },
  },
};

const failed: Case[] = [
  { id: "wrong", prompt: WORKS, assert: () => assert.equal(1, 2) },
  { id: "not strictly equal", prompt: WORKS, assert: () => assert.equal(1, "1") },
  { id: "no such skill", prompt: WORKS, assert: (report) => assert.skills.has(report, "other") },
  { id: "wrong later", prompt: WORKS, assert: async () => assert.fail(await Promise.resolve("later")) },
  { id: "softly wrong", prompt: WORKS, assert: () => assert.soft.equal(1, 2) },
  {
    id: "softly wrong twice",
    prompt: WORKS,
    assert(report) {
      assert.soft.commands.includes(report, "rm");
      assert.soft.output.includes(report, "nobody");
    },
  },
  {
    id: "wrong in several ways",
    prompt: WORKS,
    async assert() {
      const checks = await Promise.allSettled([assert.rejects(async () => 1), assert.rejects(async () => 2)]);
      throw new AggregateError(checks.map((check) => check.status === "rejected" && check.reason));
    },
  },
  {
    id: "softly wrong, then broken",
    prompt: WORKS,
    assert() {
      assert.soft.equal(1, 2);
      throw new TypeError("broken");
    },
  },
];

const broken: Case[] = [
  {
    id: "broken",
    prompt: WORKS,
    assert() {
      throw new TypeError("broken");
    },
  },
  { id: "broken later", prompt: WORKS, assert: () => Promise.reject(new Error("later")) },
  {
    id: "throws text",
    prompt: WORKS,
    assert() {
      throw "text";
    },
  },
  { id: "none of several", prompt: WORKS, assert: () => Promise.any([Promise.reject(new Error("none"))]) },
];

const OWN = { id: "own", label: "Our own" };
const crash = () => {
  throw new Error("broken");
};
const classified: Case[] = [
  { id: "marked", prompt: WORKS, assert: () => assert.classify("marked", () => assert.fail("no")) },
  { id: "marked with a label", prompt: WORKS, assert: () => assert.classify(OWN, () => assert.fail("no")) },
  { id: "marked crash", prompt: WORKS, assert: () => assert.classify(OWN, crash) },
  {
    id: "marked twice",
    prompt: WORKS,
    assert: () => assert.classify("outer", () => assert.classify("inner", () => assert.fail("no"))),
  },
  { id: "marked later", prompt: WORKS, assert: () => assert.classify(OWN, async () => assert.fail("no")) },
  { id: "marked in vain", prompt: WORKS, assert: () => assert.classify(OWN, () => {}) },
  {
    id: "classified by its message",
    prompt: WORKS,
    classifyFailure: ({ error }) => (error?.message.includes("wrong alias") ? OWN : undefined),
    assert: () => assert.fail("a wrong alias"),
  },
  {
    id: "classified over a mark",
    prompt: WORKS,
    classifyFailure: ({ failureClass }) => `${failureClass.id} seen`,
    assert: () => assert.classify("marked", () => assert.fail("no")),
  },
  { id: "not classified", prompt: WORKS, classifyFailure: () => undefined, assert: () => assert.fail("no") },
  {
    id: "crash classified",
    prompt: WORKS,
    classifyFailure: ({ failureOrigin, error }) => `${failureOrigin}: ${error.message.includes("broken")}`,
    assert: crash,
  },
  {
    id: "classified by its report",
    prompt: WORKS,
    classifyFailure: ({ report, runner }) => `${runner.id} ${report.events.filter((one) => one.type === "command").length}`,
    assert: () => assert.fail("no"),
  },
  {
    id: "classified by its status",
    prompt: WORKS,
    classifyFailure: ({ status, passed }) => `${status} ${passed}`,
    assert: () => assert.fail("no"),
  },
];

const expected: Case[] = [
  { id: "known failure", prompt: WORKS, expectedFail: true, assert: () => assert.fail("no") },
  { id: "known soft failure", prompt: WORKS, expectedFail: true, assert: () => assert.soft.fail("no") },
  {
    id: "known failure of a class",
    prompt: WORKS,
    expectedFail: true,
    assert: () => assert.classify(OWN, () => assert.fail("no")),
  },
  {
    id: "known failure, classified",
    prompt: WORKS,
    expectedFail: true,
    classifyFailure: ({ status, passed }) => `${status} ${passed}`,
    assert: () => assert.fail("no"),
  },
  { id: "passes after all", prompt: WORKS, expectedFail: true, assert() {} },
  {
    id: "passes after all, classified",
    prompt: WORKS,
    expectedFail: true,
    classifyFailure: () => "nobody asks",
    assert() {},
  },
  { id: "a crash is not expected", prompt: WORKS, expectedFail: true, assert: crash },
  { id: "a timeout is not expected", prompt: "hangs", expectedFail: true, timeoutMs: 700, assert() {} },
];

const troubled: Case[] = [
  { id: "too many steps", prompt: "loops", assert() {} },
  { id: "too many steps, classified", prompt: "loops", classifyFailure: ({ failureOrigin }) => `own ${failureOrigin}`, assert() {} },
  { id: "hangs", prompt: "hangs", timeoutMs: 700, assert() {} },
  { id: "hangs, classified", prompt: "hangs", timeoutMs: 700, classifyFailure: ({ failureClass }) => `own ${failureClass.id}`, assert() {} },
  { id: "crashes", prompt: "crashes", assert() {} },
  {
    id: "crashes, classified",
    prompt: "crashes",
    classifyFailure: ({ failureOrigin, report }) => `own ${failureOrigin} ${report.runner.id}`,
    assert() {},
  },
  { id: "is killed", prompt: "is-killed", assert() {} },
  { id: "reports an error", prompt: "reports-an-error", assert() {} },
  { id: "says nothing", prompt: "says-nothing", assert() {} },
];

export default [...Object.values(seen), ...failed, ...broken, ...classified, ...expected, ...troubled];
