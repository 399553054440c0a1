export default [
  { id: "rejected", prompt: "is-rejected", assert() {} },
  { id: "rejected at once", prompt: "is-rejected", assert() {} },
  {
    id: "rejected at once, classified",
    prompt: "works",
    classifyFailure: ({ failureOrigin, report }) => `own ${failureOrigin} ${report.finalOutput.length}`,
    assert() {},
  },
];
