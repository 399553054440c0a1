import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { assert } from "skillgym";

/** Whether it is the first time that somebody asks. */
function isFirst(name: string): boolean {
  try {
    mkdirSync(join(import.meta.dirname, "sessions", name));
    return true;
  } catch {
    return false;
  }
}

export default [
  { id: "always wrong", prompt: "works", assert: () => assert.fail("no") },
  { id: "wrong at first", prompt: "works", assert: () => assert.ok(!isFirst("wrong")) },
  { id: "wrong at first, as expected", prompt: "works", expectedFail: true, assert: () => assert.ok(!isFirst("known")) },
  { id: "passes at first", prompt: "works", expectedFail: true, assert: () => assert.ok(isFirst("passing")) },
  { id: "always crashes", prompt: "crashes", assert() {} },
  { id: "crashes at first", prompt: "crashes-at-first", assert() {} },
  { id: "hangs at first", prompt: "hangs-at-first", timeoutMs: 700, assert() {} },
  {
    id: "broken at first",
    prompt: "works",
    assert() {
      if (isFirst("broken")) throw new TypeError("broken");
    },
  },
];
