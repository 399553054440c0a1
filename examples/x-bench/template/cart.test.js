import assert from "node:assert/strict";
import { test } from "node:test";
import { total } from "./cart.js";

test("tax is added to the sum of all items", () => {
  assert.equal(total([{ cents: 1000, count: 2 }]), 2380);
});
