import { assert, type Case } from "skillgym";
const suite: Case[] = [
{
id: "find-skills-expo",
prompt: "Find a skill for upgrading Expo SDK and tell me how to install it.",
assert(report) {
assert.skills.has(report, "find-skills");
assert.commands.includes(report, "npx skills find");
assert.match(report.finalOutput, /upgrading-expo/i);
},
},
];
export default suite;
