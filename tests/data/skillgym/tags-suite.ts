import { assert, type Case } from "skillgym";
const suite: Case[] = [
{
id: "login-smoke",
tags: ["smoke", "auth"],
prompt: "Verify the login screen behavior.",
assert() {},
},
];
export default suite;
