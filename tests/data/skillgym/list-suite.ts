import { assert, type Case } from "skillgym";
const suite: Case[] = [
{
id: "always-passes",
prompt: "Say only: skillgym ready",
assert(report, ctx) {
assert.match(ctx.finalOutput(), /skillgym ready/);
},
},
];
export default suite;
