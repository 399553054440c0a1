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
  const folded = foldedOf(wanted);
  const counts = new Map(pairsOf(folded).map((pair) => [pair, times(folded, pair)]));
  const most = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const of = (text) => {
    const compared = foldedOf(text);
    return [...counts].reduce((sum, [pair, count]) => sum + Math.min(count, times(compared, pair)), 0);
  };
  const isNear = (text) => most > 0 && 2 * of(text) >= most;
  /** The positions of all texts: the most alike first; of those alike the shorter one, then the earlier one. */
  const nearestFirst = (texts) =>
    texts
      .map((text, at) => ({ at, shared: of(text), length: charactersOf(text).length }))
      .sort((one, other) => other.shared - one.shared || one.length - other.length || one.at - other.at)
      .map(({ at }) => at);
  return { most, of, isNear, nearestFirst };
}

function pairsOf(folded) {
  const characters = [...folded];
  return characters.length === 1 ? characters : characters.slice(1).map((character, at) => characters[at] + character);
}

const times = (text, part) => text.split(part).length - 1;
const foldedOf = (text) => charactersOf(text).join("").toLowerCase();
const charactersOf = (text) => [...text.slice(0, 2 * COMPARED_CHARACTERS)].slice(0, COMPARED_CHARACTERS);
