/** What all items cost together, in cents. */
export function sum(items) {
  let cents = 0;
  for (const item of items) cents += item.cents * item.count;
  return cents;
}
