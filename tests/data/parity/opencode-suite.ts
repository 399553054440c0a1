import { assert } from "skillgym";

export default [
  { id: "opencode", prompt: "is-exported", assert: (report) => assert.output.includes(report, "greeted") },
  { id: "opencode is wrong", prompt: "is-exported", assert: (report) => assert.output.includes(report, "bye") },
  { id: "opencode tells no session", prompt: "is-nobodys", assert() {} },
  { id: "opencode fails", prompt: "fails", assert() {} },
  {
    id: "opencode floods",
    prompt: "floods",
    classifyFailure: ({ failureOrigin, failureClass }) => `own ${failureOrigin} ${failureClass.id}`,
    assert() {},
  },
];
