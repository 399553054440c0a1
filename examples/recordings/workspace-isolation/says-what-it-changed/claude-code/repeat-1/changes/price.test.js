import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "./price.js";

test("items are added up", () => {
  assert.equal(total([{ cents: 250, count: 2 }, { cents: 99, count: 1 }]), 599);
});
