export const workspace = { mode: "isolated", bootstrap: { command: "sh", args: ["-c", "exit 7"] } };

export default [
  { id: "not prepared", prompt: "works", assert() {} },
  { id: "not prepared, expected", prompt: "works", expectedFail: true, assert() {} },
  {
    id: "not prepared, classified",
    prompt: "works",
    classifyFailure: ({ failureOrigin, report }) => `own ${failureOrigin} ${report.events.length}`,
    assert() {},
  },
];
