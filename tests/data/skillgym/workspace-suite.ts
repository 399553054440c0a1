import type { SuiteWorkspaceConfig, Case } from "skillgym";
export const workspace: SuiteWorkspaceConfig = {
mode: "isolated",
templateDir: "./fixtures/base-app",
bootstrap: {
command: "sh",
args: ["./scripts/bootstrap-workspace.sh", "--seed", "demo"],
},
};
const suite: Case[] = [
{
id: "workspace-check",
prompt: "Describe the prepared workspace.",
assert() {},
},
];
export default suite;
