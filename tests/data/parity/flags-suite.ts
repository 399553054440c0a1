import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { assert } from "skillgym";

const DESK = join(import.meta.dirname, "desk");

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
  {
    id: "works at the desk",
    prompt: "leaves-a-trace",
    tags: ["flags"],
    assert: () => assert.ok(existsSync(join(DESK, "trace.txt"))),
  },
  { id: "wrong at first", prompt: "works", tags: ["flags"], assert: () => assert.ok(!isFirst("flagged")) },
  { id: "always wrong", prompt: "works", tags: ["flags"], assert: () => assert.fail("no") },
  { id: "of another tag", prompt: "works", tags: ["other"], assert: () => assert.fail("no") },
];
