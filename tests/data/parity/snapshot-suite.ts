import { assert } from "skillgym";

const ok = { prompt: "works", assert() {} };
const wrong = { prompt: "works", assert: () => assert.fail("no") };

export default [
  { id: "as dear as before", ...ok },
  { id: "cheaper than before", ...ok },
  { id: "a little dearer", ...ok },
  { id: "dearer", ...ok },
  { id: "dearer, classified", classifyFailure: ({ failureOrigin }) => `own ${failureOrigin}`, ...ok },
  { id: "dearer and wrong", ...wrong },
  { id: "dearer and wrong, as expected", expectedFail: true, ...wrong },
  { id: "not seen before", ...ok },
  { id: "counts nothing", ...ok, prompt: "counts-nothing" },
];
