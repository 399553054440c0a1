import { assert, type Case } from "skillgym";
const suite: Case[] = [
{
id: "known-missing-skill-selection",
prompt: "Use the correct installed skill before editing files.",
expectedFail: true,
assert(report) {
assert.skills.has(report, "required-skill");
},
},
];
export default suite;
