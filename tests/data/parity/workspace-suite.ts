import { readFileSync } from "node:fs";
import { assert, type Case, type SuiteWorkspaceConfig } from "skillgym";

export const workspace: SuiteWorkspaceConfig = {
  mode: "isolated",
  templateDir: "./template",
  bootstrap: { command: "sh", args: ["./prepare.sh", "--seed"], env: { OWN: "own" } },
};

const cases: Case[] = [
  {
    id: "prepared",
    prompt: "works",
    assert(report, ctx) {
      const [notes] = ctx.getFileReads();
      assert.equal(readFileSync(notes, "utf8"), "note\n");
      assert.equal(readFileSync(notes.replace("notes.md", "prepared.txt"), "utf8"), "--seed prepared claude own\n");
    },
  },
  { id: "prepared in vain", prompt: "works", assert: () => assert.fail("no") },
];
export default cases;
