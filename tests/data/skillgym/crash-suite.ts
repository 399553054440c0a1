import { type Case } from "skillgym";
const suite: Case[] = [
{
id: "crash",
prompt: "Say only: skillgym ready",
assert(report, ctx) {
(ctx as any).getNothing();
},
},
];
export default suite;
