/** The price of all items with tax, in cents. */
export function total(items) {
  const net = items.reduce((sum, item) => sum + item.cents * item.count, 0);
  return net + Math.round(net * 0.19);
}
