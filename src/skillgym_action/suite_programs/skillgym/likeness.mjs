// How much one text is like another: pairs of characters that both have. The same as text/likeness.py, letter by letter.

const COMPARED_CHARACTERS = 2000;
const TOKEN =
  /\\[dDwWsSbBnrt]|\\(.)|\[\^?(?:\\.|[^\]\\]){0,200}\]|\(\?[^)]{0,30}?[:=!>]|\{\d*,?\d*\}|[\^$.*+?(){}|[\]\\]/gs;

/** What a matcher asks for: the text, or the characters of a regular expression that stand for themselves. */
export const wantedBy = (matcher) => (typeof matcher === "string" ? matcher : literalPart(matcher.source));

/** The characters of a regular expression that stand for themselves. */
export const literalPart = (pattern) =>
  pattern
    .replace(TOKEN, (_, character) => character || " ")
    .split(/\s+/)
    .filter(Boolean)
    .join(" ");

/** The number of pairs of characters that a text shares with `wanted`; `most`: all of them. */
export function likenessTo(wanted) {
  const counts = new Map();
  const pairs = pairsOf(wanted);
  for (const pair of pairs) counts.set(pair, (counts.get(pair) ?? 0) + 1);
  const of = (text) => {
    const left = new Map(counts);
    let found = 0;
    for (const pair of pairs.length ? pairsOf(text) : []) {
      if (!left.get(pair)) continue;
      left.set(pair, left.get(pair) - 1);
      found += 1;
    }
    return found;
  };
  const isNear = (text) => pairs.length > 0 && 2 * of(text) >= pairs.length;
  /** The positions of all texts: the most alike first; of those alike the shorter one, then the earlier one. */
  const nearestFirst = (texts) =>
    texts
      .map((text, at) => ({ at, shared: of(text), length: charactersOf(text).length }))
      .sort((one, other) => other.shared - one.shared || one.length - other.length || one.at - other.at)
      .map(({ at }) => at);
  return { most: pairs.length, of, isNear, nearestFirst };
}

function pairsOf(text) {
  const folded = [...charactersOf(text).join("").toLowerCase()];
  if (folded.length === 1) return folded;
  return folded.slice(1).map((character, at) => folded[at] + character);
}

const charactersOf = (text) => [...text.slice(0, 2 * COMPARED_CHARACTERS)].slice(0, COMPARED_CHARACTERS);
