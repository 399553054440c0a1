/** Tax on an amount in cents, rounded half up. */
export function tax(amount) {
  return Math.round(amount * 0.19);
}
