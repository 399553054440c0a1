import { assert, type Case } from "skillgym";
const suite: Case[] = [
{
id: "cursor-alias-check",
prompt: 'Say you would run: cursr agent "open README.md".',
classifyFailure(result) {
return result.error?.message.includes("wrong Cursor CLI alias")
? { id: "wrong-cli-alias", label: "Wrong CLI alias" }
: undefined;
},
assert(_report, ctx) {
assert.classify({ id: "wrong-cli-alias", label: "Wrong CLI alias" }, () => {
assert.doesNotMatch(
ctx.finalOutput(),
/\bcursr\s+agent\b/i,
"wrong Cursor CLI alias in final output",
);
});
},
},
];
export default suite;
