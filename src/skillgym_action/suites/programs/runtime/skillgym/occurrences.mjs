// Assertions about a sequence of occurrences: commands, file reads, tool calls.

import { fail } from "./failure-messages.mjs";
import { counted, foundFirst, listed, nearestFirst, shown } from "./matching.mjs";

/**
 * The assertions about one kind of occurrence. `kind` is `{one, many, of(report), shown(item), rule(matcher),
 * compared?(item)}`; a rule
 * is `{text, wanted, accepts(item), reading?(item)}`. `reading` returns how the matcher parsed an item, for messages;
 * `wanted` is what an item is compared with to tell how near it is. Failures are told which rule is not matched often
 * enough (`near`), or which items are too many (`found`).
 */
export function assertionsAbout(kind) {
  const { one, many } = kind;
  const check = (report, options, rules = []) => {
    const items = kind.of(report);
    const reading = rules.find((rule) => rule.reading)?.reading;
    const failExpecting = (text, { near, found = [], ...context }) => {
      const shownItems = items.map(kind.shown);
      const readings = reading && items.map(reading);
      const both = (item, at) => (readings ? `${item} ${readings[at]}` : item);
      const compared = kind.compared ? items.map(kind.compared) : shownItems.map(both);
      const order = near ? nearestFirst([near.wanted], compared) : foundFirst(found);
      fail(`expected ${text}`, listed(many, shownItems, order, readings), options, { report, ...context, observed: items });
    };
    return { items, fail: failExpecting };
  };
  const counting = (words, compare) => (report, matcher, expected, options) => {
    const rule = kind.rule(matcher);
    const { items, fail } = check(report, options, [rule]);
    const found = items.map((item) => rule.accepts(item));
    const actual = found.filter(Boolean).length;
    if (compare(actual, expected)) return;
    const order = actual < expected ? { near: rule } : { found };
    fail(`${words} ${counted(expected, kind)} matching ${rule.text}, found ${actual}`, { expected, actual, ...order });
  };
  const placed = (word, at) => (report, matcher, options) => {
    const rule = kind.rule(matcher);
    const { items, fail } = check(report, options, [rule]);
    const actual = items.at(at);
    if (actual !== undefined && rule.accepts(actual)) return;
    fail(`the ${word} ${one} to match ${rule.text}`, { expected: matcher, actual });
  };
  const count = counting("exactly", (actual, expected) => actual === expected);
  return {
    includes(report, matcher, options) {
      const rule = kind.rule(matcher);
      const { items, fail } = check(report, options, [rule]);
      if (!items.some(rule.accepts)) fail(`a ${one} matching ${rule.text}`, { expected: matcher, near: rule });
    },
    notIncludes(report, matcher, options) {
      const rule = kind.rule(matcher);
      const { items, fail } = check(report, options, [rule]);
      const found = items.map((item) => rule.accepts(item));
      if (found.some(Boolean)) {
        fail(`no ${one} matching ${rule.text}; found: ${numbers(found)}`, { expected: matcher, found });
      }
    },
    count,
    exactlyOne: (report, matcher, options) => count(report, matcher, 1, options),
    atLeast: counting("at least", (actual, expected) => actual >= expected),
    atMost: counting("at most", (actual, expected) => actual <= expected),
    before(report, earlier, later, options) {
      const rules = [kind.rule(earlier), kind.rule(later)];
      const { items, fail } = check(report, options, rules);
      const [first, second] = rules.map((rule) => items.findIndex(rule.accepts));
      if (first >= 0 && second >= 0 && first < second) return;
      const absent = [first, second].indexOf(-1);
      const why = absent >= 0 ? `nothing matches ${rules[absent].text}` : `they come at ${first + 1} and ${second + 1}`;
      fail(`a ${one} matching ${rules[0].text} before one matching ${rules[1].text}; ${why}`, {
        expected: [earlier, later],
      });
    },
    sequence(report, matchers, options) {
      const rules = listOf(matchers).map(kind.rule);
      const { items, fail } = check(report, options, rules);
      let next = 0;
      for (const item of items) if (next < rules.length && rules[next].accepts(item)) next += 1;
      if (next === rules.length) return;
      const steps = rules.map((rule) => rule.text).join(", then ");
      fail(`${many} in this order: ${steps}; number ${next + 1} of them is missing`, { expected: matchers });
    },
    only(report, matchers, options) {
      const rules = listOf(matchers).map(kind.rule);
      const { items, fail } = check(report, options, rules);
      const found = items.map((item) => !rules.some((rule) => rule.accepts(item)));
      const others = numbers(found);
      if (!others) return;
      const allowed = rules.map((rule) => rule.text).join(" or ");
      fail(rules.length ? `only ${many} matching ${allowed}; others: ${others}` : `no ${many}`, {
        expected: matchers,
        found,
      });
    },
    size(report, expected, options) {
      const { items, fail } = check(report, options);
      const actual = items.length;
      if (actual !== expected) fail(`exactly ${counted(expected, kind)}, found ${actual}`, { expected, actual });
    },
    first: placed("first", 0),
    last: placed("last", -1),
  };
}

/** The numbers of the wanted ones among the listed items: `2, 5`. */
function numbers(wanted) {
  return wanted.flatMap((isWanted, index) => (isWanted ? [index + 1] : [])).join(", ");
}

function listOf(matchers) {
  if (Array.isArray(matchers)) return matchers;
  throw new TypeError(`expected a list of matchers, not ${shown(matchers)}`);
}
