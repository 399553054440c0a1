import { assert, type Suite } from "skillgym";
const suite: Suite = {
"always-passes": {
id: "always-passes",
prompt: "Say only: skillgym ready",
assert(report, ctx) {
assert.match(ctx.finalOutput(), /skillgym ready/);
},
},
};
export default suite;
