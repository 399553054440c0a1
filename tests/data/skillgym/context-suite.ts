import { assert, type Case } from "skillgym";
const suite: Case[] = [
{
id: "context",
prompt: "List the files, and say ready.",
assert(report, ctx) {
assert.ok(ctx.getCommands().length > 0);
assert.match(ctx.finalOutput(), /ready/);
},
},
];
export default suite;
