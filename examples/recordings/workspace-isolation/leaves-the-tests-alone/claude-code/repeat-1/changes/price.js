/** What all items cost together, in cents. */
export function sum(items) {
  let cents = 0;
  for (const item of items) {
    if (item.cents < 0) throw new RangeError("a price is negative");
    cents += item.cents * item.count;
  }
  return cents;
}
