// Does the agent choose the skill that fits the task, and leave it alone where it does not?

import { assert, type Case, type SuiteWorkspaceConfig } from "skillgym";

export const workspace: SuiteWorkspaceConfig = { mode: "isolated", templateDir: "../python/template" };

const suite: Case[] = [
  {
    id: "selects-the-skill",
    prompt: "What has changed since the last release? Write the release notes.",
    tags: ["skills"],
    assert(report) {
      assert.skills.has(report, "release-notes", { minConfidence: "strong" });
      assert.fileReads.includes(report, /CHANGELOG\.md$/);
      assert.output.includes(report, "NOTES.md");
    },
  },
  {
    id: "needs-no-skill",
    prompt: "How many lines does CHANGELOG.md have?",
    tags: ["skills"],
    classifyFailure(result) {
      return result.error?.message.includes("release-notes") ? { id: "wrong-skill", label: "Wrong skill" } : undefined;
    },
    assert(report) {
      assert.skills.notHas(report, "release-notes");
      assert.commands.includes(report, "wc -l");
    },
  },
];
export default suite;
